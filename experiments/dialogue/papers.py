"""The values of FlowBench and FlowAgent, as tables of their own: other data, users and judges than ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from experiments.tables import Table, shown
from flowmind.base.files import parse_json, read_text

_SAYS = {
    "flowbench": "The values of FlowBench. Success and progress are judged there by a model, users are played by one, "
    "and calls are compared otherwise: they stand beside ours for orientation.",
    "flowagent": "The values of FlowAgent. Success and progress are judged there by a model, and users are played by "
    "one: they stand beside ours for orientation.",
}


@cache
def values(paper: str) -> dict[str, Any]:
    """The tables of a paper by their keys (`reference/flowbench.json`, `reference/flowagent.json`)."""
    return parse_json(read_text(Path(__file__).parents[1] / "reference" / f"{paper}.json"))


def paper_table(key: str) -> Table | None:
    """The paper's values for one of our tables; None if it has none."""
    maker = _MAKERS.get(key)
    if maker is None:
        return None
    paper, of, title, head, rows = maker()
    return Table(f"{key}_paper", f"{title} ({of})", tuple(head), tuple(rows), _SAYS[paper])


_Made = tuple[str, str, str, Sequence[str], list[tuple[str, ...]]]
_SCOPES = ("single", "cross")


def _flat(row: Mapping[str, Any], groups: Sequence[str], names: Sequence[str]) -> list[str]:
    return [shown(row.get(group, {}).get(name)) for group in groups for name in names]


def _head(first: Sequence[str], groups: Sequence[str], names: Sequence[str]) -> list[str]:
    return [*first, *(f"{group} {name}" for group in groups for name in names)]


def _flowbench(key: str, of: str, first: Sequence[str], names: Mapping[str, str]) -> _Made:
    rows = [
        (*(str(row[name]) for name in first), *_flat(row, _SCOPES, list(names))) for row in values("flowbench")[key]
    ]
    return "flowbench", of, "Paper", _head(first, _SCOPES, list(names.values())), rows


def _domains() -> _Made:
    names = ("roles", "scenarios", "sessions", "turns")
    rows = [(row["domain"], *(str(row[name]) for name in names)) for row in values("flowbench")["table2_domains"]]
    return "flowbench", "FlowBench, table 2", "Paper", ("domain", *names), rows


def _failures() -> _Made:
    table = values("flowbench")["table7_failure_reasons_gpt4_turbo_pct"]
    rows = [
        (scope, format, *(f"{value:.1f}" for value in shares))
        for scope in _SCOPES
        for format, shares in table[scope].items()
    ]
    head = ("scope", "format", *(f"{name} %" for name in table["types"]))
    return "flowbench", "FlowBench, table 7, GPT-4-Turbo", "Paper", head, rows


def _nodes() -> _Made:
    table = values("flowbench")["table9_node_accuracy_turn_level"]
    rows = [(model, *(f"{table[scope][model]:.1f}" for scope in _SCOPES)) for model in table["single"]]
    return "flowbench", "FlowBench, table 9", "Paper", ("model", *(f"{scope} node %" for scope in _SCOPES)), rows


_DATASETS = ("in_house", "star", "sgd")


def _flowagent(key: str, of: str) -> _Made:
    rows = [
        (row.get("model", ""), row["method"], *_flat(row, _DATASETS, ("success", "progress", "tool_f1")))
        for row in values("flowagent")[key]
    ]
    head = _head(("model", "method"), _DATASETS, ("success %", "progress %", "tool F1"))
    return "flowagent", of, "Paper", head, rows


def _datasets() -> _Made:
    names = ("workflows", "sessions", "turns", "profiles", "intentions", "oow")
    rows = [
        (level.replace("_", " "), data, *(shown(row.get(name)) for name in names))
        for level, table in values("flowagent")["table1_datasets"].items()
        for data, row in table.items()
    ]
    return "flowagent", "FlowAgent, table 1", "Paper", ("level", "data", *names), rows


def _turns() -> _Made:
    table = values("flowagent")["table6_turn_level_qwen2_72b"]
    rows = [
        (form.replace("_", " "), row["method"], *_flat(row, _DATASETS, ("pass_rate", "tool_f1", "param_f1")))
        for form in ("in_workflow", "out_of_workflow")
        for row in table[form]
    ]
    head = _head(("form", "method"), _DATASETS, ("pass %", "tool F1", "parameter F1"))
    return "flowagent", "FlowAgent, table 6, Qwen2-72B", "Paper", head, rows


_PRF = {"tool_p": "tool P", "tool_r": "tool R", "tool_f1": "tool F1"}
_SUCCESS = {"success": "success %", "progress": "progress %"}
_MAKERS = {
    "flowbench_table2": _domains,
    "flowbench_table3": lambda: _flowbench(
        "table3_turn_level", "FlowBench, table 3", ("model", "format"),
        {**_PRF, "param_f1": "parameter F1", "response": "response"},
    ),
    "flowbench_table4": lambda: _flowbench(
        "table4_session_level", "FlowBench, table 4", ("model", "format"), {**_PRF, **_SUCCESS}
    ),
    "flowbench_table5": lambda: _flowbench(
        "table5_session_gpt4_turbo", "FlowBench, table 5, GPT-4-Turbo", ("format",), {"tool_f1": "tool F1", **_SUCCESS}
    ),
    "flowbench_table7": _failures,
    "flowbench_table9": _nodes,
    "flowagent_table1": _datasets,
    "flowagent_table3": lambda: _flowagent("table3_session_in_workflow", "FlowAgent, table 3"),
    "flowagent_table4": lambda: _flowagent("table4_session_out_of_workflow", "FlowAgent, table 4"),
    "flowagent_table5": lambda: _flowagent("table5_ablation", "FlowAgent, table 5"),
    "flowagent_table6": _turns,
}  # fmt: skip
