"""Queries that ask for levels, and the same queries over events that have them as columns.

The second kind is the yardstick: its levels are looked up here, by a dictionary, and nothing of hierarchies
is left for neelc to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from neelc import syntax
from neelc.ir.program import Program
from neelc.program import bind
from neelc.runtime.reference import Tables
from neelc.source import Source

DECLARED = """
CREATE RELATION Places (street STRING, city STRING, country STRING);
CREATE HIERARCHY Place (street, city, country) FROM Places;
CREATE TYPE Some AS (A, B);
CREATE STREAM Reports (ts BIGINT, kind STRING, street STRING, home STRING{}) TIMESTAMP BY ts TYPE BY kind;
"""
MORE = ", city STRING, country STRING, home_city STRING"

QUERIES = (
    "PATTERN SEQ(A a, B b) WHERE {a.city} = {b.city} WITHIN 5 RETURN a.ts AS a, b.ts AS b, {a.country} AS c",
    "PATTERN SEQ(A a, !C c, B b) WHERE [{city}] WITHIN 6 RETURN a.ts AS a, b.ts AS b, {b.city} AS c",
    "PATTERN SEQ(A a, Some+ s[], C c) PARTITION BY {country} WITHIN 5"
    " RETURN a.ts AS a, count(s[]) AS n, c.ts AS c, max({s[].city}) AS m",
    "PATTERN SEQ(A a, Some+ s[]) WHERE {s[i].city} <> {a.city} WITHIN 4"
    " RETURN a.ts AS a, {s[last].city} AS c",
    "PATTERN OR(SEQ(A a, B b), C c) WITHIN 4 RETURN {a.city} AS a, {b.city} AS b, {c.country} AS c",
    "PATTERN Some a RETURN {a.country} AS c, count(*) AS n, min({a.city}) AS m",
    "PATTERN SEQ(A a, B b) WHERE {a.home_city} = {b.city} WITHIN 9 RETURN a.ts AS a, b.ts AS b",
    "PATTERN AND(A a, B b) WHERE [{city}] WITHIN 2 EVENTS RETURN a.ts AS a, b.ts AS b",
    "PATTERN SEQ(A a, B b) PARTITION BY {city} USING PARTITION CONTIGUITY RETURN a.ts AS a, b.ts AS b",
    "PATTERN SEQ(A a, B? b, C c) WHERE {a.city} = {c.city} WITHIN 6"
    " RETURN a.ts AS a, {b.city} AS b, c.ts AS c",
    "PATTERN SEQ(A a, Some s) WHERE {a.city} IS NULL OR upper({s.city}) = 'Y' WITHIN 3"
    " RETURN a.ts AS a, s.ts AS s",
)  # fmt: skip


@dataclass(frozen=True)
class HierarchyPair:
    """A query with levels, and its yardstick, over their tables."""

    text: str
    asked: Program
    yardstick: Program
    tables: Tables
    plain_tables: Tables


def pairs(random: Random) -> list[HierarchyPair]:
    """All queries over one choice of tables."""
    places = _places(random)
    reports = _reports(random)
    tables = {"Places": places, "Reports": reports}
    known = {row["street"]: row for row in places if row["street"] is not None}
    for row in places:  # NULL is not known: another row may know it
        for level in ("city", "country"):
            if row[level] is not None and row["street"] is not None:
                known[row["street"]] = {**known[row["street"]], level: row[level]}
    empty: dict[str, object] = {"city": None, "country": None}
    plain = [
        {
            **row,
            "city": known.get(row["street"], empty)["city"],
            "country": known.get(row["street"], empty)["country"],
            "home_city": known.get(row["home"], empty)["city"],
        }
        for row in reports
    ]
    return [
        HierarchyPair(text, _bound(_asked(text), ""), _bound(_plain(text), MORE), tables, {"Reports": plain})
        for text in QUERIES
    ]


def _places(random: Random) -> list[dict[str, object]]:
    cities = {city: random.choice(["k", "l", None]) for city in "xyz"}
    rows: list[dict[str, object]] = []
    for street in "pqrst":
        city = random.choice([*cities, None])
        rows.append({"street": street, "city": city, "country": cities.get(city or "")})
    rows.append(random.choice(rows))
    rows.append({**random.choice(rows), "city": None})
    rows.append({"street": None, "city": "x", "country": "k"})
    random.shuffle(rows)
    return rows


def _reports(random: Random) -> list[dict[str, object]]:
    streets = [*"pqrst", "unknown", None]
    return [
        {
            "ts": ts,
            "kind": random.choice("ABC"),
            "street": random.choice(streets),
            "home": random.choice(streets),
        }
        for ts in sorted(random.choices(range(14), k=12))
    ]


def _bound(text: str, more: str) -> Program:
    source = Source(DECLARED.format(more) + text)
    return bind(syntax.script(source), source)


def _plain(text: str) -> str:
    """
    >>> _plain("{a.city} = {city}")
    'a.city = city'
    """
    return text.replace("{", "").replace("}", "")


def _asked(text: str) -> str:
    """
    >>> _asked("[{city}] AND {b[i].home_city} = 'x'")
    "[level(street, Place.city)] AND level(b[i].home, Place.street, Place.city) = 'x'"
    """
    pieces = []
    for piece in text.split("{"):
        inside, closed, rest = piece.partition("}")
        if not closed:
            pieces.append(piece)
            continue
        event, dot, level = inside.rpartition(".")
        if level == "home_city":
            pieces.append(f"level({event}{dot}home, Place.street, Place.city){rest}")
        else:
            pieces.append(f"level({event}{dot}street, Place.{level}){rest}")
    return "".join(pieces)
