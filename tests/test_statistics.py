"""Statistics: numbers about types, computed by hand from what WITH STATS says and from the defaults."""

from __future__ import annotations

import pytest
from invariants import check

from neelc.catalog.statistics import numbers as defaults
from neelc.catalog.statistics.numbers import ORIGINS, Fact, KnownStatistic, Statistics
from neelc.ir.expressions import conjuncts
from neelc.ir.program import Match
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script

COLUMNS = "(ts BIGINT, kind STRING, id BIGINT, price DOUBLE, flag BOOLEAN, day DATE)"


def bound(text: str) -> Match:
    source = Source(text)
    return bind(script(source), source).queries[-1].match


def typed(pattern: str, stats: str = "", also: str = "") -> Match:
    """A pattern over the stream S, with this in its WITH STATS."""
    clause = f"WITH STATS ({stats})" if stats else ""
    stream = f"CREATE STREAM S {COLUMNS} TIMESTAMP BY ts UNIT SECONDS TYPE BY kind {clause};"
    return bound(f"{stream} {also} PATTERN {pattern}")


def number(fact: Fact) -> tuple[float, str]:
    return round(fact.value, 9), fact.origin


def test_defaults() -> None:
    query, nothing = typed("SEQ(A a, B b)"), Statistics()
    assert nothing.total(query, "A") == Fact("events of type A in S", 100_000, "assumed")
    assert nothing.rate(query, "A") == Fact("events per second of type A in S", 1, "assumed")
    assert number(nothing.distinct(query, "A", "id")) == (1_000, "assumed")
    assert number(nothing.distinct(query, "A", "flag")) == (2, "assumed")
    assert number(nothing.distinct(query, "A", "price")) == (10_000, "assumed")
    assert number(nothing.distinct(query, "A", "day")) == (365, "assumed")
    assert number(nothing.distinct(query, "A", "ts")) == (100_000, "assumed")
    assert number(nothing.nulls(query, "A", "price")) == (0, "assumed")
    assert number(nothing.most_frequent(query, "A", "id")) == (0.001, "assumed")
    assert nothing.bounds(query, "A", "price") is None
    assert (
        nothing.declared_selectivity(query, conjuncts(typed("A a WHERE a.id = 1").pattern.where)[0]) is None
    )


def test_more_types_than_the_default_share_the_stream() -> None:
    names = [f"T{number}" for number in range(20)]
    query = typed(f"SEQ({', '.join(f'{name} v{name}' for name in names)})")
    assert Statistics().total(query, "T3").value == defaults.EVENTS / 20


@pytest.mark.parametrize(
    ("time", "per_second"),
    [
        ("ts BIGINT) TIMESTAMP BY ts UNIT MILLISECONDS", 10),
        ("ts BIGINT) TIMESTAMP BY ts UNIT MINUTES", 10 / 60),
        ("ts TIMESTAMP) TIMESTAMP BY ts", 10),
        ("ts DATE) TIMESTAMP BY ts", 10 / 86_400),
    ],
)
def test_the_default_rate_goes_with_the_clock(time: str, per_second: float) -> None:
    query = bound(f"CREATE STREAM S ({time}; PATTERN S s;")
    assert Statistics().rate(query, "S") == Fact("events per second of S", per_second, "assumed")


@pytest.mark.parametrize(
    ("stats", "total", "rate"),
    [
        ("EVENTS 500", (500, "declared"), (10, "assumed")),
        ("RATE 30 PER MINUTE", (1_000_000, "assumed"), (0.5, "declared")),
        ("SPAN 100 SECONDS", (1_000_000, "assumed"), (10_000, "assumed")),
        ("EVENTS 500, SPAN 100 SECONDS", (500, "declared"), (5, "declared")),
        ("RATE 7 PER SECOND, SPAN 1 MINUTE", (420, "declared"), (7, "declared")),
        ("EVENTS 500, RATE 5 PER SECOND", (500, "declared"), (5, "declared")),
        ("EVENTS 420, RATE 7 PER SECOND, SPAN 1 MINUTE", (420, "declared"), (7, "declared")),
        ("EVENTS 0", (0, "declared"), (0, "declared")),
        ("EVENTS 0, SPAN 5 HOURS", (0, "declared"), (0, "declared")),
        ("TYPE A EVENTS 4000000", (4_000_000, "assumed"), (10, "assumed")),
        ("TYPE A RATE 4000 PER SECOND", (1_000_000, "assumed"), (4_000, "assumed")),
    ],
)
def test_events_rate_and_span(stats: str, total: tuple[float, str], rate: tuple[float, str]) -> None:
    query = typed("SEQ(S s, A a)", stats)
    assert number(Statistics().total(query, "S")) == total
    assert number(Statistics().rate(query, "S")) == rate


@pytest.mark.parametrize(
    ("stats", "type", "total", "rate"),
    [
        ("TYPE A SHARE 0.2", "A", (200, "declared"), (1, "declared")),
        ("TYPE a SHARE 0.2", "A", (200, "declared"), (1, "declared")),
        ("TYPE `a` SHARE 0.2", "A", (100 * 0.8 * 10 / 9, "assumed"), (4 / 9, "assumed")),
        ("TYPE A EVENTS 50", "A", (50, "declared"), (0.25, "declared")),
        ("TYPE A RATE 1 PER SECOND", "A", (200, "declared"), (1, "declared")),
        ("TYPE A SHARE 0.2", "B", (800 / 9, "assumed"), (4 / 9, "assumed")),
        ("TYPE A SHARE 0.2, DISTINCT kind 3", "B", (400, "assumed"), (2, "assumed")),
        ("TYPE A SHARE 0.4, TYPE C EVENTS 600", "B", (0, "assumed"), (0, "assumed")),
        ("DISTINCT kind 1", "B", (1000, "assumed"), (5, "assumed")),
    ],
)
def test_types(stats: str, type: str, total: tuple[float, str], rate: tuple[float, str]) -> None:
    query = typed("SEQ(A a, B b)", f"EVENTS 1000, RATE 5 PER SECOND, {stats}")
    assert number(Statistics().total(query, type)) == (round(total[0], 9), total[1])
    assert number(Statistics().rate(query, type)) == (round(rate[0], 9), rate[1])


def test_what_is_made_of_several_numbers_is_as_certain_as_the_weakest() -> None:
    query = typed("SEQ(A a, B b)", "TYPE A SHARE 0.2")
    assert number(Statistics().total(query, "A")) == (200_000, "assumed")


def test_columns() -> None:
    query = typed(
        "SEQ(A a, B b)",
        "EVENTS 1000, TYPE A SHARE 0.2, DISTINCT id 50, TYPE A DISTINCT id 7, NULLS id 0.1, "
        "TYPE B NULLS id 0.5, MOST FREQUENT id 0.3, RANGE price -1 TO 9, TYPE A RANGE price 2 TO 3, "
        "DISTINCT price 400, RANGE ts 0 TO 10",
    )
    found = Statistics()
    assert number(found.distinct(query, "A", "id")) == (7, "declared")
    assert number(found.distinct(query, "B", "ID")) == (50, "declared")
    assert number(found.distinct(query, "A", "price")) == (200, "declared")  # as many as there are events
    assert found.nulls(query, "A", "`id`") == Fact("share of NULLs in id of type A in S", 0.1, "declared")
    assert number(found.nulls(query, "B", "id")) == (0.5, "declared")
    assert number(found.most_frequent(query, "A", "id")) == (0.3, "declared")
    assert number(found.most_frequent(query, "A", "price")) == (0.005, "assumed")
    assert found.bounds(query, "A", "price") == (
        Fact("least price of type A in S", 2, "declared"),
        Fact("greatest price of type A in S", 3, "declared"),
    )
    low, high = found.bounds(query, "B", "price") or (None, None)
    assert low and high and (low.value, high.value) == (-1, 9)
    # The type column holds one value, a time is never NULL.
    assert number(found.distinct(query, "A", "kind")) == (1, "declared")
    assert number(found.most_frequent(query, "A", "kind")) == (1, "declared")
    assert number(found.nulls(query, "A", "ts")) == (0, "declared")


def test_integers_have_no_more_values_than_their_range() -> None:
    query = typed("A a", "EVENTS 1000000, RANGE id 1 TO 24")
    assert number(Statistics().distinct(query, "A", "id")) == (24, "assumed")


def test_all_values_null() -> None:
    query = typed("A a", "NULLS id 1, DISTINCT id 0")
    assert number(Statistics().distinct(query, "A", "id")) == (1, "declared")
    assert number(Statistics().most_frequent(query, "A", "id")) == (0, "assumed")


def test_no_events_at_all() -> None:
    query = typed("SEQ(A a, B b, AB c)", "EVENTS 0, TYPE A EVENTS 0", also="CREATE TYPE AB AS (A, B);")
    found = Statistics()
    for type in ("A", "B", "AB"):
        assert (found.total(query, type).value, found.rate(query, type).value) == (0, 0)
        assert found.distinct(query, type, "id").value == 1
        assert found.most_frequent(query, type, "id").value == 1
        assert found.nulls(query, type, "id").value == 0


UNION = f"""
CREATE STREAM S {COLUMNS} TIMESTAMP BY ts TYPE BY kind
  WITH STATS (EVENTS 1000, RATE 5 PER SECOND, TYPE A SHARE 0.3, TYPE B SHARE 0.1, DISTINCT id 350,
    NULLS id 0.5, RANGE price 1 TO 2, MOST FREQUENT id 0.1);
CREATE STREAM T (ts BIGINT, id BIGINT, price DOUBLE) TIMESTAMP BY ts
  WITH STATS (EVENTS 600, RATE 1 PER SECOND, DISTINCT id 500, NULLS id 0, RANGE price 0 TO 1,
    MOST FREQUENT id 0.4);
CREATE TYPE AB AS (A, B);
CREATE TYPE AT AS (A, T);
CREATE TYPE All_of_S AS (A, S, B);
PATTERN SEQ(A a, AB ab, AT at, All_of_S s)
"""


def test_unions() -> None:
    query, found = bound(UNION), Statistics()
    assert number(found.total(query, "AB")) == (400, "declared")
    assert number(found.rate(query, "AB")) == (2, "declared")
    assert found.total(query, "AT") == Fact("events of type AT in S and T", 900, "declared")
    assert number(found.rate(query, "AT")) == (2.5, "declared")
    assert number(found.total(query, "All_of_S")) == (1000, "declared")  # each event once
    assert number(found.distinct(query, "AB", "id")) == (350, "declared")  # not 300 and not 100
    assert number(found.distinct(query, "AT", "id")) == (500, "declared")
    assert number(found.distinct(query, "AB", "kind")) == (2, "declared")
    assert number(found.most_frequent(query, "AB", "kind")) == (0.75, "declared")
    assert number(found.nulls(query, "AT", "id")) == (round(0.5 * 300 / 900, 9), "declared")
    assert number(found.most_frequent(query, "AT", "id")) == (
        0.3,
        "declared",
    )  # (0.1 * 300 + 0.4 * 600) / 900
    assert number(found.nulls(query, "AT", "flag")) == (round(600 / 900, 9), "assumed")  # T has no flag
    low, high = found.bounds(query, "AT", "price") or (None, None)
    assert low and high and (low.value, high.value) == (0, 2)


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        ("a.price > 10", 0.25),  # TYPE A (price > 10)
        ("b.price > 10.0", 0.5),  # (price > 10)
        ("10 < b.PRICE", 0.5),
        ("ab.price > 10", 0.35),  # 0.25 of 300 events, 0.5 of 200
        ("a.price > b.price", 0.125),
        ("b.price < a.price", 0.125),
        ("b.price > a.price", None),
        ("a.price > 11", None),
        ("a.kind = 'X'", 0.75),
        ("a.kind = 'x'", None),
        ("k[i].price > 10", 0.5),
        ("k[i].price > k[i-1].price", 0.0625),
        ("abs(a.price) = -2", 0.375),
    ],
)
def test_selectivities(condition: str, share: float | None) -> None:
    query = typed(
        f"SEQ(A a, B b, AB ab, C+ k[]) WHERE {condition}",
        "EVENTS 1000, TYPE A EVENTS 300, TYPE B EVENTS 200, SELECTIVITY (price > 10) 0.5, "
        "TYPE A SELECTIVITY (Price > 10) 0.25, SELECTIVITY (a.price > b.price) 0.125, "
        "SELECTIVITY (kind = 'X') 0.75, SELECTIVITY (k[i].price > k[i-1].price) 0.0625, "
        "SELECTIVITY (ABS(price) = -2) 0.375",
        also="CREATE TYPE AB AS (A, B);",
    )
    assert query.pattern.where is not None
    found = Statistics().declared_selectivity(query, query.pattern.where)
    assert (found and round(found.value, 9)) == share
    if found is not None:
        assert (found.what, found.origin) == (f"selectivity of {query.pattern.where}", "declared")


def test_the_best_source_tells_each_number() -> None:
    query = typed("A a", "EVENTS 1000, DISTINCT id 5")
    statistics = Statistics(
        (
            KnownStatistic("S", "EVENTS", 1, "metadata"),
            KnownStatistic("S", "SPAN", 100, "metadata"),
            KnownStatistic("S", "SPAN", 200, "file"),
            KnownStatistic("S", "SHARE", 0.5, "file", "A"),
            KnownStatistic("S", "RATE", 9, "metadata", "A"),
            KnownStatistic("S", "DISTINCT", 6, "file", None, "id"),
            KnownStatistic("S", "NULLS", 0.25, "metadata", None, "price"),
        )
    )
    assert number(statistics.total(query, "A")) == (500, "file")
    assert number(statistics.rate(query, "A")) == (2.5, "file")
    assert number(statistics.distinct(query, "A", "id")) == (5, "declared")
    assert number(statistics.nulls(query, "A", "price")) == (0.25, "metadata")
    # Together, rate and span of a better source go before the events of a worse one.
    query = typed("S s", "RATE 2 PER SECOND, SPAN 10 SECONDS")
    assert number(Statistics((KnownStatistic("S", "EVENTS", 7, "file"),)).total(query, "S")) == (
        20,
        "declared",
    )


def test_a_named_query_is_a_stream() -> None:
    text = f"CREATE STREAM S {COLUMNS} TIMESTAMP BY ts; CREATE QUERY Q AS PATTERN S s; PATTERN Q q"
    query = bound(text)
    assert Statistics().total(query, "Q") == Fact("events of Q", 10_000, "assumed")
    assert Statistics().rate(query, "Q").value == pytest.approx(0.1)
    supposed = Statistics().supposing("Q", 5).supposing("Q", 77)
    assert number(supposed.total(query, "Q")) == (77, "assumed")
    assert number(
        Statistics((KnownStatistic("Q", "EVENTS", 8, "file"),)).supposing("Q", 5).total(query, "Q")
    ) == (
        8,
        "file",
    )


def test_a_bound_stream_says_what_it_is_told() -> None:
    query = typed("A a WHERE a.id = 1", "DISTINCT ID 5, SELECTIVITY (a.id = 1) 0.1")
    check(query)
    [stream] = query.streams
    assert str(stream).endswith("TYPE BY kind WITH STATS (DISTINCT id 5, SELECTIVITY (a.id = 1) 0.1)")


def test_origins_are_told_from_best_to_worst() -> None:
    assert ORIGINS == ("declared", "file", "metadata", "counted", "assumed")
