"""The names that can stand at a place of a document, and the way to what a name there belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from neelc.algebra.bind.select import query_columns
from neelc.catalog.catalog import Catalog, CatalogEntry, KnownType
from neelc.findings import Findings
from neelc.ir.expressions import Star
from neelc.ir.names import bare, find, written
from neelc.ir.node import walk
from neelc.ir.patterns import Not, Pattern, Repeat, Seq
from neelc.ir.program import Column
from neelc.ir.row_patterns import MatchRecognize, Output, RowVariable
from neelc.ir.script import FromItem, FromQuery, FromStream, Matcher, PatternQuery, ScriptQuery, Select
from neelc.ir.types import DataType, Struct
from neelc.pattern.bind.components import named, paths, sources_of
from neelc.pattern.bind.scopes import (
    CLOSURE,
    EVENT,
    DeclaredVariable,
    ExpressionScope,
    Path,
    Scopes,
    scopes_of,
    visible,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span
from neelc.syntax.parser import Lexeme
from neelc.tools.editors.document import STAND_IN, Document, query_at

# What names stand for at a place of a query.


@dataclass(frozen=True)
class AttributeOwner:
    """A name with attributes: a variable of a pattern, or a source of a SELECT.

    `name` is in source form; `title` says what it is, `scope` where it lives, in sentences. A closure of a
    composite has the variables of one iteration in `inner`. `is_list` if an index stands before the
    attributes. `is_visible` at the cursor.
    """

    name: str
    title: str
    columns: tuple[Column, ...] = ()
    scope: tuple[str, ...] = ()
    inner: tuple[AttributeOwner, ...] = ()
    is_list: bool = False
    is_visible: bool = True
    declared: Span | None = None


def known_by(name: str, several: Iterable[AttributeOwner]) -> AttributeOwner | None:
    """The one of that name."""
    listed = tuple(several)
    found = find(name, [one.name for one in listed])
    return next((one for one in listed if one.name == found), None)


def followed(chain: Sequence[str], several: Sequence[AttributeOwner]) -> AttributeOwner | Column | None:
    """What `a.b.c` leads to: a variable, or a column; None if it leads nowhere.

    >>> from neelc.ir.types import INT
    >>> a = AttributeOwner("a", "an event", (Column("x", INT),))
    >>> followed(["a"], [a]) is a, followed(["a", "X"], [a]).name, followed(["a", "y"], [a])
    (True, 'x', None)
    """
    first, *rest = chain
    found = known_by(first, several)
    for place, name in enumerate(rest):
        if found is None:
            return None
        inner = known_by(name, found.inner)
        if inner is None:
            return _column(rest[place:], found.columns)
        found = inner
    return found


def _column(chain: Sequence[str], columns: Sequence[Column]) -> Column | None:
    name = find(chain[0], [written(column.name) for column in columns])
    column = next((one for one in columns if written(one.name) == name), None)
    if column is None or len(chain) == 1:
        return column
    return _column(chain[1:], fields(column.type))


def fields(kind: DataType) -> tuple[Column, ...]:
    """The fields of a struct as columns."""
    return tuple(Column(bare(f.name), f.type) for f in kind.fields) if isinstance(kind, Struct) else ()


# Where a variable lives, in sentences: docs/reference/patterns.md explains them.

# A part that is longer is not quoted whole.
_LONGEST = 40


def scope_sentences(v: DeclaredVariable, scopes: Scopes, query: PatternQuery) -> tuple[str, ...]:
    """What negations, closures, choices and EXISTS around a variable mean for it."""
    parts = dict(paths(scopes.pattern))
    found = []
    if v.negations:
        found.append("of a negative part: a match has no event for it")
        found.append(f"looked for {_scope(v.negations[-1], parts, query)}")
    for path in v.closures:
        closure = parts[path]
        if isinstance(closure, Repeat):
            found.append(f"bound anew in each iteration of `{closure.variable}`")
    if v.choices:
        found.append("NULL in matches without this part")
    if v.dropped is not None:
        found.append("dropped by EXISTS: RETURN cannot name it")
    return tuple(found)


def _scope(path: Path, parts: dict[Path, Pattern], query: PatternQuery) -> str:
    """The interval in which a negative part is looked for."""
    after = next(_neighbours(path, parts, -1), None)
    before = next(_neighbours(path, parts, 1), None)
    bounds = [f"after `{_short(after)}`"] if after is not None else []
    if after is None and query.within is not None:
        bounds.append(f"at most {query.within} before the end of the match")
    if before is None and query.within is not None:
        bounds.append(f"at most {query.within} after the start of the match")
    if before is not None:
        bounds.append(f"before `{_short(before)}`")
    return " and ".join(bounds) or "anywhere"


def _neighbours(path: Path, parts: dict[Path, Pattern], step: int) -> Iterator[Pattern]:
    """The positive parts next to a part in the SEQs around it, from the inside out, on one side."""
    while path:
        path, at = path[:-1], path[-1]
        around = parts[path]
        if isinstance(around, Seq):
            at += step
            while 0 <= at < len(around.parts):
                if not isinstance(around.parts[at], Not):
                    yield around.parts[at]
                    break
                at += step


def _short(part: Pattern) -> str:
    text = str(part)
    return text if len(text) <= _LONGEST else text[:_LONGEST].rstrip() + " ..."


# The variables of a PATTERN query, with the attributes of their events and the scopes they live in.


def pattern_names(
    query: PatternQuery, catalog: Catalog, text: str, cursor: int
) -> tuple[AttributeOwner, ...]:
    """All variables of the pattern, in the order of the text.

    >>> from neelc.syntax import script
    >>> text = "PATTERN SEQ(A a, !B b, C+ c[]) WITHIN 5 SECONDS"
    >>> for one in pattern_names(script(text).statements[0].query, Catalog(), text, 0):
    ...     print(one.name, one.title, *one.scope[1:], sep="; ")
    a; one event of type `A`
    b; one event of type `B`; looked for after `A a` and before `C+ c[]`
    c; a list of events of type `C`
    """
    findings = Findings(Source(text))
    given = named(query.pattern, findings)
    sources = sources_of(query, given.pattern, catalog, findings)
    scopes = scopes_of(given)
    in_return = query.pattern.span is not None and _returns_before(query, cursor)
    at = _innermost(given.pattern, cursor)
    place = ExpressionScope(scopes, sources.types, sources.clock, findings, at, in_return)
    seen = {v.path for v in visible(place)}
    return tuple(_known(v, place, query, v.path in seen) for v in scopes.variables)


def _known(
    v: DeclaredVariable, place: ExpressionScope, query: PatternQuery, is_visible: bool
) -> AttributeOwner:
    node = _node(place.scopes, v.path)
    inner = place.scopes.iteration(v) if v.kind == CLOSURE else []
    columns = attributes(place.types.get(v.type or "")) if v.type is not None else ()
    explicit = v.name in place.scopes.explicit
    declared = place.findings.at(v.name, node) if explicit and node.span is not None else None
    return AttributeOwner(
        v.name,
        _title(v),
        columns,
        scope_sentences(v, place.scopes, query),
        tuple(_known(one, place, query, True) for one in inner),
        v.kind != EVENT,
        is_visible,
        declared,
    )


def _title(v: DeclaredVariable) -> str:
    if v.kind == CLOSURE:
        return "a list of iterations"
    return f"one event of type `{v.type}`" if v.kind == EVENT else f"a list of events of type `{v.type}`"


def attributes(known: KnownType | None) -> tuple[Column, ...]:
    """The columns of a type, and the times that its events have besides."""
    if known is None:
        return ()
    columns = known.type.columns
    names = ("match_start", "match_end") if known.is_query else ("ts", "te")
    times = [name for name in names if find(name, [column.name for column in columns]) is None]
    clock = known.clock
    return columns if clock is None else (*columns, *(Column(name, clock.type) for name in times))


def _innermost(pattern: Pattern, cursor: int) -> Path:
    """The way to the smallest part of the pattern that the cursor is in."""
    found: Path = ()
    for path, part in paths(pattern):
        if part.span is not None and part.span.start <= cursor <= part.span.end:
            found = path
    return found


def _returns_before(query: PatternQuery, cursor: int) -> bool:
    returns = query.returns
    return returns is not None and returns.span is not None and returns.span.start <= cursor


def _node(scopes: Scopes, path: Path) -> Pattern:
    return next(part for way, part in paths(scopes.pattern) if way == path)


# The sources of a SELECT and the variables of its row patterns, with their columns.


def select_names(query: ScriptQuery, catalog: Catalog, text: str) -> tuple[AttributeOwner, ...]:
    """All that the SELECT and its subqueries can name.

    >>> from neelc.syntax import script
    >>> text = "SELECT x FROM s t, u MATCH_RECOGNIZE (ORDER BY x PATTERN (A B) DEFINE B AS B.x > 1) AS m"
    >>> [one.name for one in select_names(script(text).statements[0].query, Catalog(), text)]
    ['t', 'A', 'B', 'm']
    """
    findings = Findings(Source(text))
    found = (
        one
        for node in walk(query)
        if isinstance(node, Select)
        for item in node.sources
        for one in _names(item, catalog, findings)
    )
    return tuple(found)


def entry_columns(entry: CatalogEntry | None) -> tuple[Column, ...]:
    """The columns of a stream, a relation or a query, with the times of its events."""
    if entry is None:
        return ()
    stream = entry.stream or entry.table
    if stream is None:
        return entry.columns or ()
    ends = (stream.start, stream.end) if stream.query is not None else ()
    clock = entry.clock
    times = (Column(name, clock.type) for name in ends if name and clock is not None)
    return (*stream.columns, *times)


def mentioned(statement: Sequence[Lexeme], catalog: Catalog) -> tuple[AttributeOwner, ...]:
    """The streams that a query mentions: all that can be said of one that is Spark's. What else stands
    before a dot, a variable of a row pattern or an alias, may have the columns of any of them."""
    words = [one.text for one in statement if one.is_name]
    streams = [entry for entry in catalog.entries.values() if find(written(entry.name), words) is not None]
    found = [
        AttributeOwner(written(entry.name), f"{entry.kind} `{entry.name}`", entry_columns(entry))
        for entry in streams
    ]
    columns = tuple(dict.fromkeys(column for one in found for column in one.columns))
    title = "rows of " + ", ".join(f"`{entry.name}`" for entry in streams)
    owners = dict.fromkeys(one.text for one, dot in pairwise(statement) if one.is_name and dot.says("."))
    others = [name for name in owners if streams and find(name, [one.name for one in found]) is None]
    return (*found, *(AttributeOwner(name, title, columns) for name in others))


def _names(item: FromItem, catalog: Catalog, findings: Findings) -> Iterator[AttributeOwner]:
    own, title = _own(item, catalog, findings)
    name = item.name if isinstance(item, FromStream) else ""
    if item.matcher is None:
        yield AttributeOwner(item.alias or name, title, own)
        return
    for variable in dict.fromkeys(_variables(item.matcher)):
        yield AttributeOwner(variable, f"rows of {title}", own, declared=None)
    alias = item.matcher_alias or item.alias or name
    every = Select((Output(Star()),), (item,))
    yield AttributeOwner(alias, f"matches over {title}", query_columns(every, catalog, findings) or ())


def _own(item: FromItem, catalog: Catalog, findings: Findings) -> tuple[tuple[Column, ...], str]:
    match item:
        case FromStream(name=name):
            entry = catalog.entry(name)
            kind = "stream" if entry is None else entry.kind
            return entry_columns(entry), f"{kind} `{name}`"
        case FromQuery(query=ScriptQuery() as query):
            return query_columns(query, catalog, findings) or (), "a subquery"
    return (), "a source"


def _variables(matcher: Matcher) -> Iterator[str]:
    yield from (node.name for node in walk(matcher) if isinstance(node, RowVariable))
    yield from (definition.name for definition in matcher.definitions)
    if isinstance(matcher, MatchRecognize):
        yield from (subset.name for subset in matcher.subsets)


@dataclass(frozen=True)
class DocumentCursor:
    """A place of a document: the cursor is behind the name in question."""

    document: Document
    cursor: int

    @cached_property
    def statement(self) -> tuple[Lexeme, ...]:
        return self.document.statement_at(self.cursor)

    @cached_property
    def start(self) -> int:
        """Where the statement begins."""
        return self.statement[0].start if self.statement else self.cursor

    @cached_property
    def end(self) -> int:
        """Where it ends."""
        return self.statement[-1].end if self.statement else self.cursor

    @cached_property
    def catalog(self) -> Catalog:
        return self.document.declared_before(self.start)

    @cached_property
    def query(self) -> ScriptQuery | None:
        return query_at(self.document.text, self.statement, self.cursor) if self.statement else None

    @cached_property
    def names(self) -> tuple[AttributeOwner, ...]:
        """Variables and sources that can be named here."""
        return tuple(one for one in self._names() if one.name != STAND_IN)

    def _names(self) -> tuple[AttributeOwner, ...]:
        if isinstance(self.query, PatternQuery):
            return pattern_names(self.query, self.catalog, self.document.text, self.cursor)
        if self.query is not None:
            return select_names(self.query, self.catalog, self.document.text)
        return mentioned(self.statement, self.catalog)


def chain_before(lexemes: Sequence[Lexeme], dot: int) -> list[str]:
    """The names before a dot: for `k[i].b.x`, at the last dot, `k` and `b`.

    >>> from neelc.syntax.parser import lexemes
    >>> chain_before(lexemes("a = k[i-1].b.x"), 10)
    ['k', 'b']
    """
    found: list[str] = []
    at = dot
    while at > 0 and lexemes[at].says("."):
        at -= 1
        depth = 0
        while at > 0 and (lexemes[at].says("]") or depth > 0):
            depth += lexemes[at].says("]") - lexemes[at].says("[")
            at -= 1
        if not lexemes[at].is_name:
            return []
        found.append(lexemes[at].text)
        at -= 1
    return found[::-1]
