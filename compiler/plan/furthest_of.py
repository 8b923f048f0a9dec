"""WITH PARTIAL MATCHES, for the kernel: which match of each start is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neelc.ir.logical import Match
from neelc.plan.kernel_outputs import START
from neelc.runtime.levels import Furthest, Level
from neelc.runtime.program import Output


def furthest_of(query: Match, outputs: Sequence[Output]) -> Furthest | None:
    """What tells matches of one start apart: the levels of the query, and the values that it returns.

    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, B b) WITH PARTIAL MATCHES RETURN b.x")
    >>> furthest_of(match, [Output("a_1", ""), Output("b_2", "b_2", (("x", "x"), ("start", "start")))])
    Furthest(levels=(Level(start='a_1', hints=()), Level(start='a_2', hints=())), compared=(('b_2', ('x',)),))
    """
    if query.partial is None:
        return None
    levels = tuple(Level(level.start, level.hints) for level in query.partial.levels)
    return Furthest(levels, tuple(_compared(outputs)))


def _compared(outputs: Sequence[Output]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The columns of each variable. That of its start says nothing that its time has not said."""
    for output in outputs:
        for one in output.inner or (output,):
            columns = tuple(column for _, column in one.fields if column != START)
            if columns:
                yield one.variable, columns
