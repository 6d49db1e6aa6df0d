"""What a tool promises: `ToolSpec` from a signature and a docstring; `ToolCall` and `Observation`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

import docstring_parser
from docstring_parser.common import Docstring
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic_core import to_jsonable_python

from tools_registry.specs.callables import SpecError, named, signature_of
from tools_registry.specs.schema import (
    JSONSchema,
    SchemaError,
    Validator,
    check_schema,
    from_annotation,
    type_label,
    validator,
    within_subset,
)
from tools_registry.specs.values import CaseError, clean

Effect = Literal["read", "write"]
F = TypeVar("F", bound=Callable[..., Any])


class Record(BaseModel):
    """The base of every record: frozen, and no field that is not declared."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ToolSpec(Record):
    """A tool as models see it: never its source."""

    name: str
    """A Python identifier."""
    description: str = ""
    """What it does, edge cases included."""
    parameters: JSONSchema
    """JSON Schema of the arguments: an object with `properties` and `required`."""
    returns: JSONSchema = Field(default_factory=dict)
    """JSON Schema of the result, with a `description`."""
    effect: Effect = "read"
    """`write` if a call changes something outside itself, so that no replay repeats it by accident."""

    @cached_property
    def check(self) -> Validator:
        """Checks an arguments object against `parameters`; None if it fits, else what is wrong."""
        return validator(self.parameters)

    def __getstate__(self) -> dict[Any, Any]:
        """Without the checker, which is made again where it is needed."""
        state = super().__getstate__()
        return {**state, "__dict__": {key: value for key, value in state["__dict__"].items() if key != "check"}}

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(self.parameters.get("properties", {}))

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the parameters without a default."""
        return tuple(self.parameters.get("required", ()))

    def signature(self) -> str:
        """The call as a reader expects it: `mean(numbers: list[number]) -> number`."""
        fields = self.parameters.get("properties", {})
        shown = [
            f"{name}: {type_label(field)}" + ("" if name in self.required else f" = {field.get('default')!r}")
            for name, field in fields.items()
        ]
        return f"{self.name}({', '.join(shown)}) -> {type_label(self.returns)}"

    def headline(self) -> str:
        """Signature and the description's first line."""
        first = self.description.partition("\n")[0]
        return f"{self.signature()}: {first}" if first else self.signature()

    def document(self) -> str:
        """Signature, description, parameters and result as text for a prompt."""
        lines = [self.signature()]
        lines += [f"    {line}" for line in self.description.splitlines() if line.strip()]
        for name, field in self.parameters.get("properties", {}).items():
            if note := field.get("description"):
                lines.append(f"    - {name}: {' '.join(note.split())}")
        if note := self.returns.get("description"):
            lines.append(f"    Returns: {' '.join(note.split())}")
        return "\n".join(lines)

    def openai(self) -> dict[str, Any]:
        """The OpenAI function schema of the tool."""
        about = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": about}

    def mcp(self) -> dict[str, Any]:
        """The Model Context Protocol definition of the tool."""
        hints = {"readOnlyHint": self.effect == "read"}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.parameters,
            "annotations": hints,
        }


def strict_json(value: Any) -> Any:
    """A strict JSON copy of a field's value, for validators.

    Raises:
        ValueError: If it is not JSON, with what was found.
    """
    try:
        return clean(value)
    except CaseError as error:
        raise ValueError(error.message) from None


def admitted(specs: Mapping[str, ToolSpec], name: str, args: dict[str, Any]) -> dict[str, Any]:
    """A strict JSON copy of the arguments of a call, if it may be made.

    Raises:
        CaseError: `unknown_tool` or `invalid_arguments`.
    """
    if name not in specs:
        raise CaseError("unknown_tool", f"there is no tool {name!r}")
    try:
        given = clean(args)
    except CaseError as error:
        raise CaseError("invalid_arguments", error.message) from None
    if (problem := specs[name].check(given)) is not None:
        raise CaseError("invalid_arguments", problem)
    return given


class ToolCall(Record):
    """A tool's name and its arguments."""

    tool: str
    args: dict[str, Any] = Field(default_factory=dict)


class ToolError(Record):
    """Why a call gave no value: a closed type for programs, a message for whoever can mend it."""

    type: str
    """unknown_tool, invalid_arguments, tool_error, timeout, memory, crash, not_json, too_large, refused…"""
    message: str


class Observation(Record):
    """What a call gave: a JSON value, or an error."""

    value: Any = None
    error: ToolError | None = None
    refused_by: str = ""
    """The controller that did not allow the call, or `approval`; empty if the call was made."""

    @property
    def ok(self) -> bool:
        """Whether the call gave a value."""
        return self.error is None

    @classmethod
    def failed(cls, type: str, message: str) -> Observation:
        """An observation that carries an error."""
        return cls(error=ToolError(type=type, message=message))

    @classmethod
    def refused(cls, reason: str, by: str) -> Observation:
        """An observation of a call that was not allowed."""
        return cls(error=ToolError(type="refused", message=reason), refused_by=by)


def tool(*, effect: Effect = "read", name: str | None = None) -> Callable[[F], F]:
    """Marks a function of one's own: `@tool(effect="write")` if a call changes something."""

    def mark(function: F) -> F:
        function.__flowmind_tool__ = (name, effect)  # pyright: ignore[reportFunctionMemberAccess]
        return function

    return mark


def spec_of(tool: Any) -> ToolSpec:
    """The spec of a user's own tool, from its type hints and docstring (any common style).

    Args:
        tool: Whatever `tools_registry.specs.callables.named` takes.

    Raises:
        SpecError: If it is no tool, or a parameter has no name of its own (`*args`, `**kwargs`) or no JSON type.
    """
    function, name, effect, text, notes = named(tool)
    doc = _read_doc(text, docstring_parser.DocstringStyle.AUTO)
    signature = signature_of(function, name)
    fields: dict[str, JSONSchema] = {}
    required: list[str] = []
    for parameter in signature.parameters.values():
        fields[parameter.name] = _schema_of(parameter.annotation, name)
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        else:
            fields[parameter.name] = {**fields[parameter.name], "default": _json_default(parameter, name)}
    returns = _schema_of(signature.return_annotation, name)
    return _spec(name, doc, fields, required, within_subset(returns), cast(Effect, effect), notes)


def specs_of(tools: Any) -> Mapping[str, ToolSpec]:
    """The specs of tools, by name.

    Args:
        tools: Functions, specs, or objects with a `spec`, as one tool, a list or a dict by name; or an environment.

    Raises:
        SpecError: If something cannot be a tool.
    """
    if hasattr(tools, "specs"):
        return tools.specs
    if isinstance(tools, Mapping):
        by_name = cast(Mapping[str, Any], tools)
        return {name: spec if isinstance(spec, ToolSpec) else _spec_of(spec) for name, spec in by_name.items()}
    listed = cast(Sequence[Any], tools) if isinstance(tools, Sequence) else [tools]
    return {spec.name: spec for spec in map(_spec_of, listed)}


def _spec_of(tool: Any) -> ToolSpec:
    if isinstance(tool, ToolSpec):
        return tool
    spec = getattr(tool, "spec", None)
    return spec if isinstance(spec, ToolSpec) else spec_of(tool)


def spec_from_source(source: str, name: str | None = None) -> ToolSpec:
    """The spec of a function in untrusted source: read as syntax, nothing of it is run.

    Args:
        source: Python source that defines the function at top level.
        name: Which function; the last one defined, if not given.

    Raises:
        SpecError: If there is no such function, or a parameter has no JSON type.
    """
    found = [node for node in _functions(source) if name in (None, node.name)]
    if not found:
        raise SpecError(f"tool source defines no function {name!r}")
    return spec_from_ast(found[-1])


def specs_from_source(source: str) -> list[ToolSpec]:
    """The specs of all functions at the top level of untrusted source.

    Raises:
        SpecError: If there is none, or a parameter has no JSON type.
    """
    return [spec_from_ast(node) for node in _functions(source)]


def _functions(source: str) -> list[ast.FunctionDef]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SpecError(f"tool source does not parse: {error}") from None
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise SpecError("tool source defines no function")
    return functions


def spec_from_ast(node: ast.FunctionDef) -> ToolSpec:
    """The spec of a function's syntax tree.

    Raises:
        SpecError: If a parameter has no JSON type or cannot be passed by name.
    """
    spread = [*node.args.posonlyargs, *filter(None, (node.args.vararg, node.args.kwarg))]
    if spread:
        raise SpecError(f"tool {node.name!r}: parameter {spread[0].arg!r} must be passed by its name")
    plain = node.args.args
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(node.args.defaults)) + [*node.args.defaults]
    pairs = [
        *zip(plain, defaults, strict=True),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    fields: dict[str, JSONSchema] = {}
    required: list[str] = []
    try:
        for parameter, default in pairs:
            fields[parameter.arg] = from_annotation(parameter.annotation)
            if default is None:
                required.append(parameter.arg)
            else:
                fields[parameter.arg]["default"] = clean(ast.literal_eval(default))
        returns = from_annotation(node.returns)
    except (SchemaError, CaseError, ValueError, TypeError, RecursionError) as error:
        raise SpecError(f"tool {node.name!r}: {error}") from None
    doc = _read_doc(ast.get_docstring(node) or "", docstring_parser.DocstringStyle.GOOGLE)
    return _spec(node.name, doc, fields, required, returns, "read")


def _read_doc(text: str, style: docstring_parser.DocstringStyle) -> Docstring:
    """A docstring's parts; one that does not follow its style is a description as a whole."""
    try:
        return docstring_parser.parse(text, style)
    except docstring_parser.ParseError:
        whole = Docstring()
        whole.short_description = text
        return whole


def _json_default(parameter: inspect.Parameter, name: str) -> Any:
    try:
        return clean(to_jsonable_python(parameter.default))
    except (CaseError, ValueError) as error:
        raise SpecError(f"tool {name!r}: the default of {parameter.name!r} is no JSON value: {error}") from None


def _schema_of(annotation: Any, name: str) -> JSONSchema:
    if annotation in (inspect.Parameter.empty, Any):
        return {}
    try:
        return _without_titles(TypeAdapter(annotation).json_schema())
    except Exception as error:  # pydantic raises several unrelated classes here
        raise SpecError(f"tool {name!r}: annotation {annotation!r} has no JSON type: {error}") from None


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, dict):
        items = cast(dict[str, Any], schema)
        return {
            key: _titles_off_each(item) if key in ("properties", "$defs") else _without_titles(item)
            for key, item in items.items()
            if key != "title"
        }
    if isinstance(schema, list):
        return [_without_titles(item) for item in cast(list[Any], schema)]
    return schema


def _titles_off_each(schemas: dict[str, Any]) -> dict[str, Any]:
    """Named schemas without their titles; a name may be `title` itself."""
    return {name: _without_titles(schema) for name, schema in schemas.items()}


def _take_definitions(fields: dict[str, JSONSchema], tool: str) -> dict[str, JSONSchema]:
    """Moves the `$defs` out of the parameters' schemas, as a `$ref` points to those of the whole.

    Raises:
        SpecError: If two parameters mean different types by the same name.
    """
    definitions: dict[str, JSONSchema] = {}
    for field in fields.values():
        for name, schema in field.pop("$defs", {}).items():
            if definitions.setdefault(name, schema) != schema:
                raise SpecError(f"tool {tool!r}: two types are called {name!r}; rename one")
    return definitions


def _spec(
    name: str,
    doc: Docstring,
    fields: dict[str, JSONSchema],
    required: list[str],
    returns: JSONSchema,
    effect: Effect,
    notes: Mapping[str, str] | None = None,
) -> ToolSpec:
    notes = {param.arg_name: param.description for param in doc.params if param.description} | dict(notes or {})
    definitions = _take_definitions(fields, name)
    described = {
        key: {**field, "description": notes[key].strip()} if key in notes else field for key, field in fields.items()
    }
    parts = [doc.short_description, doc.long_description]
    parts += [f"Error: {item.description}" for item in doc.raises if item.description]
    if doc.returns and doc.returns.description:
        returns = {**returns, "description": doc.returns.description.strip()}
    parameters: JSONSchema = {"type": "object", "properties": described, "required": required}
    parameters["additionalProperties"] = False
    if definitions:
        parameters["$defs"] = definitions
    try:
        check_schema(parameters)
    except SchemaError as error:
        raise SpecError(f"tool {name!r}: {error}") from None
    description = "\n".join(part.strip() for part in parts if part)
    return ToolSpec(name=name, description=description, parameters=parameters, returns=returns, effect=effect)
