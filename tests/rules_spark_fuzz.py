"""Sets of rules, executed together by Spark, compared with each rule alone on the reference; a part of
`make fuzz`.

    PYTHONPATH=tests python -m rules_spark_fuzz --sets 300 --seed 1
    PYTHONPATH=tests python -m rules_spark_fuzz --streaming --sets 50 --seed 1

The rules are texts, and go the way that those of users go: through `neelc.rules`. The table of all rules is
compared, and of one rule of each set its own columns. With `--streaming`, events come in micro-batches, out
of order, some of them late; the query is stopped now and then, and goes on from its checkpoint.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from answers import MAX_CANDIDATES
from fuzz_runner import fuzz_parser, outcome, seen_table, show_progress
from generate.rule_scripts import RuleScript, rule_script
from generate.witnesses import Tables
from like_spark import like_ours
from on_spark import Asking, configured, frame_of
from on_streams import late_events, read, run_to_the_end, write_batches
from spark_stream_fuzz import SETTINGS, replay

import neelc
from neelc.api.spark_session import session
from neelc.catalog.inputs import Inputs
from neelc.cli.run_rules import with_json
from neelc.engines.reference import execute
from neelc.engines.reference_rules import rules_result
from neelc.errors import NeelError
from neelc.ir.program import Match, Program, Stream
from neelc.pattern.plan import rule_sets as plans
from neelc.pipeline import bind, parse
from neelc.runtime.reference import candidates
from neelc.runtime.values.order import comparable
from neelc.source import Source

STREAMS = 6
Rows = Counter[object]
Check = Callable[[Any, int, Counter[str]], Iterable[str]]


@dataclass(frozen=True)
class ReferenceRules:
    """A script, as the reference reads it."""

    script: RuleScript
    inputs: Inputs
    program: Program

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.script.rules]

    def query(self, name: str) -> Match:
        return next(one.match for one in self.program.queries if one.name == name)

    def streams(self, names: Collection[str]) -> dict[str, Stream]:
        """The streams that these rules read."""
        return {stream.name: stream for name in names for stream in self.query(name).streams}


def bound(found: RuleScript) -> ReferenceRules:
    source = Source(found.text)
    return ReferenceRules(found, *bind(parse(source), source, (), Path()))


# What the reference finds.


@dataclass(frozen=True)
class RuleAnswer:
    """The rows of a rule in the table of all rules, and with its own columns."""

    table: Rows
    own: Rows


def answers(
    rules: ReferenceRules, names: Collection[str], gone: Collection[int] = ()
) -> dict[str, RuleAnswer]:
    """What each of some rules finds, in all streams; without rules that take too long. The rows whose
    addresses are `gone` take no part."""
    streams = [
        {name: [row for row in rows if id(row) not in gone] for name, rows in tables.items()}
        for tables in rules.script.tables
    ]
    found = ((name, _answer(rules, name, streams)) for name in names)
    return {name: one for name, one in found if one is not None}


def _answer(rules: ReferenceRules, name: str, streams: Sequence[Tables]) -> RuleAnswer | None:
    place, collapsed = rules.names.index(name), rules.query(name).collapsed
    table, own = Rows(), Rows()
    try:
        with patch.object(candidates, "MAX_CANDIDATES", MAX_CANDIDATES):
            for tables in streams:
                for row in rules_result(rules.inputs, rules.program, tables, [place]).rows:
                    table[table_row(row, collapsed)] += 1
                for _, result in execute(rules.inputs, rules.program, tables, [place]):
                    own.update(own_row(row, collapsed) for row in result.rows)
    except NeelError as error:
        if error.diagnostics[0].code != "NEEL5007":
            raise
        return None
    return RuleAnswer(table, own)


def table_row(row: Sequence[object], collapsed: bool) -> object:
    """A row of the table of all rules, to be compared."""
    *rest, columns = row
    if not collapsed:
        return comparable(tuple(row))
    assert isinstance(columns, str), "a VARIANT as JSON"
    return (*map(comparable, rest), in_no_order(json.loads(columns)))


def own_row(row: Sequence[object], collapsed: bool) -> object:
    return in_no_order(list(row)) if collapsed else comparable(tuple(row))


def in_no_order(value: object) -> object:
    """A value with lists as sets: simultaneous events of a COLLAPSED list come in any order."""
    match value:
        case list() | tuple():
            return frozenset(Counter(map(in_no_order, value)).items())
        case dict():
            return tuple(sorted((name, in_no_order(item)) for name, item in value.items()))
    return comparable(value)


# What an engine finds.


def compiled(
    make: Callable[..., neelc.Rules],
    rules: ReferenceRules,
    frames: Mapping[str, Any],
    chance: Random,
    seen: Counter[str],
    **more: Any,
) -> neelc.Rules | None:
    """The rules that an engine executes, which `make` compiles; None if it can execute none."""
    share, judged = chance.random() < 0.85, chance.choice([0, 62])
    try:
        with patch.object(plans, "JUDGED_BY_SPARK", judged):
            found = make(rules.script.text, share=share, **frames, **more)
    except neelc.NeelQueryError as refusal:
        _check_refusals([refusal])
        seen["sets not executed"] += 1
        return None
    _check_refusals(found.errors)
    seen["rules not executed"] += len(found.errors)
    return found


def _check_refusals(errors: Sequence[Any]) -> None:
    """The reference executes all rules: those that are left out must be those that Spark cannot execute."""
    for error in errors:
        assert error.getCondition().startswith("NEEL4"), str(error)


def table_of(found: neelc.Rules, rules: ReferenceRules, rows: Sequence[Any]) -> dict[str, Rows]:
    """The rows of each rule in the table of all."""
    kind = found.compiled.times
    tables: dict[str, Rows] = {name: Rows() for name in found.names}
    for name, key, start, end, columns in rows:
        values = (name, key, like_ours(start, kind), like_ours(end, kind), columns)
        tables[name][table_row(values, rules.query(name).collapsed)] += 1
    return tables


def own_of(found: neelc.Rules, query: Match, name: str) -> Rows:
    """The rows of a rule, with its own columns."""
    kinds = [column.type for column in query.columns]
    rows = ([like_ours(v, kind) for v, kind in zip(row, kinds, strict=True)] for row in found[name].collect())
    return Rows(own_row(row, query.collapsed) for row in rows)


# Both compared.


def problems(
    expected: Mapping[str, RuleAnswer], found: Mapping[str, Rows], seen: Counter[str]
) -> Iterator[str]:
    """How the rows of rules differ."""
    for name, answer in expected.items():
        seen["rules"] += 1
        seen["rules with matches"] += bool(answer.table)
        seen["matches"] += answer.table.total()
        yield from difference(f"{name} in the table of all rules", answer.table, found[name])


def difference(what: str, expected: Rows, found: Rows) -> Iterator[str]:
    lost, added = expected - found, found - expected
    if lost or added:
        yield f"{what}: {lost.total()} rows lost, {added.total()} added\n  lost {lost}\n  added {added}"


def describe(found: neelc.Rules, rules: ReferenceRules, seen: Counter[str]) -> None:
    """Count what a set has."""
    sets = found.compiled.sets
    seen["sets"] += 1
    seen[f"sets of streams apart by {rules.script.apart}"] += 1
    seen["rules together"] += sum(len(one.names) for one in sets)
    seen["rules alone"] += len(found.compiled.alone)
    seen["rules in trees"] += sum(len(tree.members) for one in sets for tree in one.program.trees)
    seen["conditions on complete matches"] += sum(
        bool(rule.planned.residual) for one in sets for rule in one.plans
    )


def check_batch(spark: Any, number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the set of a number, over bounded data."""
    script = rule_script(number, STREAMS)
    if script is None:
        return
    chance, rules = Random(f"batch {number}"), bound(script)
    asking = Asking(shuffled=chance.choice([1, 2, 3]), batch=chance.choice([1, 3, 10_000]))
    with configured(spark, asking):
        frames = {
            name: frame_of(spark, stream, script.all_rows[name]).repartition(chance.choice([1, 2, 3]))
            for name, stream in rules.streams(rules.names).items()
        }
        found = compiled(partial(neelc.rules, spark), rules, frames, chance, seen)
        if found is None:
            return
        expected = answers(rules, found.names)
        describe(found, rules, seen)
        with found.persist():
            yield from problems(expected, table_of(found, rules, with_json(found.df).collect()), seen)
            for name in chance.sample(list(expected), min(1, len(expected))):
                own = own_of(found, rules.query(name), name)
                yield from difference(f"{name} with its own columns", expected[name].own, own)


def check_stream(spark: Any, number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the set of a number, over streams without end."""
    how = replay(number)
    script = rule_script(number, STREAMS, how.delay)
    if script is None:
        return
    chance, rules = Random(f"stream {number}"), bound(script)
    rows, streams = script.all_rows, rules.streams(rules.names)
    with tempfile.TemporaryDirectory(prefix="neelc-rules-") as place:
        root = Path(place)
        for name, stream in streams.items():
            (root / name).mkdir()
            write_batches(spark, stream, rows[name], how, root / name)
        frames = dict(read(spark, root, streams))
        found = compiled(partial(neelc.rules, spark), rules, frames, chance, seen, buckets=how.buckets)
        if found is None:
            return
        late = late_events(rules.streams(found.names).values(), rows, how)
        expected = answers(rules, found.names, {id(row) for row in late})
        describe(found, rules, seen)
        seen["sets with late events"] += bool(late)
        seen["sets with restarts"] += bool(how.restarts)
        given = table_of(found, rules, list(run_to_the_end(lambda: with_json(found.df), root, how)))
        for name in given:
            if waits_for_events(rules.query(name)) and name in expected:
                seen["rules that wait for more events"] += 1
                given[name] |= expected[name].table
        for problem in problems(expected, given, seen):
            yield f"{how}: {problem}"


def waits_for_events(query: Match) -> bool:
    """Whether time alone does not end a window: the last matches of a stream may wait for more events."""
    return query.within is not None and query.within.unit == "EVENT"


def checked(check: Check, spark: Any, number: int, seen: Counter[str]) -> Iterator[str]:
    """What is wrong with the set of a number, with its text."""
    try:
        wrong = list(check(spark, number, seen))
    except Exception as error:
        wrong = [f"{type(error).__name__}: {str(error)[:2000]}"]
    yield from (f"set {number}, {one}" for one in wrong)


def compare(spark: Any, check: Check, sets: int, first: int) -> tuple[Counter[str], list[str]]:
    """Check sets from number `first` on, until there are so many."""
    seen, broken = Counter[str](), list[str]()
    for number in count(first):
        broken += checked(check, spark, number, seen)
        show_progress(seen["sets"], sets)
        if seen["sets"] >= sets:
            break
    return seen, broken


def main() -> int:
    parser = fuzz_parser("rules_spark_fuzz", 300, "sets", processes=None)
    parser.add_argument("--streaming", action="store_true", help="over streams without end")
    options, begin = parser.parse_args(), time.monotonic()
    check = check_stream if options.streaming else check_batch
    with session("local[2]", None, SETTINGS) as spark:
        seen, broken = compare(spark, check, options.count, options.first)
    return outcome(seen_table(seen, time.monotonic() - begin), broken)


if __name__ == "__main__":
    sys.exit(main())
