"""Copies the documents of the repository into the pages of the site, with links that lead to pages."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from flowmind.base.files import read_text, write_text

_COMMENT = re.compile(r"^<!--.*?-->\n\n?", re.MULTILINE | re.DOTALL)
"""The marks that tests read; see tests/readme_blocks.py."""
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
GENERATED = ("gallery", "commands", "notebooks")
"""The folders of pages that are generated; documents below docs/ link to them as if they were there."""
_ROOT_PAGES = {"SECURITY.md": "security.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}


def places(root: Path) -> dict[Path, Path]:
    """The documents of the repository, each with its place among the pages."""
    documents = {path: path.relative_to(root / "docs") for path in sorted((root / "docs").rglob("*.md"))}
    documents |= {root / name: Path(page) for name, page in _ROOT_PAGES.items()}
    documents |= {
        path: Path("examples", f"{path.parent.name}.md") for path in sorted(root.glob("examples/*/README.md"))
    }
    return documents | {root / "README.md": Path("readme.md")}


def is_generated(path: Path, root: Path) -> bool:
    """Whether a page that a document links to is generated."""
    docs = root / "docs"
    return any(path.is_relative_to(docs / folder) for folder in GENERATED) or path == docs / "decisions" / "index.md"


def copy(root: Path, out: Path) -> None:
    """Writes the documents of a repository as pages, and a page that lists the decisions."""
    targets = places(root)
    for source, place in targets.items():
        write_text(out / place, _page(source, place, root, targets))
    write_text(out / "decisions" / "index.md", _decisions(root / "docs" / "decisions"))
    assets = Path(__file__).parent / "assets"
    for path in sorted(assets.iterdir()):
        shutil.copy(path, _made(out / "assets") / path.name)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _page(source: Path, place: Path, root: Path, targets: dict[Path, Path]) -> str:
    def linked(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        path = Path(os.path.normpath(source.parent / target))
        if path in targets:
            return f"[{words}]({os.path.relpath(targets[path], place.parent)}{anchor})"
        if is_generated(path, root):
            return match[0]
        name = path.relative_to(root) if path.is_relative_to(root) else target
        return words if words.strip("`") == str(name) else f"{words} (`{name}`)"

    text, parts, end = _COMMENT.sub("", read_text(source)), list[str](), 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(linked, text[end : fence.start()]), _highlighted(fence[0])]
        end = fence.end()
    return "".join([*parts, _LINK.sub(linked, text[end:])])


def _highlighted(fence: str) -> str:
    """A block of commands gets the language in which commands and output differ in colour."""
    return fence.replace("```\n$ ", "```console\n$ ", 1) if fence.startswith("```\n$ ") else fence


def _decisions(folder: Path) -> str:
    lines = ["# Decisions", "", "Each page states one decision that is not obvious, and what led to it.", ""]
    for path in sorted(folder.glob("[0-9]*.md")):
        title = re.sub(r"^# (\d+[.:] )?", "", read_text(path).partition("\n")[0])
        lines.append(f"- [{path.name[:4]}]({path.name}): {title}")
    return "\n".join(lines) + "\n"
