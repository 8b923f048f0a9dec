"""The driver for many queries that are executed together: their rows are one table.

Each query goes through the stages as it does alone (`pipeline.py`). Then those that can go in one pass over
the events are planned as a set, and all are written as one script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING

from neelc.algebra.plan.network import MatcherSetPlan, NetworkPlan, QueryPlan, matcher_sets
from neelc.algebra.plan.streamed import with_selects_inlined
from neelc.arguments import BUCKETS, ExecutionStrategy, Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.streaming.network_plan import common_unit
from neelc.errors import Diagnostic, NeelError
from neelc.files import CallError
from neelc.ir.bound_rows import HostQuery
from neelc.ir.expressions import Aggregate
from neelc.ir.node import Node, walk
from neelc.ir.program import Match, NamedQuery, Program
from neelc.ir.types import TIMESTAMP, DataType
from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.analysis.rule_columns import rule_query
from neelc.pattern.cost.choose import FormChoice
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
from neelc.pattern.plan.strategies import PlanningContext, StrategyPlan, refuse_too_many_rows
from neelc.pipeline import (
    PlannedQuery,
    QueryChoice,
    is_read_as_events,
    needed_queries,
    network_of,
    plan_queries,
    plan_query,
    refuse_present,
)
from neelc.rows.bind.host import ON_SPARK
from neelc.rows.plan.plan import HostPlan
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.duckdb.pieces import EvaluatedCall, UnspelledOperation
from neelc.source import Span
from neelc.syntax.joined import JoinedScript

if TYPE_CHECKING:
    from neelc.engines.local.program import LocalProgram, Types
    from neelc.engines.spark.compiled import CompiledScript, WrittenQuery
    from neelc.pattern.cost.gathering import StreamQuestions


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
    local: LocalProgram | None = None
    """What the local engine runs, if it is that engine."""

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


class NotOnLocalEngine(UnsupportedQuery):
    """A query with an operation that the local engine does not have."""

    code = "NEEL4150"
    hint = ON_SPARK
    is_sentence = True


def compile_local_rules(
    program: Program,
    positions: Sequence[int],
    options: Options,
    statistics: Statistics,
    shares: bool = True,
    *,
    types: Mapping[str, Types],
    calls: Mapping[str, EvaluatedCall],
    asked: Mapping[str, StreamQuestions] | None = None,
) -> CompiledRules:
    """The same for the local engine, over streams with columns of these types; `asked` is counted of them.
    Rules with operations that it does not have are refused."""
    from neelc.engines.local.plan import local_program
    from neelc.engines.spark.observing import observed_script

    def compiled(places: Sequence[int]) -> CompiledRules:
        made = compile_rules(program, places, options, statistics, shares)
        script = observed_script(made.script, asked) if asked else made.script
        return replace(made, script=script, local=local_program(script.relations, types, calls))

    def refusal(place: int) -> UnsupportedQuery | None:
        try:
            compiled([place])
        except UnspelledOperation as error:
            text = f"not supported by the local engine yet: {error}"
            return NotOnLocalEngine(text, program.queries[place].span)
        except NoRuleLeft:
            return None  # no engine runs it
        return None

    try:
        return compiled(positions)
    except UnspelledOperation:
        refused = {place: why for place in positions if (why := refusal(place)) is not None}
    names = [(program.queries[place].name or "", why) for place, why in refused.items()]
    left = [place for place in positions if place not in refused]
    try:
        made = compiled(left) if left else None
    except NoRuleLeft as none:
        raise NoRuleLeft([*none.refused, *names]) from None
    if made is None:
        raise NoRuleLeft(names)
    return replace(made, refused=(*made.refused, *names))


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
        text = refusal.what if refusal.is_sentence else f"not supported yet: {refusal.what}"
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
        raise CallError("some rules use numbers as times, others timestamps: run them separately")
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
            refuse_present(program, options)
            plans = list(_planned_on_stream(asked, place, options, statistics, unit))
            why = _why_alone_on_stream(plans)
            if why is None:
                rules = list(_rule_plans(plans[0]))
                if together and together[0].query.order_types != rules[0].query.order_types:
                    why = "other rules order events of the same time in another way (THEN BY), or not at all"
                    raise NoOperatorLeft(why, program.queries[place].span)
                together += rules
            else:
                written = [WrittenQuery(one.named, _plan_of(one), one.as_stream) for one in plans]
                one = LoneStream(tuple(written), network_of(written))
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
    for one in plan_queries(list(needed_queries(program, place, True)), options, statistics, unit=unit):
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
