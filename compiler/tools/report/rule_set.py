"""A picture of many rules: a lane for each rule, with its matches as bars over time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from neelc.ir.program import Clock, Column
from neelc.ir.types import STRING
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.reference.model import nanoseconds
from neelc.tools.report.picture import MOST_MATCHES, DrawnMatch, Panel, Picture, ShownEvents
from neelc.tools.report.record import counted, text_of

RULE = "rule"
COLUMNS = (Column(RULE, STRING), Column("key", STRING), Column("columns", STRING))

RuleRow = Sequence[object]
"""Its rule, its key, when it starts and ends, and the rule's own columns."""


@dataclass(frozen=True)
class DrawnRules:
    """The rules that have run, where they come from, and the clock that they have in common. Matches of those
    in `timeless` have no times."""

    file: str
    names: tuple[str, ...]
    clock: Clock
    timeless: tuple[str, ...] = ()

    def picture(self, rows: Iterable[RuleRow], total: int) -> Picture:
        """The rows with times, the first ones, of `total` in all."""
        found = [self._match(row) for row in rows if row[2] is not None]
        places = {name: place for place, name in enumerate(self.names)}
        found.sort(key=lambda one: (one.start or 0, places[str(one.values[0])], one.end or 0))
        panel = Panel("RULES", COLUMNS, tuple(found[:MOST_MATCHES]), total, words=("match", "matches"))
        return Picture(
            self.file,
            counted(len(self.names), "rule"),
            "",
            self.clock,
            {},
            {RULE: (RULE,)},
            (),
            ShownEvents((), 0),
            (panel,),
            notices=tuple(self._notices()),
            lanes=tuple((name,) for name in self.names),
        )

    def _match(self, row: RuleRow) -> DrawnMatch:
        rule, key, start, end, columns = row
        unit = self.clock.unit or "MILLISECOND"
        first, last = (nanoseconds(time, unit, self.clock) for time in (start, end))
        return DrawnMatch({}, (rule, values_text(key), json_text(columns)), first, last)

    def _notices(self) -> Iterable[str]:
        if self.timeless:
            names = ", ".join(self.timeless)
            yield f"Without times, and not drawn: the rows of {names}."


def values_text(key: object) -> str:
    """The values of a key, without their names.

    >>> values_text({"account": "a-1", "shop": 7}), values_text('{"account":"a-1"}'), values_text(None)
    ('a-1, 7', 'a-1', '')
    """
    found = json.loads(key) if isinstance(key, str) else key
    if not isinstance(found, dict):
        return "" if found is None else text_of(found)
    return ", ".join(value if isinstance(value, str) else json_text(value) for value in found.values())


def json_text(value: object) -> str:
    """
    >>> json_text({"n": 1}), json_text('{"n":1}'), json_text(None)
    ('{"n":1}', '{"n":1}', '')
    """
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":"))
