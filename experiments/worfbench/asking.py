"""The request for a row, and the reading and scoring of the reply."""

from __future__ import annotations

import hashlib
import re

from pydantic import Field

from experiments.worfbench.rows import Row
from flowmind.agents.prompts import conversation
from flowmind.base.files import dump_json
from flowmind.evaluation.worfeval import ZERO, Definition, Part, Similarity, StepGraph, score
from flowmind.formats.node_edge import parse, parse_as_published
from flowmind.protocols import ChatRequest, Message, Reply
from tools_registry.specs.spec import Record

_STOP = ("\nTask:",)
"""Ends a reply that continues with another task."""
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_EDGES = re.compile(r"^\W*edges?\W*?:", re.IGNORECASE | re.MULTILINE)
_PAIR = re.compile(r"\([^(),\n]*,[^(),\n]*\)")


class Asking(Record):
    """The settings of the requests."""

    gold_chain: bool = False
    """Whether the request contains the gold steps and asks only for the edges (the paper's appendix A.4)."""
    reply_tokens: int = Field(default=1024, ge=16)
    temperature: float = Field(default=0.0, ge=0.0)
    seed: int | None = 0

    @property
    def prompt(self) -> str:
        """The conversation file."""
        return "worfbench_gold_chain" if self.gold_chain else "worfbench"

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the prompt; another prompt makes another run."""
        parts = [message.model_dump() for message in conversation(self.prompt)]
        return hashlib.sha256(dump_json(parts).encode()).hexdigest()[:16]

    def request(self, row: Row) -> ChatRequest:
        """The conversation that ends with the row's task."""
        return ChatRequest(
            messages=(*conversation(self.prompt), Message(role="user", content=self._question(row))),
            stop=_STOP,
            max_tokens=self.reply_tokens,
            temperature=self.temperature,
            seed=self.seed,
        )

    def _question(self, row: Row) -> str:
        task = f"Task:\n{row.text}\n\n"
        if not self.gold_chain:
            return f"{task}Write the workflow: Node, then Edge."
        steps = row.gold.nodes[1:-1]
        listed = "\n".join(f"{number}: {' '.join(step.split())}" for number, step in enumerate(steps, 1))
        return f"{task}Node:\n{listed}\n\nWrite the edges of these {len(steps)} steps."


class Judged(Record):
    """A reply that was read and scored."""

    predicted: StepGraph | None
    malformed: str | None = None
    """The reason why the reply cannot be read; it scores zero."""
    chain: Part = ZERO
    graph: Part = ZERO


def judge(reply: Reply, row: Row, asking: Asking, definition: Definition, similar: Similarity) -> Judged:
    """Reads a reply and scores it."""
    try:
        predicted = _predicted(reply, row, asking, definition)
    except ValueError as error:
        return Judged(predicted=None, malformed=str(error))
    scores = score(predicted, row.gold, similar(predicted.nodes, row.gold.nodes), definition)
    return Judged(predicted=predicted, chain=scores.chain or ZERO, graph=scores.graph or ZERO)


def _predicted(reply: Reply, row: Row, asking: Asking, definition: Definition) -> StepGraph:
    """The graph of a reply.

    Raises:
        ValueError: If it cannot be read, with the reason.
    """
    if reply.finish == "context":
        raise ValueError("the request is longer than the model's context")
    text = _THOUGHT.sub("", reply.text)
    read = parse if definition == "paper" else parse_as_published
    if not asking.gold_chain:
        graph = read(text)
        return StepGraph(nodes=graph.nodes, edges=graph.edges)
    heading = _EDGES.search(text)
    edges = " ".join(_PAIR.findall(text, heading.end() if heading else 0))
    numbered = "\n".join(f"{number}: step" for number in range(1, len(row.gold.nodes) - 1))
    return StepGraph(nodes=row.gold.nodes, edges=read(f"Node:\n{numbered}\nEdge: {edges}").edges)
