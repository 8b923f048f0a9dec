"""Conditions that depend on which rows the match has taken so far.

What they ask for is kept at hand while the match grows. Those that are more than arithmetic and comparisons
are evaluated by the reference interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from neelc.runtime.program import Apply, Column, Constant
from neelc.runtime.rows.program import Argument, At, Condition, Looked, RowProgram
from neelc.runtime.rows.scalars import compiled

if TYPE_CHECKING:
    from neelc.runtime.rows.folding import Fold, Running

Columns = Mapping[str, Sequence[object]]
"""The values of the columns that conditions ask for, by row."""


AtRow = Callable[[int, "Path"], object]
"""The value of a column, or of an expression, at a row of the partition."""


@dataclass
class Path:
    """The rows of a partition from `head` to `tail`, and those that a match has taken so far: all of them,
    and those that are mapped to each set of variables somebody asks for. `totals` are the aggregates over
    these that somebody asked for, by the judge's numbers for them. Rows from `known` on can be looked at, but
    not taken yet."""

    head: int
    tail: int
    number: int
    known: int
    start: int = 0
    variables: list[int] = field(default_factory=list)
    rows: dict[int, list[int]] = field(default_factory=dict)
    totals: dict[int, Running] = field(default_factory=dict)


class Judge:
    """Judges the conditions of a program, if the columns have these values."""

    def __init__(self, program: RowProgram, columns: Columns) -> None:
        self.names = program.names
        self.columns = columns
        self.tests = {one.variable: _test(one) for one in program.conditions}
        asked = [one for condition in program.conditions for one in condition.looked]
        self.folded: list[Looked] = []
        self.masks = sorted({one.at.variables if one.at else one.variables for one in asked} - {0})
        self.values = {
            condition.variable: [self._value(one) for one in condition.looked]
            for condition in program.conditions
        }

    def begin(self, path: Path, row: int) -> None:
        path.start, path.variables, path.totals = row, [], {}
        path.rows = {mask: [] for mask in self.masks}

    def push(self, path: Path, row: int, variable: int) -> None:
        path.variables.append(variable)
        for mask, rows in path.rows.items():
            if mask >> variable & 1:
                rows.append(row)

    def pop(self, path: Path) -> None:
        variable = path.variables.pop()
        for mask, rows in path.rows.items():
            if mask >> variable & 1:
                rows.pop()
        for number, total in path.totals.items():
            if len(total) > len(path.rows[self.folded[number].variables]):
                total.pop()

    def holds(self, path: Path) -> bool:
        """Whether the row taken last meets the condition of its variable."""
        variable = path.variables[-1]
        test = self.tests.get(variable)
        if test is None:
            return True
        return test([value(path) for value in self.values[variable]]) is True

    def _value(self, looked: Looked) -> Callable[[Path], object]:
        """How a value that a condition asks for is found."""
        at_row = self._reader(looked.column)
        if looked.at is not None:
            return partial(self._of_row, looked.at, at_row)
        match looked.name:
            case None:
                return lambda path: path.number
            case "rows":
                return lambda path: len(path.rows[looked.variables])
        from neelc.runtime.rows.folding import FOLDS

        if looked.name not in FOLDS:
            return partial(self._aggregate, looked, at_row)
        if looked not in self.folded:
            self.folded.append(looked)
        return partial(self._total, self.folded.index(looked), looked, FOLDS[looked.name], at_row)

    def _of_row(self, at: At, at_row: AtRow, path: Path) -> object:
        row = _row(at, path)
        return None if row is None else at_row(row, path)

    def _total(self, number: int, looked: Looked, fold: Fold, at_row: AtRow, path: Path) -> object:
        """An aggregate, from what it was when somebody asked last: only rows taken since then are added."""
        total = path.totals.get(number)
        if total is None:
            from neelc.runtime.rows.folding import Running

            total = path.totals[number] = Running(fold, looked.type, looked.distinct)
        rows = path.rows[looked.variables]
        for place in range(len(total), len(rows)):
            total.push(at_row(rows[place], path))
        return total.value()

    def _aggregate(self, looked: Looked, at_row: AtRow, path: Path) -> object:
        """An aggregate of all its values: lists and sets, which grow with each row."""
        from neelc.runtime.reference.aggregates import aggregate

        rows = path.rows[looked.variables]
        values = [value for row in rows if (value := at_row(row, path)) is not None]
        return aggregate(looked.name or "", values, looked.type, looked.distinct)  # type: ignore[arg-type]

    def _reader(self, column: str | Argument | None) -> AtRow:
        match column:
            case None:
                return self._variable
            case str():
                values = self.columns[column]
                return lambda row, path: values[row]
        evaluated = _expression(column.expression)

        def at_row(row: int, path: Path) -> object:
            of_row = {name: self.columns[name][row] for name in column.columns}
            of_match = {"classifier": self._variable(row, path), "match_number": path.number}
            return evaluated({"row": of_row, "match": of_match})

        return at_row

    def _variable(self, row: int, path: Path) -> str | None:
        """The variable that a row is mapped to, None outside of the match."""
        place = row - path.start
        return self.names[path.variables[place]] if 0 <= place < len(path.variables) else None


def _row(at: At, path: Path) -> int | None:
    rows = path.rows[at.variables]
    if at.place >= len(rows):
        return None
    row = rows[-1 - at.place if at.last else at.place] + at.shift
    return row if path.head <= row < path.tail else None


def _test(condition: Condition) -> Callable[[list[object]], object]:
    """The condition as a function of the values that it asks for."""
    names, expression = condition.names, condition.expression
    if isinstance(expression, Apply | Column | Constant):
        return compiled(expression, names)
    evaluated = _expression(expression)
    return lambda values: evaluated({"row": dict(zip(names, values, strict=True))})


def _expression(expression: object) -> Callable[[Mapping[str, Mapping[str, object]]], object]:
    """An expression of the compiler's as a function of the attributes of its events."""
    from neelc.runtime.reference.evaluate import evaluate
    from neelc.runtime.reference.model import Context, Event

    def evaluated(events: Mapping[str, Mapping[str, object]]) -> object:
        known = {name: Event("", 0, None, 0, 0, values, (None, None)) for name, values in events.items()}
        return evaluate(expression, Context(known))  # type: ignore[arg-type]

    return evaluated
