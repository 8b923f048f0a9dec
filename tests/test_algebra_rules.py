"""Rules for networks, the order of joins and the extended filter: equal results, the least cost."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from random import Random

import pytest
from algebra_fuzz import laws
from bench import bench_algebra
from bench.baselines import plan_late
from generate.networks import networks

from neelc import syntax as parse
from neelc.algebra.cost.network import chosen_network
from neelc.algebra.cost.order import JoinOrder, _Sizing, join_order
from neelc.algebra.rules.optimise import rewritten_network
from neelc.catalog.statistics.numbers import Statistics
from neelc.explain.graphs import as_dot, as_mermaid
from neelc.explain.page import as_json
from neelc.explain.report import report
from neelc.explain.rules import rules_text
from neelc.explain.text import as_text
from neelc.ir import algebra as a
from neelc.ir.node import walk
from neelc.ir.program import Program
from neelc.pipeline import compile_program
from neelc.program import bind
from neelc.rules_pipeline import CompiledRules, compile_rules
from neelc.source import Source

STREAMS = """
CREATE STREAM S (k STRING, ts BIGINT, x INT) TIMESTAMP BY ts UNIT SECONDS WITH STATS (RATE 1000 PER SECOND);
CREATE STREAM T (k STRING, ts BIGINT, x INT) TIMESTAMP BY ts UNIT SECONDS WITH STATS (RATE 10 PER SECOND);
CREATE STREAM U (k STRING, ts BIGINT, x INT) TIMESTAMP BY ts UNIT SECONDS WITH STATS (RATE 1 PER SECOND);
"""
EVENTS = "CREATE STREAM Events (ts TIMESTAMP, kind STRING, id BIGINT, amount INT) TIMESTAMP BY ts;\n"
THREE = "SELECT s.x AS x FROM S AS s, T AS t, U AS u WHERE s.k = t.k AND t.k = u.k AND s.x < u.x;"


def bound(text: str) -> Program:
    source = Source(text, "test")
    return bind(parse.read(source), source)


def root(text: str) -> a.Operator:
    query = bound(STREAMS + text).queries[-1].query
    assert isinstance(query, a.Algebra)
    return query.root


def test_random_networks_mean_the_same_after_each_rule_by_name_and_in_the_kernel() -> None:
    random, fired = Random(21), Counter[str]()
    for network in networks(random, 40):
        assert list(laws(network, random, fired)) == []
    assert len(fired) > 7, fired


def test_the_order_of_joins_is_the_best_of_all() -> None:
    correlator = next(node for node in walk(root(THREE)) if isinstance(node, a.Correlator))
    sizing = _Sizing.of(correlator, Statistics())

    def cost(places: tuple[int, ...]) -> tuple[int, float]:
        order = sizing.order(places)
        return sizing.products(order), order.cost

    found = join_order(correlator, Statistics())
    assert cost(found.places) == min(map(cost, permutations(range(3))))
    assert isinstance(found, JoinOrder) and found.places[-1] == 0, "the fastest stream comes last"


def test_a_filter_stays_above_a_count_window() -> None:
    found = chosen_network(
        rewritten_network(root("SELECT k FROM S WINDOW(COUNT 3 EVENTS) WHERE x > 1;")), Statistics()
    ).root
    window = next(node for node in walk(found) if isinstance(node, a.CountWindow))
    assert not any(isinstance(node, a.Filter) for node in walk(window))


def test_networks_are_explained_in_all_formats() -> None:
    text = STREAMS + THREE.replace("FROM S AS s", "FROM S AS s WINDOW(TIME 9)")
    found = report("test", parse.read(Source(text)), bound(text), Statistics(), [0])
    (network,) = json.loads(as_json(found, "all"))["networks"]
    executed, written = network["prices"]
    assert written["events"] == pytest.approx(executed["events"] * written["ratio"])
    assert sum(events for _, events in executed["items"]) == pytest.approx(executed["events"])
    assert {fact["origin"] for fact in network["facts"]} == {"declared"}
    for picture in (as_dot(found, "simple"), as_mermaid(found, "simple")):
        for title in ("select result", "correlate", "window of 9", "stream U"):
            assert title in picture


def test_what_is_one_sequence_is_told() -> None:
    text = STREAMS + "SELECT max(x) AS x FROM S WINDOW(COUNT 3 EVENTS);"
    source = Source(text, "test")
    script = parse.read(source)
    text_of_report = as_text(report("test", script, bound(text), Statistics(), [0]), "simple")
    assert "all are one sequence" in " ".join(text_of_report.split())


def matching(pattern: str, name: str, more: str = "PARTITION BY k WITHIN 9 SECONDS") -> str:
    return f"""S MATCH_RECOGNIZE_SEQUENTIAL (MEASURES b.x AS {name} {more} PATTERN {pattern}
      DEFINE a AS x > 1, b AS x = 7, c AS k = 'u') AS {name}"""


@pytest.mark.parametrize(
    ("one", "other", "filters"),
    [
        (matching("abc", "m"), matching("bca", "n", "PARTITION BY k WITHIN 2 SECONDS"), 1),
        (matching("abc", "m"), matching("ab? c", "n").replace("k = 'u'", "x = 8"), 2),
        (matching("abc", "m"), matching("bca", "n", "WITHIN 9 SECONDS"), 2),
        (matching("abc", "m"), matching("bca", "n", "PARTITION BY k WITHIN 3 EVENTS"), 1),
    ],
)
def test_matchers_share_an_extended_filter_if_they_can(one: str, other: str, filters: int) -> None:
    """One of the same definition, the same events and partitions, windows of time; else each has its own."""
    statistics = "CREATE STREAM S (k STRING, ts BIGINT, x INT) TIMESTAMP BY ts UNIT SECONDS"
    text = f"{statistics} WITH STATS (RATE 0.01 PER SECOND);\nSELECT m, n FROM {one}, {other};"
    found = compile_program(bound(text), 0).source
    assert found.count("The extended filter") == filters
    assert ("for 2 matchers" in found) == ("PARTITION BY k WITHIN 2" in other)


RARE = (
    "CREATE STREAM S (k STRING, ts BIGINT, x INT) TIMESTAMP BY ts UNIT SECONDS "
    "WITH STATS (RATE 0.01 PER SECOND);\n"
)


def queries_of(*matchers: str) -> str:
    """A query for each matcher, and one that reads them all."""
    names = [f"q{number}" for number in range(len(matchers))]
    parts = [f"(SELECT m FROM {one}) AS {name};" for name, one in zip(names, matchers, strict=True)]
    columns = ", ".join(f"{name}.m AS {name}" for name in names)
    return f"{RARE}{' '.join(parts)}\nSELECT {columns} FROM {', '.join(names)};"


def filters_of(text: str) -> list[str]:
    lets = compile_program(bound(text)).relations.lets
    return [let.comment.partition(":")[0] for let in lets if "extended filter" in let.comment]


def test_matchers_of_several_queries_share_an_extended_filter() -> None:
    """It is written once, as wide as the widest window of those that have a symbol of one definition."""
    nine, two, other = (
        "PARTITION BY k WITHIN 9 SECONDS",
        "PARTITION BY k WITHIN 2 SECONDS",
        "WITHIN 9 SECONDS",
    )
    alike = [matching("abc", "m", nine), matching("bca", "m", two), matching("ab?c", "m", nine)]
    text = queries_of(*alike[:2], matching("bac", "m", nine))
    assert filters_of(text) == ["The extended filter for 3 matchers"]
    assert compile_program(bound(text)).source.count("pmod(e.start, 9L)") == 1
    unlike = matching("abc", "m", nine).replace("x = 7", "x = 8")
    assert filters_of(queries_of(*alike[:2], unlike.replace("k = 'u'", "x = 9"))) == [
        "The extended filter for 2 matchers",
        "The extended filter",
    ]
    assert filters_of(queries_of(alike[0], matching("abc", "m", other))) == ["The extended filter"] * 2


def test_a_window_for_which_a_shared_filter_would_not_pay_stays_out() -> None:
    day = "PARTITION BY k WITHIN 100 DAYS"
    short, long = matching("abc", "m"), matching("abc", "m", day)
    assert filters_of(queries_of(short, short.replace("abc", "bac"), long)) == [
        "The extended filter for 2 matchers"
    ]


def rules_of(*texts: str, share: bool = True) -> CompiledRules:
    """SELECTs as rules r0, r1 and so on."""
    named = (f"({one}) AS r{number};" for number, one in enumerate(texts))
    return compile_rules(bound(RARE + "\n".join(named)), range(len(texts)), shares=share)


def test_rules_of_matchers_that_share_a_filter_are_one_set() -> None:
    """Conditions and computed columns can stand above a matcher; joins and aggregates cannot."""
    matcher, other = matching("abc", "m"), matching("bca", "m")
    texts = (
        f"SELECT m FROM {matcher}",
        f"SELECT m + 1 AS n, m AS o FROM {other} WHERE m * m < 9",
        f"SELECT m AS equal FROM {matcher}",
        f"SELECT count(*) AS n FROM (SELECT m FROM {matcher}) WINDOW(TIME 9 SECONDS) AS c",
        f"SELECT m.m AS m FROM {matcher}, {matching('bac', 'n')}",
        "SELECT x FROM S",
    )
    found = rules_of(*texts)
    assert [one.names for one in found.matchers] == [("r0", "r1", "r2")]
    assert [name for name, _ in found.alone] == ["r3", "r4", "r5"]
    assert rules_text(found).splitlines()[:7] == [
        "6 rules",
        "3 of them in 1 pass over the events",
        "",
        "pass 1: r0, r1, r2",
        "  reads    events near one that emits C, once: 0.001 of all emit it",
        "  shares   2 matchers behind one extended filter, in one kernel",
        "  equal    1 rule has the matcher of another: it runs once",
    ]
    apart = rules_of(*texts, share=False)
    assert not apart.matchers and len(apart.alone) == len(texts)


def test_the_matches_of_a_set_of_matchers_are_read_once() -> None:
    found = rules_of(*(f"SELECT m FROM {matching(one, 'm')}" for one in ("abc", "bca", "bac")))
    source = found.script.source
    assert source.count(".mapInArrow(") == 1 and "union" not in source
    assert "member AS rule" in source and "CASE" not in source


def test_what_queries_of_a_script_read_alike_is_written_once() -> None:
    one = "SELECT x FROM S WINDOW(TIME 5 SECONDS) WHERE x > 1"
    text = f"{RARE}({one}) AS q; ({one}) AS r;\nSELECT q.x AS q, r.x AS r FROM q, r;"
    names = [let.name for let in compile_program(bound(text)).relations.lets]
    assert "r" not in names and names.count("q") == 1


@pytest.mark.parametrize("optimised", [True, False])
def test_queries_of_the_benchmark_compile(optimised: bool) -> None:
    texts = [bench_algebra.SLIDING.format(window=100), bench_algebra.CORRELATED]
    for text in (*texts, *bench_algebra.OPTIMISED.values()):
        found = compile_program(bound(f"{EVENTS}{text};"), planner=None if optimised else plan_late)
        compile(found.source, "query", "exec")
        assert ("extended filter" in found.source) == (optimised and "SEQUENTIAL" in text)
