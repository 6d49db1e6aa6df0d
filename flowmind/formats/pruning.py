"""Nested code without what can never be reached, which is confusing to read and refused by strict readers."""

from __future__ import annotations

from flowmind.workflow.document import Workflow
from flowmind.workflow.nesting import Again, Block, Do, If, Item, Leave, Loop, Return, nested


def readable(workflow: Workflow) -> Block | None:
    """The nested form of a workflow that passes `check`, without what is never reached; None if there is none."""
    block = nested(workflow)
    return None if block is None else _pruned(block)


def _pruned(block: Block) -> Block:
    found: list[Item] = []
    for item in block:
        match item:
            case If(node=node, then=then, otherwise=otherwise):
                item = If(node, _pruned(then), _pruned(otherwise))
            case Loop(head=head, body=body):
                item = Loop(head, _pruned(body))
            case _:
                pass
        found.append(item)
        if not _goes_on(item):
            break
    return tuple(found)


def _goes_on(item: Item) -> bool:
    """Whether what comes behind an item may be reached; its parts are pruned."""
    match item:
        case Do():
            return True
        case If(then=then, otherwise=otherwise):
            return all(map(_goes_on, then)) or all(map(_goes_on, otherwise))
        case Loop(body=body):
            return _is_left(body)
        case Again() | Leave() | Return():
            return False


def _is_left(body: Block) -> bool:
    """Whether a loop with this body is left to what comes behind it."""
    match body[-1:]:
        case (Leave(),):
            return True
        case (If(then=then, otherwise=otherwise),):
            if _is_left(then) or _is_left(otherwise):
                return True
        case _:
            pass
    inner = [item for item in body[:-1] if isinstance(item, If)]
    return any(_is_left(item.then) or _is_left(item.otherwise) for item in inner)
