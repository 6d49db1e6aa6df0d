"""Inductions: the likeliest program that reproduces the traces, as a workflow with its rivals and open places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from flowmind.build.induction.emission import Emitted, Spot, emitted
from flowmind.build.induction.induction import Alternative, Induction, Place, Request
from flowmind.build.induction.program import CallStep, Return, Slot, Step, StructuredProgram
from flowmind.build.induction.reading import read
from flowmind.build.induction.runs import UNSET, Call, Run
from flowmind.build.induction.scopes import Candidate, Context, Scope, canonical
from flowmind.build.induction.sharing import stronger
from flowmind.build.induction.spelling import changed, free_name, normal, swapped, tests_in, variables_of
from flowmind.build.induction.support import effects, evidence, holes, memorised, outline, refused
from flowmind.build.induction.values import explain
from flowmind.run.compiler import program_of
from flowmind.trace.origins import short
from flowmind.workflow.checking import check
from flowmind.workflow.document import Rival, Workflow
from flowmind.workflow.program import Tool, load, run_brief
from tools_registry import words
from tools_registry.sandbox.environment import DEFAULT_BUDGET
from tools_registry.specs.schema import JSONSchema
from tools_registry.specs.spec import ToolSpec
from tools_registry.specs.values import CaseError, copy_json

CLOSE = 1.0
"""Bits up to which another expression is about as likely."""
MARGIN = 4.0
"""Bits above the likeliest expression up to which another one is a rival."""
CHOICE = 2.0
"""The same in addition for each condition in a value: nothing but this value shows where it holds."""
SETTLED = 12.0
VISIT = 0.8
"""A condition of more bits than `SETTLED`, and `VISIT` for each step that shows it, may fit by accident: its margin is
wider by what it has more."""
WIDEST = 16.0
NO_EVIDENCE = 45.0
"""A condition of more bits says more than the decisions that it explains: each decision is one bit. It is in doubt
wherever it decides."""
SWAPPED = 3.0
"""The bits of the first element above the last, and the other way round, if the traces do not tell them apart."""
SHARED = 3.0
"""The bits of a test in a filter that another filter of the same list has, if all elements that it keeps pass it."""
STRUCTURES = 6.0
"""The margin of whole programs; that of expressions if only these differ."""
RIVALS = 24
"""The most rivals of a workflow."""
TRIED = 64
"""The most workflows that are tried as rivals."""
PROGRAMS = 12
"""The most programs that are tried."""
INDUCTIONS = 3
STRUCTURE = "structure"


class Recording:
    """Runs workflows on the recorded results of runs.

    Args:
        runs: The runs.
        specs: The tools.
    """

    def __init__(self, runs: Sequence[Run], specs: Mapping[str, ToolSpec]) -> None:
        self._runs = runs
        self._specs = specs
        self._writing = effects(specs)

    def contradicted(self, workflow: Workflow, left_out: Sequence[str] = ()) -> str:
        """How a sound workflow differs from the first run that it does not reproduce; empty if it reproduces all.

        It reproduces a run if it makes the same calls of the tools that may change something, in the same order, no
        other calls than the run, and gives its answer.

        Args:
            workflow: The workflow.
            left_out: Tools whose calls it need not make.
        """
        program = program_of(workflow, brief=True)
        function = load(program.source, program.constants)
        for run in self._runs:
            tape = _Tape(run.calls)
            tools = [tape.tool(*tool) for tool in zip(program.tools, program.signatures, strict=True)]
            inputs = copy_json({**workflow.input_defaults, **run.inputs})
            outcome = run_brief(function, inputs, tools, DEFAULT_BUDGET)
            wanted = [call for call in run.calls if call.tool in self._writing and call.tool not in left_out]
            place = f"trace {run.number + 1}"
            if outcome.error is not None:
                return f"{place}: {outcome.error[1]}"
            if [call for call in tape.made if call.tool in self._writing] != wanted:
                return f"{place}: it makes other calls that may change something"
            if run.answer is not UNSET and canonical(outcome.answer) != canonical(run.answer):
                return f"{place}: it gives {short(outcome.answer)}, not {short(run.answer)}"
        return ""


class _Tape:
    """The calls of a run that a workflow has not made yet."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._left = list(calls)
        self.made: list[Call] = []

    def tool(self, name: str, names: Sequence[str]) -> Tool:
        """A tool that takes its arguments in the order of their names."""
        return lambda *values: self._answer(name, dict(zip(names, values, strict=True)))

    def _answer(self, name: str, args: dict[str, Any]) -> Any:
        for index, call in enumerate(self._left):
            if call.tool == name and canonical(call.args) == canonical(args):
                self.made.append(self._left.pop(index))
                return copy_json(call.value)
        if name in words.FUNCTIONS:
            return words.value_of(name, args)
        raise CaseError("not_recorded", f"it calls {name} with {short(args)}")


@dataclass(frozen=True)
class _Draft:
    """A program with its workflow."""

    program: StructuredProgram
    emitted: Emitted

    @property
    def workflow(self) -> Workflow:
        return self.emitted.workflow


def induction_of(programs: Sequence[StructuredProgram], request: Request, context: Context) -> Induction | None:
    """The likeliest workflow of some traces, as `inductions_of` gives it; None without programs."""
    found = inductions_of(programs, request, context, most=1)
    return found[0] if found else None


def inductions_of(
    programs: Sequence[StructuredProgram], request: Request, context: Context, most: int = INDUCTIONS
) -> list[Induction]:
    """The likeliest workflows of some traces, best first.

    A program that does not reproduce the traces gives none. If no program does, the likeliest one is given with what is
    wrong about it in `refused`.

    Args:
        programs: Best first.
        request: The traces, and the choices of a person or a model.
        context: That of the search.
        most: How many workflows to give.
    """
    return _Maker(request, context).inductions(programs, most)


class _Maker:
    def __init__(self, request: Request, context: Context) -> None:
        self.request = request
        self.reading = context.reading
        self.recording = Recording(request.runs, request.specs)
        self.excluded = {_bare(Workflow.model_validate_json(text)).document for text in request.excluded}

    def inductions(self, programs: Sequence[StructuredProgram], most: int) -> list[Induction]:
        drafts: dict[str, _Draft] = {}
        for program in programs[:PROGRAMS]:
            draft = self.draft(program)
            if self.accepts(draft.workflow, program.left_out):
                drafts.setdefault(draft.workflow.document, draft)
        wanted = self.request.chosen.get(STRUCTURE)
        ordered = sorted(drafts.values(), key=lambda draft: outline(draft.program.body) != wanted)
        if not ordered and programs:
            return [self.failed(self.draft(programs[0]))]
        return [self.induction(draft, ordered) for draft in ordered[:most]]

    def draft(self, program: StructuredProgram) -> _Draft:
        """The workflow of a program with the chosen expressions."""
        draft = _Draft(program, emitted(program, self.request))
        for place, text in self.request.chosen.items():
            spot = next((spot for spot in draft.emitted.spots if spot.id == place), None)
            if spot is not None:
                draft = self.with_choice(draft, spot, text)
        return draft

    def with_choice(self, draft: _Draft, spot: Spot, text: str) -> _Draft:
        """The draft with an expression at a place, one of its candidates or another one."""
        for candidate in spot.candidates:
            changed = self.with_candidate(draft, spot, candidate)
            if text in (candidate.text, _text_at(changed, spot)):
                return changed
        bits = spot.candidates[0].bits if spot.candidates else 0.0
        return self.with_candidate(draft, spot, Candidate(bits, text))

    def with_candidate(self, draft: _Draft, spot: Spot, candidate: Candidate) -> _Draft:
        """The draft with one candidate at a place."""
        name = "omitted" if spot.omitted else "candidates"
        slot = replace(spot.slot, **{name: (candidate,)})
        body = changed(draft.program.body, lambda other: slot if other is spot.slot else other)
        program = replace(draft.program, body=body)
        return _Draft(program, emitted(program, self.request))

    def accepts(self, workflow: Workflow, left_out: Sequence[str]) -> bool:
        """Whether a workflow is sound, was not refuted, and reproduces the traces."""
        if workflow.document in self.excluded or check(workflow, self.request.specs):
            return False
        return not self.recording.contradicted(workflow, left_out)

    def failed(self, draft: _Draft) -> Induction:
        """A workflow that may not be used."""
        workflow = draft.workflow
        problems = tuple(check(workflow, self.request.specs))
        contradiction = "" if problems else self.recording.contradicted(workflow, draft.program.left_out)
        wrong = contradiction or ("" if problems else "it was refuted")
        open_ = holes(draft.emitted)
        lines = refused(draft.program.body, self.request, self.reading)
        if wrong:
            lines = (*lines, f"the likeliest workflow does not fit: {wrong}")
        return Induction(
            self.with_evidence(draft), draft.program.bits, (), open_, problems, lines, draft.program.left_out
        )

    def with_evidence(self, draft: _Draft) -> Workflow:
        """The workflow of a draft with the evidence for its parts."""
        return draft.workflow.model_copy(update={"evidence": evidence(draft.emitted, self.request, self.reading)})

    def induction(self, draft: _Draft, others: Sequence[_Draft]) -> Induction:
        """A workflow with its rivals and the places that are in doubt."""
        main = draft.workflow
        places: dict[str, list[Alternative]] = {}
        kinds: dict[str, Literal["condition", "value", "structure"]] = {}
        firsts = {spot.id: spot.text for spot in draft.emitted.spots} | {STRUCTURE: outline(draft.program.body)}
        seen = {main.document}
        rivals = list(self.unknown(draft))
        for bits, place, text, other, kind in self.alternatives(draft, others):
            if len(rivals) >= RIVALS:
                break
            if other.workflow.document in seen or not self.accepts(other.workflow, other.program.left_out):
                continue
            seen.add(other.workflow.document)
            rivals.append(main.rival_of(other.workflow, place, text, bits))
            first = Alternative(firsts[place], 0.0, self.with_evidence(draft))
            places.setdefault(place, [first]).append(Alternative(text, bits, self.with_evidence(other)))
            kinds[place] = kind
        close = Counter(place for place, found in places.items() for one in found[1:] if one.bits <= CLOSE)
        known = evidence(draft.emitted, self.request, self.reading, close)
        workflow = main.model_copy(update={"evidence": known, "rivals": tuple(rivals)})
        return Induction(
            workflow,
            draft.program.bits,
            tuple(Place(id, kinds[id], tuple(alternatives)) for id, alternatives in places.items()),
            holes(draft.emitted),
            tuple(check(workflow, self.request.specs)),
            refused(draft.program.body, self.request, self.reading),
            draft.program.left_out,
        )

    def unknown(self, draft: _Draft) -> Iterator[Rival]:
        """Rivals that have another value in place of one that the workflow only knows from few traces, or the opposite
        of a condition for which the traces are no evidence.

        They differ from the workflow where it would use this value or condition, also on these traces.
        """
        for spot in draft.emitted.spots if len(self.request.runs) > 1 else ():
            if spot.id not in self.request.chosen:
                if spot.kind == "condition" and spot.candidates and spot.candidates[0].bits > NO_EVIDENCE:
                    opposite = spot.candidates[0]._replace(text=f"not ({spot.candidates[0].text})")
                    other = self.with_candidate(draft, spot, opposite).workflow
                    if not check(other, self.request.specs):
                        yield draft.workflow.rival_of(other, spot.id, "the traces are no evidence for it", 0.0)
                for value, text in memorised(spot, self.request, self.reading):
                    other = self.with_candidate(draft, spot, spot.candidates[0]._replace(text=text)).workflow
                    if not check(other, self.request.specs):
                        yield draft.workflow.rival_of(other, spot.id, f"not {short(value)}: few traces show it", 0.0)

    def alternatives(self, draft: _Draft, others: Sequence[_Draft]) -> Iterator[_Alternative]:
        """Other workflows that differ at one place, the likeliest first."""
        found: list[tuple[float, int, Spot | _Draft, Candidate | None]] = []
        for spot in draft.emitted.spots:
            if spot.id not in self.request.chosen and spot.candidates:
                least = spot.candidates[0].bits
                margin = _margin(spot)
                forms = {normal(one.text): one for one in reversed(spot.candidates)}
                for text in swapped(spot.candidates[0].text, self.reading.end):
                    forms.setdefault(normal(text), spot.candidates[0]._replace(text=text, bits=least + SWAPPED))
                for text in stronger(spot.slot, draft.program.body):
                    forms.setdefault(normal(text), spot.slot.candidates[0]._replace(text=text, bits=least + SHARED))
                near = [one for one in forms.values() if one is not spot.candidates[0] and one.bits <= least + margin]
                found += [(one.bits - least, len(found) + number, spot, one) for number, one in enumerate(near)]
        for other in others if STRUCTURE not in self.request.chosen else ():
            bits = other.program.bits - draft.program.bits
            alike = outline(other.program.body) == outline(draft.program.body)
            if other is not draft and abs(bits) <= (MARGIN if alike else STRUCTURES):
                found.append((max(0.0, bits), len(found), other, None))
        for bits, _, where, candidate in sorted(found, key=lambda entry: entry[:2])[:TRIED]:
            if isinstance(where, _Draft):
                yield _Alternative(bits, STRUCTURE, outline(where.program.body), where, STRUCTURE)
            elif candidate is not None:
                changed = self.with_candidate(draft, where, candidate)
                yield _Alternative(bits, where.id, _text_at(changed, where) or candidate.text, changed, where.kind)


def _margin(spot: Spot) -> float:
    """The bits above the likeliest expression at a place up to which another one is a rival."""
    first = spot.candidates[0]
    if spot.kind == "condition":
        return min(WIDEST, MARGIN + max(0.0, first.bits - SETTLED - VISIT * len(spot.slot.steps)))
    return min(WIDEST, MARGIN + CHOICE * len(tests_in(first.text)))


class _Alternative(NamedTuple):
    bits: float
    place: str
    text: str
    draft: _Draft
    kind: Literal["condition", "value", "structure"]


def _text_at(draft: _Draft, spot: Spot) -> str:
    """The expression that stands at the place of a draft."""
    return next((other.text for other in draft.emitted.spots if other.id == spot.id), "")


def _bare(workflow: Workflow) -> Workflow:
    return workflow.model_copy(update={"evidence": (), "rivals": ()})


def straight(run: Run, inputs: JSONSchema, name: str, query: str) -> Workflow:
    """The calls of one run in their order, with the flow of data between them.

    Args:
        run: The run.
        inputs: JSON Schema of the workflow's inputs.
        name: Of the workflow.
        query: The task's text.
    """
    context = Context(read(query))
    scope = Scope(variables_of(run.inputs), 0, ())
    body: list[Step] = []
    taken = {*scope}
    for number, call in enumerate(run.calls):
        step = ((1, call.place + 1),)
        args = {
            field: Slot(explain(context, [scope], [value], field) or (Candidate(0.0, repr(value)),), step)
            for field, value in call.args.items()
        }
        output = free_name(call.tool, taken)
        taken.add(output)
        body.append(CallStep(call.tool, output, args))
        scope = scope.with_variables(number, **{output: call.value})
    if run.answer is not UNSET:
        found = explain(context, [scope], [run.answer]) or (Candidate(0.0, repr(run.answer)),)
        body.append(Return(Slot(found, ((1, run.steps + 1),))))
    request = Request([run], {}, inputs, query, name)
    made = emitted(StructuredProgram(tuple(body), 0.0), request)
    return made.workflow.model_copy(update={"evidence": evidence(made, request, context.reading)})
