"""The families of the suite, in their order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from flowbench_synth.api.blueprint import Family
from flowbench_synth.api.families import (
    back_office,
    branches,
    cloud,
    early_exit,
    filters,
    front_office,
    household,
    industry,
    joins,
    leisure,
    lookups,
    paging,
    polling,
    retail,
    totals,
    town,
)

_DOMAINS = (retail, cloud, back_office, front_office, town, industry, leisure, household)
"""Modules with one task of each family, over four worlds each; the first half is for tuning, the rest for reporting."""


@cache
def families() -> tuple[Family, ...]:
    """All families."""
    own = (
        lookups.FAMILY, branches.FAMILY, filters.FAMILY, totals.FAMILY, paging.FAMILY, polling.FAMILY,
        early_exit.FAMILY, joins.FAMILY,
    )  # fmt: skip
    return tuple(
        replace(family, tasks=(*family.tasks, *(module.TASKS[family.name] for module in _DOMAINS))) for family in own
    )
