"""Aggregates over matches that are counted, in process: what Spark adds up is added up here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from answers import MAX_CANDIDATES
from in_bridge import Way, as_table
from pattern_examples import query

from neelc.errors import NeelError
from neelc.ir.program import Match
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.columns import unit_of
from neelc.pattern.plan.counting.plan import AggregatePlan, aggregate_plan
from neelc.runtime.kernels.counting.chain import CountingProgram
from neelc.runtime.kernels.counting.kernel import counting
from neelc.runtime.reference import Tables, candidates, matches, read
from neelc.runtime.reference.results import is_over_matches, result, rows_of
from neelc.runtime.reference.worlds import WeighedMatch
from neelc.runtime.values.order import comparable
from neelc.tools.cases.streaming.pattern import NUMBER, TYPES, group_value, raw_values, united

Row = tuple[object, ...]
Part = Mapping[str, Any]


def planned(match: Match) -> AggregatePlan | None:
    return aggregate_plan(match, partition_keys(match), unit_of(match))


def counted_rows(match: Match, tables: Tables, way: Way) -> list[Row] | None:
    """The rows of a query whose matches are counted; None if they cannot be."""
    plan = planned(match)
    return None if plan is None else finished(match, plan, list(parts(match, plan, tables, way)))


def parts(match: Match, plan: AggregatePlan, tables: Tables, way: Way) -> Iterable[Part]:
    """The partial aggregates that come back."""
    program = plan.program
    if way.chunk is not None and program.reach is not None:
        width = max(1, program.reach * way.chunk // 4)
        program = replace(program, keys=(*program.keys, "chunk"), chunk=width)
    if program.keys:
        program = replace(program, grain=way.grain)
    events = list(read(match, tables, {}))
    Random(way.seed).shuffle(events)
    table = with_outputs(plan, program, match, as_table(plan.planned, program, match, events), events)
    batches = iter(table.combine_chunks().to_batches(max_chunksize=way.batch))
    for batch in counting(program, way.rows_at_once)(batches):
        yield from batch.to_pylist()


def with_outputs(
    plan: AggregatePlan, program: CountingProgram, match: Match, table: pa.Table, events: Sequence[Any]
) -> pa.Table:
    """The table with the columns that results are grouped by."""
    places = table.column(NUMBER).to_pylist()
    read = {column for output in program.outputs for column in output.columns} - set(table.column_names)
    for column in plan.planned.columns:
        if column.name in read:
            values = list(raw_values(column, match, events))
            kind = TYPES.get(column.type)
            table = table.append_column(column.name, pa.array([values[n] for n in places], kind))
    return table


def finished(match: Match, plan: AggregatePlan, rows: Sequence[Part]) -> list[Row]:
    """The result: groups are attributes, and aggregates stand alone in their columns."""
    groups: dict[object, list[Part]] = {}
    if all(is_over_matches(output.expression) for output in match.outputs):
        groups[()] = []
    for row in rows:
        key = tuple(comparable(value) for value in group_values(match, plan, row))
        groups.setdefault(key, []).append(row)
    found = []
    for members in groups.values():
        values = iter(group_values(match, plan, members[0]) if members else ())
        tallied = {one.node: one.tally for one in plan.tallied}
        found.append(
            tuple(
                united(tallied[output.expression], members) if output.expression in tallied else next(values)
                for output in match.outputs
            )
        )
    return found


def group_values(match: Match, plan: AggregatePlan, row: Part) -> list[object]:
    """What Spark computes of the events that a group has in common."""
    grouped = [output.expression for output in match.outputs if not is_over_matches(output.expression)]
    return [group_value(plan, row, expression) for expression in grouped]


def expected_rows(match: Match, tables: Tables) -> list[Row]:
    """The same by enumerating all matches."""
    found = [WeighedMatch(binding, Fraction(1)) for binding in matches(match, tables)]
    return result(match, rows_of(match, found)).rows


def bound(text: str) -> Match | None:
    """A query that can be executed: not all that parses can."""
    try:
        return query(text)
    except NeelError:
        return None


def differing_rows(match: Match, tables: Tables, way: Way) -> tuple[bool, str]:
    """Whether a query that can be counted has a match; and what is wrong with its rows, if they differ."""
    found = counted_rows(match, tables, way)
    assert found is not None, "it can be counted"
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        expected = expected_rows(match, tables)
    return any(any(row) for row in expected), differing(found, expected)


def differing(found: Sequence[Row], expected: Sequence[Row]) -> str:
    """What is wrong with rows; nothing if they are those that are expected."""
    pairs = zip(in_order(found), in_order(expected), strict=False)
    same = len(found) == len(expected) and all(all(map(is_same, *pair)) for pair in pairs)
    return "" if same else f"found {found}, expected {expected}"


def is_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other and type(one) is type(other)


def in_order(rows: Sequence[Row]) -> list[Row]:
    def key(row: Row) -> list[str]:
        return [repr(round(value, 6) if isinstance(value, float) else value) for value in row]

    return sorted(rows, key=key)
