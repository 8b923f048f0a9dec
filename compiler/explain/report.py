"""The explanation of a whole script."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from neelc.algebra.plan.network import NetworkPlan
from neelc.algebra.plan.streamed import with_selects_inlined
from neelc.algebra.rules.optimise import OptimisedNetwork
from neelc.arguments import Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.spark.relations import functions_of
from neelc.engines.streaming.network_plan import StreamNetwork, query_node, stream_network
from neelc.errors import Diagnostic
from neelc.explain import words as numbers
from neelc.explain.automaton import automaton
from neelc.explain.engine import SPARK, Details, Engine
from neelc.explain.execution import execution
from neelc.explain.explanation import (
    Explanation,
    PlanNode,
    Report,
    SharedGroup,
    SharedMember,
    ShownAlternative,
    ShownShortcut,
    bounds,
    counted,
)
from neelc.explain.host import HostExplanation, explained_host
from neelc.explain.network import NetworkExplanation, explained_network
from neelc.explain.scans import Scan, scans
from neelc.explain.steps import shown_refusal, shown_steps
from neelc.explain.streaming import is_single, streaming_notes, with_network
from neelc.explain.words import pattern_text, query_text
from neelc.ir.algebra import Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.expressions import Attribute, Expr, conjoin, conjuncts
from neelc.ir.names import bare, written
from neelc.ir.node import Node, transform, walk
from neelc.ir.patterns import Pattern
from neelc.ir.program import LOOKED_UP, CompleteColumn, Match, Program, ResultOrder, Stream
from neelc.ir.script import CreateQuery, KeptMatches, RunQuery, Script, SkipPlace
from neelc.pattern.analysis.keys import Key
from neelc.pattern.cost.choose import FormChoice, ShortcutDecision
from neelc.pattern.cost.estimate import Estimate, KernelInput
from neelc.pattern.cost.ledger import Ledger
from neelc.pattern.cost.setting import CostSetting
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.emission import StreamPlan
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.pattern.rules.driver import has_readers
from neelc.pattern.rules.when_complete_to_condition import looks_beyond_the_end
from neelc.pipeline import PlannedQuery, is_read_as_events, plan_queries
from neelc.program import with_named_patterns
from neelc.rows.plan.plan import HostPlan
from neelc.runtime.late_dataclass import dataclass
from neelc.sharing.sharing import share_queries
from neelc.source import Source
from neelc.syntax.printer import format_script
from neelc.tools.lints import query_lints

# The leaves of a plan: each stream, read once for all its types.


def scan_nodes(
    query: Match, statistics: Statistics, engine: Engine = SPARK, is_split: bool = False
) -> tuple[PlanNode, ...]:
    """A node for each stream that is read; `is_split`: by several processes.

    >>> from pattern_examples import query
    >>> (node,) = scan_nodes(query("SEQ(A a, !B b, A c) WHERE a.x > 1 RETURN c.user"), Statistics())
    >>> for label, text in node.details:
    ...     print(f"{label}: {text}")
    rows: about 1,000,000, a default
    types: A, B
    columns: ts, kind, user, x (2 of 6 are not read)
    """
    data = KernelInput(CostSetting(Ledger(query, statistics)))
    return tuple(
        replace(node, title=engine.scan_title(node.title, is_split))
        for node in (_node(scan, data) for scan in scans(query))
    )


def _node(scan: Scan, data: KernelInput) -> PlanNode:
    name = written(scan.stream.name)
    what = "matches" if scan.stream.query else "rows"
    title = f"read {name} once" if scan.stream.producer is None else f"take the {what} of {name}"
    rows = data.setting.ledger.stream_events(scan.stream)
    details = (("rows", _counted(rows, scan.stream, data)), *_details(scan))
    return PlanNode("scan", title, details, rows if scan.everything else min(rows, _kept(scan.stream, data)))


def _counted(rows: float, stream: Stream, data: KernelInput) -> str:
    """How many there are, and how that is known."""
    origin = data.setting.ledger.origin_of_events(stream)
    if origin == "counted":
        return f"{rows:,.0f}, counted"
    if origin == "assumed" and stream.producer is None:
        return f"about {numbers.amount(rows)}, a default"
    return f"about {numbers.amount(rows)}"


def _kept(stream: Stream, data: KernelInput) -> float:
    """The rows that pass; those of a type in several streams are divided evenly among them."""
    streams = {known.name: [member.stream for member in known.members] for known in data.setting.query.types}
    return sum(
        kept * streams[type].count(stream.name) / len(streams[type]) for type, kept in data.kept.items()
    )


def _details(scan: Scan) -> Iterator[tuple[str, str]]:
    if scan.types:
        yield "types", ", ".join(scan.types)
    elif scan.everything:
        yield "types", f"all: {scan.everything}"
    yield from (("only", text) for text in _filters(scan))
    unused = scan.width - len(scan.columns)
    columns = ", ".join(map(written, scan.columns))
    yield "columns", columns + (f" ({unused} of {scan.width} are not read)" if unused else "")
    for one in scan.stream.derived:
        where = f", looked up in {written(one.relation.name)}" if isinstance(one, LOOKED_UP) else ""
        if isinstance(one, CompleteColumn):
            streams = ", ".join(written(read.name) for read in one.read)
            given = "" if one.until is None else f" and {one.until}"
            where = f", by the last time of {streams}{given}: one more pass"
        yield "derived", f"{one.name}{where}"
    if scan.stream.path:
        yield "from", scan.stream.path


def _filters(scan: Scan) -> Iterator[str]:
    """The conditions that are checked while reading. Where several components can use an event, it is read if
    one of them can: a component without conditions lets all events of its types pass."""
    if scan.everything:
        return
    shared = _shared_scans(scan)
    yield from shared
    own = [replace(one, conditions=_without(one.conditions, shared)) for one in scan.filters]
    for one in own:
        rivals = [other for other in own if _overlap(one.types, other.types)]
        if all(other.conditions for other in rivals) and one is rivals[0]:
            texts = [f"{other.component}: {' AND '.join(other.conditions)}" for other in rivals]
            yield " or ".join(dict.fromkeys(texts))


def _shared_scans(scan: Scan) -> tuple[str, ...]:
    """Conditions that every component has, such as `id IS NOT NULL`: written once, without a variable."""
    texts = [[text.partition(".")[2] for text in one.conditions] for one in scan.filters]
    found = [text for text in texts[0] if text.endswith(" IS NOT NULL")]
    return tuple(text for text in found if len(texts) > 1 and all(text in others for others in texts))


def _without(conditions: tuple[str, ...], shared: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in conditions if text.partition(".")[2] not in shared)


def _overlap(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether an event can be of both; no types at all are all of them."""
    return not left or not right or bool(set(left) & set(right))


# The plan of a query as a tree: what is read, how it is brought together, what is looked for in it.

LONGEST = 60
"""Names of columns that are still written into a title."""


def plan_tree(
    query: Match,
    keys: Sequence[Key],
    estimate: Estimate,
    statistics: Statistics,
    streamed: StreamPlan | None = None,
    engine: Engine = SPARK,
    is_split: bool = False,
) -> PlanNode:
    """project or aggregate <- match <- sort <- shuffle <- scan of each stream; as `streamed`, events come in
    micro-batches. The local engine shuffles nothing: what is there instead has the same place, if anything.

    >>> from neelc.pattern.cost.estimate import estimate
    >>> from pattern_examples import query
    >>> from neelc.pattern.analysis.keys import partition_keys
    >>> match, known = query("SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.x"), Statistics()
    >>> node = plan_tree(match, partition_keys(match), estimate(match, known), known)
    >>> while True:
    ...     print(node.title)
    ...     if not node.inputs: break
    ...     node = node.inputs[0]
    return a_x
    match
    sort by id, then time
    shuffle by id
    read S once
    """
    sources = scan_nodes(query, statistics, engine, is_split)
    brought = _shuffle(query, keys, engine, is_split) if streamed is None else _buckets(keys, streamed)
    order = [written(key.name) for key in keys]
    time = ", ".join(("time", *_then_by(query)))
    title = f"sort by {', '.join([*order, f'then {time}'])}" if order else f"sort by {time}"
    title = engine.sort_title(title)
    if brought[0] is None:
        ordered = PlanNode("sort", title, brought[1], estimate.rows_sorted, sources)
    else:
        shuffled = PlanNode("shuffle", brought[0], brought[1], estimate.rows_sorted, sources)
        ordered = PlanNode("sort", title, (), estimate.rows_sorted, (shuffled,))
    matches = PlanNode("match", "match", tuple(_match(query)), _matches(query, estimate), (ordered,))
    rows = _result(query, estimate, matches)
    return rows if query.order is None else _ordered(query.order, rows)


def _then_by(query: Match) -> Iterator[str]:
    """The columns that order events of the same time; those of one place by their names in all streams."""
    for names in zip(*(stream.then_by for stream in query.streams), strict=True):
        yield " or ".join(dict.fromkeys(map(written, names)))


def _matches(query: Match, estimate: Estimate) -> float | None:
    """The rows that matching gives; several matches may become one row afterwards."""
    return None if query.aggregated or query.distinct else estimate.rows_produced


def _result(query: Match, estimate: Estimate, matches: PlanNode) -> PlanNode:
    names = ", ".join(written(output.name) for output in query.outputs)
    texts = tuple((output.name, str(output.expression)) for output in query.outputs)
    details = tuple(pair for pair in texts if pair[0] != pair[1])
    if query.aggregated:
        groups = [written(output.name) for output in query.outputs if not output.is_aggregate]
        title = f"aggregate by {', '.join(groups)}" if groups else "aggregate all matches"
        return PlanNode("aggregate", title, details, estimate.rows_produced, (matches,))
    words = ("return distinct" if query.distinct else "return") + (" collapsed" if query.collapsed else "")
    if len(names) > LONGEST:
        words, details = f"{words} {len(query.outputs)} columns", (("columns", names), *details)
    else:
        words = f"{words} {names}"
    return PlanNode("project", words, details, estimate.rows_produced, (matches,))


def _ordered(order: ResultOrder, rows: PlanNode) -> PlanNode:
    """What ORDER BY and LIMIT cost: all rows are sorted, or the first ones of each part are."""
    title = "order by " + ", ".join(map(str, order.written))
    if order.limit is None:
        return PlanNode("sort", title, (("cost", "all rows are sorted once more"),), rows.rows, (rows,))
    cost = f"the first {order.limit:,} rows of each part are kept, and then those of all; ties by all columns"
    count = None if rows.rows is None else min(rows.rows, order.limit)
    return PlanNode("sort", f"{title} limit {order.limit}", (("cost", cost),), count, (rows,))


def _without_completeness(query: Match) -> Pattern:
    """The pattern without the conditions that WHEN COMPLETE has become."""
    derived = (one for stream in query.streams for one in stream.derived)
    names = {one.name for one in derived if isinstance(one, CompleteColumn)}

    def is_own(condition: Expr) -> bool:
        found = [node.name for node in walk(condition) if isinstance(node, Attribute)]
        return bool(found) and all(bare(name) in names for name in found)

    def change(node: Node) -> Node | None:
        if not isinstance(node, Pattern) or not any(map(is_own, conjuncts(node.where))):
            return None
        return replace(node, where=conjoin([one for one in conjuncts(node.where) if not is_own(one)]))

    changed = transform(query.pattern, change) if names else query.pattern
    assert isinstance(changed, Pattern)
    return changed


def _match(query: Match) -> Iterator[tuple[str, str]]:
    pattern = _without_completeness(query)
    yield "pattern", pattern_text(pattern)
    if query.within:
        yield "window", str(query.within)
    if query.complete or pattern is not query.pattern:
        yield "complete", "only matches whose negations look at nothing after the last event"
    elif looks_beyond_the_end(query) and not any(one.is_streaming or one.watermark for one in query.streams):
        yield "at end", "the data may end before a negation is decided; WHEN COMPLETE drops such matches"
    yield "strategy", query.strategy
    if query.partition:
        yield "partition", ", ".join(query.partition)
    if query.confidence:
        yield "confidence", str(query.confidence)
    if query.partial:
        levels = ", ".join(level.start for level in query.partial.levels)
        yield "keep", f"of each start one match, that of the last of {levels}; the other branches tell why"
    if query.kept:
        yield "keep", kept_text(query.kept)


def kept_text(kept: KeptMatches) -> str:
    """Which matches are kept, in words.

    >>> from pattern_examples import query
    >>> kept_text(query("SEQ(A a, B b) WHERE [id] ONE MATCH PER a AFTER MATCH SKIP TO b SUPPRESS 9").kept)
    'for each id: one match for each a; then those that start at or after the last b of the one before; \
then those that end more than 9 MILLISECONDS after the end of the one before'
    """
    starts = {
        SkipPlace.PAST_LAST: "those that start after the end of the one before",
        SkipPlace.NEXT: "one for each start",
        SkipPlace.FIRST: "those that start at or after the first {} of the one before",
        SkipPlace.LAST: "those that start at or after the last {} of the one before",
    }
    texts = [
        *([f"one match for each {', '.join(kept.one_per)}"] if kept.one_per else []),
        *([starts[kept.skip.place].format(kept.skip.variable)] if kept.skip else []),
    ]
    if kept.suppress:
        texts.append(f"those that end more than {kept.suppress} after the end of the one before")
    return (f"for each {', '.join(kept.partition)}: " if kept.partition else "") + "; then ".join(texts)


def _shuffle(query: Match, keys: Sequence[Key], engine: Engine, is_split: bool) -> tuple[str | None, Details]:
    """How events come together, and why so; without a title, sorting them is enough."""
    if keys:
        title = engine.by_keys([written(key.name) for key in keys], is_split)
        return title, tuple(("why", _reason(key)) for key in keys)
    if query.kept is not None:
        reason = "all matches are compared with each other: PARTITION BY, or an [id], would keep some apart"
        return "bring everything to one place", (("why", reason),)
    if query.within is not None and query.within.unit != "EVENT":
        reason = "no attribute is equal on all events of a match: each chunk of time gets one window more"
        return engine.by_time(is_split), (("why", reason), ("overlap", str(query.within)))
    reason = "no attribute is equal on all events of a match, and no window of time bounds it"
    return engine.in_one_place(), (("why", reason),)


def is_split_over_processes(plan: StrategyPlan | UnsupportedQuery, engine: Engine) -> bool:
    """Whether several processes of the local engine share the keys: a kernel needs some to share, and users'
    functions stay in one process."""
    program = plan.program if isinstance(plan, StrategyPlan) else None
    if program is None or not program.keys:
        return False
    return engine.processes > 1 and not functions_of(program)


def _buckets(keys: Sequence[Key], streamed: StreamPlan) -> tuple[str, Details]:
    """How events of a micro-batch come together."""
    if is_single(streamed) and not keys:
        return "shuffle by bucket of time", (("why", "a match is one event, so any bucket will do"),)
    if keys:
        title = f"shuffle by bucket of {', '.join(written(key.name) for key in keys)}"
        return title, tuple(("why", _reason(key)) for key in keys)
    return "bring everything to one place", (("why", "no attribute is equal on all events of a match"),)


def _reason(key: Key) -> str:
    """
    >>> from pattern_examples import query
    >>> from neelc.pattern.analysis.keys import partition_keys
    >>> [_reason(key) for key in partition_keys(query("SEQ(A a, B b) WHERE a.id = b.n"))]
    ['all events of a match agree: a.id = b.n']
    >>> [_reason(key) for key in partition_keys(query("SEQ(A a, B b) WHERE [id]"))]
    ['all events of a match have the same id']
    """
    texts = [str(term) for _, term in key.terms]
    if all(bare(text.rpartition(".")[2]) == key.name for text in texts):
        return f"all events of a match have the same {written(key.name)}"
    return f"all events of a match agree: {' = '.join(texts)}"


# From a choice of the cost model to its explanation.


def explained(
    name: str,
    text: str,
    choice: FormChoice,
    plan: StrategyPlan | UnsupportedQuery,
    statistics: Statistics,
    lints: tuple[Diagnostic, ...] = (),
    streaming: bool = False,
    engine: Engine = SPARK,
) -> Explanation:
    """How a query is executed, and why; with `streaming`, over streams without end. `text` is the query as
    written, formatted."""
    chosen = choice.chosen
    query = chosen.form.rewriting.query
    executed, limits = execution(choice.query, plan, streaming), bounds(query, chosen.keys)
    if executed.degree is not None:
        limits = counted(limits, query, executed.degree)
    facts = tuple(sorted(chosen.estimate.facts, key=lambda fact: fact.what))
    streamed = plan.plan if isinstance(plan, StrategyPlan) and isinstance(plan.plan, StreamPlan) else None
    is_split = is_split_over_processes(plan, engine)
    tree = plan_tree(query, chosen.keys, chosen.estimate, statistics, streamed, engine, is_split)
    return Explanation(
        name=name,
        text=text,
        chosen=chosen.form.name,
        why=choice.reason,
        plan=tree.resting_on(facts),
        bounds=limits,
        held=chosen.estimate.held,
        hopeless=chosen.estimate.explodes,
        steps=tuple(shown_steps(choice.query, chosen.form.rewriting)),
        refusals=tuple(map(shown_refusal, chosen.form.rewriting.refusals)),
        shortcuts=tuple(map(_shortcut, chosen.shortcuts)),
        alternatives=tuple(_alternatives(choice)),
        facts=facts,
        automaton=automaton(query),
        execution=executed,
        lints=lints,
        streaming=()
        if isinstance(plan, UnsupportedQuery)
        else streaming_notes(query, plan, chosen.keys, chosen.estimate, statistics),
        engine=engine,
    )


def _alternatives(choice: FormChoice) -> Iterator[ShownAlternative]:
    least = choice.chosen.estimate.work or 1.0
    for form in choice.alternatives:
        text = query_text(form.form.rewriting.query)
        ratio = form.estimate.work / least
        yield ShownAlternative(form.form.name, form is choice.chosen, form.estimate, ratio, text)
    for baseline in choice.baselines:
        ratio = baseline.estimate.work / least
        yield ShownAlternative(baseline.name, False, baseline.estimate, ratio, baseline=True)


def _shortcut(decision: ShortcutDecision) -> ShownShortcut:
    outer, inner = decision.shortcut.outer, decision.shortcut.inner
    text = f"only events for which {outer} is a value that {inner} has somewhere"
    if decision.shortcut.negative:
        text = f"nothing is looked for where {outer} is a value that {inner} has nowhere"
    return ShownShortcut(text, decision.taken, decision.reason)


@dataclass(frozen=True)
class QueryText:
    """A query's name, or its place if it has none, and its text as `neelc fmt` prints it."""

    name: str
    text: str


def written_queries(script: Script, program: Program) -> list[QueryText]:
    """The queries of a script in order; a PATTERN in FROM is one of them."""
    named = with_named_patterns(iter(script.statements))
    statements = [s for s in named if isinstance(s, CreateQuery | RunQuery)]
    pairs = zip(statements, program.queries, strict=True)
    return [
        QueryText(query.name or f"query {number}", format_script(Script((statement,))).rstrip())
        for number, (statement, query) in enumerate(pairs, 1)
    ]


def _network(queries: Sequence[PlannedQuery]) -> StreamNetwork | UnsupportedQuery | None:
    """Queries that read each other over streams without end; why one operator cannot run them; None if there
    is but one."""
    if len(queries) == 1:
        return None
    try:
        return stream_network([query_node(one.named.name, one.plan, one.named.span) for one in queries])
    except UnsupportedQuery as refusal:
        return refusal


def report(
    file: str,
    script: Script,
    program: Program,
    statistics: Statistics,
    places: Collection[int],
    source: Source | None = None,
    streaming: bool = False,
    engine: Engine = SPARK,
) -> Report:
    """Why the queries at these places are executed as they are, and what they share; with `streaming`, over
    streams without end, else on an engine.

    A query may read another one: what that is expected to find is supposed from then on.
    Warnings point into `source`; without it there are none.
    """
    texts = written_queries(script, program)
    if streaming:
        program = with_selects_inlined(program)
    planned = plan_queries(
        [
            (named, is_read_as_events(named, program.queries) if streaming else has_readers(named, program))
            for named in program.queries
        ],
        Options(streaming=streaming),
        statistics,
        compare=True,
    )
    found: list[Explanation | NetworkExplanation | HostExplanation] = []
    choices: list[FormChoice] = []
    known: list[PlannedQuery] = []
    for place, (one, text) in enumerate(zip(planned, texts, strict=True)):
        statistics = one.statistics
        known.append(one)
        if place not in places:
            continue
        network = _network([known[at] for at in program.needed([place])]) if streaming else None
        found.append(_explained_query(one, text, network, source, streaming, engine))
        if isinstance(one.choice, FormChoice):
            choices.append(one.choice)
    patterns = tuple(one for one in found if isinstance(one, Explanation))
    networks = tuple(one for one in found if isinstance(one, NetworkExplanation))
    hosts = tuple(one for one in found if isinstance(one, HostExplanation))
    sharing = tuple(_shared(choices, [one.name for one in patterns], statistics))
    order = tuple(one.name for one in found)
    return Report(file, patterns, networks, sharing, statistics.notes, order, hosts, engine)


def _explained_query(
    one: PlannedQuery,
    text: QueryText,
    network: StreamNetwork | UnsupportedQuery | None,
    source: Source | None,
    streaming: bool,
    engine: Engine,
) -> Explanation | NetworkExplanation | HostExplanation:
    """The explanation of a query, by its language; over streams with the `network` that it runs in."""
    query, choice, plan = one.named.query, one.choice, one.plan
    if isinstance(network, UnsupportedQuery) and not isinstance(plan, UnsupportedQuery):
        plan = network
    if isinstance(query, HostQuery):
        assert isinstance(plan, HostPlan | UnsupportedQuery)
        host = explained_host(text.name, text.text, query, plan, streaming, engine)
        if isinstance(network, StreamNetwork) and isinstance(plan, HostPlan):
            return replace(host, streaming=with_network(host.streaming, network, plan.buckets))
        return host
    found: Explanation | NetworkExplanation
    if isinstance(query, Algebra):
        assert isinstance(choice, OptimisedNetwork) and isinstance(plan, NetworkPlan | UnsupportedQuery)
        found = explained_network(text.name, text.text, query, choice, plan, one.statistics, streaming)
        found = replace(found, engine=engine)
    else:
        assert isinstance(choice, FormChoice) and isinstance(plan, StrategyPlan | UnsupportedQuery)
        lints = query_lints(query, source) if source else ()
        found = explained(text.name, text.text, choice, plan, one.statistics, lints, streaming, engine)
    if isinstance(network, StreamNetwork) and isinstance(plan, NetworkPlan | StrategyPlan):
        return replace(found, streaming=with_network(found.streaming, network, plan.buckets))
    return found


def _shared(
    choices: Sequence[FormChoice], names: Sequence[str], statistics: Statistics
) -> Iterator[SharedGroup]:
    """What is executed together, of all the queries in their chosen forms."""
    queries = [choice.chosen.form.rewriting.query for choice in choices]
    for group in share_queries(queries, statistics).shared:
        members = [SharedMember(one.name, names[one.number], str(one.part)) for one in group.members]
        saving = group.cost_apart / group.cost if group.cost else 1.0
        marks = None if group.emap is None else str(group.emap)
        yield SharedGroup(group.operator, tuple(members), group.shared, saving, marks)
