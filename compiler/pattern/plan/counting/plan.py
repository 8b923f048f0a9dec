"""Aggregates over matches without enumerating them: when that is possible, and how (docs/decisions/0037)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from neelc.ir.expressions import (
    Aggregate,
    Binary,
    Cast,
    EveryElement,
    Expr,
    Index,
    ListElement,
    MatchProperty,
    Variable,
    is_many,
    names_in,
)
from neelc.ir.node import Node, children, map_children, walk
from neelc.ir.patterns import targets
from neelc.ir.program import Match
from neelc.ir.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    SUMMAND,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    WIDE,
    DataType,
    Decimal,
)
from neelc.pattern.analysis.keys import Key
from neelc.pattern.plan.blocks import UnsupportedQuery, event_names, reference_to
from neelc.pattern.plan.blocks_to_steps import check_step
from neelc.pattern.plan.columns import EventColumns, order_names
from neelc.pattern.plan.counting.stages import (
    NoChain,
    SequenceStage,
    StageCondition,
    StageSequence,
    match_to_stages,
    stage_of,
)
from neelc.pattern.plan.kernel_plan import (
    START,
    KernelPlan,
    closures_of,
    is_start,
    key_column,
    references,
    struct_names,
)
from neelc.pattern.plan.kernel_values import (
    NUMBERS,
    KernelValues,
    NotInKernel,
    groups,
    has_lists,
    is_null_without,
    list_fold,
)
from neelc.pattern.plan.order import StepOrder
from neelc.pattern.plan.plan import Plan, PlanStep, other_elements, types_of_variables
from neelc.pattern.plan.plan_to_program import plan_to_steps
from neelc.runtime.kernels.counting.chain import (
    AVERAGE,
    COUNT,
    FIRST,
    LAST,
    MAX,
    MIN,
    SOURCE,
    SUM,
    TARGET,
    Chain,
    ChainEnding,
    ChainMove,
    ChainState,
    CountingProgram,
    Tally,
    mentioned,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import (
    Absent,
    Apply,
    Bounds,
    ColumnValue,
    EventName,
    IterationName,
    KernelStep,
    PatternProgram,
    RepeatStep,
    Take,
    Value,
    VariableOutput,
    Within,
    names_of_steps,
)
from neelc.runtime.reference.results import is_over_matches
from neelc.scalar.type_of import type_of
from neelc.syntax.print_patterns import as_written

# RETURN of a query whose matches are counted: its aggregates as tallies, the rest as what to group by.

FUNCTIONS = {"count": COUNT, "sum": SUM, "avg": AVERAGE, "mean": AVERAGE, "min": MIN, "max": MAX}
OF_LISTS = {
    (SUM, "count"), (AVERAGE, "count"), (COUNT, "count"),
    (SUM, "sum"), (AVERAGE, "sum"), (COUNT, "sum"),
    (MIN, "min"), (MAX, "max"), (COUNT, "min"), (COUNT, "max"), (MIN, "count"), (MAX, "count"),
}  # fmt: skip
"""An aggregate over all matches, and the aggregate over each list that it can be combined with."""
COMPARED = (STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, BOOLEAN)


@dataclass(frozen=True)
class TalliedAggregate:
    """An aggregate of RETURN, and the tally for it; `type` is that of the values of an extreme."""

    node: Expr
    tally: Tally
    type: DataType


def grouping(
    query: Match, sequence: StageSequence, keys: tuple[Key, ...]
) -> tuple[frozenset[str], frozenset[str]]:
    """The variables that results are grouped by: those that must be pinned, and those that only contribute a
    key, which all events have in common; raises `NoChain`."""
    pins, keyed = set[str](), set[str]()
    terms = {term for key in keys for _, term in key.terms}
    for output in query.outputs:
        if is_over_matches(output.expression):
            continue
        _refuse_group(output.expression, sequence)
        (keyed if output.expression in terms else pins).update(names_in(output.expression))
    return frozenset(pins), frozenset(keyed - pins)


def _refuse_group(expression: Expr, sequence: StageSequence) -> None:
    names = names_in(expression)
    singles = {stage.variable for stage in sequence.stages if not stage.listed and stage.least == 1}
    special = any(
        isinstance(node, ListElement | EveryElement | MatchProperty | Aggregate) for node in walk(expression)
    )
    if special or not names or not names <= singles:
        raise NoChain(f"grouping by `{expression}`")


def tallies(query: Match, sequence: StageSequence, columns: EventColumns) -> tuple[TalliedAggregate, ...]:
    """The aggregates of RETURN, each once; raises `NoChain`."""
    over = [output.expression for output in query.outputs if is_over_matches(output.expression)]
    nodes = dict.fromkeys(node for expression in over for node in _aggregates(expression))
    if any(_looks_elsewhere(expression) for expression in over):
        raise NoChain("an aggregate beside other values of a match")
    names = {name.casefold() for name in struct_names(targets(query.pattern)).values()}
    prefix = next(
        name
        for name in ("total", "total_of_matches", *(f"total_{n}" for n in range(99)))
        if not any(taken.startswith(f"{name}_") for taken in names)
    )
    stages = {stage.variable: stage for stage in sequence.stages}
    made = []
    for number, node in enumerate(nodes, 1):
        try:
            made.append(_tallied(node, f"{prefix}_{number}", stages, columns))
        except NotInKernel:
            raise NoChain(f"`{node}`") from None
    return tuple(made)


def _looks_elsewhere(node: Node) -> bool:
    """Whether an expression looks at a match outside of aggregates over all of them."""
    if isinstance(node, Aggregate) and (node.argument is None or not is_many(node.argument)):
        return False
    return isinstance(node, Variable | MatchProperty) or any(map(_looks_elsewhere, children(node)))


def _aggregates(node: Node) -> Iterator[Expr]:
    """Aggregates over all matches; a count that is WIDE with its cast."""
    whole = node.operand if isinstance(node, Cast) and node.implicit and node.type == WIDE else node
    if isinstance(whole, Aggregate) and (whole.argument is None or not is_many(whole.argument)):
        assert isinstance(node, Expr)
        yield node
    else:
        for child in children(node):
            yield from _aggregates(child)


def _tallied(
    whole: Expr, name: str, stages: dict[str, SequenceStage], columns: EventColumns
) -> TalliedAggregate:
    node = whole.operand if isinstance(whole, Cast) else whole
    assert isinstance(node, Aggregate)
    function = FUNCTIONS.get(node.name)
    if function is None or node.distinct:
        raise NotInKernel(str(node))
    wide, argument = type_of(whole) == WIDE, node.argument
    if function == SUM and wide:
        if not (isinstance(argument, Cast) and argument.implicit and argument.type == SUMMAND):
            raise NotInKernel(str(node))
        argument = argument.operand
    elif function in (SUM, AVERAGE) and node.type not in (BIGINT, DOUBLE):
        raise NotInKernel(str(node))
    if argument is None:
        return TalliedAggregate(whole, Tally(name, COUNT, wide=wide), BIGINT)
    inner = argument
    while isinstance(inner, Cast) and inner.implicit and function in (SUM, AVERAGE):
        inner = inner.operand
    if isinstance(inner, Aggregate):
        tallied = _of_list(node, inner, function, name, stages, columns)
    else:
        tallied = _of_event(node, argument, function, name, stages, columns)
    return replace(tallied, node=whole, tally=replace(tallied.tally, wide=wide))


def _of_list(
    node: Aggregate,
    inner: Aggregate,
    function: str,
    name: str,
    stages: dict[str, SequenceStage],
    columns: EventColumns,
) -> TalliedAggregate:
    fold = list_fold(inner, columns)
    if (function, inner.name) not in OF_LISTS or fold.running or fold.variable not in stages:
        raise NotInKernel(str(node))
    counts = inner.name == "count"
    tally = Tally(name, function, fold.variable, fold.fold.column, counts, listed=True)
    return TalliedAggregate(node, tally, inner.type or BIGINT)


def _of_event(
    node: Aggregate,
    argument: Expr,
    function: str,
    name: str,
    stages: dict[str, SequenceStage],
    columns: EventColumns,
) -> TalliedAggregate:
    argument, picks = _picked(argument)
    names, kind = event_names(argument), type_of(argument)
    if (
        len(names) != 1
        or has_lists(argument)
        or any(isinstance(one, MatchProperty) for one in walk(argument))
    ):
        raise NotInKernel(str(node))
    (event,) = names
    variable = event.list if picks is not None and isinstance(event, IterationName) else event
    stage = stages.get(variable) if isinstance(variable, str) else None
    if stage is None or stage.listed is (picks is None):
        raise NotInKernel(str(node))
    if stage.least == 0 and not is_null_without(argument, event):
        raise NotInKernel(str(node))
    if kind not in NUMBERS:
        if function != COUNT or not (kind in COMPARED or isinstance(kind, Decimal)):
            raise NotInKernel(str(node))
        argument = Binary("=", argument, argument)  # NULL where the argument is, and a truth value elsewhere
    column = columns.column(argument, event).name
    return TalliedAggregate(node, Tally(name, function, stage.variable, column, picks=picks), kind)


def _picked(argument: Expr) -> tuple[Expr, str | None]:
    """An argument about the first event of a list, or its last one, as one about any of its events; and which
    it is. None if it is about no list, or about more than one event of it."""
    elements = {node for node in walk(argument) if isinstance(node, ListElement)}
    if len(elements) != 1:
        return argument, None
    (at,) = elements
    picks = {Index("FIRST", 0): FIRST, Index("LAST", 0): LAST}.get(at.index)
    if picks is None or not isinstance(at.base, Variable):
        return argument, None
    event = reference_to(IterationName(at.base.name))

    def change(node: Node) -> Node:
        return event if node == at else map_children(node, change)

    changed = change(argument)
    assert isinstance(changed, Expr)
    return changed, picks


# When each condition of a chain is checked: with which of the steps from one event to the next.
#
# A step goes from an event of stage i to one of stage k, past the stages between them, which then have no
# event. Every match has exactly one step into stage k or past it (*enter*), one out of stage i or past it
# (*leave*), and one across the boundary after a stage (*cross*). A condition on one stage is checked with
# the first or the second of these, one on two stages with the third; so the two must be neighbours. What is
# pinned is known all the time.

PINS, ELEMENT, INNER, ENTER, LEAVE, CROSS = "pins", "element", "inner", "enter", "leave", "cross"

LEADER = "^"
"""Stands for the first event of a match, whichever variable it has."""


@dataclass(frozen=True)
class ConditionTiming:
    """How a condition is checked, and at which stage; CROSS: at the boundary after it."""

    kind: str
    stage: int = -1


@dataclass(frozen=True)
class ChainView:
    """A chain that begins at the stage `begin`: the stages before it have no events. `pins` are variables
    that are pinned; LEADER, if the first event is."""

    stages: tuple[SequenceStage, ...]
    begin: int
    pins: frozenset[str]

    @property
    def leads(self) -> bool:
        return LEADER in self.pins

    def is_known(self, name: EventName, stage: int) -> bool:
        """Whether it is known which event has a name, or that none has, before a walk begins."""
        if stage < self.begin or name in self.pins:
            return True
        return self.leads and stage == self.begin and name == self.stages[stage].first


def when(condition: StageCondition, view: ChainView) -> ConditionTiming | None:
    """How a condition is checked; None if it cannot be.

    >>> from neelc.pattern.plan.counting.stages import match_to_stages
    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B+ b[], C c) WHERE a.x < b[1].x AND b[i].x > b[i-1].x AND a.x < c.x RETURN count(*)"
    >>> sequence = match_to_stages(query(text), (), "SECOND")
    >>> [when(one, ChainView(sequence.stages, 0, frozenset())) for one in sequence.conditions]
    [None, ConditionTiming(kind='cross', stage=0), ConditionTiming(kind='inner', stage=1)]
    >>> [when(one, ChainView(sequence.stages, 0, frozenset([LEADER]))).kind for one in sequence.conditions]
    ['enter', 'enter', 'inner']
    """
    numbered = [
        (name, stage_of(name, view.stages)) for name in sorted(event_names(condition.expression), key=str)
    ]
    unknown: dict[int, set[EventName]] = {}
    for name, stage in numbered:
        if stage is None:
            return None
        if not view.is_known(name, stage):
            unknown.setdefault(stage, set()).add(name)
    if condition.of_list is not None:
        return _when_of_list(condition.of_list, unknown, view)
    match sorted(unknown):
        case []:
            return ConditionTiming(PINS)
        case [stage]:
            return _when_of_stage(view.stages[stage], unknown[stage], stage)
        case [stage, other] if other == stage + 1:
            ends = unknown[stage] <= {view.stages[stage].last}
            return (
                ConditionTiming(CROSS, stage)
                if ends and unknown[other] <= {view.stages[other].first}
                else None
            )
    return None


def _when_of_list(
    variable: str, unknown: dict[int, set[EventName]], view: ChainView
) -> ConditionTiming | None:
    number = next(n for n, stage in enumerate(view.stages) if stage.variable == variable)
    if number < view.begin:
        return ConditionTiming(PINS, number)  # an empty list has no element to check
    names = unknown.get(number, set())
    current, earlier = IterationName(variable), IterationName(variable, lag=1)
    if set(unknown) - {number} or names - {current, earlier}:
        return None
    return ConditionTiming(INNER if earlier in names else ELEMENT, number)


def _when_of_stage(stage: SequenceStage, names: set[EventName], number: int) -> ConditionTiming | None:
    if names <= {stage.first}:
        return ConditionTiming(ENTER, number)
    return ConditionTiming(LEAVE, number) if names <= {stage.last} else None


def begins(stages: tuple[SequenceStage, ...]) -> Iterator[int]:
    """The stages that a match can begin with: all before them may be empty."""
    for number, stage in enumerate(stages):
        yield number
        if stage.least > 0:
            return


def pinned(sequence: StageSequence, required: frozenset[str]) -> frozenset[str]:
    """What must be pinned so that all conditions can be checked, `required` included; raises `NoChain`.

    >>> from neelc.pattern.plan.counting.stages import match_to_stages
    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B+ b[], C c, D d) WHERE b[i].x < c.x AND c.x < d.x RETURN count(*)"
    >>> sorted(pinned(match_to_stages(query(text), (), "SECOND"), frozenset()))
    ['c']
    """
    pins = required
    for condition in sequence.conditions:
        options = _options(condition, sequence)
        choices = (frozenset(some) for size in range(3) for some in combinations(options, size))
        enough = next(
            (pins | more for more in choices if _can_be_checked(condition, sequence, pins | more)), None
        )
        if enough is None:
            raise NoChain(f"the condition `{condition.expression}`")
        pins = enough
    return pins


def _options(condition: StageCondition, sequence: StageSequence) -> list[str]:
    """What could be pinned for a condition: events that are in every match."""
    singles = [stage.variable for stage in sequence.stages if not stage.listed and stage.least == 1]
    return [LEADER, *(name for name in singles if name in event_names(condition.expression))]


def _can_be_checked(condition: StageCondition, sequence: StageSequence, pins: frozenset[str]) -> bool:
    return all(when(condition, ChainView(sequence.stages, begin, pins)) for begin in begins(sequence.stages))


# Chains for the kernel that counts: states, the moves between them, and the conditions of each.

TimedConditions = tuple[tuple[StageCondition, ConditionTiming], ...]


@dataclass(frozen=True)
class ChainParts:
    """What a chain is made of. `absent` has the steps of each negation of the sequence."""

    sequence: StageSequence
    view: ChainView
    timed: TimedConditions
    value: Callable[[StageCondition], Value]
    absent: tuple[Absent[Value], ...]

    @property
    def stages(self) -> tuple[SequenceStage, ...]:
        return self.sequence.stages

    def at(self, kind: str, number: int, names: Mapping[EventName, str]) -> tuple[Value, ...]:
        """The conditions of one kind at a stage, with other names."""
        here = (condition for condition, one in self.timed if (one.kind, one.stage) == (kind, number))
        return tuple(with_variables(self.value(condition), names) for condition in here)

    def across(self, source: int, target: int, names: Mapping[EventName, str]) -> tuple[Value, ...]:
        """The conditions that are checked with a step from one stage to another, past those between."""
        stages = [stage.variable for stage in self.stages]
        values = []
        for condition, one in self.timed:
            passed = condition.if_there is not None and source < stages.index(condition.if_there) < target
            if not passed and _is_across(one, source, target):
                values.append(with_variables(self.value(condition), names))
        return tuple(values)


def _is_across(one: ConditionTiming, source: int, target: int) -> bool:
    if one.kind == ENTER:
        return source < one.stage <= target
    return one.kind in (LEAVE, CROSS) and source <= one.stage < target


def chain(
    sequence: StageSequence,
    view: ChainView,
    value: Callable[[StageCondition], Value],
    absent: tuple[Absent[Value], ...],
) -> Chain:
    """The chain of the matches that begin with one stage."""
    timed = tuple(_timed_conditions(sequence, view))
    making = ChainParts(sequence, view, timed, value, absent)
    numbers = _numbers(making)
    states = tuple(_state(making, stage) for stage, _ in numbers)
    moves = (*_inner_moves(making, numbers), *_outer_moves(making, numbers))
    pins = tuple(_pins_of_chain(making))
    begin = {sequence.stages[view.begin].first: TARGET}
    enters = () if view.leads else making.at(ENTER, view.begin, begin)
    return Chain(
        states,
        tuple(sorted(moves, key=lambda move: (move.target, move.source))),
        tuple(_endings(making, numbers)),
        pins,
        view.leads,
        enters if pins else (*enters, *making.at(PINS, -1, {})),
        sequence.width,
        sequence.counted,
    )


def _timed_conditions(
    sequence: StageSequence, view: ChainView
) -> Iterator[tuple[StageCondition, ConditionTiming]]:
    stages = [stage.variable for stage in sequence.stages]
    for condition in sequence.conditions:
        if condition.if_there is None or stages.index(condition.if_there) >= view.begin:
            one = when(condition, view)
            assert one is not None, "pins were chosen so that all can be checked"
            yield condition, one


Level = tuple[int, int]
"""A stage and a number of elements; the last stands for all greater ones, too, if the list has no end."""


def _numbers(making: ChainParts) -> dict[Level, int]:
    levels = [
        (number, level)
        for number in range(making.view.begin, len(making.stages))
        for level in range(1, making.stages[number].levels + 1)
    ]
    return {level: number for number, level in enumerate(levels)}


def _state(making: ChainParts, number: int) -> ChainState:
    stage = making.stages[number]
    names: dict[EventName, str] = {IterationName(stage.variable): TARGET}
    is_pinned = stage.variable in making.view.pins and number > making.view.begin
    where = making.at(ELEMENT, number, names)
    return ChainState(stage.variable, stage.role, where, stage.variable if is_pinned else None)


def _inner_moves(making: ChainParts, numbers: Mapping[Level, int]) -> Iterator[ChainMove]:
    """From one element of a list to the next."""
    for (number, level), state in numbers.items():
        stage = making.stages[number]
        names: dict[EventName, str] = {
            IterationName(stage.variable, lag=1): SOURCE,
            IterationName(stage.variable): TARGET,
        }
        where = making.at(INNER, number, names)
        if level < stage.levels:
            yield ChainMove(state, numbers[number, level + 1], where)
        elif stage.most is None:
            yield ChainMove(state, state, where)


def _may_leave(stage: SequenceStage, level: int) -> bool:
    return level >= stage.least


def _outer_moves(making: ChainParts, numbers: Mapping[Level, int]) -> Iterator[ChainMove]:
    """From one component to the next, or past some that need not be there."""
    for (source, level), state in numbers.items():
        if not _may_leave(making.stages[source], level):
            continue
        for target in range(source + 1, len(making.stages)):
            last, first = making.stages[source].last, making.stages[target].first
            names = {last: SOURCE, first: TARGET}
            checks = _checks(making, source, target)
            where = making.across(source, target, _unless_pinned(making, names, target))
            named = tuple(names.items()) if checks else ()
            yield ChainMove(state, numbers[target, 1], where, checks, named)
            if making.stages[target].least > 0:
                break


def _unless_pinned(making: ChainParts, names: dict[EventName, str], target: int) -> dict[EventName, str]:
    """A pinned event has its own name in conditions: then they may need only one event of the step."""
    fixed: set[EventName] = {name for name in names if name in making.view.pins}
    if making.view.leads:
        fixed.add(making.stages[making.view.begin].first)
    return {name: end for name, end in names.items() if name not in fixed}


def _checks(making: ChainParts, source: int, target: int) -> tuple[Absent[Value], ...]:
    gaps = [before for before, _ in making.sequence.gaps]
    return tuple(
        _checked(making, step, source, target)
        for step, gap in zip(making.absent, gaps, strict=True)
        if source < gap <= target
    )


def _checked(making: ChainParts, step: Absent[Value], source: int, target: int) -> Absent[Value]:
    """A negation for a step from one stage to another: it may look at these two only. What else it comes
    after, or before, lies beyond them; what is passed is not there."""
    ends = {making.stages[source].last, making.stages[target].first}
    kept = tuple(_near(making, one, source, target) for one in step.steps)
    own = {one.variable for one in kept if isinstance(one, Take)}
    for name in names_of_steps(kept) - own - ends:
        number = making.sequence.stage_of(name)
        if number is None or not source < number < target:
            raise NoChain(f"a negation that looks at {name}")
    return Absent(kept)


def _near(making: ChainParts, step: KernelStep, source: int, target: int) -> KernelStep:
    """A step of a negation, without bounds that lie beyond those of the step it is for."""
    if not isinstance(step, Take) or step.when or step.until:
        raise NoChain("a negation of more than a sequence")
    of = making.sequence.stage_of
    after = tuple(name for name in step.bounds.after if (number := of(name)) is None or number >= source)
    before = tuple(name for name in step.bounds.before if (number := of(name)) is None or number <= target)
    return replace(step, bounds=replace(step.bounds, after=after, before=before))


def _endings(making: ChainParts, numbers: Mapping[Level, int]) -> Iterator[ChainEnding]:
    for (number, level), state in numbers.items():
        stage, later = making.stages[number], making.stages[number + 1 :]
        if _may_leave(stage, level) and all(one.least == 0 for one in later):
            names = _unless_pinned(making, {stage.last: SOURCE}, number)
            yield ChainEnding(state, making.across(number, len(making.stages), names))


def _pins_of_chain(making: ChainParts) -> Iterator[Take[Value]]:
    """Steps that bind what is pinned, each after the one before, all conditions with the last."""
    view, stages = making.view, making.stages
    first = stages[view.begin : view.begin + 1] if view.leads else ()
    all_of_them = (*first, *(stage for stage in stages[view.begin + 1 :] if stage.variable in view.pins))
    where = making.at(PINS, -1, {})
    before: tuple[EventName, ...] = ()
    for stage in all_of_them:
        window = making.sequence.width
        within = (
            (Within(before[:1], window, making.sequence.counted),) if before and window is not None else ()
        )
        bounds = Bounds(after=before[-1:], within=within)
        yield Take(stage.first, stage.role, bounds, where=where if stage is all_of_them[-1] else ())
        before = (*before, stage.first)


def with_variables(value: Value, names: Mapping[EventName, str]) -> Value:
    """The value with other names for variables.

    >>> with_variables(ColumnValue(IterationName("b"), "x"), {IterationName("b"): TARGET})
    ColumnValue(variable='>', name='x')
    """
    match value:
        case ColumnValue(variable, name):
            return ColumnValue(names.get(variable, variable), name)
        case Apply(operation, operands, type):
            return Apply(operation, tuple(with_variables(operand, names) for operand in operands), type)
    return value


@dataclass(frozen=True)
class AggregatePlan:
    """The plan of a query whose matches are counted. `planned.program` is a `Counting`."""

    planned: KernelPlan
    tallied: tuple[TalliedAggregate, ...]

    @property
    def program(self) -> CountingProgram:
        assert isinstance(self.planned.program, CountingProgram)
        return self.planned.program


def sentence(program: PatternProgram) -> str:
    """How a program counts, for explanations.

    >>> from pattern_examples import query
    >>> text = "SEQ(A a, B+ b[], C c) WITHIN 9 RETURN count(*)"
    >>> print(sentence(aggregate_plan(query(text), (), "SECOND").program))
    matches are counted, not enumerated: for each first event, one pass over the events of its window.
    """
    assert isinstance(program, CountingProgram)
    chain = program.chains[0]
    pinned = [str(take.variable) for take in chain.pins]
    if not pinned:
        return "matches are counted, not enumerated: one pass over the events of each key."
    events = "the window" if chain.width is not None else "the key"
    each = f"choice of {' and '.join(pinned)}"
    if chain.leads and len(pinned) == 1:
        each, events = "first event", events.replace("the", "its")
    return f"matches are counted, not enumerated: for each {each}, one pass over the events of {events}."


def aggregate_plan(query: Match, keys: tuple[Key, ...], unit: str) -> AggregatePlan | None:
    """The plan that counts; None if matches must be enumerated, or cannot be found at all.

    >>> from pattern_examples import query
    >>> def applies(text):
    ...     return aggregate_plan(query(text), (), "MILLISECOND") is not None
    >>> applies("SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x AND b[i].x > a.x RETURN count(*), sum(c.x)")
    True

    Not where conditions are on whole lists, where RETURN has a row for each match, or where a value needs a
    whole list:

    >>> applies("SEQ(A a, B+ b[]) WHERE avg(b[].x) > 1 RETURN count(*)")
    False
    >>> applies("SEQ(A a, B b) RETURN a.x, b.x"), applies("SEQ(A a, B+ b[]) RETURN max(sum(b[].x))")
    (False, False)
    """
    try:
        return _planned(query, keys, unit)
    except (NoChain, NotInKernel, UnsupportedQuery):
        return None


def _planned(query: Match, keys: tuple[Key, ...], unit: str) -> AggregatePlan:
    if not query.aggregated or query.distinct:
        raise NoChain("a row for each match")
    if query.kept is not None:
        raise NoChain("matches that are compared with each other")
    sequence = match_to_stages(query, keys, unit)
    if sequence.counted and len(keys) < len(query.partition):
        raise NoChain("a partition whose values differ by type")
    _refuse_open_negations(sequence)
    grouped, keyed = grouping(query, sequence, keys)
    pins, ends = _pins(sequence, grouped)
    plan = _skeleton(query, sequence, unit)
    columns = EventColumns(types_of_variables(plan))
    key_columns = tuple(key_column(key, columns) for key in keys)
    checks = plan_to_steps(plan, columns)
    absent = tuple(step for step in checks.steps if isinstance(step, Absent))
    values = KernelValues(columns, _absent(sequence))

    def value(condition: StageCondition) -> Value:
        return values.value(condition.expression)

    chains = tuple(
        replace(chain(sequence, ChainView(sequence.stages, begin, pins), value, absent), ends=ends)
        for begin in begins(sequence.stages)
    )
    made = tallies(query, sequence, columns)
    counted = tuple(one.tally for one in made)
    roles = {stage.variable: stage.role for stage in sequence.stages}
    program = CountingProgram(
        mentioned(chains, counted),
        _outputs(query, columns, plan),
        tuple(role.name for role in plan.roles),
        tuple(column.name for column in key_columns),
        groups((*values.coded, *checks.codings)),
        counted=sequence.counted,
        reach=plan.reach,
        looks_back=False,
        everything=sequence.counted,
        order=order_names(query),
        labels=tuple((role.variable, f"{role.type} {role.variable}") for role in plan.roles),
        chains=chains,
        tallies=counted,
        keyed=tuple((name, roles[name]) for name in sorted(keyed - pins)),
    )
    text = str(as_written(query.pattern))
    planned = KernelPlan(plan, program, tuple(columns.all()), key_columns, (), query, text)
    return AggregatePlan(planned, made)


def _pins(sequence: StageSequence, grouped: frozenset[str]) -> tuple[frozenset[str], str | None]:
    """What is pinned, and the variable that matches end with, if results are grouped by it: that is known at
    the end without being pinned. A window is measured from the first event, which is pinned then."""
    first = {sequence.stages[begin].variable for begin in begins(sequence.stages)}
    last = sequence.stages[-1].variable
    ends = last if last in grouped - first else None
    pins = pinned(sequence, (grouped - {ends}) | ({LEADER} if sequence.width is not None else set()))
    pins = pins | {LEADER} if pins & first else pins
    return pins, None if ends in pins else ends


def _refuse_open_negations(sequence: StageSequence) -> None:
    """A negation before the first event, or after the last, looks as far as the window reaches."""
    for before, _ in sequence.gaps:
        if all(stage.least == 0 for stage in sequence.stages[:before]):
            raise NoChain("a negation before the first event")
        if all(stage.least == 0 for stage in sequence.stages[before:]):
            raise NoChain("a negation after the last event")


def _skeleton(query: Match, sequence: StageSequence, unit: str) -> Plan:
    """The part of the plan that other code reads: what variables are bound to, and the negations."""
    order = StepOrder(sequence.block, sequence.variables, sequence.roles)
    steps: list[PlanStep] = []
    for stage in sequence.stages:
        if stage.listed:
            name = IterationName(stage.variable)
            body: tuple[PlanStep, ...] = (Take(name, stage.role),)
            steps.append(RepeatStep(stage.variable, (name,), body, body, stage.least, stage.most))
        else:
            steps.append(Take(stage.variable, stage.role))
    checks = (check_step(order, check) for _, check in sequence.gaps)
    return Plan(
        (*steps, *checks),
        sequence.roles.roles,
        targets(query.pattern),
        unit,
        reach=None if sequence.counted else sequence.width,
        counted=sequence.counted,
        looks_back=False,
        everything=sequence.counted,
    )


def _absent(sequence: StageSequence) -> frozenset[EventName]:
    """The names that may have no event."""
    lists = [IterationName(stage.variable) for stage in sequence.stages if stage.listed]
    ends = (end for name in lists for end in other_elements(name, (), ()))
    return frozenset((*ends, *(stage.variable for stage in sequence.stages if stage.least == 0)))


def _outputs(query: Match, columns: EventColumns, plan: Plan) -> tuple[VariableOutput, ...]:
    """A struct for each variable that results are grouped by."""
    fields: dict[str, dict[str, str]] = {}
    for output in query.outputs:
        if not is_over_matches(output.expression):
            for variable, reference in references(output.expression, closures_of(query.pattern)):
                types = columns.type_of_variable[variable]
                is_time = reference is None or is_start(reference, types, query, plan.unit)
                name = START if is_time or reference is None else columns.column(reference, variable).name
                fields.setdefault(variable, {})[name] = name
    names = struct_names(plan.variables)
    return tuple(VariableOutput(one, names[one], tuple(own.items())) for one, own in fields.items())
