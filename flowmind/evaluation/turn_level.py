"""Scores of single turns: what an agent does after the gold beginning of a session, against the gold turn.

Sources: FlowBench (appendix B.3) and FlowAgent (section 5.1, table 6). Parameters are counted over all turns and with
their names. A pass is yes or no.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from flowmind.evaluation.dialogue import Counts, call_key, match_calls, match_sets
from flowmind.trace.scenario import Reference
from flowmind.trace.telling import tells
from tools_registry.specs.spec import Record, ToolCall, ToolSpec


class TurnReply(Record):
    """What an agent did in a turn; neither a call nor a text if its reply could not be read."""

    call: ToolCall | None = None
    text: str = ""
    asks: tuple[str, ...] = ()
    """The slots that the text asks for, as a simulated user understands it; `confirmed` is a request for consent."""
    node: str = ""
    """The node of the procedure that the agent says it is at, if it says so."""


class TurnScore(Record):
    """The scores of a turn."""

    passed: bool
    """Gold call: the call is equal. Gold text: a text that tells its facts and asks for its slots."""
    calls: Counts
    names: Counts
    parameters: Counts
    """Triples of turn, parameter and value."""
    node: bool | None = None
    """Whether the node that the agent names is the one that is due; None if it names none."""


def score_turn(reply: TurnReply, gold: Reference, specs: Mapping[str, ToolSpec], with_nodes: bool = False) -> TurnScore:
    """Scores a turn.

    Args:
        reply: The agent's turn.
        gold: The reference.
        specs: The tools, without the parameter `db`.
        with_nodes: Whether the agent is asked for the node: a turn without one is then wrong.
    """
    given = [reply.call] if reply.call else []
    wanted = [gold.call] if gold.call else []
    counts = match_calls(given, wanted, specs)
    return TurnScore(
        passed=counts.matched == 1 if gold.call else _answers(reply, gold),
        calls=counts,
        names=match_sets({call.tool for call in given}, {call.tool for call in wanted}),
        parameters=match_sets(_parameters(given, specs), _parameters(wanted, specs)),
        node=reply.node == gold.node if gold.node and (with_nodes or reply.node) else None,
    )


def _answers(reply: TurnReply, gold: Reference) -> bool:
    return (
        reply.call is None
        and bool(reply.text.strip())
        and all(tells(reply.text, value) for value in gold.tells.values())
        and {*gold.asks} <= {*reply.asks}
    )


def _parameters(calls: Collection[ToolCall], specs: Mapping[str, ToolSpec]) -> set[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for call in calls:
        _, args = json.loads(call_key(call, specs.get(call.tool)))
        pairs |= {(name, json.dumps(value, sort_keys=True)) for name, value in args.items()}
    return pairs
