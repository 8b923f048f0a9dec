"""The table of many rules, made by the reference interpreter: the rows that Spark makes, spelt alike.

`key` and `columns` are VARIANTs on Spark. Here they are texts, as Spark's to_json writes a VARIANT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from neelc.catalog.inputs import Inputs
from neelc.engines.reference import Tables, execute
from neelc.engines.spark.rules import combined_columns, common_time
from neelc.errors import NeelError
from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.program import Clock, Match, NamedQuery, Program
from neelc.ir.types import TIMESTAMP, DataType
from neelc.pattern.analysis.rule_columns import rule_query
from neelc.rows.bind.simple import understood
from neelc.runtime.reference import Result
from neelc.runtime.values.types import cast
from neelc.scalar.type_of import value_type
from neelc.scalar.variants import as_object
from neelc.source import Source


def unsupported_rules(program: Program, places: Sequence[int], source: Source) -> dict[int, NeelError]:
    """The rules at these places that only Spark can execute, or that read such a query, with the reason."""
    found: dict[int, NeelError] = {}
    for place in places:
        for at in program.needed([place]):
            query = program.queries[at].query
            if isinstance(query, HostQuery) and query.simple is None:
                try:
                    understood(query, source)
                except NeelError as error:
                    found.setdefault(place, error)
    return found


def rules_result(inputs: Inputs, program: Program, tables: Tables, places: Sequence[int]) -> Result:
    """The rows of the rules at these places; `NeelError` if a rule is too much work for the interpreter."""
    rules = [program.queries[place] for place in places]
    # Beside the queries, not in their place: others may read them, and know nothing of the added columns.
    asked = tuple(NamedQuery(None, _as_rule(rule), span=rule.span) for rule in rules)
    whole = replace(program, queries=(*program.queries, *asked))
    first = len(program.queries)
    results = execute(inputs, whole, tables, range(first, first + len(asked)))
    times = common_time(_clocks(rules) or [TIMESTAMP])
    assert times is not None, "rules whose times differ are refused before"
    rows = [
        row for rule, (_, result) in zip(rules, results, strict=True) for row in _rows(rule, result, times)
    ]
    return Result(combined_columns(times), rows)


def rules_clock(program: Program, places: Sequence[int]) -> Clock:
    """The clock of the times in the table of these rules."""
    clocks = [one.query.clock for one in _at(program, places) if not isinstance(one.query, HostQuery)]
    times = common_time(clock.type for clock in clocks) or TIMESTAMP
    return Clock(times, next((clock.unit for clock in clocks if clock.type == times), None))


def timeless_rules(program: Program, places: Sequence[int]) -> Iterator[str]:
    """The names of the rules whose rows have no times."""
    for rule in _at(program, places):
        query = rule.query
        if isinstance(query, HostQuery) or (isinstance(query, Match) and not rule_query(query).has_times):
            yield rule.name or ""


def _at(program: Program, places: Sequence[int]) -> list[NamedQuery]:
    return [program.queries[place] for place in places]


def _clocks(rules: Iterable[NamedQuery]) -> list[DataType]:
    return [rule.query.clock.type for rule in rules if not isinstance(rule.query, HostQuery)]


def have_common_time(program: Program, places: Sequence[int]) -> bool:
    """Whether the times of these rules fit into one column."""
    clocks = _clocks(program.queries[place] for place in places)
    return not clocks or common_time(clocks) is not None


def _as_rule(rule: NamedQuery) -> Match | Algebra | HostQuery:
    return rule_query(rule.query).match if isinstance(rule.query, Match) else rule.query


def _rows(rule: NamedQuery, result: Result, times: DataType) -> Iterator[tuple[object, ...]]:
    """The rows of one rule as rows of the table."""
    keys: tuple[str, ...] = ()
    has_times = not isinstance(rule.query, HostQuery)
    if isinstance(rule.query, Match):
        found = rule_query(rule.query)
        keys, has_times = found.keys, found.has_times
    own = len(result.columns) - len(keys) - 2 * has_times
    kinds = [column.type for column in result.columns]
    names = [*(column.name for column in result.columns[:own]), *keys]
    for row in result.rows:
        values = list(zip(names, row, kinds, strict=False))
        clock = [_as_time(value, kinds[-1], times) for value in row[-2:]] if has_times else [None, None]
        yield rule.name, as_object(values[own:]), *clock, as_object(values[:own])


def _as_time(value: object, kind: DataType, times: DataType) -> object:
    return value if kind == times else cast(value, value_type(kind), value_type(times))
