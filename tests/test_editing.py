"""What editors show about texts that are being written: `|` is the cursor."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from repository import ROOT

from neelc.source import Span
from neelc.syntax.parser import KEYWORDS
from neelc.tools.editors.completing import complete
from neelc.tools.editors.document import CallInputs, Document, remembered
from neelc.tools.editors.hovering import KEYWORD_HELP, hover
from neelc.tools.editors.problems import definition, fixes, problems, symbols

STREAM = """\
CREATE STREAM s (ts BIGINT, x INT, k STRING, p STRUCT<lat: DOUBLE>) TIMESTAMP BY ts TYPE BY k;
CREATE TYPE AB AS (A, B);
"""


def written(text: str) -> tuple[Document, int]:
    """The document after the declarations of `STREAM`, and the cursor."""
    before, _, after = text.partition("|")
    return Document(STREAM + before + after), len(STREAM + before)


def offered(text: str) -> list[str]:
    return [offer.label for offer in complete(*written(text))]


def hover_text(text: str) -> str:
    found = hover(*written(text))
    return "" if found is None else found.text


def wrong(text: str) -> list[tuple[str, str]]:
    return [(one.severity, one.diagnostic.code) for one in problems(Document(text))]


def test_every_word_has_a_line_of_help() -> None:
    assert set(KEYWORD_HELP) == set(KEYWORDS), "compiler/tools/editors/hovering.py has a line for each word"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("|", ["CREATE", "DRILL", "FROM", "PATTERN", "ROLL", "SELECT"]),
        ("PATTERN A a; PA|", ["CREATE", "DRILL", "FROM", "PATTERN", "ROLL", "SELECT"]),
        ("PATTERN SEQ(A a, |", ["AB", "s", "A", "B", "a"]),
        ("PATTERN A a FROM |", ["s"]),
        ("PATTERN SEQ(A a, B b) WHERE a.|", ["ts", "x", "k", "p", "te"]),
        ("PATTERN SEQ(A a, B b) WHERE a.| = 1 WITHIN 5 SECONDS RETURN b.x", ["ts", "x", "k", "p", "te"]),
        ("PATTERN SEQ(A a, B b) WHERE a.p.|", ["lat"]),
        ("PATTERN SEQ(A a, B b)) WHERE b.|", ["ts", "x", "k", "p", "te"]),
        ("PATTERN SEQ(A a, SEQ(B b, C+ c[])+ g[]) WHERE g[i].|", ["b", "c"]),
        ("PATTERN SEQ(A a, SEQ(B b, C+ c[])+ g[]) WHERE g[i].c[last].|", ["ts", "x", "k", "p", "te"]),
        ("PATTERN A a WHERE [|", ["ts", "x", "k", "p", "te"]),
        ("PATTERN A+ a[] WHERE a[|", ["i", "i-1"]),
        ("PATTERN A a WITHIN 5 |", ["NANOSECONDS"]),
        ("PATTERN A a USING |", ["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"]),
        ("PATTERN A a USING SKIP TILL |", ["ANY MATCH", "NEXT MATCH"]),
        ("PATTERN A a PARTITION BY |", ["ts", "x", "k", "p", "te"]),
        ("PATTERN A a WHERE a.x > :low AND a.x < :|", ["low"]),
        ("CREATE STREAM t (a INT) TIMESTAMP BY |", ["a"]),
        ("CREATE STREAM t (a INT) TIMESTAMP BY a UNIT |", ["NANOSECONDS"]),
        ("CREATE STREAM t (a INT) TIMESTAMP BY a WATERMARK 5 |", ["NANOSECONDS"]),
        ("CREATE STREAM t (a INT) FORMAT |", ["csv", "json", "parquet"]),
        ("SELECT | FROM s", ["s", "ts", "x", "k", "p"]),
        ("SELECT z.| FROM s z", ["ts", "x", "k", "p"]),
        ("SELECT x FROM |", ["s", "MATCH"]),
        ("SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts PATTERN (U V) DEFINE V AS V.|", ["ts", "x", "k", "p"]),
        (
            "WITH q AS (SELECT * FROM s) SELECT * FROM q MATCH_RECOGNIZE (PATTERN (U) DEFINE U AS U.|",
            ["ts", "x", "k", "p"],
        ),
    ],
)
def test_offers(text: str, first: list[str]) -> None:
    assert offered(text)[: len(first)] == first


@pytest.mark.parametrize(
    "text", ["PATTERN A a WHERE a.k = 'x|'", "PATTERN A a -- |", "PATTERN /* |", "x 'y|"]
)
def test_nothing_is_offered_in_texts_and_comments(text: str) -> None:
    assert offered(text) == []


def test_return_is_not_offered_what_it_cannot_name() -> None:
    found = offered("PATTERN SEQ(A a, !B b, SEQ(C c, D d)+ g[]) WITHIN 5 SECONDS RETURN |")
    assert {"a", "g", "match_start", "count", "DISTINCT"} <= set(found)
    assert {"b", "c", "d"} & set(found) == set()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PATTERN SEQ(A |a, B b)", "`a`: one event of type `A`\n\n```neel\nts BIGINT\nx INT\nk STRING"),
        ("PATTERN SEQ(|A a, B b)", "type `A`: events of `s` where `k` is 'A'"),
        ("PATTERN SEQ(A|B a)", "type `AB`: one of `A`, `B`"),
        ("PATTERN |s a", "stream `s`\n\n- time: `ts`, BIGINT in MILLISECONDS\n- types of events: `k`"),
        ("PATTERN SEQ(A a, B b) WHERE a.|x > 1", "`a.x`: INT"),
        ("PATTERN SEQ(A a, B b) WHERE a.p.la|t > 1", "`a.p.lat`: DOUBLE"),
        ("PATTERN SEQ(A a, B b) WHERE |[x]", ""),
        ("PATTERN SEQ(A a, B b) WHERE [|x]", "- `a.x`: INT\n- `b.x`: INT"),
        ("PATTERN SEQ(A a, !B |b, C c)", "- looked for after `A a` and before `C c`"),
        (
            "PATTERN SEQ(A a, !SEQ(B b, D |d)) WITHIN 1 HOUR",
            "- looked for after `A a` and at most 1 HOUR after",
        ),
        (
            "PATTERN SEQ(!B |b, A a) WITHIN 1 HOUR",
            "- looked for at most 1 HOUR before the end of the match and",
        ),
        ("PATTERN SEQ(A a, SEQ(B |b, C c)+ g[])", "- bound anew in each iteration of `g`"),
        (
            "PATTERN SEQ(A a, SEQ(B b, C c)+ |g[])",
            "`g`: a list of iterations\n\n- `b`: one event of type `B`",
        ),
        ("PATTERN OR(A |a, B b)", "- NULL in matches without this part"),
        ("PATTERN EXISTS |b : SEQ(A a, B b)", "- dropped by EXISTS"),
        ("PATTERN A a WHERE a.x > |length(a.k)", "length(text) -> INT"),
        ("PATTERN A a |WITHIN 5 SECONDS", "**WITHIN**: the longest time"),
        ("CREATE STREAM t (a INT) |TIMESTAMP BY a", "**TIMESTAMP**: `TIMESTAMP BY ts`"),
        ("CREATE STREAM t (a INT) TIMESTAMP BY |a", "```neel\na INT\n```"),
        ("SELECT |x FROM s z", "- `z.x`: INT"),
        ("SELECT x FROM |s z", "stream `s`"),
        ("SELECT x FROM s |z", "`z`: stream `s`"),
        (
            "CREATE QUERY q AS PATTERN A a RETURN a.x AS y; PATTERN |q o",
            "query `q`\n\n```neel\ny INT\nmatch_start",
        ),
        ("PATTERN A a WHERE a.|x = ", "`a.x`: INT"),
        ("PATTERN A a WHERE a.x = '|x'", ""),
    ],
)
def test_hover(text: str, shown: str) -> None:
    assert shown in hover_text(text) if shown else hover_text(text) == ""


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("PATTERN SEQ(A a, B b) WHERE a.p.latt| = 1", ["write lat"]),
        ("PATTERN SEQ(A first, B second) WHERE frist|.x = 1", ["write first"]),
        ("PATTERN SEQ(A a, B b) WITHIN 5 SECOND|Z", ["write SECOND"]),
        ("PATTERN SEQ(A a, B b) WITHIN 5 |MS", ["write MILLISECONDS"]),
        ("PATTERN SEQ(A a, B b) WHERE a.x = 1 |&& b.x = 1", ["write AND"]),
        ("PATTERN SEQ(A a, B+ |b)", ["write b[]"]),
        ("PATTERN SEQ(A a, B+ b[]) RETURN |b.x", ["write b[].x", "write b[last].x"]),
        ("PATTERN SEQ(A a, B+ b[]) RETURN b[i|].x", ["write last", "write 1"]),
        ("PATTERN SEQ(A a, B b) WHERE |x = 1", ["write a.x"]),
        ("PATTERN SEQ(A a, B b) WHERE a.x |≤ b.x", ["write <="]),
        ("SELECT p.latt| FROM s", ["write lat"]),
        ("PATTERN SEQ(A a, B b) WHERE |a.nothing_like_it = 1", []),
        ("PATTERN SEQ(A a, B b) WHERE a.pp = 1 |WITHIN 5 SECONDS", []),
    ],
)
def test_fixes(text: str, titles: list[str]) -> None:
    document, cursor = written(text)
    assert [fix.title for fix, _ in fixes(document, Span(cursor, cursor))] == titles


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("PATTERN SEQ(A a, A", [("error", "NEEL1001")]),
        ("PATTERN A a WITHIN 5 SECONDS", [("information", "NEEL2005")]),
        (STREAM + "PATTERN SEQ(A a, B b) WHERE a.y = 1", [("error", "NEEL2003")]),
        (STREAM + "PATTERN SEQ(A a, B b) WHERE a.x = :y WITHIN 5 SECONDS", [("information", "NEEL2006")]),
        (STREAM + "PATTERN SEQ(A a, B b)", [("warning", "NEEL6003")]),
        (
            STREAM + "PATTERN SEQ(A a; PATTERN AB b WHERE b.y = 1",
            [("error", "NEEL1001"), ("error", "NEEL2003")],
        ),
        (STREAM + "SELECT y FROM s", [("error", "NEEL2003")]),
        (
            STREAM + "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts PATTERN (U) DEFINE U AS U.y > 1)",
            [("error", "NEEL2003")],
        ),
        ("SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts PATTERN (U", [("error", "NEEL1001")]),
        (
            "CREATE STREAM s FROM 'missing.csv'; PATTERN SEQ(s a",
            [("error", "NEEL5001"), ("error", "NEEL1001")],
        ),
        ("\0'", [("error", "NEEL1002"), ("error", "NEEL1002")]),
        ("", []),
    ],
)
def test_problems(text: str, found: list[tuple[str, str]]) -> None:
    assert wrong(text) == found


def test_columns_of_files_are_read_again_when_the_file_changes(tmp_path: Path) -> None:
    data = tmp_path / "s.csv"
    text = "CREATE STREAM s TIMESTAMP BY ts FROM 's.csv'; PATTERN s a WHERE a.x = 1 WITHIN 5 SECONDS"
    outside = CallInputs()
    data.write_text("ts,y\n1,1\n")
    assert [one.diagnostic.code for one in problems(Document(text, "s", tmp_path, outside))] == ["NEEL2003"]
    data.write_text("ts,y,x\n1,1,1\n")
    moved = Document("-- now\n" + text, "s", tmp_path, outside)
    assert [one.severity for one in problems(moved) if one.severity == "error"] == []
    assert len(outside.known) == 2


def test_streams_from_outside(tmp_path: Path) -> None:
    from neelc.cli.options import given_stream

    (tmp_path / "s.csv").write_text("ts,x\n1,1\n")
    outside = CallInputs([remembered(given_stream(f"s={tmp_path / 's.csv'},timestamp=ts"))], {"low": 1})
    text = "PATTERN SEQ(s a, s b) WHERE a.x > :low AND b. WITHIN 5 SECONDS"
    document = Document(text, outside=outside)
    assert [offer.label for offer in complete(document, text.index(" WITHIN"))][:2] == ["ts", "x"]
    assert [one.severity for one in problems(Document(text.replace("b. ", "b.z = 1 "), outside=outside))] == [
        "error"
    ]


def test_the_example_of_the_page() -> None:
    page = (ROOT / "docs" / "how-to" / "use-an-editor.md").read_text()
    script, expected = (page.split(f"```{kind}\n")[1].split("```")[0] for kind in ("neel", "text"))
    found = hover(Document(script), script.index("s, Operating"))
    assert found is not None
    shown = found.text.replace("```neel\n", "").replace("```", "").replace("`", "")
    assert shown.replace("\n\n-", "\n-").strip() == expected.strip()


def test_what_is_registered_is_offered() -> None:
    from neelc.arguments import defined_in

    defined = "import neelc\n@neelc.aggregate(returns='DOUBLE')\ndef spread(values): return 1.0\n"
    outside = CallInputs(aggregates=defined_in(defined, "mine.py")[0])
    text = "PATTERN A+ a[] WHERE "
    assert "spread" in [
        offer.label for offer in complete(Document(STREAM + text, outside=outside), len(STREAM + text))
    ]


def test_definitions() -> None:
    document, cursor = written("PATTERN SEQ(AB a, B b) WHERE |b.x > a.x")
    found = definition(document, cursor)
    assert found is not None and document.text[: found.end].endswith("B b")
    document, cursor = written("PATTERN SEQ(A|B a, B b)")
    found = definition(document, cursor)
    assert found is not None and document.text[: found.end].endswith("CREATE TYPE AB")
    assert definition(*written("PATTERN SEQ(A a, B b) WHERE a.|x = 1")) is None


def test_symbols() -> None:
    own = "PATTERN A a; PATTERN A a AS Q; PATTERN SEQ(; "
    found = symbols(Document(STREAM + own + "SELECT * FROM s MATCH_RECOGNIZE (ORDER BY ts PATTERN (U))"))
    names = ["s", "AB", "PATTERN A a", "Q", "PATTERN SEQ("]
    assert [one.name for one in found][:5] == names
    assert [one.kind for one in found] == ["stream", "type", "query", "query", "query", "query"]


def damaged(text: str, rng: random.Random) -> tuple[str, int]:
    """The text with something missing or something too much, and the place of it."""
    at = rng.randrange(len(text) + 1)
    match rng.randrange(3):
        case 0:
            return text[:at], at
        case 1:
            return text[:at] + text[at + rng.randrange(30) :], at
    mark = rng.choice("( ) [ ] . , ; ' ` /* -- a. SEQ( WHERE ! : { } CREATE .. ∃ 🐍 \0 \r\n".split(" "))
    return text[:at] + mark + text[at:], at


@pytest.mark.parametrize("seed", range(12))
def test_broken_texts_break_nothing(seed: int) -> None:
    rng = random.Random(seed)
    path = rng.choice(sorted((ROOT / "docs" / "examples").rglob("*.neel")))
    text, at = damaged(path.read_text(), rng)
    document = Document(text, path.name, path.parent)
    assert "NEEL9001" not in [one.diagnostic.code for one in problems(document)]
    hover(document, at)
    complete(document, at)
    definition(document, at)
    symbols(document)
    fixes(document, Span(at, at))


def test_a_pipe_is_not_read_while_somebody_types(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    text = "CREATE STREAM S FROM 'pipe.csv'; PATTERN S a WITHIN 5 SECONDS"
    found = problems(Document(text, directory=tmp_path))
    assert [one.diagnostic.message for one in found] == ["pipe.csv is a pipe, not a file"]


def test_an_untrusted_script_is_told_so_while_somebody_types(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,secret\n1,2\n")
    text = "CREATE STREAM S FROM 'a.csv'; PATTERN S a WITHIN 5 SECONDS"
    assert problems(Document(text, directory=tmp_path)) == ()
    found = problems(Document(text, directory=tmp_path, outside=CallInputs(untrusted=True)))
    assert [one.diagnostic.code for one in found] == ["NEEL4061"]
