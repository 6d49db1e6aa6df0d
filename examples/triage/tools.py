"""The tools of an agent that triages support tickets. A real team would ask its ticket system and its pager."""

from flowmind import tool

QUEUES = {
    "web": ["T-11", "T-12", "T-13", "T-14"],
    "mail": ["T-21", "T-22"],
    "phone": ["T-31", "T-32", "T-33"],
    "chat": ["T-41", "T-42", "T-43"],
    "partners": [],
}
TICKETS = {
    "T-11": {"subject": "Invoice as PDF", "plan": "free", "severity": 1},
    "T-12": {"subject": "Export is slow", "plan": "business", "severity": 3},
    "T-13": {"subject": "Nobody can sign in", "plan": "business", "severity": 4},
    "T-14": {"subject": "Orders are lost", "plan": "free", "severity": 5, "phone": "555 0114"},
    "T-21": {"subject": "Change of address", "plan": "team", "severity": 2},
    "T-22": {"subject": "Reports are empty", "plan": "team", "severity": 3, "phone": "555 0122"},
    "T-31": {"subject": "Payments fail", "plan": "free", "severity": 4},
    "T-32": {"subject": "Dark mode", "plan": "free", "severity": 2},
    "T-33": {"subject": "Forgot my password", "plan": "team", "severity": 1},
    "T-41": {"subject": "Typo on the start page", "plan": "team", "severity": 1},
    "T-42": {"subject": "Data of another customer is shown", "plan": "business", "severity": 5},
    "T-43": {"subject": "The app crashes at start", "plan": "free", "severity": 4},
}


@tool(effect="read")
def list_tickets(queue: str) -> list[str]:
    """List the ids of the open tickets of a queue."""
    return QUEUES[queue]


@tool(effect="read")
def get_ticket(ticket_id: str) -> dict:
    """Look up a ticket: its subject, the customer's plan and the severity from 1 to 5."""
    return TICKETS[ticket_id]


@tool(effect="write")
def page_engineer(ticket_id: str) -> str:
    """Call the engineer on duty about a ticket."""
    return f"page for {ticket_id}"
