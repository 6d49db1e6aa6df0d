"""The conventions of dialogue scenarios that show when they run: every end reached, tools pure, facts unguessable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from random import Random
from typing import Any, NamedTuple, cast

from flowbench_synth.dialogue.blueprint import RoleBlueprint, Sampler, ScenarioBlueprint
from flowbench_synth.dialogue.conventions import specs_of
from flowbench_synth.dialogue.golds import NoGold, path_of
from flowbench_synth.dialogue.prompts import prompt_of
from flowbench_synth.dialogue.world import World, place_of, world_of
from flowmind.base.files import dump_json
from flowmind.trace.events import Trace
from flowmind.trace.scenario import CONFIRMED, OUTCOME
from flowmind.trace.telling import tells
from tools_registry.sandbox.isolation import Level
from tools_registry.sandbox.stateful import state_digest
from tools_registry.specs.spec import Observation, ToolCall, ToolSpec

TRIED = 12
"""The number of databases that are tried."""
_SAMPLED = range(12, 40)
"""Further databases, on which users are drawn only."""
DRAWS = 3
"""The users that are drawn for each end and database."""
_SHARE = 1 / 3
"""The greatest share of the draws of an end that may have the same facts."""
_KINDS = 8
"""The least number of different facts that the users of an end are told."""
_CHANCE = 1 / 6
"""The greatest share of the draws of an end whose facts may stand by chance in what the agent knows."""
_FUZZED = 3
"""The calls of each tool that are made with wrong arguments."""
_WRONG: tuple[Any, ...] = ("", "no such thing", -1, 0, 10**9, 0.5, True, None, [], {})
_ERRORS = ("tool_error", "invalid_arguments")


class Draw(NamedTuple):
    """A user who arrives at an end, and the run on the values of the slots."""

    seed: int
    slots: dict[str, Any]
    trace: Trace
    digest: str
    """Of the state after the run."""


def trial_problems(role: RoleBlueprint, require: Level = "kernel", tried: int = TRIED) -> list[str]:
    """The conventions that a role breaks when it runs, one line each.

    Args:
        role: The role.
        require: The least isolation of the processes that run tools.
        tried: The number of databases that are tried.
    """
    with ExitStack() as stack:
        first, second = (stack.enter_context(world_of(role.tools, require=require)) for _ in range(2))
        problems: list[str] = []
        databases = {seed: role.database(Random(f"{seed}/{role.id}")) for seed in range(tried)}
        further = [(seed, role.database(Random(f"{seed}/{role.id}"))) for seed in _SAMPLED]
        for seed, state in databases.items():
            if state_digest(role.database(Random(f"{seed}/{role.id}"))) != state_digest(state):
                problems.append(f"the database of seed {seed} differs when it is drawn again")
        made: dict[str, list[tuple[int, ToolCall]]] = {}
        for scenario in role.scenarios:
            prompt = prompt_of(role, scenario)
            for end, sampler in scenario.ends.items():
                where = f"{scenario.id}, end {end!r}"
                draws: list[Draw] = []
                for seed, number in product(databases, range(DRAWS)):
                    state = databases[seed]
                    try:
                        slots = sampler(Random(f"{seed}/{end}/{number}"), state)
                    except Exception as error:
                        problems.append(
                            f"{where}: the sampler fails on database {seed}: {type(error).__name__}: {error}"
                        )
                        break
                    draws.append(draw(scenario, end, slots, seed, state, first))
                problems += [f"{where}: {problem}" for problem in _samples(sampler, further)]
                if not draws:
                    continue
                problems += [f"{where}: {problem}" for problem in _end_problems(scenario, end, draws, prompt)]
                again = [
                    draw(scenario, end, item.slots, item.seed, databases[item.seed], second) for item in draws[::5]
                ]
                if any(one != other for one, other in zip(draws[::5], again, strict=True)):
                    problems.append(f"{where}: a second run gives another trace or state; tools are deterministic")
                for item in draws:
                    for event in item.trace.calls:
                        made.setdefault(event.call.tool, []).append((item.seed, event.call))
        specs = specs_of(role)
        for tool, calls in made.items():
            problems += [
                f"tool {tool!r}: {problem}" for problem in _tool_problems(specs[tool], calls, databases, first)
            ]
    return [f"{role.id}: {problem}" for problem in dict.fromkeys(problems)]


def _samples(sampler: Sampler, databases: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[str]:
    """The first database on which a sampler fails."""
    for seed, state in databases:
        try:
            sampler(Random(f"{seed}"), state)
        except Exception as error:
            yield f"the sampler fails on database {seed}: {type(error).__name__}: {error}"
            return


def draw(
    scenario: ScenarioBlueprint,
    end: str,
    slots: Mapping[str, Any],
    seed: int,
    state: Mapping[str, Any],
    world: World,
) -> Draw:
    """The run of a user who wants to arrive at an end."""
    whole = complete(scenario, end, slots)
    trace, place = world.run(scenario.workflow, whole, place_of(state))
    return Draw(seed, whole, trace, place.digest)


def complete(scenario: ScenarioBlueprint, end: str, slots: Mapping[str, Any]) -> dict[str, Any]:
    """What a sampler drew, with the user's consent."""
    consent = {CONFIRMED: end not in scenario.denied} if CONFIRMED in scenario.workflow.input_names else {}
    return {**slots, **consent}


def _end_problems(scenario: ScenarioBlueprint, end: str, draws: Sequence[Draw], prompt: str) -> Iterator[str]:
    for item in draws:
        problem = _arrival(end, item) or _none_needed(scenario, item)
        if problem:
            yield f"{problem} (database {item.seed}, slots {dump_json(item.slots)})"
            return
    told = [{name: value for name, value in item.trace.answer.items() if name != OUTCOME} for item in draws]
    yield from dict.fromkeys(line for facts in told for line in _untellable(facts))
    given = [" ".join(str(value) for value in item.slots.values() if value is not None) for item in draws]
    open_to_all = [
        facts
        for values, facts in zip(given, told, strict=True)
        if all(tells(f"{prompt} \n {values}", value) for value in facts.values())
    ]
    if len(open_to_all) > len(draws) * _CHANCE:
        yield f"all facts stand in the slots or in what the agent reads: {dump_json(open_to_all[0])}"
    counts = Counter(dump_json(facts) for facts in told)
    most, count = counts.most_common(1)[0]
    if count > _SHARE * len(draws) or len(counts) < _KINDS:
        databases = len({item.seed for item in draws})
        yield (
            f"{len(draws)} users over {databases} databases are told {len(counts)} different things, {count} of them "
            f"{most}; facts must not be guessable"
        )


def _arrival(end: str, item: Draw) -> str:
    if not item.trace.ok:
        assert item.trace.error is not None
        return f"the run fails: {item.trace.error.type}: {item.trace.error.message}"
    if item.trace.answer[OUTCOME] != end:
        return f"the run arrives at {item.trace.answer[OUTCOME]!r}"
    return ""


def _none_needed(scenario: ScenarioBlueprint, item: Draw) -> str:
    try:
        path_of(scenario.workflow, item.slots, item.trace)
    except NoGold as error:
        return str(error)
    return ""


def _untellable(facts: Mapping[str, Any]) -> Iterator[str]:
    for name, value in facts.items():
        parts = cast("list[Any]", value) if isinstance(value, list) else [value]
        if not parts or any(isinstance(part, bool | None | dict | list) or not str(part).strip() for part in parts):
            yield f"the fact {name!r} is {dump_json(value)}; facts are texts, numbers, or lists of them"


def _tool_problems(
    spec: ToolSpec, calls: Sequence[tuple[int, ToolCall]], databases: Mapping[int, dict[str, Any]], world: World
) -> Iterator[str]:
    changed = False
    distinct = {(seed, dump_json(call.args)): (seed, call) for seed, call in calls}
    for seed, call in list(distinct.values())[:40]:
        _, moved = _called(world, call, databases[seed])
        changed = changed or moved
        if moved and spec.effect == "read":
            yield f"it is marked as read, and changes the state ({dump_json(call.args)})"
            return
    if spec.effect == "write" and not changed:
        yield "it is marked as write, and changed the state in no call"
    for seed, call in list(distinct.values())[:_FUZZED]:
        for args in _wrong(call.args, spec):
            observation, moved = _called(world, ToolCall(tool=call.tool, args=args), databases[seed])
            if observation.error is not None and observation.error.type not in _ERRORS:
                yield f"{dump_json(args)} gives {observation.error.type}: {observation.error.message}"
                return
            if moved and (spec.effect == "read" or observation.error is not None):
                yield f"{dump_json(args)} changes the state"
                return


def _called(world: World, call: ToolCall, state: Mapping[str, Any]) -> tuple[Observation, bool]:
    before = place_of(state)
    observation, after = world.call(call, before)
    return observation, after.digest != before.digest


def _wrong(args: Mapping[str, Any], spec: ToolSpec) -> Iterator[dict[str, Any]]:
    yield {}
    yield {**args, "no_such_parameter": 1}
    for name in spec.names:
        for value in _WRONG:
            if value != args.get(name):
                yield {**args, name: value}
