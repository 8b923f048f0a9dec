"""A pattern as blocks: each variable with all that its place in the pattern requires of it.

Scopes: what `runtime/reference/satisfy.py` hands down as an interval of time is here the conjunction of the
bounds that make the interval. That is the same, since the events that a bound names lie in the wider
scope themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from itertools import count

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, SameAttributes, conjuncts
from neelc.ir.patterns import all_parts, inner_parts, may_be_empty, satisfiable_by_nothing, targets
from neelc.ir.program import Match
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.plan.blocks import (
    Block,
    BlockCondition,
    BlockVariables,
    BranchChoice,
    Loop,
    PlacedVariable,
    SomeBound,
    UnsupportedQuery,
    block_variables,
    event_names,
    exclude_each_other,
    implies,
    in_first,
    lag,
    ranges,
    renamed,
    with_lists,
    with_other_names,
)
from neelc.pattern.plan.columns import width_of
from neelc.pattern.plan.order import tight_bounds
from neelc.pattern.plan.plan import PlanStep
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    ALL,
    ANY,
    EARLIEST,
    LATEST,
    BetweenGroups,
    ElementName,
    EventName,
    FilterStep,
    IterationName,
    ListName,
    Rename,
    Take,
    When,
    Within,
    around_of,
    inner_steps,
)
from neelc.syntax.print_patterns import as_written

# Where a part of a pattern stands: what lies around it, and which blocks take what it requires.


@dataclass(frozen=True)
class PartWindow:
    """A window around a part that binds `variables`."""

    variables: tuple[EventName, ...]
    width: int
    counted: bool

    def around(self, variable: EventName) -> Within:
        if variable not in self.variables:
            return Within(self.variables, self.width, self.counted)
        place = self.variables.index(variable)
        others = self.variables[:place] + self.variables[place + 1 :]
        return Within(others, self.width, self.counted, member=True)


Scope = tuple[int, ...]


@dataclass(frozen=True)
class PartPlacement:
    """Where a part stands. `block` takes what a match binds; `dropped` are variables of an EXISTS, which go
    to `hidden`, as do negations there: they may look at what is dropped. `inner` has the variables of each
    EXISTS around it that are in no scope but its own. `in_loop`: it is a part of a closure's iterations.
    `naming` has the names that the variables of a closure's body have in an iteration."""

    block: Block
    when: When = ()
    after: tuple[EventName, ...] = ()
    before: tuple[EventName, ...] = ()
    windows: tuple[PartWindow, ...] = ()
    between: tuple[BetweenGroups, ...] = ()
    scope: Scope = ()
    inner: tuple[tuple[frozenset[EventName], Scope], ...] = ()
    same: tuple[tuple[int, str], ...] = ()
    dropped: frozenset[EventName] = frozenset()
    hidden: Block | None = None
    in_loop: bool = False
    naming: Mapping[EventName, IterationName] = field(default_factory=dict)

    def name(self, variable: str | None) -> EventName:
        """What steps call a variable here."""
        return self.naming.get(variable or "", variable or "")

    def targets(self, *parts: p.Pattern) -> tuple[EventName, ...]:
        """What parts bind, by the names that steps have for it."""
        return tuple(self.name(variable) for part in parts for variable in targets(part))

    def may_bind_nothing(self, part: p.Pattern) -> bool:
        """Whether a part can be there without an event that is not dropped afterwards."""
        dropped = tuple(one for one in targets(part) if self.name(one) in self.dropped)
        return may_be_empty(p.Exists(dropped, part))

    @property
    def checks(self) -> Block:
        """The block that negations go to."""
        return self.hidden or self.block

    def block_of(self, variables: Sequence[EventName]) -> Block:
        """The block for what these variables decide."""
        if self.hidden is not None and set(variables) <= self.dropped:
            return self.hidden
        return self.block

    def block_of_condition(self, condition: Expr) -> Block:
        """A condition on hidden variables, or under a hidden choice, is checked there."""
        if self.hidden is None:
            return self.block
        marks = {choice.mark for choice in self.hidden.choices}
        hidden = with_lists(event_names(condition)) & self.dropped or any(
            mark in marks for mark, _ in self.when
        )
        return self.hidden if hidden else self.block

    def scope_of(self, variable: EventName) -> Scope:
        return next((scope for names, scope in self.inner if variable in names), self.scope)

    @property
    def innermost(self) -> Scope:
        return self.inner[-1][1] if self.inner else self.scope


@dataclass
class PatternWalk:
    """One walk over a pattern: it numbers marks and scopes. `repeats` is set where two ways through the
    choices can find the same match."""

    unit: str
    numbers: count[int]
    repeats: bool = False

    def mark(self) -> str:
        return f"choice_{next(self.numbers)}"


# Closures as items of blocks: a list that lies somewhere as a whole, and a block for each of its
# iterations.
#
# A closure of a composite is evaluated like a SEQ of its iterations: an iteration comes after the last event
# of the one before, and what lies around the list lies around each of them.

PlacePart = Callable[[PatternWalk, p.Pattern, PartPlacement], None]


def place_repeat(walk: PatternWalk, part: p.Repeat, at: PartPlacement, place: PlacePart) -> None:
    """Add a closure to the blocks of its place; `place` adds the parts of its body."""
    variable = at.name(part.variable)
    block = Block(must_exist=True, when=at.when, part=str(as_written(part)))
    scope = at.scope_of(variable)
    inside = replace(at, block=block, scope=scope, inner=(), dropped=frozenset(), hidden=None, in_loop=True)
    naming = {**at.naming, **_naming(part.part, variable)}
    inside = replace(inside, naming=naming, after=(*at.after, ElementName(variable, -1)))
    names = tuple(name for name in inside.targets(part.part) if isinstance(name, IterationName))
    windows = tuple(_seen_from_inside(window, variable, names) for window in at.windows)
    if part.each_within is not None:
        width, counted = width_of(part.each_within, walk.unit)
        windows += (PartWindow((ElementName(variable, -1),), width, counted),)
    place(walk, part.part, replace(inside, windows=windows))
    for gap in part.gaps:
        below = replace(at, block=block, naming=inside.naming, scope=scope)
        _place_gap(walk, gap, part, inside.targets(part.part), below, place)
    if at.block_of([variable]) is not at.hidden:
        _move_to_hidden(variable, block, at)
    if may_be_empty(part.part):
        block.bound.append(SomeBound(names, at.when))
    within = tuple(window.around(variable) for window in at.windows)
    loop = Loop(part.least, part.most, tuple(_names_of_events(part, variable)), block)
    kind = part.part.type if isinstance(part.part, p.Event) else ""
    item = PlacedVariable(
        variable, kind, at.when, at.after, at.before, within, at.between, scope, at.same, loop
    )
    at.block_of([variable]).items.append(item)


def _place_gap(
    walk: PatternWalk,
    gap: p.ClosureGap,
    closure: p.Repeat,
    names: tuple[EventName, ...],
    at: PartPlacement,
    place: PlacePart,
) -> None:
    """Add what a closure must lack as a check of its iterations, which bind `names`. Whatever lies up to the
    last element lies up to some element, so that each iteration can look for it."""
    of = at.name(closure.variable)
    events = (in_first(name, of, -1) for name in _names_of_events(closure, of))
    after = {
        p.GapReach.EACH: (ElementName(of, -1),),
        p.GapReach.WITHOUT: tuple(dict.fromkeys((ElementName(of, 1), *events))),
    }.get(gap.reach, ())
    before: tuple[EventName, ...] = (*names, ElementName(of, 1)) if gap.reach == p.GapReach.FIRST else names
    check = Block(must_exist=False, when=at.when, part=f"!{as_written(gap.part)}", reach=gap.reach)
    inside = replace(
        at,
        block=check,
        after=(*at.after, *after),
        before=(*before, *at.before),
        windows=(),
        between=(),
        scope=(*at.scope, next(walk.numbers)),
        inner=(),
        dropped=frozenset(),
        hidden=None,
    )
    place(walk, gap.part, inside)
    if satisfiable_by_nothing(gap.part):
        check.bound.append(SomeBound(check.variables, at.when))
    at.block.checks.append(check)


def _names_of_events(part: p.Repeat, variable: ListName) -> Iterator[IterationName]:
    """The names of all events that an iteration of a closure binds, be it in lists of its own."""
    if isinstance(part.part, p.Event):
        yield IterationName(variable)
        return
    closures = {inner.variable: inner for inner in all_parts(part.part) if isinstance(inner, p.Repeat)}
    for name in targets(part.part):
        if name in closures:
            yield from _names_of_events(closures[name], IterationName(variable, name))
        else:
            yield IterationName(variable, name)


def _move_to_hidden(
    variable: ListName, body: Block, at: PartPlacement, around: tuple[ListName, ...] = ()
) -> None:
    """Move conditions and checks of an iteration on variables that EXISTS drops to the block that looks for
    these variables, where they are checked for each iteration."""
    if at.hidden is None:
        return
    moved = [condition for condition in body.conditions if with_lists(condition.names) & at.dropped]
    for condition in moved:
        if variable not in with_lists(condition.names):  # it must not hold where the list is empty
            what = "EXISTS of an event that a closure names in a condition on none of its own events"
            raise UnsupportedQuery(what, condition.expression.span)
    at.hidden.conditions += moved
    body.conditions[:] = [condition for condition in body.conditions if condition not in moved]
    checks = [check for check in body.checks if _looks_at(check, at.dropped, body)]
    at.hidden.checks += [replace(check, each=(*around, variable, *check.each)) for check in checks]
    body.checks[:] = [check for check in body.checks if check not in checks]
    for item in (item for item in body.items if item.loop is not None):
        assert item.loop is not None
        _move_to_hidden(item.variable, item.loop.body, at, (*around, variable))


def _looks_at(check: Block, dropped: frozenset[EventName], body: Block) -> bool:
    """Whether a check of an iteration depends on what is dropped: not if it lies between two events of the
    iteration."""
    if any(with_lists(condition.names) & dropped for condition in check.all_conditions()):
        return True
    there = (item for item in body.items if item.loop is None or item.loop.least > 0)
    sure = {item.variable for item in there if implies(check.when, item.when)}
    return not all(sure & set(item.before) and sure & set(item.after) for item in check.all_items())


def _naming(body: p.Pattern, variable: ListName) -> dict[EventName, IterationName]:
    """The names that the variables of a closure's body have in an iteration."""
    if isinstance(body, p.Event):
        return {body.variable or "": IterationName(variable)}
    return {name: IterationName(variable, name) for name in _variables(body)}


def _variables(part: p.Pattern) -> Iterator[str]:
    """The variables of a part, negative ones too, but for those of a closure's body."""
    if isinstance(part, p.Event | p.Repeat):
        yield part.variable or ""
    else:
        yield from (name for inner in inner_parts(part) for name in _variables(inner))


def _seen_from_inside(window: PartWindow, variable: ListName, names: tuple[IterationName, ...]) -> PartWindow:
    """A window around the list is one around each of its events, and the first of them."""
    if variable not in window.variables:
        return window
    others = tuple(name for name in window.variables if name != variable)
    return replace(window, variables=(*others, ElementName(variable, 1), *names))


def distributed(block: Block, iterating: frozenset[ListName] = frozenset()) -> Block:
    """The block with each condition about the elements of a list in the block of its iterations. It is itself
    one of iterations of the lists `iterating`."""
    conditions: list[BlockCondition] = []
    for condition in block.conditions:
        closures = _closures_of(condition, block, iterating)
        bodies = [item.loop.body for item in closures if item.loop is not None]
        for body in bodies:
            body.conditions.append(replace(condition, when=body.when))
        if not bodies:
            conditions.append(condition)
    changed = replace(block, conditions=conditions)
    changed.checks = [distributed(check, iterating) for check in block.checks]
    for item in changed.items:
        if item.loop is not None:
            body = item.loop.body
            inside = distributed(body, iterating | {item.variable})
            body.conditions[:], body.checks[:] = inside.conditions, inside.checks
    return changed


def note_places(block: Block, conditions: Iterable[BlockCondition]) -> None:
    """Note for each closure which of its elements conditions name, other than the first and the last."""
    places: dict[ListName, dict[int, None]] = {}
    lags: dict[ListName, dict[int, None]] = {}
    for name in (name for condition in conditions for name in sorted(condition.names, key=str)):
        match name:
            case ElementName(of, place) if place not in (1, -1):
                places.setdefault(of, {})[place] = None
            case IterationName(of, lag=lag) if lag > 1:
                lags.setdefault(of, {})[lag] = None
    used = {*places, *lags}
    for inner in block.all_blocks() if used else ():
        inner.items[:] = [
            replace(
                item,
                loop=replace(
                    item.loop,
                    places=tuple(places.get(item.variable, ())),
                    lags=tuple(lags.get(item.variable, ())),
                ),
            )
            if item.loop is not None and item.variable in used
            else item
            for item in inner.items
        ]


def _closures_of(
    condition: BlockCondition, block: Block, iterating: frozenset[ListName]
) -> list[PlacedVariable]:
    """The closures whose iterations, or whose first iteration alone, a condition constrains. An absent list
    has no elements to check, but no first one either. One that looks back to earlier iterations of a list
    around is a condition of those: it holds for the first of them."""
    if any(lag(condition.expression, name) for name in iterating):
        return []
    ranged = ranges(condition.expression) - iterating
    firsts = _only_first(condition.expression, iterating)
    if len(ranged) == 1:
        closures = (item for item in block.items if item.variable in ranged)
        return [item for item in closures if implies(item.when, condition.when)]
    if ranged or len(firsts) != 1:
        return []
    return [item for item in block.items if item.variable in firsts and _is_sure(item, condition.when)]


def _is_sure(item: PlacedVariable, when: When) -> bool:
    """Whether a list has a first element in every row with these choices."""
    return item.loop is not None and item.loop.least > 0 and set(item.when) == set(when)


def _only_first(expression: Expr, iterating: frozenset[ListName]) -> frozenset[ListName]:
    """The list whose first element, and no other, a condition names."""
    names = event_names(expression)
    elements = [
        name
        for name in names
        if isinstance(name, ElementName)
        or (isinstance(name, IterationName) and (name.lag or name.list not in iterating))
    ]
    only = all(isinstance(name, ElementName) and name.place == 1 for name in elements)
    lists = frozenset(name.list for name in elements)
    return lists if only and not names & lists else frozenset()


# Lists of which one element is enough, where only existence is required.
#
# Whatever fits around a list fits around each of its elements, unless it is a negation: a longer list leaves
# it fewer events, and less room.
#
# !AND(B+ b[], !B x)                 no x is left if the list has every B; one B leaves the others
# !SEQ(A a, !X x, B+ b[], !C c, D d) an X and a C that are between two B are in no gap around both of them
# !SEQ(A a, B+ b[], !C c, D d)       the last B of a list has the same gap after it as the list
#
# So one element is enough where negations look at one end of the list only: the element there.


def without_needless_lists(block: Block, variables: BlockVariables) -> Block:
    """The block with one event in place of each list of its checks of which one element is enough."""
    changed = replace(block, checks=[without_needless_lists(check, variables) for check in block.checks])
    for body in (body for item in changed.items for body in _bodies(item)):
        body.checks[:] = [without_needless_lists(check, variables) for check in body.checks]
    return _with_single_elements(changed, variables) if block.must_exist is not None else changed


def _bodies(item: PlacedVariable) -> Iterator[Block]:
    """The blocks of a closure's iterations, and of those of closures in it."""
    if item.loop is not None:
        yield item.loop.body
        yield from (body for inner in item.loop.body.items for body in _bodies(inner))


def _with_single_elements(block: Block, variables: BlockVariables) -> Block:
    lists = [item for item in block.items if item.loop is not None and _are_elements_alike(item, block)]
    ends = _ends_looked_at(block, lists, variables)
    items, conditions = list(block.items), list(block.conditions)
    for number, item in enumerate(block.items):
        if item.loop is None or item not in lists or len(ends[item.variable]) > 1:
            continue
        (inner,) = item.loop.body.items
        items[number] = replace(item, loop=None, type=inner.type)
        conditions += [
            BlockCondition(renamed(condition.expression, inner.variable, item.variable), condition.when)
            for condition in item.loop.body.conditions
        ]
    return replace(block, items=items, conditions=conditions)


def _are_elements_alike(item: PlacedVariable, block: Block) -> bool:
    """Whether conditions require the same of each element of a list, and nothing of the list."""
    loop = item.loop
    assert loop is not None
    body = loop.body
    if loop.least != 1 or len(body.items) != 1 or body.checks or body.choices or body.bound:
        return False
    if body.items[0].loop is not None:
        return False
    inside = {name for condition in body.conditions for name in condition.names}
    around = {
        name
        for inner in block.all_blocks()
        if inner is not body
        for condition in inner.conditions
        for name in condition.names
    }
    mine = {name for name in inside if _is_of(name, item.variable)}
    return mine <= set(loop.names) and not any(_is_of(name, item.variable) for name in around)


def _is_of(name: EventName, variable: EventName) -> bool:
    """Whether a name is that of a list, or of something in it."""
    return variable in around_of(name)


_FIRST, _LAST = 1, -1


def _ends_looked_at(
    block: Block, lists: Sequence[PlacedVariable], variables: BlockVariables
) -> dict[EventName, set[int]]:
    """For each of the lists, the ends that the checks of a block look at: both, if what a check finds could
    be any element, and must not be one."""
    looked_at: dict[EventName, set[int]] = {item.variable: set() for item in lists}
    checks = [check for inner in block.all_blocks() for check in inner.checks] if lists else []
    # A list that is looked for has its bounds at the events of an iteration, too.
    events = (item for check in checks for item in check.all_items() if item.loop is None)
    for event in dict.fromkeys(events):
        for name, end in _ends_that_bound(event, variables):
            looked_at.setdefault(name, set()).add(end)
        for name in (item.variable for item in lists):
            is_apart = name in event.after or name in event.before
            if not is_apart and variables.can_be_one_event(event, name):
                looked_at[name] |= {_FIRST, _LAST}
    return looked_at


def _ends_that_bound(event: PlacedVariable, variables: BlockVariables) -> Iterator[tuple[EventName, int]]:
    """The names that bound an event, as if each were a list, and the end of it that does. In a window, what
    comes before the event matters by its start, and what comes after it by its end."""
    bounds = tight_bounds(event, frozenset(variables.items), variables)
    yield from ((name, _LAST) for name in bounds.after)
    yield from ((name, _FIRST) for name in bounds.before)
    for name in (name for window in bounds.within for name in window.events):
        if name not in event.before:
            yield name, _FIRST
        if name not in event.after:
            yield name, _LAST
    for name in (name for between in bounds.between for name in (*between.one, *between.other)):
        yield from ((name, _FIRST), (name, _LAST))


def pattern_to_blocks(query: Match, unit: str) -> tuple[Block, bool]:
    """The block of a query's matches, and whether one match can be found twice.

    >>> from pattern_examples import query
    >>> block, _ = pattern_to_blocks(query("SEQ(A a, !B b, C c) WITHIN 1 SECOND"), "MILLISECOND")
    >>> [(item.variable, item.after, item.before) for item in block.all_items()]
    [('a', (), ('c',)), ('c', ('a',), ()), ('b', ('a',), ('c',))]
    """
    where = SameAttributes(query.partition) if query.partition else None
    whole = p.And((query.pattern,), where=where, within=query.within)
    block = Block(part=str(as_written(query.pattern)))
    walk = PatternWalk(unit, count(1))
    place(walk, whole, PartPlacement(block))
    if may_be_empty(whole):
        block.bound.append(SomeBound(targets(whole), ()))
    block = distributed(block)
    facts = QueryFacts(lambda: query)
    block = without_needless_lists(block, block_variables(block, facts, frozenset()))
    note_places(block, block.all_conditions())
    _mirror_bounds(block)
    return block, walk.repeats


def _mirror_bounds(block: Block) -> None:
    """If an event must end before another, give the other the opposite bound: either may be taken first.
    Variables that an EXISTS drops are not named outside of it, but may be looked for together with those that
    come after it."""
    items = list(block.items)
    of: dict[EventName, list[PlacedVariable]] = {}
    before: dict[EventName, list[PlacedVariable]] = {}
    after: dict[EventName, list[PlacedVariable]] = {}
    for item in items:
        of.setdefault(item.variable, []).append(item)
        for name in item.before:
            before.setdefault(name, []).append(item)
        for name in item.after:
            after.setdefault(name, []).append(item)
    for number, item in enumerate(items):
        is_after = _sources(before.get(item.variable, []), item, of)
        is_before = _sources(after.get(item.variable, []), item, of)
        block.items[number] = _between(item, is_after, is_before)
        if item.loop is not None:
            _mirror_bounds(item.loop.body)
    for check in block.checks:
        _mirror_bounds(check)


def _between(item: PlacedVariable, after: Iterable[EventName], before: Iterable[EventName]) -> PlacedVariable:
    """The item with more bounds: what bounds a list bounds each event of its iterations."""
    if item.loop is not None:
        body = item.loop.body
        body.items[:] = [_between(inner, after, before) for inner in body.items]
    return replace(
        item,
        after=tuple(dict.fromkeys((*item.after, *after))),
        before=tuple(dict.fromkeys((*item.before, *before))),
    )


def _sources(
    bounded: list[PlacedVariable], item: PlacedVariable, of: Mapping[EventName, list[PlacedVariable]]
) -> list[EventName]:
    """The variables of the items that have a bound on `item`. Branches may share a variable: then it counts
    only if the bound holds in all of them that can be there with the item."""
    ids = {id(one) for one in bounded}
    together = [one for one in bounded if not item.when or not exclude_each_other(one.when, item.when)]
    return [
        source.variable
        for source in together
        if len(of[source.variable]) == 1
        or all(id(one) in ids or exclude_each_other(one.when, item.when) for one in of[source.variable])
    ]


def place(walk: PatternWalk, part: p.Pattern, at: PartPlacement) -> None:
    """Add what `part` requires to the blocks of its place."""
    if isinstance(part, p.Optional):
        if not targets(part):
            return  # nothing in it is ever bound: it always counts as absent
        at = _if_present(walk, part, at)
    inside = _inside(walk, part, at)
    match part:
        case p.Event(kind, variable):
            _place_event(kind, inside.name(variable), inside)
        case p.Seq(parts):
            after, before = inside.after, inside.targets(*parts) + inside.before
            for inner in parts:
                own = inside.targets(inner)
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
            _place_exists(walk, part, frozenset(map(inside.name, variables)), inner, inside)
        case p.Repeat():
            place_repeat(walk, part, inside, place)
        case _:
            raise UnsupportedQuery(p.KEYWORD_OF[type(part)], part.span)


def _inside(walk: PatternWalk, part: p.Pattern, at: PartPlacement) -> PartPlacement:
    """The place of what is inside `part`: its conditions are noted, its window and its `[id]` go down."""
    inside = at
    if part.within is not None:
        width, counted = width_of(part.within, walk.unit)
        inside = replace(inside, windows=(*inside.windows, PartWindow(at.targets(part), width, counted)))
    for conjunct in conjuncts(part.where):
        if isinstance(conjunct, SameAttributes):
            number = next(walk.numbers)
            inside = replace(inside, same=inside.same + tuple((number, name) for name in conjunct.attributes))
        else:
            condition = with_other_names(conjunct, inside.naming)
            block = inside.block_of_condition(condition)
            block.conditions.append(BlockCondition(condition, inside.when, inside.targets(part)))
    return inside


def _place_event(type: str, variable: EventName, at: PartPlacement) -> None:
    within = tuple(window.around(variable) for window in at.windows)
    scope = at.scope_of(variable)
    item = PlacedVariable(variable, type, at.when, at.after, at.before, within, at.between, scope, at.same)
    at.block_of([variable]).items.append(item)


def _place_and_neg(walk: PatternWalk, parts: tuple[p.Pattern, ...], at: PartPlacement) -> None:
    for number, inner in enumerate(parts):
        if not isinstance(inner, p.Not):
            place(walk, inner, at)
            continue
        left = next((other for other in reversed(parts[:number]) if not isinstance(other, p.Not)), None)
        right = next((other for other in parts[number + 1 :] if not isinstance(other, p.Not)), None)
        if left is not None and right is not None:  # else there is no room for a hit
            between = BetweenGroups(at.targets(left), at.targets(right))
            place(walk, inner, replace(at, between=(*at.between, between)))


def _place_or(walk: PatternWalk, part: p.Or, at: PartPlacement) -> None:
    names, parts = at.targets(part), grouped(part.parts)
    block = at.block_of(names)
    mark = walk.mark()
    block.choices.append(BranchChoice(mark, len(parts), at.when))
    _note_repeats(walk, part.parts, block, at)
    for number, inner in enumerate(parts):
        place(walk, inner, replace(at, when=(*at.when, (mark, number))))


def grouped(parts: tuple[p.Pattern, ...]) -> tuple[p.Pattern, ...]:
    """Branches that begin with the same type side by side, in an OR of their own: they can share that event.

    >>> from neelc.syntax import pattern
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


def _note_repeats(walk: PatternWalk, parts: Sequence[p.Pattern], block: Block, at: PartPlacement) -> None:
    """Branches that bind the same variables can find the same match; so can those that bind nothing, and
    those that differ in what is dropped afterwards."""
    bound = [frozenset(at.targets(part)) - at.dropped for part in parts]
    overlapping = any(one & other for n, one in enumerate(bound) for other in bound[:n])
    empty = sum(at.may_bind_nothing(part) for part in parts)
    if _is_of_match(block, at) and (overlapping or empty > 1):
        walk.repeats = True


def _is_of_match(block: Block, at: PartPlacement) -> bool:
    """Whether a block binds events of the match. The iterations of a closure are part of it."""
    return block.must_exist is None or at.in_loop


def _if_present(walk: PatternWalk, part: p.Optional, at: PartPlacement) -> PartPlacement:
    """The place of an optional part: all that it requires is checked only if it is there."""
    names = at.targets(part)
    block = at.block_of(names)
    mark = walk.mark()
    block.choices.append(BranchChoice(mark, 2, at.when))
    when = (*at.when, (mark, 1))
    if may_be_empty(part.part):
        block.bound.append(SomeBound(names, when))
    if _is_of_match(block, at) and not at.dropped.isdisjoint(names) and at.may_bind_nothing(part.part):
        walk.repeats = True
    return replace(at, when=when)


def _place_not(walk: PatternWalk, inner: p.Pattern, at: PartPlacement) -> None:
    twice = isinstance(inner, p.Not)
    part = inner.part if isinstance(inner, p.Not) else inner
    if isinstance(part, p.Not):  # `!!!q` is `!q`
        return _place_not(walk, part.part, at)
    text = f"{'!!' if twice else '!'}{as_written(part)}"
    check = Block(must_exist=twice, when=at.when, part=text)
    scope = (*at.innermost, next(walk.numbers))
    inside = replace(at, block=check, hidden=None, dropped=frozenset(), scope=scope, inner=(), in_loop=False)
    place(walk, part, inside)
    if satisfiable_by_nothing(part):
        check.bound.append(SomeBound(check.variables, at.when))
    at.checks.checks.append(check)


def _place_exists(
    walk: PatternWalk, part: p.Pattern, names: frozenset[EventName], inner: p.Pattern, at: PartPlacement
) -> None:
    inner_scope = (names, (*at.innermost, next(walk.numbers)))
    at = replace(at, inner=(*at.inner, inner_scope))
    if (at.block.must_exist is not None and not at.in_loop) or at.hidden is not None:
        # The block already checks only for existence: the part becomes one more requirement in it.
        dropped = at.dropped | names if at.hidden is not None else at.dropped
        place(walk, inner, replace(at, dropped=dropped))
        return
    check = Block(must_exist=True, when=at.when, part=str(as_written(part)))
    place(walk, inner, replace(at, dropped=names, hidden=check))
    at.block.checks.append(check)


# Which one of many events is enough, where only existence is required.
#
# If nothing later looks at an event but to start after its end, the one that ends earliest leaves the most
# room: if any other can be extended, so can it. This is what makes `!SEQ(B b, C c, D d)` a walk instead of
# an enumeration.

_PICKS = {frozenset[str](): ANY, frozenset({"after"}): EARLIEST, frozenset({"before"}): LATEST}


def with_picks(steps: Sequence[PlanStep]) -> tuple[PlanStep, ...]:
    """The steps of a check, each taking no more events than matter.

    >>> from neelc.runtime.program import Bounds
    >>> chain = (Take("b", "B"), Take("c", "C", Bounds(after=("b",))))
    >>> [str(step.pick) for step in with_picks(chain)]
    ['EARLIEST', 'ANY']
    """
    return tuple(
        replace(step, pick=_PICKS.get(frozenset(later.get(step.variable, ())), ALL))
        if isinstance(step, Take)
        else step
        for step, later in with_later_uses(steps)
    )


Uses = Mapping[EventName, AbstractSet[str]]
"""How variables are looked at: to start `after` their event, to end `before` it, or in an `other` way."""


def with_later_uses(steps: Sequence[PlanStep]) -> list[tuple[PlanStep, Uses]]:
    """Each step, and how those after it use the variables that it binds."""
    pairs: list[tuple[PlanStep, Uses]] = []
    later: dict[EventName, set[str]] = {}
    for step in reversed(steps):
        bound = [step.variable] if isinstance(step, Take) else []
        pairs.append((step, {name: frozenset(later.get(name, ())) for name in bound}))
        for name, use in uses(step):
            later.setdefault(name, set()).add(use)
    return pairs[::-1]


def uses(step: PlanStep) -> Iterator[tuple[EventName, str]]:
    """The variables that a step looks at, and how."""
    match step:
        case Take(bounds=bounds, differs=differs, where=where):
            yield from ((name, "after") for name in bounds.after)
            yield from ((name, "before") for name in bounds.before)
            named = {name for window in bounds.within for name in window.events}
            named |= {name for between in bounds.between for name in (*between.one, *between.other)}
            named |= {*differs, *(name for condition in where for name in event_names(condition))}
            yield from ((name, "other") for name in named)
        case Rename(variable):
            yield variable, "other"
        case FilterStep(condition):
            yield from ((name, "other") for name in event_names(condition))
        case _:  # `AnyBound` checks whether there is an event, not which
            yield from ((name, "other") for inner in inner_steps(step) for name, _ in uses(inner))
