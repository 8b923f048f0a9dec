"""What a query reads: each stream once, for all its types together.

Only events of the pattern's types are read, only those that pass what concerns a single event, and only the
columns that something needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.expressions import conjuncts, names_in
from neelc.ir.names import bare, find, written
from neelc.ir.node import Node, children, remembered, walk
from neelc.ir.patterns import inner_parts
from neelc.ir.program import (
    DerivedColumn,
    EventType,
    LevelColumn,
    Match,
    Member,
    MemberColumn,
    MembersColumn,
    Stream,
)
from neelc.runtime.late_dataclass import dataclass

# The components of a pattern: the places where it takes an event, negative ones included.


@dataclass(frozen=True)
class ScanComponent:
    """A component of a pattern and the type of its events.

    `around` are the parts it stands in, innermost first, itself included. `list` names the closure that it
    is an element of, or an event of an iteration of.
    """

    part: p.Event
    type: EventType
    variable: str
    around: tuple[p.Pattern, ...]
    list: str | None = None

    @property
    def is_element(self) -> bool:
        """Whether it is the whole body of a closure: `B+ b[]`."""
        return self.part.variable is None

    @property
    def element(self) -> str:
        """How one of its events is written."""
        return f"{self.variable}[i]" if self.is_element else self.variable

    @property
    def text(self) -> str:
        return f"{self.part.type} {self.variable}{'[]' if self.is_element else ''}"

    def is_alone_in(self, condition: e.Expr) -> bool:
        """Whether a condition concerns only one event of this component.

        >>> from pattern_examples import query
        >>> match = query("SEQ(A a, B+ b[]) WHERE b[i].x > 1 AND b[i].x > a.x AND b[last].x > 2")
        >>> [found.is_alone_in(c) for found in components(match) for c in match.pattern.where.operands]
        [False, False, False, True, False, False]
        """
        named = _events_named(condition) if len(names_in(condition)) == 1 else ()
        return bool(named) and all(self._is(event) for event in named)

    def _is(self, event: e.EventRef) -> bool:
        match event:
            case e.Variable(name):
                return name == self.variable and not self.is_element
            case e.ListElement(e.Variable(name), e.Index("CURRENT", 0)):
                return name == self.variable and self.is_element
            case e.InnerVariable(e.ListElement(e.Variable(name), e.Index("CURRENT", 0)), inner):
                return inner == self.variable and name == self.list
        return False


@remembered
def _events_named(node: Node) -> tuple[e.EventRef, ...]:
    if isinstance(node, e.EventRef):
        return (node,)
    return tuple(event for child in children(node) for event in _events_named(child))


def components(query: Match) -> tuple[ScanComponent, ...]:
    """All components of a query, in the order they are written."""
    types = {known.name: known for known in query.types}

    def below(part: p.Pattern, above: tuple[p.Pattern, ...], inside: str | None) -> Iterator[ScanComponent]:
        around = (part, *above)
        match part:
            case p.Event(kind, variable):
                yield ScanComponent(part, types[kind], variable or inside or "", around, inside)
            case p.Repeat(inner, variable=variable):
                yield from below(inner, around, variable)
                for gap in part.gaps:
                    yield from below(gap.part, around, inside)
            case _:
                for inner in inner_parts(part):
                    yield from below(inner, around, inside)

    return tuple(below(query.pattern, (), None))


# Which columns of a stream a query uses.


def columns_of(query: Match, stream: Stream) -> tuple[str, ...]:
    """The columns of the stream that times, types, keys, conditions or results need, in its own order.

    >>> from pattern_examples import query
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
    times = (stream.start, stream.end, stream.latest, stream.weights, stream.shape_column, *stream.then_by)
    used = {*times, stream.type_column}
    for variable, attribute in _uses(query):
        if variable is None or variable in own:
            if attribute is None:
                return tuple(column.name for column in stream.own_columns)
            used.add(_bare_column(attribute, known, stream))
    # A derived column is computed of one that is read.
    for one in stream.derived:
        if one.name in used:
            used |= looked_up_by(one)
    return tuple(column.name for column in stream.own_columns if column.name in used)


def looked_up_by(column: DerivedColumn) -> set[str]:
    """The attributes that a derived column is computed of."""
    match column:
        case LevelColumn(attribute=attribute) | MemberColumn(attribute=attribute):
            return {attribute}
        case MembersColumn(attributes=attributes):
            return set(attributes)
    return set()


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
        case e.Aggregate("count", e.WholeEvent()):
            return  # events are counted, not looked into
        case e.SameAttributes(attributes):
            yield from ((None, name) for name in attributes)
        case e.Attribute(event, name):
            yield from ((variable, name) for variable in _variables(event))
        case e.WholeEvent(event):
            yield from ((variable, None) for variable in _variables(event))
        case _:
            for child in children(node):
                yield from _uses_in(child)


def _variables(event: e.EventRef) -> tuple[str, ...]:
    """The variable whose event is meant: the inner one of an iteration."""
    if isinstance(event, e.InnerVariable):
        return (event.name,)
    return tuple(node.name for node in walk(event) if isinstance(node, e.Variable))


@dataclass(frozen=True)
class ComponentFilter:
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
    filters: tuple[ComponentFilter, ...]
    columns: tuple[str, ...]
    width: int
    everything: str | None = None


def scans(query: Match) -> tuple[Scan, ...]:
    """
    >>> from pattern_examples import query
    >>> (scan,) = scans(query("SEQ(A a, !B b, A c) WHERE [id] AND c.x > 1 AND a.x < c.x RETURN c.user"))
    >>> scan.types, scan.columns
    (('A', 'B'), ('ts', 'kind', 'id', 'user', 'x'))
    >>> for one in scan.filters:
    ...     print(one.component, one.conditions)
    A a ('a.id IS NOT NULL',)
    B b ('b.id IS NOT NULL',)
    A c ('c.id IS NOT NULL', 'c.x > 1')
    """
    everything = _reason_for_everything(query)
    found = [_scan(query, stream, everything) for stream in query.streams]
    return tuple(scan for scan in found if scan.filters or scan.everything)


def _scan(query: Match, stream: Stream, everything: str | None) -> Scan:
    filters = []
    members: list[Member] = []
    for component in components(query):
        own = [member for member in component.type.members if member.stream == stream.name]
        if own:
            members += own
            types = tuple(_value(member) for member in own if member.value is not None)
            filters.append(ComponentFilter(component.text, types, tuple(single_conditions(component))))
    all_types = everything or any(member.value is None for member in members)
    types = () if all_types else tuple(dict.fromkeys(_value(member) for member in members))
    columns = columns_of(query, stream)
    return Scan(stream, types, tuple(filters), columns, len(stream.own_columns), everything)


def _value(member: Member) -> str:
    return bare(member.value or "")


def _reason_for_everything(query: Match) -> str | None:
    """Why events of other types matter too."""
    if query.strategy.is_contiguous:
        return f"under {query.strategy} an event of any type ends a run"
    windows = [query.within, *(part.within for part in walk(query.pattern) if isinstance(part, p.Pattern))]
    if any(window is not None and window.unit == "EVENT" for window in windows):
        return "a window of events counts events of every type"
    return None


def single_conditions(component: ScanComponent) -> Iterator[str]:
    """What every event bound to the component must meet, whatever else is in the match.

    Conditions of all the parts around it count, whether it is optional or not: where it is bound, they must
    hold. A condition around a negative part cannot name it, one inside must hold for it to be a hit.
    """
    for conjunct in (conjunct for part in component.around for conjunct in conjuncts(part.where)):
        if isinstance(conjunct, e.SameAttributes):
            known = [column.name for column in component.type.columns]
            names = [name for name in conjunct.attributes if find(name, map(written, known))]
            yield from (f"{component.element}.{name} IS NOT NULL" for name in names)
        elif component.is_alone_in(conjunct):
            yield str(conjunct)
