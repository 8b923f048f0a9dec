"""MATCH_RECOGNIZE_SEQUENTIAL after binding: JEPC's pattern matcher, with every name resolved.

The names of symbols are upper case, or as they are between backticks. Expressions speak of the events of a
match with `AtRow`: without `variables` the event taken last, which in a condition is the one that is judged;
with `variables` the last event that emitted one of these symbols; `place` events of that kind before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from neelc.ir.logical import Column, OutputColumn
from neelc.ir.node import Node
from neelc.ir.pattern import Window
from neelc.ir.recognize import RowDefinition
from neelc.ir.rows import RowPattern


@dataclass(frozen=True)
class Sequential(Node):
    """A bound clause over events with `columns`.

    `pattern` has no repetition at its beginning or end that could be left out: see `bind/sequential_ends.py`.
    A symbol without a definition is emitted by every event. `partition` are names of columns. `within` is the
    most that the last event of a match may start after the first, or the number of events of a match. A match
    is valid for the chronon in which its last event starts (JEPC thesis, 6.3.3.4).
    """

    columns: tuple[Column, ...]
    pattern: RowPattern
    definitions: tuple[RowDefinition, ...]
    partition: tuple[str, ...]
    measures: tuple[OutputColumn, ...]
    within: Window | None = None

    @property
    def output(self) -> tuple[Column, ...]:
        """The columns of a match: its measures. The times come besides."""
        return tuple(Column(measure.name, measure.type) for measure in self.measures)
