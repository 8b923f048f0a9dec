"""`neelc why`: what stopped a start event, and what would match. The reference judges every claim."""

from __future__ import annotations

from collections import Counter

import pytest
from why_fuzz import check
from whying import told, whys

from neelc.errors import NeelError
from neelc.files import CallError
from neelc.reasons import asking, smallest, whole

RANDOM = 40


def lines(text: str) -> list[str]:
    """An indented text as lines, without what it is indented by."""
    found = text.strip("\n").rstrip().split("\n")
    indent = min(len(line) - len(line.lstrip()) for line in found if line)
    return [line[indent:] for line in found]


# A query, a stream, and what is told of its first start.
TEXTS = {
    "a match": (
        "SEQ(A a, !D d, B b) WHERE [id] AND a.x < b.x WITHIN 5 SECONDS",
        "A1=2 B3=7",
        """
        A a at 1: match
          a  A  1
          b  B  3  +2 seconds
          holds  WITHIN 5 SECONDS  2 seconds
          holds  [id]              id = 1
          holds  a.x < b.x         a.x = 2.0, b.x = 7.0
          holds  !D d              none found
        """,
    ),
    "two matches": (
        "SEQ(A a, B b)",
        "A1 B2 B3",
        """
        A a at 1: match; 2 matches, the first one is
          a  A  1
          b  B  2  +1 second
        """,
    ),
    "a condition on the start": (
        "SEQ(A a, B b) WHERE a.x > 5",
        "A1=NULL B2",
        """
        A a at 1: no match, 0 of 2 steps
          stopped at A a:
            a  A  1
            fails  a.x > 5  a.x = NULL
          would match without a.x > 5
        """,
    ),
    "a condition between events": (
        "SEQ(A a, B b, C c) WHERE a.x = b.x",
        "A1 B2=7 C3",
        """
        A a at 1: no match, 1 of 3 steps
          a  A  1
          stopped at B b:
            b  B  2  +1 second
            fails  a.x = b.x  a.x = 1.0, b.x = 7.0
          would match without a.x = b.x
        """,
    ),
    "two reasons, each alone": (
        "SEQ(A a, B b) WHERE b.x > 5 WITHIN 5 SECONDS",
        "A1 B2=3 B9=8",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  9  +8 seconds
            fails  WITHIN 5 SECONDS  8 seconds, 3 seconds too long
          or at B b:
            b  B  2  +1 second
            fails  b.x > 5  b.x = 3.0
          would match WITHIN 8 SECONDS
          would match without b.x > 5
        """,
    ),
    "two reasons together": (
        "SEQ(A a, B b) WHERE b.x > 5 WITHIN 5 SECONDS",
        "A1 B9=3",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  9  +8 seconds
            fails  WITHIN 5 SECONDS  8 seconds, 3 seconds too long
            fails  b.x > 5           b.x = 3.0
          would match WITHIN 8 SECONDS
                  and without b.x > 5
        """,
    ),
    "a reason after the step that stopped it": (
        "SEQ(A a, B b, C c) WHERE b.x > 5 AND c.x > 5",
        "A1 B2=3 C3=4",
        """
        A a at 1: no match, 1 of 3 steps
          a  A  1
          stopped at B b:
            b  B  2  +1 second
            fails  b.x > 5  b.x = 3.0
          would match without b.x > 5
                  and without c.x > 5  (c.x = 4.0)
        """,
    ),
    "no event": (
        "SEQ(A a, B b, C c) WITHIN 5 SECONDS",
        "C1 A2 B3",
        """
        A a at 2: no match, 2 of 3 steps
          a  A  2
          b  B  3  +1 second
          stopped at C c: there is none after 3
        """,
    ),
    "a negation": (
        "SEQ(A a, !C c, B b) WHERE c.x = a.x WITHIN 5 SECONDS",
        "A1 C2=3 C3 C4 B5",
        """
        A a at 1: no match, 2 of 2 steps
          a  A  1
          b  B  5  +4 seconds
          stopped by !(C c : c.x = a.x), which is hit by:
            C  3  +2 seconds
          would match without !(C c : c.x = a.x)
        """,
    ),
    "a nested negation": (
        "SEQ(A a, !SEQ(C c, !D d, E e), B b) WITHIN 20 SECONDS",
        "A1 C2 D3 E4 C5 E6 B7",
        """
        A a at 1: no match, 2 of 2 steps
          a  A  1
          b  B  7  +6 seconds
          stopped by !SEQ(C c, !D d, E e), which is hit by:
            C  5  +4 seconds
            E  6  +5 seconds
          would match without !SEQ(C c, !D d, E e)
        """,
    ),
    "a leading negation looks back": (
        "SEQ(!C c, A a, B b) WITHIN 5 SECONDS",
        "C1 A2 B4",
        """
        A a at 2: no match, 2 of 2 steps
          a  A  2
          b  B  4  +2 seconds
          stopped by !C c, which is hit by:
            C  1  -1 second
          would match without !C c
        """,
    ),
    "a wider window that a negation spoils": (
        "SEQ(A a, B b, !C c) WITHIN 5 SECONDS",
        "A1 B7 C7 B9",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  7  +6 seconds
            fails  WITHIN 5 SECONDS  6 seconds, 1 second too long
          would match WITHIN 6 SECONDS
        """,
    ),
    "a window of events": (
        "SEQ(A a, B b) WITHIN 2 EVENTS",
        "A1 D2 D3 B4",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  4  +3 seconds
            fails  WITHIN 2 EVENTS  4 events, 2 too many
          would match WITHIN 4 EVENTS
        """,
    ),
    "the window of a part": (
        "SEQ(A a, SEQ(B b, C c) WITHIN 2 SECONDS) WITHIN 20 SECONDS",
        "A1 B3 C9",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at SEQ(B b, C c) WITHIN 2 SECONDS:
            b  B  3  +2 seconds
            c  C  9  +8 seconds
            fails  WITHIN 2 SECONDS  6 seconds, 4 seconds too long
          would match WITHIN 6 SECONDS on SEQ(B b, C c)
        """,
    ),
    "elements of a list": (
        "SEQ(A a, B{3} b[]) WHERE b[i].x > b[i-1].x WITHIN 10 SECONDS",
        "A1 B2=5 B3=4 B4=9",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B{3} b[]:
            b[1]  B  2  +1 second
            b[2]  B  3  +2 seconds
            b[3]  B  4  +3 seconds
            fails  b[i].x > b[i-1].x  i = 2, b[i].x = 4.0, b[i-1].x = 5.0
          would match without b[i].x > b[i-1].x
        """,
    ),
    "an aggregate of a list": (
        "SEQ(A a, B+ b[], C c) WHERE avg(b[].x) > c.x",
        "A1 B2=5 C6=20",
        """
        A a at 1: no match, 2 of 3 steps
          a     A  1
          b[1]  B  2  +1 second
          stopped at C c:
            c  C  6  +5 seconds
            fails  avg(b[].x) > c.x  avg(b[].x) = 5.0, c.x = 20.0
          would match without avg(b[].x) > c.x
        """,
    ),
    "iterations": (
        "SEQ(A a, SEQ(B b, C c WHERE c.x > 4){2} k[]) WITHIN 20 SECONDS",
        "A1 B2 C3=5 B4 C5=4",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at SEQ(B b, C c WHERE c.x > 4){2} k[]:
            k[1].b  B  2  +1 second
            k[1].c  C  3  +2 seconds
            k[2].b  B  4  +3 seconds
            k[2].c  C  5  +4 seconds
            fails  c.x > 4  c.x = 4.0
          would match without c.x > 4
        """,
    ),
    "contiguity": (
        "SEQ(A a, B b) USING STRICT CONTIGUITY",
        "A1 D2 B3",
        """
        A a at 1: no match, 1 of 2 steps
          a  A  1
          stopped at B b:
            b  B  3  +2 seconds
            fails  USING STRICT CONTIGUITY  others come between
          would match USING SKIP TILL NEXT MATCH
        """,
    ),
    "the next match": (
        "SEQ(A a, B b, C c) WHERE c.x = b.x USING SKIP TILL NEXT MATCH",
        "A1 B2=4 B3=9 C4=9",
        """
        A a at 1: no match, 2 of 3 steps
          a  A  1
          b  B  2  +1 second
          stopped at C c:
            c  C  4  +3 seconds
            fails  c.x = b.x  c.x = 9.0, b.x = 4.0
          or at C c:
            b  B  3  +2 seconds
            c  C  4  +3 seconds
            fails  USING SKIP TILL NEXT MATCH  another event had to be taken
          would match without c.x = b.x
          would match USING SKIP TILL ANY MATCH
        """,
    ),
    "AND in any order": (
        "AND(A a, B b, C c) WHERE a.x = b.x WITHIN 5 SECONDS",
        "B1 A2=4 C4",
        """
        B b at 1: no match, 1 of 3 steps
          b  B  1
          stopped at A a:
            a  A  2  +1 second
            fails  a.x = b.x  a.x = 4.0, b.x = 1.0
          would match without a.x = b.x
        """,
    ),
    "the better branch of OR": (
        "OR(SEQ(A a, B b, C c), SEQ(A d, D e)) WITHIN 5 SECONDS",
        "A1 B2 C9",
        """
        A a at 1: no match, 2 of 3 steps
          in SEQ(A a, B b, C c)
          a  A  1
          b  B  2  +1 second
          stopped at C c:
            c  C  9  +8 seconds
            fails  WITHIN 5 SECONDS  8 seconds, 3 seconds too long
          would match WITHIN 8 SECONDS
          note: some step has no event, whatever is required of it
          note: SEQ(A d, D e): 1 of 2 steps
        """,
    ),
    "a key that is NULL": (
        "SEQ(A a, B b) WHERE [id]",
        "A1@NULL B3@NULL",
        """
        A a at 1: no match, 0 of 2 steps
          stopped at A a:
            a  A  1
            fails  [id]  id = NULL
          would match without [id]
        """,
    ),
    "what EXISTS drops": (
        "EXISTS b : SEQ(A a, B b) WITHIN 5 SECONDS",
        "A1 B9",
        """
        A a at 1: no match, 0 of 1 step
          stopped at EXISTS b : SEQ(A a, B b):
            a  A  1
            fails  WITHIN 5 SECONDS  too short for what EXISTS looks for
          would match WITHIN 10 SECONDS
        """,
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    query, stream, text = TEXTS[name]
    assert told(query, stream) == lines(text)


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
