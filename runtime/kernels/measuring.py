"""What the steps of a search do, counted while they run: only where somebody asks for it.

The counts of a task leave the worker in one more row, which has `MEASURED` alone. An observation of the
kernel's rows takes them, so that there is no job of their own, on Spark Connect neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, field, fields
from time import perf_counter
from typing import TYPE_CHECKING

from neelc.runtime.late_dataclass import dataclass

if TYPE_CHECKING:  # the compiler reads counts without NumPy and Arrow
    from neelc.runtime.kernels.frontier import Frontier

MEASURED = "#measured"
"""The column of counts. No variable is called so."""


@dataclass
class StepMeasures:
    """What the steps of a program have done, in their order: rows that they were given, rows that they left,
    and the seconds they took. A row is a partial match. `events` are the rows that were read."""

    rows_in: list[int]
    rows_out: list[int]
    seconds: list[float]
    events: int = field(default=0, kw_only=True)

    @classmethod
    def of(cls, steps: int) -> StepMeasures:
        return cls([0] * steps, [0] * steps, [0.0] * steps)

    def counted(self, place: int, rows: int, pieces: Iterator[Frontier]) -> Iterator[Frontier]:
        """The pieces that the step at a place makes of so many rows."""
        self.rows_in[place] += rows
        while True:
            # Each piece is brought to its end before the next is made: between two, others have their turn.
            start = perf_counter()
            piece = next(pieces, None)
            self.seconds[place] += perf_counter() - start
            if piece is None:
                return
            self.rows_out[place] += len(piece)
            yield piece

    def to_json(self) -> str:
        return json.dumps(astuple(self))

    @classmethod
    def added(cls, texts: Iterable[str]) -> StepMeasures | None:
        """What all tasks together have done; None if there was none.

        >>> one, other = StepMeasures([1], [3], [0.5], events=7), StepMeasures([1], [2], [0.25], events=1)
        >>> StepMeasures.added([one.to_json(), other.to_json()])
        StepMeasures(rows_in=[2], rows_out=[5], seconds=[0.75], events=8)
        """
        tasks = [json.loads(text) for text in texts]
        if not tasks:
            return None
        *lists, events = zip(*tasks, strict=True)
        assert len(lists) + 1 == len(fields(cls))
        rows_in, rows_out, seconds = ([sum(of_step) for of_step in zip(*one, strict=True)] for one in lists)
        return cls(rows_in, rows_out, seconds, events=sum(events))
