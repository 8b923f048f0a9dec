"""What a query reads: each stream once, for all its types together.

Only events of the pattern's types are read, only those that pass what concerns a single event, and only the
columns that something needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neelc.ir import expr as e
from neelc.ir import pattern as p
from neelc.ir.conjuncts import conjuncts
from neelc.ir.logical import Match, Member, Stream
from neelc.ir.names import bare, find, written
from neelc.ir.node import walk
from neelc.plan.columns import columns_of
from neelc.plan.components import Component, components


@dataclass(frozen=True)
class Wanted:
    """The events that one component can use: their types, and conditions that each of them must meet."""

    component: str
    types: tuple[str, ...]
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class Scan:
    """One reading of a stream. `types` are values of its type column; none of them: all events.

    `everything` is the reason why events that the pattern does not name are read too. `columns` are those
    that are used, of `width` that there are.
    """

    stream: Stream
    types: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    columns: tuple[str, ...]
    width: int
    everything: str | None = None


def scans(query: Match) -> tuple[Scan, ...]:
    """
    >>> from neelc.rewrite.examples import query
    >>> (scan,) = scans(query("SEQ(A a, !B b, A c) WHERE [id] AND c.x > 1 AND a.x < c.x RETURN c.user"))
    >>> scan.types, scan.columns
    (('A', 'B'), ('ts', 'kind', 'id', 'user', 'x'))
    >>> for wanted in scan.wanted:
    ...     print(wanted.component, wanted.conditions)
    A a ('a.id IS NOT NULL',)
    B b ('b.id IS NOT NULL',)
    A c ('c.id IS NOT NULL', 'c.x > 1')
    """
    everything = _reason_for_everything(query)
    found = [_scan(query, stream, everything) for stream in query.streams]
    return tuple(scan for scan in found if scan.wanted or scan.everything)


def _scan(query: Match, stream: Stream, everything: str | None) -> Scan:
    wanted = []
    members: list[Member] = []
    for component in components(query):
        own = [member for member in component.type.members if member.stream == stream.name]
        if own:
            members += own
            types = tuple(_value(member) for member in own if member.value is not None)
            wanted.append(Wanted(component.text, types, tuple(single_conditions(component))))
    all_types = everything or any(member.value is None for member in members)
    types = () if all_types else tuple(dict.fromkeys(_value(member) for member in members))
    columns = columns_of(query, stream)
    return Scan(stream, types, tuple(wanted), columns, len(stream.columns), everything)


def _value(member: Member) -> str:
    return bare(member.value or "")


def _reason_for_everything(query: Match) -> str | None:
    """Why events of other types matter too."""
    if query.strategy in ("STRICT CONTIGUITY", "PARTITION CONTIGUITY"):
        return f"under {query.strategy} an event of any type ends a run"
    windows = [query.within, *(part.within for part in walk(query.pattern) if isinstance(part, p.Pattern))]
    if any(window is not None and window.unit == "EVENT" for window in windows):
        return "a window of events counts events of every type"
    return None


def single_conditions(component: Component) -> Iterator[str]:
    """What every event bound to the component must meet, whatever else is in the match.

    Conditions of all the parts around it count, whether it is optional or not: where it is bound, they must
    hold. A condition around a negative part cannot name it, one inside must hold for it to be a hit.
    """
    for conjunct in (conjunct for part in component.around for conjunct in conjuncts(part.where)):
        if isinstance(conjunct, e.Same):
            known = [column.name for column in component.type.columns]
            names = [name for name in conjunct.attributes if find(name, map(written, known))]
            yield from (f"{component.element}.{name} IS NOT NULL" for name in names)
        elif component.is_alone_in(conjunct):
            yield str(conjunct)
