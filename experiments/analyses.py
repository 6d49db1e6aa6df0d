"""The paper's tables and figures from records alone, beside the paper's own values.

Each analysis is a function of loaded runs; it asks no model and reads no benchmark. A table says in a sentence
what its figures show and what they do not.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

from experiments import paper, verified
from experiments.loading import Loaded, cells, pooled
from experiments.record import CaseRecord, StructureFacts
from experiments.tables import ABOUT_GOLD, PAPER, Table, Test, number, share, shown, tests_passed
from flowmind.evaluation.statistics import McNemar, Mean, correlation, holm, mcnemar, mean_of, rate
from tools_registry import catalog

_LEVELS = ("easy", "medium", "hard")
FAILURES = {
    "exec_only": "execution only, no graph",
    "graph_only": "graph only, no execution",
    "both_partial": "both partial or failed",
    "empty": "empty or error",
}
"""The failure modes in words."""


def _passed(record: CaseRecord) -> bool:
    return record.passed


def _both(record: CaseRecord) -> bool:
    return record.exec_complete and record.graph_valid


def _named(row: dict[str, Any]) -> str:
    return f"{PAPER}{row['model']} {row['mode']}"


# Main results


def table1(runs: Sequence[Loaded]) -> Table:
    """Table 1: the main results."""
    head = ("run", "cases", "case pass", "test pass", "exec complete", "graph valid", "both", "errors")
    notes = (_HOW_SURE, *([ABOUT_GOLD] if any(run.gold for run in runs) else []))
    rows = [
        (
            label,
            str(len(records)),
            shown(share(records, _passed)),
            shown(tests_passed(records)),
            shown(share(records, lambda record: record.exec_complete)),
            shown(share(records, lambda record: record.graph_valid)),
            shown(share(records, _both)),
            str(sum(run.errors for run in cells(runs)[label])),
        )
        for label, records in pooled(runs)
    ]
    keys = ("case_pass_rate", "test_pass_rate", "exec_complete", "graph_valid", "both")
    rows += [(_named(row), "141", *(number(row[key]) for key in keys), "–") for row in paper.rows("table1_main")]
    return Table("table1", "Main results (table 1)", head, tuple(rows), _best(runs), notes)


_HOW_SURE = (
    "Rates in percent (count of all) with 95 % Wilson intervals. The paper's rates rest on single runs and bear no "
    "interval; 141 cases alone leave about ± 7 points. Errors are cases that the infrastructure failed: they are in "
    "no rate."
)


def _best(runs: Sequence[Loaded]) -> str:
    """Who leads of those that executed, and whether the lead is more than chance."""
    by_model: dict[str, list[Loaded]] = {}
    for run in [run for run in runs if not run.gold]:
        by_model.setdefault(run.model, []).append(run)
    said: list[str] = []
    for model, held in by_model.items():
        ranked = sorted(pooled(held), key=lambda cell: -share(cell[1], _passed).percent)
        if len(ranked) < 2 or not ranked[0][1]:
            continue
        (first, best), (second, next_best) = ranked[:2]
        compared = compare(best, next_best)
        rates = share(best, _passed).percent, share(next_best, _passed).percent
        if rates[0] == rates[1]:
            said.append(f"For {model}, {first} and {second} pass equally many ({rates[0]:.1f} %).")
            continue
        lead = f"For {model}, {first} passes most ({rates[0]:.1f} %)"
        if compared.p < 0.05:
            said.append(f"{lead}, more than {second} does by chance alone (p = {compared.p:.3f}).")
        else:
            said.append(f"{lead}, but the data do not tell it from {second} (p = {compared.p:.2f}).")
    return " ".join(said) or "One run alone compares nothing."


def compare(one: Sequence[CaseRecord], other: Sequence[CaseRecord]) -> McNemar:
    """Two sets of records on the cases that both have; of several seeds, each with its like in order."""
    first, second = _by_case(one), _by_case(other)
    pairs = [
        (mine.passed, theirs.passed)
        for id in first.keys() & second.keys()
        for mine, theirs in zip(first[id], second[id], strict=False)
    ]
    return mcnemar(pairs)


def _by_case(records: Iterable[CaseRecord]) -> dict[str, list[CaseRecord]]:
    found: dict[str, list[CaseRecord]] = {}
    for record in records:
        found.setdefault(record.id, []).append(record)
    return found


def comparisons(runs: Sequence[Loaded]) -> Table | None:
    """Every two modes of a model on the same cases, by the exact McNemar test."""
    rows: list[tuple[str, ...]] = []
    for (first, one), (second, other) in itertools.combinations(pooled(runs), 2):
        found = compare(one, other)
        if found.cases:
            split = (str(found.first_only), str(found.second_only), str(found.both), str(found.neither))
            rows.append((first, second, str(found.cases), *split, f"{found.p:.3f}"))
    if not rows:
        return None
    head = ("first", "second", "same cases", "only first", "only second", "both", "neither", "p (exact)")
    telling = sum(float(row[-1]) < 0.05 for row in rows)
    said = (
        f"Of {len(rows)} comparisons {telling} are below 0.05; by chance alone one in twenty would be, and p is not "
        "corrected for how many were made."
    )
    notes = (ABOUT_GOLD,) if any(run.gold for run in runs) else ()
    return Table("compared", "Compared on the same cases (McNemar)", head, tuple(rows), said, notes)


def against(runs: Sequence[Loaded]) -> Table | None:
    """Every run that executed against plain `es-pe` of its model on the same cases, by the exact McNemar test."""
    found: list[tuple[str, str, McNemar]] = []
    for model in dict.fromkeys(run.model for run in runs):
        held = [run for run in runs if run.model == model and not run.gold]
        base = next((run.label for run in held if run.mode == "es-pe" and not run.variant), None)
        of = dict(pooled(held))
        found += [
            (label, base, one)
            for label, records in of.items()
            if base is not None and label != base and (one := compare(records, of[base])).cases
        ]
    if not found:
        return None
    rows = [
        (label, base, str(one.cases), str(one.first_only), str(one.second_only), str(one.both), str(one.neither),
         f"{100 * (one.first_only - one.second_only) / one.cases:+.1f}", f"{one.p:.3f}", f"{corrected:.3f}")
        for (label, base, one), corrected in zip(found, holm([one.p for *_, one in found]), strict=True)
    ]  # fmt: skip
    clear = sum(float(row[-1]) < 0.05 for row in rows)
    said = (
        f"Of {len(rows)} runs {clear} differ from `es-pe` by more than chance once p is corrected for their number "
        "(Holm). Points are percentage points of the same cases. Runs with gold traces are no rivals and left out."
    )
    split = ("only this", "only es-pe", "both", "neither")
    head = ("run", "against", "same cases", *split, "points", "p (exact)", "p (Holm)")
    return Table("against", "Against es-pe on the same cases (McNemar)", head, tuple(rows), said)


def seeds(runs: Sequence[Loaded]) -> Table | None:
    """The mean over seeds, where a cell has several."""
    rows: list[tuple[str, ...]] = []
    for label, held in cells(runs).items():
        if len(held) > 1:
            cases, tests = (
                mean_of([getattr(run.rates, name) for run in held]) for name in ("case_pass_rate", "test_pass_rate")
            )
            rows.append((label, ", ".join(str(run.seed) for run in held), _mean(cases), _mean(tests)))
    if not rows:
        return None
    head = ("run", "seeds", "case pass, mean", "test pass, mean")
    said = "Means over seeds with 95 % intervals (Student's t): how much a repetition may differ."
    return Table("seeds", "Over several seeds", head, tuple(rows), said)


def _mean(found: Mean) -> str:
    spread = f" [{found.low:.1f}, {found.high:.1f}]" if found.low is not None and found.high is not None else ""
    return f"{found.mean:.1f}{spread}"


# Mixed tool invocation


def table2(runs: Sequence[Loaded]) -> Table:
    """Table 2: how often business and graph tools are mixed within a phase."""
    rows = [
        (label, str(len(records)), str(sum(record.mti is None for record in records)),
         str(sum(record.mti is not None for record in records)), shown(share(records, lambda r: r.mti is not None)))
        for label, records in pooled(runs)
    ]  # fmt: skip
    rows += [
        (f"{PAPER}qwen3-8b {row['mode']}", str(row["total"]), str(row["clean"]), str(row["mti"]),
         number(row["mti_rate"]))
        for row in paper.rows("table2_mixed_tool_invocation_qwen3_8b")
    ]  # fmt: skip
    said = "Execute-Summarize cannot mix the tools of both stages: its rate is 0 by construction, not by skill."
    head = ("run", "total", "clean", "mixed", "rate")
    return Table("table2", "Mixed tool invocation (table 2)", head, tuple(rows), said)


def figure4(runs: Sequence[Loaded]) -> Table:
    """Figure 4: the kinds of mixed tool invocation, and how often each fails."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        for kind in ("interleaved", "interrupted", "front_loaded", None):
            found = [record for record in records if record.mti == kind]
            if found:
                failed = share(found, lambda record: not record.passed)
                rows.append((label, (kind or "clean").replace("_", "-"), str(len(found)), shown(failed)))
    mixed = sum(row[1] != "clean" for row in rows)
    said = (
        "The paper finds that interrupted executions always fail. "
        + ("Here no tools were mixed, so the data say nothing about it." if not mixed else "")
    ).strip()
    head = ("run", "kind", "cases", "failed")
    return Table("figure4", "Kinds of mixed tool invocation and their failures (figure 4)", head, tuple(rows), said)


# The benchmark


def table3(runs: Sequence[Loaded]) -> Table:
    """Table 3: the composition by category of the cases that were run."""
    records = _cases(runs)
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(record.category for record in records):
        of = [record for record in records if record.category == name]
        tools = sum(tool.category == name for tool in catalog.load().values())
        rows.append(_composition(name.replace("_", " "), of, tools))
    rows.append(_composition("all", records, sum(int(row[4]) for row in rows)))
    rows += [
        (f"{PAPER}{row['category'].lower()}", *(str(row[key]) for key in ("instances", "tests", "examples", "tools")))
        for row in paper.rows("table3_composition")
    ]
    said = "What the runs cover; tools are those of the catalog." + _partial(records)
    head = ("category", "instances", "tests", "examples", "tools")
    return Table("table3", "Composition by category (table 3)", head, tuple(rows), said)


def _composition(name: str, records: Sequence[CaseRecord], tools: int) -> tuple[str, ...]:
    tests = sum(len(record.tests) for record in records)
    return name, str(len(records)), str(tests), str(sum(record.task.examples for record in records)), str(tools)


def _cases(runs: Sequence[Loaded]) -> list[CaseRecord]:
    """Each case once."""
    return list({record.id: record for run in runs for record in run.everything}.values())


def _partial(records: Sequence[CaseRecord]) -> str:
    return "" if len(records) == 141 else f" The runs have {len(records)} cases; the whole benchmark has 141."


def table4(runs: Sequence[Loaded]) -> Table:
    """Table 4: the composition by difficulty."""
    records = _cases(runs)
    rows: list[tuple[str, ...]] = []
    for level in _levels(records):
        of = [record for record in records if record.difficulty == level]
        tools = [record.task.tools for record in of]
        flows = ", ".join(sorted({record.task.control_flow for record in of}))
        rows.append((level, str(len(of)), f"{min(tools)} to {max(tools)}", number(sum(tools) / len(of)), flows))
    rows += [
        (f"{PAPER}{row['difficulty']}", str(row["instances"]), "{} to {}".format(*row["tools_per_instance"]),
         number(row["tools_avg"]), ", ".join(row["control_flow"]))
        for row in paper.rows("table4_difficulty")
    ]  # fmt: skip
    said = "Harder tasks offer more tools and need branches, iteration, or both." + _partial(records)
    head = ("difficulty", "instances", "tools offered", "on average", "control flow")
    return Table("table4", "Composition by difficulty (table 4)", head, tuple(rows), said)


def _levels(records: Sequence[CaseRecord]) -> list[str]:
    held = {record.difficulty for record in records} - {""}
    return [*(level for level in _LEVELS if level in held), *sorted(held - set(_LEVELS))]


def figure6(runs: Sequence[Loaded]) -> Table:
    """Figure 6: difficulty against the length of the text and the number of tools."""
    records = _cases(runs)
    rows: list[tuple[str, ...]] = []
    for level in _levels(records):
        of = [record for record in records if record.difficulty == level]
        words, tools = ([getattr(record.task, name) for record in of] for name in ("words", "tools"))
        rows.append((level, str(len(of)), number(sum(words) / len(of)), number(sum(tools) / len(of))))
    said = "Texts and tool sets grow with the difficulty; the paper shows this as a plot without figures."
    head = ("difficulty", "instances", "words, mean", "tools offered, mean")
    return Table("figure6", "Difficulty, length of text and tools (figure 6)", head, tuple(rows), said)


# Passing, by what


def table6(runs: Sequence[Loaded]) -> Table:
    """Table 6: cases passed."""
    rows = [
        (label, str(sum(map(_passed, records))), str(len(records)), shown(share(records, _passed)))
        for label, records in pooled(runs)
    ]
    rows += [
        (f"{PAPER}qwen3-8b {row['mode']}", str(row["passed"]), str(row["total"]), number(row["case_pass_rate"]))
        for row in paper.rows("table6_qwen3_8b_pass")
    ]
    return Table("table6", "Cases passed (table 6)", ("run", "passed", "of", "rate"), tuple(rows), _best(runs))


def table7(runs: Sequence[Loaded]) -> Table:
    """Table 7: cases passed by category and, beyond the paper, by difficulty."""
    records = _cases(runs)
    categories = list(dict.fromkeys(record.category for record in records if record.category))
    levels = _levels(records)
    held = pooled(runs)
    rows: list[tuple[str, ...]] = []
    for label, of in held:
        by_category = [shown(share([r for r in of if r.category == name], _passed)) for name in categories]
        by_level = [shown(share([r for r in of if r.difficulty == name], _passed)) for name in levels]
        rows.append((label, *by_category, *by_level))
    short = {"Data Proc.": "data_processing", "String Manip.": "string_manipulation",
             "Logic Reason.": "logical_reasoning", "Math Comp.": "mathematical_computation"}  # fmt: skip
    theirs = {short[row["category"]]: row for row in paper.rows("table7_by_category_qwen3_8b")}
    for mode in ("react", "pe", "es_react", "es_pe"):
        rates = [number(theirs[name][mode]) if name in theirs else "–" for name in categories]
        rows.append((f"{PAPER}qwen3-8b {mode.replace('_', '-')}", *rates, *("–" for _ in levels)))
    head = ("run", *(name.replace("_", " ") for name in categories), *levels)
    said = "Within a category or level the cases are few: the intervals are wide, and most differences are not told."
    return Table("table7", "Cases passed by category and difficulty (table 7)", head, tuple(rows), said)


def figure3(runs: Sequence[Loaded]) -> Table:
    """Figure 3: forgetting the graph, being asked for it, and separate stages."""
    order = ("react", "enhanced-react", "es-react")
    chosen = [run for run in runs if run.mode in order and run.as_its_mode]
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(sorted(chosen, key=lambda run: (run.model, order.index(run.mode)))):
        forgotten = [record for record in records if not record.passed]
        none = share(forgotten, lambda record: record.exec_complete and not record.graph_valid)
        rows.append((label, shown(share(records, _passed)), shown(none)))
    theirs = paper.values()["figure3_pass_rate_qwen3_8b"]
    rows += [(f"{PAPER}qwen3-8b {mode}", number(theirs[mode.replace("-", "_")]), "–") for mode in order]
    forgetting = paper.values()["section_4_3_1"]
    said = (
        "Separate stages help against forgetting where the last column shrinks. The paper counts "
        f"{forgetting['failed_cases_with_no_graph']} of {forgetting['of']} failed ReAct cases without a graph."
    )
    head = ("run", "case pass", "failed though executed, without a sound graph")
    return Table("figure3", "Forgetting the graph (figure 3)", head, tuple(rows), said)


# Execution and graph


def table8(runs: Sequence[Loaded]) -> Table:
    """Table 8: the quadrants of execution against graph."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        for done, valid in itertools.product((True, False), repeat=2):
            of = [r for r in records if (r.exec_correct, r.graph_valid) == (done, valid)]
            rows.append((label, _tick(done), _tick(valid), str(len(of)), shown(tests_passed(of))))
    rows += [
        (f"{PAPER}qwen3-8b es-react", _tick(row["execution"]), _tick(row["graph"]), str(row["cases"]),
         number(row["avg_pass_rate"]))
        for row in paper.rows("table8_quadrants_es_react")
    ]  # fmt: skip
    said = (
        "Execution means here that the answer was right. A right execution without a sound graph is work that the "
        "summarizer lost; a sound graph of a wrong execution repeats its mistake."
    )
    head = ("run", "execution", "graph", "cases", "test pass")
    return Table("table8", "Execution against graph (table 8)", head, tuple(rows), said)


def _tick(value: bool) -> str:
    return "yes" if value else "no"


def figure5(runs: Sequence[Loaded]) -> Table:
    """Figure 5: passing by the outcome of the execution, and by the integrity of its trace."""
    kinds: list[tuple[str, Test]] = [
        ("execution completed", lambda record: record.exec_complete),
        ("execution not completed", lambda record: not record.exec_complete),
        ("trace complete, without an error", lambda record: record.integrity == "complete"),
        ("trace complete, with failed calls", lambda record: record.integrity == "errors"),
        ("trace not complete", lambda record: record.integrity == "incomplete"),
    ]
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        for name, test in kinds:
            of = [record for record in records if test(record)]
            rows.append((label, name, str(len(of)), shown(share(of, _passed))))
    said = (
        "The paper gives 26 to 34 % after a successful execution and 0 to 1.6 % after a failed one, above 27 % for "
        "whole traces and 0 to 3 % for others. A difference here may come from the tasks: hard ones fail in both."
    )
    head = ("run", "kind", "cases", "case pass")
    return Table("figure5", "Outcome and integrity of the execution (figure 5)", head, tuple(rows), said)


def table9(runs: Sequence[Loaded]) -> Table:
    """Table 9: the four variants of Execute-Summarize."""
    variants = {"es-react": "rr", "es-pr": "pr", "es-rp": "rp", "es-pe": "pp"}
    chosen = [run for run in runs if run.mode in variants and run.as_its_mode]
    tests: tuple[Test, ...] = (_passed, lambda r: r.exec_complete, lambda r: r.graph_valid, _both)
    rows = [(label, *(shown(share(records, test)) for test in tests)) for label, records in pooled(chosen)]
    for row in paper.rows("table9_es_variants"):
        letters = f"{row['execute'][0]}{row['summarize'][0]}"
        keys = ("case_pass_rate", "exec_complete", "graph_valid", "both")
        rows.append((f"{PAPER}{row['model']} es-{letters}", *(number(row[key]) for key in keys)))
    head = ("run", "case pass", "exec complete", "graph valid", "both")
    return Table("table9", "Variants of Execute-Summarize (table 9)", head, tuple(rows), _best(chosen))


# Tokens and failures


def _tokens(record: CaseRecord) -> tuple[int | None, int | None]:
    return record.execute.output_tokens, record.summarize.output_tokens


def _mean_tokens(records: Sequence[CaseRecord]) -> tuple[float | None, float | None]:
    """Of each stage; None where the server did not report them."""
    found: list[float | None] = []
    for index in (0, 1):
        known = [_tokens(record)[index] for record in records]
        found.append(None if not known or None in known else sum(value or 0 for value in known) / len(known))
    return found[0], found[1]


def _sum(pair: tuple[float | None, float | None]) -> float | None:
    return None if pair[0] is None or pair[1] is None else pair[0] + pair[1]


def table10(runs: Sequence[Loaded]) -> Table:
    """Table 10: output tokens a case by stage."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        stages = _mean_tokens(records)
        rows.append((label, *(number(value, 0) for value in (*stages, _sum(stages)))))
    keys = ("execute_tokens", "summarize_tokens", "total_tokens")
    rows += [
        (_named(row), *(number(row[key], 0) for key in keys)) for row in paper.rows("table10_output_tokens_per_case")
    ]
    said = "Output tokens as the server reports them, a case. A single-stage mode has all in its one stage."
    if any(run.model == "search" for run in runs):
        said += " `search` writes no tokens."
    head = ("run", "execute", "summarize", "total")
    return Table("table10", "Output tokens a case (table 10)", head, tuple(rows), said)


def table11(runs: Sequence[Loaded]) -> Table:
    """Table 11: what the failed cases lack."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        failed = [record for record in records if not record.passed]
        counted = Counter(record.failure_mode for record in failed)
        rows.append((label, str(len(failed)), *(shown(rate(counted[kind], len(failed))) for kind in FAILURES)))
    theirs = paper.rows("table11_failure_modes_qwen3_8b")
    for mode in ("react", "pe"):
        shares = [f"{row[f'{mode}_pct']:.1f} ({row[mode]})" for row in theirs]
        rows.append((f"{PAPER}qwen3-8b {mode}", str(sum(row[mode] for row in theirs)), *shares))
    said = "Of the failed cases. A case that completed both stages and still fails counts as both partial."
    head = ("run", "failed", *FAILURES.values())
    return Table("table11", "Failure modes (table 11)", head, tuple(rows), said)


def table12(runs: Sequence[Loaded]) -> Table:
    """Table 12: output tokens by outcome."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        parts: list[str] = []
        for outcome in (True, False):
            of = [record for record in records if record.passed == outcome]
            parts += [str(len(of)), number(_sum(_mean_tokens(of)), 0)]
        rows.append((label, *parts))
    rows += [
        (f"{PAPER}qwen3-8b {row['mode']}", str(row["successes"]), number(row["tokens_per_success"], 0),
         str(row["failures"]), number(row["tokens_per_failure"], 0))
        for row in paper.rows("table12_tokens_by_outcome_qwen3_8b")
    ]  # fmt: skip
    said = "Cases that pass are easier ones, so fewer tokens there are not all the mode's merit."
    head = ("run", "passed", "tokens each", "failed", "tokens each")
    return Table("table12", "Output tokens by outcome (table 12)", head, tuple(rows), said)


def table13(runs: Sequence[Loaded]) -> Table | None:
    """Table 13: one case that the single stage fails and separate stages solve, with its calls and tokens."""
    by_model: dict[str, dict[str, Loaded]] = {}
    for run in [run for run in runs if run.as_its_mode]:
        by_model.setdefault(run.model, {})[run.mode] = run
    rows: list[tuple[str, ...]] = []
    for held in by_model.values():
        if "pe" not in held or "es-pe" not in held:
            continue
        single, staged = ({r.id: r for r in held[mode].records} for mode in ("pe", "es-pe"))
        telling = [id for id in single.keys() & staged.keys() if staged[id].passed and not single[id].passed]
        if telling:
            id = min(telling, key=lambda id: (-single[id].calls.graph, id))
            for run, record in ((held["pe"], single[id]), (held["es-pe"], staged[id])):
                total = _sum(_tokens(record))
                passed = shown(tests_passed([record]))
                calls = (str(record.calls.business), str(record.calls.graph))
                rows.append((run.label, id, *calls, number(total, 0), passed))
    if not rows:
        return None
    theirs = paper.values()["table13_case_study_math_035_iterative_sqrt_convergence"]
    for mode in ("pe", "es_pe"):
        row = theirs[mode]
        figures = (row["business_actions"], row["graph_actions"], row["total_tokens"], row["pass_rate"])
        rows.append((f"{PAPER}qwen3-8b {mode.replace('_', '-')}", "math_035", *map(str, figures)))
    said = "One case shows how, not how often: it was picked because the modes differ on it."
    head = ("run", "case", "business calls", "graph calls", "output tokens", "test pass")
    return Table("table13", "A case in both modes (table 13)", head, tuple(rows), said)


# Traces, passes and time


def table14(runs: Sequence[Loaded]) -> Table:
    """Table 14: which traces the summarizer reads."""
    chosen = [run for run in runs if int(run.settings.get("rollouts", 1)) > 1 and run.as_its_mode]
    rows: list[tuple[str, ...]] = []
    for _, held in cells(chosen).items():
        records = [record for run in held for record in run.records]
        name = f"{held[0].model} {held[0].mode} ({held[0].settings['trace_selection']})"
        rows.append((name, shown(share(records, _passed)), shown(tests_passed(records))))
    for row in paper.rows("table14_trace_selection_qwen3_8b"):
        solved = f"{row['case_pass_rate']:.1f} ({row['solved']})"
        rows.append(
            (f"{PAPER}qwen3-8b {row['setting']}", solved, f"{row['test_pass_rate']:.1f} ({row['passed_tests']})")
        )
    head = ("run", "case pass", "test pass")
    return Table("table14", "Selection of traces, three rollouts (table 14)", head, tuple(rows), _best(chosen))


def table15(runs: Sequence[Loaded]) -> Table:
    """Table 15: a single pass of Execute-Summarize."""
    chosen = [
        run
        for run in runs
        if run.mode in ("es-react", "es-pe") and int(run.settings.get("rollouts", 1)) == 1 and run.as_its_mode
    ]
    rows = [(label, shown(tests_passed(records))) for label, records in pooled(chosen)]
    rows += [
        (f"{PAPER}qwen3-8b {row['mode']}", number(row["test_pass_rate"]))
        for row in paper.rows("table15_single_pass_qwen3_8b")
    ]
    said = "What one execution and one summary reach, to be read beside the selection of traces."
    return Table("table15", "A single pass (table 15)", ("run", "test pass"), tuple(rows), said)


def _hours(runs: Sequence[Loaded]) -> float:
    return sum(record.seconds for run in runs for record in run.everything) / 3_600


def table16(runs: Sequence[Loaded]) -> Table:
    """Table 16: hours by model."""
    rows: list[tuple[str, ...]] = []
    for model in dict.fromkeys(run.model for run in runs):
        held = [run for run in runs if run.model == model]
        rows.append((model, str(sum(len(run.everything) for run in held)), number(_hours(held), 2)))
    rows += [(f"{PAPER}{name.lower()}", "846", number(hours)) for name, hours in paper.values()[
        "table16_total_hours"].items()]  # fmt: skip
    head = ("model", "cases", "hours, one after the other")
    return Table("table16", "Hours by model (table 16)", head, tuple(rows), _ABOUT_TIME)


_ABOUT_TIME = "The sum of the cases' times as if one came after the other, on whatever machine served the model."


def table17(runs: Sequence[Loaded]) -> Table:
    """Table 17: hours by mode."""
    rows = [
        (label, str(sum(len(run.everything) for run in held)), number(_hours(held), 2))
        for label, held in cells(runs).items()
    ]
    for row in paper.rows("table17_hours_by_mode"):
        if row["mode"] != "Total":
            models = {"8B": "qwen3-8b", "14B": "qwen3-14b", "32B": "qwen3-32b", "GPT-4.1": "gpt-4.1", "GPT-5": "gpt-5"}
            rows += [(f"{PAPER}{ours} {row['mode']}", "141", number(row[key])) for key, ours in models.items()]
    head = ("run", "cases", "hours, one after the other")
    return Table("table17", "Hours by mode (table 17)", head, tuple(rows), _ABOUT_TIME)


def table5(runs: Sequence[Loaded]) -> Table:
    """Table 5: replies constrained to JSON by the server against free ones."""
    rows: list[tuple[str, ...]] = []
    for label, held in cells(runs).items():
        records = [record for run in held for record in run.records]
        parse = [getattr(record.parse, name) for record in records for name in ("recovered", "reprompted", "failed")]
        setting = str(held[0].settings.get("json_mode", "off"))
        rows.append((label, setting, shown(share(records, _passed)), shown(tests_passed(records)), str(sum(parse))))
    said = (
        "The paper reports that constraining every reply to a JSON object passes nothing in all four modes, while "
        "three of four free runs pass the evaluated case; it gives no figures to put beside ours."
    )
    head = ("run", "JSON mode", "case pass", "test pass", "replies that were not plain JSON")
    return Table("table5", "Constrained against free replies (table 5)", head, tuple(rows), said)


_PARTS: tuple[tuple[str, Callable[[StructureFacts], float]], ...] = (
    ("nodes", lambda facts: facts.nodes),
    ("tools", lambda facts: facts.tools),
    ("edges", lambda facts: facts.edges),
    ("branches", lambda facts: facts.branches),
    ("paths covered", lambda facts: facts.covered),
)


def structures(runs: Sequence[Loaded]) -> Table | None:
    """How far the workflows resemble gold, and whether that goes with passing the tests."""
    rows: list[tuple[str, ...]] = []
    for label, records in pooled(runs):
        held = [(record.structure, record.passed) for record in records if record.structure is not None]
        if not held:
            continue
        equal = shown(rate(sum(facts.equivalent for facts, _ in held), len(held)))
        for name, part in _PARTS:
            values = [part(facts) for facts, _ in held]
            goes = correlation([(part(facts), float(passed)) for facts, passed in held])
            told = "–" if goes is None else f"{goes.r:.2f} [{goes.low:.2f}, {goes.high:.2f}]"
            rows.append((label, name, str(len(held)), f"{100 * fmean(values):.1f}", told, equal))
    if not rows:
        return None
    said = (
        "Means over the cases that have a workflow, F1 in percent (paths: the share of gold's paths that the workflow "
        "has). The correlation with passing all tests is point-biserial, with Fisher's interval; there is none where "
        "nothing varies. Equivalent means known to give the same answers; a workflow can pass its tests without it."
    )
    head = ("run", "part", "workflows", "mean", "correlation with passing", "equivalent to gold")
    return Table("structures", "Structure against gold", head, tuple(rows), said)


ANALYSES: dict[str, Callable[[Sequence[Loaded]], Table | None]] = {
    "table1": table1, "compared": comparisons, "against": against, "seeds": seeds, "table2": table2, "table3": table3,
    "table4": table4, "table5": table5, "table6": table6, "table7": table7, "table8": table8, "table9": table9,
    "table10": table10, "table11": table11, "table12": table12, "table13": table13, "table14": table14,
    "table15": table15, "table16": table16, "table17": table17, "figure3": figure3, "figure4": figure4,
    "figure5": figure5, "figure6": figure6, "structures": structures, **verified.ANALYSES,
}  # fmt: skip


def analyse(runs: Sequence[Loaded], names: Iterable[str] | None = None) -> list[Table]:
    """The tables of some runs; those that the runs have nothing for are left out.

    Args:
        runs: At least one.
        names: Keys of `ANALYSES`; all of them, if not given.
    """
    found: list[Table] = []
    for name in ANALYSES if names is None else names:
        table = ANALYSES[name](runs)
        if table is not None and (names is not None or _of_ours(table)):
            found.append(table)
    return found


def _of_ours(table: Table) -> bool:
    """Whether a table has a row that is not the paper's."""
    return any(not row[0].startswith(PAPER) for row in table.rows)
