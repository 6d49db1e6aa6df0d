"""Tables for the terminal: their width, tokens both ways, and the cost of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_metrics import RECORDS
from tiny import called, capable, summary, tiny_benchmark, with_server

from experiments.metrics import StageTokens, Summary, summarize_records
from experiments.tables import TERMINAL, columns, summary_table, terminal_groups, terminal_table
from flowmind.evaluation.statistics import rate
from flowmind.llm.faulty_server import FaultyServer
from flowmind.llm.models import Price

MODES = ("es-pe", "es-react+verify", "induction", "enhanced-react")
VARIANTS = ("", "gold traces, summarizer guided, verify 3, probe 8, JSON mode object-schema, tools in monty")


def run(model: str, mode: str, variant: str, cost: float | None) -> Summary:
    whole = summarize_records(RECORDS, model, mode, "b", variant)
    large = {"case_pass_rate": rate(1_234, 9_999), "test_pass_rate": rate(48_213, 49_995)}
    tokens = StageTokens(execute=123_456.0, summarize=12_345.0, total=135_801.0)
    update = {"intervals": {**whole.intervals, **large}, "tokens": tokens, "input_tokens": tokens, "wall_s": 123_456.0}
    return whole.model_copy(update={**update, "cost": cost})


@pytest.mark.parametrize("cost", [None, 0.01, 12_345.678])
def test_a_table_for_the_terminal_fits_it(cost: float | None) -> None:
    models = ("search", "qwen3-8b", "an-organisation/a-model-with-a-very-long-name-and-no-space-in-it-70b-instruct")
    runs = [run(model, mode, variant, cost) for model in models for mode in MODES for variant in VARIANTS]
    for some in (runs, *([one] for one in runs)):
        table = terminal_table(some)
        assert max(map(len, table.splitlines())) <= TERMINAL
        assert "|" not in table and "1234/9999 12.3%" in table and "136k" in table
        assert ("cost" in table) == (cost is not None)


def test_columns_are_explained_and_nothing_is_a_rate_of_nothing() -> None:
    table = terminal_table([run("m", "es-pe", "", 0.5)])
    for name in ("case pass:", "test pass:", "right:", "sound:", "solved:", "in, out:", "cost:"):
        assert name in " ".join(table.split())
    nothing = summarize_records([], "m", "es-pe", "b")
    for text in (terminal_table([nothing]), summary_table([nothing])):
        assert "0/0" not in text and "0.0" not in text and "–" in text


def test_long_names_are_wrapped_and_numbers_stand_below_their_titles() -> None:
    name = "a name of several words, some/very-long-ones-with-hyphens " * 3
    table = columns(("run", "n"), [(name, "12"), ("b", "3")])
    head, *rows = table.splitlines()
    assert "".join(rows[:-1]).replace(" ", "").replace("12", "") == name.replace(" ", "")
    assert head.endswith(" n") and rows[0].endswith("12") and rows[-1].endswith(" 3")
    assert len({len(head), len(rows[0]), len(rows[-1])}) == 1 and max(map(len, rows)) <= TERMINAL


def test_groups_are_shown_by_difficulty_and_category() -> None:
    lines = terminal_groups(summarize_records(RECORDS, "m", "es-rr", "b")).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["easy", "medium", "hard", "logic", "strings"]
    assert max(map(len, lines)) <= TERMINAL


def test_the_price_of_a_model_gives_the_cost_of_a_run() -> None:
    price = Price(input=2.0, output=8.0)
    records = [record.model_copy(update={"execute": record.execute.model_copy(update={"input_tokens": 1_000})})
               for record in RECORDS]  # fmt: skip
    priced = summarize_records(records, "m", "es-rr", "b", price=price)
    counted = [record for record in records if record.error is None]
    written = sum((record.execute.output_tokens or 0) + (record.summarize.output_tokens or 0) for record in counted)
    assert priced.cost == pytest.approx((2.0 * 1_000 * len(counted) + 8.0 * written) / 1_000_000)
    unknown = [
        records[0].model_copy(update={"summarize": records[0].summarize.model_copy(update={"input_tokens": None})})
    ]
    assert summarize_records(unknown, "m", "es-rr", "b", price=price).cost is None
    assert summarize_records(records, "m", "es-rr", "b").cost is None


def test_a_price_that_is_set_is_kept_with_the_run(tmp_path: Path) -> None:
    bench, folder = tiny_benchmark(tmp_path / "bench"), tmp_path / "run"
    with FaultyServer(lambda number, body: capable(body)) as server:
        words = with_server(server, bench, folder)
        assert called(*words).returncode == 0
        assert (summary(folder)["cost"], summary(folder)["input_tokens"]["total"]) == (None, 70.0)
        done = called(*words, "--price-in", 100, "--price-out", 200)
        requests = len(server.requests)
    cost = requests * (10 * 100 + 5 * 200) / 1_000_000
    assert summary(folder)["cost"] == pytest.approx(cost) == pytest.approx(0.056)
    head, row, *_ = done.stdout.splitlines()
    assert head.split()[-1] == "cost" and row.split()[-1] == "$0.0560"
    assert row.split()[-4:-2] == ["70", "35"]
    assert json.loads((folder / "manifest.json").read_text())["price"] == {"input": 100.0, "output": 200.0}
    assert "$0.0560" in called("report", folder, "--tables").stdout
