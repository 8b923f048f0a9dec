"""The statements of a script that are Spark's: queries of its own SQL around MATCH_RECOGNIZE.

A SELECT is Spark's if it has a MATCH_RECOGNIZE clause, or if it names a query of Spark's that declares no
times: without times its rows are no events, and only Spark's SQL can read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from neelc.ir.names import Identifier, bare
from neelc.ir.script import HostSelect
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span
from neelc.syntax.host_tokens import (
    CLAUSE,
    OURS,
    SPARK,
    Token,
    begins_statement,
    clauses,
    nested_tokens,
    tokens,
)


@dataclass(frozen=True)
class HostStatement:
    """A query of Spark's: `name` is in source form, `tokens` are those of the query. `header` are the tokens
    from CREATE to before AS, if it has them; `whole` is the statement, with its semicolon."""

    name: str | None
    tokens: tuple[Token, ...]
    header: tuple[Token, ...]
    span: Span
    whole: Span

    @property
    def has_times(self) -> bool:
        """Whether clauses stand between the name and AS."""
        return len(self.header) > 3

    def select(self, source: Source) -> HostSelect:
        """The query as a node."""
        span = self.tokens[0].span | self.tokens[-1].span
        text = source.text[span.start : span.end]
        return HostSelect(text, tuple(clauses(self.tokens)), span=span)


def host_statements(text: str) -> list[HostStatement]:
    """The statements of a script that are Spark's.

    >>> text = "CREATE QUERY v TIMESTAMP BY x AS SELECT * FROM t MATCH_RECOGNIZE (); SELECT y FROM v"
    >>> [(one.name, one.has_times) for one in host_statements(text)]
    [('v', True)]
    >>> [one.name for one in host_statements(text.replace(" TIMESTAMP BY x", ""))]
    ['v', None]
    """
    found: list[HostStatement] = []
    if re.search(r"match_recognize\b", text, re.IGNORECASE):
        for several in _statements(text):
            statement = _host_statement(
                several, [one.name for one in found if one.name and not one.has_times]
            )
            found += [] if statement is None else [statement]
    return found


def without_statements(source: Source, statements: Sequence[HostStatement]) -> Source:
    """The script with blanks where these statements stand."""
    text = source.text
    for statement in statements:
        blank = re.sub(r"[^\r\n]", " ", text[statement.whole.start : statement.whole.end])
        text = text[: statement.whole.start] + blank + text[statement.whole.end :]
    return Source(text, source.name)


def mentions(query: HostSelect, name: str) -> bool:
    """Whether a token of a query could be this bare name.

    >>> query = HostSelect("SELECT 'a' FROM b MATCH_RECOGNIZE (DEFINE C AS x IN (SELECT y FROM d))")
    >>> [mentions(query, name) for name in "abcdx"]
    [False, True, False, True, False]
    """
    return name.casefold() in _names(query.text)


@lru_cache(maxsize=256)
def _names(text: str) -> frozenset[str]:
    outer = list(tokens(text))
    inside = (one for token in outer if token.kind == CLAUSE for one in nested_tokens(token))
    return frozenset(bare(token.text).casefold() for token in (*outer, *inside) if token.is_name)


def parameters_in(query: HostSelect) -> list[str]:
    """The names that stand behind a colon, wherever."""
    return re.findall(r":\s*(\w+)", query.text)


def is_ordered(query: HostSelect) -> bool:
    """Whether the rows of a query have an order: ORDER BY outside of all parentheses."""
    depth = 0
    for token in tokens(query.text):
        depth += token.says("(") - token.says(")")
        if depth == 0 and token.says("ORDER", "SORT"):
            return True
    return False


def _statements(text: str) -> Iterator[list[Token]]:
    """The tokens of each statement, its semicolon included; each by its own rules."""
    at = 0
    while at < len(text):
        found: list[Token] = []
        depth = 0
        for token in tokens(text, at, _rules(text, at)):
            found.append(token)
            depth += token.says("(") - token.says(")")
            if token.says(";") and (depth <= 0 or begins_statement(text, token.end)):
                break
        at = found[-1].end if found else len(text)
        if found and not found[0].says(";"):
            yield found


MOST_HEADER = 60
"""Tokens from CREATE to AS: a name, and clauses of times."""


def _rules(text: str, at: int) -> re.Pattern[str]:
    """Those of our own statements, or Spark's."""
    found = [token for token, _ in zip(tokens(text, at, OURS), range(MOST_HEADER), strict=False)]
    first = found[_header(found) :][:1]
    return OURS if first and first[0].says("CREATE", "PATTERN") else SPARK


def _header(several: Sequence[Token]) -> int:
    """The number of tokens of `CREATE QUERY name [times] AS`; 0 if the statement does not begin so."""
    if len(several) > 4 and several[0].says("CREATE") and several[1].says("QUERY"):
        for at in range(3, min(len(several), MOST_HEADER)):
            if several[at].says("AS"):
                return at + 1
            if several[at].says("PATTERN", "SELECT", "WITH", ";"):
                return 0
    return 0


def _host_statement(several: Sequence[Token], before: Sequence[str]) -> HostStatement | None:
    """A statement that is Spark's; `before` are the names of queries that only Spark's can read."""
    inner = list(several)
    while inner and inner[-1].says(";"):
        inner.pop()
    if not inner:
        return None
    name, header, query = _named(inner)
    if not query or query[0].says("CREATE", "PATTERN"):
        return None
    whole, span = several[0].span | several[-1].span, inner[0].span | inner[-1].span
    statement = HostStatement(name, tuple(query), tuple(header), span, whole)
    names = {bare(token.text).casefold() for token in query if token.is_name}
    if any(token.kind == CLAUSE for token in query) or any(bare(one).casefold() in names for one in before):
        return statement
    return None


def _named(several: list[Token]) -> tuple[str | None, list[Token], list[Token]]:
    """The name of a statement, its header and its query: `CREATE QUERY name AS ...`, or `(...) AS name`."""
    header = _header(several)
    if header:
        return _identifier(several[2]), several[: header - 1], several[header:]
    if len(several) > 3 and several[-2].says("AS") and _is_group(several[:-2]):
        return _identifier(several[-1]), [], several[1:-3]
    return None, [], several


def _identifier(token: Token) -> Identifier:
    return Identifier(token.text, token.span)


def _is_group(several: list[Token]) -> bool:
    """Whether the first of the tokens is a parenthesis that the last one closes."""
    depths = list(accumulate(token.says("(") - token.says(")") for token in several))
    return depths[-1] == 0 and all(depth > 0 for depth in depths[:-1])
