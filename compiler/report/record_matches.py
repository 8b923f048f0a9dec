"""The matches of a panel as data of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neelc.ir.names import bare
from neelc.report.numbering import LaneNumbers, Names, Ticks
from neelc.report.picture import Found, Lane, Panel, Picture, Shade
from neelc.report.texts import text_of
from neelc.runtime.reference.model import Event

RESULTS: Lane = (object(),)
"""The lane of rows that have no key: no event is in it."""


@dataclass(frozen=True)
class Around:
    """What the panels of a picture have in common: its clock, its lanes, and the numbers of its events."""

    picture: Picture
    ticks: Ticks
    lanes: LaneNumbers
    events: Mapping[Event, int]


def panel_record(panel: Panel, around: Around) -> dict[str, Any]:
    recording = _Recording(panel, around)
    shades = panel.shades or [()] * len(panel.found)
    matches = [recording.match(one, near) for one, near in zip(panel.found, shades, strict=True)]
    return {
        "title": panel.title,
        "total": panel.total,
        "problem": panel.problem,
        "words": panel.words,
        "columns": [column.name for column in panel.columns],
        "matches": matches,
        "variables": [*recording.variables.places],
        "parts": [*recording.parts.places],
    }


class _Recording:
    def __init__(self, panel: Panel, around: Around) -> None:
        self.panel, self.around = panel, around
        self.variables, self.parts = Names(), Names()

    def match(self, one: Found, shades: Sequence[Shade]) -> list[Any]:
        """Its events and their variables, the scopes of its negations, its values; without events, its time
        and its lane."""
        ticks, events = self.around.ticks, self.around.events
        found = sorted(bound_variables(one.binding), key=lambda pair: (pair[1].start, pair[1].end))
        columns = self.panel.columns
        drawn = [
            [events[event] for _, event in found],
            [self.variables.place(name) for name, _ in found],
            [[self.parts.place(shade.part), ticks.of(shade.low), ticks.of(shade.high)] for shade in shades],
            [text_of(value, column.type) for value, column in zip(one.values, columns, strict=True)],
        ]
        return drawn if found else [*drawn, ticks.of(one.start), ticks.of(one.end), self._lane(one)]

    def _lane(self, one: Found) -> int:
        """A row of a SELECT stands in the lane of its key, if its columns tell it."""
        names = next(iter(self.around.picture.keys.values()), ())
        columns = (column.name.casefold() for column in self.panel.columns)
        values = dict(zip(columns, one.values, strict=True))
        known = bool(names) and all(name.casefold() in values for name in names)
        if not known:
            return self.around.lanes.place(RESULTS, "results")
        return self.around.lanes.place(tuple(values[name.casefold()] for name in names))


def bound_variables(value: object, name: str = "") -> Iterable[tuple[str, Event]]:
    """The events of a binding, each with its variable.

    >>> a, b = (Event("S", row, "A", row, row, {}, (row, row)) for row in (1, 2))
    >>> [name for name, _ in bound_variables({"a": a, "b": (b,), "k": ({"c": a, "d": None},)})]
    ['a', 'b[1]', 'k[1].c']
    """
    if isinstance(value, Event):
        yield name, value
    elif isinstance(value, Mapping):
        for inner, bound in value.items():
            yield from bound_variables(bound, f"{name}.{bare(inner)}" if name else bare(inner))
    elif isinstance(value, tuple):
        for number, element in enumerate(value, 1):
            yield from bound_variables(element, f"{name}[{number}]")
