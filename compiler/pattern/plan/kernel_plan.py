"""Everything the kernel needs for a query: its program, and the columns of events that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from neelc.ir.expressions import Aggregate, Attribute, EventTime, Expr, Variable, WholeEvent, names_in
from neelc.ir.names import RESERVED, bare
from neelc.ir.node import Node, children, remembered
from neelc.ir.patterns import Event, Pattern, Repeat, all_parts, targets
from neelc.ir.program import Match, Stream
from neelc.ir.script import SelectionStrategy, SkipPlace
from neelc.ir.types import DATE, DOUBLE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, Array, DataType, Struct, StructField
from neelc.pattern.analysis.equalities import Shortcut
from neelc.pattern.analysis.keys import Key
from neelc.pattern.plan.blocks import UnsupportedQuery, renamed, variable_of
from neelc.pattern.plan.columns import (
    CODE,
    EVENT,
    PLAIN_NAME,
    EventColumn,
    EventColumns,
    attribute,
    order_names,
    plain_columns,
    width_of,
)
from neelc.pattern.plan.match_to_plan import match_to_plan, one_is_enough
from neelc.pattern.plan.pattern_to_blocks import with_later_uses
from neelc.pattern.plan.plan import Plan, types_of_variables
from neelc.pattern.plan.plan_to_program import plan_to_steps
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    ANY,
    EARLIEST,
    Absent,
    Bounds,
    EventName,
    FurthestMatch,
    IterationName,
    KernelStep,
    MatchLevel,
    MatchSelection,
    PatternProgram,
    Present,
    Rename,
    RepeatStep,
    SkipTarget,
    Take,
    Value,
    VariableOutput,
    When,
    is_composite,
    lists_bound,
    names_of_value,
    takes,
    with_other_variable,
)
from neelc.runtime.program import variable_of as variable_of_name
from neelc.scalar.type_of import DATETIMES, type_of
from neelc.syntax.print_patterns import as_written

# What comes back from the kernel: a struct for each variable that is requested, an array for each list.

START = "start"


def is_start(reference: Expr, types: tuple[str, ...], query: Match, unit: str) -> bool:
    """Whether an attribute is the time at which its event starts, in all streams that it can come from.
    Then it need not travel a second time. Integers must be written in the unit that the plan counts in.

    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B b) RETURN a.ts, b.x")
    >>> [is_start(output.expression, ("A",), match, "MILLISECOND") for output in match.outputs]
    [True, False]
    """
    names = {member.stream for type in query.types if type.name in types for member in type.members}
    streams = [stream for stream in query.streams if stream.name in names]
    if not isinstance(reference, Attribute | EventTime) or any(stream.query for stream in streams):
        return False
    name, kind = bare(reference.name).casefold(), type_of(reference)
    if kind in (DATE, TIMESTAMP_NTZ) and query.clock.type == TIMESTAMP:
        return False  # two times of a clock may be one instant, where the clock is set forward
    return bool(streams) and all(
        name == ("ts" if isinstance(reference, EventTime) else stream.start.casefold())
        and _time_type(stream) == kind
        and (kind in DATETIMES or stream.unit == unit)
        for stream in streams
    )


def _time_type(stream: Stream) -> DataType | None:
    return next((column.type for column in stream.columns if column.name == stream.start), None)


def outputs_of(
    query: Match, plan: Plan, residual: tuple[Expr, ...], columns: EventColumns
) -> tuple[VariableOutput, ...]:
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
            for one in _events_of(variable, bodies):  # an iteration without fields would be lost
                fields.setdefault(one, {})[name] = name
    bound = [name for one in lists_bound(plan.steps) for name in (one.variable, *(n.list for n in one.names))]
    lists = {variable_of_name(name) for name in bound}

    def outputs(variables: tuple[str, ...]) -> tuple[VariableOutput, ...]:
        names = struct_names(variables)
        return tuple(output(variable, names[variable]) for variable in variables)

    def output(variable: str, name: str) -> VariableOutput:
        own, inner = tuple(fields.get(variable, {}).items()), outputs(bodies.get(variable, ()))
        used = own or any(part.name for part in inner)
        return VariableOutput(variable, name if used else "", own, variable in lists, inner)

    return outputs(plan.variables)


def _events_of(variable: str, bodies: Bodies) -> Iterator[str]:
    """The variables of the events that a variable consists of: it, or those of an iteration."""
    if variable in bodies:
        yield from (event for inner in bodies[variable] for event in _events_of(inner, bodies))
    else:
        yield variable


SPECIAL_WORDS = frozenset(
    "anti cross except full inner intersect join lateral left minus natural on right semi setminus union"
    " using".split()
)
"""Words that Spark SQL does not take for names, though neelc does."""


def struct_names(variables: tuple[str, ...], others: tuple[str, ...] = ()) -> dict[str, str]:
    """A column name for each variable: its own where that is a plain word, and not one of `others`, the
    columns beside it. Spark's names are case-insensitive.

    >>> struct_names(("a", "`A`", "`x y`", "match_start"))
    {'a': 'a', '`A`': 'event_2', '`x y`': 'event_3', 'match_start': 'event_4'}
    >>> struct_names(("id", "b"), others=("ID", "event_1"))
    {'id': 'event_1_2', 'b': 'b'}
    """
    structs: dict[str, str] = {}
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
        structs[name] = plain
    return structs


Bodies = Mapping[str, tuple[str, ...]]
"""The closures of composites, and the variables that an iteration of each binds."""


@remembered
def closures_of(pattern: Pattern) -> Bodies:
    """
    >>> from neelc.syntax import pattern
    >>> closures_of(pattern("SEQ(A+ a[], SEQ(B b, !C c, D d)+ k[])"))
    {'k': ('b', 'd')}
    """
    return {
        part.variable: targets(part.part)
        for part in all_parts(pattern)
        if isinstance(part, Repeat) and part.variable is not None and not isinstance(part.part, Event)
    }


def references(node: Node, bodies: Bodies) -> Iterator[tuple[str, Attribute | EventTime | None]]:
    """The attributes and times that an expression names, each with its variable; None where it only checks
    whether there is an event. All attributes of a whole event."""
    match node:
        case Attribute(event) | EventTime(event):
            variable = variable_of(event)
            yield variable, replace(node, event=Variable(variable))
        case Aggregate("count", WholeEvent(event), distinct=False):
            yield variable_of(event), None
        case WholeEvent(event, Struct(fields)):
            yield from _references_of_whole(variable_of(event), fields, bodies)
        case _:
            for child in children(node):
                yield from references(child, bodies)


def _references_of_whole(
    variable: str, fields: tuple[StructField, ...], bodies: Bodies
) -> Iterator[tuple[str, Attribute | EventTime | None]]:
    """The fields of an iteration are the variables of the closure's body, as it was written. One that a
    rewriting has taken from the body is NULL in every iteration, so nothing is read for it: be it an event or
    a list."""
    for field in fields:
        if variable in bodies:
            type = field.type.element if isinstance(field.type, Array) else field.type
            assert isinstance(type, Struct), "an event, an iteration, or a list of them"
            for inner in (name for name in bodies[variable] if bare(name) == bare(field.name)):
                yield from _references_of_whole(inner, type.fields, bodies)
        else:
            yield variable, Attribute(Variable(variable), field.name, field.type)


# WITH PARTIAL MATCHES keeps of each start the match that ends first, then the one whose events come first; so
# does AFTER MATCH SKIP, of those that start at a time. Often no other needs to be found.
#
# If nothing later looks at an event but to start after its end, the earliest that fits leaves the most
# room, and a match with it is preferred to the same match with any other. Two of the same time are
# distinguished by what RETURN names; where it names only their time, either will do.


def with_earliest(plan: Plan, query: Match) -> Plan:
    """The plan of a query that keeps one match of each start, each step taking no more events than can be
    preferred.

    >>> from neelc.pattern.plan.match_to_plan import match_to_plan, one_is_enough
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B b, C c) WHERE a.x < c.x WITH PARTIAL MATCHES RETURN a.x, b.ts AS b, c.n")
    >>> plan = with_earliest(match_to_plan(match, (), "MILLISECOND"), match)
    >>> [step.variable for step in plan.steps if isinstance(step, Take) and step.pick == EARLIEST]
    ['b_2', 'b_3']
    """
    started = _started_by(plan, query)
    if not started or plan.lasting:
        return plan
    fixed = {*started, *_distinguished(plan, query)}
    steps = tuple(
        replace(step, pick=EARLIEST)
        if isinstance(step, Take)
        and step.variable not in fixed
        and later[step.variable] <= {"after"}  # all that comes later only has to start after the event
        else step
        for step, later in with_later_uses(plan.steps)
    )
    return replace(plan, steps=steps)


def _started_by(plan: Plan, query: Match) -> frozenset[EventName]:
    """The variables of one of which every match has the first event, if only one match of each such event
    can count; else none."""
    if query.partial is not None:
        levels = query.partial.levels
        return frozenset(name for level in levels for name in (level.start, *level.hints))
    if query.kept is not None and query.kept.skip is not None and not query.kept.one_per:
        return frozenset() if plan.leader is None else frozenset([plan.leader])
    return frozenset()


def with_shortest(plan: Plan, query: Match) -> Plan:
    """The plan of a query that keeps the first of the matches with the same start, or with the same events
    for some variables, where it needs no lists of several elements.

    >>> from neelc.pattern.plan.match_to_plan import match_to_plan, one_is_enough
    >>> from pattern_examples import query
    >>> def most(text):
    ...     match = query(text)
    ...     plan = with_shortest(match_to_plan(match, (), "MILLISECOND"), match)
    ...     return [step.most for step in plan.steps if isinstance(step, RepeatStep)]
    >>> most("SEQ(A a, B+ b[], C c) AFTER MATCH SKIP PAST LAST EVENT")
    [1]
    >>> most("SEQ(A a, B+ b[], C c) WHERE count(b[]) > 1 AFTER MATCH SKIP PAST LAST EVENT")
    [None]
    >>> most("SEQ(A a, B+ b[], C c) ONE MATCH PER b"), most("SEQ(A a, B+ b[]) SUPPRESS 9")
    ([None], [None])

    Proof. If the first element of a list is a list by itself, the match with that has the same start, and the
    same events for all other variables. It ends no later, and its list begins the other one, so it comes
    before it. Which of the ends of one start SUPPRESS needs depends on the others, so it needs all of them.
    """
    kept = query.kept
    if kept is None or not (kept.one_per or kept.skip):
        return plan
    steps = tuple(
        replace(step, most=1)
        if isinstance(step, RepeatStep)
        and not is_composite(step.names, step.variable)
        and step.variable not in kept.one_per
        and one_is_enough(step, plan.steps)
        else step
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def _distinguished(plan: Plan, query: Match) -> Iterator[str]:
    """The variables whose attributes, not only their times, RETURN names."""
    bodies, types = closures_of(query.pattern), types_of_variables(plan)
    for output in query.outputs:
        for variable, reference in references(output.expression, bodies):
            if reference and not is_start(reference, types.get(variable, ()), query, plan.unit):
                yield variable


# WITH PARTIAL MATCHES, for the kernel: which match of each start is kept.


def furthest_of(query: Match, outputs: Sequence[VariableOutput]) -> FurthestMatch | None:
    """What distinguishes matches of one start: the levels of the query, and the values that it returns.

    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B b) WITH PARTIAL MATCHES RETURN b.x")
    >>> columns = VariableOutput("b_2", "b_2", (("x", "x"), ("start", "start")))
    >>> furthest_of(match, [VariableOutput("a_1", ""), columns])
    FurthestMatch(levels=(MatchLevel(start='a_1', hints=()), MatchLevel(start='a_2', hints=())), \
compared=(('b_2', ('x',)),))
    """
    if query.partial is None:
        return None
    levels = tuple(MatchLevel(level.start, level.hints) for level in query.partial.levels)
    return FurthestMatch(levels, tuple(_compared(outputs)))


_SKIPS = {
    SkipPlace.PAST_LAST: SkipTarget.END,
    SkipPlace.NEXT: SkipTarget.START,
    SkipPlace.FIRST: SkipTarget.FIRST_OF,
    SkipPlace.LAST: SkipTarget.LAST_OF,
}


def kept_of(
    query: Match,
    keys: Sequence[Key],
    unit: str,
    outputs: Sequence[VariableOutput],
    columns: EventColumns | None = None,
) -> MatchSelection | None:
    """Which matches of a key are kept; raises `UnsupportedQuery` if events are not partitioned as matches,
    and their `columns` do not tell matches apart.

    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B b) AFTER MATCH SKIP TO b SUPPRESS 2 SECONDS RETURN a.x")
    >>> kept_of(match, (), "MILLISECOND", ())
    MatchSelection(order=('a', 'b'), one_per=(), skip=<SkipTarget.LAST_OF: 'LAST'>, variable='b', \
suppress=2000, compared=(), by=())
    """
    kept = query.kept
    if kept is None:
        return None
    missing = [name for name in kept.partition if bare(name) not in {key.name for key in keys}]
    skip = kept.skip
    return MatchSelection(
        kept.order,
        kept.one_per,
        None if skip is None else _SKIPS[skip.place],
        None if skip is None else skip.variable,
        None if kept.suppress is None else width_of(kept.suppress, unit)[0],
        tuple(_compared(outputs)),
        tuple(_column_of_all(query, name, outputs, columns) for name in missing),
    )


def _column_of_all(
    query: Match, name: str, outputs: Sequence[VariableOutput], columns: EventColumns | None
) -> str:
    """The column that has the value of an attribute, whichever event of a match it is of."""
    types = {type.name: type for type in query.types}
    variables = {variable_of_name(one.variable) for output in outputs for _, one in output.bound}
    asked = () if columns is None else sorted(variables & set(columns.type_of_variable))
    found = {
        columns.column(attribute(variable, name, types[type]), variable, CODE).name
        for variable in asked
        if columns is not None
        for type in columns.type_of_variable[variable]
    }
    if len(found) != 1:
        raise UnsupportedQuery(f"{query.kept} for each {name}, which is not of one type in all streams")
    return found.pop()


def _compared(outputs: Sequence[VariableOutput]) -> Iterator[tuple[EventName, tuple[str, ...]]]:
    """The columns of each variable. That of its start is left out: it is the same as its time."""
    for output in outputs:
        for name, one in output.bound:
            columns = tuple(column for _, column in one.fields if column != START)
            if columns:
                yield name, columns


# Negations as bounds: between two events there must be no C, so the second one comes before the first C.
#
# SEQ(A a, !SEQ(C c, D d), B b) b starts no later than the earliest D after the earliest C after a ends
#
# The check would first need every b in the window. With the bound, only those are looked at that pass it.


def until_negation(
    steps: Sequence[KernelStep], around: frozenset[EventName] = frozenset()
) -> tuple[KernelStep, ...]:
    """The steps with each check that can be one made a bound of the event that it looks up to. What is
    `around` is bound before.

    >>> from neelc.runtime.program import Absent, Take
    >>> check = Absent((Take("c", "C", Bounds(after=("a",), before=("b",)), pick=ANY),))
    >>> steps = (Take("a", "A"), Take("b", "B", Bounds(after=("a",))), check)
    >>> first, second = until_negation(steps)
    >>> first.until, second.until == ((Take("c", "C", Bounds(after=("a",)), pick=EARLIEST),),)
    ((), True)

    Proof. The events of the check lie after events that are bound before b, and before b. Each is the one
    that ends earliest among those after the ones that it comes after, so together they end as early as such
    events can. There is a hit before b if and only if these end before b starts. A single event may also have
    conditions on what is bound before b: the one that ends earliest among those that meet them is enough.

    In the iterations of a list, what lies between an element and the one before it is such a check. A step
    that only looks ahead for such events is left out."""
    changed = _with_bounded_lists(steps, around)
    for check in [step for step in changed if isinstance(step, Absent)]:
        place = _place(check, changed, around)
        if place is not None:
            take = changed[place]
            assert isinstance(take, Take)
            changed[place] = replace(take, until=(*take.until, _chain(check, take)))
            changed.remove(check)
    return tuple(step for step in changed if not _looks_for_next(step, changed))


def _looks_for_next(step: KernelStep, steps: Sequence[KernelStep]) -> bool:
    """Whether a step looks ahead for events of which each row takes no more than the first: to take them at
    once is as little work."""
    if not (isinstance(step, Present) and not step.part):
        return False
    firsts = {
        one.variable
        for one in steps
        if isinstance(one, Take) and any(chain[0].includes for chain in one.until)
    }
    return all(isinstance(one, Take) and one.variable in firsts for one in step.steps)


def _with_bounded_lists(steps: Sequence[KernelStep], around: frozenset[EventName]) -> list[KernelStep]:
    """The steps with the same done in the iterations of lists."""
    changed: list[KernelStep] = []
    for step in steps:
        if isinstance(step, RepeatStep) and not step.when:
            sure = {one.variable for one in changed if isinstance(one, Take) and not one.when}
            before = around | sure
            earlier = {replace(name, lag=1) for name in step.names}
            elements = {
                name.at(place) for name in (IterationName(step.variable), *step.names) for place in (1, -1)
            }
            following = until_negation(step.next, before | earlier | elements)
            step = replace(step, first=until_negation(step.first, before), next=following)
        changed.append(step)
    return changed


def _place(check: Absent[Value], steps: Sequence[KernelStep], around: frozenset[EventName]) -> int | None:
    """The place of the step whose event the check looks up to, if all it needs besides is bound before."""
    inner = [
        step for step in check.steps if isinstance(step, Take) and _is_plain(step, len(check.steps) == 1)
    ]
    ends = {name for step in inner for name in step.bounds.before}
    if len(inner) < len(check.steps) or len(ends) != 1 or not all(step.bounds.before for step in inner):
        return None
    (last,) = ends
    own = {step.variable for step in inner}
    named = {name for step in inner for one in step.where for name in names_of_value(one)}
    needed = ({name for step in inner for name in step.bounds.after} | named) - own
    bound: dict[EventName, When] = dict.fromkeys(around, ())
    for place, step in enumerate(steps):
        if isinstance(step, Rename):
            return None  # names of events change: what is bound before may be another's
        if isinstance(step, Take):
            if step.variable == last:
                alone = sum(isinstance(s, Take) and s.variable == last for s in steps) == 1
                sure = {name for name, when in bound.items() if set(when) <= set(step.when)}
                return place if alone and needed and needed <= sure and step.when == check.when else None
            bound[step.variable] = step.when
        if isinstance(step, RepeatStep) and step.least > 0:
            elements = (IterationName(step.variable).at(place) for place in (1, -1))
            bound |= dict.fromkeys(elements, step.when)
    return None


def _is_plain(step: Take[Value], is_alone: bool) -> bool:
    """Whether time alone says which events fit, and for a step that `is_alone` conditions; so that the one
    that ends earliest is enough."""
    bounds = step.bounds
    simple = not (step.differs or step.when or bounds.within or bounds.between) and (
        is_alone or not step.where
    )
    return simple and step.pick in (ANY, EARLIEST) and not set(bounds.before) & set(bounds.after)


def _includes(rival: Take[Value], step: Take[Value]) -> bool:
    """Whether every event that the step can bind is one that the check looks for, if it lies before."""
    if rival.role != step.role or not set(rival.bounds.after) <= set(step.bounds.after):
        return False
    asked = {with_other_variable(one, rival.variable, step.variable) for one in rival.where}
    return asked <= set(step.where)


def _chain(check: Absent[Value], last: Take[Value]) -> tuple[Take[Value], ...]:
    """The events of a check. Those with conditions are looked for in the window of the `last` event only: one
    that is later rejects nothing."""
    takes = [step for step in check.steps if isinstance(step, Take)]
    if len(takes) == 1 and _includes(takes[0], last):
        takes = [replace(takes[0], includes=True)]
    within = tuple(replace(window, member=False) for window in last.bounds.within)
    return tuple(
        replace(
            step, bounds=Bounds(after=step.bounds.after, within=within if step.where else ()), pick=EARLIEST
        )
        for step in takes
    )


@dataclass(frozen=True)
class KeyColumn:
    """A column that events are partitioned by: for events of some types, what gives the value. One that is a
    `column` of the events anyway is not computed again."""

    name: str
    type: DataType
    terms: tuple[tuple[Expr, tuple[str, ...]], ...]
    is_column: bool = False


@dataclass(frozen=True)
class RoleCut:
    """Events lose the role `outer` if no event of the role `inner` has their value (NEEL+'s shortcuts).
    Both values are columns of events."""

    outer: str
    outer_column: str
    inner: str
    inner_column: str


@dataclass(frozen=True)
class KernelPlan:
    """A program and where its columns come from. `residual` conditions are checked on complete matches.

    `fields` says, for a variable and an expression over it, in which field of the variable's struct its
    value is."""

    plan: Plan
    program: PatternProgram
    columns: tuple[EventColumn, ...]
    keys: tuple[KeyColumn, ...]
    residual: tuple[Expr, ...]
    query: Match
    text: str = ""
    cuts: tuple[RoleCut, ...] = ()

    def struct(self, variable: str) -> str:
        """The column of a variable's event."""
        return self._structs[variable]

    @cached_property
    def _structs(self) -> dict[EventName, str]:
        return {output.variable: output.name for output in reversed(self.program.outputs)}

    def inner(self, closure: str, variable: str) -> str:
        """The field of an iteration that holds a variable of the closure's body."""
        return self._inner[closure, variable]

    @cached_property
    def _inner(self) -> dict[tuple[str, str], str]:
        outputs = [one for output in reversed(self.program.outputs) for one in _with_inner(output)]
        return {
            (str(output.variable), str(inner.variable)): inner.name
            for output in outputs
            for inner in output.inner
        }

    def field(self, reference: Expr, variable: str) -> str:
        """The field of the variable's struct that holds an attribute: START if it is the start of the
        event."""
        if is_start(reference, types_of_variables(self.plan)[variable], self.query, self.plan.unit):
            return START
        plain = renamed(reference, variable, EVENT)
        return self._fields[plain]

    @cached_property
    def _fields(self) -> dict[Expr, str]:
        return plain_columns(self.columns)


def _with_inner(output: VariableOutput) -> Iterator[VariableOutput]:
    yield output
    yield from (one for inner in output.inner for one in _with_inner(inner))


def kernel_plan(
    query: Match,
    keys: tuple[Key, ...],
    unit: str,
    shortcuts: tuple[Shortcut, ...] = (),
    postpones: bool = True,
    first: tuple[str, ...] = (),
) -> KernelPlan:
    """The plan of a query for the kernel; raises `UnsupportedQuery`. Lists are put together last, unless it
    `postpones` nothing: then as it comes to them (SASE's cloning of runs). Variables that other rules take,
    too, come `first`.

    >>> from pattern_examples import query
    >>> plan = kernel_plan(query("SEQ(A a, B b) WHERE a.x < b.x RETURN b.user"), (), "MILLISECOND")
    >>> [column.name for column in plan.columns], plan.program.outputs[1].fields
    (['x', 'user'], (('user', 'user'),))
    """
    plan = match_to_plan(query, keys, unit, postpones=postpones, follows=True, first=first)
    plan = with_shortest(with_earliest(plan, query), query)
    kernel = plan_to_kernel(query, plan, keys, shortcuts)
    return replace(kernel, program=replace(kernel.program, steps=until_negation(kernel.program.steps)))


def plan_to_kernel(
    query: Match, plan: Plan, keys: tuple[Key, ...], shortcuts: tuple[Shortcut, ...] = ()
) -> KernelPlan:
    """The steps of a query as a program, and the columns of events that it reads; raises
    `UnsupportedQuery`."""
    by_key = plan.counted or (plan.everything and query.strategy != SelectionStrategy.STRICT)
    if by_key and len(keys) < len(query.partition):
        what = "a window of EVENTS" if plan.counted else query.strategy
        why = "with RETURN COLLAPSED of lists alone" if query.collapsed else "whose values differ by type"
        raise UnsupportedQuery(f"{what} in a partition {why}")
    columns = EventColumns(types_of_variables(plan))
    key_columns = tuple(key_column(key, columns) for key in keys)
    chosen = query.partial is not None or query.kept is not None
    kernel = plan_to_steps(plan, columns, all_here=plan.collapsed or chosen)
    if plan.collapsed and kernel.residual:
        conditions = " AND ".join(map(str, kernel.residual))
        raise UnsupportedQuery(f"RETURN COLLAPSED with the condition `{conditions}`")
    if chosen and kernel.residual:
        conditions = " AND ".join(map(str, kernel.residual))
        clause = "WITH PARTIAL MATCHES" if query.kept is None else str(query.kept)
        raise UnsupportedQuery(f"{clause} with the condition `{conditions}`")
    outputs = outputs_of(query, plan, kernel.residual, columns)
    selection = kept_of(query, keys, plan.unit, outputs, columns)
    by = () if selection is None else selection.by
    coded = {name for group in kernel.codings for name in group}
    cuts = tuple(cut for shortcut in shortcuts for cut in _cut(shortcut, plan, columns))
    program = PatternProgram(
        kernel.steps,
        outputs,
        tuple(role.name for role in plan.roles),
        tuple(column.name for column in key_columns),
        (*kernel.codings, *((name,) for name in by if name not in coded)),
        lasting=plan.lasting,
        counted=plan.counted,
        everything=plan.everything,
        reach=plan.reach,
        looks_back=plan.looks_back,
        leader=plan.leader,
        unique=plan.unique,
        collapsed=plan.collapsed,
        furthest=furthest_of(query, outputs),
        order=order_names(query),
        kept=selection,
        labels=tuple((role.variable, f"{role.type} {role.variable}") for role in plan.roles),
        clock=_clock(query, plan.unit),
    )
    text = str(as_written(query.pattern)) if query.partial is None else query.title
    return KernelPlan(plan, program, tuple(columns.all()), key_columns, kernel.residual, query, text, cuts)


def _clock(query: Match, unit: str) -> str:
    """What the times of a program are, for messages."""
    units: dict[DataType, str] = {TIMESTAMP: "MICROSECOND", TIMESTAMP_NTZ: "MICROSECOND", DATE: "DAY"}
    return str(query.clock.type) if units.get(query.clock.type) == unit else unit


def key_column(key: Key, columns: EventColumns) -> KeyColumn:
    shapes: dict[Expr, tuple[str, ...]] = {}
    for variable, term in key.terms:
        types = columns.type_of_variable.get(variable, ())
        shape = renamed(term, variable, EVENT)
        shapes[shape] = tuple(dict.fromkeys((*shapes.get(shape, ()), *types)))
    kind = type_of(next(iter(shapes)))
    if len(shapes) == 1 and kind not in (FLOAT, DOUBLE):
        variables = columns.type_of_variable
        existing = [columns.column(term, name) for name, term in key.terms if name in variables]
        return KeyColumn(existing[0].name, kind, tuple(shapes.items()), is_column=True)
    plain = f"{bare(key.name)}_key"
    name = columns.free(plain if PLAIN_NAME.match(plain) else "key")
    return KeyColumn(name, kind, tuple(shapes.items()))


def _cut(shortcut: Shortcut, plan: Plan, columns: EventColumns) -> Iterator[RoleCut]:
    """What a shortcut takes from events. Only from those that no other variable could use; and a negation
    that has nothing to look for costs the kernel nothing anyway."""
    (outer,), (inner,) = names_in(shortcut.outer), names_in(shortcut.inner)
    roles = {
        name: {take.role for take in takes(plan.steps) if take.variable == name} for name in (outer, inner)
    }
    users = {take.variable for take in takes(plan.steps) if {take.role} == roles[outer]}
    if not shortcut.negative and users == {outer} and len(roles[inner]) == 1:
        one, two = columns.column(shortcut.outer, outer), columns.column(shortcut.inner, inner)
        yield RoleCut(roles[outer].pop(), one.name, roles[inner].pop(), two.name)
