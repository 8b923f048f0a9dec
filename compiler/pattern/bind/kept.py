"""Which matches are kept: AFTER MATCH SKIP, ONE MATCH PER and SUPPRESS, with their names resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from neelc.findings import Findings
from neelc.ir.names import bare
from neelc.ir.node import Node
from neelc.ir.patterns import Window
from neelc.ir.program import Clock
from neelc.ir.script import KeptMatches, MatchSkip, PatternQuery
from neelc.pattern.bind.scopes import ExpressionScope, lookup
from neelc.pattern.bind.windows import bind_window
from neelc.source import Span


def bind_kept(
    query: PatternQuery,
    place: ExpressionScope,
    partition: tuple[str, ...],
    clock: Clock | None,
    is_imprecise: bool,
) -> KeptMatches | None:
    """The clauses with the variables that they name, and what keeps matches apart; what is wrong with them is
    reported."""
    kept = query.kept
    if kept is None:
        return None
    _refuse(query, kept, is_imprecise, place.findings)
    one_per = tuple(_variable(name, kept, place) or name for name in kept.one_per)
    order = tuple(dict.fromkeys(v.name for v in place.scopes.results()))
    return KeptMatches(
        tuple(dict.fromkeys(one_per)),
        _skip(kept.skip, place),
        None if kept.suppress is None else _length(kept.suppress, clock, place.findings),
        partition,
        order,
        span=kept.span,
    )


def _skip(skip: MatchSkip | None, place: ExpressionScope) -> MatchSkip | None:
    if skip is None or skip.variable is None:
        return skip
    return replace(skip, variable=_variable(skip.variable, skip, place) or skip.variable)


def _variable(name: str, clause: Node, place: ExpressionScope) -> str | None:
    """The variable of a match that a clause names; None after a report."""
    findings = place.findings
    span = findings.at(name, clause)
    for meant in place.scopes.meant(name, ()):
        if meant.negations:
            message = f"`{name}` belongs to a negative part, so a match has no event for it"
            findings.report("NEEL3033", message, span, "name a variable of a positive part")
            return None
        if meant.closures:
            closure = next(v.name for v in place.scopes.variables if v.path == meant.closures[0])
            message = f"`{name}` is bound again in each iteration of `{closure}`"
            findings.report("NEEL3033", message, span, f"name the list of all iterations: {bare(closure)}")
            return None
    found = lookup(name, span, replace(place, in_return=True))
    return None if found is None else found.name


def _length(window: Window, clock: Clock | None, findings: Findings) -> Window | None:
    """How long matches are dropped after one that is kept."""
    if window.unit == "EVENT":
        message = "SUPPRESS takes a length of time, not a number of events"
        findings.report("NEEL3033", message, findings.at(window), "for example SUPPRESS 1 HOUR")
        return None
    return bind_window(window, clock, findings)


def _refuse(query: PatternQuery, kept: KeptMatches, is_imprecise: bool, findings: Findings) -> None:
    for what, span, hint in _refused(query, is_imprecise):
        message = f"{_words(kept)} is not defined for {what}"
        findings.report("NEEL3033", message, findings.at(span, kept, query), hint)


def _refused(query: PatternQuery, is_imprecise: bool) -> Iterator[tuple[str, Span | None, str]]:
    if query.partial:
        hint = "leave out one of them: only one match per start is kept anyway"
        yield "partial matches", query.partial_keyword, hint
    if query.returns is not None and query.returns.collapsed:
        hint = "leave out COLLAPSED: each of its rows stands for several matches"
        yield "RETURN COLLAPSED", query.returns.collapsed_keyword, hint
    if is_imprecise or query.confidence is not None:
        confidence = query.confidence
        yield (
            "imprecise times",
            None if confidence is None else confidence.span,
            "it is not certain which match comes first; choose among the results",
        )


def _words(kept: KeptMatches) -> str:
    """The first of the clauses that are there."""
    if kept.one_per:
        return "ONE MATCH PER"
    return "AFTER MATCH SKIP" if kept.skip else "SUPPRESS"
