"""The sources of a SELECT and the variables of its row patterns, with their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from neelc.bind.catalog import Catalog, Entry
from neelc.bind.findings import Findings
from neelc.bind.select import query_columns
from neelc.editors.known import Known
from neelc.ir.expr import Star
from neelc.ir.logical import Column
from neelc.ir.names import find, written
from neelc.ir.node import walk
from neelc.ir.rows import MatchRecognize, Output, RowVariable
from neelc.ir.script import FromItem, FromQuery, FromStream, Matcher, Query, Select
from neelc.parse.lexemes import Lexeme
from neelc.source import Source


def select_names(query: Query, catalog: Catalog, text: str) -> tuple[Known, ...]:
    """All that the SELECT and its subqueries can name.

    >>> from neelc.parse import script
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


def entry_columns(entry: Entry | None) -> tuple[Column, ...]:
    """The columns of a stream, a relation or a query, with the times of its events."""
    if entry is None:
        return ()
    stream = entry.stream or entry.relation
    if stream is None:
        return entry.columns or ()
    ends = (stream.start, stream.end) if stream.query is not None else ()
    clock = entry.clock
    times = (Column(name, clock.type) for name in ends if name and clock is not None)
    return (*stream.columns, *times)


def mentioned(statement: Sequence[Lexeme], catalog: Catalog) -> tuple[Known, ...]:
    """The streams that a query mentions: all that can be said of one that is Spark's. What else stands
    before a dot, a variable of a row pattern or an alias, may have the columns of any of them."""
    words = [one.text for one in statement if one.is_name]
    streams = [entry for entry in catalog.entries.values() if find(written(entry.name), words) is not None]
    found = [
        Known(written(entry.name), f"{entry.kind} `{entry.name}`", entry_columns(entry)) for entry in streams
    ]
    columns = tuple(dict.fromkeys(column for one in found for column in one.columns))
    title = "rows of " + ", ".join(f"`{entry.name}`" for entry in streams)
    owners = dict.fromkeys(one.text for one, dot in pairwise(statement) if one.is_name and dot.says("."))
    others = [name for name in owners if streams and find(name, [one.name for one in found]) is None]
    return (*found, *(Known(name, title, columns) for name in others))


def _names(item: FromItem, catalog: Catalog, findings: Findings) -> Iterator[Known]:
    own, title = _own(item, catalog, findings)
    name = item.name if isinstance(item, FromStream) else ""
    if item.matcher is None:
        yield Known(item.alias or name, title, own)
        return
    for variable in dict.fromkeys(_variables(item.matcher)):
        yield Known(variable, f"rows of {title}", own, declared=None)
    alias = item.matcher_alias or item.alias or name
    every = Select((Output(Star()),), (item,))
    yield Known(alias, f"matches over {title}", query_columns(every, catalog, findings) or ())


def _own(item: FromItem, catalog: Catalog, findings: Findings) -> tuple[tuple[Column, ...], str]:
    match item:
        case FromStream(name=name):
            entry = catalog.entry(name)
            kind = "stream" if entry is None else entry.kind
            return entry_columns(entry), f"{kind} `{name}`"
        case FromQuery(query=Query() as query):
            return query_columns(query, catalog, findings) or (), "a subquery"
    return (), "a source"


def _variables(matcher: Matcher) -> Iterator[str]:
    yield from (node.name for node in walk(matcher) if isinstance(node, RowVariable))
    yield from (definition.name for definition in matcher.definitions)
    if isinstance(matcher, MatchRecognize):
        yield from (subset.name for subset in matcher.subsets)
