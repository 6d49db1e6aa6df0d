"""Values that several roles draw: people, their addresses, days, numbers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import TypeVar

T = TypeVar("T")
_FIRST = (
    "Amira", "Bjorn", "Carla", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Imani", "Jonas", "Keiko", "Liam",
    "Marta", "Nadia", "Oscar", "Priya", "Quentin", "Rosa", "Samir", "Tessa",
)  # fmt: skip
_LAST = (
    "Alder", "Bennett", "Castillo", "Dahl", "Eriksen", "Fontaine", "Grady", "Haddad", "Ivanov", "Jensen", "Kimura",
    "Lindqvist", "Moreau", "Novak", "Okafor", "Petrov", "Rossi", "Sorensen", "Tanaka", "Varga",
)  # fmt: skip
_STREETS = ("Mill Lane", "Station Road", "Orchard Street", "Chapel Hill", "Bridge Street", "Willow Avenue")
_TRIES = 20_000


def person(random: Random) -> str:
    """A first and a last name."""
    return f"{random.choice(_FIRST)} {random.choice(_LAST)}"


def email(random: Random) -> str:
    """An e-mail address."""
    return f"{random.choice(_FIRST)}.{random.choice(_LAST)}{random.randint(10, 99)}@mailbox.example".lower()


def phone(random: Random) -> str:
    """A phone number in three groups of digits."""
    return f"555-{random.randint(100, 999)}-{random.randint(1_000, 9_999)}"


def street(random: Random) -> str:
    """A house number and a street."""
    return f"{random.randint(2, 180)} {random.choice(_STREETS)}"


def number(random: Random, prefix: str, digits: int = 5) -> str:
    """A prefix and digits, the first of which is not 0."""
    return f"{prefix}{random.randrange(10 ** (digits - 1), 10**digits)}"


def days(first: str, count: int) -> tuple[str, ...]:
    """Days in a row, as YYYY-MM-DD."""
    start = date.fromisoformat(first)
    return tuple((start + timedelta(days=step)).isoformat() for step in range(count))


def drawn(draw: Callable[[], T], holds: Callable[[T], bool]) -> T:
    """The first draw that holds.

    Raises:
        ValueError: If none of 20,000 draws holds.
    """
    for _ in range(_TRIES):
        value = draw()
        if holds(value):
            return value
    raise ValueError("no draw holds")
