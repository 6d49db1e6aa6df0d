"""Shards: the parts of a run that several machines work on, each in a folder of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, model_validator

from tools_registry.specs.spec import Record

T = TypeVar("T")
_FLAG = re.compile(r" --shard[ =]\S+")
_USER = re.compile(r"://[^\s/'\"]*@")
_FOLDER = re.compile(r"shard-([1-9]\d{0,5})-of-([1-9]\d{0,5})")


class Shard(Record):
    """One of the parts of a run. The cases of the run are dealt round-robin, in the order in which they are run."""

    number: int = Field(ge=1)
    """Its number, from 1."""
    of: int = Field(ge=1, le=999_999)
    """The number of parts."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if self.number > self.of:
            raise ValueError(f"there is no part {self.number} of {self.of}")
        return self

    @classmethod
    def read(cls, text: str) -> Shard:
        """The shard that `K/N` names.

        Raises:
            ValueError: If the text is none.
        """
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= 999_999):
            raise ValueError(f"{text[:40]!r} is not K/N, the K-th of N parts with 1 <= K <= N, such as 2/8")
        return cls(number=int(number), of=int(of))

    @classmethod
    def in_folder(cls, folder: Path) -> Shard | None:
        """The shard of a folder by its name; None if the folder has another name."""
        match = _FOLDER.fullmatch(folder.name)
        return cls.read(f"{match[1]}/{match[2]}") if match and int(match[1]) <= int(match[2]) else None

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def name(self) -> str:
        """The name of its folder in the folder of the run."""
        return f"shard-{self.number}-of-{self.of}"

    def part(self, items: Sequence[T]) -> Sequence[T]:
        """Every N-th item, beginning with the K-th."""
        return items[self.number - 1 :: self.of]

    def manifest(self, ids: Iterable[str], command: str) -> dict[str, Any]:
        """The fields that the manifest of a shard has in addition to those of the run.

        Args:
            ids: The ids of its cases, in their order.
            command: The command that makes it.
        """
        return {"shard": str(self), "dealt": {"command": self.command(command), "cases": list(ids)}}

    def command(self, command: str) -> str:
        """The command of any shard of the run, changed to make this one. Passwords in URLs are left out."""
        return f"{_USER.sub('://***@', _FLAG.sub('', command))} --shard {self}"


def shard_named(text: str | None) -> Shard | None:
    """The shard of a setting; None if the run is not divided."""
    return None if text is None else Shard.read(text)


def checked(text: str | None) -> str | None:
    """The setting, if it names a shard.

    Raises:
        ValueError: If it does not.
    """
    return None if text is None else str(Shard.read(text))


def dealt(items: Sequence[T], shard: Shard | None) -> Sequence[T]:
    """The items of a shard; all if the run is not divided."""
    return items if shard is None else shard.part(items)


def place(folder: Path, shard: Shard | None) -> Path:
    """The folder in which a run, or a shard of it, writes."""
    return folder if shard is None else folder / shard.name


def shards_in(folder: Path) -> dict[Shard, Path]:
    """The shards in the folder of a run."""
    found = {path: Shard.in_folder(path) for path in sorted(folder.glob("shard-*-of-*")) if path.is_dir()}
    return {shard: path for path, shard in found.items() if shard is not None}


def without_shard(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of a run that is not divided, from the manifest of a shard."""
    return {name: value for name, value in manifest.items() if name not in ("shard", "dealt")}
