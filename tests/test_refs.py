"""Values by name: what a reference stands for, what the agent is told, what the trace keeps, and what is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from flowmind import tool
from flowmind.agents.plan_execute import PlanExecuteAgent
from flowmind.agents.react import ReActAgent
from flowmind.agents.turns import Budget
from flowmind.api.solving import ExecuteSummarize
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.build.induction.runs import run_of
from flowmind.build.settings import MODES, Settings, rounds_of, summarizer_of
from flowmind.formats.openai_messages import trace_of_messages
from flowmind.llm.testing import ScriptedChat, action, plan
from flowmind.protocols import Brief
from flowmind.trace.events import Origin, Trace
from flowmind.trace.origins import with_origins
from flowmind.trace.references import BadReference, Resolved, escape, resolve
from tools_registry.sandbox.environment import Environment
from tools_registry.sandbox.environments import FunctionEnvironment, LocalSandbox, ToolSource
from tools_registry.specs.spec import Observation

SOURCE = '''
def orders_of(customer: str) -> list[dict]:
    """List the orders of a customer."""
    return [{"id": f"{customer}-{number}", "cents": 100 * number} for number in (1, 2, 3)]

def total(orders: list[dict]) -> int:
    """Add up the cents of orders."""
    return sum(order["cents"] for order in orders)

def record(id: str, lines: list, more: dict) -> dict:
    """Make a record."""
    return {"id": id, "lines": lines, **more}

def add(value: int, more: int) -> int:
    """Add two numbers."""
    return value + more

def shown(text: str) -> str:
    """Repeat a text."""
    return text
'''
RESULTS = [
    Observation(value=[{"id": "a-1", "unit price": 7}, {"id": "a-2", "unit price": 8}]),
    Observation.failed("tool_error", "no"),
    Observation(value={"total": 15, "of": {"who": "Ann"}}),
]
INPUTS: dict[str, Any] = {"customer": "Ann", "limit": 3, "entries": [1, 2]}


def at(step: int, *path: str | int) -> Origin:
    return Origin(kind="output", step=step, path=path)


@pytest.fixture(scope="module")
def tools() -> Iterator[LocalSandbox]:
    with LocalSandbox(ToolSource.parse_all(SOURCE)) as sandbox:
        yield sandbox


def work(tools: Environment, *replies: str, references: bool = True, **budget: int) -> tuple[Trace, list[str]]:
    """The trace of an agent with these replies, and what it was told after each of them but the last."""
    brief = Brief(stage="execute", task="Task:\nAdd up the orders.", inputs=INPUTS, references=references)
    chat = ScriptedChat(replies)
    trace = asyncio.run(ReActAgent(chat, Budget(**budget)).execute(brief, tools))
    return trace, [request.messages[-1].content for request in chat.requests[1:]]


@pytest.mark.parametrize(
    ("written", "value", "origin"),
    [
        ("$customer", "Ann", Origin(kind="input", name="customer")),
        ("$entries[-1]", 2, Origin(kind="input", name="entries", path=(1,))),
        ("$1", RESULTS[0].value, at(0)),
        ("$1[1].id", "a-2", at(0, 1, "id")),
        ('$1[0]["unit price"]', 7, at(0, 0, "unit price")),
        ("$3.of.who", "Ann", at(2, "of", "who")),
        ("$var_3.total$", 15, at(2, "total")),
        ("$var1.result$", RESULTS[0].value, at(0)),
        ("$var_1$", RESULTS[0].value, at(0)),
    ],
)
def test_a_reference_stands_for_a_value(written: str, value: Any, origin: Origin) -> None:
    assert resolve(written, INPUTS, RESULTS) == Resolved(value, origin)


@pytest.mark.parametrize("text", ["", "$", "5 $", "$5.00", "$12,000", "$ 1", "$PATH:/bin", "a $1", "US$1", "$limits/x"])
def test_another_text_with_a_dollar_sign_is_a_text(text: str) -> None:
    assert resolve(text, INPUTS, RESULTS) == Resolved(text, None)


@pytest.mark.parametrize("value", ["$1", "$$", "$customer", ["$5", {"price": "$1.id"}], 3, None, {"a": True}])
def test_an_escaped_value_comes_through(value: Any) -> None:
    assert resolve(escape(value), INPUTS, RESULTS).value == value


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("$4", "there is no result 4; the results so far are $1 to $3; write $$4 for the text $4"),
        ("$-1x", None),
        ("$0", "there is no result 0"),
        ("$2", "call 2 failed, so that it has no result"),
        ("$custmer", "there is no input custmer; the inputs are $customer, $limit, $entries"),
        ("$3.sum", "$3 is an object with the keys total, of"),
        ("$1.id", "$1 is a list of 2; its elements are $1[0] to $1[1]"),
        ("$1[2]", "$1 is a list of 2"),
        ("$limit.id", "$limit is integer and has no parts"),
        ("$3.of.who.name", "$3.of.who is string and has no parts"),
        (
            "$1[*].id",
            "after $1 only keys and indices may follow, as in $1.name or $1[0].id; any other value needs a tool",
        ),
        ("$customer.upper()", "after $customer only keys and indices may follow"),
    ],
)
def test_a_wrong_reference_says_what_there_is(written: str, told: str | None) -> None:
    if told is None:
        assert resolve(written, INPUTS, RESULTS).origin is None
        return
    with pytest.raises(BadReference) as error:
        resolve({"deep": [written]}, INPUTS, RESULTS)
    assert str(error.value).startswith(f"{written}: ") and told in str(error.value)


def test_the_first_reference_has_no_result_yet() -> None:
    with pytest.raises(BadReference, match="there is no result yet"):
        resolve("$1", {}, [])
    with pytest.raises(BadReference, match=r"the only result so far is \$1;"):
        resolve("$2", {}, RESULTS[:1])


def test_a_resolved_value_is_a_copy() -> None:
    value = resolve("$1", INPUTS, RESULTS).value
    value[0]["id"] = "changed"
    assert RESULTS[0].value[0]["id"] == "a-1"


def test_an_agent_passes_values_by_name(tools: LocalSandbox) -> None:
    trace, told = work(
        tools,
        action("orders_of", customer="$customer"),
        action("total", orders="$1"),
        action("record", id="$1[0].id", lines=["$1[1]", "$$5", "$2"], more={"who": "$customer", "n": 4}),
        action("finish", answer={"record": "$3", "total": "$2", "kind": "order"}),
    )
    orders = [{"id": f"Ann-{number}", "cents": 100 * number} for number in (1, 2, 3)]
    made = {"id": "Ann-1", "lines": [orders[1], "$5", 600], "who": "Ann", "n": 4}
    assert [call.call.args for call in trace.calls] == [
        {"customer": "Ann"},
        {"orders": orders},
        {"id": "Ann-1", "lines": [orders[1], "$5", 600], "more": {"who": "Ann", "n": 4}},
    ]
    customer = Origin(kind="input", name="customer")
    assert [call.stated for call in trace.calls] == [
        {"customer": customer},
        {"orders": at(0)},
        {
            "id": at(0, 0, "id"),
            "lines": Origin(kind="made", parts={"0": at(0, 1), "2": at(1)}),
            "more": Origin(kind="made", parts={"who": customer}),
        },
    ]
    assert trace.answer == {"record": made, "total": 600, "kind": "order"}
    assert trace.stated == Origin(kind="made", parts={"record": at(2), "total": at(1)})
    assert told == [
        f"Observation $1: {dump_json(orders)}",
        "Observation $2: 600",
        f"Observation $3: {dump_json(made)}",
    ]
    run = run_of(trace, 0)
    assert run.calls[1].stated == {"orders": at(0)} and run.stated == trace.stated
    assert Trace.model_validate(trace.dump()) == trace


def test_the_conversation_keeps_the_names_and_long_data_is_not_copied(tools: LocalSandbox) -> None:
    brief = Brief(stage="execute", task="Task:\nAdd.", inputs=INPUTS, references=True)
    replies = [action("orders_of", customer="$customer"), action("total", orders="$1"), action("finish", answer="$2")]
    chat = ScriptedChat(replies)
    trace = asyncio.run(ReActAgent(chat).execute(brief, tools))
    said = [message.content for message in chat.requests[-1].messages if message.role == "assistant"]
    assert said[-2:] == replies[:2]
    assert (trace.answer, trace.stated) == (600, at(1))


def test_a_wrong_reference_is_an_observation_and_takes_a_number(tools: LocalSandbox) -> None:
    trace, told = work(
        tools,
        action("total", orders="$orders"),
        action("orders_of", customer="$customer"),
        action("total", orders="$1"),
        action("total", orders="$2"),
        action("finish", answer="$5"),
        action("finish", answer="$4"),
    )
    assert [call.observation.ok for call in trace.calls] == [False, True, False, True]
    assert told[0].startswith("Observation $1: error in total: reference: $orders: there is no input orders; ")
    assert told[1].startswith("Observation $2: [")
    assert "$1: call 1 failed, so that it has no result" in told[2]
    assert told[3] == "Observation $4: 600"
    assert told[4].startswith("Observation: error: $5: there is no result 5; the results so far are $1 to $4; ")
    assert (trace.answer, trace.stop) == (600, "finish")


def test_answers_that_name_nothing_end_the_stage(tools: LocalSandbox) -> None:
    trace, _ = work(tools, *[action("finish", answer="$9")] * 3, failures=3)
    assert trace.stop == "failures" and trace.error is not None and trace.error.type == "reference"


def test_without_the_option_a_text_is_a_text_and_observations_have_no_number(tools: LocalSandbox) -> None:
    trace, told = work(tools, action("shown", text="$customer"), action("finish", answer="$1"), references=False)
    assert told == ['Observation: "$customer"']
    assert (trace.answer, trace.stated, trace.calls[0].stated) == ("$1", None, {})
    assert "stated" not in dump_json(trace.dump())


def test_a_plan_is_carried_out_with_values_by_name(tools: LocalSandbox) -> None:
    brief = Brief(stage="execute", task="Task:\nAdd.", inputs=INPUTS, references=True)
    replies = [
        plan("List.", "Add up."),
        action("orders_of", customer="$customer"),
        action("total", orders="$1"),
        action("finish", answer="$2"),
    ]
    chat = ScriptedChat(replies)
    trace = asyncio.run(PlanExecuteAgent(chat).execute(brief, tools))
    assert (trace.answer, trace.stop) == (600, "finish")
    assert "Observation $1: [" in chat.requests[2].messages[-1].content
    rules = [request.messages[0].content for request in chat.requests]
    assert ["$NAME" in rule for rule in rules] == [False, True, True, True]


def test_a_tool_on_its_own_result_again_and_again_is_told_and_ended(tools: LocalSandbox) -> None:
    replies = [action("add", value="$limit", more=1), *[action("add", value=f"${n}", more=1) for n in range(1, 30)]]
    trace, told = work(tools, *replies)
    assert len(trace.calls) == Budget().chained == 12
    assert trace.stop == "failures" and trace.error is not None
    assert trace.error.message == "add 12 times in a row on its own result"
    assert told[2] == "Observation $3: 6"
    assert told[3].startswith("Observation $4: 7\nThis was call 4 of add on its own result.")


def test_a_total_a_page_and_a_copied_number_are_no_chain(tools: LocalSandbox) -> None:
    begin = action("add", value="$limit", more=0)
    sums = [begin, *[action("add", value=f"${n}", more=n) for n in range(1, 14)]]
    parts = [
        action("record", id="x", lines=[], more={}),
        *[action("record", id=f"${n}.id", lines=[], more={}) for n in range(1, 5)],
    ]
    copied = [action("add", value=value, more=1) for value in range(14)]
    for replies in (sums, parts, copied):
        trace, told = work(tools, *replies, action("finish", answer=f"${len(replies)}"), repeats=30)
        assert trace.stop == "finish" and len(trace.calls) == len(replies)
        assert not any("own result" in text for text in told)


def test_a_repeated_call_is_seen_behind_its_names() -> None:
    @tool(effect="read")
    def shown(text: str) -> str:
        """Repeat a text."""
        return text

    trace, _ = work(FunctionEnvironment([shown]), *[action("shown", text=f"${name}") for name in ("customer", 1, 2, 3)])
    assert trace.error is not None and trace.error.message == "the same call 4 times in a row"


# Provenance


def test_stated_origins_are_taken_over_and_checked(tools: LocalSandbox) -> None:
    trace, _ = work(
        tools,
        action("add", value="$limit", more=0),
        action("add", value="$1", more="$limit"),
        action("record", id="$customer", lines=["$2", "$1"], more={}),
        action("finish", answer={"lines": "$3.lines", "sum": "$2"}),
    )
    found = with_origins([trace])[0]
    assert found.calls[1].origins["value"] == at(0)
    assert found.calls[2].origins["lines"].parts == {"0": at(1), "1": at(0)}
    assert found.origin is not None and found.origin.parts == {"lines": at(2, "lines"), "sum": at(1)}
    plain = trace.model_copy(
        update={"events": tuple(call.model_copy(update={"stated": {}}) for call in trace.calls), "stated": None}
    )
    assert with_origins([plain])[0].calls[1].origins["value"] == Origin(kind="input", name="limit")


def test_a_list_that_is_made_of_named_parts_is_no_copy_of_an_equal_input(tools: LocalSandbox) -> None:
    trace, _ = work(
        tools,
        action("add", value=0, more=1),
        action("add", value="$1", more=1),
        action("record", id="x", lines=["$1", "$2"], more={}),
        action("finish", answer=None),
    )
    assert trace.calls[2].call.args["lines"] == INPUTS["entries"]
    made = Origin(kind="made", parts={"0": at(0), "1": at(1)})
    assert with_origins([trace])[0].calls[2].origins["lines"] == made


@pytest.mark.parametrize("stated", [at(1), at(0, "no"), at(7), Origin(kind="input", name="customer")])
def test_a_stated_origin_without_the_value_is_not_believed(stated: Origin, tools: LocalSandbox) -> None:
    trace, _ = work(
        tools, action("add", value=3, more=4), action("add", value="$1", more=5), action("finish", answer=12)
    )
    first, second = trace.calls
    doubtful = second.model_copy(update={"stated": {"value": stated}})
    found = with_origins([trace.model_copy(update={"events": (first, doubtful)})])[0]
    assert found.calls[1].origins["value"] == at(0)


# Recorded conversations


def conversation(*calls: tuple[str, Mapping[str, Any], Any], user: str = "Go.", answer: str = "done") -> Trace:
    messages: list[dict[str, Any]] = [{"role": "user", "content": user}]
    for number, (name, args, result) in enumerate(calls):
        function = {"name": name, "arguments": dump_json(args)}
        call = {"id": str(number), "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": str(number), "content": dump_json(result)})
    messages.append({"role": "assistant", "content": answer})
    return trace_of_messages(messages, inputs={"name": "Ann"})


def test_references_of_a_recorded_agent_are_read() -> None:
    trace = conversation(
        ("find", {"who": "$name"}, {"id": "c-7", "tags": ["x"]}),
        ("open", {"id": "$1.id", "all": ["$1.tags[0]", "y"]}, 12),
        answer="$2",
    )
    assert [call.call.args for call in trace.calls] == [{"who": "Ann"}, {"id": "c-7", "all": ["x", "y"]}]
    assert trace.calls[1].stated["id"] == at(0, "id")
    assert (trace.answer, trace.stated) == (12, at(1))


def test_references_of_nestful_are_read() -> None:
    trace = conversation(
        ("add", {"arg_0": 1, "arg_1": 2}, 3),
        ("get", {"n": "$var_1.result$"}, {"skyId": "MUC"}),
        ("fly", {"to": "$var_2.skyId$"}, []),
    )
    assert [call.call.args for call in trace.calls[1:]] == [{"n": 3}, {"to": "MUC"}]
    assert [call.stated for call in trace.calls[1:]] == [{"n": at(0)}, {"to": at(1, "skyId")}]


@pytest.mark.parametrize(
    ("calls", "user"),
    [
        ((("find", {"q": "x"}, [1]), ("pay", {"amount": "$1"}, True)), "Pay $1 to Ann."),
        ((("find", {"q": "x"}, {"price": "$1"}), ("pay", {"amount": "$1"}, True)), "Pay it."),
        ((("find", {"q": "x"}, [1]), ("pay", {"amount": "$1", "more": "$7"}, True)), "Pay."),
        ((("find", {"q": "$HOME"}, [1]), ("pay", {"amount": "$1"}, True)), "Pay."),
        ((("pay", {"amount": "$5.00"}, True),), "Pay."),
    ],
)
def test_amounts_and_other_texts_of_a_recorded_agent_stay(calls: Any, user: str) -> None:
    trace = conversation(*calls, user=user)
    assert [call.call.args for call in trace.calls] == [args for _, args, _ in calls]
    assert all(call.stated == {} for call in trace.calls)


# Modes


@tool(effect="read")
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


def test_the_modes_with_names_are_those_without_and_the_option() -> None:
    for mode in ("es-react", "es-pe", "es-react+verify", "es-pe+verify"):
        named = mode.replace("es-react", "es-react+refs").replace("es-pe", "es-pe+refs")
        plain, by_name = Settings(mode=mode), Settings(mode=named)
        assert MODES[named] == MODES[mode].model_copy(update={"references": True})
        assert (summarizer_of(plain), rounds_of(plain)) == (summarizer_of(by_name), rounds_of(by_name))
    assert [mode for mode, preset in MODES.items() if preset.references] == [mode for mode in MODES if "+refs" in mode]


def test_verification_is_added_to_the_mode() -> None:
    assert ExecuteSummarize(double, mode="es-pe+refs", verify=True).settings.mode == "es-pe+refs+verify"
    with pytest.raises(InputError, match=r"react\+refs"):
        ExecuteSummarize(double, mode="react+refs")


@pytest.mark.parametrize("mode", ["es-react+refs", "es-pe+refs", "es-react+refs+verify"])
def test_the_embedded_model_works_in_the_modes(mode: str) -> None:
    result = ExecuteSummarize(double, mode=mode).run("Double the number.", [({"n": 3}, 6), ({"n": 5}, 10)])
    assert result.workflow(n=21) == 42


def test_the_executor_is_told_and_the_summarizer_is_not() -> None:
    node = action("add_function_node", tool_="double", output="m")
    chat = ScriptedChat([action("double", n="$n"), action("finish", answer="$1"), node, *[action("finish")] * 5])
    solver = ExecuteSummarize(double, chat, "es-react+refs", {"turn_limit": 3})
    result = solver.run("Double the number.", [({"n": 3}, 6)])
    assert result.traces[0].answer == 6
    rules = [request.messages[0].content for request in chat.requests]
    assert ["$NAME" in rule for rule in rules] == [True, True, False]
