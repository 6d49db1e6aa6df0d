"""The tools of the mail administration."""

from __future__ import annotations

from typing import Any

from flowmind import tool


@tool(effect="read")
def find_recipient(db: dict[str, Any], recipient: str) -> dict[str, Any]:
    """Look up the office of a recipient in the house.

    Args:
        recipient: Full name of the recipient.

    Returns:
        `state`: `here`, `away` or `unknown`; `office` if here, `deputy` if away, `registry` extension if unknown.
    """
    row = db["people"].get(recipient)
    result: dict[str, Any] = {"state": "unknown", "office": None, "deputy": None, "registry": None}
    if row is None:
        result["registry"] = (
            f"{db['registry']}-{sum(place * ord(letter) for place, letter in enumerate(recipient, 7)) % 90 + 10}"
        )
    elif row["away"]:
        result["state"] = "away"
        result["deputy"] = row["deputy"]
    else:
        result["state"] = "here"
        result["office"] = row["office"]
    return {"db": db, "result": result}


@tool(effect="read")
def quote_postage(db: dict[str, Any], recipient: str, grams: int) -> dict[str, Any]:
    """Look up how an item is carried to a recipient's office.

    Args:
        recipient: Full name of the recipient.
        grams: Weight in grams.

    Returns:
        `round`: the number of the delivery round, or `counter` where heavy items are handed in.
    """
    heavy = grams > db["heaviest"]
    number = (sum(place * ord(letter) for place, letter in enumerate(recipient, 7)) + grams) % 70 + 10
    return {
        "db": db,
        "result": {
            "carried": not heavy,
            "round": None if heavy else f"R{number}",
            "counter": f"C{number}" if heavy else None,
        },
    }


@tool(effect="write")
def send_item(db: dict[str, Any], recipient: str, grams: int, sender: str) -> dict[str, Any]:
    """Take an item in and put it on the round.

    Args:
        recipient: Full name of the recipient.
        grams: Weight in grams.
        sender: E-mail address of the sender.

    Returns:
        `barcode` of the item.
    """
    serial = db["serial"] + 11
    barcode = f"MX{serial * 71 % 900000 + 100000}"
    db["serial"] = serial
    db["items"][barcode] = {"recipient": recipient, "grams": grams, "sender": sender}
    return {"db": db, "result": {"barcode": barcode}}


@tool(effect="read")
def open_letter(db: dict[str, Any], letter: str) -> dict[str, Any]:
    """Look up a letter that waits for a response.

    Args:
        letter: Registration number of the letter, such as L-4410.

    Returns:
        `state`: `waiting`, `answered` or `unknown`; `due` time if it waits, `answered_on` if it was answered,
        `journal` page if it is unknown.
    """
    row = db["letters"].get(letter)
    result: dict[str, Any] = {"state": "unknown", "due": None, "answered_on": None, "journal": None}
    if row is None:
        result["journal"] = f"page {sum(place * ord(letter) for place, letter in enumerate(letter, 7)) * 3 % 800 + 100}"
    elif row["answered_on"]:
        result["state"] = "answered"
        result["answered_on"] = row["answered_on"]
    else:
        result["state"] = "waiting"
        result["due"] = row["due"]
    return {"db": db, "result": result}


@tool(effect="write")
def answer_letter(db: dict[str, Any], letter: str, template: str, signer: str) -> dict[str, Any]:
    """Answer a waiting letter with a standard text.

    Args:
        letter: Registration number of the letter.
        template: Standard text: acknowledgement, refusal or invitation.
        signer: Full name of the person who signs.

    Returns:
        `dispatch`: the number of the dispatch.
    """
    dispatch = (
        f"D{sum(place * ord(letter) for place, letter in enumerate(letter + template + signer, 7)) * 17 % 9000 + 1000}"
    )
    db["letters"][letter]["answered_on"] = "2026-05-11"
    db["responses"][dispatch] = {"letter": letter, "template": template, "signer": signer}
    return {"db": db, "result": {"dispatch": dispatch}}
