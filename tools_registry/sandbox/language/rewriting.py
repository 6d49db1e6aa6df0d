# ruff: noqa: N802 (the names that visitors of syntax trees must have)
"""Compiles parsed tool source under guards, with RestrictedPython's allow-list of syntax and additions to it.

RestrictedPython refuses every kind of syntax that it does not know. This transformer also allows what models often
write (annotations, `d[k] += 1`, `nonlocal`, `match`, private names, `super()`). It omits guards that have no effect
here: for unpacked tuples, calls with `*args`, and reading items. It inserts calls of names that begin and end with an
underscore, which are refused in tool source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from RestrictedPython.compile import compile_restricted_exec
from RestrictedPython.transformer import INSPECT_ATTRIBUTES, RestrictingNodeTransformer

from tools_registry.sandbox.language.gate import RefusedSource

MAX_WIDTH = 10_000
"""The maximum width or precision of a formatted value."""
_METHODS = """
    init post_init repr str format eq ne lt le gt ge hash bool len iter next reversed contains getitem setitem delitem
    call enter exit int float index round trunc floor ceil abs neg pos invert
    add sub mul truediv floordiv mod pow divmod matmul and or xor lshift rshift
    radd rsub rmul rtruediv rfloordiv rmod rpow rdivmod rmatmul rand ror rxor rlshift rrshift
    iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift
"""
METHOD_DUNDERS = frozenset(f"__{name}__" for name in _METHODS.split())
"""The special methods that a tool's class may define: none for attributes, creation, copying or finalization."""
_PRIVATE = re.compile(r"_[^\W_]\w*(?<!_)")
_WIDE = re.compile(r"\d{5,}")
_WIDE_PERCENT = re.compile(r"%(\([^)]*\))?[-+ #0]*\d*\.?\d{5,}")
_MATCHED_TYPES = {"bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
"""Types whose class patterns read no attributes: `case int():` and `case int(n):`."""


def is_private(name: str) -> bool:
    """Whether a name is private by convention (`_total`), and not the name of a guard (`_getattr_`)."""
    return _PRIVATE.fullmatch(name) is not None


def check_width(text: str) -> None:
    """Checks a format specification.

    Raises:
        ValueError: If its width or precision has five digits or more.
    """
    if _WIDE.search(text):
        raise ValueError(f"a width or precision beyond {MAX_WIDTH}")


def compile_tree(tree: ast.Module, name: str) -> Any:
    """Compiles a tree that `gate.parse` returned, under guards.

    Raises:
        RefusedSource: If the source is outside the policy; with the reasons and lines.
    """
    try:
        result = compile_restricted_exec(tree, filename=f"<{name}>", policy=Rewriter)
    except (SyntaxError, RecursionError, ValueError, MemoryError) as error:
        raise RefusedSource(str(error)) from None
    if result.code is None:
        raise RefusedSource("; ".join(result.errors[:3]))
    return result.code


def _call(place: ast.expr, name: str, *arguments: ast.expr) -> ast.Call:
    for argument in arguments:
        if not hasattr(argument, "lineno"):
            ast.copy_location(argument, place)
    function = ast.copy_location(ast.Name(name, ast.Load()), place)
    return ast.copy_location(ast.Call(function, list(arguments), []), place)


def _annotation_kind(node: ast.expr) -> str:
    """The kind of field that an annotation in a class declares: `field`, `class`, `init` or `kw_only`."""
    if isinstance(node, ast.Subscript):
        return _annotation_kind(node.value)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value.partition("[")[0].rpartition(".")[2]
    return {"ClassVar": "class", "InitVar": "init", "KW_ONLY": "kw_only"}.get(name, "field")


def _annotated(body: Iterable[ast.stmt]) -> list[tuple[str, str]]:
    return [
        (node.target.id, _annotation_kind(node.annotation))
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]


class Rewriter(RestrictingNodeTransformer):
    """RestrictedPython's allow-list of syntax with the additions of this module."""

    def __init__(self, *report: Any) -> None:
        super().__init__(*report)
        self.classes: list[str] = []
        self.methods: set[ast.stmt] = set()
        self.reflected = {"self", "other"}
        self.own_str = False
        self.in_class_body = False

    def visit_Module(self, node: ast.Module) -> Any:
        self.own_str = any(_binds_str(part) for part in ast.walk(node))
        return self.node_contents_visit(node)

    # Names.

    def mangled(self, name: str) -> str:
        """The name after Python's mangling of `__name` in a class."""
        if name.startswith("__") and not name.endswith("__") and self.classes:
            owner = self.classes[-1].lstrip("_")
            return f"_{owner}{name}" if owner else name
        return name

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        if name is None or name in ("print", "printed") or is_private(name):
            return
        super().check_name(node, name)

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self.mangled(node.id)
        if node.id == "print" and not isinstance(node.ctx, ast.Load):
            self.error(node, '"print" is a reserved name.')
        if not (self.in_class_body and node.id in METHOD_DUNDERS):  # `__radd__ = __add__`
            self.check_name(node, node.id)
        return self.node_contents_visit(node)

    def visit_Global(self, node: ast.Global) -> Any:
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.module == "__future__":
            return ast.copy_location(ast.Pass(), node)
        return super().visit_ImportFrom(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        self.check_name(node, node.name)
        known = self.reflected
        self.reflected = known | {node.name or ""}
        self.node_contents_visit(node)
        self.reflected = known
        return node

    # Functions and classes.

    def _check_annotation(self, node: ast.expr | None) -> None:
        """Refuses an annotation with calls. Annotations are dropped and not evaluated."""
        parts = () if node is None else ast.walk(node)
        if any(isinstance(part, ast.Call | ast.NamedExpr | ast.Lambda) for part in parts):
            self.error(node or ast.Pass(), "an annotation must be a type without calls")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self._check_annotation(node.returns)
        node.returns = None
        node.name = self.mangled(node.name)
        if not (node in self.methods and node.name in METHOD_DUNDERS):
            self.check_name(node, node.name)
        self._clear_arguments(node.args)
        self.check_function_argument_names(node)
        return self._inside(node, class_body=False)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._clear_arguments(node.args)
        self.check_function_argument_names(node)
        return self._inside(node, class_body=False)

    def _inside(self, node: Any, class_body: bool) -> Any:
        outside, self.in_class_body = self.in_class_body, class_body
        self.node_contents_visit(node)
        self.in_class_body = outside
        return node

    def _clear_arguments(self, arguments: ast.arguments) -> None:
        spread = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *spread]:
            self._check_annotation(argument.annotation)
            argument.annotation = None
            argument.arg = self.mangled(argument.arg)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        self.check_name(node, node.name)
        for keyword in node.keywords:
            if keyword.arg != "total":  # of a TypedDict
                self.error(node, "a class header takes base classes only")
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.bases = [self.visit(base) for base in node.bases]
        fields = _annotated(node.body)
        self.methods.update(part for part in node.body if isinstance(part, ast.FunctionDef))
        self.classes.append(node.name)
        inside = self._inside(ast.Module(node.body, []), class_body=True)
        self.classes.pop()
        node.body = inside.body
        if fields:
            target = ast.Name("_annotated_", ast.Store())
            node.body.append(_located(ast.Assign([target], _constant(tuple(fields))), node))
        node.keywords = [_located(ast.keyword("metaclass", ast.Name("__metaclass__", ast.Load())), node)]
        return node

    # Assignment.

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self.node_contents_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self._check_annotation(node.annotation)
        if node.value is None:
            self.visit(node.target)
            return ast.copy_location(ast.Pass(), node)
        return self.node_contents_visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Evaluates the owner once, as Python does; its guard checks reading and writing."""
        node.op = self.visit(node.op)
        node.value = self.visit(node.value)
        target = node.target
        if isinstance(target, ast.Name):
            node.target = self.visit(target)
        elif isinstance(target, ast.Subscript):
            self._check_item_owner(target)
            target.value = _call(target, "_write_item_", self.visit(target.value))
            target.slice = self.visit(target.slice)
        else:
            target.attr = self._attribute(target)
            target.value = _call(target, "_augment_", self.visit(target.value), ast.Constant(target.attr))
        return node

    # Attributes and items.

    def _attribute(self, node: ast.Attribute) -> str:
        """The name of an attribute. Records an error if source may not use it."""
        name = self.mangled(node.attr)
        reading = isinstance(node.ctx, ast.Load)
        if name.startswith("_") and name != "_" and not is_private(name) and not (reading and name in METHOD_DUNDERS):
            self.error(node, f'"{name}" is an invalid attribute name because it starts with "_".')
        if name in INSPECT_ATTRIBUTES or name.endswith("__roles__"):
            self.error(node, f'"{name}" is an attribute that leads to frames or code')
        return name

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.ctx, ast.Load):
            if (reflection := self._reflection(node)) is not None:
                return reflection
            name = self._attribute(node)
            return _call(node, "_getattr_", self.visit(node.value), ast.Constant(name))
        node.attr = self._attribute(node)
        node.value = _call(node, "_write_", self.visit(node.value))
        return node

    def _reflection(self, node: ast.Attribute) -> ast.expr | None:
        """The replacement of `type(x).__name__`, `self.__class__` and `self.__dict__`; None for other attributes."""
        match node:
            case ast.Attribute(attr="__name__", value=ast.Call(func=ast.Name("type"), args=[_], keywords=[]) as kind):
                return _call(node, "_name_", self.visit(kind))
            case ast.Attribute(attr="__name__", value=ast.Name() as kind):
                return _call(node, "_name_", self.visit(kind))
            case ast.Attribute(attr="__name__", value=ast.Attribute(attr="__class__") as kind):
                inner = self._reflection(kind)
                return None if inner is None else _call(node, "_name_", inner)
            case ast.Attribute(attr="__class__", value=ast.Name(name) as owner) if name in self.reflected:
                return _call(node, "_type_", self.visit(owner))
            case ast.Attribute(
                attr="update", value=ast.Attribute(attr="__dict__", value=ast.Name("self" | "other") as owner)
            ):
                return _call(node, "_update_", self.visit(owner))
            case ast.Attribute(attr="__dict__", value=ast.Name("self" | "other") as owner):
                return _call(node, "_vars_", self.visit(owner))
            case _:
                return None

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not isinstance(node.ctx, ast.Load):
            self._check_item_owner(node)
            node.value = _call(node, "_write_item_", self.visit(node.value))
            node.slice = self.visit(node.slice)
            return node
        return self.node_contents_visit(node)

    def _check_item_owner(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__":
            self.error(node, "`__dict__` cannot be written to; use setattr()")

    def guard_iter(self, node: Any) -> Any:
        self.node_contents_visit(node)
        node.iter = _call(node.iter, "_getiter_", node.iter)
        return node

    def visit_With(self, node: ast.With) -> Any:
        return self.node_contents_visit(node)

    # Text.

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval", "compile"):
            self.error(node, f"{node.func.id.capitalize()} calls are not allowed.")
        places: list[ast.Name] = []
        if not self.own_str:
            first = node.args[:1] if isinstance(node.func, ast.Name) and node.func.id == "map" else []
            named = [keyword.value for keyword in node.keywords if keyword.arg in ("key", "default")]
            places = [part for part in (node.func, *first, *named) if isinstance(part, ast.Name) and part.id == "str"]
        self.node_contents_visit(node)
        for place in places:
            place.id = "_text_"
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        text = node.left
        formats = isinstance(node.op, ast.Mod) and (
            isinstance(text, ast.JoinedStr) or (isinstance(text, ast.Constant) and isinstance(text.value, str))
        )
        if formats and isinstance(text, ast.Constant) and _WIDE_PERCENT.search(str(text.value)):
            self.error(node, f"a width or precision beyond {MAX_WIDTH}")
        self.node_contents_visit(node)
        return _call(node, "_percent_", node.left, node.right) if formats else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        self.node_contents_visit(node)
        shows = any(isinstance(part, ast.FormattedValue) and _may_show_an_object(part) for part in node.values)
        return _call(node, "_shown_", node) if shows else node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = self.visit(node.value)
        spec = node.format_spec
        for part in spec.values if isinstance(spec, ast.JoinedStr) else []:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None:
                    self.error(node, "a format of a format")
                part.value = _call(part.value, "_width_", self.visit(part.value))
            elif isinstance(part, ast.Constant) and _WIDE.search(str(part.value)):
                self.error(node, f"a width or precision beyond {MAX_WIDTH}")
        return node

    # Patterns.

    def visit_Match(self, node: ast.Match) -> Any:
        return self.node_contents_visit(node)

    def visit_match_case(self, node: ast.match_case) -> Any:
        return self.node_contents_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        """Allows constants, and attributes of the tool's own classes (`case Color.RED:`)."""
        value = node.value
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            value.attr = self._attribute(value)
            value.value = _call(value, "_own_", self.visit(value.value), ast.Constant(value.attr))
        elif not isinstance(value, ast.Constant | ast.UnaryOp):
            self.error(node, "a match pattern may compare with constants only")
        return node

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> Any:
        return node

    def visit_MatchSequence(self, node: ast.MatchSequence) -> Any:
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> Any:
        return self.node_contents_visit(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        self.check_name(node, node.rest)
        for key in node.keys:
            if not isinstance(key, ast.Constant | ast.UnaryOp):
                self.error(node, "a key of a match pattern must be a constant")
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> Any:
        self.check_name(node, node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> Any:
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        kind = node.cls.id if isinstance(node.cls, ast.Name) else ""
        if kind not in _MATCHED_TYPES or node.kwd_attrs or len(node.patterns) > 1:
            self.error(node, "a class pattern must name a builtin type, without attributes")
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        return node


def _constant(value: Any) -> ast.Constant:
    return ast.Constant(value)


def _located(node: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, place))


def _binds_str(node: ast.AST) -> bool:
    match node:
        case ast.Name(id="str", ctx=ast.Store()) | ast.arg(arg="str"):
            return True
        case ast.FunctionDef(name="str") | ast.ClassDef(name="str") | ast.ExceptHandler(name="str"):
            return True
        case ast.alias(name=name, asname=other):
            return (other or name) == "str"
        case ast.MatchAs(name="str") | ast.MatchStar(name="str"):
            return True
        case _:
            return False


def _may_show_an_object(part: ast.FormattedValue) -> bool:
    """Whether a field may show an object. A format such as `{x:.2f}` is refused by functions and plain objects."""
    spec = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
    return part.conversion != -1 or not any(isinstance(piece, ast.Constant) for piece in spec)
