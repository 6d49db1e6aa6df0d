"""Guarded workflows: what a handle learns, when a version goes live, and what its guards stop."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
from typing import Any, cast

import pytest
from jit_shop import NOW, Shop, cents
from pydantic import BaseModel

import flowmind
from flowmind import InputError, NeedsAgent, Promotion, Stopped, tool
from flowmind.jit import GUARDS, Handle, Limits, Store
from flowmind.jit.shapes import merged, misfit, novelty, shape_of


class Price(BaseModel):
    cents: int


def kinds(handle: Handle) -> list[str]:
    return [run.kind for run in reversed(handle.store.runs(most=1_000))]


def guards(handle: Handle) -> list[str | None]:
    return [run.guard for run in reversed(handle.store.runs(most=1_000))]


LIVE: dict[str, Any] = {"mode": "live", "derive": "now", "promotion": NOW, "audit": 0.0}


def delivering(shop: Shop, **options: Any) -> Handle:
    settings: dict[str, Any] = {"query": "Ship an item.", **LIVE, **options}

    @flowmind.jit(shop.tools, **settings)
    def deliver(sku: str) -> dict[str, Any]:
        return shop.deliver(sku)

    return deliver


def costing(shop: Shop, **options: Any) -> Handle:
    settings: dict[str, Any] = {"query": "Tell the price of an item.", **LIVE, **options}

    @flowmind.jit(shop.tools, **settings)
    def cost(sku: str) -> int:
        return shop.cost(sku)

    return cost


# The states


def test_two_executions_make_a_version_that_answers() -> None:
    shop = Shop()
    deliver = delivering(shop)
    answers = [deliver(f"a{number}") for number in range(5)]
    assert answers[4] == {"status": "shipped", "number": "S-a4"}
    assert kinds(deliver) == ["agent", "agent", "hit", "hit", "hit"]
    assert shop.asked == 2
    assert shop.writes == [("ship", f"a{number}", f"w{number}") for number in range(5)]
    assert deliver.version is not None and deliver.version.state == "live"
    assert [event.kind for event in deliver.store.events()] == ["declared", "derived", "promoted"]


def test_shadow_costs_no_call_and_the_agent_answers() -> None:
    shop = Shop()
    deliver = delivering(shop, mode="shadow")
    for number in range(8):
        deliver(f"a{number}")
    assert kinds(deliver) == ["agent"] * 8
    assert shop.asked == 8
    assert len(shop.reads) == len(shop.writes) == 8
    verdicts = [run.verdict for run in reversed(deliver.store.runs())]
    assert verdicts[:2] == [None, None] and set(verdicts[2:]) <= {"agreed", "guarded"} and "agreed" in verdicts
    assert deliver.version is not None and deliver.version.state == "shadow"
    assert deliver.stats().rehearsals.percent == 100


def test_a_version_that_only_reads_goes_live_by_the_rule() -> None:
    shop = Shop()
    cost = costing(shop, promotion=Promotion(runs=20))
    for number in range(40):
        assert cost(f"a{number}") == cents(number)
    assert kinds(cost) == ["agent"] * 22 + ["hit"] * 18
    promoted = [event for event in cost.store.events() if event.kind == "promoted"]
    assert [event.detail["by"] for event in promoted] == ["rule"]


def test_repeated_inputs_do_not_count_for_promotion() -> None:
    shop = Shop()
    cost = costing(shop, promotion=Promotion(runs=5, lower=0))
    for number in (0, 1, *[2] * 10, 3, 4, 5):
        cost(f"a{number}")
    assert kinds(cost) == ["agent"] * 15
    assert cost("a6") == cents(6) and cost("a7") == cents(7)
    assert kinds(cost)[-2:] == ["agent", "hit"]


def test_a_version_that_writes_waits_for_a_person() -> None:
    shop = Shop()
    deliver = delivering(shop, promotion=Promotion(runs=0))
    for number in range(6):
        deliver(f"a{number}")
    assert kinds(deliver) == ["agent"] * 6
    with pytest.raises(InputError, match="who answers for the version"):
        deliver.promote(by=" ")
    promoted = deliver.promote(by="Ada")
    assert (promoted.state, promoted.by) == ("live", "Ada")
    deliver("a6")
    assert kinds(deliver)[-1] == "hit"
    deliver.retire(reason="enough")
    deliver("a7")
    assert kinds(deliver)[-1] == "agent"


def test_disagreements_have_their_place_and_lead_to_another_version() -> None:
    shop = Shop()
    shop.items["none"] = {"count": 0, "warehouse": "w99", "cents": 5}
    deliver = delivering(shop, mode="shadow", guards="none")
    for sku in ("a0", "a1", "none"):
        deliver(sku)
    (run, *_) = deliver.store.runs()
    assert run.verdict == "disagreed"
    assert run.difference is not None and run.difference.startswith("ship: it calls ship(")
    first, second = deliver.versions
    assert (first.state, second.state) == ("retired", "shadow")
    assert "ship" in first.tools and len(second.workflow.nodes) > len(first.workflow.nodes)


@pytest.mark.parametrize("mode", ["off", "record"])
def test_modes_that_derive_nothing(mode: Any) -> None:
    shop = Shop()
    deliver = delivering(shop, mode=mode)
    for number in range(4):
        deliver(f"a{number}")
    assert shop.asked == 4
    assert deliver.versions == []
    assert len(deliver.store.traces("deliver")) == (4 if mode == "record" else 0)


def test_recorded_executions_are_derived_from_when_asked() -> None:
    shop = Shop()
    deliver = delivering(shop, mode="record")
    assert deliver.derive() is None
    deliver("a0")
    deliver("a1")
    derived = deliver.derive()
    assert derived is not None and derived.workflow is not None
    assert deliver.version is not None and deliver.version.state == "shadow"


def test_frozen_needs_the_agent_and_does_not_ask_it() -> None:
    shop, store = Shop(), Store()
    frozen = delivering(shop, mode="frozen", store=store)
    with pytest.raises(NeedsAgent, match="no version is live"):
        frozen("a0")
    deliver = delivering(shop, store=store)
    deliver("a0")
    deliver("a1")
    shop.items["none"] = {"count": 0, "warehouse": "w99", "cents": 5}
    assert frozen("a2") == {"status": "shipped", "number": "S-a2"}
    with pytest.raises(NeedsAgent) as caught:
        frozen("none")
    assert caught.value.guard == "unread"
    assert shop.asked == 2
    assert kinds(frozen) == ["refused", "agent", "agent", "hit", "refused"]


def test_a_derivation_in_another_process_does_not_keep_the_caller_waiting() -> None:
    shop = Shop()
    cost = costing(shop, derive="process")
    try:
        for number in range(3):
            cost(f"a{number}")
        assert cost.wait(120)
        assert cost("a9") == cents(9)
        assert kinds(cost)[-1] == "hit"
    finally:
        cost.close()


def test_a_failed_derivation_is_an_event() -> None:
    numbers = iter(range(100))

    @tool(effect="write")
    def note(text: str) -> str:
        """Note a text."""
        return "ok"

    (noted,) = flowmind.recorded([note])

    @flowmind.jit([noted], query="Note something.", mode="live", derive="now", promotion=NOW)
    def remember(sku: str) -> str:
        return noted(f"x{next(numbers)}q")

    assert [remember(f"a{number}") for number in range(4)] == ["ok"] * 4
    assert kinds(remember) == ["agent"] * 4
    events = [event for event in remember.store.events() if event.kind == "not_derived"]
    assert events and "note" in events[0].detail["problem"]


# Functions and methods, sync and async


def test_async_handles_and_tools() -> None:
    asked: list[int] = []

    @tool(effect="read")
    async def double(number: int) -> int:
        """Double a number."""
        await asyncio.sleep(0)
        return 2 * number

    (doubled,) = flowmind.recorded([double])

    @flowmind.jit([doubled], query="Double a number twice.", mode="live", derive="now", promotion=NOW, audit=0)
    async def twice(number: int) -> int:
        asked.append(number)
        return await doubled(await doubled(number))

    async def every() -> list[int]:
        return [
            await twice(3),
            await twice.acall(5),
            await twice(number=7),
            *await asyncio.gather(*map(twice, range(9))),
        ]

    assert asyncio.run(every()) == [12, 20, 28, *(4 * number for number in range(9))]
    assert asked == [3, 5]


def test_a_sync_handle_with_async_tools_hits_inside_a_loop_too() -> None:
    @tool(effect="read")
    async def double(number: int) -> int:
        """Double a number."""
        await asyncio.sleep(0)
        return 2 * number

    (doubled,) = flowmind.recorded([double])

    @flowmind.jit([doubled], query="Double a number.", mode="live", derive="now", promotion=NOW, audit=0)
    def twice(number: int) -> int:
        return asyncio.run(doubled(number))

    assert [twice(3), twice(5), twice(8)] == [6, 10, 16]

    async def inside() -> int:
        return twice(11)

    assert asyncio.run(inside()) == 22
    assert kinds(twice) == ["agent", "agent", "hit", "hit"]


def test_a_call_for_each_element_of_a_list_is_no_new_shape() -> None:
    @tool(effect="read")
    def price(sku: str) -> int:
        """The price of an item."""
        return 7 * len(sku)

    (priced,) = flowmind.recorded([price])

    @flowmind.jit([priced], query="List the price of each item.", mode="live", derive="now", promotion=NOW, audit=0)
    def prices(skus: list[str]) -> list[int]:
        return [priced(sku) for sku in skus]

    answers = [prices(skus) for skus in (["a", "bb"], ["ccc", "a", "bb"], ["dddd"], ["a", "bb", "ccc", "dddd"])]
    assert answers[-1] == [7, 14, 21, 28]
    assert prices.version is not None
    assert "map" in {node.kind for node in prices.version.workflow.nodes}
    assert kinds(prices)[-1] == "hit"


def test_methods_with_tools_of_their_object() -> None:
    def tools_of(self: Any) -> Any:
        return self.tools

    class Clerk:
        def __init__(self, factor: int) -> None:
            @tool(effect="read")
            def scale(number: int) -> int:
                """Scale a number."""
                return factor * number

            self.tools = flowmind.recorded([scale])
            self.asked = 0

        @flowmind.jit(tools_of, query="Scale a number.", mode="live", derive="now", promotion=NOW, audit=0)
        def work(self, number: int, note: str = "") -> int:
            """Works."""
            self.asked += 1
            return self.tools[0](number)

    three, five = Clerk(3), Clerk(5)
    assert [three.work(2), three.work(number=4), three.work(6, "x")] == [6, 12, 18]
    assert five.work(7) == 35
    assert (three.asked, five.asked) == (2, 0)
    assert kinds(three.work) == [
        "agent",
        "agent",
        "hit",
        "hit",
    ]
    assert three.work.inputs["properties"].keys() == {"number", "note"}


def test_answers_have_the_type_that_the_function_returns() -> None:
    shop = Shop()

    @flowmind.jit(shop.tools, query="Tell the price.", mode="live", derive="now", promotion=NOW, audit=0)
    def cost(sku: str) -> Price:
        return Price(cents=shop.price(sku))

    assert [cost(f"a{number}") for number in range(3)] == [Price(cents=cents(number)) for number in range(3)]
    assert kinds(cost) == ["agent", "agent", "hit"]


def test_answers_of_the_agent_are_passed_on_as_they_are() -> None:
    @dataclasses.dataclass
    class Odd:
        value: object

    shop = Shop()

    @flowmind.jit(shop.tools, mode="live", derive="now")
    def cost(sku: str) -> Any:
        shop.price(sku)
        return Odd(object())

    assert isinstance(cost("a0"), Odd)
    assert [event.kind for event in cost.store.events()] == ["declared", "not_learnt"]


def test_an_exception_of_the_agent_reaches_the_caller() -> None:
    shop = Shop()

    @flowmind.jit(shop.tools, mode="live", derive="now")
    def cost(sku: str) -> int:
        raise ConnectionError("the model does not answer")

    with pytest.raises(ConnectionError, match="does not answer"):
        cost("a0")
    assert kinds(cost) == ["failed"]
    with pytest.raises(TypeError):
        cost()


def test_an_incomplete_execution_is_not_learnt() -> None:
    shop = Shop()

    @flowmind.jit(shop.tools, mode="live", derive="now")
    def cost(sku: str) -> int:
        with flowmind.case({"sku": sku}):
            return shop.price(sku)

    assert cost("a0") == 100
    assert [event.kind for event in cost.store.events()] == ["declared", "not_learnt"]


# Guards


def test_taught_on_items_in_stock_an_item_out_of_stock_is_not_shipped() -> None:
    shop = Shop()
    deliver = delivering(shop)
    for number in range(4):
        deliver(f"a{number}")
    shop.items["none"] = {"count": 0, "warehouse": "w99", "cents": 5}
    assert deliver("none") == {"status": "sold out"}
    assert [call for call in shop.writes if call[1] == "none"] == []
    assert kinds(deliver)[-1] == "fallback" and guards(deliver)[-1] == "unread"
    shop.items["few"] = {"count": 4, "warehouse": "w98", "cents": 120}
    assert deliver("few") == {"status": "shipped", "number": "S-few"}
    assert "none" in deliver.explain(deliver.store.runs()[1].id)


def test_without_its_guard_the_item_is_shipped() -> None:
    shop = Shop()
    deliver = delivering(shop, guards=[name for name in GUARDS if name not in ("unread", "rivals")])
    for number in range(4):
        deliver(f"a{number}")
    shop.items["none"] = {"count": 0, "warehouse": "w99", "cents": 5}
    assert deliver("none") == {"status": "shipped", "number": "S-none"}
    assert kinds(deliver)[-1] == "hit"


def test_a_result_that_nothing_reads_must_have_been_seen() -> None:
    state = {"a": "open"}

    @tool(effect="read")
    def status(sku: str) -> str:
        """Find the status of an item."""
        return state.get(sku, "open")

    @tool(effect="read")
    def price(sku: str) -> int:
        """Find the price of an item."""
        return 7 * len(sku)

    get_status, get_price = flowmind.recorded([status, price])

    @flowmind.jit([get_status, get_price], query="Tell the price.", mode="live", derive="now", promotion=NOW, audit=0)
    def cost(sku: str) -> int | None:
        return get_price(sku) if get_status(sku) == "open" else None

    assert [cost(sku) for sku in ("a", "bb", "ccc", "dddd")] == [7, 14, 21, 28]
    state["ee"] = "closed"
    assert cost("ee") is None
    assert (kinds(cost)[-1], guards(cost)[-1]) == ("fallback", "unread")


def test_changed_tools_and_shapes() -> None:
    store = Store()
    shop = Shop()
    cost = costing(shop, store=store)
    for number in range(3):
        cost(f"a{number}")
    assert kinds(cost)[-1] == "hit"
    shop.items["odd"] = {"count": 1, "warehouse": "w", "cents": "12.50 EUR"}
    assert cost("odd") == "12.50 EUR"
    assert (kinds(cost)[-1], guards(cost)[-1]) == ("fallback", "shape")

    @tool(effect="read")
    def price(sku: str, currency: str = "EUR") -> int:
        """Find the price of an item in cents."""
        return 1

    (other,) = flowmind.recorded([price])

    @flowmind.jit(
        [other], query="Tell the price of an item.", store=store, mode="live", derive="now", audit=0, name="cost"
    )
    def changed(sku: str) -> int:
        return other(sku)

    assert changed("a0") == 1
    assert (kinds(changed)[-1], guards(changed)[-1]) == ("fallback", "tools")


def test_a_value_that_a_condition_cannot_compare_stops_at_its_shape() -> None:
    shop = Shop()
    shop.items["sold"] = {"count": 0, "warehouse": "w", "cents": 1}
    deliver = delivering(shop)
    for sku in ("a0", "sold", "a1", "a2", "a3"):
        deliver(sku)
    assert kinds(deliver)[-1] == "hit" and deliver.version is not None
    assert any(node.kind == "condition" for node in deliver.version.workflow.nodes)
    shop.items["odd"] = {"count": None, "warehouse": "w", "cents": 1}
    deliver("odd")
    assert (kinds(deliver)[-1], guards(deliver)[-1]) == ("fallback", "shape")


def test_new_fields_pass() -> None:
    shop = Shop()
    deliver = delivering(shop)
    for number in range(3):
        deliver(f"a{number}")
    shop.items["a3"]["colour"] = "red"
    deliver("a3")
    assert kinds(deliver)[-1] == "hit"


def test_ways_that_no_trace_took() -> None:
    @tool(effect="read")
    def age(name: str) -> int:
        """Find the age of a person."""
        return len(name)

    @tool(effect="write")
    def invite(name: str) -> str:
        """Invite a person."""
        return f"invited {name}"

    find, ask = flowmind.recorded([age, invite])

    @flowmind.jit(
        [find, ask], query="Invite persons of 5 years or older.", mode="live", derive="now", promotion=NOW, audit=0,
        guards=["arm"],
    )  # fmt: skip
    def handle(name: str) -> str:
        return ask(name) if find(name) >= 5 else "too young"

    for name in ("abc", "abcdef", "ab", "a"):
        handle(name)
    assert kinds(handle) == ["agent", "agent", "hit", "hit"]
    handle("abcdefg")
    assert (kinds(handle)[-1], guards(handle)[-1]) == ("fallback", "arm")
    handle("abcdefgh")
    assert kinds(handle)[-1] == "hit"


def test_a_way_out_of_a_condition_with_a_constant_that_nothing_names_needs_two_traces() -> None:
    @tool(effect="read")
    def age(name: str) -> int:
        """Find the age of a person."""
        return len(name)

    @tool(effect="read")
    def greeting(name: str) -> str:
        """Find a greeting."""
        return f"hello {name}"

    find, greet = flowmind.recorded([age, greeting])

    @flowmind.jit(
        [find, greet], query="Greet persons who are old enough.", mode="live", derive="now", promotion=NOW, audit=0,
        guards=["arm"],
    )  # fmt: skip
    def handle(name: str) -> str:
        return greet(name) if find(name) >= 5 else "no"

    for name in ("abc", "abcdef", "ab", "abcdefg", "a", "abcdefgh"):
        handle(name)
    assert kinds(handle) == ["agent", "agent", "fallback", "fallback", "hit", "hit"]
    assert "1 of 2 needed traces took the way if.false" in str([run.reason for run in handle.store.runs()])


def test_constants_that_nothing_names_need_three_traces() -> None:
    @tool(effect="write")
    def send(to: str, channel: str) -> str:
        """Send a message."""
        return "sent"

    (sent,) = flowmind.recorded([send])

    @flowmind.jit([sent], query="Tell a person.", mode="live", derive="now", promotion=NOW, audit=0)
    def tell(name: str) -> str:
        return sent(name, "pigeon-7")

    for name in "abcde":
        tell(name)
    assert kinds(tell) == ["agent", "agent", "fallback", "hit", "hit"]
    assert guards(tell)[2] == "literal"


def test_age_errors_and_limits() -> None:
    shop = Shop()
    clock = [0.0]
    cost = costing(shop, max_age=100.0, now=lambda: clock[0])
    for number in range(3):
        cost(f"a{number}")
    assert kinds(cost)[-1] == "hit"
    clock[0] = 1e12
    cost("a3")
    assert guards(cost)[-1] == "age"

    shop = Shop()
    cost = costing(shop)
    for number in range(3):
        cost(f"a{number}")
    shop.failing.add("price")
    with pytest.raises(RuntimeError, match="no prices"):
        cost("a4")
    assert (kinds(cost)[-1], guards(cost)[-1]) == ("failed", "error")

    deliver = delivering(Shop(), limits=Limits(calls=1))
    for number in range(3):
        deliver(f"a{number}")
    assert (kinds(deliver)[-1], guards(deliver)[-1]) == ("fallback", "budget")


def test_inputs_that_do_not_fit_go_to_the_agent() -> None:
    shop = Shop()
    cost = costing(shop)
    for number in range(3):
        cost(f"a{number}")
    with pytest.raises(KeyError):
        cost(7)
    assert (kinds(cost)[-1], guards(cost)[-1]) == ("failed", "input")


def test_rivals_that_disagree() -> None:
    @tool(effect="read")
    def find(order: str) -> dict[str, Any]:
        """Find an order."""
        paid = int(order[1:])
        return {"paid": paid, "total": paid if paid < 50 else paid + 5}

    @tool(effect="write")
    def refund(order: str, cents: int) -> str:
        """Refund an order."""
        return f"refunded {cents}"

    get, pay = flowmind.recorded([find, refund])

    @flowmind.jit([get, pay], query="Refund an order.", guards=["rivals"], **LIVE)
    def handle(order: str) -> str:
        return pay(order, get(order)["total"])

    for order in ("o7", "o9", "o11"):
        handle(order)
    assert kinds(handle)[-1] == "hit"
    assert handle("o60") == "refunded 65"
    assert (kinds(handle)[-1], guards(handle)[-1]) == ("fallback", "rivals")
    assert handle("o70") == "refunded 75"
    assert kinds(handle)[-1] == "hit"


def test_evidence_is_added_without_another_derivation() -> None:
    shop = Shop()
    deliver = delivering(shop)
    for number in range(3):
        deliver(f"a{number}")
    shop.items["many"] = {"count": 900, "warehouse": "w77", "cents": 105}
    deliver("many")
    assert guards(deliver)[-1] == "unread"
    assert [event.kind for event in deliver.store.events()] == ["declared", "derived", "promoted"]
    shop.items["more"] = {"count": 800, "warehouse": "w78", "cents": 105}
    deliver("more")
    assert kinds(deliver)[-1] == "hit"
    assert deliver.version is not None and deliver.version.knowledge.traces == 3


# Audits


def test_an_audit_finds_a_changed_procedure_and_retires_the_version() -> None:
    shop = Shop()
    raised = [0]

    @flowmind.jit(shop.tools, query="Tell the price.", mode="live", derive="now", promotion=NOW, audit=1)
    def cost(sku: str) -> int:
        shop.asked += 1
        return shop.price(sku) + raised[0]

    for number in range(4):
        cost(f"a{number}")
    assert kinds(cost) == ["agent", "agent", "hit", "hit"]
    assert shop.asked == 4
    assert len(shop.reads) == 4  # audits are answered from the runs
    assert cost.stats().audits.count == 0 and cost.stats().audits.of == 2
    raised[0] = 5
    assert cost("a4") == cents(4)  # the caller has the answer of the version
    assert cost.stats().audits.count == 1
    assert cost.version is None or cost.version.state == "shadow" or len(cost.versions) > 1
    assert [event.kind for event in cost.store.events()][3] == "retired"


def test_an_audit_makes_no_write() -> None:
    shop = Shop()
    extra = [False]

    @flowmind.jit(shop.tools, query="Ship an item.", mode="live", derive="now", promotion=NOW, audit=1)
    def deliver(sku: str) -> dict[str, Any]:
        answer = shop.deliver(sku)
        if extra[0]:
            shop.refund(sku, 1)
        return answer

    for number in range(4):
        deliver(f"a{number}")
    extra[0] = True
    deliver("a5")
    assert shop.writes == [("ship", f"a{number}", f"w{number}") for number in (0, 1, 2, 3, 5)]
    assert deliver.stats().audits.count == 1 and deliver.stats().audits_failed == 0
    assert deliver.versions[0].state == "retired"  # the agent wants to write what the version does not


def test_a_share_of_hits_is_audited() -> None:
    shop = Shop()
    cost = costing(shop, audit=0.25)
    for number in range(60):
        cost(f"a{number}")
    audited = shop.asked - 2
    assert 5 <= audited <= 25
    again = Shop()
    other = costing(again, audit=0.25)
    for number in range(60):
        other(f"a{number}")
    assert again.asked == shop.asked


# Numbers and arguments


def test_statistics_are_numbers_lines_and_a_table() -> None:
    shop = Shop()

    @flowmind.jit(shop.tools, query="Tell the price.", mode="live", derive="now", promotion=NOW, audit=0)
    def cost(sku: str) -> int:
        case = flowmind.case.current()
        assert case is not None
        case.tokens = 100
        return shop.price(sku)

    for number in range(10):
        cost(f"a{number}")
    stats = cost.stats()
    assert (stats.requests, stats.hits, stats.taken) == (10, 8, 8)
    assert stats.hit_rate.percent == 80 and stats.hit_rate.low < 80 < stats.hit_rate.high
    assert stats.saved_tokens == 800
    assert stats.agent_seconds is not None and stats.saved_seconds is not None
    assert stats.saved_seconds == pytest.approx(8 * stats.agent_seconds - stats.own_seconds)
    assert "8 of 10 = 80.0 %" in repr(stats) == str(stats)
    table: str = cast(Any, stats)._repr_html_()
    assert table.startswith("<table>") and "8 of 10" in table
    assert "10 requests" in repr(cost)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "fast"}, "mode: 'fast' is none of off, record, shadow, live, frozen"),
        ({"mode": "life"}, "did you mean live?"),
        ({"derive": True}, "derive: True is none of process, now, never"),
        ({"guards": ["arms"]}, "there is no guard 'arms'"),
        ({"guards": 3}, "guards: give all, none or a list of names"),
        ({"audit": 2}, "audit: give a share between 0 and 1, not 2"),
        ({"audit": "5 %"}, "audit: give a share"),
        ({"promotion": 20}, "promotion: give a flowmind.Promotion"),
        ({"after_write": "go"}, "after_write: 'go' is none of stop, handover"),
        ({"approve": "me"}, "approve: give a function"),
        ({"max_age": 0}, "max_age: give a number above 0"),
        ({"keep_days": -1}, "keep_days: give a number above 0"),
        ({"most_traces": 1}, "most_traces: give 2 or more"),
        ({"limits": 3}, "limits: give a flowmind.jit.Limits"),
        ({"query": 3}, "query: give the task in words"),
        ({"redact": "x"}, "redact: give a list of regular expressions"),
        ({"redact": ["("]}, "'(' is not a regular expression"),
        ({"store": "/no/such/folder/flows.db"}, "the store cannot be opened"),
        ({"mode": "frozen", "after_write": "handover"}, "nothing can be handed over"),
    ],
)
def test_bad_arguments_are_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        delivering(Shop(), **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_bad_tools_functions_and_promotions() -> None:
    shop = Shop()

    def plain(sku: str) -> str:
        return sku

    def of_object(self: Any) -> Any:
        return shop.tools

    def starred(*skus: str) -> str:
        return ""

    with pytest.raises(InputError, match="the tool 'plain' is not recorded"):
        flowmind.jit([plain])(plain)
    with pytest.raises(InputError, match="give the recorded tools"):
        flowmind.jit([])
    with pytest.raises(InputError, match="must be passed by its name"):
        flowmind.jit(shop.tools)(starred)
    with pytest.raises(InputError, match="decorate a function"):
        flowmind.jit(shop.tools)(cast(Any, 3))
    with pytest.raises(InputError, match="the decorated function is no method"):
        flowmind.jit(of_object)(plain)
    for bad in ({"runs": -1}, {"lower": 2}, {"by": 3}):
        with pytest.raises(InputError):
            Promotion(**cast(Any, bad))
    handle = flowmind.jit(shop.tools)(plain)
    with pytest.raises(InputError, match="no version is shadow"):
        handle.promote(by="Ada")
    with pytest.raises(InputError, match="there is no run 'x'"):
        handle.explain("x")
    with pytest.raises(InputError, match="the arguments are no JSON"):
        handle(object())


def test_the_module_is_the_decorator() -> None:
    module: Any = importlib.import_module("flowmind.jit")
    assert module.jit is flowmind.jit or flowmind.jit is module
    assert module(Shop().tools, mode="off")(lambda_free).inputs["required"] == ["sku"]
    assert issubclass(Stopped, flowmind.FlowMindError)


def lambda_free(sku: str) -> str:
    return sku


# Requests in prose


def test_requests_of_one_phrasing_become_inputs() -> None:
    shop = Shop()

    @flowmind.jit(shop.tools, query="Refund an item.", request="text", **LIVE)
    def handle(text: str) -> str:
        sku = text.split()[4] if text.startswith("Please") else text.split()[-1]
        return shop.refund(sku, shop.price(sku))

    for number in range(3):
        handle(f"Please refund the item a{number} today")
    assert kinds(handle) == ["agent"] * 3
    assert handle("Please refund the item a7 today") == "R-a7"
    assert kinds(handle)[-1] == "hit"
    assert handle("I want my money back for a9") == "R-a9"
    assert (kinds(handle)[-1], guards(handle)[-1]) == ("fallback", "request")
    assert handle("please refund the item a8 today") == "R-a8"
    assert kinds(handle)[-1] == "hit"
    assert handle.version is not None and str(handle.version.template) == "Please refund the item {sku} today"
    assert [call[1] for call in shop.writes] == ["a0", "a1", "a2", "a7", "a9", "a8"]
    with pytest.raises(InputError, match="has no parameter 'sku' that is a text"):
        flowmind.jit(shop.tools, request="sku", **LIVE)(lambda_free_number)


def lambda_free_number(sku: int) -> str:
    return str(sku)


def test_a_new_field_passes_also_after_it_was_learnt() -> None:
    shape = shape_of({"total": 5})
    for total in (6, 7):
        shape = merged(shape, shape_of({"total": total}))
    shape = merged(shape, shape_of({"total": 5, "revision": 362}))
    assert misfit(shape, {"total": 6, "revision": 900}) == ""
    assert novelty(shape, {"total": 6, "revision": 900}, lambda _: False) == ""
    for revision in (363, 364, 365, 366):
        shape = merged(shape, shape_of({"total": 5, "revision": revision}))
    assert "revision" in novelty(shape, {"total": 6, "revision": 900}, lambda _: False)
    assert "total" in novelty(shape, {"total": 600}, lambda _: False)
