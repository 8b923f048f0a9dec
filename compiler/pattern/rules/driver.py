"""Runs batches of rules. The driver owns recursion, order and fixpoint; rules see one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from neelc.ir.node import map_children
from neelc.ir.patterns import Pattern, inner_parts
from neelc.ir.program import Match, NamedQuery, Program
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.rules.batches import MEMBERS, NORMALISE, ORDER, SIMPLIFY, UNUSED
from neelc.pattern.rules.rule import Batch, PartRule, QueryRule, Refusal, RefusalReason, Rewriting, RuleStep

Rebuild = Callable[[Pattern], Match]


class RuleLoop(Exception):
    """Rules that undo each other: our own bug."""


@dataclass
class RuleLog:
    """What happened so far; refusals are those of the latest pass."""

    steps: list[RuleStep] = field(default_factory=list)
    refusals: dict[Refusal, None] = field(default_factory=dict)

    def fired(self, rule: PartRule | QueryRule, query: Match, *parts: Pattern) -> None:
        self.steps.append(RuleStep(rule.__name__, query, *parts))

    def refused(self, rule: PartRule | QueryRule, refused: RefusalReason) -> None:
        self.refusals[Refusal(rule.__name__, refused.reason, refused.part)] = None


def rewrite(query: Match, batches: Iterable[Batch]) -> Rewriting:
    """The query after all batches, in order, with the steps that led there."""
    log = RuleLog()
    refusals: dict[Refusal, None] = {}
    for batch in batches:
        query = _run(batch, query, log)
        refusals.update(log.refusals)
    return Rewriting(query, tuple(log.steps), tuple(refusals))


def _run(batch: Batch, query: Match, log: RuleLog) -> Match:
    for _ in range(batch.most):
        log.refusals.clear()
        before, fired = query, len(log.steps)
        if batch.parts:
            query = replace(query, pattern=_visit(batch, query.pattern, _in(query), log))
        for rule in batch.queries:
            query = _apply_to_query(rule, query, log)
        if len(log.steps) == fired:
            return before
    raise RuleLoop(_no_end(batch, log))


def _no_end(batch: Batch, log: RuleLog) -> str:
    last = ", ".join(step.rule for step in log.steps[-5:])
    return f"batch {batch.name} came to no end in {batch.most} passes; the last rules were {last}"


def _in(query: Match) -> Rebuild:
    return lambda pattern: replace(query, pattern=pattern)


def _visit(batch: Batch, part: Pattern, rebuild: Rebuild, log: RuleLog) -> Pattern:
    """`part` with the rules applied to everything in it, innermost first, and then to itself."""
    for old in tuple(inner_parts(part)):
        part = _put(part, old, _visit(batch, old, partial(_around, rebuild, part, old), log))
    for _ in range(batch.most):
        changed = _apply(batch.parts, part, rebuild, log)
        if changed is None:
            return part
        part = changed
    raise RuleLoop(_no_end(batch, log))


def _around(rebuild: Rebuild, outer: Pattern, old: Pattern, new: Pattern) -> Match:
    return rebuild(_put(outer, old, new))


def _apply(rules: tuple[PartRule, ...], part: Pattern, rebuild: Rebuild, log: RuleLog) -> Pattern | None:
    """What the first rule that fires makes of the part."""
    facts = QueryFacts(partial(rebuild, part))
    for rule in rules:
        found = rule(part, facts)
        if isinstance(found, RefusalReason):
            log.refused(rule, replace(found, part=found.part or part))
        elif found is not None and found != part:
            log.fired(rule, rebuild(found), part, found)
            return found
    return None


def _put(outer: Pattern, old: Pattern, new: Pattern) -> Pattern:
    """`outer` with `new` in the place of its part `old`; which is told by identity, as parts may be equal."""
    return outer if old is new else map_children(outer, lambda child: new if child is old else child)


def _apply_to_query(rule: QueryRule, query: Match, log: RuleLog) -> Match:
    found = rule(query)
    if isinstance(found, RefusalReason):
        log.refused(rule, found)
    elif found is not None and found != query:
        log.fired(rule, found)
        return found
    return query


# The forms a query can be executed in: alternatives that cost decides between.


@dataclass(frozen=True)
class QueryForm:
    """A way to write a query: `name` says what was done to it after it was simplified."""

    name: str
    rewriting: Rewriting


FORMS: dict[str, tuple[Batch, ...]] = {
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
    # Which of several partial matches is kept depends on the times of all their events.
    is_stream = is_stream or query.partial is not None
    simple = rewrite(query, SIMPLIFY if is_stream else (*SIMPLIFY, *UNUSED))
    found: list[QueryForm] = []
    for name, batches in FORMS.items():
        more = rewrite(simple.query, batches)
        refusals = tuple(dict.fromkeys((*simple.refusals, *more.refusals)))
        if not any(known.rewriting.query == more.query for known in found):
            found.append(QueryForm(name, Rewriting(more.query, (*simple.steps, *more.steps), refusals)))
    return tuple(found)
