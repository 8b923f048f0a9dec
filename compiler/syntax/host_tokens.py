"""The tokens of Spark SQL, as far as is needed to find what stands where.

Spark's own rules hold for strings, in which a backslash escapes, and for comments, which nest. A clause
MATCH_RECOGNIZE (...) is one token: inside of it the rules of our own grammar hold, where a string has no
escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neelc.ir.names import bare
from neelc.ir.script import HostClause, WithClause, WithDefinition
from neelc.runtime.late_dataclass import dataclass
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
    for inner in tokens(clause.text, 0, OURS):
        token = replace(inner, start=inner.start + clause.start, end=inner.end + clause.start)
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
    """Where the parenthesis that follows is closed; `at` if none does. A semicolon ends an open one, if a
    statement can begin behind it."""
    depth, end = 0, at
    for token in tokens(text, at, OURS):
        if depth == 0 and not token.says("("):
            break
        if token.says(";") and begins_statement(text, token.end):
            break
        depth += token.says("(") - token.says(")")
        end = token.end
        if depth == 0:
            break
    return end


def begins_statement(text: str, at: int) -> bool:
    """Whether a statement can begin there: by its first word, or because nothing follows."""
    first = next(tokens(text, at, OURS), None)
    return first is None or first.says("CREATE", "PATTERN", "SELECT", "WITH")


# Where the MATCH_RECOGNIZE clauses of a query stand, what they read, and which names they see.

BEFORE_SOURCE = ("FROM", "JOIN", "LATERAL")

OPENING = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
"""What a query of Spark's can begin with."""

# What may follow a table and is no name for it.
BEHIND = frozenset(
    """ANTI CLUSTER CROSS DISTRIBUTE EXCEPT FULL GROUP HAVING INNER INTERSECT JOIN LATERAL LEFT LIMIT MINUS
    NATURAL OFFSET ON ORDER PIVOT QUALIFY RIGHT SELECT SEMI SORT TABLESAMPLE UNION UNPIVOT USING WHERE WINDOW
    ) , ;""".split()
)


def clauses(query: Sequence[Token]) -> list[HostClause]:
    """The clauses of a query, those in the source of another before it.

    >>> from neelc.syntax.host_tokens import tokens
    >>> text = "WITH c AS (VALUES (1)) SELECT * FROM c, db.t x MATCH_RECOGNIZE () AS m"
    >>> found = clauses(list(tokens(text)))
    >>> found[0].table, found[0].alias, found[0].result, found[0].defined
    (('db', 't'), 'x', 'm', ('c',))
    """
    return [_clause(query, at) for at, token in enumerate(query) if token.kind == CLAUSE]


def _clause(query: Sequence[Token], at: int) -> HostClause:
    token = query[at]
    source = query[_source_start(query, at) : at]
    visible = tuple(_visible(query, at))
    if not source:
        return HostClause(token.span, None, visible=visible)
    table, alias = _table(source)
    is_inside = end_of_group(query, at) < len(query)
    place = source[0].span | source[-1].span
    return HostClause(token.span, place, table, alias, _name_behind(query, at), visible, is_inside)


def _name_behind(query: Sequence[Token], at: int) -> str | None:
    """The name that a query gives the result of a clause; "" for names of its columns alone."""
    after = [token for token in query[at + 1 : at + 3] if not token.says("AS")][:1]
    if not query[at + 1 : at + 2] or query[at + 1].says(*BEHIND):
        return None
    return bare(after[0].text) if after and after[0].is_name else ""


def _source_start(query: Sequence[Token], at: int) -> int:
    """The place of the first token of the relation before a clause; `at` if there is none."""
    depth, place = 0, at
    while place > 0:
        before = query[place - 1]
        if depth == 0:
            if before.says(*BEFORE_SOURCE) or before.says("("):
                return place
            if before.says(",") and not _is_in_values(query, place - 1):
                return place
        depth += before.says(")") - before.says("(")
        place -= 1
    return at


def _is_in_values(query: Sequence[Token], comma: int) -> bool:
    """Whether a comma separates the rows of VALUES (1, 2), (3, 4)."""
    depth, place = 0, comma
    while place > 0:
        before = query[place - 1]
        if depth == 0 and not before.says(")", ",", "("):
            return before.says("VALUES")
        if depth == 0 and before.says("("):
            return False
        depth += before.says(")") - before.says("(")
        place -= 1
    return False


def _table(source: Sequence[Token]) -> tuple[tuple[str, ...], str | None]:
    """The parts of a name and the alias after it, bare; no parts if the source is something else."""
    rest = list(source)
    parts: list[str] = []
    while rest and rest[0].is_name and not rest[0].says("AS"):
        parts.append(bare(rest.pop(0).text))
        if not (len(rest) > 1 and rest[0].says(".")):
            break
        rest.pop(0)
    if rest and rest[0].says("AS"):
        rest.pop(0)
    if not parts:
        return (), _last_name(source)
    if not rest:
        return tuple(parts), None
    is_alias = len(rest) == 1 and rest[0].is_name
    return (tuple(parts), bare(rest[0].text)) if is_alias else ((), _last_name(source))


def _last_name(source: Sequence[Token]) -> str | None:
    """The alias of a subquery: `(...) AS name`."""
    last = source[-1]
    behind = len(source) > 1 and (source[-2].says(")", "AS") or source[-2].kind == CLAUSE)
    return bare(last.text) if last.is_name and behind else None


def _visible(query: Sequence[Token], at: int) -> Iterator[WithClause]:
    """The definitions that stand before a token in the queries around it, the outermost first."""
    for place, token in enumerate(query[:at]):
        begins = place == 0 or query[place - 1].says("(")
        if token.says("WITH") and begins and at < end_of_group(query, place):
            recursive = query[place + 1].says("RECURSIVE")
            found = [
                one for one in _definitions(query, place + 1 + recursive) if one.span.end <= query[at].start
            ]
            if found:
                yield WithClause(tuple(found), recursive)


def end_of_group(query: Sequence[Token], place: int) -> int:
    """The place of the parenthesis that closes the group around `place`; the end if none does."""
    depth = 0
    for at in range(place, len(query)):
        depth += query[at].says("(") - query[at].says(")")
        if depth < 0:
            return at
    return len(query)


def _definitions(query: Sequence[Token], place: int) -> Iterator[WithDefinition]:
    """
    >>> found = list(tokens("WITH c (SELECT 1), d(x, y) AS (SELECT 2) SELECT * FROM c"))
    >>> [(one.name, one.span.end) for one in _definitions(found, 1)]
    [('c', 17), ('d', 40)]
    """
    while place < len(query):
        first = query[place]
        place += 1
        if place < len(query) and query[place].says("(") and not _begins_query(query, place + 1):
            place = end_of_group(query, place + 1) + 1  # behind the names of columns
        while place < len(query) and not query[place].says("AS", "("):
            place += 1
        place += place < len(query) and query[place].says("AS")
        if place >= len(query) or not query[place].says("("):
            return
        end = end_of_group(query, place + 1)
        if end == len(query):
            return
        yield WithDefinition(bare(first.text), first.span | query[end].span)
        place = end + 1
        if place >= len(query) or not query[place].says(","):
            return
        place += 1


def _begins_query(query: Sequence[Token], place: int) -> bool:
    """Whether a query stands there, and no list of names. AS may be left out before it."""
    return place < len(query) and query[place].says(*OPENING)
