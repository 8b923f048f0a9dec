"""The only driver: it calls the stages in order, and nothing else does.

    text -parse-> script -bind-> program -rewrite-> forms -choose-> form -plan-> plan -write-> source

A stage is a function from values to values, and calls no later one. Queries of a program go through rewrite,
choose and plan one after the other, since what one is expected to find is a statistic for those that read it;
then all plans are written together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from neelc import syntax
from neelc.algebra.cost.network import chosen_network
from neelc.algebra.cost.sizes import valid_events
from neelc.algebra.plan.network import QueryPlan, network_plan
from neelc.algebra.plan.streamed import with_selects_inlined
from neelc.algebra.rules.optimise import OptimisedNetwork, rewritten_network
from neelc.arguments import BUCKETS, Options, UserAgent, UserAggregate
from neelc.catalog.inputs import GUESSES, GivenStream, GuessedTypes, Inputs, complete
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.streaming.network_plan import StreamNetwork, common_unit, query_node, stream_network
from neelc.errors import Diagnostic, NeelError
from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.program import Match, NamedQuery, Program
from neelc.ir.script import Script
from neelc.pattern.cost.choose import FormChoice, choose
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.strategies import (
    PlanningContext,
    planned_match,
    planning_task,
    refuse_too_many_rows,
)
from neelc.pattern.rules.driver import forms
from neelc.program import bind as bind_script
from neelc.rows.plan.plan import HostPlan, host_plan
from neelc.rows.plan.streams import streamed_host_plan
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span

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
        # Over streams a match is emitted when it is sure: then its scopes have ended.
        if context.options.streaming and query.complete_until is None:
            query = replace(query, complete=False)
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
        match = named.query
        if context.options.streaming and isinstance(match, Match) and match.complete_until is not None:
            raise UnsupportedQuery("WHEN COMPLETE UNTIL over a stream without end", match.span)
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
    refuse_present(program, options)
    if options.streaming:
        program = with_selects_inlined(program)
    queries = list(needed_queries(program, position % len(program.queries), options.streaming))
    plans: list[PlannedQuery] = []
    for one in plan_queries(queries, options, statistics or Statistics(), planner=planner):
        if isinstance(one.choice, FormChoice):
            refuse_too_many_rows(one.choice, options.most_rows)
        if isinstance(one.plan, UnsupportedQuery):
            raise one.plan
        plans.append(one)
    return plans


class NoPresent(UnsupportedQuery):
    """The time of a run that has no end."""

    is_sentence = True
    hint = "give one: --now TIME on the command line, args={'now': ...} in Python; or compare times of events"

    def __init__(self, span: Span) -> None:
        super().__init__("a query over a stream without end runs at no one time", span)


def refuse_present(program: Program, options: Options) -> None:
    """A stream without end has no time of a run, unless one is given."""
    if options.streaming and program.present is not None:
        raise NoPresent(program.present)


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
    return write_script(plans, streaming, network_of(plans) if streaming else None)


def network_of(plans: Sequence[WrittenQuery]) -> StreamNetwork | None:
    """Queries that read each other over streams without end; None if there is but one."""
    if len(plans) == 1:
        return None
    return stream_network([query_node(one.named.name, one.plan, one.named.span) for one in plans])


def needed_queries(program: Program, position: int, streaming: bool) -> Iterator[tuple[NamedQuery, bool]]:
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
    with _reported("not supported yet", program, position, source, hint):
        return compile_program(program, position, options, statistics)


def analyse_query(
    program: Program,
    position: int,
    source: Source,
    options: Options | None = None,
    statistics: Statistics | None = None,
    hint: str | None = None,
) -> tuple[list[PlannedQuery], CompiledScript]:
    """As `compile_query`, and the plans that the source is written from."""
    with _reported("not supported yet", program, position, source, hint):
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
