"""Blocks: what a match must be, as variables and what relates them, before an order to find them in is
chosen.

SEQ and AND, however nested, come down to relations between pairs of events: before, within, different. So a
block is a set of variables, each with its bounds, conditions between them, and checks: inner blocks that
must, or must not, have a solution. OR and optional parts become *choices*: an item of a block is there
under some choices only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from functools import cached_property

from neelc.ir.expressions import (
    Attribute,
    Cast,
    EventRef,
    EveryElement,
    Expr,
    Index,
    InnerVariable,
    ListElement,
    Variable,
)
from neelc.ir.names import bare
from neelc.ir.node import Node, children, map_children, remembered, walk
from neelc.ir.patterns import GapReach
from neelc.pattern.analysis.keys import Key
from neelc.pattern.analysis.regions import QueryFacts
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    BetweenGroups,
    Bounds,
    ElementName,
    EventName,
    InnerList,
    IterationName,
    ListName,
    Marks,
    When,
    Within,
    around_of,
    in_place_of,
    inner_of,
    iteration_of,
    list_of,
    listed_in,
)
from neelc.source import Span

# Elements of lists in conditions: an expression refers to them, and steps have names for them.
#
# b[i] b[i-1] b[1] b[last] of `B+ b[]`; also b[i-2], b[2], b[last-1] k[i].a k[i-1].a k[1].a k[last].a of
# `SEQ(A a, B b)+ k[]`; k[1] and k[last]: its first and last event; k[i].b[last] of `SEQ(A a, B+ b[])+ k[]`,
# whose k[i].b is a list


def name_of(reference: Node) -> EventName | None:
    """The name of the event that a reference reaches; None if it reaches no one event.

    >>> b = Variable("b")
    >>> [str(name_of(ListElement(b, Index(*at)))) for at in (("FIRST", 1), ("LAST", -1), ("CURRENT", -2))]
    ['b[2]', 'b[last-1]', 'b[i-2]']
    >>> last = InnerVariable(ListElement(Variable("k"), Index("LAST")), "a")
    >>> print(name_of(last), name_of(ListElement(last, Index("FIRST"))))
    k[last].a k[last].a[1]
    >>> name_of(EveryElement(b)) is None
    True
    """
    match reference:
        case Variable(name):
            return name
        case ListElement(base, index):
            of = name_of(base)
            return None if of is None else _element(of, index)
        case InnerVariable(ListElement(base, index), inner):
            of = name_of(base)
            return None if of is None else _element(of, index, inner)
    return None


def _element(name: ListName, index: Index, inner: str | None = None) -> ElementName | IterationName:
    match index:
        case Index("FIRST", offset):
            return ElementName(name, offset + 1, inner)
        case Index("LAST", offset):
            return ElementName(name, offset - 1, inner)
    return IterationName(name, inner, -index.offset)


def reference_to(name: EventName) -> EventRef:
    """The reference that reaches the event of a name: the inverse of `name_of`."""
    match name:
        case str():
            return Variable(name)
        case ElementName(of, place, inner):
            index = Index("FIRST", place - 1) if place > 0 else Index("LAST", place + 1)
        case IterationName(of, inner, lag):
            index = Index("CURRENT", -lag)
        case InnerList():
            raise AssertionError(f"{name} is no event")
    element = ListElement(reference_to(of), index)
    return element if inner is None else InnerVariable(element, inner)


def references_in(node: Node) -> Iterator[Node]:
    """The node and what is below it, but not what references to events are made of."""
    yield node
    if name_of(node) is None:
        for child in children(node):
            yield from references_in(child)


@remembered
def event_names(expression: Expr) -> frozenset[EventName]:
    """The events and lists that an expression names.

    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1].x AND max(b[..i-1].x) < b[last].x"
    >>> sorted(map(str, event_names(query(text).pattern.where)))
    ['b', 'b[i-1]', 'b[i]', 'b[last]']
    """
    names = (name_of(node) for node in references_in(expression))
    return frozenset(name for name in names if name is not None)


def with_lists(names: Iterable[EventName]) -> frozenset[EventName]:
    """The names, and the lists that elements among them belong to."""
    return frozenset(one for name in names for one in around_of(name))


def renamed(expression: Expr, old: EventName, new: EventName) -> Expr:
    """The expression with another name for an event."""
    return with_other_names(expression, {old: new})


def with_other_names(expression: Expr, names: Mapping[EventName, EventName]) -> Expr:
    """The expression with other names for some events, and for elements of what has another name.

    >>> from neelc.ir.types import INT
    >>> last = Attribute(ListElement(Variable("b"), Index("LAST")), "x", INT)
    >>> print(with_other_names(last, {"b": IterationName("k", "b")}))
    k[i].b[last].x
    """

    def change(node: Node) -> Node:
        name = name_of(node)
        if name is None:
            return map_children(node, change)
        if name in names:
            return reference_to(names[name])
        return node if isinstance(name, str) else map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


def variable_of(reference: EventRef) -> str:
    """The variable whose event, list or iteration is reached.

    >>> last = ListElement(Variable("k"), Index("LAST"))
    >>> variable_of(InnerVariable(last, "a")), variable_of(last)
    ('a', 'k')
    """
    match reference:
        case Variable(name) | InnerVariable(_, name):
            return name
        case ListElement(base) | EveryElement(base):
            return variable_of(base)
    raise AssertionError(f"{reference} reaches no variable")


@remembered
def looks_back(expression: Expr) -> bool:
    """Whether a condition about `b[i]` looks at earlier elements: it holds for the first by definition."""
    return any(_lag(node) > 0 for node in walk(expression))


def lag(expression: Expr, variable: ListName) -> int:
    """How many elements before `b[i]` of this list a condition looks back: it holds by definition for as many
    of the first ones.

    >>> from pattern_examples import query
    >>> where = query("SEQ(A a, B+ b[]) WHERE b[i].x > b[i-2].x").pattern.where
    >>> lag(where, "b"), lag(where, "a")
    (2, 0)
    """
    return max((_lag(node) for node in walk(expression) if _ranged(node) == variable), default=0)


def _lag(node: Node) -> int:
    match node:
        case EveryElement(_, Index("CURRENT", offset)) | ListElement(_, Index("CURRENT", offset)):
            return -offset
    return 0


@remembered
def ranges(expression: Expr) -> frozenset[ListName]:
    """The lists whose elements, one by one, a condition is about: those of its `i`."""
    names = (_ranged(node) for node in walk(expression))
    return frozenset(name for name in names if name is not None)


def _ranged(node: Node) -> ListName | None:
    match node:
        case ListElement(base, Index("CURRENT")) | EveryElement(base, Index("CURRENT")):
            return name_of(base)
    return None


def ends(bounds: Bounds, is_list: Callable[[EventName], bool]) -> Bounds:
    """Bounds on lists as bounds on their first and last events.

    >>> changed = ends(Bounds(after=("a", "b"), before=("b",)), lambda name: name == "b")
    >>> [str(name) for name in (*changed.after, *changed.before)]
    ['a', 'b[last]', 'b[1]']
    """

    def changed(names: tuple[EventName, ...], *places: int) -> tuple[EventName, ...]:
        return tuple(
            end
            for name in names
            for end in ([ElementName(name, place) for place in places] if is_list(name) else [name])
        )

    return Bounds(
        changed(bounds.after, -1),
        changed(bounds.before, 1),
        tuple(replace(within, events=changed(within.events, 1, -1)) for within in bounds.within),
        tuple(
            BetweenGroups(changed(between.one, 1, -1), changed(between.other, 1, -1))
            for between in bounds.between
        ),
    )


@dataclass(frozen=True, eq=False)
class Loop:
    """A closure: `body` is a block for one iteration, which binds `names` (`b[i]`; `k[i].a`, `k[i].b`; for
    lists in an iteration those of their events, `k[i].b[i]`).
    `places` and `lags` are those of other elements that conditions name: 2 for `b[2]` and `b[i-2]`."""

    least: int
    most: int | None
    names: tuple[IterationName, ...]
    body: Block
    places: tuple[int, ...] = ()
    lags: tuple[int, ...] = ()


@dataclass(frozen=True)
class PlacedVariable:
    """A variable and where its event may lie, relative to all other variables that its bounds name; one with
    a `loop` has a list of events, which lies there as a whole.

    `scope` is the chain of EXISTS and negations that it stands in: events of one match differ, but what two
    EXISTS find beside one another may be the same. `same` has the attributes of each `[id]` around it,
    with a number for each `[id]`.
    """

    variable: EventName
    type: str
    when: When
    after: tuple[EventName, ...] = ()
    before: tuple[EventName, ...] = ()
    within: tuple[Within, ...] = ()
    between: tuple[BetweenGroups, ...] = ()
    scope: tuple[int, ...] = ()
    same: tuple[tuple[int, str], ...] = ()
    loop: Loop | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Items are looked up often, and may name very many variables. Equal ones have the same hash."""
        return hash((self.variable, self.type, self.when, self.scope))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of its events."""
        if self.loop is not None:
            return tuple(type for item in self.loop.body.items for type in item.types)
        return (self.type,) if self.type else ()

    @cached_property
    def names(self) -> tuple[EventName, ...]:
        """The variable, and what is bound beside it: the first and the last element of a list."""
        places = () if self.loop is None else self.loop.places
        elements = (*self._elements(1, -1, *places), *self.firsts)
        return tuple(dict.fromkeys((self.variable, *self.lists, *elements)))

    @property
    def lists(self) -> tuple[ListName, ...]:
        """The lists that it consists of: `b`, or `k.a` and `k.b`."""
        names = () if self.loop is None else self.loop.names
        return tuple(listed_in(name, self.variable) for name in names)

    @cached_property
    def earlier(self) -> tuple[EventName, ...]:
        """What an iteration of a list sees of those before it."""
        before = (replace(name, lag=1) for name in self._iteration)
        return tuple(dict.fromkeys((*self._elements(1, -1), *before, *self.firsts)))

    @property
    def far_back(self) -> tuple[IterationName, ...]:
        """What conditions on an iteration see of those further back than the one before."""
        loop = self.loop
        return (
            ()
            if loop is None
            else tuple(replace(name, lag=lag) for lag in loop.lags for name in self._iteration)
        )

    @property
    def firsts(self) -> tuple[ElementName, ...]:
        """The first and last events of the lists in the first iteration: `k[1].b[1]`, `k[1].b[last]`."""
        names = () if self.loop is None else self.loop.names
        inner = [name for name in names if name.list != self.variable]
        return tuple(in_first(name, self.variable, place) for place in (1, -1) for name in inner)

    def _elements(self, *places: int) -> Iterator[ElementName]:
        return (name.at(place) for name in self._iteration for place in places)

    @property
    def _iteration(self) -> tuple[IterationName, ...]:
        """The iteration as a whole, and the events in it that are in no list of their own."""
        if self.loop is None:
            return ()
        own = (name for name in self.loop.names if name.list == self.variable)
        return (IterationName(self.variable), *own)


def in_first(name: IterationName, of: ListName, place: int) -> ElementName:
    """The event of a name in the first iteration of a list; of lists in that, the first one or the last.

    >>> print(in_first(IterationName("k", "a"), "k", -1))
    k[1].a
    >>> print(in_first(IterationName(IterationName("k", "b")), "k", -1))
    k[1].b[last]
    """
    if name.list == of:
        return name.at(1)
    assert isinstance(name.list, IterationName), f"{name} is no event of {of}"
    return ElementName(in_first(name.list, of, place), place, name.inner)


@dataclass(frozen=True)
class BlockCondition:
    """A conjunct, under some choices. `home` has the variables of the part that it stands at."""

    expression: Expr
    when: When
    home: tuple[EventName, ...] = field(default=(), compare=False)

    @property
    def names(self) -> frozenset[EventName]:
        return event_names(self.expression)


@dataclass(frozen=True)
class BranchChoice:
    """One of `count` branches, under some choices made before."""

    mark: str
    count: int
    when: When


@dataclass(frozen=True)
class SomeBound:
    """One of the variables at least must be bound."""

    variables: tuple[EventName, ...]
    when: When


@dataclass
class Block:
    """Variables, relations and checks; built by walking over a pattern once, not changed afterwards.

    `must_exist` says whether a solution must exist or must not; None is the match itself. `each` is the
    closure whose iterations are checked one by one, for a check of an iteration that is made outside of it;
    of closures inside of closures, all of them, the outermost first. `reach` is that of a gap of a closure,
    checked in its iterations: from the second one on, if it begins at an element.
    """

    must_exist: bool | None = None
    when: When = ()
    part: str = ""
    items: list[PlacedVariable] = field(default_factory=list)
    conditions: list[BlockCondition] = field(default_factory=list)
    choices: list[BranchChoice] = field(default_factory=list)
    bound: list[SomeBound] = field(default_factory=list)
    checks: list[Block] = field(default_factory=list)
    each: tuple[ListName, ...] = ()
    reach: GapReach | None = None

    @property
    def variables(self) -> tuple[EventName, ...]:
        return tuple(dict.fromkeys(item.variable for item in self.items))

    @property
    def begins_at_element(self) -> bool:
        """Whether it is a gap behind an element: there is none before the first one."""
        return self.reach in (GapReach.EACH, GapReach.WITHOUT)

    def all_blocks(self) -> Iterator[Block]:
        """This block, and those of its checks and closures."""
        yield self
        for check in self.checks:
            yield from check.all_blocks()
        for item in self.items:
            if item.loop is not None:
                yield from item.loop.body.all_blocks()

    def all_items(self) -> Iterator[PlacedVariable]:
        for block in self.all_blocks():
            yield from block.items

    def all_conditions(self) -> Iterator[BlockCondition]:
        for block in self.all_blocks():
            yield from block.conditions


def implies(one: When, other: When) -> bool:
    """Whether the choices `one` include the choices `other`.

    >>> implies((("m", 1), ("n", 0)), (("m", 1),)), implies((), (("m", 1),))
    (True, False)
    """
    return not other or set(other) <= set(one)


# What cannot be planned, and why.


class UnsupportedQuery(Exception):
    """A query, or a way to execute it, that is not supported; `what` completes "not supported: ...", or
    `is_sentence` and stands alone: the query is valid, and this is why it cannot run.

    `code` and `hint` are those of the diagnostic that reports it; without a hint, the code that reports it
    may add one."""

    code = "NEEL4001"
    hint: str | None = None
    is_sentence = False

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


class UnboundedState(UnsupportedQuery):
    """A query over a stream without end that would keep ever more events."""

    code = "NEEL4131"
    hint = "add WITHIN, such as WITHIN 1 HOUR: older events are then forgotten"
    is_sentence = True


class EndlessOrder(UnsupportedQuery):
    """A query over a stream without end whose rows would have an order."""

    hint = "leave it out: rows come in the order in which they are sure"
    is_sentence = True


class EndlessGroups(UnsupportedQuery):
    """Rows of a query over a stream without end that more matches could always belong to."""

    code = "NEEL4132"
    hint = (
        "return match_start, or the time of an event that every match has, or one of them cut down, as by "
        "date_trunc or DIV, with WITHIN a time: a row is then complete when that time has passed"
    )
    is_sentence = True


class UncallableFunction(UnsupportedQuery):
    """A user's function where a query over a stream without end cannot call it."""

    code = "NEEL4144"
    hint = "return the matches themselves, with what the function gives, and aggregate what is written"
    is_sentence = True


class NoOperatorLeft(UnsupportedQuery):
    """A rule over a stream without end that cannot be executed together with others."""

    code = "NEEL4130"
    hint = "run it apart, as a query of its own: neelc.sql, with a checkpoint of its own"
    is_sentence = True

    def __init__(self, why: str, span: Span | None = None) -> None:
        super().__init__(
            f"over a stream without end, this rule cannot share the operator of the others: {why}. "
            "Spark runs one such operator in a query",
            span,
        )


class TooManyRows(UnsupportedQuery):
    """A result that is larger than what is allowed, by the estimate."""

    code = "NEEL4002"
    hint = (
        "a shorter window or more conditions would help; most_rows (--most-rows) allows more, if it is meant"
    )
    is_sentence = True


class UncountedMatches(UnsupportedQuery):
    """A limit of matches that was given, for a plan whose matches are rows of a join or of window functions:
    nothing counts those, task by task. `only`: the kernel, which does, lacks this."""

    is_sentence = True

    def __init__(self, strategy: str, only: str = "") -> None:
        reason = f"; the kernel, which does, lacks {only}" if only else ""
        super().__init__(f"the strategy {strategy} does not limit matches{reason}")
        self.strategy = strategy
        other = "" if only else "leave out the strategy: the kernel checks the limit; or "
        self.hint = f"{other}leave out most_matches (--most-matches)"


# What is known about the variables of all blocks of a query: the order of steps depends on it.


@dataclass(frozen=True)
class BlockVariables:
    """The items of each variable; several where branches of an OR share one."""

    items: Mapping[EventName, tuple[PlacedVariable, ...]]
    facts: QueryFacts
    keyed: frozenset[str]
    """Attributes that are equal on all events anyway, since events are partitioned by them; bare names."""
    lasting: bool

    def is_sure(self, variable: EventName, when: When) -> bool:
        """Whether the variable is bound, once it is taken, in every row with these choices."""
        return variable in self.sure(when)

    def sure(self, when: When) -> frozenset[EventName]:
        """The variables that are bound, once they are taken, in every row with these choices."""
        if when not in self._sure:
            groups = (names for under, names in self._bound_under.items() if implies(when, under))
            self._sure[when] = frozenset[EventName]().union(*groups)
        return self._sure[when]

    @cached_property
    def _bound_under(self) -> dict[When, list[EventName]]:
        """For each combination of choices that items are under, the variables that are surely bound then."""
        bound: dict[When, list[EventName]] = {}
        for variable, items in self.items.items():
            for item in items if list_of(variable) is None else ():
                if item.loop is None or item.loop.least > 0:
                    bound.setdefault(item.when, []).append(variable)
        return bound

    @cached_property
    def _sure(self) -> dict[When, frozenset[EventName]]:
        return {}

    def is_list(self, variable: EventName) -> bool:
        return any(item.loop is not None for item in self.items[variable])

    def names_of(self, variable: EventName) -> tuple[IterationName, ...]:
        """The names of an iteration of a list."""
        loop = self.closure(variable).loop
        return () if loop is None else loop.names

    def closure(self, variable: EventName, when: When = ()) -> PlacedVariable:
        """The closure of a variable: of several branches that have it, that of the one with these choices."""
        found = (item for item in self.items[variable] if item.loop is not None)
        return next(item for item in found if not exclude_each_other(item.when, when))

    def lists(self, variable: EventName) -> tuple[EventName, ...]:
        """The lists that a variable consists of; of an event, the variable."""
        return tuple(name for item in self.items[variable] for name in item.lists) or (variable,)

    def together(self, when: When) -> frozenset[EventName]:
        """The variables that can be bound in a row with these choices."""
        if when not in self._together:
            groups = (
                names for under, names in self._names_under.items() if not exclude_each_other(under, when)
            )
            self._together[when] = frozenset[EventName]().union(*groups)
        return self._together[when]

    @cached_property
    def _names_under(self) -> dict[When, list[EventName]]:
        """For each combination of choices that items are under, their variables."""
        under: dict[When, list[EventName]] = {}
        for variable, items in self.items.items():
            for item in items:
                under.setdefault(item.when, []).append(variable)
        return under

    @cached_property
    def _together(self) -> dict[When, frozenset[EventName]]:
        return {}

    def is_after(self, later: EventName, earlier: EventName) -> bool:
        """Whether the event of `later`, where both are bound, always starts after that of `earlier` ended."""
        return earlier in self.earlier[later]

    @cached_property
    def earlier(self) -> Mapping[EventName, AbstractSet[EventName]]:
        """For each variable those whose event, where both are bound, always ended before its event starts.
        All items of one of the two must have that bound."""
        earlier = {name: _in_all(item.after for item in items) for name, items in self.items.items()}
        for name, items in self.items.items():
            for later in _in_all(item.before for item in items):
                earlier.setdefault(later, set()).add(name)
        return earlier

    @cached_property
    def later(self) -> Mapping[EventName, AbstractSet[EventName]]:
        """The same, the other way round."""
        later_names: dict[EventName, set[EventName]] = {name: set() for name in self.items}
        for later, names in self.earlier.items():
            for name in names:
                later_names.setdefault(name, set()).add(later)
        return later_names

    def can_be_one_event(self, item: PlacedVariable, variable: EventName) -> bool:
        """Whether an event could be bound to both in one row."""
        return any(
            see_each_other(item, other)
            and not exclude_each_other(item.when, other.when)
            and any(self.facts.may_overlap(item.type, type) for type in other.types)
            for other in self.items[variable]
        )


def _in_all(groups: Iterable[Iterable[EventName]]) -> set[EventName]:
    first, *others = groups
    return set(first).intersection(*others) if others else set(first)


def block_variables(block: Block, facts: QueryFacts, keyed: frozenset[str]) -> BlockVariables:
    items: dict[EventName, tuple[PlacedVariable, ...]] = {}
    for item in block.all_items():
        items[item.variable] = (*items.get(item.variable, ()), item)
        # What a list begins and ends with lies where the list does; an iteration cannot be sure of it.
        next_one = () if item.loop is None else (IterationName(item.variable, lag=-1),)
        ends = (n for n in (*item.names, *item.earlier, *item.far_back, *next_one) if n != item.variable)
        for name in dict.fromkeys(ends):
            end = replace(item, variable=name, type=_type_of(name, item), loop=None)
            items[name] = (*items.get(name, ()), end)
    lasting = any(facts.may_last(type) for item in block.all_items() for type in item.types)
    return BlockVariables(items, facts, keyed, lasting)


def _type_of(name: EventName, item: PlacedVariable) -> str:
    """The type of an event of a list; none for one that can be of several, and for a list."""
    if isinstance(name, InnerList) or item.loop is None:
        return ""
    iteration = iteration_of(name, item.variable)
    inner = None if iteration is None else iteration.inner
    body = (one for one in item.loop.body.items if inner_of(one.variable) == inner)
    types = (one.type if one.loop is None else _type_of(_of_current(name, one), one) for one in body)
    return next(types, "")


def _of_current(name: EventName, inner: PlacedVariable) -> EventName:
    """The name of the same event in a list of this iteration."""
    iteration = iteration_of(name, list_of(inner.variable) or inner.variable)
    return name if iteration is None else in_place_of(name, iteration, inner.variable)


def see_each_other(one: PlacedVariable, other: PlacedVariable) -> bool:
    """What two EXISTS, or two negations, find beside one another may be the same event."""
    shorter, longer = sorted((one.scope, other.scope), key=len)
    return longer[: len(shorter)] == shorter


def exclude_each_other(one: When, other: When) -> bool:
    """
    >>> exclude_each_other((("m", 0),), (("m", 1),)), exclude_each_other((("m", 0),), (("n", 1),))
    (True, False)
    """
    if not one or not other:
        return False
    choices = dict(one)
    return any(choices.get(mark, number) != number for mark, number in other)


def keyed_attributes(keys: tuple[Key, ...]) -> frozenset[str]:
    """The attributes among the keys that are the same attribute for every event."""
    return frozenset(
        bare(key.name).casefold()
        for key in keys
        if all(_is_attribute(term, key.name) for _, term in key.terms)
    )


def _is_attribute(term: object, name: str) -> bool:
    inner = term.operand if isinstance(term, Cast) and term.implicit else term
    return isinstance(inner, Attribute) and bare(inner.name).casefold() == bare(name).casefold()


def in_bound(names: Iterable[EventName], bound: frozenset[EventName]) -> tuple[EventName, ...]:
    return tuple(dict.fromkeys(name for name in names if name in bound))


# The choices that iterations made, read off from what they have bound: lists do not keep them.


def marks_of(closure: PlacedVariable, whens: Iterator[When]) -> Marks:
    """For each choice of a closure's body that some steps depend on, the events that show it was made.

    Raises `UnsupportedQuery` where none does: both branches of an OR may bind the same variables, or none.
    """
    assert closure.loop is not None
    body = closure.loop.body
    used = {mark for when in whens for mark, _ in when}
    return tuple(
        (choice.mark, number, names)
        for choice in body.choices
        if choice.mark in used
        for number in range(choice.count)
        if (names := _evidence(body, choice, number))
    )


def own_choices(closure: PlacedVariable, when: When) -> When:
    """Those of some choices that an iteration makes."""
    assert closure.loop is not None
    marks = {choice.mark for choice in closure.loop.body.choices}
    return tuple(choice for choice in when if choice[0] in marks)


def _evidence(body: Block, choice: BranchChoice, number: int) -> tuple[EventName, ...]:
    """The variables that are bound if and only if this choice was made."""
    made = {*choice.when, (choice.mark, number)}
    inside = [item for item in body.items if (choice.mark, number) in item.when]
    if not inside and number == 0:
        return ()  # an optional part that is absent
    others = {item.variable for item in body.items if item not in inside}
    if not any(set(item.when) == made and item.variable not in others for item in inside):
        raise UnsupportedQuery("a closure whose branches cannot be told apart by what they bind")
    return tuple(item.variable for item in inside if item.variable not in others)
