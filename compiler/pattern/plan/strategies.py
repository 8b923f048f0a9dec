"""The strategies: how the matches of a query are found, which of them can find those of this one, and the
plan of each. What cannot be executed is refused here: whoever writes a plan can write all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from neelc.arguments import ExecutionStrategy, Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.ir.expressions import Expr
from neelc.ir.program import Match
from neelc.pattern.analysis.keys import Key, partition_keys
from neelc.pattern.analysis.shortcuts import Shortcut
from neelc.pattern.cost.choose import FormChoice, PlanShape, StrategyPrice, pays_to_count, priced_strategies
from neelc.pattern.cost.estimate import Estimate
from neelc.pattern.cost.spark_work import is_skewed
from neelc.pattern.plan.blocks import TooManyRows, UnsupportedQuery
from neelc.pattern.plan.columns import LONGEST, unit_of
from neelc.pattern.plan.counting.plan import AggregatePlan, aggregate_plan
from neelc.pattern.plan.imprecise import imprecise_plan
from neelc.pattern.plan.join_plan import JoinPlan, join_plan, refuse_too_many_roles
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.pattern.plan.results import refuse_results
from neelc.pattern.plan.window_plan import WindowPlan, window_plan
from neelc.runtime.program import CHUNK as CHUNK_NUMBER
from neelc.runtime.program import CHUNK_WIDTH, ImpreciseProgram, PatternProgram
from neelc.runtime.reference.results import is_over_matches


@dataclass(frozen=True)
class StrategyPlan:
    """How a query is executed: under which strategy, and with which plan. `query` is what the plan is of: the
    rewritten query, or the one as written; `most_matches` is what one task may find. `prices` are those of
    the strategies that were considered."""

    strategy: ExecutionStrategy
    query: Match
    plan: KernelPlan | AggregatePlan | JoinPlan | WindowPlan
    most_matches: int | None = None
    prices: tuple[StrategyPrice, ...] = ()

    @property
    def shape(self) -> PlanShape:
        """What matters of the plan for its price."""
        if isinstance(self.plan, JoinPlan | WindowPlan):
            return self.plan.shape
        planned = self.plan.planned if isinstance(self.plan, AggregatePlan) else self.plan
        return PlanShape(len(planned.cuts))

    @property
    def unit(self) -> str:
        """The unit in which times are counted."""
        match self.plan:
            case WindowPlan(joined):
                return joined.plan.unit
            case AggregatePlan(planned):
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


@dataclass(frozen=True)
class PlanningContext:
    """What a query is planned by, besides what was chosen for it: `units` are those of the times of earlier
    queries; `is_read` if another query reads it as a stream."""

    options: Options = field(default_factory=Options)
    statistics: Statistics = field(default_factory=Statistics)
    units: Mapping[str, str] = field(default_factory=dict)
    is_read: bool = False


def planning_task(choice: FormChoice, context: PlanningContext) -> PlanningTask:
    """What is to be planned of a choice."""
    chosen, options = choice.chosen, context.options
    query = chosen.form.rewriting.query
    shortcuts = tuple(one.shortcut for one in chosen.shortcuts if one.taken and options.shortcuts)
    chunks = options.chunks
    chunked = is_skewed(query, chosen.keys, context.statistics) if chunks is None else chunks
    return PlanningTask(
        query,
        chosen.keys,
        unit_of(query, context.units),
        choice.query,
        chosen.estimate,
        context.is_read,
        shortcuts,
        chunked,
        options.most_matches,
    )


def refuse_too_many_rows(choice: FormChoice, most: float) -> None:
    """Refuse a result that is too large, unless nobody said how many events there are."""
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
    """A plan for the kernel, of the query as it is rewritten or written."""
    refuse_too_many_roles(planned.plan)
    refuse_results(query, (*planned.residual, *_outputs(query)))
    return StrategyPlan(ExecutionStrategy.KERNEL, query, in_chunks(planned, task.chunked), task.most_matches)


def _imprecise(task: PlanningTask) -> StrategyPlan:
    """Matches with their confidence. Where the rewritten query cannot be weighed, the one that is written may
    be."""
    try:
        query, planned = task.query, imprecise_plan(task.query, task.keys, task.unit)
    except UnsupportedQuery:
        query, planned = task.written, imprecise_plan(task.written, partition_keys(task.written), task.unit)
    return in_kernel(task, query, planned)


def _join(task: PlanningTask) -> StrategyPlan:
    planned = join_plan(task.query, task.keys, task.unit)
    refuse_results(task.query, _outputs(task.query))
    return StrategyPlan(ExecutionStrategy.JOIN, task.query, planned)


def _window(task: PlanningTask) -> StrategyPlan:
    planned = window_plan(task.query, task.keys, task.unit)
    refuse_results(task.query, _outputs(task.query))
    return StrategyPlan(ExecutionStrategy.WINDOW, task.query, planned)


def _counting(task: PlanningTask) -> StrategyPlan:
    """Aggregates over matches without the matches; raises `UnsupportedQuery` where those are needed."""
    for query, keys in ((task.query, task.keys), (task.written, partition_keys(task.written))):
        found = aggregate_plan(query, keys, task.unit)
        if found is not None and not task.as_stream:
            refuse_too_many_roles(found.planned.plan)
            refuse_results(query, (one for one in _outputs(query) if not is_over_matches(one)))
            planned = in_chunks(found.planned, task.chunked)
            return StrategyPlan(ExecutionStrategy.COUNTING, query, replace(found, planned=planned))
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
    time."""
    program = planned.program
    reach = program.reach
    if reach is None or (program.keys and not chunked):
        return planned
    if isinstance(program, ImpreciseProgram):
        # How wide a chunk is depends on how imprecise times are: a column tells.
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
    >>> from neelc.pattern.rules.examples import query
    >>> match = query("SEQ(A a, !B b, C c) WHERE [id] WITHIN 9")
    >>> choice = choose(match, forms(match), Statistics())
    >>> found = planned_match(planning_task(choice, PlanningContext()))
    >>> print(found.strategy, [(str(price.strategy), price.refusal) for price in found.prices])
    kernel [('kernel', ''), ('window', 'window functions for a pattern of several events'), ('join', '')]
    """
    if strategy is not None:
        return replace(STRATEGIES[strategy](task), prices=(StrategyPrice(strategy),))
    if task.query.aggregated and pays_to_count(task.query, task.estimate):
        counting = _attempt(ExecutionStrategy.COUNTING, task)
        if isinstance(counting, StrategyPlan):
            return replace(counting, prices=(StrategyPrice(counting.strategy),))
    plans = {strategy: _attempt(strategy, task) for strategy in PRICED}
    found = {name: plan for name, plan in plans.items() if isinstance(plan, StrategyPlan)}
    refusals = {name: plan for name, plan in plans.items() if isinstance(plan, UnsupportedQuery)}
    if not found:
        raise refusals[PRICED[0]]  # the kernel can do the most: what it cannot do is the reason
    shapes = {name: plan.shape for name, plan in found.items()}
    best, works = priced_strategies(shapes, task.estimate, task.query.strategy.is_contiguous)
    prices = (
        StrategyPrice(name, refusal=refusals[name].what)
        if name in refusals
        else StrategyPrice(name, works[name])
        for name in PRICED
    )
    return replace(found[best], prices=tuple(prices))


def _attempt(strategy: ExecutionStrategy, task: PlanningTask) -> StrategyPlan | UnsupportedQuery:
    try:
        return STRATEGIES[strategy](task)
    except UnsupportedQuery as refusal:
        return refusal
