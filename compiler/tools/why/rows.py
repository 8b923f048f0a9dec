"""MATCH_RECOGNIZE: how many rows fit from each row on, and which conditions the next row fails.

The reference's parser reads the rows; every row that it checks is recorded, with the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from neelc.catalog.readers.text import TypeMismatch, from_text
from neelc.engines.reference import executable
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.ir.bound_rows import HostQuery, Recognize, SimpleQuery
from neelc.ir.expressions import ROW, Expr, RowValue, conjuncts
from neelc.ir.node import children
from neelc.ir.program import Program, Stream
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import Tables, rows_read_by
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.model import EvaluationContext, LimitReached, ReferenceEvent
from neelc.runtime.reference.recognize import (
    Parsing,
    RecognizedMatch,
    Row,
    RowContext,
    RowParser,
    in_partitions,
    is_within,
    matches,
    value_at,
    value_of_row,
)
from neelc.runtime.reference.rows import rows_read
from neelc.runtime.values.order import order
from neelc.scalar.type_of import type_of
from neelc.source import Source
from neelc.syntax.print_patterns import show_window
from neelc.tools.why.explaining import FEWER, MAX_EVENTS
from neelc.tools.why.model import CheckedRequirement, ReportedEvent, StartExplanation, StopReason, Why, shown
from neelc.tools.why.questions import MAX_CANDIDATES_PER_START, StepLimit
from neelc.tools.why.reading import is_requested, key_filter_of, no_such_key, text_of

PASSED_OVER = "it would match, but AFTER MATCH SKIP leads past it: the match before starts with {}"
EMPTY = "the match is empty: the pattern needs no row"


@dataclass
class ParserTrace:
    """What the parser checks from one row on: the longest list of rows that fit, and what failed after it."""

    query: Recognize
    rows: Sequence[Row]
    number: int
    steps: StepLimit = field(default_factory=lambda: StepLimit(MAX_CANDIDATES_PER_START))
    longest: Parsing = ()
    failed: list[Parsing] = field(default_factory=list)

    def check(self, parsing: Parsing) -> bool:
        """Whether the last row of a parsing fits, as the definition has it."""
        next(self.steps)
        fits = is_within(self.query, self.rows, parsing) and all(
            value_at(one, self.seen(parsing)) is True for one in self.conditions(parsing)
        )
        if fits and len(parsing) > len(self.longest):
            self.longest, self.failed = parsing, []
        if not fits and len(parsing) == len(self.longest) + 1:
            self.failed.append(parsing)
        return fits

    def conditions(self, parsing: Parsing) -> tuple[Expr, ...]:
        """The conditions of the variable that the last row is mapped to."""
        found = (one.condition for one in self.query.definitions if one.variable == parsing[-1].variable)
        return conjuncts(next(found, None))

    def seen(self, parsing: Parsing) -> RowContext:
        return RowContext(self.rows, parsing, parsing, self.number)


def explained_rows(
    query: Recognize, rows: Sequence[Row], key: Mapping[str, str]
) -> Iterator[StartExplanation]:
    """An explanation of each row of a partition: a match could start with any."""
    found = [one for one in matches(query, rows) if one.number is not None]
    starts = {one.start: one for one in found}
    for start in range(len(rows)):
        row = reported_row(query, rows, start, "")
        known = StartExplanation(key, row, None, place=_place(query, rows[start]))
        if start in starts:
            yield _matching(query, rows, starts[start], known)
            continue
        try:
            yield _missing(query, rows, start, found, known)
        except LimitReached as limit:
            yield replace(known, notes=(str(limit),))


def _place(query: Recognize, row: Row) -> tuple[tuple[object, ...], object]:
    """The key of a row, and the first value that it is ordered by."""
    first = value_of_row(query.order[0].expression, row) if query.order else None
    return tuple(row[name] for name in query.partition), first


def reported_row(query: Recognize, rows: Sequence[Row], row: int, variable: str) -> ReportedEvent:
    """A row: its number in the partition, and what it is ordered by."""
    of_row = EvaluationContext({ROW: ReferenceEvent("", 0, None, 0, 0, rows[row], (None, None))})
    found = [(item.expression, evaluate(item.expression, of_row)) for item in query.order]
    time = ", ".join(shown(value, type_of(expression)) for expression, value in found)
    attributes = {name: shown(value) for name, value in rows[row].items()}
    return ReportedEvent(variable, f"row {row + 1}", time, time, "", attributes)


def _reported_rows(query: Recognize, rows: Sequence[Row], parsing: Parsing) -> tuple[ReportedEvent, ...]:
    return tuple(reported_row(query, rows, one.row, one.variable) for one in parsing)


def _matching(
    query: Recognize, rows: Sequence[Row], found: RecognizedMatch, known: StartExplanation
) -> StartExplanation:
    """The match of a row, and for the first row of each variable what it fulfils."""
    reading = ParserTrace(query, rows, found.number or 1)
    firsts = {one.variable: found.rows[: place + 1] for place, one in reversed([*enumerate(found.rows)])}
    held = tuple(
        one for parsing in reversed(firsts.values()) for one, _ in checked_requirements(reading, parsing)
    )
    events, notes = _reported_rows(query, rows, found.rows), () if found.rows else (EMPTY,)
    reached = len(found.rows)
    return replace(known, matches=True, reached=reached, count=1, events=events, held=held, notes=notes)


def _missing(
    query: Recognize,
    rows: Sequence[Row],
    start: int,
    found: Sequence[RecognizedMatch],
    known: StartExplanation,
) -> StartExplanation:
    """The rows that fit from a row on, and why the next one does not."""
    reading = ParserTrace(query, rows, 1 + sum(one.start < start for one in found))
    parsing = next(RowParser(start, len(rows), reading.check).parsings(query.pattern), None)
    if parsing:
        over = next(one for one in reversed(found) if one.start < start)
        first = reported_row(query, rows, over.start, "")
        notes = (PASSED_OVER.format(f"{first.type} at {first.time}" if first.time else first.type),)
        events = _reported_rows(query, rows, parsing)
        return replace(known, matches=False, reached=len(parsing), events=events, notes=notes)
    return replace(
        known,
        matches=False,
        reached=len(reading.longest),
        events=_reported_rows(query, rows, reading.longest),
        stopped=tuple(_stops(reading, start)),
    )


def _stops(reading: ParserTrace, start: int) -> Iterator[StopReason]:
    """What each variable that the next row could be mapped to requires of it in vain."""
    if start + len(reading.longest) == len(reading.rows):
        yield StopReason("the next row", (), is_missing=True)
    for parsing in {one[-1].variable: one for one in reversed(reading.failed)}.values():
        wrong = tuple(one for one, holds in checked_requirements(reading, parsing) if not holds)
        row = reported_row(reading.query, reading.rows, parsing[-1].row, parsing[-1].variable)
        yield StopReason(parsing[-1].variable, wrong, (row,))


def checked_requirements(reading: ParserTrace, parsing: Parsing) -> Iterator[tuple[CheckedRequirement, bool]]:
    """What is required of the last row of a parsing, with its values, and whether it holds."""
    seen = reading.seen(parsing)
    within = reading.query.within
    if within is not None:
        holds = is_within(reading.query, reading.rows, parsing)
        yield (
            CheckedRequirement(
                "window", f"WITHIN {show_window(within)}", "" if holds else "the row is too late"
            ),
            holds,
        )
    for condition in reading.conditions(parsing):
        found = dict(_values(condition, seen))
        text = ", ".join(f"{name} = {value}" for name, value in found.items())
        yield CheckedRequirement("condition", str(condition), text, found), value_at(condition, seen) is True


def _values(expression: Expr, seen: RowContext) -> Iterator[tuple[str, str]]:
    """The values of rows that an expression names."""
    if isinstance(expression, RowValue):
        yield str(expression), shown(value_at(expression, seen), expression.type)
        return
    for child in children(expression):
        if isinstance(child, Expr):
            yield from _values(child, seen)


# Why, for MATCH_RECOGNIZE: from rows to the explanations of the requested ones.


RUN_AGAIN = "why finds the matches again by itself, which requires a simple query"


@dataclass(frozen=True)
class RowsRequest:
    """Why the rows of a clause have matches: those of the requested keys, and times. `query` has the clause,
    and `host`, at `place` of the program, is the query around it, with nothing in `streams` but what it
    reads."""

    program: Program
    place: int
    host: HostQuery
    query: SimpleQuery
    recognize: Recognize
    source: Source
    keys: Mapping[str, Sequence[str]]
    bounds: Sequence[object] | None

    @property
    def streams(self) -> dict[str, Stream]:
        """The data from outside that are read."""
        needed = (self.program.queries[place].query for place in self.program.needed([self.place]))
        return {one.name: one for query in needed for one in query.streams if one.producer is None}

    @property
    def filtered(self) -> str | None:
        """The stream of which only the rows of the requested keys are needed: one that nothing else reads."""
        reads = self.query.reads
        plain = not self.query.nested and not self.recognize.computed
        return reads if isinstance(reads, str) and reads in self.streams and plain else None

    def partitions(self, tables: Tables) -> list[list[Row]]:
        """The rows of the requested keys, in the order of the keys."""
        rows = rows_read(self.query, rows_read_by(self.program, self.place, tables))
        partitions = [(_key(self.recognize, some), some) for some in in_partitions(self.recognize, rows)]
        chosen = [(texts, some) for texts, some in partitions if is_requested(texts, self.keys)]
        if self.keys and not chosen:
            raise no_such_key(self.keys, [texts for texts, _ in partitions])
        if (count := sum(len(some) for _, some in chosen)) > MAX_EVENTS:
            raise self.too_many(f"{count:,}")
        return [some for _, some in sorted(chosen, key=lambda one: list(one[0].values()))]

    def too_many(self, count: str) -> NeelError:
        message = f"{count} rows to explain: the limit MAX_EVENTS is {MAX_EVENTS:,}"
        return NeelError([Diagnostic("NEEL5007", message, self.host.place, FEWER)], self.source)

    def explained(self, tables: Tables) -> Why:
        found = (
            one for some in self.partitions(tables) for one in _explained(self.recognize, some, self.bounds)
        )
        return Why(str(self.recognize.pattern), tuple(found))


def rows_request(
    program: Program, place: int, key: Sequence[str], between: Sequence[str] | None, source: Source
) -> RowsRequest:
    """What is asked about the query at a place; raises `NeelError` if it is not simple."""
    program = executable(program, [place], source, RUN_AGAIN)
    named = program.queries[place]
    assert isinstance(named.query, HostQuery) and named.query.simple is not None
    query = named.query.simple.recognizing
    if query is None or query.recognize is None:
        raise CallError("why: the query has no MATCH_RECOGNIZE")
    read = tuple(stream for stream in named.query.streams if stream.name in query.tables)
    host = replace(named.query, streams=read)
    queries = (replace(named, query=host) if at == place else one for at, one in enumerate(program.queries))
    recognize = query.recognize
    bounds = None if between is None else _bounds(recognize, between)
    keys = key_filter_of(recognize.partition, key)
    return RowsRequest(
        replace(program, queries=tuple(queries)), place, host, query, recognize, source, keys, bounds
    )


def _key(query: Recognize, partition: Sequence[Row]) -> dict[str, str]:
    return {name: text_of(partition[0][name]) for name in query.partition}


def _explained(
    query: Recognize, rows: Sequence[Row], bounds: Sequence[object] | None
) -> Iterator[StartExplanation]:
    key = {name: shown(rows[0][name]) for name in query.partition}
    for row, one in zip(rows, explained_rows(query, rows, key), strict=True):
        if bounds is None or _is_between(query, row, bounds):
            yield one


def _is_between(query: Recognize, row: Row, bounds: Sequence[object]) -> bool:
    value = value_of_row(query.order[0].expression, row)
    low, high = bounds
    return value is not None and order(low, value) <= 0 <= order(high, value)


def _bounds(query: Recognize, between: Sequence[str]) -> list[object]:
    """The values of `--between`, as the first of ORDER BY has them."""
    if not query.order:
        raise CallError("between: the clause has no ORDER BY")
    type = type_of(query.order[0].expression)
    try:
        return [from_text(text, type) for text in between]
    except TypeMismatch:
        raise CallError(f"between {' '.join(between)}: not values of type {type}") from None
