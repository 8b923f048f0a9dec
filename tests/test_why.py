"""`neelc why`: what stopped a start event, and what would match. The reference judges every claim."""

from __future__ import annotations

from collections import Counter

import pytest
import why_texts
import why_texts_of_operators
from in_local import made_locally
from time_lines import Made
from why_fuzz import check
from why_of_engines import COLUMNS, WhyTests
from whying import STREAM, program, rows, why_lines, whys

import neelc
from neelc.errors import NeelError
from neelc.files import CallError
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script
from neelc.tools.why import explaining as whole
from neelc.tools.why import questions as asking
from neelc.tools.why import reading as smallest
from neelc.tools.why import stopping as other_runs
from neelc.tools.why.reading import why_request

RANDOM = 30


def lines(text: str) -> list[str]:
    """An indented text as lines, without what it is indented by."""
    found = text.strip("\n").rstrip().split("\n")
    indent = min(len(line) - len(line.lstrip()) for line in found if line)
    return [line[indent:] for line in found]


TEXTS = why_texts.TEXTS | why_texts_of_operators.TEXTS


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    query, stream, text = TEXTS[name]
    assert why_lines(query, stream) == lines(text)


class TestWhyLocally(WhyTests):
    """On the local engine, which reads the events without Spark."""

    @pytest.fixture
    def session(self) -> neelc.Session:
        return neelc.local()

    @pytest.fixture
    def made(self) -> Made:
        return made_locally


def test_texts_on_the_local_engine() -> None:
    session = neelc.local()
    for query, stream, text in TEXTS.values():
        given = made_locally(rows(stream), COLUMNS)
        found = session.why(f"{STREAM}PATTERN {query}", S=given)
        assert list(found.explanations[0].lines) == lines(text)


@pytest.mark.parametrize("first", range(0, RANDOM, 10))
def test_what_is_told_is_what_the_reference_finds(first: int) -> None:
    tally: Counter[str] = Counter()
    assert [problem for number in range(first, first + 10) for problem in check(number, tally)] == []
    assert tally["matching"] and tally["not matching"] and tally["relaxations"], tally


def test_keys_are_explained_one_by_one() -> None:
    found = whys("SEQ(A a, B b) WHERE [id]", "A1@2 B2@3 A3@3 B4@3 A4@NULL")
    assert [(one.key, one.matches) for one in found.explanations] == [
        ({"id": "2"}, False),
        ({"id": "3"}, True),
        ({"id": "NULL"}, False),
    ]
    assert found.text.endswith("\n3 start events: 1 with a match, 2 without\n")
    assert [one.key for one in whys("SEQ(A a, B b) WHERE [id]", "A1@2 A3@3", key=["3"]).explanations] == [
        {"id": "3"}
    ]


def test_events_of_other_keys_are_counted_where_they_count() -> None:
    assert whys("SEQ(A a, B b) WHERE [id] WITHIN 2 EVENTS", "A1@2 A2@3 B3@2").explanations[0].matches is False
    by_id = "SEQ(A a, B b) PARTITION BY id WITHIN 2 EVENTS"
    assert whys(by_id, "A1@2 A2@3 B3@2", key=["2"]).explanations[0].matches is True
    assert whys(by_id, "A1@2 D2@2 B3@2", key=["2"]).explanations[0].matches is False


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        ("SEQ(A a, B b)", ["7"], "key 7: the query has no key"),
        ("SEQ(A a, B b) WHERE [id]", ["17"], "no event has id = 17; did you mean 1?"),
        ("SEQ(A a, B b) WHERE [id]", ["x"], "no event has id = x; there are: 1$"),
        ("SEQ(A a, B b) WHERE [id] AND a.user = b.user", ["1"], "say which one: id=1 or user=1$"),
    ],
)
def test_keys_that_cannot_be(query: str, key: list[str], message: str) -> None:
    with pytest.raises(CallError, match=message.replace("?", r"\?")):
        whys(query, "A1 B2", key=key)


def test_starts_between_two_times() -> None:
    query = "SEQ(!C c, A a, B b) WITHIN 5 SECONDS"
    found = whys(query, "C1 A3 A4 A30 B31 A60", between=(4, "30"))
    assert [(one.start.time, one.matches) for one in found.explanations] == [("4", False), ("30", True)]
    for between, message in [
        (("x", 4), "not a time of type BIGINT"),
        ((5, 4), "after the second"),
        ((5,), "two"),
    ]:
        with pytest.raises(CallError, match=message):
            whys(query, "A1", between=between)


def test_only_events_of_the_pattern_need_be_read() -> None:
    def types(query: str) -> list[str] | None:
        bound, _ = program(query)
        return why_request(bound, 0).types(bound.streams[0])

    assert types("SEQ(A a, !`b` b, c+ d[])") == ["a", "b", "c"]
    assert types("SEQ(A a, S s)") is None  # every event is an S
    assert types("SEQ(A a, B b) WITHIN 5 EVENTS") is None
    assert types("SEQ(A a, B b) USING STRICT CONTIGUITY") is None


def test_limits_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    query, stream = "SEQ(A a, B b, C c)", "A1 A2 B3 B4 B5"
    monkeypatch.setattr(asking, "MAX_CANDIDATES_PER_START", 2)
    (first, _) = whys(query, stream).explanations
    assert first.matches is None and first.lines[0] == "A a at 1: undecided"
    assert "the limit MAX_CANDIDATES_PER_START is 2" in first.lines[1]
    monkeypatch.setattr(whole, "MAX_STARTS", 1)
    with pytest.raises(NeelError, match=r"NEEL5007.*2 start events: the limit MAX_STARTS is 1"):
        whys(query, stream)
    monkeypatch.setattr(whole, "MAX_EVENTS", 4)
    with pytest.raises(NeelError, match=r"NEEL5007.*5 events to explain: the limit MAX_EVENTS is 4"):
        whys(query, stream)


def test_relaxations_that_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smallest, "MAX_CANDIDATES_OF_RELAXATIONS", 3)
    (one,) = whys("SEQ(A a, B b, C c) WHERE b.x > 5 AND c.x > 5", "A1 B2 B3 C4").explanations
    assert one.matches is False and one.reached == 1 and not one.proposals
    assert "no small relaxation was found" in one.lines[-1]


def test_more_runs_than_anyone_reads_are_not_told() -> None:
    one = whys("SEQ(A a, B b, C c)", "A1 " + " ".join(f"B{time}" for time in range(2, 300))).explanations[0]
    assert one.reached == 2 and one.others == ()
    assert other_runs.TOO_MANY_RUNS in one.notes


LASTING = """CREATE STREAM S (ts BIGINT, te BIGINT, kind STRING)
  TIMESTAMP BY ts UNIT SECONDS END BY te TYPE BY kind;
"""


@pytest.mark.parametrize(
    ("condition", "times", "failed"),
    [
        ("a OVERLAPS b", (1, 4, 4, 9), "a MEETS b: a ends when b starts"),
        ("a OVERLAPS b", (1, 4, 6, 9), "a BEFORE b: b starts 2 seconds after a ends"),
        ("a OVERLAPS b", (1, 9, 4, 6), "a CONTAINS b: a ends 3 seconds after b ends"),
        ("a BEFORE b", (1, 9, 4, 6), "a CONTAINS b: a ends 5 seconds after b starts"),
        ("a MEETS b", (2, 2, 2, 6), "a STARTS b: a is a point"),
        ("b DURING a", (2, 6, 2, 6), "b EQUALS a: b starts when a starts, a ends when b ends"),
        ("b STARTS a", (2, 5, 3, 5), "b FINISHES a: b starts 1 second after a starts, a ends when b ends"),
        ("(a EQUALS b OR a STARTS b)", (1, 3, 2, 4), "a OVERLAPS b, a.ts = 1, b.ts = 2, a.te = 3, b.te = 4"),
        ("NOT a OVERLAPS b", (1, 3, 2, 4), "a OVERLAPS b, a.ts = 1, b.ts = 2, a.te = 3, b.te = 4"),
    ],
)  # fmt: skip
def test_relations_that_hold_instead(condition: str, times: tuple[int, ...], failed: str) -> None:
    source = Source(f"{LASTING}PATTERN AND(A a, B b) WHERE {condition};")
    bound = bind(script(source), source)
    a, b = (
        dict(zip(("ts", "te", "kind"), one, strict=True)) for one in ((*times[:2], "A"), (*times[2:], "B"))
    )
    found = whole.why(why_request(bound, 0), {"S": [a, b]}, source)
    first = next(one for one in found.explanations if one.start.variable == "a")
    (one,) = first.stopped[0].failed
    assert (one.text, one.detail) == (condition.strip("()"), failed)
    assert first.proposals[0].text == f"without {condition.strip('()')}"
