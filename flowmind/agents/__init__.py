"""The agents: ReAct and Plan-and-Execute as small LangGraph graphs. LangGraph is imported here."""
