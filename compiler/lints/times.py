"""Which terms of a condition are times of events."""

from __future__ import annotations

from collections.abc import Sequence

from neelc.ir import expr as e
from neelc.ir.logical import Stream
from neelc.ir.names import same
from neelc.ir.node import walk

Time = e.Attribute | e.EventTime


def times_in(condition: e.Expr, streams: Sequence[Stream]) -> frozenset[Time]:
    """The terms that hold a time of an event, if that is of one of the streams that keep it in such a column.

    >>> from neelc.rewrite.examples import query
    >>> asked = query("SEQ(A a, B b) WHERE b.ts - a.ts < a.n")
    >>> sorted(map(str, times_in(asked.pattern.where, asked.streams)))
    ['a.ts', 'b.ts']
    """
    columns = [
        column
        for stream in streams
        for column in (stream.start, stream.end, stream.latest)
        if column is not None
    ]
    return frozenset(
        node
        for node in walk(condition)
        if isinstance(node, e.EventTime)
        or (isinstance(node, e.Attribute) and any(same(node.name, column) for column in columns))
    )
