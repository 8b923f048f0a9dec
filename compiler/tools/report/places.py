"""What of a picture has a place: positions of events, outlines that the query or its relations name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neelc.ir import expressions as e
from neelc.ir.algebra import Algebra, TemporalMatcher
from neelc.ir.bound_rows import HostQuery, Recognize, Temporal
from neelc.ir.names import bare
from neelc.ir.node import Node, walk
from neelc.ir.program import Column, Match, Stream
from neelc.ir.types import GEOMETRY, STRING
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.model import ReferenceEvent, bound_events
from neelc.runtime.values.functions.space import GEODESIC, SPATIAL, MissingPackage, geometries, library
from neelc.tools.report.picture import Lane, MapPosition, Outline, Picture, PlacesOfPicture
from neelc.tools.report.record import lane_text, text_of

MOST_OUTLINES = 2_000
"""How many outlines of a relation a map shows."""

NO_SHAPELY = "A map of the positions requires shapely: pip install 'neelc[spatial]'."


# Which columns have positions.


@dataclass(frozen=True)
class PositionTerm:
    """A column with geometries, or two columns that are the coordinates of points."""

    columns: tuple[str, ...]

    def text(self, attributes: Mapping[str, Any]) -> str | None:
        """The geometry of an event, as WKT."""
        values = [attributes.get(name) for name in self.columns]
        if any(one is None for one in values):
            return None
        if len(values) == 2:
            return f"POINT ({values[0]} {values[1]})"
        return values[0] if isinstance(values[0], str) else None


def position_terms(nodes: Iterable[Node], columns: Iterable[Column]) -> tuple[PositionTerm, ...]:
    """Columns of type GEOMETRY, those that functions of geometries are given, and what `st_point` is."""
    found = [PositionTerm((one.name,)) for one in columns if one.type == GEOMETRY]
    for call in (node for node in nodes if isinstance(node, e.Call) and node.name in SPATIAL):
        names = [_column(one) for one in call.arguments]
        if call.name == "st_point" and len(names) == 2 and all(names):
            found.append(PositionTerm(tuple(name for name in names if name)))
        else:
            texts = (one for one in map(_inner, call.arguments) if isinstance(one, e.Attribute))
            found += [PositionTerm((bare(one.name),)) for one in texts if one.type in (STRING, GEOMETRY)]
    return tuple(dict.fromkeys(found))


def _inner(argument: e.Expr) -> e.Expr:
    """What is read of a row; of casts, what is cast."""
    while isinstance(argument, e.AtRow | e.Cast):
        argument = argument.argument if isinstance(argument, e.AtRow) else argument.operand
    return argument


def _column(argument: e.Expr) -> str | None:
    inner = _inner(argument)
    return bare(inner.name) if isinstance(inner, e.Attribute) else None


# Outlines: geometries that are constants of the query, and those of relations.


def _constants(nodes: Iterable[Node]) -> Iterator[str]:
    """Texts that functions of geometries are given."""
    for call in (node for node in nodes if isinstance(node, e.Call) and node.name in SPATIAL):
        for argument in call.arguments:
            if isinstance(argument, e.Literal) and isinstance(argument.value, str):
                yield argument.value


def _named_conditions(query: Node) -> Iterator[tuple[str, Node]]:
    """The definitions of symbols and variables, by their names."""
    for node in walk(query):
        if isinstance(node, Temporal):
            yield from ((one.name, one.condition) for one in node.symbols if one.condition is not None)
        elif isinstance(node, Recognize):
            yield from ((one.variable, one.condition) for one in node.definitions)


def constant_outlines(query: Node) -> Iterator[Outline]:
    """Each constant geometry once, called like the symbols whose conditions have it; no points."""
    names: dict[str, dict[str, None]] = {text: {} for text in _constants(walk(query))}
    for name, condition in _named_conditions(query):
        for text in _constants(walk(condition)):
            names[text][name] = None
    for text, symbols in names.items():
        label = ", ".join(symbols)
        yield Outline(text, label, f"{label}: {_shortened(text)}" if label else _shortened(text))


def relation_outlines(stream: Stream, rows: Sequence[Mapping[str, Any]]) -> Iterator[Outline]:
    """The geometries of a relation, each called like the first text beside it."""
    shapes = [one.name for one in stream.columns if one.type == GEOMETRY]
    texts = [one.name for one in stream.columns if one.type == STRING]
    for row in rows[:MOST_OUTLINES]:
        label = next((str(row[name]) for name in texts if row[name] is not None), "")
        for name in shapes:
            if isinstance(row[name], str):
                yield Outline(row[name], label, f"{stream.name}: {label}" if label else stream.name)


def _shortened(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:87]}..."


# The places of a picture.


def mapped(
    picture: Picture,
    query: Match | Algebra | HostQuery,
    relations: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Picture:
    """The picture with its places, if its events have any. `relations` are rows of streams of the query."""
    root = query_node(query)
    nodes = [*walk(root)]
    outlines = [*constant_outlines(root)]
    for stream in query.streams:
        if stream.is_relation and stream.name in relations:
            outlines += relation_outlines(stream, relations[stream.name])
    positions = picture.positions or tuple(event_positions(picture, nodes))
    if not positions:
        return picture
    try:
        positions, outlines = _with_geometries(positions), _with_geometries(outlines)
    except MissingPackage:
        return replace(picture, positions=(), notices=(*picture.notices, NO_SHAPELY))
    if not positions:
        return replace(picture, positions=())
    geodesic = any(isinstance(node, e.Literal) and node.value == GEODESIC for node in nodes)
    return replace(picture, positions=(), places=PlacesOfPicture(positions, outlines, geodesic))


def query_node(query: Match | Algebra | HostQuery) -> Node:
    """The part of a query that has its conditions."""
    if isinstance(query, Match):
        return query.pattern
    if isinstance(query, Algebra):
        return query.root
    assert query.simple is not None and query.simple.recognizing is not None
    recognize = query.simple.recognizing.recognize
    assert recognize is not None
    return recognize


def has_positions(query: Match | Algebra | HostQuery) -> bool:
    """Whether a picture of the query may have a map."""
    columns = (column for stream in query.streams for column in stream.columns)
    return bool(position_terms(walk(query_node(query)), columns))


def event_positions(picture: Picture, nodes: Sequence[Node]) -> Iterator[MapPosition]:
    """Of each event that is drawn, with the matches that it belongs to."""
    terms = {name: position_terms(nodes, columns) for name, columns in picture.columns.items()}
    if not any(terms.values()):
        return
    members: dict[ReferenceEvent, list[int]] = {}
    for number, one in enumerate(picture.panels[0].found):
        for event in bound_events(one.binding):
            members.setdefault(event, []).append(number)
    for event in picture.shown.events:
        for term in terms[event.stream]:
            text = term.text(event.attributes)
            if text is not None:
                lane = picture.lane(event) if picture.keys else ()
                yield position(lane, event, text, text_of(event.type), tuple(members.get(event, ())))


def position(key: Lane, event: ReferenceEvent, text: str, what: str, matches: tuple[int, ...]) -> MapPosition:
    """The position of an event."""
    about = ": ".join([*([lane_text(key)] if key else []), what])
    return MapPosition(text, key, event.start, about, matches)


def _with_geometries(places: Any) -> Any:
    """Those whose texts are geometries that are not empty, with these."""
    import numpy as np

    library()
    texts = np.array([one.text for one in places], object)
    if not len(texts):
        return ()
    found = geometries(texts)
    kept = (
        (one, shape)
        for one, shape in zip(places, found, strict=True)
        if shape is not None and not shape.is_empty
    )
    return tuple(replace(one, geometry=shape) for one, shape in kept)


def row_positions(
    clause: Temporal,
    matcher: TemporalMatcher,
    rows: Sequence[Mapping[str, Any]],
    times: Sequence[int],
    members: Mapping[int, Mapping[int, Sequence[str]]],
) -> Iterator[MapPosition]:
    """The positions of the events of a temporal pattern. `members` are the matches that each row belongs to,
    with the symbols whose runs have it."""
    terms = position_terms(walk(matcher), clause.columns)
    for number, (row, time) in enumerate(zip(rows, times, strict=True)):
        for term in terms:
            text = term.text(row)
            if text is not None:
                key = tuple(row[name] for name in clause.partition)
                matches = members.get(number, {})
                symbols = dict.fromkeys(name for names in matches.values() for name in names)
                about = ": ".join(
                    [*([lane_text(key)] if key else []), *([", ".join(symbols)] if symbols else [])]
                )
                yield MapPosition(text, key, time, about, tuple(matches))
