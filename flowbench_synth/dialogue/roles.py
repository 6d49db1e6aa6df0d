"""The roles of the dialogue benchmark, and its composition (FlowBench, tables 2, 6 and 8)."""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple

from flowbench_synth.dialogue import domains
from flowbench_synth.dialogue.blueprint import RoleBlueprint
from flowmind.base.errors import InputError


class Share(NamedTuple):
    """What a domain holds in the whole benchmark."""

    roles: int
    scenarios: int
    single: int
    """Sessions with one goal."""
    cross: int
    """Sessions with goals of two or three scenarios of one role."""


COMPOSITION: dict[str, Share] = {
    "Customer Service": Share(4, 12, 66, 48),
    "Personal Assistant": Share(3, 7, 59, 33),
    "E-tailing Recommendation": Share(2, 5, 21, 11),
    "Travel & Transportation": Share(4, 9, 78, 57),
    "Logistics Solutions": Share(3, 6, 38, 23),
    "Robotic Process Automation": Share(6, 12, 73, 29),
}
"""By domain: 22 roles, 51 scenarios, 335 and 201 sessions in all."""


@cache
def roles() -> tuple[RoleBlueprint, ...]:
    """All roles, by domain in the order of `COMPOSITION` and by id.

    Raises:
        InputError: If a role has a domain that does not exist.
    """
    every = [role_of(name) for name in role_names()]
    order = list(COMPOSITION)
    for role in every:
        if role.domain not in COMPOSITION:
            raise InputError(f"{role.id}: the domain {role.domain!r} is none of {', '.join(order)}")
    return tuple(sorted(every, key=lambda role: (order.index(role.domain), role.id)))


def role_names() -> list[str]:
    """The modules of `domains` that hold a role."""
    names = sorted(module.name for module in pkgutil.iter_modules(domains.__path__))
    return [name for name in names if not name.endswith("_tools") and not name.startswith("_")]


def role_of(name: str) -> RoleBlueprint:
    """The role of a module of `domains`.

    Raises:
        InputError: If there is no such module, or it holds no role.
    """
    if name not in role_names():
        raise InputError(f"there is no role {name!r}; there are {', '.join(role_names())}")
    role = getattr(import_module(f"{domains.__name__}.{name}"), "ROLE", None)
    if not isinstance(role, RoleBlueprint):
        raise InputError(f"{name}: the module has no ROLE, a RoleBlueprint")
    return role


def missing(present: Sequence[RoleBlueprint]) -> list[str]:
    """For each domain that lacks roles or scenarios, a line that says how many."""
    lines: list[str] = []
    for domain, share in COMPOSITION.items():
        mine = [role for role in present if role.domain == domain]
        scenarios = sum(len(role.scenarios) for role in mine)
        if (len(mine), scenarios) != (share.roles, share.scenarios):
            lines.append(f"{domain}: {len(mine)} of {share.roles} roles, {scenarios} of {share.scenarios} scenarios")
    return lines
