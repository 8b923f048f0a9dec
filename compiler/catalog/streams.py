"""CREATE STREAM: which column is the time, which the type, and whether that can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from neelc.catalog.catalog import CatalogEntry, clock_of, is_integer, report_refusal
from neelc.catalog.statistics.declared import with_statistics
from neelc.errors import Hint
from neelc.findings import Findings, did_you_mean, in_another_case, listing
from neelc.ir import expressions as e
from neelc.ir.names import bare, find, find_variable, same, written
from neelc.ir.node import Node, map_children
from neelc.ir.patterns import Window
from neelc.ir.program import SHAPES, Clock, Column, Stream
from neelc.ir.script import CreateStream
from neelc.ir.types import (
    BIGINT,
    DATE,
    LENGTHS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    WHOLE_NUMBERS,
    Array,
    DataType,
    Map,
    Struct,
)
from neelc.ir.types import Decimal as DecimalType
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.datetime_patterns import EXAMPLE, LETTERS, MalformedPattern, pattern_of
from neelc.runtime.values.times import Months
from neelc.scalar.functions import report_foreign
from neelc.scalar.intervals import interval_value
from neelc.scalar.operators import is_number
from neelc.source import Span

_BY_FORMAT = f"; if it is no ISO time, say how it is written: TIMESTAMP BY ... FORMAT '{EXAMPLE}'"


def declared_stream(
    statement: CreateStream, given: Stream | None, findings: Findings, may_lack_times: bool = False
) -> CatalogEntry:
    """The stream a statement declares; what it leaves out is taken from the one given from outside. If it
    `may_lack_times`, one without is reported where its times are needed: Spark's own SQL needs none."""
    name = bare(statement.name)
    span = findings.at(statement.name, statement)
    columns = _columns(statement, given, findings)
    timestamp = statement.timestamp
    typed = statement.type_by is not None or (given is not None and given.type_column is not None)
    if columns is None:
        return CatalogEntry(name, "stream", typed=typed)
    if statement.is_relation:
        return _relation(statement, columns, findings)
    base = given or Stream(name, (), "")
    if timestamp is None and not base.start:
        entry = without_times(_drafted(base, statement, columns))
        if may_lack_times and statement.end is None and statement.type_by is None:
            return entry
        report_refusal(entry, span, findings)
        return CatalogEntry(name, "stream", typed=typed)
    drafted = _drafted(base, statement, columns)
    if timestamp is not None:
        start, latest = timestamp.start, timestamp.latest
        drafted = replace(drafted, start=start, latest=latest, unit=timestamp.unit or "MILLISECOND")
        drafted = replace(drafted, timestamp_format=timestamp.format, weights=timestamp.weight)
        shape, column = _distribution(timestamp.distribution)
        drafted = replace(drafted, shape=shape, shape_column=column, then_by=timestamp.then_by)
    if statement.end is not None:
        drafted = replace(drafted, end=statement.end)
    if statement.type_by is not None:
        drafted = replace(drafted, type_column=statement.type_by)
    has_unit = timestamp is not None and timestamp.unit is not None
    drafted = _with_format(drafted, statement, findings)
    entry = checked_stream(drafted, statement, findings, has_unit)
    if entry.stream is None or entry.clock is None:
        return entry
    made = entry.stream
    if statement.watermark is not None:
        made = replace(made, watermark=_watermark(statement.watermark, entry.clock, findings))
    if statement.statistics:
        made = with_statistics(made, statement.statistics, findings)
    return replace(entry, stream=made)


def _distribution(name: str | None) -> tuple[str | None, str | None]:
    """A word that names a distribution, or the column that has such words.

    >>> _distribution("triangular"), _distribution("`uniform`"), _distribution(None)
    (('TRIANGULAR', None), (None, '`uniform`'), (None, None))
    """
    if name is None:
        return None, None
    return (name.upper(), None) if name.upper() in SHAPES else (None, name)


def _watermark(window: Window, clock: Clock, findings: Findings) -> int | None:
    """The delay that WATERMARK declares, in microseconds; one that cannot be is reported."""
    try:
        return watermark_delay(window, clock.unit)
    except ValueError as problem:
        span = findings.at(window)
        if not findings.knows(span):  # a parameter without a value
            findings.report("NEEL2240", str(problem), span, "for example WATERMARK 10 SECONDS")
        return None


def watermark_delay(window: Window, unit: str | None = None) -> int:
    """A delay of watermarks in microseconds: a whole number of milliseconds, in which Spark counts them. A
    number without a unit counts in `unit`. `ValueError` says why there is none.

    >>> from neelc.syntax import window
    >>> watermark_delay(window("10 SECONDS")), watermark_delay(window("INTERVAL 1 HOUR 30 MINUTES"))
    (10000000, 5400000000)
    """
    unit = window.unit or unit
    match window.count:
        case e.Interval() as interval:
            value = interval_value(interval) if interval.parts else timedelta(0)
            length = None if isinstance(value, Months) else Fraction(value // timedelta(microseconds=1))
        case e.Literal(int() | float() | Decimal() as count) if not isinstance(count, bool):
            if unit is None:
                raise ValueError(f"a watermark of {count} has no unit, but the timestamps are not integers")
            if unit == "EVENT":
                raise ValueError("a watermark is a length of time, not a number of events")
            length = Fraction(str(count)) * LENGTHS[unit] / 1000 if unit in LENGTHS else None
        case _:
            raise ValueError("the delay of a watermark must be a length of time")
    if length is None:
        raise ValueError(f"a watermark cannot be {window} long: that varies in length")
    if length < 0:
        raise ValueError(f"a watermark cannot be {window} long")
    if length % 1000 or length >= 2**63:
        raise ValueError(f"a watermark of {window}: Spark counts watermarks in whole milliseconds")
    return int(length)


def _drafted(base: Stream, statement: CreateStream, columns: tuple[Column, ...]) -> Stream:
    """The stream with its columns, and where its data are."""
    return replace(
        base,
        name=bare(statement.name),
        columns=columns,
        path=statement.path if statement.path is not None else base.path,
        format=bare(statement.format) if statement.format is not None else base.format,
        options=statement.options or base.options,
        query=None,
        span=statement.span,
    )


def without_times(stream: Stream) -> CatalogEntry:
    """A stream that only Spark's own SQL can read."""
    columns = (column for column in stream.columns if clock_of(column.type, ""))
    fitting = sorted(columns, key=lambda column: is_integer(column.type))
    hint = (
        f"add TIMESTAMP BY {written(fitting[0].name)}"
        if fitting
        else "add a column for the time, and TIMESTAMP BY it"
    )
    why = ("NEEL2203", "has no timestamp", hint)
    return CatalogEntry(stream.name, "stream", refusal=why, rows=stream)


def _with_format(stream: Stream, statement: CreateStream, findings: Findings) -> Stream:
    """The stream with TIMESTAMPs where FORMAT says how texts are read as such."""
    if stream.timestamp_format is None:
        return stream
    span = findings.at(statement.timestamp or statement)
    try:
        pattern_of(stream.timestamp_format)
    except MalformedPattern as why:
        message = f"FORMAT '{stream.timestamp_format}': {why}"
        hint = f"letters: {LETTERS}, as in Spark's datetime patterns; for example '{EXAMPLE}'"
        findings.report("NEEL2070", message, span, hint)
        return replace(stream, timestamp_format=None, columns=_timestamps(stream))
    for name in filter(None, (stream.start, stream.end)):
        column = next((c for c in stream.columns if find(name, [c.name])), None)
        if column is not None and column.type not in (STRING, TIMESTAMP, VOID):
            message = f"FORMAT is for strings, but column `{column.name}` is of type {column.type}"
            findings.report("NEEL2071", message, span, "leave it out, or declare the column as STRING")
    return replace(stream, columns=_timestamps(stream))


def _timestamps(stream: Stream) -> tuple[Column, ...]:
    names = [name for name in (stream.start, stream.end) if name]
    return tuple(
        replace(column, type=TIMESTAMP)
        if column.type in (STRING, VOID) and any(find(name, [column.name]) for name in names)
        else column
        for column in stream.columns
    )


def _relation(statement: CreateStream, columns: tuple[Column, ...], findings: Findings) -> CatalogEntry:
    name = bare(statement.name)
    made = Stream(name, columns, "", path=statement.path, options=statement.options, span=statement.span)
    made = replace(made, format=bare(statement.format) if statement.format is not None else None)
    if statement.statistics:
        made = with_statistics(made, statement.statistics, findings)
    why = ("NEEL3301", "its rows are valid forever, so they are not events", "a SELECT can correlate with it")
    return CatalogEntry(name, "relation", refusal=why, relation=made)


def _columns(statement: CreateStream, given: Stream | None, findings: Findings) -> tuple[Column, ...] | None:
    if not statement.columns:
        if given is not None:
            return given.columns
        findings.report(
            "NEEL2209",
            f"the columns of stream `{statement.name}` are not known",
            findings.at(statement.name, statement),
            f"list them: CREATE STREAM {statement.name} (id BIGINT, ts TIMESTAMP, ...)",
        )
        return None
    found: list[Column] = []
    for definition in statement.columns:
        column = Column(bare(definition.name), definition.type, span=definition.span)
        if any(column.name.casefold() == other.name.casefold() for other in found):
            message = f"column `{definition.name}` is declared twice in stream `{statement.name}`"
            hint = "rename one of them; column names differ in more than their case"
            findings.report("NEEL2202", message, findings.at(definition.name, definition, statement), hint)
        else:
            found.append(column)
    return tuple(found)


def checked_stream(
    stream: Stream, statement: CreateStream | None, findings: Findings, has_unit: bool = False
) -> CatalogEntry:
    """The stream with the names of its columns as they are declared; broken if something does not fit."""
    roles = {
        "start": ("TIMESTAMP", stream.start),
        "latest": ("TIMESTAMP", stream.latest),
        "end": ("END BY", stream.end),
        "type_column": ("TYPE BY", stream.type_column),
        "weights": ("WEIGHT", stream.weights),
        "shape_column": ("DISTRIBUTION", stream.shape_column),
    }
    broken = False
    found: dict[str, Column] = {}
    for role, (clause, name) in roles.items():
        if name is None:
            continue
        # A name given from outside stands nowhere in the text.
        timed = clause in ("TIMESTAMP", "WEIGHT", "DISTRIBUTION")
        place = statement.timestamp if statement is not None and timed else statement
        span = findings.at(name, place, statement)
        whole = clause if clause != "TIMESTAMP" else f"TIMESTAMP {'BETWEEN' if stream.latest else 'BY'}"
        column = _column(stream, name, whole, span, findings)
        problem = None if column is None else _misfit(role, column, found.get("start"))
        if column is not None and problem is not None:
            # A stream that is given from outside stands nowhere in the text: the message names it.
            message = problem[0] if statement is not None else f"stream `{stream.name}`: {problem[0]}"
            findings.report("NEEL2207" if role == "latest" else "NEEL2205", message, span, problem[1])
        elif column is not None:
            found[role] = column
            continue
        broken = True
    then_by = _then_by(stream, statement, findings)
    start = found.get("start")
    clock = None if start is None else clock_of(start.type, stream.unit)
    if broken or then_by is None or clock is None:
        return CatalogEntry(stream.name, "stream", typed=stream.type_column is not None)
    if _disagree(stream, clock, statement, findings, has_unit):
        return CatalogEntry(stream.name, "stream", typed=stream.type_column is not None)
    names = {role: found[role].name if role in found else None for role in roles}
    checked = replace(stream, start=names["start"] or "", latest=names["latest"], end=names["end"])
    checked = replace(checked, type_column=names["type_column"], weights=names["weights"], then_by=then_by)
    return CatalogEntry(stream.name, "stream", replace(checked, shape_column=names["shape_column"]), clock)


ORDERED = "a whole number, a DECIMAL, a STRING, a DATE or a TIMESTAMP"
"""What THEN BY orders events by. Not DOUBLEs: the place of NaN, and of two zeros, is not obvious."""


def _then_by(stream: Stream, statement: CreateStream | None, findings: Findings) -> tuple[str, ...] | None:
    """The columns of THEN BY as they are declared; None, after a report, if one cannot order events."""
    place = None if statement is None else statement.timestamp
    names: list[str] = []
    for name in stream.then_by:
        span = findings.at(name, place, statement)
        column = _column(stream, name, "THEN BY", span, findings)
        if column is not None and not _is_ordered(column.type):
            where = "" if statement is not None else f"stream `{stream.name}`: "
            message = f"{where}column `{column.name}` is of type {column.type}; THEN BY takes {ORDERED}"
            findings.report("NEEL2205", message, span, "a sequence number is a BIGINT")
        elif column is not None:
            names.append(column.name)
    return tuple(names) if len(names) == len(stream.then_by) else None


def _is_ordered(kind: DataType) -> bool:
    simple = (*WHOLE_NUMBERS, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, VOID)
    return kind in simple or isinstance(kind, DecimalType)


def _column(stream: Stream, name: str, clause: str, span: Span, findings: Findings) -> Column | None:
    names = [column.name for column in stream.columns]
    found = find(name, names)
    if found is None:
        words = [*names, *SHAPES] if clause == "DISTRIBUTION" else names
        hint = did_you_mean(name, words, f"columns of {stream.name}")
        findings.report(
            "NEEL2204", f"stream `{stream.name}` has no column `{bare(name)}` for {clause}", span, hint
        )
        return None
    return next(column for column in stream.columns if column.name == found)


def _misfit(role: str, column: Column, start: Column | None) -> tuple[str, str] | None:
    """Why a column cannot play its role, and what could."""
    described = f"column `{column.name}` is of type {column.type}"
    if role == "type_column":
        return (
            None
            if column.type == STRING
            else (f"{described}; a type column holds names", "declare it as STRING")
        )
    if role == "weights":
        is_list = isinstance(column.type, Array) and is_number(column.type.element)
        wanted = "WEIGHT takes an array with a number for each time from the earliest to the latest"
        return None if is_list else (f"{described}; {wanted}", "declare it as ARRAY<DOUBLE>")
    if role == "shape_column":
        words = f"{' or '.join(SHAPES)}, or a column with these words"
        hint = "declare it as STRING"
        return None if column.type == STRING else (f"{described}; DISTRIBUTION takes {words}", hint)
    if clock_of(column.type, "") is None:
        return (
            f"{described}; a time is a TIMESTAMP, a TIMESTAMP_NTZ, a DATE or an integer",
            "declare it as TIMESTAMP or BIGINT" + (_BY_FORMAT if column.type == STRING else ""),
        )
    if role == "latest" and (start is None or not is_integer(start.type) or not is_integer(column.type)):
        return (
            "TIMESTAMP BETWEEN takes two columns of integers",
            "declare both as BIGINT, with UNIT MILLISECONDS",
        )
    integers = start is not None and is_integer(start.type) and is_integer(column.type)
    if role == "end" and start is not None and start.type != column.type and not integers:
        return (
            f"{described}, but the timestamp `{start.name}` is {start.type}",
            f"declare both as {start.type}",
        )
    return None


def _disagree(
    stream: Stream, clock: Clock, statement: CreateStream | None, findings: Findings, has_unit: bool
) -> bool:
    """Report clauses that contradict each other."""
    timestamp = None if statement is None else statement.timestamp
    if clock.unit is None and has_unit:
        message = f"UNIT is for integer timestamps, but `{bare(stream.start)}` is of type {clock.type}"
        keyword = None if timestamp is None else timestamp.unit_keyword
        findings.report("NEEL2206", message, findings.at(keyword, statement), "leave UNIT out")
        return True
    if clock.unit is not None and stream.unit not in LENGTHS:
        message = f"timestamps cannot count {stream.unit}S: these vary in length"
        findings.report("NEEL2206", message, findings.at(stream.unit, statement), listing("units", LENGTHS))
        return True
    if stream.latest is not None and stream.end is not None:
        message = (
            "a stream with imprecise timestamps cannot have END BY: only points in time can be imprecise"
        )
        findings.report("NEEL2215", message, findings.at(stream.end, statement), "leave END BY out")
        return True
    if stream.latest is not None and stream.then_by:
        message = "THEN BY orders events of the same time, but imprecise times are not known to be the same"
        findings.report("NEEL2250", message, findings.at(stream.then_by[0], statement), "leave THEN BY out")
        return True
    return False


# What a SELECT can name: the columns of its sources, and of the variables of row patterns.

# Functions that only move to another row: their value has the type of their argument.
NAVIGATION = ("prev", "next", "first", "last")


@dataclass(frozen=True)
class ColumnSource:
    """Something with columns; `columns` is None when it has been reported, and then nothing is checked.

    `times` are the names of those that hold the time of an event: `*` does not stand for them.
    """

    name: str
    columns: tuple[Column, ...] | None
    times: tuple[str, ...] = ()


@dataclass(frozen=True)
class SelectNames:
    """What expressions of a SELECT, or of a row pattern in it, can name.

    `plain` are searched for a column without a qualifier; `symbols` can only qualify: variables of a row
    pattern, whose names are as they are written. Inside a row pattern its functions are known.
    """

    plain: tuple[ColumnSource, ...]
    findings: Findings
    symbols: tuple[ColumnSource, ...] = ()
    in_row_pattern: bool = False

    def resolved(self, node: e.Expr) -> e.Expr:
        """The expression with its references resolved, as far as their types need it."""
        match node:
            case e.Name(parts):
                return self._reference(parts, node)
            case e.MemberAccess(e.Call(name, arguments), attribute) if self.in_row_pattern:
                return self._symbol_event(name, arguments, attribute, node)
            case e.Call(name, arguments) if self.in_row_pattern:
                return self._call(name.lower(), arguments, node)
            case e.Call(name) if name.lower() in ("prev", "next", "classifier", "match_number"):
                message = f"`{name}` moves over the rows of a match, and there is no match here"
                self.findings.report(
                    "NEEL3206", message, node.span, "it is allowed only inside MATCH_RECOGNIZE"
                )
                return unknown(node)
            case e.Call(name) if name.lower() in ("level", "concept"):
                message = f"`{name}` refers to an event of a PATTERN"
                hint = "a SELECT reads the relation itself: FROM Reports AS r, Places AS p WHERE ..."
                self.findings.report("NEEL3031", message, node.span, hint)
                return unknown(node)
            case e.RunningFinal(_, operand) if self.in_row_pattern:
                return self.resolved(operand)
            case e.FilteredCall() | e.NestedQuery() | e.InQuery() | e.AllenRelation():
                report_foreign(node, self.findings.report)
                return unknown(node)
            case e.Star():
                return node
            case e.Subscript(base, index):
                return self._element(self.resolved(base), self.resolved(index), node)
        return map_children(node, self._child)

    def _element(self, base: e.Expr, index: e.Expr, node: e.Expr) -> e.Expr:
        """An element of an array, or the value of a key."""
        match _type(base):
            case Array(element):
                return e.ElementAccess(base, index, element, span=node.span)
            case Map(_, value):
                return e.ElementAccess(base, index, value, span=node.span)
            case kind if kind != VOID:
                self.findings.report("NEEL2014", f"{kind} has no elements", node.span, None)
        return unknown(node)

    def _child(self, node: Node) -> Node:
        return self.resolved(node) if isinstance(node, e.Expr) else map_children(node, self._child)

    def _call(self, name: str, arguments: tuple[e.Expr, ...], node: e.Call) -> e.Expr:
        if name == "temp" and len(arguments) == 1:
            return self.resolved(arguments[0])
        if name in NAVIGATION and 1 <= len(arguments) <= 2:
            return self.resolved(arguments[0])
        if name in NAVIGATION:
            message = f"`{node.name}` takes a value and, at most, a distance"
            self.findings.report("NEEL3206", message, node.span, f"for example {node.name}(price, 2)")
            return unknown(node)
        if name == "classifier":
            return e.Cast(e.Literal(None, VOID), STRING, span=node.span)
        if name == "match_number":
            return e.Cast(e.Literal(None, VOID), BIGINT, span=node.span)
        return map_children(node, self._child)

    def _symbol_event(
        self, name: str, arguments: tuple[e.Expr, ...], attribute: str, node: e.MemberAccess
    ) -> e.Expr:
        """`START(A).id`, `END(B).x`, and JEPC's `PREV(1).x`."""
        match name.lower(), arguments:
            case (("start" | "end"), (e.Name((symbol,)),)):
                return self._reference((symbol, attribute), node)
            case "prev", (e.Literal(int()),):
                return self._reference((attribute,), node)
        message = f"`{name}(...)` has no `{attribute}`"
        self.findings.report("NEEL3206", message, node.span, "for example START(A).id or END(A).id")
        return unknown(node)

    def _reference(self, parts: Sequence[str], node: e.Expr) -> e.Expr:
        if len(parts) > 1:
            qualifier = self._qualifier(parts[0])
            if qualifier is not None:
                return self._column(qualifier, parts[1], parts[2:], node)
        holders = [r for r in self.plain if r.columns is None or _has(r, parts[0])]
        known = [r for r in holders if r.columns is not None]
        if len(known) > 1:
            where = " and ".join(f"`{r.name}`" for r in known)
            hint = f"qualify it: {known[0].name}.{parts[0]}"
            self.findings.report("NEEL3201", f"column `{bare(parts[0])}` is in {where}", node.span, hint)
            return unknown(node)
        if known:
            return self._column(known[0], parts[0], parts[1:], node)
        if not holders:
            self._report_unknown(parts, node)
        return unknown(node)

    def _qualifier(self, name: str) -> ColumnSource | None:
        symbol = find_variable(name, [r.name for r in self.symbols])
        if symbol is not None:
            found = next(r for r in self.symbols if r.name == symbol)
            return ColumnSource(bare(symbol), found.columns)
        return next((r for r in self.plain if same(name, written(r.name))), None)

    def _column(self, relation: ColumnSource, name: str, rest: Sequence[str], node: e.Expr) -> e.Expr:
        if relation.columns is None:
            return unknown(node)
        found = find(name, [written(c.name) for c in relation.columns])
        if found is None:
            names = [c.name for c in relation.columns]
            hint = did_you_mean(name, names, f"columns of {relation.name}")
            message = f"`{relation.name}` has no column `{bare(name)}`"
            self.findings.report("NEEL2003", message, self.findings.at(name, node), hint)
            return unknown(node)
        column = next(c for c in relation.columns if written(c.name) == found)
        value: e.Expr = e.Attribute(e.Variable(written(relation.name)), found, column.type, span=node.span)
        for part in rest:
            value = self._field(value, _type(value), part, node)
        return value

    def _field(self, base: e.Expr, kind: DataType, name: str, node: e.Expr) -> e.Expr:
        fields = kind.fields if isinstance(kind, Struct) else ()
        for field in fields:
            if same(name, field.name):
                return e.Field(base, field.name, field.type, span=node.span)
        hint = did_you_mean(name, [bare(f.name) for f in fields], "fields")
        self.findings.report("NEEL2014", f"{kind} has no field `{bare(name)}`", node.span, hint)
        return unknown(node)

    def _report_unknown(self, parts: Sequence[str], node: e.Expr) -> None:
        offered = [c.name for r in self.plain for c in r.columns or ()]
        if len(parts) > 1:
            offered = [*(bare(r.name) for r in self.symbols), *(r.name for r in self.plain)]
        what = "columns" if len(parts) == 1 else "names allowed before a dot"
        hint: Hint | str | None = did_you_mean(parts[0], offered, what)
        if len(parts) > 1:
            hint = in_another_case(parts[0], [r.name for r in self.symbols]) or hint
        if len(parts) == 1 and bare(parts[0]).lower() in ("ts", "te", "match_start", "match_end"):
            hint = "a result always has its valid time, as ts and te; at an instant, only payloads count"
        message = f"unknown {'column' if len(parts) == 1 else 'name'} `{bare(parts[0])}`"
        self.findings.report("NEEL2003", message, self.findings.at(parts[0], node), hint)


def _has(relation: ColumnSource, name: str) -> bool:
    return any(same(name, written(column.name)) for column in relation.columns or ())


def _type(value: e.Expr) -> DataType:
    return value.type if isinstance(value, e.Attribute | e.Field) else VOID


def unknown(node: e.Expr) -> e.Expr:
    """NULL stands for what has been reported: it goes with every type."""
    return e.Literal(None, VOID, span=node.span)
