"""`neelc why` of MATCH_RECOGNIZE_TEMPORAL: how far a situation came, and which relation held instead."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from command_line import Here
from generate.temporal import clause, events
from in_temporal import CLOCK, bound

import neelc as api
from neelc.ir.allen import WORDS, relation
from neelc.ir.bound_rows import SymbolRelation, Temporal
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import Row
from neelc.runtime.reference.temporal import SymbolEvent, partitions_in_time, temporal
from neelc.tools.why.model import StartExplanation
from neelc.tools.why.temporal import SituationExplainer, checked_relation, misses

ROWS = """\
ts,id,heat,load
1,a,90,10
2,a,92,60
4,a,95,10
5,a,70,10
1,b,90,10
2,b,92,60
3,b,91,60
5,b,70,60
6,b,70,10
1,c,10,60
1,d,90,10
2,d,90,60
30,d,10,60
"""
SCRIPT = """\
CREATE STREAM Readings (ts BIGINT, id STRING, heat INT, load INT) TIMESTAMP BY ts UNIT SECOND FROM 'r.csv';
SELECT * FROM Readings AS r MATCH_RECOGNIZE_TEMPORAL (
  PARTITION BY r.id MEASURES START(H).ts AS hot
  PATTERN H OVERLAPS L WITHIN 1 HOUR
  DEFINE H AS TEMP(r.heat > 80), L AS TEMP(r.load > 50) DURATION AT MOST 9 SECONDS
);
"""
TEXT = """\
id = 'a'

H at 1 to 4: no match, 1 of 2 steps
  H  3 events  1 to 4  3 seconds
  stopped at L:
    L  1 event  2  a point
    fails  H OVERLAPS L (HLHL)  H CONTAINS L: END(H) is 2 seconds after END(L), and must be before it

id = 'b'

H at 1 to 3: match
  H  3 events  1 to 3  2 seconds
  L  3 events  2 to 5  3 seconds
  holds  H OVERLAPS L (HLHL)
  holds  L DURATION AT MOST 9 SECONDS  lasts 3 seconds
  note: decided at 5

id = 'c'

H at any time: no match, 0 of 2 steps
  stopped at H: there is none

id = 'd'

H at 1 to 2: no match, 1 of 2 steps
  H  2 events  1 to 2  1 second
  stopped at L:
    L  2 events  2 to 30  28 seconds
    fails  H OVERLAPS L (HLHL)           H MEETS L: END(H) is at START(L), and must be after it
    fails  L DURATION AT MOST 9 SECONDS  lasts 28 seconds: 19 seconds too long

4 start events: 1 with a match, 3 without
"""


@pytest.fixture
def neelc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.chdir(tmp_path)
    here = Here(tmp_path, capsys)
    here.write("q.neel", SCRIPT)
    here.write("r.csv", ROWS)
    return here


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_texts(neelc: Here, engine: str) -> None:
    assert neelc("why", "q.neel", "--engine", engine).out == TEXT
    one = neelc("why", "q.neel", "--engine", engine, "--key", "d", "--between", "1", "9")
    assert (
        one.status == 0 and one.out.startswith("id = 'd'") and one.out.endswith("0 with a match, 1 without\n")
    )
    assert (
        neelc("why", "q.neel", "--engine", engine, "--key", "d", "--between", "2", "9").out
        == "no start events\n"
    )


def test_what_cannot_be_asked(neelc: Here) -> None:
    assert "no event has id = x; there are: a, b, c, d" in neelc("why", "q.neel", "--key", "x").err
    assert "between x: not a time of type BIGINT" in neelc("why", "q.neel", "--between", "x", "3").err
    neelc.write("q.neel", SCRIPT.partition("SELECT")[0] + "SELECT id FROM Readings;")
    assert "why for a SELECT" in neelc("why", "q.neel").err


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_page_has_the_lanes_of_the_key_with_notes(neelc: Here, engine: str) -> None:
    done = neelc("why", "q.neel", "--engine", engine, "--key", "a", "--report", "page.html")
    assert done.status == 0
    page = neelc.read("page.html")
    assert '"lanes":["a, H","a, L","a, heat (values)","a, load (values)"]' in page
    assert '"notes":[[0,0,"H at 1 to 4: no match, 1 of 2 steps' in page
    # Without an event of the first symbol there is no time at which a note could stand.
    assert neelc("why", "q.neel", "--engine", engine, "--key", "c", "--report", "page.html").status == 0
    assert '"notes":[]' in neelc.read("page.html")


def test_from_python(neelc: Here) -> None:
    found = api.local().why(SCRIPT, key="d")
    assert [one.matches for one in found.explanations] == [False]
    assert "19 seconds too long" in found._repr_html_() and '"kind": "duration"' in found.json()


def test_the_window_and_what_must_not_occur(neelc: Here) -> None:
    neelc.write("q.neel", SCRIPT.replace("WITHIN 1 HOUR", "WITHIN 1 SECOND"))
    late = neelc("why", "q.neel", "--key", "b").out
    assert "2 of 2 steps" in late
    assert "fails  WITHIN 1 SECOND  decided 4 seconds after the first start: 3 seconds too late" in late
    negated = SCRIPT.replace("H OVERLAPS L", "H OVERLAPS L, !N").replace(
        "DEFINE ", "DEFINE N AS r.heat = 91, "
    )
    neelc.write("q.neel", negated)
    hit = neelc("why", "q.neel", "--key", "b").out
    assert "2 of 2 steps" in hit and "stopped by !N, which is hit by:\n    1 event  3" in hit


def intervals() -> list[tuple[int, int]]:
    return [(start, end) for start in range(5) for end in range(start, 5)]


def test_a_miss_is_named_for_each_word_that_does_not_hold() -> None:
    for a, b in itertools.product(intervals(), repeat=2):
        events_of = {
            name: SymbolEvent(start, end, (), None, None) for name, (start, end) in (("A", a), ("B", b))
        }
        for word in WORDS:
            assert (relation(a, b) == word) == (not misses("A", "B", events_of, word))


def test_a_relation_of_several_words_names_the_nearest() -> None:
    events_of = {
        "A": SymbolEvent(0, 10**9, (), None, None),
        "B": SymbolEvent(3 * 10**9, 9 * 10**9, (), None, None),
    }
    wanted = SymbolRelation("A", "B", (("B", "B", "A", "A"), ("A", "AB", "B")))
    checked, holds, off = checked_relation(wanted, events_of)
    assert not holds and off == 2 * 10**9
    assert checked.text == "A AFTER B (BBAA) or A MEETS B (AA.BB)"
    assert (
        checked.detail == "A BEFORE B: END(A) is 2 seconds before START(B), and must be at the same instant"
    )


def explained(
    query: Temporal, rows: Sequence[Row]
) -> list[tuple[StartExplanation, set[tuple[str, int, int]]]]:
    """The explanations of the events of each partition, with the events that its matches start with."""
    timed = [row for row in rows if row["ts"] is not None]
    times = [int(str(row["ts"])) * 10**6 for row in timed]
    found = []
    for numbers in partitions_in_time(query, timed, times):
        own = [timed[number] for number in numbers]
        matches = temporal(query, own, [times[number] for number in numbers])
        events_of = {(n, one.start, one.end) for match in matches for n, one in match.events.items()}
        explainer = SituationExplainer(query, timed, times, numbers, CLOCK, {}, ())
        found += [(one, events_of) for one in explainer.explained(None)]
    return found


def test_situations_match_that_the_reference_matches() -> None:
    kinds: dict[object, int] = {}
    for seed in range(150):
        random = Random(f"why {seed}")
        text, streams = clause(random)
        query = bound(text, streams)
        try:
            found = explained(query, events(random, most=12))
        except LimitReached:
            continue
        for one, matched in found:
            name = one.start.type
            time = None if one.place[1] is None else int(str(one.place[1])) * 10**6
            starts = {start for n, start, _ in matched if n == name}
            assert (one.matches is True) <= (time in starts), text
            assert bool(one.stopped) == (one.matches is False) and one.lines
            if one.matches is False:
                assert len(one.events) == one.reached <= one.steps
                ends = {end for n, start, end in matched if n == name and start == time}
                shown = one.start.time.partition(" to ")[2] or one.start.time
                assert shown not in {str(end // 10**6) for end in ends}, text
            kinds[one.matches] = kinds.get(one.matches, 0) + 1
    assert kinds[True] > 30 and kinds[False] > 100
