"""The tutorials are true: their files, scripts and commands run from top to bottom, a page in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from readme_blocks import blocks, walk

PAGES = Path(__file__).parents[1] / "docs" / "tutorials"
NEEDS = {
    "compile-your-traces": "uvicorn",
    "langgraph": "langchain.agents",
    "mcp": "mcp",
    "openai-agents": "agents",
    "pydantic-ai": "pydantic_ai",
}
"""The page and what it needs."""


def test_every_page_is_walked() -> None:
    """The two pages on experiments take long, and are walked in test_readme.py."""
    long = {"index", "reproduce-the-paper", "use-the-benchmark"}
    assert {page.stem for page in PAGES.glob("*.md")} == set(NEEDS) | long


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[] if page == "compile-your-traces" else [pytest.mark.slow]) for page in NEEDS]
)
def test_a_page_runs_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS[page])
    document = PAGES / f"{page}.md"
    shown = [block for block in blocks(document) if block.language in ("python", "console")]
    assert walk(document, tmp_path) >= len(shown) > 2
    assert len(document.read_text(encoding="utf-8").splitlines()) < 200
