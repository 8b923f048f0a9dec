"""SELECT and the MATCH_RECOGNIZE clauses: names and types."""

from __future__ import annotations

import pytest

from neelc import syntax as parse
from neelc.algebra.bind.select import query_columns
from neelc.catalog.catalog import Catalog, CatalogEntry
from neelc.findings import Findings
from neelc.ir.program import Clock, Column, Stream
from neelc.ir.script import CreateQuery, RunQuery
from neelc.ir.types import BIGINT, DOUBLE, INT, STRING, Struct, StructField
from neelc.source import Source
from neelc.syntax.printer import format_script

SERVERS = (
    Column("serverID", INT),
    Column("ts", BIGINT),
    Column("memory", DOUBLE),
    Column("disk", DOUBLE),
    Column("place", Struct((StructField("room", STRING),))),
)
STREAMS = {"Servers": SERVERS, "Rooms": (Column("room", STRING), Column("ts", BIGINT))}


def checked(text: str) -> tuple[str, list[str]]:
    """The columns of the query as text, and the codes and marked words of what is wrong with it."""
    source = Source(text)
    [statement] = parse.script(source).statements
    assert isinstance(statement, CreateQuery | RunQuery)
    clock = Clock(BIGINT, "MILLISECOND")
    entries = {
        name: CatalogEntry(name, "stream", Stream(name, of, "ts"), clock) for name, of in STREAMS.items()
    }
    findings = Findings(source)
    columns = query_columns(statement.query, Catalog(entries), findings)
    found = [f"{d.code} {text[d.span.start : d.span.end]}" for d in findings.diagnostics]
    return ", ".join(str(column) for column in columns or ()), found


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT disk * 2 AS twice, s.place.room FROM Servers s", "twice DOUBLE, room STRING"),
        (
            "SELECT AVG(memory) AS m FROM Servers WINDOW(COUNT 5 EVENTS) GROUP BY serverID",
            "m DOUBLE, serverID INT",
        ),
        (
            "SELECT * FROM Rooms r, (SELECT max(disk) AS d FROM Servers WINDOW(TIME 9)) x WHERE r.ts > x.d",
            "room STRING, d DOUBLE",
        ),
        ("SELECT a.*, b.room FROM Rooms a, Rooms b", "a_room STRING, room STRING"),
        ("SELECT * FROM Rooms a, Rooms b", "a_room STRING, b_room STRING"),
        (
            "SELECT * FROM Servers MATCH_RECOGNIZE_SEQUENTIAL (MEASURES a.disk AS peak, c.disk AS done "
            "PATTERN ab*c DEFINE a AS disk > 0.9f, b AS disk <= peak, c AS disk < 0.8f)",
            "peak DOUBLE, done DOUBLE",
        ),
        (
            "SELECT * FROM Servers s MATCH_RECOGNIZE_TEMPORAL (MEASURES START(A).serverID AS id "
            "PATTERN AABB DEFINE A AS TEMP(s.disk > 1), B AS TEMP(PREV(1).disk > 2))",
            "id INT",
        ),
        (
            "SELECT m.c FROM Servers MATCH_RECOGNIZE (PARTITION BY serverID ORDER BY ts "
            "MEASURES FINAL LAST(B.disk) AS d, CLASSIFIER() AS c, count(U.*) AS n "
            "PATTERN (A B+) SUBSET U = (A, B) DEFINE B AS B.disk > PREV(B.disk, 2)) AS m WHERE m.d > 1",
            "c STRING",
        ),
        ("SELECT room FROM MATCH(room:STRING {(Unit, x)})", "room STRING"),
    ],
)
def test_columns(text: str, columns: str) -> None:
    assert checked(text) == (columns, [])


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("SELECT disc FROM Servers", ["NEEL2003 disc"]),
        ("SELECT s.disc, t.x FROM Servers s", ["NEEL2003 disc", "NEEL2003 t"]),
        ("SELECT s.place.floor FROM Servers s", ["NEEL2014 s.place.floor"]),
        ("SELECT ts FROM Servers, Rooms", ["NEEL3201 ts"]),
        ("SELECT x FROM Server", ["NEEL2004 Server"]),
        ("SELECT disk FROM Servers WHERE disk", ["NEEL2103 disk"]),
        ("SELECT disk, count(*) FROM Servers", ["NEEL3207 disk"]),
        ("SELECT prev(disk) FROM Servers", ["NEEL3206 prev(disk)"]),
        (
            "SELECT * FROM Servers MATCH_RECOGNIZE (MEASURES 1 PATTERN (A) DEFINE B AS TRUE, A AS disk)",
            ["NEEL3202 B", "NEEL3204 1", "NEEL2103 disk"],
        ),
    ],
)
def test_problems(text: str, problems: list[str]) -> None:
    assert checked(text)[1] == problems


@pytest.mark.parametrize(
    "text",
    [
        "CREATE RELATION Rooms (id INT, room STRING) FROM 'rooms.csv' FORMAT csv;",
        "SELECT x FROM union(A WINDOW(TIME 5 SECONDS), (SELECT x FROM B) AS b) AS u WINDOW(COUNT 3 EVENTS);",
        "SELECT DISTINCT relation, `match` FROM relation AS stream;",
        "SELECT * FROM MATCH(room:STRING {(Unit, x)}) AS m, f(g(A)) AS h;",
    ],
)
def test_what_is_shown_is_read_as_the_same(text: str) -> None:
    script = parse.script(Source(text))
    assert parse.script(Source(str(script))) == script
    assert parse.script(Source(format_script(script))) == script
