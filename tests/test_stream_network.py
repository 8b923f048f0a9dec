"""Queries that read queries over streams without end, in process: one kernel runs all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from generate.stream_networks import IMPRECISE, RARE, rare_script
from generate.stream_networks import STREAM as STREAMS
from in_network import bound_script, planned_network
from in_stream import FAR
from network_fuzz import NetworkTally, check_text, compare

from neelc.cli import main
from neelc.engines.streaming.network_plan import StreamNetwork
from neelc.ir.bound_rows import HostQuery
from neelc.pattern.plan.blocks import EndlessGroups, UnboundedState
from neelc.pattern.plan.stream_network import UnsupportedNetwork
from neelc.program import bind
from neelc.runtime.failures import KernelFailure
from neelc.runtime.reference import run
from neelc.source import Source
from neelc.syntax import read as parse
from neelc.tools.cases.streaming.network import network_rows, outside_events, outside_rows

STREAM = """\
CREATE STREAM S (t INT, kind STRING, id INT, x INT) TIMESTAMP BY t UNIT SECONDS TYPE BY kind;
"""


def network(*queries: str) -> StreamNetwork:
    return planned_network(bound_script(f"{STREAM}{';'.join(queries)};"))


def emitted(
    queries: Sequence[str], batches: Sequence[tuple[Sequence[tuple[int, str]], int]]
) -> list[tuple[int, tuple[object, ...]]]:
    """The rows of the last query, each with the watermark of its call. Each micro-batch has events, by time
    and type, and the watermark at which it comes; the last is followed by the end of time."""
    program = bound_script(f"{STREAM}{';'.join(queries)};")
    planned = planned_network(program)
    rows = [{"t": t, "kind": kind, "id": 1, "x": t} for events, _ in batches for t, kind in events]
    all_events = outside_events(planned, {"S": rows})
    moments, place = [], 0
    for events, now in batches:
        moments.append((all_events[place : place + len(events)], now))
        place += len(events)
    return list(network_rows(planned, outside_rows(planned, all_events, {}), [*moments, ([], FAR)]))


def moving(*watermarks: int) -> list[tuple[list[tuple[int, str]], int]]:
    """Micro-batches without events."""
    return [([], now) for now in watermarks]


PAIR = "CREATE QUERY Pair AS PATTERN SEQ(A a, B b) WITHIN 5 SECONDS RETURN a.x AS x"
LONELY = "CREATE QUERY Lonely AS PATTERN SEQ(A a, !B b) WITHIN 5 SECONDS RETURN a.x AS x"


def test_a_match_of_a_match_is_emitted_at_its_last_event() -> None:
    found = emitted(
        [PAIR, "PATTERN SEQ(Pair p, C c) WITHIN 9 SECONDS RETURN p.x AS x, p.te AS te, c.t AS c"],
        [([(1, "A")], -1), ([(3, "B")], -1), ([(4, "C")], -1)],
    )
    assert found == [(-1, (1, 3, 4))]


def test_what_comes_late_for_the_first_query_is_not_late_for_the_second() -> None:
    """C comes before the pair that it follows."""
    found = emitted(
        [PAIR, "PATTERN SEQ(Pair p, C c) WITHIN 9 SECONDS RETURN c.t AS c"],
        [([(4, "C"), (1, "A")], 0), ([(3, "B")], 2)],
    )
    assert found == [(2, (4,))]


def test_timers_of_two_levels_need_no_events() -> None:
    """The first query is sure of A when its window has passed, at 6. It is an event from 1 to 1, which the
    second may lack until its own window has passed: 10 seconds in its own time, which is 5 behind."""
    queries = [LONELY, "PATTERN SEQ(Lonely l, !C c) WITHIN 10 SECONDS RETURN l.x AS x"]
    quiet = moving(5, 6, 7, 14, 15, 16, 17)
    assert emitted(queries, [([(1, "A")], 0), *quiet]) == [(16, (1,))]


def test_a_query_that_is_sure_late_wakes_the_one_that_reads_it() -> None:
    queries = [LONELY, "PATTERN SEQ(C c, Lonely l) WITHIN 10 SECONDS RETURN c.x AS c, l.x AS l"]
    assert emitted(queries, [([(1, "C"), (2, "A")], 0), ([], 6), ([], 7), ([], 8)]) == [(7, (1, 2))]


def test_a_negation_waits_for_the_query_that_it_denies() -> None:
    """Between A at 1 and D at 9 there may yet be a pair that starts at 8 and ends before 9; it would have
    come when the watermark, less the window of the pair, has reached 8."""
    queries = [PAIR, "PATTERN SEQ(A a, !Pair p, D d) WITHIN 10 SECONDS RETURN a.x AS a, d.x AS d"]
    quiet = moving(9, 12, 13, 14)
    assert emitted(queries, [([(1, "A"), (9, "D")], 0), *quiet]) == [(13, (1, 9))]
    spoiled = [([(1, "A"), (9, "D")], 0), ([(3, "A"), (5, "B")], 2), *quiet]
    assert emitted(queries, spoiled) == [(13, (3, 9))]


def test_three_levels() -> None:
    queries = [
        PAIR,
        "CREATE QUERY Two AS PATTERN SEQ(Pair p, Pair q) WITHIN 20 SECONDS RETURN p.x AS x, q.te AS e",
        "PATTERN SEQ(Two w, !C c) WITHIN 30 SECONDS RETURN w.x AS x, w.e AS e",
    ]
    events = [(1, "A"), (2, "B"), (5, "A"), (6, "B")]
    quiet = moving(30, 54, 55, 56, 57)
    assert emitted(queries, [*(([one], -1) for one in events), *quiet]) == [(56, (1, 6))]


# PATTERN and SELECT.

LOAD = "CREATE QUERY Load AS SELECT count(*) AS n FROM S WINDOW(TIME 3 SECONDS) AS s WHERE s.kind = 'A'"


def test_a_pattern_reads_a_select_when_its_rows_have_ended() -> None:
    """One A at 1 is a count of 1 from 1 to 3, and nothing counts from 4 on."""
    queries = [
        LOAD,
        "PATTERN SEQ(Load p, C c) WITHIN 9 SECONDS RETURN p.n AS n, p.ts AS ts, p.te AS te, c.t AS c",
    ]
    found = emitted(queries, [([(1, "A"), (6, "C")], 0), *moving(3, 4, 5)])
    assert found == [(4, (1, 1, 3, 6))]


def test_what_lasts_longer_than_the_window_is_not_waited_for() -> None:
    """Counts are the same for ever; a negation is sure nevertheless, when those have ended that are short."""
    queries = [LOAD, "PATTERN SEQ(C c, !Load p, D d) WITHIN 5 SECONDS RETURN c.t AS c, d.t AS d"]
    steady = [([(t, "A")], t - 1) for t in range(4, 30, 2)]
    found = emitted(queries, [([(1, "C"), (5, "D")], 0), *steady])
    assert found == [(11, (1, 5))]
    assert emitted(queries, [([(1, "C"), (6, "D"), (2, "A")], 0), *moving(20)]) == []


def test_a_select_reads_a_pattern() -> None:
    queries = [PAIR, "SELECT count(*) AS n FROM Pair WINDOW(TIME 2 SECONDS) AS p"]
    events = [(1, "A"), (3, "B"), (4, "B")]
    # Pairs from 1 to 3 and to 4, each 1 second longer; the SELECT is 5 seconds behind.
    assert emitted(queries, [(events, 0), *moving(8, 9, 10, 11)]) == [(10, (2, 1, 5)), (11, (1, 5, 6))]


def test_a_select_is_read_by_the_key_of_its_groups() -> None:
    text = (
        "CREATE QUERY Load AS SELECT s.id AS who, count(*) AS n"
        " FROM S WINDOW(TIME 3 SECONDS) AS s GROUP BY s.id"
    )
    found = network(text, "PATTERN SEQ(Load p, C c) WHERE p.who = c.id WITHIN 5 SECONDS RETURN c.t")
    assert found.buckets is not None and [one[0] for one in found.buckets] == [("id",), ("who_key",)]
    found = network(text, "PATTERN SEQ(Load p, C c) WHERE p.n = c.id WITHIN 5 SECONDS RETURN c.t")
    assert found.buckets is None and "is no key of `Load`" in found.reason


def test_what_has_no_end_is_not_read_where_it_would_be_waited_for() -> None:
    strict = "PATTERN SEQ(Load p, C c) USING STRICT CONTIGUITY WITHIN 5 SECONDS RETURN c.t"
    with pytest.raises(UnsupportedNetwork, match="`Load` can be valid for any time") as refusal:
        network(LOAD, strict)
    assert "SKIP TILL ANY MATCH" in (refusal.value.hint or "")
    points = "CREATE QUERY Load AS SELECT s.id AS id FROM S WINDOW(TIME 3 SECONDS) AS s"
    assert network(points, strict).program.nodes[-1].lag == 0


# MATCH_RECOGNIZE.

ROWS = (
    "CREATE QUERY Rise TIMESTAMP BY {time} UNIT SECONDS AS SELECT * FROM S MATCH_RECOGNIZE (ORDER BY t, kind"
    " MEASURES FIRST(A.t) AS since, LAST(B.t) + 1 AS later, count(*) AS n PATTERN (A B+){within}"
    " DEFINE A AS A.kind = 'A', B AS B.kind = 'B')"
)
RISE = ROWS.format(time="since", within=" WITHIN 5 SECONDS")
AFTER_RISE = "PATTERN SEQ(Rise r, !D d, C c) WITHIN 9 SECONDS RETURN r.n AS n, r.ts AS ts, c.t AS c"


def test_a_pattern_reads_match_recognize() -> None:
    """A row that does not go on decides the match, else WITHIN does: when all rows up to 6 have come."""
    ended = emitted([RISE, AFTER_RISE], [([(1, "A"), (2, "B"), (3, "C")], 0), *moving(2, 3, 6, 7, 8)])
    assert ended == [(7, (2, 1, 3))]
    spoiled = [([(1, "A"), (2, "B"), (3, "D"), (4, "C")], 0), *moving(20)]
    assert emitted([RISE, AFTER_RISE], spoiled) == []
    assert network(RISE, AFTER_RISE).program.nodes[-1].lag == 5


@pytest.mark.parametrize(
    ("rise", "message"),
    [
        (ROWS.format(time="later", within=" WITHIN 5 SECONDS"), "`later` is not that of a row of its match"),
        (ROWS.format(time="since", within="").replace("B+", "B{1,3}"), "no time in which its matches are"),
        (RISE.replace("PATTERN", "ALL ROWS PER MATCH PATTERN"), "more than a clause with its WHERE"),
        (RISE.replace("SELECT *", "SELECT DISTINCT since"), "more than a clause with its WHERE"),
    ],
)
def test_rows_without_a_bound_on_their_time_are_not_read(rise: str, message: str) -> None:
    with pytest.raises(UnsupportedNetwork, match=message) as refusal:
        network(rise, "PATTERN SEQ(Rise r, C c) WITHIN 9 SECONDS RETURN c.t")
    assert refusal.value.hint


# MATCH_RECOGNIZE that reads other queries.

TREND = (
    "SELECT since, n FROM {0} MATCH_RECOGNIZE (ORDER BY {1}, x MEASURES FIRST({1}) AS since, count(*) AS n"
    " PATTERN (X Y+) WITHIN 9 SECONDS DEFINE Y AS Y.x > PREV(Y.x))"
)
TIMED = f"{PAIR}, match_start, match_end, b.t AS second, a.t + 0 AS other"


def lag(*queries: str) -> int:
    return network(*queries).program.nodes[-1].lag


def test_match_recognize_reads_a_pattern_in_the_order_of_its_times() -> None:
    """All pairs that have yet to come end after the watermark, and start no more than a window before."""
    assert lag(TIMED, TREND.format("Pair", "match_end")) == 0
    assert lag(TIMED, TREND.format("Pair", "match_start")) == 5
    assert lag(TIMED, TREND.format("Pair", "second")) == 5
    assert lag(f"{LONELY}, match_end", TREND.format("Lonely", "match_end")) == 5
    events = [(1, "A"), (2, "B"), (4, "A"), (6, "B"), (7, "B")]
    # Pairs end at 2 (x = 1), at 6 (1, then 4) and at 7 (4): the last shows that the rise does not go on.
    found = emitted([TIMED, TREND.format("Pair", "match_end")], [(events, 0), *moving(5, 6, 7)])
    assert found == [(7, (6, 2))]


def test_match_recognize_reads_a_window_of_events_by_the_end_of_matches() -> None:
    counted = TIMED.replace("5 SECONDS", "5 EVENTS")
    assert lag(counted, TREND.format("Pair", "match_end")) == 0
    with pytest.raises(UnsupportedNetwork, match="MATCH_RECOGNIZE of `Pair` by `match_start`") as refusal:
        network(counted, TREND.format("Pair", "match_start"))
    assert "ORDER BY match_end" in (refusal.value.hint or "")


def test_match_recognize_reads_a_select_when_its_rows_have_ended() -> None:
    load = LOAD.replace("count(*) AS n", "count(*) AS x")
    assert lag(load, TREND.format("Load", "te")) == 1
    # One A from 1 to 3, two from 3 to 4, one from 4 to 6.
    found = emitted([load, TREND.format("Load", "te")], [([(1, "A"), (3, "A")], 0), *moving(13, 14)])
    assert found == [(13, (3, 2))]
    events = load.replace("count(*)", "s.x")
    assert lag(events, TREND.format("Load", "ts")) == 0
    counts = load.replace("TIME 3 SECONDS", "COUNT 3 EVENTS")
    for query, time in ((load, "ts"), (counts, "te")):
        with pytest.raises(UnsupportedNetwork, match=f"MATCH_RECOGNIZE of `Load` by `{time}`") as refusal:
            network(query, TREND.format("Load", time))
        assert "ORDER BY te" in (refusal.value.hint or "")


def test_match_recognize_reads_match_recognize() -> None:
    rise = RISE.replace("count(*) AS n", "count(*) AS x")
    assert lag(rise, TREND.format("Rise", "since")) == 5
    with pytest.raises(UnsupportedNetwork, match="MATCH_RECOGNIZE of `Rise` by `later`") as refusal:
        network(rise, TREND.format("Rise", "later"))
    assert "FIRST(t) or LAST(t)" in (refusal.value.hint or "")


@pytest.mark.parametrize(
    "last",
    [
        TREND.format("Pair", "other"),
        TREND.format("Pair", "x"),
        TREND.format("Pair", "match_end").replace(" MATCH", " AS p JOIN Pair MATCH"),
        TREND.format("(SELECT * FROM Pair)", "match_end"),
    ],
)
def test_match_recognize_does_not_read_queries_otherwise(last: str) -> None:
    program = bind(parse(Source(f"{STREAM}{TIMED};{last};")), Source(f"{STREAM}{TIMED};{last};"))
    with pytest.raises(UnsupportedNetwork) as refusal:
        planned_network(program)
    assert refusal.value.hint


def test_a_row_without_a_time_is_a_failure() -> None:
    rows = RISE.replace("MEASURES", "MEASURES LAST(C.t) AS x,").replace("A B+", "A B C?")
    rows = rows.replace("DEFINE", "DEFINE C AS C.kind = 'C',")
    with pytest.raises(KernelFailure, match="has no time"):
        emitted([rows, TREND.format("Rise", "x")], [([(1, "A"), (2, "B"), (3, "D")], 0), *moving(20)])


def test_a_clause_shares_the_key_of_what_it_reads() -> None:
    keyed = TIMED.replace(" WITHIN", " WHERE [id] WITHIN").replace("RETURN", "RETURN a.id AS id,")
    last = TREND.format("Pair", "match_end").replace("(ORDER", "(PARTITION BY id ORDER")
    found = network(keyed, last)
    assert found.buckets is not None and found.buckets[0] == {0: ("id",)}
    found = network(keyed, last.replace("PARTITION BY id", "PARTITION BY second"))
    assert found.buckets is None and "is no key of `Pair`" in found.reason


def test_times_without_within_are_counted_in_the_unit_of_the_stream() -> None:
    """Without WITHIN the unit was that of no stream: all events would have been late."""
    last = TREND.format("S", "t").replace("+) WITHIN 9 SECONDS", ")")
    found = network(TIMED, TREND.format("Pair", "match_end").replace("+) WITHIN 9 SECONDS", ")"))
    assert {one.unit for one in found.queries} == {"SECOND"}
    program = bound_script(f"{STREAM}{last};")
    query = program.queries[0].query
    assert isinstance(query, HostQuery) and query.clauses[0].recognize.unit == "SECOND"


# Queries whose rows stand for several matches, and imprecise times.

ONCE = "CREATE QUERY Once AS PATTERN SEQ(A a, B b) WITHIN 5 SECONDS RETURN DISTINCT {0}"


def test_a_distinct_row_is_read_with_the_times_of_all_its_matches() -> None:
    """A at 1 is in pairs up to 2 and up to 4: one event, from 1 to 4, that is known at 6."""
    last = "PATTERN SEQ(Once p, C c) WITHIN 9 SECONDS RETURN p.x AS x, p.ts AS ts, p.te AS te, c.t AS c"
    events = [(1, "A"), (2, "B"), (4, "B"), (3, "C"), (7, "C")]
    found = emitted([ONCE.format("a.x AS x, a.t AS at"), last], [(events, 0), *moving(5, 6, 7)])
    assert found == [(6, (1, 1, 4, 7))]
    assert lag(ONCE.format("a.x AS x, a.t AS at"), last) == 10
    assert lag(ONCE.format("a.x AS x, match_start"), last) == 5


def test_a_distinct_row_without_a_time_is_never_complete() -> None:
    with pytest.raises(EndlessGroups):
        network(ONCE.format("a.x AS x"), "PATTERN SEQ(Once p, C c) WITHIN 9 SECONDS RETURN c.t")


def test_match_recognize_reads_a_distinct_row_once_and_early() -> None:
    once = ONCE.format("a.x AS x, a.t AS at, match_end")
    assert lag(once, TREND.format("Once", "match_end")) == 0
    assert lag(once, TREND.format("Once", "at")) == 5


def test_match_recognize_reads_aggregates_by_the_time_of_their_groups() -> None:
    counts = (
        "CREATE QUERY Counts AS PATTERN SEQ(A a, B b) WITHIN 5 SECONDS"
        " RETURN count(*) AS x, sum(b.x) AS total, a.t AS at"
    )
    assert lag(counts, TREND.format("Counts", "at")) == 5
    # From 1 there is one pair, from 3 there are two, which are known at 6 and at 8.
    events = [(1, "A"), (3, "A"), (5, "B"), (7, "B")]
    found = emitted([counts, TREND.format("Counts", "at")], [(events, 0), *moving(6, 8, 14, 15)])
    assert found == [(15, (1, 2))]
    with pytest.raises(UnsupportedNetwork, match="by `x`"):
        network(counts, TREND.format("Counts", "x"))


def test_rows_of_a_span_of_time_are_not_read() -> None:
    """A row for every ten seconds begins up to ten seconds before it is known, and its `at` is no time."""
    span, last = "a.t - pmod(a.t, 10) AS at", "PATTERN SEQ(Once p, C c) WITHIN 9 SECONDS RETURN c.t"
    with pytest.raises(UnsupportedNetwork, match="`Once` has rows of a span of time"):
        network(ONCE.format(f"a.x AS x, {span}"), last)
    counts = f"CREATE QUERY Counts AS PATTERN SEQ(A a, B b) WITHIN 5 SECONDS RETURN count(*) AS x, {span}"
    with pytest.raises(UnsupportedNetwork, match="by `at`"):
        network(counts, TREND.format("Counts", "at"))


def test_enumerated_matches_are_aggregated_by_the_last_query_only() -> None:
    read = "PATTERN SEQ(Pair p, C c) WITHIN 9 SECONDS RETURN c.t AS at, stddev(p.x) AS x"
    assert network(PAIR, read).queries[-1].name is None
    with pytest.raises(UnsupportedNetwork, match="whose matches are enumerated for its aggregates"):
        network(PAIR, f"CREATE QUERY Counts AS {read}", TREND.format("Counts", "at"))


WEIGHED = (
    "CREATE QUERY W AS PATTERN SEQ(E e, {0}F f) FROM I WITHIN 4 SECONDS"
    " RETURN e.x AS x, f.id AS id, match_end"
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("negation", "last", "behind"),
    [
        ("", "PATTERN SEQ(W w, !C c, D d) FROM W, S WITHIN 9 SECONDS RETURN w.x, w.te AS te, d.t", 10),
        ("!G g, ", "PATTERN SEQ(W w, D d) FROM W, S WITHIN 9 SECONDS RETURN w.x, w.te AS te, d.t", 14),
        ("", TREND.format("W", "match_end"), 0),
        ("!G g, ", TREND.format("W", "match_end"), 4),
    ],
)
def test_matches_of_imprecise_times_are_read(negation: str, last: str, behind: int) -> None:
    text = f"{STREAMS}{IMPRECISE}{WEIGHED.format(negation)};{last};"
    assert planned_network(bound_script(text)).program.nodes[-1].lag == behind
    tally = NetworkTally()
    check_text(5, text, tally, 6)
    assert tally.broken == [] and tally.with_rows > 0 and not tally.refused


@pytest.mark.parametrize(
    "last",
    ["SELECT count(*) AS n FROM W WINDOW(TIME 2 SECONDS) AS w", TREND.format("W", "match_start")],
)
def test_what_may_have_begun_any_time_ago_is_not_read(last: str) -> None:
    first = WEIGHED.format("") + ", match_start"
    with pytest.raises(UnsupportedNetwork) as refusal:
        planned_network(bound_script(f"{STREAMS}{IMPRECISE}{first};{last};"))
    assert "ORDER BY match_end" in (refusal.value.hint or "")


# Keys.


def test_a_key_that_is_returned_spreads_events_over_buckets() -> None:
    found = network(
        "CREATE QUERY P AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 SECONDS RETURN b.id AS who",
        "PATTERN SEQ(P p, C c) WHERE p.who = c.id WITHIN 5 SECONDS RETURN c.id",
    )
    assert found.buckets is not None and found.reason == ""
    assert [len(names[0]) for names in found.buckets] == [1, 1]


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN 5 SECONDS RETURN a.id AS id",
         "PATTERN SEQ(P p, C c) WHERE [id] WITHIN 5 SECONDS", "is no key of `P`"),
        ("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 SECONDS RETURN a.id + 1 AS id",
         "PATTERN SEQ(P p, C c) WHERE [id] WITHIN 5 SECONDS", "is no key of `P`"),
        ("PATTERN SEQ(A a, B? b) WHERE [id] WITHIN 5 SECONDS RETURN b.id AS id",
         "PATTERN SEQ(P p, C c) WHERE [id] WITHIN 5 SECONDS", "is no key of `P`"),
        ("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 SECONDS RETURN a.id AS id",
         "PATTERN SEQ(P p, C c) WITHIN 5 SECONDS", "has no key"),
    ],
)  # fmt: skip
def test_without_a_common_key_there_is_one_bucket(first: str, last: str, reason: str) -> None:
    found = network(f"CREATE QUERY P AS {first}", f"{last} RETURN c.t")
    assert found.buckets is None and reason in found.reason


def test_a_query_that_is_read_by_two_of_its_keys_has_one_bucket() -> None:
    found = network(
        "CREATE QUERY P AS PATTERN SEQ(A a, B b) WHERE [id] AND [x] WITHIN 5 SECONDS RETURN a.id, a.x",
        "CREATE QUERY Q AS PATTERN SEQ(P p, C c) WHERE p.a_id = c.id WITHIN 5 SECONDS RETURN c.id",
        "PATTERN SEQ(Q q, P p) WHERE q.c_id = p.a_x WITHIN 5 SECONDS RETURN p.a_x",
    )
    assert found.buckets is None and "is read by two of its keys" in found.reason


# What is refused.


def test_matches_of_a_window_of_events_are_read_where_short_ones_suffice() -> None:
    """Matches of a window of EVENTS have no longest time; the reader's window bounds those that it needs."""
    counted = "CREATE QUERY P AS PATTERN SEQ(A a, B b) WITHIN 5 EVENTS RETURN a.id"
    last = "PATTERN SEQ(P p, !D d, C c) WITHIN 9 SECONDS RETURN p.ts AS ts, c.t AS c"
    assert network(counted, last).program.nodes[-1].lag == 10
    assert emitted([counted, last], [([(1, "A"), (30, "B"), (31, "C")], 0), *moving(60)]) == []
    assert emitted([counted, last], [([(1, "A"), (2, "B"), (3, "C")], 0), *moving(11, 12, 13)]) == [
        (12, (1, 3))
    ]
    waiting = counted.replace("B b)", "B b, !C c)")
    for first, reader in ((waiting, last), (counted, "SELECT count(*) AS n FROM P AS p")):
        with pytest.raises(UnsupportedNetwork, match="`P` has a window of EVENTS"):
            network(first, reader)


def test_explain_shows_the_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.neel"
    keyed = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 SECONDS RETURN a.id AS id"
    last = "PATTERN SEQ(P p, C c) WHERE [id] WITHIN 9 SECONDS RETURN c.t"
    for where, buckets in (
        (last, "16, by id, which all queries share."),
        (last.replace("[id]", "c.x > 1"), "1: "),
    ):
        script.write_text(f"{STREAM}CREATE QUERY P AS {keyed};\n{where};")
        assert main(["explain", "--streaming", str(script)]) == 0
        shown = capsys.readouterr().out
        assert "One for this query and P. The watermark of this query is 5 SECONDS behind" in shown
        assert f"buckets    {buckets}" in shown


def test_explain_shows_a_select_in_the_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.neel"
    script.write_text(
        f"{STREAM}CREATE QUERY P AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 SECONDS RETURN a.id AS id;\n"
        "SELECT p.id AS id, count(*) AS n FROM P WINDOW(TIME 9 SECONDS) AS p GROUP BY p.id;"
    )
    assert main(["explain", "--streaming", str(script)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "One for this query and P. The watermark of this query is 5 SECONDS behind" in shown
    assert "buckets 16, by id, which all queries share." in shown
    assert "kept What is below for another 9 SECONDS. Results of P until they end." in shown


def test_explain_shows_match_recognize_in_the_operator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.neel"
    script.write_text(f"{STREAM}{TIMED};\n{TREND.format('Pair', 'match_start')};")
    assert main(["explain", "--streaming", str(script)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "One for this query and Pair. The watermark of this query is 5 SECONDS behind" in shown


def test_every_query_needs_a_window() -> None:
    with pytest.raises(UnboundedState):
        network(
            "CREATE QUERY P AS PATTERN SEQ(A a, B b) RETURN a.id",
            "PATTERN SEQ(P p, C c) WITHIN 9 SECONDS RETURN c.t",
        )


# Random scripts, streams, micro-batches and orders of arrival.


@pytest.mark.long
def test_networks_find_what_the_reference_does() -> None:
    tally = compare(31_000, 90)
    assert tally.broken == []
    assert tally.with_rows > 20 and tally.bucketed > 3


@pytest.mark.parametrize("name", RARE)
def test_what_is_drawn_seldom(name: str) -> None:
    tally = NetworkTally()
    check_text(1, rare_script(name), tally, 6)
    assert tally.broken == [] and not tally.refused
    assert tally.with_rows > 1


def test_case_of_a_network_of_three() -> None:
    """tests/cases/streams/named-query-of-a-named-query.case, with windows."""
    program = bound_script(
        f"""{STREAM}
        CREATE QUERY Pair AS
        PATTERN SEQ(A a, !A other, B b) WITHIN 9 SECONDS RETURN a.t AS first, b.t AS second;
        CREATE QUERY Two AS
        PATTERN SEQ(Pair p, Pair q) WITHIN 9 SECONDS RETURN p.first AS first, q.second AS last;
        PATTERN Two x WITHIN 9 SECONDS RETURN x.first, x.last, match_start, match_end;"""
    )
    rows = [{"t": t, "kind": kind, "id": 1, "x": t} for t, kind in ((1, "A"), (2, "B"), (3, "A"), (4, "B"))]
    planned = planned_network(program)
    events = outside_events(planned, {"S": rows})
    moments = [*(([event], -1) for event in reversed(events)), ([], FAR)]
    found = [row for _, row in network_rows(planned, outside_rows(planned, events, {}), moments)]
    assert found == run(program, {"S": rows})[-1][1].rows == [(1, 4, 1, 4)]


@pytest.mark.parametrize(
    "queries",
    [
        "CREATE QUERY P AS PATTERN A a WHERE a.x > 0 RETURN a.id AS id; "
        "PATTERN SEQ(P p, B b) WHERE p.id = b.id WITHIN 9 SECONDS RETURN b.t;",
        "CREATE QUERY P AS PATTERN SEQ(A a, B b) WITHIN 9 SECONDS RETURN a.id AS id; "
        "PATTERN P p RETURN p.id;",
        "CREATE QUERY P AS SELECT a.id AS id FROM L WINDOW(TIME 3 SECONDS) AS a; "
        "PATTERN P p FROM P RETURN p.id;",
    ],
)
def test_single_events_need_no_window_in_a_network(queries: str) -> None:
    tally = NetworkTally()
    check_text(7, f"{STREAMS}{queries}", tally, 12)
    assert (tally.pairs, tally.broken) == (12, []) and tally.with_rows > 3, tally.refused


@pytest.mark.parametrize(
    "last",
    [
        "PATTERN SEQ(P p, !B b, A a) WITHIN 9 SECONDS RETURN p.id, p.te AS te, a.t",
        "SELECT p.id AS id, count(*) AS n FROM P WINDOW(TIME 2 SECONDS) AS p GROUP BY p.id",
    ],
)
def test_single_events_that_last_any_time_are_read_as_they_come(last: str) -> None:
    text = f"{STREAMS}CREATE QUERY P AS PATTERN L l RETURN l.id AS id;{last};"
    assert planned_network(bound_script(text)).program.nodes[-1].lag == 0
    tally = NetworkTally()
    check_text(3, text, tally, 8)
    assert tally.broken == [] and tally.with_rows > 2 and not tally.refused
