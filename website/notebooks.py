"""The notebooks of the examples as pages: they are run, and the pages show what they print."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from tqdm import tqdm

from flowmind.base.errors import InputError
from flowmind.base.files import write_text


def write(folder: Path, bench: Path, out: Path) -> None:
    """Runs every notebook of a folder and writes its page.

    Args:
        folder: The notebooks, as scripts in jupytext's percent format.
        bench: A benchmark that is built. The notebooks find it as `bench`.
        out: The folder of the pages.

    Raises:
        InputError: If a cell of a notebook fails.
    """
    for path in tqdm(sorted(folder.glob("*.py")), desc="notebooks", unit="notebook"):
        with tempfile.TemporaryDirectory() as place:
            Path(place, "bench").symlink_to(bench.resolve())
            notebook = run(path, Path(place))
        write_text(out / f"{path.stem}.md", page(notebook, path.name))


def run(path: Path, place: Path) -> Any:
    """A notebook with the outputs of its cells.

    Args:
        path: The script.
        place: The working directory.

    Raises:
        InputError: If a cell fails.
    """
    import jupytext  # pyright: ignore[reportMissingTypeStubs]
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook: Any = cast(Any, jupytext).read(path)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=600,
        extra_arguments=["--log-level=ERROR"],  # it warns of ports, which are on loopback
        resources={"metadata": {"path": str(place)}},
    )
    try:
        return client.execute(env={**os.environ, "PATH": programs, "PYTHONPATH": os.pathsep.join(sys.path[:1])})
    except CellExecutionError as error:
        raise InputError(f"{path}: {error}") from None


def page(notebook: Any, name: str) -> str:
    """A notebook that was run, as a page in Markdown."""
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts += [f"```python\n{cell.source}\n```", *_outputs(cell.outputs)]
    parts.insert(
        1, f"This page was made from `examples/notebooks/{name}`. `jupytext --to ipynb {name}` makes a notebook."
    )
    return "\n\n".join(parts) + "\n"


def _outputs(outputs: list[Any]) -> Iterator[str]:
    printed = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    lines = [line.rpartition("\r")[2] for line in printed.splitlines() if "%|" not in line]  # no progress bars
    if text := "\n".join(lines).strip():
        yield f"```text\n{text}\n```"
    for output in outputs:
        if output.output_type != "stream":
            drawing = output.data.get("image/svg+xml", "").strip().replace("\n", "&#10;")
            figure = f'<div class="notebook-drawing">{drawing}</div>'
            yield figure if drawing else f"```text\n{output.data['text/plain']}\n```"
