"""Pictures of what Spark finds are those of the reference interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drawn_pictures import Rows, drawn, rows

import neelc
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


@pytest.fixture(scope="module")
def events(spark: Any) -> Any:
    return spark.createDataFrame([tuple(row.values()) for row in EVENTS], SCHEMA)


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


@pytest.mark.parametrize("name", SOME)
def test_spark_and_the_reference_draw_the_same(name: str, spark: Any, events: Any) -> None:
    stream = neelc.stream(events, timestamp="ts", type="kind", unit="s")
    found = neelc.Session(spark).compile(SOME[name], S=stream)
    assert isinstance(found, neelc.Query)
    assert content(found.timeline().picture) == content(drawn(SOME[name], EVENTS))


def test_rows_of_a_query_before_are_events(spark: Any, events: Any) -> None:
    """Spark has their times as columns, too."""
    stream = neelc.stream(events, timestamp="ts", type="kind", unit="s")
    found = neelc.Session(spark).compile(NETWORK, S=stream)
    assert isinstance(found, neelc.Query)
    one, other = content(found.timeline().picture), content(drawn(NETWORK, EVENTS))
    assert len(one["events"]) == len(other["events"]) > len(EVENTS)
    assert [match[1:] for match in one["panels"][0]] == [match[1:] for match in other["panels"][0]]


def test_all_strategies(spark: Any, events: Any) -> None:
    text = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5"
    made = neelc.timeline(
        events, text, name="S", timestamp="ts", type="kind", unit="s", compare_strategies=True
    )
    assert content(made.picture) == content(drawn(text, EVENTS, compare=True))


@pytest.mark.parametrize("most", [6, 3])
def test_more_events_than_are_drawn(most: int, spark: Any, events: Any) -> None:
    text = "PATTERN SEQ(A a, !D d, B b, C c) WHERE [id] WITHIN 5"
    made = neelc.timeline(events, text, name="S", timestamp="ts", type="kind", unit="s", most_events=most)
    assert content(made.picture) == content(drawn(text, EVENTS, most=most))


def test_a_key_may_have_any_name(spark: Any, events: Any) -> None:
    """Counting the events of lanes makes columns, too."""
    named = events.withColumnsRenamed({"id": "count", "x": "key_0"})
    text = "PATTERN SEQ(A a, B b) WHERE [count, key_0] WITHIN 5"
    made = neelc.timeline(named, text, name="S", timestamp="ts", type="kind", unit="s", most_events=3)
    assert len(made.picture.shown.events) == 3


def test_without_a_query_and_results_of_queries(spark: Any, events: Any, tmp_path: Path) -> None:
    made = neelc.timeline(events, timestamp="ts", type="kind", unit="s", key="id")
    assert repr(made) == "<neelc.Timeline: 16 of 16 events>"
    made.save(tmp_path / "events.html")
    assert (tmp_path / "events.html").read_text() == made.html
    assert made._repr_html_().startswith("<iframe")
    stream = neelc.stream(events, timestamp="ts", type="kind", unit="s")
    matches = neelc.sql(spark, "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 2", Events=stream)
    lasting = neelc.timeline(matches)
    assert {event.end > event.start for event in lasting.picture.shown.events} == {True}


def test_a_select_draws_its_rows(spark: Any, events: Any) -> None:
    text = "SELECT id, count(*) AS n FROM S WINDOW(TIME 2 SECONDS) GROUP BY id"
    made = neelc.timeline(events, text, name="S", timestamp="ts", unit="s")
    (panel,) = made.picture.panels
    assert panel.words == ("row", "rows") and panel.total == len(panel.found) > 0
    assert record(made.picture)["lanes"] == ["1", "2", "3", "NULL"]


RISING = (
    "SELECT * FROM S MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts, x MEASURES LAST(up.x) AS top "
    "PATTERN (strt up+) DEFINE up AS kind > PREV(kind))"
)


@pytest.mark.parametrize("most", [50_000, 12])
def test_rows_of_match_recognize(most: int, spark: Any, events: Any) -> None:
    made = neelc.timeline(events, RISING, name="S", timestamp="ts", unit="s", most_events=most)
    picture = made.picture
    expected = drawn(RISING, EVENTS, most=most)
    assert content(picture)["events"] == content(expected)["events"]
    assert content(picture)["panels"] == content(expected)["panels"]
    if most == 12:
        assert list(limits(picture)) == [
            "There are more rows than a picture shows: matches are looked for in those that are drawn.",
            "12 of 17 rows are drawn: 3 of 4 keys, those with matches first.",
        ]


def test_rows_of_a_query_before(spark: Any, events: Any) -> None:
    text = (
        "CREATE QUERY P AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 RETURN a.id AS id, a.x AS x;\n"
        "SELECT * FROM P MATCH_RECOGNIZE (ORDER BY id, x PATTERN (p q))"
    )
    stream = neelc.stream(events, timestamp="ts", type="kind", unit="s")
    found = neelc.timeline(stream, text, name="S")
    assert content(found.picture)["events"] == content(drawn(text, EVENTS))["events"]
    (limit,) = limits(neelc.timeline(stream, text, name="S", most_events=2).picture)
    assert limit.startswith("No row is drawn: ")


def test_match_recognize_that_only_spark_understands_is_refused(spark: Any, events: Any) -> None:
    with pytest.raises(neelc.NeelQueryError, match=r"NEEL4001.*does not run ORDER BY"):
        neelc.timeline(events, f"{RISING} ORDER BY top", name="S")
