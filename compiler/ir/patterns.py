"""Patterns of events: what PATTERN describes. The meaning is in docs/reference/patterns.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import TypeVar

from neelc.ir.expressions import Expr, InnerVariable, Literal, Variable
from neelc.ir.node import Node, children, remembered, transform, walk
from neelc.ir.types import BIGINT, INT, LENGTHS
from neelc.runtime.late_dataclass import dataclass

N = TypeVar("N", bound=Node)


@dataclass(frozen=True)
class Window(Node):
    """How far a match may reach: `count` of `unit`.

    `unit` is a unit of time, singular and upper case (`SECOND`), EVENT, or None for the stream's own unit.
    `count` is a number, or a `Parameter` until the binder has its value.
    """

    count: Expr
    unit: str | None = None


def window_of_microseconds(microseconds: int) -> Window:
    """A length of time, in the longest unit of which it is a whole number.

    >>> window_of_microseconds(90_000_000).count.value, window_of_microseconds(90_000_000).unit
    (90, 'SECOND')
    """
    return window_of_nanoseconds(microseconds * LENGTHS["MICROSECOND"])


def window_of_nanoseconds(nanoseconds: int) -> Window:
    """
    >>> window_of_nanoseconds(7 * 86_400 * 10**9).unit, window_of_nanoseconds(0).unit
    ('WEEK', 'SECOND')
    """
    unit = next(unit for unit in LENGTHS if nanoseconds % LENGTHS[unit] == 0) if nanoseconds else "SECOND"
    count = nanoseconds // LENGTHS[unit]
    return Window(Literal(count, INT if count < 2**31 else BIGINT), unit)


class FollowKind(StrEnum):
    """Which events may lie between a part and the one before it: all; none that qualifies as it; none."""

    ANY = "ANY"
    NEXT = "NEXT"
    STRICT = "STRICT"


@dataclass(frozen=True)
class FollowWord(Node):
    """A word before a part of a SEQ, or after EACH: how it follows what comes before. `STRICT AMONG (types)`
    counts only events of these types. A bound pattern has negations in its place (`bind/following.py`)."""

    kind: FollowKind
    among: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pattern(Node):
    """An expression over events, judged inside a scope.

    `where` must hold for each match of this part; `within` bounds this part's own events; `follow` says how
    it follows the part before it.
    """

    where: Expr | None = field(default=None, kw_only=True)
    within: Window | None = field(default=None, kw_only=True)
    follow: FollowWord | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Event(Pattern):
    """`Type var`: one event."""

    type: str
    variable: str | None = None


@dataclass(frozen=True)
class Listing(Pattern):
    """An operator over a list of parts."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Joint(Listing):
    """An operator of which every positive part has its match, and all of them together meet its condition."""


@dataclass(frozen=True)
class Seq(Joint):
    """`SEQ(parts)`: each positive part ends strictly before the next one starts."""


@dataclass(frozen=True)
class And(Joint):
    """`AND(parts)`: every positive part, in any order."""


@dataclass(frozen=True)
class AndNeg(Joint):
    """MQOS's `AND_NEG(parts)`: AND, but a negative part looks only between its two positive neighbours."""


@dataclass(frozen=True)
class Or(Listing):
    """`OR(parts)`: one of the parts."""


OPERATORS: dict[str, type[Listing]] = {"SEQ": Seq, "AND": And, "AND_NEG": AndNeg, "OR": Or}
KEYWORD_OF: dict[type[Pattern], str] = {operator: keyword for keyword, operator in OPERATORS.items()}


@dataclass(frozen=True)
class Not(Pattern):
    """`!part`: no match of `part` inside the scope. It has no `where` or `within` of its own.

    One that stands for a word of the query knows which: it `means` that."""

    part: Pattern
    means: FollowWord | None = field(default=None, kw_only=True, compare=False)


@dataclass(frozen=True)
class Exists(Pattern):
    """`EXISTS variables : part`: the matches of `part` with the variables dropped, each once."""

    variables: tuple[str, ...]
    part: Pattern


class GapReach(StrEnum):
    """Where a closure must lack something: between the part before it and its first element; between each two
    neighbouring elements; from the part before it up to its last element; from its first to its last one."""

    FIRST = "FIRST"
    EACH = "EACH"
    UNTIL = "UNTIL"
    WITHOUT = "WITHOUT"


@dataclass(frozen=True)
class ClosureGap(Pattern):
    """What a closure must lack, and where: `UNTIL (C c : condition)`. FIRST and EACH stand for the words NEXT
    and STRICT, which it `means`; a condition of theirs may name `b[i-1]`, the element before the gap."""

    part: Pattern
    reach: GapReach
    means: FollowWord | None = field(default=None, kw_only=True, compare=False)


@dataclass(frozen=True)
class Repeat(Pattern):
    """`part`, at least `least` and at most `most` times; `most=None` means no limit.

    `variable` names the list of iterations: `B+ b[]` is Repeat(Event("B"), 1, None, "b"). `gaps` are what it
    must lack. `each` says how an element follows the one before it; two neighbouring elements fit into
    `each_within`.
    """

    part: Pattern
    least: int
    most: int | None
    variable: str | None = None
    gaps: tuple[ClosureGap, ...] = ()
    each: FollowWord | None = None
    each_within: Window | None = None

    @property
    def is_chain(self) -> bool:
        """Whether an element decides which one is next: a list is then said by its first and its last."""
        return any(gap.reach == GapReach.EACH for gap in self.gaps)

    @property
    def begins_next(self) -> bool:
        """Whether the part before it decides which element is the first."""
        return any(gap.reach == GapReach.FIRST for gap in self.gaps)


@dataclass(frozen=True)
class Optional(Pattern):
    """`part?`: once or not at all. Its variables are NULL when it is absent."""

    part: Pattern


# What a part of a pattern binds and needs: questions that every stage asks.


def inner_parts(part: Pattern) -> Iterator[Pattern]:
    """The parts directly below `part`, conditions and windows left aside."""
    for child in children(part):
        if isinstance(child, Pattern):
            yield child


def all_parts(part: Pattern) -> Iterator[Pattern]:
    """`part` and every part below it."""
    for node in walk(part):
        if isinstance(node, Pattern):
            yield node


@remembered
def targets(part: Pattern) -> tuple[str, ...]:
    """The variables a part binds, in order, each once. Those inside a closure are the closure's own.

    >>> from neelc.syntax import pattern
    >>> targets(pattern("SEQ(A a, !B b, C+ c[], EXISTS d : SEQ(D d, E e))"))
    ('a', 'c', 'e')
    """
    return tuple(dict.fromkeys(_targets(part)))


def _targets(part: Pattern) -> Iterator[str]:
    match part:
        case Event(variable=variable) | Repeat(variable=variable):
            yield variable or ""
        case Not() | ClosureGap():
            return
        case Exists(variables, inner):
            yield from (name for name in _targets(inner) if name not in variables)
        case _:
            for inner in inner_parts(part):
                yield from _targets(inner)


def declared(part: Pattern) -> frozenset[str]:
    """Every name declared in a part: in negative parts, under EXISTS and in closures too.

    >>> from neelc.syntax import pattern
    >>> sorted(declared(pattern("SEQ(A a, !B b, SEQ(C c, D d)+ k[])")))
    ['a', 'b', 'c', 'd', 'k']
    """
    found = (node.variable for node in all_parts(part) if isinstance(node, Event | Repeat))
    return frozenset(name for name in found if name)


def may_be_empty(part: Pattern) -> bool:
    """Whether a part can be satisfied without binding an event: then it takes no room in a SEQ.

    >>> from neelc.syntax import pattern
    >>> [may_be_empty(pattern(text)) for text in ("A? a", "A* a[]", "SEQ(A? a, B b)", "OR(A a, B? b)")]
    [True, True, False, True]
    >>> may_be_empty(pattern("EXISTS a : SEQ(!B b, A a)"))
    True
    """
    match part:
        case Event():
            return False
        case Optional() | Not() | ClosureGap():
            return True
        case Repeat(least=least):
            return least == 0  # each iteration binds an event
        case Exists(variables, inner):
            return may_be_empty(_without(inner, frozenset(variables)))
        case Or(parts):
            return any(map(may_be_empty, parts))
    return all(map(may_be_empty, inner_parts(part)))


def _without(part: Pattern, dropped: frozenset[str]) -> Pattern:
    """`part` with the components of these variables made optional: what EXISTS drops takes no room."""

    def change(node: object) -> Pattern | None:
        if isinstance(node, Event | Repeat) and node.variable in dropped:
            return Optional(node)
        return None

    changed = transform(part, change)
    assert isinstance(changed, Pattern)
    return changed


def satisfiable_by_nothing(part: Pattern) -> bool:
    """Whether a part can be satisfied by no events at all, those that EXISTS drops included.

    >>> from neelc.syntax import pattern
    >>> satisfiable_by_nothing(pattern("A? a")), satisfiable_by_nothing(pattern("EXISTS a : A a"))
    (True, False)
    """
    match part:
        case Exists(_, inner):
            return satisfiable_by_nothing(inner)
        case Or(parts):
            return any(map(satisfiable_by_nothing, parts))
        case Joint():
            return all(map(satisfiable_by_nothing, inner_parts(part)))
    return may_be_empty(part)


def renamed(node: N, names: Mapping[str, str]) -> N:
    """`node` with its variables renamed, where they are declared and where they are named.

    >>> from neelc.syntax import pattern
    >>> print(renamed(pattern("EXISTS a : SEQ(A a, B b)"), {"a": "a_2"}))
    EXISTS a_2 : SEQ(A a_2, B b)
    """

    def change(part: Node) -> Node | None:
        match part:
            case Event(variable=str() as name) | Repeat(variable=str() as name) if name in names:
                return replace(part, variable=names[name])
            case Exists(variables):
                return replace(part, variables=tuple(names.get(name, name) for name in variables))
            case Variable(name) if name in names:
                return replace(part, name=names[name])
            case InnerVariable(_, name) if name in names:
                return replace(part, name=names[name])
        return None

    changed = transform(node, change)
    assert isinstance(changed, type(node))
    return changed
