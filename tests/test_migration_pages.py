"""Every row of the tables on the pages for people who come from other systems says what neelc has for it.

The right cell of a row either holds forms of neelc, as code, or says "not in neelc, because". Each form is
made a query and run by the definition, in all its rewritten forms, and on the local engine; all must find
the same, and find something.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from repository import ROOT
from snippets import FENCE

from neelc.tools.cases import run_case
from neelc.tools.cases.file import parse
from neelc.tools.cases.local import run_locally

PAGES = [
    ROOT / "docs" / "how-to" / f"coming-from-{name}.md"
    for name in ("flink-cep", "esper", "match-recognize", "windowfunnel")
]

LETTERS = """\
events log unit SECOND
t:INT  type:STRING  id:INT  v:INT  price:DOUBLE
0      S            1       0      1
1      A            1       1      10
2      B            1       2      11
3      A            1       3      12
5      C            1       9      9
6      X            1       8      13
8      B            1       5      14
9      C            1       1      8
70     A            2       4      10
75     B            2       6      9
80     C            2       7      9
1000   S            3       0      1
1001   A            3       1      2
1002   A            3       2      3
1003   A            3       3      4
1004   A            3       4      5
1005   A            3       6      7
1006   C            3       1      1
1007   B            3       2      2
3000   A            3       1      1
9000   C            3       1      1
"""
PAYMENTS = (
    LETTERS
    + """
events payments unit SECOND
t:INT  type:STRING  id:INT
4      P            1
"""
)
CLICKS = """\
events log unit SECOND
t:INT  page:STRING  user:STRING
0      login        ann
1      view         ann
2      view         ann
3      home         ann
4      cart         ann
9      buy          ann
100    buy          ann
0      home         bob
1      cart         bob
2      login        bob
3      view         bob
4      cart         bob
5      cart         bob
0      login        eve
1      buy          eve
10     view         eve
11     cart         eve
12     buy          eve
"""
"""What forms are run over. Every form finds something in them."""

STATEMENTS = ("SELECT ", "CREATE ")
PAST_LAST_ROW = "AFTER MATCH SKIP PAST LAST ROW"
ROW_CLAUSES = ("PATTERN (", "MEASURES ", "SUBSET ", "ALL ROWS ", "ORDER BY ", PAST_LAST_ROW)
MATCH_CLAUSES = ("AFTER MATCH ", "SUPPRESS ", "ONE MATCH PER ", "WITHIN ", "WHERE ", "USING ", "RETURN ")
REFUSAL = re.compile(r"\bnot in neelc, because \S+ \S+ \S+", re.IGNORECASE)
CELLS = re.compile(r"(?<!\\)\|")
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Row:
    """A row of a table: what the other system has, and what neelc has for it."""

    page: Path
    line: int
    elsewhere: str
    here: str

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def forms(self) -> list[str]:
        """The code in the right cell."""
        return CODE.findall(self.here)


def rows(page: Path) -> list[Row]:
    """The rows of all tables of a page, without their headers."""
    text = FENCE.sub(lambda found: "\n" * found[0].count("\n"), page.read_text())
    lines, found = text.split("\n"), []
    for at, line in enumerate(lines):
        is_header = at + 1 < len(lines) and re.fullmatch(r"\|[-|]+\|", lines[at + 1])
        if line.startswith("|") and not is_header and not re.fullmatch(r"\|[-|]+\|", line):
            elsewhere, here = (cell.strip() for cell in CELLS.split(line.strip())[1:-1])
            found.append(Row(page, at + 1, elsewhere, here.replace("\\|", "|")))
    return found


ROWS = [row for page in PAGES for row in rows(page)]
FORMS = [(row, form) for row in ROWS for form in row.forms if not REFUSAL.search(row.here)]


def query_of(form: str) -> str:
    """The query that a form is, or is a part of."""
    if form.startswith(STATEMENTS):
        return form
    if form.startswith(ROW_CLAUSES):
        order = "" if "ORDER BY" in form else "ORDER BY t "
        pattern = "" if "PATTERN (" in form else " PATTERN (a x*? b)"
        used = ", ".join(f"{name} AS type = '{name.upper()}'" for name in "abc" if uses(form + pattern, name))
        clauses = f"PARTITION BY id {order}{form}{pattern} DEFINE {used}"
        return f"SELECT * FROM log MATCH_RECOGNIZE ({clauses})"
    if form.startswith("TIMESTAMP BY "):
        columns = "t INT, type STRING, id INT, v INT, price DOUBLE"
        return f"CREATE STREAM log ({columns}) {form} UNIT SECONDS TYPE BY type; PATTERN SEQ(A a, NEXT B b)"
    if form.startswith(MATCH_CLAUSES):
        return f"PATTERN SEQ(A a, NEXT B b) PARTITION BY id {form}"
    return f"PATTERN {form}"


def uses(clauses: str, name: str) -> bool:
    """Whether the row pattern has the variable."""
    return bool(re.search(rf"\b{name}\b", clauses.partition("PATTERN (")[2]))


def events_of(row: Row, form: str) -> str:
    if row.page.name == "coming-from-windowfunnel.md":
        return CLICKS
    return PAYMENTS if "payments" in form else LETTERS


def check(events: str, query: str) -> None:
    """Run a query by the definition, then in its other forms and on the local engine, which must agree."""
    asked = f"{events}\nquery\n{query}\n"
    found = run_case(parse(asked, ROOT / "row.case")).actual
    assert not found.startswith("error["), found
    assert found != "no matches"
    case = parse(f"{asked}\nmatches\n{found}\n", ROOT / "row.case")
    again, local = run_case(case), run_locally(case)
    assert again.passed, again.diff
    assert local.passed and not local.refusal and not local.has_error, local


CONSTRUCTS = {
    "flink-cep": """
        next followedBy followedByAny notNext notFollowedBy oneOrMore consecutive allowCombinations times
        optional until greedy where IterativeCondition subtype within TimedOutPartialMatchHandler
        noSkip skipToNext skipPastLastEvent skipToFirst skipToLast
    """,
    "esper": """
        every every-distinct and or not until while [3] [2:] [2:5] timer:within timer:withinmax timer:at
        timer:interval match_recognize a=A@consume @SuppressOverlappingMatches
    """,
    "match-recognize": """
        Flink Snowflake Databricks Oracle Trino PERMUTE SUBSET WITHIN CLASSIFIER MATCH_NUMBER
    """,
    "windowfunnel": """
        strict_order strict_increase strict_deduplication strict_once allow_reentry sequenceMatch
        sequenceCount sequenceNextNode r[1] sum(r[2])
    """,
}
"""What each page must have a row for."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_construct_has_a_row(page: Path) -> None:
    cells = "\n".join(row.elsewhere for row in rows(page))
    missing = [
        word
        for word in CONSTRUCTS[page.stem.removeprefix("coming-from-")].split()
        if not re.search(rf"(?<![\w-]){re.escape(word)}(?!\w)", cells)
    ]
    assert missing == []


def test_a_part_of_a_query_gets_the_rest() -> None:
    assert query_of("SEQ(A a, NEXT B b)") == "PATTERN SEQ(A a, NEXT B b)"
    assert query_of("SUPPRESS 1 HOUR") == "PATTERN SEQ(A a, NEXT B b) PARTITION BY id SUPPRESS 1 HOUR"
    assert query_of("PATTERN (a b)").endswith("PATTERN (a b) DEFINE a AS type = 'A', b AS type = 'B')")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.place)
def test_a_row_has_a_form_or_says_why_not(row: Row) -> None:
    assert row.elsewhere
    assert row.forms or REFUSAL.search(row.here), row.here


@pytest.mark.parametrize(("row", "form"), FORMS, ids=lambda part: getattr(part, "place", None))
def test_a_form_runs(row: Row, form: str) -> None:
    check(events_of(row, form), query_of(form))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_table_is_read(page: Path) -> None:
    """As many rows as lines that begin a cell, less two for each header."""
    text = FENCE.sub("", page.read_text())
    cells, rules = (len(re.findall(form, text, re.MULTILINE)) for form in (r"^\|", r"^\|[-|]+\|$"))
    assert rules and len(rows(page)) == cells - 2 * rules


def test_a_wrong_form_fails() -> None:
    for form in ("SEQ(A a, FOLLOWED BY B b)", "SEQ(A a, B b) WHERE c.v > 1", "SEQ(A a, !B b)"):
        with pytest.raises(AssertionError, match=r"error\[NEEL"):
            check(LETTERS, query_of(form))


def test_a_row_without_a_form_fails() -> None:
    assert not REFUSAL.search("not in neelc") and not REFUSAL.search("the same")
    assert Row(PAGES[0], 1, "x", "the same").forms == []
