"""Conditions that rewriting rules look at, few of them, so that most streams still hold a match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import cast

from generate.conditions import BEFORE, CURRENT, LAST, Seen, member, number, seen_in, together
from neelc.ir import expressions as e
from neelc.ir import patterns as p
from neelc.ir.node import Node, map_children
from neelc.ir.types import BOOLEAN, VOID

_KINDS = "same same chain chain chain pair pair pair constant constant constant pinned fold other".split()
# Comparisons that hold more often than not, on few different values.
_LOOSE = ["<=", "<=", ">=", ">=", "=", "=", "=", "<>", "<", ">"]


@dataclass(frozen=True)
class Place:
    """A part that may get a condition about its `own` variables, which may also name those in `scope`."""

    part: p.Pattern
    own: tuple[Seen, ...]
    scope: tuple[Seen, ...]


def places(node: p.Pattern, scope: tuple[Seen, ...]) -> Iterator[Place]:
    """Where conditions may stand in a pattern whose variables all have names."""
    match node:
        case p.Event() | p.Repeat(p.Event()):
            yield Place(node, tuple(seen for seen in scope if seen.name == node.variable), scope)
        case p.Repeat(part, variable=name):
            yield Place(node, tuple(seen for seen in scope if seen.name == name), scope)
            outside = tuple(seen for seen in scope if seen.name != name)
            yield from places(part, outside + seen_in(part))
        case p.Not(part):
            hidden = tuple(seen for seen in seen_in(part) if seen not in scope)
            yield from places(part, scope + hidden)
        case p.Exists(_, part):
            yield Place(node, seen_in(node), scope)
            hidden = tuple(seen for seen in seen_in(part) if seen not in scope)
            yield from places(part, scope + hidden)
        case p.Optional(part):
            yield Place(node, seen_in(node), scope)
            yield from places(part, scope)
        case p.Seq(parts) | p.And(parts) | p.AndNeg(parts) | p.Or(parts):
            # A list gets a condition more often than each of its parts.
            yield from [Place(node, seen_in(node), scope)] * 4
            for part in parts:
                yield from places(part, scope)


def with_conditions(chance: Random, pattern: p.Pattern, many: int) -> p.Pattern:
    """The pattern with conditions on `many` parts of it, not on all of it: that has the query's WHERE."""
    found: dict[Node, list[e.Expr]] = {}
    known = list(places(pattern, seen_in(pattern)))
    known = [place for place in known if place.part is not pattern] or known
    for place in chance.choices(known, k=many):
        found.setdefault(place.part, []).extend(conjuncts(chance, place.own, place.scope))
    return cast(p.Pattern, _placed(pattern, found))


def _placed(node: Node, found: Mapping[Node, Sequence[e.Expr]]) -> Node:
    """The node with these conditions at its parts, each of which has a variable of its own."""
    changed = map_children(node, lambda inner: _placed(inner, found))
    if node in found and isinstance(changed, p.Pattern):
        return replace(changed, where=together(found[node]))
    return changed


def conjuncts(chance: Random, own: Sequence[Seen], scope: Sequence[Seen]) -> list[e.Expr]:
    """What one WHERE says about `own` variables."""
    kind = chance.choice(_KINDS)
    if kind == "same" or not own or (len(own) > 1 and chance.random() < 0.25):
        return [e.SameAttributes(("id",))]
    first, other = chance.choice(own), chance.choice([*own, *scope])
    match kind:
        case "chain":
            return _chain(chance, [seen for seen in (*own, *scope) if not seen.is_list])
        case "pair":
            return [_compared(chance, attribute(chance, first), attribute(chance, other))]
        case "constant":
            return [_compared(chance, attribute(chance, first), _constant(chance))]
        case "pinned":
            return _pinned(chance, attribute(chance, first))
        case "fold":
            return [_folded(chance, attribute(chance, first))]
    return [_other(chance, first, other)]


def attribute(
    chance: Random, variable: Seen, place: e.Expr | None = None, base: e.Expr | None = None
) -> e.Expr:
    """An attribute of a variable: `a.x`, `b[1].x`, `k[last].a.x`; of a list, of its element at `place`."""
    found = base or e.Name((variable.name,))
    if variable.is_list:
        found = e.Subscript(found, place or chance.choice([number(1), LAST]))
    if variable.inner:
        inner = chance.choice(variable.inner)
        return attribute(chance, inner, None, member(found, inner.name))
    return member(found, chance.choice(["x", "id"]))


def _constant(chance: Random) -> e.Expr:
    """1 is the most frequent value of all attributes."""
    return number(chance.choice([1, 1, 1, 0, 2, 3]))


def _compared(chance: Random, left: e.Expr, right: e.Expr) -> e.Expr:
    if chance.random() < 0.3:
        left, right = right, left
    return e.Binary(chance.choice(_LOOSE), left, right)


def _chain(chance: Random, single: Sequence[Seen]) -> list[e.Expr]:
    """`a.id = b.id AND b.id = c.id`, maybe `AND c.id = 1`."""
    name = chance.choice(["id", "id", "id", "x"])
    known = list(dict.fromkeys(single))
    chosen = chance.sample(known, min(len(known), chance.randint(2, 4)))
    values = [e.Name((variable.name, name)) for variable in chosen]
    links: list[e.Expr] = [e.Binary("=", one, two) for one, two in pairwise(values)]
    if values and (chance.random() < 0.3 or not links):
        links.append(e.Binary("=", values[-1], number(1)))
    return links


def _pinned(chance: Random, value: e.Expr) -> list[e.Expr]:
    """Two conditions on one value, which may contradict or imply each other."""
    one, two = _constant(chance), _constant(chance)
    pairs: list[list[e.Expr]] = [
        [e.Binary("=", value, one), e.Binary("=", value, two)],
        [e.Binary(">=", value, one), e.Binary("<", value, two)],
        [e.Binary("=", value, one), e.Binary("<=", value, two)],
        [e.Binary("<>", value, one), e.Binary("=", value, two)],
        [e.IsNull(value), e.Binary(">=", value, one)],
        [e.Between(value, one, two)],
        [e.InList(value, (one, two))],
    ]
    return chance.choice(pairs)


def _folded(chance: Random, value: e.Expr) -> e.Expr:
    """A condition of which a part is constant."""
    two = e.Binary("+", number(1), number(1))
    always, never = e.Binary("=", two, number(2)), e.Binary(">", number(1), two)
    about = e.Binary("<=", value, two)
    wholes: list[e.Expr] = [
        *(always, about, about),
        e.Disjunction((about, always)),
        e.Disjunction((never, about)),
        e.Negation(e.Binary(">", value, two)),
        e.Conjunction((always, about)),
        e.Negation(e.Conjunction((about, never))),
        e.Binary("=", value, value),
        chance.choice([e.Literal(False, BOOLEAN), e.Literal(True, BOOLEAN), e.Literal(None, VOID)]),
        e.IsNull(value, chance.random() < 0.7),
        never,
    ]
    return chance.choice(wholes)


def _other(chance: Random, first: Seen, other: Seen) -> e.Expr:
    """A disjunction, an aggregate, a condition on each element of a list, or a possible NULL."""
    left, right = attribute(chance, first), attribute(chance, other)
    if first.is_list and not first.inner:
        each = attribute(chance, first, CURRENT)
        before = attribute(chance, first, BEFORE)
        count = e.Call("count", (e.Slice(e.Name((first.name,))),))
        return chance.choice(
            [e.Binary(">=", each, before), e.Binary("<=", each, right), e.Binary("<", count, number(3))]
        )
    return chance.choice(
        [
            e.Disjunction((_compared(chance, left, right), _compared(chance, right, number(1)))),
            e.Negation(_compared(chance, left, right)),
            e.Binary(">=", e.Call("coalesce", (left, number(1))), number(1)),
            e.IsDistinct(left, right, chance.random() < 0.5),
        ]
    )
