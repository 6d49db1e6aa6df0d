"""Intervals and tests against published or hand-worked values."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from flowmind.evaluation.statistics import Correlation, Mean, Rate, correlation, mcnemar, mean_of, rate, wilson


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
        (5, 10, 0.2366, 0.7634),
    ],
)
def test_wilson_gives_the_published_intervals(count: int, of: int, low: float, high: float) -> None:
    assert wilson(count, of) == pytest.approx((low, high), abs=5e-5)


def test_no_trials_tell_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert rate(0, 0) == Rate(percent=0.0, count=0, of=0, low=0.0, high=100.0)


def test_a_rate_is_in_percent_with_its_count() -> None:
    assert rate(1, 3) == Rate(percent=33.33, count=1, of=3, low=6.15, high=79.23)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (9, 3, 0.14599609375), (3, 9, 0.14599609375)],
)
def test_mcnemar_is_exact(first: int, second: int, p: float) -> None:
    pairs = [(True, False)] * first + [(False, True)] * second + [(True, True)] * 4 + [(False, False)] * 2
    found = mcnemar(pairs)
    assert (found.first_only, found.second_only, found.both, found.neither) == (first, second, 4, 2)
    assert (found.p, found.cases) == (p, first + second + 6)


def test_mcnemar_equals_the_count_over_all_ways_to_split() -> None:
    for differing in range(1, 9):
        heads = Counter(sum(way) for way in itertools.product((0, 1), repeat=differing))
        for first in range(differing + 1):
            as_uneven = sum(ways for k, ways in heads.items() if abs(2 * k - differing) >= abs(2 * first - differing))
            pairs = [(True, False)] * first + [(False, True)] * (differing - first)
            assert mcnemar(pairs).p == pytest.approx(as_uneven / 2**differing)


def test_the_order_of_cases_does_not_matter() -> None:
    pairs = [(True, False)] * 7 + [(False, True)] * 2 + [(True, True)] * 5
    mixed = pairs.copy()
    random.Random(3).shuffle(mixed)
    assert mcnemar(mixed) == mcnemar(pairs)


def test_a_mean_bears_students_interval() -> None:
    # Three values, two degrees of freedom: 22 ± 4.3027 * 2 / sqrt(3).
    assert mean_of([20.0, 22.0, 24.0]) == Mean(mean=22.0, low=17.03, high=26.97, of=3)
    assert mean_of([20.0]) == Mean(mean=20.0, low=None, high=None, of=1)
    assert mean_of([5.0] * 40) == Mean(mean=5.0, low=5.0, high=5.0, of=40)
    with pytest.raises(ValueError, match="no value"):
        mean_of([])


def test_a_correlation_has_fishers_interval() -> None:
    # atanh 0.5 = 0.5493, 1.96 / sqrt(8 - 3) = 0.8765: tanh of -0.3272 and 1.4258.
    base = [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 1.0)]
    found = correlation(base)
    assert found is not None
    assert (found.r, found.of) == (0.5, 8)
    assert (found.low, found.high) == (-0.316, 0.8908)
    assert correlation([(1.0, 2.0), (2.0, 4.0), (3.0, 6.0), (4.0, 8.0)]) == Correlation(r=1.0, low=1.0, high=1.0, of=4)


def test_what_does_not_vary_correlates_with_nothing() -> None:
    assert correlation([(1.0, value) for value in (1.0, 2.0, 3.0, 4.0)]) is None
    assert correlation([(1.0, 1.0), (2.0, 2.0), (3.0, 4.0)]) is None
