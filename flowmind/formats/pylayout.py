"""Syntax trees as source, in the layout that formatters give it: one line where it fits, else one part to a line.

The kinds of nodes are those that the exporters use. The source is parsed and compared with the tree that it was
written from, so that nothing in it can mean anything else.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
from collections.abc import Sequence
from typing import Any, cast

from flowmind.formats import pyruntime
from flowmind.formats.pytree import Remark

WIDTH = 88
"""Columns of a line, the default of `ruff format` and `black`."""
INDENT = "    "

_TERNARY, _OR, _AND, _NOT, _COMPARE, _UNION, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(11)
_BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", _SUM), ast.Sub: ("-", _SUM), ast.Mult: ("*", _PRODUCT), ast.Div: ("/", _PRODUCT),
    ast.FloorDiv: ("//", _PRODUCT), ast.Mod: ("%", _PRODUCT), ast.Pow: ("**", _POWER), ast.BitOr: ("|", _UNION),
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip


# Expressions


def flat(node: ast.expr, least: int = _TERNARY) -> str:
    """An expression on one line, in parentheses if its operator binds less than `least`."""
    text = _flat(node)
    return text if _binds(node) >= least else f"({text})"


def _binds(node: ast.expr) -> int:
    match node:
        case ast.IfExp():
            return _TERNARY
        case ast.BoolOp(op=op):
            return _AND if isinstance(op, ast.And) else _OR
        case ast.UnaryOp(op=op):
            return _NOT if isinstance(op, ast.Not) else _SIGN
        case ast.BinOp(op=op):
            return _BINARY[type(op)][1]
        case ast.Compare():
            return _COMPARE
        case _:
            return _ATOM


def _flat(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Name(id=name):
            return name
        case ast.BoolOp(op=op, values=values):
            return (" and " if isinstance(op, ast.And) else " or ").join(
                flat(part, _binds(node) + 1) for part in values
            )
        case ast.UnaryOp(op=op, operand=operand):
            sign = {ast.Not: "not ", ast.USub: "-", ast.UAdd: "+"}[cast(type[Any], type(op))]
            return sign + flat(operand, _binds(node))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            close = _simple(left) and _simple(right) and not isinstance(left, ast.UnaryOp)
            sign = "**" if close else " ** "
            return flat(left, _ATOM) + sign + flat(right, _SIGN)
        case ast.BinOp(left=left, op=op, right=right):
            sign, place = _BINARY[type(op)]
            return f"{flat(left, place)} {sign} {flat(right, place + 1)}"
        case ast.Compare(left=left, ops=ops, comparators=others):
            rest = (f" {_COMPARED[type(op)]} {flat(other, _UNION)}" for op, other in zip(ops, others, strict=True))
            return flat(left, _UNION) + "".join(rest)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"{flat(body, _OR)} if {flat(test, _OR)} else {flat(orelse)}"
        case ast.Tuple(elts=parts):
            return f"({', '.join(map(flat, parts))}{',' if len(parts) == 1 else ''})"
        case ast.ListComp():
            return f"[{' '.join(_clauses(node))}]"
        case ast.GeneratorExp():
            return f"({' '.join(_clauses(node))})"
        case ast.Call(func=function, args=[ast.GeneratorExp() as only], keywords=[]):
            return f"{flat(function, _ATOM)}{_flat(only)}"
        case ast.Attribute(value=ast.Constant(value=int()) as owner, attr=name):
            return f"({flat(owner)}).{name}"
        case ast.Attribute(value=owner, attr=name):
            return f"{flat(owner, _ATOM)}.{name}"
        case ast.Subscript(value=owner, slice=index):
            return f"{flat(owner, _ATOM)}[{_index(index)}]"
        case _:
            opening, parts, closing = _bracket(node) or _unknown(node)
            return opening + ", ".join(before + flat(part) for before, part in parts) + closing


def _unknown(node: ast.AST) -> Any:
    raise AssertionError(f"the layout of {type(node).__name__} is not known")


def _bracket(node: ast.expr) -> tuple[str, list[tuple[str, ast.expr]], str] | None:
    """The bracket of an expression that may be broken after each comma: what opens it, its parts, what closes it."""
    match node:
        case ast.List(elts=elements):
            return "[", [("", element) for element in elements], "]"
        case ast.Dict(keys=keys, values=values):
            return "{", [(f"{flat(key)}: ", part) for key, part in zip(keys, values, strict=True) if key], "}"
        case ast.Call(args=[ast.GeneratorExp()], keywords=[]):
            return None
        case ast.Call(func=function, args=arguments, keywords=named):
            parts = [("", argument) for argument in arguments]
            parts += [(f"{one.arg}=" if one.arg else "**", one.value) for one in named]
            return f"{flat(function, _ATOM)}(", parts, ")"
        case _:
            return None


def _constant(value: object) -> str:
    match value:
        case str():
            return string(value)
        case float() if math.isinf(value):
            return "1e999"
        case _:
            return "..." if value is ... else repr(value).replace("e+", "e")


def string(value: str) -> str:
    """A string literal, in double quotes unless single ones need fewer escapes."""
    quote = "'" if value.count('"') > value.count("'") else '"'
    body = "".join(_escaped(character, quote) for character in value)
    return quote + body + quote


def _escaped(character: str, quote: str) -> str:
    if character == quote:
        return "\\" + character
    return character if character in "'\"" else repr(character)[1:-1]


def _simple(node: ast.expr) -> bool:
    """Whether formatters put no blanks around an operator next to it."""
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and not isinstance(node.value, str))


def _index(node: ast.expr) -> str:
    """What stands between the brackets of a subscript."""
    if isinstance(node, ast.Tuple):
        return ", ".join(map(flat, node.elts))
    if not isinstance(node, ast.Slice):
        return flat(node)
    bounds = [node.lower, node.upper, *([node.step] if node.step else [])]
    shown = [flat(bound) if bound else "" for bound in bounds]
    if all(bound is None or _simple(bound) for bound in bounds):
        return ":".join(shown)
    return " : ".join(shown).strip() if shown[0] else ":" + " : ".join(shown)[2:].rstrip()


def _clauses(node: ast.ListComp | ast.GeneratorExp) -> list[str]:
    """A comprehension in the parts that may begin a line."""
    clauses = [flat(node.elt)]
    for loop in node.generators:
        clauses.append(f"for {flat(loop.target)} in {flat(loop.iter, _OR)}")
        clauses += [f"if {flat(test, _OR)}" for test in loop.ifs]
    return clauses


# Statements


class Layout:
    """Writes statements as lines."""

    def __init__(self, width: float = WIDTH) -> None:
        self.width = width

    def block(self, statements: Sequence[ast.stmt], depth: int) -> list[str]:
        """The lines of a body, with its docstring."""
        lines: list[str] = []
        before: ast.stmt | None = None
        beside = ""
        for place, statement in enumerate(statements):
            if isinstance(statement, Remark) and statement.beside:
                beside = statement.text
                continue
            lines += [""] * _gap(before, statement, depth)
            if place == 0 and (documented := _documentation(statement)) is not None:
                lines += _docstring(documented, INDENT * depth)
            else:
                lines += self.statement(statement, depth, beside)
            before, beside = statement, ""
        return lines

    def statement(self, node: ast.stmt, depth: int, beside: str = "") -> list[str]:
        """The lines of a statement.

        Args:
            node: The statement.
            depth: How deep it is indented.
            beside: A comment on its first line.
        """
        margin = INDENT * depth
        match node:
            case Remark(text=text):
                return [margin + _comment(text)] if text else [""]
            case ast.Expr(value=value):
                return self.line(depth, "", value)
            case ast.Return(value=ast.expr() as value):
                return self.line(depth, "return ", value)
            case ast.Raise(exc=ast.expr() as value):
                return self.line(depth, "raise ", value)
            case ast.Assign(targets=[target], value=value):
                return self.line(depth, f"{flat(target)} = ", value)
            case ast.AugAssign(target=target, op=op, value=value):
                return self.line(depth, f"{flat(target)} {_BINARY[type(op)][0]}= ", value)
            case ast.AnnAssign(target=target, annotation=hint, value=value):
                head = f"{flat(target)}: "
                return self.line(depth, f"{head}{flat(hint)} = ", value) if value else self.line(depth, head, hint)
            case ast.If():
                return self.branch(node, depth)
            case ast.While(test=test, body=body):
                head = self.line(depth, "while ", test, ":")
                return [*self.commented(head, beside, margin), *self.block(body, depth + 1)]
            case ast.For(target=target, iter=over, body=body):
                return [*self.line(depth, f"for {flat(target)} in ", over, ":"), *self.block(body, depth + 1)]
            case ast.Match(subject=subject, cases=cases):
                lines = self.line(depth, "match ", subject, ":")
                for one in cases:
                    lines += self.line(depth + 1, "case ", cast(ast.MatchValue, one.pattern).value, ":")
                    lines += self.block(one.body, depth + 2)
                return lines
            case ast.FunctionDef(name=name) if pyruntime.FUNCTIONS.get(name) is node:
                return [*pyruntime.lines_of(name)]
            case ast.FunctionDef(name=name, args=arguments, returns=gives):
                tail = f" -> {flat(gives)}:" if gives else ":"
                head = self.line(depth, "def ", ast.Call(ast.Name(name), _parameters(arguments), []), tail)
                return [*head, *self.block(node.body, depth + 1)]
            case ast.ClassDef(name=name, bases=bases, keywords=keywords):
                head = self.line(depth, "class ", ast.Call(ast.Name(name), bases, keywords), ":")
                return [*head, *self.block(node.body, depth + 1)]
            case ast.Import(names=[one]):
                return [f"import {one.name}"]
            case ast.ImportFrom(module=module, names=names):
                return [f"from {module} import {', '.join(one.name for one in names)}"]
            case ast.Break() | ast.Continue() | ast.Pass():
                return [margin + type(node).__name__.lower()]
            case _:
                return _unknown(node)

    def branch(self, node: ast.If, depth: int, word: str = "if") -> list[str]:
        lines = [*self.line(depth, f"{word} ", node.test, ":"), *self.block(node.body, depth + 1)]
        match node.orelse:
            case []:
                return lines
            case [ast.If() as other]:
                return [*lines, *self.branch(other, depth, "elif")]
            case otherwise:
                return [*lines, f"{INDENT * depth}else:", *self.block(otherwise, depth + 1)]

    def line(self, depth: int, head: str, node: ast.expr, tail: str = "") -> list[str]:
        """The lines of a statement with one expression; one that cannot be broken is kept from formatters."""
        line = INDENT * depth + head + flat(node) + tail
        if len(line) <= self.width:
            return [line]
        return self.broken(depth, head, node, tail) or [f"{line}  # fmt: skip"]

    def broken(self, depth: int, head: str, node: ast.expr, tail: str) -> list[str] | None:
        """The lines of an expression that is too long; None if it has no bracket, or a part stays too long."""
        margin, inner = INDENT * depth, INDENT * (depth + 1)
        if isinstance(node, ast.ListComp):
            clauses = _clauses(node)
            body = " ".join(clauses)
            lines = [inner + body] if len(inner + body) <= self.width else [inner + clause for clause in clauses]
            whole = all(len(line) <= self.width for line in lines)
            return [f"{margin}{head}[", *lines, f"{margin}]{tail}"] if whole else None
        opening, parts, closing = _bracket(node) or ("", [], "")
        lines = [f"{margin}{head}{opening}"]
        for before, part in parts:
            line = f"{inner}{before}{flat(part)},"
            broken = [line] if len(line) <= self.width else self.broken(depth + 1, before, part, ",")
            if broken is None:
                return None
            lines += broken
        return [*lines, f"{margin}{closing}{tail}"] if parts else None

    def commented(self, lines: list[str], text: str, margin: str) -> list[str]:
        """Lines with a comment: behind the only one of them, where there is room for it, or above."""
        if not text:
            return lines
        if len(lines) == 1 and len(lines[0]) + len(text) + 4 <= self.width:
            return [f"{lines[0]}  {_comment(text)}"]
        return [f"{margin}{_comment(f'{text[0].upper()}{text[1:]}.')}", *lines]


def _gap(before: ast.stmt | None, statement: ast.stmt, depth: int) -> int:
    """The number of empty lines between two statements."""
    match before, statement:
        case None, _:
            return 0
        case (ast.FunctionDef() | ast.ClassDef(), _) | (_, ast.FunctionDef() | ast.ClassDef()):
            return 2 if depth == 0 else 1
        case ast.Import() | ast.ImportFrom(), ast.ImportFrom(module=str(module)):
            return 0 if module.partition(".")[0] in sys.stdlib_module_names else 1
        case ast.Import() | ast.ImportFrom(), _:
            return 2
        case ast.Expr(value=ast.Constant(value=str())), ast.AnnAssign():
            return 1
        case _:
            return 1 if depth == 0 else 0


def _parameters(arguments: ast.arguments) -> list[ast.expr]:
    """The parameters of a function, which are laid out like the arguments of a call."""
    plain = arguments.args
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    parts = [_parameter(one, default) for one, default in zip(plain, defaults, strict=True)]
    parts += ["*", *(map(_parameter, arguments.kwonlyargs))] if arguments.kwonlyargs else []
    parts += [f"**{_parameter(arguments.kwarg)}"] if arguments.kwarg else []
    return [ast.Name(part) for part in parts]


def _parameter(one: ast.arg, default: ast.expr | None = None) -> str:
    hint = f": {flat(one.annotation)}" if one.annotation else ""
    equals = " = " if hint else "="
    return one.arg + hint + (equals + flat(default) if default else "")


def _comment(text: str) -> str:
    """A comment; what may end a line becomes a blank."""
    return "# " + "".join(character if character.isprintable() else " " for character in text)


def _documentation(statement: ast.stmt) -> str | None:
    """The text of a docstring."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return None


def _docstring(text: str, margin: str) -> list[str]:
    first, *rest = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').split("\n")
    first = " " + first if first.startswith('"') else first
    if not rest:
        first += " " if first.endswith('"') else ""
        return [f'{margin}"""{first}"""']
    return [f'{margin}"""{first}', *(margin + line if line else "" for line in rest), f'{margin}"""']


# Modules


def source_of(tree: Sequence[ast.stmt], width: float = WIDTH) -> str:
    """The source of a module.

    Args:
        tree: Its statements.
        width: Columns of a line; beyond it, a statement is broken into several lines.

    Raises:
        AssertionError: If the source does not mean the tree, which is a defect of the layout.
    """
    text = "\n".join(Layout(width).block(tree, 0)) + "\n"
    if not _means(ast.parse(text).body, tree):
        raise AssertionError("the source differs from its tree")
    return text


def _means(read: Any, written: Any) -> bool:
    """Whether what was read from the source is what was written; layouts, comments and indents of texts aside."""
    if isinstance(read, list):
        ours = [part for part in cast(list[Any], written or []) if not isinstance(part, Remark)]
        theirs = cast(list[Any], read)
        return len(ours) == len(theirs) and all(map(_means, theirs, ours))
    if isinstance(read, ast.Expr) and isinstance(written, ast.Expr):
        texts = [_documentation(read), _documentation(written)]
        if None not in texts:
            one, other = (inspect.cleandoc(cast(str, text)).strip() for text in texts)
            return one == other
    if isinstance(read, ast.AST):
        parts = [(key, part) for key, part in ast.iter_fields(read) if not isinstance(part, ast.expr_context)]
        return type(read) is type(written) and all(_means(part, getattr(written, key, None)) for key, part in parts)
    return type(read) is type(written) and read == written
