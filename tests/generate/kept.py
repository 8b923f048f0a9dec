"""Random queries that keep some of their matches: those of other generators with ONE MATCH PER, AFTER MATCH
SKIP or SUPPRESS, and streams for them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from generate.conditions import Seen, number, seen_in, together
from generate.ordered import with_order
from generate.repeated import kleene_sample
from generate.rewritable import Sample, sample, script_of
from neelc.ir import patterns as p
from neelc.ir.expressions import SameAttributes, conjuncts
from neelc.ir.script import KeptMatches, MatchSkip, PatternQuery, SelectionStrategy, SkipPlace


def kept_sample(seed: int) -> Sample | None:
    """The query with this number, and streams for it; None if it keeps all of its matches."""
    chance = Random(seed)
    if chance.random() < 0.3:
        found = kleene_sample(seed, strategy=chance.choice(list(SelectionStrategy)))
    else:
        found = sample(seed)
    if found is None or found.query.confidence is not None or found.match.is_imprecise:
        return None
    query = with_kept(found.query, chance)
    return with_order(replace(found, script=script_of(query, found.script), shared=False), seed, 0.3)


def with_kept(query: PatternQuery, chance: Random) -> PatternQuery:
    """The query with clauses that say which matches are kept, often for each `id`."""
    seen = seen_in(query.pattern)
    kept = drawn_clauses(chance, seen)
    returns = query.returns
    if returns is not None and returns.collapsed:
        returns = None
    where = query.where
    if chance.random() < 0.4 and not query.partition_by:
        same = SameAttributes(("id",))
        where = together([one for one in conjuncts(where) if one != same] + [same])
    return replace(query, kept=kept, returns=returns, where=where)


def drawn_clauses(chance: Random, seen: tuple[Seen, ...]) -> KeptMatches:
    names = [variable.name for variable in seen]
    kind = chance.choice(["skip", "skip", "skip", "one", "suppress", "several"] if names else ["suppress"])
    one_per: tuple[str, ...] = ()
    skip, suppress = None, None
    if kind in ("one", "several"):
        one_per = tuple(chance.sample(names, min(len(names), chance.choice([1, 1, 2]))))
    if kind == "skip" or (kind == "several" and chance.random() < 0.7):
        place = chance.choice([*SkipPlace, SkipPlace.PAST_LAST])
        is_named = place in (SkipPlace.FIRST, SkipPlace.LAST)
        skip = MatchSkip(place, chance.choice(names) if is_named else None)
    if kind == "suppress" or (kind == "several" and (skip is None or chance.random() < 0.5)):
        suppress = p.Window(number(chance.choice([0, 1, 2, 3, 5, 9])))
    return KeptMatches(
        one_per if kind != "several" or chance.random() < 0.8 or not skip else (), skip, suppress
    )


def kept_beside_others(seed: int) -> Sample | None:
    """The same, of matches that are kept for each `id`, where the events of all of them are counted or must
    be consecutive."""
    chance = Random(f"beside others {seed}")
    strict = chance.random() < 0.5
    if strict or chance.random() < 0.4:
        any_match, strategy = SelectionStrategy.ANY_MATCH, SelectionStrategy.STRICT
        found = kleene_sample(seed, strategy=strategy if strict else any_match)
    else:
        found = sample(seed)
    if found is None or found.query.confidence is not None or found.match.is_imprecise:
        return None
    query = found.query
    if query.partition_by or (strict and query.strategy != SelectionStrategy.STRICT):
        return None
    if not strict:
        query = replace(query, within=p.Window(number(chance.choice([4, 6, 9])), "EVENT"))
    asked = with_kept(query, chance)
    same = SameAttributes(("id",))
    where = [one for one in conjuncts(asked.where) if one != same]
    asked = replace(asked, where=together([*where, same]))
    return with_order(replace(found, script=script_of(asked, found.script), shared=False), seed, 0.3)
