"""Records the agent's conversations, makes a workflow of them, and uses it in the agent's place."""

import json

from agent import TOOLS, make_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_openai_messages

from flowmind import summarize

QUERY = "Quote the price of a parcel. Parcels over 10 kg get a surcharge of 50 percent."


def scripted_model(parcel_id: str, country: str, heavy: bool, base: float, total: float) -> FakeMessagesListChatModel:
    """Stands for a model behind an API: it makes the calls that such a model made, then answers."""
    steps = [("get_parcel", {"parcel_id": parcel_id}), ("base_price", {"country": country})]
    if heavy:
        steps.append(("add_surcharge", {"price": base, "percent": 50}))
    replies: list[BaseMessage] = [
        AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{number}"}])
        for number, (name, arguments) in enumerate(steps)
    ]
    return FakeMessagesListChatModel(responses=[*replies, AIMessage(json.dumps(total))])


traces = []
for case in [("P-1", "PT", False, 4.5, 4.5), ("P-2", "NO", True, 9.0, 13.5), ("P-3", "PT", False, 4.5, 4.5)]:
    parcel_id = case[0]
    agent = make_agent(scripted_model(*case))
    state = agent.invoke({"messages": [HumanMessage(f"What does parcel {parcel_id} cost?")]})
    traces.append({"inputs": {"parcel_id": parcel_id}, "messages": convert_to_openai_messages(state["messages"])})

result = summarize(traces, TOOLS, query=QUERY, name="quote")
print(result.report())

graph = result.workflow.to_langgraph()
print(type(graph).__name__, graph.invoke({"parcel_id": "P-4"})["answer"])
