"""Verification: drafts are run on examples and mended; held-out tests reach nobody before they are scored."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from reference_interpreter import Document, call, compute, condition, end, sketch
from tiny import FIRST_TEST, Row, called, records

from experiments import evaluating
from flowmind import tool
from flowmind.agents.turns import Budget
from flowmind.api.solving import Solution, solve
from flowmind.api.summarizing import summarize
from flowmind.base.errors import InputError, InvalidWorkflow, ModelFailure
from flowmind.base.files import dump_json
from flowmind.build.derivation import Derivation
from flowmind.build.executions import AgentExecutions, Demonstrate
from flowmind.build.induction.induce import induce, request_of
from flowmind.build.settings import Settings
from flowmind.build.verification.guesses import leaks
from flowmind.build.verification.trials import influence
from flowmind.build.verification.work import Work
from flowmind.llm.faulty_server import Fault, FaultyServer
from flowmind.llm.testing import ScriptedChat, action
from flowmind.protocols import ChatModel, ChatRequest, Reply
from flowmind.run.running import run_batch
from flowmind.trace.events import Called, Trace, Turn
from flowmind.trace.task import Example, Task
from flowmind.workflow.document import Workflow
from flowmind.workflow.program import Outcome, Program
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.sandbox.environments import FunctionEnvironment, LocalSandbox
from tools_registry.specs.spec import Observation, ToolCall

# Held-out tests

QUERIES = {
    "sum": "Add 2 to n, then multiply the sum by 3.",
    "wild": "Add 4 to n, then multiply the sum by 5.",
    "branch": "A small number is multiplied by 3, to a large one 7 is added.",
}
LIMIT = 8
"""What is large, and the text does not say."""
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SHOWN = (4, 25, 6)


def right(id: str, n: int) -> int:
    """What is right; for `wild` nothing that its tools could give."""
    if id == "branch":
        return 3 * n if n < LIMIT else n + 7
    return 3 * (n + 2) if id == "sum" else 5 * (n + 4) + n * n % 1009 + 1


HELD = range(FIRST_TEST, FIRST_TEST + 3)
MARKS = [str(mark) for n in HELD for id in QUERIES for mark in (n, right(id, n), n + 2, n + 4, 5 * (n + 4), 3 * n)]
"""Numbers that stand nowhere but in a held-out test and in what a run on one comes to."""
BRANCH = sketch(
    [condition("c", f"n < {LIMIT}"), call("s", "multiply", "r", first="n", second=3),
     call("l", "add", "r", first="n", second=7), end("r")],
    "start c.true s end", "c.false l end", n="integer",
)  # fmt: skip
GOLD = {
    "sum": sketch(
        [call("s", "add", first="n", second=2), call("p", "multiply", first="s", second=3), end("p")],
        "start s p end", n="integer",
    ),
    "branch": BRANCH,
}  # fmt: skip


def benchmark(folder: Path, ids: Sequence[str]) -> Path:
    folder.mkdir(parents=True)
    tasks: list[Row] = []
    tests: list[Row] = []
    for id in ids:
        pairs = [[{"input": {"n": n}, "output": right(id, n)} for n in inputs] for inputs in (SHOWN, HELD)]
        task = {"id": id, "query": QUERIES[id], "inputs": NUMBER, "tools": ["add", "multiply"], "examples": pairs[0]}
        tasks.append({**task, "category": "one", "difficulty": "easy", "control_flow": "linear"})
        tests.append({"id": id, "tests": pairs[1]})
    golds = [{"id": id, "workflow": GOLD[id]} for id in ids if id in GOLD]
    for name, rows in (("instances", tasks), ("tests", tests), ("gold", golds)):
        (folder / f"{name}.jsonl").write_text("".join(dump_json(row) + "\n" for row in rows))
    (folder / "manifest.json").write_text(dump_json({"name": "b", "seed": 0, "sha256": {"instances.jsonl": "0" * 64}}))
    return folder


def said(tool_: str, args: Row) -> str:
    return dump_json({"reasoning": "", "action": tool_, "action_input": args})


def right_choice(text: str) -> int:
    """The number of the right behaviour in a question about the branch."""
    [n] = re.findall(r"^The case: n = (-?\d+)$", text, re.MULTILINE)
    [number] = re.findall(rf"^(\d): {'multiply' if int(n) < LIMIT else 'add'} is called$", text, re.MULTILINE)
    return int(number)


def able(body: Row) -> str:
    """What a model says that executes as its tools allow, builds one way of the branch only, and knows the limit."""
    messages = body["messages"]
    at = max(place for place, message in enumerate(messages) if "Task:\n" in message["content"])
    text, turn = messages[at]["content"], sum(message["role"] == "assistant" for message in messages[at:])
    id = next(id for id, query in QUERIES.items() if query in text)
    if "Which one is right?" in text:
        return dump_json({"choice": right_choice(text)})
    if "This workflow was derived" in text:
        return said("finish", {})
    if '"steps"' in messages[0]["content"]:
        return dump_json({"analysis": "", "steps": ["First.", "Then."] if id != "branch" else ["All."]})
    added, factor = {"sum": (2, 3), "wild": (4, 5), "branch": (7, 3)}[id]
    script: list[tuple[str, Row]]
    if given := re.findall(r"^Work on this input: \{\"n\":(-?\d+)\}$", text, re.MULTILINE):
        n = int(given[-1])
        if id == "branch":
            tool_, second = ("multiply", 3) if n < LIMIT else ("add", 7)
            script = [(tool_, {"first": n, "second": second}), ("finish", {"answer": right(id, n)})]
        else:
            product = (n + added) * factor
            script = [("add", {"first": n, "second": added}), ("multiply", {"first": n + added, "second": factor})]
            script += [("finish", {"answer": product})]
    else:
        nodes = [("add", {"first": "n", "second": added}, "s"), ("multiply", {"first": "s", "second": factor}, "p")]
        if id == "branch":
            nodes = [("multiply", {"first": "n", "second": 3}, "p")]
        script = [("add_function_node", {"tool": name, "args": args, "output": out}) for name, args, out in nodes]
        script += [("add_end_node", {"output": "p"}), ("finish", {})]
    return said(*script[min(turn, len(script) - 1)])


@dataclass
class Watched:
    """A run, all that was asked, and all that tools were given, each with the phase of its case."""

    folder: Path
    requests: list[Row]
    log: list[tuple[str, str]]

    def given(self, phase: str) -> str:
        return "\n".join(text for its, text in self.log if its == phase)


RUNS: dict[str, tuple[tuple[str, ...], tuple[object, ...]]] = {
    "guided": (("sum", "wild", "branch"), ("--mode", "es-react+verify", "--probe", 2)),
    "induction": (("sum", "branch"), ("--mode", "induction", "--verify", 2)),
    "edited": (("sum", "branch"), ("--mode", "es-pe", "--verify", 1)),
    "gold": (("sum", "branch"), ("--mode", "induction", "--traces", "gold", "--probe", 3)),
}


def watched(folder: Path, name: str) -> Watched:
    """A run in which every use of a sandbox is written down: while a case is solved, and when it is scored."""
    ids, words = RUNS[name]
    log: list[tuple[str, str]] = []
    phase = "before"
    run, values, solved = LocalSandbox.run, LocalSandbox.values, evaluating.solve

    def noting_run(
        self: LocalSandbox, program: Program, cases: Sequence[dict[str, Any]], budget: int = DEFAULT_BUDGET
    ) -> list[Outcome]:
        log.append((phase, dump_json(list(cases))))
        return run(self, program, cases, budget)

    def noting_values(self: LocalSandbox, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
        log.append((phase, dump_json([list(one) for one in calls])))
        return values(self, calls)

    async def noting_solve(task: Task, *rest: Any) -> Solution:
        nonlocal phase
        phase = "deriving"
        solution = await solved(task, *rest)
        phase = "scoring"
        return solution

    with FaultyServer(lambda number, body: able(body)) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalSandbox, "run", noting_run)
        patch.setattr(LocalSandbox, "values", noting_values)
        patch.setattr(evaluating, "solve", noting_solve)
        asked = () if name == "gold" else ("--model", "m", "--base-url", server.url)
        bench, out = benchmark(folder / "bench", ids), folder / "run"
        done = called("exp", *asked, *words, "--bench", bench, "--out", out, "--concurrency", 1)
        assert done.returncode == 0, done.stderr
        return Watched(out, server.requests, log)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Watched]:
    return {name: watched(tmp_path_factory.mktemp(name), name) for name in RUNS}


@pytest.mark.parametrize("name", RUNS)
def test_held_out_tests_reach_no_model_no_trace_no_workflow_and_no_tool_before_they_are_scored(
    name: str, runs: dict[str, Watched]
) -> None:
    found = runs[name]
    kept = {path: path.read_text() for path in (found.folder / "workflows").iterdir()}
    for path in (found.folder / "traces").iterdir():
        stages = json.loads(path.read_text())
        assert stages.pop("tests"), "the runs of the finished workflow on the tests"
        kept[path] = json.dumps(stages)
    sent, tried = json.dumps(found.requests), found.given("deriving")
    for mark in MARKS:
        assert mark not in sent
        assert mark not in tried
        assert not [path for path, text in kept.items() if mark in text]
    # The watch sees what is to be seen: examples while a case is solved, held-out tests once it is scored.
    assert dump_json([{"n": n} for n in SHOWN]) in tried
    assert dump_json([{"n": n} for n in HELD]) in found.given("scoring")
    assert found.given("before") == ""
    assert len(kept) == 2 * len(RUNS[name][0])
    if name != "gold":
        assert '"n\\":25' in sent.replace("\\\\", "\\")


def test_the_watched_runs_verified_and_mended(runs: dict[str, Watched]) -> None:
    held = {
        (name, row["id"]): Derivation.model_validate(row["derivation"]) for name, found in runs.items()
        for row in records(found.folder)
    }  # fmt: skip
    assert {key: (one.summarizer, one.right, one.examples) for key, one in held.items()} == {
        ("guided", "sum"): ("guided", 3, 3),
        ("guided", "wild"): ("guided", 1, 3),
        ("guided", "branch"): ("guided", 3, 3),
        ("induction", "sum"): ("induction", 3, 3),
        ("induction", "branch"): ("induction", 3, 3),
        ("edited", "sum"): ("plan", 3, 3),
        ("edited", "branch"): ("plan", 2, 3),
        ("gold", "sum"): ("induction", 3, 3),
        ("gold", "branch"): ("induction", 3, 3),
    }
    probed = [key for key, one in held.items() if "probe" in one.mends]
    assert probed == [("gold", "sum"), ("gold", "branch")]
    mends = held["guided", "branch"].mends
    assert mends[:2] == ("execute", "question") and held["induction", "branch"].asked == 0
    sent = {name: json.dumps(found.requests) for name, found in runs.items()}
    assert "Which one is right?" in sent["guided"] and "You have worked on this input before" in sent["guided"]
    assert "This workflow was derived from the traces" in sent["edited"]
    assert runs["gold"].requests == []


# By hand: texts


@tool(effect="read")
def mirror(text: str) -> str:
    """Turn a text round."""
    return text[::-1]


@tool(effect="read")
def shout(text: str) -> str:
    """Write a text in capital letters, with an exclamation mark."""
    return f"{text.upper()}!"


TEXTS = FunctionEnvironment([mirror, shout])
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def loud(*texts: str) -> Task:
    examples = tuple(Example(input={"text": text}, output=shout(mirror(text))) for text in texts)
    return Task(id="loud", query="Turn the text round, then shout it.", inputs=TEXT, examples=examples)


def working(text: str) -> list[str]:
    """The replies of a right execution."""
    turned = mirror(text)
    return [action("mirror", text=text), action("shout", text=turned), action("finish", answer=shout(turned))]


def forgetting(text: str) -> list[str]:
    """The replies of one that does not turn the text round."""
    return [action("shout", text=text), action("finish", answer=shout(text))]


def solved(task: Task, sandbox: FunctionEnvironment, model: ChatModel, mode: str, **settings: Any) -> Solution:
    """Solved with a model that executes and is asked, too."""
    return asyncio.run(solve(task, sandbox, model, Settings.model_validate({"mode": mode, **settings})))


def how(solution: Solution) -> Derivation:
    assert solution.derivation is not None
    return solution.derivation


def gives(solution: Solution, sandbox: FunctionEnvironment, *cases: dict[str, Any]) -> list[Any]:
    assert solution.workflow is not None and solution.graph_valid
    return [trace.answer for trace in run_batch(solution.workflow, cases, sandbox)]


def told(request: ChatRequest) -> str:
    """The last message that sets a task."""
    return [message.content for message in request.messages if "Task:\n" in message.content][-1]


def test_a_wrong_execution_is_made_again_with_what_was_wrong_in_its_prompt() -> None:
    chat = ScriptedChat([*forgetting("abc"), *forgetting("Ann"), *working("abc")])
    solution = solved(loud("abc", "Ann"), TEXTS, chat, "es-react+verify", rollouts=2)
    first, again = told(chat.requests[0]), told(chat.requests[4])
    assert "before" not in first
    said_before = 'You have worked on this input before and ended with "ABC!", but the right answer is "CBA!".'
    assert again.startswith(first) and said_before in again and 'shout({"text":"abc"}) -> "ABC!"' in again
    found = how(solution)
    assert (found.executions, found.mends, found.draft_right, found.right) == (3, ("execute",), 1, 2)
    assert gives(solution, TEXTS, {"text": "xyz"}) == ["ZYX!"]


def test_an_execution_that_fails_twice_is_given_up() -> None:
    chat = ScriptedChat([*forgetting("abc"), *forgetting("Ann"), *forgetting("abc"), *forgetting("Ann")])
    found = how(solved(loud("abc", "Ann"), TEXTS, chat, "induction", rollouts=2, verify=9))
    assert (found.executions, found.mends, found.right) == (4, ("execute",) * 2, 1)


@pytest.mark.parametrize("honest", [True, False])
def test_who_was_told_the_answer_has_to_come_to_it_by_tools(honest: bool) -> None:
    repeated = [action("shout", text="abc"), action("finish", answer=shout(mirror("abc")))]
    again = working("abc") if honest else repeated
    chat = ScriptedChat([*forgetting("abc"), *forgetting("Ann"), *again])
    solution = solved(loud("abc", "Ann"), TEXTS, chat, "induction", verify=2)
    assert 'ended with "ABC!", but the right answer is "CBA!"' in told(chat.requests[4])
    assert [trace.answer for trace in solution.traces] == ["ABC!", "ANN!", "CBA!"]
    assert (solution.worked[2] == 0) is honest
    assert (gives(solution, TEXTS, {"text": "xy"}) == ["YX!"]) is honest


# By hand: a branch whose limit neither text nor examples show


@tool(effect="read")
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@tool(effect="read")
def multiply(first: int, second: int) -> int:
    """Multiply two numbers."""
    return first * second


NUMBERS = FunctionEnvironment([add, multiply])


def counted(id: str, *shown: int) -> Task:
    examples = tuple(Example(input={"n": n}, output=right(id, n)) for n in shown)
    return Task(id=id, query=QUERIES[id], inputs=NUMBER, examples=examples)


class Able:
    """The model that executes right, without a server; it keeps the inputs that it worked on."""

    name = "able"

    def __init__(self) -> None:
        self.worked: list[int] = []

    async def complete(self, request: ChatRequest) -> Reply:
        given = re.findall(r"^Work on this input: \{\"n\":(-?\d+)\}$", told(request), re.MULTILINE)
        self.worked += [n for n in map(int, given[-1:]) if n not in self.worked]
        messages = [{"role": one.role, "content": one.content} for one in request.messages]
        return Reply(text=able({"messages": messages}), input_tokens=1, output_tokens=1)

    async def aclose(self) -> None:
        pass


def branching(n: int) -> list[str]:
    made = action("multiply", first=n, second=3) if n < LIMIT else action("add", first=n, second=7)
    return [made, action("finish", answer=right("branch", n))]


def test_an_example_that_the_draft_fails_is_executed_and_mends_it() -> None:
    chat = ScriptedChat([*branching(4), *branching(25)])
    solution = solved(counted("branch", 4, 25, 5), NUMBERS, chat, "induction", verify=3)
    found = how(solution)
    assert (found.draft_right, found.right, found.executions, found.built_from) == (2, 3, 2, 2)
    assert (found.mends, found.rounds, found.verified) == (("execute",), 1, 1)
    assert 'Work on this input: {"n":25}' in told(chat.requests[2])
    assert gives(solution, NUMBERS, {"n": 3}, {"n": 40}) == [9, 47]


def test_without_verification_what_fails_stays_as_it_is() -> None:
    chat = ScriptedChat([*branching(4), *branching(5), *branching(25)])
    found = how(solved(counted("branch", 4, 5, 25), NUMBERS, chat, "induction"))
    assert (found.executions, found.mends, found.asked) == (3, (), 0), "every example once, and no more"


@pytest.mark.parametrize(
    ("reply", "taken"),
    [
        ('{"choice": 1}', True),
        ('{"choice": 2}', True),
        ('Sure: {"choice": 2}', True),
        ('{"choice": 3}', False),
        ('{"choice": 0}', False),
        ('{"choice": true}', False),
        ('{"choice": "n < 8"}', False),
        ('{"expr": "n < 8"}', False),
        ("below eight", False),
        ("", False),
        (ModelFailure("cut off"), False),
    ],
)
def test_an_open_condition_is_a_choice_between_behaviours(reply: str | Exception, taken: bool) -> None:
    chat = ScriptedChat([*branching(4), *branching(25), *[reply] * 6])
    solution = solved(counted("branch", 4, 25), NUMBERS, chat, "es-react+verify")
    asked = told(chat.requests[4])
    assert QUERIES["branch"] in asked and "Which one is right?" in asked
    [n] = re.findall(r"^The case: n = (-?\d+)$", asked, re.MULTILINE)
    effects = re.findall(r"^\d: (\w+) is called$", asked, re.MULTILINE)
    assert sorted(effects) == ["add", "multiply"]
    found = how(solution)
    assert found.asked == len(chat.requests) - 4 >= 1 and found.right == 2
    assert ("question" in found.mends) is taken
    if taken:
        chosen = effects[int(re.findall(r"\d", str(reply))[0]) - 1]
        assert gives(solution, NUMBERS, {"n": int(n)}) == [3 * int(n) if chosen == "multiply" else int(n) + 7]
    assert solution.failure == (str(reply) if isinstance(reply, ModelFailure) else None)


@pytest.mark.parametrize(
    ("reply", "taken"),
    [
        ('{"expr": "multiply > 400", "answer": "0"}', True),
        ('So: {"expr": "multiply >= 401", "answer": "n - n"}', True),
        ('{"expr": "multiply > 100", "answer": "0"}', False),
        ('{"expr": "n > 33", "answer": "0"}', False),
        ('{"expr": "multiply > 400", "answer": "\'none\'"}', False),
        ('{"expr": "multiply > 400", "answer": "{\'n\': 0}"}', False),
        ('{"expr": "multiply > 400", "answer": "rest"}', False),
        ('{"expr": "multiply + 400", "answer": "0"}', False),
        ('{"expr": "multiply > ", "answer": "0"}', False),
        ('{"expr": "multiply > 400", "answer": 0}', False),
        ('{"expr": "", "answer": ""}', False),
        ('{"expr": "multiply > 400"}', False),
        (ModelFailure("cut off"), False),
    ],
)
def test_a_way_that_no_trace_took_is_one_question_and_a_guess(reply: str | Exception, taken: bool) -> None:
    gold = sketch(
        [call("much", "multiply", first="n", second={"value": 12}), condition("c", "much > 400"),
         compute("none", "0", "r"), call("all", "add", "r", first="n", second="n"), end("r")],
        "start much c.true none end", "c.false all end", n="integer",
    )  # fmt: skip
    query = "Add n and n; but where 12 times n is more than 400 the answer is 0."
    task = Task(id="cut", query=query, inputs=NUMBER, examples=(example_of(4, 8), example_of(25, 50)))
    chat = ScriptedChat([reply])
    settings = Settings(mode="induction", summarizer="guided", traces="gold")
    solution = asyncio.run(solve(task, NUMBERS, chat, settings, None, demonstrating(gold, [])))
    asked = told(chat.requests[-1])
    assert query in asked and "- multiply (result of multiply): 48 | 300" in asked and "The answers: 8 | 50" in asked
    found = how(solution)
    assert (found.asked, found.right, found.mends) == (1, 2, ("question",) if taken else ())
    assert gives(solution, NUMBERS, {"n": 33}, {"n": 34}) == [66, 0 if taken else 68]
    assert solution.workflow is not None
    guesses = [one.guess for one in solution.workflow.evidence if one.guess.startswith("no trace goes this way")]
    assert len(guesses) == (2 if taken else 0)
    assert any(one.startswith("what was multiply called for?") for one in found.open) is not taken


def example_of(n: int, output: int) -> Example:
    return Example(input={"n": n}, output=output)


def test_induction_asks_nobody() -> None:
    chat = ScriptedChat([*branching(4), *branching(25)])
    found = how(solved(counted("branch", 4, 25), NUMBERS, chat, "induction", verify=3))
    assert found.asked == 0 and found.guesses == 1 and found.open[0].startswith("when is it that ")


@pytest.mark.parametrize(
    ("limit", "requests", "executions", "asked"),
    [
        ({"turn_limit": 2}, 2, 1, 0),
        ({"turn_limit": 3}, 3, 2, 0),
        ({"turn_limit": 4}, 4, 2, 0),
        ({"turn_limit": 5}, 5, 2, 1),
        ({"token_limit": 1}, 1, 1, 0),
    ],
)
def test_the_limits_of_a_case_hold_over_executions_and_questions(
    limit: Row, requests: int, executions: int, asked: int
) -> None:
    chat = ScriptedChat([*branching(4), *branching(25), '{"choice": 1}'])
    found = how(solved(counted("branch", 4, 25), NUMBERS, chat, "es-react+verify", **limit))
    assert (len(chat.requests), found.executions, found.asked) == (requests, executions, asked)
    assert found.mends.count("question") == asked and found.mends.count("execute") == executions - 1


def test_the_limits_of_a_case_hold_over_edits() -> None:
    script = [*forgetting("abc"), *forgetting("Ann"), *forgetting("abc"), *forgetting("Ann")]
    chat = ScriptedChat(script)
    solution = solved(loud("abc", "Ann"), TEXTS, chat, "es-react+verify", turn_limit=len(script))
    assert len(chat.requests) == len(script) and how(solution).executions == 4
    assert solution.summary is None, "an agent that would edit is not asked any more"


def test_executions_questions_and_edits_count_for_the_limits_of_a_case() -> None:
    settings, chat = Settings(mode="es-react+verify", turn_limit=4, token_limit=40), ScriptedChat([])
    task = loud("abc", "Ann")
    work = Work(task, TEXTS, settings, chat, AgentExecutions(task, TEXTS, chat, settings))
    said = Trace(stop="finish", turns=(Turn(text="", parse="clean", output_tokens=10),))
    for number, told_by in enumerate((work.traces.append, work.edits.append, lambda one: work.turns.extend(one.turns))):
        left = work.left(Budget())
        assert (left.turns, left.output_tokens, work.may_ask) == (4 - number, 40 - 10 * number, True)
        told_by(said)
    work.turns.extend(said.turns)
    assert not work.may_ask and not work.may_execute


def test_neither_rollouts_nor_edits_go_on_after_the_limits_of_a_case() -> None:
    chat = ScriptedChat(branching(4))
    found = how(solved(counted("branch", 4, 5, 25), NUMBERS, chat, "induction", turn_limit=2))
    assert (found.executions, len(chat.requests)) == (1, 2)
    script = [*working("abc"), *building("shout")]
    found = how(solved(loud("abc", "otto"), TEXTS, ScriptedChat(script), "es-react", verify=2, turn_limit=len(script)))
    assert (found.executions, found.rounds, found.mends, found.right) == (1, 0, (), 1)


# Probes


@pytest.mark.parametrize("limit", [4, 5])
def test_an_agent_probes_within_the_limits_of_a_case(limit: int) -> None:
    settings: Row = {"verify": 3, "probe": 12}
    free = solved(counted("branch", 4, 25), NUMBERS, Able(), "induction", **settings)
    bound = solved(counted("branch", 4, 25), NUMBERS, Able(), "induction", **settings, turn_limit=limit)
    spent = [len(trace.turns) for trace in bound.traces]
    assert sum(len(trace.turns) for trace in free.traces) > limit == sum(spent) and all(spent)
    found = how(bound)
    assert found.executions == len(spent) and found.mends.count("probe") == limit // 2 - 2
    assert found.right == 2, "what an agent began and did not end is kept for its price, and derived from nowhere"


class GivesUp(Able):
    """Able, but it ends its work on the third input at once."""

    async def complete(self, request: ChatRequest) -> Reply:
        reply = await super().complete(request)
        if len(self.worked) == 3 and f'{{"n":{self.worked[2]}}}' in told(request):
            return Reply(text=action("finish", answer=None), input_tokens=1, output_tokens=1)
        return reply


def test_a_probe_that_came_to_nothing_is_counted_and_derived_from_nowhere() -> None:
    solution = solved(counted("branch", 4, 25), NUMBERS, GivesUp(), "induction", verify=3, probe=12)
    found = how(solution)
    assert [bool(trace.calls) for trace in solution.traces[:3]] == [True, True, False]
    assert found.executions == len(solution.traces) == 3 + found.mends.count("probe")
    assert found.right == 2 and found.built_from <= found.executions - 1
    assert gives(solution, NUMBERS, {"n": 4}, {"n": 25}) == [12, 32]


def test_an_agent_executes_only_inputs_on_which_candidates_differ() -> None:
    model = Able()
    plain = how(solved(counted("sum", 4, 25), NUMBERS, model, "induction", verify=3, probe=5))
    assert model.worked == [4] and plain.mends == (), "there is nothing to tell apart"
    model = Able()
    solution = solved(counted("branch", 4, 25), NUMBERS, model, "induction", verify=3, probe=1)
    first, second, probed = model.worked
    assert (first, second, how(solution).mends[:2]) == (4, 25, ("execute", "probe"))
    draft = induce(request_of(solution.traces[:2], NUMBERS.specs, NUMBER, QUERIES["branch"]))[0]
    own = [draft.workflow, *(other.workflow for place in draft.places for other in place.alternatives)]
    assert len({run_batch(workflow, [{"n": probed}], NUMBERS)[0].answer for workflow in own}) == 2


def test_probes_narrow_a_condition() -> None:
    unprobed = solved(counted("branch", 4, 25), NUMBERS, Able(), "induction", verify=3)
    probed = solved(counted("branch", 4, 25), NUMBERS, Able(), "induction", verify=3, probe=12)
    cases = [{"n": n} for n in range(5, 25)]
    expected = [right("branch", n) for n in range(5, 25)]

    def missed(solution: Solution) -> int:
        pairs = zip(gives(solution, NUMBERS, *cases), expected, strict=True)
        return sum(one != other for one, other in pairs)

    assert missed(probed) < missed(unprobed)
    assert how(probed).right == 2 and how(probed).executions > 2


def demonstrating(gold: Document, seen: list[int]) -> Demonstrate:
    """Makes gold traces, and keeps their inputs."""
    workflow = Workflow.model_validate(gold)

    async def demonstrate(inputs: dict[str, Any], budget: int = 0) -> Trace:
        seen.append(inputs["n"])
        [trace] = run_batch(workflow, [inputs], NUMBERS)
        return Trace(inputs=inputs, events=trace.calls, stop=trace.stop, answer=trace.answer)

    return demonstrate


def test_gold_executes_any_probe_and_no_model() -> None:
    seen: list[int] = []
    settings = Settings(mode="induction", traces="gold", probe=4)
    chat = ScriptedChat([])
    made = solve(counted("sum", 4, 25), NUMBERS, chat, settings, None, demonstrating(GOLD["sum"], seen))
    solution = asyncio.run(made)
    assert (seen[:2], len(seen), len(set(seen))) == ([4, 25], 6, 6)
    assert (how(solution).mends, how(solution).source, chat.requests) == (("probe",) * 4, "gold", [])
    assert gives(solution, NUMBERS, {"n": 100}) == [306]


def test_gold_probes_show_an_arm_that_no_example_takes_and_only_what_fails_is_derived_from() -> None:
    seen: list[int] = []
    settings = Settings(mode="induction", traces="gold", probe=40)
    shown = demonstrating(GOLD["branch"], seen)
    solution = asyncio.run(solve(counted("branch", 4, 5), NUMBERS, ScriptedChat([]), settings, None, shown))
    found = how(solution)
    assert found.executions == len(seen) == 2 + len(found.mends) <= 42
    assert 2 < found.built_from < 10, "the other probes were solved already"
    assert gives(solution, NUMBERS, {"n": LIMIT - 1}, {"n": LIMIT}, {"n": 25}) == [3 * LIMIT - 3, LIMIT + 7, 32]


def test_a_result_that_nothing_reads_is_looked_at_where_it_is_new() -> None:
    """Twelve times n is computed for no reason that examples show: more than 400 of them are cut to n and 1."""
    gold = sketch(
        [call("much", "multiply", first="n", second={"value": 12}), condition("c", "much > 400"),
         call("cut", "add", "r", first="n", second={"value": 1}), call("all", "add", "r", first="n", second="n"),
         end("r")],
        "start much c.true cut end", "c.false all end", n="integer",
    )  # fmt: skip
    examples = tuple(Example(input={"n": n}, output=n + n) for n in (4, 25))
    task = Task(id="cut", query="Twice n; n and 1 where 12 times n is more than 400.", inputs=NUMBER, examples=examples)
    seen: list[int] = []
    settings = Settings(mode="induction", traces="gold", probe=60)
    solution = asyncio.run(solve(task, NUMBERS, ScriptedChat([]), settings, None, demonstrating(gold, seen)))
    assert any(n > 33 for n in seen), "an input of the other way was among them"
    assert gives(solution, NUMBERS, {"n": 20}, {"n": 90}) == [40, 91]


# Edits


def graph(tool_: str, **args: Any) -> str:
    return dump_json({"reasoning": "", "action": tool_, "action_input": args})


def building(*tools: str) -> list[str]:
    """The replies that build a chain of tools over the text."""
    names = ["text", *(f"v{place}" for place in range(len(tools)))]
    made = [
        graph("add_function_node", tool=name, args={"text": names[place]}, output=names[place + 1])
        for place, name in enumerate(tools)
    ]
    return [*made, graph("add_end_node", output=names[-1]), graph("finish")]


def test_a_draft_that_an_agent_built_is_edited_after_failing_examples() -> None:
    repair = [graph("remove_node", id="n2"), graph("remove_node", id="n1"), *building("mirror", "shout")]
    chat = ScriptedChat([*working("abc"), *building("shout"), *repair])
    solution = solved(loud("abc", "otto"), TEXTS, chat, "es-react", verify=2)
    prompt = told(chat.requests[6])
    assert "This workflow was derived from the traces:" in prompt and "n1" in prompt
    assert 'On {"text":"abc"} the workflow gave "ABC!"; right is "CBA!". It parts from the trace at node n1.' in prompt
    assert '{"text":"otto"} the workflow' not in prompt, "that one comes out right"
    found = how(solution)
    assert (found.summarizer, found.draft_right, found.right) == ("react", 1, 2)
    assert (found.mends, found.rounds, found.executions) == (("edit",), 1, 1)
    assert gives(solution, TEXTS, {"text": "xyz"}) == ["ZYX!"]


@pytest.mark.parametrize(
    "change",
    [
        [graph("update_node", id="n1", tool="mirror"), graph("finish")],
        [graph("update_node", id="n1", output="x"), graph("update_node", id="n2", output="x"), graph("finish")],
        [graph("remove_node", id="n2"), *["no more"] * 7],
    ],
    ids=["worse", "no better", "not sound"],
)  # fmt: skip
def test_an_edit_that_solves_no_more_is_dropped(change: list[str]) -> None:
    chat = ScriptedChat([*working("abc"), *building("shout"), *change])
    solution = solved(loud("abc", "otto"), TEXTS, chat, "es-react", verify=1)
    found = how(solution)
    assert (found.mends, found.rounds, found.right) == ((), 1, 1)
    assert gives(solution, TEXTS, {"text": "otto"}, {"text": "abc"}) == ["OTTO!", "ABC!"]


@pytest.mark.parametrize("better", [True, False])
def test_what_induction_cannot_mend_is_edited_at_last(better: bool) -> None:
    repair = [graph("remove_node", id="end"), graph("remove_node", id="shout"), *building("mirror", "shout")]
    worse = [graph("update_node", id="shout", tool="mirror"), graph("finish")]
    chat = ScriptedChat([*forgetting("abc"), *forgetting("otto"), *(repair if better else worse)])
    solution = solved(loud("abc", "otto"), TEXTS, chat, "es-react+verify", verify=1)
    assert 'On {"text":"abc"} the workflow gave "ABC!"; right is "CBA!".' in told(chat.requests[4])
    found = how(solution)
    assert (found.right, found.mends) == ((2, ("execute", "edit")) if better else (1, ("execute",)))
    assert gives(solution, TEXTS, {"text": "xyz"}) == (["ZYX!"] if better else ["XYZ!"])


# Checks that need no answer


def by(second: Any, result: str = "r") -> Workflow:
    """Multiplies n, adds something to that; the factor is not used unless it is the second."""
    nodes = [call("p", "multiply", first="n", second=second), call("r", "add", first="p", second=7), end(result)]
    return Workflow.model_validate(sketch(nodes, "start p r end", n="integer", factor="integer"))


SCALED = Task(
    id="scaled",
    query="Multiply n by the factor and add 7.",
    inputs=by(1).inputs,
    examples=(Example(input={"n": 4, "factor": 13}, output=59), Example(input={"n": 2, "factor": 7}, output=21)),
)


@pytest.mark.parametrize(
    ("second", "leaked"),
    [("factor", ()), (13, ("p.second: 13",)), (7, ()), (2, ()), (99, ())],
    ids=["variable", "of an example", "named by the text", "too common", "of nobody"],
)
def test_a_constant_that_is_an_examples_input_is_a_leak(second: Any, leaked: tuple[str, ...]) -> None:
    assert leaks(by(second), SCALED) == leaked


@pytest.mark.parametrize(
    ("workflow", "idle", "unsettled"),
    [
        (by("factor"), (), ()),
        (by(13), ("factor",), ()),
        (by("factor", "factor"), ("n",), ("n",)),
        (by("factor", "n"), ("factor",), ("factor",)),
    ],
    ids=["all count", "never read", "read for nothing", "read for nothing, too"],
)
def test_an_input_that_never_changes_the_output_is_idle(
    workflow: Workflow, idle: tuple[str, ...], unsettled: tuple[str, ...]
) -> None:
    work = Work(SCALED, NUMBERS)
    assert asyncio.run(influence(work, workflow)) == (idle, unsettled)


# Nodes and questions that need the model

WORDED = {
    "id": "word", "query": "Add 2 to n and write the sum as a word.", "inputs": NUMBER, "tools": ["add"],
    "category": "one", "difficulty": "easy", "control_flow": "linear",
}  # fmt: skip


def word(n: int) -> str:
    return f"the number {n}"


def worded_benchmark(folder: Path) -> Path:
    folder.mkdir(parents=True)
    examples, tests = ([{"input": {"n": n}, "output": word(n + 2)} for n in inputs] for inputs in (SHOWN, HELD))
    (folder / "instances.jsonl").write_text(dump_json({**WORDED, "examples": examples}) + "\n")
    (folder / "tests.jsonl").write_text(dump_json({"id": "word", "tests": tests}) + "\n")
    (folder / "manifest.json").write_text(dump_json({"name": "b", "seed": 0, "sha256": {"instances.jsonl": "0" * 64}}))
    return folder


def wording(body: Row) -> str:
    """A model that adds by the tool, builds a graph with an `llm` node, and writes numbers as words."""
    text = body["messages"][-1]["content"]
    if in_a_node := re.fullmatch(r"Write (\d+) as a word.", text):
        return word(int(in_a_node[1]))
    if "This workflow was derived" in text:
        return said("finish", {})
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    whole = "\n".join(message["content"] for message in body["messages"])
    turn -= sum(message["role"] == "assistant" for message in body["messages"][: whole_task(body)])
    if given := re.findall(r"^Work on this input: \{\"n\":(-?\d+)\}$", whole, re.MULTILINE):
        n = int(given[-1])
        script: list[tuple[str, Row]] = [("add", {"first": n, "second": 2}), ("finish", {"answer": word(n + 2)})]
    else:
        prompt = {"prompt": "Write {sum} as a word.", "args": {"sum": "s"}, "output": "w"}
        script = [("add_function_node", {"tool": "add", "args": {"first": "n", "second": 2}, "output": "s"})]
        script += [("add_llm_node", prompt), ("add_end_node", {"output": "w"}), ("finish", {})]
    return said(*script[min(turn, len(script) - 1)])


def whole_task(body: Row) -> int:
    """The place of the message with the task; worked examples stand before it."""
    return max(place for place, message in enumerate(body["messages"]) if "Task:\n" in message["content"])


@pytest.mark.parametrize("verify", [0, 1])
def test_a_workflow_with_an_llm_node_is_judged_with_the_model_of_the_run(verify: int, tmp_path: Path) -> None:
    bench, run = worded_benchmark(tmp_path / "bench"), tmp_path / "run"
    ill, asked = threading.Event(), list[int]()
    ill.set()

    def answers(number: int, body: Row) -> Fault | str:
        in_a_node = body["messages"][-1]["content"].startswith("Write ")
        return Fault(400, '{"error": {"message": "no room"}}') if in_a_node and ill.is_set() else wording(body)

    with FaultyServer(answers) as server:
        words = ["exp", "--mode", "es-react", "--verify", verify, "--model", "m", "--base-url", server.url]
        words += ["--bench", bench, "--out", run, "--concurrency", 1]
        first = called(*words)
        (failed,) = records(run)
        ill.clear()
        asked.append(len(server.requests))
        second = called(*words)
        again = server.requests[asked[0] :]
    assert "Traceback" not in first.stderr and second.returncode == 0, first.stderr + second.stderr
    assert "no room" in failed["error"]
    (record,) = records(run)
    assert record["error"] is None and record["scores"]["passed"]["value"] == 1, "the case was tried again"
    nodes = [body["messages"][0]["content"] for body in again if len(body["messages"]) == 1]
    tried = (*(SHOWN if verify else ()), *HELD)
    assert sorted({*nodes}) == sorted({f"Write {n + 2} as a word." for n in tried})


def test_a_question_that_the_endpoint_fails_is_a_failed_case_that_is_tried_again(tmp_path: Path) -> None:
    bench, run = benchmark(tmp_path / "bench", ["branch"]), tmp_path / "run"
    ill = threading.Event()
    ill.set()

    def answers(number: int, body: Row) -> Fault | str:
        question = "Which one is right?" in body["messages"][-1]["content"]
        return Fault(400, '{"error": {"message": "no room"}}') if question and ill.is_set() else able(body)

    with FaultyServer(answers) as server:
        words = ["exp", "--mode", "es-react+verify", "--model", "m", "--base-url", server.url]
        words += ["--bench", bench, "--out", run, "--concurrency", 1]
        first = called(*words)
        (failed,) = records(run)
        ill.clear()
        second = called(*words)
    assert "Traceback" not in first.stderr and second.returncode == 0, first.stderr + second.stderr
    assert "no room" in failed["error"]
    (record,) = records(run)
    assert record["error"] is None and record["scores"]["passed"]["value"] == 1


# Tools that change something

SENT: list[str] = []


@tool(effect="write")
def send(to: str, text: str) -> str:
    """Send a text."""
    SENT.append(f"{to}: {text}")
    return "sent"


@tool(effect="read")
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


def posting(name: str) -> list[str]:
    text = greet(name)
    calls = [action("greet", name=name), action("send", to=name, text=text)]
    return [*calls, action("finish", answer=text)]


GRAPH_OF_POST = [
    graph("add_function_node", tool="greet", args={"name": "name"}, output="text"),
    graph("add_function_node", tool="send", args={"to": "name", "text": "text"}, output="done"),
    graph("add_end_node", output="text"),
    graph("finish"),
]


@pytest.mark.parametrize(
    ("mode", "replies", "executed"),
    [
        ("es-react+verify", [*posting("Ann"), *posting("Bob"), *posting("Eve")], ["Ann", "Bob", "Eve"]),
        ("induction", [*posting("Ann"), *posting("Bob"), *posting("Eve")], ["Ann", "Bob", "Eve"]),
        ("es-react", [*posting("Ann"), *GRAPH_OF_POST, graph("finish")], ["Ann"]),
    ],
)
def test_a_tool_that_writes_is_called_by_executions_alone(mode: str, replies: list[str], executed: list[str]) -> None:
    SENT.clear()
    names = ("Ann", "Bob", "Eve")
    examples = tuple(Example(input={"name": name}, output=greet(name)) for name in names)
    inputs = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    task = Task(id="post", query="Greet somebody and send it.", inputs=inputs, examples=examples)
    post = FunctionEnvironment([greet, send])
    solution = solved(task, post, ScriptedChat(replies), mode, verify=1 if mode == "es-react" else 3)
    posted = [f"{name}: Hello {name}" for name in executed]
    assert posted == SENT
    assert how(solution).right == len(executed), "what no trace recorded counts as unsolved"
    assert gives(solution, post, {"name": "Zoe"}) == ["Hello Zoe"] and SENT[-1] == "Zoe: Hello Zoe"


ISSUED: list[int] = []


@tool(effect="write")
def refund(order: str, cents: int = 0) -> str:
    """Refund an order."""
    ISSUED.append(cents)
    return f"{order} is refunded"


def refunding(order: str, cents: Any) -> Trace:
    calls = [Called(call=ToolCall(tool="refund", args={"order": order, "cents": cents}), observation=refunded(order))]
    return Trace(inputs={"order": order}, stop="finish", answer=f"{order} is refunded", events=tuple(calls))


def refunded(order: str) -> Observation:
    return Observation(value=f"{order} is refunded")


GUESS = "refund, cents: 731 comes from no input and no tool result"


@pytest.mark.parametrize(
    ("cents", "query", "reason"),
    [
        ([731, 212], "Refund it.", GUESS),  # no term explains it: the node would run without it
        ([731], "Refund it.", GUESS),  # a constant that one trace shows
        ([731, 731], "Refund it.", ""),  # a constant that several traces show
        ([731], "Refund 731 cents.", ""),
        ([1], "Refund it.", ""),
    ],
)
def test_no_workflow_writes_a_value_that_nothing_explains(cents: list[int], query: str, reason: str) -> None:
    ISSUED.clear()
    traces = [refunding(order, value) for order, value in zip(("A1", "B2"), cents, strict=False)]
    summarized = summarize(traces, [refund], query=query, predict=False)
    assert summarized.ok is not bool(reason) and ISSUED == []
    if reason:
        assert "no sound workflow gives these traces: " in summarized.problem and reason in summarized.problem
        assert summarized.needed and all("more traces" in line for line in summarized.needed)
        assert f"needed: {summarized.needed[0]}" in summarized.report().splitlines()
        with pytest.raises(InvalidWorkflow, match=reason):
            _ = summarized.workflow
    else:
        assert summarized.workflow({"order": "C3"}) == "C3 is refunded" and cents[:1] == ISSUED


def test_induction_says_which_argument_of_a_writing_tool_is_missing() -> None:
    examples = tuple(Example(input={"order": order}, output=f"{order} is refunded") for order in ("A1", "B2"))
    inputs = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
    task = Task(id="refund", query="Refund it.", inputs=inputs, examples=examples)
    replies: list[str] = []
    for order, cents in (("A1", 731), ("B2", 212)):
        replies += [action("refund", order=order, cents=cents), action("finish", answer=f"{order} is refunded")]
    solution = solved(task, FunctionEnvironment([refund]), ScriptedChat(replies), "induction")
    assert solution.workflow is None and not solution.graph_valid
    assert {GUESS, GUESS.replace("731", "212")} <= {*how(solution).open}


# Values that a model writes an expression for


def digit(order: str) -> int:
    return sum(int(sign) for sign in order[1:]) * 2 % 12


WRITTEN = "sum(int(sign) for sign in order[1:]) * 2 % 12"


@pytest.mark.parametrize(
    ("replies", "sound"),
    [
        ([f'{{"expr": "{WRITTEN}"}}'], True),
        (['{"expr": "len(order)"}', f'{{"expr": "{WRITTEN}"}}'], True),  # it is told where the first one is wrong
        (['{"expr": "len(order)"}', '{"expr": "len(order) + 1"}'], False),
        (['{"expr": ""}'], False),
        (['{"expr": "other + 1"}', '{"expr": "__import__(order)"}'], False),
    ],
)
def test_a_model_writes_an_expression_for_a_value_that_nothing_explains(replies: list[str], sound: bool) -> None:
    ISSUED.clear()
    orders = ("A17", "B29", "C48", "D99")
    traces = [refunding(order, digit(order)) for order in orders]
    query = "Refund the order with its check digit."
    assert summarize(traces, [refund], query=query).problem, "nothing explains the digit"
    chat = ScriptedChat(replies)
    summarized = summarize(traces, [refund], query=query, model=chat)
    assert len(chat.requests) >= len(replies) and ISSUED == []
    if sound:
        assert summarized.workflow({"order": "E57"}) == "E57 is refunded" and [digit("E57")] == ISSUED
        assert len(replies) < 2 or "gives 3 where 4 is right" in chat.requests[1].messages[-1].content
    else:
        assert GUESS.replace("731", "4") in summarized.problem.replace(str(digit("A17")), "4")


# Settings that do not go together


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"mode": "react", "verify": 2}, "mode 'react' has one stage"),
        ({"mode": "pe", "summarizer": "guided"}, "mode 'pe' has one stage"),
        ({"mode": "enhanced-react", "traces": "gold"}, "mode 'enhanced-react' has one stage"),
        ({"mode": "induction", "traces": "gold"}, "gold traces need the task's gold workflow, which is missing"),
    ],
)
def test_settings_that_do_not_go_together_are_one_line(settings: Row, problem: str) -> None:
    async def demonstrate(inputs: dict[str, Any], budget: int = 0) -> Trace:
        raise AssertionError("nothing is executed")

    given = None if settings["mode"] == "induction" else demonstrate
    chat = ScriptedChat([])
    with pytest.raises(InputError, match=problem) as raised:
        asyncio.run(solve(loud("abc"), TEXTS, chat, Settings.model_validate(settings), None, given))
    assert "\n" not in str(raised.value) and chat.requests == []


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--mode", "react", "--verify", 2), "mode 'react' has one stage"),
        (("--mode", "induction", "--traces", "gold"), "has no gold workflows (no file gold.jsonl)"),
        (("--mode", "induction", "--verify", 21), "--verify"),
        (("--mode", "induction", "--probe", 201), "--probe"),
    ],
)
def test_the_command_says_in_one_line_what_does_not_go_together(
    words: tuple[object, ...], problem: str, tmp_path: Path
) -> None:
    bench = benchmark(tmp_path / "bench", ["sum"])
    (bench / "gold.jsonl").unlink()
    done = called("exp", *words, "--bench", bench, "--out", tmp_path / "run", "--concurrency", 1)
    assert done.returncode == 2
    assert problem in done.stderr and done.stderr.splitlines()[-1].startswith("flowmind")
    assert not (tmp_path / "run" / "manifest.json").exists() or records(tmp_path / "run") == []
