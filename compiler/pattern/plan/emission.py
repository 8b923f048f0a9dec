"""When the matches of a query over streams are sure: whatever has yet to come cannot take them back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from neelc.ir.expressions import (
    Aggregate,
    Attribute,
    EventTime,
    Expr,
    MatchProperty,
    SameAttributes,
    Variable,
    WholeEvent,
    conjuncts,
    names_in,
)
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children, walk
from neelc.ir.patterns import (
    And,
    AndNeg,
    ClosureGap,
    Event,
    Exists,
    Not,
    Optional,
    Or,
    Pattern,
    Repeat,
    Seq,
    all_parts,
    may_be_empty,
    targets,
)
from neelc.ir.program import Match
from neelc.ir.script import KeptMatches, SelectionStrategy
from neelc.ir.types import DATE
from neelc.pattern.bind.following import ANY_EVENT
from neelc.pattern.plan.blocks import (
    EndlessGroups,
    UnboundedState,
    UncallableFunction,
    UnsupportedQuery,
    renamed,
)
from neelc.pattern.plan.columns import (
    EVENT,
    NUMBER,
    PLAIN,
    RESERVED,
    EventColumn,
    EventColumns,
    width_of,
)
from neelc.pattern.plan.counting.plan import AggregatePlan
from neelc.pattern.plan.kernel_plan import START, KernelPlan, is_start
from neelc.pattern.plan.plan import VariableTypes, types_of_variables
from neelc.pattern.plan.plan_to_program import may_be_absent
from neelc.pattern.plan.time_groups import EXACT, last_time
from neelc.runtime.kernels.counting.chain import CountingProgram
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    END,
    MATCH_END,
    MATCH_START,
    WINDOW,
    Emission,
    EventName,
    ImpreciseProgram,
    MatchGrouping,
    MatchValue,
    PatternProgram,
    ScopeEnd,
    StreamedGroups,
    StreamedImprecise,
    StreamedPattern,
)
from neelc.runtime.reference.results import is_over_matches
from neelc.scalar.operators import INTEGERS
from neelc.scalar.type_of import DATETIMES, type_of


@dataclass(frozen=True)
class StreamPlan:
    """How a query is executed over streams: the plan of its matches, and when they, or their groups, are
    sure. If matches are counted, `counted` is the plan of that."""

    planned: KernelPlan
    streamed: StreamedPattern | StreamedGroups | StreamedImprecise
    counted: AggregatePlan | None = None

    @property
    def program(self) -> PatternProgram:
        return self.planned.program

    @property
    def is_listed(self) -> bool:
        """Whether a row is a group with the list of its matches, which are enumerated."""
        streamed = self.streamed
        return isinstance(streamed, StreamedGroups) and not streamed.distinct and self.counted is None

    @property
    def together(self) -> tuple[str, ...]:
        """The columns by which events can be told apart: those that differ in one have no result in
        common."""
        if isinstance(self.streamed, StreamedGroups):
            return self.streamed.grouping.keys
        if isinstance(self.streamed, StreamedPattern) and self.streamed.distinct is not None:
            return self.streamed.distinct.keys
        if isinstance(self.streamed, StreamedPattern) and self.streamed.single:
            return self.program.keys or (START,)
        return self.program.keys


def streamed_pattern(planned: KernelPlan) -> StreamedPattern:
    """The program of a query for streams; raises `UnboundedState` if its state would grow without bound, and
    `EndlessGroups` if RETURN DISTINCT would have to remember all rows.

    >>> from in_kernel import planned_for
    >>> from pattern_examples import query
    >>> streamed_pattern(planned_for(query("OR(A a, B b) WHERE a.x > 3"))).single
    True
    """
    query, program = planned.query, planned.program
    emission = emission_of(query, program)
    is_immediate = emission.is_immediate and not emission.compared
    is_one = _is_one_event(query.pattern) and (is_immediate or query.kept is not None)
    window, events = _extent(planned, is_one)
    if query.kept is not None:
        _refuse_kept(planned, query.kept, window)
        return StreamedPattern(program, emission, window)
    if query.collapsed and not _has_single_event(query.pattern):
        refusal = EndlessGroups(
            "a row of RETURN COLLAPSED would never be complete: the pattern has no single event, so all "
            "matches of a key are one row"
        )
        refusal.hint = "name a single event that every match has, such as the first one: SEQ(A a, A+ more[])"
        raise refusal
    distinct = match_grouping(planned) if query.distinct else None
    return StreamedPattern(program, emission, window, events, distinct, is_one and not query.distinct)


def _refuse_kept(planned: KernelPlan, kept: KeptMatches, window: int | None) -> None:
    """Refuse what cannot be chosen among matches of a stream."""
    query, where = planned.query, "over a stream without end"
    if query.distinct or query.aggregated:
        what = "aggregates over matches" if query.aggregated else "RETURN DISTINCT"
        raise UnsupportedQuery(f"{kept} with {what} {where}", kept.span)
    if window is None:
        what = "a window of EVENTS" if query.within is not None else "events that last, without WITHIN,"
        raise UnsupportedQuery(f"{kept} with {what} {where}", kept.span)
    if planned.program.kept is not None and planned.program.kept.by:
        by = ", ".join(kept.partition)
        raise UnsupportedQuery(f"{kept} for each {by} under {query.strategy} {where}", kept.span)
    absent = frozenset(may_be_absent(planned.plan.steps))
    if kept.one_per and absent.issuperset(kept.one_per):
        refusal = EndlessGroups(
            f"ONE MATCH PER {', '.join(kept.one_per)} would have to remember forever that a match without "
            "these events has been kept"
        )
        refusal.hint = "name a variable that every match has as well"
        raise refusal


def streamed_distinct(planned: KernelPlan) -> StreamedGroups:
    """The program of a query with RETURN DISTINCT whose rows others read as events: such an event has the
    times of all matches that are equal, so it waits for all of them. Raises as `streamed_pattern` does."""
    pattern = streamed_pattern(planned)
    assert pattern.distinct is not None and pattern.window is not None, "equal rows have a time in common"
    return StreamedGroups(planned.program, pattern.distinct, pattern.window, distinct=True)


def streamed_groups(planned: KernelPlan) -> StreamedGroups:
    """The program of a query for streams that returns aggregates over matches: a `CountingProgram`, or one
    that enumerates matches; raises `UnboundedState`, and `EndlessGroups` if groups are never complete."""
    query = planned.query
    width, _ = _width(query, planned.plan.unit)
    if query.kept is not None:
        _refuse_kept(planned, query.kept, width)
    expressions = (*(output.expression for output in query.outputs), *planned.residual)
    if called := [node for one in expressions for node in walk(one) if _is_registered(node)]:
        raise UncallableFunction(
            f"over a stream, aggregates over matches are computed of lists of matches, and `{called[0]}` "
            "cannot be called for each match of a list"
        )
    grouping = match_grouping(planned)
    if query.collapsed and grouping.values[grouping.time].variable is None:
        refusal = EndlessGroups(
            "over a stream, rows of RETURN COLLAPSED cannot be grouped by the time of the match: their lists "
            "reach further than a match may be long"
        )
        refusal.hint = "group by the time of a single event, such as the first one"
        raise refusal
    return StreamedGroups(planned.program, grouping, width)


def _is_registered(node: Node) -> bool:
    """Whether it calls a function that a user has registered."""
    return isinstance(node, Aggregate) and node.function is not None


def streamed_imprecise(planned: KernelPlan) -> StreamedImprecise:
    """The program of a query over imprecise times, for streams; raises `UnsupportedQuery`."""
    query, program = planned.query, planned.program
    assert isinstance(program, ImpreciseProgram)
    width, counted = _width(query, planned.plan.unit)
    if program.shapes:
        raise UnsupportedQuery("WEIGHT or DISTRIBUTION of imprecise times over a stream without end")
    if counted or program.counted or query.aggregated or query.distinct or query.collapsed:
        what = "RETURN DISTINCT, COLLAPSED or aggregates over matches"
        what = "a window of EVENTS" if counted or program.counted else what
        raise UnsupportedQuery(f"{what} with imprecise times over a stream without end")
    return StreamedImprecise(program, width)


def _extent(planned: KernelPlan, is_one: bool) -> tuple[int | None, int | None]:
    """The longest time of a match, or the most events of it. One event needs no WITHIN; if it lasts, it may
    last any time, which says nothing of when rows that are distinct have come."""
    query = planned.query
    if is_one and query.within is None and not (planned.program.lasting and query.distinct):
        return (None if planned.program.lasting else 0), None
    width, counted = _width(query, planned.plan.unit)
    return (None, width) if counted else (width, None)


def _width(query: Match, unit: str) -> tuple[int, bool]:
    if query.within is None:
        raise UnboundedState("this query would keep every event of the stream: the pattern has no WITHIN")
    return width_of(query.within, unit)


def match_grouping(planned: KernelPlan) -> MatchGrouping:
    """What RETURN DISTINCT compares, or aggregates are grouped by: raises `EndlessGroups` where Spark would
    have to compute it first, or where nothing says when a group has all its matches. `planned` is a plan
    `with_group_columns`.

    >>> from in_kernel import planned_for
    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B b) WHERE a.id = b.id WITHIN 9 RETURN DISTINCT a.ts, b.id"
    >>> grouping = match_grouping(planned_for(query(text)))
    >>> [value.column for value in grouping.values], grouping.time, grouping.keys
    (['start', 'id'], 0, ('id',))
    """
    query = planned.query
    what = "an aggregate over matches" if query.aggregated else "RETURN DISTINCT"
    if query.within is not None and query.within.unit == "EVENT":
        raise EndlessGroups(f"a row of {what} would never be complete: WITHIN counts EVENTS, not time")
    if planned.residual and not query.aggregated:
        refusal = EndlessGroups(
            f"over a stream, {what} is computed before the condition `{planned.residual[0]}` is checked"
        )
        refusal.hint = "leave out the condition, or return the matches themselves"
        raise refusal
    items = group_items(planned)
    if not query.aggregated or isinstance(planned.program, CountingProgram):
        _refuse_incomparable(items, what)
    values = [item.value for item in items if item.value is not None]
    timed = group_time(planned)
    if timed is None:
        raise EndlessGroups(
            f"a row of {what} would never be complete: it has no time, so a later match may always "
            f"belong to it{_shortcoming(planned, items)}"
        )
    time = timed.last or timed.value
    assert time is not None, "a time is a value"
    if time not in values:
        values.append(time)
    absent = frozenset(may_be_absent(planned.plan.steps))
    sure = [item.expression for item in items if not names_in(item.expression) & absent]
    keys = tuple(_keys(planned, sure))
    return MatchGrouping(tuple(values), values.index(time), keys, timed.last is not None)


def _shortcoming(planned: KernelPlan, items: Iterable[GroupItem]) -> str:
    """Why what is computed of a time is none that a group has."""
    types = types_of_variables(planned.plan)
    absent = frozenset(may_be_absent(planned.plan.steps))
    for item in items:
        for node in walk(item.expression):
            match node:
                case MatchProperty():
                    return f"; nothing says that `{item.expression}` does not come again"
                case Attribute(Variable(name)) | EventTime(Variable(name)) if is_start(
                    node, types.get(name, ()), planned.query, planned.plan.unit
                ):
                    if name in absent:
                        return f"; not every match has `{name}`"
                    return f"; nothing says that `{item.expression}` does not come again"
    return ""


def _refuse_incomparable(items: Iterable[GroupItem], what: str) -> None:
    for item in items:
        if item.value is None:
            raise EndlessGroups(
                f"over a stream, {what} compares what belongs to single events, and `{item.expression}` does "
                "not"
            )


# What results are grouped by. What Spark computes of single events is a column of those.


@dataclass(frozen=True)
class GroupItem:
    """An item of RETURN that matches are grouped by: the `value` that a kernel compares; None if it cannot.
    If it is a time, or the `last` time of a group can be computed, it says when the group is complete."""

    expression: Expr
    value: MatchValue | None = None
    is_time: bool = False
    last: MatchValue | None = None


def group_time(planned: KernelPlan) -> GroupItem | None:
    """The item that says when groups are complete: rather a time than a span of it."""
    items = list(group_items(planned))
    return next((i for i in items if i.is_time), None) or next((i for i in items if i.last), None)


def with_group_columns(planned: KernelPlan) -> KernelPlan:
    """The plan with the columns of events that matches are grouped by.

    >>> from in_kernel import planned_for
    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B b) WITHIN 9 RETURN a.ts - pmod(a.ts, 60) AS m, b.x * 2 AS twice, count(*) AS n"
    >>> planned = with_group_columns(planned_for(query(text)))
    >>> [str(column.expression) for column in planned.columns]
    ['.x', '.ts - pmod(.ts, 60)', '.ts - pmod(.ts, 60) + 59L', '.x * 2']
    """
    query = planned.query
    if not (query.aggregated or query.distinct):
        return planned
    types = VariableTypes({**types_of_variables(planned.plan).by_variable, EVENT: _all_types(planned)})
    columns = EventColumns(
        types,
        {(column.expression, column.form): column for column in planned.columns},
        {
            *RESERVED,
            *(one.name.casefold() for one in planned.columns),
            *(k.name.casefold() for k in planned.keys),
        },
    )
    for expression in _grouped(query):
        _group_item(expression, planned, columns.column)
    return replace(planned, columns=tuple(columns.all()))


def group_items(planned: KernelPlan) -> tuple[GroupItem, ...]:
    """What matches are grouped by; `planned` is a plan `with_group_columns`."""
    known = {(column.expression, column.form): column for column in planned.columns}

    def column(expression: Expr, variable: EventName, form: str) -> EventColumn:
        return known[renamed(expression, variable, EVENT), form]

    return tuple(_group_item(expression, planned, column) for expression in _grouped(planned.query))


def _grouped(query: Match) -> Iterator[Expr]:
    return (one.expression for one in query.outputs if not is_over_matches(one.expression))


def _all_types(planned: KernelPlan) -> tuple[str, ...]:
    return tuple(dict.fromkeys(role.type for role in planned.plan.roles))


ColumnOf = Callable[[Expr, EventName, str], EventColumn]
"""The column of an expression over the event of a variable, in a form."""


def _group_item(expression: Expr, planned: KernelPlan, column: ColumnOf) -> GroupItem:
    lists = {str(output.variable) for output in planned.program.outputs if output.listed}
    names, nodes = names_in(expression), list(walk(expression))
    times = {node for node in nodes if isinstance(node, MatchProperty)}
    if names & lists or any(isinstance(node, Aggregate | WholeEvent) for node in nodes):
        return GroupItem(expression)
    if len(times) == 1 and not names:
        return _of_match_time(expression, times.pop(), planned, column)
    if len(names) == 1 and not times:
        (variable,) = names
        return _of_event(expression, variable, planned, column)
    return GroupItem(expression)


def _of_match_time(expression: Expr, time: MatchProperty, planned: KernelPlan, column: ColumnOf) -> GroupItem:
    """A value of the start of the match, or of its end: that of the first event, or of the last one."""
    name = bare(time.name).lower()
    if name not in (MATCH_START, MATCH_END):
        return GroupItem(expression)
    if expression == time:
        return GroupItem(expression, MatchValue(name), is_time=True)
    start = EventTime(Variable(EVENT), "ts", type_of(time))
    is_end = name == MATCH_END and planned.program.lasting
    own = replace(start, name="te") if is_end else start

    def of_event(node: Node) -> Node:
        return own if node == time else map_children(node, of_event)

    value = of_event(expression)
    assert isinstance(value, Expr)
    is_own = is_start(start, _all_types(planned), planned.query, planned.plan.unit)
    last = _last(value, lambda node: node == own, planned) if is_own else None
    if last is None or type_of(value) not in (*INTEGERS, *DATETIMES):
        return GroupItem(expression)
    same, end = (MatchValue(name, computed=column(one, EVENT, _form(one)).name) for one in (value, last))
    return GroupItem(expression, same, last=end)


def _of_event(expression: Expr, variable: str, planned: KernelPlan, column: ColumnOf) -> GroupItem:
    """A value of one event."""
    types = types_of_variables(planned.plan)[variable]
    is_absent = variable in may_be_absent(planned.plan.steps)

    def is_time(node: Expr) -> bool:
        return is_start(node, types, planned.query, planned.plan.unit)

    if is_time(expression):
        return GroupItem(expression, MatchValue(START, variable), is_time=not is_absent)
    if is_absent and not isinstance(expression, Attribute | EventTime):
        return GroupItem(expression)  # it may have a value where there is no event
    value = MatchValue(column(expression, variable, PLAIN).name, variable)
    last = None if is_absent else _last(expression, is_time, planned)
    if last is None:
        return GroupItem(expression, value)
    return GroupItem(expression, value, last=MatchValue(column(last, variable, _form(last)).name, variable))


def _last(expression: Expr, is_time: Callable[[Expr], bool], planned: KernelPlan) -> Expr | None:
    """The last time of a group, if it is counted as the kernel counts times."""
    unit = planned.plan.unit
    last = last_time(expression, is_time, 2**63 if unit == "NANOSECOND" else EXACT)
    if last is None or type_of(last) not in DATETIMES:
        return last
    return last if unit == ("DAY" if type_of(last) == DATE else "MICROSECOND") else None


def _form(expression: Expr) -> str:
    return NUMBER if type_of(expression) in DATETIMES else PLAIN


def _keys(planned: KernelPlan, grouped: Sequence[Expr]) -> Iterator[str]:
    """The columns of the partition whose values the items of RETURN are."""
    types = types_of_variables(planned.plan)
    for key in planned.keys:
        for expression in grouped:
            of = [(renamed(expression, name, EVENT), types.get(name, ())) for name in names_in(expression)]
            if any(
                term == shape and set(own) <= set(kinds) for shape, own in of for term, kinds in key.terms
            ):
                yield key.name
                break


def emission_of(query: Match, program: PatternProgram) -> Emission:
    """When matches are sure.

    A negation between two positive parts is decided when the watermark reaches the second; one at the end,
    or in an AND, when the window has passed. Selection strategies and windows of EVENTS depend on all
    events up to the end of a match.

    >>> from pattern_examples import kernel_program, query
    >>> def emission(text):
    ...     match = query(text)
    ...     return emission_of(match, kernel_program(match))
    >>> emission("SEQ(A a, B+ b[], C c) WITHIN 9").is_immediate
    True
    >>> emission("SEQ(A a, !B b, SEQ(C c, D d)) WITHIN 9").scopes
    (ScopeEnd(events=('c', 'd'), otherwise=None, taken=None, next_after=()),)
    >>> emission("SEQ(A a, !B b) WITHIN 9").window
    True

    What may be absent ends a scope where it is there; a negation in a branch concerns those who take it:

    >>> emission("SEQ(A a, !B b, C? c) WITHIN 9").scopes
    (ScopeEnd(events=('c',), otherwise='window', taken=None, next_after=()),)
    >>> emission("OR(SEQ(A a, !B b), C c) WITHIN 9").scopes
    (ScopeEnd(events=(), otherwise='window', taken='a', next_after=()),)

    What may not be the next event is decided by the next event:

    >>> emission("SEQ(A a, STRICT !B b) WITHIN 9").scopes
    (ScopeEnd(events=(), otherwise='window', taken=None, next_after=('a',)),)
    """
    if query.partial is not None or query.kept is not None:
        return Emission(window=True)
    bound = {name for output in program.outputs for name, _ in output.bound}
    scopes = {_known(scope, bound) for scope in _scopes(query.pattern, WITH_WINDOW, bound)}
    if not _is_of_keys(query, program):
        scopes = {replace(scope, next_after=()) for scope in scopes}
    exists = any(isinstance(part, Exists) for part in all_parts(query.pattern))
    negative = any(isinstance(part, Not | ClosureGap) for part in all_parts(query.pattern))
    window = (
        WITH_WINDOW in scopes or (exists and negative) or (query.collapsed and _has_open_list(query.pattern))
    )
    shorter = (
        ()
        if window
        else sorted((one for one in scopes if one.events or one.taken or one.next_after), key=str)
    )
    return Emission(
        window=window,
        end=query.strategy != SelectionStrategy.ANY_MATCH
        or program.counted
        or query.collapsed
        or ScopeEnd(otherwise=END) in scopes,
        scopes=tuple(shorter),
        compared=exists or program.unique,
    )


WITH_WINDOW = ScopeEnd(otherwise=WINDOW)


def _known(scope: ScopeEnd, bound: Collection[EventName]) -> ScopeEnd:
    """The end of a scope, by events that matches have: of others it is not known when they start."""
    if not set(scope.next_after) <= set(bound):
        scope = replace(scope, next_after=())
    if set(scope.events) <= set(bound):
        return scope
    return ScopeEnd((), scope.otherwise or END, scope.taken)


def _scopes(part: Pattern, after: ScopeEnd, bound: Collection[EventName]) -> Iterator[ScopeEnd]:
    """The ends of all negations' scopes in a part; `after` is where its own scope ends."""
    match part:
        case Not():
            yield after
        case Seq(parts):
            for place, inner in enumerate(parts):
                scope = _following(parts[place + 1 :], after)
                if isinstance(inner, Not) and _is_of_next_event(inner):
                    scope = replace(scope, next_after=_last_before(parts[:place]))
                yield from _scopes(inner, scope, bound)
        case AndNeg(parts):
            for inner in parts:
                inside = replace(after, events=(), otherwise=END)
                yield from _scopes(inner, inside if isinstance(inner, Not) else after, bound)
        case And(parts):
            for inner in parts:
                yield from _scopes(inner, after, bound)
        case Or(parts):
            for place, inner in enumerate(parts):
                others = {name for one in (*parts[:place], *parts[place + 1 :]) for name in targets(one)}
                yield from _of_branch(inner, after, bound, others)
        case Repeat(inner):
            # In an iteration, the next one may come first, or the names are not those of the match.
            for scope in _scopes(inner, after, bound):
                yield replace(after, events=(), otherwise=WINDOW if scope.otherwise == WINDOW else END)
            if part.gaps:  # each ends at an element
                yield replace(after, events=(), otherwise=END)
        case Optional(inner):
            yield from _of_branch(inner, after, bound)
        case Exists(_, inner):
            yield from _scopes(inner, after, bound)


def _is_of_next_event(negation: Not) -> bool:
    """Whether it is `STRICT !B b`: the first event after the part before it is no such B."""
    match negation.part:
        case Seq((Not(Event(type=first, where=where), where=None, within=None), Event()), within=None):
            return first == ANY_EVENT and all(isinstance(one, SameAttributes) for one in conjuncts(where))
    return False


def _last_before(parts: Sequence[Pattern]) -> tuple[str, ...]:
    """The names of the last of some parts that every match has, if there is none that may be absent."""
    last = next((part for part in reversed(parts) if not isinstance(part, Not)), None)
    return () if last is None or may_be_empty(last) else targets(last)


def _is_of_keys(query: Match, program: PatternProgram) -> bool:
    """Whether the events of a key are those among which an event is the next one; and events do not last."""
    same = (one for part in all_parts(query.pattern) for one in conjuncts(part.where))
    names = [name for one in same if isinstance(one, SameAttributes) for name in one.attributes]
    keys = {key.casefold() for key in program.keys}
    return not program.lasting and {bare(name).casefold() for name in (*names, *query.partition)} == keys


def _of_branch(
    part: Pattern, after: ScopeEnd, bound: Collection[EventName], others: Collection[EventName] = ()
) -> Iterator[ScopeEnd]:
    """The ends of scopes in a part that a match may not have. `others` are names of other branches: by one of
    these it would wait for longer than it must."""
    certain = [name for name in _certain(part) if name in bound]
    taken = next((name for name in certain if name not in others), next(iter(certain), None))
    yield from _scopes(part, after if taken is None else replace(after, taken=taken), bound)


def _certain(part: Pattern) -> Iterator[str]:
    """The names that every match of a part has."""
    match part:
        case Event(variable=str(name)):
            yield name
        case Repeat(variable=str(name)) if not may_be_empty(part):
            yield name
        case Seq(parts) | And(parts) | AndNeg(parts):
            for inner in parts:
                yield from _certain(inner)


def _following(parts: Sequence[Pattern], after: ScopeEnd) -> ScopeEnd:
    """Where a scope ends that parts of a SEQ follow: at the first that is not absent; else where that of the
    SEQ ends."""
    events: tuple[str, ...] = ()
    for part in parts:
        if not isinstance(part, Not):
            events += targets(part)
            if not may_be_empty(part):
                return replace(after, events=events, otherwise=None)
    return replace(after, events=(*events, *after.events))


def _is_one_event(pattern: Pattern) -> bool:
    """Whether every match is one event."""
    return isinstance(pattern, Event) or (isinstance(pattern, Or) and all(map(_is_one_event, pattern.parts)))


def _has_single_event(pattern: Pattern) -> bool:
    """Whether every match has a single event: those with the same ones are collapsed."""
    match pattern:
        case Event():
            return True
        case Or(parts):
            return all(map(_has_single_event, parts))
        case Seq(parts) | And(parts) | AndNeg(parts):
            return any(map(_has_single_event, parts))
    return False


def _has_open_list(pattern: Pattern) -> bool:
    """Whether RETURN COLLAPSED has lists that may grow until the window ends: a single event must come
    after each."""
    match pattern:
        case Seq(parts):
            last = max((n for n, part in enumerate(parts) if isinstance(part, Event)), default=-1)
            return any(
                isinstance(node, Repeat) for part in parts[last + 1 :] for node in all_parts(part)
            ) or any(_has_open_list(part) for part in parts if not isinstance(part, Event | Repeat | Not))
        case Event() | Not():
            return False
    return any(isinstance(node, Repeat) for node in all_parts(pattern))
