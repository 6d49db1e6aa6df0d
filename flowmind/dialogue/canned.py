"""Canned answers: texts that are rendered from a template when an end is reached, not written by a model.

A template names facts in braces: `Your booking reference is {reference}.`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json
from flowmind.dialogue.procedures.due import due, episode
from flowmind.dialogue.procedures.procedure import Procedure, answer_name
from flowmind.trace.events import Trace
from flowmind.workflow.document import End, Literal_, ObjectOf


class Canned:
    """Renders the texts of answers.

    An answer whose facts are not known in the session so far keeps the agent's text; controllers have judged it.

    Args:
        procedures: The procedures that have the answers. Each must have a workflow.
        templates: For each answer with a template: the text, with facts in braces.

    Raises:
        InputError: If no procedure has an answer, or an answer has no such fact.
    """

    def __init__(self, procedures: Sequence[Procedure], templates: Mapping[str, str]) -> None:
        self._procedures = [procedure for procedure in procedures if procedure.walkable]
        self._templates = dict(templates)
        known = {name: facts for procedure in self._procedures for name, facts in _facts(procedure).items()}
        for answer, template in templates.items():
            if answer not in known:
                names = ", ".join(known) or "none: the procedure has no workflow"
                raise InputError(f"answers: there is no answer {answer!r}; the answers are {names}")
            for fact in _fields(answer, template):
                if fact not in known[answer]:
                    names = ", ".join(known[answer]) or "none"
                    raise InputError(f"answers.{answer}: the answer has no fact {fact!r}; its facts are {names}")

    def __call__(self, answer: str, text: str, trace: Trace) -> str:
        """The text to say for an answer.

        Args:
            answer: The answer that the agent gives.
            text: The agent's text.
            trace: The session so far.
        """
        template = self._templates.get(answer)
        if template is None:
            return text
        for procedure in self._procedures:
            for step in due(procedure, {}, episode(procedure, trace.events), infer=True):
                if step.kind == "answer" and step.answer == answer:
                    shown = {name: _shown(value) for name, value in step.facts.items()}
                    return template.format(**shown) if _fields(answer, template) <= shown.keys() else text
        return text


def _facts(procedure: Procedure) -> dict[str, tuple[str, ...]]:
    """The facts of each answer."""
    facts: dict[str, tuple[str, ...]] = {}
    for node in procedure.workflow.nodes if procedure.workflow is not None else ():
        if isinstance(node, End):
            fields = node.output.object if isinstance(node.output, ObjectOf) else {"answer": node.output}
            facts[answer_name(node)] = tuple(key for key, part in fields.items() if not isinstance(part, Literal_))
    return facts


def _fields(answer: str, template: str) -> set[str]:
    """The facts that a template names.

    Raises:
        InputError: If it is no template.
    """
    try:
        parts = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
    except ValueError as error:
        raise InputError(f"answers.{answer}: {error}; write {{fact}}, and {{{{ for a brace") from None
    if wrong := [field for field in parts if not field.isidentifier()]:
        raise InputError(f"answers.{answer}: {{{wrong[0]}}} is not the name of a fact")
    return set(parts)


def _shown(value: Any) -> str:
    """A value in a sentence: a text as it is, a list of texts with commas."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):  # pyright: ignore[reportUnknownVariableType]
        return ", ".join(value)  # pyright: ignore[reportUnknownArgumentType]
    return value if isinstance(value, str) else dump_json(value)
