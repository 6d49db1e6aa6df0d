# ruff: noqa: N802, N815 (the names that visitors of syntax trees must have)
"""Compiles parsed tool source under guards, with RestrictedPython's allow-list of syntax and additions to it.

RestrictedPython refuses every kind of syntax that it does not know. This transformer also allows what models often
write (annotations, `d[k] += 1`, `nonlocal`, `match`, private names, `super()`). It omits guards that have no effect
here: for unpacked tuples, calls with `*args`, and reading items. It inserts calls of names that begin and end with an
underscore, which are refused in tool source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from RestrictedPython.compile import compile_restricted_exec
from RestrictedPython.transformer import INSPECT_ATTRIBUTES, RestrictingNodeTransformer

from tools_registry.sandbox.language import hints
from tools_registry.sandbox.language.gate import RefusedSource

_METHODS = """
    new init post_init init_subclass
    repr str format eq ne lt le gt ge hash bool len iter next reversed contains getitem setitem delitem
    call enter exit int float index round trunc floor ceil abs neg pos invert
    add sub mul truediv floordiv mod pow divmod matmul and or xor lshift rshift
    radd rsub rmul rtruediv rfloordiv rmod rpow rdivmod rmatmul rand ror rxor rlshift rrshift
    iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift
"""
METHOD_DUNDERS = frozenset(f"__{name}__" for name in _METHODS.split())
"""The special methods that a tool's class may define: none for attributes, copying or finalization."""
_PRIVATE = re.compile(r"_[^\W_]\w*(?<!_)")
READABLE = frozenset(
    f"__{name}__" for name in ("class", "context", "cause", "dict", "doc", "members", "name", "qualname", "setattr")
)
"""Further special names that a tool can read, where a guard implements them."""
_ENUM_HOOKS = {"_missing_", "_generate_next_value_"}
_MATCHED_TYPES = {"bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
"""Types whose class patterns read no attributes: `case int():` and `case int(n):`."""


def is_private(name: str) -> bool:
    """Whether a name is private by convention (`_total`), and not the name of a guard (`_getattr_`)."""
    return _PRIVATE.fullmatch(name) is not None


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
        self.in_class_body = False
        self.reflected = {"self", "other"}
        """The names whose `__class__` can be read."""
        self.bound: set[str] = set()
        self.matched: list[ast.stmt] = []
        self.count = 0
        self.dispatchers: set[str] = set()

    def visit_Module(self, node: ast.Module) -> Any:
        self.bound = {name for part in ast.walk(node) for name in _bound_names(part)}
        self.dispatchers = {part.name for part in ast.walk(node) if _is_dispatcher(part)}
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
        if hint := hints.ATTRIBUTES.get(name):
            self.error(node, f'"{name}" is not available to tools; {hint}')
            return
        super().check_name(node, name)

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self.mangled(node.id)
        if node.id == "print" and not isinstance(node.ctx, ast.Load):
            self.error(node, '"print" is a reserved name.')
        if not (self.in_class_body and node.id in METHOD_DUNDERS):  # `__radd__ = __add__`
            self.check_name(node, node.id)
        return self.node_contents_visit(node)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> Any:
        for name in node.names:
            self.check_name(node, name)
        return node

    visit_Nonlocal = visit_Global

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.module == "__future__":
            return ast.copy_location(ast.Pass(), node)
        return super().visit_ImportFrom(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        """`except:` and `except BaseException:` do not catch what ends a generator."""
        self.check_name(node, node.name)
        if node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "BaseException"):
            node.type = ast.copy_location(ast.Name("Exception", ast.Load()), node)
        known = self.reflected
        self.reflected = known | {node.name or ""}
        self.node_contents_visit(node)
        self.reflected = known
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        if any(map(_leaves, node.finalbody)):
            self.error(node, "`finally` must not leave itself by return, break, continue or yield")
        return self.node_contents_visit(node)

    # Functions and classes.

    def _check_annotation(self, node: ast.expr | None) -> None:
        """Refuses an annotation with calls. Annotations are dropped and not evaluated."""
        parts = () if node is None else ast.walk(node)
        if any(isinstance(part, ast.Call | ast.NamedExpr | ast.Lambda) for part in parts):
            self.error(node or ast.Pass(), "an annotation must be a type without calls")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self._check_annotation(node.returns)
        first = node.args.args[0].annotation if node.args.args else None
        if first is not None:  # annotations are dropped
            node.decorator_list = [self._registering(part, first) for part in node.decorator_list]
        node.returns = None
        node.name = self.mangled(node.name)
        if not (node in self.methods and (node.name in METHOD_DUNDERS or node.name in _ENUM_HOOKS)):
            self.check_name(node, node.name)
        self._clear_arguments(node.args)
        self.check_function_argument_names(node)
        return self._inside(node, class_body=False)

    def _registering(self, decorator: ast.expr, kind: ast.expr) -> ast.expr:
        """`@f.register(kind)` for `@f.register`, if `f` is a function of `singledispatch`."""
        match decorator:
            case ast.Attribute(value=ast.Name(id=name), attr="register") if name in self.dispatchers:
                return _located(ast.Call(decorator, [kind], []), decorator)
            case _:
                return decorator

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
        options: list[ast.keyword] = []
        for keyword in node.keywords:
            if keyword.arg == "metaclass" and ast.unparse(keyword.value).rpartition(".")[2] == "ABCMeta":
                node.bases.append(keyword.value)
            elif keyword.arg in (None, "metaclass"):
                self.error(node, "a class has no metaclass; for an abstract class inherit from abc.ABC")
            else:
                self.check_name(keyword, keyword.arg)
                options.append(ast.keyword(keyword.arg, self.visit(keyword.value)))
        node.body = [part for part in node.body if not _is_slots(part)]
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.bases = [self.visit(base) for base in node.bases]
        fields = _annotated(node.body)
        self.methods.update(part for part in node.body if isinstance(part, ast.FunctionDef))
        self.classes.append(node.name)
        inside = self._inside(ast.Module(node.body, []), class_body=True)
        self.classes.pop()
        node.body = inside.body
        if fields:
            target = ast.Name("__annotations__", ast.Store())
            names = ast.Dict([_constant(name) for name, _ in fields], [_constant(kind) for _, kind in fields])
            node.body.append(_located(ast.Assign([target], names), node))
        builder = ast.keyword("metaclass", ast.Name("__metaclass__", ast.Load()))
        node.keywords = [_located(keyword, node) for keyword in (builder, *options)]
        return node

    # Assignment.

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        self._check_annotation(node.annotation)
        if node.value is None:
            self.visit(node.target)
            return ast.copy_location(ast.Pass(), node)
        return self.node_contents_visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Evaluates the owner once, as Python does; its guard checks reading and writing."""
        formats = isinstance(node.op, ast.Mod) and not _is_number(node.value)
        node.op = self.visit(node.op)
        node.value = self.visit(node.value)
        target = node.target
        if formats and isinstance(target, ast.Name):
            old = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            changed = _call(target, "_percent_in_place_", self.visit(old), node.value)
            return ast.copy_location(ast.Assign([self.visit(target)], changed), node)
        if formats:
            self.error(node, "`%=` on an item or an attribute takes a numeric constant; write x.a = x.a % y")
        if isinstance(target, ast.Name):
            node.target = self.visit(target)
        elif isinstance(target, ast.Subscript):
            node.target = self.visit_Subscript(target)
        else:
            target.attr = self._attribute(target)
            target.value = _call(target, "_augment_", self.visit(target.value), ast.Constant(target.attr))
        return node

    # Attributes and items.

    def _attribute(self, node: ast.Attribute) -> str:
        """The name of an attribute. Records an error if source may not use it."""
        name = self.mangled(node.attr)
        special = isinstance(node.ctx, ast.Load) and (name in METHOD_DUNDERS or name in READABLE)
        if name.startswith("_") and name != "_" and not is_private(name) and not special:
            hint = hints.ATTRIBUTES.get(name, "")
            self.error(node, f'"{name}" is not available to tools{hint and "; "}{hint}')
        if name in INSPECT_ATTRIBUTES or name.endswith("__roles__"):
            self.error(node, f'"{name}" is an attribute that leads to frames or code')
        return name

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        name = self._attribute(node)
        owner = node.value
        if name == "__name__" and (value := _typed(owner)) and "type" not in self.bound:
            return _call(node, "_type_name_", self.visit(value))
        if name == "__class__" and not (isinstance(owner, ast.Name) and owner.id in self.reflected):
            self.error(node, '"__class__" is not available to tools; use type(x)')
        if not isinstance(node.ctx, ast.Load):
            node.attr = name
            node.value = _call(node, "_write_", self.visit(node.value), ast.Constant(name))
            return node
        if name == "update" and isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__":
            return _call(node, "_update_", self.visit(node.value.value))
        return _call(node, "_getattr_", self.visit(node.value), ast.Constant(name))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        written = not isinstance(node.ctx, ast.Load)
        if written and isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__":
            self.error(node, "`__dict__` cannot be written to; use setattr()")
        return self.node_contents_visit(node)

    def _as_it_is(self, node: Any) -> Any:
        return self.node_contents_visit(node)

    guard_iter = visit_Assign = visit_JoinedStr = visit_match_case = visit_MatchSequence = visit_MatchOr = _as_it_is

    def visit_With(self, node: ast.With) -> Any:
        self.node_contents_visit(node)
        for item in node.items:
            item.context_expr = _call(item.context_expr, "_manager_", item.context_expr)
        return node

    # Text.

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval", "compile"):
            self.error(node, f"{node.func.id}: {hints.NAMES[node.func.id]}")
        return self.node_contents_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        formats = isinstance(node.op, ast.Mod) and not _is_number(node.left) and not _is_number(node.right)
        self.node_contents_visit(node)
        return _call(node, "_percent_", node.left, node.right) if formats else node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        shows = _may_show_an_object(node)
        self.node_contents_visit(node)
        if shows:
            node.value = _call(node.value, "_shown_", node.value)
        return node

    # Patterns.

    def visit_Match(self, node: ast.Match) -> Any:
        """Checks the classes of patterns before the statement, and binds them to names that source cannot use."""
        outside, self.matched = self.matched, []
        self.node_contents_visit(node)
        statements, self.matched = [*self.matched, node], outside
        return statements

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        """Allows constants and dotted names (`case Color.RED:`)."""
        value = node.value
        if isinstance(value, ast.Attribute):
            name = self._attribute(value)
            owner = _call(value, "_constant_", self.visit(value.value), ast.Constant(name))
            node.value = ast.copy_location(ast.Attribute(owner, "value", ast.Load()), value)
        elif not isinstance(value, ast.Constant | ast.UnaryOp):
            self.error(node, "a match pattern may compare with constants only")
        return node

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> Any:
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        self.check_name(node, node.rest)
        if not all(isinstance(key, ast.Constant | ast.UnaryOp) for key in node.keys):
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
        builtin = isinstance(node.cls, ast.Name) and node.cls.id in _MATCHED_TYPES - self.bound
        if builtin and (node.kwd_attrs or len(node.patterns) > 1):
            self.error(node, "a pattern of a builtin type has no attributes")
        for name in node.kwd_attrs:
            if name in ("format", "format_map"):
                self.error(node, f"a pattern cannot read {name!r}")
            self._attribute(_located(ast.Attribute(ast.Constant(0), name, ast.Store()), node))
        if not builtin:
            self.count += 1
            name, reads = f"_class_{self.count}_", bool(node.kwd_attrs or node.patterns)
            check = _call(node.cls, "_matchable_", self.visit(node.cls), ast.Constant(reads))
            self.matched.append(_located(ast.Assign([ast.Name(name, ast.Store())], check), node))
            node.cls = ast.copy_location(ast.Name(name, ast.Load()), node.cls)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        node.kwd_patterns = [self.visit(pattern) for pattern in node.kwd_patterns]
        return node


def _leaves(node: ast.AST, loop: bool = False) -> bool:
    """Whether a statement of a `finally` block may drop the exception that is on its way."""
    if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
        return False
    if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) or (
        isinstance(node, ast.Break | ast.Continue) and not loop
    ):
        return True
    loop = loop or isinstance(node, ast.For | ast.While)
    return any(_leaves(part, loop) for part in ast.iter_child_nodes(node))


def _is_dispatcher(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(part).rpartition(".")[2] == "singledispatch" for part in node.decorator_list
    )


def _constant(value: Any) -> ast.Constant:
    return ast.Constant(value)


def _located(node: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, place))


def _typed(node: ast.expr) -> ast.expr | None:
    """The value of `type(value)` or `value.__class__`."""
    match node:
        case ast.Call(func=ast.Name("type"), args=[value], keywords=[]) | ast.Attribute(value=value, attr="__class__"):
            return value
        case _:
            return None


def _bound_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.MatchAs(name=str(name)):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name
        case _:
            pass


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_slots(node: ast.stmt) -> bool:
    """Whether a statement is `__slots__ = ...`, which changes nothing that a tool can see."""
    return isinstance(node, ast.Assign) and any(
        isinstance(to, ast.Name) and to.id == "__slots__" for to in node.targets
    )


def _may_show_an_object(part: ast.FormattedValue) -> bool:
    """Whether a field may show an object. A format such as `{x:.2f}` is refused by functions and plain objects."""
    spec = part.format_spec.values if isinstance(part.format_spec, ast.JoinedStr) else []
    return part.conversion != -1 or not any(isinstance(piece, ast.Constant) for piece in spec)
