"""The values that DEFINE and MEASURES have at a row of a match.

What an expression says about rows is looked up first; the rest is evaluated like any other expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from neelc.ir.expr import AtRow, Attribute, Classifier, Expr, Given, MatchNumber, OverRows, RowValue, Variable
from neelc.ir.node import Node, map_children
from neelc.ir.row_values import ROW
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Context, Event

Row = Mapping[str, object]

CLASSIFIER, MATCH_NUMBER = "classifier()", "match_number()"
"""What a row has besides its columns."""


@dataclass(frozen=True)
class Mapped:
    """A row of a match, by its number in the partition, and the variable that it is mapped to."""

    row: int
    variable: str
    excluded: bool = False


@dataclass(frozen=True)
class Seen:
    """What an expression is judged with: the rows of a partition, those of the match up to now (`running`)
    and all of them (`final`), and the number of the match."""

    rows: Sequence[Row]
    running: Sequence[Mapped]
    final: Sequence[Mapped]
    number: int | None


def value_at(expression: Expr, seen: Seen) -> object:
    """The value of an expression of MEASURES or DEFINE."""
    prepared, values = _prepared(expression)
    return _evaluated(prepared, {name: _looked_up(value, seen) for name, value in values})


@cache
def _prepared(expression: Expr) -> tuple[Expr, tuple[tuple[str, RowValue], ...]]:
    """The expression with an attribute of one row in place of each value that is looked up."""
    values: dict[str, RowValue] = {}

    def change(node: Node) -> Node:
        if isinstance(node, RowValue):
            name = f"value {len(values)}"
            values[name] = node
            return Attribute(Variable(ROW), name, node.type)
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed, tuple(values.items())


@cache
def _at_its_row(argument: Expr) -> Expr:
    """An argument with attributes in place of CLASSIFIER() and MATCH_NUMBER()."""

    def change(node: Node) -> Node:
        match node:
            case Classifier(type):
                return Attribute(Variable(ROW), CLASSIFIER, type)
            case MatchNumber(type):
                return Attribute(Variable(ROW), MATCH_NUMBER, type)
        return map_children(node, change)

    changed = change(argument)
    assert isinstance(changed, Expr)
    return changed


def _evaluated(expression: Expr, attributes: Row) -> object:
    row = Event("", 0, None, 0, 0, attributes, (None, None))
    return evaluate(expression, Context({ROW: row}))


def _looked_up(value: RowValue, seen: Seen) -> object:
    match value:
        case AtRow(_, argument):
            row = _row(value, seen)
            return None if row is None else _argument(argument, row, seen)
        case OverRows(type, name, argument):
            rows = _rows(value, seen)
            if argument is None:
                return len(rows)
            values = [_argument(argument, row, seen) for row in rows]
            return aggregate(name, [one for one in values if one is not None], type, value.distinct)
        case MatchNumber():
            return seen.number
        case Given(_, argument):
            return _evaluated(argument, seen.rows[0])
    raise AssertionError(f"{value} stands alone")


def _rows(value: AtRow | OverRows, seen: Seen) -> list[int]:
    """The numbers of the rows that are mapped to the value's variables."""
    mapped = seen.final if value.final else seen.running
    return [one.row for one in mapped if not value.variables or one.variable in value.variables]


def _row(value: AtRow, seen: Seen) -> int | None:
    """The number of the one row that is meant, None if there is none."""
    rows = _rows(value, seen)
    if value.place >= len(rows):
        return None
    row = rows[value.place if value.anchor == "FIRST" else -1 - value.place] + value.shift
    return row if 0 <= row < len(seen.rows) else None


def _argument(argument: Expr, row: int, seen: Seen) -> object:
    classifier = next((one.variable for one in seen.final if one.row == row), None)
    known = {**seen.rows[row], CLASSIFIER: classifier, MATCH_NUMBER: seen.number}
    return _evaluated(_at_its_row(argument), known)


def up_to(seen: Seen, place: int) -> Seen:
    """The match as it is seen from its row at `place`, from 0."""
    return replace(seen, running=seen.final[: place + 1])
