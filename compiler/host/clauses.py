"""Where the MATCH_RECOGNIZE clauses of a query stand, what they read, and which names they see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from neelc.host.scan import CLAUSE, Token
from neelc.ir.names import bare
from neelc.source import Span

BEFORE_SOURCE = ("FROM", "JOIN", "LATERAL")

# What may follow a table and is no name for it.
BEHIND = frozenset(
    """ANTI CLUSTER CROSS DISTRIBUTE EXCEPT FULL GROUP HAVING INNER INTERSECT JOIN LATERAL LEFT LIMIT MINUS
    NATURAL OFFSET ON ORDER PIVOT QUALIFY RIGHT SELECT SEMI SORT TABLESAMPLE UNION UNPIVOT USING WHERE WINDOW
    ) , ;""".split()
)


@dataclass(frozen=True)
class Definition:
    """`name AS (...)` after WITH; `name` is bare."""

    name: str
    span: Span


@dataclass(frozen=True)
class With:
    """The definitions of one WITH that a clause sees."""

    definitions: tuple[Definition, ...]
    recursive: bool = False


@dataclass(frozen=True)
class Clause:
    """A clause: `span` is from MATCH_RECOGNIZE to its parenthesis, `source` the relation before it, None if
    there is none. `table` are the parts of its name, if it is a name, and `alias` the name it has for the
    clause. `is_named`: a name for the result follows. `is_inside`: it stands in a query inside another."""

    span: Span
    source: Span | None
    table: tuple[str, ...] = ()
    alias: str | None = None
    is_named: bool = False
    visible: tuple[With, ...] = ()
    is_inside: bool = False

    @property
    def name(self) -> str | None:
        """What the rows of the source, and of the result, may be called."""
        return self.alias or (self.table[-1] if self.table else None)

    @property
    def whole(self) -> Span:
        return self.span if self.source is None else self.source | self.span

    @property
    def defined(self) -> tuple[str, ...]:
        return tuple(one.name for group in self.visible for one in group.definitions)


def clauses(query: Sequence[Token]) -> list[Clause]:
    """The clauses of a query, those in the source of another before it.

    >>> from neelc.host.scan import tokens
    >>> text = "WITH c AS (VALUES (1)) SELECT * FROM c, db.t x MATCH_RECOGNIZE () AS m"
    >>> found = clauses(list(tokens(text)))
    >>> found[0].table, found[0].alias, found[0].is_named, found[0].defined
    (('db', 't'), 'x', True, ('c',))
    """
    return [_clause(query, at) for at, token in enumerate(query) if token.kind == CLAUSE]


def _clause(query: Sequence[Token], at: int) -> Clause:
    token = query[at]
    source = query[_source_start(query, at) : at]
    visible = tuple(_visible(query, at))
    if not source:
        return Clause(token.span, None, visible=visible)
    table, alias = _table(source)
    after = query[at + 1] if at + 1 < len(query) else None
    is_named = after is not None and not after.says(*BEHIND)
    is_inside = end_of_group(query, at) < len(query)
    return Clause(token.span, source[0].span | source[-1].span, table, alias, is_named, visible, is_inside)


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


def _visible(query: Sequence[Token], at: int) -> Iterator[With]:
    """The definitions that stand before a token in the queries around it, the outermost first."""
    for place, token in enumerate(query[:at]):
        begins = place == 0 or query[place - 1].says("(")
        if token.says("WITH") and begins and at < end_of_group(query, place):
            recursive = query[place + 1].says("RECURSIVE")
            found = [
                one for one in _definitions(query, place + 1 + recursive) if one.span.end <= query[at].start
            ]
            if found:
                yield With(tuple(found), recursive)


def end_of_group(query: Sequence[Token], place: int) -> int:
    """The place of the parenthesis that closes the group around `place`; the end if none does."""
    depth = 0
    for at in range(place, len(query)):
        depth += query[at].says("(") - query[at].says(")")
        if depth < 0:
            return at
    return len(query)


def _definitions(query: Sequence[Token], place: int) -> Iterator[Definition]:
    while place < len(query):
        first = query[place]
        while place < len(query) and not query[place].says("AS"):
            place += 1
        if place + 1 >= len(query) or not query[place + 1].says("("):
            return
        end = end_of_group(query, place + 2)
        if end == len(query):
            return
        yield Definition(bare(first.text), first.span | query[end].span)
        place = end + 1
        if place >= len(query) or not query[place].says(","):
            return
        place += 1
