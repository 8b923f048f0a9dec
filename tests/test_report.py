"""Pictures of results: which events a match consists of, where negations looked, what is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from drawn_pictures import LASTING, Rows, bound, drawn, rows
from generate.rewritable import sample

from neelc.engines.reference import executable
from neelc.files import CallError
from neelc.ir import patterns as p
from neelc.ir.node import walk
from neelc.ir.program import Match
from neelc.runtime.reference import LimitReached, events_read
from neelc.runtime.reference import read as read_tables
from neelc.runtime.reference.model import ReferenceEvent, binding_key, bound_events
from neelc.runtime.reference.question import ReferenceQuery, question
from neelc.runtime.reference.results import rows_of
from neelc.runtime.reference.worlds import find_matches
from neelc.runtime.values.order import comparable
from neelc.tools import cases
from neelc.tools.cases.run import PreparedCase, prepared
from neelc.tools.report.drawing import Recovery
from neelc.tools.report.page import facts, limits, report_page, summary
from neelc.tools.report.picture import DrawnMatch, Picture, drawable, shades
from neelc.tools.report.record import record

CASES = Path(__file__).parent / "cases"


def case_queries(paths: Iterable[Path]) -> list[tuple[Path, Match, list[ReferenceEvent]]]:
    """The PATTERN queries of case files, and the events they run over."""
    found = []
    for path in paths:
        case = cases.load(path)
        if isinstance(case.expected, str):
            continue
        ready = prepared(case)
        if isinstance(ready, PreparedCase) and isinstance(ready.program.queries[-1].query, Match):
            last = len(ready.program.queries) - 1
            match = ready.program.queries[last].match.whole
            program = executable(ready.program, [last], case.query)
            found.append((path, match, events_read(program, last, ready.tables)))
    return found


def generated() -> Iterator[tuple[str, Match, list[ReferenceEvent]]]:
    """Random queries in which no branches of an OR share a variable, as nobody can write it."""
    for number in range(200):
        match = sample(number).match
        names = [part.variable for part in walk(match.pattern) if isinstance(part, p.Event | p.Repeat)]
        written = [name for name in names if name]
        if len(written) == len(set(written)):
            yield f"sample {number}", match, list(read_tables(match, sample(number).tables[0], {}))


def contents(value: object) -> object:
    """A binding by what its events hold: of equal events, either will do."""
    if isinstance(value, ReferenceEvent):
        return (value.type, comparable(dict(value.attributes)))
    if isinstance(value, dict):
        return tuple((name, contents(value[name])) for name in sorted(value))
    return tuple(map(contents, value)) if isinstance(value, tuple) else value


def test_matches_are_recovered_from_the_rows_of_the_query_that_is_asked() -> None:
    some = case_queries(sorted(CASES.glob("**/*.case"))[::6])
    assert len(some) > 100
    for path, match, events in [*some, *generated()]:
        if any(stream.query for stream in match.streams):
            continue  # Spark is given its rows as a stream
        if match.order is not None and match.order.limit is not None:
            continue  # rows are left out, and with them their matches
        try:
            found = find_matches(match, events)
        except LimitReached:
            continue
        query = drawable(match)
        recovery = Recovery(match, events)
        drawn = [recovery.found(row.values) for row in rows_of(query, find_matches(query, events))]
        assert None not in drawn, path
        expected = Counter(contents(dict(one.binding)) for one in found)
        assert Counter(contents(dict(one.binding)) for one in drawn if one) == expected, path
        for one in drawn:
            assert one is not None
            bound = list(bound_events(one.binding))
            assert len(bound) == len(set(bound)), path


def test_no_event_that_a_plain_negation_names_is_in_its_shade() -> None:
    seen = 0
    for path, match, events in case_queries(
        path for name in ("negation", "scopes", "and_neg") for path in sorted(CASES.glob(f"{name}/*.case"))
    ):
        plain = {f"!{part}": part for part in plain_negations(match)}
        try:
            found = find_matches(match, events)
        except LimitReached:
            continue
        everything = question(match, events)
        for one in found:
            for shade in shades(everything, one.binding):
                part = plain.get(shade.part)
                if part is not None:
                    seen += 1
                    assert not hits(everything, part, shade.low, shade.high, one.binding), (path, shade)
    assert seen > 20


def plain_negations(match: Match) -> Iterator[p.Event]:
    """The events that are negated without a condition."""
    for part in walk(match.pattern):
        if isinstance(part, p.Not) and isinstance(part.part, p.Event) and part.part.where is None:
            yield part.part


def hits(
    query: ReferenceQuery, part: p.Event, low: int | None, high: int | None, binding: object
) -> list[ReferenceEvent]:
    """Events of the type inside, apart from those of the match and of other keys."""
    taken = set(bound_events(binding))
    same = [
        attribute for facts in query.facts_by_part.values() for names in facts.same for attribute in names
    ]
    return [
        event
        for event in query.members[part.type]
        if (low is None or low <= event.start) and (high is None or event.end <= high) and event not in taken
        if not same
    ]


def panels(picture: Picture) -> list[list[tuple[str, ...]]]:
    """What each panel has found: the texts `x` of the events."""
    return [
        [tuple(str(event.attributes["x"]) for event in bound_events(one.binding)) for one in panel.found]
        for panel in picture.panels
    ]


def test_strategies_side_by_side() -> None:
    picture = drawn(
        "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10", [*rows("abcb.c"), *rows("....a.b", 2)], compare=True
    )
    assert [panel.title for panel in picture.panels] == [
        "SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "STRICT CONTIGUITY", "PARTITION CONTIGUITY",
    ]  # fmt: skip
    assert panels(picture) == [
        [("a0", "b1"), ("a0", "b3"), ("a4", "b6")],
        [("a0", "b1"), ("a4", "b6")],
        [("a0", "b1")],
        [("a0", "b1"), ("a4", "b6")],
    ]
    assert summary(picture) == "The same 7 events under 4 strategies: 1 to 3 matches."


def test_a_strategy_that_is_not_defined_says_why() -> None:
    picture = drawn("PATTERN AND(A a, B b) WITHIN 10", rows("ab"), compare=True)
    assert [panel.problem for panel in picture.panels] == [
        None,
        "SKIP TILL NEXT MATCH is not defined for AND",
        "STRICT CONTIGUITY is not defined for AND",
        "PARTITION CONTIGUITY is not defined for AND",
    ]
    assert "not defined here" in report_page([picture])


MANY = [*rows("abababab", 1), *rows("abcd", 2), *rows("ab", 3)]
UP = "PATTERN SEQ(C c, D d) WHERE [id] WITHIN 10"


def test_lanes_with_matches_come_first_and_what_is_left_out_is_said() -> None:
    picture = drawn(UP, MANY, most=7)
    assert {event.attributes["id"] for event in picture.shown.events} == {2, 3}
    assert list(limits(picture)) == ["6 of 14 events are drawn: 2 of 3 keys, those with matches first."]
    assert panels(picture) == [[("c2", "d3")]]


def test_a_lane_that_is_too_large_is_cut_in_time() -> None:
    picture = drawn("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1", MANY, most=3)
    assert list(limits(picture)) == [
        "3 of 14 events are drawn: those of 1, from 0 to 2.",
        "1 of 6 matches are drawn.",
    ]


def test_without_a_key_time_is_cut() -> None:
    picture = drawn("PATTERN SEQ(C c, D d) WITHIN 1", MANY, most=4)
    assert list(limits(picture)) == ["4 of 14 events are drawn: those from 2 to 3."]
    assert facts(picture)["lanes"] == "by type: nothing ties all events of a match to one key"


def test_matches_in_lanes_that_are_not_drawn_take_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neelc.tools.report.drawing.MOST_MATCHES", 1)
    some = [*rows("ababab", 2), *rows("..ab", 1)]
    picture = drawn("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 1", some, most=4)
    assert panels(picture) == [[("a2", "b3")]]
    assert list(limits(picture))[1:] == ["1 of 4 matches are drawn."]


def test_of_partial_matches_complete_ones_are_drawn_and_it_is_said() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 WITH PARTIAL MATCHES"
    picture = drawn(text, [*rows("ab", 1), *rows("a", 2)])
    assert panels(picture) == [[("a0", "b1")]]
    assert list(limits(picture)) == ["WITH PARTIAL MATCHES: only complete matches are drawn."]


def test_nothing_is_said_where_nothing_is_left_out() -> None:
    picture = drawn(UP, MANY)
    assert list(limits(picture)) == []
    assert summary(picture) == "1 match among 14 events."
    assert facts(picture) == {"lanes": "by id: 3, 1 of them with matches", "time": "0 to 7"}


def test_no_events_at_all() -> None:
    picture = drawn(UP, [])
    assert summary(picture) == "0 matches among 0 events."
    assert record(picture)["events"]["start"] == []


def test_a_key_of_ones_own_and_one_that_is_not_there() -> None:
    assert record(drawn(UP, rows("cd"), key=["x"]))["lanes"] == ["c0", "d1"]
    with pytest.raises(CallError, match="no stream has the key y; columns: ts, kind, id, x"):
        drawn(UP, rows("cd"), key=["y"])


NULLS: Rows = [
    {"ts": 1, "kind": "A", "id": None, "x": "</script><b>"},
    {"ts": 1, "kind": "B", "id": 2, "x": None},
    {"ts": None, "kind": "A", "id": 2, "x": "no time"},
    {"ts": 2, "kind": None, "id": 2, "x": "ünï ✓"},
]


def test_nulls_ties_and_markup() -> None:
    picture = drawn("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10", NULLS)
    data = record(picture)
    assert data["lanes"] == ["2", "NULL"]
    assert data["events"]["start"] == [0, 0, 1]
    assert [name for name, _ in data["events"]["types"]] == ["A", "B", "NULL"]
    page = report_page([picture])
    assert "ünï ✓" in page and "\\u003c/script>" in page and "</script><b>" not in page


def test_the_rows_of_a_select_have_a_time_and_no_events() -> None:
    text = "SELECT id, count(*) AS n FROM S WINDOW(TIME 3 SECONDS) GROUP BY id;"
    picture = drawn(text, rows("a.b.....a", 5))
    (panel,) = record(picture)["panels"]
    assert panel["matches"][0][3:] == [["5", "1"], 0, 2, 0]
    assert summary(picture) == f"{picture.panels[0].total} rows among 3 events."


def test_lasting_events_and_closures() -> None:
    lasting = [{"te": int(str(row["ts"])) + 3, **row} for row in rows("a....b....b....c")]
    picture = drawn("PATTERN SEQ(A a, B+ b[], !A n, C c) WITHIN 100", lasting, head=LASTING)
    data = record(picture)
    assert data["events"]["end"] == [3, 8, 13, 18]
    (panel,) = data["panels"]
    assert {panel["variables"][place] for match in panel["matches"] for place in match[1]} == {
        "a", "b[1]", "b[2]", "c",
    }  # fmt: skip
    assert panel["parts"] == ["!A n"]


def test_a_query_that_reads_another_one_draws_its_rows_as_events() -> None:
    text = (
        "CREATE QUERY P AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 RETURN a.id AS id, a.x AS x;\n"
        "PATTERN SEQ(P p, P q) WHERE [id] WITHIN 100;"
    )
    assert panels(drawn(text, rows("ab.ab"))) == [[("a0", "a3")]]


def test_equal_events_are_bound_once_each() -> None:
    _, program = bound("PATTERN AND(A a, A b)")
    match = program.queries[-1].match
    twice = [
        ReferenceEvent("S", row, "A", 1, 1, {"ts": 1, "kind": "A", "id": 1, "x": "y"}, (1, 1))
        for row in (0, 1)
    ]
    struct = dict(twice[0].attributes)
    found = Recovery(match, twice).found([struct, struct, 1])
    assert isinstance(found, DrawnMatch)
    assert binding_key(found.binding) == (("a", twice[0]), ("b", twice[1]))
    assert Recovery(match, twice[:1]).found([struct, struct, 1]) is None


# MATCH_RECOGNIZE: rows in lanes, labelled by their variables.

RISING = """SELECT * FROM S MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY ts MEASURES FIRST(up.x) AS first, COUNT(*) AS n
  {skip} PATTERN (strt up+) DEFINE up AS kind > PREV(kind)
)"""


def labelled(picture: Picture) -> list[list[tuple[str, str]]]:
    """The matches as the page has them: the variable and the text `x` of each row."""
    data = record(picture)
    (panel,) = data["panels"]
    values = data["events"]["values"]
    return [
        [(panel["variables"][name], values[event][3]) for event, name in zip(*match[:2], strict=True)]
        for match in panel["matches"]
    ]


def test_rows_of_match_recognize() -> None:
    picture = drawn(RISING.format(skip=""), [*rows("cab.c", 1), *rows("ba", 2), *rows(".ab", 3)])
    assert labelled(picture) == [
        [("STRT", "a1"), ("UP", "b2"), ("UP", "c4")],
        [("STRT", "a1"), ("UP", "b2")],
    ]
    data = record(picture)
    assert (data["lanes"], data["key"], data["word"]) == (["1", "2", "3"], ["id"], "row")
    assert [match[3] for match in data["panels"][0]["matches"]] == [["b2", "3"], ["b2", "2"]]
    assert data["panels"][0]["columns"] == ["first", "n"]
    assert data["clock"]["unit"] == "SECOND" and data["events"]["types"] == [
        ["no match", -1], ["STRT", 0], ["UP", 1],
    ]  # fmt: skip
    assert summary(picture) == "2 matches among 8 rows."
    assert facts(picture) == {"lanes": "by id: 3, 2 of them with matches", "time": "0 to 4"}


def test_a_row_of_two_matches_has_both_variables() -> None:
    picture = drawn(RISING.format(skip="AFTER MATCH SKIP TO LAST up"), rows("abcab"))
    assert [event.type for event in picture.shown.events] == ["STRT", "UP", "UP", "STRT", "UP"]
    picture = drawn(RISING.format(skip="AFTER MATCH SKIP TO NEXT ROW"), rows("abc"))
    assert [event.type for event in picture.shown.events] == ["STRT", "UP, STRT", "UP"]
    assert labelled(picture)[1] == [("STRT", "b1"), ("UP", "c2")]


@pytest.mark.parametrize(
    ("order", "axis", "starts"),
    [
        ("ts", "time", [0, 1, 3]),
        ("id", "id", [0, 0, 0]),
        ("ts + 7 DESC", "ORDER BY", [0, 1, 3]),
        ("x", "row number", [0, 1, 2]),
    ],
)
def test_the_axis_of_rows(order: str, axis: str, starts: list[int]) -> None:
    text = f"SELECT * FROM S MATCH_RECOGNIZE (ORDER BY {order} MEASURES a.x AS y PATTERN (a b))"
    picture = drawn(text, rows("ab.c"))
    assert picture.axis == axis and record(picture)["events"]["start"] == starts
    assert facts(picture)["lanes"] == "by variable: MATCH_RECOGNIZE has no PARTITION BY"
    assert sorted(record(picture)["lanes"]) == ["A", "B", "no match"]
    null = drawn(text, [*rows("ab"), {"ts": None, "kind": "A", "id": None, "x": None}])
    assert null.axis == "row number" and len(null.shown.events) == 3


def test_of_rows_it_is_said_what_is_not_drawn() -> None:
    text = "SELECT n FROM S MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a*) {}) WHERE n > 0"
    picture = drawn(text.format("DEFINE a AS kind = 'A'"), rows("aab"))
    assert list(limits(picture)) == [
        "WHERE around MATCH_RECOGNIZE is not applied: all matches of the clause are drawn.",
        "Besides, 1 empty match: without rows, not drawn.",
    ]
    assert summary(picture) == "1 match among 3 rows."
    many = drawn(RISING.format(skip=""), [*rows("cba", 1), *rows("ab", 2), *rows("b", 3)], most=3)
    assert list(limits(many)) == ["3 of 6 rows are drawn: 2 of 3 keys, those with matches first."]
    assert labelled(many) == [[("STRT", "a0"), ("UP", "b1")]]


def test_rows_of_a_query_before_and_lanes_of_ones_own() -> None:
    text = (
        "CREATE QUERY P AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 RETURN a.id AS id, a.x AS x;\n"
        "SELECT * FROM (SELECT id, x FROM P WHERE id > 0) MATCH_RECOGNIZE (ORDER BY id, x PATTERN (p q))"
    )
    picture = drawn(text, [*rows("ab.ab", 1), *rows("ab", 2)], key=["id"])
    data = record(picture)
    assert data["lanes"] == ["1", "2"]
    assert data["events"]["values"] == [["1", "a0"], ["1", "a0"], ["1", "a3"], ["2", "a0"]]
    assert picture.panels[0].total == 2
