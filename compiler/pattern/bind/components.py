"""A name for every component of a pattern, and one form for what can be written in several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from neelc.catalog.catalog import Catalog, CatalogEntry, KnownType, joined, report_refusal, resolve_type
from neelc.findings import Findings, did_you_mean
from neelc.ir.expressions import Disjunction, Expr, IsNull, MemberAccess, Name, Subscript
from neelc.ir.expressions import all_of as conjoin
from neelc.ir.expressions import flat_conjuncts as conjuncts
from neelc.ir.names import NameSet, bare, same, written
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import (
    ClosureGap,
    Event,
    Exists,
    FollowWord,
    Listing,
    Not,
    Optional,
    Pattern,
    Repeat,
    inner_parts,
)
from neelc.ir.program import Clock, Stream, order_types
from neelc.ir.script import PatternQuery
from neelc.ir.types import VOID, DataType
from neelc.runtime.late_dataclass import dataclass


def with_parts(pattern: Pattern, parts: tuple[Pattern, ...]) -> Pattern:
    """`pattern` with other patterns directly inside it; the same object when they are the same."""
    if all(new is old for new, old in zip(parts, inner_parts(pattern), strict=True)):
        return pattern
    match pattern:
        case Listing():
            return replace(pattern, parts=parts)
        case Repeat():
            gaps = tuple(gap for gap in parts[1:] if isinstance(gap, ClosureGap))
            return replace(pattern, part=parts[0], gaps=gaps)
        case Not() | Optional() | Exists() | ClosureGap():
            return replace(pattern, part=parts[0])
    return pattern


def paths(pattern: Pattern, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Pattern]]:
    """Every part of a pattern with the way to it, parents first.

    >>> from neelc.ir.patterns import Seq
    >>> [path for path, _ in paths(Seq((Event("A"), Not(Event("B")))))]
    [(), (0,), (1,), (1, 0)]
    """
    yield path, pattern
    for i, part in enumerate(inner_parts(pattern)):
        yield from paths(part, (*path, i))


@dataclass(frozen=True)
class NamedPattern:
    """A pattern whose components all have names: those given in the text, and those made from types."""

    pattern: Pattern
    explicit: tuple[str, ...]
    made: tuple[str, ...]


def named(pattern: Pattern, findings: Findings) -> NamedPattern:
    """Name all components: one without a name takes its type's, and a number if that is taken.

    >>> from neelc.syntax import pattern
    >>> from neelc.source import Source
    >>> text = "SEQ(A, !B, A, (C c : c.x > 1)+, SEQ(D, E)+)"
    >>> found = named(pattern(text), Findings(Source(text)))
    >>> print(found.pattern)
    SEQ(A A, !B B, A A_2, (C+ c[] : c[i].x > 1), SEQ(D D, E E)+ closure[])
    >>> found.explicit, found.made
    (('c',), ('A', 'B', 'A_2', 'D', 'E'))
    """
    return _Naming(pattern, findings).result()


class _Naming:
    def __init__(self, pattern: Pattern, findings: Findings) -> None:
        self.pattern = pattern
        self.findings = findings
        self.explicit: list[str] = []
        known = NameSet()
        for name, _ in _written_names(pattern):
            if not known.has(name):
                self.explicit.append(name)
                known.add(name)
        # Names that a made-up one must differ from, whatever their case and quotes.
        self.used = {bare(name).casefold() for name in self.explicit}
        self.next_number: dict[str, int] = {}
        self.taken = NameSet()
        self.made: list[tuple[str, str]] = []

    def result(self) -> NamedPattern:
        pattern = self.visit(self.pattern)
        return NamedPattern(pattern, tuple(self.explicit), tuple(name for name, _ in self.made))

    def visit(self, node: Pattern) -> Pattern:
        match node:
            case Event():
                return replace(node, variable=self.choose(node.type, node.variable, node))
            case Repeat(Event() as element):
                return self.repeated(node, element)
            case Repeat():
                name = self.choose("closure", node.variable, node, is_type=False)
                return replace(node, part=self.visit(node.part), variable=name, gaps=self.gaps(node))
            case Exists():
                return self.existing(node)
            case Not(part) if node.where is not None or node.within is not None:
                inner = replace(
                    part, where=conjoin((part.where, node.where)), within=part.within or node.within
                )
                return self.visit(replace(node, part=inner, where=None, within=None))
        return with_parts(node, tuple(self.visit(part) for part in inner_parts(node)))

    def repeated(self, node: Repeat, element: Event) -> Pattern:
        """`(B b : b.x > 1)+ k[]` is `B+ k[]` with `k[i].x > 1`: a list of events needs one name only."""
        name = self.choose(element.type, node.variable or element.variable, node)
        if node.variable is not None and element.variable is not None:
            self.choose(element.type, element.variable, element)
        inside = element.variable or element.type
        own = (_of_element(c, inside, name, node.least) for c in conjuncts(element.where))
        where = conjoin((*own, node.where))
        body = replace(element, variable=None, where=None)
        return replace(node, part=body, variable=name, where=where, gaps=self.gaps(node))

    def gaps(self, node: Repeat) -> tuple[ClosureGap, ...]:
        return tuple(replace(gap, part=self.visit(gap.part)) for gap in node.gaps)

    def existing(self, node: Exists) -> Pattern:
        """`EXISTS B : SEQ(A, B)` drops the component without a name that its own part has."""
        before = len(self.made)
        part = self.visit(node.part)
        inside = self.made[before:]
        variables = []
        for name in node.variables:
            alike = [made for made, type_name in inside if same(name, type_name)]
            if len(alike) > 1 and name not in self.explicit:
                message = f"`{name}` could be more than one component of the pattern"
                hint = f"name the intended one in the pattern: {name} {written(bare(name).lower() + '1')}"
                self.findings.report("NEEL2002", message, self.findings.at(name, node), hint)
            variables.append(alike[0] if alike and name not in self.explicit else name)
        return replace(node, part=part, variables=tuple(variables))

    def choose(self, type_name: str, requested: str | None, node: Pattern, is_type: bool = True) -> str:
        if requested is not None:
            if not self.taken.has(requested):
                return self.take(requested)
            free = self.fresh(requested)
            self.findings.report(
                "NEEL2008",
                f"variable `{requested}` is declared twice",
                self.findings.at(requested, node),
                f"rename one of them: variables of a pattern must differ; `{free}` is free",
            )
            return self.take(free)
        is_free = bare(type_name).casefold() not in self.used
        name = self.take(type_name if is_free else self.fresh(type_name))
        if is_type:
            self.made.append((name, type_name))
        return name

    def take(self, name: str) -> str:
        self.taken.add(name)
        self.used.add(bare(name).casefold())
        return name

    def fresh(self, base: str) -> str:
        """A name that nothing has: `a_2` for `a`."""
        text = bare(base).casefold()
        number = self.next_number.get(text, 2)
        while f"{text}_{number}" in self.used:
            number += 1
        self.next_number[text] = number
        return written(f"{bare(base)}_{number}")


def _written_names(pattern: Pattern) -> Iterator[tuple[str, Pattern]]:
    match pattern:
        case Event(variable=str() as name) | Repeat(variable=str() as name):
            yield name, pattern
    for part in inner_parts(pattern):
        yield from _written_names(part)


def _of_element(condition: Expr, element: str, name: str, least: int) -> Expr:
    """A condition on one element as a condition on the list: `b.x > 1` becomes `k[i].x > 1`."""
    current = Subscript(
        Name((str(name),), span=condition.span), Name(("i",), span=condition.span), span=condition.span
    )
    changed = 0

    def change(node: Node) -> Node | None:
        nonlocal changed
        if not (isinstance(node, Name) and node.parts and same(node.parts[0], element)):
            return None
        changed += 1
        result: Expr = replace(current, span=node.span)
        for member in node.parts[1:]:
            result = MemberAccess(result, member, span=node.span)
        return result

    found = transform(condition, change)
    assert isinstance(found, Expr)
    if changed or least > 0:
        return found
    # It names no element, but it must hold only if there is one: an index makes it hold for each of them.
    return Disjunction((IsNull(current, span=condition.span), found), span=condition.span)


# FROM: which streams a query reads, which types they have, and how they count time.


@dataclass(frozen=True)
class QuerySources:
    """What a query reads. A type that is None has been reported; without a clock, so have all streams.

    `own_clock` has the unit that a window without a unit is measured in, if there is one.
    """

    entries: tuple[CatalogEntry, ...]
    types: dict[str, KnownType | None]
    clock: Clock | None
    own_clock: Clock | None


def sources_of(query: PatternQuery, pattern: Pattern, catalog: Catalog, findings: Findings) -> QuerySources:
    """The streams in FROM, or else those that provide the types of the pattern."""
    chosen = _chosen(query, catalog, findings)
    candidates = list(catalog.entries.values()) if chosen is None else chosen
    types: dict[str, KnownType | None] = {}
    for name, node in _types_named(query, pattern):
        if name not in types:
            if types and not candidates:
                types[name] = None  # without any stream, the first type says it all
                continue
            span = findings.at(name, node, query)
            types[name] = resolve_type(name, catalog, candidates, chosen is not None, span, findings)
    if chosen is None:
        used = {entry for known in types.values() if known is not None for entry in known.entries}
        entries = tuple(entry for entry in candidates if entry in used)
    else:
        entries = tuple(chosen)
    clock = _clock(entries)
    _check_orders(query, entries, findings)
    return QuerySources(entries, types, clock, _own_clock(entries, clock))


def _types_named(query: PatternQuery, pattern: Pattern) -> Iterator[tuple[str, Node]]:
    """The types of events, and those of AMONG."""
    for node in walk(pattern):
        match node:
            case Event(name):
                yield name, node
            case FollowWord(among=among):
                yield from ((name, node) for name in among)
    yield from ((name, query) for name in query.among)


def _chosen(query: PatternQuery, catalog: Catalog, findings: Findings) -> list[CatalogEntry] | None:
    """The streams that FROM names; None without a FROM."""
    if not query.streams:
        return None
    found: list[CatalogEntry] = []
    for name in query.streams:
        span = findings.at(name, query)
        entry = catalog.entry(name)
        if entry is None:
            hint = did_you_mean(name, catalog.entries, "streams") or "declare it with CREATE STREAM"
            if catalog.concept(name) is not None:
                hint = "it is a type: name its streams, or leave FROM out"
            findings.report("NEEL2004", f"unknown stream `{name}`", span, hint)
            found.append(
                CatalogEntry(name, "stream", typed=True)
            )  # whatever types it has, they are not checked
        elif entry in found:
            findings.report(
                "NEEL2214", f"stream `{name}` is listed twice in FROM", span, "leave one of them out"
            )
        else:
            if entry.stream is None:
                report_refusal(entry, span, findings)
            found.append(entry)
    return found


def _check_orders(query: PatternQuery, entries: Sequence[CatalogEntry], findings: Findings) -> None:
    """Events of the same time are ordered by THEN BY, whatever stream they are of: all streams of a query
    have it, or none, with columns that can be compared. Else `a` could be simultaneous with `b` and `b` with
    `c`, and `a` come before `c`."""
    streams = [entry.stream for entry in entries if entry.stream is not None]
    first = next((stream for stream in streams if stream.then_by), None)
    if first is None:
        return
    for stream in streams:
        kinds = zip(order_types(first), order_types(stream), strict=False)
        if len(stream.then_by) == len(first.then_by) and all(map(_go_together, kinds)):
            continue
        names = " and ".join(f"`{one.name}`" for one in (first, stream))
        how = f"{_order_of(first)}, and {_order_of(stream)}"
        message = f"{names} are read by one query but order events of the same time differently: {how}"
        hint = "give both THEN BY with as many columns of the same types, or neither"
        if any(one.query for one in streams):
            hint = "matches have no THEN BY: read the query's result alone, or leave THEN BY out"
        place = next((name for name in query.streams if same(name, written(stream.name))), None)
        findings.report("NEEL2251", message, findings.at(place or query.pattern, query), hint)
        return


def _go_together(kinds: tuple[DataType, DataType]) -> bool:
    return kinds[0] == kinds[1] or VOID in kinds


def _order_of(stream: Stream) -> str:
    if not stream.then_by:
        return f"{stream.name} has no THEN BY"
    kinds = {column.name: column.type for column in stream.columns}
    columns = ", ".join(f"{name} {kinds[name]}" for name in stream.then_by)
    return f"{stream.name} has THEN BY {columns}"


def _clock(entries: tuple[CatalogEntry, ...]) -> Clock | None:
    """The clock that can write the times of all the streams."""
    clocks = [entry.clock for entry in entries if entry.clock is not None]
    return reduce(joined, clocks) if clocks else None


def _own_clock(entries: tuple[CatalogEntry, ...], clock: Clock | None) -> Clock | None:
    """`clock`, but without a unit unless all the streams have it."""
    if clock is None or all(entry.clock is None or entry.clock.unit == clock.unit for entry in entries):
        return clock
    return replace(clock, unit=None)
