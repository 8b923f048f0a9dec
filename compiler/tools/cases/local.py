"""Cases on the local engine: what it finds must be what the reference interpreter finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

import pyarrow as pa

from neelc.catalog.inputs import location_of
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.functions import arrow_type, writer_of
from neelc.engines.local.inputs import local_tables
from neelc.engines.local.plan import local_program
from neelc.engines.local.program import LocalProgram, Types
from neelc.engines.local.results import is_failed_run, row_values
from neelc.engines.local.tables import LocalTable
from neelc.engines.local.tasks import BATCH
from neelc.engines.reference import executable
from neelc.engines.spark.relations import Relations
from neelc.errors import NeelError
from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.expressions import Function
from neelc.ir.program import Column, Program, Stream, streams_read
from neelc.ir.types import stored
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import compile_program
from neelc.runtime.failures import KernelFailure, sentence
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference import Result
from neelc.runtime.values.times import in_zone
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation, WrongQuery
from neelc.tools.cases.file import CaseFile
from neelc.tools.cases.run import PreparedCase, compare, prepared

LIMIT = "NEEL5007"
"""The reference interpreter enumerates what the local engine does not: these limits are its own."""


@dataclass(frozen=True)
class LocalOutcome:
    """What became of a case on the local engine. If it did not run there, why is in `refusal`. `has_error`:
    the case expects an error, and there is one."""

    passed: bool = True
    diff: str = ""
    refusal: str = ""
    has_error: bool = False

    @property
    def note(self) -> str:
        """Why a case did not run on the local engine; empty if it did."""
        return f"not on the local engine: {self.refusal}" if self.refusal else ""


@dataclass
class LocalTally:
    """How many cases on the local engine came to what.

    >>> tally = LocalTally()
    >>> tally.add(LocalOutcome())
    >>> tally.add(LocalOutcome(refusal="the agent scored, a function of Spark's DataFrames"))
    >>> print(tally)
    2 cases on the local engine: 1 agrees, 1 not run
    """

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: LocalOutcome) -> None:
        if outcome.refusal:
            self.counts["not run"] += 1
        elif not outcome.passed:
            self.counts["differ"] += 1
        else:
            self.counts["with the expected error" if outcome.has_error else "agree"] += 1

    def __str__(self) -> str:
        agree, differ = self.counts["agree"], self.counts["differ"]
        parts = [f"{agree} {'agrees' if agree == 1 else 'agree'}"]
        if differ:
            parts.append(f"{differ} {'differs' if differ == 1 else 'differ'}")
        for what in ("with the expected error", "not run"):
            if self.counts[what]:
                parts.append(f"{self.counts[what]} {what}")
        cases = self.counts.total()
        return f"{cases} {'case' if cases == 1 else 'cases'} on the local engine: {', '.join(parts)}"


def run_locally(case: CaseFile, zone: str = "UTC") -> LocalOutcome:
    """Run a case on the local engine, in its time zone, else in `zone`. Its events are in memory; files that
    its script names are read by the engine."""
    with in_zone(case.timezone or zone):
        ready = prepared(case)
        if isinstance(ready, str):  # what the compiler finds, no engine sees
            return LocalOutcome(has_error=True)
        try:
            found: Result | str = _result(case, ready, case.timezone or zone)
        except WrongQuery as error:
            found = str(error)
        except UnspelledOperation as refusal:
            return LocalOutcome(refusal=str(refusal))
        except UnsupportedQuery as refusal:
            return LocalOutcome(refusal=f"{refusal.code}: {refusal.what}")
        except NeelError as error:
            found = str(error)
        except Exception as error:
            if not is_failed_run(error):
                raise
            found = sentence(error.facts) if isinstance(error, KernelFailure) else str(error).strip()
        return _judged(case, found)


def _judged(case: CaseFile, found: Result | str) -> LocalOutcome:
    """Engines fail in their own words, but where one of them fails, so does the other."""
    expected = case.expected
    if not isinstance(expected, str):
        outcome = compare(expected, found)
        return LocalOutcome(outcome.passed, f"on the local engine:\n{outcome.diff}")
    if isinstance(found, str):
        return LocalOutcome(has_error=True)
    if LIMIT in expected:
        return LocalOutcome(refusal=f"{LIMIT} is a limit of the reference interpreter")
    rows = compare(expected, found).actual
    return LocalOutcome(False, f"on the local engine: an error was expected, but there was none:\n{rows}")


def _result(case: CaseFile, ready: PreparedCase, zone: str) -> Result:
    last = len(ready.program.queries) - 1
    program = executable(ready.program, [last], case.query)
    compiled, streams = compile_program(program, last), streams_read(program, [last])
    held = {
        name: table_of(stream, ready.tables[name])
        for name, stream in streams.items()
        if location_of(ready.found, name) is None
    }
    calls: dict[str, EvaluatedCall] = {}
    tables = local_tables(ready.found, streams, held, calls, zone)
    engine = LocalEngine(zone, processes=1)
    columns = columns_of(program)
    rows = local_rows(compiled.relations, columns, tables, engine, calls, compiled.aggregates)
    return Result(columns, rows, has_valid_time=isinstance(program.queries[last].query, Algebra))


def table_of(stream: Stream, rows: Sequence[Mapping[str, object]]) -> LocalTable:
    """The rows of a stream, as the reference interpreter has them."""
    types = stored_types(stream)
    return LocalTable(arrow_table(rows, types), types)


def stored_types(stream: Stream) -> Types:
    """The columns that are given of a stream, as engines have them."""
    return {column.name: stored(column.type) for column in stream.own_columns}


def arrow_table(rows: Sequence[Mapping[str, object]], types: Types) -> pa.Table:
    """Rows as a table of Arrow."""
    columns = {}
    for name, type in types.items():
        write = writer_of(type)
        values = [None if row[name] is None else write(row[name]) for row in rows]
        columns[name] = pa.array(values, arrow_type(type))
    return pa.table(columns)


def columns_of(program: Program) -> tuple[Column, ...]:
    """The columns of the last query of a program that the reference interpreter executes."""
    query = program.queries[-1].query
    if isinstance(query, HostQuery):
        assert query.simple is not None
        return query.simple.columns
    return query.columns


def local_rows(
    relations: Relations,
    columns: Sequence[Column],
    tables: Mapping[str, LocalTable],
    engine: LocalEngine,
    calls: Mapping[str, EvaluatedCall] | None = None,
    functions: Mapping[str, Function] | None = None,
) -> list[tuple[object, ...]]:
    """The rows of a plan over tables, with these columns; raises `UnspelledOperation`, or what fails."""
    program = program_giving(columns, relations, {name: one.types for name, one in tables.items()}, calls)
    return program_rows(program, tables, engine, functions)


def program_giving(
    columns: Sequence[Column],
    relations: Relations,
    streams: Mapping[str, Types],
    calls: Mapping[str, EvaluatedCall] | None = None,
) -> LocalProgram:
    """What runs for a plan over streams with these types, whose result has these columns."""
    program = local_program(relations, streams, calls)
    expected = {column.name: stored(column.type) for column in columns}
    assert dict(program.columns) == expected, f"columns {program.columns} instead of {expected}"
    return program


def program_rows(
    program: LocalProgram,
    tables: Mapping[str, LocalTable],
    engine: LocalEngine,
    functions: Mapping[str, Function] | None = None,
) -> list[tuple[object, ...]]:
    """The rows that a program finds in tables."""
    run = engine.run(program, tables, functions)
    try:
        return list(row_values(run.query().to_arrow_reader(BATCH), program.columns))
    except Exception as error:
        fault = run.fault_of_data(error)
        if fault is None:
            raise
        raise fault from error
