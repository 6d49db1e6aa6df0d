"""Values are explained by expressions that give the same values on visits that the search has not seen."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from flowmind.build.induction.features import enclosed, features, lengths, values_of
from flowmind.build.induction.reading import read
from flowmind.build.induction.scopes import Context, Scope, canonical
from flowmind.build.induction.spelling import reads_of
from flowmind.build.induction.values import explain
from flowmind.workflow.expressions import is_allowed

NAMES = [f"{first} {last}" for first in ("Ana", "Bo", "Cleo", "Dan") for last in ("Adams", "Berg", "Cruz")]


def visits(count: int, seed: int) -> list[Scope]:
    """Visits with an order, its customer and a rate."""
    random = Random(seed)
    found: list[Scope] = []
    for number in range(count):
        order = {
            "id": f"O{random.randint(500, 660)}",
            "status": random.choice(["open", "paid", "shipped"]),
            "total": round(random.uniform(5, 400), 2),
            "ship": {"fee": random.randint(2, 15), "to": {"place": {"city": random.choice(["Oslo", "Lima"])}}},
            "discount_percent": random.choice([0, 5, 10]),
            "lines": [{"sku": f"S{random.randint(10, 99)}"} for _ in range(random.randint(1, 4))],
        }
        customer = {
            "name": random.choice(NAMES),
            "tier": random.choice(["basic", "silver", "gold"]),
            "manager": random.choice([None, {"email": f"boss{number}@corp.example"}]),
            "email": f"user{number}@mail.example",
            "credit": random.randint(0, 900),
        }
        variables = {"order_id": order["id"], "amount": random.randint(1, 50), "order": order, "customer": customer}
        found.append(Scope({**variables, "exchange": {"rate": random.choice([0.9, 0.8, 10.5])}}, number, number))
    return found


CASES: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "deep path": ("", lambda it: it["order"]["ship"]["to"]["place"]["city"]),
    "last element": ("the last article", lambda it: it["order"]["lines"][-1]["sku"]),
    "length": ("", lambda it: len(it["order"]["lines"])),
    "three terms, rounded": (
        "the total plus the fee at the rate, rounded to cents",
        lambda it: round((it["order"]["total"] + it["order"]["ship"]["fee"]) * it["exchange"]["rate"], 2),
    ),
    "percentage of a path": (
        "the total less its discount",
        lambda it: round(it["order"]["total"] * (1 - it["order"]["discount_percent"] / 100), 2),
    ),
    "percentage of the text": ("12% of the total", lambda it: round(0.12 * it["order"]["total"], 2)),
    "four terms": ("3 times", lambda it: it["amount"] * 3 + it["order"]["ship"]["fee"] - it["customer"]["credit"]),
    "floor": ("rows of 7", lambda it: it["customer"]["credit"] // 7),
    "rounded up": ("pages of 7", lambda it: -(-it["customer"]["credit"] // 7)),
    "cap": ("twice the amount, at most 40", lambda it: min(2 * it["amount"], 40)),
    "function of a text": ("", lambda it: it["customer"]["name"].split(" ")[-1].upper()),
    "template": (
        "say 'Your order <id> goes to <name>'",
        lambda it: f"Your order {it['order']['id']} goes to {it['customer']['name']}",
    ),
    "absent value": ("", lambda it: it["customer"]["manager"] and it["customer"]["manager"]["email"]),
    "value beside an absent one": (
        "the manager, or the customer",
        lambda it: it["customer"]["manager"]["email"] if it["customer"]["manager"] else it["customer"]["email"],
    ),
    "few entries": (
        "gold 10, silver 5, others 0",
        lambda it: {"gold": 10, "silver": 5, "basic": 0}[it["customer"]["tier"]],
    ),
    "choice by limits": (
        "credit of 500 or more is high, of 200 or more normal, else low",
        lambda it: (
            "high" if it["customer"]["credit"] >= 500 else "normal" if it["customer"]["credit"] >= 200 else "low"
        ),
    ),
    "truth value": ("whether the total is over 150", lambda it: it["order"]["total"] > 150),
    "object": (
        "",
        lambda it: {
            "id": it["order"]["id"],
            "sum": round(it["order"]["total"] + it["order"]["ship"]["fee"], 2),
            "tags": ["x", it["customer"]["tier"]],
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_likeliest_expression_is_right_on_other_visits(name: str) -> None:
    text, function = CASES[name]
    seen, unseen = visits(10, 10), visits(100, 99)
    found = explain(Context(read(text)), seen, [function(scope) for scope in seen], "value")
    assert found
    values = values_of(Context(read("")), unseen, found[0].text)
    wanted = [function(scope) for scope in unseen]
    assert list(map(canonical, values)) == list(map(canonical, wanted)), found[0].text


def test_a_text_in_prices_has_two_decimals() -> None:
    seen, unseen = visits(20, 99), visits(50, 10)

    def price(it: dict[str, Any]) -> str:
        return f"{it['order']['total'] + it['order']['ship']['fee']:.2f} EUR for {it['customer']['name']}"

    found = explain(Context(read("")), seen, [price(scope) for scope in seen])
    assert values_of(Context(read("")), unseen, found[0].text) == tuple(price(scope) for scope in unseen)


def test_nothing_explains_random_values() -> None:
    random = Random(1)
    scopes = visits(10, 3)
    found = explain(Context(read("")), scopes, [f"{random.random()}" for _ in scopes])
    assert not found or found[0].bits > 200


def test_an_identifier_of_one_trace_is_a_dear_constant() -> None:
    scopes = [Scope({"order": {"id": "O7"}}, 0, 0)]
    context = Context(read(""), (frozenset({"C42"}),))
    leaked = explain(context, scopes, ["C42"])[0]
    assert leaked.text == "'C42'"
    assert leaked.bits > explain(Context(read("")), scopes, ["C42"])[0].bits + 20
    assert explain(Context(read("for C42")), scopes, ["C42"])[0].bits < 10


def test_rivals_are_kept() -> None:
    scopes = [Scope({"order": {"id": f"O{n}"}, "line": {"order_id": f"O{n}"}}, n, n) for n in range(3)]
    found = explain(Context(read("")), scopes, [f"O{n}" for n in range(3)], "order_id")
    assert {candidate.text for candidate in found[:2]} == {"order['id']", "line['order_id']"}


def test_paths_are_none_where_a_key_is_absent() -> None:
    scopes = [Scope({"page": {"next": "p7"}}, 0, 0), Scope({"page": {}}, 1, 1), Scope({"page": None}, 2, 2)]
    found = {feature.text: feature.values for feature in features(Context(read("")), scopes)}
    assert found["page.get('next')"][:2] == ("p7", None)
    assert not lengths(Context(read("")), scopes)


def test_the_reading_knows_numbers_words_and_sides() -> None:
    reading = read("Refund orders over 150 with at least 5 lines at 20 percent; answer 'all done'. Page 7 or more.")
    assert set(reading.numbers) >= {150, 5, 20, 0.2, 0.8, 1.2, 7}
    assert reading.sides[150] == {"above"}
    assert reading.sides[5] == reading.sides[7] == {"below"}
    assert reading.names("all done")
    assert reading.names(150)
    assert not reading.names("lin")
    assert not reading.names(True)
    assert reading.names_key("orderLines") == 1.0


def test_parts_of_expressions_are_enclosed_where_needed() -> None:
    assert enclosed("a + b", 5) == "(a + b)"
    assert enclosed("a * b", 5) == "a * b"
    assert enclosed("a if b else c", 4) == "(a if b else c)"
    assert enclosed("a['b']", 6) == "a['b']"


# Lists that belong together


def of_stores(count: int, seed: int) -> list[Scope]:
    """Visits with depots and their crates, the rows of a stock that name depots, and a line of an order."""
    random = Random(seed)
    found: list[Scope] = []
    for number in range(count):
        codes = random.sample(["KIL", "ORB", "TAM", "ZUR"], random.randint(2, 4))
        depots = [
            {
                "code": code,
                "open": random.random() < 0.6,
                "rent": random.randint(100, 900),
                "crates": [
                    {"sort": random.choice("ab"), "weight": random.randint(1, 90), "empty": random.random() < 0.4}
                    for _ in range(random.randint(1, 3))
                ],
            }
            for code in codes
        ]
        stock = [
            {"depot": random.choice([*codes, "XXX"]), "count": random.randint(0, 40), "spoiled": random.random() < 0.3}
            for _ in range(random.randint(2, 6))
        ]
        bills = [
            {
                "discount": random.choice([None, 10, 20]),
                "lines": [
                    {"bought": random.randint(4, 30), "back": random.randint(0, 3), "price": random.randint(1, 60) / 4}
                    for _ in range(random.randint(1, 3))
                ],
            }
            for _ in range(random.randint(0, 3))
        ]
        line = {"from": random.choice(codes), "months": random.randint(1, 9)}
        found.append(Scope({"depots": depots, "stock": stock, "bills": bills, "line": line}, number, number))
    return found


def total(it: dict[str, Any], depot: dict[str, Any]) -> int:
    """The sound pieces in a depot."""
    return sum(row["count"] for row in it["stock"] if row["depot"] == depot["code"] and not row["spoiled"])


def full(depot: dict[str, Any]) -> int:
    """The weight of a depot's crates that are not empty."""
    return sum(crate["weight"] for crate in depot["crates"] if not crate["empty"])


def named(it: dict[str, Any]) -> dict[str, Any]:
    """The depot of the line."""
    return next(depot for depot in it["depots"] if depot["code"] == it["line"]["from"])


JOINS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a field of a named element": ("its rent", lambda it: named(it)["rent"]),
    "a product with a named element": ("rent times months", lambda it: named(it)["rent"] * it["line"]["months"]),
    "totals of lists in elements": (
        "the weight of crates that are not empty of the heaviest depot",
        lambda it: max(map(full, it["depots"])),
    ),
    "the best by a nested total": (
        "the code and weight of the depot with the highest weight of crates that are not empty",
        lambda it: {
            "code": max(it["depots"], key=full)["code"],
            "weight": max(map(full, it["depots"])),
        },
    ),
    "rows of another list": (
        "for each open depot the count that is not spoiled; leave out depots without",
        lambda it: [
            {"code": depot["code"], "count": total(it, depot)}
            for depot in it["depots"]
            if depot["open"] and total(it, depot) > 0
        ],
    ),
    "a total of totals with a discount": (
        "bought less back times price, less the discount of the bill in percent, rounded to 2 decimals",
        lambda it: round(
            sum(
                sum((line["bought"] - line["back"]) * line["price"] for line in bill["lines"])
                * (1 - (bill["discount"] or 0) / 100)
                for bill in it["bills"]
            ),
            2,
        ),
    ),
}


@pytest.mark.parametrize("case", JOINS)
def test_lists_that_belong_together(case: str):
    query, function = JOINS[case]
    context = Context(read(query))
    shown = of_stores(8, 3)
    found = explain(context, shown, [function(scope) for scope in shown])
    assert found, case
    hidden = of_stores(40, 4)
    given = values_of(context, hidden, found[0].text)
    right = [canonical(own) == canonical(function(scope)) for scope, own in zip(hidden, given, strict=True)]
    assert sum(right) >= 38, (found[0].text, sum(right))


def test_a_value_after_a_branch_is_the_result_of_its_arm() -> None:
    rows = [(None, 7), (12, 9), (None, 30), (5, 2)]
    scopes = [
        Scope({"largest": one, "total": other, "count": 3 * place}, place, place)
        for place, (one, other) in enumerate(rows)
    ]
    values = [other if one is None else one for one, other in rows]
    found = explain(Context(read("")), scopes, values, "second")
    assert found[0].text == "largest if largest is not None else total"


def test_a_list_may_have_one_element_more_than_another_one() -> None:
    rows = [(3, [5, 8]), (10, [1]), (2, [7, 7, 9])]
    scopes = [Scope({"winner": one, "others": rest}, place, place) for place, (one, rest) in enumerate(rows)]
    ahead = explain(Context(read("")), scopes, [[one, *rest] for one, rest in rows])
    behind = explain(Context(read("")), scopes, [[*rest, one] for one, rest in rows])
    assert (ahead[0].text, behind[0].text) == ("[winner] + others", "others + [winner]")


def test_the_length_of_lists_that_are_all_equally_long_is_no_count() -> None:
    scopes = [
        Scope({"span": [day, day + 3], "closing": day + 9}, place, place) for place, day in enumerate((1, 20, 44))
    ]
    found = explain(Context(read("It is taken down during the 2 days after it.")), scopes, [12, 31, 55])
    assert found[0].text in ("closing + 2", "2 + closing")


def test_an_expression_that_is_too_long_for_a_workflow_is_no_value_and_ends_nothing() -> None:
    long = "[" + ", ".join(f"a{number % 3}['x']['y']" for number in range(120)) + "]"
    assert not is_allowed(long) and is_allowed("a0['x']")
    assert reads_of(long) == {"a0", "a1", "a2"}
