"""The control flow: loops, forks with their joins, and the order in which forked paths are run."""

from __future__ import annotations

from reference_interpreter import compute, condition, end, sketch

from flowmind.workflow.document import Workflow
from flowmind.workflow.graph import Flow, Fork, analyse, loop_nodes


def flow_of(*paths: str) -> Flow:
    """The flow of a graph whose conditions begin with `c` and whose ends with `end`."""
    hops = [hop.partition(":")[0] for path in paths for hop in path.split()]
    names = dict.fromkeys(hop.removesuffix(".true").removesuffix(".false") for hop in hops)
    nodes = [
        condition(name, "1 > 0") if name[0] == "c" else end("x", name) if name[:3] == "end" else compute(name, "1")
        for name in names
        if name != "start"
    ]
    return analyse(Workflow.model_validate(sketch(nodes, *paths)))


def order(flow: Flow) -> set[str]:
    return {f"{source} {target}" for source, target in flow.order.edges}


def test_a_line_has_neither_loops_nor_forks() -> None:
    flow = flow_of("start a b end")
    assert (flow.back_edges, flow.forks, flow.irreducible, flow.unbounded) == ((), (), (), ())
    assert order(flow) == {"start a", "a b", "b end"}


def test_what_the_start_leads_to_and_what_leads_to_an_end() -> None:
    flow = flow_of("start c", "c.true end", "c.false loop loop", "lost end")
    assert flow.reached == {"start", "c", "end", "loop"}
    assert flow.leaving == {"start", "c", "end", "lost"}


def test_a_node_that_still_lacks_an_edge_counts_as_a_way_out() -> None:
    assert flow_of("start a c", "c.true b").leaving == {"start", "a", "c", "b"}


def test_a_graph_without_a_start_is_not_analysed() -> None:
    document = sketch([end("x")])
    flow = analyse(Workflow.model_validate({**document, "nodes": document["nodes"][1:]}))
    assert (flow.start, flow.reached, flow.forks) == (None, frozenset(), ())


def test_a_loop_tested_before_its_body() -> None:
    flow = flow_of("start c", "c.true a b c", "c.false end")
    assert [edge.label for edge in flow.back_edges] == ["b -> c"]
    assert loop_nodes(flow.order, flow.back_edges[0]) == {"c", "a", "b"}
    assert flow.unbounded == ()


def test_a_loop_tested_after_its_body() -> None:
    flow = flow_of("start a b c", "c.true a", "c.false end")
    assert [edge.label for edge in flow.back_edges] == ["c -> a (true)"]
    assert loop_nodes(flow.order, flow.back_edges[0]) == {"a", "b", "c"}
    assert flow.unbounded == ()


def test_a_loop_tested_in_the_middle_of_its_body() -> None:
    flow = flow_of("start a c", "c.true b a", "c.false end")
    assert [edge.label for edge in flow.back_edges] == ["b -> a"]
    assert flow.unbounded == ()


def test_a_loop_in_a_loop() -> None:
    flow = flow_of("start c1", "c1.true a c2", "c2.true b c2", "c2.false d c1", "c1.false end")
    loops = {edge.label: loop_nodes(flow.order, edge) for edge in flow.back_edges}
    assert loops == {"b -> c2": {"c2", "b"}, "d -> c1": {"c1", "a", "c2", "b", "d"}}


def test_a_loop_whose_test_can_be_passed_by_has_no_way_out() -> None:
    flow = flow_of("start c1", "c1.true a d", "c1.false c2", "c2.true d", "c2.false end", "d c1")
    assert flow.unbounded == ("d -> c1",)


def test_a_test_that_stays_in_the_loop_on_both_arms_is_no_way_out() -> None:
    flow = flow_of("start a c", "c.true b", "c.false d", "b e", "d e", "e a")
    assert flow.unbounded == ("e -> a",)


def test_a_jump_into_a_loop_is_irreducible() -> None:
    flow = flow_of("start c1", "c1.true a", "c1.false b", "a b", "b c2", "c2.true a", "c2.false end")
    assert flow.back_edges == ()
    assert len(flow.irreducible) == 1
    assert flow.irreducible[0] in {"a -> b", "b -> c2", "c2 -> a"}


def test_a_fork_runs_its_paths_in_the_order_of_its_edges() -> None:
    flow = flow_of("start f b b2 j end", "f a j")
    assert flow.forks == (Fork("f", "j", (("b", "b2"), ("a",)), ("b", "a")),)
    assert order(flow) == {"start f", "f b", "b b2", "b2 a", "a j", "j end"}


def test_a_fork_with_an_edge_straight_to_the_join() -> None:
    flow = flow_of("start f j end", "f a j", "f b j")
    assert flow.forks == (Fork("f", "j", ((), ("a",), ("b",)), ("j", "a", "b")),)
    assert order(flow) == {"start f", "f a", "a b", "b j", "j end"}


def test_a_fork_in_a_path_of_a_fork_with_one_join_for_both() -> None:
    flow = flow_of("start f g p j end", "g q j", "f r j")
    assert {fork.node: (fork.join, fork.paths) for fork in flow.forks} == {
        "f": ("j", (("g", "p", "q"), ("r",))),
        "g": ("j", (("p",), ("q",))),
    }
    assert order(flow) == {"start f", "f g", "g p", "p q", "q r", "r j", "j end"}


def test_a_path_with_a_condition_and_a_loop() -> None:
    flow = flow_of("start f c1", "c1.true a j", "c1.false j", "f c2", "c2.true b c2", "c2.false j", "j end")
    assert [fork.problem for fork in flow.forks] == [""]
    assert order(flow) == {
        "start f", "f c1", "c1 a", "c1 c2", "a c2", "c2 b", "b c2", "c2 j", "j end",
    }  # fmt: skip


def test_a_fork_in_a_loop() -> None:
    flow = flow_of("start f a j c", "f b j", "c.true f", "c.false end")
    assert [edge.label for edge in flow.back_edges] == ["c -> f (true)"]
    assert order(flow) == {"start f", "f a", "a b", "b j", "j c", "c f", "c end"}


def test_the_start_can_fork() -> None:
    flow = flow_of("start a end", "start b end")
    assert flow.forks == (Fork("start", "end", (("a",), ("b",)), ("a", "b")),)


def test_forks_that_cannot_be_run_say_why() -> None:
    problems = {
        "the paths never meet": flow_of("start a end1", "start b end2"),
        "one path ends": flow_of("start c", "c.true j", "c.false end2", "start b j end"),
        "two of three paths mix before the join": flow_of("start a m j end", "start b m", "start d j"),
        "a path is entered from outside": flow_of("start c", "c.true f", "c.false a", "f a j", "f b j end"),
    }
    assert [name for name, flow in problems.items() if not any(fork.problem for fork in flow.forks)] == []


def test_edges_to_nodes_that_do_not_exist_are_left_out() -> None:
    document = sketch([compute("a", "1"), end("a")], "start a end", "a ghost", "ghost end")
    assert order(analyse(Workflow.model_validate(document))) == {"start a", "a end"}
