"""A script in two parts: its queries for Spark that hold MATCH_RECOGNIZE, and the rest, which is ours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from neelc import syntax as parse
from neelc.errors import Diagnostic, NeelError
from neelc.ir.names import bare, find, same, written
from neelc.ir.node import walk
from neelc.ir.patterns import Event
from neelc.ir.script import UnreadStatement
from neelc.source import Source, Span
from neelc.syntax.host_tokens import CLAUSE, OURS, SPARK, Token, nested_tokens, tokens


@dataclass(frozen=True)
class HostStatement:
    """A query of Spark's around MATCH_RECOGNIZE; `name` is bare. Its tokens are those of the query alone, and
    so is `span`; `whole` is the statement."""

    name: str | None
    tokens: tuple[Token, ...]
    whole: Span

    @property
    def span(self) -> Span:
        return self.tokens[0].span | self.tokens[-1].span

    def mentions(self, name: str) -> bool:
        """Whether a token could be this bare name."""
        return self.place_of(name) is not None

    def place_of(self, name: str, within: Span | None = None) -> Span | None:
        """Where the first token stands, in the statement or in a part of it, that could be this bare name."""
        part = within or self.span
        inside = (one for token in self.tokens if token.kind == CLAUSE for one in nested_tokens(token))
        found = (token for token in (*self.tokens, *inside) if token.is_name)
        places = (token.span for token in found if same(token.text, written(name)))
        return next((one for one in places if part.start <= one.start and one.end <= part.end), None)


@dataclass(frozen=True)
class HostScript:
    """A script: `source` is all of it, `own` has blanks where the queries for Spark stand. `is_last`: the
    last statement is one of them."""

    source: Source
    own: Source
    statements: tuple[HostStatement, ...]
    is_last: bool


def host_script(source: Source) -> HostScript | None:
    """The script in its parts; None if there is no MATCH_RECOGNIZE for Spark in it.

    >>> script = host_script(Source("PATTERN A a; CREATE QUERY v AS SELECT * FROM t MATCH_RECOGNIZE ()"))
    >>> script.statements[0].name, script.own.text.rstrip(), script.is_last
    ('v', 'PATTERN A a;', True)
    >>> host_script(Source("PATTERN SEQ(A a, B b)")) is None
    True
    """
    if not re.search(r"match_recognize\b", source.text, re.IGNORECASE):
        return None
    found: list[HostStatement] = []
    is_last = False
    for several in _statements(source.text):
        statement = _host_statement(several, found)
        is_last = statement is not None
        if statement is not None:
            found.append(statement)
    if not found:
        return None
    text = source.text
    for statement in found:
        blank = re.sub(r"[^\r\n]", " ", text[statement.whole.start : statement.whole.end])
        text = text[: statement.whole.start] + blank + text[statement.whole.end :]
    return HostScript(source, Source(text, source.name), tuple(found), is_last)


def _statements(text: str) -> Iterator[list[Token]]:
    """The tokens of each statement, its semicolon included; each by its own rules."""
    at = 0
    while at < len(text):
        found: list[Token] = []
        depth = 0
        for token in tokens(text, at, _rules(text, at)):
            found.append(token)
            depth += token.says("(") - token.says(")")
            if token.says(";") and (depth <= 0 or _begins(text, token.end)):
                break
        at = found[-1].end if found else len(text)
        if found and not found[0].says(";"):
            yield found


def _rules(text: str, at: int) -> re.Pattern[str]:
    """Those of our own statements, or Spark's."""
    words = [token.text.upper() for token, _ in zip(tokens(text, at, OURS), range(5), strict=False)]
    if words[:2] == ["CREATE", "QUERY"]:
        words = words[4:]
    return OURS if words[:1] in (["CREATE"], ["PATTERN"]) else SPARK


def _begins(text: str, at: int) -> bool:
    first = next(tokens(text, at), None)
    return first is None or first.says("CREATE", "PATTERN", "SELECT", "WITH")


def _host_statement(several: Sequence[Token], before: Sequence[HostStatement]) -> HostStatement | None:
    whole = several[0].span | several[-1].span
    inner = list(several)
    while inner and inner[-1].says(";"):
        inner.pop()
    name, query = _named(inner)
    if not query or query[0].says("CREATE", "PATTERN"):
        return None
    statement = HostStatement(name, tuple(query), whole)
    known = [one.name for one in before if one.name is not None]
    if any(token.kind == CLAUSE for token in query) or any(map(statement.mentions, known)):
        return statement
    return None


def _named(several: list[Token]) -> tuple[str | None, list[Token]]:
    """The name of a statement, and its query: `CREATE QUERY name AS ...`, or `(...) AS name`."""
    if len(several) > 4 and several[0].says("CREATE") and several[1].says("QUERY"):
        return bare(several[2].text), several[4:]
    if len(several) > 3 and several[-2].says("AS") and _is_group(several[:-2]):
        return bare(several[-1].text), several[1:-3]
    return None, several


def _is_group(several: list[Token]) -> bool:
    """Whether the first of the tokens is a parenthesis that the last one closes."""
    depths = list(accumulate(token.says("(") - token.says(")") for token in several))
    return depths[-1] == 0 and all(depth > 0 for depth in depths[:-1])


# The part of a script that is ours, beside queries of Spark's, which it cannot read.

HINT = "give the query another name if a type is meant; else run it first, and give its DataFrame as a stream"


def own_part(source: Source) -> Source:
    """The script with blanks where the queries for Spark are; raises `NeelError` if a PATTERN reads one."""
    script = host_script(source)
    if script is None:
        return source
    found = list(_read_by_patterns(script))
    if found:
        raise NeelError(found, source)
    return script.own


def _read_by_patterns(script: HostScript) -> Iterator[Diagnostic]:
    """Without a report, the name would be taken for a type of events, of which there are none."""
    names = [written(one.name) for one in script.statements if one.name is not None]
    for statement in parse.read(script.own).statements if names else ():
        for node in walk(statement):
            if isinstance(node, Event) and find(node.type, names) is not None:
                message = f"{node.type} is a query of Spark's around MATCH_RECOGNIZE: no PATTERN can read it"
                yield Diagnostic("NEEL4001", message, node.span or Span(0, 0), HINT)


# Queries of Spark's in a script that is formatted: they are left as they are written.
#
# Those that our own grammar reads are formatted like all others. For each other one a statement stands in.


def without_hosts(source: Source) -> tuple[Source, dict[str, str]]:
    """The script with statements that stand in, and what they stand for.

    >>> text = "SELECT a.*, 1::INT FROM t MATCH_RECOGNIZE (PATTERN (A)) AS a;"
    >>> found, hosts = without_hosts(Source(text))
    >>> found.text.rstrip(), list(hosts.values()) == [text]
    ('PATTERN spark_query_1 spark;', True)
    """
    script = host_script(source)
    text, hosts = source.text, {}
    for number, statement in reversed(list(enumerate(script.statements if script else (), 1))):
        start, end = statement.whole.start, statement.whole.end
        written = text[start:end]
        if _is_ours(written):
            continue
        stand_in = f"PATTERN spark_query_{number} spark"
        hosts[stand_in] = written
        # As many lines as before: errors in other statements have their places.
        text = text[:start] + f"{stand_in};" + "\n" * written.count("\n") + text[end:]
    return Source(text, source.name), hosts


def _is_ours(text: str) -> bool:
    return not any(isinstance(one, UnreadStatement) for one in parse.read(Source(text)).statements)
