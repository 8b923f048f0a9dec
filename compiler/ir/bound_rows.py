"""MATCH_RECOGNIZE after binding: every name resolved, every default said.

The names of variables are those that CLASSIFIER() shows: upper case, or as they are between backticks.
"""

from __future__ import annotations

from dataclasses import dataclass

from neelc.ir.expressions import Attribute, Expr
from neelc.ir.names import bare
from neelc.ir.node import Node
from neelc.ir.patterns import Window
from neelc.ir.program import Column, OutputColumn
from neelc.ir.row_patterns import RowPattern, SortItem

SHOW, OMIT, UNMATCHED = "SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS"


@dataclass(frozen=True)
class RowDefinition(Node):
    """The condition of a variable; a variable without one matches every row."""

    variable: str
    condition: Expr


@dataclass(frozen=True)
class RowSkip(Node):
    """Where the next match may start: at the row after the match (PAST LAST ROW), at its second row (TO NEXT
    ROW), or at the FIRST or LAST row that is mapped to one of `variables`."""

    kind: str = "PAST LAST ROW"
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recognize(Node):
    """A bound clause over rows with `columns`.

    `partition` are names of columns, or of `computed` ones: expressions over a row. So are those of `order`.
    `nested` are columns that queries inside the clause give each row: they are none of the input, nor of the
    result. `all_rows` is None for ONE ROW PER MATCH, else one of SHOW, OMIT and UNMATCHED. `within` is the
    most that the first of `order`, a time, may be greater in the last row of a match than in its first;
    `unit` is that of integers there.
    """

    columns: tuple[Column, ...]
    pattern: RowPattern
    definitions: tuple[RowDefinition, ...]
    partition: tuple[str, ...]
    order: tuple[SortItem, ...]
    measures: tuple[OutputColumn, ...]
    all_rows: str | None = None
    skip: RowSkip = RowSkip()
    within: Window | None = None
    unit: str = "MILLISECOND"
    computed: tuple[OutputColumn, ...] = ()
    nested: tuple[OutputColumn, ...] = ()

    @property
    def output(self) -> tuple[Column, ...]:
        """The columns of the result, in the order of the standard: the partition's, for ALL ROWS those of the
        order, the measures, and for ALL ROWS the rest of the input."""
        first, rest = self.own_columns
        return (*first, *(Column(measure.name, measure.type) for measure in self.measures), *rest)

    @property
    def own_columns(self) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
        """The input's columns before and after the measures."""
        known = {column.name: column for column in self.columns}
        first = dict.fromkeys((*self.partition, *(self.ordering_columns if self.all_rows else ())))
        rest = [name for name in known if name not in first] if self.all_rows else []
        known |= {one.name: Column(one.name, one.type) for one in self.computed}
        return tuple(known[name] for name in first), tuple(known[name] for name in rest)

    @property
    def ordering_columns(self) -> tuple[str, ...]:
        """The columns that stand alone in ORDER BY."""
        found = (item.expression for item in self.order)
        return tuple(bare(one.name) for one in found if isinstance(one, Attribute))


# MATCH_RECOGNIZE_SEQUENTIAL after binding: JEPC's pattern matcher, with every name resolved.
#
# The names of symbols are upper case, or as they are between backticks. Expressions speak of the events of
# a match with `AtRow`: without `variables` the event taken last, which in a condition is the one that is
# judged; with `variables` the last event that emitted one of these symbols; `place` events of that kind
# before it.


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
