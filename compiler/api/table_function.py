"""`neelc.register_udtf`: queries in Spark's SQL, as a table function that people of SQL can call.

    SELECT * FROM neel('PATTERN SEQ(Login a, Login b) WHERE [user] ...', TABLE(events))

Spark calls `analyze` once, where the SQL is planned: it compiles the query and says which columns the result
has, and how the rows of the table are brought together. On the workers, an instance for each partition takes
the rows one by one, and gives them to the local engine when all are there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.api.errors import translated
from neelc.api.local import LocalSession, local
from neelc.api.local_frame import LocalFrame
from neelc.api.schemas import columns_of, struct_type
from neelc.api.streams import stream, stream_names
from neelc.arguments import BUCKETS, Options
from neelc.engines.local.functions import arrow_type
from neelc.errors import NeelError
from neelc.files import CallError, decode, read_bytes
from neelc.ir.expressions import Attribute, Variable
from neelc.ir.names import bare, find, quote
from neelc.ir.program import Column, Match, Program
from neelc.ir.script import CreateQuery, CreateStream
from neelc.ir.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    WHOLE_NUMBERS,
    DataType,
    Decimal,
)
from neelc.pattern.analysis.keys import partition_keys
from neelc.pipeline import parse
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = ("timestamp", "end", "type", "unit")
"""Arguments of the function that say what columns mean, as in `neelc.stream`."""

CARRIED = {STRING, BINARY, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, FLOAT, DOUBLE, *WHOLE_NUMBERS}
HASHED = {STRING, BOOLEAN, DATE, TIMESTAMP, *WHOLE_NUMBERS}
"""Types of which equal values have the same hash."""


def register_udtf(
    spark: SparkSession,
    name: str = "neel",
    *,
    query: str | None = None,
    table: DataFrame | str | None = None,
    buckets: int = BUCKETS,
    **settings: str,
) -> None:
    """Register a table function, so that Spark's SQL can call queries of neelc.

    `neel(query, TABLE(events))` executes a query, or the `.neel` file of a path, over a table. The key of the
    query decides which rows are brought together, so the call has no PARTITION BY; a query without a key
    reads the table in one task. Further arguments can follow by their names: `name`, what the query calls the
    table, by default the one stream that it names; `timestamp`, `end`, `type` and `unit`, as in
    `neelc.stream`; and `partitioned => true` for a call that has a PARTITION BY of its own.

    With `query` and `table`, a function for this query alone is registered, which takes batches of Arrow
    instead of rows: `burst(TABLE(events) PARTITION BY user)`. It requires a Spark with `arrow_udtf` and
    a PARTITION BY; PARTITION BY 1 takes all rows together.

    The functions run on Spark's workers, which need neelc installed. They suit people and tools who have SQL
    only: `neelc.sql` is faster.

    Parameters
    ----------
    spark : SparkSession
        A session, classic or Spark Connect. Its time zone at this moment is that of the queries.
    name : str, default "neel"
        What SQL calls the function.
    query : str, optional
        The text of a query, or the path of a `.neel` file, for a function of its own.
    table : DataFrame or str, optional
        A DataFrame or the name of a table with the columns that this function is given.
    buckets : int, default 16
        In how many groups the keys of a query are divided: as many tasks can work on it.
    **settings
        `name`, `timestamp`, `end`, `type` and `unit` for the function of a `query`.

    Returns
    -------
    None

    Examples
    --------
    >>> neelc.register_udtf(spark)
    >>> logins = spark.createDataFrame([(1, "ann"), (2, "ann"), (3, "bob")], "ts INT, user STRING")
    >>> logins.createOrReplaceTempView("logins")
    >>> spark.sql('''
    ...     SELECT * FROM neel(
    ...       'PATTERN SEQ(Login a, Login b) WHERE [user] WITHIN 1 MINUTE RETURN a.user, a.ts, b.ts',
    ...       TABLE(logins), unit => 's')
    ... ''').show()
    +------+----+----+
    |a_user|a_ts|b_ts|
    +------+----+----+
    |   ann|   1|   2|
    +------+----+----+
    <BLANKLINE>
    """
    from pyspark.sql import functions

    F: Any = functions  # whose types differ between versions of Spark
    if not isinstance(buckets, int) or isinstance(buckets, bool) or buckets < 1:
        raise ValueError(f"buckets: a number of at least 1, not {buckets!r}")
    if (query is None) != (table is None):
        raise TypeError("register_udtf: query and table belong together")
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    if query is None:
        if settings:
            raise TypeError(f"register_udtf: {', '.join(settings)} is for the function of a query")
        # Arrow brings nothing to rows that are taken one by one: it took twice as long.
        spark.udtf.register(name, F.udtf(_rows_handler(zone, buckets), useArrow=False))
        return
    frame: Any = spark.table(table) if isinstance(table, str) else table
    found, columns = compiled_over(query, columns_of(frame.schema), settings, zone)
    spark.udtf.register(name, F.arrow_udtf(_batches_handler(found), returnType=struct_type(columns)))


@dataclass(frozen=True)
class TableQuery:
    """A query over a table: its text, what it calls the table, what the columns mean, and their types.

    `keys` are the columns by which the rows can be kept apart. A `whole` query reads all rows in one task,
    and may have a result without any."""

    text: str
    name: str
    settings: Mapping[str, str]
    columns: tuple[Column, ...]
    zone: str
    keys: tuple[str, ...] = ()
    whole: bool = False

    def over(self, table: pa.Table) -> LocalFrame:
        """The result over the rows of a table."""
        settings: dict[str, Any] = {**self.settings}
        streams: dict[str, Any] = {self.name: stream(table, **settings)}
        # Its warnings have been given where it was registered or planned.
        frame = _session(self.zone)._compiled(Source(self.text), {}, Options(), streams).to_df()
        assert isinstance(frame, LocalFrame)
        return frame

    def table(self, rows: Sequence[Sequence[Any]]) -> pa.Table:
        """Rows as Spark gives them to Python."""
        import pyarrow as pa

        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.columns)
        arrays = [_array(values, one.type) for one, values in zip(self.columns, columns, strict=True)]
        return pa.Table.from_arrays(arrays, [one.name for one in self.columns])


def compiled_over(
    query: str, columns: Iterable[Column], settings: Mapping[str, str], zone: str
) -> tuple[TableQuery, tuple[Column, ...]]:
    """A query over a table with these columns, and the columns of its result."""
    text = _text(query)
    carried = tuple(one for one in columns if one.type in CARRIED or isinstance(one.type, Decimal))
    chosen: dict[str, Any] = {key: str(value) for key, value in settings.items() if value is not None}
    with translated():
        name = chosen.pop("name", None) or _name_of_table(text, chosen)
    if unknown := [key for key in chosen if key not in SETTINGS]:
        raise TypeError(f"unknown argument {', '.join(unknown)}; there are: name, {', '.join(SETTINGS)}")
    empty = TableQuery(text, name, chosen, carried, zone)
    streams: dict[str, Any] = {name: stream(empty.table(()), **chosen)}
    compiled = _session(zone).compile(text, None, **streams)
    keys = _key_columns(compiled.bound.program)
    return replace(empty, keys=keys, whole=not keys), compiled.to_df().typed_columns


@cache
def _session(zone: str) -> LocalSession:
    """One session for all partitions that a worker has."""
    return local(timezone=zone, processes=1)


# Row by row: the query is an argument, and the result has whatever columns it makes.


def _rows_handler(zone: str, buckets: int) -> type:
    """The class that Spark sends to its workers. It is made here so that it is sent with its settings."""

    class NeelTable:
        @staticmethod
        def analyze(query: Any, events: Any, **options: Any) -> Any:
            try:
                return analysed(query, events, options, zone, buckets)
            except (NeelError, ValueError, TypeError) as error:
                raise error.with_traceback(None) from None  # Spark prints the stack before the message

        def __init__(self, result: Any) -> None:
            self.query: TableQuery = result.query
            self.rows: list[Any] = []
            if result.partitioned:
                require_partitions()

        def eval(
            self,
            query: str,
            events: Any,
            name: str | None = None,
            timestamp: str | None = None,
            end: str | None = None,
            type: str | None = None,
            unit: str | None = None,
            partitioned: bool | None = None,
        ) -> None:
            self.rows.append(events)

        def terminate(self) -> Iterator[Any]:
            if self.rows or self.query.whole:
                yield from self.query.over(self.query.table(self.rows)).rows()

    return NeelTable


def analysed(query: Any, events: Any, options: Mapping[str, Any], zone: str, buckets: int) -> Any:
    """What Spark asks of a call: the columns of the result, and which rows are brought together."""
    from pyspark.sql.udtf import PartitioningColumn, SelectedColumn

    from neelc.api.table_result import AnalyzedCall

    values = {name: _constant(name, given) for name, given in options.items()}
    if not events.isTable:
        raise ValueError("the second argument is a table: TABLE(events), or TABLE(SELECT ...)")
    is_partitioned = bool(values.pop("partitioned", False))
    text = _constant("query", query)
    found, columns = compiled_over(text, columns_of(events.dataType), values, zone)
    by_key = bool(found.keys) and not is_partitioned
    hashed = f"pmod(hash({', '.join(map(quote, found.keys))}), {buckets})"
    return AnalyzedCall(
        schema=struct_type(columns),
        withSinglePartition=found.whole and not is_partitioned,
        partitionBy=[PartitioningColumn(hashed)] if by_key else [],
        select=[SelectedColumn(*_selected(one)) for one in found.columns],
        query=replace(found, whole=found.whole and not is_partitioned),
        partitioned=is_partitioned,
    )


def _constant(name: str, given: Any) -> Any:
    if not given.isConstantExpression:
        raise ValueError(f"{name} is a constant: Spark plans the call before it reads any row")
    return given.value


def _selected(column: Column) -> tuple[str, str]:
    """The expression of a column, and its name. Instants are numbers on their way: Python would give them the
    time zone of the worker's machine."""
    name = quote(column.name)
    return (f"unix_micros({name})" if column.type == TIMESTAMP else name), column.name


def _array(values: Sequence[Any], kind: DataType) -> pa.Array:
    import pyarrow as pa

    if kind == TIMESTAMP:
        return pa.array(values, pa.int64()).cast(arrow_type(kind))
    if kind == BINARY:
        values = [None if one is None else bytes(one) for one in values]
    return pa.array(values, arrow_type(kind))


# Batch by batch: the query, and with it the columns of the result, are known beforehand.


def _batches_handler(query: TableQuery) -> type:
    class NeelQuery:
        def __init__(self) -> None:
            require_partitions()
            self.batches: list[Any] = []

        def eval(self, events: Any) -> Iterator[Any]:
            names = [one.name for one in query.columns]
            self.batches.append(events.select(names))
            return iter(())

        def terminate(self) -> Iterator[Any]:
            import pyarrow as pa

            if self.batches:
                yield query.over(pa.Table.from_batches(self.batches)).arrow()

    return NeelQuery


def require_partitions() -> None:
    """Raises `ValueError` if Spark gives this instance an arbitrary part of the table: matches would be
    missing.

    PySpark does not tell. But the object that divides rows by the PARTITION BY of a call makes the instance,
    so it is among those that are at work.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if hasattr(frame.f_locals.get("self"), "_create_udtf"):
            return
    raise ValueError(
        "the call requires PARTITION BY behind TABLE(...); PARTITION BY 1 takes all rows together"
    )


# What both have in common.


def _text(query: object) -> str:
    """The text of a query, which may be in a file."""
    if not isinstance(query, str):
        raise TypeError(f"the query is a text or the path of a .neel file, not {query!r}")
    if not query.strip().lower().endswith(".neel"):
        return query
    try:
        return decode(read_bytes(Path(query.strip()), query), query)
    except CallError as error:
        raise ValueError(str(error)) from None


def _name_of_table(text: str, settings: Mapping[str, str]) -> str:
    """What a query calls the table.

    >>> _name_of_table("PATTERN SEQ(Login a, Login b)", {})
    'Login'
    >>> _name_of_table("PATTERN SEQ(Login a, Logout b)", {"type": "kind"})
    'Events'
    >>> _name_of_table("PATTERN SEQ(Login a, Logout b)", {})
    Traceback (most recent call last):
    neelc.files.CallError: the query names Login, Logout: say which is the table, with name => '...', or \
which column has the types, with type => '...'
    """
    script = parse(Source(text))
    statements = [one for one in script.statements if isinstance(one, CreateStream)]
    declared = [bare(one.name) for one in statements if one.path is None]
    if len(declared) == 1:
        return declared[0]
    queries = [one.name for one in script.statements if isinstance(one, CreateQuery)]
    names = [name for name in stream_names(script, {}) if find(name, queries) is None]
    if "type" in settings:
        return "Events"
    if len(names) == 1:
        return bare(names[0])
    listed = ", ".join(names)
    raise CallError(
        f"the query names {listed}: say which is the table, with name => '...', or "
        "which column has the types, with type => '...'"
    )


def _key_columns(program: Program) -> tuple[str, ...]:
    """The columns of the table that all events of a match agree in, if no row of the result depends on
    matches with other values."""
    query = program.queries[-1].query
    if len(program.queries) != 1 or not isinstance(query, Match) or len(query.streams) != 1:
        return ()
    looks_at_all = query.distinct or query.aggregated or query.complete or query.numbered is not None
    if looks_at_all or query.order is not None or query.partial is not None:
        return ()
    (only,) = query.streams
    types = {column.name: column.type for column in only.columns}
    found = []
    for key in partition_keys(query):
        names = {
            term.name if isinstance(term, Attribute) and isinstance(term.event, Variable) else None
            for _, term in key.terms
        }
        name = names.pop() if len(names) == 1 else None
        column = None if name is None else find(name, types)
        if column is not None and types[column] in HASHED:
            found.append(column)
    return tuple(found)
