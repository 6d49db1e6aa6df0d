"""What the readers of recordings share: entries with their places, typed fields, and the step to `Imported`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from flowmind.base.errors import InputError
from flowmind.formats.conversation import Conversation, fields_of
from flowmind.formats.tool_schema import specs_of_openai_tools
from flowmind.formats.traces.imported import Imported, Unreadable
from flowmind.trace.events import Said, Source, Trace
from tools_registry.specs.schema import type_name
from tools_registry.specs.spec import ToolSpec
from tools_registry.specs.values import CaseError

Row = dict[str, Any]


class Lines(list[Any]):
    """The values of a JSON Lines file.

    Args:
        rows: The numbers of the lines, from 1, with their values.
        cut: The problem of a last line without a line feed that cannot be read; empty if there is none.
    """

    def __init__(self, rows: Sequence[tuple[int, Any]], cut: str = "") -> None:
        super().__init__(value for _, value in rows)
        self.numbers = [number for number, _ in rows]
        self.cut = cut


@contextmanager
def at(place: str) -> Generator[None]:
    """Within the block, errors of a recording name the place."""
    try:
        yield
    except (ValueError, InputError, CaseError) as error:
        message = error.message if isinstance(error, CaseError) else str(error)
        raise Unreadable(f"{place}: {message}" if place else message) from None


def entries(document: Any, is_message: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """The entries of a document with their places: each line or element, or the document if it is one conversation.

    Args:
        document: The document.
        is_message: Whether a value is a message, so that a list of them is one conversation.
    """
    listed = cast(list[Any], document) if isinstance(document, list) else None
    if listed is None or any(map(is_message, listed)):
        yield "", document
    elif isinstance(document, Lines):
        yield from ((f"line {number}", value) for number, value in zip(document.numbers, document, strict=True))
    else:
        yield from ((f"entry {number}", value) for number, value in enumerate(listed, 1))


def has_messages(document: Any, is_message: Callable[[Any], bool]) -> bool:
    """Whether an entry of a document is a list of messages, or has such a list as `messages`."""
    for _, entry in entries(document, is_message):
        messages = fields_of(entry).get("messages", entry)
        if isinstance(messages, list) and any(map(is_message, cast(list[Any], messages))):
            return True
    return False


def messages_in(entry: Any) -> list[Any]:
    """The messages of an entry: a list, or an object with `messages`.

    Raises:
        ValueError: If it has none.
    """
    if isinstance(entry, list):
        return cast(list[Any], entry)
    if not (messages := listed(record(entry, "it"), "messages")):
        raise ValueError("it has no messages")
    return messages


def rows_of(document: Any) -> list[tuple[str, Any]]:
    """The rows of a document whose rows belong together, with their places."""
    rows = cast(list[Any], document) if isinstance(document, list) else [document]
    numbers = rows.numbers if isinstance(rows, Lines) else range(1, len(rows) + 1)
    return [(f"line {number}", row) for number, row in zip(numbers, rows, strict=True)]


def record(value: Any, what: str) -> Row:
    """An object.

    Raises:
        ValueError: If the value is none.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {type_name(value)}, not an object")
    return cast(Row, value)


def listed(row: Mapping[str, Any], key: str) -> list[Any]:
    """The list in a field; empty if there is no field, or null.

    Raises:
        ValueError: If the field has something else.
    """
    value = row.get(key)
    if value is not None and not isinstance(value, list):
        raise ValueError(f"its field {key!r} is {type_name(value)}, not a list")
    return cast(list[Any], value or [])


def text(row: Mapping[str, Any], key: str) -> str:
    """The text in a field.

    Raises:
        ValueError: If the field is missing, or has something else.
    """
    value = row.get(key)
    if not isinstance(value, str):
        problem = "missing" if value is None else f"{type_name(value)}, not a text"
        raise ValueError(f"its field {key!r} is {problem}")
    return value


def label(row: Mapping[str, Any], *keys: str) -> str:
    """The first of several fields that has a text or a number, as text; empty if there is none. Never an error."""
    values = (row.get(key) for key in keys)
    return next((str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)), "")


def inputs_of(row: Mapping[str, Any]) -> Row | None:
    """The stated inputs of an entry; None if there are none.

    Raises:
        ValueError: If they are not an object.
    """
    inputs = row.get("inputs")
    return None if inputs is None else record(inputs, "its inputs")


def specs_of(tools: Any, lost: list[str]) -> dict[str, ToolSpec]:
    """The specs of the definitions in a recording. Definitions that cannot be read are told in `lost`."""
    specs: dict[str, ToolSpec] = {}
    for tool in cast(list[Any], tools) if isinstance(tools, list) else []:
        try:
            specs |= specs_of_openai_tools([record(tool, "it")])
        except (InputError, ValueError):
            name = label(fields_of(tool), "name", "type")
            lost.append(f"the definition of the tool {name!r}" if name else "a definition of a tool")
    return specs


def finished(
    conversation: Conversation,
    source: Source,
    inputs: Row | None = None,
    answer: Any = ...,
    *,
    specs: Mapping[str, ToolSpec] | None = None,
    lost: Sequence[str] = (),
    success: bool | None = None,
) -> Imported:
    """The trace of a conversation that has been read, with its recording.

    Args:
        conversation: The conversation.
        source: The recording; the first text of the user is added.
        inputs: The stated inputs; None if there are none.
        answer: The stated answer; `...` if there is none.
        specs: The tools that the recording describes.
        lost: What the trace has not, beside what the conversation lost.
        success: The mark of success.

    Raises:
        ValueError: If the recording has the calls and not their results.
    """
    trace = conversation.trace(inputs, answer, source)
    errors = [call.observation.error for call in trace.calls]
    unanswered = bool(errors) and all(error is not None and error.type == "no_result" for error in errors)
    if unanswered and any(call.turn != conversation.turn for call in trace.calls):
        raise ValueError("its calls have no results; record what the tools gave back, too")
    trace = trace.model_copy(update={"success": success, "source": with_request(trace, source)})
    return Imported(trace, specs or {}, (*conversation.lost_lines(), *lost), inputs is not None)


def with_request(trace: Trace, source: Source) -> Source:
    """The recording with the first text of the user as its request."""
    said = (event.text for event in trace.events if isinstance(event, Said) and event.role == "user")
    return source.model_copy(update={"request": next(said, "")})
