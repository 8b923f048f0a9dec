"""Samples with what is said beside a pattern: values looked up in relations, and the order of the result.

for number in range(1000):
    found = looked_up(number)
    found.sample, found.plain  # IN (SELECT ...), and the same with the values themselves
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from generate.conditions import seen_in, together
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample
from generate.witnesses import Tables
from generate.words import worded_sample
from neelc import syntax as parse
from neelc.errors import NeelError
from neelc.ir.expressions import written_conjuncts
from neelc.ir.node import walk
from neelc.ir.patterns import Event, Not
from neelc.ir.script import PatternQuery, RunQuery, Script, SelectionStrategy
from neelc.runtime.values.order import comparable

RELATION = "CREATE RELATION R (v INT, w INT);"


@dataclass(frozen=True)
class LookedUp:
    """A query that looks values up in R, and the same query without a relation."""

    sample: Sample
    plain: Sample


def looked_up(number: int, streams: int = 3) -> LookedUp | None:
    """The query with this number; None if the binder refuses it."""
    chance = Random(f"looked up {number}")
    found = base(chance, number, streams)
    if found is None:
        return None
    places = [
        f"{one.name}[i]" if one.is_list else one.name for one in seen_in(found.query.pattern) if not one.inner
    ]
    negated = [part.part for part in walk(found.query.pattern) if isinstance(part, Not)]
    places += [one.variable for one in negated if isinstance(one, Event) and one.variable]
    if not places:
        return None
    rows: list[dict[str, object]] = [
        {"v": chance.choice(VALUES), "w": chance.choice(VALUES)} for _ in range(chance.randint(1, 4))
    ]
    conditions = [
        lookup(chance, chance.choice(places), rows) for _ in range(1 if chance.random() < 0.7 else 2)
    ]
    by_relation = with_conditions(found, [one for one, _ in conditions], RELATION)
    plain = with_conditions(found, [other for _, other in conditions], "")
    tables: tuple[Tables, ...] = tuple({**one, "R": rows} for one in found.tables)
    try:
        sample = replace(by_relation, tables=tables)
        return LookedUp(sample, plain) if sample.match and plain.match else None
    except NeelError:
        return None


VALUES = (0, 1, 1, 2, 2, 3, -1, None)


def base(chance: Random, number: int, streams: int) -> Sample | None:
    """A query of one of the other generators, without imprecise times."""
    match chance.choice(("all", "kleene", "words")):
        case "all":
            found: Sample | None = sample(number, streams)
        case "kleene":
            found = kleene_sample(number, chance.choice([*SelectionStrategy]), streams)
        case _:
            found = worded_sample(number, streams)
    refused = found is None or found.shared or found.query.partial or found.match.is_imprecise
    return None if refused else found


def lookup(chance: Random, place: str, rows: Sequence[dict[str, object]]) -> tuple[str, str]:
    """A condition that looks a value up, or two, and the same said with the values."""
    word = chance.choice(("IN", "IN", "NOT IN"))
    if chance.random() < 0.3:
        pairs = [f"({place}.x = {text(row['v'])} AND {place}.id = {text(row['w'])})" for row in rows]
        plain = f"({' OR '.join(pairs)})"
        return (
            f"({place}.x, {place}.id) {word} (SELECT v, w FROM R)",
            f"NOT {plain}" if word == "NOT IN" else plain,
        )
    values = ", ".join(text(row["v"]) for row in rows)
    return f"{place}.x {word} (SELECT v FROM R)", f"{place}.x {word} ({values})"


def text(value: object) -> str:
    return "CAST(NULL AS INT)" if value is None else str(value)


def with_conditions(found: Sample, conditions: Sequence[str], before: str) -> Sample:
    """The query with more conditions, after more statements."""
    script = parse.script(f"{before}PATTERN A a WHERE {' AND '.join(conditions)};")
    *statements, run = script.statements
    assert isinstance(run, RunQuery) and isinstance(run.query, PatternQuery)
    query = found.query
    where = together([*written_conjuncts(query.where), *written_conjuncts(run.query.where)])
    asked = RunQuery(replace(query, where=where))
    return replace(found, script=Script((*statements, *found.script.statements[:-1], asked)))


@dataclass(frozen=True)
class Ordered:
    """A query with ORDER BY, and the places of the columns that it orders by; `last` are those whose NULLs
    come last, `down` those that descend."""

    sample: Sample
    plain: Sample
    places: tuple[int, ...]
    down: frozenset[int]
    last: frozenset[int]
    limit: int | None

    def rows(self, found: Sequence[tuple[object, ...]]) -> list[tuple[object, ...]]:
        """The rows in this order, the first ones of them with a limit."""
        rows = list(found)
        width = len(rows[0]) if rows else 0
        # A stable sort by the last column first: columns that ORDER BY does not name decide ties.
        for place in (*reversed(range(width)), *reversed(self.places)):
            is_down, nulls_last = place in self.down, place in self.last
            if place not in self.places:
                is_down = nulls_last = False
            known = [row for row in rows if row[place] is not None]
            unknown = [row for row in rows if row[place] is None]
            known.sort(key=lambda row: row[place], reverse=is_down)  # type: ignore[arg-type,return-value]
            rows = [*known, *unknown] if nulls_last else [*unknown, *known]
        return rows if self.limit is None else rows[: self.limit]

    def is_same(self, found: Sequence[tuple[object, ...]], expected: Sequence[tuple[object, ...]]) -> bool:
        """Whether the rows are these, in this order; without a limit, ties may have any."""
        one, other = ([comparable(row) for row in rows] for rows in (found, expected))
        if self.limit is not None:
            return one == other
        keys = ([[row[place] for place in self.places] for row in rows] for rows in (found, expected))
        return Counter(one) == Counter(other) and next(keys) == next(keys)


def ordered(number: int, streams: int = 3) -> Ordered | None:
    """The query with this number; None if it has no variable of a single event."""
    chance = Random(f"ordered {number}")
    found = base(chance, number, streams)
    if found is None:
        return None
    names = [one.name for one in seen_in(found.query.pattern) if not one.is_list]
    if not names:
        return None
    columns = [
        f"{chance.choice(names)}.{chance.choice(('x', 'x', 'id', 'ts'))}" for _ in range(chance.randint(1, 3))
    ]
    items = ", ".join(f"{one} AS c{place}" for place, one in enumerate(columns))
    places = tuple(chance.sample(range(len(columns)), chance.randint(1, len(columns))))
    down = frozenset(place for place in places if chance.random() < 0.5)
    last: set[int] = set()
    keys = []
    for place in places:
        said = chance.choice(("", "", " NULLS FIRST", " NULLS LAST"))
        if said.endswith("LAST") or (not said and place in down):
            last.add(place)
        named = chance.choice((f"c{place}", str(place + 1), columns[place]))
        keys.append(f"{named}{' DESC' if place in down else ''}{said}")
    limit = chance.choice((None, 0, 1, 2, 5)) if chance.random() < 0.7 else None
    unique = "DISTINCT " if chance.random() < 0.3 else ""
    cut = "" if limit is None else f" LIMIT {limit}"
    plain = with_result(found, f"RETURN {unique}{items}")
    by_order = with_result(found, f"RETURN {unique}{items} ORDER BY {', '.join(keys)}{cut}")
    try:
        if not (by_order.match and plain.match):
            return None
    except NeelError:
        return None
    return Ordered(by_order, plain, places, down, frozenset(last), limit)


def with_result(found: Sample, clauses: str) -> Sample:
    """The query with another RETURN, and what follows it."""
    run = parse.script(f"PATTERN A a {clauses};").statements[-1]
    assert isinstance(run, RunQuery) and isinstance(run.query, PatternQuery)
    asked = replace(
        found.query, returns=run.query.returns, order_by=run.query.order_by, limit=run.query.limit
    )
    return replace(found, script=Script((*found.script.statements[:-1], RunQuery(asked))))
