"""Texts as different language models write them to a hotel guest, with what they ask for."""

from __future__ import annotations

from typing import Any

from flowmind.trace.scenario import FactWords, Scenario, SlotWords
from flowmind.workflow.document import Workflow

VALUES: dict[str, Any] = {
    "hotel": "Grand Plaza",
    "arrival": "2026-03-05",
    "departure": "2026-03-08",
    "guests": 2,
    "room": "double",
    "budget": 1500,
    "dinner": "19:30",
    "name": "Maria Lopez",
    "customer": "C-20417",
    "confirmed": True,
}
SLOTS = {
    "hotel": SlotWords(label="hotel", spotted=("which hotel", "where"), says=("I want to stay at {value}.",)),
    "arrival": SlotWords(label="check-in date", spotted=("arrive", "arrival", "when"), says=("We arrive on {value}.",)),
    "departure": SlotWords(label="check-out date", spotted=("leave", "departure"), says=("We leave on {value}.",)),
    "guests": SlotWords(label="number of guests", spotted=("how many",), says=("There are {value} of us.",)),
    "room": SlotWords(label="kind of room", spotted=("single or double",), says=("A {value}, please.",)),
    "budget": SlotWords(label="highest price", spotted=("budget", "spend"), says=("I can pay {value} euros.",)),
    "dinner": SlotWords(label="time of dinner", spotted=("dine", "eat"), says=("We would like to eat at {value}.",)),
    "name": SlotWords(label="name on the booking", spotted=("whose name",), says=("It is under {value}.",)),
    "customer": SlotWords(label="customer number", says=("My customer number is {value}.", "It is {value}.")),
}
_TEXT = {"type": "string"}
_INPUTS: dict[str, Any] = dict.fromkeys(VALUES, _TEXT) | {
    "guests": {"type": "integer"},
    "budget": {"type": "integer"},
    "room": {"type": "string", "enum": ["single", "double", "suite"]},
    "confirmed": {"type": "boolean"},
}
_NODES = [
    {"id": "start", "kind": "start"},
    {
        "id": "find",
        "kind": "tool",
        "tool": "find_rooms",
        "args": {"hotel": {"var": "hotel"}, "arrival": {"var": "arrival"}},
        "output": "rooms",
    },
    {
        "id": "propose",
        "kind": "assign",
        "value": {"object": {name: {"var": name} for name in SLOTS}},
        "output": "proposal",
    },
    {"id": "agreed", "kind": "condition", "expr": "confirmed"},
    {
        "id": "book",
        "kind": "tool",
        "tool": "book_room",
        "args": {name: {"var": name} for name in SLOTS},
        "output": "booking",
    },
    {
        "id": "booked",
        "kind": "end",
        "output": {"object": {"outcome": {"value": "booked"}, "code": {"var": "booking", "path": ["code"]}}},
    },
    {
        "id": "not_booked",
        "kind": "end",
        "output": {"object": {"outcome": {"value": "not_booked"}, "free": {"var": "rooms", "path": ["free"]}}},
    },
]
_EDGES = [
    {"from": "start", "to": "find"},
    {"from": "find", "to": "propose"},
    {"from": "propose", "to": "agreed"},
    {"from": "agreed", "to": "book", "when": True},
    {"from": "agreed", "to": "not_booked", "when": False},
    {"from": "book", "to": "booked"},
]
HOTEL = Scenario(
    id="book_room",
    domain="Travel",
    role="hotel_desk",
    title="Book a room",
    background="You book rooms.",
    opens=("Hello, I need a hotel room.", "Hi, could you book a room for me?"),
    cancels=("Never mind, I stay at home.",),
    tools=("find_rooms", "book_room"),
    database="hotels",
    time="2026-03-01 09:00",
    slots=SLOTS,
    facts={
        "code": FactWords(label="booking code", asks=("What is my booking code?",)),
        "free": FactWords(label="free rooms", asks=("Which rooms are free?",)),
    },
    workflow=Workflow.model_validate(
        {
            "inputs": {"type": "object", "properties": _INPUTS, "required": list(_INPUTS)},
            "nodes": _NODES,
            "edges": _EDGES,
        }
    ),
)

ASKED: list[tuple[str, set[str]]] = [
    ("What is your customer number?", {"customer"}),
    ("Could you please provide your customer ID so I can pull up your account?", {"customer"}),
    ("Sure thing! I'll need your **customer number** to get started.", {"customer"}),
    ("May I have your customer number, please", {"customer"}),
    ("To look that up, I need the number on your customer card.", {"customer"}),
    ("Happy to help! 😊 Which hotel would you like to stay at?", {"hotel"}),
    ("Great. Where would you like to stay?", {"hotel"}),
    ("Please let me know which hotel you have in mind.", {"hotel"}),
    ("Thanks for reaching out! What's the name of the hotel you'd like to book?", {"hotel"}),
    ("When will you be arriving?", {"arrival"}),
    ("When would you like to check in?", {"arrival"}),
    ("Could you tell me your check-in date (YYYY-MM-DD)?", {"arrival"}),
    ("What date are you checking in?", {"arrival"}),
    ("On what day do you arrive?", {"arrival"}),
    ("I just need your arrival date, e.g. 2026-04-01.", {"arrival"}),
    ("And when do you plan to leave?", {"departure"}),
    ("Could you share your check-in and check-out dates?", {"arrival", "departure"}),
    ("What are your arrival and departure dates?", {"arrival", "departure"}),
    ("What is the check-out date?", {"departure"}),
    ("How many guests will be staying?", {"guests"}),
    ("How many people are in your party?", {"guests"}),
    ("Please tell me the number of guests and the kind of room.", {"guests", "room"}),
    ("Would you like a single, a double or a suite?", {"room"}),
    ("Do you prefer a single room or a double room?", {"room"}),
    ("What type of room would you like?\n- Single\n- Double\n- Suite", {"room"}),
    ("We offer single, double and suite. Which one would you prefer?", {"room"}),
    ("Which kind of room: single, double, or suite?", {"room"}),
    ("What's your budget?", {"budget"}),
    ("How much would you like to spend at most?", {"budget"}),
    ("Is there a maximum price I should stay under? If so, what's your budget?", {"budget"}),
    ("What time would you like to have dinner?", {"dinner"}),
    ("At what time should I book dinner for you?", {"dinner"}),
    ("For dinner we have 18:00, 19:30 or 21:00. Which time suits you?", {"dinner"}),
    ("Would 6:00 PM, 7:30 PM or 9:00 PM work better for dinner?", {"dinner"}),
    ("Under whose name should I make the booking?", {"name"}),
    ("What name should the booking be under?", {"name"}),
    ("Could you give me the name for the booking?", {"name"}),
    ("Please provide the name on the booking, and your customer number.", {"name", "customer"}),
    (
        "To book your room, please provide the following information:\n\n1. Hotel\n2. Check-in date\n3. Check-out date"
        "\n4. Number of guests",
        {"hotel", "arrival", "departure", "guests"},
    ),
    (
        "I'd be glad to help! I'll need a few details:\n\n* **Hotel name** – which hotel would you like?\n"
        "* **Check-in date** (YYYY-MM-DD)\n* **Number of guests**\n\nOnce I have these, I'll check availability.",
        {"hotel", "arrival", "guests"},
    ),
    (
        "Let's get that sorted. Could you tell me:\n• when you arrive\n• when you leave\n• how many guests there are?",
        {"arrival", "departure", "guests"},
    ),
    ("I still need the following:\n- Customer number\n- Kind of room (single, double, suite)", {"customer", "room"}),
    ("Almost there! What's missing is your customer number.", {"customer"}),
    ("Your customer number, please.", {"customer"}),
    ("And the check-out date?", {"departure"}),
    ("Number of guests?", {"guests"}),
    ("Got it, Grand Plaza from March 5th. How many guests, and what kind of room?", {"guests", "room"}),
    ("Thank you, Maria! I have you at the Grand Plaza. Could I get your check-out date?", {"departure"}),
    ("Perfect, 5 March 2026 it is. How long will you stay — what is your check-out date?", {"departure"}),
    ("Would you mind sharing your customer number with me?", {"customer"}),
    ("Kindly specify the highest price you are willing to pay.", {"budget"}),
    ("Before I proceed, can you confirm your customer number?", {"customer"}),
    ("I wasn't able to find that customer number. Could you double-check it and send it again?", {"customer"}),
    ("In order to continue I require the check-in date as well as the number of guests.", {"arrival", "guests"}),
    ("Noted. If you could tell me the name on the booking, I can continue.", {"name"}),
    ("Let me know your check-in date and I'll search for rooms.", {"arrival"}),
    ("Once you give me the number of guests, I can look for rooms.", {"guests"}),
    ("**Next step:** please enter your customer number.", {"customer"}),
    ("Sorry, the date you gave is not valid. Which check-in date did you mean?", {"arrival"}),
    ("How long are you staying? Just tell me the check-in date and check-out date.", {"arrival", "departure"}),
    ('I can do that. First, what is the "customer number" printed on your card?', {"customer"}),
    ("Which hotel, which dates, and for how many guests?", {"hotel", "guests"}),
    ("Is it a single or double room you're after?", {"room"}),
    ("Lastly, I'll need your customer details — could you give me the number?", {"customer"}),
    ("Could you confirm the hotel for me?", {"hotel"}),
    ("What name and customer number should I put on the booking?", {"name", "customer"}),
    (
        "| Field | Value |\n| --- | --- |\n| Customer number | ? |\n| Hotel | ? |\n\nPlease fill in.",
        {"customer", "hotel"},
    ),
    ("What is the kind of room that the number of guests fits in?", {"room"}),
]

CONSENTS = [
    "Shall I go ahead and book it?",
    "I have found a double room at the Grand Plaza from 2026-03-05 to 2026-03-08. Would you like me to book it?",
    "Here's a summary:\n\n- **Hotel:** Grand Plaza\n- **Check-in:** March 5th, 2026\n- **Check-out:** 8 March 2026\n"
    "- **Guests:** 2\n\nIs everything correct?",
    "Please confirm that you'd like to proceed with this booking.",
    "Do you want me to proceed?",
    "Just to confirm: Grand Plaza, double room, 2 guests, 5–8 March. Is that right?",
    "Should I finalize the reservation for Maria Lopez?",
    "So that's the Grand Plaza, two guests, from 5 March to 8 March 2026, at most 1,500 euros — correct?",
    "Does this look right to you?",
    "Can I go ahead and make the booking?",
    "If everything looks good, I'll book the room now. Just reply 'yes' to confirm.",
    "Let me know if these details are correct and I'll complete the booking.",
    "Are you happy for me to book this room?",
    "I'm ready to book it. Do I have your permission?",
    "The total is €1,500.00. Would you like to proceed with the booking? (yes/no)",
    "Can you please confirm these details before I book?\n\nHotel: Grand Plaza\nCheck-in date: 2026-03-05\n"
    "Check-out date: 2026-03-08\nNumber of guests: 2\nKind of room: double",
    "Sounds good?",
    "May I proceed?",
    "I'll book the double room once you confirm.",
    "Is it okay if I book this now?",
    "Want me to lock that in?",
    "Everything is set. Ready to book?",
    "Could you confirm whether I should submit this?",
    "Awaiting your confirmation to book the room.",
]

NEITHER = [
    "Your room is booked. The booking code is B-7731.",
    "Is there anything else I can help you with today?",
    "You're welcome! Have a great stay at the Grand Plaza.",
    "One moment please, I am checking the rooms.",
    "Hello! How can I help you today?",
    "I found 3 rooms at the Grand Plaza for your check-in date 2026-03-05.",
    "Let me know if you have any other questions about your booking.",
    "Unfortunately the hotel has no room on the check-in date you asked for.",
    "Shall I check another hotel for you?",
]

WRONG: list[tuple[str, set[str]]] = [
    ("Shall I book the Grand Plaza from 2026-03-06 to 2026-03-08 for 2 guests?", {"arrival"}),
    ("To confirm: double room, March 5th to March 9th, 2 guests. Correct?", {"departure"}),
    ("So that's a suite for two guests, right?", {"room"}),
    ("- Hotel: Sea View\n- Check-in date: 2026-03-05\n- Number of guests: 2\n\nIs this correct?", {"hotel"}),
    ("Number of guests: 3, customer number: C-20417. Is that right?", {"guests"}),
    ("A table for 3 guests at 8:30 pm, shall I go ahead?", {"guests", "dinner"}),
    ("Your customer number is C-20471 and the room is a double. Shall I proceed?", {"customer"}),
    ("Dinner at 7:30 PM, highest price 1,500 euros, for Maria Lopez. Okay?", set()),
    ("Grand Plaza, 5 March 2026 until 8 March 2026, two guests, a double room. Shall I go ahead?", set()),
    ("Highest price: 1,800. Shall I book?", {"budget"}),
    ("The name on the booking is Mario Lopez. Is that correct?", {"name"}),
    ("Shall I go ahead?", set()),
]
