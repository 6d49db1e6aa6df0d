"""A day of a support desk: 1,000 requests to an agent behind `flowmind.jit`, and two changes that nobody announced.

    python day.py [--out DIR]

It prints each hundred requests, and writes `day.json` and the page `day.html`. The model is scripted and the day is the
same each time, so what the agent would have done is known for every request: this is how wrong answers are counted.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from page import page

import flowmind
from flowmind import tool

REQUESTS, RENAMED, GROSS = 1_000, 300, 650
CHANGES = {RENAMED: "days_late becomes delay_days", GROSS: "cents includes the shipping"}
"""What changes after a request: guards see the first, and only an audit sees the second."""
QUERY = "Refund an order that is more than 14 days late. Send a voucher if it is more than 3 days late."


class Desk:
    """The order service, the agent that uses it, and what was written."""

    def __init__(self) -> None:
        self.number = 0
        self.random = random.Random(7)
        self.orders: dict[str, dict] = {}
        self.written: list[tuple] = []

        @tool(effect="read")
        def find_order(order_id: str) -> dict:
            """Find an order."""
            return self.orders[order_id]

        @tool(effect="write")
        def refund(order_id: str, cents: int) -> dict:
            """Refund an order."""
            self.written.append(("refund", order_id, cents))
            return {"receipt": f"R-{order_id}"}

        @tool(effect="write")
        def send_voucher(customer: str) -> dict:
            """Send a voucher to a customer."""
            self.written.append(("send_voucher", customer))
            return {"voucher": f"V-{customer}"}

        self.find_order, self.refund, self.send_voucher = flowmind.recorded([find_order, refund, send_voucher])
        self.handle = flowmind.jit(
            [self.find_order, self.refund, self.send_voucher],
            query=QUERY, mode="live", derive="now", name="answer",
        )(self.agent)  # fmt: skip

    def agent(self, order_id: str) -> dict:
        """Stands in for the agent: it decides as a model does that reads the order."""
        order = self.find_order(order_id)
        what, given = decided(order_id, order)
        done = {} if what == "keep" else getattr(self, what)(**given)
        flowmind.case.current().tokens = 900 if what == "keep" else 1_400
        return {"action": what, **done}

    def new_order(self) -> str:
        """An order as the service tells it at this time of the day."""
        self.number += 1
        late, net, shipping = self.random.choice(range(30)), self.random.randrange(500, 20_000), 490
        order_id, customer = f"o-{self.number}", f"c-{self.random.randrange(10_000)}"
        late_field = "days_late" if self.number <= RENAMED else "delay_days"
        self.orders[order_id] = {late_field: late, "cents": net, "customer": customer}
        if self.number > GROSS:
            self.orders[order_id] |= {"cents": net + shipping, "shipping_cents": shipping}  # new fields pass guards
        return order_id


def decided(order_id: str, order: dict) -> tuple[str, dict]:
    """What is right for an order: the tool, and its arguments."""
    late = order.get("days_late", order.get("delay_days"))
    if late > 14:
        return "refund", {"order_id": order_id, "cents": order["cents"] - order.get("shipping_cents", 0)}
    return ("send_voucher", {"customer": order["customer"]}) if late > 3 else ("keep", {})


def look(desk: Desk, asked: list[dict]) -> None:
    """A person looks at the version in shadow, and promotes it after 20 rehearsals that all agreed."""
    for version in [version for version in desk.handle.versions if version.state == "shadow"]:
        agreed, count = desk.handle.store.rehearsed(version)
        if count >= 20 and agreed == count:
            writes = " and ".join(name for name in version.tools if name != "find_order")
            question = (
                f"May version {version.id} call {writes}? It agreed with the agent in {agreed} of {count} requests."
            )
            asked.append({"request": desk.number, "question": question, "answer": "yes, Ada"})
            desk.handle.promote(version.id, by="Ada")


def said(kind: str, about: dict) -> str:
    """An event of the store in words."""
    version = about.get("version", "")
    if kind == "derived":
        return f"version {version} was derived from {about['traces']} executions"
    if kind == "promoted":
        return f"version {version} went live, by {about['by']}"
    if kind == "retired":
        return f"version {version} was retired: {about['reason'].rpartition(': ')[2]}"
    return f"{kind}: {about.get('reason') or about.get('problem', '')}"


def live(desk: Desk) -> dict:
    """Lives through the day, and tells what happened."""
    rows: list[dict] = []
    asked: list[dict] = []
    events = [{"request": number, "what": f"unannounced: {text}"} for number, text in CHANGES.items()]
    store = desk.handle.store
    seen = len([*store.events()])
    for _ in range(REQUESTS):
        order_id = desk.new_order()
        what, given = decided(order_id, desk.orders[order_id])
        before = len(desk.written)
        desk.handle(order_id)
        right = desk.written[before:] == ([] if what == "keep" else [(what, *given.values())])
        run, version = store.runs(most=1)[0], desk.handle.version
        state = version.state if version is not None else "learning"
        rows.append({"request": desk.number, "kind": run.kind, "guard": run.guard, "right": right, "state": state})
        if desk.number % 10 == 0:
            look(desk, asked)
        new = [*store.events()][seen:]
        events += [{"request": desk.number, "what": said(event.kind, event.detail)} for event in new]
        seen += len(new)
    stats = desk.handle.stats()
    wrong = sum(row["kind"] == "hit" and not row["right"] for row in rows)
    guards = ", ".join(f"{name} {count}" for name, count in stats.fallbacks.items())
    summary = (
        f"{stats.hits} answered by a workflow, {wrong} of them wrong; fallbacks by guard: {guards}; "
        f"{stats.saved_tokens:,.0f} tokens saved; a person was asked {len(asked)} times"
    )
    return {"summary": summary, "rows": rows, "events": sorted(events, key=lambda one: one["request"]), "asked": asked}


def lines(day: dict) -> list[str]:
    """The day in lines, one for each hundred requests."""
    told = [f"{'requests':<10}{'hits':>6}{'wrong':>7}{'agent':>7}{'guards':>8}  state at the end"]
    for start in range(0, REQUESTS, 100):
        rows = day["rows"][start : start + 100]
        kinds = Counter(row["kind"] for row in rows)
        wrong = sum(row["kind"] == "hit" and not row["right"] for row in rows)
        told.append(
            f"{f'{start + 1}-{start + 100}':<10}{kinds['hit']:>6}{wrong:>7}{kinds['agent']:>7}{kinds['fallback']:>8}  "
            f"{rows[-1]['state']}"
        )
    told += [f"{event['request']}: {event['what']}" for event in day["events"]]
    told += [f"{one['request']}: asked: {one['question']} {one['answer']}" for one in day["asked"]]
    return [*told, day["summary"]]


def main() -> None:
    """Lives through the day and writes the files."""
    parser = argparse.ArgumentParser(description="A day of a support desk behind flowmind.jit.")
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder of day.json and day.html")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    desk = Desk()
    day = live(desk)
    (folder / "day.json").write_text(json.dumps(day, indent=1) + "\n", encoding="utf-8")
    (folder / "day.html").write_text(page(day, CHANGES, desk.handle.stats()), encoding="utf-8")
    print("\n".join(lines(day)))


if __name__ == "__main__":
    main()
