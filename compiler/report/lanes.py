"""By which values the events of a query are put into lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neelc.files import CallError
from neelc.ir import pattern as p
from neelc.ir.expr import Attribute
from neelc.ir.logical import Match, Stream
from neelc.ir.names import find, written
from neelc.ir.parts import all_parts
from neelc.rewrite.consequences import same_at
from neelc.rewrite.keys import Key, partition_keys
from neelc.rewrite.roles import plain

Keys = dict[str, tuple[str, ...]]
"""The columns of the key in each stream that has one."""


def lane_keys(match: Match, wanted: Sequence[str] = ()) -> Keys:
    """The columns that are wanted, else those of PARTITION BY or `[id]`, else what conditions make equal.

    >>> from neelc.rewrite.examples import query
    >>> lane_keys(query("SEQ(A a, !B b, C c) WHERE [id]"))
    {'S': ('id',)}
    >>> lane_keys(query("SEQ(A a, B b) WHERE a.id = b.id")), lane_keys(query("SEQ(A a, B b)"))
    ({'S': ('id',)}, {})
    >>> lane_keys(query("SEQ(A a, B b) WHERE [id]"), ["n"])
    {'S': ('n',)}
    """
    streams = match.streams
    if wanted:
        return wanted_keys(streams, wanted)
    names = match.partition or tuple(same_at(match.pattern))
    found = _columns(streams, names)
    if names and len(found) == len(streams):
        return found
    return next((keys for key in partition_keys(match) if (keys := _of_key(key, match))), {})


def wanted_keys(streams: Sequence[Stream], wanted: Sequence[str]) -> Keys:
    """The columns of these names; `CallError` if no stream has them all."""
    found = _columns(streams, [written(name) for name in wanted])
    if not found:
        listed = ", ".join(dict.fromkeys(column.name for stream in streams for column in stream.columns))
        raise CallError(f"report: no stream has the key {', '.join(wanted)}; columns: {listed}")
    return found


def _columns(streams: Sequence[Stream], names: Sequence[str]) -> Keys:
    keys: Keys = {}
    for stream in streams:
        known = [column.name for column in stream.columns]
        found = [column for name in names if (column := find(name, known)) is not None]
        if names and len(found) == len(names):
            keys[stream.name] = tuple(found)
    return keys


def _of_key(key: Key, match: Match) -> Keys:
    """The columns of an inferred key, if each stream has one that serves all its events."""
    terms = {name: plain(term) for name, term in key.terms}
    types = {type.name: type for type in match.types}
    found: dict[str, set[str]] = {stream.name: set() for stream in match.streams}
    for variable, type in _events(match.pattern):
        term = terms.get(variable)
        for member in types[type].members:
            found[member.stream].add(term.name if isinstance(term, Attribute) else "")
    if any(len(names) != 1 or "" in names for names in found.values()):
        return {}
    keys: Keys = {}
    for stream in match.streams:
        keys |= _columns([stream], [*found[stream.name]])
    return keys


def _events(pattern: p.Pattern) -> Iterator[tuple[str, str]]:
    """The variables of events, each with its type; a list's variable stands for its events."""
    for part in all_parts(pattern):
        match part:
            case p.Event(type, str() as variable) | p.Repeat(p.Event(type), variable=str() as variable):
                yield variable, type
