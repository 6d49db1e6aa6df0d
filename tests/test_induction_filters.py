"""Loops over lists with filters, also page by page: the workflows are right on other inputs, or in doubt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flowmind.build.induction.induce import induce
from flowmind.build.induction.induction import Induction, Request
from flowmind.build.induction.inductions import Recording
from flowmind.build.induction.runs import Call, Run
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import ToolSpec

World = Callable[[str, dict[str, Any]], Any]
SHELVES = {
    f"B{number}": {
        "books": [
            {
                "isbn": f"97{number * 31 + book * 7}",
                "genre": ("poetry", "travel", "crime")[(number + book * book) % 3],
                "stock": {"shelf": (number * 3 + book * 5) % 7, "cellar": book % 4},
                "lent": {"to": f"P{book}"} if (number + book) % 4 == 0 else None,
                "edited": {"at": f"20{10 + (number * book) % 9}-0{1 + book % 8}-11", "who": ("Ida", "Noor")[book % 2]},
            }
            for book in range(4 + number % 5)
        ]
    }
    for number in range(40)
}
PARCELS = {
    f"D{depot}": [
        {
            "parcel": f"PK{depot}{number}",
            "sender": f"S{(depot + number) % 5}",
            "status": ("waiting", "gone", "waiting", "held")[(depot + number * 3) % 4],
            "weight": {"grams": 100 * ((depot * 7 + number * 11) % 13) + 50},
        }
        for number in range(2 + depot % 6)
    ]
    for depot in range(40)
}
SENDERS = {f"S{number}": {"sender": f"S{number}", "plan": ("plus", "basic")[number % 2]} for number in range(5)}


def answer_of(tool: str, args: dict[str, Any]) -> Any:
    match tool:
        case "get_shelf":
            return SHELVES[args["shelf"]]
        case "withdraw_book":
            return {"slip": f"W{args['isbn']}"}
        case "list_parcels":
            parcels, start = PARCELS[args["depot"]], int(args["after"] or 0)
            more = start + 3 < len(parcels)
            return {"parcels": parcels[start : start + 3], "next": str(start + 3) if more else None}
        case "get_sender":
            return SENDERS[args["sender"]]
        case _:
            return {"done": True}


PARAMETERS = {
    "get_shelf": ["shelf"],
    "withdraw_book": ["isbn", "note"],
    "list_parcels": ["depot", "after"],
    "get_sender": ["sender"],
    "upgrade_parcel": ["parcel"],
    "return_parcel": ["parcel", "cause"],
}
SPECS = {
    name: ToolSpec(
        name=name,
        parameters={"type": "object", "properties": {field: {} for field in fields}, "required": fields},
        effect="read" if name.startswith(("get", "list")) else "write",
    )
    for name, fields in PARAMETERS.items()
}


def withdraw(call: World, shelf: str, day: str) -> Any:
    slips: list[Any] = []
    for book in call("get_shelf", {"shelf": shelf})["books"]:
        if book["genre"] == "travel" and book["stock"]["shelf"] >= 3 and book["edited"]["at"] < day:
            note = f"last edited {book['edited']['at']} by {book['edited']['who']}"
            slips.append(call("withdraw_book", {"isbn": book["isbn"], "note": note})["slip"])
    return slips


def sort_parcels(call: World, depot: str, day: str) -> Any:
    returned: list[Any] = []
    upgraded, after = 0, None
    while True:
        page = call("list_parcels", {"depot": depot, "after": after})
        for parcel in page["parcels"]:
            if parcel["status"] == "waiting" and parcel["weight"]["grams"] > 400:
                if call("get_sender", {"sender": parcel["sender"]})["plan"] == "plus":
                    call("upgrade_parcel", {"parcel": parcel["parcel"]})
                    upgraded += 1
                else:
                    call("return_parcel", {"parcel": parcel["parcel"], "cause": "too heavy"})
                    returned.append(parcel["parcel"])
        after = page["next"]
        if after is None:
            return {"returned": returned, "upgraded": upgraded}


QUERIES = {
    withdraw: "Withdraw the books of a shelf that are of the genre `travel`, of which the shelf has a stock of at least"
    " 3, and which were edited before the given day. The note is `last edited <at> by <who>`. Answer the list of the"
    " slips.",
    sort_parcels: "Go through all parcels of a depot, page by page. If a parcel has the status `waiting` and a weight"
    " of more than 400 grams, look at its sender: with the plan `plus` upgrade it, otherwise return it for the cause"
    " `too heavy`. Answer an object of `returned`, the list of the returned parcels, and `upgraded`, their number.",
}


def run_of(task: Callable[..., Any], inputs: dict[str, Any], number: int) -> Run:
    calls: list[Call] = []

    def call(tool: str, args: dict[str, Any]) -> Any:
        value = answer_of(tool, args)
        calls.append(Call(tool, args, value, len(calls)))
        return value

    answer = task(call, **inputs)
    return Run(inputs, tuple(calls), answer, number, len(calls))


def induced(task: Callable[..., Any], cases: list[dict[str, Any]]) -> Induction:
    runs = [run_of(task, case, number) for number, case in enumerate(cases)]
    properties = {name: {"type": "string"} for name in cases[0]}
    schema = {"type": "object", "properties": properties, "required": list(cases[0])}
    found = induce(Request(runs, SPECS, schema, QUERIES[task], task.__name__))
    assert found[0].sound, (found[0].problems, found[0].refused)
    return found[0]


def failures(task: Callable[..., Any], workflow: Workflow, cases: list[dict[str, Any]]) -> list[str]:
    found = [Recording([run_of(task, case, 0)], SPECS).contradicted(workflow) for case in cases]
    return [one for one in found if one]


def cases_of(name: str, letter: str, numbers: range) -> list[dict[str, Any]]:
    return [{name: f"{letter}{number}", "day": f"201{number % 9}-05-11"} for number in numbers]


@pytest.mark.parametrize("first", [0, pytest.param(7, marks=pytest.mark.slow)])
def test_a_filter_of_three_tests_is_found_with_texts_put_together(first: int) -> None:
    cases = cases_of("shelf", "B", range(40))
    training = cases[first : first + 7]
    found = induced(withdraw, training)
    assert failures(withdraw, found.workflow, cases) == []


@pytest.mark.parametrize("first", [2, pytest.param(18, marks=pytest.mark.slow)])
def test_pages_whose_elements_are_filtered_looked_up_and_sorted(first: int) -> None:
    cases = cases_of("depot", "D", range(40))
    training = cases[first : first + 7]
    found = induced(sort_parcels, training)
    assert failures(sort_parcels, found.workflow, cases) == []
