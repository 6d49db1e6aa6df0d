"""Tools for calendar dates written as YYYY-MM-DD text."""

import datetime


def add_days(date: str, days: int) -> str:
    """Move a date by a number of calendar days.

    Weekends count like other days. Negative days move back; 0 gives the same date.

    Args:
        date: The date to start from, as YYYY-MM-DD.
        days: How many days to add.

    Returns:
        The new date, as YYYY-MM-DD.

    Raises:
        ValueError: If the date is not a real YYYY-MM-DD date, or the result is outside years 1 to 9999.

    Examples:
        >>> add_days("2024-01-30", 3)
        '2024-02-02'
        >>> add_days("2024-03-01", -1)
        '2024-02-29'
        >>> add_days("2023-12-31", 1)
        '2024-01-01'
    """
    start = datetime.date.fromisoformat(date)
    if start.isoformat() != date:
        raise ValueError("the date must be written YYYY-MM-DD")
    number = start.toordinal() + days
    if not 1 <= number <= datetime.date.max.toordinal():
        raise ValueError("the result is outside years 1 to 9999")
    return datetime.date.fromordinal(number).isoformat()


def add_months(date: str, months: int) -> str:
    """Move a date by a number of calendar months, keeping the day of the month.

    Where the new month is too short, its last day is given. Negative months move back.

    Args:
        date: The date to start from, as YYYY-MM-DD.
        months: How many months to add.

    Returns:
        The new date, as YYYY-MM-DD.

    Raises:
        ValueError: If the date is not a real YYYY-MM-DD date, or the result is outside years 1 to 9999.

    Examples:
        >>> add_months("2024-03-15", 2)
        '2024-05-15'
        >>> add_months("2023-01-31", 1)
        '2023-02-28'
        >>> add_months("2024-01-10", -1)
        '2023-12-10'
    """
    start = datetime.date.fromisoformat(date)
    if start.isoformat() != date:
        raise ValueError("the date must be written YYYY-MM-DD")
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise ValueError("the result is outside years 1 to 9999")
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return datetime.date(year, month + 1, min(start.day, lengths[month])).isoformat()


def days_between(start: str, end: str) -> int:
    """Count the calendar days from one date to another, with sign.

    The result is positive if the end is later, 0 for the same date and negative if the end is earlier. From
    one day to the next is 1.

    Args:
        start: The date to count from, as YYYY-MM-DD.
        end: The date to count to, as YYYY-MM-DD.

    Returns:
        The number of days, end minus start.

    Raises:
        ValueError: If either is not a real YYYY-MM-DD date.

    Examples:
        >>> days_between("2024-02-27", "2024-03-01")
        3
        >>> days_between("2024-03-01", "2024-02-27")
        -3
        >>> days_between("2024-03-01", "2024-03-01")
        0
    """
    first = datetime.date.fromisoformat(start)
    last = datetime.date.fromisoformat(end)
    if first.isoformat() != start or last.isoformat() != end:
        raise ValueError("dates must be written YYYY-MM-DD")
    return (last - first).days


def weekday_name(date: str) -> str:
    """Name the day of the week of a date, in English.

    Args:
        date: The date, as YYYY-MM-DD.

    Returns:
        The full name with a capital: Monday, Tuesday, Wednesday, Thursday, Friday, Saturday or Sunday.

    Raises:
        ValueError: If the date is not a real YYYY-MM-DD date.

    Examples:
        >>> weekday_name("2024-07-01")
        'Monday'
        >>> weekday_name("2024-02-29")
        'Thursday'
        >>> weekday_name("2000-01-01")
        'Saturday'
    """
    day = datetime.date.fromisoformat(date)
    if day.isoformat() != date:
        raise ValueError("the date must be written YYYY-MM-DD")
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    return names[day.weekday()]


def is_weekend_date(date: str) -> bool:
    """Tell whether a date falls on a Saturday or a Sunday.

    Public holidays play no part.

    Args:
        date: The date, as YYYY-MM-DD.

    Returns:
        True for Saturday and Sunday, False for Monday to Friday.

    Raises:
        ValueError: If the date is not a real YYYY-MM-DD date.

    Examples:
        >>> is_weekend_date("2024-07-06")
        True
        >>> is_weekend_date("2024-07-05")
        False
        >>> is_weekend_date("2024-07-07")
        True
    """
    day = datetime.date.fromisoformat(date)
    if day.isoformat() != date:
        raise ValueError("the date must be written YYYY-MM-DD")
    return day.weekday() >= 5


def first_day_of_month(date: str) -> str:
    """Give the first day of the month in which a date lies.

    A date that is the first already comes back unchanged.

    Args:
        date: The date, as YYYY-MM-DD.

    Returns:
        The first day of that month, as YYYY-MM-DD.

    Raises:
        ValueError: If the date is not a real YYYY-MM-DD date.

    Examples:
        >>> first_day_of_month("2024-07-19")
        '2024-07-01'
        >>> first_day_of_month("2024-12-31")
        '2024-12-01'
        >>> first_day_of_month("2024-07-01")
        '2024-07-01'
    """
    day = datetime.date.fromisoformat(date)
    if day.isoformat() != date:
        raise ValueError("the date must be written YYYY-MM-DD")
    return day.replace(day=1).isoformat()


def last_day_of_month(date: str) -> str:
    """Give the last day of the month in which a date lies, leap years considered.

    A date that is the last already comes back unchanged.

    Args:
        date: The date, as YYYY-MM-DD.

    Returns:
        The last day of that month, as YYYY-MM-DD.

    Raises:
        ValueError: If the date is not a real YYYY-MM-DD date.

    Examples:
        >>> last_day_of_month("2024-07-19")
        '2024-07-31'
        >>> last_day_of_month("2024-02-01")
        '2024-02-29'
        >>> last_day_of_month("2023-12-31")
        '2023-12-31'
    """
    day = datetime.date.fromisoformat(date)
    if day.isoformat() != date:
        raise ValueError("the date must be written YYYY-MM-DD")
    leap = day.year % 4 == 0 and (day.year % 100 != 0 or day.year % 400 == 0)
    lengths = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return day.replace(day=lengths[day.month - 1]).isoformat()


def next_business_day(date: str) -> str:
    """Give the first Monday-to-Friday date strictly after a date.

    The result is always later than the given date, even if that is a weekday. Public holidays play no part.

    Args:
        date: The date to start after, as YYYY-MM-DD.

    Returns:
        The next weekday date, as YYYY-MM-DD.

    Raises:
        ValueError: If the date is not a real YYYY-MM-DD date, or the result is after year 9999.

    Examples:
        >>> next_business_day("2024-07-02")
        '2024-07-03'
        >>> next_business_day("2024-07-05")
        '2024-07-08'
        >>> next_business_day("2024-07-06")
        '2024-07-08'
    """
    day = datetime.date.fromisoformat(date)
    if day.isoformat() != date:
        raise ValueError("the date must be written YYYY-MM-DD")
    number = day.toordinal() + [1, 1, 1, 1, 3, 2, 1][day.weekday()]
    if number > datetime.date.max.toordinal():
        raise ValueError("the result is after year 9999")
    return datetime.date.fromordinal(number).isoformat()


def business_day_on_or_after(date: str) -> str:
    """Give the date itself if it is Monday to Friday, otherwise the Monday that follows.

    Public holidays play no part.

    Args:
        date: The date to start from, as YYYY-MM-DD.

    Returns:
        The same date or the following Monday, as YYYY-MM-DD.

    Raises:
        ValueError: If the date is not a real YYYY-MM-DD date.

    Examples:
        >>> business_day_on_or_after("2024-07-05")
        '2024-07-05'
        >>> business_day_on_or_after("2024-07-06")
        '2024-07-08'
        >>> business_day_on_or_after("2024-07-07")
        '2024-07-08'
    """
    day = datetime.date.fromisoformat(date)
    if day.isoformat() != date:
        raise ValueError("the date must be written YYYY-MM-DD")
    number = day.toordinal() + [0, 0, 0, 0, 0, 2, 1][day.weekday()]
    return datetime.date.fromordinal(number).isoformat()


def count_business_days(start: str, end: str) -> int:
    """Count the Monday-to-Friday dates from a start date to an end date, both included.

    Public holidays play no part. The same weekday as start and end counts 1.

    Args:
        start: The first date of the range, as YYYY-MM-DD.
        end: The last date of the range, as YYYY-MM-DD.

    Returns:
        The number of weekday dates; 0 for a range with weekend dates only.

    Raises:
        ValueError: If either is not a real YYYY-MM-DD date, or the end is before the start.

    Examples:
        >>> count_business_days("2024-07-01", "2024-07-07")
        5
        >>> count_business_days("2024-07-05", "2024-07-08")
        2
        >>> count_business_days("2024-07-06", "2024-07-07")
        0
    """
    first = datetime.date.fromisoformat(start)
    last = datetime.date.fromisoformat(end)
    if first.isoformat() != start or last.isoformat() != end:
        raise ValueError("dates must be written YYYY-MM-DD")
    if last < first:
        raise ValueError("the end must not be before the start")
    weeks, rest = divmod((last - first).days + 1, 7)
    return weeks * 5 + sum(1 for step in range(rest) if (first.weekday() + step) % 7 < 5)
