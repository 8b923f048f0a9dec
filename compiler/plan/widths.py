"""Times as whole numbers: the unit that a query counts in, and its windows in that unit."""

from __future__ import annotations

from collections.abc import Mapping

from neelc.ir.algebra import Algebra
from neelc.ir.expr import Literal
from neelc.ir.logical import Match, Stream
from neelc.ir.pattern import Window
from neelc.ir.types import DATE, TIMESTAMP, TIMESTAMP_NTZ
from neelc.ir.units import LENGTHS

LONGEST = 2**61
"""Windows that are longer than all times: adding them to a time does not overflow."""


def unit_of(query: Match, results: Mapping[str, str] | None = None) -> str:
    """The unit that holds the times of all streams without rounding; `results` are the units of earlier
    queries.

    >>> from neelc.rewrite.examples import query
    >>> unit_of(query("SEQ(A a, B b)"))
    'MILLISECOND'
    """
    known = results or {}
    units = (known.get(stream.query or "") or stream_unit(stream) for stream in query.streams)
    return min(units, key=LENGTHS.__getitem__)


def network_unit(query: Algebra, results: Mapping[str, str] | None = None) -> str:
    """The same for a SELECT: of all streams that have times, and of the clock of its result."""
    known = results or {}
    timed = (stream for stream in query.streams if not stream.is_relation)
    units = [known.get(stream.query or "") or stream_unit(stream) for stream in timed]
    own = query.clock.unit or ("DAY" if query.clock.type == DATE else "MICROSECOND")
    return min((*units, own), key=LENGTHS.__getitem__)


def stream_unit(stream: Stream) -> str:
    """The unit of a stream's times."""
    kinds = {column.type for column in stream.columns if column.name == stream.start}
    if kinds & {TIMESTAMP, TIMESTAMP_NTZ}:
        return "MICROSECOND"
    return "DAY" if DATE in kinds else stream.unit


def width_of(window: Window, unit: str) -> tuple[int, bool]:
    """The width of a window in whole units, or in events; and whether it counts events.

    All times are whole units, so a part of a unit makes no difference.

    >>> from neelc.ir.types import INT
    >>> width_of(Window(Literal(1500, INT), "MILLISECOND"), "SECOND")
    (1, False)
    """
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int), (
        "a bound window has a count"
    )
    if window.unit == "EVENT":
        return window.count.value, True
    return min(LONGEST, window.count.value * LENGTHS[window.unit or unit] // LENGTHS[unit]), False
