"""`level(a.street, Place.city)`, `concept(a)`, `a.x IN (SELECT y FROM relation)`: what is known of an event
beside its data.

Each becomes an attribute of the event, by a name that nobody writes by chance: a derived column of every
stream. So all stages after this one, and all engines, have nothing but attributes. Where a stream has no such
attribute, the level is NULL; where no stream of the type has it, the binder reports the attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from neelc.catalog.catalog import Catalog, CatalogEntry, Hierarchy
from neelc.catalog.hierarchies import can_be_level, is_comparable, known_level
from neelc.errors import NeelError
from neelc.findings import Findings, did_you_mean
from neelc.ir import expressions as e
from neelc.ir.names import Identifier, bare, find, is_quoted, quote
from neelc.ir.node import Node, map_children, walk
from neelc.ir.program import (
    Column,
    ConceptColumn,
    ConceptMember,
    DerivedColumn,
    LevelColumn,
    Match,
    Member,
    MemberColumn,
    MembersColumn,
    Stream,
)
from neelc.ir.row_patterns import Output
from neelc.ir.script import FromStream, PatternQuery, RunQuery, Select
from neelc.ir.types import BOOLEAN, STRING, VOID, DataType
from neelc.pattern.bind.outputs import output_name
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span
from neelc.syntax import script

FUNCTIONS = ("level", "concept")
_LEVEL = "for example level(a.street, Place.city)"
_MEMBER = "for example a.merchant IN (SELECT id FROM Blacklist), of a CREATE RELATION"
_CONCEPT = "for example concept(a), or concept(a, Computer) for the member of a declared type"


@dataclass(frozen=True)
class LevelRequest:
    """A level of an attribute, in source form, that is of the level `of`."""

    attribute: str
    hierarchy: Hierarchy
    of: str
    level: str
    span: Span = field(compare=False)

    @property
    def name(self) -> str:
        """What the derived column is called."""
        attribute = bare(self.attribute) if is_quoted(self.attribute) else self.attribute.lower()
        of = "" if find(self.attribute, [self.of]) else f" as {self.of}"
        return f"{self.level} of {attribute}{of} in {self.hierarchy.name}"

    def column(self) -> Column:
        return Column(self.name, _type(self.hierarchy, self.level), bare(self.attribute))

    def derived(self, stream: Stream) -> DerivedColumn:
        assert self.hierarchy.relation is not None
        attribute = find(self.attribute, [column.name for column in stream.columns]) or ""
        relation, name = self.hierarchy.relation, self.hierarchy.name
        return LevelColumn(self.name, attribute, name, relation, self.of, self.level, span=self.span)


@dataclass(frozen=True)
class ConceptRequest:
    """The type of events; with a concept, in source form, the member of it that they are of."""

    concept: str | None
    catalog: Catalog = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        return "concept of event" if self.concept is None else f"concept below {bare(self.concept)}"

    def column(self) -> Column:
        return Column(self.name, STRING, "")

    def derived(self, stream: Stream) -> DerivedColumn:
        concept = None if self.concept is None else self.catalog.concept(self.concept)
        if concept is None:
            return ConceptColumn(self.name)
        below = (ConceptMember(name, tuple(self._members(name, stream))) for name in concept.members)
        return ConceptColumn(self.name, tuple(one for one in below if one.members))

    def _members(self, name: str, stream: Stream) -> Iterator[Member]:
        """What a type stands for in one stream."""
        for leaf in self.catalog.flattened(name):
            entry = self.catalog.entry(leaf)
            if entry is not None and entry.name == stream.name:
                yield Member(stream.name)
            elif entry is None and stream.type_column is not None:
                yield Member(stream.name, leaf)


@dataclass(frozen=True)
class MemberRequest:
    """Whether an attribute, in source form, has a value that a relation has in a column."""

    attribute: str
    relation: Stream = field(compare=False, repr=False)
    of: str
    span: Span = field(compare=False)

    @property
    def name(self) -> str:
        attribute = bare(self.attribute) if is_quoted(self.attribute) else self.attribute.lower()
        return f"{attribute} in {self.relation.name}.{self.of}"

    def column(self) -> Column:
        return Column(self.name, BOOLEAN, bare(self.attribute))

    def derived(self, stream: Stream) -> DerivedColumn:
        attribute = find(self.attribute, [column.name for column in stream.columns]) or ""
        return MemberColumn(self.name, attribute, self.relation, self.of, span=self.span)


@dataclass(frozen=True)
class MembersRequest:
    """Whether attributes of an event, in source form, are what a row of a relation has in columns."""

    attributes: tuple[str, ...]
    relation: Stream = field(compare=False, repr=False)
    of: tuple[str, ...]
    span: Span = field(compare=False)

    @property
    def name(self) -> str:
        names = (bare(one) if is_quoted(one) else one.lower() for one in self.attributes)
        return f"({', '.join(names)}) in {self.relation.name}.({', '.join(self.of)})"

    def column(self) -> Column:
        return Column(self.name, BOOLEAN, bare(self.attributes[0]))

    def derived(self, stream: Stream) -> DerivedColumn:
        columns = [column.name for column in stream.columns]
        found = tuple(find(one, columns) or "" for one in self.attributes)
        return MembersColumn(self.name, found, self.relation, self.of, span=self.span)


Request = LevelRequest | ConceptRequest | MemberRequest | MembersRequest


@dataclass(frozen=True)
class DerivedQuery:
    """A query in which levels and concepts are attributes, and the catalog whose streams have them."""

    query: PatternQuery
    catalog: Catalog


def with_derived_attributes(query: PatternQuery, catalog: Catalog, findings: Findings) -> DerivedQuery:
    """The query with an attribute in place of each `level(...)` and `concept(...)`."""
    if not any(map(_is_derived, walk(query))):
        return DerivedQuery(query, catalog)
    deriving = _Deriving(catalog, findings)
    changed = deriving.query(query)
    requests = tuple({request.name: request for request in deriving.requests}.values())
    entries = {name: _extended(entry, requests) for name, entry in catalog.entries.items()}
    return DerivedQuery(changed, replace(catalog, entries=entries, _index={}))


def _is_derived(node: Node) -> bool:
    return isinstance(node, e.SharedLevel | e.InQuery) or _is_call(node)


def _is_call(node: Node) -> bool:
    return isinstance(node, e.Call) and node.name.lower() in FUNCTIONS


def _extended(entry: CatalogEntry, requests: tuple[Request, ...]) -> CatalogEntry:
    """The entry with a stream that has the derived columns."""
    stream = entry.stream
    if stream is None:
        return entry
    columns = (*stream.columns, *(request.column() for request in requests))
    derived = tuple(request.derived(stream) for request in requests)
    return replace(entry, stream=replace(stream, columns=columns, derived=derived))


class _Deriving:
    """Replaces the calls of one query, and collects what they ask for."""

    def __init__(self, catalog: Catalog, findings: Findings) -> None:
        self.catalog = catalog
        self.findings = findings
        self.requests: list[Request] = []

    def query(self, query: PatternQuery) -> PatternQuery:
        shared = (self.shared(item) for item in query.partition_by)
        partition = tuple(name for name in shared if name is not None)
        return map_children(replace(query, partition_by=partition), self.node)

    def node(self, node: Node) -> Node:
        match node:
            case Output(expression, None) if any(map(_is_call, walk(expression))):
                alias = Identifier(quote(_output_name(expression)), self.findings.at(expression, node))
                return replace(map_children(node, self.node), alias=alias)
            case e.Call() if _is_call(node):
                return self.call(node)
            case e.InQuery():
                return self.member(node) or e.Literal(None, VOID, span=node.span)
            case e.SameLevels(items):
                names = [self.shared(item) for item in items]
                if None in names:
                    return e.Literal(None, VOID, span=node.span)
                return e.SameAttributes(tuple(filter(None, names)), span=node.span)
        return map_children(node, self.node)

    def call(self, node: e.Call) -> e.Expr:
        found = self.level(node) if node.name.lower() == "level" else self.concept(node)
        return found or e.Literal(None, VOID, span=node.span)

    def level(self, node: e.Call) -> e.Expr | None:
        if not 2 <= len(node.arguments) <= 3 or node.distinct:
            message = "`level` takes an attribute of an event and a level of a hierarchy"
            self.findings.report("NEEL2105", message, node.span, _LEVEL)
            return None
        value, *levels = node.arguments
        attribute = _attribute(value)
        if attribute is None:
            message = f"`{value}` is not an attribute of an event, so it has no level"
            self.findings.report("NEEL2262", message, value.span, _LEVEL)
            return None
        names = [_level_name(one) for one in levels]
        for one, name in zip(levels, names, strict=True):
            if name is None:
                message = f"`{one}` is not a level of a hierarchy"
                self.findings.report("NEEL2261", message, one.span, _LEVEL)
        known = [name for name in names if name is not None]
        if len(known) < len(names):
            return None
        request = self.request(attribute, known[-1], known[0] if len(known) > 1 else None, value)
        return None if request is None else _renamed(value, request, node.span)

    def request(
        self, attribute: str, target: e.LevelName, of: e.LevelName | None, place: Node
    ) -> LevelRequest | None:
        """The level that is asked for; None after a report."""
        found, start = known_level(target, self.catalog, self.findings), None
        if of is not None:
            start = known_level(of, self.catalog, self.findings)
        if found is None or (of is not None and start is None):
            return None
        hierarchy, level = found
        span = self.findings.at(target, place)
        if start is not None and start[0] is not hierarchy:
            message = f"`{of}` and `{target}` are levels of different hierarchies"
            self.findings.report("NEEL2261", message, span, f"levels of one: {', '.join(hierarchy.levels)}")
            return None
        own = start[1] if start is not None else hierarchy.level(attribute)
        if own is None:
            message = f"`{bare(attribute)}` is not the name of a level of `{hierarchy.name}`"
            finest = f"{hierarchy.name}.{hierarchy.levels[0]}"
            hint = f"name it between the two, for example level({place}, {finest}, {target})"
            self.findings.report("NEEL2262", message, self.findings.at(attribute, place), hint)
            return None
        if not hierarchy.is_coarser(level, own):
            message = f"`{level}` is not coarser than `{own}` in hierarchy `{hierarchy.name}`"
            hint = f"from the finest to the coarsest: {', '.join(hierarchy.levels)}"
            self.findings.report("NEEL2263", message, span, hint)
            return None
        request = LevelRequest(str(attribute), hierarchy, own, level, span)
        self.requests.append(request)
        return request

    def member(self, node: e.InQuery) -> e.Expr | None:
        """A BOOLEAN attribute in place of `a.x IN (SELECT y FROM relation)`; None after a report."""
        operands = (node.operand, *node.others)
        attributes = [one for one in map(_attribute, operands) if one is not None]
        selected = selected_columns(node.query.text)
        if len(attributes) < len(operands) or selected is None:
            message = "the only subquery supported here is `event.attribute IN (SELECT column FROM relation)`"
            self.findings.report("NEEL4053", message, node.query.span, _MEMBER)
            return None
        columns, name = selected
        if not self._fit(node, columns):
            return None
        entry = self.catalog.entry(name)
        relation = None if entry is None else entry.relation
        if relation is None:
            known = [one.name for one in self.catalog.entries.values() if one.relation is not None]
            declared = f"declare it: CREATE RELATION {name} ({', '.join(columns)})"
            hint = did_you_mean(name, known, "relations") or declared
            self.findings.report("NEEL2260", f"`{bare(name)}` is not a relation", node.query.span, hint)
            return None
        names = [one.name for one in relation.columns]
        of = [one for one in (find(column, names) for column in columns) if one is not None]
        if len(of) < len(columns):
            column = next(one for one in columns if find(one, names) is None)
            close = did_you_mean(column, names, f"columns of {relation.name}")
            message = f"relation `{relation.name}` has no column `{bare(column)}`"
            self.findings.report("NEEL2204", message, node.query.span, close)
            return None
        place = self.findings.at(node)
        request: MemberRequest | MembersRequest = MemberRequest(attributes[0], relation, of[0], place)
        if len(of) > 1:
            request = MembersRequest(tuple(attributes), relation, tuple(of), place)
        self.requests.append(request)
        found = _renamed(node.operand, request, node.span)
        return e.Negation(found, span=node.span) if node.negated else found

    def _fit(self, node: e.InQuery, columns: Sequence[str]) -> bool:
        """Whether the values before IN are of one event, and as many as the columns behind it."""
        operands = (node.operand, *node.others)
        if len(columns) != len(operands):
            message = f"IN compares {len(operands)} values with {len(columns)} columns"
            self.findings.report("NEEL4053", message, node.query.span, _MEMBER)
            return False
        if len(operands) > MOST_TOGETHER:
            message = f"IN compares at most {MOST_TOGETHER} values together"
            self.findings.report("NEEL4053", message, self.findings.at(node), _MEMBER)
            return False
        if len({_event_text(one) for one in operands}) > 1:
            message = "IN compares values of one event, but these are of several"
            self.findings.report("NEEL4053", message, self.findings.at(node), _MEMBER)
            return False
        return True

    def shared(self, item: str | e.SharedLevel) -> str | None:
        if isinstance(item, str):
            return item
        request = self.request(item.attribute, item.target, item.of, item)
        return None if request is None else Identifier(quote(request.name), self.findings.at(item))

    def concept(self, node: e.Call) -> e.Expr | None:
        match node.arguments:
            case (e.Name((_,)) | e.Subscript() | e.Slice() as event, *rest) if len(rest) < 2:
                pass
            case _:
                message = "`concept` takes an event and, optionally, a declared type"
                self.findings.report("NEEL2262", message, node.span, _CONCEPT)
                return None
        request = ConceptRequest(None, self.catalog)
        for one in rest:
            concept = self.catalog.concept(one.parts[0]) if isinstance(one, e.Name) else None
            if concept is None or not isinstance(one, e.Name) or len(one.parts) > 1:
                hint = did_you_mean(str(one), self.catalog.concepts, "declared types") or _CONCEPT
                self.findings.report("NEEL2262", f"`{one}` is not declared with CREATE TYPE", one.span, hint)
                return None
            request = ConceptRequest(quote(concept.name), self.catalog)
        self.requests.append(request)
        name = Identifier(quote(request.name), self.findings.at(node))
        if isinstance(event, e.Name):
            return replace(event, parts=(*event.parts, name), span=node.span)
        return e.MemberAccess(event, name, span=node.span)


def _attribute(value: e.Expr) -> str | None:
    """The attribute that a reference ends in, None if it is no reference to one."""
    match value:
        case e.Name((_, attribute)) | e.MemberAccess(_, attribute):
            return attribute
    return None


MOST_TOGETHER = 3
"""How many values can stand before IN: each doubles what is looked up, as any of them may be NULL."""


def _event_text(value: e.Expr) -> str:
    """The event that a reference to an attribute names."""
    match value:
        case e.Name((event, _)):
            return event.lower()
        case e.MemberAccess(base):
            return str(base).lower()
    return str(value)


def selected_columns(text: str) -> tuple[tuple[str, ...], str] | None:
    """The columns and the relation of `SELECT column, ... FROM relation`; None if the text is more than that.

    >>> selected_columns("SELECT b.id FROM Blacklist b"), selected_columns("SELECT id FROM B WHERE id > 1")
    ((('id',), 'Blacklist'), None)
    """
    try:
        statements = script(f"{text};").statements
    except NeelError:
        return None
    match statements:
        case (RunQuery(Select() as query),):
            parts = [one.expression.parts for one in query.items if isinstance(one.expression, e.Name)]
        case _:
            return None
    if not parts or len(parts) < len(query.items):
        return None
    plain = replace(query, items=(), sources=(), distinct=False) == Select((), ())
    match query.sources:
        case (FromStream(alias, None, None, None, name=name),) if plain:
            known = [bare(alias or name)]
            fits = (len(one) == 1 or (len(one) == 2 and find(one[0], known) is not None) for one in parts)
            return (tuple(one[-1] for one in parts), name) if all(fits) else None
    return None


def _renamed(value: e.Expr, request: Request, span: Span | None) -> e.Expr:
    assert not isinstance(request, ConceptRequest), "named elsewhere"
    name = Identifier(quote(request.name), span or request.span)
    match value:
        case e.Name((event, _)):
            return e.Name((event, name), span=span)
        case e.MemberAccess(base):
            return e.MemberAccess(base, name, span=span)
    raise AssertionError(f"{value} is no attribute")


def _level_name(node: e.Expr) -> e.LevelName | None:
    match node:
        case e.Name((hierarchy, level)):
            return e.LevelName(hierarchy, level, span=node.span)
    return None


def _output_name(expression: e.Expr) -> str:
    """The name of a column: that of a level is made like that of an attribute.

    >>> from neelc.syntax import expression
    >>> [_output_name(expression(text)) for text in ("level(a.street, Place.city)", "concept(b[last])")]
    ['a_city', 'b_concept']
    """
    match expression:
        case e.Call(name, (e.Name((event, _)), *_, e.Name((_, level)))) if name.lower() == "level":
            return output_name(e.Name((event, level)))
        case e.Call(name, (e.MemberAccess(base), *_, e.Name((_, level)))) if name.lower() == "level":
            return output_name(e.MemberAccess(base, level))
        case e.Call(name, (event, *_)) if name.lower() == "concept":
            return output_name(e.MemberAccess(event, "concept"))
    return output_name(expression)


# What can be said only when it is known which streams a query reads.


def check_levels(match: Match, findings: Findings) -> None:
    """Report attributes whose values cannot be values of the level that they are said to be of."""
    _check_attributes(match, findings)
    for stream in match.streams:
        for one in stream.derived:
            if isinstance(one, MemberColumn):
                _check_member(stream, one.attribute, one.relation, one.of, one.span, findings)
            if isinstance(one, MembersColumn):
                for attribute, of in zip(one.attributes, one.of, strict=True):
                    _check_member(stream, attribute, one.relation, of, one.span, findings)
            if not isinstance(one, LevelColumn) or not one.attribute:
                continue
            own, level = _column_type(stream, one.attribute), _column_type(one.relation, one.of)
            if not is_comparable(own, level):
                message = f"`{one.attribute}` of {stream.name} is {own}, and level `{one.of}` is {level}"
                hint = f"declare both as {own}, or both as {level}"
                findings.report("NEEL2101", message, one.span, hint)


def _check_attributes(match: Match, findings: Findings) -> None:
    """Report attributes before IN that no stream has; of the first, the binder does."""
    found: dict[str, list[MembersColumn]] = {}
    for one in (one for stream in match.streams for one in stream.derived):
        if isinstance(one, MembersColumn):
            found.setdefault(one.name, []).append(one)
    for columns in found.values():
        for place, of in list(enumerate(columns[0].of))[1:]:
            if not any(one.attributes[place] for one in columns):
                message = f"no stream of this pattern has the attribute that is compared with `{of}`"
                findings.report("NEEL2003", message, columns[0].span)


def _check_member(
    stream: Stream, attribute: str, relation: Stream, of: str, span: Span | None, findings: Findings
) -> None:
    if not attribute:
        return
    own, other = _column_type(stream, attribute), _column_type(relation, of)
    if not is_comparable(own, other) or not can_be_level(own):
        message = f"`{attribute}` of {stream.name} is {own}, and `{of}` of {relation.name} is {other}"
        hint = "both must have the same type: STRING, BOOLEAN, DATE, TIMESTAMP or integers"
        findings.report("NEEL2101", message, span, hint)


def _column_type(stream: Stream, name: str) -> DataType:
    return next(column.type for column in stream.columns if column.name == name)


def _type(hierarchy: Hierarchy, level: str) -> DataType:
    assert hierarchy.relation is not None, "a hierarchy that was not reported"
    return _column_type(hierarchy.relation, level)
