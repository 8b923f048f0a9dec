"""What Spark's analysis says of its own SQL: the columns of a query, or why it is refused. Nothing runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from neelc.api.schemas import columns_of, ddl
from neelc.api.streams import Frame
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.findings import Findings
from neelc.ir.bound_rows import HostQuery
from neelc.ir.names import quote
from neelc.ir.program import Program, Stream
from neelc.rows.bind.host import Describe, DescribedColumns, SparkRejection, refused_at
from neelc.rows.bind.host_text import SparkQuery
from neelc.source import Source

_REFUSALS = ("AnalysisException", "ParseException", "SparkConnectGrpcException", "IllegalArgumentException")


def describing(spark: Frame, frame_of: Callable[[Stream], Frame]) -> Describe:
    """What asks a session for the columns of queries; `frame_of` gives the DataFrame of a stream, as Spark
    knows more of its columns than we do."""

    def describe(query: SparkQuery, relations: Mapping[str, DescribedColumns]) -> DescribedColumns:
        frames = {
            name: _empty(spark, one) if one.stream is None else frame_of(one.stream)
            for name, one in relations.items()
        }
        with refusing():
            return described(_analysed(spark, query, frames).schema)

    return describe


def _empty(spark: Frame, columns: DescribedColumns) -> Frame:
    """A DataFrame without rows."""
    others = [f"{quote(name)} {kind}" for name, kind in columns.others]
    return spark.createDataFrame([], ", ".join([*filter(None, [ddl(columns.columns)]), *others]))


def _analysed(spark: Frame, query: SparkQuery, frames: Mapping[str, Frame]) -> Frame:
    from pyspark.sql import functions as F

    values = {name: F.expr(text) for text, name in query.arguments}
    return spark.sql(query.text, args=values or None, **frames)


def described(schema: Any) -> DescribedColumns:
    """The columns of a schema."""
    columns = columns_of(schema)
    known = {column.name for column in columns}
    others = [(one.name, one.dataType.simpleString()) for one in schema.fields if one.name not in known]
    return DescribedColumns(columns, tuple(others))


def check_session(spark: Frame, program: Program) -> None:
    """Raises `CallError` if Spark would resolve other tables than those checked, in untrusted text."""
    if not any(isinstance(named.query, HostQuery) for named in program.queries):
        return
    if spark.conf.get("spark.sql.caseSensitive", "false").lower() == "true":
        raise CallError("untrusted text requires spark.sql.caseSensitive=false, as Spark has it")


@contextmanager
def analysing(
    query: object, source: Source, is_streaming: bool = False
) -> Iterator[Callable[[Frame], Frame]]:
    """Where the DataFrame of a query is built: what Spark refuses of its own SQL is a `NeelError`. It
    `is_streaming` where streams that it reads are, itself or by other queries."""
    if not isinstance(query, HostQuery):
        yield lambda frame: frame
        return
    try:
        with refusing():
            yield lambda frame: frame if is_streaming else _bounded(frame, query, source)
    except SparkRejection as refusal:
        findings = Findings(source)
        refused_at(refusal, query.place, findings)
        raise NeelError(findings.diagnostics, source) from refusal.__cause__


def _bounded(frame: Frame, query: HostQuery, source: Source) -> Frame:
    """A table that Spark alone knows may be streaming: the query was compiled for bounded data then."""
    if frame.isStreaming:
        message = "the query reads a streaming DataFrame that is not given to it"
        hint = "give it by the name that the query has for it: neelc.sql(spark, text, Name=spark.table(...))"
        raise NeelError([Diagnostic("NEEL4130", message, query.place, hint)], source)
    return frame


_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""With these, PySpark prints each refusal with Java's stack, as one line of 10,000 characters."""


class refusing:
    """What Spark's analysis raises, as `SparkRejection`. PySpark prints nothing: the error says it all."""

    def __enter__(self) -> None:
        from pyspark.logger import PySparkLogger

        self._enabled = [one for one in map(PySparkLogger.getLogger, _LOGGERS) if not one.disabled]
        for logger in self._enabled:
            logger.disabled = True

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
        for logger in self._enabled:
            logger.disabled = False
        if error is not None and type(error).__name__ in _REFUSALS and not isinstance(error, NeelError):
            raise SparkRejection(_sentence(error), _fragment(error)) from error
        if type(error).__name__ == "Py4JJavaError" and "java.lang.StackOverflowError" in str(error):
            raise SparkRejection("the query is nested too deeply for its parser") from error


def _sentence(error: BaseException) -> str:
    """The first sentence of an exception of Spark's, without its class."""
    text = " ".join(re.split(r"; line |\n\n|\n== SQL|\nJVM stacktrace", str(error))[0].split())
    return re.split(r" SQLSTATE: | Verify the spelling| \(line \d", text)[0].rstrip(".")


def _fragment(error: Any) -> str:
    """The part of the text that Spark points at."""
    try:
        contexts = error.getQueryContext()
        return str(contexts[0].fragment()) if contexts else ""
    except Exception:  # not every exception of Spark's has one
        return ""
