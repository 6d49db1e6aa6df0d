"""Nodes as one line of text that can be read back: the labels of a flowchart.

    inputs: numbers, limit
    evens = filter_even(items=numbers)
    half = n / 2
    len(evens) > 0
    ys = for x in xs if x > 2: y = double(n=x); z = y + 1 collect [y, z]
    said = llm("Is {n} much?", n=n)
    end: {total: total}

A label is not complete: an expression may look like a binding, and a long constant is cut. So the node that is read
from a label may differ from the node that was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flowmind.formats.notation import Misread, Reader, outside_quotes, read_binding, shortened, write_binding
from flowmind.workflow import expressions
from flowmind.workflow.document import (
    Assign,
    Binding,
    BodyStep,
    Condition,
    End,
    Literal_,
    LLMNode,
    Map,
    Node,
    Start,
    ToolNode,
    show_binding,
)

MAX_LABEL = 1_000
"""Characters of a label; longer ones are cut."""
_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_SET = re.compile(rf"({_NAME})\s*=(?!=)\s*(.+)", re.DOTALL)
_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)\(")
_NAMED = re.compile(rf"\s*{_NAME}\s*=(?!=)")
_EACH = re.compile(rf"for\s+({_NAME})\s+in\s+")
_START = re.compile(
    rf"(?:start|begin)\b[\s:]*(?:(?:with\s+)?inputs?\b[\s:]*)?(?P<names>(?:{_NAME}(?:\s*,\s*{_NAME})*)?)"
    rf"|inputs?\b[\s:]*(?P<others>(?:{_NAME}(?:\s*,\s*{_NAME})*)?)|(?:start\b[\s:]*)?no inputs?",
    re.IGNORECASE,
)
_END = re.compile(
    r"(?:(?:end|return)(?:\s+with\b)?|answer|output|result)(?:\s*:\s*|\s+)(.+)", re.IGNORECASE | re.DOTALL
)
_BARE_END = re.compile(r"(?:end|stop|done|finish|finished|return|exit|answer|output|result)\W*", re.IGNORECASE)
_OPENING = {"(": ")", "[": "]", "{": "}"}


def write_label(node: Node, inputs: Iterable[str] = ()) -> str:
    """Writes a node as a label; a start lists `inputs`."""
    match node:
        case Start():
            names = ", ".join(inputs)
            text = f"inputs: {names}" if names else "no inputs"
        case Condition(expr=expr):
            text = expr
        case End(output=output):
            text = f"end: {_shown(output)}"
        case _:
            text = _step(node)
    return shortened(text, MAX_LABEL)


def _step(node: ToolNode | Assign | Map | LLMNode) -> str:
    return f"{node.output} = {_effect(node)}"


def _effect(node: ToolNode | Assign | Map | LLMNode) -> str:
    match node:
        case ToolNode(tool=tool, args=args):
            return f"{tool}({', '.join(_arguments(args))})"
        case LLMNode(prompt=prompt, args=args):
            return f"llm({', '.join([_text(prompt), *_arguments(args)])})"
        case Assign(expr=str(expr)):
            return expr
        case Assign(value=value):
            return "null" if value is None else _shown(value)
        case Map():
            where = f" if {node.where}" if node.where is not None else ""
            body = "".join(f" {_step(step)};" for step in node.body).removesuffix(";")
            return f"for {node.item} in {_shown(node.over)}{where}:{body} collect {_shown(node.collect)}"


def _arguments(args: dict[str, Binding]) -> Iterator[str]:
    for name, binding in args.items():
        yield f"{name}={_shown(binding)}"


def _shown(binding: Binding) -> str:
    try:
        return write_binding(binding)
    except ValueError:
        return show_binding(binding)


def _text(text: str) -> str:
    return _shown(Literal_(value=text))


def read_inputs(text: str) -> list[str] | None:
    """The inputs in the label of a start; None if the label is not that of a start."""
    match = _START.fullmatch(text.strip())
    if match is None:
        return None
    names = match["names"] or match["others"] or ""
    return re.findall(_NAME, names)


def read_end(text: str, id: str) -> End:
    """Reads the label of an end: `end: total`, `return total`, or the answer alone.

    Raises:
        Misread: If there is no answer in it.
    """
    text = text.strip()
    if _BARE_END.fullmatch(text):
        raise Misread(f"{text!r} ends without an answer; write what it is, such as 'end: total'", 0)
    match = _END.fullmatch(text)
    return End(id=id, output=read_binding(match[1] if match else text))


def read_condition(text: str, id: str) -> Condition:
    """Reads the label of a condition: an expression; `if` before it and `?` behind it are ignored.

    Raises:
        Misread: If it is not an expression.
    """
    text = text.strip()
    bare = re.sub(r"^if\s+|\s*\?$", "", text) if not _problem(re.sub(r"^if\s+|\s*\?$", "", text)) else text
    if problem := _problem(bare):
        raise Misread(f"{text!r} is not a condition such as 'len(items) > 3': {problem}", 0)
    return Condition(id=id, expr=bare)


def _problem(expr: str) -> str | None:
    try:
        expressions.parse(expr)
    except expressions.ExpressionError as error:
        return str(error)
    return None


def read_step(text: str, id: str) -> ToolNode | Assign | Map | LLMNode:
    """Reads the label of a step: a call, a binding, an expression or a map. Without `name =`, the id names the result.

    Raises:
        Misread: If it is none of these, with an example of the right form.
    """
    text = text.strip()
    match = _SET.fullmatch(text)
    output, effect = (match[1], match[2].strip()) if match else (id, text)
    if match is None and not re.fullmatch(_NAME, id):
        raise Misread(f"{text!r} names no result; write 'name = …'", 0)
    if len(output) > 64:
        raise Misread(f"a name of {len(output)} characters, at most 64 are allowed", 0)
    if each := _EACH.match(effect):
        return _read_map(id, output, each[1], effect[each.end() :])
    if (call := _CALL.match(effect)) and (step := _read_call(id, output, call[1], effect, call.end())):
        return step
    try:
        return Assign(id=id, value=read_binding(effect), output=output)
    except Misread as error:
        if (problem := _problem(effect)) is None:
            return Assign(id=id, expr=effect, output=output)
        hint = _hint(effect) or f"{problem}; as a value: {error}"
        raise Misread(f"{effect!r} is not a call 'tool(name=value)', a value or an expression: {hint}", 0) from None


def _hint(effect: str) -> str:
    call = _CALL.match(effect)
    if call is not None and call[1] not in expressions.FUNCTIONS:
        return f"name the arguments, as in {call[1]}(name=value)"
    return ""


def _read_call(id: str, output: str, tool: str, text: str, at: int) -> ToolNode | LLMNode | None:
    """Reads a call of a tool or of the model; None for a function of the expression language."""
    reader = Reader(text, at)
    if tool == "llm" and reader.peek() == '"':
        prompt = reader.constant()
        args = {} if reader.taken(")") else reader.taken(",") and reader.arguments()
        if args is False:
            raise Misread("expected ',' or ')' behind the prompt", reader.at)
        reader.end()
        return LLMNode(id=id, prompt=prompt, args=args, output=output)
    if not _NAMED.match(text, at) and (reader.peek() != ")" or tool in expressions.FUNCTIONS):
        return None
    args = reader.arguments()
    reader.end()
    return ToolNode(id=id, tool=tool, args=args, output=output)


def _read_map(id: str, output: str, item: str, text: str) -> Map:
    head, colon, rest = _cut(text, ":")
    over, condition, where = _cut(head, " if ")
    if not colon:
        raise Misread("a map has a ':' behind its list, as in 'for x in xs: y = f(n=x) collect y'", 0)
    body, word, collect = _cut(f" {rest}", " collect ")
    if not word:
        raise Misread("a map says what it collects, as in 'for x in xs: y = f(n=x) collect y'", 0)
    if condition and (problem := _problem(where.strip())):
        raise Misread(f"{where.strip()!r} is not a condition: {problem}", 0)
    steps: list[BodyStep] = []
    while body.strip():
        one, _, body = _cut(body, ";")
        step = read_step(one, f"step{len(steps) + 1}")
        if not isinstance(step, ToolNode | Assign):
            raise Misread(f"{one.strip()!r}: the steps of a map call tools or set variables", 0)
        id_taken = any(step.output == other.id for other in steps)
        steps.append(step if id_taken else step.model_copy(update={"id": step.output}))
    return Map(
        id=id, over=read_binding(over), item=item, where=where.strip() if condition else None, body=tuple(steps),
        collect=read_binding(collect), output=output,
    )  # fmt: skip


def _cut(text: str, mark: str) -> tuple[str, str, str]:
    """`str.partition` at the first mark outside of quotes and brackets."""
    closing: list[str] = []
    for at, character in outside_quotes(text):
        if not closing and text.startswith(mark, at):
            return text[:at], mark, text[at + len(mark) :]
        if character in _OPENING:
            closing.append(_OPENING[character])
        elif closing and character == closing[-1]:
            closing.pop()
    return text, "", ""
