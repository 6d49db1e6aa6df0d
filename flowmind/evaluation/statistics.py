"""Confidence intervals of rates, means and correlations, and tests of differences."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from random import Random

from tools_registry.specs.spec import Record

_Z = 1.959964
"""The normal quantile of 97.5 %."""
# Student's t, 97.5 %, for 1 to 30 degrees of freedom.
_T = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
    2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484,
    2.0452, 2.0423,
)  # fmt: skip


class Rate(Record):
    """A share in percent, with its counts and its 95 % Wilson interval in percent."""

    percent: float
    count: int
    of: int
    low: float
    high: float


class McNemar(Record):
    """The exact McNemar test of two modes on the same cases."""

    first_only: int
    second_only: int
    both: int
    neither: int
    p: float
    """Two-sided, exact."""

    @property
    def cases(self) -> int:
        """The number of cases that both modes completed."""
        return self.first_only + self.second_only + self.both + self.neither


class Mean(Record):
    """A mean over runs with its 95 % interval (Student's t); None for a single run."""

    mean: float
    low: float | None
    high: float | None
    of: int


def wilson(count: int, of: int, z: float = _Z) -> tuple[float, float]:
    """The score interval of a share, as fractions; (0, 1) without trials (E. B. Wilson, JASA 1927)."""
    if of == 0:
        return 0.0, 1.0
    share = count / of
    middle = share + z * z / (2 * of)
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    scale = 1 + z * z / of
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def rate(count: int, of: int) -> Rate:
    """A share in percent with its interval."""
    low, high = wilson(count, of)
    return Rate(percent=percent(count, of), count=count, of=of, low=round(100 * low, 2), high=round(100 * high, 2))


def percent(count: int, of: int) -> float:
    """A share in percent, rounded to two decimals; 0 if `of` is 0."""
    return round(100 * count / of, 2) if of else 0.0


def mcnemar(pairs: Sequence[tuple[bool, bool]]) -> McNemar:
    """The exact McNemar test (Q. McNemar, Psychometrika 1947, with the binomial distribution instead of its limit).

    The null hypothesis: in a case that only one of two modes passes, both are equally likely to be that one.

    Args:
        pairs: For each case, whether the first and whether the second mode passed it.
    """
    first = sum(one and not other for one, other in pairs)
    second = sum(other and not one for one, other in pairs)
    both = sum(one and other for one, other in pairs)
    differing = first + second
    tail = sum(math.comb(differing, k) for k in range(min(first, second) + 1))
    p = min(1.0, 2 * tail / 2**differing)
    return McNemar(first_only=first, second_only=second, both=both, neither=len(pairs) - both - differing, p=p)


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of several tests, corrected for their number; same order (S. Holm, Scand. J. Statist. 1979)."""
    corrected, least = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = least
    return corrected


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of the values of several runs, with its interval.

    Raises:
        ValueError: If `values` is empty.
    """
    if not values:
        raise ValueError("no value to take the mean of")
    mean, count = statistics.fmean(values), len(values)
    if count == 1:
        return Mean(mean=round(mean, 2), low=None, high=None, of=1)
    quantile = _T[count - 2] if count - 2 < len(_T) else _Z
    spread = quantile * statistics.stdev(values) / math.sqrt(count)
    return Mean(mean=round(mean, 2), low=round(mean - spread, 2), high=round(mean + spread, 2), of=count)


class Correlation(Record):
    """Pearson's correlation of two values over cases, with its 95 % interval (R. A. Fisher, Metron 1921).

    If one value is 0 or 1, this is the point-biserial correlation.
    """

    r: float
    low: float
    high: float
    of: int


def correlation(pairs: Sequence[tuple[float, float]]) -> Correlation | None:
    """The correlation of pairs of values; None for fewer than four pairs, or if a value does not vary."""
    count = len(pairs)
    if count < 4 or len({one for one, _ in pairs}) == 1 or len({other for _, other in pairs}) == 1:
        return None
    r = statistics.correlation([one for one, _ in pairs], [other for _, other in pairs])
    if abs(r) > 1 - 1e-12:
        return Correlation(r=round(r, 4), low=round(r, 4), high=round(r, 4), of=count)
    spread = _Z / math.sqrt(count - 3)
    low, high = (round(math.tanh(math.atanh(r) + side * spread), 4) for side in (-1, 1))
    return Correlation(r=round(r, 4), low=low, high=high, of=count)


class Share(Record):
    """A ratio of sums in percent, with its 95 % bootstrap interval in percent."""

    percent: float
    low: float
    high: float
    groups: int


def ratio(groups: Sequence[tuple[float, float]], draws: int = 10_000, seed: int = 0) -> Share | None:
    """The ratio of two sums over groups, with the percentile interval of a bootstrap that draws whole groups.

    The groups, not the cases, are drawn, because cases of one group are alike (B. Efron, Ann. Statist. 1979).

    Args:
        groups: For each group, its part of the numerator and of the denominator.
        draws: The number of samples.
        seed: Equal seeds give equal intervals.

    Returns:
        None if the denominator is 0.
    """
    above, below = sum(one for one, _ in groups), sum(other for _, other in groups)
    if below == 0:
        return None
    if all(one == other for one, other in groups) or not any(one for one, _ in groups):  # as every sample has it
        percent = 100.0 * (above != 0)
        return Share(percent=percent, low=percent, high=percent, groups=len(groups))
    random = Random(seed)
    values: list[float] = []
    for _ in range(draws):
        drawn = random.choices(groups, k=len(groups))
        total = sum([other for _, other in drawn])
        if total:
            values.append(sum([one for one, _ in drawn]) / total)
    values.sort()
    low, high = (values[min(len(values) - 1, int(share * len(values)))] for share in (0.025, 0.975))
    return Share(
        percent=round(100 * above / below, 2), low=round(100 * low, 2), high=round(100 * high, 2), groups=len(groups)
    )


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two judgements of the same cases; None if chance alone explains full agreement, or no case.

    Source: J. Cohen, Educational and Psychological Measurement 1960.
    """
    if not pairs:
        return None
    count = len(pairs)
    agreed = sum(one == other for one, other in pairs) / count
    first, second = sum(one for one, _ in pairs) / count, sum(other for _, other in pairs) / count
    chance = first * second + (1 - first) * (1 - second)
    return None if chance == 1 else round((agreed - chance) / (1 - chance), 4)
