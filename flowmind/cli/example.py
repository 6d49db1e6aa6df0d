"""`flowmind example`."""

from __future__ import annotations

import argparse
from pathlib import Path

import flowmind
from flowmind.base.errors import InputError
from flowmind.base.files import read_text, write_text
from flowmind.base.texts import did_you_mean

_PLACES = (Path(__file__).parent / "examples", Path(flowmind.__file__).parents[1] / "examples")
"""The folder of the examples: in an installed wheel, and in a checkout."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of the example; without it, list the examples")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write; by default the name of the example")


def run(options: argparse.Namespace) -> int:
    """Lists the examples, or copies one and prints the files that were written."""
    examples = _examples()
    if options.name is None:
        width = max(map(len, examples), default=0)
        for name, folder in examples.items():
            print(f"{name:<{width}}  {_title(folder)}")
        return 0
    if options.name not in examples:
        names = ", ".join(examples)
        raise InputError(f"example {options.name}: the examples are {names}{did_you_mean(options.name, examples)}")
    source, target = examples[options.name], options.out or Path(options.name)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: this exists; name another folder with --out")
    for path in sorted(source.iterdir()):
        if path.is_file():
            target.mkdir(parents=True, exist_ok=True)
            write_text(target / path.name, read_text(path))
            print(target / path.name)
    return 0


def _examples() -> dict[str, Path]:
    place = next((place for place in _PLACES if place.is_dir()), None)
    folders = [path for path in place.iterdir() if (path / "README.md").is_file()] if place else []
    return {path.name: path for path in sorted(folders)}


def _title(folder: Path) -> str:
    """The heading of an example's README."""
    return read_text(folder / "README.md").partition("\n")[0].removeprefix("# ")
