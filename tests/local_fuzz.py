"""The local engine compared with the reference, on random queries of all three languages: of `make fuzz`.

PYTHONPATH=tests python -m local_fuzz --pairs 2000 --seed 1
PYTHONPATH=tests python -m local_fuzz --family pattern --pairs 20000

Each family of queries is drawn by the generator that another program of `make fuzz` has for a kernel.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from unittest.mock import patch

from algebra_fuzz import same_rows
from algebra_fuzz import table_of as in_order
from answers import MAX_CANDIDATES
from answers import answer as answer_of
from complete_fuzz import drawn as complete_sample
from fuzz_runner import Check, fuzz_families
from generate import counted, imprecise, imprecise_worlds, sequential, stream_networks, temporal
from generate.inner_closures import inner_closure_sample
from generate.kept import kept_sample
from generate.network_agents import AGENTS
from generate.networks import networks
from generate.ordered import with_order
from generate.partial import HEAD, drawn
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample
from generate.row_patterns import clause, rows
from generate.words import worded_sample
from in_counting import bound as bound_count
from in_counting import differing, expected_rows
from in_local import LocalQuery, local_query
from in_network import bound_script
from in_rows import bound as bound_clause
from on_spark import Asking, Refusal
from pattern_examples import IMPRECISE

from neelc.engines.local.execution import LocalEngine
from neelc.engines.spark.relations import Let, Read, Relations
from neelc.engines.spark.rows import row_relations
from neelc.errors import NeelError
from neelc.ir.program import NamedQuery, Program, Stream
from neelc.ir.script import SelectionStrategy
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.program import bind
from neelc.rows.plan.plan import row_plan
from neelc.runtime.reference import Result, Tables, candidates, run
from neelc.runtime.reference import sequential as by_universes
from neelc.runtime.reference import temporal as situations
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import CannotSkip, recognized
from neelc.runtime.reference.snapshots import differences
from neelc.runtime.values.order import comparable
from neelc.source import Source
from neelc.syntax.printer import format_script
from neelc.tools.cases.local import program_giving, program_rows, stored_types, table_of
from neelc.tools.cases.streaming.rows import as_bag

STREAMS = 4
STRATEGIES = (None, None, None, "join", "window")
EVENTS = "CREATE STREAM events (k INT, ts BIGINT, x INT, y DOUBLE, s STRING) TIMESTAMP BY ts;\n"
SITUATIONS = EVENTS.replace("s STRING)", "s STRING, n INT)")
MAX_SEQUENCES = 20_000
MAX_CONFIGURATIONS = 20_000
WORLDS = 250
"""Of imprecise times: so many possible worlds at most."""

Rows = Sequence[tuple[object, ...]]


def prepared(program: Program, asking: Asking, seen: Counter[str], tables: int = 1) -> LocalQuery | None:
    """The query on the local engine; None if it does not execute it, which is counted for each of the tables
    that it would have read."""
    found = local_query(program, asking)
    if isinstance(found, Refusal):
        seen[f"not compared: {found.why.partition('`')[0].strip()[:40]}"] += tables
        return None
    return found


def by_values(found: Rows, expected: Rows) -> str:
    """What rows differ, as a multiset."""
    one, other = (Counter(comparable(row) for row in some) for some in (found, expected))
    return "" if one == other else f"lost {dict(other - one)}\nadded {dict(one - other)}"


def by_digits(found: Rows, expected: Rows) -> str:
    """The same without the last digits of numbers."""
    same = same_rows(in_order(found), in_order(expected))
    return "" if same else f"found {in_order(found)}\nexpected {in_order(expected)}"


def by_elements(found: Rows, expected: Rows) -> str:
    """The same, whatever the order of the elements of lists: that of events with the same times is open."""

    def by_text(element: object) -> str:
        return repr(sorted(element.items()) if isinstance(element, dict) else element)

    def ordered(rows: Rows) -> list[tuple[object, ...]]:
        return [
            tuple(sorted(one, key=by_text) if isinstance(one, list | tuple) else one for one in row)
            for row in rows
        ]

    return by_digits(ordered(found), ordered(expected))


def by_snapshots(found: Rows, expected: Rows) -> str:
    """What differs first in time."""
    for at, one, other in differences(expected, found):
        return f"at {at}: {one} expected, {other} found"
    return ""


def compared(
    query: LocalQuery,
    tables: Tables,
    expected: Rows,
    what: str,
    seen: Counter[str],
    differ: Callable[[Rows, Rows], str],
) -> list[str]:
    """A pair; and what is wrong with it."""
    found = query.answer(tables).rows
    seen["pairs"] += 1
    seen["with rows"] += bool(expected)
    difference = differ(found, expected)
    return [f"{what}\n{difference}"] if difference else []


def compared_script(
    number: int, text: str, tables: Tables, seen: Counter[str], differ: Callable[[Rows, Rows], str]
) -> list[str]:
    """The last query of a script over streams."""
    try:
        program = bound_script(text)
        with (
            patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES),
            patch.object(by_universes, "MAX_SEQUENCES", MAX_SEQUENCES),
            patch.object(situations, "MAX_CONFIGURATIONS", MAX_CONFIGURATIONS),
        ):
            expected = run(program, tables)[-1][1]
    except (NeelError, LimitReached, CannotSkip) as error:
        seen[f"not compared: {type(error).__name__}"] += 1
        return []
    asking = Asking(chunks=Random(number).choice([None, True]))
    found = prepared(program, asking, seen)
    differ = by_snapshots if expected.has_valid_time else differ
    what = f"{number}, {asking}:\n{text}\n{tables}"
    return [] if found is None else compared(found, tables, expected.rows, what, seen, differ)


# The families.


def check_pattern(number: int, seen: Counter[str]) -> list[str]:
    """A random PATTERN over some streams."""
    return check_sample(number, with_order(sample(number, STREAMS), number), seen, STRATEGIES)


def check_kleene(number: int, seen: Counter[str]) -> list[str]:
    """A random PATTERN with closures, under each of the selection strategies."""
    strategies = list(SelectionStrategy)
    found = kleene_sample(number, strategies[number % len(strategies)], STREAMS)
    return [] if found is None else check_sample(number, with_order(found, number), seen, (None,))


def check_words(number: int, seen: Counter[str]) -> list[str]:
    """A random PATTERN with words between its parts."""
    found = worded_sample(number, STREAMS)
    return [] if found is None else check_sample(number, found, seen, STRATEGIES)


def check_sample(
    number: int, found: Sample, seen: Counter[str], strategies: Sequence[str | None]
) -> list[str]:
    """A query over its streams, executed in one of some ways."""
    chance = Random(number)
    if found.shared:
        return []
    text = format_script(found.script)
    program = bind(found.script, Source(text))
    asking = Asking(chance.choice(strategies), chunks=chance.choice([None, True]))
    query = prepared(program, asking, seen, len(found.tables))
    if query is None and asking.strategy is not None:  # it is for some queries only
        asking = replace(asking, strategy=None)
        query = prepared(program, asking, seen, len(found.tables))
    if query is None:
        return []
    problems = []
    for tables in found.tables:
        expected = answer_of(found.match, tables)
        if expected is None:
            seen["not compared: too large"] += 1
            continue
        what = f"{number}, {asking}:\n{text}\n{tables}"
        differ = by_elements if "RETURN COLLAPSED" in text else by_values
        problems += compared(query, tables, expected.result.rows, what, seen, differ)
    return problems


def check_nested(number: int, seen: Counter[str]) -> list[str]:
    """A PATTERN with a closure inside of a closure."""
    found = inner_closure_sample(number)
    return [] if found is None else check_sample(number, found, seen, (None,))


def check_counted(number: int, seen: Counter[str]) -> list[str]:
    """Aggregates over all matches, most of which are counted and not enumerated."""
    chance = Random(number)
    text = counted.query_text(chance)
    match = bound_count(text)
    if match is None:
        return []
    program, problems = Program(match.streams, (NamedQuery(None, match),)), []
    query = prepared(program, Asking(chunks=chance.choice([None, True])), seen)
    for _ in range(STREAMS):
        tables = {"S": counted.events(chance)}
        try:
            with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
                expected = expected_rows(match, tables)
        except LimitReached:
            seen["not compared: too large"] += 1
            continue
        if query is not None:
            problems += compared(query, tables, expected, f"{number}:\n{text}\n{tables}", seen, differing)
    return problems


def check_partial(number: int, seen: Counter[str]) -> list[str]:
    """WITH PARTIAL MATCHES."""
    query, events = drawn(number)
    return compared_script(number, f"{HEAD}{query.text};", {"S": events}, seen, by_values)


def check_kept(number: int, seen: Counter[str]) -> list[str]:
    """ONE MATCH PER, AFTER MATCH SKIP and SUPPRESS."""
    found = kept_sample(number)
    return [] if found is None else check_sample(number, found, seen, (None,))


def check_complete(number: int, seen: Counter[str]) -> list[str]:
    """WHEN COMPLETE."""
    found = complete_sample(number)
    return [] if found is None else check_sample(number, found, seen, (None,))


def check_imprecise(number: int, seen: Counter[str]) -> list[str]:
    """Imprecise times: the matches, and their confidences."""
    chance = Random(number)
    text = imprecise_worlds.query_text(chance) if number % 2 else imprecise.query_text(chance)
    rows, head = imprecise.events(chance, text, WORLDS // 4 if number % 2 else WORLDS), IMPRECISE
    if number % 4 > 1:
        shape = chance.choice(imprecise_worlds.SHAPES)
        rows, head = imprecise_worlds.shaped(chance, rows), imprecise_worlds.HEAD.format(shape)
    differ = by_elements if "COLLAPSED" in text else by_digits
    return compared_script(number, f"{head}PATTERN {text};", {"S": rows}, seen, differ)


def check_streams(number: int, seen: Counter[str]) -> list[str]:
    """A clause over two streams: events of `events` emit some of the symbols, those of `others` the rest."""
    chance = Random(f"streams of a matcher {number}")
    text = _two_streams(chance)
    tables = {"events": sequential.events(chance, 10), "others": sequential.events(chance, 6)}
    others = EVENTS.replace("STREAM events", "STREAM others")
    script = f"{EVENTS}{others}SELECT * FROM events MATCH_RECOGNIZE_SEQUENTIAL ({text});"
    return compared_script(number, script, tables, seen, by_values)


def _two_streams(chance: Random) -> str:
    streams = {symbol: chance.choice(("events", "others")) for symbol in "abc"}
    tests = {symbol: chance.choice(("x > 0", "s = 'p'", "x IS NULL", "y < 1")) for symbol in "abc"}
    define = [f"{symbol} AS {streams[symbol]}.{test}" for symbol, test in tests.items()]
    if chance.random() < 0.4:
        define[2] += " AND NOT b.s <=> c.s"
    pattern = chance.choice(("a b c", "a b* c", "a !b c", "a (b, !a)? c", "a | b c", "(a | b) c+ a"))
    using = chance.choice(("", "", "USING EVENTUALLY FOLLOWED BY", "USING FOLLOWED BY WITHIN 2"))
    partition = chance.choice(("", "PARTITION BY k", "PARTITION BY events.k, others.x"))
    within = chance.choice(("", "WITHIN 3", "WITHIN 4 EVENTS"))
    named = [one for one in define if one[0] in pattern]
    measures = ", ".join(f"{one[0]}.{chance.choice('xys')} AS m{one[0]}" for one in named)
    if "b" not in pattern:
        named = [one.partition(" AND NOT")[0] for one in named]
    clauses = ("FROM others", f"MEASURES {measures}", partition, within, f"PATTERN {pattern}", using)
    return " ".join((*filter(None, clauses), f"DEFINE {', '.join(named)}"))


def check_sequential(number: int, seen: Counter[str]) -> list[str]:
    """MATCH_RECOGNIZE_SEQUENTIAL."""
    chance = Random(number)
    text = sequential.clause(chance, variables=number % 2 == 1)
    script = f"{EVENTS}SELECT * FROM events MATCH_RECOGNIZE_SEQUENTIAL ({text});"
    return compared_script(number, script, {"events": sequential.events(chance, 12)}, seen, by_values)


def check_temporal(number: int, seen: Counter[str]) -> list[str]:
    """MATCH_RECOGNIZE_TEMPORAL, over one stream: `temporal_fuzz` has several."""
    chance = Random(number)
    text, streams = temporal.clause(chance)
    if streams is not None:
        seen["not compared: several streams"] += 1
        return []
    script = f"{SITUATIONS}SELECT * FROM events MATCH_RECOGNIZE_TEMPORAL ({text});"
    tables = {"events": temporal.events(chance, 12)}
    return compared_script(number, script, tables, seen, by_elements)


def check_script(number: int, seen: Counter[str]) -> list[str]:
    """Queries that read each other, of all languages."""
    chance = Random(number)
    kinds = (stream_networks.script, stream_networks.mixed_script, stream_networks.row_script)
    text = kinds[number % 3](chance)
    return compared_script(number, text, stream_networks.tables(chance), seen, by_digits)


def check_rows(number: int, seen: Counter[str]) -> list[str]:
    """A random MATCH_RECOGNIZE over rows whose order is certain."""
    chance = Random(number)
    text = clause(chance)
    try:
        query = bound_clause(text)
        plan = row_plan(query)
    except (NeelError, UnsupportedQuery) as error:
        seen[f"not compared: {type(error).__name__}"] += STREAMS
        return []
    stream = Stream("t", query.columns, "t")
    lets = (Let("t", Read("t")), *row_relations(plan, "t", "result", {"t"}))
    program = program_giving(query.output, Relations(lets), {"t": stored_types(stream)})
    problems = []
    for _ in range(STREAMS):
        table = [{**row, "t": place} for place, row in enumerate([*rows(chance), *rows(chance)])]
        chance.shuffle(table)
        try:
            expected = as_bag(recognized(query, table))
        except (CannotSkip, LimitReached) as error:
            seen[f"not compared: {type(error).__name__}"] += 1
            continue
        found = program_rows(program, {"t": table_of(stream, table)}, LocalEngine("UTC", 1))
        own = as_bag(Result(query.output, found))
        seen["pairs"] += 1
        seen["with rows"] += bool(expected)
        if own != expected:
            problems.append(f"{number}:\n{text}\n{table}\n{expected - own}\n{own - expected}")
    return problems


def check_network(number: int, seen: Counter[str]) -> list[str]:
    """A random SELECT; agents are functions of Spark's DataFrames."""
    (network,) = networks(Random(number), 1)
    if any(f"{name}(" in network.text for name in AGENTS):
        return []
    found = prepared(network.program, Asking(), seen)
    if found is None:
        return []
    expected = run(network.program, network.tables)[-1][1]
    what = f"{number}:\n{network.text}\n{network.tables}"
    return compared(found, network.tables, expected.rows, what, seen, by_snapshots)


FAMILIES: dict[str, Check] = {
    "pattern": check_pattern,
    "kleene": check_kleene,
    "words": check_words,
    "nested": check_nested,
    "counted": check_counted,
    "partial": check_partial,
    "kept": check_kept,
    "complete": check_complete,
    "imprecise": check_imprecise,
    "sequential": check_sequential,
    "temporal": check_temporal,
    "streams": check_streams,
    "rows": check_rows,
    "select": check_network,
    "scripts": check_script,
}


if __name__ == "__main__":
    sys.exit(fuzz_families(FAMILIES, "local_fuzz", 2_000))
