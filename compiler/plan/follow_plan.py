"""SKIP TILL NEXT MATCH and the contiguities: a plan whose runs take one event after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.plan.blocks import Block, Condition
from neelc.plan.blocks_to_steps import blocks_to_steps
from neelc.plan.event_roles import EventRoles
from neelc.plan.follow_components import Branch, branches
from neelc.plan.follow_decided import Question, is_decided
from neelc.plan.follow_judged import of_whole
from neelc.plan.follow_moves import Moves
from neelc.plan.follow_ways import Ways
from neelc.plan.known import Known
from neelc.plan.list_names import base_of
from neelc.plan.steps import Choose, Follow, Step
from neelc.plan.unsupported import Unsupported
from neelc.runtime.program import Closure

MOST_TOLD_APART = 100
"""So many elements of a list can be named one by one: a plan has a move for each, with names for all."""


def follow_steps(block: Block, known: Known, roles: EventRoles, contiguous: bool) -> tuple[Step, ...]:
    """The steps that find all matches; raises `Unsupported`. Runs bind all variables; what can only be judged
    of complete matches, negations among it, comes after them."""
    ways = branches(block)
    _refuse_shared(ways)
    steps: list[Step] = []
    optional = {mark for way in ways for component in way.components for mark in component.marks}
    steps += [Choose(c.mark, c.count, c.when) for c in block.choices if c.mark not in optional]
    left: dict[int, Step] = {}
    for way in ways:
        questions = list(_questions(block, way, roles))
        ways_on = Ways(way, _told_apart(questions, way))
        moves = Moves(ways_on, questions, known, roles)
        steps.append(_follow(moves, contiguous))
        for question in questions:
            if not all(is_decided(question, at, way) for at in ways_on.accepting()):
                left.setdefault(id(question.condition), of_whole(question, way, complete=True))
    rest = replace(block, items=[], choices=[], bound=[], conditions=[], checks=list(_checks(block)))
    around = frozenset(name for item in block.items for name in item.names)
    return (*steps, *left.values(), *blocks_to_steps(rest, known, roles, around=around))


def _checks(block: Block) -> Iterator[Block]:
    """The negations, also those of iterations: "filters on complete matches"."""
    yield from block.checks
    for item in block.items:
        if item.loop is not None:
            yield from (replace(check, each=item.variable) for check in item.loop.body.checks)


def _told_apart(questions: list[Question], branch: Branch) -> dict[str, int]:
    """Up to which number conditions tell the elements of each list apart."""
    found = dict.fromkeys(branch.places, 1) if questions else {}
    for question in questions:
        places = [(one.variable, one.place) for one in question.references if one.place]
        numbers = [(name, int(place)) for name, place in places if place.isdigit()]
        lags = [(question.ranged, question.lag)] if question.ranged is not None else []
        for name, number in (*numbers, *lags):
            if name in found:
                found[name] = max(found[name], number)
            if number > MOST_TOLD_APART:
                what = f"a condition on more than {MOST_TOLD_APART} elements of `{name}` one by one"
                raise Unsupported(f"{what} under this strategy")
    return found


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
        Closure(
            one.item.variable,
            tuple(part.item.variable for part in one.parts),
            bool(one.marks),
            one.item.loop.places,
        )
        for one in branch.components
        if one.item.loop is not None
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
