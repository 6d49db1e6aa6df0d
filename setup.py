"""The parts of the build that pyproject.toml cannot declare. All other settings are there."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree

from setuptools import setup
from setuptools.command.build_py import build_py

RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?://|#|mailto:)([^)]+)\)")


class BuildWithExamples(build_py):
    """Puts the folders of `examples` into the wheel, where `flowmind example` finds them."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for story in (path.parent for path in Path("examples").glob("*/README.md")):
                target = Path(self.build_lib, "flowmind", "cli", "examples", story.name)
                copytree(story, target, dirs_exist_ok=True, ignore=lambda _, names: {"__pycache__"} & {*names})


def readme() -> str:
    """The README for a package index, where links to files of the repository would lead nowhere."""
    return RELATIVE_LINK.sub(r"`\2`", Path("README.md").read_text(encoding="utf-8"))


setup(
    cmdclass={"build_py": BuildWithExamples},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
