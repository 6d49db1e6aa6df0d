"""Limits on requests in flight, against servers in a time of their own: no test waits."""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from flowmind.llm.limiting import AdaptiveLimit, Limit

Refuses = Callable[[int, float], bool]
"""Whether a server refuses a request, from the requests that it has and the time."""


class Clock:
    """A time that passes only when everyone waits for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._alarms: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        alarm = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._alarms, (self.now + seconds, self._count, alarm))
        await alarm

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Does work to its end, moving time to the next alarm whenever nothing else can go on."""
        task, idle = asyncio.ensure_future(work), 0
        while not task.done() and idle < 1_000:
            for _ in range(8):  # steps that an answer takes to let the next request in
                await asyncio.sleep(0)
            if self._alarms:
                self.now, _, alarm = heapq.heappop(self._alarms)
                alarm.set_result(None)
            else:
                idle += 1
        assert task.done(), "everyone waits for nothing"
        await task


class Server:
    """Works on so many requests at once, each for `seconds`; the others queue, or are refused."""

    def __init__(self, clock: Clock, workers: int, seconds: Callable[[], float], refuses: Refuses) -> None:
        self.clock = clock
        self.workers = asyncio.Semaphore(workers)
        self.seconds = seconds
        self.refuses = refuses
        self.has = 0

    async def answer(self) -> bool:
        """Whether the request was answered."""
        if self.refuses(self.has, self.clock.now):
            await self.clock.sleep(0.01)
            return False
        self.has += 1
        async with self.workers:
            await self.clock.sleep(self.seconds())
        self.has -= 1
        return True


def limits_over_time(
    requests: int,
    workers: int = 1_000,
    seconds: Callable[[], float] = lambda: 1.0,
    refuses: Refuses = lambda has, now: False,
    episodes: int = 200,
    later: int = 0,
    **bounds: int,
) -> list[int]:
    """The limit after each of so many attempts, made by episodes that go on until then.

    Args:
        later: Workers that join the server after 300 seconds.
    """
    limits: list[int] = []
    clock = Clock()
    limit = AdaptiveLimit(**bounds, clock=clock)

    async def episode(server: Server) -> None:
        while len(limits) < requests:
            async with limit:
                answered = False
                while not answered and len(limits) < requests:
                    mark = limit.began()
                    answered = await server.answer()
                    limit.ended(mark, overloaded=not answered)
                    limits.append(limit.current)
                    if not answered:
                        await clock.sleep(1.0)

    async def grow(server: Server) -> None:
        await clock.sleep(300.0)
        for _ in range(later):
            server.workers.release()

    async def all_episodes() -> None:
        server = Server(clock, workers, seconds, refuses)
        await asyncio.gather(*(episode(server) for _ in range(episodes)), grow(server))

    asyncio.run(clock.run(all_episodes()))
    return limits


def test_a_server_without_bounds_gets_as_many_as_allowed_soon() -> None:
    limits = limits_over_time(1_000)
    reached = limits.index(64)
    assert reached < 300
    assert set(limits[reached:]) == {64}


def test_a_server_that_works_one_after_the_other_is_not_flooded() -> None:
    limits = limits_over_time(5_000, workers=1)
    assert max(limits) == 8
    assert set(limits[1_000:]) == {4, 5}
    assert limits.count(4) > 3_500


@pytest.mark.parametrize("seed", range(5))
def test_nor_is_it_where_its_times_are_uneven(seed: int) -> None:
    draw = random.Random(seed)
    limits = limits_over_time(5_000, workers=1, seconds=lambda: draw.expovariate(1.0))
    assert max(limits) <= 16
    assert sum(limits[-1_000:]) / 1_000 <= 12


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("workers", "most"), [(2, 8), (12, 20), (40, 64)])
def test_a_server_of_some_workers_gets_about_so_many(workers: int, most: int, seed: int) -> None:
    draw = random.Random(seed)
    limits = limits_over_time(5_000, workers, lambda: draw.uniform(0.5, 1.5), start=2)
    assert 0.7 * workers <= sum(limits[-2_000:]) / 2_000 <= most


def test_a_server_that_grows_is_found_out() -> None:
    draw = random.Random(0)
    limits = limits_over_time(6_000, 2, lambda: draw.uniform(0.5, 1.5), later=14, start=2, most=16)
    assert max(limits[:600]) <= 6
    assert sum(limits[-500:]) / 500 > 10


def test_a_server_that_refuses_is_kept_close_to_what_it_takes() -> None:
    limits = limits_over_time(6_000, refuses=lambda has, now: has >= 20)
    settled = limits[2_000:]
    assert max(settled) <= 21
    assert sum(settled) / len(settled) > 13


def test_the_limit_halves_at_the_first_overload_and_only_once_for_all_of_the_same_time() -> None:
    limit = AdaptiveLimit(start=40, most=64)
    marks = [limit.began() for _ in range(10)]
    seen: list[int] = []
    for mark in marks:
        limit.ended(mark, overloaded=True)
        seen.append(limit.current)
    assert seen == [20] * 10
    limit.ended(limit.began(), overloaded=True)
    assert limit.current == 10


def test_the_limit_never_falls_below_its_least() -> None:
    limit = AdaptiveLimit(start=8, least=3)
    for _ in range(10):
        limit.ended(limit.began(), overloaded=True)
    assert limit.current == 3


def test_after_an_outage_the_limit_comes_back() -> None:
    limits = limits_over_time(3_000, refuses=lambda has, now: 20.0 < now < 40.0)
    least = limits.index(1)
    assert max(limits[:least]) == 64
    assert 32 in limits[least:]
    assert limits[-1] > 40


def test_with_less_to_do_than_the_limit_allows_nothing_is_learned() -> None:
    limits = limits_over_time(1_000, episodes=3)
    assert set(limits) == {4}


def test_equal_histories_give_equal_limits() -> None:
    def once() -> list[int]:
        draw = random.Random(7)
        return limits_over_time(2_000, workers=9, seconds=lambda: draw.expovariate(1.0))

    assert once() == once()


@pytest.mark.parametrize("bounds", [{"start": 0}, {"least": 0}, {"start": 5, "most": 4}, {"start": 2, "least": 3}])
def test_bounds_that_contradict_each_other_are_refused(bounds: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="bounds must be 1 <= least <= start <= most"):
        AdaptiveLimit(**bounds)


def test_a_fixed_limit_stays_whatever_happens_and_is_at_least_one() -> None:
    limit = Limit(3)
    for overloaded in (True, False) * 50:
        limit.ended(limit.began(), overloaded)
    assert limit.current == 3
    with pytest.raises(ValueError, match="at least 1"):
        Limit(0)


async def hold(limit: Limit, open_now: list[int], release: asyncio.Event, number: int) -> None:
    async with limit:
        open_now.append(number)
        await release.wait()


def test_requests_enter_in_the_order_in_which_they_came() -> None:
    async def converse() -> list[int]:
        limit, order = Limit(1), list[int]()
        release = asyncio.Event()
        release.set()
        await asyncio.gather(*(hold(limit, order, release, number) for number in range(10)))
        return order

    assert asyncio.run(converse()) == list(range(10))


def test_one_that_is_cancelled_while_it_waits_or_as_it_enters_leaves_its_place() -> None:
    async def converse() -> None:
        limit, entered, release = Limit(1), list[int](), asyncio.Event()
        release.set()
        async with limit:
            first, second, third = (asyncio.create_task(hold(limit, entered, release, number)) for number in range(3))
            await asyncio.sleep(0)
            first.cancel()  # while it waits
            await asyncio.sleep(0)
        second.cancel()  # it has been let in, but has not run yet
        ended = await asyncio.gather(first, second, third, return_exceptions=True)
        assert [type(end) for end in ended] == [asyncio.CancelledError, asyncio.CancelledError, type(None)]
        assert (entered, limit.in_flight) == ([2], 0)

    asyncio.run(converse())


def test_a_limit_that_rises_lets_waiting_requests_in_at_once() -> None:
    async def converse() -> None:
        limit, entered, release = AdaptiveLimit(start=1, most=2, clock=Clock()), list[int](), asyncio.Event()
        tasks = [asyncio.create_task(hold(limit, entered, release, number)) for number in range(3)]
        await asyncio.sleep(0)
        assert entered == [0]
        for _ in range(25):
            limit.ended(limit.began(), overloaded=False)
        await asyncio.sleep(0)
        assert (entered, limit.current, limit.in_flight) == ([0, 1], 2, 2)
        release.set()
        await asyncio.gather(*tasks)

    asyncio.run(converse())


def test_a_limit_serves_one_event_loop_after_the_other_even_if_one_broke_off() -> None:
    limit = Limit(1)

    async def converse() -> list[int]:
        entered, release = list[int](), asyncio.Event()
        release.set()
        await asyncio.gather(*(hold(limit, entered, release, number) for number in range(3)))
        return entered

    broken = asyncio.new_event_loop()
    stuck = broken.create_task(hold(limit, [], asyncio.Event(), 0))
    broken.run_until_complete(asyncio.sleep(0))
    assert limit.in_flight == 1
    assert asyncio.run(converse()) == [0, 1, 2]
    stuck.cancel()
    with pytest.raises(asyncio.CancelledError):
        broken.run_until_complete(stuck)
    broken.close()
