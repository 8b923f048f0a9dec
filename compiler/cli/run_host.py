"""What the commands do with scripts whose queries are Spark's, around MATCH_RECOGNIZE."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neelc.api.host import check_session, described, running
from neelc.api.schemas import columns_of
from neelc.cli.options import arguments_of, check_data, given_stream, located, with_timezone
from neelc.cli.output import refuse_inputs
from neelc.cli.output import written as written_table
from neelc.cli.progress import Progress
from neelc.cli.run import Tally, counted
from neelc.cli.run_on_spark import Job, Rows, run_job, settings_of
from neelc.engines.host.inputs import HostInputs, host_inputs, used_parameters, used_streams
from neelc.engines.host.tables import Table, declared_tables
from neelc.files import CallError, write_whole
from neelc.ir.names import find, written
from neelc.ir.program import Program, Stream
from neelc.source import Source
from neelc.syntax.host import HostScript, HostStatement, host_script


def asked_of_host(
    source: Source, options: argparse.Namespace, everything: bool = False
) -> tuple[HostInputs, list[int]] | None:
    """The script, and the places of the queries that are asked for, if they are Spark's; None if they are
    ours. With `everything`, all of Spark's are."""
    script = host_script(source)
    if script is None:
        return None
    places = list(range(len(script.statements))) if everything else _places(script, _names(options))
    return (_inputs(script, options), places) if places else None


def _names(options: argparse.Namespace) -> list[str]:
    names = getattr(options, "query", None) or []
    return [names] if isinstance(names, str) else names


def _places(script: HostScript, names: list[str]) -> list[int]:
    if not names:
        return [len(script.statements) - 1] if script.is_last else []
    known = [one.name or "" for one in script.statements]
    found = [find(name, map(written, filter(None, known))) for name in names]
    if any(found) and not all(found):
        raise CallError("--query: a query of Spark's and another one; ask for them one by one")
    return [[written(one) for one in known].index(name) for name in found if name is not None]


def _inputs(script: HostScript, options: argparse.Namespace) -> HostInputs:
    source = script.source
    given = [given_stream(text) for text in options.stream]
    directory = Path() if source.name == "<stdin>" else Path(source.name).parent
    arguments = arguments_of(options.arg)
    found = host_inputs(script, given, directory, arguments, options.untrusted)
    refuse_inputs(found.inputs, options)
    for name in (one.name for one in given):
        if not used_streams(script, [name]):
            there = ", ".join(stream.name for stream in found.streams) or "none is declared"
            raise CallError(f"--stream {name}=...: no query reads it; streams: {there}")
    for name in arguments:
        if name not in used_parameters(script):
            listed = ", ".join(f":{p}" for p in used_parameters(script)) or "none"
            raise CallError(f"--arg {name}=...: the script has no parameter :{name}; parameters: {listed}")
    return found


def with_located_streams(host: HostInputs) -> HostInputs:
    """With paths as they are from here: those of a script are relative to its directory."""
    streams = located(Program(host.streams, ()), host.inputs.directory.resolve()).streams
    return replace(host, streams=streams, tables={**host.tables, **declared_tables(streams)})


# `neelc run` of queries that are Spark's: with Spark, which is asked what it knows, or without it.


@dataclass(frozen=True)
class HostJob(Job):
    """Queries of Spark's at `places`."""

    host: HostInputs | None = None
    places: tuple[int, ...] = ()

    def found(self, spark: Any, frames: Mapping[str, Any]) -> list[Rows]:
        assert self.host is not None
        if self.host.untrusted:
            check_session(spark)
        rows = []
        for place in self.places:
            host = self.host.compiled(place, lambda relations: described(relations, spark, frames))
            statement = self.host.script.statements[place]
            frame = running(host.compiled.source, spark, frames, self.host.script, place)
            known = columns_of(frame.schema)
            names = {column.name for column in known}
            if len(known) < len(frame.columns):  # what has no form here is told as text
                items = [
                    name if name in names else f"CAST(`{name}` AS STRING) AS `{name}`"
                    for name in frame.columns
                ]
                frame = frame.selectExpr(*items)
                known = columns_of(frame.schema)
            rows.append(Rows(statement.name, known, frame, is_ordered(statement)))
        return rows


def is_ordered(statement: HostStatement) -> bool:
    """Whether the rows of a query have an order: ORDER BY outside of all parentheses."""
    depth = 0
    for token in statement.tokens:
        depth += token.says("(") - token.says(")")
        if depth == 0 and token.says("ORDER", "SORT"):
            return True
    return False


def run_host_on_spark(host: HostInputs, places: Sequence[int], kind: str, options: argparse.Namespace) -> int:
    settings = with_timezone(settings_of(options.conf), options.timezone)
    host = with_located_streams(host)
    streams = {table.name: _stream(table, host) for table in host.tables.values() if _is_read(table, host)}
    check_data(host.inputs, streams)
    output, here = options.output, tuple(places)
    job = HostJob(host.inputs, (), streams, kind, output, options.overwrite, host=host, places=here)
    return run_job(job, options, settings, "rows")


def _is_read(table: Table, host: HostInputs) -> bool:
    return any(statement.mentions(table.name) for statement in host.script.statements)


def _stream(table: Table, host: HostInputs) -> Stream:
    declared = next((one for one in host.streams if one.name == table.name), None)
    return declared or Stream(table.name, table.columns, "")


def run_host_on_reference(
    host: HostInputs, places: Sequence[int], kind: str, options: argparse.Namespace
) -> int:
    start = time.perf_counter()
    with Progress(sys.stderr) as progress:
        progress.begin("finding matches")
        results = [(host.script.statements[place].name, host.answer(place)) for place in places]
    seconds = time.perf_counter() - start
    text = written_table(results, kind)
    if options.output:
        write_whole(Path(options.output), text)
    else:
        sys.stdout.write(text)
    rows = sum(len(result.rows) for _, result in results)
    print(f"{counted(Tally(rows), 'row')} in {seconds:.2f} s (reference engine)", file=sys.stderr)
    return 0
