"""THEN BY: engines agree with the reference where it orders events of one time; what is noted without it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import kernel_fuzz
import numpy as np
import pytest
import rules_fuzz
from command_line import Here
from generate.counted import events, query_text
from generate.ordered import with_order
from generate.repeated import kleene_sample
from generate.rewritable import sample
from in_bridge import way
from in_counting import bound, differing_rows, planned

import neelc
from neelc.files import CallError
from neelc.ir.script import SelectionStrategy
from neelc.runtime.failures import KernelError
from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.kernels.taking import groups
from neelc.runtime.moments import moments_of
from neelc.runtime.reference import LimitReached

LOG = [
    {"ts": 1, "n": 1, "kind": "A", "id": 1},
    {"ts": 1, "n": 2, "kind": "B", "id": 1},
    {"ts": 5, "n": 3, "kind": "A", "id": 2},
    {"ts": 5, "n": 4, "kind": "A", "id": 2},
    {"ts": 7, "n": 5, "kind": "B", "id": 2},
]
QUERY = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.n AS a, b.n AS b"


def test_the_kernel_agrees_with_the_reference() -> None:
    tally = kernel_fuzz.Tally()
    for number in range(3_000_000, 3_000_024):
        strategy = list(SelectionStrategy)[number % 4]
        found = kleene_sample(number, strategy) if number % 3 == 0 else sample(number)
        if found is not None:
            kernel_fuzz.check_sample(with_order(found, number, share=1.1), tally, number)
    assert tally.with_matches > 20


def test_counted_matches_agree_with_the_reference() -> None:
    pairs = 0
    for number in range(80):
        chance = Random(number)
        match = bound(query_text(chance))
        if match is None:
            continue
        columns = chance.choice([("n",), ("x", "n")])
        match = replace(match, streams=tuple(replace(one, then_by=columns) for one in match.streams))
        if planned(match) is None:
            continue
        tables = {"S": [{**row, "ts": int(str(row["ts"])) // 3} for row in events(chance)]}
        try:
            has_matches, problem = differing_rows(match, tables, way(number))
        except LimitReached:
            continue
        assert not problem, f"{number}: {problem}"
        pairs += has_matches
    assert pairs > 5


def test_rules_in_one_pass_agree_with_the_reference() -> None:
    seen: Counter[str] = Counter()
    assert [problem for number in range(5, 60, 5) for problem in rules_fuzz.check_set(number, seen)] == []
    assert seen["rules with matches"] > 5


def test_a_key_may_not_span_more_time_than_moments_have_numbers() -> None:
    start = np.array([0, 0, 2**60])
    ranked = moments_of(start * 0, start, start, np.array([0, 1, 0]))
    everything = (start[:1] - 1, start[-1:] + 1)
    given = KernelEvents(start, start, start * 0, {}, {}, everything, moments=ranked)
    with pytest.raises(KernelError, match="THEN BY orders up to 2 moments of one time"):
        list(groups(given))
    assert len(list(groups(replace(given, moments=None)))) == 1


# What callers say, and what a run notes.


def test_the_caller_gives_the_columns() -> None:
    session = neelc.local()
    log = neelc.stream(LOG, type="kind", then_by="n")
    assert sorted(session.sql(QUERY, Log=log).rows()) == [(1, 2), (3, 5), (4, 5)]
    several = neelc.stream(LOG, type="kind", then_by=["id", "n"])
    assert sorted(session.sql(QUERY, Log=several).rows()) == [(1, 2), (3, 5), (4, 5)]


def test_script_and_caller_must_agree() -> None:
    columns = "ts BIGINT, n INT, kind STRING, id INT"
    declared = f"CREATE STREAM Log ({columns}) TIMESTAMP BY ts THEN BY id TYPE BY kind;"
    log = neelc.stream(LOG, then_by="n")
    with pytest.raises((CallError, ValueError), match="the script says THEN BY id, the call says n"):
        neelc.local().sql(f"{declared} {QUERY}", Log=log)


def test_columns_of_then_by_are_names() -> None:
    with pytest.raises(TypeError, match="then_by"):
        neelc.stream(LOG, then_by=[1])  # type: ignore[list-item]


def test_events_of_one_time_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = Here(tmp_path, capsys, "local")
    lines = [",".join(LOG[0]), *(",".join(map(str, row.values())) for row in LOG)]
    path = here.write("log.csv", "\n".join(lines) + "\n")

    def noted(query: str, more: str = "") -> str:
        script = here.write("query.neel", query)
        return here("run", str(script), "--stream", f"Log={path},type=kind{more}").err

    # The two As are at one time as well, but none of them would come behind the other.
    first = noted(QUERY)
    assert "note: 2 events have the time of another event of the same key" in first
    assert "TIMESTAMP BY ts THEN BY another column orders them" in first
    assert "have the time" not in noted(QUERY, ",then_by=n")
    assert "have the time" not in noted(QUERY.replace("SEQ", "AND"))
    # A window of EVENTS counts events at one time, in no order: the As, and a B and a C, say nothing.
    events = "PATTERN SEQ(A a, B b) PARTITION BY id WITHIN 4 EVENTS RETURN a.n AS a, b.n AS b"
    assert "note: 2 events have" in noted(events)
    path.write_text(path.read_text() + "7,6,C,2\n")
    assert "note: 2 events have" in noted(events)
    runs = "PATTERN SEQ(A a, B+ b[]) PARTITION BY id USING PARTITION CONTIGUITY RETURN a.n, count(b[]) AS b"
    assert "note: 6 events have" in noted(runs)
    lists = QUERY.replace("A a", "A+ a[]").replace("a.n AS a", "count(a[]) AS a")
    assert "note: 4 events have" in noted(lists)
    counted = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN count(*) AS n"
    assert "note: 2 events have" in noted(counted)


def test_notes_of_a_query() -> None:
    session = neelc.local()
    session.register("Log", LOG, type="kind", unit="s")
    query = session.compile(QUERY)
    query.to_df(observe=True).count()
    (note,) = query.notes()
    assert note.startswith("2 events have the time of another event")
