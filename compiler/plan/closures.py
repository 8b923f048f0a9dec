"""Closures as items of blocks: a list that lies somewhere as a whole, and a block for each of its iterations.

"A closure of a composite is judged like a SEQ of its iterations": an iteration comes after the last event of
the one before, and what lies around the list lies around each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from neelc.ir import pattern as p
from neelc.ir.conjuncts import names_in
from neelc.ir.expr import Expr, Variable
from neelc.ir.node import Node, transform
from neelc.ir.parts import all_parts, may_be_empty, targets
from neelc.ir.show_pattern import as_written
from neelc.plan.blocks import Block, Condition, Item, Loop, SomeBound, implies
from neelc.plan.event_roles import renamed
from neelc.plan.list_names import (
    BEFORE,
    CURRENT,
    FIRST,
    LAST,
    base_of,
    element,
    list_of,
    place_of,
    ranges,
    with_names,
)
from neelc.plan.places import Place, Walk, Window
from neelc.plan.unsupported import Unsupported
from neelc.runtime.program import When

PlacePart = Callable[[Walk, p.Pattern, Place], None]


def place_repeat(walk: Walk, part: p.Repeat, at: Place, place: PlacePart) -> None:
    """Add a closure to the blocks of its place; `place` adds the parts of its body."""
    _refuse(part)
    variable = part.variable or ""
    body, names = _renamed_body(part, variable)
    block = Block(wanted=True, when=at.when, part=str(as_written(part)))
    scope = at.scope_of(variable)
    inside = replace(
        at,
        block=block,
        after=(*at.after, element(variable, LAST)),
        windows=tuple(_seen_from_inside(window, variable, names) for window in at.windows),
        scope=scope,
        inner=(),
        dropped=frozenset(),
        hidden=None,
        in_loop=True,
    )
    place(walk, body, inside)
    if at.block_of([variable]) is not at.hidden:
        _tell_hidden(part, block, at)
    if may_be_empty(part.part):
        block.bound.append(SomeBound(names, at.when))
    within = tuple(window.around(variable) for window in at.windows)
    loop = Loop(part.least, part.most, names, block)
    kind = part.part.type if isinstance(part.part, p.Event) else ""
    item = Item(variable, kind, at.when, at.after, at.before, within, at.between, scope, at.same, loop)
    at.block_of([variable]).items.append(item)


def _refuse(part: p.Repeat) -> None:
    for inner in all_parts(part.part):
        if isinstance(inner, p.Repeat):
            raise Unsupported("a closure inside of a closure", inner.span)


def _tell_hidden(part: p.Repeat, body: Block, at: Place) -> None:
    """What an iteration asks of what EXISTS drops is asked where that is looked for, for each iteration."""
    if at.hidden is None:
        return
    told = [condition for condition in body.conditions if condition.names & at.dropped]
    at.hidden.conditions += told
    body.conditions[:] = [condition for condition in body.conditions if condition not in told]
    checks = [check for check in body.checks if _looks_at(check, at.dropped, body)]
    at.hidden.checks += [replace(check, each=part.variable) for check in checks]
    body.checks[:] = [check for check in body.checks if check not in checks]


def _looks_at(check: Block, dropped: frozenset[str], body: Block) -> bool:
    """Whether a check of an iteration depends on what is dropped: not if it lies between two events of the
    iteration."""
    if any(condition.names & dropped for condition in check.all_conditions()):
        return True
    sure = {item.variable for item in body.items if implies(check.when, item.when)}
    return not all(sure & set(item.before) and sure & set(item.after) for item in check.all_items())


def _renamed_body(part: p.Repeat, variable: str) -> tuple[p.Pattern, tuple[str, ...]]:
    """The body with the names that its variables have in an iteration, and these names."""
    if isinstance(part.part, p.Event):
        new = {part.part.variable or "": element(variable, CURRENT)}
        body: Node = replace(part.part, variable=part.part.variable or "")
    else:
        names = {event.variable or "" for event in all_parts(part.part) if isinstance(event, p.Event)}
        new = {name: element(variable, CURRENT, name) for name in names}
        body = part.part

    def change(node: Node) -> Node | None:
        match node:
            case Variable(name) if name in new:
                return Variable(new[name])
            case p.Event(variable=name) if (name or "") in new:
                return replace(node, variable=new[name or ""])
            case p.Exists(variables):
                return replace(node, variables=tuple(new.get(name, name) for name in variables))
        return None

    changed = transform(body, change)
    assert isinstance(changed, p.Pattern)
    return changed, targets(changed)


def _seen_from_inside(window: Window, variable: str, names: tuple[str, ...]) -> Window:
    """A window around the list is one around each of its events, and the first of them."""
    if variable not in window.variables:
        return window
    others = tuple(name for name in window.variables if name != variable)
    return replace(window, variables=(*others, element(variable, FIRST), *names))


def distributed(block: Block) -> Block:
    """The block with each condition about the elements of a list in the block of its iterations; in all
    conditions elements have names."""
    conditions: list[Condition] = []
    for condition in block.conditions:
        named = _named(condition)
        bodies = [item.loop.body for item in _closures_of(named, block) if item.loop is not None]
        for body in bodies:
            body.conditions.append(replace(named, when=body.when))
        if not bodies:
            conditions.append(named)
    changed = replace(block, conditions=conditions)
    changed.checks = [distributed(check) for check in block.checks]
    for item in changed.items:
        if item.loop is not None:
            body = item.loop.body
            body.conditions[:] = map(_named, body.conditions)
            body.checks[:] = [distributed(check) for check in body.checks]
    return _without_needless_lists(changed) if block.wanted is not None else changed


def _named(condition: Condition) -> Condition:
    return replace(condition, expression=with_names(condition.expression))


def note_places(block: Block, conditions: Iterable[Condition]) -> None:
    """Tell each closure which of its elements conditions name, other than the first and the last."""
    used: dict[str, dict[str, None]] = {}
    for name in (name for condition in conditions for name in sorted(condition.names)):
        found, place = list_of(name), place_of(name)
        if found and place and place not in (FIRST, LAST, CURRENT, BEFORE):
            used.setdefault(found, {})[place] = None
    for inner in block.all_blocks() if used else ():
        inner.items[:] = [
            replace(item, loop=replace(item.loop, places=tuple(used[item.variable])))
            if item.loop is not None and item.variable in used
            else item
            for item in inner.items
        ]


def _closures_of(condition: Condition, block: Block) -> list[Item]:
    """The closures whose iterations a condition is about, or the first one alone. A list that is absent has
    no elements to be judged, but no first one either."""
    ranged, firsts = ranges(condition.expression), _only_first(condition.expression)
    if len(ranged) == 1:
        found = (item for item in block.items if item.variable in ranged)
        return [item for item in found if implies(item.when, condition.when)]
    if ranged or len(firsts) != 1:
        return []
    return [item for item in block.items if item.variable in firsts and _is_sure(item, condition.when)]


def _is_sure(item: Item, when: When) -> bool:
    """Whether a list has a first element in every row with these choices."""
    return item.loop is not None and item.loop.least > 0 and set(item.when) == set(when)


def _only_first(expression: Expr) -> frozenset[str]:
    """The list of which a condition names the first element and no other."""
    names = names_in(expression)
    lists = {name: found for name in names if (found := list_of(name))}
    only = all(name.startswith(element(found, FIRST)) for name, found in lists.items())
    return frozenset(lists.values()) if only and not names & set(lists.values()) else frozenset()


def _without_needless_lists(block: Block) -> Block:
    """Where only existence is asked for, one element is enough if no condition looks at the list: whatever
    fits around the list fits around the element."""
    items, conditions = list(block.items), list(block.conditions)
    for number, item in enumerate(block.items):
        if item.loop is None or not _is_needless(item, block):
            continue
        (inner,) = item.loop.body.items
        items[number] = replace(item, loop=None, type=inner.type)
        conditions += [
            Condition(renamed(condition.expression, inner.variable, item.variable), condition.when)
            for condition in item.loop.body.conditions
        ]
    return replace(block, items=items, conditions=conditions)


def _is_needless(item: Item, block: Block) -> bool:
    loop = item.loop
    assert loop is not None
    body = loop.body
    if loop.least != 1 or len(body.items) != 1 or body.checks or body.choices or body.bound:
        return False
    inside = {name for condition in body.conditions for name in condition.names}
    around = {
        name
        for inner in block.all_blocks()
        if inner is not body
        for condition in inner.conditions
        for name in condition.names
    }
    mine = {name for name in inside if base_of(name) == item.variable}
    return mine <= set(loop.names) and not any(base_of(name) == item.variable for name in around)
