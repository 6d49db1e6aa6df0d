"""A folder of files of every bad kind, for tables of commands and the errors that they give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tiny import tiny_benchmark

Row = dict[str, Any]
TOOLS = '''
def double(n: int) -> int:
    """Double a number."""
    return 2 * n

def is_big(n: int) -> bool:
    """Whether a number is big."""
    return n > 100
'''
TASK: Row = {
    "id": "doubled",
    "query": "Double the number.",
    "examples": [{"input": {"n": 2}, "output": 4}, {"input": {"n": 5}, "output": 10}],
}


def workflow(**changes: Any) -> Row:
    """A sound workflow that doubles a number, with some fields replaced."""
    return {
        "schema": "flowmind/workflow@1",
        "name": "doubled",
        "inputs": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        "nodes": [
            {"id": "start", "kind": "start"},
            {"id": "twice", "kind": "tool", "tool": "double", "args": {"n": {"var": "n"}}, "output": "m"},
            {"id": "end", "kind": "end", "output": {"var": "m"}},
        ],
        "edges": [{"from": "start", "to": "twice"}, {"from": "twice", "to": "end"}],
        **changes,
    }


def conversation() -> Row:
    """A conversation that calls `double` once, with its inputs."""
    call = {"id": "c1", "type": "function", "function": {"name": "double", "arguments": '{"n": 2}'}}
    return {
        "inputs": {"n": 2},
        "messages": [
            {"role": "user", "content": "Double 2."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "4"},
            {"role": "assistant", "content": "4"},
        ],
    }


def with_example(inputs: Row) -> Row:
    """The task with one more example."""
    return {**TASK, "examples": [*TASK["examples"], {"input": inputs, "output": 1}]}


def replaced(row: Row, place: tuple[str | int, ...], value: Any) -> Row:
    """A copy of a document with another value at a place."""
    copy: Any = json.loads(json.dumps(row))
    inner = copy
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return copy


def asking(url: str = "") -> Row:
    """A workflow that asks a model."""
    node = {"id": "ask", "kind": "llm", "prompt": "What is {n}?", "args": {"n": {"var": "n"}}, "output": "m"}
    return replaced(replaced(workflow(), ("nodes", 1), node), ("edges",), [
        {"from": "start", "to": "ask"}, {"from": "ask", "to": "end"},
    ])  # fmt: skip


def write_files(folder: Path) -> None:
    """Fills a folder: good files first, then bad ones by their names."""
    good = json.dumps(workflow())
    talk = conversation()
    cut = talk["messages"][:2]
    pair = {"gold_text": "Node:\n1: a\nEdge: (START,1) (1,END)", "pred_text": "Node:\n1: b\nEdge: (START,1) (1,END)"}
    texts: dict[str, str | bytes] = {
        "good.json": good,
        "tools.py": TOOLS,
        "task.json": json.dumps(TASK),
        "talk.json": json.dumps(talk),
        "pairs.jsonl": json.dumps(pair),
        "rows.jsonl": json.dumps({"source": "toolbench"}),
        "ask.json": json.dumps(asking()),
        # no JSON, or not strict JSON
        "empty.json": "",
        "binary.json": b"\x7fELF\x02\x01\x01" + bytes(range(256)),
        "utf16.json": good.encode("utf-16"),
        "latin1.json": good.replace("doubled", "d\xf6bled").encode("latin-1"),
        "cut.json": good[:120],
        "nan.json": json.dumps(replaced(workflow(), ("nodes", 1, "args", "n"), {"value": float("nan")})),
        "twice.json": good.replace('"name"', '"name": "x", "name"', 1),
        "deep.json": "[" * 100_000,
        "list.json": "[]",
        "text.json": '"a text"',
        "surrogate.json": good.replace('"doubled"', '"\\ud800"', 1),
        # documents with a wrong field
        "version.json": json.dumps(workflow(schema="flowmind/workflow@9")),
        "unknown_field.json": json.dumps(workflow(nods=[])),
        "no_nodes.json": json.dumps({key: value for key, value in workflow().items() if key != "nodes"}),
        "kind.json": json.dumps(replaced(workflow(), ("nodes", 1, "kind"), "toool")),
        "node_id.json": json.dumps(replaced(workflow(), ("nodes", 1, "id"), "a\x1b[31m")),
        "huge_bound.json": json.dumps(replaced(workflow(), ("edges", 1, "bound"), 10**9)),
        "schema_inputs.json": json.dumps(workflow(inputs={"type": "strin"})),
        "unsound.json": json.dumps(workflow(edges=[{"from": "start", "to": "twice"}])),
        "dangling.json": json.dumps(workflow(edges=[*workflow()["edges"], {"from": "end", "to": "nowhere"}])),
        "control.json": json.dumps(workflow(name="\x1b[2Jcleared", description="\x07bell\u202e")),
        "wide.mmd": f"flowchart TD\n{' & '.join(f'a{n}' for n in range(8_000))} --> "
        f"{' & '.join(f'b{n}' for n in range(8_000))}\n",
        "many.mmd": "flowchart TD\n" + "".join(f"a{n} --> a{n + 1}\n" for n in range(30_000)),
        "prose.mmd": "nothing of that kind",
        "no_start.mmd": "flowchart TD\na --> b\n",
        "prose.pdl": "nothing of that kind",
        # tools
        "broken.py": "def double(n: int -> int:\n    return n\n",
        "no_tools.py": "X = 1\n",
        "import.py": 'import os\n\ndef double(n: int) -> int:\n    """Double."""\n    return os.getpid()\n',
        "untyped.py": "def double(n):\n    return n\n",
        "same.py": TOOLS + TOOLS,
        "graph_tool.py": 'def add_edge(n: int) -> int:\n    """Add."""\n    return n\n',
        "tools_nul.py": TOOLS.encode() + b"\0",
        # tasks
        "no_query.json": json.dumps({"examples": TASK["examples"]}),
        "no_examples.json": json.dumps({**TASK, "examples": []}),
        "no_output.json": json.dumps({**TASK, "examples": [{"input": {"n": 1}}]}),
        "other_inputs.json": json.dumps(with_example({"text": "a"})),
        "missing_input.json": json.dumps(with_example({})),
        "declared.json": json.dumps({**TASK, "inputs": {"type": "object", "properties": {"m": {"type": "integer"}}}}),
        "task_tests.json": json.dumps({**TASK, "tests": []}),
        "task_id.json": json.dumps({**TASK, "id": "../up"}),
        "input_name.json": json.dumps({**TASK, "examples": [{"input": {"my n": 2}, "output": 4}]}),
        # conversations
        "empty.jsonl": "",
        "cut_talk.json": json.dumps({**talk, "messages": cut}),
        "no_answer.json": json.dumps({**talk, "messages": talk["messages"][:3]}),
        "role.json": json.dumps([{"role": "wizard", "content": "x"}]),
        "orphan.json": json.dumps([{"role": "tool", "tool_call_id": "c9", "content": "4"}]),
        "half.jsonl": json.dumps(talk) + "\n" + json.dumps(talk)[:80] + "\n",
        "numbers.json": "[1, 2, 3]",
        "no_messages.json": json.dumps({"inputs": {"n": 2}, "messages": []}),
        "definitions.json": json.dumps([{"name": 3}]),
        "definitions_text.json": '"tools"',
        # pairs of graphs
        "pair_none.jsonl": "{}\n",
        "pair_gold.jsonl": json.dumps({**pair, "gold_text": "no graph"}) + "\n",
        "pair_type.jsonl": json.dumps({**pair, "gold_text": 3}) + "\n",
        "pair_broken.jsonl": json.dumps(pair) + "\n{\n",
        # grids
        "grid.toml": 'title = "t"\nmodels = ["search"]\nmodes = ["es-pe"]\n',
        "grid_broken.toml": "title = \n",
        "grid_mode.toml": 'title = "t"\nmodels = ["search"]\nmodes = ["es-px"]\n',
        "grid_key.toml": 'title = "t"\nmodels = ["search"]\nmodess = ["es-pe"]\n',
        "grid_setting.toml": 'title = "t"\nmodels = ["search"]\nmodes = ["es-pe"]\n[settings]\nrollout = 3\n',
        "grid_none.toml": 'title = "t"\nmodels = []\nmodes = ["es-pe"]\n',
        # rows of WorFBench
        "rows_broken.jsonl": "{\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with (folder / "huge.json").open("wb") as file:
        file.truncate(60_000_000)
    (folder / "a_folder").mkdir()
    (folder / "a_file").write_text("")
    write_benchmarks(folder)


def write_benchmarks(folder: Path) -> None:
    """Three benchmarks: a good one in `bench`, one with broken files, one without gold workflows."""
    bench = tiny_benchmark(folder / "bench")
    golds = [{"id": f"task_{number}", "workflow": workflow(name=f"task_{number}")} for number in range(8)]
    (bench / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in golds))
    broken = tiny_benchmark(folder / "broken_bench")
    (broken / "gold.jsonl").write_text(json.dumps({"id": "task_0", "workflow": {"nodes": []}}) + "\n")
    (broken / "instances.jsonl").write_text('{"id": "task_0", "query": 3}\n')
    tiny_benchmark(folder / "no_gold")
