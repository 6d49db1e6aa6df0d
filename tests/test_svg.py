"""The drawing of a workflow: every node and every edge of the document, nothing else, and all of it to be seen."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from pydantic import ValidationError
from reference_interpreter import Document, call, compute, condition, each, end, sketch
from test_random_workflows import SPECS, Maker, break_it

from flowbench_synth.tasks import all_blueprints, gold_workflow
from flowmind.formats.layout import Box, Layout, Point, Route, back_edges, lay_out
from flowmind.formats.svg import STYLE, to_svg
from flowmind.workflow.checking import check
from flowmind.workflow.document import Map, Workflow
from flowmind.workflow.graph import analyse

Element = ElementTree.Element
Ends = tuple[str, str, str | None, str | None]
SVG = "{http://www.w3.org/2000/svg}"


def workflow(document: Document) -> Workflow:
    return Workflow.model_validate(document)


def parsed(made: Workflow) -> Element:
    return ElementTree.fromstring(to_svg(made))


def groups(drawing: Element, kind: str) -> list[Element]:
    return [group for group in drawing.iter(f"{SVG}g") if kind in group.get("class", "").split()]


def edges_in(drawing: Element) -> Counter[Ends]:
    names = ("data-from", "data-to", "data-when", "data-bound")
    return Counter(tuple(group.get(name) for name in names) for group in groups(drawing, "edge"))  # type: ignore[misc]


def edges_of(made: Workflow) -> Counter[Ends]:
    return Counter(
        (
            edge.source,
            edge.target,
            None if edge.when is None else str(edge.when).lower(),
            None if edge.bound is None else str(edge.bound),
        )
        for edge in made.edges
    )


def assert_drawn_edge_for_edge(made: Workflow) -> None:
    drawing = parsed(made)
    assert edges_in(drawing) == edges_of(made)
    nodes = [group.get("data-node") for group in groups(drawing, "node")]
    assert Counter(filter(None, nodes)) == Counter(node.id for node in made.nodes)
    missing = {end for edge in made.edges for end in (edge.source, edge.target)} - set(made.by_id)
    assert nodes.count(None) == len(groups(drawing, "missing")) == len(missing)
    steps = [f"{node.id}.{step.id}" for node in made.nodes if isinstance(node, Map) for step in node.body]
    assert Counter(group.get("data-step") for group in groups(drawing, "step")) == Counter(steps)


def ends_of(made: Workflow) -> list[tuple[int, int]]:
    places = {node.id: place for place, node in enumerate(made.nodes)}
    return [(places[edge.source], places[edge.target]) for edge in made.edges]


def random_workflows(first: int, count: int) -> Iterator[Workflow]:
    for seed in range(first, first + count):
        yield workflow(Maker(Random(seed), seed % 2 == 0).document())


EVERYTHING = sketch(
    [
        call("sum", "add", a="n", b=2),
        condition("big", "sum > 3"),
        each("list", "l", "x", "y", compute("s", "x + 1", "y"), call("t", "twist", a="y"), where="x > n"),
        {"id": "ask", "kind": "llm", "prompt": "Is {n} much?", "args": {"n": {"var": "n"}}, "output": "said"},
        end({"object": {"said": {"var": "said"}, "list": {"var": "list"}}}),
        end({"value": "no"}, "none"),
        condition("again", "sum < 9"),
    ],
    "start sum big", "big.true list ask again", "again.true sum:5", "again.false end", "big.false none",
    n="integer", l="array",
)  # fmt: skip


def test_a_drawing_has_what_the_workflow_has() -> None:
    made = workflow(EVERYTHING)
    assert_drawn_edge_for_edge(made)
    drawing = parsed(made)
    texts = ["".join(text.itertext()) for text in drawing.iter(f"{SVG}text")]
    assert {"start", "sum · tool", "big · if", "list · map", "ask · model", "true", "false", "true, at most 5"} <= set(
        texts
    )
    assert {"list = for x in l if x > n", "y = x + 1", "t = twist(a=y)", "collect y"} <= set(texts)
    assert [group.get("data-from") for group in groups(drawing, "back")] == ["again"]


def test_a_drawing_needs_nothing_else_and_says_what_it_shows() -> None:
    drawing = parsed(workflow({**EVERYTHING, "name": "<mine> & yours"}))
    assert drawing.get("role") == "img"
    assert drawing.get("aria-label") == "Workflow <mine> & yours"
    assert drawing[0].tag == f"{SVG}title" and drawing[0].text == "Workflow <mine> & yours"
    described = drawing.findtext(f"{SVG}desc")
    assert described is not None and "- sum: sum = add(a=n, b=2) -> big" in described.split("\n")
    assert STYLE in str(drawing.findtext(f"{SVG}style"))
    whole = to_svg(workflow(EVERYTHING))
    assert "href" not in whole and "url(" not in whole and "@import" not in whole
    assert "<style>" not in to_svg(workflow(EVERYTHING), styled=False)
    assert ' style="' not in whole


def test_whatever_stands_in_a_workflow_stays_text() -> None:
    nasty = "</svg><script>alert(1)</script> \x00\x0b\x1f \"&quot;' ]]>"
    made = workflow(
        sketch([{"id": "ask", "kind": "llm", "prompt": nasty, "args": {}, "output": "o"}, end({"value": nasty})],
               "start ask end") | {"name": nasty}
    )  # fmt: skip
    drawing = parsed(made)
    assert {element.tag for element in drawing.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "desc", "style", "g", "path", "rect", "text")
    }
    assert "</svg><script>alert(1)</script> \ufffd\ufffd\ufffd" in str(drawing.get("aria-label"))


def test_long_texts_are_cut_in_the_box_and_whole_in_the_title() -> None:
    expr = " + ".join(f"number_{index}" for index in range(60))
    drawing = parsed(workflow(sketch([compute("sum", expr), end("sum")], "start sum end")))
    [node] = [group for group in groups(drawing, "node") if group.get("data-node") == "sum"]
    assert node.findtext(f"{SVG}title") == f"sum: sum = {expr}"
    lines = ["".join(text.itertext()) for text in node.iter(f"{SVG}text")]
    assert len(lines) < 10 and lines[-1].endswith(" …")
    assert float(str(drawing.get("width"))) < 500


@pytest.mark.parametrize(
    "document",
    [
        {"inputs": {"type": "object"}, "nodes": []},
        {"inputs": {"type": "object"}, "nodes": [{"id": "start", "kind": "start"}]},
        {"inputs": {"type": "object"}, "nodes": [end("a", "x")], "edges": [{"from": "x", "to": "x"}]},
        {"inputs": {"type": "object"}, "nodes": [end("a", "x"), end("a", "x"), end("a", "y")],
         "edges": [{"from": "x", "to": "y"}, {"from": "y", "to": "x"}]},
        sketch([end("a")], "start end ghost phantom", "ghost end", "start start"),
        sketch([condition("c", "True"), end("a")], "start c", "c.true end", "c.false end"),
        sketch([compute("a", "1"), compute("b", "1"), condition("c", "a > b"), end("a")],
               "start a b c", "start b a", "c.true a", "c.false end"),
    ],
    ids=["empty", "alone", "to itself", "one id twice", "dangling", "both arms to one node", "irreducible"],
)  # fmt: skip
def test_what_is_not_sound_is_drawn_as_it_is(document: Document) -> None:
    assert_drawn_edge_for_edge(workflow(document))


def test_random_workflows_are_drawn_edge_for_edge() -> None:
    for made in random_workflows(0, 120):
        assert_drawn_edge_for_edge(made)


def test_broken_random_workflows_are_drawn_edge_for_edge() -> None:
    drawn = 0
    for seed in range(120):
        rng = Random(seed)
        document = copy.deepcopy(Maker(rng, True).document())
        for _ in range(3):
            break_it(document, rng)
        try:
            made = workflow(document)
        except ValidationError:
            continue
        assert_drawn_edge_for_edge(made)
        drawn += bool(check(made, SPECS))
    assert drawn > 50


def test_the_gold_workflows_of_the_benchmark_are_drawn_edge_for_edge() -> None:
    for blueprint in all_blueprints():
        params = {name: next(iter(values)) for name, values in blueprint.params.items()}
        made = gold_workflow(blueprint, params)
        assert_drawn_edge_for_edge(made)
        assert_clear(made)


def test_edges_that_lead_back_are_those_that_close_the_loops() -> None:
    found = 0
    for made in random_workflows(200, 120):
        back = {edge.label for edge in analyse(made).back_edges}
        drawn = groups(parsed(made), "back")
        assert {group.findtext(f"{SVG}title") for group in drawn} == back
        found += len(drawn)
    assert found > 30


def test_equal_workflows_have_equal_drawings_in_every_process(tmp_path: Path) -> None:
    made = next(random_workflows(3, 1))
    path = tmp_path / "workflow.json"
    path.write_text(made.to_json(), encoding="utf-8")
    code = (
        "import sys; from pathlib import Path; from flowmind.formats.svg import to_svg; "
        "from flowmind.base.files import read_model; from flowmind.workflow.document import Workflow; "
        "print(to_svg(read_model(Path(sys.argv[1]), Workflow)), end='')"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-c", code, str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        assert done.stdout.decode() == to_svg(made)


# Where things stand


def inside(point: Point, box: Box) -> bool:
    return box.x < point[0] < box.x + box.width and box.y < point[1] < box.y + box.height


def along(route: Route) -> Iterator[Point]:
    """Points on a route; bends are taken as drawn, cubic with upright ends."""
    for index, ((x, y), (x2, y2)) in enumerate(pairwise(route.points)):
        for part in range(21):
            t = part / 20
            if route.back or index % 2 == 0:
                yield x + (x2 - x) * t, y + (y2 - y) * t
            else:
                half, s = (y + y2) / 2, 1 - t
                yield (
                    x * (s**3 + 3 * s * s * t) + x2 * (3 * s * t * t + t**3),
                    y * s**3 + half * (3 * s * s * t + 3 * s * t * t) + y2 * t**3,
                )


def apart(one: Box, other: Box) -> bool:
    return (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )


def assert_placed_well(placed: Layout, ends: list[tuple[int, int]]) -> None:
    """Boxes are apart, edges go from the bottom of their source to the top of their target and through no box."""
    assert all(apart(one, other) for one, other in combinations(placed.boxes, 2))
    for (source, target), route in zip(ends, placed.routes, strict=True):
        first, last = placed.boxes[source], placed.boxes[target]
        (x, y), (x2, y2) = route.points[0], route.points[-1]
        assert first.x < x < first.x + first.width and y == pytest.approx(first.y + first.height, abs=0.2)
        assert last.x < x2 < last.x + last.width and y2 == pytest.approx(last.y, abs=0.2)
        assert route.points[-2][1] <= y2
        for point in along(route):
            assert not any(inside(point, box) for box in placed.boxes if box not in (first, last))
            assert 0 <= point[0] <= placed.width and 0 <= point[1] <= placed.height
    for box in placed.boxes:
        assert box.x >= 0 and box.x + box.width <= placed.width and box.y + box.height <= placed.height


def assert_clear(made: Workflow) -> None:
    """The drawing's boxes are apart, and no two edges lie on one another."""
    rng = Random(len(made.nodes))
    ends = ends_of(made)
    sizes = [(rng.uniform(44, 320), rng.uniform(40, 130)) for _ in made.nodes]
    placed = lay_out(sizes, ends)
    assert_placed_well(placed, ends)
    assert len({route.points for route in placed.routes}) == len(ends)
    lanes = [route.points[2][0] for route in placed.routes if route.back]
    spans = [(route.points[3][1], route.points[2][1]) for route in placed.routes if route.back]
    for (lane, (top, low)), (other, (high, deep)) in combinations(zip(lanes, spans, strict=True), 2):
        assert lane != other or low < high or deep < top


def test_boxes_are_apart_and_edges_go_through_none() -> None:
    for made in random_workflows(400, 40):
        assert_clear(made)


def test_random_graphs_are_placed_well_too() -> None:
    for seed in range(100):
        rng = Random(seed)
        count = rng.randint(1, 14)
        ends = [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(0, 2 * count))]
        sizes = [(rng.uniform(44, 300), rng.uniform(30, 120)) for _ in range(count)]
        assert_placed_well(lay_out(sizes, ends), ends)


def test_without_the_edges_that_lead_back_there_is_no_cycle() -> None:
    for seed in range(200):
        rng = Random(seed)
        count = rng.randint(1, 10)
        ends = [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randint(0, 25))]
        back = back_edges(count, ends)
        left = {node: {t for i, (s, t) in enumerate(ends) if s == node and i not in back} for node in range(count)}
        while free := [node for node, targets in left.items() if not targets]:
            left = {node: targets - set(free) for node, targets in left.items() if node not in free}
        assert left == {}


def test_a_diamond_is_straight_and_even() -> None:
    placed = lay_out([(100.0, 40.0)] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    top, left, right, low = placed.boxes
    assert (top.x, top.y) == (low.x, 8.0)
    assert left.y == right.y and left.x < top.x < right.x
    assert top.x - left.x == pytest.approx(right.x - top.x, abs=0.2)


def test_arms_stand_in_the_order_of_their_edges_where_nothing_speaks_against_it() -> None:
    placed = lay_out([(80.0, 40.0)] * 4, [(0, 1), (0, 2), (0, 3)])
    assert placed.boxes[1].x < placed.boxes[2].x < placed.boxes[3].x


def test_crossings_are_undone_where_they_can_be() -> None:
    placed = lay_out([(80.0, 40.0)] * 5, [(0, 1), (0, 2), (1, 4), (2, 3)])
    boxes = placed.boxes
    assert (boxes[1].x < boxes[2].x) == (boxes[4].x < boxes[3].x)


def test_a_workflow_of_a_thousand_nodes_is_drawn() -> None:
    nodes = [compute(f"a{index}", "1") for index in range(1_000)]
    made = workflow(sketch([*nodes, end("a1")], f"start {' '.join(node['id'] for node in nodes)} end"))
    assert_drawn_edge_for_edge(made)
