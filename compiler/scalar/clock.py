"""The time of a run: `current_timestamp` and its kin are one value for all of it, the parameter `now`."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TypeVar

from neelc.findings import Findings
from neelc.ir.expressions import Call, Cast, Expr, Literal, Name
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children, walk
from neelc.ir.patterns import Event
from neelc.ir.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.types import cast
from neelc.scalar.parameters import to_constant
from neelc.source import Span

NOW = "now"
"""The parameter that has the time of a run. Without a value, it is the time at which the script is bound."""

CLOCKS: dict[str, DataType] = {
    "curdate": DATE,
    "current_date": DATE,
    "current_timestamp": TIMESTAMP,
    "localtimestamp": TIMESTAMP_NTZ,
    "now": TIMESTAMP,
}
"""What asks for the time of a run, and of which type it is."""

BARE = ("current_date", "current_timestamp", "localtimestamp")
"""Those that need no parentheses."""

T = TypeVar("T", bound=Node)


@dataclass
class RunClock:
    """The time of a run: given in `arguments`, or the present. `asked` is where a script first asks for the
    present."""

    arguments: Mapping[str, object]
    asked: Span | None = None
    present: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))

    def constants(self, statement: T, columns: Collection[str], findings: Findings) -> T:
        """The statement with the time in place of what asks for it. A variable, or one of `columns`, hides
        a name without parentheses."""
        variables = (node.variable for node in walk(statement) if isinstance(node, Event))
        hidden = {bare(name).casefold() for name in (*columns, *variables) if name}

        def change(node: Node) -> Node:
            match node:
                case Call(name, (), declared=None, function=None) if name.lower() in CLOCKS:
                    return self._time(name.lower(), node.span, findings)
                case Name((name,)) if name.lower() in BARE and name.lower() not in hidden:
                    return self._time(name.lower(), node.span, findings)
            return map_children(node, change)

        found = change(statement)
        assert isinstance(found, type(statement))
        return found

    def _time(self, name: str, span: Span | None, findings: Findings) -> Expr:
        moment = self._moment(span)
        if moment is None:
            message = f"`{name}` is the value of `:{NOW}`, which is not a time: {self.arguments[NOW]!r}"
            findings.report("NEEL2007", message, span, "for example 2024-05-01 12:00:00")
            moment = Literal(None, VOID, span=span)
        type = CLOCKS[name]
        return moment if type == TIMESTAMP else Cast(moment, type, span=span)

    def _moment(self, span: Span | None) -> Expr | None:
        if NOW not in self.arguments:
            self.asked = self.asked or span
            return to_constant(self.present, span)
        value = self.arguments[NOW]
        if isinstance(value, str):
            is_time = cast(value, "string", "timestamp") is not None
            return Cast(Literal(value, STRING, span=span), TIMESTAMP, span=span) if is_time else None
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            return to_constant(value, span)
        if isinstance(value, datetime.date):
            constant = to_constant(value, span)
            return None if constant is None else Cast(constant, TIMESTAMP, span=span)
        return None


def asks_for_time(script: Node) -> bool:
    """Whether a script may ask for the time of the run."""
    names = (node.name if isinstance(node, Call) else "".join(node.parts[:1])
             for node in walk(script) if isinstance(node, Call | Name))  # fmt: skip
    return any(name.lower() in CLOCKS for name in names)
