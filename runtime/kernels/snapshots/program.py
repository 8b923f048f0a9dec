"""The program of the kernel of snapshot aggregates. The compiler loads this too: no NumPy here."""

from __future__ import annotations

from dataclasses import dataclass

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
