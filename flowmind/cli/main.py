"""The program `flowmind`. The module of a command is imported when the command is called.

Exit codes: 0 success; 1 the answer is "no"; 2 bad usage or input, in one line; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import flowmind
from flowmind.base.errors import FlowMindError, InputError, Terminated
from flowmind.cli.command import Command
from tools_registry.sandbox.errors import SandboxUnavailable

COMMANDS: dict[str, Command] = {
    "solve": Command("solve one task of your own and print the workflow", "flowmind.cli.solve"),
    "summarize": Command("turn traces into a workflow, without a model", "flowmind.cli.summarize"),
    "run": Command("run a workflow on inputs", "flowmind.cli.run"),
    "check": Command("list every problem of a workflow", "flowmind.cli.check"),
    "convert": Command("write a workflow in another format", "flowmind.cli.convert"),
    "show": Command("draw a workflow in the terminal, or as SVG", "flowmind.cli.show"),
    "worfeval": Command("score predicted workflow graphs against gold ones", "flowmind.cli.worfeval"),
    "models": Command("list the known models", "flowmind.cli.models"),
    "serve": Command("serve a model with vLLM until Ctrl-C", "flowmind.cli.serve"),
    "doctor": Command("show what works on this machine", "flowmind.cli.doctor"),
}
_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code. An error that a user can correct is one line, without a traceback."""
    try:
        options = parse(sys.argv[1:] if arguments is None else arguments)
        code = options.command.run(options)
        sys.stdout.flush()
        return code
    except (FlowMindError, SandboxUnavailable) as error:
        return _failed(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _failed(f"{place}{error.strerror or error}")
    except UnicodeEncodeError as error:
        return _failed(f"the terminal cannot show {error.object[error.start]!a}; set PYTHONIOENCODING=utf-8")
    except KeyboardInterrupt as stop:
        return _failed(str(stop) or "interrupted", 130)
    except Terminated as stop:
        return _failed(str(stop) or "terminated", 143)


def _failed(line: str, code: int = 2) -> int:
    print(f"flowmind: {line}", file=sys.stderr)
    return code


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command: from its flags, else from `FLOWMIND_<FLAG>`, else the default.

    Returns:
        The options; `explicit` has the names of the options that are passed as arguments.

    Raises:
        InputError: If a value in the environment is not allowed.
    """
    name = next((word for word in arguments if not word.startswith("-")), "")
    parser, command = build_parser(name)
    if command is None:
        return parser.parse_args(arguments)  # prints the help or an error, and exits
    flags = [action for action in command._actions if action.option_strings and action.dest != "help"]
    defaults = {action.dest: action.default for action in flags} | _from_environment(flags)
    for action in flags:
        action.default = argparse.SUPPRESS
    options = parser.parse_args(arguments)
    explicit = frozenset(vars(options))
    for dest, value in defaults.items():
        if dest not in explicit and value is not argparse.SUPPRESS:
            setattr(options, dest, value)
    options.explicit = explicit
    return options


def build_parser(name: str = "") -> tuple[argparse.ArgumentParser, argparse.ArgumentParser | None]:
    """The parser with the help texts of all commands.

    Args:
        name: The command whose flags are added.

    Returns:
        The parser, and the parser of the named command if it exists.

    Raises:
        InputError: If another package hides the package of the command.
    """
    parser = argparse.ArgumentParser(
        prog="flowmind",
        description="Turn one good agent run into a workflow that runs without a model.",
        epilog="Every flag can also be set in the environment: --base-url as FLOWMIND_BASE_URL.",
    )
    parser.add_argument("--version", action="version", version=f"flowmind {flowmind.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for key, command in commands(name).items():
        sub = subparsers.add_parser(key, help=command.help, description=command.help)
        if key == name:
            command.add_arguments(sub)
            sub.set_defaults(command=command)
    return parser, subparsers.choices.get(name)


def commands(name: str = "") -> dict[str, Command]:
    """All commands: those of packages that depend on this one, then those of this package.

    Args:
        name: The command that is called.

    Raises:
        InputError: If another package with the same name hides its package, such as a folder in the working directory.
    """
    above: dict[str, Command] = {}
    for point in entry_points(group="flowmind.commands"):
        package = point.module.partition(".")[0]
        if _is_beside(package):
            above[point.name] = point.load()
        elif point.name == name:
            raise InputError(f"{name}: another package hides FlowMind's package {package!r}; work in another folder")
    return {**dict(sorted(above.items())), **COMMANDS}


def _is_beside(package: str) -> bool:
    """Whether a package is in the folder that `flowmind` is in."""
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    return Path(flowmind.__file__).resolve().parents[1] in [Path(place).resolve().parent for place in places or ()]


def _from_environment(flags: Sequence[argparse.Action]) -> dict[str, Any]:
    """The values of `FLOWMIND_<FLAG>`; such a flag is no longer required as an argument."""
    values: dict[str, Any] = {}
    for action in flags:
        for flag in action.option_strings:
            variable = f"FLOWMIND_{flag.lstrip('-').replace('-', '_').upper()}"
            if text := os.environ.get(variable):
                values[action.dest] = _read_variable(action, flag, variable, text)
                action.required = False
    return values


def _read_variable(action: argparse.Action, flag: str, variable: str, text: str) -> Any:
    """The value of an environment variable with the type of its flag.

    Raises:
        InputError: With the variable and what would be right.
    """
    if action.nargs == 0:
        if text.lower() not in _BOOLEANS:
            raise InputError(f"{variable}={text!r} ({flag}) is none of {', '.join(_BOOLEANS)}")
        return _BOOLEANS[text.lower()]
    if type(action).__name__ == "_AppendAction":  # argparse has no public name for it
        return [Path(part) for part in text.split(os.pathsep) if part]
    if action.choices is not None and text not in action.choices:
        raise InputError(f"{variable}={text!r} ({flag}) is none of {', '.join(action.choices)}")
    try:
        return action.type(text) if callable(action.type) else text
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise InputError(f"{variable}={text!r} ({flag}): {error}") from None
