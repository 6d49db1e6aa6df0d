"""The CNCF Serverless Workflow DSL, version 1.0: https://github.com/serverlessworkflow/specification

Each node is one task. The variables are the workflow's context: a task that sets one exports it, expressions read
`$context.name` (and `$name` for the element of a map). Edges are flow directives (`then`), those of loops too. Forked
paths stand one after the other, in the order that defines a run, and not in a `fork`, whose branches would race. Tools
are functions that the runtime must know by their names, and so is `llm`.

The metadata of the document and of each task keep the original. They are believed as far as the document still says
what they do: a task that was changed is read anew.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.base.files import bracket_depth, dump_json, parse_json, validate
from flowmind.formats.fidelity import Export, Fidelity
from flowmind.formats.serverless_reading import TaskReader
from flowmind.formats.serverless_tasks import MARK, TaskWriter, same
from flowmind.workflow.document import Workflow
from tools_registry.specs.spec import ToolSpec
from tools_registry.specs.values import MAX_DEPTH, CaseError, clean

_MAX_PARTS = 200_000


def to_serverless(workflow: Workflow, specs: Mapping[str, ToolSpec]) -> Export:
    """A workflow as a document of the DSL, in JSON (which is YAML, too). Reading it back gives an equal one.

    Raises:
        InputError: If two nodes have one id, or an edge leads to or from a node that does not exist.
    """
    if twice := [name for name, count in Counter(node.id for node in workflow.nodes).items() if count > 1]:
        raise InputError(f"node {twice[0]}: two nodes have this id; a task has a name of its own")
    for edge in workflow.edges:
        if lost := {edge.source, edge.target} - workflow.by_id.keys():
            raise InputError(f"edge {edge.label}: there is no node {min(lost)!r}")
    writer = TaskWriter(workflow)
    text = dump_json(writer.document(), indent=2) + "\n"
    odd = {note.part for note in (*writer.near, *writer.lost)}
    parts = ("name", "description", "inputs", *workflow.by_id, *(edge.label for edge in workflow.edges))
    kept = tuple(part for part in parts if part not in odd)
    return Export(text, Fidelity(kept=kept, approximated=tuple(writer.near), lost=tuple(writer.lost)))


def from_serverless(text: str) -> Workflow:
    """A workflow out of a document of the DSL, in JSON or (where PyYAML is installed) in YAML.

    A document that `to_serverless` wrote gives the workflow that it was written from. In any other one, and in tasks
    that were changed, these are read: `set` and `call` whose values the context keeps by `export.as`
    (`${ $context + . }`, `${ $context + { name: . } }`), `switch` with `when` and a default, `then`, a last `set` with
    `output.as`; in them expressions over `$context.name`, comparisons, `and`, `or`, `not`, `+ - *` and `length`.

    Raises:
        InputError: With the line or the place (`do/3/mean/with`), what is not understood there, and why.
    """
    document = _load(text)
    own = _original(document)
    if own is not None and same(_document(own), document):
        return own
    return TaskReader(document).workflow()


def _load(text: str) -> dict[str, Any]:
    try:
        found = parse_json(text)
    except ValueError as error:
        if text.lstrip().startswith("{"):
            line = getattr(error, "lineno", 1)
            raise InputError(f"line {line}: not JSON: {getattr(error, 'msg', error)}") from None
        found = _load_yaml(text)
    try:
        found = clean(found)
    except CaseError as error:
        raise InputError(f"line 1: not data that JSON can hold: {error.message}") from None
    if not isinstance(found, dict) or "document" not in found or "do" not in found:
        raise InputError("line 1: no document of the DSL; it is an object with 'document' and 'do'")
    return cast(dict[str, Any], found)


def _load_yaml(text: str) -> Any:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        message = "not JSON, and PyYAML, which reads YAML, is not installed; install it or write JSON"
        raise InputError(f"line 1: {message}") from None
    try:
        if bracket_depth(text) > MAX_DEPTH:
            raise RecursionError
        found = yaml.safe_load(text)
    except RecursionError:
        raise InputError("line 1: not YAML: nested too deeply") from None
    except ValueError as error:  # a date or a number that there is not
        raise InputError(f"line 1: not YAML: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise InputError(f"line {mark.line + 1 if mark else 1}: not YAML: {getattr(error, 'problem', error)}") from None
    if _parts(found) > _MAX_PARTS:  # aliases can stand for more than any memory holds
        raise InputError(f"line 1: the document has more than {_MAX_PARTS} parts with its aliases written out")
    return found


def _parts(value: Any) -> int:
    """How many values there are in a value, each time that it holds them; a count beyond the limit is not ended."""
    count, todo = 0, [value]
    while todo and count <= _MAX_PARTS:
        part = todo.pop()
        count += 1
        if isinstance(part, dict):
            todo += cast(dict[Any, Any], part).values()
        elif isinstance(part, list):
            todo += cast(list[Any], part)
    return count


def _document(workflow: Workflow) -> dict[str, Any] | None:
    """What is written for a workflow; None for one that is refused."""
    try:
        return parse_json(to_serverless(workflow, {}).text)
    except InputError:
        return None


def _original(document: dict[str, Any]) -> Workflow | None:
    """The workflow that the metadata tell of, if they do."""
    try:
        head = document["document"]["metadata"][MARK]
        dumped = [task["metadata"][MARK] for item in document["do"] for task in item.values()]
        by_id = {node["id"]: node for node in dumped}
        inputs = document["input"]["schema"]["document"]
        fields = {key: value for key, value in head.items() if key != "order"}
        nodes = [by_id[name] for name in head.get("order", by_id)]
        return validate(Workflow, {**fields, "inputs": inputs, "nodes": nodes})
    except (KeyError, TypeError, AttributeError, ValueError):
        return None
