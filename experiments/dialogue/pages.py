"""The page of sessions: what user, agent and world did, what was refused, and where in its procedure the agent was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import tqdm

from experiments.casebook import pack
from experiments.dialogue.kept_procedures import read_procedures
from experiments.dialogue.overview import run_names, run_tables
from experiments.dialogue.recording import SessionRecord
from experiments.dialogue.running import read_manifest
from experiments.dialogue.steps import Sight, steps_of
from experiments.dialogue.tables import DialogueRun
from experiments.report import columns_of, hash_of, parts_of, rows_of, template
from flowmind.base.checksums import read_document
from flowmind.base.errors import InputError
from flowmind.base.files import dump_json, validate, write_text
from flowmind.dialogue.licensing import CallVerdict
from flowmind.formats import svg
from flowmind.trace.events import Refused, Trace
from flowmind.trace.scenario import Gold, Session, StateChange
from tools_registry.specs.spec import Record

MOST_BYTES = 5_000_000
"""The size limit of a page with up to `_SESSIONS` sessions; with more it grows in proportion."""
_SESSIONS = 335
_CUTS = (4_000, 1_000, 400, 150, 60)
"""Limits of the length of one text, in characters; the first that keeps the page within its size is used."""


class SessionDocument(Record):
    """A session as its file under `traces/` has it."""

    session: Session
    oow: bool
    gold: Gold
    trace: Trace
    verdicts: tuple[CallVerdict, ...] = ()
    changes: tuple[StateChange, ...] = ()
    record: dict[str, Any]


def write_page(folders: Sequence[Path], out: Path, title: str | None = None, report: str = "") -> int:
    """Writes one self-contained HTML file with the tables and the sessions of some runs. Equal runs give equal bytes.

    Args:
        folders: Folders of runs of dialogues; runs of turns have tables only.
        out: The HTML file.
        title: The title of the page.
        report: The name of the file beside it with the report on other runs, which the page links to.

    Returns:
        The number of bytes written.

    Raises:
        InputError: If a run cannot be read, or the extra `report` is not installed.
    """
    if find_spec("jinja2") is None:
        raise InputError("install the extra report: pip install 'flowmind-es[report]'")
    runs = [DialogueRun.read(folder) for folder in folders]
    drawings = _Drawings()
    sessions = [row for number, run in enumerate(runs) for row in _sessions(number, run, drawings)]
    content = {
        "title": title or "FlowMind sessions",
        "report": report,
        "tables": run_tables(runs),
        "runs": run_names(runs),
        "settings": [_settings(run.folder) for run in runs],
        "shown": sorted({int(session["run"]) for session in sessions}),
        "unsettled": sum(len(run.everything) - len(run.records) for run in runs),
        "undrawn": bool(sessions) and not drawings.rows,
    }
    most = MOST_BYTES * max(1.0, len(sessions) / _SESSIONS)
    page = b""
    for cut in _CUTS:
        packed = pack({"sessions": _shortened(sessions, cut), "drawings": drawings.rows})
        page = _page(content, packed).encode("utf-8", "replace")
        if len(page) <= most:
            break
    write_text(out, page.decode())
    return len(page)


def _settings(folder: Path) -> str:
    """The manifest of a run without the digests of its data, as indented JSON."""
    manifest = {name: value for name, value in read_manifest(folder).items() if name != "benchmark"}
    return dump_json(manifest, indent=1)


@dataclass
class _Drawings:
    """The drawings of procedures, equal ones once."""

    rows: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    def add(self, title: str, drawing: str) -> int:
        row = {"title": title, "svg": drawing}
        if row not in self.rows:
            self.rows.append(row)
        return self.rows.index(row)


def _sessions(number: int, run: DialogueRun, drawings: _Drawings) -> Iterator[dict[str, Any]]:
    """The sessions of a run as the page's script reads them."""
    if run.settings["level"] != "session":
        return
    sights: dict[str, Sight] = {}
    for id, kept in read_procedures(run.folder).items():
        place = drawings.add(kept.title, svg.to_svg(kept.workflow, styled=False))
        sights[id] = Sight(kept.procedure, kept.workflow, place)
    for record in tqdm.tqdm(run.records, desc="sessions", unit="session", leave=False, disable=None):
        if isinstance(record, SessionRecord):
            yield {"run": number, **_session(record, _document(run.folder, record.id), sights)}


def _document(folder: Path, id: str) -> SessionDocument:
    path, remedy = folder / "traces" / f"{id}.json", "`flowmind dialogue --replay` writes it again"
    if not path.exists():
        raise InputError(f"{path}: no such file, but the run has a record of this session; {remedy}")
    try:
        return validate(SessionDocument, read_document(path, remedy))
    except ValueError as error:
        raise InputError(f"{path}: no session can be read from it: {error}; {remedy}") from None


def _session(record: SessionRecord, document: SessionDocument, sights: Mapping[str, Sight]) -> dict[str, Any]:
    session, trace, score = document.session, document.trace, record.score
    interventions = session.interventions if document.oow else ()
    added = [row.change.add.scenario for row in interventions if row.change is not None and row.change.add is not None]
    scenarios = list(dict.fromkeys([*session.scenarios, *added]))
    return {
        "id": record.id,
        "scenarios": scenarios,
        "success": score is not None and score.success,
        "untold": score.untold if score is not None else (),
        "violations": record.compliance.violations if record.compliance is not None else 0,
        "refused": sum(isinstance(event, Refused) for event in trace.events),
        "failure": record.failure,
        "stop": trace.stop,
        "persona": session.profile.persona,
        "goals": [goal.model_dump(mode="json") for goal in session.goals],
        "interventions": [{"type": row.type, "subtype": row.subtype} for row in interventions],
        "steps": list(steps_of(trace, scenarios, sights, {row.event: row.licensed for row in document.verdicts})),
        "changes": [change.model_dump(mode="json") for change in document.changes],
        "wanted": [change.model_dump(mode="json") for change in document.gold.changes],
    }


def _shortened(value: Any, cut: int) -> Any:
    """A value whose texts have at most `cut` characters."""
    if isinstance(value, str):
        return value if len(value) <= cut else f"{value[:cut]}…"
    if isinstance(value, dict):
        return {name: _shortened(part, cut) for name, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_shortened(part, cut) for part in cast("list[Any]", value)]
    return value


def _page(content: Mapping[str, Any], packed: str) -> str:
    """The page. Its content security policy allows only the page's own script and style, by their hashes."""
    from jinja2 import Environment, StrictUndefined

    script, style = (
        template("sessions.js"),
        template("report.css") + template("drawing.css") + svg.STYLE + template("sessions.css"),
    )
    policy = (
        f"default-src 'none'; script-src {hash_of(script)}; style-src {hash_of(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    helpers = {"parts": parts_of, "rows": rows_of, "columns": columns_of}
    return environment.from_string(template("sessions.html")).render(
        **content, **helpers, policy=policy, script=script, style=style, packed=packed
    )
