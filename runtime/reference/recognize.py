"""MATCH_RECOGNIZE, executed by its definition: partitions, their order, one match after the other, rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from neelc.ir.expr import AtRow, Classifier, Expr, OverRows
from neelc.ir.node import walk
from neelc.ir.recognize import OMIT, UNMATCHED, Recognize, RowDefinition, RowSkip
from neelc.ir.row_values import ROW
from neelc.ir.rows import SortItem
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import Context, Event, LimitReached, comparable
from neelc.runtime.reference.results import Result
from neelc.runtime.reference.row_parsings import Parser, Parsing, variables
from neelc.runtime.reference.row_values import Row, Seen, up_to, value_at
from neelc.runtime.reference.times import nanoseconds
from neelc.runtime.reference.values import order
from neelc.runtime.reference.windows import length, size

MAX_JUDGED = 1_000_000


class CannotSkip(Exception):
    """AFTER MATCH SKIP leads nowhere: to a row that is not there, or to where the match began."""


@dataclass(frozen=True)
class Found:
    """What was found at a row of a partition: a match, which may be empty, or nothing (`number` None)."""

    start: int
    rows: Parsing
    number: int | None


def recognized(query: Recognize, rows: Sequence[Row]) -> Result:
    """The rows that the clause makes of its input."""
    result: list[tuple[object, ...]] = []
    for partition in in_partitions(query, rows):
        for found in matches(query, partition):
            result.extend(_output(query, partition, found))
    return Result(query.output, result)


def in_partitions(query: Recognize, rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each partition, in order."""
    groups: dict[object, list[Row]] = {}
    for row in (_with_computed(query, row) for row in rows):
        groups.setdefault(tuple(comparable(row[name]) for name in query.partition), []).append(row)
    return [_in_order(query.order, group) for group in groups.values()]


def _with_computed(query: Recognize, row: Row) -> Row:
    if not query.computed:
        return row
    return {**row, **{one.name: _of_row(one.expression, row) for one in query.computed}}


def _in_order(items: Sequence[SortItem], rows: Sequence[Row]) -> list[Row]:
    """As Spark sorts: NULL comes first, and with DESC last, unless it is said."""
    ordered = list(rows)
    for item in reversed(items):
        ordered.sort(key=cmp_to_key(_comparison(item)))
    return ordered


def _comparison(item: SortItem) -> Callable[[Row, Row], int]:
    nulls = -1 if (item.nulls or ("LAST" if item.descending else "FIRST")) == "FIRST" else 1

    def compare(one: Row, other: Row) -> int:
        left, right = _of_row(item.expression, one), _of_row(item.expression, other)
        if left is None or right is None:
            return nulls * ((left is None) - (right is None))
        return -order(left, right) if item.descending else order(left, right)

    return compare


def _of_row(expression: Expr, row: Row) -> object:
    return evaluate(expression, Context({ROW: Event("", 0, None, 0, 0, row, (None, None))}))


def matches(query: Recognize, rows: Sequence[Row]) -> Iterator[Found]:
    """What is found in a partition: one match after the other and, between them, rows without a match."""
    start, number, beyond = 0, 0, 0
    while start < len(rows):
        found = _first_match(query, rows, start, number + 1)
        if found is None:
            if start >= beyond:
                yield Found(start, (), None)
            start += 1
            continue
        number += 1
        yield Found(start, found, number)
        beyond = max(beyond, start + max(1, len(found)))
        start = _next_start(query.skip, start, found)


def _first_match(query: Recognize, rows: Sequence[Row], start: int, number: int) -> Parsing | None:
    """The preferred parsing at a row; None if there is none."""
    conditions = {one.variable: one.condition for one in query.definitions}
    known = variables if any(map(_is_of_path, query.definitions)) else len
    judged: dict[Hashable, bool] = {}
    asked = 0

    def judge(parsing: Parsing) -> bool:
        nonlocal asked
        asked += 1
        if asked > MAX_JUDGED:
            raise LimitReached("MAX_JUDGED", MAX_JUDGED, f"a match at row {start + 1} is hard to find")
        key = (known(parsing), parsing[-1].variable)
        if key not in judged:
            judged[key] = is_met(parsing)
        return judged[key]

    def is_met(parsing: Parsing) -> bool:
        condition = conditions.get(parsing[-1].variable)
        seen = Seen(rows, parsing, parsing, number)
        return (condition is None or value_at(condition, seen) is True) and is_within(query, rows, parsing)

    try:
        return next(Parser(start, len(rows), judge, known=known).parsings(query.pattern), None)
    except RecursionError:
        raise LimitReached("MAX_DEPTH", len(rows), f"the match at row {start + 1} is too long") from None


def _is_of_path(definition: RowDefinition) -> bool:
    """Whether a condition depends on how the rows before the current one are mapped. If none does, parsings
    of the same length have the same continuations; WITHIN asks for the first row and the last one only."""
    for node in walk(definition.condition):
        match node:
            case AtRow(_, argument, variables, "LAST", 0, shift):
                is_own = not variables or definition.variable in variables
                if not is_own or (shift and any(isinstance(part, Classifier) for part in walk(argument))):
                    return True
            case AtRow() | OverRows():
                return True
    return False


def is_within(query: Recognize, rows: Sequence[Row], parsing: Parsing) -> bool:
    """Whether WITHIN holds for the rows of a match up to now."""
    if query.within is None:
        return True
    if query.within.unit == "EVENT":
        return len(parsing) <= size(query.within)
    ends = (_of_row(query.order[0].expression, rows[one.row]) for one in (parsing[0], parsing[-1]))
    first, last = (nanoseconds(end, query.unit) for end in ends)
    return first is not None and last is not None and abs(last - first) <= length(query.within)


def _next_start(skip: RowSkip, start: int, found: Parsing) -> int:
    """The row at which the next match may start."""
    if not found or skip.kind == "TO NEXT ROW":
        return start + 1
    if skip.kind == "PAST LAST ROW":
        return start + len(found)
    rows = [one.row for one in found if one.variable in skip.variables]
    name = " or ".join(skip.variables)
    if not rows:
        raise CannotSkip(f"AFTER MATCH SKIP {skip.kind} {name}: no row of the match is mapped to it")
    row = rows[0 if skip.kind == "TO FIRST" else -1]
    if row == start:
        message = (
            f"AFTER MATCH SKIP {skip.kind} {name}: that is where the match begins, and would begin again"
        )
        raise CannotSkip(message)
    return row


def _output(query: Recognize, rows: Sequence[Row], found: Found) -> Iterator[tuple[object, ...]]:
    whole = Seen(rows, found.rows, found.rows, found.number)
    if query.all_rows is None:
        if found.number is not None:
            yield _row(query, rows[found.start], whole)
    elif found.rows:
        for place, one in enumerate(found.rows):
            if not one.excluded:
                yield _row(query, rows[one.row], up_to(whole, place))
    elif found.number is not None and query.all_rows != OMIT:
        yield _row(query, rows[found.start], whole)
    elif found.number is None and query.all_rows == UNMATCHED:
        yield _row(query, rows[found.start], None)


def _row(query: Recognize, row: Row, seen: Seen | None) -> tuple[object, ...]:
    measures = [None if seen is None else value_at(one.expression, seen) for one in query.measures]
    first, rest = ([row[column.name] for column in part] for part in query.own_columns)
    return (*first, *measures, *rest)
