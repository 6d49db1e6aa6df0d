"""The families of the suite, in their order."""

from __future__ import annotations

from functools import cache

from flowbench_synth.api.blueprint import Family
from flowbench_synth.api.families import branches, early_exit, filters, joins, lookups, paging, polling, totals


@cache
def families() -> tuple[Family, ...]:
    """All families."""
    return (
        lookups.FAMILY, branches.FAMILY, filters.FAMILY, totals.FAMILY, paging.FAMILY, polling.FAMILY,
        early_exit.FAMILY, joins.FAMILY,
    )  # fmt: skip
