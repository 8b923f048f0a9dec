"""The rule `when_complete_to_condition`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import (
    Attribute,
    Disjunction,
    EventRef,
    Expr,
    Index,
    InnerVariable,
    ListElement,
    Literal,
    Variable,
)
from neelc.ir.names import quote
from neelc.ir.patterns import Window
from neelc.ir.program import Column, CompleteColumn, Match
from neelc.ir.types import BOOLEAN, INT
from neelc.pattern.analysis.regions import with_condition
from neelc.pattern.rules.rule import RefusalReason
from neelc.runtime.late_dataclass import dataclass


def when_complete_to_condition(query: Match) -> Match | RefusalReason | None:
    """WHEN COMPLETE is a condition on the first event of a match: the data go on for as long as the window
    after it. That is a derived column of events, so events that can only start a match that is not complete
    are not even read.

    >>> from pattern_examples import query
    >>> def changed(text):
    ...     return str(when_complete_to_condition(query(f"{text} WITHIN 9 WHEN COMPLETE")).pattern)
    >>> changed("SEQ(A a, !B b, C c, !D d)")
    'SEQ(A a, !B b, C c, !D d WHERE a.`9 MILLISECONDS before the end`)'

    Proof. The scope of a negation ends where the next positive part starts, if there is one: that is before
    the data end. If not, it ends where the scope of the operator around it does; and every WITHIN around the
    negation cuts its scope to w after the first event of its part. The earliest of all these ends counts, so
    it is not after the last time of the data if one of them is not. An event that is absent is NULL, and says
    nothing. The condition stands where the negation does, so that it holds for matches that have it. Under
    the other selection strategies, a run that does not meet it has a first event that does not, and no other
    choice of the events after that one would: no event is taken in the place of another.

    An operator that begins with an optional part has several events that can be the first one; an optional
    part that follows ends the scope where it is there; a negation between others needs nothing.

    >>> print(changed("SEQ(A? a, B b, !C c, D? d)").partition(" WHERE ")[2][:86])
    a.`9 MILLISECONDS before the end` OR b.`9 MILLISECONDS before the end` OR d.`0 SECONDS
    >>> changed("SEQ(A a, !B b, C c)")
    'SEQ(A a, !B b, C c)'

    Not where a window counts events: it has no length. Not for a negation in the last iteration of a closure,
    which looks beyond the list.

    >>> when_complete_to_condition(query("SEQ(A a, !B b) WITHIN 9 EVENTS WHEN COMPLETE")).reason
    'WITHIN counts EVENTS, which have no length of time'
    >>> when_complete_to_condition(query("SEQ(A a, !B b)+ k[] WITHIN 9 WHEN COMPLETE")).reason
    'a negation in the last iteration of `k` looks beyond it'
    """
    if not query.complete:
        return None
    completing = _Completing()
    try:
        whole = completing.part(p.And((query.pattern,), within=query.within), ())
    except NoCondition as problem:
        return RefusalReason(problem.reason, problem.part)
    assert isinstance(whole, p.And)
    columns = tuple(Column(name, BOOLEAN, "") for name in completing.asked)
    until = query.complete_until
    asked = completing.asked.items()
    derived = tuple(CompleteColumn(name, one, query.streams, until) for name, one in asked)
    streams = tuple(
        replace(one, columns=(*one.columns, *columns), derived=(*one.derived, *derived))
        for one in query.streams
    )
    types = tuple(replace(known, columns=(*known.columns, *columns)) for known in query.types)
    return replace(
        query, pattern=whole.parts[0], streams=streams, types=types, complete=False, complete_until=None
    )


def looks_beyond_the_end(query: Match) -> bool:
    """Whether a negation may look at a time after the last event, so that WHEN COMPLETE would say something.

    >>> from pattern_examples import query
    >>> texts = "SEQ(A a, !B b)", "SEQ(A a, !B b, C c)"
    >>> [looks_beyond_the_end(query(f"{text} WITHIN 9")) for text in texts]
    [True, False]
    """
    if query.complete or query.is_imprecise or query.partial is not None:
        return False
    found = when_complete_to_condition(replace(query, complete=True))
    return isinstance(found, Match) and found.streams != query.streams


class NoCondition(Exception):
    """A negation whose end no condition says."""

    def __init__(self, reason: str, part: p.Pattern) -> None:
        super().__init__(reason)
        self.reason = reason
        self.part = part


PRESENT = Window(Literal(0, INT), "SECOND")
"""Of an event that is there: the data go on until it starts."""


@dataclass(frozen=True)
class ScopeBound:
    """A scope ends, at the latest, as long as `within` after the event starts, if there is such an event."""

    event: EventRef
    within: Window


class _Completing:
    """Puts conditions beside negations, and collects the columns that they name, with their windows."""

    def __init__(self) -> None:
        self.asked: dict[str, Window] = {}

    def part(self, part: p.Pattern, bounds: tuple[ScopeBound, ...]) -> p.Pattern:
        """The part with conditions; `bounds` are those of its scope."""
        if part.within is not None:
            bounds += tuple(ScopeBound(event, part.within) for event in first_events(part)[0])
        match part:
            case p.Seq(parts):
                inner = tuple(self.before(one, parts[place + 1 :], bounds) for place, one in enumerate(parts))
            case p.And(parts) | p.Or(parts):
                inner = tuple((one, bounds) for one in parts)
            case p.AndNeg(parts):  # a negation looks between two others
                inner = tuple((one, None if isinstance(one, p.Not) else bounds) for one in parts)
            case p.Optional(one) | p.Exists(_, one):
                return _with_part(part, self.part(one, bounds))
            case p.Repeat(one):
                return self.closure(part, bounds)
            case _:
                return part
        return self.listing(part, inner)

    def before(
        self, part: p.Pattern, after: Sequence[p.Pattern], bounds: tuple[ScopeBound, ...]
    ) -> tuple[p.Pattern, tuple[ScopeBound, ...] | None]:
        """A part of a SEQ and the bounds of its scope; None if a part that every match has comes after it."""
        events, is_certain = _first_following(after)
        present = tuple(ScopeBound(event, PRESENT) for event in events)
        return part, None if is_certain else (*bounds, *present)

    def listing(
        self, part: p.Listing, inner: Sequence[tuple[p.Pattern, tuple[ScopeBound, ...] | None]]
    ) -> p.Pattern:
        """A list whose parts have these bounds."""
        parts, conditions = [], []
        for one, bounds in inner:
            if bounds is not None and isinstance(one, p.Not) and _is_absence(one):
                conditions.append(self.condition(one, bounds))
            is_open = bounds is not None and not isinstance(one, p.Not)
            parts.append(self.part(one, bounds or ()) if is_open else one)
        if not conditions and all(new is old for new, old in zip(parts, part.parts, strict=True)):
            return part
        return with_condition(replace(part, parts=tuple(parts)), *conditions)

    def closure(self, part: p.Repeat, bounds: tuple[ScopeBound, ...]) -> p.Pattern:
        """A closure in which no negation looks beyond the iteration."""
        if _Completing().part(part.part, bounds) is part.part:
            return part
        raise NoCondition(f"a negation in the last iteration of `{part.variable}` looks beyond it", part)

    def condition(self, part: p.Not, bounds: Sequence[ScopeBound]) -> Expr:
        """The condition that the scope of a negation ends before the data do."""
        if any(bound.within.unit == "EVENT" for bound in bounds):
            raise NoCondition("WITHIN counts EVENTS, which have no length of time", part)
        tests: list[Expr] = []
        for bound in dict.fromkeys(bounds):
            name = f"{bound.within} before the end"
            self.asked[name] = bound.within
            tests.append(Attribute(bound.event, quote(name), BOOLEAN))
        if not tests:
            return Literal(False, BOOLEAN)
        return tests[0] if len(tests) == 1 else Disjunction(tuple(tests))


def _is_absence(part: p.Not) -> bool:
    """Whether it rests on what is not there: `!!B b` says that there is a B."""
    return not (isinstance(part.part, p.Not) and _is_absence(part.part))


def _with_part(part: p.Optional | p.Exists, inner: p.Pattern) -> p.Pattern:
    return part if inner is part.part else replace(part, part=inner)


def first_events(part: p.Pattern, dropped: frozenset[str] = frozenset()) -> tuple[list[EventRef], bool]:
    """Events of which one is the first that a match of the part binds, and whether it binds any in every
    match. Those that EXISTS drops are not bound.

    >>> from pattern_examples import query
    >>> def first(text):
    ...     events, is_certain = first_events(query(f"{text} WITHIN 9").pattern)
    ...     return [str(event) for event in events], is_certain
    >>> first("SEQ(A? a, SEQ(B b, C c)+ k[], !D d)"), first("AND(A+ a[], B b)")
    ((['a', 'k[1].b'], True), (['a[1]', 'b'], True))
    """
    match part:
        case p.Event(variable=variable):
            return ([], False) if variable in dropped else ([Variable(variable or "")], True)
        case p.Repeat(p.Event(), least, variable=variable):
            element = ListElement(Variable(variable or ""), Index("FIRST"))
            return ([], False) if variable in dropped else ([element], least > 0)
        case p.Repeat(inner, least, variable=variable):
            iteration = ListElement(Variable(variable or ""), Index("FIRST"))
            events = [_inside(event, iteration) for event in first_events(inner)[0]]
            return ([], False) if variable in dropped else (events, least > 0)
        case p.Seq(parts):
            return _first_following(parts, dropped)
        case p.Listing(parts):
            found = [first_events(one, dropped) for one in parts if not isinstance(one, p.Not)]
            is_certain = (all if isinstance(part, p.Or) else any)(certain for _, certain in found)
            return [event for events, _ in found for event in events], is_certain
        case p.Optional(inner):
            return first_events(inner, dropped)[0], False
        case p.Exists(variables, inner):
            return first_events(inner, dropped | frozenset(variables))
    return [], False


def _first_following(
    parts: Sequence[p.Pattern], dropped: frozenset[str] = frozenset()
) -> tuple[list[EventRef], bool]:
    """The same of parts in sequence: up to the first that every match has."""
    found: list[EventRef] = []
    for part in parts:
        events, is_certain = first_events(part, dropped)
        found += events
        if is_certain:
            return found, True
    return found, False


def _inside(event: EventRef, iteration: EventRef) -> EventRef:
    """An event of the body of a closure, as an event of one of its iterations."""
    match event:
        case Variable(name):
            return InnerVariable(iteration, name)
        case InnerVariable(base, name):
            return InnerVariable(_inside(base, iteration), name)
        case ListElement(base, index):
            return ListElement(_inside(base, iteration), index)
    raise AssertionError(f"{event} is no first event")
