"""A PDL document (Procedure Description Language, FlowAgent): meta information, nodes, and a procedure as pseudocode.

The document uses a part of YAML: one key a line, lists of items with one field a line, and the procedure as a block of
text. This module reads and writes that part. It treats the procedure as text; `pdl_reader` reads a procedure as a
workflow.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import Any, NoReturn, cast

from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, parse_json
from flowmind.formats.notation import escaped
from tools_registry.specs.spec import Record

_KEYS = {
    "name": "name", "desc": "desc", "desc_detail": "desc_detail", "detailed_desc": "desc_detail", "slots": "slots",
    "apis": "apis", "answers": "answers", "procedure": "procedure", "pdl": "procedure", "other_inputs": "other_inputs",
    "input_schema": "input_schema",
}  # fmt: skip
"""The keys of a document in lower case; those of the outermost level begin with a capital."""
_LISTS = ("slots", "apis", "answers")
_FIELDS = {
    "slots": ("name", "desc", "type", "source", "required"),
    "apis": ("name", "desc", "request", "response", "precondition"),
    "answers": ("name", "desc", "precondition"),
}
_FIELD_NAMES = {"pre": "precondition", "preconditions": "precondition", "description": "desc"}
_TEXTS = ("name", "desc", "type", "required")
_PAIR = re.compile(r"([A-Za-z_]+)\s*:(?:\s+(.*))?$")
_REFERENCE = re.compile(r"(API|ANSWER)[_.-](.+)")
"""`API_find` and `ANSWER_not found`, as published documents refer to their nodes."""
_NOTHING = ("none", "null", "~")
_BLOCK = ("|", "|-", "|+")
_NAME = re.compile(r"[^\s,:#\[\]{}\"'‘’]+")
_PHRASE = re.compile(r"[^,#\[\]{}\"'‘’\x00-\x1f]+")
"""The name of an answer, which may be several words."""
_PLAIN = re.compile(r"[A-Za-z(]")
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
"""Words that YAML reads as booleans or null."""


class PdlSlot(Record):
    """A value that the procedure works with."""

    name: str
    desc: str = ""
    type: str = ""
    source: tuple[str, ...] = ()
    """Its sources: `input`, `API.<name>`, `LLM`, `procedure`; empty if the document has none."""
    required: bool = True
    line: int = 0
    """Its line in the document, from 1; 0 if it was not read from one."""


class PdlApi(Record):
    """A tool that the procedure calls."""

    name: str
    desc: str = ""
    request: tuple[str, ...] = ()
    """Names of parameters."""
    response: tuple[str, ...] = ()
    """Names of slots that it fills."""
    precondition: tuple[str, ...] = ()
    """Names of APIs that must be called before; their own preconditions are not repeated."""
    line: int = 0


class PdlAnswer(Record):
    """Something that the user is told."""

    name: str
    desc: str = ""
    precondition: tuple[str, ...] = ()
    line: int = 0


class Pdl(Record):
    """A PDL document."""

    name: str = ""
    desc: str = ""
    desc_detail: str = ""
    slots: tuple[PdlSlot, ...] = ()
    other_inputs: bool = False
    """Whether inputs without a slot are accepted."""
    input_schema: dict[str, Any] | None = None
    """JSON Schema of the inputs, if the slots cannot express all of it."""
    apis: tuple[PdlApi, ...] = ()
    answers: tuple[PdlAnswer, ...] = ()
    procedure: str
    """Pseudocode, its common indentation taken off."""
    procedure_line: int = 1
    """The line of the document in which the procedure begins, from 1."""


def refuse(line: int, message: str) -> NoReturn:
    """Raises an error about a line.

    Raises:
        InputError: Always.
    """
    raise InputError(f"line {line}: {message}")


def read_pdl(text: str) -> Pdl:
    """Reads a document; its procedure may be any pseudocode.

    Lists may be indented or not. `PDL`, `Detailed_desc` and `pre` are read as `Procedure`, `Desc_detail` and
    `precondition`. A precondition may be written `API_x` or `API.x` for the API `x`, and `ANSWER_x` for an answer.

    Raises:
        InputError: With the line, if the text is not PDL, or a precondition is neither an API nor an answer of the
            document.
    """
    document = _Reader(text).document()
    apis, answers = {api.name for api in document.apis}, {answer.name for answer in document.answers}
    nodes: list[list[Any]] = []
    for kind in (document.apis, document.answers):
        nodes.append([node.model_copy(update={"precondition": _resolved(node, apis, answers)}) for node in kind])
    return document.model_copy(update={"apis": tuple(nodes[0]), "answers": tuple(nodes[1])})


def _resolved(node: PdlApi | PdlAnswer, apis: Container[str], answers: Container[str]) -> tuple[str, ...]:
    """The preconditions of a node by the names of the APIs and answers."""
    names: list[str] = []
    for name in node.precondition:
        reference = _REFERENCE.fullmatch(name)
        if name in apis:
            names.append(name)
        elif reference and reference[2] in (apis if reference[1] == "API" else answers):
            names.append(reference[2])
        elif name in answers:
            names.append(name)
        else:
            refuse(node.line, f"{node.name!r} has the precondition {name!r}, but the document has no such API")
    return tuple(names)


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
        self.at = 0
        self.field = ("", 0)
        """The field of an item that may go on in the next line, and its column."""

    def document(self) -> Pdl:
        sections: dict[str, Any] = {}
        section = ""
        for line in self.rest():
            bare = line.strip()
            top = self.key(line, inside=bool(section))
            if section and top is None:
                self.item(sections[section], section, bare)
                continue
            if top is None:
                refuse(self.at, f"expected a key such as 'Name: ' or 'APIs:', found {bare[:40]!r}")
            name, value = top
            if name in sections:
                refuse(self.at, f"{bare.partition(':')[0]!r} comes twice")
            section = name if name in _LISTS else ""
            if section:
                if value not in ("", "[]"):
                    refuse(self.at, f"items stand in the lines below, each as '- name: …'; found {value[:40]!r}")
                sections[name] = list[dict[str, Any]]()
            elif name == "procedure":
                sections |= self.procedure(value)
            else:
                sections[name] = self.top(name, value)
        if "procedure" not in sections:
            refuse(len(self.lines), "the document has no 'Procedure: |'")
        return Pdl.model_validate(sections | {name: self.items(name, sections.get(name, [])) for name in _LISTS})

    def rest(self) -> Iterator[str]:
        """The lines that are not blank or comments; `at` is the number of the last one, from 1."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if line.strip() and not line.lstrip().startswith("#"):
                if "\t" in line[: len(line) - len(line.lstrip())]:
                    refuse(self.at, "indent with spaces, not with tabs")
                yield line

    def key(self, line: str, inside: bool) -> tuple[str, str] | None:
        """The key and value of a line of the outermost level; inside a list, such keys begin with a capital."""
        pair = _PAIR.match(line.rstrip())
        if pair is None or (inside and not pair[1][0].isupper()):
            return None
        name = _KEYS.get(pair[1].lower())
        if name is None:
            refuse(self.at, f"unknown key {pair[1]!r}; known: Name, Desc, Desc_detail, SLOTs, APIs, ANSWERs, Procedure")
        return name, (pair[2] or "").strip()

    def top(self, name: str, value: str) -> Any:
        text = self.scalar(value, 0)
        match name:
            case "other_inputs":
                if text not in ("allowed", "refused"):
                    refuse(self.at, f"'Other_inputs' is allowed or refused, not {text!r}")
                return text == "allowed"
            case "input_schema":
                try:
                    schema = parse_json(value)
                except ValueError as error:
                    refuse(self.at, f"'Input_schema' is a JSON Schema in one line: {error}")
                if not isinstance(schema, dict):
                    refuse(self.at, "'Input_schema' is a JSON Schema in one line: an object")
                return cast("dict[str, Any]", schema)
            case _:
                return text

    def item(self, items: list[dict[str, Any]], section: str, bare: str) -> None:
        """A line of a list: an item's first, a further field of it, or the continuation of a field."""
        if items and self.continued(items[-1], section, bare):
            return
        if bare == "-" or bare.startswith("- "):
            items.append({"line": self.at})
            bare = bare[1:].strip()
            if not bare:
                return
        if not items:
            refuse(self.at, f"expected an item '- name: ', found {bare[:40]!r}")
        pair = _PAIR.match(bare)
        name = _FIELD_NAMES.get(pair[1], pair[1]) if pair else ""
        if pair is None or name not in _FIELDS[section]:
            known = ", ".join(_FIELDS[section])
            refuse(self.at, f"expected one of the fields {known} with ': ', found {bare[:40]!r}")
        if name in items[-1]:
            refuse(self.at, f"the field {name!r} comes twice in one item")
        indent = len(self.lines[self.at - 1]) - len(self.lines[self.at - 1].lstrip())
        value = (pair[2] or "").strip()
        items[-1][name] = self.scalar(value, indent) if name in _TEXTS else self.names(value)
        open_ = (name == "desc" and value[:1] not in ("", '"', "'", "|")) or (name not in _TEXTS and not value)
        line = self.lines[self.at - 1]
        self.field = (name if open_ else "", len(line) - len(line.lstrip("- ")))
        if name == "required":
            if items[-1][name] not in ("true", "false"):
                refuse(self.at, f"'required' is true or false, not {value!r}")
            items[-1][name] = items[-1][name] == "true"

    def continued(self, item: dict[str, Any], section: str, bare: str) -> bool:
        """Takes a line that continues the field above: an element of a list, or a further line of a description."""
        name, column = self.field
        line = self.lines[self.at - 1]
        indent = len(line) - len(line.lstrip())
        pair = _PAIR.match(bare.removeprefix("- "))
        if not name or indent < column or (pair and _FIELD_NAMES.get(pair[1], pair[1]) in _FIELDS[section]):
            return False
        if name == "desc" and indent > column and not bare.startswith("- "):
            item[name] = f"{item[name]} {bare}"
            return True
        if name != "desc" and bare.startswith("- "):
            item[name] = (*item[name], *self.names(bare[2:].strip()))
            return True
        return False

    def items(self, section: str, items: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Checks that the items of a list have different names."""
        seen = set[str]()
        for item in items:
            name = item.get("name")
            if not name:
                refuse(item["line"], "an item needs a name: '- name: …'")
            if not (_PHRASE if section == "answers" else _NAME).fullmatch(name):
                refuse(item["line"], f"{name!r} is not a name")
            if name in seen:
                refuse(item["line"], f"the name {name!r} comes twice in this list")
            seen.add(name)
        return items

    def scalar(self, value: str, indent: int) -> str:
        """Reads a text: plain, in quotes, or the block below `|`."""
        if value in _BLOCK:
            return "\n".join(self.block(indent)[0])
        if value.startswith('"'):
            try:
                text = parse_json(value)
            except ValueError:
                refuse(self.at, f"a text in double quotes is written as in JSON; this one is not: {value[:40]}")
            return text if isinstance(text, str) else refuse(self.at, f"expected a text, found {value[:40]}")
        if value.startswith("'"):
            if len(value) < 2 or not value.endswith("'") or value[1:-1].replace("''", "").count("'"):
                refuse(self.at, f"a quote is not closed: {value[:40]}")
            return value[1:-1].replace("''", "'")
        if value.startswith((">", "|", "&", "*", "!", "%", "@", "`")):
            refuse(self.at, f"{value[:1]!r} has a meaning in YAML that is not read here; put the text in double quotes")
        return re.split(r"\s#", value)[0].rstrip()

    def names(self, value: str) -> tuple[str, ...]:
        """`[a, b]`, or one name."""
        value = re.split(r"\s#", value)[0].strip()
        inner = value[1:-1] if value.startswith("[") and value.endswith("]") else value
        if not inner.strip() or inner.strip().lower() in _NOTHING:
            return ()
        names = tuple(part.strip().strip("\"'‘’") for part in inner.split(","))
        for name in names:
            if not _NAME.fullmatch(name) and not name.startswith(("ANSWER_", "ANSWER.")):
                refuse(self.at, f"expected a list of names such as [a, b], found {value[:40]!r}")
        return names

    def block(self, indent: int) -> tuple[list[str], int]:
        """The lines below that are indented farther, without their common indentation, and the number of the first."""
        first = self.at
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
                break
            self.at += 1
        lines = self.lines[first : self.at]
        while lines and not lines[-1].strip():
            lines.pop()
        margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
        return [line[margin:].rstrip() for line in lines], first + 1

    def procedure(self, value: str) -> dict[str, Any]:
        if value not in ("", *_BLOCK):
            refuse(self.at, "the procedure stands in the lines below 'Procedure: |'")
        following = next((line for line in self.lines[self.at :] if line.strip()), "")
        lines, first = self.block(0 if following.startswith(" ") else -1)
        return {"procedure": "\n".join(lines), "procedure_line": first}


def write_pdl(pdl: Pdl) -> str:
    """Writes a document; `read_pdl` gives an equal one back, except for line numbers."""
    lines = [f"{key}: {_text(value)}" for key, value in (("Name", pdl.name), ("Desc", pdl.desc)) if value]
    if pdl.desc_detail:
        lines.append(f"Desc_detail: {_text(pdl.desc_detail)}")
    if pdl.slots:
        lines.append("SLOTs:")
    for slot in pdl.slots:
        source = slot.source[0] if len(slot.source) == 1 else _names(slot.source)
        lines += _item(
            ("name", slot.name),
            ("desc", slot.desc and _text(slot.desc)),
            ("type", slot.type and _type(slot.type)),
            ("source", source if slot.source else ""),
            ("required", "" if slot.required else "false"),
        )
    if pdl.other_inputs:
        lines.append("Other_inputs: allowed")
    if pdl.input_schema is not None:
        lines.append(f"Input_schema: {dump_json(pdl.input_schema)}")
    if pdl.apis:
        lines.append("APIs:")
    for api in pdl.apis:
        named = (("request", api.request), ("response", api.response), ("precondition", api.precondition))
        lines += _item(("name", api.name), ("desc", api.desc and _text(api.desc)), *((k, _names(v)) for k, v in named))
    if pdl.answers:
        lines.append("ANSWERs:")
    for answer in pdl.answers:
        desc = answer.desc and _text(answer.desc)
        name = answer.name if _NAME.fullmatch(answer.name) else _text(answer.name)
        lines += _item(("name", name), ("desc", desc), ("precondition", _names(answer.precondition)))
    lines.append("Procedure: |")
    lines += [f"  {line}" if line else "" for line in pdl.procedure.split("\n")]
    return escaped("\n".join(lines)) + "\n"


def _item(*fields: tuple[str, str]) -> list[str]:
    given = [f"{name}: {value}" for name, value in fields if value]
    return [f"- {given[0]}", *(f"  {field}" for field in given[1:])]


def _names(names: Sequence[str]) -> str:
    """Writes names; one of several words is that of an answer."""
    return f"[{', '.join(name if _NAME.fullmatch(name) else f'ANSWER_{name}' for name in names)}]"


def _type(text: str) -> str:
    """Writes a type: a schema as it is, without the beginning of a comment, and a word as a text."""
    return re.sub(r"(\s)#", r"\1\\u0023", text) if text.startswith("{") else _text(text)


def _text(text: str) -> str:
    """Writes a text as YAML: plain if that is safe, else in quotes."""
    plain = (
        _PLAIN.match(text)
        and text.isprintable()
        and ": " not in text
        and " #" not in text
        and text.lower() not in _WORDS
    )
    return text if plain and not text.endswith((":", " ")) else dump_json(text)
