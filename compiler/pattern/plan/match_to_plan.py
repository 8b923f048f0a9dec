"""From a rewritten query to the steps that find its matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import EventTime, Expr, Literal, conjuncts
from neelc.ir.node import remembered, walk
from neelc.ir.patterns import all_parts, may_be_empty, targets
from neelc.ir.program import Match, Stream
from neelc.ir.script import SelectionStrategy
from neelc.pattern.analysis.keys import Key
from neelc.pattern.analysis.regions import QueryFacts
from neelc.pattern.plan.blocks import Block, UnsupportedQuery, block_variables, event_names, keyed_attributes
from neelc.pattern.plan.blocks_to_steps import blocks_to_steps
from neelc.pattern.plan.columns import LONGEST, event_roles, stream_unit, width_of, without_key_equalities
from neelc.pattern.plan.pattern_to_blocks import pattern_to_blocks
from neelc.pattern.plan.plan import Plan, PlanStep
from neelc.pattern.plan.runs.plan import follow_steps, without_late_conditions
from neelc.pattern.rules.rule import RefusalReason
from neelc.pattern.rules.when_complete_to_condition import when_complete_to_condition
from neelc.runtime.program import EventName, Present, RepeatStep, Take, base_of, is_composite, names_of_step
from neelc.syntax.print_patterns import as_written

# Queries over imprecise times: which of them dynamic programming can weigh, and which are not executed.
#
# It weighs lists of events in one order, a window around all of them, and single events that must not be in a
# gap (docs/decisions/0038). For most other queries, all combinations of the times of the events of a match
# are made (docs/decisions/0157). The rest is refused here, by name.


def is_certain_enough(query: Match) -> bool:
    """Whether a match in all worlds has the required confidence: it has, except for > 1.

    >>> from pattern_examples import query
    >>> [is_certain_enough(query(f"A a WITH CONFIDENCE {required}")) for required in (">= 1", "> 0.5", "> 1")]
    [True, True, False]
    """
    if query.confidence is None or query.confidence.op != ">":
        return True
    threshold = query.confidence.threshold
    return isinstance(threshold, Literal) and threshold.value != 1


def refuse(query: Match, unit: str) -> None:
    """Raise `UnsupportedQuery` if the query requires more than can be weighed."""
    for what in _refusals(query, unit):
        raise UnsupportedQuery(f"{what} over imprecise times", query.pattern.span)


def _refusals(query: Match, unit: str) -> Iterator[str]:
    if query.strategy != SelectionStrategy.ANY_MATCH:
        yield query.strategy
    yield from (what for stream in query.streams for what in _of_stream(stream, unit))
    for part in all_parts(query.pattern):
        for condition in conjuncts(part.where):
            if any(isinstance(node, EventTime) for node in walk(condition)):
                yield f"the condition `{condition}` on times"
    closures = [part for part in all_parts(query.pattern) if isinstance(part, p.Repeat)]
    if any(part.gaps or part.each_within for part in closures):
        yield "EACH, UNTIL or WITHOUT"
    if any(isinstance(inner, p.Repeat) for part in closures for inner in all_parts(part.part)):
        yield "a closure inside of a closure"
    yield from _of_negations(query, unit)


def _of_stream(stream: Stream, unit: str) -> Iterator[str]:
    if stream.end is not None or stream.query is not None:
        yield f"events that last ({stream.name})"
    if stream.latest is not None and stream_unit(stream) != unit:
        yield f"times of another unit ({unit.lower()}s beside those of {stream.name})"


def is_one_sequence(query: Match) -> bool:
    """Whether each match is a list of events in one order, within one window, with single events that must
    not be in its gaps: then dynamic programming weighs it.

    >>> from pattern_examples import query
    >>> texts = "SEQ(A a, !N n, OR(B b, C+ c[]))", "SEQ(A a, AND(B b, C c))", "SEQ(A a, !SEQ(B b, N n), C c)"
    >>> [is_one_sequence(query(text)) for text in texts]
    [True, False, False]
    """
    if query.collapsed or (query.within is not None and query.within.unit == "EVENT"):
        return False
    parts = tuple(all_parts(query.pattern))
    variables = Counter(part.variable for part in parts if isinstance(part, p.Event | p.Repeat))
    # Branches of an OR that share a variable have more than one place for it.
    shared = any(count > 1 for name, count in variables.items() if name is not None)
    return not shared and all(map(_is_in_sequence, parts))


def _is_in_sequence(part: p.Pattern) -> bool:
    match part:
        case p.Event() | p.Seq() | p.Or() | p.Optional() | p.Not(p.Event()) | p.Repeat(p.Event()):
            return part.within is None
    return False


def _of_negations(query: Match, unit: str) -> Iterator[str]:
    """A negation that may come first or last looks as far as the window reaches."""
    if query.within is not None and query.within.unit == "EVENT":
        return
    width = LONGEST if query.within is None else width_of(query.within, unit)[0]
    if width < LONGEST:
        return
    for part in all_parts(query.pattern):
        if not isinstance(part, p.Seq):
            continue
        for place, inner in enumerate(part.parts):
            around = part.parts[:place], part.parts[place + 1 :]
            # Inside of another SEQ it has neighbours there; that it may have them is not looked into.
            if isinstance(inner, p.Not) and any(all(map(may_be_empty, side)) for side in around):
                yield f"the negation `{as_written(inner)}` at an end, without a window,"


# RETURN COLLAPSED: for each choice of the single variables, the union of the lists that go with it.
#
# The kernel unites the lists of all matches. Often it needs no more than lists of one element for that.


def collapsed(plan: Plan) -> Plan:
    """The plan for a query that collapses its matches. Unless one event starts all matches of a choice, they
    can begin far from one another: then time must not be cut."""
    for step in plan.steps:
        if isinstance(step, RepeatStep) and is_composite(step.names, step.variable):
            raise UnsupportedQuery("RETURN COLLAPSED with a closure of a composite")
    steps = tuple(
        replace(step, most=1) if isinstance(step, RepeatStep) and one_is_enough(step, plan.steps) else step
        for step in plan.steps
    )
    return replace(plan, steps=steps, reach=plan.reach if plan.leader else None, collapsed=True)


def one_is_enough(step: RepeatStep[Expr], steps: tuple[PlanStep, ...]) -> bool:
    """Whether an element of any list is also a list by itself.

    So it is if no condition is about the list as a whole or about its first element alone, and no negation
    looks at where the list begins or ends: what holds for an element in a list holds for it alone, since
    conditions that look back hold for the first element by definition.
    """
    if step.least > 1 or not set(_conditions(step.first)) <= set(_conditions(step.next)):
        return False
    others = (other for other in steps if other is not step and not drops_early(other))
    return not any(base_of(name) == step.variable for other in others for name in _named(other))


def drops_early(step: PlanStep) -> bool:
    """Whether a step only drops what cannot become a match: it has names of its own."""
    return isinstance(step, Present) and not step.part


def _conditions(steps: tuple[PlanStep, ...]) -> Iterator[object]:
    for step in steps:
        match step:
            case Take(where=where):
                yield from where
            case _:
                yield step


def _named(step: PlanStep) -> Iterator[EventName]:
    """What a step looks at; where the next list may begin is no matter."""
    if isinstance(step, RepeatStep):
        for inner in (*step.first, *step.next):
            match inner:
                case Take(where=where, differs=differs):
                    yield from (name for condition in where for name in event_names(condition))
                    yield from differs
                case _:
                    yield from names_of_step(inner, event_names)
    else:
        yield from names_of_step(step, event_names)


def match_to_plan(
    query: Match,
    keys: tuple[Key, ...],
    unit: str,
    contiguous: bool = False,
    postpones: bool = True,
    follows: bool = False,
    first: tuple[str, ...] = (),
) -> Plan:
    """The steps of a query whose events are partitioned by `keys`; raises `UnsupportedQuery`. Events of the
    variables `first` are taken first, in this order.

    The steps of a `contiguous` plan do not check contiguity: its executor must. One that `postpones`
    puts lists together last. One that `follows` has runs for the strategies other than SKIP TILL ANY MATCH.

    >>> from pattern_examples import query
    >>> plan = match_to_plan(query("SEQ(A a, !SEQ(B b, C c), D d) WHERE d.x > 1 WITHIN 9"), (), "MILLISECOND")
    >>> plan.leader, plan.reach, plan.looks_back, [role.name for role in plan.roles]
    ('a', 9, False, ['A', 'd', 'B', 'C'])
    """
    follows = follows and query.strategy != SelectionStrategy.ANY_MATCH
    return _planned(query, keys, unit, contiguous, postpones, follows, first)


@remembered  # joins and kernels most often need the same plan
def _planned(
    query: Match,
    keys: tuple[Key, ...],
    unit: str,
    contiguous: bool,
    postpones: bool,
    follows: bool,
    first: tuple[str, ...],
) -> Plan:
    _refuse(query, contiguous, follows)
    block, repeats = pattern_to_blocks(query, unit)
    block = without_key_equalities(block, keys)
    facts = QueryFacts(lambda: query)
    roles = event_roles(
        without_late_conditions(block) if follows else block, {type.name: type for type in query.types}
    )
    variables = block_variables(block, facts, keyed_attributes(keys))
    neighbours = follows and query.strategy.is_contiguous
    if neighbours:
        # Events that are in no match lie between others as well.
        variables = replace(variables, lasting=any(stream.end or stream.query for stream in query.streams))
    width, counted = (None, False) if query.within is None else width_of(query.within, unit)
    counts = counted or any(window.counted for item in block.all_items() for window in item.within)
    if follows:
        steps = follow_steps(block, variables, roles, neighbours)
    else:
        # Events that follow one another are found one after the other.
        steps = blocks_to_steps(
            block, variables, roles, shares=not contiguous, postpones=postpones, first=first
        )
    plan = Plan(
        steps,
        roles.roles,
        targets(query.pattern),
        unit,
        reach=None if counts else width,
        counted=counts,
        everything=counts or neighbours,
        lasting=variables.lasting,
        looks_back=_looks_back(block),
        leader=_leader(block),
        unique=repeats,
    )
    return collapsed(plan) if query.collapsed else plan


def _refuse(query: Match, contiguous: bool, follows: bool) -> None:
    is_direct = query.strategy.is_contiguous if contiguous else query.strategy == SelectionStrategy.ANY_MATCH
    if not follows and not is_direct:
        raise UnsupportedQuery(query.strategy)
    if query.is_imprecise:
        raise UnsupportedQuery("an imprecise timestamp")
    if query.complete:
        refused = when_complete_to_condition(query)
        why = f", where {refused.reason}" if isinstance(refused, RefusalReason) else ""
        raise UnsupportedQuery(f"WHEN COMPLETE{why}")
    if not is_certain_enough(query):
        raise UnsupportedQuery("a confidence of more than 1")
    facts = QueryFacts(lambda: query)
    for part in all_parts(query.pattern):
        if isinstance(part, p.Exists) and facts.found_in_closures(part.variables, part.part):
            what = "EXISTS of an event that a negation inside of a closure could find"
            raise UnsupportedQuery(what, part.span)


def _leader(block: Block) -> EventName | None:
    """The variable whose event comes before all others, in every match."""
    if not block.items or block.items[0].when or block.items[0].loop:
        return None
    first, rest = block.items[0].variable, block.items[1:]
    return first if all(first in item.after for item in rest) else None


def _looks_back(block: Block, around: frozenset[EventName] = frozenset()) -> bool:
    """Whether a check can look at events before the start of the match; `around` is surely bound."""
    sure = around | {
        item.variable for item in block.items if not item.when and (item.loop is None or item.loop.least > 0)
    }
    if any(not sure & set(item.after) for check in block.checks for item in check.all_items()):
        return True
    return any(_looks_back(item.loop.body, sure) for item in block.items if item.loop is not None)
