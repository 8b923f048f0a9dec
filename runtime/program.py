"""Programs: what a kernel executes, flat and printable. This is what travels to Spark's workers.

A program builds matches step by step. Its state is a table with one row for each partial match and one column
for each variable, which holds an event or a list, or nothing where the variable is absent. It starts with one
row that has nothing. Each step changes the table: `Take` binds a variable, `Choose` splits rows by the
branches of an OR, `Repeat` binds a list, `Follow` all that a run binds, `Filter`, `Absent`, `Present` and
`AnyBound` drop rows. A step with a `when` concerns only the rows with these choices; others pass unchanged.

All times are whole numbers of one unit. An event that is absent bounds nothing and equals nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from neelc.runtime.elements import EachElement as EachElement
from neelc.runtime.levels import Furthest
from neelc.runtime.moves import Closure as Closure
from neelc.runtime.moves import Judged as Judged
from neelc.runtime.moves import Move as Move
from neelc.runtime.moves import State as State
from neelc.runtime.weighing import Likely, Weigh

ALL, EARLIEST, LATEST, ANY = "ALL", "EARLIEST", "LATEST", "ANY"

When = tuple[tuple[str, int], ...]
"""Marks of `Choose` and the choices that a step is for."""


@dataclass(frozen=True)
class Column:
    """A computed column of the event that a variable is bound to; NULL where the variable is absent."""

    variable: str
    name: str


@dataclass(frozen=True)
class Constant:
    """A number or a truth value; None is NULL."""

    value: bool | int | float | None


@dataclass(frozen=True)
class Apply:
    """An operation on values, with SQL's NULLs. `kernels/operations.py` has the table of operations.

    `agrees` is `[id]` between two events: true where one is absent, else equality. `type` is the type of an
    arithmetic result (`int`, `bigint`, `double` ...): what does not fit is NULL.
    """

    operation: str
    operands: tuple[Value, ...]
    type: str | None = None


@dataclass(frozen=True)
class Total:
    """The value of a `Fold` over a list, as it was when the list was last looked at."""

    name: str


Value = Column | Constant | Apply | Total


@dataclass(frozen=True)
class Within:
    """The event lies inside what a window of `width` leaves around `events`: it starts no earlier than the
    latest end of them less `width`, and ends no later than their earliest start plus `width`.

    `counted` windows are measured in places instead of times: see `Events.first`. A `member` must itself
    fit into the window: it is one of the events that the window is for.
    """

    events: tuple[str, ...]
    width: int
    counted: bool = False
    member: bool = False


@dataclass(frozen=True)
class Between:
    """AND_NEG: strictly between the two groups of events, whichever comes first. Where they overlap, or one
    group has no event, there is no room."""

    one: tuple[str, ...]
    other: tuple[str, ...]


@dataclass(frozen=True)
class Bounds:
    """Where an event may lie: it starts after the end of each of `after`, ends before the start of each of
    `before`, and keeps to each of the other limits."""

    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    within: tuple[Within, ...] = ()
    between: tuple[Between, ...] = ()


EVERYWHERE = Bounds()


@dataclass(frozen=True)
class Choose:
    """Each row once for each of `count` choices: 0, 1, ... under the name `mark`."""

    mark: str
    count: int
    when: When = ()


@dataclass(frozen=True)
class Take:
    """Bind `variable` to each event of `role` that lies within `bounds`, differs from the events of `differs`
    and meets all conditions of `where`; a row without such an event is dropped.

    `pick` other than ALL keeps at most one of the events for each row: the one that ends EARLIEST, or starts
    LATEST, or ANY. The compiler says so where the others cannot matter, inside `Absent` and `Present` only.
    Each of `until` is a list of events, each the earliest after others: where all of them are there, the
    event starts no later than the last of them ends."""

    variable: str
    role: str
    bounds: Bounds = EVERYWHERE
    differs: tuple[str, ...] = ()
    where: tuple[Value, ...] = ()
    pick: str = ALL
    when: When = ()
    until: tuple[tuple[Take, ...], ...] = ()


@dataclass(frozen=True)
class Rename:
    """What `variable` is bound to is bound to `new` from now on: branches of an OR that share an event have
    names of their own for it."""

    variable: str
    new: str
    when: When = ()


@dataclass(frozen=True)
class Filter:
    """Keep the rows for which the condition is true."""

    condition: Value
    when: When = ()


@dataclass(frozen=True)
class AnyBound:
    """Keep the rows in which one of the variables at least is bound."""

    variables: tuple[str, ...]
    when: When = ()


@dataclass(frozen=True)
class Absent:
    """Keep the rows that `steps` cannot extend."""

    steps: tuple[Step, ...]
    when: When = ()


@dataclass(frozen=True)
class Present:
    """Keep the rows that `steps` can extend, each once. What the steps bind is dropped."""

    steps: tuple[Step, ...]
    when: When = ()


@dataclass(frozen=True)
class Fold:
    """An aggregate over a list: `function` of the values that are not NULL of a column, in the order of the
    list. `kernels/folding.py` has the table of functions. Without a column: of the events themselves.

    One that is `registered` is a function that a user gives by this name, of all values, NULL or not."""

    name: str
    function: str
    list: str
    column: str | None = None
    type: str | None = None
    registered: bool = False


@dataclass(frozen=True)
class Repeat:
    """Bind a list: each row with each number of iterations from `least` to `most`; what an iteration binds is
    what `first`, or from the second one on `next`, finds.

    An iteration binds `names`: `b[i]` for a list of events, `k[i].a` and `k[i].b` for a list of pairs. The
    next one sees it as `b[i-1]`, `k[i-1].a`. Afterwards there are also `b[1]` and `b[last]`, of pairs
    `k[1].a` and `k[last].a`, and `k[1]` and `k[last]`: the event that starts first in the first iteration,
    and the one that ends last in the last. The lists themselves are called `b`; `k.a` and `k.b`.

    `running` folds are those that `next` asks for, over all iterations so far; `final` ones are for the steps
    that follow. `places` are those of other elements that they name, 2 for `b[2]`. If one of the `early`
    conditions fails for the list of all events that could be elements, it fails for every part of it: such
    rows are dropped before any list is put together.
    """

    variable: str
    names: tuple[str, ...]
    first: tuple[Step, ...]
    next: tuple[Step, ...]
    least: int = 1
    most: int | None = None
    running: tuple[Fold, ...] = ()
    final: tuple[Fold, ...] = ()
    early: tuple[Value, ...] = ()
    when: When = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Follow:
    """Bind all variables of a SEQ, event by event: each run goes on with what qualifies for one of its moves
    at the next instant at which something does, or with `contiguous` events, at the next instant there is.
    If more than one event qualifies, or for more than one move, the run splits.
    `marks` are those of choices that a run makes: 1 where the variable has an event."""

    states: tuple[State, ...]
    moves: tuple[Move, ...]
    closures: tuple[Closure, ...] = ()
    contiguous: bool = False
    running: tuple[Fold, ...] = ()
    final: tuple[Fold, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    when: When = ()


Step = (
    Choose | Take | Rename | Filter | AnyBound | Absent | Present | Repeat | EachElement | Follow
    | Likely | Weigh
)  # fmt: skip


@dataclass(frozen=True)
class Output:
    """A variable of the result: a struct `name` whose `fields` are (field, column of the input).

    One that is `listed` is an array of such structs; with `inner` ones, of structs of structs."""

    variable: str
    name: str
    fields: tuple[tuple[str, str], ...] = ()
    listed: bool = False
    inner: tuple[Output, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that the fields are."""
        own = (column for _, column in self.fields)
        return (*own, *(column for output in self.inner for column in output.columns))


@dataclass(frozen=True)
class Program:
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
    the same start, one that wants the `furthest` gives one. `nested` programs are executed as NEEL does: for
    each row of its own, a check enumerates all that it looks for.
    """

    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    roles: tuple[str, ...]
    keys: tuple[str, ...] = ()
    codings: tuple[tuple[str, ...], ...] = ()
    lasting: bool = False
    counted: bool = False
    everything: bool = False
    reach: int | None = None
    looks_back: bool = True
    leader: str | None = None
    unique: bool = False
    collapsed: bool = False
    chunk: int | None = None
    grain: int | None = None
    nested: bool = False
    furthest: Furthest | None = None
    labels: tuple[tuple[str, str], ...] = ()
    """For messages: how the pattern writes a variable, `("r", "Recycle r")`."""
    clock: str = "MILLISECOND"
    """For messages: what `start` counts, a unit; or TIMESTAMP, TIMESTAMP_NTZ (microseconds), DATE (days)."""
