"""Programs: what a kernel executes, flat and printable. This is what travels to Spark's workers.

A program builds matches step by step. Its state is a table with one row for each partial match and one column
for each variable, which holds an event or a list, or nothing where the variable is absent. It starts with one
row that has nothing. Each step changes the table: `Take` binds a variable, `Choose` splits rows by the
branches of an OR, `RepeatStep` binds a list, `Follow` all that a run binds, `FilterStep`, `Absent`, `Present`
and `AnyBound` drop rows. A step with a `when` concerns only the rows with these choices.

All times are whole numbers of one unit. Where columns order events of the same time, "before" and "after" are
by those as well, and windows by time alone. An event that is absent bounds nothing and equals nothing.

Steps are generic in their conditions: a plan of the compiler has the same steps, with conditions that are
still expressions of the language; those of a program are `Value`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.types import ValueType

if TYPE_CHECKING:
    from neelc.runtime.kernels.rows.program import StreamedRows
    from neelc.runtime.kernels.snapshots.program import SnapshotNetwork

Condition = TypeVar("Condition", covariant=True)
"""What a step's conditions are: an expression in a plan, a `Value` in a program."""

# Names: a variable is called as in the pattern; elements of lists have names that say which they are. A list
# can itself be an element's: `k[i].b` is the one that `b` is in an iteration of `SEQ(A a, B+ b[])+ k[]`.


@dataclass(frozen=True)
class ElementName:
    """An element of a list: number `place`, counted from 1, or from the end, where -1 is the last one. Of a
    list of iterations, the event that `inner` is in one; without `inner`, the one that starts first in the
    first iteration, or ends last in the last.

    >>> print(ElementName("b", 2), ElementName("b", -1), ElementName("k", -2, "a"))
    b[2] b[last] k[last-1].a
    >>> print(ElementName(IterationName("k", "b"), -1))
    k[i].b[last]
    """

    list: ListName
    place: int
    inner: str | None = None

    def __str__(self) -> str:
        end = "last" if self.place == -1 else f"last{self.place + 1}"
        return _element(self.list, end if self.place < 0 else str(self.place), self.inner)


@dataclass(frozen=True)
class IterationName:
    """An event of the iteration that a step is for, or of the one `lag` before it. `lag` -1 is the one after
    it: no condition names that, but what lies between two iterations must know it.

    >>> print(IterationName("b"), IterationName("k", "a", lag=1), IterationName("b", lag=-1))
    b[i] k[i-1].a b[i+1]
    """

    list: ListName
    inner: str | None = None
    lag: int = 0

    def __str__(self) -> str:
        return _element(self.list, f"i{-self.lag:+}" if self.lag else "i", self.inner)

    @property
    def events(self) -> ListName:
        """The list that such events make."""
        return self.list if self.inner is None else InnerList(self.list, self.inner)

    def at(self, place: int) -> ElementName:
        """The same of a certain iteration."""
        return ElementName(self.list, place, self.inner)


@dataclass(frozen=True)
class InnerList:
    """The events that `inner` is in the iterations of a list: `k.a`."""

    list: ListName
    inner: str

    def __str__(self) -> str:
        return f"{self.list}.{self.inner}"


EventName = str | InnerList | ElementName | IterationName
"""What a row has an event or a list for."""

ListName = EventName
"""One that it has a list for: `b`, `k.a`, `k[i].b`."""


def _element(list: ListName, place: str, inner: str | None) -> str:
    return f"{list}[{place}]" + (f".{inner}" if inner else "")


def is_composite(names: tuple[IterationName, ...], of: ListName) -> bool:
    """Whether an iteration is more than an event of a list."""
    return names != (IterationName(of),)


def list_of(name: EventName) -> ListName | None:
    """The list that an element's name belongs to; None if it is no element."""
    return name.list if isinstance(name, ElementName | IterationName) else None


def inner_of(name: EventName) -> str | None:
    """The variable of an iteration that an element's name means."""
    return name.inner if isinstance(name, ElementName | IterationName) else None


def around_of(name: EventName) -> Iterator[EventName]:
    """The name, and what it is an element of, from the inside out.

    >>> print(*around_of(ElementName(IterationName("k", "b"), 1)))
    k[i].b[1] k[i].b k
    """
    yield name
    if not isinstance(name, str):
        yield from around_of(name.list)


def base_of(name: EventName) -> str:
    """The variable of the match that must be bound for a name to mean something.

    >>> base_of("a"), base_of(ElementName("b", 1)), base_of(ElementName(IterationName("k", "b"), 1))
    ('a', 'b', 'k')
    """
    return name if isinstance(name, str) else base_of(name.list)


def variable_of(name: EventName) -> str:
    """What the pattern calls the event, or the list that it is an element of.

    >>> [variable_of(name) for name in (ElementName("b", 1), IterationName("k", "a"))]
    ['b', 'a']
    >>> variable_of(ElementName(IterationName("k", "b"), 1))
    'b'
    """
    return name if isinstance(name, str) else name.inner or variable_of(name.list)


def is_inside(name: EventName, of: ListName) -> bool:
    """Whether a name is one of an element of a list, or of something inside of an element."""
    return any(one == of for one in around_of(name)) and name != of


def iteration_of(name: EventName, of: ListName) -> ElementName | IterationName | None:
    """The part of a name that says which iteration of a list is meant; None if it is not inside of that list.

    >>> print(iteration_of(ElementName(IterationName("k", "b", lag=1), 2), "k"))
    k[i-1].b
    """
    for one in around_of(name):
        if isinstance(one, ElementName | IterationName) and one.list == of:
            return one
    return None


def in_place_of(name: EventName, old: EventName, new: EventName) -> EventName:
    """The name of the same thing of another iteration.

    >>> this, second = IterationName("k", "b"), ElementName("k", 2, "b")
    >>> print(in_place_of(ElementName(this, 1), this, second))
    k[2].b[1]
    """
    if name == old:
        return new
    if isinstance(name, str):
        return name
    inside = in_place_of(name.list, old, new)
    return name if inside is name.list else replace(name, list=inside)


def listed_in(name: IterationName, of: ListName) -> ListName:
    """The list that all events of a name make in a list that it is inside of.

    >>> b, c = IterationName(IterationName("k", "b")), IterationName(IterationName("k", "l"), "c")
    >>> print(listed_in(b, "k"), listed_in(b, IterationName("k", "b")), listed_in(c, "k"))
    k.b k[i].b k.l.c
    """
    if name.list == of:
        return name.events
    assert isinstance(name.list, IterationName), f"{name} is no event of {of}"
    outer = listed_in(name.list, of)
    return outer if name.inner is None else InnerList(outer, name.inner)


# Runs that grow event by event, for a program's `Follow`: their states, and how they go on.

LAST = "#last"
"""The event that a run took last. No name of a pattern is like it."""


class Iteration(StrEnum):
    """Which iteration of a list an event belongs to: the first one, a new one, or that of the event before
    it."""

    FIRST = "FIRST"
    NEXT = "NEXT"
    SAME = "SAME"


FIRST, NEXT, SAME = Iteration


@dataclass(frozen=True)
class MoveCondition(Generic[Condition]):
    """A condition that a `Take` cannot express. It is checked only where all of `present` have an event; for
    `each` element of a list that is complete, as `b[i]`, or if it `looks_back`, for each but the first."""

    condition: Condition
    present: tuple[EventName, ...] = ()
    each: ListName | None = None
    looks_back: bool = False


@dataclass(frozen=True)
class State:
    """A run whose last event is that of `variable`, which belongs to the `list`, if any. It is complete with
    at least `accepts` iterations; never, if that is None. If the event is one of a list inside of an
    iteration, that must have at least `inner` elements."""

    variable: EventName
    list: ListName | None = None
    accepts: int | None = None
    inner: int = 1

    @property
    def list_inside(self) -> ListName | None:
        """The list inside of an iteration that the event belongs to: `k[i].b`."""
        own = list_of(self.variable)
        return None if own == self.list else own


@dataclass(frozen=True)
class Move(Generic[Condition]):
    """How a run goes on from `source` to `target`, both numbers of states, -1: from nothing. Its list has
    from `least` to `most` iterations before. First, events get other names; then `take` finds the next event,
    which belongs to the FIRST iteration of a list, the NEXT or the SAME. With it, the run must pass
    the `checks`, which see all of it, as if it were a match.

    The event can also be the FIRST element of a list inside of an iteration, or the NEXT. The list of that
    kind that the run was in must have a number of elements between those `left`."""

    source: int
    target: int
    take: Take[Condition]
    least: int = 0
    most: int | None = None
    iteration: Iteration = FIRST
    renames: tuple[tuple[EventName, EventName], ...] = ()
    judged: tuple[MoveCondition[Condition], ...] = ()
    checks: tuple[Step[Condition], ...] = ()
    inner: Iteration = SAME
    left: tuple[int, int | None] = (0, None)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Those of the event that is taken."""
        return (*self.take.where, *(one.condition for one in self.judged))


@dataclass(frozen=True)
class Closure:
    """A list that a run binds, as `RepeatStep` does. An `optional` one is absent where it has no element; so
    are those of an iteration whose events have a name that `may_be_absent`. `places`, `lags` and `elements`
    are as those of `RepeatStep`."""

    variable: ListName
    names: tuple[IterationName, ...]
    optional: bool = False
    places: tuple[int, ...] = ()
    lags: tuple[int, ...] = ()
    may_be_absent: tuple[EventName, ...] = ()
    elements: tuple[EventName, ...] = ()


# Partial matches: WITH PARTIAL MATCHES.


@dataclass(frozen=True)
class MatchLevel:
    """A prefix of a sequence: `start` is the variable of its first event. `hints` are the first variables of
    the branches that explain why the next prefix was not reached: the first one that has a match does."""

    start: str
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class FurthestMatch:
    """Of the matches with the same start, one of the last level that has any is kept. Among those of one
    level, times decide, and then the values of the `compared` columns of variables."""

    levels: tuple[MatchLevel, ...]
    compared: tuple[tuple[EventName, tuple[str, ...]], ...] = ()

    @property
    def starts(self) -> tuple[str, ...]:
        """The first variables of all branches."""
        return tuple(name for level in self.levels for name in (level.start, *level.hints))

    @property
    def columns(self) -> frozenset[str]:
        """The columns whose values can decide."""
        return frozenset(column for _, columns in self.compared for column in columns)


# Which matches are kept: ONE MATCH PER, AFTER MATCH SKIP and SUPPRESS.


class SkipTarget(StrEnum):
    """From where on the next match may start: after the end of the last one kept, after its start, or from
    the first or the last event of a variable on, and after its start."""

    END = "END"
    START = "START"
    FIRST_OF = "FIRST"
    LAST_OF = "LAST"


@dataclass(frozen=True)
class MatchSelection:
    """Of the matches of a key with the same events for all of the variables `one_per`, the first is kept; of
    these, those that `skip` leaves, whose event is that of `variable`; and of these, those that end more than
    `suppress` after the end of the last one kept.

    The first match is the one that starts first, then ends first; then the times of the variables decide, in
    their `order`, and then the values of the `compared` columns of variables. A key is what events are
    partitioned by, and the values of the columns `by`, which are equal on all events of a match."""

    order: tuple[str, ...]
    one_per: tuple[str, ...] = ()
    skip: SkipTarget | None = None
    variable: str | None = None
    suppress: int | None = None
    compared: tuple[tuple[EventName, tuple[str, ...]], ...] = ()
    by: tuple[str, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """The columns whose values can decide."""
        return frozenset(column for _, columns in self.compared for column in columns)


# A program's `EachElement`: what must hold for each element of a list that is complete.

Marks = tuple[tuple[str, int, tuple[EventName, ...]], ...]
"""A mark, a choice, and names of iterations, one of which has an event, or a list, if that choice is made."""


@dataclass(frozen=True)
class EachElement(Generic[Condition]):
    """Keep the rows in which `steps` keep each element of a list but the first ones that are `skipped`; so
    all rows without a list.

    The steps see the element under the `names` of an iteration, `b[i]` or `k[i].a`, and those before it as
    `b[i-1]`, `k[i-2].a`; `k[i-1]` and `k[i+1]` are the event that ends last in the iteration before, and the
    one that starts first in the one after. What they bind is dropped. `marks` record the choices that an
    iteration made: 0 where it made none of them. `running` folds are over the elements before each, `inner`
    ones over a list that each element has. The last element of an `unfinished` list is not checked.
    """

    variable: ListName
    names: tuple[IterationName, ...]
    steps: tuple[Step[Condition], ...]
    skipped: int = 0
    when: When = ()
    marks: Marks = ()
    running: tuple[Fold, ...] = ()
    unfinished: bool = False
    inner: tuple[Fold, ...] = ()


# Steps for events whose times are imprecise: which rows may be matches, and how likely each of them is.
#
# A program for such events binds them as if each lasted from its latest possible time to its earliest one:
# so "ends before the other starts" becomes "can be before the other" (docs/decisions/0038). What that lets
# through is put right by these steps.

CONFIDENCE = "#confidence"
"""The name under which a row has its confidence. No name of a pattern is like it."""


@dataclass(frozen=True)
class Likely:
    """Keep the rows whose `events`, variables and lists in the order of time, are all different and can come
    in this order within `width`; and that, as far as they go, with a probability of `least`. However a row
    goes on, it does not become more likely."""

    events: tuple[EventName, ...]
    width: int | None = None
    least: float = 0.0
    when: When = ()


@dataclass(frozen=True)
class WeighedNegation(Generic[Condition]):
    """What must not be there: each event that `steps` bind `variable` to, between those of the first `place`
    names of a sequence and those of the others."""

    steps: tuple[Step[Condition], ...]
    variable: EventName
    place: int
    when: When = ()


@dataclass(frozen=True)
class Weigh(Generic[Condition]):
    """The confidence of each row: the probability that its `events` come in this order within `width`, and
    that no event of the `negations` spoils it. Kept are those that reach `least`; `strictly`: exceed it."""

    events: tuple[EventName, ...]
    width: int | None = None
    negations: tuple[WeighedNegation[Condition], ...] = ()
    least: float = 0.0
    strictly: bool = False
    when: When = ()


@dataclass(frozen=True)
class WeighedCheck(Generic[Condition]):
    """What a match must have, if it `must_exist`, or must not have: what `steps` bind, as precise events
    allow it, and what passes the inner `checks`. Each of the `searches` finds some of what may be it at
    relaxed times, and all of them together all of it."""

    steps: tuple[Step[Condition], ...]
    searches: tuple[tuple[Step[Condition], ...], ...]
    must_exist: bool
    when: When = ()
    checks: tuple[WeighedCheck[Condition], ...] = ()

    @property
    def all_steps(self) -> tuple[Step[Condition], ...]:
        """The steps of all searches, and of those of inner checks."""
        own = tuple(inner for steps in self.searches for inner in steps)
        return (*own, *(inner for check in self.checks for inner in check.all_steps))


@dataclass(frozen=True)
class WeighTimes(Generic[Condition]):
    """The confidence of each row: the probability of those times of its `events`, variables and lists, that
    keep to all bounds of `steps`, which are those that bound the events; that no more than `most_events` of
    the key are from its first to its last event; and that the `checks` find what must be there, and nothing
    that must not. Kept are rows that reach `least`; `strictly`: exceed it. With `counts`, windows of steps
    and checks count events as well. If it is `whole`, bounds are no more than an order and one window, of
    `width`, around all events.

    If rows are `united`, those with the same events are one match, in the worlds of any of them. If they are
    `collapsed`, those with the same single events are one in each world, with all elements of their lists.
    """

    events: tuple[EventName, ...]
    steps: tuple[Step[Condition], ...]
    checks: tuple[WeighedCheck[Condition], ...] = ()
    most_events: int | None = None
    least: float = 0.0
    strictly: bool = False
    united: bool = False
    collapsed: bool = False
    counts: bool = False
    whole: bool = False
    width: int | None = None
    when: When = ()

    @property
    def all_checks(self) -> tuple[WeighedCheck[Condition], ...]:
        """The checks, and those inside of them."""

        def every(check: WeighedCheck[Condition]) -> Iterator[WeighedCheck[Condition]]:
            yield check
            for inner in check.checks:
                yield from every(inner)

        return tuple(one for check in self.checks for one in every(check))


class EventPick(StrEnum):
    """Which of the events that fit are taken."""

    ALL = "ALL"
    EARLIEST = "EARLIEST"
    LATEST = "LATEST"
    ANY = "ANY"


ALL, EARLIEST, LATEST, ANY = EventPick

When = tuple[tuple[str, int], ...]
"""Marks of `Choose` and the choices that a step is for."""


@dataclass(frozen=True)
class ColumnValue:
    """A computed column of the event that a variable is bound to; NULL where the variable is absent."""

    variable: EventName
    name: str


@dataclass(frozen=True)
class Constant:
    """A value; None is NULL. Columns are computed with numbers and truth values only. What else an
    operation needs is a constant, too: the source of a cast, the name of a field."""

    value: bool | int | float | str | bytes | ValueType | None


@dataclass(frozen=True)
class Apply:
    """An operation on values, with SQL's NULLs. `values/operations.py` has the table of operations.

    `agrees` is `[id]` between two events: true where one is absent, else equality. `type` is the type of the
    result (`int`, `bigint`, `double` ...): what does not fit is NULL.
    """

    operation: str
    operands: tuple[Value, ...]
    type: ValueType | None = None


@dataclass(frozen=True)
class ApplyDeclared(Apply):
    """A function of users: `operation` is its name; it `takes` and `returns` values of types that are written
    as Spark does."""

    takes: tuple[str, ...] = ()
    returns: str = ""


@dataclass(frozen=True)
class LambdaArgument:
    """What a lambda calls an element."""

    name: str


@dataclass(frozen=True)
class ApplyLambda(Apply):
    """A lambda, which has one operand, its body; only what is computed one by one has it."""

    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Total:
    """The value of a `Fold` over a list, as it was when the list was last looked at."""

    name: str


@dataclass(frozen=True)
class OneByOne:
    """A truth value that is computed for each combination of events alone, of values as Python has them: what
    kernels cannot compute of whole columns. Its totals are of any type."""

    value: Value


Value = ColumnValue | Constant | LambdaArgument | Apply | Total | OneByOne


@dataclass(frozen=True)
class Within:
    """The event lies inside what a window of `width` leaves around `events`: it starts no earlier than the
    latest end of them less `width`, and ends no later than their earliest start plus `width`.

    `counted` windows are measured in places instead of times: see `Events.first`. A `member` must itself
    fit into the window: it is one of the events that the window is for.
    """

    events: tuple[EventName, ...]
    width: int
    counted: bool = False
    member: bool = False


@dataclass(frozen=True)
class BetweenGroups:
    """AND_NEG: strictly between the two groups of events, whichever comes first. Where they overlap, or one
    group has no event, there is no room."""

    one: tuple[EventName, ...]
    other: tuple[EventName, ...]


@dataclass(frozen=True)
class Bounds:
    """Where an event may lie: it starts after the end of each of `after`, ends before the start of each of
    `before`, and keeps to each of the other limits."""

    after: tuple[EventName, ...] = ()
    before: tuple[EventName, ...] = ()
    within: tuple[Within, ...] = ()
    between: tuple[BetweenGroups, ...] = ()


EVERYWHERE = Bounds()


@dataclass(frozen=True)
class Choose:
    """Each row once for each of `count` choices: 0, 1, ... under the name `mark`."""

    mark: str
    count: int
    when: When = ()


@dataclass(frozen=True)
class Take(Generic[Condition]):
    """Bind `variable` to each event of `role` that lies within `bounds`, differs from the events of `differs`
    and meets all conditions of `where`; a row without such an event is dropped.

    `pick` other than ALL keeps at most one of the events for each row: the one that ends EARLIEST, or starts
    LATEST, or ANY. The compiler says so where the others cannot matter, inside `Absent` and `Present` only.
    Each of `until` is a list of events, each the earliest after others: where all of them are there, the
    event starts no later than the last of them ends. One that `includes` the step's own events is looked for
    among all that the step can bind: nothing before it fits."""

    variable: EventName
    role: str
    bounds: Bounds = EVERYWHERE
    differs: tuple[EventName, ...] = ()
    where: tuple[Condition, ...] = ()
    pick: EventPick = ALL
    when: When = ()
    until: tuple[tuple[Take[Condition], ...], ...] = ()
    includes: bool = False


@dataclass(frozen=True)
class Rename:
    """What `variable` is bound to is bound to `new` from now on: branches of an OR that share an event have
    names of their own for it."""

    variable: EventName
    new: EventName
    when: When = ()


@dataclass(frozen=True)
class FilterStep(Generic[Condition]):
    """Keep the rows for which the condition is true."""

    condition: Condition
    when: When = ()


@dataclass(frozen=True)
class AnyBound:
    """Keep the rows in which one of the variables at least is bound."""

    variables: tuple[EventName, ...]
    when: When = ()


@dataclass(frozen=True)
class Absent(Generic[Condition]):
    """Keep the rows that `steps` cannot extend. A plan knows the negative `part`, as written."""

    steps: tuple[Step[Condition], ...]
    when: When = ()
    part: str = ""


@dataclass(frozen=True)
class Present(Generic[Condition]):
    """Keep the rows that `steps` can extend, each once. What the steps bind is dropped. In a plan, one
    without a `part` is not required by the pattern: it drops early what cannot become a match."""

    steps: tuple[Step[Condition], ...]
    when: When = ()
    part: str = ""


@dataclass(frozen=True)
class Fold:
    """An aggregate over a list: `function` of the values that are not NULL of a column, in the order of the
    list. `kernels/folding.py` has the table of functions. Without a column: of the events themselves.

    One that is `registered` is a function that a user gives by this name, of all values, NULL or not. One
    `of_values` is an aggregate of values as Python has them, of each of them once if it is `distinct`; only
    what is computed one by one looks at it."""

    name: str
    function: str
    list: ListName
    column: str | None = None
    type: ValueType | None = None
    registered: bool = False
    of_values: bool = False
    distinct: bool = False

    @property
    def is_called(self) -> bool:
        """Whether a function is called with each list."""
        return self.registered or self.of_values


@dataclass(frozen=True)
class RepeatStep(Generic[Condition]):
    """Bind a list: each row with each number of iterations from `least` to `most`; what an iteration binds is
    what `first`, or from the second one on `next`, finds.

    An iteration binds `names`: `b[i]` for a list of events, `k[i].a` and `k[i].b` for a list of pairs. The
    next one sees it as `b[i-1]`, `k[i-1].a`. Afterwards there are also `b[1]` and `b[last]`, of pairs
    `k[1].a` and `k[last].a`, and `k[1]` and `k[last]`: the event that starts first in the first iteration,
    and the one that ends last in the last. The lists themselves are called `b`; `k.a` and `k.b`.

    If a closure is inside of another, an iteration has a list, too. `names` are then those of its events:
    `k[i].a` and `k[i].b[i]` for `SEQ(A a, B+ b[])+ k[]`, whose lists are `k.a` and, with a list for each
    iteration, `k.b`. A step of `first`, and of `next`, binds the list `k[i].b`.

    `running` folds are those that `next` reads, over all iterations so far; `final` ones are for the steps
    that follow. `places` are those of other elements that they name, 2 for `b[2]`, -2 for `b[last-1]`, and
    `elements` the names in lists of iterations, `k[2].b[1]`; a plan
    also knows the `lags` of earlier elements that are named, 2 for `b[i-2]`. If one of the `early` conditions
    fails for the list of all events that could be elements, it fails for every part of it: such rows are
    dropped before any list is put together.
    """

    variable: ListName
    names: tuple[IterationName, ...]
    first: tuple[Step[Condition], ...]
    next: tuple[Step[Condition], ...]
    least: int = 1
    most: int | None = None
    running: tuple[Fold, ...] = ()
    final: tuple[Fold, ...] = ()
    early: tuple[Condition, ...] = ()
    when: When = ()
    places: tuple[int, ...] = ()
    lags: tuple[int, ...] = ()
    elements: tuple[EventName, ...] = ()


@dataclass(frozen=True)
class Follow(Generic[Condition]):
    """Bind all variables of a SEQ, event by event: each run goes on with what qualifies for one of its moves
    at the next instant at which something does, or with `contiguous` events, at the next instant there is.
    If more than one event qualifies, or for more than one move, the run splits.
    `marks` are those of choices that a run makes: 1 where the variable has an event."""

    states: tuple[State, ...]
    moves: tuple[Move[Condition], ...]
    closures: tuple[Closure, ...] = ()
    contiguous: bool = False
    running: tuple[Fold, ...] = ()
    final: tuple[Fold, ...] = ()
    marks: tuple[tuple[str, EventName], ...] = ()
    when: When = ()


Step = (
    Choose | Rename | AnyBound | Likely | Take[Condition] | FilterStep[Condition] | Absent[Condition]
    | Present[Condition] | RepeatStep[Condition] | EachElement[Condition] | Follow[Condition]
    | Weigh[Condition] | WeighTimes[Condition]
)  # fmt: skip

KernelStep = Step[Value]
"""A step of a program, whose conditions are operations on columns."""


# Walking over steps, whatever their conditions are.


def inner_steps(step: Step[Condition]) -> tuple[Step[Condition], ...]:
    """The steps inside of a step; those that a run takes its events by are among them."""
    match step:
        case Absent(steps) | Present(steps) | EachElement(steps=steps):
            return steps
        case RepeatStep(first=first, next=following):
            return (*first, *following)
        case Follow(moves=moves):
            return tuple(inner for move in moves for inner in (move.take, *move.checks))
        case Weigh(negations=negations):
            return tuple(inner for negation in negations for inner in negation.steps)
        case WeighTimes(checks=checks):
            return tuple(inner for check in checks for inner in check.all_steps)
    return ()


def walk_steps(steps: Iterable[Step[Condition]]) -> Iterator[Step[Condition]]:
    """The steps and all steps inside of them.

    >>> [type(step).__name__ for step in walk_steps((Absent((Take("b", "B"),)), Choose("m", 2)))]
    ['Absent', 'Take', 'Choose']
    """
    for step in steps:
        yield step
        yield from walk_steps(inner_steps(step))


def takes(steps: Iterable[Step[Condition]]) -> Iterator[Take[Condition]]:
    """All steps that bind an event."""
    return (step for step in walk_steps(steps) if isinstance(step, Take))


def lists_bound(steps: Iterable[Step[Condition]]) -> Iterator[RepeatStep[Condition] | Closure]:
    """What binds a list: steps, and closures of runs."""
    for step in walk_steps(steps):
        match step:
            case RepeatStep():
                yield step
            case Follow(closures=closures):
                yield from closures


def conditions(steps: Iterable[Step[Condition]]) -> Iterator[Condition]:
    """All conditions of the steps, and of those inside of them."""
    for step in walk_steps(steps):
        match step:
            case Take(where=where, until=until):
                yield from where
                yield from (one for chain in until for take in chain for one in take.where)
            case FilterStep(condition):
                yield condition
            case RepeatStep(early=early):
                yield from early
            case Follow(moves=moves):
                yield from (one.condition for move in moves for one in move.judged)


def with_inner(
    step: Step[Condition], change: Callable[[Step[Condition]], Step[Condition]]
) -> Step[Condition]:
    """The step with each step directly inside of it changed; takes of runs stay as they are."""
    match step:
        case Absent(steps) | Present(steps) | EachElement(steps=steps):
            return replace(step, steps=tuple(map(change, steps)))
        case RepeatStep(first=first, next=following):
            return replace(step, first=tuple(map(change, first)), next=tuple(map(change, following)))
        case Follow(moves=moves):
            changed = tuple(replace(move, checks=tuple(map(change, move.checks))) for move in moves)
            return replace(step, moves=changed)
    return step


# The names that steps look at.


def names_of_step(
    step: Step[Condition], names_of: Callable[[Condition], Iterable[EventName]]
) -> Iterator[EventName]:
    """The events and lists that a step looks at but does not bind itself; what one inside of it binds for
    another is among them. `names_of` has those of a condition."""
    match step:
        case Take(variable, bounds=bounds, differs=differs, where=where, until=until):
            yield from names_of_bounds(bounds)
            yield from differs
            yield from (name for one in where for name in names_of(one) if name != variable)
            yield from (name for chain in until for one in chain for name in names_of_step(one, names_of))
        case Rename(variable):
            yield variable
        case FilterStep(condition):
            yield from names_of(condition)
        case AnyBound(names) | Likely(names):
            yield from names
        case Absent() | Present():
            yield from _names_inside(step, names_of)
        case Weigh(names) | WeighTimes(names):
            yield from names
            yield from _names_inside(step, names_of)
        case EachElement(variable, iteration):
            yield from (listed_in(name, variable) for name in iteration)
            yield from (fold.list for fold in step.running)
            for name in _names_inside(step, names_of):
                if not isinstance(iteration_of(name, variable), IterationName):
                    yield name
        case RepeatStep(variable, early=early):
            # Of what iterations themselves bind, there is nothing before.
            yield from (name for name in _names_inside(step, names_of) if not is_inside(name, variable))
            yield from (name for condition in early for name in names_of(condition))


def _names_inside(
    step: Step[Condition], names_of: Callable[[Condition], Iterable[EventName]]
) -> Iterator[EventName]:
    return (name for inner in inner_steps(step) for name in names_of_step(inner, names_of))


def names_of_bounds(bounds: Bounds) -> Iterator[EventName]:
    yield from bounds.after
    yield from bounds.before
    for within in bounds.within:
        yield from within.events
    for between in bounds.between:
        yield from (*between.one, *between.other)


def names_of_value(value: Value) -> Iterator[EventName]:
    match value:
        case ColumnValue(variable):
            yield variable
        case Total(name):
            yield name
        case Apply(operands=operands):
            for operand in operands:
                yield from names_of_value(operand)
        case OneByOne(value):
            yield from names_of_value(value)


def with_other_variable(value: Value, old: EventName, new: EventName) -> Value:
    """The value with another event in the place of one."""
    match value:
        case ColumnValue(variable) if variable == old:
            return replace(value, variable=new)
        case Apply(operands=operands):
            return replace(value, operands=tuple(with_other_variable(one, old, new) for one in operands))
    return value


def columns_of_value(value: Value) -> Iterator[ColumnValue]:
    """The columns that a value is computed from, from left to right, but for those of what is computed one by
    one."""
    match value:
        case ColumnValue():
            yield value
        case Apply(operands=operands):
            for operand in operands:
                yield from columns_of_value(operand)


def totals_of_value(value: Value) -> Iterator[Total]:
    """The totals that a value is computed from, but for those of what is computed one by one."""
    match value:
        case Total():
            yield value
        case Apply(operands=operands):
            for operand in operands:
                yield from totals_of_value(operand)


def columns_of_single_values(value: Value) -> Iterator[ColumnValue]:
    """The columns of what is computed one by one."""
    match value:
        case OneByOne(single):
            yield from columns_of_value(single)
        case Apply(operands=operands):
            for operand in operands:
                yield from columns_of_single_values(operand)


@lru_cache(maxsize=4096)
def names_of_steps(steps: tuple[KernelStep, ...]) -> frozenset[EventName]:
    """What the steps of a program read: events, lists, and marks.

    >>> sorted(names_of_steps((Take("x", "A", Bounds(after=("a",)), when=(("m", 1),)),)))
    ['a', 'm']
    """
    names = {name for step in steps for name in names_of_step(step, names_of_value)}
    return frozenset((*names, *(mark for step in walk_steps(steps) for mark in _marks(step))))


def _marks(step: KernelStep) -> Iterator[str]:
    yield from (mark for mark, _ in step.when)
    if isinstance(step, Weigh):
        yield from (mark for negation in step.negations for mark, _ in negation.when)
    if isinstance(step, WeighTimes):
        yield from (mark for inner in (*step.steps, *step.all_checks) for mark, _ in inner.when)


def folds(steps: Iterable[KernelStep]) -> Iterator[Fold]:
    """All aggregates over lists."""
    for step in walk_steps(steps):
        match step:
            case RepeatStep(running=running, final=final) | Follow(running=running, final=final):
                yield from (*running, *final)
            case EachElement(running=running, inner=inner):
                yield from (*running, *inner)


def registered_folds(steps: Iterable[KernelStep]) -> tuple[Fold, ...]:
    """Those of them that are functions of users."""
    return tuple(fold for fold in called_folds(steps) if not fold.of_values)


def called_folds(steps: Iterable[KernelStep]) -> tuple[Fold, ...]:
    """Those of them for which a function is called with each list."""
    return tuple(dict.fromkeys(fold for fold in folds(steps) if fold.is_called))


def declared_calls(steps: Iterable[KernelStep]) -> tuple[ApplyDeclared, ...]:
    """The calls of users' functions in the conditions of the steps."""
    pending, found = list(conditions(steps)), []
    while pending:
        value = pending.pop()
        if isinstance(value, Apply):
            pending.extend(value.operands)
        if isinstance(value, OneByOne):
            pending.append(value.value)
        if isinstance(value, ApplyDeclared):
            found.append(value)
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class VariableOutput:
    """A variable of the result: a struct `name` whose `fields` are (field, column of the input).

    One that is `listed` is an array of such structs; with `inner` ones, for the variables of an iteration, of
    structs of structs, or of arrays, where these are listed, too."""

    variable: EventName
    name: str
    fields: tuple[tuple[str, str], ...] = ()
    listed: bool = False
    inner: tuple[VariableOutput, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that the fields are."""
        own = (column for _, column in self.fields)
        return (*own, *(column for output in self.inner for column in output.columns))

    @property
    def bound(self) -> tuple[tuple[EventName, VariableOutput], ...]:
        """What it is made of, by the names that rows have for it."""
        return tuple(self._bound(self.variable))

    def _bound(self, name: EventName) -> Iterator[tuple[EventName, VariableOutput]]:
        if not self.inner:
            yield name, self
        for one in self.inner:
            yield from one._bound(InnerList(name, str(one.variable)))


@dataclass(frozen=True)
class PatternProgram:
    """A pattern for a kernel, and the columns of the table it reads and writes.

    The input has `start` (and `end` where events last), `roles`: bit i is set where the event can play
    `roles[i]`; the `keys`, in whose order and then in that of `start` the rows come, or with a `grain`, a
    power of 2, in that of a hash of the keys and then of `start / grain`; and the columns that conditions and
    outputs name. Conditions compare columns of one of the `codings` by the order of their values. All others
    are numbers or truth values.

    `reach` is the widest window of time around the whole match, None if there is none: what lies further from
    the start of a match does not concern it. `looks_back` says that events before the start can. `leader` is
    a variable whose event starts every match, if there is one. With `everything`, events that can play no
    role come too. `unique` says that two ways through the program can find the same match. Of matches with
    the same single events, a `collapsed` program gives one, with the events of all their lists; of those with
    the same start, one with `furthest` gives one; of all matches of a key, one with `kept` gives those that
    are to be kept. `nested` programs are executed as NEEL does: for each row of its own, a check enumerates
    all that it looks for. Events of the same time come one after the other in the order of the columns
    `order`, if there are some; windows do not see that.
    """

    steps: tuple[KernelStep, ...]
    outputs: tuple[VariableOutput, ...]
    roles: tuple[str, ...]
    keys: tuple[str, ...] = ()
    codings: tuple[tuple[str, ...], ...] = ()
    lasting: bool = False
    counted: bool = False
    everything: bool = False
    reach: int | None = None
    looks_back: bool = True
    leader: EventName | None = None
    unique: bool = False
    collapsed: bool = False
    chunk: int | None = None
    grain: int | None = None
    nested: bool = False
    furthest: FurthestMatch | None = None
    order: tuple[str, ...] = ()
    kept: MatchSelection | None = None
    labels: tuple[tuple[EventName, str], ...] = ()
    """For messages: how the pattern writes a variable, `("r", "Recycle r")`."""
    clock: str = "MILLISECOND"
    """For messages: what `start` counts, a unit; or TIMESTAMP, TIMESTAMP_NTZ (microseconds), DATE (days)."""

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The columns that say when events are."""
        return ("start", "end") if self.lasting else ("start",)


# Programs for events whose times are imprecise.

CHUNK, CHUNK_WIDTH = "chunk", "chunk_width"
"""Columns of events where time is cut: the number of the chunk, and how wide all chunks are. How imprecise
times are is known only when they are read."""


TIME_SHAPE, TIME_WEIGHTS = "time shape", "time weights"
"""Columns of events whose times are not equally likely: the name of their distribution, or a list of weights,
one for each time. Where both are NULL, times are equally likely. No other column has a name with a blank."""


@dataclass(frozen=True)
class ImpreciseProgram(PatternProgram):
    """A program that gives each match its confidence. Of the input, `start` is the earliest time of an event
    and `end` the latest; its last step is `Weigh` or `WeighTimes`. `reach` is the window; the keys may end in
    CHUNK_WIDTH and CHUNK."""

    shapes: tuple[str, ...] = ()
    """Those of TIME_SHAPE and TIME_WEIGHTS that events have."""

    @property
    def time_columns(self) -> tuple[str, ...]:
        return (*super().time_columns, *self.shapes)

    @property
    def is_cut(self) -> bool:
        return self.keys[-1:] == (CHUNK,)

    @property
    def has_checks(self) -> bool:
        """Whether events beside its own decide on a match."""
        last = self.steps[-1]
        return bool(
            last.checks if isinstance(last, WeighTimes) else isinstance(last, Weigh) and last.negations
        )


# Programs for streams without end.


@dataclass(frozen=True)
class ScopeEnd:
    """Where the scope of a negation ends: the instant before the first of the `events` starts that the match
    has; if it has none of them, at its end or with its window, if one of these is `otherwise`. The negation
    concerns only matches that have an event of the name `taken`, if that is given: those of its branch. It
    may be decided earlier: by the first event of the key that starts after the last one in `next_after`."""

    events: tuple[EventName, ...] = ()
    otherwise: str | None = None
    taken: EventName | None = None
    next_after: tuple[EventName, ...] = ()


END, WINDOW = "end", "window"


@dataclass(frozen=True)
class Emission:
    """When a match is sure: when the watermark has reached the latest of the times that are listed here. With
    none, as soon as its events have come.

    `window`: its start plus the window; with a window of EVENTS, when as many are known. `end`: its end.
    `scopes`: the ends of what negations look at. `compared`: two ways can lead to one match, so what was sure
    before is found again, and compared."""

    window: bool = False
    end: bool = False
    scopes: tuple[ScopeEnd, ...] = ()
    compared: bool = False

    @property
    def is_immediate(self) -> bool:
        return not (self.window or self.end or self.scopes)

    @property
    def may_wait(self) -> bool:
        """Whether some matches wait for their window."""
        return self.window or any(scope.otherwise == WINDOW for scope in self.scopes)


MATCH_START, MATCH_END = "match_start", "match_end"

MATCHES = "matches"
"""The column of a group's matches: a list of structs."""


@dataclass(frozen=True)
class MatchValue:
    """What a match has: the `column` of the event of a `variable`, NULL where that is absent. Without a
    variable, MATCH_START or MATCH_END; with `computed`, a column that does not fall from one time to the
    next, what it is for that time."""

    column: str
    variable: EventName | None = None
    computed: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of events that it is made of, but for their times."""
        return (self.column,) if self.variable else (self.computed,) if self.computed else ()


@dataclass(frozen=True)
class MatchGrouping:
    """Matches with the same `values` belong together. The one at `time` is a time of the match, or the start
    of one of its events, or if groups `span` more than an instant, the last such time of the group: so a
    group has all its matches when a window has passed since then. Groups with different values of `keys`,
    columns of the program, have none in common."""

    values: tuple[MatchValue, ...]
    time: int
    keys: tuple[str, ...] = ()
    span: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of events that it reads."""
        return tuple(dict.fromkeys(column for value in self.values for column in value.columns))


@dataclass(frozen=True)
class StreamedPattern:
    """A program whose matches are emitted as soon as they are sure; of those that belong together, the first
    that is sure, if they are to be `distinct`. No match is longer than `window`, a time of the program's
    clock, or holds more than `events`: one of them is not None, unless it is `single`. Then a match is one
    event, and sure when that comes, so nothing is kept."""

    program: PatternProgram
    emission: Emission = Emission()
    window: int | None = None
    events: int | None = None
    distinct: MatchGrouping | None = None
    single: bool = False

    @property
    def windows_kept(self) -> int:
        """How many windows before the watermark an event may be needed. What spoils a match starts no more
        than one before its end; and the end is after the watermark, unless the match waits for a window from
        its start on. A collapsed row waits for one from its single events on, and has matches that started
        one before them. With ONE MATCH PER, matches that start a window earlier may have the same events."""
        looks_back = self.program.looks_back or self.program.collapsed
        kept = self.program.kept
        return 1 + (looks_back and self.emission.may_wait) + (kept is not None and bool(kept.one_per))


@dataclass(frozen=True)
class StreamedImprecise:
    """A program for events with imprecise times, whose matches are emitted as soon as they are sure. No match
    is longer than `window`, a time of the program's clock."""

    program: ImpreciseProgram
    window: int

    @property
    def is_immediate(self) -> bool:
        """Whether nothing but its own events decides on a match."""
        return not self.program.has_checks

    @property
    def windows_kept(self) -> int:
        """How many windows before the watermark the latest time of an event may be that is needed."""
        return 1 + (self.program.looks_back and not self.is_immediate)


@dataclass(frozen=True)
class StreamedGroups:
    """A program whose matches are aggregated by group: a row for each group, when all its matches are known.
    If they are `distinct`, one of them stands for all, from the first start to the last end. No match is
    longer than `window`, a time of the program's clock."""

    program: PatternProgram
    grouping: MatchGrouping
    window: int
    distinct: bool = False

    @property
    def has_starts(self) -> bool:
        """Whether groups have the time at which their matches start."""
        time = self.grouping.values[self.grouping.time]
        return time.variable == self.program.leader if time.variable else time.column == MATCH_START

    @property
    def windows_kept(self) -> int:
        """How many windows before the watermark an event may be needed: groups wait for a window, their
        matches may start one earlier, and look back by one more."""
        return 1 + (not self.has_starts) + self.program.looks_back


StreamedProgram: TypeAlias = (
    "StreamedPattern | StreamedGroups | StreamedImprecise | SnapshotNetwork | StreamedRows"
)
"""What a query in any language runs over streams without end."""


# Queries that read queries, over streams without end: a network of programs that one operator runs.

ELEMENT, PLACE = ColumnValue("", "#element"), ColumnValue("", "#place")
"""In what is computed for each element of a list: the element, and its place, counted from 0."""


@dataclass(frozen=True)
class ListColumn:
    """One more column of rows: the value of `argument` for each of the `elements` of a list, but for those
    from the place `end` on, which counts as Python's do. With a `function`, its aggregate over those values
    that are not NULL; of no list, that of an empty one."""

    name: str
    elements: Value
    argument: Value
    type: ValueType
    function: str | None = None
    distinct: bool = False
    end: int | None = None


@dataclass(frozen=True)
class ProjectedColumn:
    """A column that is computed from a row. `ColumnValue("", name)` is a column of the row, and
    `ColumnValue(struct, name)` a field of one that is a struct."""

    name: str
    value: Value
    type: ValueType


@dataclass(frozen=True)
class RowProjection:
    """What a worker makes of rows: the `columns` of those that meet all conditions of `where`; both may
    name the `lists`, and each of these those before it."""

    columns: tuple[ProjectedColumn, ...]
    where: tuple[Value, ...] = ()
    lists: tuple[ListColumn, ...] = ()


NODE = "node number"
"""The column of rows from outside that has the number of the node that reads them. No column of events has a
name with a blank."""


@dataclass(frozen=True)
class NodeReading:
    """The rows of an earlier node, as the events that another one reads."""

    node: int
    projection: RowProjection


@dataclass(frozen=True)
class NetworkNode:
    """A query of a network. It reads the rows from outside that have its number in the column NODE, and those
    of earlier nodes. If others read it, `rows` makes rows of its results.

    Its watermark is that of the stream less `lag`: so much later at most do the results of earlier nodes
    come. With `reads`, `schema` are the columns of its events, wherever they come from."""

    name: str
    program: StreamedProgram
    lag: int = 0
    rows: RowProjection | None = None
    reads: tuple[NodeReading, ...] = ()
    schema: tuple[tuple[str, ValueType], ...] = ()


@dataclass(frozen=True)
class NetworkProgram:
    """Queries that read each other, each after those that it reads; the results are those of the last. If it
    is `zoned`, what they return depends on the time zone of the session."""

    nodes: tuple[NetworkNode, ...]
    zoned: bool = False


# The aggregates over lists that kernels can compute. The compiler looks here: it does not load NumPy.

FOLDS = frozenset(
    """
    avg count first last max mean min sum
    stddev stddev_pop stddev_samp var_pop var_samp variance
    """.split()
)
