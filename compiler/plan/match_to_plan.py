"""From a rewritten query to the steps that find its matches."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir.logical import Match
from neelc.ir.node import remembered
from neelc.ir.parts import targets
from neelc.plan.blocks import Block
from neelc.plan.blocks_to_steps import blocks_to_steps
from neelc.plan.collapsed import collapsed
from neelc.plan.event_roles import event_roles, without_key_equalities
from neelc.plan.follow_plan import follow_steps, judged_in_time
from neelc.plan.imprecise_refusals import is_certain_enough, is_imprecise
from neelc.plan.known import keyed_attributes, known
from neelc.plan.pattern_to_blocks import pattern_to_blocks
from neelc.plan.steps import Plan
from neelc.plan.unsupported import Unsupported
from neelc.plan.widths import width_of
from neelc.rewrite.facts import ANY_MATCH, Facts
from neelc.rewrite.keys import Key

CONTIGUITY = ("STRICT CONTIGUITY", "PARTITION CONTIGUITY")


def match_to_plan(
    query: Match,
    keys: tuple[Key, ...],
    unit: str,
    contiguous: bool = False,
    postpones: bool = True,
    follows: bool = False,
) -> Plan:
    """The steps of a query whose events are partitioned by `keys`; raises `Unsupported`.

    A plan that is `contiguous` says nothing of that: who executes it must see to it. One that `postpones`
    puts lists together last. One that `follows` has runs for the strategies other than SKIP TILL ANY MATCH.

    >>> from neelc.rewrite.examples import query
    >>> plan = match_to_plan(query("SEQ(A a, !SEQ(B b, C c), D d) WHERE d.x > 1 WITHIN 9"), (), "MILLISECOND")
    >>> plan.leader, plan.reach, plan.looks_back, [role.name for role in plan.roles]
    ('a', 9, False, ['A', 'd', 'B', 'C'])
    """
    return _planned(query, keys, unit, contiguous, postpones, follows and query.strategy != ANY_MATCH)


@remembered  # joins and kernels most often ask for the same plan
def _planned(
    query: Match, keys: tuple[Key, ...], unit: str, contiguous: bool, postpones: bool, follows: bool
) -> Plan:
    _refuse(query, contiguous, follows)
    block, repeats = pattern_to_blocks(query, unit)
    block = without_key_equalities(block, keys)
    facts = Facts(lambda: query)
    roles = event_roles(
        judged_in_time(block) if follows else block, {type.name: type for type in query.types}
    )
    about = known(block, facts, keyed_attributes(keys))
    neighbours = follows and query.strategy in CONTIGUITY
    if neighbours:
        # Events that are in no match lie between others as well.
        about = replace(about, lasting=any(stream.end or stream.query for stream in query.streams))
    width, counted = (None, False) if query.within is None else width_of(query.within, unit)
    counts = counted or any(window.counted for item in block.all_items() for window in item.within)
    if follows:
        steps = follow_steps(block, about, roles, neighbours)
    else:
        # Events that follow one another are found one after the other.
        steps = blocks_to_steps(block, about, roles, shares=not contiguous, postpones=postpones)
    plan = Plan(
        steps,
        roles.roles,
        targets(query.pattern),
        unit,
        reach=None if counts else width,
        counted=counts,
        everything=counts or neighbours,
        lasting=about.lasting,
        looks_back=_looks_back(block),
        leader=_leader(block),
        unique=repeats,
    )
    return collapsed(plan) if query.collapsed else plan


def _refuse(query: Match, contiguous: bool, follows: bool) -> None:
    if not follows and query.strategy not in (CONTIGUITY if contiguous else (ANY_MATCH,)):
        raise Unsupported(query.strategy)
    if is_imprecise(query):
        raise Unsupported("an imprecise timestamp")
    if not is_certain_enough(query):
        raise Unsupported("a confidence of more than 1")


def _leader(block: Block) -> str | None:
    """The variable whose event comes before all others, in every match."""
    if not block.items or block.items[0].when or block.items[0].loop:
        return None
    first, rest = block.items[0].variable, block.items[1:]
    return first if all(first in item.after for item in rest) else None


def _looks_back(block: Block, around: frozenset[str] = frozenset()) -> bool:
    """Whether a check can look at events before the start of the match; `around` is surely bound."""
    sure = around | {
        item.variable for item in block.items if not item.when and (item.loop is None or item.loop.least > 0)
    }
    if any(not sure & set(item.after) for check in block.checks for item in check.all_items()):
        return True
    return any(_looks_back(item.loop.body, sure) for item in block.items if item.loop is not None)
