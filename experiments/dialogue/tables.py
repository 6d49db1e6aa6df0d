"""The tables of FlowBench and FlowAgent, and ours, from runs of dialogues.

A table has runs of one build of the data and one simulated user only, and no column by a judge: judged values have
tables of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.dialogue.papers import paper_table
from experiments.dialogue.recording import SessionRecord
from experiments.dialogue.running import DialogueFolder, read_manifest
from experiments.dialogue.summing import Cell, DialogueRecord, Interval, cell, intervals, passed, share, summarize
from experiments.tables import Table, shown
from flowmind.base.files import dump_json
from flowmind.dialogue.methods import METHODS
from flowmind.evaluation.failures import CLASSES
from flowmind.evaluation.statistics import mcnemar
from flowmind.trace.scenario import OOW_TYPES

SCOPES = ("single", "cross")
_PRF = {"tool_precision": "tool P", "tool_recall": "tool R", "tool_f1": "tool F1"}
_SUCCESS = {"success_rate": "success %", "task_progress": "progress %"}


@dataclass(frozen=True)
class DialogueRun:
    """A run that is read back."""

    folder: Path
    settings: dict[str, Any]
    data: dict[str, Any]
    """The name of the data, and the digests of its files."""
    everything: tuple[DialogueRecord, ...]

    @classmethod
    def read(cls, folder: Path) -> DialogueRun:
        """Reads a run's folder.

        Raises:
            InputError: If it holds no run of dialogues, or the records cannot be read.
        """
        manifest = read_manifest(folder)
        records = DialogueFolder(folder, manifest["settings"]["level"]).records()
        return cls(folder, manifest["settings"], manifest["benchmark"], tuple(records.values()))

    @property
    def records(self) -> list[DialogueRecord]:
        """The completed sessions or turns."""
        return [record for record in self.everything if record.error is None]

    @property
    def user(self) -> str:
        """The simulated user."""
        return summarize((), self.settings, "").user

    @property
    def model(self) -> str:
        """The agent's model; an embedded one says that it is none."""
        name = str(self.settings["model"])
        return f"{name} (no LLM)" if name.partition(":")[0] in ("follow", "slips") else name

    @property
    def method(self) -> str:
        """The method, with controllers and stages that are not its own, and the source of the procedures."""
        settings = self.settings
        plain = METHODS[settings["method"]]
        words = [settings["method"]]
        if tuple(settings["controllers"]) != plain.controllers:
            words.append("+".join(settings["controllers"]) or "no controllers")
        if tuple(settings["stages"]) != plain.stages:
            words.append("+".join(settings["stages"]))
        if settings.get("procedures"):
            words.append(f"procedures of {settings['procedures'].partition(' ')[0]}")
        return ", ".join(words)

    @property
    def form(self) -> str:
        """Whether users leave the workflow."""
        return "out of workflow" if self.settings["oow"] else "in workflow"

    def where(self, **fields: Any) -> list[DialogueRecord]:
        """The completed records whose fields have these values."""
        return [row for row in self.records if all(getattr(row, name) == value for name, value in fields.items())]


Runs = Sequence[DialogueRun]
Build = Callable[[Runs], "tuple[tuple[str, ...], list[tuple[str, ...]]]"]
"""Makes the head and the rows of a table."""


def made_tables(keys: Sequence[str], runs: Runs) -> list[Table]:
    """The tables of some keys, each once for each build of the data and each user, followed by the paper's values."""
    tables: list[Table] = []
    for key in keys:
        title, level, build = TABLES[key]
        fitting = [run for run in runs if run.settings["level"] == level]
        for group in comparable(fitting):
            head, rows = build(group)
            if rows:
                says = f"Data: {group[0].data['name']}. User: {group[0].user}."
                tables.append(Table(key, title, head, tuple(rows), says, notes_of(group)))
        if judged := _judged(fitting):
            tables.append(judged)
        if (paper := paper_table(key)) is not None:
            tables.append(paper)
    return tables


def comparable(runs: Runs) -> list[list[DialogueRun]]:
    """The runs in groups of one build of the data and one simulated user."""
    groups: dict[str, list[DialogueRun]] = {}
    for run in runs:
        groups.setdefault(dump_json([run.data, run.user]), []).append(run)
    return list(groups.values())


def notes_of(runs: Runs) -> tuple[str, ...]:
    """What a reader of a table with some runs must know."""
    notes: list[str] = []
    if any("no LLM" in run.model for run in runs):
        notes.append("Models with “no LLM” are programs that read the procedure; they show what a format or a "
                     "controller does, not what a language model does.")  # fmt: skip
    if lost := sum(len(run.everything) - len(run.records) for run in runs):
        notes.append(f"{lost} sessions or turns had no answer from a model's endpoint; they are in no value.")
    return tuple(notes)


# Columns


def value(records: Sequence[DialogueRecord], name: str, bounds: bool = True) -> str:
    """A metric of some sessions or turns as the text of a cell, with its interval where it has one."""
    if not records:
        return "–"
    whole: Cell = cell(records)
    bound = intervals(records, (name,)).get(name) if bounds else None
    return shown_bound(bound) if bound is not None else shown(getattr(whole, name))


def shown_bound(bound: Interval) -> str:
    """A value with its interval."""
    return f"{bound.percent:.1f} [{bound.low:.1f}, {bound.high:.1f}]"


def _by_scope(columns: dict[str, str]) -> Build:
    def build(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        head = ("model", "method", "format", *(f"{scope} {word}" for scope in SCOPES for word in columns.values()))
        rows = [
            (*_named(run), *(value(run.where(scope=scope), name) for scope in SCOPES for name in columns))
            for run in runs
        ]
        return head, rows

    return build


def _named(run: DialogueRun) -> tuple[str, str, str]:
    return run.model, run.method, str(run.settings["format"])


def _by_domain(name: str) -> Build:
    def build(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        domains = sorted({record.domain for run in runs for record in run.records})
        head = ("model", "method", "format", *domains)
        return head, [
            (*_named(run), *(value(run.where(domain=domain), name, bounds=False) for domain in domains)) for run in runs
        ]

    return build


def _plain(columns: dict[str, str], oow: bool | None = None) -> Build:
    """A row for each run; `oow` takes only the runs of one form."""

    def build(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        chosen = [run for run in runs if oow is None or run.settings["oow"] == oow]
        head = ("model", "method", "format", "form", "sessions", *columns.values())
        rows = [
            (*_named(run), run.form, str(len(run.records)), *(value(run.records, name) for name in columns))
            for run in chosen
        ]
        return head, rows

    return build


# Tables


def _domains(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    records = _sessions(runs[:1])
    rows: list[tuple[str, ...]] = []
    for domain in [*sorted({record.domain for record in records}), "all"]:
        chosen = [record for record in records if domain in (record.domain, "all")]
        counts: list[str] = []
        for scope in SCOPES:
            of = [record for record in chosen if record.scope == scope]
            counts += [str(len(of)), str(sum(record.score.turns for record in of if record.score))]
        roles, scenarios = ({getattr(record, name) for record in chosen} for name in ("role", "scenario"))
        rows.append((domain, str(len(roles)), str(len(scenarios)), *counts))
    head = ("domain", "roles", "scenarios", *(f"{scope} {word}" for scope in SCOPES for word in ("sessions", "turns")))
    return head, rows


def _names(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    names: dict[tuple[str, str], set[str]] = {}
    for record in _sessions(runs[:1]):
        names.setdefault((record.domain, record.role), set()).add(record.scenario)
    return ("domain", "role", "scenarios"), [
        (domain, role, ", ".join(sorted(found))) for (domain, role), found in sorted(names.items())
    ]


def _sessions(runs: Runs) -> list[SessionRecord]:
    return [record for run in runs for record in run.records if isinstance(record, SessionRecord)]


def _failures(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    head = ("model", "method", "format", "scope", "failed", *(f"{name.replace('_', ' ')} %" for name in CLASSES))
    rows: list[tuple[str, ...]] = []
    for run in runs:
        for scope in SCOPES:
            found = Counter(r.failure for r in _sessions([run]) if r.scope == scope and r.failure is not None)
            shares = (shown(share(found[name], found.total())) for name in CLASSES)
            rows.append((*_named(run), scope, str(found.total()), *shares))
    return head, rows


def _datasets(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Each form of the data once; turns are those of the first run."""
    rows: list[tuple[str, ...]] = []
    for oow in (False, True):
        of_form = [run for run in runs if run.settings["oow"] == oow]
        records = _sessions(of_form[:1])
        if records:
            turns = sum(record.score.turns for record in records if record.score)
            people, goals = len({r.persona for r in records}), sum(r.goals for r in records)
            counts = (len({r.scenario for r in records}), len(records), turns, people, goals)
            planned = sum(record.interventions for record in records) if oow else 0
            carried = sum(len(record.fired_types) for record in records)
            rows.append((of_form[0].form, *map(str, counts), str(planned), str(carried)))
    head = ("form", "workflows", "sessions", "turns", "profiles", "intentions", "OOW events", "OOW events carried out")
    return head, rows


def _by_type(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Sessions in which an intervention of a type was carried out."""
    rows: list[tuple[str, ...]] = []
    for run in runs:
        if run.settings["oow"]:
            for type in OOW_TYPES:
                chosen = [row for row in _sessions([run]) if type in row.fired_types]
                names = ("success_rate", "task_progress", "tool_f1_names", "recovery_rate")
                of_type = (value(chosen, name, bounds=name == "success_rate") for name in names)
                rows.append((*_named(run), type.replace("_", " "), str(len(chosen)), *of_type))
    head = ("model", "method", "format", "type", "sessions", "success %", "progress %", "tool F1, names", "recovery %")
    return head, rows


_COMPLIANCE = {
    "violations": "violations",
    "sessions_with_violation": "sessions with one %",
    "stopped_rate": "stopped %",
    "wrongly_refused_rate": "wrongly refused %",
    "unconsented_writes": "writes without consent",
    "invented_values": "invented values",
    **_SUCCESS,
    "turns": "turns",
}


def _compared(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Each run beside the first of its model and form, by McNemar's test on the same sessions."""
    head = (
        "model", "method", "format", "form", "against", "sessions", "both succeed", "only this", "only the other", "p",
        "p (sessions with a violation)",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    first: dict[tuple[str, str], DialogueRun] = {}
    for run in runs:
        other = first.setdefault((run.model, run.form), run)
        if other is run:
            continue
        mine, theirs = ({row.id: row for row in _sessions([one])} for one in (run, other))
        shared = [id for id in mine if id in theirs]
        test = mcnemar([(passed(mine[id]), passed(theirs[id])) for id in shared])
        harm = mcnemar([(_violates(mine[id]), _violates(theirs[id])) for id in shared])
        counts = (str(n) for n in (len(shared), test.both, test.first_only, test.second_only))
        against = f"{other.method}, {other.settings['format']}"
        rows.append((*_named(run), run.form, against, *counts, _p(test.p), _p(harm.p)))
    return head, rows


def _violates(record: SessionRecord) -> bool:
    return record.compliance is not None and record.compliance.violations > 0


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _pass_k(runs: Runs) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    summaries = [summarize(run.everything, run.settings, "") for run in runs]
    most = max((len(summary.pass_k) for summary in summaries), default=0)
    head = ("model", "method", "format", "form", "sessions", *(f"pass^{k} %" for k in range(1, most + 1)))
    rows = [
        (*_named(run), run.form, str(len({r.session for r in run.records})),
         *(shown(summary.pass_k.get(str(k))) for k in range(1, most + 1)))
        for run, summary in zip(runs, summaries, strict=True)
        if summary.pass_k
    ]  # fmt: skip
    return head, rows


def _judged(runs: Runs) -> Table | None:
    """What a judge says, beside its agreement with success by state and facts."""
    rows: list[tuple[str, ...]] = []
    for run in runs:
        judged = summarize(run.everything, run.settings, "").judged
        if judged is not None:
            numbers = (judged.success_rate, judged.task_progress, judged.response_score)
            agreed = shown(judged.kappa, 2)
            rows.append((*_named(run), run.form, judged.judge, str(judged.judged), *map(shown, numbers), agreed))
    head = ("model", "method", "format", "form", "judge", "judged", "success %", "progress %", "response", "kappa")
    says = "Judged by a model; kappa is its agreement with success by state and facts."
    return Table("judged", "Judged by a model", head, tuple(rows), says) if rows else None


TABLES: dict[str, tuple[str, str, Build]] = {
    "flowbench_table2": ("Domains: roles, scenarios, sessions, turns (FlowBench, tables 2 and 8)", "session", _domains),
    "flowbench_table6": ("Roles and scenarios (FlowBench, table 6)", "session", _names),
    "flowbench_table3": (
        "Turns by format (FlowBench, table 3)",
        "turn",
        _by_scope({**_PRF, "parameter_f1": "parameter F1", "success_rate": "pass %"}),
    ),
    "flowbench_table4": (
        "Sessions by format (FlowBench, table 4)", "session", _by_scope({**_PRF, **_SUCCESS})
    ),
    "flowbench_table5": (
        "Formats, none and an ensemble (FlowBench, table 5)", "session", _by_scope({"tool_f1": "tool F1", **_SUCCESS})
    ),
    "flowbench_table7": ("Why sessions fail (FlowBench, table 7)", "session", _failures),
    "flowbench_table9": ("Nodes (FlowBench, table 9)", "turn", _by_scope({"node_accuracy": "node %"})),
    "flowbench_figure3": ("Tool F1 by domain (FlowBench, figure 3)", "session", _by_domain("tool_f1")),
    "flowbench_figure4": ("Success by domain (FlowBench, figure 4)", "session", _by_domain("success_rate")),
    "flowbench_figure5": ("Turns by domain (FlowBench, figure 5)", "session", _by_domain("turns")),
    "flowagent_table1": ("The data (FlowAgent, table 1)", "session", _datasets),
    "flowagent_table3": (
        "Sessions in workflow (FlowAgent, table 3)", "session",
        _plain({**_SUCCESS, "tool_f1_names": "tool F1, names"}, oow=False),
    ),
    "flowagent_table4": (
        "Sessions out of workflow (FlowAgent, table 4)", "session",
        _plain({**_SUCCESS, "tool_f1_names": "tool F1, names", "recovery_rate": "recovery %"}, oow=True),
    ),
    "flowagent_figure5": ("By type of out-of-workflow event (FlowAgent, figure 5)", "session", _by_type),
    "flowagent_table5": (
        "Without advice and refusals (FlowAgent, table 5)", "session",
        _plain({**_SUCCESS, "tool_f1_names": "tool F1, names"}),
    ),
    "flowagent_table6": (
        "Turns in and out of workflow (FlowAgent, table 6)", "turn",
        _plain({"success_rate": "pass %", "tool_f1": "tool F1", "parameter_f1": "parameter F1"}),
    ),
    "compliance": ("Violations by controllers", "session", _plain(_COMPLIANCE)),
    "compared": ("The same sessions, compared by McNemar's exact test", "session", _compared),
    "passk": ("Sessions that succeed every time", "session", _pass_k),
}  # fmt: skip
"""By key: the title, the level of its runs, and what makes its head and rows."""
