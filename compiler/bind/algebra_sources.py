"""FROM of a SELECT: streams, relations, queries, agents and pattern matchers, each with its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from neelc.bind.algebra_windows import bind_stream_window, check_partition
from neelc.bind.catalog import Catalog, Entry, joined
from neelc.bind.findings import Findings
from neelc.bind.relations import Relation
from neelc.bind.row_patterns import matched_columns
from neelc.bind.sequential import bind_sequential
from neelc.bind.suggest import did_you_mean
from neelc.ir import algebra as a
from neelc.ir.logical import Clock, Column, OutputColumn, Stream
from neelc.ir.names import bare, find, same, written
from neelc.ir.rows import MatchSequential
from neelc.ir.script import FromAgent, FromItem, FromMatchmaker, FromQuery, FromStream, Query


@dataclass(frozen=True)
class Item:
    """An element of FROM: what it can be named by, and the operator that makes it.

    Without an operator it has been reported; its columns are known as far as they can be.
    """

    relation: Relation
    operator: a.Operator | None = None
    clock: Clock | None = None


Select = Callable[[Query, str], Item]
"""How a subquery is bound, as a source of this name."""


def bind_sources(
    items: Sequence[FromItem], catalog: Catalog, findings: Findings, select: Select
) -> tuple[Item, ...]:
    """The elements of FROM; their names differ."""
    found: list[Item] = []
    for number, item in enumerate(items, 1):
        bound = _bind_item(item, f"source_{number}", catalog, findings, select)
        name = bound.relation.name
        if any(same(written(other.relation.name), written(name)) for other in found):
            place = findings.word(written(name), item)
            findings.report(
                "NEEL2009", f"two sources are called `{name}`", place, "give one of them another name with AS"
            )
        found.append(bound)
    return tuple(found)


def joined_clock(items: Sequence[Item]) -> Clock | None:
    """The clock that can write the times of all of them."""
    clocks = [item.clock for item in items if item.clock is not None]
    return reduce(joined, clocks) if clocks else None


def check_relations(items: Sequence[FromItem], found: Sequence[Item], findings: Findings) -> None:
    """ "A relation can only be used as input for correlation EPAs and the other input must be a stream"."""
    if not all(isinstance(item.operator, a.Relation) for item in found):
        return
    message = f"`{found[0].relation.name}` is a relation: its rows are valid forever, and never happen"
    findings.report("NEEL3301", message, findings.at(items[0]), "correlate it with a stream in FROM")


def _bind_item(item: FromItem, otherwise: str, catalog: Catalog, findings: Findings, select: Select) -> Item:
    own = item.name if isinstance(item, FromStream | FromAgent) else otherwise
    name = bare(item.alias or own)
    source = _source(item, name, catalog, findings, select)
    if isinstance(source.operator, a.Relation) and (item.window or item.matcher):
        message = f"`{name}` is a relation: its rows are valid forever, without windows and patterns"
        findings.report("NEEL3301", message, findings.at(item), "leave it out, or declare a stream")
        return replace(source, operator=None)
    return _matched(item, _windowed(item, source, findings), findings)


def _windowed(item: FromItem, source: Item, findings: Findings) -> Item:
    if item.window is None:
        return source
    if source.operator is None or source.clock is None:
        check_partition(item.window, source.relation, findings)
        return source
    window = bind_stream_window(item.window, source.operator, source.relation, source.clock, findings)
    return replace(source, operator=window)


def _matched(item: FromItem, source: Item, findings: Findings) -> Item:
    """The source after the row pattern that stands at it."""
    if item.matcher is None:
        return source
    before = len(findings.diagnostics)
    columns = matched_columns(item.matcher, source.relation, findings)
    name = bare(item.matcher_alias) if item.matcher_alias else source.relation.name
    matched = Item(Relation(name, columns), None, source.clock)
    if not isinstance(item.matcher, MatchSequential) or len(findings.diagnostics) > before:
        return matched
    clause = bind_sequential(item.matcher, source.relation, source.clock, findings)
    if clause is None or source.operator is None or source.clock is None:
        return matched
    span = item.matcher.span
    matcher = a.PatternMatcher(source.operator, written(name), clause, clock=source.clock, span=span)
    return replace(matched, relation=Relation(name, clause.output), operator=matcher)


def _source(item: FromItem, name: str, catalog: Catalog, findings: Findings, select: Select) -> Item:
    match item:
        case FromStream():
            return _stream(item, name, catalog, findings)
        case FromAgent():
            return _agent(item, name, catalog, findings, select)
        case FromQuery(query=Query() as inner):
            return select(inner, name)
        case FromMatchmaker(attributes=wanted):
            return Item(Relation(name, tuple(Column(bare(one.name), one.type) for one in wanted)))
    return Item(Relation(name, None))


def _stream(item: FromStream, name: str, catalog: Catalog, findings: Findings) -> Item:
    entry = catalog.entry(item.name)
    if entry is None:
        hint = did_you_mean(item.name, catalog.entries, "streams") or "declare it with CREATE STREAM"
        findings.report("NEEL2004", f"unknown stream `{item.name}`", findings.word(item.name, item), hint)
        return Item(Relation(name, None))
    if entry.relation is not None:
        relation = a.Relation(written(name), entry.relation, span=item.span)
        return Item(Relation(name, entry.relation.columns), relation)
    if entry.stream is None or entry.clock is None:
        _report_refusal(entry, item, findings)
        return Item(Relation(name, entry.columns))
    if entry.stream.latest is not None:
        message = f"the times of `{entry.name}` are imprecise, and a SELECT must know what is valid when"
        findings.report("NEEL3307", message, findings.word(item.name, item), "PATTERN queries can read it")
        return Item(Relation(name, entry.stream.columns))
    source = a.Source(written(name), entry.stream, clock=entry.clock, span=item.span)
    return Item(Relation(name, entry.stream.columns, _times(entry.stream)), source, entry.clock)


def _times(stream: Stream) -> tuple[str, ...]:
    """The columns of a declared stream that say when an event is: `*` leaves them to `ts` and `te`."""
    return () if stream.query else tuple(name for name in (stream.start, stream.end) if name)


def _report_refusal(entry: Entry, item: FromStream, findings: Findings) -> None:
    if entry.refusal is not None:
        code, why, hint = entry.refusal
        message = f"query `{entry.name}` cannot serve as a stream: {why}"
        findings.report(code, message, findings.word(item.name, item), hint)


def _agent(item: FromAgent, name: str, catalog: Catalog, findings: Findings, select: Select) -> Item:
    known = find(item.name, catalog.agents)
    inputs = bind_sources(item.inputs, catalog, findings, select)
    if known is None:
        hint = did_you_mean(item.name, catalog.agents, "agents") or "register it: register_agent(name, ...)"
        findings.report("NEEL3306", f"unknown agent `{item.name}`", findings.word(item.name, item), hint)
        return Item(Relation(name, None))
    agent, columns = catalog.agents[known]
    if agent.inputs is not None and agent.inputs != len(inputs):
        message = f"`{known}` reads {agent.inputs} streams, not {len(inputs)}"
        findings.report("NEEL3306", message, findings.at(item), None)
    for one, said in zip(inputs, item.inputs, strict=True):
        if isinstance(one.operator, a.Relation):
            message = f"`{one.relation.name}` is a relation, and agents read streams"
            findings.report("NEEL3301", message, findings.at(said), "correlate it with a stream before")
    clock = joined_clock(inputs)
    operators = tuple(_whole(one) for one in inputs if one.operator is not None)
    if len(operators) < len(inputs) or clock is None:
        return Item(Relation(name, columns), None, clock)
    functions = agent.function, agent.rows
    made = a.Agent(operators, written(name), known, columns, *functions, clock=clock, span=item.span)
    return Item(Relation(name, columns), made, clock)


def _whole(item: Item) -> a.Operator:
    """An input of an agent: its payload without the columns of its times, which come besides."""
    assert item.operator is not None
    kept = [one for one in item.operator.payload if bare(one.name) not in item.relation.times]
    outputs = tuple(OutputColumn(bare(one.name), one, one.type) for one in kept)
    return a.Projection(item.operator, written(item.relation.name), outputs)
