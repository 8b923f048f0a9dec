"""The variables of a PATTERN query, with the attributes of their events and the scopes they live in."""

from __future__ import annotations

from neelc.bind.catalog import Catalog
from neelc.bind.components import named, paths
from neelc.bind.event_types import KnownType
from neelc.bind.findings import Findings
from neelc.bind.scopes import CLOSURE, EVENT, Declared, Path, Scopes, scopes_of
from neelc.bind.sources import sources_of
from neelc.bind.visibility import Place, visible
from neelc.editors.known import Known
from neelc.editors.scope_sentences import scope_sentences
from neelc.ir.logical import Column
from neelc.ir.names import find
from neelc.ir.pattern import Pattern
from neelc.ir.script import PatternQuery
from neelc.source import Source


def pattern_names(query: PatternQuery, catalog: Catalog, text: str, cursor: int) -> tuple[Known, ...]:
    """All variables of the pattern, in the order of the text.

    >>> from neelc.parse import script
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
    place = Place(scopes, sources.types, sources.clock, findings, at, in_return)
    seen = {v.path for v in visible(place)}
    return tuple(_known(v, place, query, v.path in seen) for v in scopes.variables)


def _known(v: Declared, place: Place, query: PatternQuery, is_visible: bool) -> Known:
    node = _node(place.scopes, v.path)
    inner = place.scopes.iteration(v) if v.kind == CLOSURE else []
    columns = attributes(place.types.get(v.type or "")) if v.type is not None else ()
    explicit = v.name in place.scopes.explicit
    declared = place.findings.word(v.name, node, nth=-1) if explicit and node.span is not None else None
    return Known(
        v.name,
        _title(v),
        columns,
        scope_sentences(v, place.scopes, query),
        tuple(_known(one, place, query, True) for one in inner),
        v.kind != EVENT,
        is_visible,
        declared,
    )


def _title(v: Declared) -> str:
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
