"""Parallel runs: the same traces as one call after the other, barriers around effects, and the critical path."""

from __future__ import annotations

import asyncio
import functools
import json
import selectors
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_interpreter import call, compute, condition, each, end, sketch
from test_random_workflows import FUNCTIONS, Maker, cases

from flowmind import CaseFailed, RunnableWorkflow, tool
from flowmind.base.errors import InputError, ModelFailure, OutcomeUnknown
from flowmind.cli.main import main
from flowmind.evaluation.critical_path import critical_path, dependencies, schedule, seconds_of
from flowmind.llm.faulty_server import FaultyServer
from flowmind.protocols import ChatRequest, Reply, Verdict
from flowmind.run.running import arun
from flowmind.run.worded import worded
from flowmind.run.wrappers import Approved, Faulty, Guarded, Only, Wrapper, overlapping_of
from flowmind.trace.events import Called, Trace
from flowmind.trace.origins import with_origins
from flowmind.workflow.document import Workflow
from tools_registry import words
from tools_registry.sandbox.functions import FunctionEnvironment
from tools_registry.sandbox.stateful import StatefulEnvironment
from tools_registry.specs.spec import Observation, ToolCall

TOOLS = ("add", "twist", "share", "upto")
fast = settings(deadline=None, derandomize=True, database=None)


def environment(waiting: Callable[[str], Awaitable[None]], writes: Iterable[str] = ()) -> FunctionEnvironment:
    """The tools of the random workflows, async. Each call waits before it computes."""

    def made(name: str) -> Any:
        function = FUNCTIONS[name]

        @functools.wraps(function)
        async def waits(*args: Any, **named: Any) -> Any:
            await waiting(f"{name}{args}{named}")
            return function(*args, **named)

        return tool(effect="write" if name in writes else "read")(waits)

    return FunctionEnvironment([made(name) for name in TOOLS])


class Watch(Wrapper):
    """Notes when calls begin and end."""

    def __init__(self, inner: FunctionEnvironment) -> None:
        super().__init__(inner)
        self.overlapping = inner.overlapping
        self.begun: list[ToolCall] = []
        self.seconds: list[float] = []
        self.most = 0
        self.broken = 0
        """The barriers that were crossed."""
        self._flying: list[ToolCall] = []

    def _writes(self, call: ToolCall) -> bool:
        return self.specs[call.tool].effect != "read"

    @property
    def writes(self) -> list[ToolCall]:
        """The writes, in the order in which they began."""
        return [call for call in self.begun if self._writes(call)]

    async def call(self, call: ToolCall) -> Observation:
        """Makes a call, and notes it."""
        self.broken += bool(self._flying) and any(map(self._writes, (call, *self._flying)))
        self.begun.append(call)
        self._flying.append(call)
        self.most = max(self.most, len(self._flying))
        began = asyncio.get_running_loop().time()
        try:
            return await self.inner.call(call)
        finally:
            self._flying.remove(call)
            self.seconds.append(asyncio.get_running_loop().time() - began)


def counted(calls: Iterable[ToolCall]) -> Counter[str]:
    return Counter(call.model_dump_json() for call in calls)


def random_workflow(seed: int) -> tuple[Random, Workflow]:
    rng = Random(seed)
    return rng, Workflow.model_validate(Maker(rng, loops_in_forks=bool(seed % 2)).document())


@settings(fast, max_examples=60)
@given(
    seed=st.integers(0, 100_000),
    writes=st.sets(st.sampled_from(TOOLS), max_size=2),
    failing=st.sampled_from([0.0, 0.0, 0.05, 0.3]),
    most=st.sampled_from([1, 2, 3, True]),
    budget=st.sampled_from([100_000, 100_000, 12, 30]),
)
def test_a_parallel_run_has_the_trace_of_a_sequential_one(
    seed: int, writes: set[str], failing: float, most: int, budget: int
) -> None:
    async def waiting(text: str) -> None:
        chance = Random(f"{seed} {text}")
        for _ in range(chance.randrange(5)):
            await asyncio.sleep(0)
        if chance.random() < failing:
            raise ValueError(f"no {text}")

    async def compared() -> None:
        rng, workflow = random_workflow(seed)
        for inputs in cases(rng)[:2]:
            plain, beside = (Watch(environment(waiting, writes)) for _ in range(2))
            one = await arun(workflow, inputs, plain, budget=budget)
            other = await arun(workflow, inputs, beside, budget=budget, parallel=most)
            assert one.dump() == other.dump()
            assert beside.broken == 0
            assert beside.most <= (16 if most is True else most)
            assert beside.writes == plain.writes
            assert len(asyncio.all_tasks()) == 1
            if one.ok:
                assert counted(plain.begun) == counted(beside.begun)

    asyncio.run(compared())


class _Clock(selectors.DefaultSelector):
    """Lets time pass at once: where the event loop would wait, its clock is put forward."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class Loop(asyncio.SelectorEventLoop):
    """An event loop with its own time."""

    def __init__(self) -> None:
        self._clock = _Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        """The time of its clock."""
        return self._clock.now


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(work)


async def timed(workflow: Workflow, inputs: dict[str, Any], watch: Watch, parallel: int) -> tuple[Trace, float]:
    began = asyncio.get_running_loop().time()
    trace = await arun(workflow, inputs, watch, parallel=parallel)
    return trace, asyncio.get_running_loop().time() - began


@settings(fast, max_examples=60)
@given(seed=st.integers(0, 100_000), writes=st.sets(st.sampled_from(TOOLS), max_size=2))
def test_a_parallel_run_takes_as_long_as_the_critical_path(seed: int, writes: set[str]) -> None:
    async def waiting(text: str) -> None:
        await asyncio.sleep(Random(f"{seed} {text}").randrange(1, 50))

    rng, workflow = random_workflow(seed)
    inputs = cases(rng)[0]
    plain, beside = (Watch(environment(waiting, writes)) for _ in range(2))
    trace, sequential = at_once(timed(workflow, inputs, plain, False))
    other, parallel = at_once(timed(workflow, inputs, beside, 100_000))
    assert trace.dump() == other.dump()
    if trace.ok:
        assert sequential == sum(plain.seconds)
        assert parallel == critical_path(*schedule(workflow, trace, plain.seconds, plain.overlapping))


def test_the_random_workflows_overlap() -> None:
    async def waiting(text: str) -> None:
        await asyncio.sleep(1)

    gained = 0
    for seed in range(20):
        rng, workflow = random_workflow(seed)
        watch = Watch(environment(waiting))
        trace, _ = at_once(timed(workflow, cases(rng)[0], watch, 16))
        gained += trace.ok and watch.most > 1
    assert gained > 5


# One workflow with everything that matters: calls that fail, wait and write


class Stage:
    """Tools whose calls wait until the test lets them go on."""

    def __init__(self) -> None:
        self.doors: dict[str, asyncio.Event] = {}
        self.begun: list[str] = []
        self.cancelled: list[str] = []
        self.tools = [tool(effect="read")(self.look), tool(effect="write")(self.put)]

    async def look(self, at: str) -> str:
        """Looks."""
        return await self._made(at)

    async def put(self, at: str) -> str:
        """Puts."""
        return await self._made(at)

    async def _made(self, at: str) -> str:
        self.begun.append(at)
        try:
            await self.doors.setdefault(at, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(at)
            raise
        if at.startswith("bad"):
            raise ValueError(at)
        return f"<{at}>"

    async def open(self, *doors: str) -> None:
        """Lets calls go on, and lets the others do what they can."""
        for at in doors:
            self.doors.setdefault(at, asyncio.Event()).set()
        for _ in range(50):
            await asyncio.sleep(0)


def looks(*places: str, **kinds: str) -> Workflow:
    """A workflow of calls, one after the other, that do not depend on one another."""
    nodes = [call(f"n{place}", kinds.get(at, "look"), at={"value": at}) for place, at in enumerate(places)]
    path = " ".join(node["id"] for node in nodes)
    answer = {"list": [{"var": node["output"]} for node in nodes]}
    return Workflow.model_validate(sketch([*nodes, end(answer)], f"start {path} end"))


def test_a_write_is_a_barrier() -> None:
    async def played() -> None:
        stage = Stage()
        workflow = looks("a", "b", "w", "c", w="put")
        run = asyncio.ensure_future(arun(workflow, {}, FunctionEnvironment(stage.tools), parallel=True))
        await stage.open("b")
        assert stage.begun == ["a", "b"]
        await stage.open("a")
        assert stage.begun == ["a", "b", "w"]
        await stage.open("c")
        assert stage.begun == ["a", "b", "w"]
        await stage.open("w")
        assert (await run).answer == ["<a>", "<b>", "<w>", "<c>"]

    asyncio.run(played())


def test_the_first_failure_in_the_order_of_the_program_decides() -> None:
    async def played() -> None:
        stage = Stage()
        tools = FunctionEnvironment(stage.tools)
        workflow = looks("a", "bad1", "b", "bad2", "c", "w", w="put")
        run = asyncio.ensure_future(arun(workflow, {}, tools, parallel=4))
        await stage.open()
        assert stage.begun == ["a", "bad1", "b", "bad2"]
        await stage.open("bad2")  # what lies behind it is not begun any more
        assert (stage.begun, stage.cancelled) == (["a", "bad1", "b", "bad2"], [])
        await stage.open("bad1")
        assert stage.cancelled == ["b"]
        assert not run.done()
        await stage.open("a")
        trace = await run
        assert [event.call.args["at"] for event in trace.calls] == ["a", "bad1"]
        assert (trace.stop, trace.error and trace.error.message) == ("error", "ValueError: bad1")
        assert len(asyncio.all_tasks()) == 1
        await stage.open("a", "bad1")
        assert trace.dump() == (await arun(workflow, {}, tools)).dump()

    asyncio.run(played())


def test_what_follows_a_branch_does_not_wait_for_it() -> None:
    nodes = [
        call("n1", "look", at={"value": "first"}),
        condition("c", "len(n1) > 3"),
        call("n2", "look", "found", at={"value": "then"}),
        call("n3", "look", "found", at={"value": "else"}),
        call("n4", "look", at={"value": "after"}),
        call("n5", "look", at="found"),
        end({"list": [{"var": "n4"}, {"var": "n5"}]}),
    ]
    workflow = Workflow.model_validate(sketch(nodes, "start n1 c.true n2 n4 n5 end", "c.false n3 n4"))

    async def played() -> None:
        stage = Stage()
        run = asyncio.ensure_future(arun(workflow, {}, FunctionEnvironment(stage.tools), parallel=True))
        await stage.open()
        assert sorted(stage.begun) == ["after", "first"]
        await stage.open("first")
        assert stage.begun[2:] == ["then"]
        await stage.open("then")
        assert stage.begun[3:] == ["<then>"]
        await stage.open("<then>", "after")
        assert (await run).answer == ["<after>", "<<then>>"]

    asyncio.run(played())


def test_nothing_follows_a_branch_that_may_write_before_its_condition_is_known() -> None:
    nodes = [
        call("n1", "look", at={"value": "first"}),
        condition("c", "len(n1) < 3"),
        call("n2", "put", at={"value": "write"}),
        call("n3", "look", at={"value": "after"}),
        end("n3"),
    ]
    workflow = Workflow.model_validate(sketch(nodes, "start n1 c.true n2 n3 end", "c.false n3"))

    async def played() -> None:
        stage = Stage()
        run = asyncio.ensure_future(arun(workflow, {}, FunctionEnvironment(stage.tools), parallel=True))
        await stage.open()
        assert stage.begun == ["first"]
        await stage.open("first", "after")
        assert (await run).answer == "<after>"

    asyncio.run(played())


def test_a_map_over_many_elements_keeps_to_the_bound() -> None:
    body = call("look", "add", "seen", a="i")
    workflow = Workflow.model_validate(
        sketch([each("m", "xs", "i", "seen", body), end("m")], "start m end", xs="array")
    )

    async def waiting(text: str) -> None:
        await asyncio.sleep(Random(text).randrange(1, 5))

    watch = Watch(environment(waiting))
    trace, _ = at_once(timed(workflow, {"xs": list(range(2_000))}, watch, 7))
    assert trace.answer == [(number + 3) % 40 for number in range(2_000)]
    assert watch.most == 7


def test_a_map_that_writes_makes_one_call_after_the_other() -> None:
    body = [call("a", "add", "x", a="i"), call("b", "twist", "y", a="x")]
    workflow = Workflow.model_validate(sketch([each("m", "xs", "i", "y", *body), end("m")], "start m end", xs="array"))

    async def waiting(text: str) -> None:
        await asyncio.sleep(1)

    watch = Watch(environment(waiting, {"twist"}))
    trace, _ = at_once(timed(workflow, {"xs": [1, 2, 3]}, watch, True))
    assert trace.ok
    assert watch.most == 1
    assert [call.tool for call in watch.begun] == ["add", "twist"] * 3


def test_a_loop_whose_rounds_do_not_depend_on_their_calls_overlaps() -> None:
    nodes = [
        compute("zero", "0", "k"),
        condition("c", "k < n"),
        call("n1", "look", at={"value": "same"}),
        compute("next", "k + 1", "k"),
        end("k"),
    ]
    workflow = Workflow.model_validate(sketch(nodes, "start zero c.true n1 next c", "c.false end", n="integer"))

    async def played() -> None:
        stage = Stage()
        run = asyncio.ensure_future(arun(workflow, {"n": 5}, FunctionEnvironment(stage.tools), parallel=True))
        await stage.open()
        assert stage.begun == ["same"] * 5
        await stage.open("same")
        assert (await run).answer == 5

    asyncio.run(played())


def test_no_call_is_made_beyond_the_bound_of_a_loop() -> None:
    nodes = [condition("c", "n > 0"), call("n1", "look", at={"value": "same"}), end("n")]
    workflow = Workflow.model_validate(sketch(nodes, "start c.true n1 c:3", "c.false end", n="integer"))

    async def played() -> None:
        stage = Stage()
        run = asyncio.ensure_future(arun(workflow, {"n": 1}, FunctionEnvironment(stage.tools), parallel=True))
        await stage.open()
        assert stage.begun == ["same"] * 4
        await stage.open("same")
        trace = await run
        assert trace.error is not None and trace.error.type == "iteration_limit"
        assert trace.dump() == (await arun(workflow, {"n": 1}, FunctionEnvironment(stage.tools))).dump()

    asyncio.run(played())


def test_a_cancelled_run_cancels_its_calls_and_leaves_no_task() -> None:
    async def played() -> None:
        stage = Stage()
        run = asyncio.ensure_future(arun(looks("a", "b", "c", "d"), {}, FunctionEnvironment(stage.tools), parallel=3))
        await stage.open("b")
        assert stage.begun == ["a", "b", "c", "d"]
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert sorted(stage.cancelled) == ["a", "c", "d"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(played())


def test_a_cancelled_run_waits_for_calls_that_clean_up() -> None:
    ended: list[str] = []

    @tool(effect="read")
    async def slow(at: str) -> str:
        """Looks slowly."""
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(20):
                await asyncio.sleep(0)
            ended.append(at)
        return at

    async def played() -> None:
        workflow = looks("a", "b", a="slow", b="slow")
        run = asyncio.ensure_future(arun(workflow, {}, FunctionEnvironment([slow]), parallel=True))
        for _ in range(10):
            await asyncio.sleep(0)
        for _ in range(3):  # it is cancelled again while it waits
            run.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await run
        assert sorted(ended) == ["a", "b"]
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(played())


class Shared(Wrapper):
    """Answers every call with one list, and changes the arguments of a call while it waits."""

    def __init__(self, inner: FunctionEnvironment) -> None:
        super().__init__(inner)
        self.overlapping = inner.overlapping
        self.kept = [1, 2, 3]
        self.seen: list[Any] = []

    async def call(self, call: ToolCall) -> Observation:
        """Answers."""
        if call.tool == "take":
            self.seen.append(json.loads(json.dumps(call.args["xs"])))
            call.args["xs"].append("changed")
            await asyncio.sleep(0)
        return Observation(value=self.kept)


def test_values_are_not_shared_between_calls() -> None:
    @tool(effect="read")
    async def give() -> list[int]:
        """Gives a list."""
        return []

    @tool(effect="read")
    async def take(xs: list[int]) -> list[int]:
        """Takes a list."""
        return xs

    nodes = [call("n1", "give"), call("n2", "take", xs="n1"), call("n3", "take", xs="n1"), end("n1")]
    workflow = Workflow.model_validate(sketch(nodes, "start n1 n2 n3 end"))
    shared = Shared(FunctionEnvironment([give, take]))
    assert asyncio.run(arun(workflow, {}, shared, parallel=True)).ok
    assert shared.seen == [[1, 2, 3], [1, 2, 3]]
    assert shared.kept == [1, 2, 3]


# Models


class Model:
    """Replies when as many requests as expected are in flight."""

    name = "model"

    def __init__(self, together: int, failing: str = "") -> None:
        self.together, self.failing = together, failing
        self.flying = 0
        self.full = asyncio.Event()

    async def complete(self, request: ChatRequest) -> Reply:
        """Replies."""
        text = request.messages[0].content
        self.flying += 1
        if self.flying == self.together:
            self.full.set()
        await self.full.wait()
        if text == self.failing:
            raise ModelFailure("the server does not answer")
        return Reply(text=f"<{text}>")

    async def aclose(self) -> None:
        """Does nothing."""


def asking(*prompts: str) -> Workflow:
    nodes: list[Any] = [
        {"id": f"n{place}", "kind": "llm", "prompt": prompt, "output": f"v{place}"}
        for place, prompt in enumerate(prompts)
    ]
    path = " ".join(node["id"] for node in nodes)
    answer = {"list": [{"var": node["output"]} for node in nodes]}
    return Workflow.model_validate(sketch([*nodes, end(answer)], f"start {path} end"))


def test_requests_to_a_model_overlap() -> None:
    async def played() -> None:
        workflow = RunnableWorkflow(asking("a", "b", "c"), [look_up], Model(3), parallel=True)
        assert await workflow.acall() == ["<a>", "<b>", "<c>"]
        with pytest.raises(ModelFailure):
            await arun(asking("a", "b"), {}, FunctionEnvironment([look_up]), Model(2, failing="b"), parallel=True)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(played())


def test_a_failure_of_the_model_behind_a_failed_call_is_not_seen() -> None:
    nodes: list[Any] = [
        call("n1", "look_up", at={"value": "nowhere"}),
        {"id": "n2", "kind": "llm", "prompt": "b", "output": "told"},
        end("told"),
    ]
    workflow = Workflow.model_validate(sketch(nodes, "start n1 n2 end"))

    async def played() -> Trace:
        model = Model(1, failing="b")
        return await arun(workflow, {}, FunctionEnvironment([look_up]), model, parallel=True)

    trace = asyncio.run(played())
    assert trace.error is not None and trace.error.message == "LookupError: nowhere"


@tool(effect="read")
async def look_up(at: str) -> str:
    """Looks up."""
    for _ in range(10):
        await asyncio.sleep(0)
    if at == "nowhere":
        raise LookupError(at)
    return at


@tool(effect="write")
async def send(at: str) -> str:
    """Sends."""
    return f"sent to {at}"


# The doors


def test_a_parallel_workflow_answers_at_every_door() -> None:
    document = looks("a", "b", "c", a="look_up", b="look_up", c="send")
    workflow = RunnableWorkflow(document, [look_up, send], parallel=2)
    answer = ["a", "b", "sent to c"]
    assert workflow() == asyncio.run(workflow.acall()) == workflow.trace().answer == answer
    assert workflow.batch([{}, {}]) == [answer, answer]
    assert workflow.when_in_doubt("mark")().answer == answer
    failing = RunnableWorkflow(looks("a", "nowhere", a="look_up", nowhere="look_up"), [look_up], parallel=True)
    with pytest.raises(CaseFailed, match="nowhere") as failed:
        failing()
    assert failed.value.node == "n1"


def test_approval_is_asked_before_a_barrier() -> None:
    asked: list[str] = []

    def ask(call: ToolCall, _: Any) -> bool:
        asked.append(call.args["at"])
        return call.args["at"] != "c"

    document = looks("a", "b", "c", a="look_up", b="send", c="send")
    trace = asyncio.run(arun(document, {}, Approved(FunctionEnvironment([look_up, send]), ask), parallel=True))
    assert asked == ["b", "c"]
    assert [event.kind for event in trace.events] == ["called", "called", "refused"]
    only = Approved(FunctionEnvironment([look_up, send]), {"look_up": ask})
    assert set(only.overlapping) == set()
    assert set(Only(FunctionEnvironment([look_up, send]), ["send"]).overlapping) == set()


def test_tools_that_read_words_overlap() -> None:
    name = next(iter(words.FUNCTIONS))
    document = sketch([call("n1", name), call("n2", "look_up", at={"value": "a"}), end("n1")], "start n1 n2 end")
    document["nodes"][1]["args"] = {part: {"value": "3"} for part in words.specs()[name].required}
    workflow, tools = Workflow.model_validate(document), FunctionEnvironment([look_up])
    assert set(overlapping_of(worded(workflow, tools))) == {"look_up", *words.FUNCTIONS}
    one = asyncio.run(arun(workflow, {}, tools))
    assert one.dump() == asyncio.run(arun(workflow, {}, tools, parallel=True)).dump()


class Allows:
    """A controller that allows everything."""

    name = "allows"

    def check(self, action: ToolCall, trace: Trace) -> Verdict:
        """Allows a call."""
        return Verdict(allowed=True)


Inner = FunctionEnvironment
ORDERED: dict[str, Callable[[Inner], Any]] = {
    "Guarded": lambda inner: Guarded(inner, Allows()),
    "Faulty": lambda inner: Faulty(inner, 0.5),
    "Wrapper": Wrapper,
    "StatefulEnvironment": lambda inner: StatefulEnvironment(inner, {}),
    "Faulty ": lambda inner: Approved(Faulty(inner, 0.5), {}),
}


@pytest.mark.parametrize("kind", ORDERED)
def test_an_environment_that_needs_the_order_of_calls_refuses(kind: str) -> None:
    @tool(effect="read")
    async def look(at: str, db: dict[str, Any] | None = None) -> str:
        """Looks."""
        return at

    made = ORDERED[kind](FunctionEnvironment([look]))
    with pytest.raises(InputError, match=rf"^parallel: the calls of {kind.strip()} may depend on their order"):
        asyncio.run(arun(looks("a"), {}, made, parallel=True))
    with pytest.raises(InputError, match=f"the calls of {kind.strip()} may depend"):
        RunnableWorkflow(looks("a"), made, parallel=True)


@pytest.mark.parametrize("parallel", [0, -1, "yes", 1.5, None])
def test_parallel_is_a_boolean_or_a_number(parallel: Any) -> None:
    with pytest.raises(InputError, match=r"^parallel: give True, False or the most calls in flight, from 1, not "):
        RunnableWorkflow(looks("a", a="look_up"), [look_up], parallel=parallel)


def test_a_journal_refuses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^parallel: a journal notes calls in their order"):
        RunnableWorkflow(looks("a", a="look_up"), [look_up], journal=tmp_path / "j.sqlite", parallel=True)


def test_rivals_refuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_one, other = looks("a", "b", a="look_up", b="look_up"), looks("b", a="look_up", b="look_up")
    doubtful = main_one.model_copy(update={"rivals": (main_one.rival_of(other, "structure", "other", 1.0),)})
    with pytest.raises(InputError, match=r"^parallel: rivals are compared with the workflow call by call"):
        RunnableWorkflow(doubtful, [look_up], parallel=True)
    assert RunnableWorkflow(doubtful, [look_up], parallel=True, on_doubt="ignore")() == ["a", "b"]
    (tmp_path / "w.json").write_text(doubtful.to_json())
    (tmp_path / "tools.py").write_text('def look_up(at: str) -> str:\n    """Look."""\n    return at\n')
    words = ["run", str(tmp_path / "w.json"), "--tools", str(tmp_path / "tools.py"), "--input", "{}", "--parallel"]
    assert main(words) == 2
    assert capsys.readouterr().err == "flowmind: --parallel: rivals are compared call by call; use --on-doubt ignore\n"
    assert main([*words, "--on-doubt", "ignore"]) == 0
    assert capsys.readouterr().out == '["a","b"]\n'


class Uncertain(Wrapper):
    """Fails for a reason that is not the case's."""

    def __init__(self, inner: FunctionEnvironment) -> None:
        super().__init__(inner)
        self.overlapping = inner.overlapping

    async def call(self, call: ToolCall) -> Observation:
        """Makes the call `a`."""
        if call.args["at"] == "b":
            raise OutcomeUnknown("r", call, "nobody knows")
        return await self.inner.call(call)


def test_an_error_of_the_environment_counts_where_the_program_reaches_it() -> None:
    tools = Uncertain(FunctionEnvironment([look_up]))
    with pytest.raises(OutcomeUnknown):
        asyncio.run(arun(looks("a", "b", a="look_up", b="look_up"), {}, tools, parallel=True))
    document = looks("nowhere", "b", nowhere="look_up", b="look_up")
    trace = asyncio.run(arun(document, {}, tools, parallel=True))
    assert trace.error is not None and trace.error.message == "LookupError: nowhere"


def test_the_command_runs_in_parallel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.json").write_text(asking("a", "b").to_json())
    words = ["run", str(tmp_path / "w.json"), "--input", "{}"]
    with FaultyServer(lambda number, body: f"told {body['messages'][-1]['content']}") as server:
        words += ["--model", "m", "--base-url", server.url]
        for flags in ([], ["--parallel"]):
            assert main([*words, *flags]) == 0
            assert capsys.readouterr().out == '["told a","told b"]\n'


# The critical path


def longest(durations: Sequence[float], edges: set[tuple[int, int]]) -> float:
    """The longest path, by trying all orders of the steps."""
    best = 0.0
    for order in permutations(range(len(durations))):
        for first in range(len(order)):
            total, last = durations[order[first]], order[first]
            best = max(best, total)
            for step in order[first + 1 :]:
                if (last, step) not in edges:
                    break
                total, last = total + durations[step], step
                best = max(best, total)
    return best


@settings(fast, max_examples=40)
@given(
    durations=st.lists(st.integers(0, 9), max_size=5),
    pairs=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))),
    order=st.permutations(range(5)),
)
def test_the_critical_path_is_the_longest_path(
    durations: list[int], pairs: set[tuple[int, int]], order: list[int]
) -> None:
    count = len(durations)
    edges = {(a, b) for a, b in pairs if order[a] < order[b] and max(a, b) < count}
    assert critical_path(durations, edges) == longest(durations, edges)


def test_the_critical_path_refuses_what_is_no_graph_of_steps() -> None:
    assert critical_path([], []) == 0.0
    for edges in ([(0, 0)], [(0, 1), (1, 0)]):
        with pytest.raises(ValueError, match="cycle"):
            critical_path([1.0, 1.0], edges)
    with pytest.raises(ValueError, match="there are 2 steps"):
        critical_path([1.0, 1.0], [(0, 2)])


def test_the_calls_of_an_agent_depend_on_the_calls_whose_results_they_use() -> None:
    def called(tool: str, value: Any, seconds: float | None, **args: Any) -> Called:
        return Called(call=ToolCall(tool=tool, args=args), observation=Observation(value=value), seconds=seconds)

    events = (
        called("user", {"id": "u-117"}, 2.0, name="Ann"),
        called("rate", 4.25, 3.0, currency="EUR"),
        called("orders", ["o-99", "o-98"], 1.0, user="u-117"),
        called("total", 12.5, 4.0, orders=["o-99", "o-98"], rate=4.25),
    )
    trace = Trace(inputs={"name": "Ann", "currency": "EUR"}, events=events, stop="finish", answer=12.5)
    (known,) = with_origins([trace])
    assert dependencies(known) == {(0, 2), (2, 3), (1, 3)}
    assert critical_path(seconds_of(known), dependencies(known)) == 7.0
    with pytest.raises(ValueError, match="call 1 has no measured time"):
        seconds_of(Trace(events=(called("user", 1, None),), stop="finish"))
    with pytest.raises(ValueError, match="1 times for 0 calls"):
        schedule(looks("a"), Trace(stop="finish"), [1.0], ())
