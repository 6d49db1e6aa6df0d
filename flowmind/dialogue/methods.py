"""The methods of a dialogue agent: the format of its knowledge, its controllers, and when they speak.

All methods share one prompt, one protocol and one budget, so that a comparison of two methods compares nothing else.
"""

from __future__ import annotations

from typing import Literal

from flowmind.base.errors import InputError
from flowmind.dialogue.procedures.controllers import CONTROLLERS
from flowmind.dialogue.prompting import FORMATS
from tools_registry.specs.spec import Record

Stage = Literal["pre", "post"]
CONTROLLER_NAMES = tuple(CONTROLLERS)
"""The names of all controllers, in the order in which they are asked."""
STAGES: tuple[Stage, ...] = ("pre", "post")
_FLOWAGENT = ("dependencies", "repetition", "length")


class Method(Record):
    """How an agent is kept to a procedure."""

    format: str
    """The format of the knowledge, one of `FORMATS`."""
    controllers: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = STAGES
    """`pre`: controllers advise before a decision. `post`: they refuse a decision."""

    def changed(
        self, format: str = "", controllers: tuple[str, ...] | None = None, stages: tuple[str, ...] | None = None
    ) -> Method:
        """The method with another format, other controllers or other stages.

        Raises:
            InputError: If a name is unknown.
        """
        for kind, names, known in (
            ("format", (format,) if format else (), FORMATS),
            ("controller", controllers or (), CONTROLLER_NAMES),
            ("stage", stages or (), STAGES),
        ):
            if unknown := [name for name in names if name not in known]:
                raise InputError(f"unknown {kind} {unknown[0]!r}; take one of: {', '.join(known)}")
        return Method(
            format=format or self.format,
            controllers=self.controllers if controllers is None else controllers,
            stages=self.stages if stages is None else tuple(stage for stage in STAGES if stage in stages),
        )


METHODS: dict[str, Method] = {
    "react": Method(format="text"),
    "flowagent": Method(format="pdl", controllers=_FLOWAGENT),
    "flowagent-post": Method(format="pdl", controllers=_FLOWAGENT, stages=("pre",)),
    "flowagent-post-pre": Method(format="pdl", controllers=_FLOWAGENT, stages=()),
    "flowagent+": Method(format="pdl", controllers=CONTROLLER_NAMES),
}
"""By name. `react`: a prompt with the knowledge, in any format (FlowBench). `flowagent`: FlowAgent with its three
controllers. `flowagent-post`: without refusals; `flowagent-post-pre`: also without advice (FlowAgent, table 5).
`flowagent+`: all controllers."""


def method_named(name: str) -> Method:
    """The method of a name.

    Raises:
        InputError: If there is none.
    """
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}; take one of: {', '.join(METHODS)}")
    return METHODS[name]
