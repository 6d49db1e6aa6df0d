"""The drawing in the terminal holds the graph's nodes and edges, each once, and nothing else."""

from __future__ import annotations

import re
from random import Random

import pytest
from reference_interpreter import call, compute, condition, end, sketch
from test_random_workflows import Maker

from flowmind.base.errors import InputError
from flowmind.formats.terminal import to_terminal
from flowmind.workflow.document import Workflow

SYMBOLS = "●◆↻✎■"
UP, DOWN = "╰┴│┼", "╭┬│┼"


def read(drawing: str) -> tuple[list[str], set[frozenset[str]]]:
    """The nodes of a drawing from top to bottom, and the pairs that its lines connect, read off the characters."""
    lines = drawing.rstrip("\n").split("\n")
    place = next(index for index, character in enumerate(lines[0]) if character in SYMBOLS)
    lines = [line.ljust(place + 1) for line in lines]
    names = [line[place + 2 :].partition(":")[0] for line in lines[::2]]
    pairs = {frozenset(names[row // 2 : row // 2 + 2]) for row in range(1, len(lines), 2) if lines[row][place] == "│"}
    for row in range(0, len(lines), 2):
        for column in range(place - 1):
            if lines[row][column] in "╭┬":
                below = row + 1
                while lines[below][column] in "│┼":
                    below += 1
                assert lines[below][column] in "╰┴", drawing
                pairs.add(frozenset((names[row // 2], names[below // 2])))
    return names, pairs


def test_random_workflows_can_be_read_off_their_drawings() -> None:
    for seed in range(120):
        workflow = Workflow.model_validate(Maker(Random(seed), True).document())
        names, pairs = read(to_terminal(workflow, 400))
        assert sorted(names) == sorted(workflow.by_id), seed
        assert pairs == {frozenset((edge.source, edge.target)) for edge in workflow.edges}, seed


def test_arms_and_bounds_are_said_in_words_at_the_node_that_they_leave() -> None:
    document = sketch(
        [compute("i", "0"), condition("more", "i < n"), call("j", "add", "i", a="i", b=1), end("i")],
        "start i more.true j more:7", "more.false end", n="integer",
    )  # fmt: skip
    assert to_terminal(Workflow.model_validate(document)) == (
        "     ● start: inputs n\n"
        "     │\n"
        "     ■ i: i = 0\n"
        "     │\n"
        "╭─┬▶ ◆ more: if i < n  true → j  false → end\n"
        "│ │  │\n"
        "│ ╰─ ■ j: i = add(a=i, b=1)  → more (at most 7 rounds)\n"
        "│\n"
        "╰──▶ ● end: end with i\n"
    )


def test_a_long_line_is_cut_to_the_width_and_no_further_than_a_node_needs() -> None:
    document = sketch([compute("a", " + ".join(["n"] * 60)), end("a")], "start a end", n="integer")
    lines = to_terminal(Workflow.model_validate(document), 50).split("\n")
    assert max(map(len, lines)) == 50
    assert lines[2].endswith("…")
    assert len(to_terminal(Workflow.model_validate(document), 3).split("\n")[2]) == 25


def test_a_node_that_nothing_leads_to_is_drawn_below_the_rest() -> None:
    document = sketch([compute("a", "1"), compute("lost", "2"), end("a")], "start a end")
    assert read(to_terminal(Workflow.model_validate(document)))[0] == ["start", "a", "end", "lost"]


def test_an_edge_to_a_node_that_is_not_there_is_refused() -> None:
    document = sketch([end({"value": 1})], "start end", "start gone")
    with pytest.raises(InputError, match=re.escape("edge start -> gone: there is no node 'gone'")):
        to_terminal(Workflow.model_validate(document))
