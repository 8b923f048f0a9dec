"""Tests of time lines, for every engine: its pictures are those of the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drawn_pictures import Rows, drawn, rows

import neelc
from neelc.ir.names import quote
from neelc.tools.report.page import limits
from neelc.tools.report.picture import Picture
from neelc.tools.report.record import record

SCHEMA = "ts BIGINT, kind STRING, id BIGINT, x STRING"
EVENTS: Rows = [
    *rows("abcabc", 1),
    *rows("a.dbc", 2),
    *rows("ab..c", 3),
    {"ts": 1, "kind": "A", "id": None, "x": "no key"},
    {"ts": None, "kind": "A", "id": 2, "x": "no time"},
    {"ts": 2, "kind": "B", "id": 3, "x": "b2"},
    {"ts": 2, "kind": "B", "id": 3, "x": "b2"},
]

Made = Callable[[Rows, str], Any]
"""What makes data of an engine of rows with a schema in Spark's words."""


def content(picture: Picture) -> dict[str, Any]:
    """What is drawn, by the events' values: two that are equal may change places."""
    data = record(picture)
    values = [tuple(value) for value in data["events"]["values"]]
    panels = [
        sorted(
            ([values[event] for event in match[0]], [panel["variables"][v] for v in match[1]], *match[2:])
            for match in panel["matches"]
        )
        for panel in data["panels"]
    ]
    return {
        "events": sorted(values),
        "lanes": data["lanes"],
        "panels": panels,
        "limits": list(limits(picture)),
    }


SOME = {
    "a negation": "PATTERN SEQ(A a, !D d, B b, C c) WHERE [id] WITHIN 5 RETURN a.x AS first, c.ts - a.ts",
    "a closure": "PATTERN SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 5 USING SKIP TILL NEXT MATCH",
    "an aggregate": "PATTERN SEQ(A a, OR(B b, D d)) WHERE [id] WITHIN 5 RETURN a.id AS id, count(*) AS n",
}
NETWORK = (
    "CREATE QUERY P AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 2 RETURN a.id AS id, a.x AS x;\n"
    "PATTERN SEQ(P p, !D d, C c) WHERE [id] WITHIN 9 RETURN p.x, c.ts"
)


RISING = (
    "SELECT * FROM S MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts, x MEASURES LAST(up.x) AS top "
    "PATTERN (strt up+) DEFINE up AS kind > PREV(kind))"
)


class TimeLines:
    """The tests; a subclass has the fixtures `session` and `made`."""

    @pytest.fixture
    def events(self, made: Made) -> Any:
        return made(EVENTS, SCHEMA)

    @pytest.mark.parametrize("name", SOME)
    def test_the_engine_and_the_reference_draw_the_same(
        self, name: str, session: neelc.Session, events: Any
    ) -> None:
        stream = neelc.stream(events, timestamp="ts", type="kind", unit="s")
        found = session.compile(SOME[name], S=stream)
        assert isinstance(found, neelc.Query)
        assert content(found.timeline().picture) == content(drawn(SOME[name], EVENTS))

    def test_rows_of_a_query_before_are_events(self, session: neelc.Session, events: Any) -> None:
        """An engine has their times as columns, too."""
        stream = neelc.stream(events, timestamp="ts", type="kind", unit="s")
        found = session.compile(NETWORK, S=stream)
        assert isinstance(found, neelc.Query)
        one, other = content(found.timeline().picture), content(drawn(NETWORK, EVENTS))
        assert len(one["events"]) == len(other["events"]) > len(EVENTS)
        assert [match[1:] for match in one["panels"][0]] == [match[1:] for match in other["panels"][0]]

    def test_all_strategies(self, events: Any) -> None:
        text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5"
        line = neelc.timeline(
            events, text, name="S", timestamp="ts", type="kind", unit="s", compare_strategies=True
        )
        assert content(line.picture) == content(drawn(text, EVENTS, compare=True))

    @pytest.mark.parametrize("most", [6, 3])
    def test_more_events_than_are_drawn(self, most: int, events: Any) -> None:
        text = "PATTERN SEQ(A a, !D d, B b, C c) WHERE [id] WITHIN 5"
        line = neelc.timeline(events, text, name="S", timestamp="ts", type="kind", unit="s", most_events=most)
        assert content(line.picture) == content(drawn(text, EVENTS, most=most))

    @pytest.mark.parametrize(
        ("one", "other"),
        [("count", "key_0"), ("these", "lane_0"), ("Unit price", "a`{b}"), ("${c}", "lanes")],
    )
    def test_a_key_may_have_any_name(self, one: str, other: str, made: Made) -> None:
        """Counting and choosing the events of lanes makes columns and tables, too."""
        events = [dict(zip(("ts", "kind", one, other), row.values(), strict=True)) for row in EVENTS]
        named = made(events, f"ts BIGINT, kind STRING, {quote(one)} BIGINT, {quote(other)} STRING")
        text = f"PATTERN SEQ(A a, B b) WHERE [{quote(one)}, {quote(other)}] WITHIN 5"
        found = neelc.timeline(named, text, name="S", timestamp="ts", type="kind", unit="s", most_events=3)
        assert len(found.picture.shown.events) == 3

    def test_without_a_query_and_results_of_queries(
        self, session: neelc.Session, events: Any, tmp_path: Path
    ) -> None:
        line = neelc.timeline(events, timestamp="ts", type="kind", unit="s", key="id")
        assert repr(line) == "<neelc.Timeline: 16 of 16 events>"
        line.save(tmp_path / "events.html")
        assert (tmp_path / "events.html").read_text() == line.html
        assert line._repr_html_().startswith("<iframe")
        stream = neelc.stream(events, timestamp="ts", type="kind", unit="s")
        matches = session.sql("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 2", Events=stream)
        lasting = neelc.timeline(matches)
        assert {event.end > event.start for event in lasting.picture.shown.events} == {True}

    def test_a_select_draws_its_rows(self, events: Any) -> None:
        text = "SELECT id, count(*) AS n FROM S WINDOW(TIME 2 SECONDS) GROUP BY id"
        line = neelc.timeline(events, text, name="S", timestamp="ts", unit="s")
        (panel,) = line.picture.panels
        assert panel.words == ("row", "rows") and panel.total == len(panel.found) > 0
        assert record(line.picture)["lanes"] == ["1", "2", "3", "NULL"]

    @pytest.mark.parametrize("most", [50_000, 12])
    def test_rows_of_match_recognize(self, most: int, events: Any) -> None:
        line = neelc.timeline(events, RISING, name="S", timestamp="ts", unit="s", most_events=most)
        picture = line.picture
        expected = drawn(RISING, EVENTS, most=most)
        assert content(picture)["events"] == content(expected)["events"]
        assert content(picture)["panels"] == content(expected)["panels"]
        if most == 12:
            assert list(limits(picture)) == [
                "There are more rows than a picture shows: matches are looked for in those that are drawn.",
                "12 of 17 rows are drawn: 3 of 4 keys, those with matches first.",
            ]

    def test_rows_of_a_query_before(self, events: Any) -> None:
        text = (
            "CREATE QUERY P AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 RETURN a.id AS id, a.x AS x;\n"
            "SELECT * FROM P MATCH_RECOGNIZE (ORDER BY id, x PATTERN (p q))"
        )
        stream = neelc.stream(events, timestamp="ts", type="kind", unit="s")
        found = neelc.timeline(stream, text, name="S")
        assert content(found.picture)["events"] == content(drawn(text, EVENTS))["events"]
        (limit,) = limits(neelc.timeline(stream, text, name="S", most_events=2).picture)
        assert limit.startswith("No row is drawn: ")

    def test_match_recognize_that_the_reference_does_not_run_is_refused(self, events: Any) -> None:
        with pytest.raises(neelc.NeelQueryError, match=r"NEEL4001.*does not run ORDER BY"):
            neelc.timeline(events, f"{RISING} ORDER BY top", name="S")
