"""The format of case files: the errors for malformed ones, how they are compared and filled in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from neelc.ir.patterns import Or, Pattern
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules import driver as forms
from neelc.pattern.rules.rule import PatternBatch
from neelc.tools import cases

GOOD = """\
# Two in a row.
events trades
t  sym  price
1  A    10
2  B    11

query
PATTERN SEQ(A a, B b)
RETURN a.t AS a, b.price AS price

matches
a  price
1  11
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "some.case"
    path.write_text(text)
    return path


MALFORMED = {
    "no query": ("# x\n", "some.case:1: a case has one `query` section; here are 0"),
    "two queries": (
        GOOD + "query\nPATTERN A a\n",
        "some.case:14: a case has one `query` section; here are 2",
    ),
    "a stray line": ("# x\nPATTERN A a\n", "some.case:2: expected a comment or a section"),
    "matches and error": (
        GOOD + "error\nx\n",
        "some.case:14: a case has one `matches` or one `error` section",
    ),
    "rows after none": (
        GOOD.replace("matches\n", "matches none\n"),
        "some.case:12: `matches none` is followed by rows",
    ),
    "a short row of events": (
        GOOD.replace("1  A    10", "1  A"),
        "some.case:4: cells in this row: 2, in the header: 3",
    ),
    "a long row of matches": (
        GOOD.replace("1  11\n", "1  11  12\n"),
        "some.case:13: cells in this row: 3, in the header: 2",
    ),
    "no header": (
        GOOD.replace("t  sym  price\n1  A    10\n2  B    11\n", ""),
        "some.case:2: the section has no header",
    ),
    "an unknown option": (
        GOOD.replace("events trades", "events trades size 5"),
        "some.case:2: expected `events NAME`",
    ),
    "half an option": (
        GOOD.replace("events trades", "events trades end"),
        "some.case:2: expected `events NAME`",
    ),
    "an unknown unit": (
        GOOD.replace("events trades", "events trades unit blinks"),
        "some.case:2: `blinks` is not a unit",
    ),
    "an unknown column": (
        GOOD.replace("events trades", "events trades timestamp ts"),
        "some.case:2: no column `ts`; columns: t, sym, price",
    ),
    "an unknown type": (
        GOOD.replace("price\n1  A", "price:NUMBER\n1  A"),
        "some.case:3: `NUMBER` is not a type",
    ),
    "events twice": (GOOD + "events Trades\nt\n", "some.case:14: a second `events Trades`"),
    "an unknown rule": (
        GOOD + "\nfires flatten_sequence\n       flaten_sequence\n",
        "some.case:16: no rule `flaten_sequence`; did you mean `flatten_sequence`? rules: ",
    ),
    "an unknown rule that is silent": (
        GOOD + "\nsilent no_rule\n",
        "some.case:15: no rule `no_rule`; rules: ",
    ),
    "a script without a query": (
        GOOD.replace("PATTERN SEQ(A a, B b)\nRETURN a.t AS a, b.price AS price", "CREATE TYPE X AS (A, B)"),
        "some.case:7: the script has no query to run",
    ),
    "two sections of warnings": (
        GOOD + "\nwarnings none\n\nwarnings none\n",
        "some.case:17: a case has one `warnings` section",
    ),
    "no warnings and some": (
        GOOD + "\nwarnings none\nwarning[NEEL6003]: no window\n",
        "some.case:16: `warnings none` is followed by text",
    ),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed(what: str, tmp_path: Path) -> None:
    text, message = MALFORMED[what]
    with pytest.raises(cases.CaseError) as raised:
        cases.run_case(cases.load(write(tmp_path, text)))
    assert message in str(raised.value)


def test_a_good_case_passes(tmp_path: Path) -> None:
    outcome = cases.run_case(cases.load(write(tmp_path, GOOD)))
    assert (outcome.passed, outcome.diff) == (True, "")


def test_a_row_may_be_written_in_other_words(tmp_path: Path) -> None:
    text = GOOD.replace("t  sym  price", "t  sym  price:DOUBLE").replace("1  11\n", "1  1.1e1\n")
    assert cases.run_case(cases.load(write(tmp_path, text))).passed


def test_rows_that_differ_are_shown(tmp_path: Path) -> None:
    outcome = cases.run_case(cases.load(write(tmp_path, GOOD.replace("1  11\n", "1  12\n"))))
    assert outcome.diff == "  a  price\n- 1  12\n+ 1  11"


def test_a_row_too_often_is_one_row_too_many(tmp_path: Path) -> None:
    outcome = cases.run_case(cases.load(write(tmp_path, GOOD + "1  11\n")))
    assert outcome.diff == "  a  price\n- 1  11"


def test_columns_that_differ_are_shown(tmp_path: Path) -> None:
    outcome = cases.run_case(
        cases.load(write(tmp_path, GOOD.replace("a  price\n1  11", "price  a\n11     1")))
    )
    assert outcome.diff == "columns differ:\n- price  a\n+ a  price"


def test_a_header_may_ask_for_types(tmp_path: Path) -> None:
    fits = GOOD.replace("a  price\n1  11", "a:BIGINT  price:BIGINT\n1  11")
    assert cases.run_case(cases.load(write(tmp_path, fits))).passed
    outcome = cases.run_case(cases.load(write(tmp_path, fits.replace("price:BIGINT", "price:INT"))))
    assert outcome.diff == "columns differ:\n- a:BIGINT  price:INT\n+ a:BIGINT  price:BIGINT"


def test_an_error_where_matches_are_expected(tmp_path: Path) -> None:
    outcome = cases.run_case(cases.load(write(tmp_path, GOOD.replace("b.price", "c.price"))))
    assert not outcome.passed
    assert "+ error[NEEL" in outcome.diff and "- 1  11" in outcome.diff


@pytest.mark.parametrize(
    "before",
    [
        GOOD.replace("1  11\n", "7  7\n"),
        GOOD.replace("a  price\n1  11\n", ""),
        GOOD.replace("matches\na  price\n1  11\n", "").rstrip() + "\n",
        GOOD.replace("matches\na  price\n1  11\n", "error\nerror[NEEL1001]: something\n"),
    ],
    ids=["other rows", "no rows yet", "no section yet", "an error before"],
)
def test_update_fills_in(before: str, tmp_path: Path) -> None:
    path = write(tmp_path, before)
    assert cases.update(path)
    assert path.read_text() == GOOD
    assert not cases.update(path), "a second time there is nothing to do"


def test_update_keeps_the_sections_after(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("1  11\n", "7  7\n\nfires  some_rule\n"))
    cases.update(path)
    assert path.read_text() == GOOD + "\nfires  some_rule\n"


def test_update_writes_errors_and_none(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("b.price", "c.price"))
    cases.update(path)
    assert "\nerror\nerror[NEEL" in path.read_text()
    path = write(tmp_path, GOOD.replace("RETURN", "WHERE a.price > 99 RETURN"))
    cases.update(path)
    assert path.read_text().endswith("\nmatches none\n")
    assert cases.run_case(cases.load(path)).passed


def test_update_keeps_types_in_the_header(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("a  price\n1  11", "a  price:BIGINT\n7  7"))
    cases.update(path)
    assert path.read_text() == GOOD.replace("a  price\n1  11", "a  price:BIGINT\n1  11")


NESTED = GOOD.replace("SEQ(A a, B b)", "SEQ(A a, SEQ(!A c, B b))")


def test_rules_that_fire_and_rules_that_do_not(tmp_path: Path) -> None:
    rules = "\nfires   flatten_sequence  # names may be explained\nsilent  push_negation_into_sequence\n"
    assert cases.run_case(cases.load(write(tmp_path, NESTED + rules))).passed


def test_a_rule_that_should_have_fired(tmp_path: Path) -> None:
    outcome = cases.run_case(cases.load(write(tmp_path, GOOD + "\nfires flatten_sequence\n")))
    assert (outcome.passed, outcome.diff) == (
        False,
        "fires flatten_sequence: it did not fire; rules that did: none",
    )


def test_a_rule_that_says_why_it_did_not_fire(tmp_path: Path) -> None:
    query = "SEQ(A a, !SEQ(B b, A c WHERE b.price = c.price), B b2)"
    text = GOOD.replace("SEQ(A a, B b)", query).replace("b.price AS", "b2.price AS")
    outcome = cases.run_case(cases.load(write(tmp_path, text + "\nfires push_negation_into_sequence\n")))
    assert "it did not fire (b.price = c.price ties the negated events together" in outcome.diff


def test_a_rule_that_should_have_been_silent(tmp_path: Path) -> None:
    outcome = cases.run_case(cases.load(write(tmp_path, NESTED + "\nsilent flatten_sequence\n")))
    assert not outcome.passed
    fired = "silent flatten_sequence: it fired\n  before SEQ(A a, SEQ(!A c, B b))\n  after "
    assert outcome.diff.startswith(fired)


def test_a_rule_that_changes_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget_last(part: Pattern, facts: QueryFacts) -> Pattern | None:
        return replace(part, parts=part.parts[:-1]) if isinstance(part, Or) and part.parts[1:] else None

    broken = PatternBatch("broken", "a rule that is wrong", parts=(forget_last,))
    monkeypatch.setitem(forms.FORMS, "broken form", (broken,))
    text = GOOD.replace("SEQ(A a, B b)", "OR(SEQ(B x, A y), SEQ(A a, B b))").replace("a.t", "a.ts")
    outcome = cases.run_case(cases.load(write(tmp_path, text)))
    assert outcome.diff == "rewritten (broken form) to\nOR(SEQ(B x, A y))\n:\n  a  price\n- 1  11"


WARNED = GOOD.replace(
    "PATTERN SEQ(A a, B b)", "PATTERN SEQ(A a, B b) WHERE a.price > 9 OR a.price <= 9 WITHIN 5 SECONDS"
)
WARNING = """\
warnings
warning[NEEL6004]: `a.price > 9 OR a.price <= 9` is TRUE for all values except NULL
 --> query:1:29
  |
1 | PATTERN SEQ(A a, B b) WHERE a.price > 9 OR a.price <= 9 WITHIN 5 SECONDS
  |                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  = hint: was another variable or value intended? otherwise write a.price IS NOT NULL
"""


def test_warnings_are_compared_where_a_case_speaks_of_them(tmp_path: Path) -> None:
    assert cases.run_case(cases.load(write(tmp_path, WARNED))).passed
    assert cases.run_case(cases.load(write(tmp_path, f"{WARNED}\n{WARNING}"))).passed
    outcome = cases.run_case(cases.load(write(tmp_path, f"{WARNED}\nwarnings none\n")))
    assert not outcome.passed
    assert outcome.diff.startswith("warnings differ:\n- no warnings\n+ warning[NEEL6004]: `a.price > 9")


def test_update_writes_warnings(tmp_path: Path) -> None:
    for before in ("warnings\n", "warnings none\n", WARNING.replace("9 OR", "8 OR")):
        path = write(tmp_path, f"{WARNED.replace('1  11', '7  7')}\n{before}")
        assert cases.update(path)
        assert path.read_text() == f"{WARNED}\n{WARNING}"
        assert not cases.update(path)
    path = write(tmp_path, f"{GOOD.replace('B b)', 'B b) WITHIN 5')}\n{WARNING}")
    cases.update(path)
    assert path.read_text().endswith("1  11\n\nwarnings none\n")
