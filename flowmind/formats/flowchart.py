"""Reads the flowchart syntax of Mermaid: nodes with their shapes and labels, and arrows.

Styles, classes, directions and the frames of subgraphs are ignored. The syntax is that of Mermaid 11: https://mermaid.js.org/syntax/flowchart.html
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from flowmind.base.errors import InputError

_HEAD = re.compile(r"(?:flowchart(?:-elk)?|graph)\b[ \t]*(?:TB|TD|BT|RL|LR|[<>^v])?(?=[ \t]*(?:;|\n|$))")
MAX_ARROWS = 20_000
"""The most arrows of a chart: `a & b --> c & d` stands for four."""
_ID = re.compile(r"[^\W_](?:[\w.]|-(?![->.]|$))*|_[\w.]*")
_SHAPES = {
    "(((": (")))",), "((": ("))",), "([": ("])",), "[[": ("]]",), "[(": (")]",), "{{": ("}}",),
    "[/": ("/]", "\\]"), "[\\": ("\\]", "/]"), "(": (")",), "[": ("]",), "{": ("}",), ">": ("]",),
}  # fmt: skip
_DECISIONS = frozenset({"diam", "diamond", "decision", "question", "hex", "hexagon", "prepare"})
_LOOKS = re.compile(
    r"accDescr[ \t]*\{[^}]*\}|(?:accTitle|accDescr)[ \t]*:[^\n]*"
    r"|(?:classDef|class|style|linkStyle|click|direction)[ \t]+(?![-=&])(?:\"[^\"]*\"|[^\n;\"])*"
)
_FRAME = re.compile(r"subgraph\b[ \t]*([^\s\[;\"]*)(?:\"[^\"]*\"|[^\n;\"])*")
_FRAME_END = re.compile(r"end\b[ \t]*(?=[;\n]|$)")
_DESCRIBED = re.compile(r'@\{(?:[^{}"]|"[^"]*")*\}')
_STYLED = re.compile(r"(?::::[\w,-]+)*")
_LINK = re.compile(r"(?:[\w-]+@)?(?P<tail>[<ox](?=[-=]))?(?P<line>--+|==+|-\.+-|~~~+)(?P<head>[>ox](?![\w])|>)?")
_OPEN = re.compile(r"(?:[\w-]+@)?(?:(--)|(==)|(-\.))(?![->=.ox])[ \t]*")
_CLOSE = {
    "--": re.compile(r"\s*(--+[>ox-])"),
    "==": re.compile(r"\s*(==+[>ox=])"),
    "-.": re.compile(r"\s*(\.+-[>ox]?)"),
}
_ENTITY = re.compile(r"[#&](#?\w+);|<br\s*/?>", re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t]*%%(?!\{)(.*)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"%%\{.*?\}%%", re.DOTALL)
_FRONT = re.compile(r"\s*---[ \t]*\n(.*?\n)?---[ \t]*(?=\n|$)", re.DOTALL)
_FENCE = re.compile(r"\s*```[ \t]*mermaid[ \t]*\n(.*?)\n[ \t]*```\s*", re.DOTALL)


@dataclass
class Drawn:
    """A node of a flowchart; `label` is its id where it shows no other."""

    id: str
    line: int
    label: str
    decision: bool = False


@dataclass(frozen=True)
class Arrow:
    """An arrow, with the text that stands on it."""

    source: str
    target: str
    text: str
    line: int


@dataclass
class Flowchart:
    """The content of a flowchart."""

    nodes: dict[str, Drawn] = field(default_factory=dict[str, Drawn])
    arrows: list[Arrow] = field(default_factory=list[Arrow])
    comments: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Line and text of each comment."""
    title: str = ""


def read_flowchart(text: str) -> Flowchart:
    """Reads a flowchart.

    Raises:
        InputError: With the line and what would be right there.
    """
    return _Reader(text).read()


def decode(label: str) -> str:
    """A label as Mermaid shows it, on one line, with entity codes decoded."""
    return " ".join(_ENTITY.sub(_character, label).split())


def _character(match: re.Match[str]) -> str:
    name = match[1]
    if name is None:
        return " "
    if name.isascii() and name.isdecimal():
        return chr(int(name)) if int(name) < 0x110000 else match[0]
    shown = html.unescape(f"&{name};")
    return match[0] if shown == f"&{name};" else shown


class _Reader:
    def __init__(self, text: str) -> None:
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self.chart = Flowchart()
        self.frames: list[str] = []
        self.known_frames: set[str] = set()
        self.at = 0
        self.counted = 0, 1
        """A place in the text with its line; counting from the start for each arrow would be quadratic."""
        if fence := _FENCE.fullmatch(text):
            text = "\n" * text.count("\n", 0, fence.start(1)) + fence[1]
        if front := _FRONT.match(text):
            title = re.search(r"^title:[ \t]*(.*?)[ \t]*$", front[0], re.MULTILINE)
            self.chart.title = title[1].strip("\"'") if title else ""
            text = "\n" * front[0].count("\n") + text[front.end() :]
        text = _DIRECTIVE.sub(lambda found: "\n" * found[0].count("\n"), text)
        for comment in _COMMENT.finditer(text):
            self.chart.comments.append((text.count("\n", 0, comment.start()) + 1, comment[1].strip()))
        self.text = _COMMENT.sub("", text)

    @property
    def line(self) -> int:
        counted, lines = self.counted
        if self.at < counted:
            counted, lines = 0, 1
        lines += self.text.count("\n", counted, self.at)
        self.counted = self.at, lines
        return lines

    def refuse(self, message: str) -> InputError:
        return InputError(f"line {self.line}: {message}")

    def rest(self) -> str:
        """The text at this place, for a message."""
        shown = self.text[self.at : self.at + 40].partition("\n")[0]
        return repr(shown) if shown else "the end of the line"

    def skip(self, characters: str = " \t") -> None:
        while self.at < len(self.text) and self.text[self.at] in characters:
            self.at += 1

    def read(self) -> Flowchart:
        self.skip(" \t\n")
        head = _HEAD.match(self.text, self.at)
        if head is None:
            raise self.refuse(f"expected 'flowchart TD' or 'graph LR', found {self.rest()}")
        self.at = head.end()
        while True:
            self.skip(" \t\n;")
            if self.at == len(self.text):
                break
            self.statement()
        if self.frames:
            raise self.refuse(f"the subgraph {self.frames[-1]!r} is not closed by a line 'end'")
        for arrow in self.chart.arrows:
            for name in (arrow.source, arrow.target):
                if name in self.known_frames:
                    message = f"an arrow to or from the subgraph {name!r}; draw it to one of the nodes inside"
                    raise InputError(f"line {arrow.line}: {message}")
        return self.chart

    def statement(self) -> None:
        if looks := _LOOKS.match(self.text, self.at):
            self.at = looks.end()
        elif frame := _FRAME.match(self.text, self.at):
            self.frames.append(frame[1])
            self.known_frames.add(frame[1])
            self.at = frame.end()
        elif self.frames and (end := _FRAME_END.match(self.text, self.at)):
            self.frames.pop()
            self.at = end.end()
        else:
            self.chain()

    def chain(self) -> None:
        """Nodes and the arrows between them: `a & b --> c -- yes --> d`."""
        sources = self.group()
        while True:
            self.skip()
            if self.at == len(self.text) or self.text[self.at] in "\n;":
                return
            line = self.line
            text, shown = self.link()
            self.skip(" \t\n")
            targets = self.group()
            if len(self.chart.arrows) + len(sources) * len(targets) > MAX_ARROWS:
                raise self.refuse(f"more than {MAX_ARROWS} arrows")
            if shown:
                self.chart.arrows += [Arrow(one, other, text, line) for one in sources for other in targets]
            sources = targets

    def group(self) -> list[str]:
        names = [self.vertex()]
        while True:
            before = self.at
            self.skip()
            if not self.text.startswith("&", self.at):
                self.at = before
                return names
            self.at += 1
            self.skip(" \t\n")
            names.append(self.vertex())

    def vertex(self) -> str:
        match = _ID.match(self.text, self.at)
        if match is None:
            raise self.refuse(f"expected the id of a node, found {self.rest()}")
        name, line = match[0], self.line
        self.at = match.end()
        if self.text.startswith("@{", self.at):
            label, decision = self.described()
        else:
            label, decision = self.shape()
        if styled := _STYLED.match(self.text, self.at):
            self.at = styled.end()
        node = self.chart.nodes.setdefault(name, Drawn(name, line, name))
        if label is not None:
            node.label, node.line, node.decision = label, line, decision
        return name

    def described(self) -> tuple[str | None, bool]:
        """A node of the form `a@{ shape: diam, label: "x > 3" }`."""
        quoted = _DESCRIBED.match(self.text, self.at)
        if quoted is None:
            raise self.refuse(f"expected '@{{ shape: rect, label: \"…\" }}', found {self.rest()}")
        fields = dict(re.findall(r'(\w+)\s*:\s*("[^"]*"|[^,}\n]*)', quoted[0][2:-1]))
        self.at = quoted.end()
        label = fields.get("label")
        return (decode(label.strip().strip('"')) if label else None), fields.get("shape", "").strip() in _DECISIONS

    def shape(self) -> tuple[str | None, bool]:
        opening = next((mark for mark in _SHAPES if self.text.startswith(mark, self.at)), None)
        if opening is None:
            return None, False
        self.at += len(opening)
        closings = _SHAPES[opening]
        self.skip()
        label = self.quoted()
        if label is not None:
            self.skip(" \t\n")
            closing = next((mark for mark in closings if self.text.startswith(mark, self.at)), None)
            if closing is None:
                raise self.refuse(f"expected {closings[0]!r} behind the label, found {self.rest()}")
            self.at += len(closing)
        else:
            ends = [(self.text.find(mark, self.at), mark) for mark in closings]
            end, closing = min(((end, mark) for end, mark in ends if end >= 0), default=(-1, ""))
            if end < 0 or "\n" in self.text[self.at : end]:
                raise self.refuse(f"expected {closings[0]!r} at the end of the label {self.rest()}")
            label = self.text[self.at : end].strip()
            self.at = end + len(closing)
        return decode(label), opening in ("{", "{{")

    def quoted(self) -> str | None:
        """Text between quotes."""
        if not self.text.startswith('"', self.at):
            return None
        end = self.text.find('"', self.at + 1)
        if end < 0:
            raise self.refuse('a label that begins with " and does not end')
        label = self.text[self.at + 1 : end]
        self.at = end + 1
        return label[1:-1] if len(label) > 1 and label[0] == label[-1] == "`" else label

    def link(self) -> tuple[str, bool]:
        """The text on an arrow, and whether it is drawn."""
        start = self.at
        match = _LINK.match(self.text, self.at)
        opened = _OPEN.match(self.text, self.at)
        if match is not None and (match["head"] or match["line"].startswith("~") or opened is None):
            if match["line"].startswith("~"):
                self.at = match.end()
                return "", False
            if match["tail"] or match["head"] != ">":
                raise self.refuse(f"a line without a direction, {match[0]!r}; write an arrow, '-->'")
            self.at = match.end()
            self.skip()
            return self.piped(), True
        if opened is not None:
            kind = next(mark for mark in ("--", "==", "-.") if mark in opened[0])
            self.at = opened.end()
            text = self.quoted()
            end = _CLOSE[kind].search(self.text, self.at)
            if end is not None and "\n" not in self.text[self.at : end.start()]:
                if not end[1].endswith(">"):
                    raise self.refuse(f"a line without a direction, {end[1]!r}; write an arrow, '-->'")
                text = self.text[self.at : end.start()].strip() if text is None else text
                self.at = end.end()
                return decode(text), True
            self.at = start
        raise self.refuse(f"expected an arrow such as '-->' or '-->|yes|', found {self.rest()}")

    def piped(self) -> str:
        if not self.text.startswith("|", self.at):
            return ""
        end = self.text.find("|", self.at + 1)
        if end < 0:
            raise self.refuse("'|' without a second '|' behind the text of the arrow")
        text = self.text[self.at + 1 : end].strip().strip('"')
        self.at = end + 1
        return decode(text)
