"""Scripts of several random rules over the same streams, as text, and streams in which they have matches.

    found = rule_script(7)
    found.text                 # CREATE STREAM ...; CREATE QUERY R0 AS PATTERN ...; CREATE QUERY R1 AS ...
    found.tables               # streams: rows of S and T, several times

A script depends on its number only. Rules have keys of several types, and return values of these types. The
streams are apart: in time, by a key, or there is but one of them; see `many_streams.py`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal as Number
from random import Random
from typing import Literal

from many_streams import RUN, can_be_combined, is_windowed, moved

from generate.conditions import member, number, seen_in, together
from generate.repeated import kleene_sample
from generate.retyped import EPOCH
from generate.rewritable import IMPRECISE, OTHER, Sample, sample
from generate.streams import INTERVAL_STREAM, STREAM, Row
from generate.variants import variants
from generate.witnesses import Tables
from neelc import syntax
from neelc.errors import NeelError
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts
from neelc.ir.node import Node, transform
from neelc.ir.row_patterns import Output
from neelc.ir.script import (
    ColumnDefinition,
    CreateQuery,
    CreateStream,
    CreateType,
    PatternQuery,
    RunQuery,
    Script,
    SelectionStrategy,
    Statement,
)
from neelc.ir.types import DOUBLE, INT, STRING, TIMESTAMP, DataType, Decimal
from neelc.syntax.printer import format_script

Apart = Literal["time", "key", "one"]
MOST_RULES = 12
MILLISECOND = datetime.timedelta(milliseconds=1)
KEYS: dict[str, tuple[DataType, Callable[[int], object]]] = {
    "name": (STRING, lambda value: f"it's {value}"),
    "code": (DOUBLE, lambda value: float("nan") if value == 2 else value - 1.0),
    "cost": (Decimal(6, 2), lambda value: Number(value).quantize(Number("0.01"))),
    "day": (TIMESTAMP, lambda value: EPOCH + datetime.timedelta(days=value)),
}
"""Columns that tell events apart as `id` does, of other types."""

COMPUTED = (
    "concat({}.name, {}.name) LIKE '%1%1'",
    "length(concat({}.name, {}.name)) >= 12",
    "{}.cost + {}.cost <= 3",
)


@dataclass(frozen=True)
class RuleScript:
    """Rules over streams that are `apart`: each match lies in one of the `tables`."""

    declarations: tuple[Statement, ...]
    rules: tuple[tuple[str, PatternQuery], ...]
    tables: tuple[Tables, ...]
    apart: Apart

    @property
    def text(self) -> str:
        queries = (CreateQuery(name, query) for name, query in self.rules)
        return format_script(Script((*self.declarations, *queries)))

    @property
    def all_rows(self) -> Tables:
        """The rows of all streams."""
        return {name: [row for one in self.tables for row in one[name]] for name in self.tables[0]}

    def only(self, names: Collection[str]) -> RuleScript:
        """Some of the rules."""
        return replace(self, rules=tuple(rule for rule in self.rules if rule[0] in names))


def rule_script(number: int, streams: int = 6, delay: int | None = None) -> RuleScript | None:
    """The script with this number; None if it has fewer than two rules. With a `delay`, in milliseconds, the
    streams have watermarks, and numbers for times."""
    chance = Random(f"rules {number}")
    apart: Apart = chance.choice(["time", "time", "key", "key", "one"])
    is_instant = delay is None and chance.random() < 0.25
    found = list(samples(number, chance))
    declarations = tuple(declared(found, is_instant, delay))
    drawn = [query for one in found for query in variants(with_key(one.query, chance), chance)]
    chance.shuffle(drawn)
    queries = [one for query in drawn for one in as_asked(changed(query, chance), apart, declarations)]
    rules = [(f"R{place}", query) for place, query in enumerate(queries[: chance.randint(2, MOST_RULES)])]
    if len(rules) < 2:
        return None
    tables = [table for one in found for table in one.tables]
    tables = chance.sample(tables, min(1 if apart == "one" else streams, len(tables)))
    placed = moved(tuple(with_columns(table, chance) for table in tables), apart == "time")
    final = tuple(map(with_instants, placed)) if is_instant else tuple(placed)
    return RuleScript(declarations, tuple(rules), final, apart)


def samples(number: int, chance: Random) -> Iterator[Sample]:
    """Queries over the same world, with streams for each."""
    world, wanted = None, chance.randint(1, 4)
    for place in range(number * 40, number * 40 + 40):
        is_repeated = chance.random() < 0.35
        strategy = chance.choice(list(SelectionStrategy))
        found = kleene_sample(place, strategy) if is_repeated else sample(place)
        own = None if found is None else world_of(found)
        if found is not None and own is not None and world in (None, own):
            world, wanted = own, wanted - 1
            yield found
        if wanted == 0:
            return


def world_of(found: Sample) -> CreateStream | None:
    """The stream S: of events that are points, or last, or have times that are not known exactly. None if the
    query reads T alone."""
    for one in found.script.statements:
        if isinstance(one, CreateStream) and one.name == "S":
            if one.timestamp is not None and one.timestamp.latest is not None:
                return IMPRECISE
            return STREAM if one.end is None else INTERVAL_STREAM
    return None


def declared(found: Sequence[Sample], is_instant: bool, delay: int | None) -> Iterator[Statement]:
    """The streams, with columns for all rules, and the concepts that the queries use."""
    world = world_of(found[0])
    assert world is not None, "a world was chosen"
    more = [
        ColumnDefinition("y", DOUBLE),
        *(ColumnDefinition(name, kind) for name, (kind, _) in KEYS.items()),
        ColumnDefinition(RUN, INT),
    ]
    for stream in (world, OTHER):
        columns = [
            replace(one, type=TIMESTAMP) if is_instant and one.name in ("ts", "te") else one
            for one in stream.columns
        ]
        assert stream.timestamp is not None
        timestamp = replace(stream.timestamp, unit=None) if is_instant else stream.timestamp
        watermark = None if delay is None else p.Window(number(delay), "MILLISECOND")
        yield replace(stream, columns=(*columns, *more), timestamp=timestamp, watermark=watermark)
    statements = (one for sample in found for one in sample.script.statements)
    yield from dict.fromkeys(one for one in statements if isinstance(one, CreateType))


# Queries.


def changed(query: PatternQuery, chance: Random) -> PatternQuery:
    """The query, with some things that others like it have not."""
    if chance.random() < 0.15:
        query = with_key(query, chance)
    return with_computed_condition(with_returns(with_units(query), chance), chance)


def with_key(query: PatternQuery, chance: Random) -> PatternQuery:
    """The query, mostly with a key: a column of any type in place of `id`."""
    column = chance.choice(["id", "id", *KEYS])
    is_partitioned = query.partition_by or chance.random() < 0.35

    def change(node: Node) -> Node:
        if isinstance(node, e.SameAttributes):
            names = tuple(column if name == "id" else name for name in node.attributes)
            return replace(node, attributes=names)
        return node

    made = transform(query, change)
    assert isinstance(made, PatternQuery)
    return replace(made, partition_by=(column,) if is_partitioned else ())


def with_units(query: PatternQuery) -> PatternQuery:
    """The query, with a unit for every window: where times are no numbers, there must be one."""

    def change(node: Node) -> Node:
        if isinstance(node, p.Window) and node.unit is None:
            return replace(node, unit="MILLISECOND")
        return node

    made = transform(query, change)
    assert isinstance(made, PatternQuery)
    return made


def with_computed_condition(query: PatternQuery, chance: Random) -> PatternQuery:
    """The query, now and then with a condition that Spark checks on complete matches."""
    singles = [one.name for one in seen_in(query.pattern) if not one.is_list]
    if len(singles) < 2 or chance.random() < 0.6:
        return query
    one, other = chance.sample(singles, 2)
    text = chance.choice(COMPUTED).format(one, other)
    return replace(query, where=together([*conjuncts(query.where), syntax.expression(text)]))


def with_returns(query: PatternQuery, chance: Random) -> PatternQuery:
    """The query, mostly with a row for each match; some rows have values of other types, too."""
    returned = query.returns
    if returned is None or returned.collapsed:
        return query
    has_aggregates = any(isinstance(item.expression, e.Call) for item in returned.items)
    if (returned.distinct or has_aggregates) and chance.random() < 0.7:
        return replace(query, returns=None)
    singles = [one.name for one in seen_in(query.pattern) if not one.is_list]
    if not singles or chance.random() < 0.5:
        return query
    value = member(e.Name((chance.choice(singles),)), chance.choice([*KEYS]))
    return replace(query, returns=replace(returned, items=(*returned.items, Output(value, "more"))))


def as_asked(query: PatternQuery, apart: Apart, declarations: Sequence[Statement]) -> Iterator[PatternQuery]:
    """The query over streams that are apart; nothing if it cannot be asked of them."""
    if apart == "key":
        query = replace(query, partition_by=(*query.partition_by, RUN))
    try:
        match = Sample(Script((*declarations, RunQuery(query))), ()).match
    except NeelError:
        return
    in_time = apart == "time"
    is_apart = can_be_combined(match, in_time) and (is_windowed(match) or not in_time)
    if apart == "one" or is_apart:
        yield query


# Rows.


def with_columns(tables: Tables, chance: Random) -> Tables:
    """The rows, with values for the columns that other rules read."""

    def with_keys(row: Row) -> Row:
        known = row["id"]
        assert known is None or isinstance(known, int)
        keys = {name: None if known is None else value(known) for name, (_, value) in KEYS.items()}
        return {"y": chance.choice((0.5, 1.0, -0.0, 2.25, None)), **row, **keys}

    return {name: [with_keys(row) for row in tables.get(name, [])] for name in ("S", "T")}


def with_instants(tables: Tables) -> Tables:
    """The rows, with instants in place of milliseconds."""

    def moved_to(row: Row) -> Row:
        times = {name: row[name] for name in ("ts", "te") if name in row}
        return {**row, **{name: EPOCH + time * MILLISECOND for name, time in times.items()}}  # type: ignore[operator]

    return {name: [moved_to(row) for row in rows] for name, rows in tables.items()}
