"""A pattern query becomes a `Match`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.catalog.catalog import Catalog
from neelc.findings import Findings, did_you_mean
from neelc.ir.expressions import Expr, SameAttributes
from neelc.ir.expressions import flat_conjuncts as conjuncts
from neelc.ir.names import bare, find
from neelc.ir.patterns import (
    KEYWORD_OF,
    And,
    AndNeg,
    ClosureGap,
    Event,
    Exists,
    Listing,
    Not,
    Optional,
    Or,
    Pattern,
    Repeat,
    Seq,
    all_parts,
    inner_parts,
    targets,
)
from neelc.ir.program import Clock, Match, OutputColumn
from neelc.ir.script import PatternQuery, SelectionStrategy
from neelc.ir.types import DataType
from neelc.pattern.bind.components import QuerySources, named, sources_of, with_parts
from neelc.pattern.bind.conditions import bind_conditions, shared_attributes
from neelc.pattern.bind.following import (
    check_following,
    speaks_of_following,
    with_negations,
    with_types_for_words,
)
from neelc.pattern.bind.kept import bind_kept
from neelc.pattern.bind.levels import check_levels, with_derived_attributes
from neelc.pattern.bind.ordering import bind_order
from neelc.pattern.bind.outputs import Outputs, bind_outputs
from neelc.pattern.bind.partial import check_partial, own_columns, partial_matches
from neelc.pattern.bind.scopes import ExpressionScope, Path, Scopes, is_inside, scopes_of
from neelc.pattern.bind.windows import bind_confidence, bind_end, bind_window, check_collapsed, check_strategy

# What a pattern must obey, whatever its conditions say.

MOST_ELEMENTS = 2**31 - 1
"""The longest list that Spark has room for."""


def check_pattern(scopes: Scopes, has_window: bool, findings: Findings) -> None:
    """Report every rule that a named pattern breaks."""
    root = scopes.pattern
    if isinstance(root, Not):
        _misplaced(root, "the whole pattern", findings)
    _check_part(root, (), scopes, findings)
    _check_bounds(root, has_window, has_window, findings)
    lost = [v for v in scopes.variables if v.dropped is not None and not v.negations and not v.closures]
    if lost and not scopes.results():
        findings.report(
            "NEEL3008",
            "EXISTS drops every variable, so a match would bind no event",
            findings.at(root),
            f"leave one of them in, for example {lost[0].name}",
        )


def _check_part(node: Pattern, path: Path, scopes: Scopes, findings: Findings) -> None:
    match node:
        case Listing(parts):
            _check_list(node, parts, findings)
        case Exists(variables, part):
            if isinstance(part, Not):
                _misplaced(part, "the part of an EXISTS", findings)
            else:
                _check_exists(node, variables, path, scopes, findings)
        case Repeat(part, least, most):
            _check_repeat(node, part, least, most, findings)
        case Optional(Not() as part):
            _misplaced(part, "an optional part", findings)
    for i, part in enumerate(inner_parts(node)):
        _check_part(part, (*path, i), scopes, findings)


def _misplaced(node: Not, what: str, findings: Findings) -> None:
    hint = "add a positive part: SEQ(A a, !B b, C c)"
    findings.report(
        "NEEL3005",
        f"{what} cannot be negative: `!` can only precede a part of SEQ or AND",
        findings.at(node),
        hint,
    )


def _check_list(node: Listing, parts: tuple[Pattern, ...], findings: Findings) -> None:
    operator = KEYWORD_OF[type(node)]
    if isinstance(node, Or):
        for part in parts:
            if isinstance(part, Not):
                _misplaced(part, "a branch of OR", findings)
    if not parts or (not isinstance(node, Or) and all(isinstance(part, Not) for part in parts)):
        hint = (
            f"add a positive part: {operator}(A a, !B b)"
            if operator != "AND_NEG"
            else "AND_NEG(A a, !C c, B b)"
        )
        findings.report("NEEL3001", f"{operator} has no positive part", findings.at(node), hint)
    elif isinstance(node, AndNeg):
        positive = [i for i, part in enumerate(parts) if not isinstance(part, Not)]
        for i, part in enumerate(parts):
            if isinstance(part, Not) and not positive[0] < i < positive[-1]:
                message = "a negative part of AND_NEG must be between two positive parts"
                hint = "put it between them, or use AND(...) with WITHIN"
                findings.report("NEEL3006", message, findings.at(part, node), hint)


def _check_exists(
    node: Exists, names: tuple[str, ...], path: Path, scopes: Scopes, findings: Findings
) -> None:
    inside = [v for v in scopes.variables if is_inside(v.path, path)]
    dropped = [v.name for v in inside if v.dropped == path]
    visible = [bare(v.name) for v in inside if not v.dropped or v.dropped == path]
    for name in names:
        if find(name, dropped) is not None:
            continue
        span = findings.at(name, node)
        hidden = next((v for v in inside if find(name, [v.name])), None)
        if hidden is None:
            hint = did_you_mean(name, visible, "its variables")
            findings.report(
                "NEEL3007", f"EXISTS drops `{name}`, but its part has no such variable", span, hint
            )
        else:
            why = (
                "another EXISTS drops it"
                if hidden.dropped
                else "it is not visible outside its own part anyway"
            )
            findings.report("NEEL3007", f"EXISTS cannot drop `{name}`: {why}", span, "leave it out")


def _short(number: int) -> str:
    return f"{number:,}" if number < 10**15 else "more than 10^15"


def _check_repeat(node: Repeat, part: Pattern, least: int, most: int | None, findings: Findings) -> None:
    span = findings.at(node)
    if least < 0 or most == 0:
        hint = "!B b means that there is none; B* b[] allows none"
        findings.report("NEEL3016", "a repetition of nothing binds no event", span, hint)
    elif most is not None and most < least:
        message = f"at least {least} and at most {most} times is impossible"
        findings.report("NEEL3016", message, span, f"write {{{most},{least}}}")
    elif max(least, most or 0) > MOST_ELEMENTS:
        hint = "B{1,} b[] has no upper bound"
        number = _short(max(least, most or 0))
        message = f"a list has at most {MOST_ELEMENTS:,} elements, and here it would have {number}"
        findings.report("NEEL3090", message, span, hint)
    if isinstance(part, Not):
        _misplaced(part, "what repeats", findings)
    elif can_be_empty(part):
        hint = "make one of its parts required: every iteration of a closure binds an event"
        findings.report("NEEL3017", "what repeats here can be empty", findings.at(part, node), hint)


def can_be_empty(node: Pattern, dropped: tuple[str, ...] = ()) -> bool:
    """Whether a match of the part may bind no event; those that EXISTS drops are not bound.

    >>> from neelc.syntax import pattern
    >>> [can_be_empty(pattern(p)) for p in ("SEQ(A? a, B b)", "SEQ(A? a, !B b)", "EXISTS a : A a")]
    [False, True, True]
    """
    match node:
        case Event(variable=variable):
            return variable is not None and find(variable, dropped) is not None
        case Or(parts):
            return any(can_be_empty(part, dropped) for part in parts)
        case Exists(variables, part):
            return can_be_empty(part, (*dropped, *variables))
        case Repeat(part, least, variable=variable):
            named = variable is not None and find(variable, dropped) is not None
            return named or least == 0 or can_be_empty(part, dropped)
        case Optional() | Not():
            return True
    return all(can_be_empty(part, dropped) for part in inner_parts(node) if not isinstance(part, Not))


def _check_bounds(node: Pattern, left: bool, right: bool, findings: Findings) -> None:
    """Report negative parts whose scope has no end; `left` and `right` say whether that of `node` has one."""
    if node.within is not None:
        left = right = True
    match node:
        case Seq(parts):
            firm = [not isinstance(part, Not) and not can_be_empty(part) for part in parts]
            for i, part in enumerate(parts):
                before, after = left or any(firm[:i]), right or any(firm[i + 1 :])
                open_side = (() if before else parts[:i]) + (() if after else parts[i + 1 :])
                beside = "SEQ" if all(isinstance(p, Not) for p in open_side) else "optional"
                _check_bounded(part, before, after, beside, findings)
        case And(parts):
            for part in parts:
                _check_bounded(part, left, right, "AND", findings)
        case AndNeg(parts):
            for part in parts:
                bounded = isinstance(part, Not)
                _check_bounded(part, bounded or left, bounded or right, "AND_NEG", findings)
        case ClosureGap(part):
            _check_bounds(part, True, True, findings)
        case _:
            for part in inner_parts(node):
                _check_bounds(part, left, right, findings)


def _check_bounded(part: Pattern, left: bool, right: bool, place: str, findings: Findings) -> None:
    """`place` is the operator around the part, or says that only parts that can be empty might bound it."""
    if not isinstance(part, Not):
        _check_bounds(part, left, right, findings)
        return
    if not (left and right):
        edge = "leading" if right else "trailing" if left else "lone"
        what = {
            "AND": "a negative part of AND",
            "optional": "beside parts that can be empty, a negative part",
        }.get(place, f"a {edge} negative part")
        message = f"{what} looks as far as the window reaches, but there is no window"
        findings.report("NEEL3004", message, findings.at(part), "add WITHIN, for example WITHIN 10 MINUTES")
    _check_bounds(part.part, True, True, findings)


def bind_query(query: PatternQuery, catalog: Catalog, findings: Findings) -> Match | None:
    """The query with every name resolved; None if something in it has been reported."""
    before = len(findings.diagnostics)
    derived = with_derived_attributes(query, catalog, findings)
    query, catalog = with_types_for_words(derived.query, derived.catalog), derived.catalog
    given = named(query.pattern, findings)
    sources = sources_of(query, given.pattern, catalog, findings)
    pattern = _with_windows(given.pattern, sources.own_clock, findings)
    scopes = scopes_of(replace(given, pattern=pattern))
    place = ExpressionScope(scopes, sources.types, sources.clock, findings)
    check_pattern(scopes, query.within is not None, findings)

    partition = _partition(query, place)
    same = SameAttributes(partition) if partition else None
    bound = bind_conditions(place, (query.where, same))
    within = None if query.within is None else bind_window(query.within, sources.own_clock, findings)
    strategy = query.strategy or SelectionStrategy.ANY_MATCH
    has_words = speaks_of_following(query)
    _check_following(query, bound, partition, findings)
    if strategy == SelectionStrategy.PARTITION and not partition:
        partition = tuple(_same_attributes(bound.where))
        _require_partition(query, partition, before, findings)
    returns, is_collapsed = query.returns, _check_collapsed(query, scopes, findings)
    is_imprecise = any(one.stream is not None and one.stream.latest is not None for one in sources.entries)
    wide = strategy == SelectionStrategy.ANY_MATCH and _has_closure(pattern) and not is_collapsed
    outputs = bind_outputs(returns, replace(place, in_return=True, wide=wide), is_imprecise)
    confidence = bind_confidence(query.confidence, findings)
    order = bind_order(query, _all_columns(query, outputs, sources), findings)
    _check_clauses(query, outputs, sources, is_imprecise, findings)
    apart = partition or tuple(dict.fromkeys(_same_attributes(bound.where)))
    kept = bind_kept(query, place, apart, sources.own_clock, is_imprecise)

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
        is_collapsed,
        outputs.aggregated,
        kept=kept,
        complete=query.complete,
        complete_until=bind_end(query.complete_until, sources.clock, findings),
        order=order,
        span=query.span,
    )
    check_levels(match, findings)
    match = with_negations(match, query.among) if has_words else match
    return partial_matches(match, _time_of_start(match, sources)) if query.partial else match


def _all_columns(query: PatternQuery, outputs: Outputs, sources: QuerySources) -> tuple[OutputColumn, ...]:
    """The columns of the result, those of partial matches included."""
    own = own_columns(sources.clock.type) if query.partial and sources.clock else ()
    return (*outputs.columns, *own)


def _check_collapsed(query: PatternQuery, scopes: Scopes, findings: Findings) -> bool:
    """Whether the query collapses its matches; a report if that is not defined."""
    returns = query.returns
    if returns is None or not returns.collapsed:
        return False
    check_collapsed(scopes, findings.at(returns.collapsed_keyword, returns, query), findings)
    return True


def _check_clauses(
    query: PatternQuery, outputs: Outputs, sources: QuerySources, is_imprecise: bool, findings: Findings
) -> None:
    """Report what partial matches, and the end of the data, are not defined for."""
    if query.partial:
        check_partial(query, outputs, is_imprecise, findings)
    if not query.complete or not (is_imprecise or query.partial):
        return
    what = "imprecise times: it is not certain when scopes end" if is_imprecise else "partial matches"
    message, span = f"WHEN COMPLETE is not defined for {what}", findings.at(query.complete_clause, query)
    findings.report("NEEL3034", message, span, "leave out WHEN COMPLETE")


def _has_closure(node: Pattern) -> bool:
    """Whether a match has a list: then the number of matches can double with each event."""
    if isinstance(node, Not):
        return False
    is_list = isinstance(node, Repeat) and node.most != 1
    return is_list or any(map(_has_closure, inner_parts(node)))


def _time_of_start(match: Match, sources: QuerySources) -> DataType:
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
    parts = tuple(_with_windows(part, clock, findings) for part in inner_parts(node))
    changed = with_parts(node, parts)
    if isinstance(changed, Repeat) and changed.each_within is not None:
        within = bind_window(changed.each_within, clock, findings) or changed.each_within
        changed = replace(changed, each_within=within)
    if changed.within is None:
        return changed
    # A window that was reported still bounds the part: no further complaint about negations in it.
    return replace(changed, within=bind_window(changed.within, clock, findings) or changed.within)


def _partition(query: PatternQuery, place: ExpressionScope) -> tuple[str, ...]:
    """The attributes of PARTITION BY."""
    findings = place.findings
    names = [name for name in query.partition_by if isinstance(name, str)]
    spans = {name: findings.at(name, query) for name in names}
    return shared_attributes(spans, place.scopes.pattern, place) or ()


def _same_attributes(where: Expr | None) -> Iterator[str]:
    for conjunct in conjuncts(where):
        if isinstance(conjunct, SameAttributes):
            yield from conjunct.attributes


def _check_following(
    query: PatternQuery, pattern: Pattern, partition: tuple[str, ...], findings: Findings
) -> None:
    """Report where the strategy is not defined, or words of parts have no meaning; and a strategy that cannot
    be the word of other parts: STRICT speaks of the partition."""
    if not speaks_of_following(query):
        check_strategy(query.strategy or SelectionStrategy.ANY_MATCH, pattern, findings)
        return
    strategy = query.strategy or SelectionStrategy.ANY_MATCH
    check_following(pattern, strategy, query.among, findings)
    divided = partition or any(_same_attributes(pattern.where))
    if query.strategy == SelectionStrategy.STRICT and divided:
        message = "STRICT CONTIGUITY ignores the partition, but NEXT, STRICT and EACH look within it"
        hint = "write USING PARTITION CONTIGUITY"
        findings.report("NEEL3041", message, findings.at(query.strategy_keyword, query), hint)


def _require_partition(
    query: PatternQuery, partition: tuple[str, ...], before: int, findings: Findings
) -> None:
    # With other errors around, a `[id]` might be missing only because it was reported.
    if not partition and len(findings.diagnostics) == before:
        findings.report(
            "NEEL3023",
            "PARTITION CONTIGUITY requires a partition, but the query has none",
            findings.at(query.strategy_keyword, query),
            "add PARTITION BY id, or a condition [id]",
        )
