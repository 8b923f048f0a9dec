"""Streams compared with the reference on random queries, streams, micro-batches and orders of arrival; part
of `make fuzz`.

    make fuzz                             pairs of a query, in one of its forms, and a stream
    make fuzz PAIRS=100000 SEED=7         more, and others

What a kernel keeps is written and read between any two micro-batches. Late events take no part.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from unittest.mock import patch

from answers import MAX_CANDIDATES
from fuzz_runner import ROUND, fuzz_parser, outcome
from generate import imprecise_worlds
from generate.conditions import seen_in
from generate.counted import events as counted_events
from generate.counted import query_text as counted_text
from generate.imprecise import events as imprecise_events
from generate.imprecise import query_text as imprecise_text
from generate.ordered import with_order
from generate.partial import drawn as drawn_partial
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample
from generate.words import worded_sample
from imprecise_fuzz import is_same
from imprecise_fuzz import key as binding
from in_counting import bound as counted_query
from in_counting import differing as difference_of
from in_counting import planned as counted_plan
from in_kernel import as_bindings, planned_for
from in_stream import (
    Arrival,
    ReturnedRows,
    arrival,
    counted_stream_rows,
    stream_matches,
    stream_rows,
    weighed_stream,
)
from kernel_fuzz import Different, Tally, different, table, tally_of, ways_to_write
from partial_fuzz import bound as bound_partial
from partial_fuzz import rows as rows_of_partial
from pattern_examples import imprecise_query
from shrinking import shrunk

from neelc import syntax as parse
from neelc.errors import NeelError
from neelc.ir.program import Match
from neelc.ir.script import PatternQuery, RunQuery, SelectionStrategy
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.reference import LimitReached, Tables, candidates
from neelc.runtime.reference.results import rows_of
from neelc.runtime.reference.worlds import find_matches


def check_pair(match: Match, tables: Tables, seed: int, planned: KernelPlan) -> bool:
    """Whether there are matches; `Different` if the stream has others."""
    how = arrival(seed)
    streamed = stream_matches(match, tables, how, planned)
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        reference = [one.binding for one in find_matches(match, streamed.events)]
    expected = Counter(dict.fromkeys(as_bindings(reference), 1))
    found = as_bindings(streamed.matches)
    if found != expected:
        lost, added = (expected - found).total(), (found - expected).total()
        raise Different(f"the stream, {how}, gives something else: {lost} matches lost, {added} added")
    return bool(expected)


def check_sample(found: Sample, tally: Tally, seed: int) -> None:
    """Raise `Different` if a query of the sample has another answer over a stream."""
    tally.queries += 1
    for name, match in ways_to_write(found.match):
        for tables in found.tables:
            try:
                planned = planned_for(match)
                has_matches = check_pair(match, tables, seed + tally.pairs, planned)
                tally.pairs += 1
                tally.with_matches += has_matches
                tally.forms[name] += 1
            except UnsupportedQuery as refusal:
                tally.refused[refusal.what.partition("`")[0].strip()] += 1
            except LimitReached:
                tally.refused["left out as too large"] += 1
            except Exception as problem:
                raise different(found, name, match, tables, problem) from None


def differing(found: Sample, seed: int) -> Different | None:
    for other in range(seed, seed + 12):
        try:
            check_sample(found, Tally(), other)
        except Different as problem:
            return problem
    return None


def smallest(found: Sample, seed: int) -> Different | None:
    return differing(shrunk(found, lambda smaller: differing(smaller, seed) is not None), seed)


# RETURN DISTINCT, and aggregates over matches, by a time and maybe more.


def check_rows(number: int, tally: Tally) -> None:
    """Raise `Different` if a stream gives other rows than the reference."""
    chance = Random(f"rows {number}")
    kind = number % 3
    if kind == 0:
        text = counted_text(chance)
        singles = re.findall(r"\b[ABC] ([abcd])\b", text) or ["a"]
        time = grouped_time(f"{chance.choice(singles)}.ts", chance)
        returned = f"WITHIN {chance.choice((3, 6, 20))} RETURN {time} AS time, "
        match = counted_query(re.sub(r" (WITHIN \d+( EVENTS)?)? RETURN ", f" {returned}", text))
        samples = [{"S": counted_events(chance)} for _ in range(2)]
    else:
        found = drawn(number)
        changed = None if found is None else returning(found, chance, FUNCTIONS if kind == 1 else ())
        match = None if changed is None else changed.match
        samples = list(found.tables[:2]) if found is not None else []
    if match is None:
        return
    tally.queries += 1
    for place, tables in enumerate(samples):
        how = arrival(number + place)
        try:
            for name, made in returned_rows(match, tables, how):
                check_returned(match, made, f"{name}, {how}\n{match}\n{tables}")
                tally.pairs += 1
                tally.with_matches += bool(made.rows)
                tally.forms[name] += 1
        except UnsupportedQuery as refusal:
            tally.refused[refusal.what.partition("`")[0].strip()] += 1
        except LimitReached:
            tally.refused["left out as too large"] += 1


def returned_rows(match: Match, tables: Tables, how: Arrival) -> Iterator[tuple[str, ReturnedRows]]:
    """What comes out of streams, in each way that the query has."""
    plan = counted_plan(match) if match.aggregated else None
    if plan is not None:
        yield "aggregated, counted", counted_stream_rows(match, plan, tables, how)
    yield ("aggregated" if match.aggregated else "RETURN DISTINCT"), stream_rows(match, tables, how)


def check_returned(match: Match, made: ReturnedRows, what: str) -> None:
    with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
        expected = [row.values for row in rows_of(match, find_matches(match, made.events))]
    if difference := difference_of(*(list(map(_in_no_order, rows)) for rows in (made.rows, expected))):
        raise Different(f"{what}: {difference}")


def _in_no_order(row: tuple[object, ...]) -> tuple[object, ...]:
    """The row, with what collect_list and collect_set give in one order: they have none."""
    return tuple(sorted(map(repr, value)) if isinstance(value, list) else value for value in row)


TIMES = (
    "{0} DIV 5", "floor({0} / 4)", "{0} - {0} % 6", "{0} - pmod({0}, 7)", "({0} + 2) DIV 10 * 10",
    "{0} * 3 DIV 7", "date_trunc('second', timestamp_millis({0} * 300))",
    "unix_seconds(timestamp_millis({0} * 400)) - 1",
    "to_date(timestamp_seconds({0} * 30000))",
)  # fmt: skip
"""Times that do not fall while time goes on."""


def grouped_time(time: str, chance: Random) -> str:
    """A time to group by: every other one is computed."""
    return chance.choice(TIMES).format(time) if chance.random() < 0.5 else time


EXACT = ("count(*)", "sum({})", "max({})", "min({})", "count(DISTINCT {})")
FUNCTIONS = (*EXACT, "collect_set({})", "stddev({})")
"""Aggregates over matches; EXACT are those that do not depend on the order of matches."""


def returning(found: Sample, chance: Random, functions: Sequence[str] = ()) -> Sample | None:
    """The query with another RETURN: of some of these aggregates, or DISTINCT; None if it cannot be."""
    singles = [one.name for one in seen_in(found.query.pattern) if not one.is_list and not one.inner]
    time = chance.choice(["match_start", "match_end", *(f"{name}.ts" for name in singles)])
    items = [f"{grouped_time(time, chance)} AS time"]
    values = ("{0}.id", "{0}.x", "{0}.id", "{0}.x", "{0}.x * 2", "coalesce({0}.x, 0)", "{0}.x + {1}.x")
    items += [
        f"{chance.choice(values).format(name, chance.choice(singles))} AS v{n}"
        for n, name in enumerate(singles[: chance.randrange(3)])
    ]
    if functions:
        numbers = [f"{name}.x" for name in singles] or ["match_start"]
        items += [
            f"{chance.choice(functions).format(chance.choice(numbers))} AS t{n}"
            for n in range(chance.choice([1, 2]))
        ]
    text = f"PATTERN A a RETURN {'' if functions else 'DISTINCT '}{', '.join(items)};"
    run = parse.script(text).statements[-1]
    assert isinstance(run, RunQuery) and isinstance(run.query, PatternQuery)
    asked = replace(found.query, returns=run.query.returns)
    statements = (*found.script.statements[:-1], RunQuery(asked))
    changed = replace(found, script=replace(found.script, statements=statements))
    try:
        assert changed.match
        return changed
    except NeelError:
        return None


# WITH PARTIAL MATCHES.


def check_partial(number: int, tally: Tally) -> None:
    """Raise `Different` if a stream reports others: of those that are equal in what is returned, any."""
    query, events = drawn_partial(number)
    match = bound_partial(query.text)
    tally.queries += 1
    for _, form in ways_to_write(match):
        how = arrival(number)
        try:
            streamed = stream_matches(form, {"S": events}, how)
        except UnsupportedQuery as refusal:
            tally.refused[refusal.what.partition("`")[0].strip()] += 1
            continue
        expected = rows_of_partial(match, [one.binding for one in find_matches(match, streamed.events)])
        if rows_of_partial(match, streamed.matches) != expected:
            raise Different(f"{how}: {query.text}\n{events}")
        tally.pairs += 1
        tally.with_matches += bool(expected)
        tally.forms["partial matches"] += 1


# Imprecise times.


def check_imprecise(number: int, tally: Tally) -> None:
    """Raise `Different` if a stream gives other matches, or other confidences."""
    chance = Random(f"imprecise {number}")
    text = imprecise_worlds.query_text(chance) if number % 2 else imprecise_text(chance)
    try:
        match = imprecise_query(text)
    except NeelError:
        return
    tally.queries += 1
    for place in range(2):
        tables, how = {"S": imprecise_events(chance, text, 100)}, arrival(number + place)
        try:
            found, events = weighed_stream(match, tables, how)
            expected = {binding(one.binding): float(one.confidence) for one in find_matches(match, events)}
        except UnsupportedQuery as refusal:
            tally.refused[refusal.what.partition("`")[0].strip()] += 1
            continue
        except LimitReached:
            tally.refused["left out as too large"] += 1
            continue
        if not is_same(found, expected):
            raise Different(f"{text}\n{tables}\n{how}\nfound {found}\nexpected {expected}")
        tally.pairs += 1
        tally.with_matches += bool(expected)
        tally.forms["imprecise times"] += 1


def drawn(number: int) -> Sample | None:
    """Every other query has lists, under one of the selection strategies; some have words between parts."""
    if number % 4 == 3:
        return worded_sample(number)
    if number % 2:
        return with_order(sample(number), number)
    strategies = list(SelectionStrategy)
    found = kleene_sample(number, strategy=strategies[number // 2 % len(strategies)])
    return None if found is None else with_order(found, number)


def words_round(first: int, size: int = ROUND) -> Tally:
    """The same for queries with words between their parts only."""
    return run_round(first, size, with_words, ())


def with_words(number: int) -> Sample | None:
    found = worded_sample(number)
    return None if found is None else with_order(found, number)


CHECKS = (check_rows, check_imprecise)


def run_round(
    first: int,
    size: int = ROUND,
    draw: Callable[[int], Sample | None] = drawn,
    checks: Sequence[Callable[[int, Tally], None]] = CHECKS,
) -> Tally:
    """Compare the queries from number `first` on; those that differ are made small."""
    tally = Tally()
    for number in range(first, first + size):
        found = draw(number)
        if found is None:
            continue
        try:
            check_sample(found, tally, number)
        except Different as problem:
            tally.broken.append(f"query {number}: {smallest(found, number) or problem}")
        for check in (*checks, *([check_partial] if checks and number % 5 == 0 else [])):
            try:
                check(number, tally)
            except Exception as problem:
                tally.broken.append(f"{check.__name__}({number}): {type(problem).__name__}: {problem}")
    return tally


def main() -> int:
    parser = fuzz_parser("stream_fuzz", 20_000)
    parser.add_argument("--words", action="store_true", help="only queries with words between their parts")
    options, begin = parser.parse_args(), time.monotonic()
    tally = tally_of(words_round if options.words else run_round, options)
    return outcome(table(tally, time.monotonic() - begin), tally.broken)


if __name__ == "__main__":
    sys.exit(main())
