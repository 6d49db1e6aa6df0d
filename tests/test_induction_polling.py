"""Repetitions of a call until one of several results comes, at most a number of times, with a way on for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowmind.build.induction.conditions import separate
from flowmind.build.induction.induce import induce
from flowmind.build.induction.induction import Request
from flowmind.build.induction.noise import saved
from flowmind.build.induction.program import CallStep, DoWhile, If, Return, Slot
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import Call, Run
from flowmind.build.induction.scopes import Candidate, Context, Scope
from flowmind.run.running import run_batch
from tools_registry.sandbox.callables import tool
from tools_registry.sandbox.functions import FunctionEnvironment


class World:
    """Tools that answer from a script, and the calls that were made."""

    reading: Sequence[str] = ()
    writing: Sequence[str] = ()

    def __init__(self, script: Any) -> None:
        self.script = script
        self.asked: dict[str, int] = {}
        self.calls: list[Call] = []

    def of(self, key: str, states: Sequence[Any]) -> Any:
        """The next of the states of a thing; the last one again and again."""
        self.asked[key] = self.asked.get(key, 0) + 1
        return states[min(self.asked[key], len(states)) - 1]

    def call(self, function: Callable[..., Any], **args: Any) -> Any:
        value = function(**args)
        self.calls.append(Call(function.__name__, args, value, len(self.calls)))
        return value

    def environment(self) -> FunctionEnvironment:
        marked = [tool(effect="read")(getattr(self, name)) for name in self.reading]
        return FunctionEnvironment([*marked, *(tool(effect="write")(getattr(self, name)) for name in self.writing)])


Task = Callable[[Any, dict[str, Any]], Any]
Case = tuple[dict[str, Any], Any]


def right(kind: type[World], task: Task, query: str, shown: Sequence[Case], held: Sequence[Case]) -> None:
    """Checks that the workflow of some cases makes the right calls and gives the right answers in others."""
    runs: list[Run] = []
    for number, (inputs, script) in enumerate(shown):
        world = kind(script)
        answer = task(world, inputs)
        runs.append(Run(inputs, tuple(world.calls), answer, number, len(world.calls)))
    kinds = {name: {"type": "integer" if isinstance(value, int) else "string"} for name, value in shown[0][0].items()}
    inputs: dict[str, Any] = {"type": "object", "properties": kinds, "required": list(kinds)}
    made = induce(Request(runs, kind(None).environment().specs, inputs, query, "learned"))
    assert made[0].sound, made[0].refused
    for inputs, script in held:
        wanted, world = kind(script), kind(script)
        answer = task(wanted, inputs)
        workflow = made[0].workflow.model_copy(update={"rivals": ()})
        trace = run_batch(workflow, [inputs], world.environment())[0]
        assert trace.answer == answer, script
        calls = [(call.tool, call.args) for call in wanted.calls]
        assert [(one.call.tool, one.call.args) for one in trace.calls] == calls, script


class Backups(World):
    reading = ("backup_state",)
    writing = ("start_backup", "register_copy", "open_incident", "stop_backup")

    def start_backup(self, database: str) -> dict[str, Any]:
        return {"backup": f"B-{database}", "state": "new"}

    def backup_state(self, backup: str) -> dict[str, Any]:
        state = self.of(backup, self.script)
        return {
            "backup": backup,
            "state": state,
            "size": 10 * self.asked[backup] if state == "complete" else None,
            "error": {"text": "disk full"} if state == "broken" else None,
        }

    def register_copy(self, backup: str, size: int) -> dict[str, Any]:
        return {"copy": f"C{size}"}

    def open_incident(self, database: str, text: str) -> dict[str, Any]:
        return {"incident": f"INC-{database}"}

    def stop_backup(self, backup: str) -> dict[str, Any]:
        return {"stopped": True}


def backed_up(world: Backups, inputs: dict[str, Any]) -> Any:
    started = world.call(world.start_backup, database=inputs["database"])
    seen: dict[str, Any] = {}
    for _ in range(4):
        seen = world.call(world.backup_state, backup=started["backup"])
        if seen["state"] == "complete":
            copy = world.call(world.register_copy, backup=started["backup"], size=seen["size"])
            return {"result": copy["copy"], "state": "complete"}
        if seen["state"] == "broken":
            incident = world.call(world.open_incident, database=inputs["database"], text=seen["error"]["text"])
            return {"result": incident["incident"], "state": "broken"}
    world.call(world.stop_backup, backup=started["backup"])
    return {"result": None, "state": seen["state"]}


def test_each_outcome_of_a_repetition_has_its_way_on() -> None:
    query = (
        "Back up a database and look at the backup until it is complete or broken, at most four times. Register the "
        "copy of a complete one with its size; open an incident with the text of the error for a broken one; otherwise "
        "stop the backup. Give the id of the copy or of the incident as `result`, and the state."
    )
    scripts = (
        ["queued", "running", "complete"],
        ["complete"],
        ["queued", "broken"],
        ["running", "running", "running", "running"],
        ["queued", "running", "running", "broken"],
    )
    shown = [({"database": f"db{number}"}, script) for number, script in enumerate(scripts)]
    more = (["broken"], ["queued"] * 5, ["queued", "queued", "queued", "complete"], ["running", "running", "broken"])
    held = [({"database": f"other{number}"}, script) for number, script in enumerate(more)]
    right(Backups, backed_up, query, shown, held)


class Payments(World):
    reading = ("get_invoice",)
    writing = ("charge_card", "send_receipt", "send_reminder")

    def get_invoice(self, invoice: str) -> dict[str, Any]:
        return {
            "invoice": invoice,
            "card": f"card-{invoice}",
            "cents": self.script["cents"],
            "paid": self.script["paid"],
        }

    def charge_card(self, card: str, cents: int) -> dict[str, Any]:
        return {"outcome": self.of(card, self.script["outcomes"]), "attempt": self.asked[card]}

    def send_receipt(self, invoice: str) -> dict[str, Any]:
        return {"sent": True}

    def send_reminder(self, invoice: str, reason: str) -> dict[str, Any]:
        return {"sent": True}


def collected(world: Payments, inputs: dict[str, Any]) -> Any:
    invoice = world.call(world.get_invoice, invoice=inputs["invoice"])
    if invoice["paid"]:
        return "paid already"
    charged: dict[str, Any] = {}
    for _ in range(inputs["tries"]):
        charged = world.call(world.charge_card, card=invoice["card"], cents=invoice["cents"])
        if charged["outcome"] != "timeout":
            break
    if charged["outcome"] == "accepted":
        world.call(world.send_receipt, invoice=inputs["invoice"])
    else:
        world.call(world.send_reminder, invoice=inputs["invoice"], reason=charged["outcome"])
    return charged["outcome"]


def test_an_input_limits_a_repetition_in_a_branch() -> None:
    query = (
        "Collect an invoice, unless it is paid already: answer `paid already` then. Charge the card; as long as the "
        "outcome is `timeout`, charge it again, but make no more than the given number of tries. Send a receipt if it "
        "is `accepted` in the end, otherwise a reminder with the outcome as the reason. Answer with the outcome."
    )

    def case(number: int, tries: int, outcomes: Sequence[str], paid: bool = False) -> Case:
        script = {"cents": 100 + 7 * number, "paid": paid, "outcomes": outcomes}
        return {"invoice": f"I{number}", "tries": tries}, script

    shown = [
        case(1, 3, ["timeout", "accepted"]),
        case(2, 2, ["timeout", "timeout"]),
        case(3, 5, ["declined"]),
        case(4, 4, ["accepted"], True),
        case(5, 4, ["timeout", "timeout", "timeout", "timeout"]),
        case(6, 4, ["timeout", "timeout", "declined"]),
    ]
    held = [
        case(11, 3, ["timeout", "timeout", "timeout", "accepted"]),
        case(12, 1, ["timeout", "accepted"]),
        case(13, 6, ["timeout", "timeout", "timeout", "timeout", "timeout", "accepted"]),
        case(14, 2, ["declined"]),
        case(15, 2, [], True),
    ]
    right(Payments, collected, query, shown, held)


class Prints(World):
    reading = ("get_folder", "print_state")
    writing = ("print_page", "flag_page")

    def get_folder(self, folder: str) -> dict[str, Any]:
        return {"folder": folder, "pages": [{"page": page} for page in self.script]}

    def print_page(self, page: str) -> dict[str, Any]:
        return {"job": f"J-{page}"}

    def print_state(self, job: str) -> dict[str, Any]:
        return {"job": job, "progress": self.of(job, self.script[job[2:]])}

    def flag_page(self, page: str, note: str) -> dict[str, Any]:
        return {"flagged": page}


def printed(world: Prints, inputs: dict[str, Any]) -> Any:
    done = 0
    for page in world.call(world.get_folder, folder=inputs["folder"])["pages"]:
        job = world.call(world.print_page, page=page["page"])
        seen: dict[str, Any] = {}
        for _ in range(3):
            seen = world.call(world.print_state, job=job["job"])
            if seen["progress"] in ("printed", "jammed"):
                break
        if seen["progress"] == "printed":
            done += 1
        else:
            world.call(world.flag_page, page=page["page"], note=seen["progress"])
    return done


def test_a_repetition_in_each_round_of_a_loop() -> None:
    query = (
        "Print all pages of a folder. After each, ask for the state of its print job until the progress is 'printed' "
        "or 'jammed', three times at most; flag the page with the progress as the note if it is not printed. Answer "
        "with the number of printed pages."
    )
    shown = [
        ({"folder": "F1"}, {"a": ["waiting", "printed"], "b": ["printed"], "c": ["waiting", "jammed"]}),
        ({"folder": "F2"}, {"d": ["waiting", "warming", "warming", "printed"], "e": ["warming", "warming", "printed"]}),
        ({"folder": "F3"}, {"f": ["jammed"], "g": ["printed"], "h": ["waiting", "printed"]}),
        ({"folder": "F4"}, {"i": ["warming"], "j": ["waiting", "jammed"]}),
    ]
    held = [
        ({"folder": "F5"}, {"k": ["printed"], "l": ["waiting", "waiting", "jammed"], "m": ["warming", "printed"]}),
        ({"folder": "F6"}, {"n": ["waiting"], "o": ["waiting", "waiting", "waiting", "printed"]}),
    ]
    right(Prints, printed, query, shown, held)


def test_what_has_ended_a_repetition_is_likely_to_decide_again() -> None:
    values = [{"seen": {"lamp": lamp, "level": level}} for lamp, level in (("green", 9), ("red", 2), ("yellow", 3))]
    context = Context(read("Wait for it, and sound the horn."))
    without = [Scope(value, place, place) for place, value in enumerate(values)]
    text = "seen['lamp'] not in ['green', 'red']"
    after = [Scope(value, place, ("after", place), (text,)) for place, value in enumerate(values)]
    first = separate(context, after, [True, False, False])[0]
    assert first.text == "seen['lamp'] == 'green'"
    assert separate(context, after, [False, False, True])[0].text == text
    assert first.bits < separate(context, without, [True, False, False])[0].bits


def of(text: str, bits: float) -> Slot:
    return Slot((Candidate(bits, text),))


def test_what_calls_that_are_left_out_may_save() -> None:
    poll = DoWhile(
        (CallStep("poll", "seen", {"job": of("job", 4.0)}),), of("seen['open'] and index < 5", 20.0), "rounds"
    )
    branch = If(of("seen['open']", 5.0), (CallStep("close", "closed", {"job": of("job", 4.0)}),), ())
    other = If(of("job == 'x'", 9.0), (CallStep("log", "logged", {}),), ())
    block = (poll, branch, other, Return(of("job", 3.0)))
    assert 24.0 + 5.0 < saved(block, {"poll"}) < saved(block, {"poll", "log"}), "the loop and what reads its result"
    assert 9.0 < saved(block, {"log"}) < 24.0, "a branch that decides about nothing else"
    assert saved(block, {"sell"}) == 0.0
