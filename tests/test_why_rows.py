"""`neelc why` of MATCH_RECOGNIZE: how many rows fit, and what the next row fails."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from command_line import Here
from generate.row_patterns import clause
from generate.row_patterns import rows as random_rows
from in_rows import bound

from neelc import syntax as parse
from neelc.errors import NeelError
from neelc.program import bind
from neelc.runtime.reference.model import LimitReached
from neelc.runtime.reference.recognize import CannotSkip, in_partitions, matches
from neelc.source import Source
from neelc.tools.why.model import StartExplanation
from neelc.tools.why.rows import explained_rows, rows_request

ROWS = "n,symbol,price\n1,a,10\n2,a,8\n3,a,6\n4,a,7\n5,a,9\n6,a,9\n1,b,5\n2,b,4\n3,b,6\n4,b,5\n5,b,7\n"
SCRIPT = """\
CREATE STREAM ticks (n BIGINT, symbol STRING, price DOUBLE) TIMESTAMP BY n FROM 'ticks.csv';
SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY n MEASURES strt.n AS start, LAST(up.n) AS finish
  PATTERN (strt down+ up+)
  DEFINE down AS price < PREV(price), up AS price > PREV(price) AND up.price > strt.price
);
"""
STOPPED = """\
row 1 at 1: no match, 3 rows fit
  STRT  row 1  1
  DOWN  row 2  2
  DOWN  row 3  3
  stopped at UP:
    UP  row 4  4
    fails  UP.price > STRT.price  UP.price = 7.0, STRT.price = 10.0
  or at DOWN:
    DOWN  row 4  4
    fails  price < PREV(price, 1)  price = 7.0, PREV(price, 1) = 6.0
"""
MATCHING = """\
row 1 at 1: match
  STRT  row 1  1
  DOWN  row 2  2
  UP    row 3  3
  holds  price < PREV(price, 1)  price = 4.0, PREV(price, 1) = 5.0
  holds  price > PREV(price, 1)  price = 6.0, PREV(price, 1) = 4.0
  holds  UP.price > STRT.price   UP.price = 6.0, STRT.price = 5.0
"""


@pytest.fixture
def neelc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.chdir(tmp_path)
    here = Here(tmp_path, capsys)
    here.write("rows.neel", SCRIPT)
    here.write("ticks.csv", ROWS)
    return here


def test_texts(neelc: Here) -> None:
    stopped = neelc("why", "rows.neel", "--engine", "reference", "--key", "a")
    assert stopped.status == 0 and STOPPED in stopped.out
    assert "row 6 at 6: no match, 1 row fits\n  STRT  row 6  6\n  stopped at the next row" in stopped.out
    matching = neelc("why", "rows.neel", "--engine", "reference", "--key", "symbol=b", "--between", "1", "3")
    assert MATCHING in matching.out and matching.out.endswith("3 start events: 1 with a match, 2 without\n")
    passed = (
        "note: it would match, but AFTER MATCH SKIP leads past it: the match before starts with row 1 at 1"
    )
    assert passed in matching.out


def test_what_cannot_be_asked(neelc: Here) -> None:
    call = ("why", "rows.neel", "--engine", "reference")
    assert "no event has symbol = c; there are: a, b" in neelc(*call, "--key", "c").err
    assert "between x 3: not values of type BIGINT" in neelc(*call, "--between", "x", "3").err
    neelc.write("rows.neel", SCRIPT.replace("\n);", "\n) ORDER BY start;"))
    found = neelc("why", "rows.neel")
    assert found.status == 1 and "the reference engine does not run ORDER BY" in found.err
    assert "why finds the matches again by itself, which requires a simple query" in found.err


def test_a_page_has_a_note_at_each_row(neelc: Here) -> None:
    call = ("why", "rows.neel", "--engine", "reference", "--key", "b", "--report", "page.html")
    assert neelc(*call).status == 0
    page = neelc.read("page.html")
    assert "1 match among 5 rows." in page and "5 notes" in page
    assert '[0,3,"row 4 at 4: no match' in page
    neelc.write("rows.neel", SCRIPT.replace("ORDER BY n", "ORDER BY price"))
    assert neelc(*call).status == 0
    assert "Notes are not drawn: ORDER BY begins with no time or integer" in neelc.read("page.html")


def test_only_what_the_clause_reads_is_read() -> None:
    source = Source(
        "CREATE STREAM other (n BIGINT, x STRING) TIMESTAMP BY n;\n" + SCRIPT.replace(" FROM 'ticks.csv'", "")
    )
    program = bind(parse.read(source), source)
    request = rows_request(program, 0, ["a"], None, source)
    assert list(request.streams) == ["ticks"] and request.filtered == "ticks"
    nested = source.text.replace("price < PREV(price)", "price IN (SELECT n FROM other)")
    request = rows_request(bind(parse.read(Source(nested)), Source(nested)), 0, ["a"], None, Source(nested))
    assert sorted(request.streams) == ["other", "ticks"] and request.filtered is None


def check(number: int) -> list[StartExplanation]:
    """The explanations of the rows of a random clause, compared with its matches."""
    chance = Random(number)
    try:
        query = bound(clause(chance))
    except NeelError:
        return []
    explanations = []
    for rows in in_partitions(query, random_rows(chance)):
        try:
            found = {one.start for one in matches(query, rows) if one.number is not None}
        except (CannotSkip, LimitReached):
            continue
        explained = list(explained_rows(query, rows, {}))
        assert {place for place, one in enumerate(explained) if one.matches} == found
        assert all(len(one.events) == one.reached and one.lines for one in explained)
        explanations += explained
    return explanations


def test_rows_match_that_the_reference_matches() -> None:
    explanations = [one for number in range(100) for one in check(number)]
    assert {one.matches for one in explanations} == {True, False}
    assert sum(bool(one.stopped) for one in explanations) > 60
