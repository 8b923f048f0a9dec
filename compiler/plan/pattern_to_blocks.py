"""A pattern as blocks: each variable with all that its place in the pattern asks of it.

Scopes: what `runtime/reference/satisfy.py` hands down as an interval of time is here the conjunction of the
bounds that make the interval. That is the same, since the events that a bound speaks of lie in the wider
scope themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts, names_in
from neelc.ir.expr import Same
from neelc.ir.logical import Match
from neelc.ir.parts import may_be_empty, satisfiable_by_nothing, targets
from neelc.ir.show_pattern import as_written
from neelc.plan.blocks import Block, Choice, Condition, Item, SomeBound
from neelc.plan.closures import distributed, note_places, place_repeat
from neelc.plan.known import exclude_each_other
from neelc.plan.places import Place, Walk, Window
from neelc.plan.widths import width_of
from neelc.runtime.program import Between


def pattern_to_blocks(query: Match, unit: str) -> tuple[Block, bool]:
    """The block of a query's matches, and whether one match can be found twice.

    >>> from neelc.rewrite.examples import query
    >>> block, _ = pattern_to_blocks(query("SEQ(A a, !B b, C c) WITHIN 1 SECOND"), "MILLISECOND")
    >>> [(item.variable, item.after, item.before) for item in block.all_items()]
    [('a', (), ('c',)), ('c', ('a',), ()), ('b', ('a',), ('c',))]
    """
    where = Same(query.partition) if query.partition else None
    whole = p.And((query.pattern,), where=where, within=query.within)
    block = Block(part=str(as_written(query.pattern)))
    walk = Walk(unit, count(1))
    place(walk, whole, Place(block))
    if may_be_empty(whole):
        block.bound.append(SomeBound(targets(whole), ()))
    block = distributed(block)
    note_places(block, block.all_conditions())
    _tell_both(block)
    return block, walk.repeats


def _tell_both(block: Block) -> None:
    """An event that must end before another tells the other, too: either may be taken first. What an EXISTS
    drops is not named outside of it, but may be looked for together with what comes after it."""
    items = list(block.items)
    of: dict[str, list[Item]] = {}
    before: dict[str, list[Item]] = {}
    after: dict[str, list[Item]] = {}
    for item in items:
        of.setdefault(item.variable, []).append(item)
        for name in item.before:
            before.setdefault(name, []).append(item)
        for name in item.after:
            after.setdefault(name, []).append(item)
    for number, item in enumerate(items):
        is_after = _told(before.get(item.variable, []), item, of)
        is_before = _told(after.get(item.variable, []), item, of)
        block.items[number] = replace(
            item,
            after=tuple(dict.fromkeys((*item.after, *is_after))),
            before=tuple(dict.fromkeys((*item.before, *is_before))),
        )
    for check in block.checks:
        _tell_both(check)


def _told(tellers: list[Item], item: Item, of: Mapping[str, list[Item]]) -> list[str]:
    """The variables of those who say something of an item. Branches may share a variable: only what holds in
    all of them that can be there with the item is told."""
    known = {id(teller) for teller in tellers}
    tellers = [one for one in tellers if not item.when or not exclude_each_other(one.when, item.when)]
    return [
        teller.variable
        for teller in tellers
        if len(of[teller.variable]) == 1
        or all(id(one) in known or exclude_each_other(one.when, item.when) for one in of[teller.variable])
    ]


def place(walk: Walk, part: p.Pattern, at: Place) -> None:
    """Add what `part` asks for to the blocks of its place."""
    if isinstance(part, p.Optional):
        if not targets(part):
            return  # nothing in it is ever bound: it always counts as absent
        at = _if_present(walk, part, at)
    inside = _inside(walk, part, at)
    match part:
        case p.Event(type, variable):
            _place_event(type, variable or "", inside)
        case p.Seq(parts):
            after, before = inside.after, _names(parts) + inside.before
            for inner in parts:
                own = targets(inner)
                before = before[len(own) :]
                place(walk, inner, replace(inside, after=after, before=before))
                after += own
        case p.And(parts):
            for inner in parts:
                place(walk, inner, inside)
        case p.AndNeg(parts):
            _place_and_neg(walk, parts, inside)
        case p.Or():
            _place_or(walk, part, inside)
        case p.Optional(inner):
            place(walk, inner, inside)
        case p.Not(inner):
            _place_not(walk, inner, inside)
        case p.Exists(variables, inner):
            _place_exists(walk, part, frozenset(variables), inner, inside)
        case p.Repeat():
            place_repeat(walk, part, inside, place)


def _names(parts: Sequence[p.Pattern]) -> tuple[str, ...]:
    return tuple(name for part in parts for name in targets(part))


def _inside(walk: Walk, part: p.Pattern, at: Place) -> Place:
    """The place of what is inside `part`: its conditions are noted, its window and its `[id]` go down."""
    inside = at
    if part.within is not None:
        width, counted = width_of(part.within, walk.unit)
        inside = replace(inside, windows=(*inside.windows, Window(targets(part), width, counted)))
    for conjunct in conjuncts(part.where):
        if isinstance(conjunct, Same):
            number = next(walk.numbers)
            inside = replace(inside, same=inside.same + tuple((number, name) for name in conjunct.attributes))
        else:
            block = inside.block_of_condition(names_in(conjunct))
            block.conditions.append(Condition(conjunct, inside.when, targets(part)))
    return inside


def _place_event(type: str, variable: str, at: Place) -> None:
    within = tuple(window.around(variable) for window in at.windows)
    scope = at.scope_of(variable)
    item = Item(variable, type, at.when, at.after, at.before, within, at.between, scope, at.same)
    at.block_of([variable]).items.append(item)


def _place_and_neg(walk: Walk, parts: tuple[p.Pattern, ...], at: Place) -> None:
    for number, inner in enumerate(parts):
        if not isinstance(inner, p.Not):
            place(walk, inner, at)
            continue
        left = next((other for other in reversed(parts[:number]) if not isinstance(other, p.Not)), None)
        right = next((other for other in parts[number + 1 :] if not isinstance(other, p.Not)), None)
        if left is not None and right is not None:  # else there is no room for a hit
            between = Between(targets(left), targets(right))
            place(walk, inner, replace(at, between=(*at.between, between)))


def _place_or(walk: Walk, part: p.Or, at: Place) -> None:
    names, parts = targets(part), grouped(part.parts)
    block = at.block_of(names)
    mark = walk.mark()
    block.choices.append(Choice(mark, len(parts), at.when))
    _note_repeats(walk, part.parts, block, at)
    for number, inner in enumerate(parts):
        place(walk, inner, replace(at, when=(*at.when, (mark, number))))


def grouped(parts: tuple[p.Pattern, ...]) -> tuple[p.Pattern, ...]:
    """Branches that begin with the same type side by side, in an OR of their own: they can share that event.

    >>> from neelc.parse import pattern
    >>> [str(part) for part in grouped(pattern("OR(SEQ(A a, B b), C c, SEQ(A x, D d))").parts)]
    ['OR(SEQ(A a, B b), SEQ(A x, D d))', 'C c']
    """
    groups: dict[object, list[p.Pattern]] = {}
    for part in parts:
        groups.setdefault(_first_type(part) or id(part), []).append(part)
    if len(groups) in (1, len(parts)):
        return parts
    return tuple(group[0] if len(group) == 1 else p.Or(tuple(group)) for group in groups.values())


def _first_type(part: p.Pattern) -> str | None:
    """The type that a branch begins with, if it is a plain sequence."""
    match part:
        case p.Event(type):
            return type
        case p.Seq(parts):
            return next((_first_type(inner) for inner in parts if not isinstance(inner, p.Not)), None)
    return None


def _note_repeats(walk: Walk, parts: Sequence[p.Pattern], block: Block, at: Place) -> None:
    """Branches that bind the same variables can find the same match; so can those that bind nothing, and
    those that differ in what is dropped afterwards."""
    bound = [frozenset(targets(part)) - at.dropped for part in parts]
    overlapping = any(one & other for n, one in enumerate(bound) for other in bound[:n])
    empty = sum(map(may_be_empty, parts)) + sum(not names for names in bound)
    if block.wanted is None and (overlapping or empty > 1):
        walk.repeats = True


def _if_present(walk: Walk, part: p.Optional, at: Place) -> Place:
    """The place of an optional part: all that it asks for is asked only if it is there."""
    names = targets(part)
    block = at.block_of(names)
    mark = walk.mark()
    block.choices.append(Choice(mark, 2, at.when))
    when = (*at.when, (mark, 1))
    if may_be_empty(part.part):
        block.bound.append(SomeBound(names, when))
    return replace(at, when=when)


def _place_not(walk: Walk, inner: p.Pattern, at: Place) -> None:
    twice = isinstance(inner, p.Not)
    part = inner.part if isinstance(inner, p.Not) else inner
    if isinstance(part, p.Not):  # `!!!q` is `!q`
        return _place_not(walk, part.part, at)
    text = f"{'!!' if twice else '!'}{as_written(part)}"
    check = Block(wanted=twice, when=at.when, part=text)
    scope = (*at.innermost, next(walk.numbers))
    inside = replace(at, block=check, hidden=None, dropped=frozenset(), scope=scope, inner=(), in_loop=False)
    place(walk, part, inside)
    if satisfiable_by_nothing(part):
        check.bound.append(SomeBound(check.variables, at.when))
    at.checks.checks.append(check)


def _place_exists(walk: Walk, part: p.Pattern, names: frozenset[str], inner: p.Pattern, at: Place) -> None:
    inner_scope = (names, (*at.innermost, next(walk.numbers)))
    at = replace(at, inner=(*at.inner, inner_scope))
    if (at.block.wanted is not None and not at.in_loop) or at.hidden is not None:
        # Something exists already in a block that only asks for existence: one question more in it.
        dropped = at.dropped | names if at.hidden is not None else at.dropped
        place(walk, inner, replace(at, dropped=dropped))
        return
    check = Block(wanted=True, when=at.when, part=str(as_written(part)))
    place(walk, inner, replace(at, dropped=names, hidden=check))
    at.block.checks.append(check)
