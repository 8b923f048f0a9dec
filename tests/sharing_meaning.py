"""What expressions, slices and groups mean, put together again from what they were taken apart into.

The patterns made here are run by the reference interpreter: what shares must find what it found alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from answers import answer
from generate.witnesses import Tables

from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, SameAttributes, conjoin
from neelc.ir.patterns import renamed, targets
from neelc.ir.program import Match
from neelc.runtime.reference import read, worlds
from neelc.runtime.reference.model import Binding, binding_key
from neelc.sharing.expressions import Constraint, Expression
from neelc.sharing.operators import SharedSlice
from neelc.sharing.sharing import RVI, EMap, emap_of

Bindings = frozenset[object]


def pattern_of(
    expression: Expression, start: int = 0, stop: int | None = None, gaps: Iterable[Constraint] | None = None
) -> p.Pattern:
    """The components from `start` up to `stop` with what they decide; `gaps` replace what was in the gaps."""
    components = expression.components[start:stop]
    last = start + len(components)
    inside = [c for c in expression.constraints if start <= c.needs[0] and c.needs[-1] < last]
    columns = [c for c in inside if c.gap is not None] if gaps is None else list(gaps)
    parts: list[p.Pattern] = []
    for place in range(start, last + 1):
        parts += [c.original for c in columns if c.gap == place and isinstance(c.original, p.Pattern)]
        parts += [component.original for component in expression.components[place : min(place + 1, last)]]
    context = components[0].context
    conditions: list[Expr] = [c.original for c in inside if isinstance(c.original, Expr)]
    same = [SameAttributes(context.key)] if context.key else []
    windows = [window for window in context.windows if window != components[0].query.within]
    own = windows[0] if windows else None
    found: p.Pattern = p.Seq(tuple(parts), where=conjoin([*conditions, *same]), within=own)
    for window in windows[1:]:
        found = p.And((found,), within=window)
    return found


def found_by(query: Match, pattern: p.Pattern, tables: Tables) -> list[Binding] | None:
    """What a pattern binds, in place of the query's; None when that would take too long."""
    changed = replace(query, pattern=pattern, outputs=())
    return (
        None
        if answer(changed, tables) is None
        else [each.binding for each in worlds.find_matches(changed, read(changed, tables, {}))]
    )


def keys(bindings: Iterable[Binding]) -> Bindings:
    return frozenset(map(binding_key, bindings))


def by_slice(
    query: Match, found: Sequence[Expression], shared: SharedSlice, tables: Tables
) -> list[set[object]]:
    """What a shared slice finds, for each place it has: events in order, whatever their variables."""
    results: list[set[object]] = []
    for number, starts in shared.starts.items():
        for start in starts:
            stop = start + shared.length
            names = [name for part in found[number].components[start:stop] for name in targets(part.original)]
            bindings = found_by(query, pattern_of(found[number], start, stop), tables)
            if bindings is not None:
                results.append({tuple(binding_key(binding[name]) for name in names) for binding in bindings})
    return results


def by_bit_marking(query: Match, members: list[Expression], tables: Tables) -> list[Binding] | None:
    """The results of expressions with the same positive part, by their EMap.

    A column holds for a match of the positive part if the match is one with that column alone.
    """
    emap, first = emap_of(members), members[0]
    matches = found_by(query, pattern_of(first, gaps=()), tables)
    holding: list[Bindings] = []
    for column in emap.columns:
        owner = next(member for member in members if column in member.columns)
        original = next(c.original for c in owner.columns if c == column)
        names = dict(zip(owner.variables, first.variables, strict=True))
        own = replace(column, original=renamed(original, names))
        held = found_by(query, pattern_of(first, gaps=(own,)), tables)
        if held is None:
            return None
        holding.append(keys(held))
    if matches is None:
        return None
    variables = {member.name: member.variables for member in members}
    return [
        dict(zip(variables[row], (match[name] for name in first.variables), strict=True))
        for match in matches
        for row in _rows(emap, [binding_key(match) in held for held in holding])
    ]


def _rows(emap: EMap, holds: list[bool]) -> Iterator[str]:
    """Checks columns one by one, as long as they matter (lemma 1)."""
    rvi = RVI()
    while pending := emap.pending(rvi):
        rvi = rvi.marked(pending[-1], holds[pending[-1]])
    yield from (row.name for row in emap.results(rvi))
