"""Interest, loans, discounts, taxes and fair splits of money."""

import itertools
import math


def simple_interest(principal: float, percent: float, periods: float) -> float:
    """Give the interest alone that a sum earns over some periods without interest on interest.

    The principal is not part of the result; differs from `compound_balance` in that too.

    Args:
        principal: The sum that earns interest.
        percent: Interest for one period, 5 meaning 5 percent.
        periods: How many periods; fractions allowed, at least 0.

    Returns:
        principal * percent * periods / 100, as a float, not rounded.

    Raises:
        ValueError: If periods is negative, or the result is too large for a float.

    Examples:
        >>> simple_interest(1000, 5, 2)
        100.0
        >>> simple_interest(200, 3, 0.5)
        3.0
        >>> simple_interest(500, 4, 0)
        0.0
    """
    if periods < 0:
        raise ValueError("periods must not be negative")
    result = principal * percent * periods / 100
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def compound_balance(principal: float, percent: float, periods: int) -> float:
    """Give the whole balance after some periods with interest on interest, principal included.

    Nothing is rounded between periods. A negative percentage shrinks the balance.

    Args:
        principal: The balance at the start.
        percent: Interest for one period, 5 meaning 5 percent; above -100.
        periods: How many whole periods, at least 0.

    Returns:
        principal * (1 + percent / 100) ** periods, as a float.

    Raises:
        ValueError: If periods is negative, percent is not above -100, or the balance is too large.

    Examples:
        >>> compound_balance(1000, 50, 2)
        2250.0
        >>> compound_balance(400, -50, 3)
        50.0
        >>> compound_balance(70, 10, 0)
        70.0
    """
    if periods < 0 or percent <= -100:
        raise ValueError("periods must not be negative and percent must be above -100")
    try:
        balance = principal * math.pow(1 + percent / 100, periods)
    except OverflowError as error:
        raise ValueError("the balance is too large") from error
    if abs(balance) == math.inf:
        raise ValueError("the balance is too large")
    return balance


def loan_payment_step(balance: float, percent: float, payment: float) -> float:
    """Give the debt left after one period of a loan: first interest is added, then the payment taken off.

    The debt never goes below 0; a payment that is too large is not paid back. It grows if the payment is
    smaller than the interest.

    Args:
        balance: The debt before the period, at least 0.
        percent: Interest for this one period, 1 meaning 1 percent; at least 0.
        payment: The payment at the end of the period, at least 0.

    Returns:
        The larger of balance * (100 + percent) / 100 - payment and 0.0, not rounded.

    Raises:
        ValueError: If an argument is negative, or the result is too large for a float.

    Examples:
        >>> loan_payment_step(1000, 1, 110)
        900.0
        >>> loan_payment_step(200, 10, 5)
        215.0
        >>> loan_payment_step(50, 2, 100)
        0.0
    """
    if min(balance, percent, payment) < 0:
        raise ValueError("no argument may be negative")
    result = max(balance * (100 + percent) / 100 - payment, 0.0)
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def apply_discount_percent(price: float, percent: float) -> float:
    """Lower a price by a percentage of itself.

    0 percent keeps the price, 100 percent makes it 0.0.

    Args:
        price: The price before the discount.
        percent: The discount, 20 meaning 20 percent; 0 to 100.

    Returns:
        price * (100 - percent) / 100, as a float, not rounded.

    Raises:
        ValueError: If percent is not between 0 and 100, or the result is too large for a float.

    Examples:
        >>> apply_discount_percent(80, 25)
        60.0
        >>> apply_discount_percent(19.5, 0)
        19.5
        >>> apply_discount_percent(40, 100)
        0.0
    """
    if not 0 <= percent <= 100:
        raise ValueError("percent must be between 0 and 100")
    result = price * (100 - percent) / 100
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def tax_included_in_gross(gross: float, percent: float) -> float:
    """Give the tax that is already contained in a gross price, the rate applying to the net price.

    Not the same as a percentage of the gross price: 120 with 20 percent tax contains 20, not 24.

    Args:
        gross: The price with tax.
        percent: The tax rate on the net price, 20 meaning 20 percent; at least 0.

    Returns:
        gross * percent / (100 + percent), as a float, not rounded.

    Raises:
        ValueError: If percent is negative, or the result is too large for a float.

    Examples:
        >>> tax_included_in_gross(120, 20)
        20.0
        >>> tax_included_in_gross(55, 10)
        5.0
        >>> tax_included_in_gross(80, 0)
        0.0
    """
    if percent < 0:
        raise ValueError("percent must not be negative")
    result = gross * percent / (100 + percent)
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def flat_bracket_tax(income: float, thresholds: list[float], percents: list[float]) -> float:
    """Give the tax on an income when its bracket's one rate applies to the whole income.

    The bracket is the last one whose threshold is not above income, so an income equal to a threshold
    belongs to the bracket that starts there. Differs from `progressive_tax` in that lower rates do not
    apply to lower parts.

    Args:
        income: The income, at least 0.
        thresholds: Where each bracket starts, strictly ascending, the first 0.
        percents: The rate of each bracket, 10 meaning 10 percent; as many as thresholds.

    Returns:
        The tax, as a float, not rounded.

    Raises:
        ValueError: If income is negative, the lists differ in length, or thresholds do not ascend from 0, or
            the result is too large for a float.

    Examples:
        >>> flat_bracket_tax(3000, [0, 1000, 2000], [0, 10, 20])
        600.0
        >>> flat_bracket_tax(1000, [0, 1000, 2000], [0, 10, 20])
        100.0
        >>> flat_bracket_tax(0, [0], [25])
        0.0
    """
    if income < 0 or not thresholds or len(thresholds) != len(percents):
        raise ValueError("income must not be negative and each threshold needs one percent")
    if thresholds[0] != 0 or any(low >= high for low, high in itertools.pairwise(thresholds)):
        raise ValueError("thresholds must ascend strictly from 0")
    rates = [rate for start, rate in zip(thresholds, percents, strict=True) if start <= income]
    result = income * rates[-1] / 100
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def progressive_tax(income: float, thresholds: list[float], percents: list[float]) -> float:
    """Give the tax on an income when each bracket's rate applies only to the part inside that bracket.

    A bracket reaches from its threshold to the next one, the last one upwards without end. Differs from
    `flat_bracket_tax` in that passing a threshold changes the rate of the excess only.

    Args:
        income: The income, at least 0.
        thresholds: Where each bracket starts, strictly ascending, the first 0.
        percents: The rate of each bracket, 10 meaning 10 percent; as many as thresholds.

    Returns:
        The tax, as a float, not rounded.

    Raises:
        ValueError: If income is negative, the lists differ in length, or thresholds do not ascend from 0, or
            the result is too large for a float.

    Examples:
        >>> progressive_tax(3000, [0, 1000, 2000], [0, 10, 20])
        300.0
        >>> progressive_tax(1000, [0, 1000, 2000], [0, 10, 20])
        0.0
        >>> progressive_tax(0, [0], [25])
        0.0
    """
    if income < 0 or not thresholds or len(thresholds) != len(percents):
        raise ValueError("income must not be negative and each threshold needs one percent")
    if thresholds[0] != 0 or any(low >= high for low, high in itertools.pairwise(thresholds)):
        raise ValueError("thresholds must ascend strictly from 0")
    ends = [*thresholds[1:], max(income, thresholds[-1])]
    parts = [max(min(income, end) - start, 0) for start, end in zip(thresholds, ends, strict=True)]
    taxes = [part * rate for part, rate in zip(parts, percents, strict=True)]
    try:
        result = math.fsum(taxes) / 100
    except (OverflowError, ValueError) as error:
        raise ValueError("the result is too large") from error
    if not math.isfinite(result):
        raise ValueError("the result is too large")
    return result


def split_amount_in_cents(cents: int, parts: int) -> list[int]:
    """Split an amount of whole cents into parts that are as equal as possible and lose nothing.

    Cents that cannot be shared out go one each to the first parts, so parts differ by at most 1.

    Args:
        cents: The amount in cents, at least 0.
        parts: How many parts, 1 to 10000.

    Returns:
        The parts, the larger ones first; their sum is cents.

    Raises:
        ValueError: If cents is negative or parts is not between 1 and 10000.

    Examples:
        >>> split_amount_in_cents(100, 3)
        [34, 33, 33]
        >>> split_amount_in_cents(90, 3)
        [30, 30, 30]
        >>> split_amount_in_cents(1, 2)
        [1, 0]
    """
    if cents < 0 or not 1 <= parts <= 10000:
        raise ValueError("cents must not be negative and parts must be between 1 and 10000")
    share, extra = divmod(cents, parts)
    return [share + 1 if position < extra else share for position in range(parts)]
