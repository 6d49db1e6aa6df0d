"""Exchanges are kept exactly, answer what is asked again, and lose nothing to a kill."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flowmind.base.errors import InputError, ModelFailure
from flowmind.llm.recorded import Exchanges, Stored, Timing, end_case, exchange_file, keep_exchange
from flowmind.protocols import Brief, ChatRequest, Episode, Message, Reply
from tools_registry.specs.spec import ToolSpec


class Counting:
    """A model that says how often it was asked; it fails where it is told to."""

    name = "counting"

    def __init__(self, failing: bool = False) -> None:
        self.asked: list[ChatRequest] = []
        self.failing = failing

    async def complete(self, request: ChatRequest) -> Reply:
        self.asked.append(request)
        if self.failing:
            raise ModelFailure("the line is dead")
        return Reply(text=f"reply {len(self.asked)}", output_tokens=2)

    async def aclose(self) -> None:
        pass


def request(*texts: str, **fields: object) -> ChatRequest:
    roles = ("user", "assistant")
    messages = tuple(Message(role=roles[at % 2], content=text) for at, text in enumerate(texts))
    return ChatRequest.model_validate({"messages": messages, **fields})


def exchanges_of(path: Path, lent: Sequence[Path] = (), replay: bool = False, **options: Any) -> Exchanges:
    """The exchanges of a case, kept in its file as a run keeps them."""
    stored = Stored.read(path) if replay else exchange_file(path)
    emit = partial(keep_exchange, path)
    return Exchanges(stored, [Stored.read(other) for other in lent], replay, emit, name=str(path), **options)


def ask(exchanges: Exchanges, model: Counting, *requests: ChatRequest, subject: str = "") -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        asked = exchanges.of(model, subject)
        return [await asked.complete(one) for one in requests]

    return asyncio.run(all_of_them())


def test_a_reply_is_kept_with_its_time_and_answers_again(tmp_path: Path) -> None:
    path, model = tmp_path / "case.jsonl", Counting()
    times = iter((10.0, 12.5, 20.0, 20.25))
    first = ask(exchanges_of(path, clock=lambda: next(times)), model, request("a"), request("a", "b", "c"))
    assert [(reply.text, reply.seconds) for reply in first] == [("reply 1", 2.5), ("reply 2", 0.25)]
    again = exchanges_of(path, clock=lambda: next(times))
    assert ask(again, model, request("a", "b", "c"), request("a")) == [first[1], first[0]]
    assert len(model.asked) == 2


def test_a_line_holds_what_is_new_of_a_conversation(tmp_path: Path) -> None:
    path = tmp_path / "case.jsonl"
    ask(exchanges_of(path), Counting(), request("a"), request("a", "b", "c"), request("x", "b"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["keep"], [m["content"] for m in line["messages"]]) for line in lines] == [
        (0, ["a"]),
        (1, ["b", "c"]),
        (0, ["x", "b"]),
    ]


@pytest.mark.parametrize(
    "other",
    [
        request("a", seed=1),
        request("a", rollout=1),
        request("a", temperature=0.5),
        request("a", max_tokens=9),
        request("a", stop=("\n",)),
        request("a", reply="plan"),
        request("a "),
    ],
)
def test_another_request_is_asked_anew(other: ChatRequest, tmp_path: Path) -> None:
    model = Counting()
    replies = ask(exchanges_of(tmp_path / "case.jsonl"), model, request("a"), other)
    assert [reply.text for reply in replies] == ["reply 1", "reply 2"]


EPISODE = Episode(brief=Brief(stage="execute", task="Task:\nDouble n: 4 → ?", query="Double n.", inputs={"n": 4}))
FIXED = ChatRequest(
    messages=(Message(role="system", content="Answer."), Message(role="user", content="Task:\nDouble n: 4 → ?")),
    tools=(ToolSpec(name="double", description="Double a number.", parameters={"type": "object"}, effect="read"),),
    reply="action",
    stop=("\nObservation",),
    max_tokens=1_024,
    seed=3,
    rollout=1,
)


@pytest.mark.parametrize("asked", [FIXED, FIXED.model_copy(update={"episode": EPISODE})])
def test_the_key_of_a_request_stays_and_the_episode_is_not_written(asked: ChatRequest, tmp_path: Path) -> None:
    ask(exchanges_of(tmp_path / "case.jsonl"), Counting(), asked, subject="free")
    (line,) = map(json.loads, (tmp_path / "case.jsonl").read_text().splitlines())
    assert line["key"] == "3d3a5b27a86661bae1cff839e852c05f"
    assert line["settings"] == {
        "reply": "action", "stop": ["\nObservation"], "max_tokens": 1_024, "temperature": 0.0, "seed": 3, "rollout": 1,
    }  # fmt: skip
    assert "episode" not in asked.model_dump() and "episode" not in json.loads(asked.model_dump_json())


def test_an_episode_travels_to_another_process() -> None:
    asked = FIXED.model_copy(update={"episode": EPISODE})
    assert pickle.loads(pickle.dumps(asked)) == asked


def test_what_else_decides_the_reply_is_part_of_its_key(tmp_path: Path) -> None:
    model, path = Counting(), tmp_path / "case.jsonl"
    ask(exchanges_of(path), model, request("a"), subject="free")
    ask(exchanges_of(path), model, request("a"), subject="JSON mode")
    assert len(model.asked) == 2


def test_a_torn_line_costs_one_request(tmp_path: Path) -> None:
    model, path = Counting(), tmp_path / "case.jsonl"
    ask(exchanges_of(path), model, request("a"), request("b"))
    path.write_bytes(path.read_bytes()[:-9])
    replies = ask(exchanges_of(path), model, request("a"), request("b"))
    assert [reply.text for reply in replies] == ["reply 1", "reply 3"]
    assert [reply.text for reply in Stored.read(path).replies.values()] == ["reply 1", "reply 3"]


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "case.jsonl"
    ask(exchanges_of(path), Counting(), request("a"), request("b"))
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{second[:30]}\n{second}\n")
    with pytest.raises(InputError, match=r"case\.jsonl, line 2: "):
        exchanges_of(path)


def test_a_failure_is_written_down_and_asked_again(tmp_path: Path) -> None:
    path, model = tmp_path / "case.jsonl", Counting(failing=True)
    with pytest.raises(ModelFailure, match="the line is dead"):
        ask(exchanges_of(path), model, request("a"))
    assert list(Stored.read(path).errors.values()) == ["the line is dead"]
    model.failing = False
    assert ask(exchanges_of(path), model, request("a"))[0].text == "reply 2"
    assert (len(Stored.read(path).replies), len(model.asked)) == (1, 2)


def test_replay_asks_nobody(tmp_path: Path) -> None:
    path, model = tmp_path / "case.jsonl", Counting()
    first = ask(exchanges_of(path), model, request("a"))
    model.failing = True
    with pytest.raises(ModelFailure):
        ask(exchanges_of(path), model, request("b"))
    before = path.read_bytes()
    again = exchanges_of(path, replay=True)
    assert ask(again, model, request("a")) == first
    with pytest.raises(ModelFailure, match="the line is dead"):
        ask(again, model, request("b"))
    with pytest.raises(InputError, match="no reply to a request of this run"):
        ask(again, model, request("c"))
    assert (len(model.asked), path.read_bytes()) == (2, before)


def test_another_run_may_answer_and_is_copied(tmp_path: Path) -> None:
    model, old, new = Counting(), tmp_path / "old.jsonl", tmp_path / "new" / "case.jsonl"
    first = ask(exchanges_of(old), model, request("a"))
    replies = ask(exchanges_of(new, [old]), model, request("a"), request("b"))
    assert (replies[0], replies[1].text, len(model.asked)) == (first[0], "reply 2", 2)
    old.unlink()
    assert ask(exchanges_of(new), model, request("a"), request("b")) == replies


def test_the_end_of_a_case_is_noted_with_its_times(tmp_path: Path) -> None:
    path = tmp_path / "case.jsonl"
    assert exchange_file(path).timing is None
    end_case(path, Timing(started_at=1.5, seconds=2.0))
    end_case(path, Timing(started_at=7.5, seconds=3.0))
    assert Stored.read(path).timing == Timing(started_at=7.5, seconds=3.0)
