"""Texts that induction works out from others: spelled otherwise, or with constant text around them."""

from __future__ import annotations

from typing import Any

import pytest

from flowmind.build.induction.expressions import explain
from flowmind.build.induction.terms import MAX_NAME, Pool, Term
from flowmind.workflow.expressions import evaluate

Env = dict[str, Any]
SEEN: list[Env] = [
    {"metric": "total visits", "bound": 12, "user": {"name": "Ann"}},
    {"metric": "engaged users", "bound": 5, "user": {"name": "Bo"}},
]
OTHER: Env = {"metric": "page views", "bound": 40, "user": {"name": "Cy"}}


def explained(targets: list[str], seen: list[Env] = SEEN) -> Term | None:
    """The likeliest term."""
    return next(iter(explain(Pool(seen), targets)), None)


@pytest.mark.parametrize(
    ("targets", "elsewhere"),
    [
        (["TOTAL VISITS", "ENGAGED USERS"], "PAGE VIEWS"),
        (["Total Visits", "Engaged Users"], "Page Views"),
        (["Total visits", "Engaged users"], "Page views"),
        (["total_visits", "engaged_users"], "page_views"),
        (["12", "5"], "40"),
        (["ann@example.com", "bo@example.com"], "cy@example.com"),
        (["Improve total visits", "Improve engaged users"], "Improve page views"),
        (['Ann\'s\n"total visits"', 'Bo\'s\n"engaged users"'], 'Cy\'s\n"page views"'),
        (["Ann: 12 total_visits.", "Bo: 5 engaged_users."], "Cy: 40 page_views."),
    ],
)
def test_a_text_is_worked_out_as_it_is_elsewhere(targets: list[str], elsewhere: str) -> None:
    term = explained(targets)
    assert term is not None
    assert [evaluate(term.expr, env) for env in SEEN] == targets
    assert evaluate(term.expr, OTHER) == elsewhere


def test_a_variable_is_likelier_than_another_ones_spelling() -> None:
    term = explained(["ann", "bo"], [{"low": name.lower(), "name": name} for name in ("Ann", "Bo")])
    assert term is not None
    assert term.expr == "low"


def test_one_text_alone_shows_no_pattern() -> None:
    term = explained(["Improve total visits"], SEEN[:1])
    assert term is not None
    assert term.uses == frozenset(), "a constant"


def test_texts_that_nothing_is_in_stay_unexplained() -> None:
    assert explained(["2023-10-10", "2023-11-03"]) is None
    assert explained(["x" * 2_000 + "Ann", "x" * 2_000 + "Bo"]) is None, "longer than is looked at"


def test_what_repeats_itself_is_given_up_soon() -> None:
    seen: list[Env] = [{"one": "a" * size, "two": "a" * (size + 1), "three": "a" * (size + 2)} for size in (1, 2)]
    assert explained(["a" * 900 + "b", "a" * 900 + "c"], seen) is None


def test_names_that_no_workflow_can_have_are_left_out() -> None:
    long = "n" * (MAX_NAME + 1)
    seen: list[Env] = [{long: "Ann"}, {long: "Bo"}]
    assert explained(["Ann", "Bo"], seen) is None
    assert explained(["ANN", "BO"], seen) is None
