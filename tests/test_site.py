"""The site of the documentation: what its pages say and load, and the site in Chromium at the width of a desk and of a
phone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import WebDriverWait
from tiny import environment

import flowmind
from flowmind.cli.main import commands
from website import pages

ROOT = Path(__file__).parents[1]
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
DESK, PHONE = (1280, 900), (390, 844)
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
"""The attributes whose URL a browser loads by itself."""


def navigation(nodes: Any) -> Iterator[str]:
    """The pages of the navigation."""
    for node in nodes:
        target = next(iter(node.values())) if isinstance(node, dict) else node
        if isinstance(target, str):
            yield target
        else:
            yield from navigation(target)


def configuration() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def test_every_page_of_the_repository_is_in_the_navigation() -> None:
    """A page that is added to docs/ needs a line below `nav` in mkdocs.yml."""
    named = set(navigation(configuration()["nav"]))
    every = {place.as_posix() for place in pages.places(ROOT).values()}
    every = {place for place in every if not place.startswith("decisions/")} - {"readme.md"}
    assert every - named == set()
    generated = {place for place in named if place.partition("/")[0] in pages.GENERATED} | {"decisions/index.md"}
    assert named - every - generated == set()


def test_the_page_of_the_library_has_every_public_name() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: flowmind\.(\w+)$", text, re.MULTILINE)) == sorted(flowmind.__all__)


def test_links_of_documents_lead_to_pages(tmp_path: Path) -> None:
    pages.copy(ROOT, tmp_path)
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "[README](readme.md)" in index and "(gallery/index.md)" in index
    tutorial = (tmp_path / "examples" / "bike_repair.md").read_text(encoding="utf-8")
    assert "[tutorial](../tutorial-dialogue.md)" in tutorial
    assert "```console\n$ flowmind example bike_repair" in tutorial
    assert "<!--" not in (tmp_path / "tools.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built from a copy of the repository."""
    pytest.importorskip("zensical")
    root = tmp_path_factory.mktemp("site") / "repository"
    left_out = {".git", ".venv", ".cache", "build", "site", "runs", "api", "dialogues"}  # what was built is no source
    shutil.copytree(ROOT, root, ignore=lambda folder, _: left_out if Path(folder) == ROOT else {"__pycache__"})
    programs = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(root)}
    for words in (["-m", "website"], ["-m", "zensical", "build", "--strict"]):
        done = subprocess.run(
            [sys.executable, *words], cwd=root, env={**environment(), **programs}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    return root / "site"


class Page(HTMLParser):
    """The anchors of a page, its links, and the URLs that a browser loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors, self.links, self.loaded = set[str](), list[str](), list[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADING and LOADING[tag] in given and given.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(given[LOADING[tag]])


@pytest.fixture(scope="module")
def built(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_the_site_has_a_page_for_everything(site: Path, built: dict[Path, Page]) -> None:
    names = {path.relative_to(site).as_posix() for path in built}
    gallery = [name for name in names if name.startswith("gallery/") and name != "gallery/index.html"]
    assert len(gallery) == 141
    assert {f"commands/{name}.html" for name in commands()} | {"commands/flowbench_synth.html"} <= names
    assert {name.replace(".md", ".html") for name in navigation(configuration()["nav"])} <= names
    assert len([name for name in names if name.startswith("notebooks/")]) == 3


@pytest.mark.slow
def test_every_link_and_anchor_leads_somewhere(site: Path, built: dict[Path, Page]) -> None:
    wrong: list[str] = []
    for path, page in built.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in built and anchor not in built[target].anchors):
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert wrong == []


@pytest.mark.slow
def test_no_page_loads_anything_from_another_host(site: Path, built: dict[Path, Page]) -> None:
    loaded = {(path.name, url) for path, page in built.items() for url in page.loaded}
    assert loaded and [pair for pair in loaded if urlsplit(pair[1]).netloc] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(\s*['\"]?(?:https?:)?//[^)]*|@import[^;]*//[^;]*", styles) == []


@pytest.mark.slow
def test_docstrings_are_rendered_with_their_arguments_and_errors(site: Path) -> None:
    text = re.sub(r"<[^>]+>", " ", (site / "api.html").read_text(encoding="utf-8"))
    assert text.count("Parameters:") > 20 and text.count("Raises:") > 10
    assert "Args:" not in text and "::: " not in text


class Served(SimpleHTTPRequestHandler):
    def log_message(self, *given: Any) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Served, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[WebDriver]:
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


class Visitor:
    """Someone who visits the site."""

    def __init__(self, driver: WebDriver, address: str, size: tuple[int, int]) -> None:
        self.driver, self.address = driver, address
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def open(self, page: str) -> None:
        self.driver.get(f"{self.address}/{page}")

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def until(self, condition: Any) -> None:
        WebDriverWait(self.driver, 30).until(lambda _: condition())

    def shown(self, selector: str) -> list[Any]:
        return [found for found in self.driver.find_elements(By.CSS_SELECTOR, selector) if found.is_displayed()]


SEARCH = "const root = [...document.querySelectorAll('*')].find(each => each.shadowRoot)?.shadowRoot;"
"""The search is below an element of its own."""
SIZES = pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
SAMPLE = (
    "index", "tutorials/compile-your-traces", "tutorials/reproduce-the-paper", "tutorials/use-the-benchmark", "api",
    "api-tools", "commands/exp", "gallery/index", "gallery/math_bargain_box", "notebooks/compile_your_traces", "jit",
    "induction", "architecture", "readme",
)  # fmt: skip
"""Pages of each kind."""


@pytest.mark.slow
@SIZES
def test_no_page_is_wider_than_the_window(chromium: WebDriver, address: str, size: tuple[int, int]) -> None:
    visitor, wide = Visitor(chromium, address, size), list[str]()
    for page in SAMPLE:
        visitor.open(f"{page}.html")
        if visitor.run("return document.documentElement.scrollWidth") > size[0]:
            wide.append(page)
    assert wide == []


@pytest.mark.slow
@SIZES
def test_the_navigation_leads_from_the_first_page_to_a_tutorial(
    chromium: WebDriver, address: str, size: tuple[int, int]
) -> None:
    visitor = Visitor(chromium, address, size)
    visitor.open("index.html")
    if size == PHONE:
        visitor.shown("label[for='__drawer'].md-header__button")[0].click()
        visitor.until(lambda: visitor.shown(".md-nav--primary label[for='__nav_2']"))
        visitor.shown(".md-nav--primary label[for='__nav_2']")[0].click()  # the arrow beside Tutorials
    else:
        next(each for each in visitor.shown(".md-tabs__link") if each.text == "Tutorials").click()
    named = "Compile your traces"
    visitor.until(lambda: [each for each in visitor.shown(".md-nav--primary a") if each.text == named])
    next(each for each in visitor.shown(".md-nav--primary a") if each.text == named).click()
    visitor.until(lambda: visitor.driver.current_url.endswith("/tutorials/compile-your-traces.html"))


@pytest.mark.slow
@SIZES
def test_the_search_finds_a_page_by_a_word(chromium: WebDriver, address: str, size: tuple[int, int]) -> None:
    visitor = Visitor(chromium, address, size)
    visitor.open("index.html")
    visitor.until(lambda: visitor.shown(".md-search__button, label[for='__search']"))
    visitor.shown(".md-search__button, label[for='__search']")[0].click()
    visitor.until(lambda: visitor.run(f"{SEARCH} return root?.querySelector('dialog[open] input')"))
    visitor.run(f"{SEARCH} return root.querySelector('input')").send_keys("vouchers")
    found = f"{SEARCH} return [...root.querySelectorAll('a')].find(each => each.href.includes('math_bargain_box'))"
    visitor.until(lambda: visitor.run(found))
    visitor.run(found).click()
    visitor.until(lambda: "math_bargain_box" in visitor.driver.current_url)


@pytest.mark.slow
@SIZES
def test_a_test_of_the_gallery_shows_its_way(chromium: WebDriver, address: str, size: tuple[int, int]) -> None:
    visitor = Visitor(chromium, address, size)
    visitor.open("gallery/math_bargain_box.html")
    lit = "return [...document.querySelectorAll('.gallery .node.lit')].map(node => node.dataset.node)"
    values = "return [...document.querySelectorAll('.gallery .value')].map(text => text.lastElementChild.textContent)"
    assert visitor.run(lit) == ["start", "middle", "box", "proceeds", "vouchers", "end"]
    first = visitor.run(values)
    buttons = visitor.shown(".gallery .tests button:not(.whole)")
    assert len(buttons) == 5
    visitor.run("document.querySelector('.gallery .tests').scrollIntoView({block: 'center'})")
    buttons[2].click()
    assert [button.get_attribute("aria-pressed") for button in buttons] == ["false", "false", "true", "false", "false"]
    assert visitor.run(values) != first and "vouchers = 4" in visitor.run(values)
    [test] = visitor.shown(".gallery .test")
    visitor.shown(".gallery .tests .whole")[0].click()
    assert visitor.shown(".gallery .drawing.full svg")
    assert re.search(r"^answer\s+4\s+golden answer\s+4$", test.text, re.MULTILINE)


@pytest.mark.slow
def test_a_branch_that_a_test_does_not_take_is_not_lit(chromium: WebDriver, address: str, site: Path) -> None:
    visitor = Visitor(chromium, address, DESK)
    text = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    name = next(name for name in re.findall(r'href="(\w+\.html)"', text) if "condition" in _drawing(site, name))
    visitor.open(f"gallery/{name}")
    assert visitor.run("return document.querySelectorAll('.gallery .edge:not(.lit)').length") > 0


def _drawing(site: Path, name: str) -> str:
    return " ".join(re.findall(r'<g class="node (\w+)"', (site / "gallery" / name).read_text(encoding="utf-8")))


@pytest.mark.slow
def test_a_browser_asks_no_other_host_and_reports_no_error(chromium: WebDriver, address: str) -> None:
    visitor = Visitor(chromium, address, DESK)
    chromium.get_log("performance")
    chromium.get_log("browser")
    for page in SAMPLE:
        visitor.open(f"{page}.html")
    asked = {
        urlsplit(match).netloc
        for entry in chromium.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
        for match in re.findall(r'"url":"(https?://[^"]+)"', entry["message"])
    }
    assert asked == {urlsplit(address).netloc}
    assert [entry["message"] for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []
