"""A day behind `flowmind.jit`: it is the same each time, guards and audit see what they can, and the page shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

ROOT = Path(__file__).parents[1]
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
DESK, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The folders of two days in processes with other hashes of texts."""
    folders = [tmp_path_factory.mktemp("day") for _ in range(2)]
    script = ROOT / "examples" / "production" / "day.py"
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", script, "--out", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed)},
        )
        for seed, folder in enumerate(folders)
    ]  # fmt: skip
    for process in started:
        printed, _ = process.communicate()
        assert process.returncode == 0, printed
    return folders


@pytest.fixture(scope="module")
def day(days: list[Path]) -> dict[str, Any]:
    return json.loads((days[0] / "day.json").read_text())


@pytest.mark.slow
def test_the_day_is_the_same_each_time(days: list[Path]) -> None:
    first, second = ((folder / "day.json").read_bytes() for folder in days)
    assert first == second


def rows(day: dict[str, Any], first: int, last: int) -> list[dict[str, Any]]:
    return [row for row in day["rows"] if first <= row["request"] <= last]


def wrong(found: list[dict[str, Any]]) -> int:
    return sum(not row["right"] for row in found)


def test_guards_see_the_renamed_field_before_anything_is_wrong(day: dict[str, Any]) -> None:
    assert wrong(rows(day, 1, 650)) == 0
    after = rows(day, 301, 650)
    assert (after[0]["kind"], after[0]["guard"]) == ("fallback", "shape")
    assert after[-1]["kind"] == "hit"


def test_only_the_audit_sees_the_other_meaning(day: dict[str, Any]) -> None:
    after = rows(day, 651, 1_000)
    assert not any(row["guard"] for row in after)
    assert 0 < wrong(after) < 100
    last = max(row["request"] for row in after if not row["right"])
    retired = [one["request"] for one in day["events"] if "which the workflow did not" in one["what"]]
    assert retired == [last], "the audit finds the last wrong answer, and no other follows"
    assert {row["kind"] for row in rows(day, last + 1, last + 20)} == {"agent"}
    assert after[-1]["kind"] == "hit"


def test_no_version_that_writes_goes_live_without_a_person(day: dict[str, Any]) -> None:
    live = [one for one in day["events"] if "went live" in one["what"]]
    assert [one["request"] for one in live] == [one["request"] for one in day["asked"]]
    assert all(one["what"].endswith("by Ada") for one in live)
    assert all("call refund and send_voucher?" in one["question"] for one in day["asked"])


def test_the_summary_counts_the_requests(day: dict[str, Any]) -> None:
    kinds = Counter(row["kind"] for row in day["rows"])
    assert sum(kinds.values()) == 1_000 and set(kinds) == {"agent", "hit", "fallback"}
    bad = wrong(day["rows"])
    assert day["summary"].startswith(f"{kinds['hit']} answered by a workflow, {bad} of them wrong; ")
    saved = re.search(r"([\d,]+) tokens saved", day["summary"])
    assert saved is not None and int(saved[1].replace(",", "")) > 900 * kinds["hit"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no chromium with chromedriver here (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(DRIVER))
    yield driver
    driver.quit()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_page_shows_the_day(
    chromium: Any, days: list[Path], day: dict[str, Any], size: tuple[int, int], scheme: str
) -> None:
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    chromium.get_log("performance")
    chromium.get((days[0] / "day.html").as_uri())

    heights = {
        kind: chromium.execute_script(
            "return [...document.querySelectorAll('rect.' + arguments[0])]"
            ".reduce((sum, one) => sum + one.getBBox().height, 0)", kind,
        )
        for kind in ("right", "wrong", "guarded", "agent")
    }  # fmt: skip
    kinds = Counter(
        ("right" if row["right"] else "wrong") if row["kind"] == "hit" else "guarded" if row["guard"] else "agent"
        for row in day["rows"]
    )
    assert {kind: round(tall * 25 / 120) for kind, tall in heights.items()} == kinds
    bars = chromium.find_elements(By.CSS_SELECTOR, "svg g")
    assert len(bars) == 40 and all(bar.rect["height"] > 10 for bar in bars)
    texts = [element.text for element in chromium.find_elements(By.CSS_SELECTOR, "svg text")]
    assert "days_late becomes delay_days" in texts and "cents includes the shipping" in texts
    events, asked, numbers = (one.text for one in chromium.find_elements(By.CSS_SELECTOR, ".table"))
    assert all(one["what"] in events for one in day["events"])
    assert asked.count("call refund and send_voucher?") == len(day["asked"])
    assert "hits while a version was live" in numbers and "wrong in audits" in numbers
    assert day["summary"] in chromium.find_element(By.TAG_NAME, "body").text
    assert chromium.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    page_is_dark = chromium.execute_script("return matchMedia('(prefers-color-scheme: dark)').matches")
    assert page_is_dark == (scheme == "dark")
    asked_for = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in chromium.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert asked_for == [(days[0] / "day.html").as_uri()], "the page asks for nothing else"
    assert not chromium.get_log("browser")
