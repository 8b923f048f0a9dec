"""The programs of the kernels over snapshots: aggregates, canonical intervals, and whole networks of
operators over streams. The compiler loads this too: no NumPy here."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.runtime.kernels.sequential.program import SequentialProgram
from neelc.runtime.kernels.temporal.program import TemporalProgram
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import ListColumn, Value

COUNT, SUM, AVERAGE, LEAST, GREATEST = "count", "sum", "avg", "min", "max"
DISTINCT, LIST = "count_distinct", "list"
"""The number of different values, and all of them, for functions of users."""
DEVIATIONS = ("stddev_samp", "stddev_pop", "var_samp", "var_pop")

FUNCTIONS = (COUNT, SUM, AVERAGE, LEAST, GREATEST, DISTINCT, LIST, *DEVIATIONS)

FOREVER = (1 << 63) - 1
"""The end of what never ends."""


@dataclass(frozen=True)
class SnapshotAggregate:
    """An aggregate: the column of its argument, None for count(*), and the name of its results.

    `decimal` is the precision and the scale of a result that is DECIMAL.
    """

    function: str
    column: str | None
    name: str
    decimal: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ValueError(f"{self.function} is not an aggregate over snapshots")


@dataclass(frozen=True)
class SnapshotProgram:
    """Aggregates of the events that are valid at an instant, for each combination of `keys`.

    Rows have `start` and `end`, whole numbers; an event is valid from its start to before its end. They come
    with equal keys together, in the order of `start`. If there is a `chunk`, the last key is the number of a
    chunk of time of this width, and only instants of that chunk count. `label` is for messages.
    """

    keys: tuple[str, ...]
    aggregates: tuple[SnapshotAggregate, ...]
    chunk: int | None = None
    label: str = ""


@dataclass(frozen=True)
class CoalesceProgram:
    """The same snapshots in canonical intervals: for every combination of `keys` and every k from 1, the
    longest intervals in which it is there at least k times. Rows come as for a `SnapshotProgram`."""

    keys: tuple[str, ...]
    label: str = ""


# Networks over streams: a tree of operators, which one kernel runs.
#
# The rows of an operator have named columns, `start` and `end`. A name stands for one column in the whole
# network, so that a row of a correlation has the columns of both sides.


@dataclass(frozen=True)
class SnapshotOperator:
    """What makes rows with valid times."""

    @property
    def inputs(self) -> tuple[SnapshotOperator, ...]:
        return tuple(
            one for one in vars(self).values() if isinstance(one, SnapshotOperator)
        )  # in the order of the fields


SOURCE = "source"
"""The column with the number of a row's input. A network with one input needs none."""


@dataclass(frozen=True)
class SnapshotInput(SnapshotOperator):
    """The events of an input: the rows that have its `number` in the column SOURCE."""

    number: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class SnapshotTimeWindow(SnapshotOperator):
    """Each event ends `longer` later; with a `jump`, it starts and ends at its next multiples."""

    input: SnapshotOperator
    longer: int
    jump: int | None = None


@dataclass(frozen=True)
class SnapshotCountWindow(SnapshotOperator):
    """Of each combination of `keys` the `size` latest events; what is valid changes after every `jump` of
    them."""

    input: SnapshotOperator
    size: int
    jump: int = 1
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class SnapshotFilter(SnapshotOperator):
    """The rows for which the condition is TRUE."""

    input: SnapshotOperator
    condition: Value


@dataclass(frozen=True)
class ComputedColumn:
    """A column, computed of others of its row; `type` is as Spark writes it."""

    name: str
    value: Value
    type: str


@dataclass(frozen=True)
class SnapshotProjection(SnapshotOperator):
    """Rows computed of rows, one of one."""

    input: SnapshotOperator
    columns: tuple[ComputedColumn, ...]


@dataclass(frozen=True)
class SnapshotCorrelation(SnapshotOperator):
    """The pairs of rows that are valid together, where the columns `equal` are, a column of the left with one
    of the right, and the condition, if any, is TRUE."""

    left: SnapshotOperator
    right: SnapshotOperator
    equal: tuple[tuple[str, str], ...] = ()
    condition: Value | None = None


@dataclass(frozen=True)
class SnapshotMerging(SnapshotOperator):
    """The rows of both: they have columns of the same names."""

    left: SnapshotOperator
    right: SnapshotOperator


@dataclass(frozen=True)
class SnapshotAggregation(SnapshotOperator):
    """The aggregates of a program without chunks: its keys, and then its results."""

    input: SnapshotOperator
    program: SnapshotProgram


@dataclass(frozen=True)
class SnapshotCoalescing(SnapshotOperator):
    """The longest intervals of equal rows: all columns of the input are keys."""

    input: SnapshotOperator
    program: CoalesceProgram


@dataclass(frozen=True)
class SnapshotMatching(SnapshotOperator):
    """The matches of MATCH_RECOGNIZE_SEQUENTIAL, each valid for `lasting` from its last event on; or those of
    MATCH_RECOGNIZE_TEMPORAL, from when they are decided on, which may be long before they come.

    `columns` are those of the input for columns of the program. `symbols` are for each symbol a column of
    truth values, whether an event emits it, None if all do. `outputs` are the columns for the
    program's outputs; instead of those that have lists, there are the aggregates of these, `lists`."""

    input: SnapshotOperator
    program: SequentialProgram | TemporalProgram
    columns: tuple[tuple[str, str], ...]
    symbols: tuple[str | None, ...]
    outputs: tuple[str, ...]
    lasting: int = 1
    lists: tuple[ListColumn, ...] = ()


@dataclass(frozen=True)
class SnapshotNetwork:
    """A network for streams; of the rows of `root`, these `columns` are its results. `label` is for
    messages."""

    root: SnapshotOperator
    columns: tuple[str, ...]
    label: str = ""


def operators(root: SnapshotOperator) -> Iterator[SnapshotOperator]:
    """All operators, inputs first."""
    for one in root.inputs:
        yield from operators(one)
    yield root
