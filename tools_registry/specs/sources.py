"""`ToolSource`: untrusted source of a tool, with its spec. A sandbox runs it."""

from __future__ import annotations

from tools_registry.specs.spec import Record, ToolSpec, spec_from_source, specs_from_source


class ToolSource(Record):
    """Untrusted source of one tool, with its spec."""

    spec: ToolSpec
    source: str

    @classmethod
    def parse(cls, source: str, name: str | None = None) -> ToolSource:
        """Reads the spec off the source.

        Raises:
            SpecError: If the source defines no such function or a parameter has no JSON type.
        """
        return cls(spec=spec_from_source(source, name), source=source)

    @classmethod
    def parse_all(cls, source: str) -> list[ToolSource]:
        """A tool for each function at the top level of a file; each keeps the whole file as its source.

        Raises:
            SpecError: If there is no function, or a parameter has no JSON type.
        """
        return [ToolSource(spec=spec, source=source) for spec in specs_from_source(source)]
