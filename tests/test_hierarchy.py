"""Levels, concepts and roll-ups: what the reference and the kernel find, and what a query becomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from binding import problems
from hierarchies import pairs
from in_kernel import as_bindings, kernel_matches
from invariants import check

from neelc import syntax
from neelc.arguments import Options
from neelc.cli import main
from neelc.errors import NeelError
from neelc.ir.program import LevelColumn, Match, Program
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.rules.driver import forms
from neelc.pipeline import compile_program
from neelc.program import bind
from neelc.runtime.reference import matches, run
from neelc.runtime.values.order import comparable
from neelc.source import Source
from neelc.tools.lints import lints

DECLARED = """
CREATE RELATION Places (street STRING, city STRING, country STRING);
CREATE STREAM Reports (ts BIGINT, kind STRING, street STRING, city STRING) TIMESTAMP BY ts TYPE BY kind;
CREATE TYPE Car AS (Taxi, Van);
CREATE TYPE Vehicle AS (Car, Bus);
CREATE HIERARCHY Place (street, city, country) FROM Places;
"""


def bound(text: str) -> Program:
    source = Source(DECLARED + text)
    return bind(syntax.script(source), source)


def last(text: str) -> Match:
    return bound(text).queries[-1].match


@pytest.mark.parametrize("seed", range(20))
def test_levels_are_what_columns_of_the_data_would_be(seed: int) -> None:
    """The reference finds the same, and the kernel finds what the reference does, in all forms."""
    found = 0
    for one in pairs(Random(seed)):
        [(_, asked)], [(_, expected)] = run(one.asked, one.tables), run(one.yardstick, one.plain_tables)
        rows = Counter(map(comparable, expected.rows))
        assert Counter(map(comparable, asked.rows)) == rows, one.text
        found += len(rows)
        match = one.asked.queries[-1].match
        check(match)
        reference = as_bindings(matches(match, one.tables))
        for form in forms(match):
            try:
                kernel = as_bindings(kernel_matches(form.rewriting.query, one.tables))
            except UnsupportedQuery:
                continue
            assert kernel == reference, (one.text, form)
    assert found > 2, "tables in which nothing is found compare nothing"


FINE = "CREATE QUERY Fine AS PATTERN "


@pytest.mark.parametrize(
    ("fine", "steps", "coarse"),
    [
        (
            "SEQ(Taxi a, !Van v, Bus b) WHERE [street] AND a.street <> b.street WITHIN 9"
            " RETURN b.street AS s",
            "ROLL UP Fine (Taxi TO Vehicle, street TO Place.country)",
            "SEQ(Vehicle a, !Van v, Bus b) WHERE [level(street, Place.country)]"
            " AND level(a.street, Place.country) <> level(b.street, Place.country) WITHIN 9"
            " RETURN level(b.street, Place.country) AS s",
        ),
        (
            "SEQ(Taxi+ a[], Bus b) WHERE a[i].street = a[i-1].street WITHIN 9 RETURN count(a[]) AS n",
            "ROLL UP Fine (Taxi TO Car, street TO Place.city)",
            "SEQ(Car+ a[], Bus b) WHERE level(a[i].street, Place.city) = level(a[i-1].street, Place.city)"
            " WITHIN 9 RETURN count(a[]) AS n",
        ),
        (
            "SEQ(Car a, Bus b) PARTITION BY level(street, Place.city) WITHIN 9"
            " RETURN level(a.street, Place.city)",
            "DRILL DOWN Fine (Car TO Van, city TO Place.street)",
            "SEQ(Van a, Bus b) PARTITION BY street WITHIN 9 RETURN a.street",
        ),
        (
            "SEQ(Car a, Bus b) WHERE [level(street, Place.country)] WITHIN 9 RETURN a.ts AS a",
            "DRILL DOWN Fine (country TO Place.city)",
            "SEQ(Car a, Bus b) WHERE [level(street, Place.city)] WITHIN 9 RETURN a.ts AS a",
        ),
        (
            "SEQ(Car a, Bus b) WHERE [city] WITHIN 9 RETURN a.city",
            "DRILL DOWN Fine (city TO Place.street)",
            "SEQ(Car a, Bus b) WHERE [street] WITHIN 9 RETURN a.street",
        ),
        (
            "SEQ(Taxi a, Bus b) WHERE level(a.street, Place.country) = 'France' AND [street]"
            " WITHIN 9 RETURN a.ts AS a",
            "ROLL UP Fine (street TO Place.city)",
            "SEQ(Taxi a, Bus b) WHERE level(a.street, Place.country) = 'France'"
            " AND [level(street, Place.city)] WITHIN 9 RETURN a.ts AS a",
        ),
        (
            "SEQ(Taxi, Bus, Bus) WHERE Taxi.ts > 3 WITHIN 9 RETURN Taxi.ts",
            "ROLL UP Fine (Taxi TO Car, Bus TO Vehicle)",
            "SEQ(Car Taxi, Vehicle, Vehicle) WHERE Taxi.ts > 3 WITHIN 9 RETURN Taxi.ts",
        ),
    ],
)
def test_a_roll_up_is_the_pattern_that_one_would_write(fine: str, steps: str, coarse: str) -> None:
    rolled, written = last(f"{FINE}{fine};\n{steps};"), last(f"PATTERN {coarse};")
    assert (rolled.pattern, rolled.outputs, rolled.partition) == (
        written.pattern,
        written.outputs,
        written.partition,
    )
    assert (rolled.streams, rolled.types) == (written.streams, written.types)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Binding the rolled-up query fails where the other one is right: it is said of the roll-up.
        (
            "CREATE STREAM Trams (ts BIGINT) TIMESTAMP BY ts; CREATE TYPE Any AS (Reports, Trams);"
            "CREATE QUERY Own AS PATTERN SEQ(Reports a, Reports b) WHERE [street] WITHIN 9;"
            "ROLL UP Own (Reports TO Any)",
            [],
        ),
        (
            "CREATE STREAM Trams (ts BIGINT, street INT) TIMESTAMP BY ts;"
            "CREATE TYPE Any AS (Reports, Trams);"
            "CREATE QUERY Own AS PATTERN SEQ(Reports a, Reports b) WHERE [street] WITHIN 9;"
            "ROLL UP Own (Reports TO Any)",
            [("NEEL2015", "ROLL UP Own (Reports TO Any)")],
        ),
        (
            "CREATE QUERY Cities AS PATTERN SEQ(Car a, Bus b) WHERE [level(city, Place.country)] WITHIN 9;"
            "DRILL DOWN Cities (country TO Place.street)",
            [("NEEL3061", "street")],
        ),
        ("CREATE HIERARCHY Vehicle (street, city) FROM Places", [("NEEL2201", "Vehicle")]),
        ("CREATE HIERARCHY P (street, city, street) FROM Places", [("NEEL2202", "street")]),
        ("SELECT level(street, Place.city) AS c FROM Reports", [("NEEL3031", "level(street, Place.city)")]),
    ],
)  # fmt: skip
def test_errors(text: str, expected: list[tuple[str, str]]) -> None:
    assert problems(text, DECLARED) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DRILL UP Fine (Car TO Taxi)", "`DRILL UP` is not an operation"),
        ("PATTERN SEQ(Car a, Bus b) WHERE [levl(street, Place.city)]", "an attribute is expected here"),
        ("PATTERN Car a PARTITION BY level(street, P.a, P.b, P.c)", "an attribute is expected here"),
    ],
)
def test_what_is_no_text(text: str, message: str) -> None:
    with pytest.raises(NeelError, match=message):
        bound(text)


def test_a_stream_is_read_once_for_all_levels() -> None:
    """Also where the queries that read it ask for different ones."""
    source = compile_program(
        bound(
            "CREATE QUERY One AS PATTERN SEQ(Car a, Bus b) WHERE [level(street, Place.city)] WITHIN 9"
            " RETURN a.street AS street;"
            "PATTERN SEQ(One o, Bus b) WHERE level(o.street, Place.country) = level(b.street, Place.country)"
            " WITHIN 9 RETURN o.street AS s;"
        )
    ).source
    assert source.count('streams["Reports"]') == 1
    # A city and a country for Reports; the countries are looked up for One, too, and written once.
    assert source.count("# Hierarchy Place") == 2
    assert source.count("country_of_street") == 3
    assert 'one.alias("event")' in source


def test_levels_of_matches_over_streams_without_end_are_refused() -> None:
    program = bound(
        "CREATE QUERY One AS PATTERN SEQ(Car a, Bus b) WITHIN 9 RETURN a.street AS street;"
        "PATTERN SEQ(One o, Bus b) WHERE level(o.street, Place.city) = 'Roma' WITHIN 9 RETURN o.street AS s;"
    ).with_streams(lambda one: replace(one, watermark=1_000_000, is_streaming=True))
    with pytest.raises(UnsupportedQuery, match="the city of street in Place, of what `One` finds") as refused:
        compile_program(program, -1, Options(streaming=True))
    assert refused.value.hint == "return it in `One`, and read it as an attribute"


def test_streams_keep_what_their_queries_derive() -> None:
    program = bound("PATTERN Car a RETURN level(a.street, Place.city)")
    [stream] = (
        program.with_streams(lambda one: replace(one, watermark=1, derived=())).queries[0].match.streams
    )
    assert stream.watermark == 1
    assert [type(one) for one in stream.derived] == [LevelColumn]
    assert [table.name for table in stream.tables] == ["Reports", "Places"]


def test_relations_in_files_are_not_counted_as_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "places.csv").write_text("street,city,country\nRue,Paris,France\n")
    (tmp_path / "reports.csv").write_text("ts,kind,street,city\n1,Taxi,Rue,Paris\n")
    text = DECLARED.replace("country STRING);", "country STRING) FROM 'places.csv';")
    text = text.replace("TYPE BY kind;", "TYPE BY kind FROM 'reports.csv';")
    (tmp_path / "script.neel").write_text(f"{text}PATTERN Car a RETURN level(a.street, Place.country);")
    assert main(["explain", str(tmp_path / "script.neel")]) == 0
    assert "country of street in Place, looked up in Places" in capsys.readouterr().out
    assert main(["run", "--engine", "reference", str(tmp_path / "script.neel")]) == 0
    assert capsys.readouterr().out.split() == ["a_country", "France"]


def test_a_warning_about_both_queries_is_given_once() -> None:
    text = DECLARED + FINE + "SEQ(Taxi a, Bus b) WHERE a.ts > b.ts WITHIN 9; ROLL UP Fine (Taxi TO Car);"
    assert [one.code for one in lints(bound(text.removeprefix(DECLARED)), Source(text))] == ["NEEL6005"]
