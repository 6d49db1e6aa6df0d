"""The paper's tables and figures, computed from the records of runs; separate rows have the paper's own values.

An analysis takes loaded runs and returns a table. It asks no model and reads no benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product
from statistics import fmean
from typing import Any

from experiments import doubts, paper, uses, verified
from experiments.loading import FAILED, PASSED, Cases, Loaded, Test, grouped, having
from experiments.record import CaseRecord, StructureFacts
from experiments.tables import ABOUT_GOLD, PAPER, Analysis, Column, Table, Value, kind, shown, size, table
from experiments.verdicts import best, compare
from flowmind.evaluation.statistics import McNemar, correlation, holm, mean_of, rate
from tools_registry import catalog

LEVELS = ("easy", "medium", "hard")
FAILURES = {
    "exec_only": "execution only, no graph",
    "graph_only": "graph only, no execution",
    "both_partial": "both partial or failed",
    "empty": "empty or error",
}
"""The failure modes in words."""

_PASSED = Column("case pass", Cases.rate, "case_pass_rate")
_TESTS = Column("test pass", lambda cases: cases.tests, "test_pass_rate")
_STAGES = (
    Column("exec complete", lambda cases: cases.rate(having(exec_complete=True)), "exec_complete"),
    Column("graph valid", lambda cases: cases.rate(having(graph_valid=True)), "graph_valid"),
    Column("both", lambda cases: cases.rate(having(exec_complete=True, graph_valid=True)), "both"),
)


def _total(field: Callable[[CaseRecord], int]) -> Callable[[Cases], int]:
    return lambda cases: sum(map(field, cases.records))


# Main results

_HOW_SURE = (
    "Rates are in percent (count of all) with 95 % Wilson intervals. The paper's rates come from single runs and have "
    "no interval; a rate of 141 cases has an interval of about ± 7 points. Errors are cases that ended with an "
    "infrastructure error; the rates do not count them."
)


def table1(runs: Sequence[Loaded]) -> Table | None:
    """Table 1: the main results."""
    errors = Column("errors", lambda cases: sum(run.errors for run in cases.runs))
    columns = (size(paper="cases"), _PASSED, _TESTS, *_STAGES, errors)
    theirs = [(name, {**row, "cases": 141}) for name, row in paper.named("table1_main")]
    notes = (_HOW_SURE, *_about_gold(runs))
    return Analysis("table1", "Main results (table 1)", columns, best, paper=theirs, notes=notes)(runs)


def _about_gold(runs: Iterable[Loaded]) -> tuple[str, ...]:
    return (ABOUT_GOLD,) if any(run.gold for run in runs) else ()


def _counts(test: McNemar) -> tuple[str, ...]:
    return tuple(map(str, (test.cases, test.first_only, test.second_only, test.both, test.neither)))


def comparisons(runs: Sequence[Loaded]) -> Table | None:
    """Every two modes of a model on the same cases, by the exact McNemar test."""
    pairs = combinations(grouped(runs), 2)
    tests = [(first.label, second.label, compare(first.records, second.records)) for first, second in pairs]
    rows = [(first, second, *_counts(test), f"{test.p:.3f}") for first, second, test in tests if test.cases]
    head = ("first", "second", "same cases", "only first", "only second", "both", "neither", "p (exact)")
    telling = sum(float(row[-1]) < 0.05 for row in rows)
    says = (
        f"{telling} of {len(rows)} comparisons have p below 0.05. About one in twenty would without any difference: p "
        "is not corrected for the number of comparisons."
    )
    return table("compared", "Compared on the same cases (McNemar)", head, rows, says, _about_gold(runs))


def against(runs: Sequence[Loaded]) -> Table | None:
    """Every run that executed against plain `es-pe` of its model on the same cases, by the exact McNemar test."""
    tests: list[tuple[str, str, McNemar]] = []
    for model in grouped([run for run in runs if not run.gold], lambda run: run.model):
        cells = {cell.label: cell.records for cell in grouped(model.runs)}
        base = next((run.label for run in model.runs if run.mode == "es-pe" and not run.variant), None)
        if base is not None:
            tests += [(name, base, compare(of, cells[base])) for name, of in cells.items() if name != base]
    tests = [row for row in tests if row[2].cases]
    corrected = holm([test.p for *_, test in tests])
    rows = [
        (name, base, *_counts(test), f"{100 * (test.first_only - test.second_only) / test.cases:+.1f}",
         f"{test.p:.3f}", f"{p:.3f}")
        for (name, base, test), p in zip(tests, corrected, strict=True)
    ]  # fmt: skip
    clear = sum(float(row[-1]) < 0.05 for row in rows)
    says = (
        f"{clear} of {len(rows)} runs differ significantly from `es-pe` when p is corrected for the number of runs "
        "(Holm). Points are percentage points on the same cases. Runs with gold traces are left out."
    )
    split = ("only this", "only es-pe", "both", "neither")
    head = ("run", "against", "same cases", *split, "points", "p (exact)", "p (Holm)")
    return table("against", "Against es-pe on the same cases (McNemar)", head, rows, says)


SEEDS = Analysis(
    "seeds", "Over several seeds",
    (
        Column("seeds", lambda cases: ", ".join(str(run.seed) for run in cases.runs)),
        Column("case pass, mean", lambda cases: mean_of([run.rate().percent for run in grouped(cases.runs, _folder)])),
        Column("test pass, mean", lambda cases: mean_of([run.tests.percent for run in grouped(cases.runs, _folder)])),
    ),
    "Means over seeds with 95 % intervals (Student's t). They show how much repetitions differ.",
    cases=lambda runs: [cell for cell in grouped(runs) if len(cell.runs) > 1],
)  # fmt: skip


def _folder(run: Loaded) -> str:
    return str(run.folder)


# Mixed tool invocation

TABLE2 = Analysis(
    "table2", "Mixed tool invocation (table 2)",
    (
        size("total", "total"),
        Column("clean", lambda cases: cases.count(having(mti=None)), "clean"),
        Column("mixed", lambda cases: cases.count(lambda record: record.mti is not None), "mti"),
        Column("rate", lambda cases: cases.rate(lambda record: record.mti is not None), "mti_rate"),
    ),
    "In Execute-Summarize each stage has the tools of one kind only: its rate is 0 by construction.",
    paper=paper.named("table2_mixed_tool_invocation_qwen3_8b"),
)  # fmt: skip


def _kinds_of_mixing(runs: Sequence[Loaded]) -> list[Cases]:
    kinds = ("interleaved", "interrupted", "front_loaded", None)
    parts = [
        cell.where(having(mti=name), (name or "clean").replace("_", "-"))
        for cell, name in product(grouped(runs), kinds)
    ]
    return [part for part in parts if part.records]


def _about_mixing(runs: Sequence[Loaded]) -> str:
    mixed = any(record.mti for run in runs for record in run.records)
    says = "The paper finds that interrupted executions always fail."
    return says if mixed else f"{says} No run mixed tools, so these runs neither confirm nor refute it."


FIGURE4 = Analysis(
    "figure4", "Kinds of mixed tool invocation and their failures (figure 4)",
    (kind(1, "kind"), size(), Column("failed", lambda cases: cases.rate(FAILED))),
    _about_mixing,
    cases=_kinds_of_mixing,
)  # fmt: skip

# The benchmark


def _once(runs: Sequence[Loaded]) -> Cases:
    """Each case of some runs once, infrastructure errors included."""
    return Cases((), tuple(runs), tuple({record.id: record for run in runs for record in run.everything}.values()))


def _partial(runs: Sequence[Loaded]) -> str:
    count = len(_once(runs).records)
    return "" if count == 141 else f" The runs have {count} cases; the whole benchmark has 141."


def _by_category(runs: Sequence[Loaded]) -> list[Cases]:
    cases = _once(runs)
    names = dict.fromkeys(record.category for record in cases.records)
    parts = [cases.where(having(category=name), name.replace("_", " ")) for name in names]
    return [*parts, replace(cases, names=("all",))]


def _tools(cases: Cases) -> int:
    categories = {record.category for record in cases.records}
    return sum(tool.category in categories for tool in catalog.load().values())


TABLE3 = Analysis(
    "table3", "Composition by category (table 3)",
    (
        size("instances", "instances"),
        Column("tests", _total(lambda record: len(record.tests)), "tests"),
        Column("examples", _total(lambda record: record.task.examples), "examples"),
        Column("tools", _tools, "tools"),
    ),
    lambda runs: "The tasks that the runs cover. Tools are counted in the catalog." + _partial(runs),
    cases=_by_category,
    paper=[(row["category"].lower(), row) for row in paper.rows("table3_composition")],
    names="category",
)  # fmt: skip


def levels(records: Iterable[CaseRecord]) -> list[str]:
    """The difficulties of some cases, the easiest first."""
    names = {record.difficulty for record in records} - {""}
    return [*(level for level in LEVELS if level in names), *sorted(names - set(LEVELS))]


def _by_level(runs: Sequence[Loaded]) -> list[Cases]:
    cases = _once(runs)
    return [cases.where(having(difficulty=level), level) for level in levels(cases.records)]


def _range_of_tools(cases: Cases) -> str:
    tools = [record.task.tools for record in cases.records]
    return f"{min(tools)} to {max(tools)}"


_MEAN_TOOLS = Column("on average", lambda cases: fmean(record.task.tools for record in cases.records), "tools_avg")
TABLE4 = Analysis(
    "table4", "Composition by difficulty (table 4)",
    (
        size("instances", "instances"),
        Column("tools offered", _range_of_tools, "offered"),
        _MEAN_TOOLS,
        Column("control flow", lambda cases: ", ".join(sorted({r.task.control_flow for r in cases.records})), "flows"),
    ),
    lambda runs: "Harder tasks offer more tools and need branches, iteration, or both." + _partial(runs),
    cases=_by_level,
    paper=[
        (row["difficulty"],
         {**row, "offered": "{} to {}".format(*row["tools_per_instance"]), "flows": ", ".join(row["control_flow"])})
        for row in paper.rows("table4_difficulty")
    ],
    names="difficulty",
)  # fmt: skip
FIGURE6 = Analysis(
    "figure6", "Difficulty, length of text and tools (figure 6)",
    (
        size("instances"),
        Column("words, mean", lambda cases: fmean(record.task.words for record in cases.records)),
        replace(_MEAN_TOOLS, title="tools offered, mean"),
    ),
    "Texts and tool sets grow with the difficulty. The paper shows this as a plot without numbers.",
    cases=_by_level,
    names="difficulty",
)  # fmt: skip

# Passed cases

TABLE6 = Analysis(
    "table6", "Cases passed (table 6)",
    (
        Column("passed", lambda cases: cases.count(PASSED), "passed"),
        size("of", "total"),
        replace(_PASSED, title="rate"),
    ),
    best,
    paper=paper.named("table6_qwen3_8b_pass"),
)  # fmt: skip
_CATEGORIES = {
    "Data Proc.": "data_processing", "String Manip.": "string_manipulation", "Logic Reason.": "logical_reasoning",
    "Math Comp.": "mathematical_computation",
}  # fmt: skip


def table7(runs: Sequence[Loaded]) -> Table | None:
    """Table 7: cases passed by category and, beyond the paper, by difficulty."""

    def part(name: str) -> Column:
        inside: Test = lambda record: name in (record.category, record.difficulty)  # noqa: E731
        return Column(name.replace("_", " "), lambda cases: cases.where(inside).rate(), name)

    records = _once(runs).records
    categories = dict.fromkeys(record.category for record in records if record.category)
    rows = {_CATEGORIES[row["category"]]: row for row in paper.rows("table7_by_category_qwen3_8b")}
    modes = ("react", "pe", "es_react", "es_pe")
    theirs = [(f"qwen3-8b {mode.replace('_', '-')}", {name: row[mode] for name, row in rows.items()}) for mode in modes]
    says = "Each category and level has few cases: the intervals are wide, and most differences are not significant."
    columns = tuple(map(part, [*categories, *levels(records)]))
    return Analysis(
        "table7", "Cases passed by category and difficulty (table 7)", columns, says, paper=theirs
    )(runs)  # fmt: skip


_FORGETTING = ("react", "enhanced-react", "es-react")


def _forgetting(runs: Sequence[Loaded]) -> list[Cases]:
    chosen = [run for run in runs if run.mode in _FORGETTING and run.as_its_mode]
    return grouped(sorted(chosen, key=lambda run: (run.model, _FORGETTING.index(run.mode))))


FIGURE3 = Analysis(
    "figure3", "Forgetting the graph (figure 3)",
    (
        _PASSED,
        Column(
            "failed though executed, without a sound graph",
            lambda cases: cases.where(FAILED).rate(having(exec_complete=True, graph_valid=False)),
        ),
    ),
    "Where the last column is smaller, separate stages help against forgetting the graph. The paper counts "
    "{failed_cases_with_no_graph} of {of} failed ReAct cases without a graph."
    .format(**paper.values()["section_4_3_1"]),
    cases=_forgetting,
    paper=[
        (f"qwen3-8b {mode.replace('_', '-')}", {"case_pass_rate": value})
        for mode, value in paper.values()["figure3_pass_rate_qwen3_8b"].items()
    ],
)  # fmt: skip


# Execution and graph

TABLE8 = Analysis(
    "table8", "Execution against graph (table 8)",
    (
        kind(1, "execution", "execution"),
        kind(2, "graph", "graph"),
        size(paper="cases"),
        replace(_TESTS, paper="avg_pass_rate"),
    ),
    "Execution: the execution gave the right answer. Graph: the workflow is sound. In cases with execution but "
    "without graph, the summarizer failed; a sound graph of a wrong execution repeats its mistake.",
    cases=lambda runs: [
        cell.where(having(exec_correct=correct, graph_valid=valid), shown(correct), shown(valid))
        for cell, correct, valid in product(grouped(runs), (True, False), (True, False))
    ],
    paper=[("qwen3-8b es-react", row) for row in paper.rows("table8_quadrants_es_react")],
)  # fmt: skip
_EXECUTIONS: dict[str, Test] = {
    "execution completed": having(exec_complete=True),
    "execution not completed": having(exec_complete=False),
    "trace complete, without an error": having(integrity="complete"),
    "trace complete, with failed calls": having(integrity="errors"),
    "trace not complete": having(integrity="incomplete"),
}
FIGURE5 = Analysis(
    "figure5", "Outcome and integrity of the execution (figure 5)",
    (kind(1, "kind"), size(), _PASSED),
    "The paper reports 26 to 34 % after a successful execution and 0 to 1.6 % after a failed one, more than 27 % for "
    "complete traces and 0 to 3 % for others. A difference need not be an effect: hard tasks fail in both stages.",
    cases=lambda runs: [cell.where(test, name) for cell in grouped(runs) for name, test in _EXECUTIONS.items()],
)  # fmt: skip


def _variants(runs: Sequence[Loaded]) -> list[Loaded]:
    return [run for run in runs if run.mode in ("es-react", "es-pr", "es-rp", "es-pe") and run.as_its_mode]


TABLE9 = Analysis(
    "table9", "Variants of Execute-Summarize (table 9)",
    (_PASSED, *_STAGES),
    lambda runs: best(_variants(runs)),
    cases=lambda runs: grouped(_variants(runs)),
    paper=paper.named("table9_es_variants", "{model} es-{execute[0]}{summarize[0]}"),
)  # fmt: skip

# Tokens and failures


def execute_tokens(cases: Cases) -> float | None:
    return _mean([record.execute.output_tokens for record in cases.records])


def summarize_tokens(cases: Cases) -> float | None:
    return _mean([record.summarize.output_tokens for record in cases.records])


def _mean(counts: Sequence[int | None]) -> float | None:
    """The mean of token counts; None if a server did not report all of them."""
    known = [count for count in counts if count is not None]
    return fmean(known) if known and len(known) == len(counts) else None


def _tokens(cases: Cases) -> float | None:
    execute, summarize = execute_tokens(cases), summarize_tokens(cases)
    return None if execute is None or summarize is None else execute + summarize


TABLE10 = Analysis(
    "table10", "Output tokens a case (table 10)",
    (
        Column("execute", execute_tokens, "execute_tokens", 0),
        Column("summarize", summarize_tokens, "summarize_tokens", 0),
        Column("total", _tokens, "total_tokens", 0),
    ),
    lambda runs: "Mean output tokens per case, as the server reports them. A single-stage mode has one stage only."
    + (" `search` writes no tokens." if any(run.model == "search" for run in runs) else ""),
    paper=paper.named("table10_output_tokens_per_case"),
)  # fmt: skip


def _failure(mode: str, words: str) -> Column:
    return Column(words, lambda cases: cases.rate(having(failure_mode=mode)), mode)


def _their_failures(mode: str) -> dict[str, Any]:
    rows = paper.rows("table11_failure_modes_qwen3_8b")
    shares = {kind: f"{row[f'{mode}_pct']:.1f} ({row[mode]})" for kind, row in zip(FAILURES, rows, strict=True)}
    return {"failed": sum(row[mode] for row in rows), **shares}


TABLE11 = Analysis(
    "table11", "Failure modes (table 11)",
    (size("failed", "failed"), *(_failure(*mode) for mode in FAILURES.items())),
    "Shares of the failed cases. A case that completes both stages and fails its tests counts as both partial.",
    cases=lambda runs: [cell.where(FAILED) for cell in grouped(runs)],
    paper=[(f"qwen3-8b {mode}", _their_failures(mode)) for mode in ("react", "pe")],
)  # fmt: skip
TABLE12 = Analysis(
    "table12", "Output tokens by outcome (table 12)",
    (
        Column("passed", lambda cases: cases.count(PASSED), "successes"),
        Column("tokens each", lambda cases: _tokens(cases.where(PASSED)), "tokens_per_success", 0),
        Column("failed", lambda cases: cases.count(FAILED), "failures"),
        Column("tokens each", lambda cases: _tokens(cases.where(FAILED)), "tokens_per_failure", 0),
    ),
    "Passed cases are easier on average. Their lower token counts are not only due to the mode.",
    paper=paper.named("table12_tokens_by_outcome_qwen3_8b"),
)  # fmt: skip


def _telling_cases(runs: Sequence[Loaded]) -> list[Cases]:
    """For each model one case that `es-pe` passes and `pe` does not, in both modes."""
    parts: list[Cases] = []
    for model in grouped([run for run in runs if run.as_its_mode], lambda run: run.model):
        by_mode = {run.mode: run for run in model.runs}
        if not by_mode.keys() >= {"pe", "es-pe"}:
            continue
        single, staged = ({record.id: record for record in by_mode[mode].records} for mode in ("pe", "es-pe"))
        telling = [id for id in single.keys() & staged.keys() if staged[id].passed and not single[id].passed]
        if telling:
            id = min(telling, key=lambda id: (-single[id].calls.graph, id))
            pairs = ((by_mode["pe"], single[id]), (by_mode["es-pe"], staged[id]))
            parts += [Cases((run.label, id), (run,), (record,)) for run, record in pairs]
    return parts


TABLE13 = Analysis(
    "table13", "A case in both modes (table 13)",
    (
        kind(1, "case", "case"),
        Column("business calls", _total(lambda record: record.calls.business), "business_actions"),
        Column("graph calls", _total(lambda record: record.calls.graph), "graph_actions"),
        Column("output tokens", _tokens, "total_tokens", 0),
        Column("test pass", lambda cases: cases.tests, "pass_rate"),
    ),
    "An example, selected because the modes differ on it. It says nothing about how often they differ.",
    cases=_telling_cases,
    paper=[
        (f"qwen3-8b {mode.replace('_', '-')}", {**row, "case": "math_035"})
        for mode, row in paper.values()["table13_case_study_math_035_iterative_sqrt_convergence"].items()
    ],
    needs_cases=True,
)  # fmt: skip

# Traces, passes and time


def _several_rollouts(runs: Sequence[Loaded]) -> list[Loaded]:
    return [run for run in runs if run.rollouts > 1 and run.as_its_mode]


def _by_selection(runs: Sequence[Loaded]) -> list[Cases]:
    def name(run: Loaded) -> str:
        return f"{run.model} {run.mode} ({run.settings['trace_selection']})"

    return [replace(cell, names=(name(cell.runs[0]),)) for cell in grouped(_several_rollouts(runs))]


TABLE14 = Analysis(
    "table14", "Selection of traces, three rollouts (table 14)",
    (replace(_PASSED, paper="cases"), replace(_TESTS, paper="tests")),
    lambda runs: best(_several_rollouts(runs)),
    cases=_by_selection,
    paper=[
        (name, {"cases": f"{row['case_pass_rate']:.1f} ({row['solved']})",
                "tests": f"{row['test_pass_rate']:.1f} ({row['passed_tests']})"})
        for name, row in paper.named("table14_trace_selection_qwen3_8b", "{model} {setting}")
    ],
)  # fmt: skip
TABLE15 = Analysis(
    "table15", "A single pass (table 15)",
    (_TESTS,),
    "One execution and one summary per case, for comparison with the selection of traces.",
    cases=lambda runs: grouped(
        [run for run in runs if run.mode in ("es-react", "es-pe") and run.rollouts == 1 and run.as_its_mode]
    ),
    paper=paper.named("table15_single_pass_qwen3_8b"),
)  # fmt: skip
_ABOUT_TIME = "The sum of the times of all cases, as if they ran one after the other. It depends on the machine."
_TIMES = (
    Column("cases", lambda cases: len(cases.everything), "cases"),
    Column(
        "hours, one after the other",
        lambda cases: sum(record.seconds for record in cases.everything) / 3_600,
        "hours",
        2,
    ),
)
TABLE16 = Analysis(
    "table16", "Hours by model (table 16)",
    _TIMES,
    _ABOUT_TIME,
    cases=lambda runs: grouped(runs, lambda run: run.model),
    paper=[
        (name.lower(), {"cases": 846, "hours": f"{hours:.1f}"})
        for name, hours in paper.values()["table16_total_hours"].items()
    ],
    names="model",
)  # fmt: skip
_MODELS = {"8B": "qwen3-8b", "14B": "qwen3-14b", "32B": "qwen3-32b", "GPT-4.1": "gpt-4.1", "GPT-5": "gpt-5"}
TABLE17 = Analysis(
    "table17", "Hours by mode (table 17)",
    _TIMES,
    _ABOUT_TIME,
    paper=[
        (f"{model} {row['mode']}", {"cases": 141, "hours": f"{row[key]:.1f}"})
        for row in paper.rows("table17_hours_by_mode")
        if row["mode"] != "Total"
        for key, model in _MODELS.items()
    ],
)  # fmt: skip
TABLE5 = Analysis(
    "table5", "Constrained against free replies (table 5)",
    (
        Column("JSON mode", lambda cases: str(cases.runs[0].settings.get("json_mode", "off"))),
        _PASSED,
        _TESTS,
        Column(
            "replies that were not plain JSON",
            _total(lambda record: record.parse.recovered + record.parse.reprompted + record.parse.failed),
        ),
    ),
    "The paper reports that no mode passes the evaluated case when each reply is constrained to a JSON object, and "
    "that three of four modes pass it with free replies. It gives no rates for comparison.",
)  # fmt: skip

# Structure

_PARTS: dict[str, Callable[[StructureFacts], float]] = {
    "nodes": lambda facts: facts.nodes,
    "tools": lambda facts: facts.tools,
    "edges": lambda facts: facts.edges,
    "branches": lambda facts: facts.branches,
    "paths covered": lambda facts: facts.covered,
}


def structures(runs: Sequence[Loaded]) -> Table | None:
    """The similarity of the workflows to gold, and its correlation with passing the tests."""
    rows: list[tuple[Value, ...]] = []
    for cell in grouped(runs):
        facts = [(record.structure, record.passed) for record in cell.records if record.structure is not None]
        equivalent = rate(sum(structure.equivalent for structure, _ in facts), len(facts))
        for name, part in _PARTS.items() if facts else ():
            pairs = [(part(structure), float(passed)) for structure, passed in facts]
            mean = 100 * fmean(f1 for f1, _ in pairs)
            rows.append((cell.label, name, len(facts), mean, correlation(pairs), equivalent))
    says = (
        "Mean F1 in percent over the cases that have a workflow (paths covered: the share of the gold workflow's "
        "paths). The correlation with passing all tests is point-biserial, with Fisher's interval; it is undefined "
        "where a value does not vary. Equivalent workflows are known to give the same answers; others can pass as well."
    )
    head = ("run", "part", "workflows", "mean", "correlation with passing", "equivalent to gold")
    return table("structures", "Structure against gold", head, rows, says)


ANALYSES: dict[str, Callable[[Sequence[Loaded]], Table | None]] = {
    "table1": table1, "compared": comparisons, "against": against, "seeds": SEEDS, "table2": TABLE2, "table3": TABLE3,
    "table4": TABLE4, "table5": TABLE5, "table6": TABLE6, "table7": table7, "table8": TABLE8, "table9": TABLE9,
    "table10": TABLE10, "table11": TABLE11, "table12": TABLE12, "table13": TABLE13, "table14": TABLE14,
    "table15": TABLE15, "table16": TABLE16, "table17": TABLE17, "figure3": FIGURE3, "figure4": FIGURE4,
    "figure5": FIGURE5, "figure6": FIGURE6, "structures": structures, **verified.ANALYSES,
    **doubts.ANALYSES, **uses.ANALYSES,
}  # fmt: skip


def analyse(runs: Sequence[Loaded], names: Iterable[str] | None = None) -> list[Table]:
    """The tables of some runs, without those that the runs have no data for.

    Runs of modes that execute only are in the tables of `experiments.uses` alone.

    Args:
        runs: At least one.
        names: Keys of `ANALYSES`; by default all of them.
    """
    building = [run for run in runs if run.builds]
    read = {name: runs if name in uses.ANALYSES else building for name in (ANALYSES if names is None else names)}
    tables = [ANALYSES[name](chosen) for name, chosen in read.items() if chosen]
    return [table for table in tables if table is not None and (names is not None or _has_own_rows(table))]


def _has_own_rows(table: Table) -> bool:
    """Whether a table has a row that is not the paper's."""
    return any(not row[0].startswith(PAPER) for row in table.rows)
