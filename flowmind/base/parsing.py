"""A command line parser that reports bad usage in one line, with the nearest flag or value."""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, cast

from flowmind.base.errors import InputError
from flowmind.base.texts import did_you_mean

_MAX_CHOICES = 12
"""The most choices that an error lists; of more, only the nearest is named."""
KINDS = {"int": "an integer", "float": "a number", "Path": "a path"}
"""The types of arguments in words."""


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises `InputError` instead of printing the usage and exiting."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """As in the base class, but unknown arguments are an error.

        Raises:
            InputError: If an argument is unknown, missing or not allowed, with what would be right.
        """
        self._require_known(sys.argv[1:] if args is None else args)
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            raise InputError(self._unknown(unknown[0]))
        return namespace, []

    def error(self, message: str) -> NoReturn:
        """Raises the error of the base class in this project's form."""
        flag, _, problem = message.removeprefix("argument ").rpartition(": ")
        if match := re.fullmatch(r"argument (.+?): invalid choice: '?(.*?)'? \(choose from .*\)", message, re.DOTALL):
            raise InputError(self._not_a_choice(match[1], match[2]))
        if match := re.fullmatch(r"argument (.+?): invalid (\w+) value: (.*)", message, re.DOTALL):
            raise InputError(f"{_short(match[1])}: {match[3]} is not {KINDS.get(match[2], f'a {match[2]}')}")
        if match := re.fullmatch(r"the following arguments are required: (.*)", message):
            raise InputError(self._missing(match[1]))
        if problem == "expected one argument":
            raise InputError(f"{_short(flag)}: a value is missing after the flag")
        if match := re.fullmatch(r"argument (.+?): (.*)", message, re.DOTALL):
            raise InputError(f"{_short(match[1])}: {match[2]}")
        raise InputError(message)

    def walk(self) -> Iterator[Parser]:
        """This parser, then the parsers of its commands."""
        yield self
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
                for parser in dict.fromkeys(cast(Any, action).choices.values()):
                    yield from parser.walk()

    def _require_known(self, words: Sequence[str]) -> None:
        """Refuses an unknown flag before anything else, so that a misspelt flag is not reported as a missing one."""
        own = itertools.takewhile(lambda word: word != "--", words)
        if self._subparsers is not None:  # what follows the command is checked by the parser of the command
            own = itertools.takewhile(lambda word: word.startswith("-"), own)
        for word in own:
            name = word.partition("=")[0]
            known = any(flag.startswith(name) for flag in self._option_string_actions)
            if name.startswith("--") and " " not in word and not known:
                raise InputError(self._unknown(word))

    def _unknown(self, word: str) -> str:
        name = word.partition("=")[0]
        hint = f"; `{self.prog} --help` lists the arguments"
        if not name.startswith("-"):
            return f"{word!r}: unexpected argument{hint}"
        return f"{name}: no such flag of `{self.prog}`{did_you_mean(name, self._option_string_actions) or hint}"

    def _missing(self, names: str) -> str:
        if names == "COMMAND":
            return f"give a command: {', '.join(map(str, self._choices(names)))}; `{self.prog} --help` explains them"
        return f"{names}: missing; `{self.prog} --help` explains it"

    def _not_a_choice(self, name: str, value: str) -> str:
        choices = list(map(str, self._choices(name)))
        close, hint = did_you_mean(value, choices), f"; `{self.prog} --help` lists them"
        if name == "COMMAND":
            return f"{value!r}: no such command{close or hint}"
        if len(choices) > _MAX_CHOICES:
            return f"{_short(name)}: {value!r} is not one of its {len(choices)} values{close or hint}"
        return f"{_short(name)}: {value!r} is none of {', '.join(choices)}{close}"

    def _choices(self, name: str) -> Iterable[Any]:
        for action in self._actions:
            if name in ("/".join(action.option_strings), action.metavar, action.dest):
                return cast(Iterable[Any], action.choices or ())
        return ()


def _short(name: str) -> str:
    """A flag without its other spellings."""
    return name.partition("/")[0]
