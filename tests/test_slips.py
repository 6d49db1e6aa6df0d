"""The embedded model `slips:R`: `follow` with mistakes at a rate."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from test_follow import ROLE, Desk, Keeping, asked_for, calls

from flowmind.base.errors import InputError
from flowmind.dialogue.embedded import embedded_model
from flowmind.dialogue.following.follow import FollowModel
from flowmind.dialogue.following.slips import SlipsModel, slips_model
from flowmind.dialogue.methods import CONTROLLER_NAMES
from flowmind.dialogue.procedures.controllers import make_controllers
from flowmind.dialogue.procedures.procedure import procedure_of
from flowmind.protocols import ChatRequest
from flowmind.trace.events import Refused, Trace
from tools_registry.sandbox.local import LocalSandbox
from tools_registry.sandbox.stateful import StatefulEnvironment


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with LocalSandbox(ROLE.tools) as sandbox:
        yield Desk(sandbox)


def texts(desk: Desk) -> list[str]:
    return [*asked_for(desk.free()), *["Yes, please."] * 20, "Bye."]


def slipping(desk: Desk, seed: int, rate: float = 1.0, kept: bool = True) -> Trace:
    """A session, with all controllers or with none."""
    workflow = ROLE.scenarios[0].workflow
    specs = StatefulEnvironment(desk.sandbox, desk.database, desk.remembered).specs
    controllers = make_controllers(CONTROLLER_NAMES, [procedure_of(workflow, specs)], specs, "", 30) if kept else ()
    return desk.talk(*texts(desk), model=SlipsModel(rate, seed), controllers=controllers)


def test_without_slips_it_is_follow(desk: Desk) -> None:
    kept = Keeping(FollowModel())
    desk.talk(*texts(desk), model=kept)
    for request, reply in kept.asked:
        assert asyncio.run(SlipsModel(0.0).complete(request)) == reply


def test_the_rate_is_the_share_of_mistakes(desk: Desk) -> None:
    kept = Keeping(FollowModel())
    desk.talk(*texts(desk), model=kept)
    request, right = kept.asked[4]
    wrong = [asyncio.run(SlipsModel(0.3, seed).complete(request)) != right for seed in range(300)]
    assert 0.2 < sum(wrong) / len(wrong) < 0.4
    assert all(asyncio.run(SlipsModel(1.0, seed).complete(request)) != right for seed in range(20))


def test_equal_requests_get_equal_mistakes(desk: Desk) -> None:
    kept = Keeping(SlipsModel(0.5, 3))
    desk.talk(*texts(desk), model=kept)
    for request, reply in kept.asked:
        plain = ChatRequest(messages=request.messages, tools=request.tools, seed=request.seed, rollout=request.rollout)
        assert asyncio.run(SlipsModel(0.5, 3).complete(plain)) == reply
    request = kept.asked[3][0]
    drawn = {asyncio.run(SlipsModel(1.0, seed).complete(request)).text for seed in range(40)}
    assert len(drawn) > 3, "there are several kinds of mistakes"


@pytest.mark.slow
def test_nothing_wrong_is_done_under_all_controllers(desk: Desk) -> None:
    place = desk.free()
    right = [("find_hospital", {"hospital": place["hospital"]})]
    free = 0
    for seed in range(6):
        held = slipping(desk, seed)
        assert any(isinstance(event, Refused) for event in held.events)
        tools = [tool for tool, _ in calls(held)]
        assert tools.count("book_consultation") <= 1
        if "book_consultation" in tools:
            assert tools.index("find_hospital") < tools.index("find_slots") < tools.index("book_consultation")
        free += calls(slipping(desk, seed, kept=False))[:1] != right
    assert free >= 3, "without controllers the mistakes are carried out"


def test_a_rate_is_a_number_from_0_to_1() -> None:
    assert slips_model("slips:0.3").rate == 0.3
    made = embedded_model("slips:1")
    assert made is not None and made.name == "slips:1"
    for name in ("slips:2", "slips:x", "slips:", "slips:nan"):
        with pytest.raises(InputError, match="from 0 to 1"):
            slips_model(name)
