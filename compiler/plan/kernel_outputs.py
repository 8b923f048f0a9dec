"""What comes back from the kernel: a struct for each variable that is asked for, an array for each list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from neelc.ir.expr import Aggregate, Attribute, EventTime, Expr, Variable, Whole
from neelc.ir.logical import Match, Stream
from neelc.ir.names import bare
from neelc.ir.node import Node, children, remembered
from neelc.ir.parts import all_parts, targets
from neelc.ir.pattern import Event, Pattern, Repeat
from neelc.ir.typeof import DATETIMES, type_of
from neelc.ir.types import DATE, TIMESTAMP, TIMESTAMP_NTZ, DataType, Struct, StructField
from neelc.ir.words import RESERVED
from neelc.plan import steps as s
from neelc.plan.event_columns import PLAIN_NAME, EventColumns
from neelc.plan.list_names import variable_of
from neelc.plan.steps_within import repeats
from neelc.runtime.program import Output

START = "start"


def is_start(reference: Expr, types: tuple[str, ...], query: Match, unit: str) -> bool:
    """Whether an attribute is the time at which its event starts, in all streams that it can come from.
    Then it need not travel a second time. Integers must be written in the unit that the plan counts in.

    >>> from neelc.rewrite.examples import query
    >>> match = query("SEQ(A a, B b) RETURN a.ts, b.x")
    >>> [is_start(output.expression, ("A",), match, "MILLISECOND") for output in match.outputs]
    [True, False]
    """
    names = {member.stream for type in query.types if type.name in types for member in type.members}
    streams = [stream for stream in query.streams if stream.name in names]
    if not isinstance(reference, Attribute | EventTime) or any(stream.query for stream in streams):
        return False
    wanted, kind = bare(reference.name).casefold(), type_of(reference)
    if kind in (DATE, TIMESTAMP_NTZ) and query.clock.type == TIMESTAMP:
        return False  # two times of a clock may be one instant, where the clock is set forward
    return bool(streams) and all(
        wanted == ("ts" if isinstance(reference, EventTime) else stream.start.casefold())
        and _time_type(stream) == kind
        and (kind in DATETIMES or stream.unit == unit)
        for stream in streams
    )


def _time_type(stream: Stream) -> DataType | None:
    return next((column.type for column in stream.columns if column.name == stream.start), None)


def outputs_of(
    query: Match, plan: s.Plan, residual: tuple[Expr, ...], columns: EventColumns
) -> tuple[Output, ...]:
    """A struct for each variable that results, or conditions that are left, look into; an array for lists."""
    bodies = closures_of(query.pattern)
    fields: dict[str, dict[str, str]] = {}
    for node in (*(output.expression for output in query.outputs), *residual):
        for variable, reference in references(node, bodies):
            types = columns.type_of_variable.get(variable, ())
            if reference is None or is_start(reference, types, query, plan.unit):
                name = START
            else:
                name = columns.column(reference, variable).name
            for one in bodies.get(variable, (variable,)):  # an iteration without fields would be lost
                fields.setdefault(one, {})[name] = name
    lists = {repeat.variable for repeat in repeats(plan.steps)}
    names = struct_names(plan.variables)

    def output(variable: str, name: str, of: str) -> Output:
        own = tuple(fields.get(of, {}).items())
        return Output(variable, name if own else "", own, listed=variable in lists)

    found = []
    for name in plan.variables:
        inner = struct_names(bodies.get(name, ()))
        parts = tuple(output(f"{name}.{one}", inner[one], one) for one in inner)
        whole = output(name, names[name], name)
        used = any(part.name for part in parts)
        found.append(replace(whole, name=names[name], inner=parts) if used else replace(whole, inner=parts))
    return tuple(found)


SPECIAL_WORDS = frozenset(
    "anti cross except full inner intersect join lateral left minus natural on right semi setminus union"
    " using".split()
)
"""Words that Spark SQL does not take for names, though neelc does."""


def struct_names(variables: tuple[str, ...], others: tuple[str, ...] = ()) -> dict[str, str]:
    """A column name for each variable: its own where that is a plain word, and not one of `others`, the
    columns beside it. Spark does not tell cases apart.

    >>> struct_names(("a", "`A`", "`x y`", "match_start"))
    {'a': 'a', '`A`': 'event_2', '`x y`': 'event_3', 'match_start': 'event_4'}
    >>> struct_names(("id", "b"), others=("ID", "event_1"))
    {'id': 'event_1_2', 'b': 'b'}
    """
    found: dict[str, str] = {}
    taken = {
        *(name.casefold() for name in others),
        "match_start",
        "match_end",
        "confidence",
        *SPECIAL_WORDS,
        *(word.casefold() for word in RESERVED),
    }
    for number, name in enumerate(variables, 1):
        plain = bare(name)
        if not PLAIN_NAME.match(plain) or plain.casefold() in taken:
            plain = f"event_{number}"
            while plain in taken:
                plain += "_2"
        taken.add(plain.casefold())
        found[name] = plain
    return found


Bodies = Mapping[str, tuple[str, ...]]
"""The closures of composites, and the variables that an iteration of each binds."""


@remembered
def closures_of(pattern: Pattern) -> Bodies:
    """
    >>> from neelc.parse import pattern
    >>> closures_of(pattern("SEQ(A+ a[], SEQ(B b, !C c, D d)+ k[])"))
    {'k': ('b', 'd')}
    """
    return {
        part.variable: targets(part.part)
        for part in all_parts(pattern)
        if isinstance(part, Repeat) and part.variable is not None and not isinstance(part.part, Event)
    }


def references(node: Node, bodies: Bodies) -> Iterator[tuple[str, Attribute | EventTime | None]]:
    """The attributes and times that an expression names, each with its variable; None where it only asks
    whether there is an event. All attributes of a whole event."""
    match node:
        case Attribute(event) | EventTime(event):
            variable = variable_of(event)
            yield variable, replace(node, event=Variable(variable))
        case Aggregate("count", Whole(event), distinct=False):
            yield variable_of(event), None
        case Whole(event, Struct(fields)):
            yield from _references_of_whole(variable_of(event), fields, bodies)
        case _:
            for child in children(node):
                yield from references(child, bodies)


def _references_of_whole(
    variable: str, fields: tuple[StructField, ...], bodies: Bodies
) -> Iterator[tuple[str, Attribute | EventTime | None]]:
    for field in fields:
        if variable in bodies and isinstance(field.type, Struct):
            for inner in (name for name in bodies[variable] if bare(name) == bare(field.name)):
                yield from _references_of_whole(inner, field.type.fields, bodies)
        else:
            yield variable, Attribute(Variable(variable), field.name, field.type)
