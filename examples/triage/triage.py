"""Makes a workflow with a loop and a branch from four conversations, and runs it on another queue."""

from pathlib import Path

from tools import get_ticket, list_tickets, page_engineer

from flowmind import summarize

QUERY = "Page the engineer for each ticket of the queue with a severity of 4 or more. Return the pages."

result = summarize(
    Path(__file__).with_name("traces.jsonl"), [list_tickets, get_ticket, page_engineer], query=QUERY, name="triage"
)
for question in result.questions:
    print("question:", question)
print(result.workflow(queue="chat"))
