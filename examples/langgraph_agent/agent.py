"""An agent of LangGraph that quotes the price of a parcel: a model node, a tool node, and the loop between them."""

from langchain_core.language_models import BaseChatModel
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from flowmind import tool

PARCELS = {
    "P-1": {"weight_kg": 2.0, "country": "PT"},
    "P-2": {"weight_kg": 12.0, "country": "NO"},
    "P-3": {"weight_kg": 10.0, "country": "PT"},
    "P-4": {"weight_kg": 31.0, "country": "NO"},
}
PRICES = {"PT": 4.5, "NO": 9.0}


@tool(effect="read")
def get_parcel(parcel_id: str) -> dict:
    """Look up the weight of a parcel in kilograms and the country that it goes to."""
    return PARCELS[parcel_id]


@tool(effect="read")
def base_price(country: str) -> float:
    """Look up the price of a parcel to a country."""
    return PRICES[country]


@tool(effect="read")
def add_surcharge(price: float, percent: float) -> float:
    """Add a surcharge to a price."""
    return round(price * (100 + percent) / 100, 2)


TOOLS = [get_parcel, base_price, add_surcharge]


def make_agent(model: BaseChatModel) -> CompiledStateGraph:
    """The agent. With a real model, pass `ChatOpenAI(...).bind_tools(TOOLS)` or the like."""
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(TOOLS))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()
