"""CREATE STREAM: which column is the time, which the type, and whether that can be."""

from __future__ import annotations

from dataclasses import replace

from neelc.bind.catalog import Entry, clock_of, is_integer
from neelc.bind.findings import Findings
from neelc.bind.statistics import with_statistics
from neelc.bind.suggest import did_you_mean, listing
from neelc.ir.datetime_patterns import EXAMPLE, LETTERS, Malformed, pattern_of
from neelc.ir.logical import Clock, Column, Stream
from neelc.ir.names import bare, find, written
from neelc.ir.script import CreateStream
from neelc.ir.types import STRING, TIMESTAMP, VOID
from neelc.ir.units import LENGTHS
from neelc.source import Span

_BY_FORMAT = f"; if it is no ISO time, say how it is written: TIMESTAMP BY ... FORMAT '{EXAMPLE}'"


def declared_stream(statement: CreateStream, given: Stream | None, findings: Findings) -> Entry:
    """The stream a statement declares; what it leaves out is taken from the one given from outside."""
    name = bare(statement.name)
    span = findings.word(statement.name, statement)
    columns = _columns(statement, given, findings)
    timestamp = statement.timestamp
    typed = statement.type_by is not None or (given is not None and given.type_column is not None)
    if columns is None:
        return Entry(name, "stream", typed=typed)
    if statement.is_relation:
        return _relation(statement, columns, findings)
    if timestamp is None and given is None:
        fitting = sorted((c for c in columns if clock_of(c.type, "")), key=lambda c: is_integer(c.type))
        hint = (
            f"add TIMESTAMP BY {written(fitting[0].name)}"
            if fitting
            else "add a column for the time, and TIMESTAMP BY it"
        )
        findings.report("NEEL2203", f"stream `{name}` has no timestamp", span, hint)
        return Entry(name, "stream", typed=typed)
    base = given or Stream(name, (), "")
    drafted = replace(
        base,
        name=name,
        columns=columns,
        path=statement.path if statement.path is not None else base.path,
        format=bare(statement.format) if statement.format is not None else base.format,
        options=statement.options or base.options,
        query=None,
        span=statement.span,
    )
    if timestamp is not None:
        start, latest = timestamp.start, timestamp.latest
        drafted = replace(drafted, start=start, latest=latest, unit=timestamp.unit or "MILLISECOND")
        drafted = replace(drafted, timestamp_format=timestamp.format)
    if statement.end is not None:
        drafted = replace(drafted, end=statement.end)
    if statement.type_by is not None:
        drafted = replace(drafted, type_column=statement.type_by)
    unit_said = timestamp is not None and timestamp.unit is not None
    drafted = _with_format(drafted, statement, findings)
    entry = checked_stream(drafted, statement, findings, unit_said)
    if entry.stream is None or not statement.statistics:
        return entry
    return replace(entry, stream=with_statistics(entry.stream, statement.statistics, findings))


def _with_format(stream: Stream, statement: CreateStream, findings: Findings) -> Stream:
    """The stream with TIMESTAMPs where FORMAT says how texts are read as such."""
    if stream.timestamp_format is None:
        return stream
    span = findings.at(statement.timestamp or statement)
    try:
        pattern_of(stream.timestamp_format)
    except Malformed as why:
        message = f"FORMAT '{stream.timestamp_format}': {why}"
        hint = f"letters: {LETTERS}, as in Spark's datetime patterns; for example '{EXAMPLE}'"
        findings.report("NEEL2070", message, span, hint)
        return replace(stream, timestamp_format=None, columns=_timestamps(stream))
    for name in filter(None, (stream.start, stream.end)):
        column = next((c for c in stream.columns if find(name, [c.name])), None)
        if column is not None and column.type not in (STRING, TIMESTAMP, VOID):
            message = f"FORMAT is for texts, and column `{column.name}` is of type {column.type}"
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


def _relation(statement: CreateStream, columns: tuple[Column, ...], findings: Findings) -> Entry:
    name = bare(statement.name)
    made = Stream(name, columns, "", path=statement.path, options=statement.options, span=statement.span)
    made = replace(made, format=bare(statement.format) if statement.format is not None else None)
    if statement.statistics:
        made = with_statistics(made, statement.statistics, findings)
    why = ("NEEL3301", "its rows are valid forever: they are no events", "a SELECT can correlate with it")
    return Entry(name, "relation", refusal=why, relation=made)


def _columns(statement: CreateStream, given: Stream | None, findings: Findings) -> tuple[Column, ...] | None:
    if not statement.columns:
        if given is not None:
            return given.columns
        findings.report(
            "NEEL2209",
            f"the columns of stream `{statement.name}` are not known",
            findings.word(statement.name, statement),
            f"list them: CREATE STREAM {statement.name} (id BIGINT, ts TIMESTAMP, ...)",
        )
        return None
    found: list[Column] = []
    for definition in statement.columns:
        column = Column(bare(definition.name), definition.type, span=definition.span)
        if any(column.name.casefold() == other.name.casefold() for other in found):
            message = f"column `{definition.name}` is declared twice in stream `{statement.name}`"
            hint = "rename one of them; column names differ in more than their case"
            findings.report("NEEL2202", message, findings.word(definition.name, definition, statement), hint)
        else:
            found.append(column)
    return tuple(found)


def checked_stream(
    stream: Stream, statement: CreateStream | None, findings: Findings, unit_said: bool = False
) -> Entry:
    """The stream with the names of its columns as they are declared; broken if something does not fit."""
    roles = {
        "start": ("TIMESTAMP", stream.start),
        "latest": ("TIMESTAMP", stream.latest),
        "end": ("END BY", stream.end),
        "type_column": ("TYPE BY", stream.type_column),
    }
    broken = False
    found: dict[str, Column] = {}
    for role, (clause, name) in roles.items():
        if name is None:
            continue
        # The word as the text has it: a name given from outside is bare and stands nowhere in the text.
        place = statement.timestamp if statement is not None and clause == "TIMESTAMP" else statement
        span = findings.word(name, place, statement, after=clause)
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
    start = found.get("start")
    clock = None if start is None else clock_of(start.type, stream.unit)
    if broken or clock is None or _disagree(stream, clock, statement, findings, unit_said):
        return Entry(stream.name, "stream", typed=stream.type_column is not None)
    names = {role: found[role].name if role in found else None for role in roles}
    checked = replace(stream, start=names["start"] or "", latest=names["latest"], end=names["end"])
    return Entry(stream.name, "stream", replace(checked, type_column=names["type_column"]), clock)


def _column(stream: Stream, name: str, clause: str, span: Span, findings: Findings) -> Column | None:
    names = [column.name for column in stream.columns]
    found = find(name, names)
    if found is None:
        hint = did_you_mean(name, names, f"columns of {stream.name}")
        findings.report(
            "NEEL2204", f"stream `{stream.name}` has no column `{bare(name)}` for {clause}", span, hint
        )
        return None
    return next(column for column in stream.columns if column.name == found)


def _misfit(role: str, column: Column, start: Column | None) -> tuple[str, str] | None:
    """Why a column cannot play its role, and what could."""
    said = f"column `{column.name}` is of type {column.type}"
    if role == "type_column":
        return (
            None if column.type == STRING else (f"{said}; a type column holds names", "declare it as STRING")
        )
    if clock_of(column.type, "") is None:
        return (
            f"{said}; a time is a TIMESTAMP, a TIMESTAMP_NTZ, a DATE or an integer",
            "declare it as TIMESTAMP or BIGINT" + (_BY_FORMAT if column.type == STRING else ""),
        )
    if role == "latest" and (start is None or not is_integer(start.type) or not is_integer(column.type)):
        return (
            "TIMESTAMP BETWEEN takes two columns of integers",
            "declare both as BIGINT, with UNIT MILLISECONDS",
        )
    integers = start is not None and is_integer(start.type) and is_integer(column.type)
    if role == "end" and start is not None and start.type != column.type and not integers:
        return f"{said}, but the timestamp `{start.name}` is {start.type}", f"declare both as {start.type}"
    return None


def _disagree(
    stream: Stream, clock: Clock, statement: CreateStream | None, findings: Findings, unit_said: bool
) -> bool:
    """Report clauses that contradict each other."""
    span = findings.at(statement)
    if clock.unit is None and unit_said:
        message = f"UNIT is for integer timestamps, and `{bare(stream.start)}` is of type {clock.type}"
        findings.report("NEEL2206", message, findings.word("UNIT", span), "leave UNIT out")
        return True
    if clock.unit is not None and stream.unit not in LENGTHS:
        message = f"timestamps cannot count {stream.unit}S: these are not always equally long"
        findings.report("NEEL2206", message, findings.word("", span, after="UNIT"), listing("units", LENGTHS))
        return True
    if stream.latest is not None and stream.end is not None:
        message = "a stream with imprecise timestamps has no END BY: only points in time can be imprecise"
        findings.report(
            "NEEL2215", message, findings.word(stream.end, span, after="END BY"), "leave END BY out"
        )
        return True
    return False
