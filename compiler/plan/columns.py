"""Which columns of a stream a query uses."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import expr as e
from neelc.ir.logical import Match, Stream
from neelc.ir.names import find, written
from neelc.ir.node import Node, children, walk
from neelc.plan.components import components


def columns_of(query: Match, stream: Stream) -> tuple[str, ...]:
    """The columns of the stream that times, types, keys, conditions or results need, in its own order.

    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, B+ b[]) WHERE a.x > 1 RETURN a.user, count(b[])")
    >>> columns_of(match, match.streams[0])
    ('ts', 'kind', 'user', 'x')
    """
    own = {
        name
        for component in components(query)
        if any(member.stream == stream.name for member in component.type.members)
        for name in (component.variable, component.list)
        if name
    }
    known = [written(column.name) for column in stream.columns]
    used = {stream.start, stream.end, stream.latest, stream.type_column}
    for variable, attribute in _uses(query):
        if variable is None or variable in own:
            if attribute is None:
                return tuple(column.name for column in stream.columns)
            used.add(_bare_column(attribute, known, stream))
    return tuple(column.name for column in stream.columns if column.name in used)


def _bare_column(attribute: str, known: list[str], stream: Stream) -> str | None:
    found = find(attribute, known)
    return None if found is None else stream.columns[known.index(found)].name


def _uses(query: Match) -> Iterator[tuple[str | None, str | None]]:
    """Variables and what is used of them: an attribute, or None for the whole event. Without a variable: an
    attribute of every event."""
    yield from ((None, name) for name in query.partition)
    for node in (query.pattern, *query.outputs):
        yield from _uses_in(node)


def _uses_in(node: Node) -> Iterator[tuple[str | None, str | None]]:
    match node:
        case e.Aggregate("count", e.Whole()):
            return  # events are counted, not looked into
        case e.Same(attributes):
            yield from ((None, name) for name in attributes)
        case e.Attribute(event, name):
            yield from ((variable, name) for variable in _variables(event))
        case e.Whole(event):
            yield from ((variable, None) for variable in _variables(event))
        case _:
            for child in children(node):
                yield from _uses_in(child)


def _variables(event: e.EventRef) -> tuple[str, ...]:
    """The variable whose event is meant: the inner one of an iteration."""
    if isinstance(event, e.Inner):
        return (event.name,)
    return tuple(node.name for node in walk(event) if isinstance(node, e.Variable))
