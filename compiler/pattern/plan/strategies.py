"""The strategies: how the matches of a query are found, which of them can find those of this one, and the
plan of each. What cannot be executed is refused here: whoever writes a plan can write all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from neelc.arguments import BUCKETS, ExecutionStrategy, Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.expressions import (
    Aggregate,
    Attribute,
    EventTime,
    Expr,
    Index,
    IsNull,
    WholeEvent,
    element,
    is_array_of_path,
    is_many,
    lists,
)
from neelc.ir.names import bare
from neelc.ir.node import Node, children, walk
from neelc.ir.program import Match
from neelc.ir.types import Array, DataType, Decimal, Map, Struct
from neelc.pattern.analysis.equalities import Shortcut
from neelc.pattern.analysis.keys import Key, partition_keys
from neelc.pattern.cost.choose import FormChoice, PlanShape, StrategyPrice, pays_to_count, priced_strategies
from neelc.pattern.cost.estimate import Estimate, is_skewed
from neelc.pattern.plan.blocks import (
    EndlessOrder,
    TooManyRows,
    UncountedMatches,
    UnsupportedQuery,
    variable_of,
)
from neelc.pattern.plan.columns import LONGEST, unit_of
from neelc.pattern.plan.counting.plan import AggregatePlan, aggregate_plan
from neelc.pattern.plan.emission import (
    StreamPlan,
    streamed_distinct,
    streamed_groups,
    streamed_imprecise,
    streamed_pattern,
    with_group_columns,
)
from neelc.pattern.plan.imprecise import imprecise_plan
from neelc.pattern.plan.kernel_plan import KernelPlan, closures_of, kernel_plan
from neelc.pattern.plan.relational_plan import (
    JoinPlan,
    WindowPlan,
    join_plan,
    refuse_too_many_roles,
    window_plan,
)
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.program import CHUNK as CHUNK_NUMBER
from neelc.runtime.program import CHUNK_WIDTH, ImpreciseProgram, PatternProgram
from neelc.runtime.reference.results import is_over_matches
from neelc.scalar.type_of import type_of

# What RETURN, and conditions on complete matches, need that Spark's functions of lists cannot compute.


NARROW = 17
"""An average of DECIMALs of at most this many digits is one quotient, exact enough to be rounded."""
MOST_PLACES = 18
"""An average of DECIMALs of more digits, with more places, cannot be rounded in the right place."""

Bodies = Mapping[str, tuple[str, ...]]


def refuse_results(query: Match, expressions: Iterable[Expr]) -> None:
    """Raise `UnsupportedQuery` for the first thing that cannot be computed of a match.

    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, B+ b[]) RETURN avg(CAST(b[].x AS DECIMAL(38, 20)))")
    >>> refuse_results(match, [output.expression for output in match.outputs])
    Traceback (most recent call last):
    neelc.pattern.plan.blocks.UnsupportedQuery: the average of a list of DECIMALs with more than 18 places
    """
    bodies = closures_of(query.pattern)
    for reason in (reason for one in expressions for reason in _reasons(one, bodies)):
        raise UnsupportedQuery(reason)


def _reasons(node: Node, bodies: Bodies) -> Iterator[str]:
    match node:
        case Expr() if is_array_of_path(node):
            yield from _of_array(node, bodies)
        case Attribute() | EventTime() | IsNull(WholeEvent()):
            return
        case WholeEvent(event, Struct() as type):
            yield from _of_whole(variable_of(event), type, bodies)
        case Aggregate(argument=Expr() as argument) if node.function is not None:
            if any(isinstance(inner, Index) and inner.anchor == "CURRENT" for inner in walk(node)):
                yield f"`{node}` in a condition that is checked on complete matches"
            else:
                yield from _of_array(argument, bodies)
        case Aggregate(argument=Expr() as argument) if is_many(argument):
            is_counted = node.name == "count" and not node.distinct and isinstance(argument, WholeEvent)
            yield from () if is_counted else _of_array(argument, bodies)
            yield from _of_aggregate(node, type_of(argument, inside_aggregate=True))
        case _:
            for child in children(node):
                yield from _reasons(child, bodies)


def _of_array(expression: Expr, bodies: Bodies) -> Iterator[str]:
    """What the expression is for each element of the list that it ranges over."""
    each = next(lists(expression), None)
    if each is None:
        yield from _reasons(expression, bodies)
        return
    one = element(expression, each, 0)
    yield from _of_array(one, bodies) if is_many(one) else _reasons(one, bodies)


def _of_whole(variable: str, type: Struct, bodies: Bodies) -> Iterator[str]:
    """One event with all its attributes, or an iteration with all its variables. A variable that a rewriting
    has taken from the body, be it a list, is NULL in every iteration."""
    body = bodies.get(variable)
    for part in type.fields if body is not None else ():
        inner = next((name for name in body or () if bare(name) == bare(part.name)), None)
        kind = part.type.element if isinstance(part.type, Array) else part.type
        if inner is not None and isinstance(kind, Struct):
            yield from _of_whole(inner, kind, bodies)


def _of_aggregate(node: Aggregate, type: DataType) -> Iterator[str]:
    if (node.distinct or node.name == "collect_set") and any(isinstance(part, Map) for part in walk(type)):
        yield "DISTINCT values of a list that hold a MAP"
    is_wide = isinstance(type, Decimal) and type.precision > NARROW and type.scale > MOST_PLACES
    if node.name in ("avg", "mean") and is_wide:
        yield f"the average of a list of DECIMALs with more than {MOST_PLACES} places"


@dataclass(frozen=True)
class StrategyPlan:
    """How a query is executed: under which strategy, and with which plan. `query` is what the plan is of: the
    rewritten query, or the one as written; `most_matches` is what one task may find. `prices` are those of
    the strategies that were considered; `buckets` are those of a stream without end."""

    strategy: ExecutionStrategy
    query: Match
    plan: KernelPlan | AggregatePlan | JoinPlan | WindowPlan | StreamPlan
    most_matches: int | None = None
    prices: tuple[StrategyPrice, ...] = ()
    buckets: int = BUCKETS

    @property
    def shape(self) -> PlanShape:
        """What matters of the plan for its price."""
        if isinstance(self.plan, JoinPlan | WindowPlan):
            return self.plan.shape
        planned = self.plan.planned if isinstance(self.plan, AggregatePlan | StreamPlan) else self.plan
        return PlanShape(len(planned.cuts))

    @property
    def unit(self) -> str:
        """The unit in which times are counted."""
        match self.plan:
            case WindowPlan(joined):
                return joined.plan.unit
            case AggregatePlan(planned) | StreamPlan(planned):
                return planned.plan.unit
            case planned:
                return planned.plan.unit

    @property
    def program(self) -> PatternProgram | None:
        """What the kernel runs, if there is one."""
        if isinstance(self.plan, JoinPlan | WindowPlan):
            return None
        return self.plan.program

    def __str__(self) -> str:
        return "\n".join([f"{self.strategy}: {self.query.pattern}", *self._lines()])

    def _lines(self) -> Iterator[str]:
        if isinstance(self.plan, JoinPlan | WindowPlan):
            yield from self.plan.lines()
            return
        program = self.plan.program
        yield f"keys: {', '.join(program.keys) or 'none'}"
        if program.chunk is not None:
            yield f"chunks of time: {program.chunk}"
        yield "steps"
        yield from (f"  {step}" for step in program.steps)


@dataclass(frozen=True)
class PlanningTask:
    """A query to be planned: its keys, its unit of time, and whether others read it as a stream. `written` is
    the query as it was before rewriting; `chunked`: time is cut into chunks even where there is a key."""

    query: Match
    keys: tuple[Key, ...]
    unit: str
    written: Match
    estimate: Estimate
    as_stream: bool = False
    shortcuts: tuple[Shortcut, ...] = ()
    chunked: bool = False
    most_matches: int | None = None
    streaming: bool = False
    buckets: int = BUCKETS


@dataclass(frozen=True)
class PlanningContext:
    """What a query is planned by, besides what was chosen for it: `units` are those of the times of earlier
    queries; `is_read` if another query reads it as a stream. With a `unit`, that is what it counts in."""

    options: Options = field(default_factory=Options)
    statistics: Statistics = field(default_factory=Statistics)
    units: Mapping[str, str] = field(default_factory=dict)
    is_read: bool = False
    unit: str | None = None


def planning_task(choice: FormChoice, context: PlanningContext) -> PlanningTask:
    """What is to be planned of a choice."""
    chosen, options = choice.chosen, context.options
    query = chosen.form.rewriting.query
    use_shortcuts = options.shortcuts and not options.streaming  # what has yet to come may have the value
    shortcuts = tuple(one.shortcut for one in chosen.shortcuts if one.taken and use_shortcuts)
    chunks = options.chunks
    chunked = is_skewed(query, chosen.keys, context.statistics) if chunks is None else chunks
    return PlanningTask(
        query,
        chosen.keys,
        context.unit or unit_of(query, context.units),
        choice.query,
        chosen.estimate,
        context.is_read,
        shortcuts,
        chunked,
        options.most_matches,
        options.streaming,
        options.buckets or BUCKETS,
    )


def refuse_too_many_rows(choice: FormChoice, most: float) -> None:
    """Refuse a result that is too large, unless the number of events is only assumed."""
    estimate, query = choice.chosen.estimate, choice.chosen.form.rewriting.query
    streams = [f for f in estimate.facts if f.what.startswith("events") and " of type " not in f.what]
    guessed = any(fact.origin == "assumed" for fact in streams)
    if estimate.rows_produced > most and not guessed:
        what = f"about {estimate.rows_produced:.2g} rows are expected, more than {most:.2g}"
        raise TooManyRows(what, query.pattern.span)


# The plan of each strategy.


def _kernel(task: PlanningTask) -> StrategyPlan:
    if task.query.is_imprecise:
        return _imprecise(task)
    return in_kernel(task, task.query, kernel_plan(task.query, task.keys, task.unit, task.shortcuts))


def in_kernel(task: PlanningTask, query: Match, planned: KernelPlan) -> StrategyPlan:
    """A plan for the kernel, of the query as rewritten or as written."""
    refuse_too_many_roles(planned.plan)
    refuse_results(query, (*planned.residual, *_outputs(query)))
    return StrategyPlan(ExecutionStrategy.KERNEL, query, in_chunks(planned, task.chunked), task.most_matches)


def _on_stream(task: PlanningTask) -> StrategyPlan:
    """Matches of a stream without end."""
    query = task.query
    if query.is_imprecise:
        query, planned = _weighed(task)
        return _kernel_on_stream(task, query, StreamPlan(planned, streamed_imprecise(planned)))
    if query.aggregated:
        return _groups_on_stream(task)
    planned = with_group_columns(kernel_plan(query, task.keys, task.unit))
    program = streamed_distinct if query.distinct and task.as_stream else streamed_pattern
    return _kernel_on_stream(task, query, StreamPlan(planned, program(planned)))


def _groups_on_stream(task: PlanningTask) -> StrategyPlan:
    """Aggregates over the matches of a stream without end; those that cannot be counted are enumerated."""
    try:
        query, counting = _counted(task)
        counted = with_group_columns(counting.planned)
        counting = replace(counting, planned=counted)
        groups = StreamPlan(counted, streamed_groups(counted), counting)
    except UnsupportedQuery:
        planned = with_group_columns(kernel_plan(task.query, task.keys, task.unit))
        return _kernel_on_stream(task, task.query, StreamPlan(planned, streamed_groups(planned)))
    return StrategyPlan(ExecutionStrategy.COUNTING, query, groups, buckets=task.buckets)


def _kernel_on_stream(task: PlanningTask, query: Match, plan: StreamPlan) -> StrategyPlan:
    refuse_too_many_roles(plan.planned.plan)
    refuse_results(query, (*plan.planned.residual, *_outputs(query)))
    return StrategyPlan(ExecutionStrategy.KERNEL, query, plan, task.most_matches, buckets=task.buckets)


def _imprecise(task: PlanningTask) -> StrategyPlan:
    """Matches with their confidence."""
    return in_kernel(task, *_weighed(task))


def _weighed(task: PlanningTask) -> tuple[Match, KernelPlan]:
    """The plan of matches with their confidence. Where the rewritten query cannot be weighed, the one that is
    written may be."""
    try:
        return task.query, imprecise_plan(task.query, task.keys, task.unit)
    except UnsupportedQuery:
        return task.written, imprecise_plan(task.written, partition_keys(task.written), task.unit)


def _join(task: PlanningTask) -> StrategyPlan:
    planned = join_plan(task.query, task.keys, task.unit)
    return _relational(ExecutionStrategy.JOIN, task, planned)


def _window(task: PlanningTask) -> StrategyPlan:
    planned = window_plan(task.query, task.keys, task.unit)
    return _relational(ExecutionStrategy.WINDOW, task, planned)


def _relational(
    strategy: ExecutionStrategy, task: PlanningTask, planned: JoinPlan | WindowPlan
) -> StrategyPlan:
    """Only kernels count the matches of a task: a limit that somebody gave is theirs to check."""
    refuse_results(task.query, _outputs(task.query))
    if task.most_matches is not None:
        raise UncountedMatches(strategy)
    return StrategyPlan(strategy, task.query, planned)


def _counting(task: PlanningTask) -> StrategyPlan:
    """Aggregates over matches without the matches; raises `UnsupportedQuery` where those are needed."""
    query, counting = _counted(task)
    planned = in_chunks(counting.planned, task.chunked)
    return StrategyPlan(ExecutionStrategy.COUNTING, query, replace(counting, planned=planned))


def _counted(task: PlanningTask) -> tuple[Match, AggregatePlan]:
    for query, keys in ((task.query, task.keys), (task.written, partition_keys(task.written))):
        counting = aggregate_plan(query, keys, task.unit)
        if counting is not None and not task.as_stream:
            refuse_too_many_roles(counting.planned.plan)
            refuse_results(query, (one for one in _outputs(query) if not is_over_matches(one)))
            return query, counting
    raise UnsupportedQuery("counting matches that must be enumerated")


def _outputs(query: Match) -> tuple[Expr, ...]:
    return tuple(output.expression for output in query.outputs)


STRATEGIES: dict[ExecutionStrategy, Callable[[PlanningTask], StrategyPlan]] = {
    ExecutionStrategy.KERNEL: _kernel,
    ExecutionStrategy.WINDOW: _window,
    ExecutionStrategy.JOIN: _join,
    ExecutionStrategy.COUNTING: _counting,
}

PRICED = (ExecutionStrategy.KERNEL, ExecutionStrategy.WINDOW, ExecutionStrategy.JOIN)
"""Those to choose from by price; counting is taken where it pays."""

WINDOWS = 8
"""How many windows make a chunk of time. Events near its ends are read by two chunks: about an eighth, or a
quarter where a pattern looks back."""


def in_chunks(planned: KernelPlan, chunked: bool) -> KernelPlan:
    """The plan with time cut into chunks if it is `chunked`, or without a key; that requires a window of
    time. Which matches are kept is known only where all of a key are."""
    program = planned.program
    reach = program.reach
    if reach is None or (program.keys and not chunked) or program.kept is not None:
        return planned
    if isinstance(program, ImpreciseProgram):
        # The width of a chunk depends on how imprecise times are: it is a column.
        program = replace(program, keys=(*program.keys, CHUNK_WIDTH, CHUNK_NUMBER))
    else:
        chunk = min(WINDOWS * max(1, reach), LONGEST)
        program = replace(program, keys=(*program.keys, CHUNK_NUMBER), chunk=chunk)
    return replace(planned, program=program)


# Which strategy a query is executed with.


def planned_match(task: PlanningTask, strategy: ExecutionStrategy | None = None) -> StrategyPlan:
    """The plan of a query under a strategy, or under that of the least work; raises `UnsupportedQuery`.

    >>> from neelc.pattern.cost.choose import choose
    >>> from neelc.pattern.rules.driver import forms
    >>> from pattern_examples import query
    >>> match = query("SEQ(A a, !B b, C c) WHERE [id] WITHIN 9")
    >>> choice = choose(match, forms(match), Statistics())
    >>> planned = planned_match(planning_task(choice, PlanningContext()))
    >>> print(planned.strategy, [(str(price.strategy), price.refusal) for price in planned.prices])
    kernel [('kernel', ''), ('window', 'window functions for a pattern of several events'), ('join', '')]
    """
    if task.streaming:
        if task.query.numbered is not None:
            raise EndlessOrder("match_number needs all matches, and on a stream there is no last one")
        if task.query.order is not None:
            raise EndlessOrder("ORDER BY needs all rows of a result, and on a stream there is no last one")
        found = _on_stream(task)
        return replace(found, prices=(StrategyPrice(found.strategy),))
    if strategy is not None:
        return replace(STRATEGIES[strategy](task), prices=(StrategyPrice(strategy),))
    if task.query.aggregated and pays_to_count(task.query, task.estimate):
        counting = _attempt(ExecutionStrategy.COUNTING, task)
        if isinstance(counting, StrategyPlan):
            return replace(counting, prices=(StrategyPrice(counting.strategy),))
    plans = {strategy: _attempt(strategy, task) for strategy in PRICED}
    possible = {name: plan for name, plan in plans.items() if isinstance(plan, StrategyPlan)}
    refusals = {name: plan for name, plan in plans.items() if isinstance(plan, UnsupportedQuery)}
    if not possible:
        raise _refusal(refusals)
    shapes = {name: plan.shape for name, plan in possible.items()}
    best, works = priced_strategies(shapes, task.estimate, task.query.strategy.is_contiguous)
    prices = (
        StrategyPrice(name, refusal=refusals[name].what)
        if name in refusals
        else StrategyPrice(name, works[name])
        for name in PRICED
    )
    return replace(possible[best], prices=tuple(prices))


def _refusal(refusals: Mapping[ExecutionStrategy, UnsupportedQuery]) -> UnsupportedQuery:
    """Why no strategy can execute a query: the kernel can do the most, so what it cannot do is the reason,
    unless all that others lack is the limit of matches."""
    kernel = refusals[ExecutionStrategy.KERNEL]
    uncounted = (one.strategy for one in refusals.values() if isinstance(one, UncountedMatches))
    return next((UncountedMatches(strategy, kernel.what) for strategy in uncounted), kernel)


def _attempt(strategy: ExecutionStrategy, task: PlanningTask) -> StrategyPlan | UnsupportedQuery:
    try:
        return STRATEGIES[strategy](task)
    except UnsupportedQuery as refusal:
        return refusal
