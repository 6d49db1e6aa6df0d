"""Conditions, filters, lists and aggregates of induction: each is evaluated by the workflow's own language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from flowmind.build.induction.aggregates import aggregates
from flowmind.build.induction.conditions import filters, separate
from flowmind.build.induction.lists import lists
from flowmind.build.induction.reading import read
from flowmind.build.induction.scopes import Candidate, Context, Scope
from flowmind.build.induction.values import explain
from flowmind.workflow.expressions import evaluate


def context_of(text: str = "", inputs: Sequence[str] = ()) -> Context:
    return Context(read(text), tuple(frozenset([value]) for value in inputs))


def scopes_of(*variables: dict[str, Any]) -> list[Scope]:
    return [Scope(own, trace, (trace,)) for trace, own in enumerate(variables)]


def conditions(text: str, visits: Sequence[tuple[dict[str, Any], bool]], inputs: Sequence[str] = ()) -> list[str]:
    """The conditions that separate the visits; each is evaluated at all of them."""
    scopes = scopes_of(*(variables for variables, _ in visits))
    found = separate(context_of(text, inputs), scopes, [label for _, label in visits])
    assert [candidate.bits for candidate in found] == sorted(candidate.bits for candidate in found)
    for candidate in found:
        assert [bool(evaluate(candidate.text, scope)) for scope in scopes] == [label for _, label in visits], candidate
    return [candidate.text for candidate in found]


def order(number: int, status: str, total: float, **more: Any) -> dict[str, Any]:
    return {"order": {"id": f"O{number}", "status": status, "total": total, **more}}


def test_a_status_that_the_text_names_is_likelier_than_other_fields():
    visits = [(order(1, "paid", 20.0), True), (order(2, "open", 40.0), False), (order(3, "paid", 30.0), True)]
    found = conditions("If the order is paid, refund it.", visits)
    assert found[0] == "order['status'] == 'paid'"


def test_a_limit_stands_at_the_number_of_the_text_on_the_side_of_its_phrase():
    visits = [(order(1, "a", 120), False), (order(2, "b", 180), True), (order(3, "c", 160), True)]
    found = conditions("If the total is over 150, ask; otherwise refund.", visits)
    assert found[0] == "order['total'] > 150"
    assert "order['total'] >= 150" in found


def test_both_sides_of_a_limit_are_kept_where_no_phrase_decides():
    visits = [(order(1, "a", 120), False), (order(2, "b", 180), True), (order(3, "c", 160), True)]
    found = conditions("Compare the total with 150.", visits)
    assert set(found[:2]) == {"order['total'] > 150", "order['total'] >= 150"}


def test_a_limit_without_a_number_in_the_text_lies_in_the_gap():
    visits = [({"age": 12}, False), ({"age": 43}, False), ({"age": 57}, True), ({"age": 80}, True)]
    found = conditions("Escalate old tickets.", visits)
    assert found[0] == "age >= 50" or found[0] == "age > 50"
    assert not any("12" in text or "80" in text for text in found)


def test_absent_values():
    boss = {"id": "M1", "email": "boss@corp.example"}
    visits = [
        ({"customer": {"name": "Ana", "manager": None}}, True),
        ({"customer": {"name": "Bo", "manager": boss}}, False),
        ({"customer": {"name": "Cleo", "manager": None}}, True),
        ({"customer": {"name": "Dan", "manager": {**boss, "id": "M2"}}}, False),
    ]
    assert conditions("A customer without a manager is told himself.", visits)[0] == "customer['manager'] is None"


def test_a_guard_stands_in_front_of_a_field_of_an_absent_object():
    visits = [
        ({"customer": {"manager": None}}, False),
        ({"customer": {"manager": {"level": "senior"}}}, True),
        ({"customer": {"manager": {"level": "junior"}}}, False),
    ]
    found = conditions("Write to the manager if it is a senior one.", visits)
    assert found[0] == "customer['manager'] is not None and customer['manager']['level'] == 'senior'"


def test_a_key_that_is_absent_somewhere():
    pages = [{"size": 2, "next": "p2"}, {"size": 2}, {"size": 2, "next": "p3"}]
    visits = [({"page": page}, "next" in page) for page in pages]
    found = conditions("Go through all pages.", visits)
    assert found[0] == "page.get('next') is not None"


def test_two_fields_are_compared():
    stock = [(3, 5), (9, 5), (7, 12), (20, 10), (4, 4)]
    visits = [({"stock": {"on_hand": have, "reorder_at": level}}, have < level) for have, level in stock]
    found = conditions("Reorder if the stock on hand is below the reorder level.", visits)
    assert found[0] == "stock['on_hand'] < stock['reorder_at']"


def test_an_input_is_compared_with_a_field():
    pairs = [(100, 120), (90, 60), (300, 310), (50, 20), (70, 75)]
    visits = [({"limit": limit, "order": {"total": total}}, total > limit) for limit, total in pairs]
    assert "order['total'] > limit" in conditions("Ask if the total is over the limit.", visits)[:2]


def test_two_tests_are_joined():
    data = [("paid", 200, True), ("paid", 90, False), ("open", 300, False), ("open", 40, False), ("paid", 170, True)]
    visits = [(order(number, status, total), label) for number, (status, total, label) in enumerate(data)]
    found = conditions("If it is paid and its total is over 150, refund it.", visits)
    assert found[0] == "order['status'] == 'paid' and order['total'] > 150" or (
        found[0] == "order['total'] > 150 and order['status'] == 'paid'"
    )


def test_a_text_contains_a_word_of_the_task():
    subjects = ["Refund please", "Login broken", "My refund", "Invoice question"]
    visits = [({"ticket": {"subject": subject}}, "refund" in subject.lower()) for subject in subjects]
    assert conditions("If the subject mentions a refund, assign it.", visits)[0] == (
        "'refund' in ticket['subject'].lower()"
    )


def test_a_member_of_a_list():
    tags = [["vip", "new"], ["new"], [], ["old", "vip"]]
    visits = [({"customer": {"tags": own}}, "vip" in own) for own in tags]
    assert conditions("Customers with the tag vip get a discount.", visits)[0] == "'vip' in customer['tags']"


def test_a_constant_of_one_trace_is_dear():
    visits = [
        ({"customer_id": "C7", "customer": {"tier": "gold"}}, True),
        ({"customer_id": "C8", "customer": {"tier": "basic"}}, False),
    ]
    found = conditions("Treat customers.", visits, inputs=["C7", "C8"])
    assert "C7" not in found[0] and "C8" not in found[0]


def test_dates_are_compared():
    dates = [("2025-01-10", "2025-02-01"), ("2025-03-10", "2025-02-11"), ("2025-05-01", "2025-04-30")]
    visits = [({"due": due, "order": {"placed": placed}}, placed > due) for due, placed in dates]
    assert "order['placed'] > due" in conditions("Is it placed after the due day?", visits)[:4]


def test_all_or_no_visits():
    assert conditions("", [({"a": 1}, True), ({"a": 2}, True)]) == ["True"]
    assert conditions("", [({"a": 1}, False), ({"a": 2}, False)]) == ["False"]


ORDERS = [
    [{"id": "O1", "status": "shipped", "total": 30}, {"id": "O2", "status": "open", "total": 90}],
    [],
    [
        {"id": "O3", "status": "open", "total": 15},
        {"id": "O4", "status": "shipped", "total": 70},
        {"id": "O5", "status": "paid", "total": 20},
    ],
]


def test_lists_with_lists_in_a_row():
    rows = [{"page": {"items": [1, 2]}}, {"page": {"items": [3]}}]
    found = lists(context_of(), scopes_of({"pages": rows}, {"pages": rows[:1]}))
    values = {feature.text: feature.values for feature in found}
    assert values["pages"] == (rows, rows[:1])
    assert values["sum((page['page']['items'] for page in pages), [])"] == ([1, 2, 3], [1, 2])
    for text, own in values.items():
        assert evaluate(text, {"pages": rows}) == own[0]


def test_filters_mark_elements():
    scopes = scopes_of(*({"listing": {"orders": own}, "limit": 10} for own in ORDERS))
    masks = [[one["status"] == "shipped" for one in own] for own in ORDERS]
    found = filters(context_of("Refund each shipped order."), scopes, Candidate(1.0, "listing['orders']"), masks, "one")
    assert found[0].text == "one['status'] == 'shipped'"


def test_filters_compare_elements_with_outer_variables():
    scopes = scopes_of(
        *({"listing": {"orders": own}, "limit": limit} for own, limit in zip(ORDERS, (50, 1, 18), strict=True))
    )
    masks = [[one["total"] > scope["limit"] for one in scope["listing"]["orders"]] for scope in scopes]
    source = Candidate(1.0, "listing['orders']")
    found = filters(context_of("Orders with a total over the limit."), scopes, source, masks, "one")
    assert found[0].text in ("one['total'] > limit", "one['total'] >= limit")


@pytest.mark.parametrize("mark", [True, False])
def test_filters_without_a_choice(mark: bool):
    scopes = scopes_of({"orders": ORDERS[0]})
    found = filters(context_of(), scopes, Candidate(1.0, "orders"), [[mark, mark]], "one")
    assert [candidate.text for candidate in found] == [str(mark)]


def listing(number: int, *orders: tuple[str, float]) -> dict[str, Any]:
    own = [
        {"id": f"O{number}{place}", "status": status, "total": total} for place, (status, total) in enumerate(orders)
    ]
    return {"listing": {"orders": own}}


LISTINGS = [
    listing(1, ("open", 20.5), ("shipped", 30.25), ("cancelled", 99.0), ("open", 7.0)),
    listing(2, ("cancelled", 12.0), ("paid", 44.5)),
    listing(3, ("shipped", 81.0), ("open", 60.0), ("shipped", 25.0)),
    listing(4, ("paid", 10.0), ("paid", 15.5), ("open", 31.0), ("cancelled", 8.0), ("shipped", 3.5)),
]


def aggregated(text: str, visits: Sequence[dict[str, Any]], values: Sequence[Any], hint: str = "") -> list[str]:
    """The aggregates that give the values; each is evaluated at all visits."""
    scopes = scopes_of(*visits)
    found = aggregates(context_of(text), scopes, values, hint, explain)
    assert [candidate.bits for candidate in found] == sorted(candidate.bits for candidate in found)
    for candidate in found:
        for scope, value in zip(scopes, values, strict=True):
            own = evaluate(candidate.text, scope)
            assert own == (pytest.approx(value, abs=0.005) if isinstance(value, float) else value), candidate
    return [candidate.text for candidate in found]


def orders_of(visit: dict[str, Any]) -> list[dict[str, Any]]:
    return visit["listing"]["orders"]


def test_a_count_with_a_filter():
    counts = [sum(one["status"] == "open" for one in orders_of(visit)) for visit in LISTINGS]
    found = aggregated("Count the open orders.", LISTINGS, counts)
    assert found[0] == "sum(1 for order in listing['orders'] if order['status'] == 'open')"


def test_a_sum_with_a_filter():
    totals = [round(sum(one["total"] for one in orders_of(v) if one["status"] != "cancelled"), 2) for v in LISTINGS]
    found = aggregated("Add up the totals of the orders that are not cancelled.", LISTINGS, totals)
    assert found[0] == "sum(order['total'] for order in listing['orders'] if order['status'] != 'cancelled')"


def test_a_sum_of_products_with_a_limit():
    lines = [[(3, 10), (1, 50)], [(2, 20), (4, 5), (5, 6)], [(1, 9)], [(2, 8), (3, 3)]]
    visits = [{"order": {"lines": [{"qty": q, "price": p, "sku": f"S{q}{p}"} for q, p in own]}} for own in lines]
    totals = [sum(q * p for q, p in own if q > 2) for own in lines]
    found = aggregated("Sum quantity times price over the lines of more than 2 pieces.", visits, totals)
    body = {"line['qty'] * line['price']", "line['price'] * line['qty']"}
    assert found[0] in {f"sum({one} for line in order['lines'] if line['qty'] > 2)" for one in body}


def test_sums_over_rows_of_a_loop():
    rows = [
        [({"qty": 2}, 12), ({"qty": 1}, 3)],
        [({"qty": 4}, 10), ({"qty": 3}, 11), ({"qty": 5}, 30)],
        [({"qty": 1}, 20)],
        [({"qty": 7}, 2)],
    ]
    visits = [
        {"rows": [{"line": line, "stock": {"supplier": {"lead_days": days}}} for line, days in own]} for own in rows
    ]
    totals = [sum(line["qty"] * days for line, days in own if days > 10) for own in rows]
    found = aggregated("Add up quantity times lead days of those that need more than 10 days.", visits, totals)
    assert found[0].endswith("for row in rows if row['stock']['supplier']['lead_days'] > 10)")


def test_totals_over_all_pages():
    pages = [[[30, 8], [120, 60]], [[90], [20, 70]], [[5, 200, 30]], [[10], [15]]]
    visits = [
        {"minimum": least, "pages": [{"page": {"items": [{"total": total} for total in part]}} for part in own]}
        for own, least in zip(pages, (50, 10, 30, 90), strict=True)
    ]
    totals = [
        sum(total for part in own for total in part if total >= visit["minimum"])
        for own, visit in zip(pages, visits, strict=True)
    ]
    found = aggregated("Sum the totals that reach the minimum, over all pages.", visits, totals)
    flat = "sum((page['page']['items'] for page in pages), [])"
    assert f"sum(item['total'] for item in {flat} if item['total'] >= minimum)" in found[:2]


def test_largest_smallest_and_mean():
    for compute, text in (
        (max, "max(order['total'] for order in listing['orders'])"),
        (min, "min(order['total'] for order in listing['orders'])"),
    ):
        values = [compute(one["total"] for one in orders_of(visit)) for visit in LISTINGS]
        assert aggregated("", LISTINGS, values)[0] == text
    means = [sum(one["total"] for one in orders_of(visit)) / len(orders_of(visit)) for visit in LISTINGS]
    source = "order['total'] for order in listing['orders']"
    assert aggregated("", LISTINGS, means)[0] == f"sum({source}) / len([{source}])"


def test_the_element_with_the_largest_key():
    values = [max(orders_of(visit), key=lambda one: one["total"])["id"] for visit in LISTINGS]
    found = aggregated("The id of the largest order by total.", LISTINGS, values)
    largest = "max(order['total'] for order in listing['orders'])"
    assert found[0] == f"[order['id'] for order in listing['orders'] if order['total'] == {largest}][0]"


def test_the_first_element_that_fits_or_none():
    visits = [*LISTINGS, listing(5, ("paid", 5.0))]
    values = [next((one["id"] for one in orders_of(v) if one["status"] == "shipped"), None) for v in visits]
    found = aggregated("The first shipped order.", visits, values)
    assert found[0] == (
        "[order['id'] for order in listing['orders'] if order['status'] == 'shipped'][0]"
        " if any(order['status'] == 'shipped' for order in listing['orders']) else None"
    )


def test_a_row_is_looked_up_by_a_key():
    users = [{"id": f"U{number}", "mail": f"user{number}@mail.example", "age": 20 + number} for number in range(6)]
    visits = [{"user": f"U{number}", "directory": {"users": users}} for number in (4, 1, 3)]
    found = aggregated("Write to the user.", visits, [f"user{number}@mail.example" for number in (4, 1, 3)])
    assert found[0] == "[user_2['mail'] for user_2 in directory['users'] if user_2['id'] == user][0]"


def test_lists_of_fields():
    values = [[one["id"] for one in orders_of(visit) if one["status"] == "open"] for visit in LISTINGS]
    found = aggregated("List the ids of the open orders.", LISTINGS, values)
    assert found[0] == "[order['id'] for order in listing['orders'] if order['status'] == 'open']"


def test_lists_of_objects():
    values = [
        [{"order": one["id"], "cents": one["total"]} for one in orders_of(visit) if one["status"] != "open"]
        for visit in LISTINGS
    ]
    found = aggregated("List the orders that are not open.", LISTINGS, values)
    assert found[0] == (
        "[{'order': order['id'], 'cents': order['total']} for order in listing['orders'] if order['status'] != 'open']"
    )


def test_lists_in_order_and_the_first_few():
    by_total = [sorted(orders_of(visit), key=lambda one: one["total"], reverse=True) for visit in LISTINGS]
    found = aggregated("Sort the ids by total.", LISTINGS, [[one["id"] for one in own] for own in by_total])
    source = "[pair[1] for pair in sorted([order['total'], order['id']] for order in listing['orders'])[::-1]]"
    assert found[0] == source
    found = aggregated("The ids of the top 2 by total.", LISTINGS, [[one["id"] for one in own][:2] for own in by_total])
    assert found[0] == f"{source}[:2]"
    found = aggregated("The first 2 ids.", LISTINGS, [[one["id"] for one in orders_of(v)][:2] for v in LISTINGS])
    assert found[0] == "[order['id'] for order in listing['orders']][:2]"


def test_joined_texts():
    values = [", ".join(one["id"] for one in orders_of(visit) if one["status"] != "open") for visit in LISTINGS]
    found = aggregated("The orders that are not open.", LISTINGS, values)
    assert found[0] == "', '.join([order['id'] for order in listing['orders'] if order['status'] != 'open'])"


def test_any_and_all():
    some = [any(one["status"] == "cancelled" for one in orders_of(visit)) for visit in LISTINGS]
    assert aggregated("Is any order cancelled?", LISTINGS, some)[0] == (
        "any(order['status'] == 'cancelled' for order in listing['orders'])"
    )
    each = [all(one["total"] > 10 for one in orders_of(visit)) for visit in LISTINGS]
    assert any(
        text.startswith("all(order['total'] > 10 ") for text in aggregated("Are all totals over 10?", LISTINGS, each)
    )


def test_aggregates_are_features_of_conditions():
    visits = [listing(5, ("open", 12.5), ("paid", 9.5)), listing(6, ("paid", 3.5)), *LISTINGS]
    labels = [sum(one["status"] in ("open", "paid") for one in orders_of(visit)) > 1 for visit in visits]
    found = conditions(
        "If the customer has more than 1 open or paid order, greet.", list(zip(visits, labels, strict=True))
    )
    assert "sum(1 for order in listing['orders'] if order['status'] in ['open', 'paid']) > 1" in found[:4]


def test_a_difference_of_fields_is_compared():
    stock = [(22, 3, 20), (28, 6, 20), (9, 1, 5), (15, 12, 4), (30, 5, 26)]
    visits = [
        ({"quantity": wanted, "stock": {"on_hand": have, "reserved": taken}}, have - taken >= wanted)
        for have, taken, wanted in stock
    ]
    found = conditions("Has it the quantity free: on hand and not reserved?", visits)
    assert "stock['on_hand'] - stock['reserved'] >= quantity" in found


def test_a_total_that_explains_another_value_is_likely_in_a_condition():
    total = "sum(order['total'] for order in listing['orders'] if order['status'] != 'cancelled')"
    limits = [80.0, 40.0, 170.0, 55.0]
    visits = [{**visit, "limit": limit} for visit, limit in zip(LISTINGS, limits, strict=True)]
    scopes = scopes_of(*visits)
    labels = [evaluate(total, scope) > scope["limit"] for scope in scopes]
    context = context_of("Hold the customer if the sum is over the limit.")
    context.totals = (Candidate(0.0, total),)
    assert separate(context, scopes, labels)[0].text in (f"{total} > limit", f"{total} >= limit")


def test_filters_of_three_tests():
    rows = [("fee", "booked", 20), ("fee", "booked", 3), ("fee", "pending", 50), ("fee", "booked", 12)]
    more = [("fee", "booked", 8), ("interest", "pending", 40), ("fee", "booked", 31), ("fee", "pending", 60)]
    last = [("interest", "booked", 25), ("fee", "booked", 14), ("fee", "booked", 90)]
    visits = [
        {
            "least": least,
            "entries": [{"kind": kind, "status": status, "amount": amount} for kind, status, amount in own],
        }
        for own, least in ((rows, 10), (more, 9), (last, 15))
    ]
    sums = [
        sum(
            entry["amount"]
            for entry in visit["entries"]
            if entry["kind"] == "fee" and entry["status"] == "booked" and entry["amount"] >= visit["least"]
        )
        for visit in visits
    ]
    found = aggregated("Sum the fee entries that are booked and have an amount of at least `least`.", visits, sums)
    assert any(
        all(test in text for test in ("['kind'] == 'fee'", "['status'] == 'booked'", "['amount'] >= least"))
        for text in found
    )


def test_one_value_of_a_pair_that_the_text_joins_is_less_likely_than_the_pair():
    visits = [({"ticket": {"state": "closed"}}, True), ({"ticket": {"state": "open"}}, False)]
    found = conditions("Do nothing if the ticket is solved or closed.", visits)
    assert found[0] == "ticket['state'] in ['closed', 'solved']"


def test_a_number_with_a_comparing_phrase_is_a_limit_and_not_singled_out():
    visits = [({"teams": 5}, True), ({"teams": 4}, False), ({"teams": 3}, False)]
    assert conditions("From 5 teams on, pay; with less than 5 teams do not.", visits)[0] == "teams >= 5"


def test_a_maximum_in_a_key_may_be_reached():
    visits = [({"seats": 3, "plan": {"max_seats": 9}}, True), ({"seats": 9, "plan": {"max_seats": 6}}, False)]
    found = [one for one in conditions("Change the seats of the plan.", visits) if "max_seats" in one and "= " in one]
    assert found[0] == "seats <= plan['max_seats']" or found[0] == "plan['max_seats'] >= seats"


def test_what_has_the_quantity_has_at_least_the_quantity():
    visits = [({"stock": 9, "quantity": 3}, True), ({"stock": 2, "quantity": 5}, False)]
    assert "=" in conditions("Find a depot with stock that has the quantity.", visits)[0]


def test_rounds_count_up_to_a_maximum_and_not_to_a_minimum():
    visits = [({"index": 0, "least": 1}, True), ({"index": 3, "least": 2}, False)]
    found = separate(context_of("Try at least `least`."), scopes_of(*(own for own, _ in visits)), [True, False])
    assert all(one.bits > 8 for one in found if one.text in ("least > index", "index < least"))
