"""What the worlds of the suite `api` draw: people, ids, days, moments, rows of tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

_FIRST = (
    "Aisha", "Bruno", "Chloe", "Diego", "Esme", "Felix", "Gita", "Hector", "Ingrid", "Jamal", "Kira", "Lorenzo",
    "Mei", "Nils", "Olga", "Paolo", "Ruth", "Stefan", "Talia", "Umar", "Vera", "Wanda", "Yusuf", "Zoe",
)  # fmt: skip
_LAST = (
    "Abbott", "Bauer", "Costa", "Dubois", "Egan", "Ferrari", "Gupta", "Holm", "Ito", "Jansen", "Kowalski", "Larsen",
    "Mendes", "Nguyen", "Osei", "Park", "Quinn", "Reyes", "Silva", "Tanner", "Ueda", "Vogel", "Weber", "Yilmaz",
)  # fmt: skip
_COMPANIES = ("Northwind", "Acorn", "Bluepeak", "Cobalt", "Deltaworks", "Evergreen", "Foxglove", "Granite", "Halcyon")
_FORMS = ("Ltd", "GmbH", "Inc", "SA", "BV")


def person(random: Random) -> str:
    """A first and a last name."""
    return f"{random.choice(_FIRST)} {random.choice(_LAST)}"


def email_of(name: str) -> str:
    """The e-mail address of a person or a company."""
    return name.lower().replace(" ", ".") + "@example.com"


def company(random: Random) -> str:
    """The name of a company."""
    return f"{random.choice(_COMPANIES)} {random.choice(_FORMS)}"


def fresh_id(random: Random, prefix: str, digits: int = 5) -> str:
    """A prefix and digits, the first of which is not 0."""
    return f"{prefix}{random.randrange(10 ** (digits - 1), 10**digits)}"


def fresh_ids(random: Random, prefix: str, count: int, digits: int = 5) -> list[str]:
    """Different ids."""
    numbers = random.sample(range(10 ** (digits - 1), 10**digits), count)
    return [f"{prefix}{number}" for number in numbers]


def unused_id(random: Random, prefix: str, digits: int, taken: Collection[str]) -> str:
    """An id that none of others is."""
    return unused_ids(random, prefix, 1, digits, taken)[0]


def unused_ids(random: Random, prefix: str, count: int, digits: int, taken: Collection[str]) -> list[str]:
    """Different ids that none of others is."""
    ids = fresh_ids(random, prefix, count + len(taken), digits)
    return [id for id in ids if id not in taken][:count]


def day(start: str, days: int) -> str:
    """The day a number of days after another, as YYYY-MM-DD."""
    return (date.fromisoformat(start) + timedelta(days=days)).isoformat()


def moment(start: str, minutes: int) -> str:
    """The moment a number of minutes after another, as YYYY-MM-DDTHH:MM."""
    return (datetime.fromisoformat(start) + timedelta(minutes=minutes)).isoformat(timespec="minutes")


def cents(random: Random, low: int, high: int) -> float:
    """An amount with two decimals."""
    return random.randrange(low * 100, high * 100) / 100


def pick(random: Random, table: Mapping[str, dict[str, Any]], holds: Callable[[dict[str, Any]], bool]) -> str:
    """The key of a row that holds.

    Raises:
        ValueError: If none does.
    """
    keys = [key for key in sorted(table) if holds(table[key])]
    if not keys:
        raise ValueError("no row holds")
    return random.choice(keys)


def any_of(random: Random, table: Mapping[str, dict[str, Any]]) -> str:
    """The key of a row."""
    return random.choice(sorted(table))
