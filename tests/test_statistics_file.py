"""Statistics in a JSON file: what it says, which source goes first, and what is wrong with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repository import ROOT
from statistics_sources import gathered

from neelc.catalog.statistics.file import statistics_in
from neelc.catalog.statistics.numbers import Statistics, known
from neelc.files import CallError
from neelc.ir.program import Match
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script


def from_file(directory: Path, text: str, more: str = "") -> tuple[Statistics, Match]:
    (directory / "stats.json").write_text(text)
    return gathered(directory, "--stats", str(directory / "stats.json"), more=more)


FILE = """{"streams": {
  "trades": {
    "events": 2000, "seconds": 100,
    "types": {"A": {"share": 0.25, "columns": {"id": {"distinct": 7}}, "selectivities": {"price > 10": 0.5}}},
    "columns": {
      "id": {"distinct": 20, "nulls": 0.125, "most_frequent": 0.2},
      "PRICE": {"least": -1, "greatest": 2e1}
    },
    "selectivities": {"a.id = p.id": 0.05}
  },
  "Pairs": {"events_per_second": 0.5, "columns": {"id": {"distinct": 3}}},
  "Other": {"anything": "is not judged"}
}}"""


def test_a_file(tmp_path: Path) -> None:
    found, query = from_file(tmp_path, FILE)
    facts = {
        "total": found.total(query, "A"),
        "rate": found.rate(query, "A"),
        "ids": found.distinct(query, "A", "id"),
        "nulls": found.nulls(query, "A", "id"),
        "frequent": found.most_frequent(query, "A", "id"),
        "pairs": found.rate(query, "Pairs"),
        "pair ids": found.distinct(query, "Pairs", "id"),
    }
    assert {name: fact.value for name, fact in facts.items()} == {
        "total": 500,
        "rate": 5,
        "ids": 7,
        "nulls": 0.125,
        "frequent": 0.2,
        "pairs": 0.5,
        "pair ids": 3,
    }
    assert {fact.origin for fact in facts.values()} == {"file"}
    low, high = found.bounds(query, "A", "price") or (None, None)
    assert low and high and (low.value, high.value, low.origin) == (-1, 20, "file")
    assert query.pattern.where is not None
    selectivity = found.declared_selectivity(query, query.pattern.where)
    assert selectivity is not None and (selectivity.value, selectivity.origin) == (0.05, "file")
    [note] = found.notes
    assert note.endswith("streams.Other: the script has no such stream; streams: Trades, Pairs")


def test_the_script_goes_before_the_file(tmp_path: Path) -> None:
    found, query = from_file(tmp_path, FILE, "WITH STATS (EVENTS 100, TYPE A DISTINCT id 4)")
    assert found.total(query, "A").value == 25
    assert found.total(query, "A").origin == "file"  # the share is the file's
    assert (found.distinct(query, "A", "id").value, found.distinct(query, "A", "id").origin) == (
        4,
        "declared",
    )


def test_a_selectivity_that_fits_no_condition(tmp_path: Path) -> None:
    found, _ = from_file(tmp_path, '{"streams": {"Trades": {"selectivities": {"a.price > 11": 0.5}}}}')
    assert found.notes == ("Trades: no condition reads `11 < a.price`, for which a selectivity is given",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON: Expecting value (line 1, column 1)"),
        (
            '{"streams":\n  {,}}',
            "not JSON: Expecting property name enclosed in double quotes (line 2, column 4)",
        ),
        ("[]", "an object is expected, found a list"),
        ('{"stream": {}}', 'no key "stream" belongs here; did you mean streams?'),
        ('{"streams": 5}', "streams: an object is expected, found 5"),
        (
            '{"streams": {"Trades": {"evnts": 5}}}',
            'streams.Trades: no key "evnts" belongs here; did you mean events?',
        ),
        (
            '{"streams": {"Trades": {"events": "5"}}}',
            'streams.Trades.events: a number is expected, found "5"',
        ),
        (
            '{"streams": {"Trades": {"events": true}}}',
            "streams.Trades.events: a number is expected, found true",
        ),
        ('{"streams": {"Trades": {"events": NaN}}}', "NaN is not a number"),
        ('{"streams": {"Trades": {"events": 1e999}}}', "streams.Trades.events: 1E+999 is too large"),
        ('{"streams": {"Trades": {"events": -5}}}', "streams.Trades.events: EVENTS is at least 0, not -5"),
        ('{"streams": {"Trades": {}, "Trades": {}}}', 'the key "Trades" occurs twice in one object'),
        (
            '{"streams": {"Trades": {"events": 1}, "trades": {"events": 2}}}',
            "streams.trades: stream Trades occurs twice in the file",
        ),
        (
            '{"streams": {"Trades": {"columns": {"prise": {"nulls": 0}}}}}',
            "streams.Trades.columns.prise.nulls: stream `Trades` has no column `prise` for NULLS; "
            "did you mean `price`? columns of Trades: ts, kind, id, price",
        ),
        (
            '{"streams": {"Trades": {"columns": {"price": {"nulls": 3}}}}}',
            "streams.Trades.columns.price.nulls: NULLS is a number from 0 to 1, not 3; 20 percent is 0.2",
        ),
        (
            '{"streams": {"Trades": {"columns": {"price": {"least": 3}}}}}',
            "streams.Trades.columns.price: least and greatest belong together",
        ),
        (
            '{"streams": {"Trades": {"types": {"A": {"seconds": 3}}}}}',
            'streams.Trades.types.A: no key "seconds" belongs here; '
            "keys: events, events_per_second, share, columns, selectivities",
        ),
        (
            '{"streams": {"Pairs": {"types": {"A": {"share": 1}}}}}',
            "streams.Pairs.types.A.share: stream `Pairs` has no type column, and so no events of type `A`; "
            "leave out TYPE A, or add TYPE BY column",
        ),
        (
            '{"streams": {"Trades": {"selectivities": {"a.x >": 0.5}}}}',
            'streams.Trades.selectivities."a.x >": not a condition: '
            "the statement ends where an expression is expected",
        ),
    ],
)
def test_a_wrong_file(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CallError) as raised:
        from_file(tmp_path, text)
    assert str(raised.value) == f"{tmp_path / 'stats.json'}: {message}"


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"none\.json: no such file"):
        gathered(tmp_path, "--stats", str(tmp_path / "none.json"))


def test_the_page_says_the_same_in_both_ways() -> None:
    page = (ROOT / "docs" / "reference" / "statistics.md").read_text()
    [declaration] = re.findall(r"```neel\n(.*?)```", page, re.DOTALL)
    [text] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    source = Source(declaration)
    [stream] = bind(script(source), source).streams
    found, notes = statistics_in(text, "stats.json", {stream.name: stream})
    declared = known(stream.name, stream.statistics, "file")
    assert sorted(found, key=str) == sorted(declared, key=str)
    assert notes == ()
