"""Several texts as one script: files of a directory, each of which may be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from neelc.errors import NeelError
from neelc.files import CallError
from neelc.ir.program import Program
from neelc.ir.script import CreateStream, Script
from neelc.pipeline import bind
from neelc.syntax.joined import (
    BoundTogether,
    JoinedScript,
    RuleErrors,
    RuleText,
    bound_together,
    joined,
    names_read,
    rule_files,
    rule_texts,
    with_rule_names,
)

BANK = "CREATE STREAM Bank (ts BIGINT, kind STRING, id INT) TIMESTAMP BY ts UNIT SECONDS TYPE BY kind"
PAIR = "PATTERN SEQ(A a, B b) WITHIN 5 SECONDS RETURN a.id AS id"


def texts(**rules: str) -> JoinedScript:
    return joined([RuleText(text, f"{name}.neel", name) for name, text in rules.items()])


def bound(rules: JoinedScript, strict: bool = False) -> BoundTogether[Program]:
    def bind_script(script: Script) -> Program:
        return bind(script, rules.source, (), Path())[1]

    return bound_together(rules, bind_script, strict)


def names(found: BoundTogether[Program]) -> list[str | None]:
    return [one.name for one in with_rule_names(found.bound).queries]


def messages(found: BoundTogether[Program]) -> list[str]:
    """Where each error is, and what it says."""
    return [line for error in found.errors for line in lines(error)]


def lines(error: NeelError) -> list[str]:
    places = ((one, error.source.position(one.span.start)) for one in error.diagnostics)
    return [f"{error.source.name}:{at.line}:{at.column}: {one.message}" for one, at in places]


# Names.


def test_queries_without_a_name_have_that_of_their_file() -> None:
    found = bound(texts(bank=BANK, pair=PAIR, many=f"{PAIR}; {PAIR}; CREATE QUERY Third AS {PAIR}"))
    assert names(found) == ["pair", "many_1", "many_2", "Third"]


def test_a_file_that_is_called_as_a_type_is_not_read_instead_of_it() -> None:
    """PATTERN B means the events of type B, although there is a file b.neel with a rule."""
    program = bound(texts(bank=BANK, b=PAIR, c="PATTERN B x RETURN x.id")).bound
    assert {stream.name for stream in program.queries[1].query.streams} == {"Bank"}
    named = bound(texts(bank=BANK, b="CREATE QUERY B AS PATTERN A a", c="PATTERN B x")).bound
    assert "B" in {stream.name for stream in named.queries[1].query.streams}


def test_the_second_rule_of_a_name_is_left_out() -> None:
    rules = texts(
        bank=BANK, one=f"CREATE QUERY Pair AS {PAIR}", two=f"\nCREATE QUERY PAIR AS {PAIR}", pair=PAIR
    )
    found = bound(rules)
    assert names(found) == ["Pair"]
    assert found.left_out == ("PAIR", "pair")
    assert messages(found) == [
        "two.neel:2:14: `PAIR` already names a query",
        "pair.neel:1:1: the query has no name, and that of its file, `pair`, is the name of another rule",
    ]


def test_unicode() -> None:
    """Places are counted in characters, in each file on its own."""
    rules = texts(bank=f"-- 日本語 😀\n{BANK}", größe=PAIR, wrong=f"-- é 😀\n{PAIR}, x.id")
    found = bound(rules)
    assert names(found) == ["größe"]
    assert messages(found) == ["wrong.neel:2:59: unknown pattern variable `x`"]


# Declarations.


def test_a_stream_that_is_declared_alike_is_declared_once() -> None:
    rules = texts(one=f"{BANK}; {PAIR}", two=f"{PAIR};\n\n{BANK};")
    assert names(bound(rules)) == ["one", "two"]
    other = texts(one=f"{BANK}; {PAIR}", two=f"{PAIR};\n{BANK.replace('INT)', 'BIGINT)')}")
    with pytest.raises(NeelError) as raised:
        bound(other)
    assert lines(raised.value) == ["two.neel:2:15: `Bank` already names a stream"]


def test_paths_are_relative_to_the_file_that_they_stand_in(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one.neel").write_text(f"{BANK} FROM 'bank.csv'; {PAIR}")
    (tmp_path / "a" / "b" / "two.neel").write_text(f"{BANK} FROM '../bank.csv'; {PAIR}")
    found = joined(rule_files([tmp_path])).script.statements
    (stream,) = (one for one in found if isinstance(one, CreateStream))
    assert stream.path == str(tmp_path / "a" / "bank.csv")
    (tmp_path / "a" / "b" / "two.neel").write_text(f"{BANK} FROM 's3://bucket/bank.csv'; {PAIR}")
    found = joined(rule_files([tmp_path / "a" / "b"])).script.statements
    assert [one.path for one in found if isinstance(one, CreateStream)] == ["s3://bucket/bank.csv"]


def test_an_error_in_a_declaration_stops_all() -> None:
    rules = texts(bank=BANK.replace("BY kind", "BY king"), pair=PAIR)
    with pytest.raises(NeelError) as raised:
        bound(rules)
    assert raised.value.source.name == "bank.neel" and "king" in str(raised.value)
    with pytest.raises(NeelError) as raised:
        bound(texts(bank=BANK.replace("STRING", "STRING STRING"), pair=PAIR))
    assert raised.value.source.name == "bank.neel"
    assert "pair.neel" not in str(raised.value), "what follows from it is not reported"


# Errors.


def test_errors_of_several_files() -> None:
    rules = texts(
        bank=BANK,
        good=PAIR,
        wrong=f"CREATE QUERY Bad AS\n  PATTERN A a WHERE b.id = 1;\n{PAIR}",
        open="PATTERN SEQ(A a",
        quote="PATTERN A a WHERE a.kind = 'x",
        comment=f"{PAIR}; /* never closed",
        last=f"CREATE QUERY Last AS {PAIR} /* closed */",
    )
    found = bound(rules)
    assert names(found) == ["good", "wrong", "comment", "Last"]
    assert found.left_out == ("Bad", "open.neel:1", "quote.neel:1", "comment.neel:1")
    files = [error.source.name for error in found.errors]
    assert files == ["wrong.neel", "open.neel", "quote.neel", "comment.neel"]
    assert messages(found)[0] == "wrong.neel:2:21: unknown pattern variable `b`"
    assert "quote.neel:1:28: this quote is not closed" in messages(found)


def test_strict_reports_all_errors() -> None:
    """Also those that come to light only when others are gone."""
    rules = texts(
        bank=BANK,
        unreadable="CREATE NONSENSE",
        good=PAIR,
        wrong="PATTERN A a WHERE b.id = 1",
        worse="PATTERN (",
    )
    with pytest.raises(RuleErrors) as raised:
        bound(rules, strict=True)
    assert [one.source.name for one in raised.value.errors] == ["unreadable.neel", "wrong.neel", "worse.neel"]
    assert all(f"{name}.neel:1:" in str(raised.value) for name in ("unreadable", "wrong", "worse"))
    assert names(bound(rules)) == ["good"]


def test_no_rule_is_left() -> None:
    with pytest.raises(NeelError) as raised:
        bound(texts(bank=BANK, wrong="PATTERN A a WHERE b.id = 1"))
    assert lines(raised.value) == ["wrong.neel:1:19: unknown pattern variable `b`"]


# Rules that read rules.

BROKEN = "CREATE QUERY Burst AS PATTERN SEQ(A a, B b) WHERE c.id = 1 WITHIN 5 SECONDS RETURN a.id AS id"


@pytest.mark.parametrize(
    "reader",
    [
        "CREATE QUERY Reader AS PATTERN SEQ(burst x, A a) WITHIN 5 SECONDS",
        "CREATE QUERY Reader AS PATTERN SEQ(X x, A a) FROM Burst, Bank WITHIN 5 SECONDS",
        "CREATE TYPE Any AS (Burst, C); CREATE QUERY Reader AS PATTERN Any x",
        "CREATE QUERY Reader AS SELECT id FROM Burst",
        "CREATE QUERY Reader AS SELECT m.id FROM Burst MATCH_RECOGNIZE (ORDER BY id PATTERN (A)) AS m",
    ],
)
def test_what_reads_a_rule_with_errors_is_left_out(reader: str) -> None:
    """`Burst` might be a type of events, too: left in, the reader would mean something else."""
    rules = texts(bank=BANK, broken=BROKEN, reader=f"-- first\n{reader}", good=PAIR)
    found = bound(rules)
    assert names(found) == ["good"]
    assert found.left_out == ("Burst", "Reader")
    assert messages(found)[1].startswith("reader.neel:2:")
    assert "which this rule reads, is left out: it has errors" in messages(found)[1]


def test_readers_of_readers_are_left_out() -> None:
    second = "CREATE QUERY Second AS PATTERN SEQ(Burst x, A a) WITHIN 5 SECONDS RETURN a.id AS id"
    third = "PATTERN SEQ(Second s, A a) WITHIN 5 SECONDS"
    found = bound(texts(bank=BANK, a=BROKEN, b=second, c=third, d="PATTERN Burst x FROM Bank"))
    assert names(found) == ["d"], "d reads events of the type Burst"
    assert [message.partition(":")[0] for message in messages(found)] == ["a.neel", "b.neel", "c.neel"]
    assert "rule `Second`" in messages(found)[2]


def test_what_reads_a_name_that_is_still_there_stays() -> None:
    good = BROKEN.replace("c.id", "a.id")
    found = bound(texts(bank=BANK, a=good, b=BROKEN, c="CREATE QUERY Reader AS PATTERN Burst x"))
    assert names(found) == ["Burst", "Reader"] and found.left_out == ("Burst",)


def test_only_some_rules() -> None:
    rules = texts(
        bank=BANK,
        base=f"CREATE QUERY Base AS {PAIR}",
        reader="CREATE QUERY Reader AS PATTERN SEQ(Base x, A a) WITHIN 5 SECONDS",
        wrong="PATTERN A a WHERE b.id = 1",
    )
    assert rules.rule_names == ("Base", "Reader", "wrong")
    found = bound(rules.only(["READER"]))
    assert (names(found), found.errors) == (["Base", "Reader"], ())
    assert names(bound(rules.only(["Base"]))) == ["Base"]
    with pytest.raises(CallError, match="no rule None; rules: Base, Reader, wrong"):
        rules.only(["None"])


def test_the_names_that_a_statement_reads() -> None:
    (statement,) = texts(x="CREATE QUERY Q AS PATTERN SEQ(A a, !`B c` b, OR(C c, D+ d[]))").script.statements
    assert names_read(statement) == ["A", "`B c`", "C", "D"]


# Files.


def test_the_files_of_directories(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.neel", "a.neel", "sub/c.neel"):
        (tmp_path / name).write_text(PAIR)
    (tmp_path / "notes.md").write_text("no rule")
    paths = [tmp_path / "a.neel", tmp_path]
    assert [text.label for text in rule_files(paths)] == ["a", "b", "c"], "each file once"
    (tmp_path / "empty").mkdir()
    with pytest.raises(CallError, match=r"empty: no \*.neel files in this directory"):
        rule_files([tmp_path / "empty"])
    with pytest.raises(CallError, match=r"none\.neel: no such file"):
        rule_files([tmp_path / "none.neel"])


def test_empty_files() -> None:
    assert names(bound(texts(empty="", comment="-- nothing yet\n", bank=BANK, pair=PAIR))) == ["pair"]
    assert texts(empty="", semicolon=";").rule_names == ()


def test_texts_of_callers(tmp_path: Path) -> None:
    (tmp_path / "a.neel").write_text(PAIR)
    given = [tmp_path, PAIR, {"named": PAIR}]
    assert [text.label for text in rule_texts(given)] == ["a", "rule", "named"]
    for wrong in (7, {"named": 7}, [7]):
        with pytest.raises(TypeError, match="rules: "):
            rule_texts(wrong)
