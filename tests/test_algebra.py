"""SELECT on the reference is chapter 6 of the JEPC thesis: at every instant, in random networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import logical_streams as chapter6
import pytest
from invariants import check_algebra
from logical_streams import INSTANTS, Logical, Payload

from neelc import syntax as parse
from neelc.ir.algebra import Algebra, Coalesced
from neelc.program import bind
from neelc.runtime.reference import run
from neelc.runtime.reference.snapshots import differences, snapshot, snapshots_equal
from neelc.source import Source

HEAD = "".join(f"CREATE STREAM {name} (t BIGINT, k STRING, x INT) TIMESTAMP BY t;\n" for name in "ST")
ROUNDS = 60


def answered(text: str, tables: dict[str, list[dict[str, object]]]) -> list[tuple[object, ...]]:
    source = Source(HEAD + text)
    program = bind(parse.script(source), source)
    assert isinstance(program.queries[-1].query, Algebra)
    check_algebra(program.queries[-1].query)
    *_, (_, result) = run(program, tables)
    assert result.has_valid_time
    return result.rows


def of_rows(rows: Sequence[dict[str, object]]) -> Logical:
    return chapter6.of_events([(row["t"], (row["k"], row["x"])) for row in rows])  # type: ignore[misc]


class Made:
    """A random source: its text in FROM, and what it is by chapter 6. `lasting` is the same with a window, be
    it of one instant: aggregates ask for one."""

    def __init__(self, random: Random, tables: dict[str, list[dict[str, object]]], name: str) -> None:
        stream = random.choice("ST")
        logical = of_rows(tables[stream])
        size, jump = random.randint(1, 4), random.choice((1, 1, 2, 3))
        window, self.logical = "", logical
        match random.choice(("none", "time", "count", "partition")):
            case "time":
                window = f"WINDOW(TIME {size} JUMP {jump})"
                self.logical = chapter6.time_window(logical, size, jump)
            case "count":
                window = f"WINDOW(COUNT {size} EVENTS JUMP {jump} EVENTS)"
                self.logical = chapter6.count_window(logical, size, jump)
            case "partition":
                window = f"WINDOW(COUNT {size} EVENTS JUMP {jump} EVENTS PARTITION BY k)"
                self.logical = chapter6.partitioned(
                    logical, lambda payload: payload[0], lambda part: chapter6.count_window(part, size, jump)
                )
        self.text = f"{stream} AS {name} {window}"
        self.lasting = f"{stream} AS {name} {window or 'WINDOW(TIME 1)'}"
        if random.random() < 0.3:
            self.text = f"(SELECT k, x FROM {self.text} WHERE x > 1) AS {name}"
            self.lasting = f"(SELECT k, x FROM {self.lasting} WHERE x > 1) AS {name}"
            self.logical = chapter6.filtered(self.logical, lambda payload: (payload[1] or 0) > 1)  # type: ignore[operator]


def summed(events: list[Payload]) -> Payload:
    known = [event[1] for event in events if event[1] is not None]
    return (len(events), len(known), sum(known) if known else None, max(known, default=None))  # type: ignore[type-var, arg-type]


AGGREGATES = "count(*) AS n, count(x) AS m, sum(x) AS s, max(x) AS most"


def network(random: Random, tables: dict[str, list[dict[str, object]]]) -> tuple[str, Logical]:
    one, other = Made(random, tables, "a"), Made(random, tables, "b")
    match random.choice(("filter", "aggregate", "groups", "correlate", "distinct", "with aggregate")):
        case "filter":
            found = chapter6.filtered(one.logical, lambda p: p[1] is not None and p[1] < 3)  # type: ignore[operator]
            return f"SELECT k, x FROM {one.text} WHERE x < 3", found
        case "aggregate":
            found = chapter6.aggregated(one.logical, lambda _: (), summed)
            return f"SELECT {AGGREGATES} FROM {one.lasting}", found
        case "groups":
            found = chapter6.aggregated(one.logical, lambda p: p[:1], summed)
            return f"SELECT k, {AGGREGATES} FROM {one.lasting} GROUP BY k", found
        case "correlate":
            found = chapter6.correlated(
                one.logical, other.logical, lambda p, q: p[0] is not None and p[0] == q[0]
            )
            return f"SELECT * FROM {one.text}, {other.text} WHERE a.k = b.k", found
        case "distinct":
            return f"SELECT DISTINCT k FROM {one.text}", chapter6.aggregated(
                one.logical, lambda p: p[:1], lambda _: ()
            )
    most = chapter6.aggregated(other.logical, lambda p: (), lambda events: (summed(events)[3],))
    found = chapter6.correlated(one.logical, most, lambda p, q: None not in (p[1], q[0]) and p[1] >= q[0])  # type: ignore[operator]
    inner = f"(SELECT max(x) AS most FROM {other.lasting}) AS m"
    return f"SELECT k, x, most FROM {one.text}, {inner} WHERE x >= most", found


def rows(random: Random) -> list[dict[str, object]]:
    return [
        {"t": random.randint(0, 9), "k": random.choice(("a", "b", None)), "x": random.choice((1, 2, 3, None))}
        for _ in range(random.choice((0, 1, 3, 6, 8)))
    ]


@pytest.mark.parametrize("part", range(4))
def test_random_networks_are_those_of_chapter_6(part: int) -> None:
    seen = 0
    for number in range(part * ROUNDS, (part + 1) * ROUNDS):
        random = Random(number)
        tables = {"S": rows(random), "T": rows(random)}
        text, expected = network(random, tables)
        found = answered(text, tables)
        for t in INSTANTS:
            here = Counter(tuple(row) for row in snapshot(found, t))
            assert here == expected[t], f"{number}: {text}\n{tables}\nat {t}"
        seen += any(expected.values())
    assert seen > ROUNDS // 2


def test_an_aggregate_is_read_as_canonical_events() -> None:
    """However its pieces are cut: each SELECT that aggregates says which its events are."""
    source = Source(
        HEAD
        + "SELECT count(*) AS n FROM (SELECT max(x) AS m FROM S WINDOW(TIME 9)) AS a WINDOW(COUNT 2 EVENTS)"
    )
    query = bind(parse.script(source), source).queries[0].query
    assert isinstance(query, Algebra)
    assert str(query).count("COALESCE") == 2
    assert isinstance(query.root, Coalesced)


def test_a_correlator_keeps_events_as_they_are() -> None:
    tables: dict[str, list[dict[str, object]]] = {
        "S": [{"t": t, "k": "a", "x": 1} for t in (0, 1)],
        "T": [{"t": t, "k": "a", "x": 1} for t in (0, 3, 5)],
    }
    inner = "SELECT count(*) AS n FROM T WINDOW(TIME 3)"
    text = f"SELECT a.k, m.n FROM S AS a WINDOW(TIME 3), ({inner}) AS m"
    assert sorted(answered(text, tables)) == [("a", 1, 0, 3), ("a", 1, 1, 4)]


def test_canonical_intervals_overlap_as_little_as_they_must() -> None:
    """Of two events that overlap, DISTINCT and GROUP BY make one; of one that comes thrice, three."""
    tables: dict[str, list[dict[str, object]]] = {
        "S": [{"t": t, "k": "a", "x": 1} for t in (0, 1, 7)],
        "T": [],
    }
    text = "SELECT DISTINCT k FROM S WINDOW(TIME 3)"
    assert sorted(answered(text, tables)) == [("a", 0, 4), ("a", 7, 10)]
    text = "SELECT k, count(*) > 0 AS some FROM S WINDOW(TIME 3) GROUP BY k"
    assert sorted(answered(text, tables)) == [("a", True, 0, 4), ("a", True, 7, 10)]


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ([("A", 1, 3), ("A", 2, 4)], [("A", 1, 4), ("A", 2, 3)], True),
        ([("A", 1, 3), ("A", 2, 4)], [("A", 1, 4)], False),
        ([("A", 1, None)], [("A", 1, 5), ("A", 5, None)], True),
        ([("A", 1, None)], [("A", 1, 5)], False),
        ([(0.1 + 0.2, 1, 2)], [(0.3, 1, 2)], True),
        ([(float("nan"), 1, 2)], [(float("nan"), 1, 2)], True),
        ([(None, 1, 2)], [(0, 1, 2)], False),
        ([("A", 2, 2)], [], True),
    ],
)
def test_results_are_compared_as_snapshots(left: list[Payload], right: list[Payload], equal: bool) -> None:
    assert snapshots_equal(left, right) is equal
    assert snapshots_equal(right, left) is equal
    assert (next(differences(left, right), None) is None) is equal
