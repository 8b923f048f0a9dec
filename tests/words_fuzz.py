"""Words between parts compared with the reference: of `make fuzz`.

    PYTHONPATH=tests python -m words_fuzz --pairs 10000 --seed 1

Queries with NEXT, STRICT, EACH, UNTIL and WITHOUT run as written and in each of their forms, by the kernel
and through the bridge. So that the reading of the words is checked, too, a SEQ of single events in which
every part has one and the same word is compared with the selection strategy of that name, which is another
piece of code.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from unittest.mock import patch

from answers import MAX_CANDIDATES
from fuzz_runner import ROUND, fuzz_parser, outcome
from generate.followed import followed, happenings
from generate.rewritable import Sample, sample
from generate.words import worded_sample
from in_kernel import as_bindings
from kernel_fuzz import Tally, run_round, table, tally_of
from pattern_examples import query

from neelc.errors import NeelError
from neelc.ir import patterns as p
from neelc.ir.script import CreateStream, RunQuery, SelectionStrategy
from neelc.runtime.reference import LimitReached, candidates, matches
from neelc.runtime.reference.model import ReferenceEvent
from neelc.syntax.printer import format_script

WORDS = {
    SelectionStrategy.NEXT_MATCH: p.FollowKind.NEXT,
    SelectionStrategy.STRICT: p.FollowKind.STRICT,
    SelectionStrategy.PARTITION: p.FollowKind.STRICT,
}


def strategy_sample(number: int) -> tuple[Sample, Sample] | None:
    """A SEQ of single events under a strategy, and with the word of the strategy before each part."""
    found = sample(number)
    query = found.query
    if not isinstance(query.pattern, p.Seq) or found.shared or len(query.pattern.parts) < 2:
        return None
    if not all(isinstance(one, p.Event | p.Not) for one in query.pattern.parts):
        return None
    # A run takes events by their starts: of events that last, several can be next. And the partition of
    # contiguity is also that in which events are counted.
    lasts = any(isinstance(one, CreateStream) and one.end for one in found.script.statements)
    if lasts or (query.within is not None and query.within.unit == "EVENT" and not query.partition_by):
        return None
    chance = Random(f"strategy {number}")
    divided = query.partition_by or "[" in str(query.where)
    strategies = [SelectionStrategy.NEXT_MATCH, *((SelectionStrategy.PARTITION,) if divided else ())]
    strategy = chance.choice([*strategies, *(() if divided else (SelectionStrategy.STRICT,))])
    word, first = p.FollowWord(WORDS[strategy]), True
    parts = []
    for part in query.pattern.parts:
        parts.append(part if isinstance(part, p.Not) or first else replace(part, follow=word))
        first = first and isinstance(part, p.Not)
    by_words = replace(query, pattern=replace(query.pattern, parts=tuple(parts)), strategy=None)
    return with_query(found, replace(query, strategy=strategy)), with_query(found, by_words)


def with_query(found: Sample, query: object) -> Sample:
    statements = (*found.script.statements[:-1], RunQuery(query))  # type: ignore[arg-type]
    return replace(found, script=replace(found.script, statements=statements))


def strategies_round(first: int, size: int = ROUND) -> Tally:
    """Words and strategies, both by the reference."""
    tally = Tally()
    for number in range(first, first + size):
        both = strategy_sample(number)
        if both is None:
            continue
        try:
            one, other = (each.match for each in both)
        except NeelError:
            continue
        tally.queries += 1
        for tables in both[0].tables:
            try:
                with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
                    expected, found = (Counter(as_bindings(matches(match, tables))) for match in (one, other))
            except LimitReached:
                tally.refused["left out as too large"] += 1
                continue
            tally.pairs += 1
            tally.with_matches += bool(expected)
            if found != expected:
                text = format_script(both[1].script)
                tally.broken.append(f"query {number}: not what {one.strategy} finds\n{text}\n{tables}")
    return tally


HEAD = (
    "CREATE STREAM S (ts INT, kind STRING, x INT, id INT) TIMESTAMP BY ts UNIT MILLISECONDS TYPE BY kind;\n"
)


def definition_round(first: int, size: int = ROUND) -> Tally:
    """Words by the reference, and by what the language says of the events between two parts."""
    tally = Tally()
    for number in range(first, first + size):
        chance = Random(f"definition {number}")
        text, sequence = followed(chance)
        try:
            match = query(text, HEAD)
        except NeelError as error:
            tally.refused[", ".join(one.code for one in error.diagnostics)] += 1
            continue
        tally.queries += 1
        for _ in range(3):
            events = happenings(chance)
            rows = [{"ts": one.t, "kind": one.kind, "x": one.x, "id": one.id} for one in events]
            expected = sequence.matches(events)
            found = {_numbers(binding, sequence.order) for binding in matches(match, {"S": rows})}
            tally.pairs += 1
            tally.with_matches += bool(expected)
            if found != expected:
                wrong = f"lost {sorted(expected - found)}, added {sorted(found - expected)}"
                tally.broken.append(f"query {number}: {wrong}\n{text}\n{rows}")
    return tally


def _numbers(binding: Mapping[str, object], names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The places of the events of each variable in the stream."""

    def events(value: object) -> Iterator[int]:
        for one in value if isinstance(value, tuple) else () if value is None else (value,):
            assert isinstance(one, ReferenceEvent)
            yield one.row

    return tuple(tuple(events(binding.get(name))) for name in names)


def until_broken(first: int, pairs: int) -> int:
    """One query after the other until one differs; says after how many pairs. For `make mutate`."""
    seen = 0
    for number in count(first):
        for round in (partial(run_round, drawn=worded_sample), strategies_round, definition_round):
            tally = round(number, 1)
            seen += tally.pairs
            if tally.broken:
                print(f"{tally.broken[0]}\n{number} after {seen:,} pairs")
                return 1
        if seen >= pairs:
            print(f"in {seen:,} pairs")
            return 0
    raise AssertionError("numbers come to no end")


def main() -> int:
    parser = fuzz_parser("words_fuzz", 10_000)
    parser.add_argument("--until-broken", action="store_true", help="stop at the first counter-example")
    options, begin = parser.parse_args(), time.monotonic()
    if options.until_broken:
        return until_broken(options.first, options.count)
    tally = tally_of(partial(run_round, drawn=worded_sample), options)
    print("\n" + table(tally, time.monotonic() - begin))
    begin = time.monotonic()
    strategies = tally_of(strategies_round, options)
    print("\nagainst selection strategies\n" + table(strategies, time.monotonic() - begin))
    begin = time.monotonic()
    definition = tally_of(definition_round, options)
    broken = [*tally.broken, *strategies.broken, *definition.broken]
    return outcome("\nagainst the definition\n" + table(definition, time.monotonic() - begin), broken)


if __name__ == "__main__":
    sys.exit(main())
