"""Matchers of several queries in one pass: what the reference finds for each, whatever filter they share."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bench.rule_workloads import RuleEvents, RuleWorkload, table

import neelc
from neelc import syntax
from neelc.arguments import Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.spark.compiled import CompiledScript, WrittenQuery, write_script
from neelc.engines.spark.relations import Let, Relations, Union
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pipeline import plan_queries
from neelc.program import bind
from neelc.runtime.reference import run
from neelc.source import Source

PATTERNS = ("abcd", "bca", "a{1,2}cb? d", "(a|b)cd", "cba", "bc(b|d)? a")


def as_one(workload: RuleWorkload) -> CompiledScript:
    """All SELECTs of a workload in one script, whose result is the union of theirs: they have the same
    columns."""
    named = "".join(f"({text}) AS {name};\n" for name, text in workload.texts.items())
    source = Source(workload.events.statement + named, workload.name)
    queries = [(one, False) for one in bind(syntax.read(source), source).queries]
    written = []
    for one in plan_queries(queries, Options(), Statistics()):
        assert not isinstance(one.plan, UnsupportedQuery), one.plan
        written.append(WrittenQuery(one.named, one.plan, as_stream=False))
    found = write_script(written)
    results = tuple(let.name for let in found.relations.lets if let.name in workload.texts)
    # The result of the last query has another name.
    *others, last = found.relations.lets
    union = Let("everything", Union((*results, last.name)), "The matches of all matchers.")
    return replace(found, relations=Relations((*others, last, union)))


def workload(random: Random, partition: str, pivots: int, window: int) -> RuleWorkload:
    """Queries whose patterns have the symbol c in common."""
    texts = {}
    for number, pattern in enumerate(PATTERNS):
        first, last = pattern[0] if pattern[0].isalpha() else "c", "c"
        definitions = {
            "a": f"x < {random.randint(3, 9)}",
            "b": f"y >= {random.randint(0, 4)}",
            "c": "z = 1",
            "d": f"y < {'a' if 'a' in pattern.split('d')[0] else 'c'}.x + {random.randint(2, 6)}",
        }
        listed = ", ".join(f"{one} AS {text}" for one, text in definitions.items() if one in pattern)
        texts[f"q{number}"] = (
            f"SELECT first, last FROM Events MATCH_RECOGNIZE_SEQUENTIAL (MEASURES {first}.x AS first, "
            f"{last}.y AS last WITHIN {window} MILLISECONDS {partition} PATTERN {pattern} DEFINE {listed})"
        )
    columns = (("x", 0, 10), ("y", 0, 10), ("z", 0, pivots))
    return RuleWorkload("shared", texts, RuleEvents(400, ("A",), 3, columns=columns))


def events_of(one: RuleWorkload, random: Random) -> pa.Table:
    """Events of the workload, some of which are simultaneous, in no order."""
    rows = table(one.events).to_pylist()
    begin = rows[0]["ts"]
    for row in rows:
        row["ts"] = begin + timedelta(milliseconds=random.randint(0, 4 * len(rows) // 5))
    random.shuffle(rows)
    return pa.Table.from_pylist(rows, table(one.events).schema)


def expected(one: RuleWorkload, events: pa.Table) -> Counter[tuple[object, ...]]:
    named = "".join(f"({text}) AS {name};\n" for name, text in one.texts.items())
    source = Source(one.events.statement + named)
    found = run(bind(syntax.read(source), source), {"Events": events.to_pylist()})
    return Counter((row[0], row[1]) for _, result in found for row in result.rows)


def found_by(spark: Any, compiled: CompiledScript, events: pa.Table) -> Counter[tuple[object, ...]]:
    namespace: dict[str, Any] = {}
    exec(compiled.source, namespace)
    plain = events.set_column(1, "kind", events["kind"].cast(pa.string()))
    frame = spark.createDataFrame(plain).repartition(3)
    return Counter(
        (row["first"], row["last"]) for row in namespace["query"](spark, {"Events": frame}).collect()
    )


@pytest.mark.parametrize("partition", ["", "PARTITION BY id"])
@pytest.mark.parametrize(("pivots", "window", "kind"), [(100, 100, "behind it"), (200, 2, "are near")])
def test_matchers_in_one_pass(spark: Any, partition: str, pivots: int, window: int, kind: str) -> None:
    """By place, where windows are long, and by time, where they are short. The statistics are wrong on
    purpose: there are more pivots, so that there are matches."""
    random = Random(f"{partition} {kind}")
    one = workload(random, partition, pivots, window)
    compiled = as_one(one)
    (comment,) = [let.comment for let in compiled.relations.lets if "extended filter" in let.comment]
    assert f"for {len(PATTERNS)} matchers" in comment and kind in comment
    dense = workload(random, partition, 6, window)
    events = events_of(RuleWorkload("dense", one.texts, dense.events), random)
    matches = expected(one, events)
    assert sum(matches.values()) > 10
    assert found_by(spark, compiled, events) == matches


def as_rules(one: RuleWorkload) -> dict[str, str]:
    """The queries of a workload, and some that do more: the rows of these differ in names and types."""
    base = one.texts["q1"]
    more = {
        "again": base,
        "some": f"{base} WHERE first + last > 6",
        "computed": base.replace(
            "SELECT first, last", "SELECT first * 2.5 AS much, concat('x', last) AS text"
        ),
        "longer": base.replace("c.y AS last", "c.y + CAST(c.id AS BIGINT) AS last, c.kind AS kind").replace(
            "SELECT first, last", "SELECT kind, last, first"
        ),
        "counted": f"SELECT count(*) AS n FROM ({base}) WINDOW(TIME 5 MILLISECONDS) AS m",
    }
    return {"events": one.events.statement, **one.texts, **more}


@pytest.mark.parametrize("partition", ["", "PARTITION BY id"])
@pytest.mark.parametrize(("pivots", "window"), [(100, 100), (200, 2)])
def test_rules_of_matchers_in_one_pass(spark: Any, partition: str, pivots: int, window: int) -> None:
    """One kernel and one reading of its rows find what each rule finds by itself; a rule that counts matches
    stays alone. `again` has the matcher of another rule, and its rows, too."""
    random = Random(f"rules {partition} {pivots}")
    one = workload(random, partition, pivots, window)
    events = events_of(
        RuleWorkload("dense", one.texts, workload(random, partition, 6, window).events), random
    )
    plain = events.set_column(1, "kind", events["kind"].cast(pa.string()))
    frame = spark.createDataFrame(plain).repartition(3)
    texts = as_rules(one)
    together = neelc.rules(spark, texts, strict=True, Events=frame)
    apart = neelc.rules(spark, texts, strict=True, share=False, Events=frame)
    assert together.names == apart.names == tuple(texts)[1:]
    assert [name for name, _ in together.compiled.alone] == ["counted"]
    assert together.source.count("sequential_group(") == 1 and "of_matchers" not in together.source
    assert "sequential_group(" not in apart.source
    found = table_of(together)
    assert found == table_of(apart)
    assert {name for name, *_ in found} >= {"q1", "again", "some", "computed", "longer", "counted"}


def table_of(rules: Any) -> Counter[tuple[object, ...]]:
    columns = ("rule", "to_json(key)", "match_start", "match_end", "to_json(columns)")
    return Counter(tuple(row) for row in rules.df.selectExpr(*columns).collect())
