"""Branches on fields and values that depend on a choice: each side may be shown once, and the text gives the order."""

from __future__ import annotations

from typing import Any

import pytest

from flowmind.build.induction.chains import in_chain
from flowmind.build.induction.conditions import separate
from flowmind.build.induction.induce import induce
from flowmind.build.induction.induction import Induction, Request
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import Call, Run
from flowmind.build.induction.scopes import Context, Scope
from flowmind.build.induction.values import explain
from flowmind.run.running import run_batch
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.environments import FunctionEnvironment


def scopes_of(*variables: dict[str, Any]) -> list[Scope]:
    return [Scope(own, trace, (trace,)) for trace, own in enumerate(variables)]


def value(text: str, visits: list[tuple[dict[str, Any], Any]], hint: str = "") -> list[str]:
    found = explain(Context(read(text)), scopes_of(*(own for own, _ in visits)), [one for _, one in visits], hint)
    return [candidate.text for candidate in found]


def test_two_visits_show_a_constant_and_a_template() -> None:
    text = "An unpaid booking gets the note `no deposit`, a late one the note `due since <due>`."
    visits = [
        ({"booking": {"due": None, "room": "R1", "guest": "Ana"}}, "no deposit"),
        ({"booking": {"due": "2025-03-01", "room": "R2", "guest": "Bo"}}, "due since 2025-03-01"),
    ]
    found = value(text, visits, "note")[0]
    assert found == "'due since ' + booking['due'] if booking['due'] is not None else 'no deposit'"


def test_each_arm_may_have_its_own_arithmetic() -> None:
    text = (
        "The new fee is the old fee less 10 percent without accidents, the old fee plus 30 percent with 4 accidents or "
        "more, and otherwise the old fee, rounded to two decimals."
    )
    visits = [
        ({"car": {"fee": 411.37, "accidents": 0, "doors": 4}}, 370.23),
        ({"car": {"fee": 820.5, "accidents": 6, "doors": 2}}, 1066.65),
        ({"car": {"fee": 333.33, "accidents": 2, "doors": 4}}, 333.33),
    ]
    found = value(text, visits, "fee")[0]
    assert "round(0.9 * car['fee'], 2)" in found and "round(1.3 * car['fee'], 2)" in found
    assert "car['accidents'] >= 4" in found and "doors" not in found


def test_a_default_is_used_where_the_field_is_null() -> None:
    visits = [
        ({"room": {"keeper": "Ana", "size": 20, "floor": 1}}, "Ana"),
        ({"room": {"keeper": None, "size": 35, "floor": 2}}, "front desk"),
    ]
    found = value("Tell the keeper, or the `front desk` if there is none.", visits, "who")
    assert found[0] == "room['keeper'] if room['keeper'] is not None else 'front desk'"


@pytest.mark.parametrize(
    ("text", "names", "condition"),
    [
        ("The code begins with `tmp_`.", ("tmp_a", "b_tmp_c", "tmp_d"), "file['code'].startswith('tmp_')"),
        ("The code ends in `.bak`.", ("a.bak", "b.bak.c", "d.bak"), "file['code'].endswith('.bak')"),
        ("The code contains `-x-`.", ("a-x-b", "ax", "c-x-d"), "'-x-' in file['code']"),
    ],
)
def test_a_text_is_tested_for_a_quoted_part(text: str, names: tuple[str, ...], condition: str) -> None:
    scopes = scopes_of(*({"file": {"code": name, "size": size}} for name, size in zip(names, (5, 6, 5), strict=True)))
    found = separate(Context(read(text)), scopes, [True, False, True])
    assert condition in [candidate.text for candidate in found if candidate.bits <= found[0].bits + 1.0]


def test_the_main_field_of_a_named_object_is_read() -> None:
    scopes = scopes_of(
        {"member": {"debt": {"sum": 80, "day": "2025-01-01"}, "visits": 3}},
        {"member": {"debt": {"sum": 20, "day": "2025-02-01"}, "visits": 9}},
        {"member": {"debt": None, "visits": 3}},
    )
    found = separate(Context(read("If the debt is more than 50, block the card.")), scopes, [True, False, False])
    assert found[0].text == "member['debt'] is not None and member['debt']['sum'] > 50"


def test_conditions_stand_in_the_order_of_the_text() -> None:
    reading = read("If the weight is over 30, refuse. Otherwise, if it is fragile, pack it.")
    assert in_chain(reading, "item['weight'] > 30", "item['fragile']") <= 0
    assert in_chain(reading, "item['fragile']", "item['weight'] > 30") > 0
    assert in_chain(reading, "item['weight'] > 30", "item['weight'] > 10") < 0, "one value is tested twice"


def test_data_of_one_trace_is_no_side_of_a_choice() -> None:
    visits = [({"n": 3, "open": True}, 731.25), ({"n": 4, "open": False}, 912.5)]
    assert value("Answer with the price.", visits) == []


PARCELS: dict[str, dict[str, Any]] = {
    "P-101": {"id": "P-101", "label": "eu-11", "weight": 42, "fragile": False, "contact": "Ana"},
    "P-102": {"id": "P-102", "label": "us-12", "weight": 8, "fragile": True, "contact": "Bo"},
    "P-103": {"id": "P-103", "label": "eu-13", "weight": 9, "fragile": True, "contact": None},
    "P-104": {"id": "P-104", "label": "eu-14", "weight": 11, "fragile": False, "contact": None},
    "P-105": {"id": "P-105", "label": "us-15", "weight": 7, "fragile": False, "contact": "Cleo"},
    "P-106": {"id": "P-106", "label": "us-16", "weight": 55, "fragile": True, "contact": "Dan"},
    "P-107": {"id": "P-107", "label": "as-17", "weight": 30, "fragile": False, "contact": None},
}
PARCEL_TEXT = (
    "Send a parcel on its way. If it weighs more than 30, send nothing and answer with `state` `refused` and a null "
    "`code`. Otherwise, if it is fragile, ask for a packer with the note `pack <label>` for its contact, or for "
    "`front desk` if it has none; answer with `state` `packing` and the code of the job. Otherwise send it by `truck` "
    "if its label begins with `eu-`, and by `plane` if not; answer with `state` `sent` and the code of the shipment."
)


@tool(effect="read")
def get_parcel(parcel: str) -> dict[str, Any]:
    """A parcel."""
    return PARCELS[parcel]


@tool(effect="write")
def ask_packer(note: str, who: str) -> dict[str, str]:
    """Asks for a packer."""
    return {"job": f"J{note[-2:]}{who[0]}"}


@tool(effect="write")
def ship(parcel: str, way: str) -> dict[str, str]:
    """Ships a parcel."""
    return {"shipment": f"S{parcel[-2:]}{way[0]}"}


SANDBOX = FunctionEnvironment([get_parcel, ask_packer, ship])


def parcel_run(name: str, number: int) -> Run:
    calls: list[Call] = []

    def call(function: Any, **args: Any) -> Any:
        made = function(**args)
        calls.append(Call(function.__name__, args, made, len(calls)))
        return made

    own = call(get_parcel, parcel=name)
    if own["weight"] > 30:
        answer = {"state": "refused", "code": None}
    elif own["fragile"]:
        job = call(ask_packer, note=f"pack {own['label']}", who=own["contact"] or "front desk")
        answer = {"state": "packing", "code": job["job"]}
    else:
        sent = call(ship, parcel=name, way="truck" if own["label"].startswith("eu-") else "plane")
        answer = {"state": "sent", "code": sent["shipment"]}
    return Run({"parcel": name}, tuple(calls), answer, number, len(calls))


def parcel_induction() -> Induction:
    inputs = {"type": "object", "properties": {"parcel": {"type": "string"}}, "required": ["parcel"]}
    runs = [parcel_run(name, number) for number, name in enumerate(sorted(PARCELS)[:5])]
    return induce(Request(runs, SANDBOX.specs, inputs, PARCEL_TEXT, "parcel"))[0]


def test_a_chain_of_arms_with_choices_inside_is_right_on_other_inputs() -> None:
    made = parcel_induction()
    assert made.sound
    names = ["P-106", "P-107"]
    answers = run_batch(made.workflow.model_copy(update={"rivals": ()}), [{"parcel": name} for name in names], SANDBOX)
    assert [each.answer for each in answers] == [parcel_run(name, 0).answer for name in names]
