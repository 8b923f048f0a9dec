"""`neelc.why`: why a start event has a match, or has none. The engine looks for the events of the key.

It is asked in texts of Spark's SQL, which DataFrames of Spark and of the local engine take alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from neelc.api.errors import reading
from neelc.api.schemas import clock_of, values_of
from neelc.api.streams import Frame
from neelc.engines.reference import executable
from neelc.ir.bound_rows import HostQuery
from neelc.ir.program import Clock, Column, Stream
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
)
from neelc.runtime.reference.model import moment
from neelc.scalar.spark.trees import identifier, literal, spark_type, with_alias
from neelc.scalar.type_of import DATETIMES
from neelc.source import Source
from neelc.tools.why.explaining import MAX_EVENTS, ROWS_IT_READS, refuse, too_many
from neelc.tools.why.explaining import why as explained
from neelc.tools.why.model import Why
from neelc.tools.why.reading import WhyRequest, columns, no_such_key, text_of, why_request
from neelc.tools.why.rows import RowsRequest, rows_request
from neelc.tools.why.temporal import SituationsRequest, situations_request

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from neelc.api.query import BoundScript

KEYS_LOOKED_AT = 1_000
"""How many of the existing keys are searched for one that may be meant."""

COMPARED = frozenset({STRING, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DATE})
"""Types of keys whose texts a cast reads as we write them. By other keys, rows are chosen after reading."""

Rows = list[Mapping[str, object]]


def why(
    spark: SparkSession,
    text: str,
    /,
    args: Mapping[str, object] | None = None,
    *,
    key: object = None,
    between: Sequence[object] | None = None,
    untrusted: bool = False,
    **streams: object,
) -> Why:
    """Why the events of a key have matches that start with them, or have none, and what would match instead.

    Only the events of the key are read. `Session.why` and `Query.why` do the same, also on the local engine.

    Parameters
    ----------
    spark : SparkSession
        A session, classic or Spark Connect.
    text : str
        A script; its last query is explained.
    args : dict, optional
        Values of the script's parameters, by their names.
    key : optional
        A value of the query's key, a list of values, or values by the names of keys: ``{"id": 7}``.
    between : tuple, optional
        Two times, both included, as strings or as values of the timestamp column.
    untrusted : bool, default False
        Whether the text may read only the streams given here.
    **streams
        The streams by their names, as in `neelc.sql`.

    Returns
    -------
    Why
        `explanations` has one for each start event; `print` shows all of them.

    Examples
    --------
    >>> logins = spark.createDataFrame(
    ...     [(1, "Fail", "ann"), (90, "Login", "ann")], "ts INT, kind STRING, user STRING"
    ... )
    >>> text = "PATTERN SEQ(Fail a, Login b) WHERE [user] WITHIN 1 MINUTE"
    >>> found = neelc.why(spark, text, key="ann", Logins=neelc.stream(logins, type="kind", unit="s"))
    >>> [(one.matches, one.reached, one.steps) for one in found.explanations]
    [(False, 1, 2)]
    """
    from neelc.api.session import Session

    return Session(spark).why(text, args, key=key, between=between, untrusted=untrusted, **streams)


def why_of(spark: Frame, bound: BoundScript, key: object, between: Sequence[object] | None) -> Why:
    """The explanations of a script's last query."""
    if isinstance(bound.program.queries[bound.last].query, HostQuery):
        with clock_of(spark):
            bounds = None if between is None else [text_of(one) for one in between]
            of_rows = rows_request(bound.program, bound.last, key_texts(key), bounds, bound.text)
            return of_rows.explained(rows_of_clause(of_rows, bound.frame))
    with clock_of(spark):
        situations = situations_request(bound.program, bound.last, key_texts(key), between, bound.text)
        if situations is not None:
            return situations.explained(rows_of_clause(situations, bound.frame))
    refuse(bound.program.queries[bound.last], bound.text)
    program = executable(bound.program, [bound.last], bound.text, ROWS_IT_READS)
    with clock_of(spark):
        request = why_request(program, bound.last, key_texts(key), between)
        for stream, _ in request.streams():
            bound.is_given(stream)
        return explained(request, rows_of_pattern(request, bound.frame, bound.text), bound.text)


def key_texts(key: object) -> list[str]:
    """What a caller gives as a key: a value, several, or values by the names of keys.

    >>> key_texts(7), key_texts(["a", None]), key_texts({"id": 7, "user": ["Ann", "Bo"]}), key_texts(None)
    (['7'], ['a', 'NULL'], ['id=7', 'user=Ann', 'user=Bo'], [])
    """
    match key:
        case None:
            return []
        case Mapping():
            return [f"{name}={text}" for name, value in key.items() for text in key_texts(value) or ["NULL"]]
        case list() | tuple() | set():
            return [text for value in key for text in key_texts(value) or ["NULL"]]
    return [text_of(key)]


def rows_of_pattern(request: WhyRequest, frame: Callable[[Stream], Frame], source: Source) -> dict[str, Rows]:
    """The rows of the requested keys and times, of the DataFrames of streams."""
    tables: dict[str, Rows] = {}
    for stream, is_filtered in request.streams():
        with reading(stream.name):
            chosen = _chosen(frame(stream), request, stream) if is_filtered else frame(stream)
            tables[stream.name] = _collected(chosen, stream)
        if len(tables[stream.name]) > MAX_EVENTS:
            raise too_many(request, source)
    if request.keys and not any(tables.values()):
        raise no_such_key(request.keys, list(_keys_there(request, frame)))
    for stream, is_filtered in request.streams():
        if is_filtered and request.needs_end:
            with reading(stream.name):
                last, there = _last_rows(frame(stream), stream), tables[stream.name]
            tables[stream.name] = [*there, *(row for row in last if row not in there)]
    return tables


def rows_of_clause(
    request: RowsRequest | SituationsRequest, frame: Callable[[Stream], Frame]
) -> dict[str, Rows]:
    """The rows that a MATCH_RECOGNIZE is explained with; of a stream that it reads as it is, those of the
    requested keys."""
    tables: dict[str, Rows] = {}
    for name, stream in request.streams.items():
        types = {column.name: column.type for column in stream.columns}
        keys = request.keys if name == request.filtered else {}
        with reading(name):
            chosen = frame(stream)
            for column, texts in keys.items():
                if types[column] in COMPARED:
                    chosen = chosen.where(_is_one_of(column, types[column], texts))
            tables[name] = _collected(chosen, stream)
        if len(tables[name]) > MAX_EVENTS:
            raise request.too_many("too many")
        if keys and not tables[name]:
            there = ((column, _some_texts(frame(stream), column)) for column in keys)
            raise no_such_key(keys, [{column: text} for column, texts in there for text in texts])
    return tables


def _collected(frame: Frame, stream: Stream) -> Rows:
    """The rows, at most one more than can be explained."""
    names = [column.name for column in stream.own_columns]
    found = frame.selectExpr(*selected(names)).limit(MAX_EVENTS + 1).collect()
    return [dict(zip(names, row, strict=True)) for row in values_of(found, stream.own_columns)]


def _last_rows(frame: Frame, stream: Stream) -> Rows:
    """A row with the last time of a stream, of whatever key: the data end with it."""
    type = next(column.type for column in stream.columns if column.name == stream.start)
    ends = [identifier(name) for name in (stream.end, stream.start) if name is not None]
    end = f"coalesce({', '.join(ends)})"
    ((last,),) = values_of(frame.selectExpr(f"max({end}) AS last").collect(), [Column("last", type)])
    if last is None:
        return []
    return _collected(frame.where(f"{end} = {literal(last, type)}").limit(1), stream)


def _chosen(frame: Frame, request: WhyRequest, stream: Stream) -> Frame:
    """The rows of a stream that can matter. More than these do no harm: they are filtered again."""
    for name, texts in request.keys.items():
        held = columns(request.match, stream, name)
        types_held = {column.name: column.type for column in stream.columns if column.name in (held or ())}
        if held is not None and set(types_held.values()) <= COMPARED:
            is_requested = [_is_one_of(column, type, texts) for column, type in types_held.items()]
            frame = frame.where(" OR ".join(is_requested) or "false")
    types = request.types(stream)
    if types is not None:
        listed = ", ".join(literal(type, STRING) for type in types)
        kind = identifier(stream.type_column or "")
        frame = frame.where(f"lower({kind}) IN ({listed})" if types else "false")
    bounds = _bounds(request, stream)
    if bounds is not None:
        frame = frame.where(f"{identifier(stream.start)} BETWEEN {' AND '.join(bounds)}")
    return frame


def selected(names: Iterable[str]) -> list[str]:
    """The columns of these names, as items of SELECT."""
    return [with_alias(identifier(name), name) for name in names]


def _bounds(request: WhyRequest, stream: Stream) -> list[str] | None:
    """From when to when, as constants; None where they are unknown, or too late for a constant."""
    span = request.range()
    try:
        return None if span is None else [time_literal(time, stream, request.match.clock) for time in span]
    except OverflowError:
        return None


def time_literal(time: int, stream: Stream, clock: Clock) -> str:
    """A time of a query in nanoseconds as a constant that the stream's timestamp column can be compared with;
    raises `OverflowError`."""
    type = next(column.type for column in stream.columns if column.name == stream.start)
    own = Clock(type, None if type in DATETIMES else stream.unit)
    if type in DATETIMES and clock.type == TIMESTAMP:
        own = clock  # Spark casts the column to it, in the time zone of the session
    found = moment(time, own)
    if isinstance(found, int) and abs(found) >= 2**63:
        raise OverflowError
    return literal(found, BIGINT if isinstance(found, int) else own.type)


def _is_one_of(column: str, type: DataType, texts: Sequence[str]) -> str:
    """Whether a value is one of those that texts stand for: 1e10 and 10000000000.0 are one number."""
    value = identifier(column)
    meant = (f"{value} = try_cast({literal(text, STRING)} AS {spark_type(type)})" for text in texts)
    found = f"coalesce({' OR '.join(meant)}, false)"
    return f"({found} OR {value} IS NULL)" if "NULL" in texts else found


def _keys_there(request: WhyRequest, frame: Callable[[Stream], Frame]) -> Iterator[dict[str, str]]:
    """Some of the keys that there are."""
    for stream, is_filtered in request.streams():
        for name in request.keys if is_filtered else ():
            for column in columns(request.match, stream, name) or ():
                yield from ({name: text} for text in _some_texts(frame(stream), column))


def _some_texts(frame: Frame, column: str) -> list[str]:
    """Values of a column, as callers give them."""
    text = f"coalesce(CAST({identifier(column)} AS STRING), 'NULL') AS key"
    return [key for (key,) in frame.selectExpr(text).distinct().limit(KEYS_LOOKED_AT).collect()]
