"""The gallery: a page for each gold workflow of a benchmark, with its runs on the held-out tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tqdm import tqdm

from experiments.golds import read_golds
from experiments.marking import as_json
from experiments.report import template
from experiments.ways import way_of
from flowmind.base.errors import InputError
from flowmind.base.files import write_text
from flowmind.cli.options import SandboxOptions
from flowmind.cli.sandboxes import Sandboxes
from flowmind.evaluation.evaluators import exact_match
from flowmind.formats import svg
from flowmind.formats.python import to_python
from flowmind.run.running import run_batch
from flowmind.trace.events import Trace
from flowmind.trace.task import Benchmark, Example, Task, benchmark_tools
from flowmind.workflow.document import Workflow
from tools_registry.specs.schema import type_label
from tools_registry.specs.spec import ToolSpec


def write(bench: Path, out: Path) -> None:
    """Runs every gold workflow of a benchmark on its held-out tests, and writes the pages.

    Args:
        bench: The folder of the benchmark.
        out: The folder of the pages.

    Raises:
        InputError: If the benchmark cannot be read, a task has no gold workflow, or a workflow gives a wrong answer.
    """
    benchmark, tools, golds = Benchmark.load(bench), benchmark_tools(bench), read_golds(bench)
    for task in benchmark.tasks:
        if task.id not in golds:
            raise InputError(f"{bench / 'gold.jsonl'}: no workflow for {task.id!r}")
    with Sandboxes(SandboxOptions()) as sandboxes:
        sandbox = sandboxes.of(list(tools.values()))
        for task in tqdm(benchmark.tasks, desc="gallery", unit="workflow"):
            gold, tests = golds[task.id], benchmark.tests[task.id]
            traces = run_batch(gold, [test.input for test in tests], sandbox)
            for number, (test, trace) in enumerate(zip(tests, traces, strict=True), 1):
                if exact_match(trace, test.output).value != 1.0:
                    raise InputError(f"{bench}: the gold workflow of {task.id!r} is wrong on test {number}")
            page = _page(task, gold, list(zip(tests, traces, strict=True)), {name: tools[name].spec for name in tools})
            write_text(out / f"{task.id}.md", page)
    write_text(out / "index.md", _index(benchmark.tasks, golds))
    script = template("drawing.js") + (Path(__file__).parent / "gallery.js").read_text(encoding="utf-8")
    style = svg.STYLE + template("drawing.css") + (Path(__file__).parent / "gallery.css").read_text(encoding="utf-8")
    write_text(out / "gallery.js", script)
    write_text(out / "gallery.css", style)


def title_of(task: Task) -> str:
    """The heading of the page of a task: its id in words."""
    words = task.id.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}"


def _page(task: Task, gold: Workflow, runs: Sequence[tuple[Example, Trace]], specs: dict[str, ToolSpec]) -> str:
    used = [specs[name] for name in dict.fromkeys(step.call.tool for _, trace in runs for step in trace.calls)]
    facts = f"{_words(task.category)} · {task.difficulty} · {_words(task.control_flow)} · "
    return "\n\n".join([
        f"# {title_of(task)}",
        f"{facts}[all workflows](index.md)",
        _plain(task.query),
        "## Inputs",
        "\n".join(_inputs(task)),
        "## Workflow",
        "Choose a test to see the way of its input through the workflow, the value of each step, and the answer.",
        _browser(gold, runs),
        "## Python",
        "`flowmind convert --to python` writes this function. It needs no FlowMind. Its tools are stubs to fill in.",
        f"```python\n{to_python(gold, specs).text.strip()}\n```",
        "## Tools",
        "\n".join(f"- `{spec.headline()}`" for spec in used),
    ]) + "\n"  # fmt: skip


def _plain(text: str) -> str:
    """A text as a paragraph in which no character is markup."""
    return f'<p class="task">{escape(" ".join(text.split()))}</p>'


def _inputs(task: Task) -> Iterator[str]:
    yield "| name | type | meaning |\n| --- | --- | --- |"
    for name, field in task.inputs.get("properties", {}).items():
        meaning = escape(field.get("description", "")).replace("|", "\\|")
        yield f"| `{name}` | {escape(type_label(field))} | {meaning} |"


def _browser(gold: Workflow, runs: Sequence[tuple[Example, Trace]]) -> str:
    """The tests to click, and the drawing; without a script the values of all tests are shown."""
    tests = [_test(number, gold, test, trace) for number, (test, trace) in enumerate(runs, 1)]
    drawing = svg.to_svg(gold, styled=False).strip().replace("\n", "&#10;")
    return "\n".join([
        '<link rel="stylesheet" href="gallery.css">',
        f'<div class="gallery"><div class="tests" role="group" aria-label="Held-out tests"></div>{"".join(tests)}'
        f'<div class="drawing" role="region" tabindex="0" aria-label="Drawing of the workflow">{drawing}</div></div>',
        '<script src="gallery.js"></script>',
    ])  # fmt: skip


def _test(number: int, gold: Workflow, test: Example, trace: Trace) -> str:
    way = escape(json.dumps(way_of(gold, trace), ensure_ascii=False, separators=(",", ":")))
    values = "".join(
        f"<dt>{escape(name)}</dt><dd><code>{escape(_code(value))}</code></dd>"
        for name, value in (*test.input.items(), ("answer", trace.answer), ("golden answer", test.output))
    )
    title = f'<p class="title">Test {number}: the answer is the golden one</p>'
    return f'<div class="test" data-way="{way}" aria-live="polite">{title}<dl>{values}</dl></div>'


def _code(value: Any) -> str:
    return as_json(value).replace("\n", " ")


def _index(tasks: Sequence[Task], golds: dict[str, Workflow]) -> str:
    parts = [
        "# Gallery",
        f"The {len(tasks)} gold workflows of the benchmark with the seed 0. Each page has the text of the task, the "
        "workflow as a drawing and as Python, and the way of each held-out test through it. The search finds a task by "
        "the words of its text.",
    ]
    for category in dict.fromkeys(task.category for task in tasks):
        rows = [task for task in tasks if task.category == category]
        title = _words(category)
        parts.append(f"## {title[:1].upper()}{title[1:]}")
        table = ["| workflow | difficulty | control flow | nodes |", "| --- | --- | --- | --- |"]
        table += [
            f"| [{title_of(task)}]({task.id}.md) | {task.difficulty} | {_words(task.control_flow)} | "
            f"{len(golds[task.id].nodes)} |"
            for task in rows
        ]
        parts.append("\n".join(table))
    return "\n\n".join(parts) + "\n"


def _words(name: str) -> str:
    return name.replace("_", " ")
