"""The keys of a query: whose events are asked for, and which events belong together.

Events of different keys are in no match together, nor in what its negations look for
(`neelc.rewrite.keys` proves that), so each key is explained alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from neelc.files import CallError
from neelc.ir import pattern as p
from neelc.ir.expr import Attribute, Cast, Expr
from neelc.ir.logical import Match, Stream
from neelc.ir.names import bare, find, written
from neelc.ir.parts import all_parts
from neelc.reasons.texts import shown
from neelc.rewrite.consequences import same_at
from neelc.rewrite.keys import Key, partition_keys
from neelc.runtime.reference.evaluate import evaluate
from neelc.runtime.reference.events import in_order, members
from neelc.runtime.reference.model import Context, Event, attribute, comparable

KEYS_SHOWN = 5
Wanted = Mapping[str, Sequence[str]]
"""Names of keys, and the texts of the values that are asked for."""


@dataclass(frozen=True)
class Group:
    """The events of one key, in order of time. `key` has its values as texts; it is empty without keys.
    `values` are those of PARTITION BY or `[id]`, else of the first key: by these pictures have lanes."""

    key: Mapping[str, str]
    events: tuple[Event, ...]
    values: tuple[object, ...] = ()


def text_of(value: object) -> str:
    """The text that a caller gives for a value of a key.

    >>> text_of("scalpel-1"), text_of(7), text_of(None)
    ('scalpel-1', '7', 'NULL')
    """
    return value if isinstance(value, str) else shown(value)


def wanted(match: Match, texts: Sequence[str]) -> dict[str, list[str]]:
    """What `--key VALUE` and `--key NAME=VALUE` ask for.

    >>> from neelc.rewrite.examples import query
    >>> asked = query("SEQ(A a, B b) WHERE [id] AND a.user = b.user")
    >>> wanted(asked, ["id=7", "id=8", "user=Ann"])
    {'id': ['7', '8'], 'user': ['Ann']}
    >>> wanted(asked, ["7"])
    Traceback (most recent call last):
    neelc.files.CallError: key 7: the query has several keys, say which one: id=7 or user=7
    """
    return wanted_of([key.name for key in partition_keys(match)], texts)


def wanted_of(names: Sequence[str], texts: Sequence[str]) -> dict[str, list[str]]:
    """What is asked for of the keys with these names."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        known = find(written(name), names) if equals else None
        if known is None and not names:
            raise CallError(
                f"key {text}: the query has no key, as no value is equal in all its events; "
                "ask without a key, and between two times if there are too many events"
            )
        if known is None and len(names) > 1:
            ways = " or ".join(f"{one}={text}" for one in names)
            raise CallError(f"key {text}: the query has several keys, say which one: {ways}")
        found.setdefault(known or names[0], []).append(value if known else text)
    return found


def groups(match: Match, events: Sequence[Event], asked: Wanted) -> list[Group]:
    """The events that can matter, by their keys; of the keys that are asked for, if some are."""
    keys = partition_keys(match)
    if not keys:
        return [Group({}, in_order(events))]
    found: dict[object, list[Event]] = {}
    values: dict[object, tuple[object, ...]] = {}
    for event, of_event in _keys_of_events(match, keys, events):
        place = tuple(comparable(value) for value in of_event)
        found.setdefault(place, []).append(event)
        values[place] = of_event
    names = [key.name for key in keys]
    chosen = [
        Group(
            dict(zip(names, map(shown, values[place]), strict=True)),
            in_order(found[place]),
            values[place][: len(match.partition or tuple(same_at(match.pattern))) or 1],
        )
        for place in found
        if is_wanted(dict(zip(names, map(text_of, values[place]), strict=True)), asked)
    ]
    if asked and not chosen:
        raise no_such_key(
            asked, [dict(zip(names, map(text_of, one), strict=True)) for one in values.values()]
        )
    return sorted(chosen, key=lambda group: list(group.key.values()))


def is_wanted(texts: Mapping[str, str], asked: Wanted) -> bool:
    """Whether a key is asked for."""
    return all(texts[name] in allowed for name, allowed in asked.items())


def _keys_of_events(
    match: Match, keys: Sequence[Key], events: Sequence[Event]
) -> Iterator[tuple[Event, tuple[object, ...]]]:
    """Each event that can matter, with its values of the keys. No event has two (`partition_keys`)."""
    of_type = members(match.types, events)
    types = variable_types(match)
    found: dict[Event, list[object]] = {}
    for name, type in types.items():
        for event in of_type[type]:
            if event not in found:
                found[event] = [_value(dict(key.terms)[name], name, event) for key in keys]
    for event in events:
        if event in found:
            yield event, tuple(found[event])
        elif match.partition:  # no event of the pattern, but windows of events and contiguity count it
            yield event, tuple(attribute(event, written(key.name)) for key in keys)


def _value(term: Expr, variable: str, event: Event) -> object:
    return evaluate(term, Context({variable: event}))


def variable_types(match: Match) -> dict[str, str]:
    """The type of each variable of events; a list's is that of its elements."""
    found: dict[str, str] = {}
    for part in all_parts(match.pattern):
        match part:
            case p.Event(type, str() as variable) | p.Repeat(p.Event(type), variable=str() as variable):
                found[variable] = type
    return found


def no_such_key(asked: Wanted, there: Sequence[Mapping[str, str]]) -> CallError:
    """No event has a key that is asked for; perhaps one of those that are there is meant."""
    said = ", ".join(f"{name} = {' or '.join(allowed)}" for name, allowed in asked.items())
    for name, allowed in asked.items():
        known = sorted({one[name] for one in there if name in one})
        close = difflib.get_close_matches(allowed[0], known, 1)
        if close:
            return CallError(f"key: no event has {said}; did you mean {close[0]}?")
        if known:
            more = ", ..." if len(known) > KEYS_SHOWN else ""
            return CallError(f"key: no event has {said}; there are: {', '.join(known[:KEYS_SHOWN])}{more}")
    return CallError(f"key: no event has {said}")


def columns(match: Match, stream: Stream, name: str) -> list[str] | None:
    """The columns of a stream that hold the key `name`; None if a reader cannot tell by columns alone."""
    terms = next(dict(key.terms) for key in partition_keys(match) if key.name == name)
    types = {type.name: type for type in match.types}
    found = {name} if match.partition else set()
    for variable, type in variable_types(match).items():
        if any(member.stream == stream.name for member in types[type].members):
            term = terms[variable]
            plain = term.operand if isinstance(term, Cast) else term
            if not isinstance(plain, Attribute):
                return None
            found.add(bare(plain.name))
    known = (find(written(one), [written(column.name) for column in stream.columns]) for one in sorted(found))
    return [bare(one) for one in known if one is not None]
