"""Colours: the lexer of Pygments and the TextMate grammar know the words of the grammar."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Keyword, Name, Number, Operator, String, Token
from repository import ROOT

from neelc.grammar.spellings import grammar_text
from neelc.syntax.parser import KEYWORDS
from neelc.tools.editors.colours import text as textmate_text
from neelc.tools.editors.colours import textmate
from neelc.tools.editors.lexer import NeelLexer

EXAMPLES = sorted((ROOT / "docs" / "examples").rglob("*.neel"))
TEXTMATE = ROOT / "docs" / "editors" / "vscode" / "syntaxes" / "neel.tmLanguage.json"

QUERY = """\
-- a comment
create stream Trades (ts BIGINT, `it``s` STRING, time INT) TIMESTAMP BY ts FROM 'it''s.csv';
PATTERN SEQ(A a, !(B b :b.x > 1), C+ c[]) WHERE [id] AND c[i].type >= :low AND avg(c[..i-1].x) < 1.5e3
WITHIN 10 seconds USING SKIP TILL ANY MATCH RETURN count(*) AS n, X'ab' /* end */
"""


def colours(text: str) -> dict[str, object]:
    """The last token of each text."""
    return {part.strip(): kind for kind, part in NeelLexer().get_tokens(text)}


def test_the_words_are_those_of_the_grammar() -> None:
    section = grammar_text().split("// Words --")[1].split("// Marks --")[0]
    assert set(KEYWORDS) == set(re.findall(r"'([A-Z_]+)'", section))


@pytest.mark.parametrize("word", KEYWORDS)
def test_pygments_knows_every_word(word: str) -> None:
    kind = colours(f"{word} (")[word]
    assert kind in Keyword or kind in Operator.Word or kind in Name.Builtin


def test_pygments_finds_the_lexer_by_its_name() -> None:
    assert isinstance(get_lexer_by_name("neel"), NeelLexer)


def test_pygments_colours_a_query() -> None:
    found = colours(QUERY)
    expected = {
        "create": Keyword.Declaration,
        "Trades": Name.Class,
        "time": Name,
        "'it''s.csv'": String.Single,
        "`it``s`": Name,
        "SEQ": Keyword.Reserved,
        "type": Name.Attribute,
        "low": Name.Variable,
        "avg": Name.Builtin,
        "1.5e3": Number,
        "seconds": Keyword.Type,
        "TILL": Keyword,
        "count": Name.Builtin,
        "X'ab'": String.Other,
        "/* end */": Token.Comment.Multiline,
    }
    assert {text: found[text] for text in expected} == expected


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_pygments_understands_the_examples(path: Path) -> None:
    found = list(NeelLexer().get_tokens(path.read_text()))
    assert [part for kind, part in found if kind is Error] == []
    # Words in upper case are of the language, apart from types of events.
    others = ("bank.neel", "hits.neel", "storms.neel")
    words = {"CREATE", "STREAM"} if path.name in others else {"PATTERN", "WITHIN"}
    assert words <= {part for kind, part in found if kind in Keyword}


def test_the_textmate_grammar_is_current(update: bool) -> None:
    if update:
        TEXTMATE.write_text(textmate_text())
    assert TEXTMATE.read_text() == textmate_text(), "run pytest --update tests/test_editors.py"


def textmate_tokens(text: str) -> list[tuple[str, str]]:
    """Texts and their scopes, as TextMate finds them: what begins first, and of those what stands first."""
    rules: Any = textmate()["patterns"]
    starts = [(re.compile(rule.get("match") or rule["begin"], re.MULTILINE), rule) for rule in rules]
    found: list[tuple[str, str]] = []
    at = 0
    while True:
        here = [(match, rule) for start, rule in starts if (match := start.search(text, at)) and match[0]]
        if not here:
            return found
        match, rule = min(here, key=lambda one: one[0].start())
        at = match.end() if "match" in rule else end_of_block(rule, text, match.end())
        parts = {match[int(group)]: capture for group, capture in rule.get("captures", {}).items()}
        parts = parts or {text[match.start() : at].strip(): rule}
        found += [(part, named["name"]) for part, named in parts.items()]


def end_of_block(rule: Any, text: str, at: int) -> int:
    """The end of a comment or a string, past what is escaped in it."""
    escape = rule["patterns"][0]["match"] if "patterns" in rule else "(?!)"
    inside = rf"(?:{escape}|(?!{rule['end']})[\s\S])*"
    found = re.compile(rf"{inside}(?:{rule['end']}|\Z)").match(text, at)
    assert found is not None
    return found.end()


def textmate_scope(text: str) -> str:
    """The scope of the first word of a text."""
    for part, scope in textmate_tokens(text)[:1]:
        return scope if text.startswith(part) else ""
    return ""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_textmate_and_pygments_agree_on_the_examples(path: Path) -> None:
    text = path.read_text()
    theirs = [
        (part, scope)
        for part, scope in textmate_tokens(text)
        if re.match("keyword.other|storage|support", scope)
    ]
    ours = [
        part
        for kind, part in NeelLexer().get_tokens(text)
        if (kind in Keyword and kind not in (Keyword.Constant, Keyword.Reserved)) or kind in Name.Builtin
    ]
    assert [part for part, _ in theirs] == ours
    comments = [part for part, scope in textmate_tokens(text) if scope.startswith("comment")]
    assert comments == [part for kind, part in NeelLexer().get_tokens(text) if kind in Token.Comment]


@pytest.mark.parametrize("word", KEYWORDS)
def test_textmate_knows_every_word(word: str) -> None:
    assert re.match(r"keyword|constant|support|storage", textmate_scope(f"{word} ("))


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("'it''s'", "string.quoted.single.neel"),
        ("`a b`", "variable.other.quoted.neel"),
        ("/* a\nb */", "comment.block.neel"),
        ("-- a", "comment.line.double-dash.neel"),
        ("x'ab'", "string.quoted.other.binary.neel"),
        ("CREATE stream Trades", "keyword.other.create.neel"),
        ("10 seconds", "constant.numeric.neel"),
        ("10.5", "constant.numeric.neel"),
        (":low AND", "variable.parameter.neel"),
        (":b.x", ""),
        ("avg(x)", "support.function.neel"),
        ("time", ""),
        ("TIME", "keyword.other.neel"),
        ("<=>", "keyword.operator.neel"),
    ],
)
def test_textmate_tells_things_apart(text: str, scope: str) -> None:
    assert textmate_scope(text) == scope


def test_the_extension_points_at_files_that_are_there() -> None:
    folder = ROOT / "docs" / "editors" / "vscode"
    package = json.loads((folder / "package.json").read_text())
    [language], [grammar] = package["contributes"]["languages"], package["contributes"]["grammars"]
    assert grammar["scopeName"] == textmate()["scopeName"]
    assert grammar["language"] == language["id"] == "neel"
    for path in (grammar["path"], language["configuration"], package["main"]):
        assert (folder / path).is_file()
