"""Parts of long tables of cases of one kind: some belong to the suite, all to the tests that take long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(count: int, cases: Iterable[Any]) -> list[Any]:
    """The cases of a table, for `parametrize`: the first of each `count` belongs to the suite, the others are slow."""
    return [
        case if place % count == 0 else pytest.param(case, marks=pytest.mark.slow) for place, case in enumerate(cases)
    ]
