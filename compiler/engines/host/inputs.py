"""A script with queries of Spark's and the streams given from outside, without Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neelc import syntax as parse
from neelc.catalog.inputs import GivenStream, Inputs, complete, merged, rows_of
from neelc.catalog.readers.table import Row
from neelc.engines.host.compiling import CompiledHostQuery, compiled_host
from neelc.engines.host.simple import MultipleRows, NotSimple, SimpleQuery, SimpleQueryReader, answer
from neelc.engines.host.tables import Describe, HostTable, declared_tables
from neelc.engines.host.untrusted import refuse_files_and_agents
from neelc.engines.spark.relations import Read
from neelc.errors import Diagnostic, NeelError
from neelc.findings import Findings
from neelc.ir.names import find
from neelc.ir.program import Stream
from neelc.ir.script import CreateStream, Script, UnreadStatement
from neelc.program import bind
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import CannotSkip
from neelc.runtime.reference.results import Result
from neelc.source import Source, Span
from neelc.syntax.host import HostScript
from neelc.syntax.print_expressions import quoted

SPARK_RUNS_IT = "without --engine reference, Spark runs it"


@dataclass(frozen=True)
class HostInputs:
    """A script, completed; `streams` are those that it declares, `tables` are all that its queries can read
    by their names."""

    script: HostScript
    inputs: Inputs
    streams: tuple[Stream, ...]
    tables: Mapping[str, HostTable]
    arguments: Mapping[str, object]
    untrusted: bool = False

    @property
    def source(self) -> Source:
        return self.script.source

    def compiled(self, place: int, describe: Describe | None = None) -> CompiledHostQuery:
        """One of the queries for Spark; raises `NeelError`."""
        statements = self.script.statements[: place + 1]
        return compiled_host(statements, self.source, self.tables, self.arguments, describe, self.untrusted)

    def simple(self, place: int) -> SimpleQuery:
        """A query that can be run without Spark; raises `NeelError`."""
        findings = Findings(self.source)
        statement = self.script.statements[place]
        if self.untrusted:
            self.compiled(place)  # judges it, for every engine alike
        try:
            found = SimpleQueryReader(self.source, self.tables, self.arguments, findings).query(
                statement.span
            )
        except NotSimple as reason:
            self.compiled(place)  # tells what is wrong, if something is
            message = f"the reference engine does not run {reason}"
            raise self._error("NEEL4001", message, statement.span, SPARK_RUNS_IT) from None
        if found is None or findings.diagnostics:
            raise NeelError(findings.diagnostics, self.source)
        return found

    def answer(self, place: int) -> Result:
        """The rows of a query, by the reference interpreter; raises `NeelError`."""
        query = self.simple(place)
        span = self.script.statements[place].span
        try:
            return answer(query, self.rows(query))
        except CannotSkip as failure:
            hint = "skip to a variable of later rows, or write SKIP PAST LAST ROW"
            raise self._error("NEEL5009", str(failure), failure.skip.span or span, hint) from None
        except MultipleRows as failure:
            hint = "choose one of its rows, by WHERE or by an aggregate"
            raise self._error("NEEL5050", str(failure), failure.query.span or span, hint) from None
        except LimitReached as limit:
            hint = "a simpler pattern or fewer rows might help"
            raise self._error("NEEL5007", str(limit), span, hint) from None

    def rows(self, query: SimpleQuery) -> dict[str, list[Row]]:
        """The rows of the streams that a query reads."""
        found: dict[str, list[Row]] = {}
        for _, nested in query.nested:
            found |= self.rows(nested)
        if isinstance(query.reads, SimpleQuery):
            return found | self.rows(query.reads)
        table = self.tables[query.reads]
        return found | {table.name: rows_of(self.inputs, table.name, table.columns)}

    def _error(self, code: str, message: str, span: Span, hint: str) -> NeelError:
        return NeelError([Diagnostic(code, message, span, hint)], self.source)


def host_inputs(
    script: HostScript,
    given: Sequence[GivenStream],
    directory: Path,
    arguments: Mapping[str, object],
    untrusted: bool = False,
) -> HostInputs:
    """What the queries for Spark need; raises `NeelError` if a declaration is wrong."""
    own = declarations(script)
    if untrusted:
        refuse_files_and_agents(own, script.source)
    declared = [s.name for s in own.statements if isinstance(s, CreateStream)]
    ours = [one for one in given if find(one.name, declared) is not None]
    inputs = complete(own, script.source, ours, directory)
    streams = streams_of(inputs.script, script.source)
    tables = declared_tables(streams)
    for one in given:
        if one not in ours:
            columns = merged(one.open(True))
            tables[one.name] = HostTable(one.name, columns, Read(one.name), one.unit or "MILLISECOND")
    return HostInputs(script, replace(inputs, given=tuple(given)), streams, tables, arguments, untrusted)


def declarations(script: HostScript) -> Script:
    """The statements that declare streams, and those that cannot be read."""
    own = parse.read(script.own)
    return replace(
        own, statements=tuple(s for s in own.statements if isinstance(s, CreateStream | UnreadStatement))
    )


def streams_of(script: Script, source: Source) -> tuple[Stream, ...]:
    """The streams that a script declares for its queries of Spark's; raises `NeelError`. They need no time:
    MATCH_RECOGNIZE orders rows by any column.

    >>> text = "CREATE STREAM t (x INT); CREATE STREAM u (x INT) TIMESTAMP BY x"
    >>> [(stream.name, stream.start) for stream in streams_of(parse.script(text), Source(text))]
    [('t', ''), ('u', 'x')]
    """
    statements = tuple(
        replace(one, is_relation=True) if isinstance(one, CreateStream) and _is_timeless(one) else one
        for one in script.statements
    )
    for one in statements:
        if isinstance(one, CreateStream) and one.timestamp is not None and one.timestamp.format is not None:
            message = "not supported yet: FORMAT in a script whose queries are Spark's own"
            hint = f"to_timestamp({one.timestamp.start}, {quoted(one.timestamp.format)}) in a subquery"
            place = one.timestamp.span or one.span or Span(0, 1)
            raise NeelError([Diagnostic("NEEL4070", message, place, hint)], source)
    return bind(replace(script, statements=statements), source).streams


def _is_timeless(statement: CreateStream) -> bool:
    return (statement.timestamp, statement.end, statement.type_by) == (None, None, None)


def used_streams(script: HostScript, names: Sequence[str]) -> list[str]:
    """Those of the names that stand in a query."""
    return [name for name in names if any(one.mentions(name) for one in script.statements)]


def used_parameters(script: HostScript) -> list[str]:
    """The names that stand behind a colon, wherever."""
    return sorted(set(re.findall(r":\s*(\w+)", script.source.text)))
