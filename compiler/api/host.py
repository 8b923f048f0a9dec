"""Queries of Spark's around MATCH_RECOGNIZE, with a session to ask and to run them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neelc.api.errors import NeelQueryError, translated
from neelc.api.query import DisplayText, query_html, run_source
from neelc.api.schemas import columns_of
from neelc.api.streams import Frame, RegisteredStream, StreamData, declared_paths, refuse_endless
from neelc.catalog.inputs import complete, unit_of
from neelc.engines.host.compiling import CompiledHostQuery, compiled_host
from neelc.engines.host.inputs import declarations, streams_of
from neelc.engines.host.tables import DescribedColumns, HostTable, SparkRejection, declared_tables, refused_at
from neelc.engines.spark.python_source import python_source
from neelc.engines.spark.relations import Read, Relations
from neelc.errors import Diagnostic, NeelError
from neelc.explain.host import explained
from neelc.files import CallError
from neelc.findings import Findings
from neelc.ir.names import bare, find, written
from neelc.ir.program import Stream
from neelc.ir.script import CreateStream
from neelc.source import Source
from neelc.syntax.host import HostScript
from neelc.tools.why.explaining import refusal_of_rows
from neelc.tools.why.model import Why

if TYPE_CHECKING:
    from neelc.api.timeline import Timeline

_REFUSALS = ("AnalysisException", "ParseException", "SparkConnectGrpcException", "IllegalArgumentException")


@dataclass(frozen=True, repr=False)
class HostQuery:
    """The last query of a script, a query of Spark's. Nothing is run before an action of Spark's is."""

    spark: Frame
    script: HostScript
    host: CompiledHostQuery
    frames: Mapping[str, Frame] = field(repr=False)

    warnings: tuple[Diagnostic, ...] = ()

    @property
    def text(self) -> Source:
        """The script."""
        return self.script.source

    @property
    def source(self) -> DisplayText:
        """PySpark source with one function, `query(spark, streams)`: what `to_df` calls."""
        return DisplayText(self.host.compiled.source)

    @property
    def plan(self) -> DisplayText:
        """The physical plan."""
        return DisplayText(self.host.compiled.plan)

    def to_sql(self) -> DisplayText:
        """There is none: the clauses run in Python."""
        span = self.script.statements[-1].span
        hint = "it runs as PySpark source: see `source`"
        found = Diagnostic("NEEL4001", "not possible: SQL for a plan with a kernel", span, hint)
        raise NeelQueryError([found], self.script.source)

    def timeline(self, **_: object) -> Timeline:
        """There is none: its rows have no time that is known."""
        from neelc.api.timeline import drawn

        return drawn(self)

    def explain(self, mode: str = "simple", format: str = "text") -> DisplayText:
        """How the query is executed."""
        with translated():
            return DisplayText(explained([self.host], format, mode))

    def why(self, *, key: object = None, between: Sequence[object] | None = None) -> Why:
        """Only the matches of PATTERN are explained."""
        with translated():
            raise refusal_of_rows(self.script.statements[-1].span, self.script.source)

    def to_df(self) -> Frame:
        """The rows as a DataFrame of Spark."""
        with translated():
            return running(self.source, self.spark, self.frames, self.script)

    def __repr__(self) -> str:
        return f"<neelc.HostQuery: {' '.join(self.script.source.text.split())[:80]}>"

    def _repr_html_(self) -> str:
        return query_html(self.script.source, self.plan)


@dataclass(frozen=True)
class HostBinding:
    """A script whose last query is Spark's, and what a session gives it."""

    spark: Frame
    script: HostScript
    data: Mapping[str, StreamData]
    arguments: Mapping[str, object]
    untrusted: bool = False

    def query(self) -> HostQuery:
        """The query, compiled; raises `NeelError`."""
        statements = self.script.statements
        if self.untrusted:
            check_session(self.spark)
        host = compiled_host(
            statements, self.script.source, self.tables, self.arguments, self.describe, self.untrusted
        )
        read = {let.relation.stream for let in host.compiled.relations.lets if isinstance(let.relation, Read)}
        frames = {name: self._frame(name) for name in self.tables if name in read}
        return HostQuery(self.spark, self.script, host, frames)

    def describe(self, relations: Relations) -> DescribedColumns:
        """The columns of the last of the relations, from Spark's analysis."""
        read = [let.relation.stream for let in relations.lets if isinstance(let.relation, Read)]
        return described(relations, self.spark, {name: self._frame(name) for name in read})

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that the script declares."""
        own = declarations(self.script)
        declared = [s.name for s in own.statements if isinstance(s, CreateStream)]
        ours = [one.given() for one in self._registered.values() if find(written(one.name), declared)]
        inputs = complete(own, self.script.source, ours, Path())
        return streams_of(inputs.script, self.script.source)

    @cached_property
    def tables(self) -> dict[str, HostTable]:
        found = declared_tables(self.streams)
        for name, one in self._registered.items():
            if find(written(name), map(written, found)) is None and self._is_mentioned(name):
                unit = (one.data.unit and unit_of(one.data.unit)) or "MILLISECOND"
                found[name] = HostTable(name, columns_of(one.plain_frame.schema), Read(name), unit)
        return found

    @cached_property
    def _registered(self) -> dict[str, RegisteredStream]:
        own = declarations(self.script)
        declared = [bare(s.name) for s in own.statements if isinstance(s, CreateStream)]
        data = dict(self.data) | dict(declared_paths(own, self.data))
        return {name: RegisteredStream(name, one, self.spark, name in declared) for name, one in data.items()}

    def _is_mentioned(self, name: str) -> bool:
        return any(statement.mentions(name) for statement in self.script.statements)

    def _frame(self, name: str) -> Frame:
        registered = next((r for n, r in self._registered.items() if find(written(n), [written(name)])), None)
        stream = next((one for one in self.streams if one.name == name), None)
        if registered is None:
            hint = f"give it: {name}=DataFrame, or say FROM 'path' in CREATE STREAM"
            last = self.script.statements[-1]
            place = last.place_of(name) or last.span
            raise NeelError(
                [Diagnostic("NEEL5005", f"stream `{name}` has no data", place, hint)], self.script.source
            )
        return registered.plain_frame if stream is None else registered.frame(stream)


def check_session(spark: Frame) -> None:
    """Raises `CallError` if Spark would find other tables than those that were judged."""
    if spark.conf.get("spark.sql.caseSensitive", "false").lower() == "true":
        raise CallError("untrusted text requires spark.sql.caseSensitive=false, as Spark has it")


def described(relations: Relations, spark: Frame, frames: Mapping[str, Frame]) -> DescribedColumns:
    """The columns of the last of the relations, from Spark's analysis."""
    with refusing():
        schema = run_source(python_source(relations, ""), spark, frames).schema
    columns = columns_of(schema)
    known = {column.name for column in columns}
    others = [(one.name, one.dataType.simpleString()) for one in schema.fields if one.name not in known]
    return DescribedColumns(columns, tuple(others))


def running(
    source: str, spark: Frame, frames: Mapping[str, Frame], script: HostScript, place: int = -1
) -> Frame:
    """The DataFrame of a query, which Spark analyses; raises `NeelError` if it refuses it."""
    try:
        with refusing():
            frame = run_source(source, spark, frames)
            refuse_endless(frame, None)
            return frame
    except SparkRejection as refusal:
        findings = Findings(script.source)
        refused_at(refusal, script.statements[place].span, findings)
        raise NeelError(findings.diagnostics, script.source) from refusal.__cause__


class refusing:
    """What Spark's analysis raises, as `SparkRejection`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: object) -> None:
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
