"""SKIP TILL NEXT MATCH and the contiguities: a plan whose runs take one event after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.plan.blocks import Block, Condition
from neelc.plan.blocks_to_steps import blocks_to_steps
from neelc.plan.event_roles import EventRoles
from neelc.plan.follow_components import Branch, branches
from neelc.plan.follow_decided import Question, check, is_decided
from neelc.plan.follow_moves import Moves
from neelc.plan.follow_ways import Ways
from neelc.plan.known import Known
from neelc.plan.list_names import base_of, without_names
from neelc.plan.steps import Choose, Follow, Step
from neelc.plan.unsupported import Unsupported
from neelc.runtime.program import Closure


def follow_steps(block: Block, known: Known, roles: EventRoles, contiguous: bool) -> tuple[Step, ...]:
    """The steps that find all matches; raises `Unsupported`. Runs bind all variables; what can only be judged
    of complete matches, negations among it, comes after them."""
    ways = branches(block)
    _refuse_shared(ways)
    steps: list[Step] = []
    optional = {mark for way in ways for component in way.components for mark in component.marks}
    steps += [Choose(c.mark, c.count, c.when) for c in block.choices if c.mark not in optional]
    left: dict[int, Condition] = {}
    for way in ways:
        questions = list(_questions(block, way, roles))
        for question in questions:
            check(question, way)
        ways_on = Ways(way)
        moves = Moves(ways_on, questions, known, roles)
        steps.append(_follow(moves, contiguous))
        for question in questions:
            if not all(is_decided(question, at, way) for at in ways_on.accepting()):
                left[id(question.condition)] = _at_the_end(question, way)
    rest = replace(block, items=[], choices=[], bound=[], conditions=list(left.values()))
    around = frozenset(name for item in block.items for name in item.names)
    return (*steps, *blocks_to_steps(rest, known, roles, around=around))


def judged_in_time(block: Block) -> Block:
    """The block without conditions that stand at a part after all that they name: whether an event can be
    taken does not depend on them."""

    def kept(inner: Block) -> list[Condition]:
        return [one for one in inner.conditions if not one.home or _reaches(one.names, one.home)]

    items = [
        item
        if item.loop is None
        else replace(item, loop=replace(item.loop, body=judged_in_time(item.loop.body)))
        for item in block.items
    ]
    return replace(block, items=items, conditions=kept(block))


def _reaches(names: frozenset[str], home: tuple[str, ...]) -> bool:
    """Whether a condition names what its part binds."""
    return any(name in home or base_of(name) in home for name in names)


def _follow(moves: Moves, contiguous: bool) -> Follow:
    branch = moves.ways.branch
    closures = tuple(
        Closure(one.item.variable, tuple(part.item.variable for part in one.parts), bool(one.marks))
        for one in branch.components
        if one.is_list
    )
    marks = tuple((mark, one.first_event) for one in branch.components for mark in sorted(one.marks))
    return Follow(moves.ways.states, moves.all(), closures, contiguous, marks, branch.when)


def _refuse_shared(ways: list[Branch]) -> None:
    """A run of one branch could be a match of another."""
    names = [name for way in ways for name in way.places]
    if len(set(names)) < len(names):
        raise Unsupported("branches of an OR that share variables, under this strategy")


def _questions(block: Block, branch: Branch, roles: EventRoles) -> Iterator[Question]:
    """The conditions that are asked in a branch."""
    for condition in block.conditions:
        if _is_of(condition, branch) and not roles.is_absorbed(condition):
            yield Question(condition)
    for place, component in enumerate(branch.components):
        if component.item.loop is not None:
            for condition in component.item.loop.body.conditions:
                if not roles.is_absorbed(condition):
                    yield Question(condition, place)


def _is_of(condition: Condition, branch: Branch) -> bool:
    """Whether a condition stands in a branch, or around all of them."""
    return all(choice in branch.when or choice[0] in branch.marks for choice in condition.when)


def _at_the_end(question: Question, branch: Branch) -> Condition:
    """A condition on complete matches. One about each element is not the kernel's."""
    condition = question.condition
    if question.body is not None:
        component = branch.components[question.body]
        if component.is_composite or (question.ranged is None and component.can_be_skipped):
            raise Unsupported(f"the condition `{condition.expression}` in a closure's body")
    if question.ranged is not None:
        condition = replace(condition, expression=without_names(condition.expression))
    return condition
