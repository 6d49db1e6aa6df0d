"""Rows in the form that FlowBench publishes, read as references; the rows here are our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flowmind.base.errors import InputError
from flowmind.formats.flowbench_rows import read_flowbench_rows
from flowmind.trace.events import Called, Said

API: dict[str, Any] = {
    "name": "find_boat",
    "description": "Find a boat.",
    "parameters": {"type": "object", "properties": {}},
}


def row(number: int, **gold: Any) -> dict[str, Any]:
    thought = 'Thought: it is known.\nAction: find_boat\nAction Input: {"pier": "north"}'
    messages = [
        {"role": "system", "content": "You rent boats. First look for one, then tell the price."},
        {"role": "user", "content": "Hello, I want a boat at the north pier."},
        {"role": "assistant", "content": thought},
        {"role": "function", "content": '{"boat": "Heron", "price": 30}'},
        {"role": "assistant", "content": "Thought: tell it.\nResponse: The Heron costs 30."},
        {"role": "user", "content": "Good."},
    ]
    return {"id": f"boats_1_agent_turn{number}", "messages": messages[: 2 * number], "apis": [API], **gold}


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "turns.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in rows))
    return path


def test_a_row_is_the_session_before_a_gold_turn(tmp_path: Path) -> None:
    call = {"gt_thought": {"Action": "find_boat", "Action Input": '{"pier": "north"}'}, "gt_response": ""}
    path = written(tmp_path, row(1, **call), row(3, gt_thought={}, gt_response="Shall I book it?"))
    read = read_flowbench_rows(path)
    first, second = read.references
    assert first.call is not None and first.call.args == {"pier": "north"}
    assert [type(event) for event in second.events] == [Said, Called, Said, Said]
    assert second.events[2] == Said(role="agent", text="The Heron costs 30.")
    assert second.text == "Shall I book it?" and second.call is None
    assert list(read.data.sessions) == ["boats_1"] and list(read.data.specs) == ["find_boat"]
    (scenario,) = read.data.scenarios.values()
    assert scenario.background.startswith("You rent boats.")


def test_a_damaged_row_is_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, row(1, gt_response="Yes."), {"id": "x"})
    with pytest.raises(InputError, match=r"turns\.jsonl, line 2: not a row of FlowBench's turn level: 'messages'"):
        read_flowbench_rows(path)
