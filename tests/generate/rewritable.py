"""Queries on which rewriting rules fire, and streams in which these queries have matches.

    for number in range(1000):
        found = sample(number)
        found.match                # the bound query
        found.tables               # streams: rows of S and T, for the reference interpreter

A sample depends on its number only. It is not drawn by hypothesis, which would make five of six examples by
copying pieces of the one before, and take longer than all the rest: see `shrinking.py` for what is lost.

The world is small: point events, or events that last, of the types A, B, C, D in the stream S; two concepts,
AB and BC; events that last in a second stream T. Attributes are `id` and `x`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from generate.conditions import LAST, Seen, event_of, number, seen_in, together
from generate.few_conditions import attribute, conjuncts, with_conditions
from generate.nested import MEMBERS, SHARED, TYPES, flat_shape, named, shape, small_shape
from generate.patterns import needs_window
from generate.shared_variables import with_shared_variables
from generate.streams import INTERVAL_STREAM, STREAM
from generate.witnesses import Tables, tables
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.allen import ALLEN
from neelc.ir.expressions import written_conjuncts
from neelc.ir.node import walk
from neelc.ir.program import Match
from neelc.ir.row_patterns import Output
from neelc.ir.script import ColumnDefinition as Column
from neelc.ir.script import (
    Confidence,
    CreateStream,
    CreateType,
    PatternQuery,
    Return,
    RunQuery,
    Script,
    SelectionStrategy,
    Timestamp,
)
from neelc.ir.types import BIGINT, DOUBLE, INT
from neelc.program import bind
from neelc.source import Source
from neelc.syntax.printer import format_script

IMPRECISE = replace(INTERVAL_STREAM, timestamp=Timestamp("ts", "te", "MILLISECOND"), end=None)
OTHER = CreateStream(
    "T",
    (Column("ts", BIGINT), Column("te", BIGINT), Column("id", INT), Column("x", INT)),
    Timestamp("ts", unit="MILLISECOND"),
    end="te",
)
WORLDS = {"points": STREAM, "lasting": INTERVAL_STREAM, "imprecise": IMPRECISE}
_FREQUENT = ["points"] * 14 + ["lasting"] * 5 + ["imprecise"]


@dataclass(frozen=True)
class Sample:
    """A script with one query, and streams to ask it of; with `shared`, branches of OR share variables."""

    script: Script
    tables: tuple[Tables, ...]
    shared: bool = False

    @cached_property
    def match(self) -> Match:
        """The bound query."""
        bound = bind(self.script, Source(format_script(self.script))).queries[0].match
        return with_shared_variables(bound) if self.shared else bound

    @property
    def query(self) -> PatternQuery:
        """The query as it is written."""
        run = self.script.statements[-1]
        assert isinstance(run, RunQuery) and isinstance(run.query, PatternQuery)
        return run.query


def sample(number: int, streams: int = 4) -> Sample:
    """The query with this number, and streams for it."""
    chance = Random(number)
    world = chance.choice(_FREQUENT)
    asked = query(chance, imprecise=world == "imprecise")
    if world != "imprecise":
        asked = with_relation(Random(f"related {number}"), asked)
    script = script_of(asked, Script((WORLDS[world],)))
    found = (tables(chance, asked.pattern, world == "lasting", world == "imprecise") for _ in range(streams))
    has_branches = any(isinstance(node, p.Or) for node in walk(asked.pattern))
    return Sample(script, tuple(found), shared=has_branches and chance.random() < 0.25)


_OF_POINTS = ("BEFORE", "AFTER", "EQUALS")


def with_relation(chance: Random, asked: PatternQuery) -> PatternQuery:
    """Now and then with a relation of two events in WHERE, or two of which one must hold. What else is drawn
    does not depend on it."""
    seen = [variable for variable in seen_in(asked.pattern) if not variable.inner]
    if len(seen) < 2 or chance.random() > 0.15:
        return asked
    one, other = (event_of(each, chance.choice([LAST, number(1)])) for each in chance.sample(seen, 2))
    assert one is not None and other is not None
    names = chance.choices([*ALLEN, *_OF_POINTS * 4], k=2)
    found = [e.AllenRelation(one, name, other) for name in names]
    related: e.Expr = chance.choice([found[0], found[0], e.Negation(found[0]), e.Disjunction(tuple(found))])
    return replace(asked, where=together([*written_conjuncts(asked.where), related]))


def script_of(query: PatternQuery, world: Script) -> Script:
    """The query, over the streams that `world` declares, after the declarations it needs."""
    declared = {one.name: one for one in world.statements if isinstance(one, CreateStream)}
    return Script((*_declared(query.pattern, {"S": STREAM, "T": OTHER, **declared}), RunQuery(query)))


def _declared(pattern: p.Pattern, streams: Mapping[str, CreateStream]) -> Iterator[CreateStream | CreateType]:
    """What the pattern uses."""
    used = {node.type for node in walk(pattern) if isinstance(node, p.Event)}
    if used != {"T"}:
        yield streams["S"]
    if "T" in used:
        yield streams["T"]
    for name in ("AB", "BC"):
        if name in used:
            yield CreateType(name, MEMBERS[name])


def query(chance: Random, imprecise: bool = False) -> PatternQuery:
    """A pattern query that the binder accepts."""
    strategy = chance.choice([*[None] * 9, *list(SelectionStrategy)[1:]])
    is_shared = chance.random() < 0.25 and not imprecise
    types = SHARED if is_shared else TYPES[: chance.choice([3, 4])]
    if strategy:
        pattern = named(flat_shape(chance, types))
    elif chance.random() < 0.6:
        pattern = named(small_shape(chance, types))
    else:
        pattern = named(shape(chance, types, 4 if imprecise else 7))
    seen = seen_in(pattern)
    where = conjuncts(chance, seen, seen) if chance.random() < 0.3 else []
    is_partitioned = strategy == "PARTITION CONTIGUITY" or chance.random() < 0.12
    threshold = Confidence(">=", e.Literal(0.5, DOUBLE)) if imprecise and chance.random() < 0.5 else None
    return PatternQuery(
        with_conditions(chance, pattern, chance.choice([0, 0, 1, 1, 2])),
        where=together(where),
        partition_by=("id",) if is_partitioned else (),
        within=_window(chance, needs_window(pattern)),
        strategy=strategy,
        confidence=threshold,
        returns=_returns(chance, seen),
    )


def _window(chance: Random, is_needed: bool) -> p.Window | None:
    match chance.choice("none none wide wide wide wide narrow count".split()):
        case "none" if not is_needed:
            return None
        case "narrow":
            return p.Window(number(chance.randint(1, 5)))
        case "count":
            return p.Window(number(chance.randint(3, 9)), "EVENT")
    return p.Window(number(chance.randint(6, 14)))


def _returns(chance: Random, seen: Sequence[Seen]) -> Return | None:
    """None, some variables, some DISTINCT, COLLAPSED lists, or aggregates over all matches."""
    kind = chance.choice("none none plain plain distinct distinct distinct collapsed aggregate".split())
    lists = [variable for variable in seen if variable.is_list]
    if kind == "collapsed" and lists and not any(variable.inner for variable in lists):
        return Return((), collapsed=True)
    if kind in ("none", "collapsed") or not seen:
        return None
    chosen = chance.sample(seen, min(len(seen), chance.choice([1, 1, 2])))
    items = [attribute(chance, variable) for variable in chosen]
    if kind == "aggregate":
        over: e.Expr = e.Star() if chosen[0].is_list or chance.random() < 0.3 else items[0]
        name = "count" if isinstance(over, e.Star) else chance.choice(["count", "max", "min", "sum"])
        items[0] = e.Call(name, (over,))
    if chance.random() < 0.1:
        items[-1] = e.Binary("+", items[-1], e.Binary("+", e.Literal(1, INT), e.Literal(1, INT)))
    outputs = tuple(Output(item, f"r{place}") for place, item in enumerate(items))
    return Return(outputs, distinct=kind == "distinct")
