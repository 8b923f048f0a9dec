"""MATCH_RECOGNIZE, executed by its definition: partitions, their order, one match after the other, rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cmp_to_key
from itertools import permutations

from neelc.ir import row_patterns as r
from neelc.ir.bound_rows import OMIT, UNMATCHED, Recognize, RowDefinition, RowSkip
from neelc.ir.expressions import (
    ROW,
    AtRow,
    Attribute,
    Classifier,
    ConstantRowValue,
    Expr,
    MatchNumber,
    OverRows,
    RowValue,
    Variable,
)
from neelc.ir.node import Node, map_children, walk
from neelc.ir.row_patterns import SortItem
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.aggregates import aggregate
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, LimitReached, ReferenceEvent, nanoseconds
from neelc.runtime.reference.question import length, size
from neelc.runtime.reference.results import Result
from neelc.runtime.values.order import comparable, order

# The values that DEFINE and MEASURES have at a row of a match.
#
# References to rows are looked up first; the rest is evaluated like any other expression.

Row = Mapping[str, object]

CLASSIFIER, MATCH_NUMBER = "classifier()", "match_number()"
"""What a row has besides its columns."""


@dataclass(frozen=True)
class MappedRow:
    """A row of a match, by its number in the partition, and the variable that it is mapped to."""

    row: int
    variable: str
    excluded: bool = False


@dataclass(frozen=True)
class RowContext:
    """What an expression is evaluated with: the rows of a partition, those of the match up to now (`running`)
    and all of them (`final`), and the number of the match."""

    rows: Sequence[Row]
    running: Sequence[MappedRow]
    final: Sequence[MappedRow]
    number: int | None


def value_at(expression: Expr, seen: RowContext) -> object:
    """The value of an expression of MEASURES or DEFINE."""
    return value_with(expression, lambda value: _looked_up(value, seen))


def value_with(expression: Expr, looked_up: Callable[[RowValue], object]) -> object:
    """The value of an expression, with what it says of rows looked up by a function."""
    prepared, values = _prepared(expression)
    return _evaluated(prepared, {name: looked_up(value) for name, value in values})


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
    row = ReferenceEvent("", 0, None, 0, 0, attributes, (None, None))
    return evaluate(expression, EvaluationContext({ROW: row}))


def _looked_up(value: RowValue, seen: RowContext) -> object:
    match value:
        case AtRow(_, argument):
            row = _row_number(value, seen)
            return None if row is None else _argument(argument, row, seen)
        case OverRows(type, name, argument):
            rows = _rows(value, seen)
            if argument is None:
                return len(rows)
            values = [_argument(argument, row, seen) for row in rows]
            return aggregate(name, [one for one in values if one is not None], type, value.distinct)
        case MatchNumber():
            return seen.number
        case ConstantRowValue(_, argument):
            return _evaluated(argument, seen.rows[0])
    raise AssertionError(f"{value} stands alone")


def _rows(value: AtRow | OverRows, seen: RowContext) -> list[int]:
    """The numbers of the rows that are mapped to the value's variables. In JEPC's patterns a row may be
    mapped to several; it is one row."""
    mapped = seen.final if value.final else seen.running
    rows = (one.row for one in mapped if not value.variables or one.variable in value.variables)
    return list(dict.fromkeys(rows))


def _row_number(value: AtRow, seen: RowContext) -> int | None:
    """The number of the one row that is meant, None if there is none."""
    rows = _rows(value, seen)
    if value.place >= len(rows):
        return None
    row = rows[value.place if value.anchor == "FIRST" else -1 - value.place] + value.shift
    return row if 0 <= row < len(seen.rows) else None


def _argument(argument: Expr, row: int, seen: RowContext) -> object:
    classifier = next((one.variable for one in seen.final if one.row == row), None)
    values = {**seen.rows[row], CLASSIFIER: classifier, MATCH_NUMBER: seen.number}
    return _evaluated(_at_its_row(argument), values)


def up_to(seen: RowContext, place: int) -> RowContext:
    """The match as seen from its row at `place`, from 0."""
    return replace(seen, running=seen.final[: place + 1])


# The ways to read rows as a row pattern, the preferred one first: the standard's ordered set of parsings.
#
# A parsing is a list of rows, one after the other, each mapped to a variable whose condition it meets. They
# are tried one by one, in the order of preference, so the first one found is the match.
#
# A part can often be read in several ways that come to the same: `(A+)+` reads ten rows of A in 512 ways.
# What can follow depends on the rows that were read and on their variables, and not on how the part was
# divided. So of those ways the first one is tried, and no other: it is preferred, and if nothing fits
# behind it, nothing fits behind the others.

Parsing = tuple[MappedRow, ...]
RowCheck = Callable[[Parsing], bool]
"""Whether the last row of a parsing meets the condition of its variable."""
Reached = set[Hashable]
"""Where a part was read up to, and what was read."""


def variables(parsing: Parsing) -> Hashable:
    """What conditions can depend on in the rows read so far: their variables. Rows are consecutive."""
    return tuple(one.variable for one in parsing)


@dataclass(frozen=True)
class RowParser:
    """Reads the rows from `start` on; the partition has `count` rows. `state` is what conditions can
    depend on in a parsing, besides its first row: parsings with equal states have the same continuations."""

    start: int
    count: int
    check: RowCheck
    excluded: bool = False
    state: Callable[[Parsing], Hashable] = variables

    def parsings(self, pattern: r.RowPattern, before: Parsing = ()) -> Iterator[Parsing]:
        """The ways to read the pattern after the rows of `before`, the preferred way first; of several that
        have the same continuations, the preferred one."""
        reached: Reached = set()
        for parsing in self._all(pattern, before):
            if self._is_new(0, parsing, reached):
                yield parsing

    def _is_new(self, place: int, parsing: Parsing, reached: Reached) -> bool:
        """Whether a place of the pattern is reached for the first time with such a parsing."""
        key = (place, self.state(parsing))
        if key in reached:
            return False
        reached.add(key)
        return True

    def _all(self, pattern: r.RowPattern, before: Parsing) -> Iterator[Parsing]:
        row = self.start + len(before)
        match pattern:
            case r.RowVariable(name):
                if row < self.count:
                    longer = (*before, MappedRow(row, name, self.excluded))
                    if self.check(longer):
                        yield longer
            case r.RowSequence(parts):
                yield from self._sequence(parts, before, set())
            case r.RowAlternation(parts):
                for part in parts:
                    yield from self.parsings(part, before)
            case r.RowPermute(parts):
                for order in permutations(parts):
                    yield from self._sequence(order, before, set())
            case r.RowRepeat():
                yield from self._repeated(pattern, 0, before, set())
            case r.RowExclusion(part):
                yield from replace(self, excluded=True).parsings(part, before)
            case r.RowAnchor(kind):
                if row == (0 if kind == "^" else self.count):
                    yield before
            case r.RowEmpty():
                yield before

    def _sequence(
        self, parts: tuple[r.RowPattern, ...], before: Parsing, reached: Reached
    ) -> Iterator[Parsing]:
        if not parts:
            yield before
            return
        for first in self.parsings(parts[0], before):
            if self._is_new(len(parts), first, reached):
                yield from self._sequence(parts[1:], first, reached)

    def _repeated(
        self, repeat: r.RowRepeat, done: int, before: Parsing, reached: Reached
    ) -> Iterator[Parsing]:
        """A greedy quantifier prefers one more time, a reluctant one prefers to stop. A time that is not
        needed takes a row: else there would be no end of them. Without an upper bound it is the same how
        often a part was read, once that is enough."""
        if not self._is_new(min(done, repeat.least) if repeat.most is None else done, before, reached):
            return
        enough = done >= repeat.least
        if enough and repeat.reluctant:
            yield before
        if repeat.most is None or done < repeat.most:
            for longer in self.parsings(repeat.part, before):
                if len(longer) > len(before) or not enough:
                    yield from self._repeated(repeat, done + 1, longer, reached)
        if enough and not repeat.reluctant:
            yield before


MAX_CHECKS = 1_000_000
"""How many times conditions may be checked for one match."""


class CannotSkip(Exception):
    """AFTER MATCH SKIP leads nowhere: to a row that is not there, or to where the match began.

    `query` is the query's place in its program, from 0.
    """

    query: int | None = None

    def __init__(self, skip: RowSkip, why: str) -> None:
        super().__init__(f"AFTER MATCH SKIP {skip.kind} {' or '.join(skip.variables)}: {why}")
        self.skip = skip


@dataclass(frozen=True)
class RecognizedMatch:
    """The result at a row of a partition: a match, which may be empty, or nothing (`number` None)."""

    start: int
    rows: Parsing
    number: int | None


def recognized(query: Recognize, rows: Sequence[Row]) -> Result:
    """The rows that the clause makes of its input."""
    result: list[tuple[object, ...]] = []
    for partition in in_partitions(query, rows):
        for match in matches(query, partition):
            result.extend(output_of(query, partition, match))
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
    return {**row, **{one.name: value_of_row(one.expression, row) for one in query.computed}}


def _in_order(items: Sequence[SortItem], rows: Sequence[Row]) -> list[Row]:
    """As Spark sorts: NULL comes first, with DESC last, unless declared otherwise."""
    ordered = list(rows)
    for item in reversed(items):
        ordered.sort(key=cmp_to_key(_comparison(item)))
    return ordered


def _comparison(item: SortItem) -> Callable[[Row, Row], int]:
    nulls = -1 if (item.nulls or ("LAST" if item.descending else "FIRST")) == "FIRST" else 1

    def compare(one: Row, other: Row) -> int:
        left, right = value_of_row(item.expression, one), value_of_row(item.expression, other)
        if left is None or right is None:
            return nulls * ((left is None) - (right is None))
        return -order(left, right) if item.descending else order(left, right)

    return compare


def value_of_row(expression: Expr, row: Row) -> object:
    return evaluate(
        expression, EvaluationContext({ROW: ReferenceEvent("", 0, None, 0, 0, row, (None, None))})
    )


def matches(query: Recognize, rows: Sequence[Row]) -> Iterator[RecognizedMatch]:
    """The matches of a partition: one match after the other and, between them, rows without a match."""
    start, number, beyond = 0, 0, 0
    while start < len(rows):
        parsing = first_match(query, rows, start, number + 1)
        if parsing is None:
            if start >= beyond:
                yield RecognizedMatch(start, (), None)
            start += 1
            continue
        number += 1
        yield RecognizedMatch(start, parsing, number)
        beyond = max(beyond, start + max(1, len(parsing)))
        start = next_start(query.skip, start, parsing)


def first_match(
    query: Recognize,
    rows: Sequence[Row],
    start: int,
    number: int,
    parsing_with: type[RowParser] = RowParser,
) -> Parsing | None:
    """The preferred parsing at a row; None if there is none."""
    conditions = {one.variable: one.condition for one in query.definitions}
    state = variables if any(map(_is_of_path, query.definitions)) else len
    results: dict[Hashable, bool] = {}
    checks = 0

    def check(parsing: Parsing) -> bool:
        nonlocal checks
        checks += 1
        if checks > MAX_CHECKS:
            raise LimitReached("MAX_CHECKS", MAX_CHECKS, f"a match at row {start + 1} is hard to find")
        key = (state(parsing), parsing[-1].variable)
        if key not in results:
            results[key] = is_met(parsing)
        return results[key]

    def is_met(parsing: Parsing) -> bool:
        condition = conditions.get(parsing[-1].variable)
        seen = RowContext(rows, parsing, parsing, number)
        return (condition is None or value_at(condition, seen) is True) and is_within(query, rows, parsing)

    try:
        parser = parsing_with(start, len(rows), check, state=state)
        return next(parser.parsings(query.pattern), None)
    except RecursionError:
        raise LimitReached("MAX_DEPTH", len(rows), f"the match at row {start + 1} is too long") from None


def _is_of_path(definition: RowDefinition) -> bool:
    """Whether a condition depends on how the rows before the current one are mapped. If none does, parsings
    of the same length have the same continuations; WITHIN needs the first row and the last one only."""
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
    ends = (value_of_row(query.order[0].expression, rows[one.row]) for one in (parsing[0], parsing[-1]))
    first, last = (nanoseconds(end, query.unit) for end in ends)
    return first is not None and last is not None and abs(last - first) <= length(query.within)


def next_start(skip: RowSkip, start: int, parsing: Parsing) -> int:
    """The row at which the next match may start."""
    if not parsing or skip.kind == "TO NEXT ROW":
        return start + 1
    if skip.kind == "PAST LAST ROW":
        return start + len(parsing)
    rows = [one.row for one in parsing if one.variable in skip.variables]
    if not rows:
        raise CannotSkip(skip, "no row of the match is mapped to it")
    row = rows[0 if skip.kind == "TO FIRST" else -1]
    if row == start:
        raise CannotSkip(skip, "the match begins there, and would begin there again")
    return row


def output_of(query: Recognize, rows: Sequence[Row], match: RecognizedMatch) -> Iterator[tuple[object, ...]]:
    whole = RowContext(rows, match.rows, match.rows, match.number)
    if query.all_rows is None:
        if match.number is not None:
            yield _row(query, rows[match.start], whole)
    elif match.rows:
        for place, one in enumerate(match.rows):
            if not one.excluded:
                yield _row(query, rows[one.row], up_to(whole, place))
    elif match.number is not None and query.all_rows != OMIT:
        yield _row(query, rows[match.start], whole)
    elif match.number is None and query.all_rows == UNMATCHED:
        yield _row(query, rows[match.start], None)


def _row(query: Recognize, row: Row, seen: RowContext | None) -> tuple[object, ...]:
    measures = [None if seen is None else value_at(one.expression, seen) for one in query.measures]
    first, rest = ([row[column.name] for column in part] for part in query.own_columns)
    return (*first, *measures, *rest)
