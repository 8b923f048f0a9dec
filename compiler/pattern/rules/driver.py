"""Rewrites a query by batches of rules, and gives the forms in which it can be executed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from functools import partial

from neelc.ir.node import remembered
from neelc.ir.patterns import ClosureGap, Pattern, inner_parts
from neelc.ir.program import Match, NamedQuery, Program
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.batches import MEMBERS, NORMALISE, OPERATORS_IN, ORDER, SIMPLIFY, UNUSED
from neelc.pattern.rules.rule import (
    PartRule,
    PatternBatch,
    QueryRule,
    Refusal,
    RefusalReason,
    Rewriting,
    RuleStep,
)
from neelc.rewriting import TreePass, until_none_fires
from neelc.runtime.late_dataclass import dataclass


@dataclass
class RuleLog:
    """What happened so far; refusals are those of the latest pass."""

    steps: list[RuleStep] = field(default_factory=list)
    refusals: dict[Refusal, None] = field(default_factory=dict)

    def fired(self, rule: PartRule | QueryRule, query: Match, *parts: Pattern) -> None:
        self.steps.append(RuleStep(rule.__name__, query, *parts))

    def refused(self, rule: PartRule | QueryRule, refused: RefusalReason) -> None:
        self.refusals[Refusal(rule.__name__, refused.reason, refused.part)] = None


def rewrite(query: Match, batches: Iterable[PatternBatch]) -> Rewriting:
    """The query after all batches, in order, with the steps that led there."""
    log = RuleLog()
    refusals: dict[Refusal, None] = {}
    for batch in batches:
        query = _run(batch, query, log)
        refusals.update(log.refusals)
    return Rewriting(query, tuple(log.steps), tuple(refusals))


def _run(batch: PatternBatch, query: Match, log: RuleLog) -> Match:
    parts = TreePass(batch, rewritten_parts, partial(_apply, batch.parts, log), log.steps)

    def one_pass(query: Match) -> Match:
        log.refusals.clear()
        if batch.parts:
            query = replace(query, pattern=parts.visit(query.pattern, partial(_with_pattern, query)))
        for rule in batch.wholes:
            query = _apply_to_query(rule, query, log)
        return query

    return until_none_fires(batch, query, one_pass, log.steps)


def rewritten_parts(part: Pattern) -> Iterable[Pattern]:
    """The parts of a part that rules are tried on: what a closure must lack stays as it is."""
    return (inner for inner in inner_parts(part) if not isinstance(inner, ClosureGap))


def _with_pattern(query: Match, pattern: Pattern) -> Match:
    return replace(query, pattern=pattern)


def _apply(
    rules: tuple[PartRule, ...], log: RuleLog, part: Pattern, rebuild: Callable[[Pattern], Match]
) -> Pattern | None:
    """What the first rule that fires makes of the part."""
    facts = QueryFacts(partial(rebuild, part))
    there = operators_in(part)
    for rule in rules:
        if not there.issuperset(OPERATORS_IN.get(rule, ())):
            continue
        result = rule(part, facts)
        if isinstance(result, RefusalReason):
            log.refused(rule, replace(result, part=result.part or part))
        elif result is not None and result != part:
            log.fired(rule, rebuild(result), part, result)
            return result
    return None


@remembered
def operators_in(part: Pattern) -> frozenset[type[Pattern]]:
    """The operators of a part and of all that is in it."""
    return frozenset((type(part), *(kind for inner in inner_parts(part) for kind in operators_in(inner))))


def _apply_to_query(rule: QueryRule, query: Match, log: RuleLog) -> Match:
    result = rule(query)
    if isinstance(result, RefusalReason):
        log.refused(rule, result)
    elif result is not None and result != query:
        log.fired(rule, result)
        return result
    return query


# The forms a query can be executed in: alternatives that cost decides between.


@dataclass(frozen=True)
class QueryForm:
    """A way to write a query: `name` says what was done to it after it was simplified."""

    name: str
    rewriting: Rewriting


FORMS: dict[str, tuple[PatternBatch, ...]] = {
    "simplified": (),
    "normal form": NORMALISE,
    "every order of AND": ORDER,
    "every member of a concept": MEMBERS,
}


def has_readers(query: NamedQuery, program: Program) -> bool:
    """Whether other queries of a script read the query as a stream."""
    readers = (stream.query for other in program.queries for stream in other.query.streams)
    return query.name is not None and query.name in readers


def forms(query: Match, is_stream: bool = False) -> tuple[QueryForm, ...]:
    """The query simplified, and every other form that differs from those before it.

    `is_stream` says that other queries read it as a stream: see `has_readers`.
    """
    # Which of several matches is kept depends on the times of all their events.
    is_stream = is_stream or query.partial is not None or query.kept is not None
    simple = rewrite(query, SIMPLIFY if is_stream else (*SIMPLIFY, *UNUSED))
    distinct: list[QueryForm] = []
    for name, batches in FORMS.items():
        more = rewrite(simple.query, batches)
        refusals = tuple(dict.fromkeys((*simple.refusals, *more.refusals)))
        if not any(form.rewriting.query == more.query for form in distinct):
            distinct.append(QueryForm(name, Rewriting(more.query, (*simple.steps, *more.steps), refusals)))
    return tuple(distinct)
