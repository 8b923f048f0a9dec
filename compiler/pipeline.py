"""The only driver: it calls the stages in order, and nothing else does.

    text -parse-> script -bind-> program -rewrite-> forms -choose-> form -plan-> plan -write-> source

A stage is a function from values to values, and calls no later one. Queries of a program go through rewrite,
choose and plan one after the other, since what one is expected to find is a statistic for those that read it;
then all plans are written together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from neelc import syntax
from neelc.algebra.cost.network import chosen_network
from neelc.algebra.cost.sizes import valid_events
from neelc.algebra.plan.network import MatcherSetPlan, NetworkPlan, QueryPlan, matcher_sets, network_plan
from neelc.algebra.plan.streamed import with_selects_inlined
from neelc.algebra.rules.optimise import OptimisedNetwork, rewritten_network
from neelc.arguments import BUCKETS, ExecutionStrategy, Options, UserAgent, UserAggregate
from neelc.catalog.inputs import GUESSES, GivenStream, GuessedTypes, Inputs, complete
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.streaming.network_plan import StreamNetwork, common_unit, query_node, stream_network
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.expressions import Aggregate
from neelc.ir.node import Node, walk
from neelc.ir.program import Match, NamedQuery, Program
from neelc.ir.script import Script
from neelc.ir.types import TIMESTAMP, DataType
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.analysis.rule_columns import rule_query
from neelc.pattern.cost.choose import FormChoice, choose
from neelc.pattern.plan.blocks import NoOperatorLeft, UnsupportedQuery
from neelc.pattern.plan.emission import StreamPlan, streamed_pattern
from neelc.pattern.plan.kernel_plan import KernelPlan, kernel_plan
from neelc.pattern.plan.rule_keys import RulePlan
from neelc.pattern.plan.rule_sets import (
    RuleSetPlan,
    branches_of,
    rule_sets,
    streamed_rule_set,
    why_alone,
)
from neelc.pattern.plan.strategies import (
    PlanningContext,
    StrategyPlan,
    planned_match,
    planning_task,
    refuse_too_many_rows,
)
from neelc.pattern.rules.driver import forms
from neelc.program import bind as bind_script
from neelc.rows.plan.plan import HostPlan, host_plan
from neelc.rows.plan.streams import streamed_host_plan
from neelc.source import Source, Span
from neelc.syntax.joined import JoinedScript

if TYPE_CHECKING:
    from neelc.engines.spark.compiled import CompiledScript, WrittenQuery
    from neelc.rows.bind.host import Describe

# Text to program.


def parse(source: Source) -> Script:
    """The statements of a text; what cannot be read is an `UnreadStatement`, of which `bind` reports."""
    return syntax.read(source)


def bind(
    script: Script,
    source: Source,
    given: Sequence[GivenStream],
    directory: Path,
    arguments: Mapping[str, object] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    agents: Mapping[str, UserAgent] | None = None,
    guesses: Sequence[GuessedTypes] = GUESSES[:1],
    describing: Callable[[Inputs], Describe] | None = None,
    untrusted: bool = False,
) -> tuple[Inputs, Program]:
    """The program of a script over the streams that are given and those that it declares, with paths relative
    to `directory`. Where data do not tell a type, the first of the `guesses` that fits is taken. `describing`
    makes what asks Spark for columns that only it knows. Raises `NeelError`."""
    wrong: list[NeelError] = []
    for guess in guesses:
        inputs = complete(script, source, given, directory, guess)
        try:
            describe = None if describing is None else describing(inputs)
            return inputs, bind_script(
                inputs.script,
                source,
                inputs.streams,
                arguments,
                aggregates,
                agents,
                describe,
                untrusted,
            )
        except NeelError as error:
            wrong.append(error)
            if not inputs.is_guessed:
                break
    raise min(wrong, key=lambda error: len(error.diagnostics))


# Program to plans.

QueryChoice = FormChoice | OptimisedNetwork | HostQuery
"""A query of Spark's own SQL leaves nothing to choose: Spark plans it."""


@dataclass(frozen=True)
class PlannedQuery:
    """A query of a program: what was chosen for it, by the statistics that hold for it, and its plan; or why
    there is none. `as_stream`: others read it as a stream."""

    named: NamedQuery
    as_stream: bool
    statistics: Statistics
    choice: QueryChoice
    plan: QueryPlan | UnsupportedQuery


Planner = Callable[[NamedQuery, QueryChoice, PlanningContext], QueryPlan]


def plan_queries(
    queries: Iterable[tuple[NamedQuery, bool]],
    options: Options,
    statistics: Statistics,
    compare: bool = False,
    planner: Planner | None = None,
    unit: str | None = None,
) -> Iterator[PlannedQuery]:
    """Rewrite, choose and plan queries, each of which may read those before it; beside each, whether others
    read it as a stream. The rows of a SELECT that others read are events, too: how valid times are cut counts
    for them. With `compare`, choices are compared with the baselines of the papers; a `planner` of one's own
    takes the place of `plan_query`. Over streams, patterns count in a `unit`, if it is given."""
    units: dict[str, str] = {}
    queries = list(queries)
    unit = (_unit_of_network(queries) or unit) if options.streaming else None
    every = [named for named, _ in queries]
    for named, as_stream in queries:
        is_read = as_stream or (isinstance(named.query, Algebra) and is_read_as_events(named, every))
        context = PlanningContext(options, statistics, dict(units), is_read, unit)
        choice = choose_form(named.query, context, compare)
        try:
            plan = (planner or plan_query)(named, choice, context)
        except UnsupportedQuery as refusal:
            yield PlannedQuery(named, as_stream, statistics, choice, refusal)
        else:
            yield PlannedQuery(named, as_stream, statistics, choice, plan)
            if named.name is not None and not isinstance(plan, HostPlan):
                units[named.name] = plan.unit
        if named.name is not None:
            statistics = _with_result(named.name, choice, statistics)


def _unit_of_network(queries: Sequence[tuple[NamedQuery, bool]]) -> str | None:
    """The unit that queries count in that one operator runs, because they read each other."""
    found = [named.query for named, _ in queries]
    reads = any(stream.producer is not None for query in found for stream in query.streams)
    return common_unit(found) if reads else None


def choose_form(
    query: Match | Algebra | HostQuery, context: PlanningContext, compare: bool = False
) -> QueryChoice:
    """Rewrite and choose."""
    if isinstance(query, HostQuery):
        return query
    if isinstance(query, Match):
        return choose(query, forms(query, context.is_read), context.statistics, compare)
    return chosen_network(rewritten_network(query.root, context.is_read), context.statistics)


def plan_query(named: NamedQuery, choice: QueryChoice, context: PlanningContext) -> QueryPlan:
    """The plan of what was chosen; raises `UnsupportedQuery`."""
    if isinstance(choice, HostQuery):
        options = context.options
        return (
            streamed_host_plan(choice, options.buckets or BUCKETS) if options.streaming else host_plan(choice)
        )
    if isinstance(choice, FormChoice):
        return planned_match(planning_task(choice, context), context.options.strategy)
    assert isinstance(named.query, Algebra), "a network is that of a SELECT"
    return network_plan(named.query, choice.root, context)


def _with_result(name: str, choice: QueryChoice, statistics: Statistics) -> Statistics:
    """With what a query is expected to find, for those that read it."""
    if isinstance(choice, HostQuery):
        return statistics
    if isinstance(choice, FormChoice):
        return statistics.supposing(name, choice.chosen.estimate.rows_produced)
    return statistics.holding(name, valid_events(choice.root, statistics))


# Plans to source.


def compile_program(
    program: Program,
    position: int = -1,
    options: Options | None = None,
    statistics: Statistics | None = None,
    planner: Planner | None = None,
) -> CompiledScript:
    """Source for the query at a position, and for all queries that it reads; raises `UnsupportedQuery`."""
    options = options or Options()
    return write_program(plan_program(program, position, options, statistics, planner), options)


def plan_program(
    program: Program,
    position: int = -1,
    options: Options | None = None,
    statistics: Statistics | None = None,
    planner: Planner | None = None,
) -> list[PlannedQuery]:
    """The plans of the query at a position, and of all queries that it reads; raises `UnsupportedQuery`."""
    options = options or Options()
    if options.streaming:
        program = with_selects_inlined(program)
    queries = list(_needed(program, position % len(program.queries), options.streaming))
    plans: list[PlannedQuery] = []
    for one in plan_queries(queries, options, statistics or Statistics(), planner=planner):
        if isinstance(one.choice, FormChoice):
            refuse_too_many_rows(one.choice, options.most_rows)
        if isinstance(one.plan, UnsupportedQuery):
            raise one.plan
        plans.append(one)
    return plans


def write_program(planned: Sequence[PlannedQuery], options: Options | None = None) -> CompiledScript:
    """Source for the last of the queries that were planned."""
    # What only binds or plans does without sqlglot.
    from neelc.engines.spark.compiled import WrittenQuery, write_script

    streaming = options is not None and options.streaming
    plans = [
        WrittenQuery(one.named, one.plan, one.as_stream)
        for one in planned
        if not isinstance(one.plan, UnsupportedQuery)
    ]
    return write_script(plans, streaming, _network(plans) if streaming else None)


def _network(plans: Sequence[WrittenQuery]) -> StreamNetwork | None:
    """Queries that read each other over streams without end; None if there is but one."""
    if len(plans) == 1:
        return None
    return stream_network([query_node(one.named.name, one.plan, one.named.span) for one in plans])


def _needed(program: Program, position: int, streaming: bool) -> Iterator[tuple[NamedQuery, bool]]:
    """The query and those that it reads, in the order of the script, each as others read it: as a stream, as
    rows, or both; over streams without end once, see `is_read_as_events`."""
    queries = [program.queries[place] for place in program.needed([position])]
    read = [stream for named in queries for stream in named.query.streams]
    if streaming:
        yield from ((named, is_read_as_events(named, queries)) for named in queries)
        return
    for named in queries:
        if named.name is not None and named.name in [stream.query for stream in read]:
            yield named, True
        if named is queries[-1] or named.name in [stream.rows_of for stream in read if stream.rows_of]:
            yield named, False


def is_read_as_events(named: NamedQuery, queries: Sequence[NamedQuery]) -> bool:
    """Whether others of the queries read it as a stream. Whoever reads the rows of a SELECT reads its events,
    too."""
    read = [stream for other in queries for stream in other.query.streams]
    names = {stream.query for stream in read}
    if isinstance(named.query, Algebra):
        names |= {stream.rows_of for stream in read}
    return named.name is not None and named.name in names


def compile_query(
    program: Program,
    position: int,
    source: Source,
    options: Options | None = None,
    statistics: Statistics | None = None,
    hint: str | None = None,
) -> CompiledScript:
    """As `compile_program`, but raises `NeelError`; `hint` is a way out where Spark cannot run the query."""
    if options is not None and options.strategy:
        hint = "leave the strategy to neelc: another one might be able to"
    with _reported("not supported on Spark yet", program, position, source, hint):
        return compile_program(program, position, options, statistics)


# Many queries in one pass.


@dataclass(frozen=True)
class CompiledRules:
    """Source for the rows of many queries as one table. `sets` are the rules that are executed together,
    `matchers` the SELECTs of matches that are, `alone` those that are not, each with the reason, and
    `refused` those that cannot be executed; `streaming`: over streams without end."""

    script: CompiledScript
    sets: tuple[RuleSetPlan, ...]
    alone: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, UnsupportedQuery], ...]
    times: DataType
    costs: Mapping[str, RuleCost] = field(default_factory=dict)
    """What each PATTERN among the rules is expected to cost."""
    streaming: bool = False
    matchers: tuple[MatcherSetPlan, ...] = ()

    @property
    def together(self) -> tuple[str, ...]:
        """The names of the rules that are executed with others."""
        found = [*(name for one in self.sets for name in one.names)]
        found += [name for one in self.matchers for name in one.names]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class RuleCost:
    """What a rule is expected to do itself, beside reading and sorting events: the partial matches that it
    writes down, and its rows."""

    partial_matches: float
    rows: float


class NoRuleLeft(Exception):
    """None of some rules can be executed: `refused` has the reasons."""

    def __init__(self, refused: Sequence[tuple[str, UnsupportedQuery]]) -> None:
        super().__init__("no rule can be executed")
        self.refused = tuple(refused)


def compile_rules(
    program: Program,
    positions: Sequence[int],
    options: Options | None = None,
    statistics: Statistics | None = None,
    shares: bool = True,
) -> CompiledRules:
    """Source for the rows of the named queries at these positions, with those that they read. Rules with the
    same key are executed together; without what they `share`, for comparisons, each by its own steps.

    Raises `NoRuleLeft` if none of them can be executed, and `CallError` if there is none, or if the times of
    rules are of different kinds."""
    from neelc.engines.spark.compiled import WrittenQuery, write_rules

    options, statistics = options or Options(), statistics or Statistics()
    if options.streaming:
        return _compile_streamed_rules(program, positions, options, statistics, shares)
    rules = {program.queries[place].name: place for place in positions}
    asked = _as_rules(program, positions)
    needed = [asked.queries[place] for place in asked.needed(positions)]
    read: list[WrittenQuery] = []
    alone: list[tuple[WrittenQuery, str]] = []
    together: list[RulePlan] = []
    refused: dict[str, UnsupportedQuery] = {}
    costs: dict[str, RuleCost] = {}
    queries = [
        (named, as_stream)
        for named in needed
        for as_stream in (True, False)
        if (named.name in rules if not as_stream else is_read_as_events(named, needed))
    ]
    for one in plan_queries(queries, options, statistics, planner=_rule_plan):
        assert one.named.name is not None, "rules have names"
        if isinstance(one.choice, FormChoice) and not one.as_stream:
            estimate = one.choice.chosen.estimate
            costs[one.named.name] = RuleCost(estimate.partial_matches, estimate.rows_produced)
        if isinstance(one.plan, UnsupportedQuery):
            refused.setdefault(one.named.name, one.plan)
        elif (cause := _refused_source(one.named, refused)) is not None:
            refused[one.named.name] = cause
        elif one.as_stream:
            read.append(WrittenQuery(one.named, one.plan, True))
        elif (why := _why_alone(one)) is not None:
            alone.append((WrittenQuery(one.named, one.plan, False), why))
        else:
            together += _rule_plans(one)
    if not together and not alone:
        raise NoRuleLeft([*refused.items()]) if refused else CallError("there is no rule to run")
    sets = rule_sets(together, shares, statistics)
    matchers = _matcher_sets([one for one, _ in alone]) if shares else []
    matched = {name for one in matchers for name in one.names}
    alone = [(one, why) for one, why in alone if one.named.name not in matched]
    times = _time_of_rules(program, positions)
    lone = [one for one, _ in alone]
    written = write_rules(read, sets, matchers, lone, options.most_matches, times, shares)
    reasons = tuple((one.named.name or "", why) for one, why in alone)
    return CompiledRules(
        written, tuple(sets), reasons, (*refused.items(),), times, costs, matchers=tuple(matchers)
    )


def _matcher_sets(alone: Sequence[WrittenQuery]) -> list[MatcherSetPlan]:
    return matcher_sets(
        {one.named.name or "": one.plan for one in alone if isinstance(one.plan, NetworkPlan)}
    )


def _refused_source(named: NamedQuery, refused: Mapping[str, UnsupportedQuery]) -> UnsupportedQuery | None:
    """Why a query cannot be executed that reads one which cannot."""
    name = next((s.producer for s in named.query.streams if s.producer in refused), None)
    return None if name is None else UnsupportedQuery(f"what it reads, `{name}`", named.span)


def refusal_errors(
    refused: Iterable[tuple[str, UnsupportedQuery]], program: Program, rules: JoinedScript
) -> list[NeelError]:
    """The rules that cannot be executed, as errors in their texts."""
    spans = {one.name: one.span or Span(0, 1) for one in program.queries}
    found = []
    for name, refusal in refused:
        text = refusal.what if refusal.is_sentence else f"not supported on Spark yet: {refusal.what}"
        place = refusal.span or spans[name]
        found += rules.located(NeelError([Diagnostic(refusal.code, text, place, refusal.hint)], rules.source))
    return found


def _rule_plans(one: PlannedQuery) -> Iterator[RulePlan]:
    """The plans of a rule: of each branch, if it is an OR."""
    assert isinstance(one.plan, StrategyPlan) and isinstance(one.plan.plan, KernelPlan | StreamPlan)
    assert isinstance(one.choice, FormChoice) and one.named.name is not None
    query, is_streaming = one.plan.query, isinstance(one.plan.plan, StreamPlan)
    planned = one.plan.plan.planned if isinstance(one.plan.plan, StreamPlan) else one.plan.plan
    # Without a key, time is cut anyway; the branches of an OR may have keys that the whole has not.
    chunked = planned.program.chunk is not None and len(planned.program.keys) > 1
    branches = branches_of(query)
    if len(branches) > 1:
        with suppress(UnsupportedQuery):
            keys = [partition_keys(branch) for branch in branches]
            plans = [
                kernel_plan(branch, own, planned.plan.unit)
                for branch, own in zip(branches, keys, strict=True)
            ]
            for plan in plans if is_streaming else ():
                streamed_pattern(plan)  # a branch may have no window of its own
            for number, branch in enumerate(branches):
                yield RulePlan(one.named.name, branch, plans[number], keys[number], chunked, number + 1)
            return
    yield RulePlan(one.named.name, query, planned, one.choice.chosen.keys, chunked)


def _time_of_rules(program: Program, positions: Sequence[int]) -> DataType:
    """The type that the times of all rules have in their table."""
    from neelc.engines.spark.rules import common_time

    queries = [program.queries[place].query for place in positions]
    kinds = [query.clock.type for query in queries if not isinstance(query, HostQuery)]
    times = common_time(kinds or [TIMESTAMP])
    if times is None:
        raise CallError("some rules count time in numbers, others in timestamps: run them apart")
    return times


def _compile_streamed_rules(
    program: Program, positions: Sequence[int], options: Options, statistics: Statistics, shares: bool
) -> CompiledRules:
    """Source for rules over streams without end: one operator for all rules that can share it. Another rule,
    with the queries that it reads, is executed if it needs no operator, or is the only one."""
    from neelc.engines.spark.compiled import LoneStream, WrittenQuery, write_streamed_rules

    inlined = with_selects_inlined(program)
    queries = [program.queries[place].query for place in positions]
    patterns = [query for query in queries if isinstance(query, Match)]
    unit = common_unit(patterns) if patterns else None
    together: list[RulePlan] = []
    alone: list[tuple[LoneStream, str]] = []
    refused: list[tuple[str, UnsupportedQuery]] = []
    for place in positions:
        name = program.queries[place].name
        assert name is not None, "rules have names"
        asked = _as_rules(inlined, [place])
        try:
            plans = list(_planned_on_stream(asked, place, options, statistics, unit))
            why = _why_alone_on_stream(plans)
            if why is None:
                together += _rule_plans(plans[0])
            else:
                written = [WrittenQuery(one.named, _plan_of(one), one.as_stream) for one in plans]
                one = LoneStream(tuple(written), _network(written))
                if one.has_state and len(positions) > 1:
                    raise NoOperatorLeft(why, program.queries[place].span)
                alone.append((one, why))
        except UnsupportedQuery as refusal:
            refused.append((name, refusal))
    if not together and not alone:
        raise NoRuleLeft(refused) if refused else CallError("there is no rule to run")
    made = streamed_rule_set(together, shares, statistics) if together else None
    times = _time_of_rules(program, positions)
    buckets = options.buckets or BUCKETS
    script = write_streamed_rules(made, [one for one, _ in alone], options.most_matches, buckets, times)
    reasons = tuple((one.last.named.name or "", why) for one, why in alone)
    sets = () if made is None else (made,)
    return CompiledRules(script, sets, reasons, tuple(refused), times, streaming=True)


def _planned_on_stream(
    program: Program, place: int, options: Options, statistics: Statistics, unit: str | None
) -> Iterator[PlannedQuery]:
    """The plans of a query over streams, and of those that it reads; raises `UnsupportedQuery`. If it reads
    none, it counts in the unit of all rules."""
    for one in plan_queries(list(_needed(program, place, True)), options, statistics, unit=unit):
        _plan_of(one)
        yield one


def _plan_of(one: PlannedQuery) -> QueryPlan:
    if isinstance(one.plan, UnsupportedQuery):
        raise one.plan
    return one.plan


def _why_alone_on_stream(plans: Sequence[PlannedQuery]) -> str | None:
    """Why a rule has an operator of its own; None if it can share one with others."""
    if len(plans) > 1:
        read = ", ".join(str(one.named.name) for one in plans[:-1])
        return f"it reads {read}: one operator runs them"
    plan = _plan_of(plans[0])
    if isinstance(plan, HostPlan):
        return "it is a query of Spark's own SQL"
    if not isinstance(plan, StrategyPlan):
        return "it is a SELECT"
    assert isinstance(plan.plan, StreamPlan), "a PATTERN over streams"
    return why_alone(plan.plan.planned)


def _as_rules(program: Program, positions: Sequence[int]) -> Program:
    """The program, with the queries at these positions as rules: their rows have keys and times, too."""
    queries = list(program.queries)
    for place in positions:
        named = queries[place]
        if isinstance(named.query, Match):
            queries[place] = replace(named, query=rule_query(named.query).match)
    return replace(program, queries=tuple(queries))


def _rule_plan(named: NamedQuery, choice: QueryChoice, context: PlanningContext) -> QueryPlan:
    """The plan of a rule: for the kernel, if it can, so that others can go with it."""
    if isinstance(choice, FormChoice):
        refuse_too_many_rows(choice, context.options.most_rows)
    if isinstance(choice, FormChoice) and not context.is_read and not named.match.aggregated:
        options = replace(context.options, shortcuts=False, strategy=ExecutionStrategy.KERNEL)
        try:
            return plan_query(named, choice, replace(context, options=options))
        except UnsupportedQuery:
            pass
    return plan_query(named, choice, context)


def _why_alone(one: PlannedQuery) -> str | None:
    plan = one.plan
    if isinstance(plan, HostPlan):
        return "it is a query of Spark's own SQL"
    if not isinstance(plan, StrategyPlan):
        return "it is a SELECT"
    if not isinstance(plan.plan, KernelPlan):
        return f"it is executed by the strategy {plan.strategy}"
    if _calls_users_function((*plan.query.outputs, *plan.plan.residual)):
        return "it calls an aggregate of the user for complete matches"
    return why_alone(plan.plan)


def _calls_users_function(roots: Iterable[Node]) -> bool:
    nodes = (node for root in roots for node in walk(root))
    return any(isinstance(node, Aggregate) and node.function is not None for node in nodes)


def analyse_query(
    program: Program,
    position: int,
    source: Source,
    options: Options | None = None,
    statistics: Statistics | None = None,
    hint: str | None = None,
) -> tuple[list[PlannedQuery], CompiledScript]:
    """As `compile_query`, and the plans that the source is written from."""
    with _reported("not supported on Spark yet", program, position, source, hint):
        planned = plan_program(program, position, options, statistics)
        return planned, write_program(planned, options)


IN_PYTHON = "it runs as PySpark source: see `source`"


def write_sql(compiled: CompiledScript, program: Program, position: int, source: Source) -> str:
    """A query as one statement of Spark SQL; raises `NeelError` if its plan is not relational."""
    is_host = isinstance(program.queries[position].query, HostQuery)
    hint = IN_PYTHON if is_host else "the strategy join is relational, where it can be used"
    with _reported("not possible", program, position, source, hint):
        return compiled.sql()


@contextmanager
def _reported(
    message: str, program: Program, position: int, source: Source, hint: str | None
) -> Iterator[None]:
    """What is not supported of a query, as a `NeelError` that points into its text."""
    try:
        yield
    except UnsupportedQuery as error:
        query = program.queries[position].query
        own = query.pattern.span if isinstance(query, Match) else query.span
        span = error.span or own or Span(0, 1)
        text = error.what if error.is_sentence else f"{message}: {error.what}"
        hint = error.hint if error.is_sentence else error.hint or hint
        raise NeelError([Diagnostic(error.code, text, span, hint)], source) from None
