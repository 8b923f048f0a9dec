"""From the plans of a script's queries to PySpark source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from neelc.algebra.plan.network import MatcherSetPlan, NetworkPlan, QueryPlan, with_shared_filters
from neelc.engines.spark.algebra import SharedFilters, algebra_relations
from neelc.engines.spark.completing import with_completeness
from neelc.engines.spark.host import host_relations
from neelc.engines.spark.joins import join_relations
from neelc.engines.spark.kernel import aggregate_relations, kernel_relations
from neelc.engines.spark.memberships import (
    member_relations,
    member_text,
    members_relations,
    members_text,
)
from neelc.engines.spark.python_source import python_source
from neelc.engines.spark.relations import (
    AggregateRows,
    Extend,
    KernelOnStream,
    Let,
    LookUp,
    Ordered,
    Read,
    Relation,
    Relations,
    SelectColumns,
    without_repetitions,
)
from neelc.engines.spark.rules import (
    LoneRule,
    all_rows,
    combined_columns,
    lone_rows,
    lone_rule,
    matcher_set_rows,
    rule_set_relations,
)
from neelc.engines.spark.scans import (
    StreamRelations,
    by_format,
    csv_options,
    free,
    member_test,
    value_of,
    variable_name,
)
from neelc.engines.spark.sql_source import plan_json, plan_text, sql_text
from neelc.engines.spark.windows import window_relations
from neelc.engines.streaming.algebra import select_relations
from neelc.engines.streaming.network import network_relations
from neelc.engines.streaming.network_plan import StreamNetwork
from neelc.engines.streaming.pattern import declared_watermark, stream_relations
from neelc.engines.streaming.rules import counted_apart, rule_stream_relations
from neelc.ir.algebra import Agent, Algebra
from neelc.ir.bound_rows import HostQuery
from neelc.ir.expressions import Aggregate, Attribute, Call, DeclaredFunction, Expr, Function, Variable
from neelc.ir.names import bare, quote
from neelc.ir.node import Node, walk
from neelc.ir.program import (
    ROW,
    Clock,
    Column,
    CompleteColumn,
    ConceptColumn,
    DerivedColumn,
    LevelColumn,
    Match,
    MemberColumn,
    MembersColumn,
    NamedQuery,
    ResultOrder,
    Stream,
    with_all_derived,
)
from neelc.ir.types import STRING, DataType, stored
from neelc.pattern.analysis.rule_columns import rule_query_of
from neelc.pattern.plan.counting.plan import AggregatePlan
from neelc.pattern.plan.emission import StreamPlan
from neelc.pattern.plan.relational_plan import JoinPlan, WindowPlan
from neelc.pattern.plan.rule_sets import RuleSetPlan
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.rows.bind.host_text import SparkQuery
from neelc.rows.plan.plan import HostPlan
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.expressions import sql
from neelc.scalar.spark.trees import identifier, literal, spark_type


@dataclass(frozen=True)
class CompiledScript:
    """A script as relations, and as source. `strategies` has the strategy of each query that is executed."""

    relations: Relations
    title: str
    columns: tuple[Column, ...]
    strategies: tuple[tuple[str, str], ...]
    aggregates: Mapping[str, Function] = field(default_factory=dict, repr=False)
    """The functions of users that `query` is given."""
    reads: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The relation that each stream is read by."""
    results: tuple[tuple[str | None, str], ...] = field(default=(), repr=False)
    """The queries that are executed, in order: their names, and the relations of their rows."""

    @property
    def source(self) -> str:
        return python_source(self.relations, self.title)

    @property
    def plan(self) -> str:
        return plan_text(self.relations, self.strategies)

    @property
    def json(self) -> str:
        return plan_json(self.relations, self.strategies)

    def sql(self) -> str:
        """One statement of Spark SQL; raises `UnsupportedQuery` if the plan is not relational."""
        return sql_text(self.relations)


@dataclass(frozen=True)
class WrittenQuery:
    """A query of a script and its plan: `as_stream` for queries that read its matches as events, else as the
    result that a person sees."""

    named: NamedQuery
    plan: QueryPlan
    as_stream: bool


def write_script(
    queries: Sequence[WrittenQuery], streaming: bool = False, network: StreamNetwork | None = None
) -> CompiledScript:
    """Source for the last of the queries, which reads those before it, as the plan of each says. `streaming`:
    over streams without end; as a `network`, if one operator runs all queries."""
    queries = _with_shared_filters(queries)
    read = (stream for one in queries for stream in one.named.query.streams)
    writer = _ScriptWriter(streaming, with_all_derived(read))
    if network is not None:
        writer.add_network(network, queries[-1].plan)
    else:
        for one in queries:
            writer.add(one, is_last=one is queries[-1])
    last = queries[-1].named.query
    relations = Relations(
        tuple(writer.lets if streaming else without_repetitions(writer.lets)),
        _declared(one.named for one in queries),
    )
    return CompiledScript(
        relations,
        str(last) if isinstance(last, Algebra) else last.title,
        last.columns or (),
        tuple((one.named.name or "", name) for one in queries for name in _strategies(one.plan)),
        _functions_called(relations, [one.named for one in queries]),
        writer.reads,
        tuple(writer.results),
    )


def _with_shared_filters(queries: Sequence[WrittenQuery]) -> list[WrittenQuery]:
    """Queries that are executed together: their matchers share extended filters."""
    shared = with_shared_filters([one.plan for one in queries])
    return [replace(one, plan=plan) for one, plan in zip(queries, shared, strict=True)]


def write_rules(
    read: Sequence[WrittenQuery],
    sets: Sequence[RuleSetPlan],
    matchers: Sequence[MatcherSetPlan],
    alone: Sequence[WrittenQuery],
    most_matches: int | None,
    times: DataType,
    shares: bool = True,
) -> CompiledScript:
    """Source for the rows of many queries as one table: those that are executed together in `sets`, or as one
    of the sets of `matchers`, and those that are executed `alone`. They may read those that are `read`."""
    both = _with_shared_filters([*read, *alone]) if shares else [*read, *alone]
    read, alone = both[: len(read)], both[len(read) :]
    matched = [NamedQuery(name, plan.query) for one in matchers for name, plan in one.rules.items()]
    queries = [*(one.named.query for one in both), *(one.events for one in sets)]
    queries += [one.query for one in matched]
    streams = (stream for query in queries for stream in query.streams)
    writer = _ScriptWriter(False, with_all_derived(streams))
    for one in read:
        writer.add(one, is_last=False)
    names = [writer.add_rules(one, most_matches, times) for one in sets]
    names += [writer.add_matchers(one, times) for one in matchers]
    names += [writer.add_alone(one, times) for one in alone]
    writer.lets.append(all_rows(names, free("result", writer.taken)))
    relations = Relations(tuple(without_repetitions(writer.lets)))
    return replace(_rules_script(relations, sets, matched, alone, read, times), reads=writer.reads)


def _rules_script(
    relations: Relations,
    sets: Sequence[RuleSetPlan],
    matched: Sequence[NamedQuery],
    alone: Sequence[WrittenQuery],
    read: Sequence[WrittenQuery],
    times: DataType,
) -> CompiledScript:
    rules = [NamedQuery(rule.name, rule.query) for one in sets for rule in one.plans]
    strategies = [(rule.name or "", "kernel") for rule in rules]
    strategies += [(rule.name or "", "algebra") for rule in matched]
    strategies += [(one.named.name or "", name) for one in alone for name in _strategies(one.plan)]
    named = [*(one.named for one in (*read, *alone)), *rules, *matched]
    relations = replace(relations, declared=_declared(named))
    return CompiledScript(
        relations,
        f"{len(rules) + len(matched) + len(alone)} rules",
        combined_columns(times),
        tuple(strategies),
        _functions_called(relations, named),
    )


@dataclass(frozen=True)
class LoneStream:
    """A rule that is in no set, over streams without end: the last of the `queries`. If it reads others, one
    operator runs all of them, as a `network`."""

    queries: tuple[WrittenQuery, ...]
    network: StreamNetwork | None = None

    @property
    def last(self) -> WrittenQuery:
        return self.queries[-1]

    @property
    def streams(self) -> Iterator[Stream]:
        """What the queries read."""
        return (stream for one in self.queries for stream in one.named.query.streams)

    @property
    def has_state(self) -> bool:
        """Whether it needs an operator with state."""
        return any(isinstance(let.relation, KernelOnStream | SparkQuery) for let in _lone_lets(self))


def _lone_lets(one: LoneStream) -> list[Let]:
    writer = _ScriptWriter(True, with_all_derived(one.streams))
    writer.add_lone_stream(one)
    return writer.lets


def write_streamed_rules(
    together: RuleSetPlan | None,
    alone: Sequence[LoneStream],
    most_matches: int | None,
    buckets: int,
    times: DataType,
) -> CompiledScript:
    """Source for the rows of many queries over streams without end as one table: of rules that one operator
    runs `together`, and of those that are executed `alone`. One of all these may need an operator."""
    own = () if together is None else together.events.streams
    streams = (*own, *(stream for one in alone for stream in one.streams))
    writer = _ScriptWriter(True, with_all_derived(streams))
    names = []
    if together is not None:
        names.append(writer.add_streamed_rules(together, most_matches, buckets, times))
    for one in alone:
        writer.add_lone_stream(one)
        names.append(writer.add_lone_rows(one.last, times))
    writer.lets.append(all_rows(names, free("result", writer.taken)))
    relations = Relations(tuple(counted_apart(writer.lets)))
    read = [query for one in alone for query in one.queries[:-1]]
    sets = [] if together is None else [together]
    return _rules_script(relations, sets, [], [one.last for one in alone], read, times)


def _functions_called(relations: Relations, queries: Sequence[NamedQuery]) -> dict[str, Function]:
    """The functions of users that relations call, by name."""
    called = {*relations.functions, *relations.agents}
    return {name: function for name, function in _functions(queries) if name in called}


def _strategies(plan: QueryPlan) -> tuple[str, ...]:
    match plan:
        case StrategyPlan():
            return (plan.strategy,)
        case HostPlan():
            return plan.strategies
    return ("algebra",)


def _functions(queries: Iterable[NamedQuery]) -> Iterator[tuple[str, Function]]:
    """The functions of users that the queries call, by name."""
    for query in (named.query for named in queries):
        for node in (node for root in _roots(query) for node in walk(root)):
            if isinstance(node, Agent | Aggregate) and node.function is not None:
                yield node.name, node.function
            if isinstance(node, Call) and node.declared is not None and node.declared.python is not None:
                yield node.declared.name, node.declared.python


def _declared(queries: Iterable[NamedQuery]) -> tuple[DeclaredFunction, ...]:
    """The declared functions that the queries call."""
    nodes = (node for named in queries for root in _roots(named.query) for node in walk(root))
    calls = (node.declared for node in nodes if isinstance(node, Call) and node.declared is not None)
    return tuple(dict.fromkeys(calls))


def _roots(query: Node) -> tuple[Node, ...]:
    """What a query calls functions in."""
    return (query.pattern, *query.outputs) if isinstance(query, Match) else (query,)


@dataclass
class _ScriptWriter:
    """The relations of one query after the other, over these streams. `names` are those of streams, and of
    earlier queries as streams, with the unit and the clock of their times; `rows` are those of earlier
    queries' results; `reads` are those of streams alone, `results` those of queries, one after the other."""

    streaming: bool
    streams: Mapping[str, Stream]
    lets: list[Let] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    clocks: dict[str, Clock] = field(default_factory=dict)
    reads: dict[str, str] = field(default_factory=dict)
    results: list[tuple[str | None, str]] = field(default_factory=list)
    shared: SharedFilters = field(default_factory=dict)
    taken: set[str] = field(
        default_factory=lambda: {
            "spark",
            "streams",
            "aggregates",
            "aggregated",
            "agents",
            "observations",
            "kernel",
            "query",
            "F",
            "recognizer",
            "args",
            "sqlQuery",
            "self",
        }
    )

    def add(self, one: WrittenQuery, is_last: bool) -> None:
        """Add the relations of one query."""
        query, plan = one.named.name, one.plan
        self.lets += self._reads(plan.query.streams, None if isinstance(plan, HostPlan) else plan.query.clock)
        name = free("result" if is_last else variable_name(query or "matches"), self.taken)
        if isinstance(plan, HostPlan):
            self.lets += host_relations(plan, self._read_by(plan.query), self.taken, name)
        else:
            sources = StreamRelations(dict(self.names), dict(self.units), dict(self.clocks))
            if isinstance(plan, StrategyPlan):
                lets, sources = with_completeness(plan.query, plan.unit, sources, self.taken)
                self.lets += lets
            order = None if one.as_stream else _order_of(plan)
            rows = name if order is None else free("rows", self.taken)
            self.lets += _relations(plan, sources, self.taken, rows, one.as_stream, self.shared)
            if order is not None:
                self.lets.append(ordered_rows(rows, order, name))
        self.results.append((query, name))
        if query is None:
            return
        if not one.as_stream:
            self.rows[query] = name
        if not isinstance(plan, HostPlan) and one.as_stream:
            self.units[query] = plan.unit
            self.clocks[query] = plan.query.clock
        if isinstance(plan, HostPlan) or one.as_stream:
            self.names[query] = name
            self.lets += self._with_derived(query)

    def add_rules(self, plan: RuleSetPlan, most_matches: int | None, times: DataType) -> str:
        """Add the relations of rules that are executed together; gives the name of their rows."""
        self.lets += self._reads(plan.events.streams, plan.events.clock)
        sources = StreamRelations(dict(self.names), dict(self.units), dict(self.clocks))
        self.lets += rule_set_relations(plan, sources, self.taken, most_matches, times)
        return self.lets[-1].name

    def add_matchers(self, plan: MatcherSetPlan, times: DataType) -> str:
        """Add the relations of rules whose matchers are executed together; gives the name of their rows."""
        for one in plan.rules.values():
            self.lets += self._reads(one.query.streams, one.query.clock)
        sources = StreamRelations(dict(self.names), dict(self.units), dict(self.clocks))
        self.lets += matcher_set_rows(plan, sources, self.taken, times)
        return self.lets[-1].name

    def add_streamed_rules(
        self, plan: RuleSetPlan, most_matches: int | None, buckets: int, times: DataType
    ) -> str:
        """The same over streams without end."""
        self.lets += self._reads(plan.events.streams, plan.events.clock)
        sources = StreamRelations(dict(self.names), {})
        self.lets += rule_stream_relations(plan, sources, self.taken, most_matches, buckets, times)
        return self.lets[-1].name

    def add_lone_stream(self, one: LoneStream) -> None:
        """Add the relations of a rule that is in no set."""
        if one.network is None:
            self.add(one.last, is_last=False)
        else:
            name = free(variable_name(one.last.named.name or "matches"), self.taken)
            self.add_network(one.network, one.last.plan, name)

    def add_alone(self, one: WrittenQuery, times: DataType) -> str:
        """Add the relations of a rule that is executed alone; gives the name of its rows."""
        self.add(one, is_last=False)
        return self.add_lone_rows(one, times)

    def add_lone_rows(self, one: WrittenQuery, times: DataType) -> str:
        """Make rows of the table of the result of a rule, which is the last relation."""
        query, name = one.named.query, one.named.name or ""
        source = self.lets[-1].name
        if isinstance(query, Match):
            rule = lone_rule(name, source, rule_query_of(query))
        elif isinstance(query, Algebra):
            start, end = (column.name for column in query.columns[-2:])
            rule = LoneRule(name, source, query.columns[:-2], (), (start, end), query.columns[-1].type)
        else:
            rule = LoneRule(name, source, None)
        self.lets.append(lone_rows(rule, times, self.taken))
        return self.lets[-1].name

    def add_network(self, network: StreamNetwork, last: QueryPlan, name: str | None = None) -> None:
        """Add the relations of queries that one operator runs; the result has this name."""
        for one in network.queries:
            self.lets += self._reads(one.streams, one.clock)
        if isinstance(last, HostPlan):
            self.lets += self._reads(last.query.streams, None)
        sources = StreamRelations(dict(self.names), {}, {})
        name = name or free("result", self.taken)
        most = None if isinstance(last, HostPlan) else last.most_matches
        self.lets += network_relations(network, sources, self.taken, name, most, last.buckets)

    def _read_by(self, query: HostQuery) -> dict[str, str]:
        """The relations of what a query of Spark's reads, by the bare names: of queries, their results."""
        return {
            stream.name: self.names[stream.name] if stream.rows_of is None else self.rows[stream.rows_of]
            for stream in query.streams
        }

    def _reads(self, streams: Iterable[Stream], clock: Clock | None) -> Iterator[Let]:
        for stream in streams:
            if stream.producer is None and stream.name not in self.names:
                name = free(variable_name(stream.name), self.taken)
                self.names[stream.name] = name
                yield Let(name, stream_read(stream), f"The stream {stream.name}.")
                if stream.timestamp_format is not None:
                    self.names[stream.name] = free(f"{name}_read", self.taken)
                    comment = f"Its times are written as {stream.timestamp_format}."
                    yield Let(
                        self.names[stream.name], SelectColumns(name, tuple(_read_times(stream))), comment
                    )
                yield from self._with_derived(stream.name)
                self.reads[stream.name] = self.names[stream.name]
                if self.streaming and stream.watermark is not None and not stream.watermarked:
                    read, timed = self.names[stream.name], free(f"{name}_timed", self.taken)
                    self.names[stream.name] = timed
                    comment = "Events that come later than this take no part."
                    yield Let(timed, declared_watermark(read, stream, clock), comment)

    def _with_derived(self, name: str) -> Iterator[Let]:
        """The stream of that name with the levels and the concepts that queries ask for."""
        stream = self.streams.get(name)
        if stream is None:
            return
        base = self.names[name]
        for one in stream.derived:
            if isinstance(one, CompleteColumn):
                continue  # a query has it for itself: it depends on all that the query reads
            read = self.names[name]
            if isinstance(one, LevelColumn) and one.attribute:
                yield from self._reads((one.relation,), None)
                values = free(variable_name(f"{one.level}_of_{one.of}"), self.taken)
                comment = f"Hierarchy {one.hierarchy}: each {one.of} has one {one.level}."
                yield Let(values, _values(one, self.names[one.relation.name]), comment)
                relation: Relation = LookUp(read, one.attribute, values, one.name)
                comment = f"The {one.level} of each {one.attribute}."
            elif isinstance(one, MemberColumn):
                yield from self._reads((one.relation,), None)
                lets = member_relations(one, read, self.names[one.relation.name], self.taken)
                yield from lets
                relation = Extend(lets[-1].name, ((member_text(one), one.name),))
                comment = f"Whether {one.attribute} is one of them, as IN says."
            elif isinstance(one, MembersColumn):
                yield from self._reads((one.relation,), None)
                lets = members_relations(one, read, self.names[one.relation.name], self.taken, stream)
                yield from lets
                relation = Extend(lets[-1].name, ((members_text(one), one.name),))
                comment = f"Whether {', '.join(one.attributes)} are those of a row of it, as IN says."
            else:
                relation = Extend(read, ((_computed(one, stream), one.name),))
                comment = f"The {one.name}."
            self.names[name] = free(f"{base}_known", self.taken)
            yield Let(self.names[name], relation, comment)


def _values(column: LevelColumn, relation: str) -> AggregateRows:
    """The values of a level by those of a finer one: the run fails where one has several."""
    of, level = identifier(column.of), identifier(column.level)
    before, after = column.complaint("\0").split("\0")
    texts = (literal(f"NEEL5060: {before}", STRING), f"CAST({of} AS STRING)", literal(after, STRING))
    failure = f"raise_error(concat({', '.join(texts)}))"
    value = f"IF(min({level}) <> max({level}), {failure}, min({level}))"
    return AggregateRows(relation, ((of, "key"),), ((value, "value"),))


def _computed(column: DerivedColumn, stream: Stream) -> str:
    """A derived column that takes no other relation."""
    match column:
        case ConceptColumn(below=None):
            column_of_types = stream.type_column
            return literal(stream.name, STRING) if column_of_types is None else identifier(column_of_types)
        case ConceptColumn(below=below):
            tests = ((member_test(stream, one.members) or "TRUE", bare(one.name)) for one in below or ())
            whens = " ".join(f"WHEN {test} THEN {literal(name, STRING)}" for test, name in tests)
            return f"CASE {whens} END" if whens else "CAST(NULL AS STRING)"
        case LevelColumn(relation=relation, level=level):
            own = next(one.type for one in relation.columns if one.name == level)
            return f"CAST(NULL AS {spark_type(own)})"
    raise AssertionError(f"{type(column).__name__} is not computed")


def _order_of(plan: StrategyPlan | NetworkPlan) -> ResultOrder | None:
    return plan.query.order if isinstance(plan.query, Match) else None


def ordered_rows(source: str, order: ResultOrder, name: str) -> Let:
    """The rows of a result in their order."""

    def column(node: Expr) -> str | None:
        if isinstance(node, Attribute) and node.event == Variable(ROW):
            return identifier(bare(node.name))
        return None

    by = []
    for item in order.items:
        direction = "DESC" if item.descending else "ASC"
        nulls = item.nulls or ("LAST" if item.descending else "FIRST")
        by.append((sql(item.expression, column), f"{direction} NULLS {nulls}"))
    return Let(name, Ordered(source, tuple(by), order.limit), "The rows in their order.")


def _relations(
    plan: StrategyPlan | NetworkPlan,
    sources: StreamRelations,
    taken: set[str],
    name: str,
    as_stream: bool,
    shared: SharedFilters,
) -> Iterable[Let]:
    """The relations of a query, by the kind of its plan."""
    if isinstance(plan, NetworkPlan) and plan.streamed is not None:
        return select_relations(plan, plan.streamed, sources, taken, name)
    if isinstance(plan, NetworkPlan):
        return algebra_relations(plan, sources, taken, name, as_stream, shared)
    query = plan.query
    match plan.plan:
        case AggregatePlan() as counted:
            return aggregate_relations(query, counted, sources, taken, name)
        case JoinPlan() as joined:
            return join_relations(query, joined, sources, taken, name, as_stream)
        case WindowPlan() as windows:
            return window_relations(query, windows, sources, taken, name, as_stream)
        case StreamPlan() as streamed:
            return stream_relations(query, streamed, sources, taken, name, plan.most_matches, plan.buckets)
        case searched:
            return kernel_relations(query, searched, sources, taken, name, as_stream, plan.most_matches)


def _read_times(stream: Stream) -> Iterator[tuple[str, str]]:
    """The columns of a stream, with TIMESTAMPs where it has texts."""
    assert stream.timestamp_format is not None
    for column in stream.own_columns:
        is_text = column.name in stream.texts
        text = by_format(column.name, stream.timestamp_format, stream.name) if is_text else ""
        yield text or identifier(column.name), column.name


def stream_read(stream: Stream) -> Read:
    """How the rows of a stream are read."""
    if stream.path is None:
        return Read(stream.name)
    options = {bare(option.key): option.value for option in stream.options}
    read = file_read(stream, stream.path, kind_of(stream.path, stream.format), options)
    return _streaming_read(read, _text_columns(stream)) if stream.is_streaming else read


def file_read(stream: Stream, path: str, kind: str, options: Mapping[str, str]) -> Read:
    """How the rows of a stream are read from files of a kind."""
    columns = _text_columns(stream)
    if kind == "csv":
        # By name, not by place: the header of a file may have other columns, in another order.
        values = [(value_of(column.name, column.type, stream.name), column.name) for column in columns]
        return Read(stream.name, path, kind, "", _fail_fast(csv_options(path, options)), tuple(values))
    if kind == "json":
        return Read(stream.name, path, kind, _schema(columns), _fail_fast(options))
    return Read(stream.name, path, kind, "", tuple(options.items()))


def _text_columns(stream: Stream) -> list[Column]:
    """The columns as files hold them: times of a pattern are texts."""
    return [replace(c, type=STRING if c.name in stream.texts else stored(c.type)) for c in stream.own_columns]


def _streaming_read(read: Read, columns: Sequence[Column]) -> Read:
    """Files of a stream without end: their columns are those that are declared, since there may be no file
    yet. The header of a CSV file must have them in this order, or the run fails."""
    read = replace(read, path=_as_glob(read.path or ""), is_streaming=True)
    if read.format == "csv":
        texts = _schema([replace(column, type=STRING) for column in columns])
        return replace(read, schema=texts, options=(*read.options, ("enforceSchema", "false")))
    return replace(read, schema=_schema(columns)) if read.format in ("json", "parquet", "orc") else read


def _as_glob(path: str) -> str:
    """Spark reads a stream from directories, or from what a glob matches. So what may be one file is a glob.

    >>> _as_glob("data/bank.csv"), _as_glob("data/bank"), _as_glob("data/*.csv")
    ('data/{bank.csv}', 'data/bank', 'data/*.csv')
    """
    directory, slash, name = path.rpartition("/")
    return f"{directory}{slash}{{{name}}}" if "." in name and not set(path) & set("*?[]{},\\") else path


def _schema(columns: Iterable[Column]) -> str:
    return ", ".join(f"{quote(column.name)} {spark_type(column.type)}" for column in columns)


def _fail_fast(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """A malformed row fails the run; it does not become NULLs."""
    return tuple({"mode": "FAILFAST", **options}.items())


def kind_of(path: str, format: str | None) -> str:
    """The format that is declared, or else the one that the ending of the path implies."""
    endings = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "ndjson": "json"}
    return bare(format).lower() if format else endings.get(path.rpartition(".")[2].lower(), "parquet")
