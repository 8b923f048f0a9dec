"""The tokens of Spark SQL, as far as is needed to find what stands where.

Spark's own rules hold for strings, in which a backslash escapes, and for comments, which nest. A clause
MATCH_RECOGNIZE (...) is one token: inside of it the rules of our own grammar hold, where a string has no
escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from neelc.source import Span

WORD, QUOTED, STRING, MARK, CLAUSE = "word", "quoted", "string", "mark", "clause"

_SPARK = r"""
    (?P<string> [rR](?:'[^']*'?|"[^"]*"?) | '(?:[^'\\]|\\.)*'? | "(?:[^"\\]|\\.)*"? )
  | (?P<quoted> `(?:[^`]|``)*`? )
  | (?P<word> \w+ )
  | (?P<skipped> --[^\r\n]* | \s+ )
  | (?P<mark> . )
"""
_OURS = r"""
    (?P<string> '(?:[^']|'')*'? | "(?:[^"]|"")*"? )
  | (?P<quoted> `(?:[^`]|``)*`? )
  | (?P<word> \w+ )
  | (?P<skipped> --[^\r\n]* | /\*.*?(?:\*/|\Z) | \s+ )
  | (?P<mark> . )
"""
SPARK = re.compile(_SPARK, re.VERBOSE | re.DOTALL)
OURS = re.compile(_OURS, re.VERBOSE | re.DOTALL)
_COMMENT = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Token:
    """A token and its place; `kind` is one of the words above."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def says(self, *words: str) -> bool:
        """Whether it is one of these words, in whatever case, or one of these marks."""
        return self.kind in (WORD, MARK) and self.text.upper() in words

    @property
    def is_name(self) -> bool:
        return self.kind == QUOTED or (self.kind == WORD and not self.text[0].isdigit())


def tokens(text: str, start: int = 0, rules: re.Pattern[str] = SPARK) -> Iterator[Token]:
    r"""The tokens of a text from `start` on.

    >>> [token.text for token in tokens("SELECT 'it\\'s; -- no' /* a /* b */ c */, `x``y` -- end")]
    ['SELECT', "'it\\'s; -- no'", ',', '`x``y`']
    >>> [token.text for token in tokens("FROM t MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x = '\\') AS m")]
    ['FROM', 't', "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x = '\\')", 'AS', 'm']
    """
    at = start
    while at < len(text):
        if rules is SPARK and text.startswith("/*", at):
            at = _after_comment(text, at)
            continue
        found = rules.match(text, at)
        assert found is not None and found.end() > at, "every character is a token"
        kind, at = str(found.lastgroup), found.end()
        if rules is SPARK and kind == WORD and found[0].upper() == "MATCH_RECOGNIZE":
            at = _after_clause(text, at)
            kind = CLAUSE if at > found.end() else WORD
        if kind != "skipped":
            yield Token(kind, text[found.start() : at], found.start(), at)


def nested_tokens(clause: Token) -> Iterator[Token]:
    """The tokens of the queries inside a clause: from `(SELECT` or `(WITH` to the parenthesis.

    >>> (clause,) = tokens("MATCH_RECOGNIZE (DEFINE A AS x IN (SELECT (y) FROM q) AND z)")
    >>> [token.text for token in nested_tokens(clause)]
    ['SELECT', '(', 'y', ')', 'FROM', 'q']
    """
    depth, begin, before = 0, 0, None
    for token in tokens(clause.text, 0, OURS):
        if begin and token.says(")") and depth == begin:
            begin = 0
        if not begin and before is not None and before.says("(") and token.says("SELECT", "WITH"):
            begin = depth
        depth += token.says("(") - token.says(")")
        if begin:
            yield token
        before = token


def _after_comment(text: str, at: int) -> int:
    depth = 0
    for mark in _COMMENT.finditer(text, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def _after_clause(text: str, at: int) -> int:
    """Where the parenthesis that follows is closed; `at` if none does. A semicolon ends an open one."""
    depth, end = 0, at
    for token in tokens(text, at, OURS):
        if depth == 0 and not token.says("("):
            break
        if token.says(";"):
            break
        depth += token.says("(") - token.says(")")
        end = token.end
        if depth == 0:
            break
    return end
