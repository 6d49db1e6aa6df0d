"""The report in Chromium: at the width of a desk and of a phone, light and dark, by mouse and by keyboard."""

from __future__ import annotations

import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from report_runs import NASTY, begin, make_folders, make_report, record
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait
from test_svg import edges_of
from tiny import NUMBERS, answer

from experiments.folder import Run
from experiments.loading import load
from experiments.record import StageUsage
from experiments.report import write_report
from flowmind.protocols import Evaluation

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
DESK, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_folders(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def report(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_report(folders, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def chromium() -> Iterator[WebDriver]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium with chromedriver here (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER))
    yield driver
    driver.quit()


class Reader:
    """Someone who reads the report."""

    def __init__(self, driver: WebDriver, report: Path) -> None:
        self.driver = driver
        self.address = report.as_uri()

    def open(self, hash: str = "", size: tuple[int, int] = DESK, scheme: str = "light") -> None:
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get("about:blank")
        self.driver.get(self.address + hash)
        self.until(lambda: self.find("html[data-ready]"))

    def until(self, condition: Any) -> None:
        WebDriverWait(self.driver, 30).until(lambda _: condition())

    def find(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        [found] = self.find(selector)
        return found

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.run("return document.activeElement").send_keys(key)

    def choose(self, name: str, text: str) -> None:
        Select(self.one(f"#{name}")).select_by_visible_text(text)

    @property
    def hash(self) -> str:
        return self.run("return decodeURIComponent(location.hash)")

    @property
    def rows(self) -> list[str]:
        """The ids of the tasks that the grid shows."""
        return self.run(
            "return [...document.querySelectorAll('.grid tbody tr')].filter(row => row.checkVisibility())"
            ".map(row => row.dataset.id)"
        )

    def cell(self, id: str, run: int) -> WebElement:
        return self.one(f'tr[data-id="{id}"] td:nth-of-type({run + 1}) a')

    @property
    def focused(self) -> str:
        """The name of the element that has the focus."""
        return self.run("const e = document.activeElement; return e.getAttribute('aria-label') || e.textContent")

    @property
    def shown(self) -> str:
        """The id of the case that is open, or nothing."""
        return self.run("const h = document.querySelector('#case h2'); return h ? h.textContent : ''")

    def opened(self, id: str, run: int | None = None) -> None:
        """Waits until a case is open."""
        self.until(lambda: self.shown == id and (run is None or f"at={run}" in self.hash))

    def style(self, selector: str, name: str) -> str:
        return self.find(selector)[0].value_of_css_property(name)

    @property
    def wide(self) -> bool:
        """Whether the page is wider than the window."""
        return self.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.fixture
def reader(chromium: WebDriver, report: Path) -> Iterator[Reader]:
    chromium.get_log("browser")
    yield Reader(chromium, report)
    assert chromium.get_log("browser") == []


def test_a_click_opens_a_case_and_the_way_back_closes_it(reader: Reader) -> None:
    reader.open()
    assert reader.one("#count").text == "12 of 12 tasks; passed: A 6, B 6, C 0"
    assert len(reader.rows) == 12 and not reader.one("#case").is_displayed()
    reader.cell("task_2", 0).click()
    reader.opened("task_2")
    assert reader.hash == "#cases&case=task_2&at=0" and not reader.one("#overview").is_displayed()
    added, factor = NUMBERS["task_2"]
    text = reader.one("#case").text
    assert f"Add {added} to n, then multiply the sum by {factor}." in text
    assert "Passed all 3 held-out tests" in text and str(answer("task_2", 7_731_000)) in text
    reader.driver.back()
    reader.until(lambda: not reader.shown)
    assert not reader.one("#case").is_displayed() and reader.focused.startswith("A task_2: passed")
    reader.driver.forward()
    reader.opened("task_2")
    reader.find("#case .crumbs button")[0].click()
    assert reader.shown == "" and reader.hash == "#cases"


def test_a_case_shows_all_that_happened(reader: Reader) -> None:
    reader.open("#cases&case=odd_one&at=2")
    reader.run("for (const part of document.querySelectorAll('#case details')) part.open = true")
    text = reader.one("#case").text
    stages = (
        "Execute: 5 turns",
        "Summarize: 1 turn",
        "stopped: too many failed calls",
        "First think.",
        "Do one thing.",
    )
    turns = (
        "step 2 of the plan",
        "reprompted",
        "345 in, 12 out · 1.5 s",
        "tokens not reported",
        "it broke",
        "graph tool",
        "← unexplained ⚠ in the head",
        f"← step 1 ({NASTY})",
        "first 1, in the end 2 of 3 solved, 1 of them not built from",
        f"when does {NASTY} follow?",
    )
    for said in (*stages, *turns, "△ Workflow not sound", "The 3 held-out tests were not run", NASTY):
        assert said in text, said
    facts = reader.one("#case header .facts").text
    for said in ("medium · odd ones", "solving: tokens not recorded", "building: 345 tokens in, 12 out", "9.0 s"):
        assert said in facts, said
    gates = [" ".join(gate.text.split()) for gate in reader.find(".gates li")]
    assert gates == ["✗ execution right : no", "✗ sound : no", "✗ solved : no", "✗ passed : no 1 of 3"]
    assert NASTY in reader.run("return document.querySelector('#case .turns li:nth-child(2) details pre').textContent")
    assert "- less: n = subtract(first=n) -> more" in text
    assert reader.run("return window.taken") is None


def test_a_failed_test_shows_expected_beside_given_and_marks_whole_tokens(reader: Reader) -> None:
    reader.open("#cases&case=odd_three&at=2")
    assert "✗ Wrong on held-out tests (2 of 3)" in reader.one("#case header").text
    pressed = [tab.get_attribute("aria-pressed") for tab in reader.find("[data-test]")]
    assert pressed == ["false", "true", "false"], "the first failed test is chosen"
    expected, given = reader.find("#test pre")
    assert [mark.text for mark in reader.find("#test mark")] == ['"Ann"', ", 2", '"Anna"']
    assert reader.style("#test mark", "text-decoration-line") == "underline"
    assert expected.rect["y"] == given.rect["y"] and expected.rect["x"] + expected.rect["width"] <= given.rect["x"]


def test_a_test_lights_its_way_with_the_values_on_the_edges(reader: Reader) -> None:
    reader.open("#cases&case=odd_three&at=2")
    lit = "return [...document.querySelectorAll('.drawing .node.lit')].map(node => node.dataset.node)"
    values = "return [...document.querySelectorAll('.drawing .value title')].map(text => text.textContent)"
    assert reader.run(lit) == ["start", "more", "end"]
    reader.find("[data-test]")[0].click()
    reader.until(lambda: "test=1" in reader.hash)
    assert reader.run(lit) == ["start", "more", "less", "end"]
    assert reader.run(values) == ["n = 2", "×2"]
    assert [text.text for text in reader.find(".drawing .times")] == ["×3", "×2"]
    assert len(reader.find(".drawing .edge.lit")) == 4
    reader.press("3")
    assert len(reader.find(".drawing .edge.lit")) == 2
    assert reader.run("return document.querySelector('.drawing .broke').dataset.node") == "less"
    assert "Given: an error" in reader.one("#test").text
    reader.press("0")
    assert reader.find("#test > *") == [] and reader.find(".drawing .lit, .drawing .value") == []
    reader.press("2")
    reader.find("[data-test]")[1].click()
    assert reader.find("#test > *") == [], "a second click takes the way away"


def test_lines_lead_from_a_call_to_its_node(reader: Reader) -> None:
    reader.open("#cases&case=odd_three&at=2")
    [line] = reader.find(".lines path")
    assert line.get_attribute("class") == "recorded"
    ends = reader.run(
        """const path = document.querySelector(".lines path");
        const room = document.querySelector(".pair").getBoundingClientRect();
        const [a, b] = [path.getPointAtLength(0), path.getPointAtLength(path.getTotalLength())];
        const [from, to] = ['[data-call="0.0"]', '[data-node="less"] .shape'].map(
            (name) => document.querySelector(name).getBoundingClientRect());
        return [a.x + room.left - from.right, from.top < a.y + room.top && a.y + room.top < from.bottom,
                b.x + room.left - to.left, to.top < b.y + room.top && b.y + room.top < to.bottom]"""
    )
    assert abs(ends[0]) < 1.5 and ends[1] and abs(ends[2]) < 1.5 and ends[3]
    [chip] = reader.find(".chip")
    assert chip.text == "→ less · first"
    chip.click()
    reader.one("#case h2").click()
    assert reader.find('.drawing .meant[data-node="less"]') and reader.find(".lines .on")
    reader.open("#cases&case=task_0&at=0")
    assert [line.get_attribute("class") for line in reader.find(".lines path")] == ["same", "same"]


def test_the_drawing_on_the_screen_has_the_edges_of_the_workflow(reader: Reader, folders: list[Path]) -> None:
    reader.open("#cases&case=odd_two&at=2")
    ends = reader.run(
        "return [...document.querySelectorAll('#case svg .edge')].map(e => ['from', 'to', 'when', 'bound']"
        ".map(name => e.getAttribute('data-' + name)))"
    )
    workflow = Run(folders[2]).workflow("odd_two")
    assert workflow is not None and Counter(map(tuple, ends)) == edges_of(workflow)
    boxes = [element.rect for element in reader.find("#case svg .node .shape")]
    assert len(boxes) == 4 and all(box["width"] > 40 and box["height"] > 20 for box in boxes)
    inner = reader.run(
        """return [...document.querySelectorAll("#case svg .node")].every((node) => {
            const box = node.querySelector(".shape").getBoundingClientRect();
            return [...node.querySelectorAll("text")].map((text) => text.getBoundingClientRect()).every((text) =>
                text.left >= box.left - 1 && text.right <= box.right + 1
                && text.top >= box.top - 1 && text.bottom <= box.bottom + 1);
        })"""
    )
    assert inner, "texts stay in their boxes"


def test_filters_and_search_narrow_the_grid_and_stand_in_the_address(reader: Reader) -> None:
    reader.open()
    reader.choose("category", "adding")
    assert reader.rows == ["task_0", "task_1", "task_2", "task_3"] and reader.hash == "#cases&category=adding"
    reader.choose("difficulty", "hard")
    assert reader.rows == ["task_0", "task_2"]
    reader.choose("difficulty", "all")
    reader.choose("outcome", "passed by no run")
    assert reader.rows == ["task_3"]
    assert reader.one("#count").text == "1 of 12 tasks; passed: A 0, B 0, C 0"
    reader.one("#clear").click()
    assert len(reader.rows) == 12 and reader.hash == "#cases"
    assert Select(reader.one("#category")).first_selected_option.text == "all"
    reader.choose("outcome", "any run: error of the endpoint")
    assert reader.rows == [f"lost{NASTY}"]
    reader.choose("outcome", "all tasks")
    _, factor = NUMBERS["task_5"]
    reader.one("#q").send_keys(f"multiply BY {factor}.")
    assert set(reader.rows) == {"task_5"} and reader.hash == f"#cases&q=multiply+BY+{factor}."
    reader.one("#q").clear()
    reader.one("#q").send_keys("task_6")
    reader.driver.refresh()
    reader.until(lambda: reader.find("html[data-ready]"))
    assert reader.rows == ["task_6"] and reader.one("#q").get_property("value") == "task_6"


def test_runs_that_differ_are_a_choice(chromium: WebDriver, tmp_path: Path) -> None:
    for mode, passing in (("react", "ab"), ("es-pe", "b")):
        run = begin(tmp_path / mode, "m", mode)
        for id in "abc":
            run.keep_record(record(id, tests=(), scores={"passed": Evaluation(value=float(id in passing))}))
    write_report(load([tmp_path]), tmp_path / "r.html")
    reader = Reader(chromium, tmp_path / "r.html")
    reader.open()
    reader.choose("outcome", "runs differ")
    assert reader.rows == ["a"]
    reader.choose("outcome", "passed by every run")
    assert reader.rows == ["b"]
    reader.choose("outcome", "all tasks")
    reader.choose("sort", "fewest passes first")
    assert reader.rows == ["c", "a", "b"]


def test_the_list_shows_the_text_of_each_task(reader: Reader) -> None:
    reader.open()
    assert not reader.find(".grid .query")[0].is_displayed()
    reader.one("#view").click()
    assert reader.find(".grid .query")[0].is_displayed() and reader.hash == "#cases&view=list"
    assert reader.one("#view").get_attribute("aria-pressed") == "true"


def test_a_link_opens_what_it_names(reader: Reader) -> None:
    reader.open("#cases&q=task&sort=id&case=task_4&at=1&test=2")
    assert reader.shown == "task_4" and "B" in reader.one(".beside a[aria-current]").text
    assert reader.find("#test h4")[0].is_displayed()
    assert reader.find('[data-test="2"][aria-pressed="true"]')
    reader.open("#cases&case=nothing&at=7&outcome=nonsense")
    assert reader.shown == "" and reader.rows == []


@pytest.mark.parametrize(
    ("order", "ids"),
    [("by id", ["task_0", "task_1", "task_2", "task_3"]), ("by difficulty", ["task_1", "task_3", "task_0", "task_2"]),
     ("fewest passes first", ["task_3", "task_0", "task_1", "task_2"])],
)  # fmt: skip
def test_sorting(reader: Reader, order: str, ids: list[str]) -> None:
    reader.open("#cases&category=adding")
    reader.choose("sort", order)
    assert reader.rows == ids
    reader.choose("sort", "as run")
    assert reader.rows == ["task_0", "task_1", "task_2", "task_3"]


def test_all_of_it_by_keyboard(reader: Reader) -> None:
    reader.open()
    reader.press("/")
    assert reader.run("return document.activeElement.id") == "q"
    reader.press("task_", Keys.ENTER)
    assert reader.focused.startswith("A task_0: passed") and not reader.shown
    assert reader.style(".cell:focus", "outline-style") == "solid"
    reader.press(Keys.ARROW_RIGHT)
    assert reader.focused.startswith("B task_0")
    reader.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_LEFT)
    assert reader.focused.startswith("A task_1")
    reader.press(*[Keys.ARROW_DOWN] * 3)
    assert reader.focused.startswith("A task_4"), "over the end of a category"
    reader.press(Keys.ARROW_LEFT, Keys.ENTER)
    reader.opened("task_4")
    assert reader.focused == "task_4"
    reader.press("l")
    reader.opened("task_4", 1)
    reader.press(Keys.ARROW_LEFT)
    reader.opened("task_4", 0)
    reader.press("j")
    reader.opened("task_5", 0)
    reader.press("k", "k")
    reader.opened("task_3", 0)
    reader.press("h")
    reader.opened("task_3", 1)
    reader.press(Keys.ESCAPE)
    assert reader.shown == "" and reader.focused.startswith("B task_3") and "task_0" in reader.rows
    reader.press("/")
    reader.press(Keys.ESCAPE)
    assert reader.focused.startswith("A task_0")
    reader.press("?")
    assert reader.one("#help").is_displayed()
    reader.press("j")
    assert reader.one("#help").is_displayed() and not reader.shown
    reader.press(Keys.ESCAPE)
    reader.until(lambda: not reader.one("#help").is_displayed())


def test_typing_in_the_search_moves_nothing(reader: Reader) -> None:
    reader.open()
    reader.press("/", "jk?l")
    assert reader.one("#q").get_property("value") == "jk?l" and not reader.one("#help").is_displayed()


def test_the_same_case_in_the_other_run_is_a_click_away(reader: Reader) -> None:
    reader.open("#cases&q=task&case=task_2&at=0")
    links = reader.find("#case .beside a")
    assert [link.get_attribute("aria-current") for link in links] == ["true", None]
    links[1].click()
    reader.opened("task_2", 1)
    assert "q=task" in reader.hash
    assert reader.find("#case .beside a")[1].get_attribute("aria-current") == "true"


def test_the_papers_rows_are_shown_for_the_chosen_model_only(reader: Reader) -> None:
    reader.open()
    reader.run("for (const part of document.querySelectorAll('#tables details')) part.open = true")
    seen = (
        "return [...document.querySelectorAll('#table-table1 tr.paper')].filter(row => row.checkVisibility())"
        ".map(row => row.dataset.model)"
    )
    assert reader.run(seen) == []
    reader.choose("paper", "qwen3-14b")
    assert reader.run(seen) == ["qwen3-14b"] * 4
    reader.choose("paper", "hidden")
    assert reader.run(seen) == []


@pytest.fixture(scope="module")
def priced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a run of `qwen3-8b` with tokens."""
    folder = tmp_path_factory.mktemp("priced")
    run = begin(folder / "run", "qwen3-8b", "es-pe")
    for id, passed in (("a", 1.0), ("b", 0.0)):
        execute = StageUsage(turns=1, input_tokens=1_000_000, output_tokens=100_000, stop=("finish",))
        summarize = StageUsage(turns=1, input_tokens=500_000, output_tokens=50_000, stop=("finish",))
        scores = {"passed": Evaluation(value=passed)}
        run.keep_record(record(id, tests=(), execute=execute, summarize=summarize, scores=scores))
    write_report(load([run.folder]), folder / "r.html")
    return folder / "r.html"


def test_sliders_say_after_how_many_calls_a_workflow_pays(chromium: WebDriver, priced: Path) -> None:
    reader = Reader(chromium, priced)
    reader.open()

    def shows() -> list[str]:
        return [cell.text for cell in reader.find("#costs [data-shows]")]

    def slide(id: str, value: str) -> None:
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
        reader.run(script, reader.one(f"#{id}"), value)

    assert shows() == ["$8.40", "$2.80", "3 calls, 4 min", "$83,992"]
    slide("price-in", "0")
    slide("price-out", "10")
    slide("calls", "0")
    assert [output.text for output in reader.find("output")] == ["$0.00", "$10.00", "1"]
    assert shows() == ["$3.00", "$1.00", "3 calls, 3 days", "$27.00"]
    reader.one("#calls").send_keys(Keys.ARROW_RIGHT * 20)
    assert shows()[2] == "3 calls, 7 hours"
    reader.open("", PHONE)
    assert not reader.wide


def test_the_papers_rate_is_a_cross_beside_the_same_model_and_mode(chromium: WebDriver, priced: Path) -> None:
    reader = Reader(chromium, priced)
    reader.open()
    reader.run("document.querySelector('#tables > details').open = true")
    assert not reader.one(".cross").is_displayed()
    reader.choose("paper", "qwen3-8b")
    assert reader.one(".cross").is_displayed()
    reader.choose("paper", "qwen3-14b")
    assert not reader.one(".cross").is_displayed()


def luminance(colour: str) -> float:
    numbers = [float(part) for part in re.findall(r"[\d.]+", colour)[:3]]
    parts = numbers if colour.startswith("color(") else [number / 255 for number in numbers]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_are_readable_in_both_schemes(reader: Reader, scheme: str) -> None:
    reader.open("", scheme=scheme)
    ground = reader.style("body", "background-color")
    assert (luminance(ground) < 0.1) == (scheme == "dark")
    for selector in (".lead", ".note", ".of", ".counts", ".top a", ".headline small", "#count", ".grid .id", "summary"):
        assert contrast(reader.style(selector, "color"), ground) >= 4.5, selector
    for cell in reader.find(".cell"):
        own = cell.value_of_css_property("background-color")
        behind = ground if own.endswith(", 0)") else own
        assert contrast(cell.value_of_css_property("color"), behind) >= 4.5, cell.get_attribute("class")
    for part in ("passed", "none"):
        drawn = [reader.style(f".bar {tag}.{part}", "fill") for tag in ("text", "rect")]
        assert contrast(*drawn) >= 4.5, part
    for mark in (".range.cases", ".range.tests"):
        assert contrast(reader.style(mark, "stroke"), ground) >= 3, mark
    reader.open("#cases&case=odd_three&at=2", scheme=scheme)
    reader.run("for (const part of document.querySelectorAll('#case details')) part.open = true")
    grounds = [ground, reader.style("pre", "background-color")]
    texts = (".verdict", ".gates .yes", ".gates .no", ".facts", ".from", ".chip", "dt", "h4", "#test mark", "kbd")
    for selector in (*texts, ".tag.clean", ".tag.failed", ".tag.reprompted", "button.passed", "button.failed"):
        assert all(contrast(reader.style(selector, "color"), behind) >= 4.5 for behind in grounds), selector
    assert contrast(reader.style("#test mark", "color"), reader.style("#test mark", "background-color")) >= 4.5
    for kind in ("start", "condition", "tool", "end"):
        text, shape = f".drawing .{kind} text:not(.head)", f".drawing .{kind} .shape"
        assert contrast(reader.style(text, "fill"), reader.style(shape, "fill")) >= 4.5, kind
        assert contrast(reader.style(f".drawing .{kind} .head", "fill"), reader.style(shape, "fill")) >= 4.5, kind
        assert contrast(reader.style(shape, "stroke"), ground) >= 3, kind
    assert contrast(reader.style(".drawing .value", "fill"), ground) >= 4.5


def test_the_theme_can_be_chosen(reader: Reader) -> None:
    reader.open(scheme="light")
    light = reader.style("body", "background-color")
    reader.one("#theme").click()
    assert reader.one("#theme").accessible_name == "Theme: light" and reader.style("body", "background-color") == light
    reader.one("#theme").click()
    assert luminance(reader.style("body", "background-color")) < 0.1
    reader.driver.refresh()
    reader.until(lambda: reader.find("html[data-ready]"))
    assert reader.one("#theme").accessible_name == "Theme: dark", "it is remembered"
    reader.one("#theme").click()
    assert reader.style("body", "background-color") == light


@pytest.mark.parametrize(
    "hash",
    ["", "#cases&view=list", "#cases&case=odd_one&at=2", "#cases&case=odd_three&at=2", "#cases&case=task_0&at=0"],
)
def test_on_a_phone_the_page_is_one_column_and_never_scrolls_sideways(reader: Reader, hash: str) -> None:
    reader.open(hash, PHONE, "dark")
    reader.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert not reader.wide
    outside = reader.run(
        "return [...document.querySelectorAll('.scroll, pre, #case, .block, .call, #filter, input, select, button')]"
        ".filter(one => one.checkVisibility() && !one.closest('.scroll *'))"
        ".map(one => [String(one.className), one.getBoundingClientRect()])"
        ".filter(([, box]) => box.width && (box.left < 0 || box.right > 390))"
    )
    assert outside == []
    if "case=" in hash:
        trace, built = reader.one(".trace").rect, reader.one(".built").rect
        assert trace["x"] == built["x"] and built["y"] + built["height"] <= trace["y"]
    else:
        table = reader.find(".table .scroll")[0]
        assert reader.run("return arguments[0].scrollWidth > arguments[0].clientWidth", table), "it scrolls in its box"


@pytest.mark.parametrize("size", [DESK, (320, 600), (1000, 700), (2200, 1200)])
def test_no_window_scrolls_sideways(reader: Reader, size: tuple[int, int]) -> None:
    for hash in ("", "#cases&case=odd_three&at=2"):
        reader.open(hash, size)
        assert not reader.wide, hash
    assert reader.one("#case").rect["width"] > 250


def test_a_folded_page_is_short(chromium: WebDriver, tmp_path: Path) -> None:
    """Twelve tasks in four runs."""
    for mode in ("react", "pe", "es-react", "es-pe"):
        run = begin(tmp_path / mode, "m", mode)
        for number in range(12):
            run.keep_record(record(f"some_task_{number}", category=f"category {number % 4}"))
    write_report(load([tmp_path]), tmp_path / "r.html")
    reader = Reader(chromium, tmp_path / "r.html")
    for size, most in ((DESK, 4_000), (PHONE, 8_000)):
        reader.open("", size)
        assert reader.run("return document.documentElement.scrollHeight") <= most
    reader.open()
    assert reader.cell("some_task_0", 0).rect["y"] < DESK[1], "the grid begins on the first screen"


def test_no_line_breaks_inside_an_identifier(reader: Reader) -> None:
    reader.open("#cases&case=odd_three&at=2", PHONE)
    split = reader.run(
        """const broken = [];
        for (const element of document.querySelectorAll("#case h2, .tool, .args dt, .chip")) {
          for (const node of element.childNodes) {
            const words = [...(node.textContent || "").matchAll(/[A-Za-z0-9]+/g)];
            for (const word of node.nodeType === 3 ? words : []) {
              const range = document.createRange();
              range.setStart(node, word.index);
              range.setEnd(node, word.index + word[0].length);
              if (range.getClientRects().length > 1) broken.push(word[0]);
            }
          }
        }
        return broken"""
    )
    assert split == []


def test_every_control_has_a_name_and_headings_follow_one_another(reader: Reader) -> None:
    for hash in ("", "#cases&case=odd_three&at=2"):
        reader.open(hash)
        for control in reader.find(
            "main :is(input, select, button, a[href], summary, [role]), #case :is(button, a, summary)"
        ):
            if control.is_displayed():
                role = control.get_attribute("role")
                assert control.accessible_name or role in ("alert", "status"), control.get_attribute("outerHTML")
        levels = reader.run(
            "return [...document.querySelectorAll('h1,h2,h3,h4')].filter(h => h.checkVisibility())"
            ".map(h => Number(h.tagName[1]))"
        )
        assert levels[0] == 1 and all(later <= level + 1 for level, later in pairwise(levels))
    reader.open()
    assert reader.one("#count").get_attribute("role") == "status"
    assert reader.find(".outcomes [role=img]")[0].accessible_name.startswith(
        "6 passed all held-out tests, 2 no workflow"
    )


def test_tab_goes_from_the_top_to_the_cases_and_past_them(reader: Reader) -> None:
    reader.open()
    reader.press(Keys.TAB)
    assert reader.focused == "Skip to the cases"
    reader.press(Keys.ENTER, Keys.TAB)
    assert reader.run("return document.activeElement.id") == "q"
    passed: list[str] = []
    for _ in range(8):
        reader.press(Keys.TAB)
        passed.append(reader.run("const e = document.activeElement; return e.id || e.className || e.tagName"))
    assert passed == ["category", "difficulty", "outcome", "sort", "view", "clear", "cell passed", "SUMMARY"]


class Serving(ThreadingHTTPServer):
    """Serves a folder and remembers what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                asked.append(self.path)

        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(folder)))


def test_nothing_is_asked_of_the_network(chromium: WebDriver, report: Path) -> None:
    server = Serving(report.parent)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        reader = Reader(chromium, report)
        reader.address = f"http://127.0.0.1:{server.server_address[1]}/{report.name}"
        reader.open("#cases&case=odd_one&at=2")
        assert reader.shown == "odd_one"
        assert server.asked == [f"/{report.name}"]
        names = reader.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
        assert names == []
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_the_policy_holds_in_the_browser(chromium: WebDriver, report: Path) -> None:
    reader = Reader(chromium, report)
    reader.open()
    reader.run(
        "const s = document.createElement('script'); s.textContent = 'window.sneaked = 1'; document.body.append(s);"
        "const d = document.createElement('div'); d.innerHTML = '<b onclick=\"window.sneaked = 2\">x</b>';"
        "document.body.append(d); d.firstChild.click()"
    )
    assert reader.run("return window.sneaked") is None
    told = chromium.execute_async_script(
        "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('sent'), () => done('refused'))"
    )
    assert told == "refused"
    messages = " ".join(entry["message"] for entry in chromium.get_log("browser"))
    assert messages.count("Content Security Policy") >= 3


def test_without_scripts_the_rest_still_reads(chromium: WebDriver, report: Path) -> None:
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chromium.get("about:blank")
        chromium.get(report.as_uri())
        text = chromium.find_element(By.TAG_NAME, "body").text
        assert "The pages of the cases need JavaScript" in text and "task_0" in text and "Cost and break-even" in text
        assert "Add 2 to n" not in text
    finally:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_browser_that_cannot_unpack_says_so(chromium: WebDriver, report: Path) -> None:
    script = {"source": "delete window.DecompressionStream"}
    added = chromium.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", script)
    try:
        reader = Reader(chromium, report)
        chromium.get("about:blank")
        chromium.get(report.as_uri())
        reader.cell("task_0", 0).click()
        reader.until(lambda: reader.one("#trouble").is_displayed())
        assert "DecompressionStream is not defined" in reader.one("#trouble").text
        assert "task_0" in reader.one("#overview").text
    finally:
        chromium.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_a_browser_that_refuses_so_many_addresses_is_followed_all_the_same(reader: Reader) -> None:
    reader.open()
    reader.run(
        "history.replaceState = history.pushState = () => { throw new DOMException('too many', 'SecurityError') }"
    )
    reader.choose("category", "adding")
    assert len(reader.rows) == 4 and reader.hash == ""
    reader.press(Keys.ESCAPE, "j")
    assert reader.rows[1] in reader.focused
