"""A pattern query becomes a `Match`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.bind.catalog import Catalog
from neelc.bind.components import named, parts_of, with_parts
from neelc.bind.conditions import bind_conditions
from neelc.bind.confidence import bind_confidence
from neelc.bind.findings import Findings
from neelc.bind.logic import conjuncts
from neelc.bind.outputs import bind_outputs
from neelc.bind.partial import partial_matches
from neelc.bind.partial_check import check_partial
from neelc.bind.pattern import check_pattern
from neelc.bind.same import shared_attributes
from neelc.bind.scopes import scopes_of
from neelc.bind.sources import Sources, sources_of
from neelc.bind.strategies import ANY, check_collapsed, check_strategy
from neelc.bind.visibility import Place
from neelc.bind.windows import bind_window
from neelc.ir.expr import Expr, Same
from neelc.ir.logical import Clock, Match
from neelc.ir.parts import all_parts, targets
from neelc.ir.pattern import Event, Not, Pattern, Repeat
from neelc.ir.script import PatternQuery
from neelc.ir.types import DataType


def bind_query(query: PatternQuery, catalog: Catalog, findings: Findings) -> Match | None:
    """The query with every name resolved; None if something in it has been reported."""
    before = len(findings.diagnostics)
    given = named(query.pattern, findings)
    sources = sources_of(query, given.pattern, catalog, findings)
    pattern = _with_windows(given.pattern, sources.own_clock, findings)
    scopes = scopes_of(replace(given, pattern=pattern))
    place = Place(scopes, sources.types, sources.clock, findings)
    check_pattern(scopes, query.within is not None, findings)

    partition = _partition(query, place)
    same = Same(partition) if partition else None
    bound = bind_conditions(place, (query.where, same))
    within = None if query.within is None else bind_window(query.within, sources.own_clock, findings)
    strategy = query.strategy or ANY
    check_strategy(strategy, pattern, findings)
    if strategy == "PARTITION CONTIGUITY" and not partition:
        partition = tuple(_same_attributes(bound.where))
        _require_partition(query, partition, before, findings)
    returns = query.returns
    if returns is not None and returns.collapsed:
        check_collapsed(scopes, findings.word("COLLAPSED", returns, query), findings)
    is_imprecise = any(
        entry.stream is not None and entry.stream.latest is not None for entry in sources.entries
    )
    wide = strategy == ANY and _has_closure(pattern) and not (returns is not None and returns.collapsed)
    outputs = bind_outputs(returns, replace(place, in_return=True, wide=wide), is_imprecise)
    confidence = bind_confidence(query.confidence, findings)
    if query.partial:
        check_partial(query, outputs, is_imprecise, findings)

    streams = tuple(entry.stream for entry in sources.entries if entry.stream is not None)
    types = tuple(known.type for known in sources.types.values() if known is not None)
    # A stream or type that is missing without a report here was reported where it was declared.
    complete = len(streams) == len(sources.entries) and len(types) == len(sources.types)
    if len(findings.diagnostics) > before or not complete or sources.clock is None:
        return None
    match = Match(
        bound,
        streams,
        types,
        outputs.columns,
        sources.clock,
        within,
        partition,
        strategy,
        confidence,
        returns is not None and returns.distinct,
        returns is not None and returns.collapsed,
        outputs.aggregated,
        span=query.span,
    )
    return partial_matches(match, _time_of_start(match, sources)) if query.partial else match


def _has_closure(node: Pattern) -> bool:
    """Whether a match has a list: then the number of matches can double with each event."""
    if isinstance(node, Not):
        return False
    is_list = isinstance(node, Repeat) and node.most != 1
    return is_list or any(map(_has_closure, parts_of(node)))


def _time_of_start(match: Match, sources: Sources) -> DataType:
    """The type of the time of events that can be the first of a match."""
    first = next(
        part
        for part in all_parts(match.pattern)
        if isinstance(part, Event) and part.variable in targets(match.pattern)
    )
    known = sources.types[first.type]
    return match.clock.type if known is None or known.clock is None else known.clock.type


def _with_windows(node: Pattern, clock: Clock | None, findings: Findings) -> Pattern:
    """The pattern with the windows of its parts in whole units."""
    parts = tuple(_with_windows(part, clock, findings) for part in parts_of(node))
    changed = with_parts(node, parts)
    if changed.within is None:
        return changed
    # A window that was reported still bounds the part: no further complaint about negations in it.
    return replace(changed, within=bind_window(changed.within, clock, findings) or changed.within)


def _partition(query: PatternQuery, place: Place) -> tuple[str, ...]:
    """The attributes of PARTITION BY."""
    findings = place.findings
    spans = {name: findings.word(name, query, after="PARTITION BY") for name in query.partition_by}
    return shared_attributes(spans, place.scopes.pattern, place) or ()


def _same_attributes(where: Expr | None) -> Iterator[str]:
    for conjunct in conjuncts(where):
        if isinstance(conjunct, Same):
            yield from conjunct.attributes


def _require_partition(
    query: PatternQuery, partition: tuple[str, ...], before: int, findings: Findings
) -> None:
    # With other errors around, a `[id]` might be missing only because it was reported.
    if not partition and len(findings.diagnostics) == before:
        findings.report(
            "NEEL3023",
            "PARTITION CONTIGUITY requires a partition, and the query has none",
            findings.word("PARTITION", query, after="USING"),
            "add PARTITION BY id, or a condition [id]",
        )
