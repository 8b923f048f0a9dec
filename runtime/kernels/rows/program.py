"""What the planner makes of a MATCH_RECOGNIZE: plain data, which can be printed.

Variables are numbers, and a set of variables is a mask: bit v stands for variable v. A *place* is one
occurrence of a variable in the pattern, written out: `A{2}` has two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import Apply, ColumnValue
from neelc.runtime.program import Value as Expression
from neelc.runtime.values.types import ValueType

ACCEPT = -1
"""The choice to end the match here."""

Choices = tuple[int, ...]
"""Places, or ACCEPT, that may come next: the preferred one first."""


@dataclass(frozen=True)
class Machine:
    """An automaton whose steps each take a row.

    `variables` and `excluded` are those of each place. `first` are the choices at the first row of a
    partition, `start` at any other row, `after` those after each place. `ends` says whether the match may end
    after a place if that took the last row of the partition.
    """

    variables: tuple[int, ...]
    excluded: tuple[bool, ...]
    first: Choices
    start: Choices
    after: tuple[Choices, ...]
    ends: tuple[bool, ...]


@dataclass(frozen=True)
class RowLocation:
    """The row at `place` among those of the match that are mapped to `variables`, from the first or (`last`)
    back from the last, and then `shift` rows on. Unless `final`, rows after the current one do not count."""

    variables: int
    last: bool = True
    place: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True)
class ValueOutput:
    """A column of the result: the value of an input column at a row; the variable of that row for None."""

    name: str
    at: RowLocation
    column: str | None


@dataclass(frozen=True)
class CountOutput:
    """A column of the result: how many rows of the match are mapped to `variables`."""

    name: str
    variables: int
    final: bool = False


@dataclass(frozen=True)
class ValuesOutput:
    """A column of the result: the values of an input column, or the variables, of all rows of the match that
    are mapped to `variables`; unless `final`, of those up to the current one."""

    name: str
    variables: int
    column: str | None
    final: bool = True


@dataclass(frozen=True)
class MembershipOutput:
    """A column of the result: whether the current row is mapped to `variables`. For ALL ROWS PER MATCH."""

    name: str
    variables: int


@dataclass(frozen=True)
class PropertyOutput:
    """A column of the result: MATCH_NUMBER, ROW (the number of the row in its match) or EXCLUDED."""

    name: str
    of: str


Output = ValueOutput | CountOutput | ValuesOutput | MembershipOutput | PropertyOutput


MATCH = "match"
OF_MATCH = CLASSIFIER, MATCH_NUMBER = ColumnValue(MATCH, "classifier"), ColumnValue(MATCH, "number")
"""What CLASSIFIER() and MATCH_NUMBER() are in a row's match."""


@dataclass(frozen=True)
class RowArgument:
    """A value of a row that depends on its match: operations on `columns` of the row, on CLASSIFIER and on
    MATCH_NUMBER."""

    expression: Expression
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ConditionValue:
    """A value that a condition reads: of one row (`at`), an aggregate over rows (`name`, of `type`), or
    the number of the match if there is neither. `column` None is the variable; of an aggregate, the row."""

    at: RowLocation | None = None
    column: str | RowArgument | None = None
    name: str | None = None
    variables: int = 0
    type: ValueType | None = None
    distinct: bool = False


@dataclass(frozen=True)
class RowCondition:
    """What a row must meet besides its bit, if it is mapped to `variable`: operations on columns `names`,
    which have the values of `looked`."""

    variable: int
    expression: Expression
    names: tuple[str, ...]
    looked: tuple[ConditionValue, ...]


@dataclass(frozen=True)
class NearbyCondition:
    """What a row must meet besides its bit, if it is mapped to `variable`: an expression over rows at fixed
    distances. A column has the distance as its variable: `ColumnValue("-1", "x")` is of the row before."""

    variable: int
    condition: Expression


@dataclass(frozen=True)
class RowOrder:
    """Rows come sorted by one number (`neelc.runtime.order`), which has `column` in ticks of `grain`; in
    their partition they belong in the order of the column."""

    column: str
    grain: int
    descending: bool = False
    nulls_last: bool = False


@dataclass(frozen=True)
class RowProgram:
    """A clause. `names` are those of the variables; `keys` the columns that partition the rows.

    A row meets the condition of variable v if it has bit v in the column `bits`, where there is one
    (`flagged`), and meets what `nearby` and `conditions` say of v; and if the first row of its match meets
    what `starting` says of v. `codings` are columns that are compared with each other.

    `all_rows` is None for one row per match, else SHOW, OMIT or UNMATCHED; `skip` is PAST, NEXT, FIRST or
    LAST, the last two of the rows mapped to `skip_to`. A match holds at most `rows` rows, and the column
    `time` differs by at most `reach` between its ends. Rows come in their order, unless `order` says which.
    `zoned` says that `conditions` depend on the session's time zone.
    """

    machine: Machine
    names: tuple[str, ...]
    keys: tuple[str, ...]
    outputs: tuple[Output, ...]
    own: tuple[str, ...] = ()
    all_rows: str | None = None
    skip: str = "PAST"
    skip_to: int = 0
    flagged: bool = False
    nearby: tuple[NearbyCondition, ...] = ()
    codings: tuple[tuple[str, ...], ...] = ()
    conditions: tuple[RowCondition, ...] = ()
    reach: int | None = None
    rows: int | None = None
    order: RowOrder | None = None
    starting: tuple[NearbyCondition, ...] = ()
    zoned: bool = False
    label: str = field(default="", compare=False)


KEPT_COLUMNS = STATE, NUMBER = "row state", "matches found"
"""What is kept with rows and with keys of a stream."""


@dataclass(frozen=True)
class StreamedRows:
    """A clause over a stream without end. Rows are in the order of `start`, the program's time, and then of
    `ties`. Without a window of the program's, a match is decided when `longest` rows have come from its first
    row on. Conditions and outputs look at most `behind` rows before a match: so many rows of each key stay.

    If `numbered`, matches are counted, and if `anchored`, the first row of a key is a special one: then every
    key is remembered for ever.
    """

    program: RowProgram
    ties: tuple[RowOrder, ...] = ()
    longest: int | None = None
    behind: int = 0
    numbered: bool = False
    anchored: bool = False

    @property
    def remembers_keys(self) -> bool:
        return self.numbered or self.anchored

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of rows that are read, `start` among them."""
        bits = ("bits",) if self.program.flagged else ()
        ties = (one.column for one in self.ties)
        return tuple(dict.fromkeys(("start", *bits, *columns_read(self.program), *ties)))


def nearby_columns(program: RowProgram) -> tuple[str, ...]:
    """The columns that conditions about rows at fixed distances read.

    >>> falls = NearbyCondition(0, Apply("<", (ColumnValue("0", "price"), ColumnValue("-1", "price"))))
    >>> nearby_columns(RowProgram(Machine((), (), (), (), (), ()), (), (), (), nearby=(falls,)))
    ('price',)
    """
    return tuple(dict.fromkeys(column.name for column in _nearby(program)))


def _nearby(program: RowProgram) -> Iterator[ColumnValue]:
    for one in (*program.nearby, *program.starting):
        yield from _columns_of(one.condition)


def nearby_distances(condition: NearbyCondition) -> set[int]:
    """The distances of the rows that a condition reads."""
    return {int(str(column.variable)) for column in _columns_of(condition.condition)}


def _columns_of(value: Expression) -> Iterator[ColumnValue]:
    pending = [value]
    while pending:
        match pending.pop():
            case ColumnValue() as column:
                yield column
            case Apply(operands=operands):
                pending.extend(reversed(operands))


def sight(program: RowProgram) -> tuple[int, int]:
    """How many rows before a match, and after its last row, its conditions and outputs look at.

    >>> falls = NearbyCondition(0, Apply("<", (ColumnValue("0", "price"), ColumnValue("-2", "price"))))
    >>> after = ValueOutput("next", RowLocation(1, shift=3), "price")
    >>> sight(RowProgram(Machine((), (), (), (), (), ()), (), (), (after,), nearby=(falls,)))
    (2, 3)
    """
    looked = (one.at for condition in program.conditions for one in condition.looked)
    shown = (one.at for one in program.outputs if isinstance(one, ValueOutput))
    shifts = [one.shift for one in (*looked, *shown) if one is not None]
    shifts += [int(str(column.variable)) for column in _nearby(program)]
    return max((-shift for shift in shifts if shift < 0), default=0), max((*shifts, 0))


def looked_columns(program: RowProgram) -> tuple[str, ...]:
    """The columns that conditions on the path read.

    >>> argument = RowArgument(CLASSIFIER, ("x", "y"))
    >>> rises, named = (ConditionValue(RowLocation(1), what) for what in ("x", argument))
    >>> condition = RowCondition(0, CLASSIFIER, (), (rises, named, ConditionValue(RowLocation(2))))
    >>> looked_columns(RowProgram(Machine((), (), (), (), (), ()), (), (), (), conditions=(condition,)))
    ('x', 'y')
    """
    found: dict[str, None] = {}
    for one in (one.column for condition in program.conditions for one in condition.looked):
        match one:
            case str():
                found.setdefault(one)
            case RowArgument(columns=columns):
                found.update(dict.fromkeys(columns))
    return tuple(found)


def columns_read(program: RowProgram) -> tuple[str, ...]:
    """The columns of rows that a program reads, besides `bits` and `time`."""
    looked = looked_columns(program)
    taken = (one.column for one in program.outputs if isinstance(one, ValueOutput | ValuesOutput))
    order = () if program.order is None else (program.order.column,)
    found = (*program.keys, *order, *program.own, *nearby_columns(program), *looked, *taken)
    return tuple(name for name in dict.fromkeys(found) if name)


def is_first_row(at: RowLocation, machine: Machine) -> bool:
    """Whether it is always the first row of the match, or one at a distance from it.

    >>> machine = Machine((0, 1), (False, False), (0,), (0,), ((0, 1), (ACCEPT,)), (False, True))  # A+ B
    >>> is_first_row(RowLocation(0b01, last=False), machine), is_first_row(RowLocation(0b01), machine)
    (True, False)
    """
    start = {machine.variables[one] for one in (*machine.first, *machine.start) if one != ACCEPT}
    if at.place or not all(at.variables >> one & 1 for one in start):
        return False
    later = {machine.variables[one] for ways in machine.after for one in ways if one != ACCEPT}
    return not at.last or not any(at.variables >> one & 1 for one in later)


def depends_on_start_only(program: RowProgram) -> bool:
    """Whether conditions on the path depend on the first row of the match and the current row alone."""
    return all(
        _is_of_start(program, condition, looked)
        for condition in program.conditions
        for looked in condition.looked
    )


def _is_of_start(program: RowProgram, condition: RowCondition, looked: ConditionValue) -> bool:
    every = (1 << len(program.names)) - 1
    if looked.at is None:  # the rows so far, or the number of the match
        return looked.name is None or (looked.name == "rows" and looked.variables == every)
    if not isinstance(looked.column, str):
        return False
    return (
        looked.at.variables == every
        or is_first_row(looked.at, program.machine)
        or is_current(looked.at, condition.variable)
    )


def is_current(at: RowLocation, variable: int) -> bool:
    """Whether it is the row at which a condition of the variable is evaluated."""
    return at.last and at.place == 0 and bool(at.variables >> variable & 1)
