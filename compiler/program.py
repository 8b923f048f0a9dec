"""Syntax trees to the logical plan: every name resolved, every condition in its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import count
from typing import TYPE_CHECKING

from neelc.algebra.bind.select import bind_select, query_columns
from neelc.arguments import UserAgent, UserAggregate
from neelc.catalog.catalog import Catalog, CatalogEntry, Concept, registered_agents
from neelc.catalog.hierarchies import declared_hierarchy
from neelc.catalog.streams import checked_stream, declared_stream, without_times
from neelc.errors import Diagnostic, NeelError
from neelc.findings import Findings, did_you_mean
from neelc.ir.algebra import END, START, Algebra, has_only_points
from neelc.ir.expressions import DeclaredFunction, MatchProperty
from neelc.ir.names import bare, find, quote
from neelc.ir.node import Node, map_children
from neelc.ir.program import Column, Match, NamedQuery, Program, Stream
from neelc.ir.row_patterns import MatchRecognize
from neelc.ir.script import (
    CombinedSelect,
    CreateFunction,
    CreateHierarchy,
    CreateQuery,
    CreateStream,
    CreateType,
    FromAgent,
    FromItem,
    FromMatchmaker,
    FromQuery,
    FromStream,
    HostSelect,
    PatternQuery,
    RolledQuery,
    RunQuery,
    Script,
    ScriptQuery,
    Select,
    Statement,
    UnreadStatement,
)
from neelc.pattern.bind.query import bind_query
from neelc.pattern.bind.rolling import rolled_pattern
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.clock import RunClock
from neelc.scalar.parameters import (
    can_be_declared,
    given_functions,
    registered,
    with_aggregates,
    with_arguments,
)
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, READ_AS, SCALAR_SIGNATURES
from neelc.source import Source, Span

if TYPE_CHECKING:
    from neelc.rows.bind.host import Describe

# What the grammar has and the compiler does not run yet.


def unsupported(query: ScriptQuery) -> tuple[str, Node] | None:
    """The construct of `query` that is not supported yet, and where it is; None when all of it is supported.

    >>> from neelc.ir.script import FromStream
    >>> unsupported(Select((), (FromStream(name="trades"),)))
    >>> unsupported(Select((), (FromMatchmaker(),)))[0]
    'MATCH(...) in FROM'
    """
    match query:
        case PatternQuery():
            return None
        case Select(sources=sources):
            return next(filter(None, map(_construct, sources)), None)
        case CombinedSelect(left, _, right):
            return unsupported(left) or unsupported(right)
    return "this kind of query", query


def _construct(source: FromItem) -> tuple[str, Node] | None:
    match source.matcher:
        case MatchRecognize() as clause:
            return "MATCH_RECOGNIZE", clause
    match source:
        case FromMatchmaker():
            return "MATCH(...) in FROM", source
        case FromQuery(query=Select() | CombinedSelect() as query):
            return unsupported(query)
        case FromAgent(inputs=sources):
            return next(filter(None, map(_construct, sources)), None)
    return None


# PATTERN in the FROM of a SELECT: a query of its own, with a name that nobody can write by chance.


def with_named_patterns(statements: Iterator[Statement]) -> Iterator[Statement]:
    """The statements; before each one its PATTERNs in FROM, as queries whose names it reads.

    >>> from neelc.ir.script import Script
    >>> from neelc.syntax.printer import format_script
    >>> from neelc.syntax import script
    >>> text = "SELECT x FROM (PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.x AS x) AS p WINDOW(TIME 9);"
    >>> named = with_named_patterns(iter(script(text).statements))
    >>> print(format_script(Script(tuple(named))).rstrip())
    CREATE QUERY `pattern 1` AS
      PATTERN SEQ(A a, B b)
      WITHIN 5
      RETURN a.x AS x;
    <BLANKLINE>
    SELECT x
    FROM `pattern 1` AS p WINDOW(TIME 9);
    """
    numbers = count(1)
    for statement in statements:
        if isinstance(statement, CreateQuery | RunQuery) and isinstance(
            statement.query, Select | CombinedSelect
        ):
            found: list[Statement] = []
            changed = _named(statement, numbers, found)
            yield from found
            assert isinstance(changed, CreateQuery | RunQuery)
            yield changed
        else:
            yield statement


def _named(node: Node, numbers: Iterator[int], found: list[Statement]) -> Node:
    match node:
        case FromQuery(
            alias, window, matcher, matcher_alias, query=PatternQuery() | RolledQuery() as pattern
        ):
            name = quote(f"pattern {next(numbers)}")
            found.append(CreateQuery(name, pattern, span=pattern.span))
            return FromStream(alias, window, matcher, matcher_alias, name=name, span=node.span)
    changed = map_children(node, lambda child: _named(child, numbers, found))
    return changed if changed is node else replace(changed, span=node.span)


# Statements in order: each may use what those before it declare.


@dataclass(frozen=True)
class BindingResult:
    """What became of a script: a program, or the diagnostics that say why there is none. `catalog` has what
    it declares, as far as that could be judged."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]
    catalog: Catalog = field(default_factory=Catalog)


def bind(
    script: Script,
    source: Source,
    streams: Sequence[Stream] = (),
    arguments: Mapping[str, object] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    agents: Mapping[str, UserAgent] | None = None,
    describe: Describe | None = None,
    untrusted: bool = False,
) -> Program:
    """The script with every name resolved; raises `NeelError` with all diagnostics found.

    `streams` are given from outside, and so are `arguments`, the values of parameters, `aggregates` and
    `agents`. `describe` asks Spark for columns that only it knows, None if there is no Spark to ask.
    `untrusted`: what is Spark's own SQL may read what it is given, and do nothing else.
    """
    bound = examine(script, source, streams, arguments, aggregates, agents, describe, untrusted)
    if bound.program is None:
        raise NeelError(bound.diagnostics, source)
    return bound.program


def examine(
    script: Script,
    source: Source,
    streams: Sequence[Stream] = (),
    arguments: Mapping[str, object] | None = None,
    aggregates: Mapping[str, UserAggregate] | None = None,
    agents: Mapping[str, UserAgent] | None = None,
    describe: Describe | None = None,
    untrusted: bool = False,
) -> BindingResult:
    """As `bind`, with the diagnostics as a value."""
    known = registered(aggregates or {})
    findings = Findings(source, tuple(name for name, *_ in known.values()))
    catalog = Catalog(agents=registered_agents(agents or {}))
    given = {stream.name: stream for stream in streams}
    state = _State(findings, given, script, catalog, arguments or {}, describe, untrusted)
    state.functions |= given_functions(known)
    clock = RunClock(arguments or {})
    unread = [s for s in script.statements if isinstance(s, UnreadStatement)]
    state.findings.diagnostics.extend(problem for statement in unread for problem in statement.problems)
    try:
        statements = tuple(with_named_patterns(_judged(script)))
        for place, statement in enumerate(statements):
            rest = statements[place:]
            state.catalog.later = [
                s.name
                for s in rest
                if isinstance(s, CreateQuery | CreateStream | CreateType | CreateHierarchy)
            ]
            known_functions = {**state.functions}
            complete = with_arguments(statement, arguments or {}, state.findings)
            complete = clock.constants(complete, tuple(_columns_of(state.catalog)), findings)
            _bind_statement(with_aggregates(complete, known, known_functions), state)
    except RecursionError:
        hint = "name the inner parts with CREATE QUERY and use those names"
        state.findings.report("NEEL1003", "nested too deeply", script.span, hint)
    if state.findings.diagnostics:
        return BindingResult(None, tuple(state.findings.diagnostics), catalog)
    declared = (e.stream or e.table for e in state.catalog.entries.values() if e.kind != "query")
    streams_of_script = tuple(s for s in declared if s is not None)
    return BindingResult(Program(streams_of_script, tuple(state.queries), clock.asked), (), catalog)


def _columns_of(catalog: Catalog) -> Iterator[str]:
    """The names of all columns that are known."""
    for entry in catalog.entries.values():
        for known in (entry.stream, entry.table):
            if known is not None:
                yield from (column.name for column in known.columns)


def _judged(script: Script) -> Iterator[Statement]:
    """The statements up to one that might have declared anything, because it could not be read."""
    for statement in script.statements:
        if isinstance(statement, UnreadStatement) and statement.declares is None:
            return
        yield statement


@dataclass
class _State:
    findings: Findings
    given: dict[str, Stream]
    script: Script
    catalog: Catalog
    arguments: Mapping[str, object] = field(default_factory=dict)
    describe: Describe | None = None
    untrusted: bool = False
    queries: list[NamedQuery] = field(default_factory=list)
    functions: dict[str, DeclaredFunction] = field(default_factory=dict)
    """Those that are declared or given, by their names in small letters."""
    declared: set[str] = field(default_factory=set)
    """Those of them that a statement declares."""
    patterns: dict[str, PatternQuery] = field(default_factory=dict)
    """The PATTERNs that have a name, as they are written."""

    @property
    def has_hosts(self) -> bool:
        """Whether queries of the script are Spark's."""
        statements = (s for s in self.script.statements if isinstance(s, CreateQuery | RunQuery))
        return any(isinstance(statement.query, HostSelect) for statement in statements)

    def __post_init__(self) -> None:
        declared = [s.name for s in self.script.statements if isinstance(s, CreateStream)]
        for name, stream in self.given.items():
            # One that the script declares waits for its statement, which may say more about it.
            if not any(find(other, [name]) for other in declared):
                checked = (
                    checked_stream(stream, None, self.findings) if stream.start else without_times(stream)
                )
                self.catalog.entries[name] = checked


def _bind_statement(statement: Statement, state: _State) -> None:
    if isinstance(statement, CreateQuery | RunQuery) and isinstance(statement.query, RolledQuery):
        _bind_rolled(statement, statement.query, state)
        return
    match statement:
        case CreateStream(name):
            if _is_new(name, statement, state):
                given = find(name, state.given)
                outside = state.given[given] if given is not None else None
                entry = declared_stream(statement, outside, state.findings, state.has_hosts)
                state.catalog.entries[entry.name] = entry
        case CreateType():
            _declare_type(statement, state)
        case CreateHierarchy(name):
            if _is_new(name, statement, state):
                hierarchy = declared_hierarchy(statement, state.catalog, state.findings)
                state.catalog.hierarchies[hierarchy.name] = hierarchy
        case CreateFunction():
            _declare_function(statement, state)
        case CreateQuery(name, query):
            if isinstance(query, HostSelect):
                entry = _bind_host(statement, query, state)
            else:
                entry = _bind_named(statement, state)
            _refuse_times(statement, state)
            if _is_new(name, statement, state):
                state.catalog.entries[entry.name] = entry
                if isinstance(query, PatternQuery):
                    state.patterns[entry.name] = query
        case RunQuery(HostSelect() as query):
            _bind_host(statement, query, state)
        case RunQuery():
            _bind_named(statement, state)
        case UnreadStatement(declares=name):
            # Whatever uses the name is not judged.
            if name and state.catalog.kind_of(name) is None:
                state.catalog.entries[bare(name)] = CatalogEntry(bare(name), "stream", typed=statement.typed)
        case _:
            state.findings.report("NEEL4001", "not supported yet: this kind of statement", statement.span)


def _is_new(name: str, statement: Statement, state: _State) -> bool:
    kind = state.catalog.kind_of(name)
    if kind is None:
        return True
    findings = state.findings
    message, hint = f"`{name}` already names a {kind}", "give one of them another name"
    findings.report("NEEL2201", message, findings.at(name, statement), hint)
    return False


def _declare_type(statement: CreateType, state: _State) -> None:
    catalog, findings = state.catalog, state.findings
    if not _is_new(statement.name, statement, state):
        return
    name = bare(statement.name)
    catalog.concepts[name] = Concept(name, statement.members)
    cycle = catalog.cycle_from(name)
    if cycle is not None:
        span = findings.at(statement.name, statement)
        message = f"type `{statement.name}` contains itself: {' -> '.join(cycle)}"
        findings.report("NEEL2208", message, span, "leave out one of these members")
        catalog.concepts[name] = Concept(name, statement.members, broken=True)


def _declare_function(statement: CreateFunction, state: _State) -> None:
    findings, name = state.findings, bare(statement.name)
    key, place = name.lower(), findings.at(statement.name, statement)
    if key in SCALAR_SIGNATURES or key in AGGREGATE_SIGNATURES or key in READ_AS:
        message = f"`{name}` is already a function of neelc"
        findings.report("NEEL2270", message, place, "leave the declaration out, or choose another name")
        return
    if key in state.declared:
        findings.report("NEEL2201", f"`{name}` already names a function", place, "declare it once")
        return
    state.declared.add(key)
    odd = next((one for one in (*statement.takes, statement.returns) if not can_be_declared(one)), None)
    if odd is not None:
        hint = "BOOLEAN, numbers, DECIMAL, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ and ARRAYs of those"
        findings.report("NEEL2271", f"a declared function cannot have the type {odd}", place, hint)
        return
    given = state.functions.get(key)
    made = DeclaredFunction(name, statement.takes, statement.returns)
    if given is not None and (given.takes, given.returns) != (made.takes, made.returns):
        message = f"`{name}` is given in Python as {given.form} RETURNS {given.returns}"
        findings.report("NEEL2271", message, place, "declare it like this, or leave the declaration out")
        return
    if given is None:
        state.functions[key] = made


def _bind_named(statement: CreateQuery | RunQuery, state: _State) -> CatalogEntry:
    """The query, and the stream it is for the statements after it."""
    findings, query = state.findings, statement.query
    name = statement.name if isinstance(statement, CreateQuery) else None
    called = "" if name is None else bare(name)
    found = unsupported(query)
    if found is not None:
        construct, clause = found
        columns = query_columns(query, state.catalog, findings)
        hint = "PATTERN and SELECT are supported"
        begin = findings.at(clause, query, state.script).start
        place = Span(begin, begin + len(construct.split("(")[0]))
        findings.report("NEEL4001", f"not supported yet: {construct}", place, hint)
        return CatalogEntry(called, "query", columns=columns)
    bound: Match | Algebra | None
    if isinstance(query, Select | CombinedSelect):
        bound = bind_select(query, state.catalog, findings)
    else:
        assert isinstance(query, PatternQuery)
        bound = bind_query(query, state.catalog, findings)
    assert bound is not None or findings.diagnostics, "a query that cannot be bound has been reported"
    if bound is None:  # what reads it is judged by its columns, as far as they are known
        is_select = isinstance(query, Select | CombinedSelect)
        columns = query_columns(query, state.catalog, findings) if is_select else None
        return CatalogEntry(called, "query", columns=columns)
    state.queries.append(NamedQuery(None if name is None else called, bound, span=statement.span))
    return _as_stream(called, bound) if isinstance(bound, Match) else _as_intervals(called, bound)


def _bind_rolled(statement: CreateQuery | RunQuery, rolled: RolledQuery, state: _State) -> None:
    """The PATTERN that a roll-up or a drill-down is, in its place."""
    findings = state.findings
    base = find(rolled.name, state.patterns)
    pattern = None if base is None else rolled_pattern(rolled, state.patterns[base], state.catalog, findings)
    if base is None:
        message = f"`{bare(rolled.name)}` is not a PATTERN declared earlier"
        hint = did_you_mean(rolled.name, state.patterns, "PATTERN queries")
        declare = "name one: CREATE QUERY Fine AS PATTERN ..."
        findings.report("NEEL3060", message, findings.at(rolled.name, rolled), hint or declare)
    if pattern is None:
        if isinstance(statement, CreateQuery) and _is_new(statement.name, statement, state):
            state.catalog.entries[bare(statement.name)] = CatalogEntry(bare(statement.name), "query")
        return
    before = len(findings.diagnostics)
    _bind_statement(replace(statement, query=pattern), state)
    # What is wrong with it only stands in the text of the other query, where it is right.
    found = findings.diagnostics[before:]
    findings.diagnostics[before:] = [replace(one, span=findings.at(rolled), fixes=()) for one in found]


def _bind_host(statement: CreateQuery | RunQuery, query: HostSelect, state: _State) -> CatalogEntry:
    """A query of Spark's, and what it is for the statements after it."""
    # Half of the scalar language and sqlglot: scripts without such a query do without it.
    from neelc.rows.bind.host import bind_host, host_entry

    name = bare(statement.name) if isinstance(statement, CreateQuery) else None
    bound = bind_host(
        query, name, state.catalog, state.arguments, state.describe, state.untrusted, state.findings
    )
    if bound is None:
        return CatalogEntry(name or "", "query", typed=True)
    state.queries.append(NamedQuery(name, bound[0], span=statement.span))
    if not isinstance(statement, CreateQuery):
        return CatalogEntry("", "query")
    return host_entry(statement, bound[1], state.findings)


def _refuse_times(statement: CreateQuery, state: _State) -> None:
    """Only the rows of a query of Spark's have no times of their own."""
    if statement.times is None or isinstance(statement.query, HostSelect):
        return
    is_select = isinstance(statement.query, Select | CombinedSelect)
    names = "a SELECT are ts and te" if is_select else "a PATTERN are match_start and match_end"
    place = state.findings.at(statement.times)
    state.findings.report(
        "NEEL2231", f"the times of {names}; no others can be declared", place, "leave them out"
    )


def _as_intervals(name: str, query: Algebra) -> CatalogEntry:
    """The payloads of a SELECT as events, from `ts` on, before `te`."""
    columns = query.columns[:-2]
    unit = query.clock.unit or "MILLISECOND"
    points = has_only_points(query.root)
    stream = Stream(name, columns, START, END, unit=unit, query=name, half_open=True, only_points=points)
    rows = Stream(name, query.columns, "", unit=unit, rows_of=name)
    return CatalogEntry(name, "query", stream, query.clock, rows=rows)


def _as_stream(name: str, match: Match) -> CatalogEntry:
    """A query's matches as events, from `match_start` to `match_end`."""
    unit = match.clock.unit or "MILLISECOND"
    rows = Stream(name, match.columns, "", unit=unit, rows_of=name)
    if match.aggregated:
        why = "its rows summarize many matches and have no time"
        refusal = ("NEEL2212", why, "leave out the aggregates over all matches")
        return CatalogEntry(name, "query", refusal=refusal, rows=rows)
    if match.order is not None:
        why = "its rows are ordered, but a stream is ordered by time only"
        refusal = ("NEEL3035", why, "leave out ORDER BY and LIMIT there, and order what reads it")
        return CatalogEntry(name, "query", refusal=refusal, rows=rows)
    columns = []
    for output in match.outputs:
        if output.name.casefold() not in ("match_start", "match_end"):
            columns.append(Column(output.name, output.type))
        elif (
            not isinstance(output.expression, MatchProperty)
            or output.expression.name != output.name.casefold()
        ):
            why = f"its column `{output.name}` is not the time of the match"
            refusal = ("NEEL2213", why, "give that column another name")
            return CatalogEntry(name, "query", refusal=refusal, rows=rows)
    stream = Stream(name, tuple(columns), "match_start", "match_end", unit=unit, query=name)
    return CatalogEntry(name, "query", stream, match.clock, rows=rows)


__all__ = ["BindingResult", "bind", "examine"]
