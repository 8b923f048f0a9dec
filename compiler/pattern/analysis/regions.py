"""Regions: the parts of a pattern whose conditions are evaluated together, on one binding.

A region is the whole pattern, a branch of an OR, or the body of an optional part, a negation, a
repetition or an EXISTS. Inside it, through SEQ and AND, a condition means the same wherever it stands:
every part of the region is evaluated whenever the region is, and on the same binding. In the body of an
EXISTS the binding holds the dropped variables too, so a condition there that names none of them is also
one of the region around it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from itertools import count, product

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import (
    Attribute,
    Binary,
    Cast,
    EventRef,
    Expr,
    Index,
    ListElement,
    SameAttributes,
    Variable,
    conjoin,
    conjuncts,
    names_in,
)
from neelc.ir.names import bare, is_quoted, same, written
from neelc.ir.node import Node, map_children, remembered, walk
from neelc.ir.patterns import all_parts, declared, inner_parts, targets
from neelc.ir.program import EventType, Match, Member
from neelc.ir.script import SelectionStrategy
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.evaluate_constants import TRUE
from neelc.scalar.operators import INTEGERS
from neelc.scalar.type_of import type_of


@dataclass(frozen=True)
class RegionPart:
    """A part in a region. `hidden` are the variables that an EXISTS around it, in the region, drops."""

    part: p.Pattern
    hidden: frozenset[str] = frozenset()

    def sees(self, conjunct: Expr) -> bool:
        """Whether a condition of the part is one of the region: it names nothing hidden."""
        return not names_in(conjunct) & self.hidden


def spots(part: p.Pattern, hidden: frozenset[str] = frozenset()) -> Iterator[RegionPart]:
    """`part`, and the parts below it that belong to its region.

    >>> from pattern_examples import query
    >>> pattern = query("SEQ(A a, !B b, OR(C c, D d), E? e, EXISTS f : SEQ(F f, G+ g[]))").pattern
    >>> for spot in spots(pattern.parts[4]):
    ...     print(spot.part, *spot.hidden)
    EXISTS f : SEQ(F f, G+ g[])
    SEQ(F f, G+ g[]) f
    F f f
    G+ g[] f
    >>> [str(spot.part) for spot in spots(pattern)][1:3]
    ['A a', 'OR(C c, D d)']
    """
    yield RegionPart(part, hidden)
    for inner in _members(part):
        dropped = part.variables if isinstance(part, p.Exists) else ()
        yield from spots(inner, hidden.union(dropped))


def _members(part: p.Pattern) -> Iterator[p.Pattern]:
    """The parts directly below `part` that are evaluated whenever it is."""
    match part:
        case p.Joint(parts):
            yield from (inner for inner in parts if is_member(inner))
        case p.Exists(_, inner) if is_member(inner):
            yield inner


def is_member(part: p.Pattern) -> bool:
    """Whether a part of a list belongs to the list's region. A condition on an optional part is not checked
    when the part is absent; one in a negation says what must not be there."""
    return not isinstance(part, p.Not | p.Optional)


def region_conjuncts(part: p.Pattern) -> Iterator[Expr]:
    """The conditions of the region of `part`, at it and below it, without `[id]`: it concerns its part."""
    for spot in spots(part):
        for conjunct in conjuncts(spot.part.where):
            if not isinstance(conjunct, SameAttributes) and spot.sees(conjunct):
                yield conjunct


Keep = Callable[[Expr, RegionPart], bool]


def filtered(part: p.Pattern, keep: Keep, hidden: frozenset[str] = frozenset()) -> p.Pattern:
    """`part` with only those conditions in its region that are kept; the same object when all are.

    >>> from pattern_examples import query
    >>> pattern = query("SEQ((A a : a.x > 1), !(B b : b.x > 1), C c WHERE c.x > 1)").pattern
    >>> print(filtered(pattern, lambda conjunct, spot: False))
    SEQ(A a, !(B b : b.x > 1), C c)
    """
    members = {id(inner) for inner in _members(part)}
    inside = hidden.union(part.variables if isinstance(part, p.Exists) else ())

    def change(child: Node) -> Node:
        if isinstance(child, p.Pattern) and id(child) in members:
            return filtered(child, keep, inside)
        return child

    changed = map_children(part, change)
    old = conjuncts(part.where)
    kept = tuple(conjunct for conjunct in old if keep(conjunct, RegionPart(part, hidden)))
    return changed if len(kept) == len(old) else replace(changed, where=conjoin(kept))


def with_condition(part: p.Pattern, *conditions: Expr | None) -> p.Pattern:
    """`part` with these conditions added to its own."""
    return replace(part, where=conjoin([part.where, *conditions]))


# What a rule may know about the query around the part it looks at.


@dataclass(frozen=True)
class QueryFacts:
    """Facts about a query, computed on demand. `whole` returns the query in its current form."""

    whole: Callable[[], Match]

    @cached_property
    def query(self) -> Match:
        return self.whole()

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The variables that a match of the whole pattern binds."""
        return targets(self.query.pattern)

    @property
    def any_match(self) -> bool:
        """Whether every choice of events is a match. The other strategies are defined for SEQ of components
        and negations only, so that no rule may bring in AND or EXISTS under them."""
        return self.query.strategy == SelectionStrategy.ANY_MATCH

    def type(self, name: str) -> EventType:
        """The type of an `Event`."""
        return next(known for known in self.query.types if known.name == name)

    def may_last(self, name: str) -> bool:
        """Whether events of the type may end after they start."""
        names = {member.stream for member in self.type(name).members}
        streams = [stream for stream in self.query.streams if stream.name in names]
        return any(stream.end is not None or stream.query is not None for stream in streams)

    def may_overlap(self, left: str, right: str) -> bool:
        """Whether one event can be of both types. A type that is not quoted is meant in any case.

        >>> from pattern_examples import query
        >>> facts = QueryFacts(lambda: query("SEQ(A a, `a` b, `A` c)"))
        >>> facts.may_overlap("A", "`a`"), facts.may_overlap("`a`", "`A`")
        (True, False)
        """
        pairs = product(self.type(left).members, self.type(right).members)
        return any(_overlap(one, two) for one, two in pairs)

    def found_in_closures(self, names: Collection[str], pattern: p.Pattern) -> frozenset[str]:
        """Those of the variables of a pattern whose events a negation inside of a closure could find, which
        is not one of them. An event of a match spoils nothing: so the negation must know them.

        >>> from pattern_examples import query
        >>> facts = QueryFacts(lambda: query("AND(A a, B b, SEQ(C c, !A x, D d)+ k[])"))
        >>> sorted(facts.found_in_closures(["a", "b"], facts.query.pattern))
        ['a']
        >>> sorted(facts.found_in_closures(["a", "b", "k"], facts.query.pattern))
        []
        """
        parts = [part for part in all_parts(pattern) if isinstance(part, p.Event | p.Repeat)]
        closures = [part for part in parts if isinstance(part, p.Repeat) and part.variable not in names]
        inside = (part for closure in closures for part in all_parts(closure))
        negated = {type for part in inside if isinstance(part, p.Not | p.ClosureGap) for type in _types(part)}
        own = ((part.variable, type) for part in parts if part.variable in names for type in _types(part))
        return frozenset(
            name for name, type in own if name and any(self.may_overlap(type, other) for other in negated)
        )

    @cached_property
    def _declared(self) -> frozenset[str]:
        return frozenset(bare(known).casefold() for known in declared(self.query.pattern))

    def fresh(self, name: str, taken: Iterable[str] = ()) -> str:
        """A name like `name` that nothing in the pattern has, and that is not in `taken`.

        >>> from pattern_examples import query
        >>> QueryFacts(lambda: query("SEQ(A a, B a_2)")).fresh("a")
        'a_3'
        """
        used = self._declared.union(bare(known).casefold() for known in taken)
        names = (f"{bare(name)}_{number}" for number in count(2))
        return written(next(candidate for candidate in names if candidate.casefold() not in used))


def _types(part: p.Pattern) -> Iterator[str]:
    """The types of the events of a part."""
    return (inner.type for inner in all_parts(part) if isinstance(inner, p.Event))


def _overlap(left: Member, right: Member) -> bool:
    if left.stream != right.stream:
        return False
    if left.value is None or right.value is None:
        return True
    if is_quoted(left.value) and is_quoted(right.value):
        return bare(left.value) == bare(right.value)
    return bare(left.value).casefold() == bare(right.value).casefold()


# How often and when a condition is checked: what a rewritten condition must have in common with the old one.
#
# A conjunct with `b[i]` is checked for each element of b, and one with `b[i-k]` holds for the first k of
# them by definition. Under SKIP TILL NEXT MATCH it also matters *when* a conjunct can be checked: an event
# that does not qualify is skipped, one that fails later was taken and is lost.

Range = tuple[e.EventRef | None, int]
"""The list that `i` ranges over, None where there is no `i`; and the k of `b[i-k]`."""


@remembered
def range_of(conjunct: e.Expr) -> Range:
    """What a conjunct ranges over.

    >>> from pattern_examples import query
    >>> list, lag = range_of(query("B+ b[] WHERE b[i].x > b[i-1].x").pattern.where)
    >>> print(list, lag)
    b 1
    """
    running = [
        (node.base, place)
        for node in walk(conjunct)
        if isinstance(node, e.ListElement | e.EveryElement)
        and (place := place_of(node))
        and place.anchor == "CURRENT"
    ]
    lag = max((-place.offset for _, place in running), default=0)
    return (running[0][0] if running else None), max(lag, 0)


def place_of(reference: e.ListElement | e.EveryElement) -> e.Index | None:
    return reference.index if isinstance(reference, e.ListElement) else reference.upper


@remembered
def events_of(condition: e.Expr) -> frozenset[e.EventRef]:
    """The events a condition names: it can be checked as soon as they are bound.

    >>> from pattern_examples import query
    >>> sorted(map(str, events_of(query("SEQ(A a, B+ b[]) WHERE a.x > b[1].x + a.n").pattern.where)))
    ['a', 'b[1]']
    """
    paths = (node for node in walk(condition) if isinstance(node, e.Attribute | e.EventTime | e.WholeEvent))
    return frozenset(path.event for path in paths)


def is_checked_alike(old: e.Expr, new: e.Expr, timed: bool) -> bool:
    """Whether a conjunct may take the place of one that is TRUE for the same events.

    It must range over the same elements, and, where that matters (`timed`), be checked at the same moment.
    One that is always TRUE may vanish in any case.
    """
    if new == TRUE:
        return True
    return range_of(old) == range_of(new) and not (timed and events_of(old) != events_of(new))


def is_timed(part: p.Pattern, facts: QueryFacts) -> bool:
    """Whether it matters when conditions of a part are checked. Negative parts are checked on complete
    matches."""
    return facts.query.strategy == SelectionStrategy.NEXT_MATCH and any(True for _ in _places(part, facts))


def is_avoidable(part: p.Pattern, facts: QueryFacts) -> bool:
    """Whether a run under SKIP TILL NEXT MATCH could have taken another path where the part fails.

    In the body of an optional part or of a repetition, an early failure leaves the event to what comes after
    it, a late one does not. Elsewhere a part that always fails leaves no match, sooner or later.
    """
    return facts.query.strategy == SelectionStrategy.NEXT_MATCH and any(_places(part, facts))


def _places(part: p.Pattern, facts: QueryFacts) -> Iterator[bool]:
    """For each place outside negations where the part stands: whether a run can do without it. Rules may
    have used one part twice."""
    stack = [(facts.query.pattern, False)]
    while stack:
        node, avoidable = stack.pop()
        if node is part:
            yield avoidable or isinstance(node, p.Optional)
        elif not isinstance(node, p.Not | p.ClosureGap):
            inside = avoidable or isinstance(node, p.Optional | p.Repeat)
            stack.extend((inner, inside) for inner in inner_parts(node))


# Roles: what an event can be in a pattern. Every variable of an event is one, and every list of events.

CURRENT = Index("CURRENT")


def plain(term: Expr) -> Expr:
    """The term without the binder's casts from one integer type to a wider one: they lose nothing.

    >>> from pattern_examples import query
    >>> where = query("SEQ(A a, B b) WHERE a.n = b.id").pattern.where
    >>> plain(where.left) == where.left.operand
    True
    """
    match term:
        case Cast(operand, type, implicit=True) if type in INTEGERS and type_of(operand) in INTEGERS:
            return operand
    return term


@dataclass(frozen=True)
class VariableRole:
    """A variable, the type of its events, and whether it is a list of them."""

    variable: str
    type: EventType = field(hash=False)  # it has all columns, and a name is enough to distinguish roles
    is_list: bool = False

    @property
    def event(self) -> EventRef:
        """How a condition refers to the event; for a list, to each of its events: `b[i]`."""
        return ListElement(Variable(self.variable), CURRENT) if self.is_list else Variable(self.variable)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name, in source form; None if events of the type have none."""
        term = self.term(name)
        return None if term is None else replace(term, event=self.event)

    def term(self, name: str) -> Attribute | None:
        """The attribute, written as if the variable of a list stood for one event."""
        columns = (column for column in self.type.columns if same(name, written(column.name)))
        column = next(columns, None)
        return (
            None if column is None else Attribute(Variable(self.variable), written(column.name), column.type)
        )


@dataclass(frozen=True)
class QueryRoles:
    """All roles of a query, in the order of the text. Branches of an OR may have the same one."""

    query: Match

    @cached_property
    def all(self) -> tuple[VariableRole, ...]:
        return tuple(dict.fromkeys(self._found()))

    def _found(self) -> Iterator[VariableRole]:
        for part in walk(self.query.pattern):
            match part:
                case p.Event(_, str()):
                    yield self.of(part)
                case p.Repeat(p.Event() as event, variable=str() as variable):
                    yield self.of(event, variable)

    def of_variables(self, names: Collection[str]) -> Iterator[VariableRole]:
        """The roles of these variables, in the order of the text."""
        for name in sorted(names, key=self.order.__getitem__):
            yield from self._of_variables.get(name, ())

    @cached_property
    def _of_variables(self) -> Mapping[str, tuple[VariableRole, ...]]:
        roles: dict[str, tuple[VariableRole, ...]] = {}
        for role in self.all:
            roles[role.variable] = (*roles.get(role.variable, ()), role)
        return roles

    def of(self, event: p.Event, list: str | None = None) -> VariableRole:
        """The role of an event, or of those of a list."""
        return VariableRole(list or event.variable or "", self._types[event.type], list is not None)

    @cached_property
    def _types(self) -> Mapping[str, EventType]:
        return {known.name: known for known in self.query.types}

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The place of each variable in the text, composite closures included."""
        names = (part.variable for part in walk(self.query.pattern) if isinstance(part, p.Event | p.Repeat))
        return {name: place for place, name in enumerate(dict.fromkeys(name for name in names if name))}

    @cached_property
    def compared(self) -> Mapping[str, Mapping[Expr, None]]:
        """For each variable, the terms of it alone that something is compared with."""
        terms: dict[str, dict[Expr, None]] = {}
        for node in walk(self.query.pattern):
            if isinstance(node, Binary) and node.op == "=":
                for side in (plain(node.left), plain(node.right)):
                    if len(names := names_in(side)) == 1 and range_of(side)[0] is None:
                        terms.setdefault(next(iter(names)), {})[side] = None
        return terms

    @cached_property
    def same(self) -> Mapping[str, None]:
        """The attributes of every `[id]` in the pattern."""
        attributes = (
            node.attributes for node in walk(self.query.pattern) if isinstance(node, SameAttributes)
        )
        return dict.fromkeys(name for names in attributes for name in names)
