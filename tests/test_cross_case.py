"""What a tool leaves behind is not seen by a later case: neither of another tool set, nor of its own."""

import json
import os
from pathlib import Path

import cross_cases
import pytest
from cross_cases import LATER, MODES, Calls

CORPUS = Path(os.environ.get("FLOWMIND_FIXTURES") or Path(__file__).parents[2] / "shared" / "fixtures") / "sandbox"
BARE = frozenset({"language"})
LEAVES = {
    "module": "import math\nmath.sqrt = lambda n: 'PWNED'",
    "class": "import collections\ncollections.Counter.most_common = lambda *args: 'PWNED'",
    "worker": "import tools_registry.sandbox.worker as worker\nworker._call = lambda *args: ['PWNED', None]",
}


def first(lines: str) -> str:
    return "def tool(n):\n    " + lines.replace("\n", "\n    ") + "\n    return n\n"


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_compositions_change_no_later_case(mode: cross_cases.Mode) -> None:
    plants = list(cross_cases.plants(20, seed=7))
    reasons = {plant.name: cross_cases.wrong(cross_cases.calls_of(plant, mode), mode) for plant in plants}
    assert {name: why for name, why in reasons.items() if why} == {}


def test_compositions_keep_statements_under_the_language_layer() -> None:
    plants = list(cross_cases.plants(40, seed=7))
    assert plants == list(cross_cases.plants(40, seed=7))
    kept = [plant.guarded.count("    try:\n") for plant in plants]
    assert sum(kept) > 40
    assert sum(plant.bare.count("    try:\n") for plant in plants) > sum(kept)


@pytest.mark.parametrize("name", LEAVES)
def test_the_check_sees_what_stays_in_a_shared_process(name: str) -> None:
    """In one set and one process without the language layer, state stays: the check is able to fail."""
    calls = Calls(first(LEAVES[name]), {"n": 3}, LATER, {"n": 3})
    batch, case = (BARE, "batch"), (BARE, "case")
    assert cross_cases.in_the_same_set(calls, batch)[1] != cross_cases.alone(calls, batch)
    assert cross_cases.wrong(calls, batch) == cross_cases.wrong(calls, case) == ""


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no fixtures: neither FLOWMIND_FIXTURES nor ../shared/fixtures")
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_attacks_of_the_corpus_change_no_later_case(mode: cross_cases.Mode) -> None:
    rows = [json.loads(line) for line in (CORPUS / "attacks.2.jsonl").read_text(encoding="utf-8").splitlines()]
    args = {"canary": "/nothing"}
    reasons = {
        row["id"]: cross_cases.wrong(
            Calls(row["source"], args, row["source2"], args)
            if "source2" in row
            else Calls(row["source"], args, LATER, {"n": 3}),
            mode,
        )
        for row in rows
    }
    assert len(reasons) > 20
    assert {name: why for name, why in reasons.items() if why} == {}
