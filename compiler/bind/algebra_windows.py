"""WINDOW(...) in FROM: how long events stay valid."""

from __future__ import annotations

from neelc.bind.findings import Findings
from neelc.bind.relations import Names, Relation
from neelc.bind.windows import bind_window
from neelc.ir.algebra import CountWindow, Operator, TimeWindow, instant
from neelc.ir.expr import Attribute, Literal, Name
from neelc.ir.logical import Clock
from neelc.ir.pattern import Window
from neelc.ir.script import StreamWindow
from neelc.ir.units import LENGTHS


def bind_stream_window(
    window: StreamWindow, input: Operator, source: Relation, clock: Clock, findings: Findings
) -> Operator | None:
    """The input with its events valid as long as the window says; None, and a report, if it cannot be."""
    partition = _partition(window, source, findings)
    bound = [_length(one, clock, findings) for one in (window.size, window.jump) if one is not None]
    if any(one is None for one in bound):
        return None
    size, *jumps = [one for one in bound if one is not None]
    if window.size.unit == "EVENT":
        jump = _count(jumps[0]) if jumps else 1
        return CountWindow(input, _count(size), jump, partition, span=window.span)
    # "Partitioning can also be specified for time-based windows, but it has no effect" (JEPC thesis, 7.6).
    jumping = jumps[0] if jumps and _nanoseconds(jumps[0]) != instant(clock) else None
    return TimeWindow(input, size, jumping, clock=clock, span=window.span)


def check_partition(window: StreamWindow, source: Relation, findings: Findings) -> None:
    """Report names that are no columns, where the window cannot be bound."""
    _partition(window, source, findings)


def _partition(window: StreamWindow, source: Relation, findings: Findings) -> tuple[Attribute, ...]:
    names = Names((source,), findings)
    words = (Name((name,), span=findings.word(name, window, nth=-1)) for name in window.partition_by)
    found = [names.resolved(word) for word in words]
    return tuple(one for one in found if isinstance(one, Attribute))


def _length(window: Window, clock: Clock, findings: Findings) -> Window | None:
    """A whole number of events, or of instants of the stream, and at least one."""
    bound = bind_window(window, clock, findings)
    if bound is None or bound.unit == "EVENT":
        return bound
    length, smallest = _nanoseconds(bound), instant(clock)
    if length >= smallest and length % smallest == 0:
        return bound
    unit = next(name for name, size in LENGTHS.items() if size == smallest)
    message = f"{bound} is no whole number of {unit}S, the instants of this stream"
    if length == 0:
        message = "a window of no length holds nothing"
    findings.report("NEEL3302", message, findings.at(window), f"the shortest window is 1 {unit}")
    return None


def _count(window: Window) -> int:
    assert isinstance(window.count, Literal) and isinstance(window.count.value, int)
    return window.count.value


def _nanoseconds(window: Window) -> int:
    return _count(window) * LENGTHS[window.unit or ""]
