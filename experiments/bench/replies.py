"""Reading a clean reply: strict JSON first, against repairing every reply."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from experiments.bench.measuring import Bench, Contender, loop
from experiments.bench.server import REPLY
from flowmind.agents.replies import read_action

OURS, STRICT, REPAIR = "FlowMind, read_action", "json.loads", "json_repair, always"


def _repair(text: str) -> Any:
    import json_repair

    return json_repair.loads(text, skip_json_loads=True)


def benches() -> tuple[Bench, ...]:
    """One benchmark, without a goal."""
    contenders = (
        Contender(STRICT, partial(loop, partial(json.loads, REPLY), lambda value: value["action"] == "double")),
        Contender(OURS, partial(loop, partial(read_action, REPLY), lambda found: found[1] == "clean")),
        Contender(REPAIR, partial(loop, partial(_repair, REPLY), lambda value: value["action"] == "double")),
    )
    return (Bench("replies", "Reading a clean reply", "µs", "a reply", contenders),)
