"""SELECT over streams without end, in process: `make fuzz` has many more networks."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from algebra_stream_fuzz import Row, StreamedSelect, check, run_stream, select_of
from generate.networks import COLUMNS, STREAMS, made, networks
from in_stream import Arrival

from neelc.algebra.plan.streamed import UnsupportedStreaming, streamed_network
from neelc.ir import algebra as a
from neelc.runtime.kernels.snapshots import program as p
from neelc.runtime.kernels.snapshots.stream import SnapshotStream
from neelc.runtime.reference import Tables
from neelc.runtime.streaming import StreamMemory, WatermarkMove

IN_ORDER = Arrival(size=1, delay=0, slack=0, seed=1)
Call = tuple[int, list[Row]]


@pytest.mark.long
def test_random_networks_over_random_streams() -> None:
    tally: Counter[str] = Counter()
    for number, network in enumerate(networks(Random(7), 80)):
        assert next(check(network, number, tally), None) is None
    assert tally["networks"] > 80 and tally["rows"] > 200 and tally["with several buckets"] > 20


def rows(**streams: str) -> Tables:
    """Events: their key, time and x, one after the other.

    >>> rows(S="a1:5")["S"]
    [{'k': 'a', 'ts': 1, 'x': 5, 'y': 5.0}]
    """
    found: dict[str, list[dict[str, object]]] = {name: [] for name in "STLR"}
    for name, text in streams.items():
        for event in text.split():
            time, _, x = event[1:].partition(":")
            row: dict[str, object] = {"k": event[0], "ts": int(time), "x": int(x or 0), "y": float(x or 0)}
            found[name].append({key: row[key] for key in COLUMNS} if name == "R" else row)
    return found


def select(text: str, tables: Tables) -> StreamedSelect:
    return select_of(made(STREAMS + text, tables), rewritten=True)


def calls(text: str, how: Arrival = IN_ORDER, **streams: str) -> list[Call]:
    """The calls that gave something: the watermark, and the rows."""
    return [call for call in run_stream(select(text, rows(**streams)), how).calls if call[1]]


COUNT = (
    "SELECT s.k AS k, CAST(count(*) AS INT) AS x, 0.0D AS y FROM S WINDOW(TIME 5 SECONDS) AS s GROUP BY s.k;"
)


def test_a_result_comes_when_its_end_is_known() -> None:
    found = calls(COUNT, S="a1 a3 b4 b5 b9 c20")
    assert [(time, [(row[0], *row[-2:]) for row in several]) for time, several in found[:3]] == [
        (2, [("a", 1, 3)]),  # with a3: nothing can come before it
        (4, [("b", 4, 5)]),
        (8, [("b", 5, 9), ("a", 3, 6), ("a", 6, 8)]),
    ]


def test_a_value_that_lasts_is_one_row_whatever_the_micro_batches_are() -> None:
    text = "a1 b2 b3 b4 b5 b6"
    lasting = [row for _, several in calls(COUNT.replace("5", "500"), S=text) for row in several]
    assert [row for row in lasting if row[0] == "a"] == [("a", 1, 0.0, 1, 501)]


def test_a_pair_comes_with_its_second_event() -> None:
    text = "SELECT s.k AS k, t.x AS x, t.y AS y FROM S WINDOW(TIME 9 SECONDS) AS s, T AS t WHERE s.k = t.k;"
    found = calls(text, S="a1", T="a4:7 b4:8 a20")
    assert [several for _, several in found] == [[("a", 7, 7.0, 4, 5)]]
    assert found[0][0] < 4, "before the watermark reaches it"


def test_an_event_is_compared_with_an_average_as_soon_as_that_is_known() -> None:
    """The average lasts longer than the event, and nobody knows how long: but all that is needed is."""
    text = """
    SELECT s.k AS k, s.x AS x, m.y AS y FROM S AS s,
      (SELECT q.k AS k, avg(q.x) AS y FROM S WINDOW(TIME 100 SECONDS) AS q GROUP BY q.k) AS m
    WHERE s.k = m.k AND s.x > 1.5 * m.y;
    """
    found = calls(text, S="a1:1 a2:1 a3:10 b5:1 b9:1")
    assert found == [(4, [("a", 10, 4.0, 3, 4)])]


def test_late_events_take_no_part() -> None:
    read = select(COUNT, rows(S=" ".join(f"a{time}" for time in range(1, 40, 3))))
    run = run_stream(read, Arrival(size=1, delay=30, slack=0, seed=3))
    assert 0 < len(run.tables["S"]) < len(read.tables["S"])
    assert sorted(run.rows) == sorted(read.reference(run.tables))


def test_a_window_of_events_keeps_so_many_of_each_key() -> None:
    text = (
        "SELECT s.k AS k, CAST(sum(s.x) AS INT) AS x, 0.0D AS y "
        "FROM S WINDOW(COUNT 2 EVENTS PARTITION BY k) AS s GROUP BY s.k;"
    )
    runs = [
        run_stream(select(text, rows(S=" ".join(f"a{n}:1" for n in range(1, count)))), IN_ORDER)
        for count in (10, 50)
    ]
    assert runs[0].left == runs[1].left
    assert [row[1] for row in runs[1].rows] == [1, *[2] * 47]


def test_what_no_result_needs_is_forgotten() -> None:
    text = "SELECT s.k AS k, t.x AS x, t.y AS y FROM S WINDOW(TIME 9 SECONDS) AS s, T AS t WHERE s.x < t.x;"
    assert run_stream(select(text, rows(S="a1 a2 a3", T="a4:1")), IN_ORDER).left == 0


def test_lists_for_functions_of_users() -> None:
    program = p.SnapshotProgram(("k",), (p.SnapshotAggregate(p.LIST, "x", "xs"),))
    root = p.SnapshotAggregation(p.SnapshotTimeWindow(p.SnapshotInput(0, ("k", "x")), 4), program)
    kernel = SnapshotStream(p.SnapshotNetwork(root, ("k", "xs")))
    rows = {"k": ["a", "b", "a", "b"], "x": [1, 2, None, 4], "start": [1, 2, 3, 7], "end": [2, 3, 4, 8]}
    memory, found = StreamMemory(), []
    for before, now in ((0, 0), (0, 3), (3, 6), (6, 99)):
        new = [pa.RecordBatch.from_pydict(rows)] if now == 0 else []
        step = kernel.advance(memory, new, WatermarkMove(before, now))
        memory = step.memory
        found += [(now, *row.values()) for batch in step.results for row in batch.to_pylist()]
    assert sorted(found, key=repr) == [
        (3, "a", [1], 1, 3),
        (6, "a", [1, None], 3, 6),
        (6, "b", [2], 2, 7),
        (99, "a", [None], 6, 8),
        (99, "b", [4], 7, 12),
    ]


# What the plan says.


def plan(text: str) -> a.Operator:
    query = made(STREAMS + text, rows()).program.queries[-1].query
    assert isinstance(query, a.Algebra)
    return query.root


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (COUNT, [("k",)]),
        ("SELECT max(s.k) AS k FROM S WINDOW(TIME 5 SECONDS) AS s;", [()]),
        ("SELECT s.k AS k FROM S WINDOW(TIME 5 SECONDS) AS s, T AS t WHERE s.k = t.k;", [("k",), ("k_2",)]),
        ("SELECT s.k AS k FROM S AS s, T AS t WHERE s.x < t.x;", [(), ()]),
        ("SELECT s.k AS k FROM S WINDOW(COUNT 3 EVENTS PARTITION BY k) AS s;", [("k",)]),
        (
            "SELECT count(*) AS n FROM (SELECT q.k AS k, q.x AS x FROM S WINDOW(TIME 5 SECONDS) AS q) AS s"
            " GROUP BY s.k, s.x + 1;",
            [("k", "value")],
        ),
    ],
)  # fmt: skip
def test_buckets_are_those_of_keys_that_all_operators_have(text: str, keys: list[tuple[str, ...]]) -> None:
    found = streamed_network(plan(text), "SECOND", {})
    assert [one.keys for one in found.inputs] == keys
    assert found.is_keyed == all(keys)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT s.k AS k, s.x + 1 AS x FROM S WINDOW(TIME 5 SECONDS) AS s WHERE s.x > 1;",
        "SELECT s.k AS k, r.x AS x FROM S AS s, R AS r WHERE s.k = r.k;",
    ],
)
def test_what_concerns_one_event_needs_no_kernel(text: str) -> None:
    assert streamed_network(plan(text), "SECOND", {}).kernel is None


def test_relations_are_joined_before_streams_are() -> None:
    text = "SELECT s.k AS k FROM S AS s, T AS t, R AS r WHERE s.x < t.x AND t.k = r.k;"
    first, second = streamed_network(plan(text), "SECOND", {}).inputs
    assert isinstance(first.operator, a.StreamSource)
    assert isinstance(second.operator, a.Correlator) and isinstance(
        second.operator.inputs[1], a.RelationSource
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT count(*) AS n FROM large(S WINDOW(TIME 5 SECONDS) AS q) AS s;", "the agent large"),
        (
            "SELECT count(*) AS n FROM (SELECT CAST(s.k AS TIMESTAMP) AS k FROM "
            "(SELECT max(q.k) AS k FROM S WINDOW(COUNT 3 EVENTS) AS q) AS s) AS u GROUP BY u.k;",
            "time zone",
        ),
        (
            "SELECT count(*) AS n FROM (SELECT k FROM S MATCH_RECOGNIZE_TEMPORAL (MEASURES START(A).k AS k "
            "PATTERN A WITHIN 5 DEFINE A AS TEMP(x > 1)) AS m) AS q WINDOW(TIME 5 SECONDS);",
            "read by an aggregate",
        ),
    ],
)
def test_what_cannot_run_over_streams_is_refused(text: str, message: str) -> None:
    with pytest.raises(UnsupportedStreaming, match=message):
        streamed_network(plan(text), "SECOND", {})
