"""Random networks of the event algebra, as scripts, and random streams for them.

Domains are small, so that ties, NULLs, equal values and empty results happen often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, pairwise
from random import Random

from generate.network_agents import AGENTS, agent_call, matched
from neelc import syntax as parse
from neelc.errors import NeelError
from neelc.ir.node import Node, map_children
from neelc.ir.program import Program
from neelc.ir.script import CombinedSelect, CreateQuery, FromQuery, FromStream, Script, Select, Statement
from neelc.program import bind
from neelc.runtime.reference import Tables
from neelc.source import Source
from neelc.syntax.printer import format_script

STREAMS = """
CREATE STREAM S (k STRING, ts BIGINT, x INT, y DOUBLE) TIMESTAMP BY ts UNIT SECONDS;
CREATE STREAM T (k STRING, ts BIGINT, x INT, y DOUBLE) TIMESTAMP BY ts UNIT SECONDS;
CREATE STREAM L (k STRING, ts BIGINT, te BIGINT, x INT, y DOUBLE) TIMESTAMP BY ts UNIT SECONDS END BY te;
CREATE RELATION R (k STRING, x INT, y DOUBLE);
"""
COLUMNS = ("k", "x", "y")
AGGREGATES = ("count", "sum", "avg", "min", "max", "stddev")


@dataclass(frozen=True)
class Network:
    """A script, bound, with rows for its streams."""

    text: str
    program: Program
    tables: Tables

    @property
    def by_name(self) -> Network:
        """The same with every subquery as a query of its own, which is read by its name."""
        script, numbers = parse.read(Source(self.text, "network")), count(1)
        statements: list[Statement] = []
        for statement in script.statements:
            statements.append(with_queries_named(statement, numbers, statements))  # type: ignore[arg-type]
        return made(format_script(Script(tuple(statements))), self.tables)

    @property
    def as_events(self) -> Network:
        """The same, read by a window of one instant: it asks for events, and changes none of them."""
        head, _, last = self.text.rstrip("; \n").rpartition(";")
        return made(
            f"{head};\nSELECT k, x, y FROM ({last.strip()}) AS last WINDOW(TIME 1 SECONDS);", self.tables
        )


def made(text: str, tables: Tables) -> Network:
    head = _streams() if text.startswith(STREAMS) else ()  # it takes longer to read than the rest
    source = Source(text.removeprefix(STREAMS), "network")
    script = parse.read(source)
    script = replace(script, statements=(*head, *script.statements))
    return Network(text, bind(script, source, agents=AGENTS), tables)


@cache
def _streams() -> tuple[Statement, ...]:
    return parse.read(Source(STREAMS, "network")).statements


def networks(random: Random, how_many: int) -> Iterator[Network]:
    """So many networks, none of which aggregates events of one instant each: that is an error."""
    found = 0
    while found < how_many:
        text = STREAMS + script(random)
        try:
            network = made(text, tables(random))
        except NeelError as error:
            assert {one.code for one in error.diagnostics} == {"NEEL3081"}, f"{text}\n{error}"
            continue
        found += 1
        yield network


def with_queries_named(node: Node, numbers: Iterator[int], before: list[Statement]) -> Node:
    """The node with the names of its subqueries in their place; these come before it."""
    changed = map_children(node, lambda child: with_queries_named(child, numbers, before))
    if not isinstance(changed, FromQuery):
        return changed
    name = f"named_{next(numbers)}"
    assert isinstance(changed.query, Select | CombinedSelect)
    before.append(CreateQuery(name, changed.query))
    return FromStream(changed.alias, changed.window, changed.matcher, changed.matcher_alias, name=name)


def tables(random: Random) -> Tables:
    """A few events for each stream."""
    found = {name: [event(random, name == "L") for _ in range(random.randint(0, 9))] for name in "STLR"}
    return found | {"R": [{name: row[name] for name in COLUMNS} for row in found["R"][:4]]}


def event(random: Random, lasting: bool) -> dict[str, object]:
    ts = random.randint(-3, 12)
    row: dict[str, object] = {
        "k": random.choice(["a", "b", None]),
        "ts": ts,
        "x": random.choice([None, 0, 1, 2, 3]),
        "y": random.choice([None, 0.5, 1.0, 2.25, -3.0]),
    }
    return {**row, "te": ts + random.randint(0, 6)} if lasting else row


def script(random: Random) -> str:
    """One query, or a named one and another that reads it."""
    if random.random() < 0.2:
        return f"{narrowed(random)};"
    if random.random() < 0.3:
        return f"CREATE QUERY N AS {select(random, 1)};\n{select(random, 1, ('S', 'N'))};"
    return f"{select(random, 2)};"


KINDS = ("filter", "aggregate", "aggregate", "correlate", "distinct", "combine")


def select(
    random: Random, depth: int, names: tuple[str, ...] = ("S", "T", "L"), kinds: tuple[str, ...] = KINDS
) -> str:
    """A SELECT whose result has the columns k, x and y."""
    kind = random.choice(kinds)
    if kind == "combine":
        return combination(random, depth, names)
    if kind == "correlate":
        return correlation(random, depth, names)
    source = f"{item(random, depth, names)} AS s"
    where = f" WHERE {condition(random, 's')}" if random.random() < 0.5 else ""
    if kind == "plain":
        return f"SELECT s.k AS k, 1 AS x, 0.5D AS y FROM {source}{where}"
    if kind == "filter":
        return f"SELECT s.k AS k, s.x + 1 AS x, s.y AS y FROM {source}{where}"
    if kind == "distinct":
        return f"SELECT DISTINCT s.k AS k, s.x AS x, CAST(s.x AS DOUBLE) AS y FROM {source}{where}"
    one, other = random.choice(AGGREGATES), random.choice(AGGREGATES)
    having = f" HAVING {random.choice(['count(*) > 1', 'sum(s.x) >= 1', 's.k = s.k'])}"
    keyed = random.random() < 0.6
    items = f"{'s.k' if keyed else 'max(s.k)'} AS k, {_whole(one, random)} AS x, {other}(s.y) AS y"
    group = " GROUP BY s.k" if keyed else ""
    more = having if keyed and random.random() < 0.4 else ""
    y = items if other != "count" else items.replace(f"{other}(s.y)", "CAST(count(s.y) AS DOUBLE)")
    return f"SELECT {y} FROM {source}{where}{group}{more}"


def combination(random: Random, depth: int, names: tuple[str, ...]) -> str:
    """Two SELECTs or three; often of the same stream, so that they have payloads in common."""
    sides = [
        select(random, depth - 1, names, ("plain", "plain", "filter", "aggregate"))
        for _ in range(random.choice((2, 2, 3)))
    ]
    operators = [random.choice(("UNION ALL", "UNION ALL", "UNION", "EXCEPT")) for _ in sides[1:]]
    if len(sides) == 3 and random.random() < 0.4:
        return f"{sides[0]} {operators[0]} ({sides[1]} {operators[1]} {sides[2]})"
    return " ".join([sides[0], *(f"{one} {side}" for one, side in zip(operators, sides[1:], strict=True))])


def narrowed(random: Random) -> str:
    """A query that asks for the events of a SELECT which shows but little of an aggregate: events that differ
    in what it leaves out are alike, and meet, and are still several."""
    told = select(random, 0, kinds=("aggregate", "distinct"))
    other = f", {random.choice('SLT')}{window(random)} AS t" if random.random() < 0.5 else ""
    columns = [random.choice(several) for several in (("s.k", "'a'"), ("s.x", "1"), ("s.y", "0.5D"))]
    items = ", ".join(f"{one} AS {name}" for one, name in zip(columns, COLUMNS, strict=True))
    inner = f"SELECT {items} FROM ({told}) AS s{other}"
    if random.random() < 0.3:
        return matched(random, f"({inner}) AS q")[1:-1]
    counted = "max(s.k) AS k, CAST(count(*) AS INT) AS x, sum(s.y) AS y"
    outer = random.choice((counted, "s.k AS k, s.x AS x, s.y AS y"))
    return f"SELECT {outer} FROM ({inner}) AS s{window(random)}"


def _whole(name: str, random: Random) -> str:
    """An aggregate that is an INT again."""
    aggregates = ["count(*)", "count(DISTINCT s.y)", f"{name}(s.x)", f"{name}(s.x)"]
    return f"CAST({random.choice(aggregates)} AS INT)"


def item(random: Random, depth: int, names: tuple[str, ...]) -> str:
    """A stream with or without a window, or a query, or what an agent or a matcher makes of them."""
    query = f"({select(random, depth - 1, names)})" if depth > 0 and random.random() < 0.35 else ""
    found = f"{query or random.choice(names)}{window(random)}"
    if random.random() < 0.12:
        return matched(random, f"{found} AS q" if query else found)
    return agent_call(random, found, random.choice(names)) if random.random() < 0.1 else found


def window(random: Random) -> str:
    size, jump = random.randint(1, 5), random.randint(1, 4)
    jumping = random.random() < 0.3
    match random.choice(["none", "time", "time", "count", "partitioned"]):
        case "time":
            return f" WINDOW(TIME {size} SECONDS{f' JUMP {jump} SECONDS' if jumping else ''})"
        case "count":
            return f" WINDOW(COUNT {size} EVENTS{f' JUMP {jump} EVENTS' if jumping else ''})"
        case "partitioned":
            return f" WINDOW(COUNT {size} EVENTS{f' JUMP {jump} EVENTS' if jumping else ''} PARTITION BY k)"
    return ""


def condition(random: Random, variable: str) -> str:
    return " AND ".join(
        random.choice(
            [f"{variable}.x > 1", f"{variable}.k = 'a'", f"{variable}.y IS NOT NULL", f"{variable}.x <> 2",
             f"{variable}.y < 2 OR {variable}.x = 1"]
        )
        for _ in range(random.randint(1, 2))
    )  # fmt: skip


def correlation(random: Random, depth: int, names: tuple[str, ...]) -> str:
    variables = ["s", "t", "u"][: random.choice([2, 2, 3])]
    sources = [f"{item(random, depth - 1, names)} AS {name}" for name in variables]
    if random.random() < 0.2:
        sources[-1] = f"R AS {variables[-1]}"
    tests = []
    for one, other in pairwise(variables):
        tests += random.choice([[f"{one}.k = {other}.k"], [f"{one}.x < {other}.x"], [f"{one}.x = {other}.x"]])
    tests += [f"({condition(random, random.choice(variables))})"] if random.random() < 0.5 else []
    where = f" WHERE {' AND '.join(tests)}" if random.random() < 0.9 else ""
    last = variables[-1]
    return f"SELECT s.k AS k, {last}.x AS x, {last}.y AS y FROM {', '.join(sources)}{where}"
