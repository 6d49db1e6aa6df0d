"""Lists that are brought together: by a key, by what contains them, and by the calls for some of their elements."""

from __future__ import annotations

from typing import Any

from flowmind.build.induction.cursors import Round
from flowmind.build.induction.lists import matching, nested_pairs
from flowmind.build.induction.matching import spans
from flowmind.build.induction.reading import read
from flowmind.build.induction.scopes import Context, Scope
from flowmind.build.induction.values import explain
from flowmind.workflow.expressions import evaluate

BEDS = [
    [{"bed": "B1", "crop": "leek"}, {"bed": "B2", "crop": "kale"}, {"bed": "B3", "crop": "beet"}],
    [{"bed": "B4", "crop": "kale"}, {"bed": "B5", "crop": "leek"}],
    [{"bed": "B6", "crop": "beet"}, {"bed": "B7", "crop": "leek"}, {"bed": "B8", "crop": "kale"}],
]
PICKS = [
    [{"at": "B1", "kg": 3, "sold": True}, {"at": "B3", "kg": 5, "sold": False}, {"at": "B1", "kg": 4, "sold": True}],
    [{"at": "B5", "kg": 2, "sold": True}, {"at": "B4", "kg": 6, "sold": True}, {"at": "B5", "kg": 9, "sold": False}],
    [{"at": "B8", "kg": 7, "sold": True}, {"at": "B6", "kg": 1, "sold": True}, {"at": "B6", "kg": 8, "sold": True}],
]


def _scopes() -> list[Scope]:
    return [Scope({"beds": own, "picks": picks}, n, n) for n, (own, picks) in enumerate(zip(BEDS, PICKS, strict=True))]


def _sold(bed: dict[str, Any], picks: list[dict[str, Any]]) -> int:
    return sum(pick["kg"] for pick in picks if pick["at"] == bed["bed"] and pick["sold"])


def _holds(text: str, scopes: list[Scope], values: list[Any]) -> bool:
    return [evaluate(text, dict(scope)) for scope in scopes] == values


def test_the_elements_that_a_value_of_the_visit_names_are_a_list() -> None:
    scopes = [
        Scope({**own, "bed": bed}, own.trace, (own.key, n)) for own in _scopes() for n, bed in enumerate(own["beds"])
    ]
    texts = [one.text for one in matching(Context(read("")), scopes)]
    assert "[pick for pick in picks if pick['at'] == bed['bed']]" in texts


def test_a_nested_list_is_read_with_what_contains_it() -> None:
    scopes = [Scope({"crates": [{"farm": "F1", "jars": [{"lot": "a"}]}, {"farm": "F2", "jars": [{"lot": "b"}]}]}, 0, 0)]
    (pairs,) = nested_pairs(Context(read("")), scopes)
    assert pairs.values[0][1] == {"crate": {"farm": "F2", "jars": [{"lot": "b"}]}, "jar": {"lot": "b"}}
    assert evaluate(pairs.text, dict(scopes[0])) == pairs.values[0]


def test_records_have_totals_of_another_list() -> None:
    scopes = _scopes()
    answers = [
        [{"bed": bed["bed"], "kg": _sold(bed, picks)} for bed in own if _sold(bed, picks) > 0]
        for own, picks in zip(BEDS, PICKS, strict=True)
    ]
    query = "For each bed add up the kg of its picks that were sold; leave out beds without any."
    found = explain(Context(read(query)), scopes, answers)
    assert found and _holds(found[0].text, scopes, answers)
    assert "pick['at'] == bed['bed']" in found[0].text and "pick['sold']" in found[0].text


def test_a_field_of_a_record_is_a_choice() -> None:
    scopes = _scopes()
    answers = [
        [{"bed": bed["bed"], "note": "idle" if _sold(bed, picks) == 0 else "in use"} for bed in own]
        for own, picks in zip(BEDS, PICKS, strict=True)
    ]
    found = explain(
        Context(read("List the beds. A bed whose picks were not sold is `idle`, others `in use`.")), scopes, answers
    )
    assert found and _holds(found[0].text, scopes, answers)


def test_elements_with_the_same_key_may_stand_for_a_call() -> None:
    rounds = [Round(0, 1, 0), Round(1, 2, 3)]
    assert spans(["a", "b", "a", "c", "a"], rounds) == ([3], [0, 2])
    assert spans(["a", "b"], [Round(0, 1, 0)]) == ([0], [])
