"""The rule `name_partition_key`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import patterns as p
from neelc.ir.expressions import (
    COMPARISONS,
    Attribute,
    Binary,
    EventRef,
    Expr,
    Index,
    IsNull,
    ListElement,
    SameAttributes,
    Variable,
)
from neelc.ir.names import bare, same
from neelc.ir.node import Node, map_children, walk
from neelc.ir.program import Match
from neelc.ir.script import SelectionStrategy
from neelc.ir.types import FLOAT
from neelc.pattern.analysis.equalities import RegionEqualities, same_at
from neelc.pattern.analysis.keys import LooseRole, cover, is_alike, sure_roles
from neelc.pattern.analysis.regions import (
    QueryRoles,
    RegionPart,
    filtered,
    plain,
    region_conjuncts,
    spots,
    with_condition,
)
from neelc.pattern.rules.rule import RefusalReason

# Equalities that an `[id]` at the root of a pattern makes needless.


def without_implied(part: p.Pattern, name: str, sure: frozenset[str] = frozenset()) -> p.Pattern:
    """`part`, the root of a region, without equalities of the attribute `name` that an `[id]` around it
    implies.

    `sure` are variables that are bound whenever the region is evaluated. An equality with another variable
    also requires that it is bound, so it stays:

    >>> from pattern_examples import query
    >>> pattern = query("SEQ(A a, (B b : b.id = a.id), C? c) WHERE a.id = c.id AND a.x = b.x").pattern
    >>> print(without_implied(pattern, "id"))
    SEQ(A a, B b, C? c WHERE a.id = c.id AND a.x = b.x)
    """
    sure = sure.union(*(_bound(spot.part) for spot in spots(part)))

    def stays(conjunct: Expr, spot: RegionPart) -> bool:
        return not _is_implied(conjunct, name, sure)

    return _inside(filtered(part, stays), name, sure)


def _bound(part: p.Pattern) -> frozenset[str]:
    """The variable of an event, or of a list that is not empty."""
    match part:
        case p.Event(_, str() as variable) | p.Repeat(p.Event(), int(), _, str() as variable):
            empty = isinstance(part, p.Repeat) and part.least == 0
            return frozenset() if empty else frozenset([variable])
    return frozenset()


def _inside(part: p.Pattern, name: str, sure: frozenset[str]) -> p.Pattern:
    """`part` with the same done in the regions inside it."""
    has_regions = isinstance(part, p.Or | p.Not | p.Optional | p.Repeat)

    def change(child: Node) -> Node:
        if not isinstance(child, p.Pattern) or isinstance(child, p.ClosureGap):
            return child
        return without_implied(child, name, sure) if has_regions else _inside(child, name, sure)

    return map_children(part, change)


def _is_implied(conjunct: Expr, name: str, sure: frozenset[str]) -> bool:
    match conjunct:
        case Binary("=", left, right):
            match plain(left), plain(right):
                case Attribute(one, first), Attribute(other, second):
                    both = same(name, first) and same(name, second)
                    return both and _is_bound(one, sure) and _is_bound(other, sure)
    return False


def _is_bound(event: EventRef, sure: frozenset[str]) -> bool:
    """Whether there is such an event wherever the condition must hold: of `b[i]`, for each i there is."""
    match event:
        case Variable(variable):
            return variable in sure
        case ListElement(Variable(), Index("CURRENT")):
            return True
        case ListElement(Variable(variable), Index("FIRST" | "LAST", 0)):
            return variable in sure
    return False


def name_partition_key(query: Match) -> Match | RefusalReason | None:
    """Equalities that give all events the same value of an attribute are an `[id]`.

    >>> from pattern_examples import query
    >>> tools = "SEQ(R r, !(S s : s.id = r.id), C+ c[], O o)"
    >>> print(name_partition_key(query(f"{tools} WHERE r.id = o.id AND c[i].id = r.id")).pattern)
    SEQ(R r, !S s, C+ c[], O o WHERE [id])

    Proof. Let the equalities hold. Then each event of the match has the id of the first one, which is not
    NULL, as it is compared; and so has each event that a negation or an EXISTS finds. That is what `[id]`
    requires. Conversely, an equality that is removed compares events that are bound whenever it is evaluated,
    and `[id]` makes it TRUE. Others stay.

    Not if some event need not have the same value: an optional part, a branch or an element that no condition
    names; or if the condition that names it also requires it to be there.

    >>> print(name_partition_key(query("SEQ(A a, B? b, C c) WHERE a.id = c.id")).reason)
    b may have another id
    >>> print(name_partition_key(query("SEQ(A a, OR(B b, C c)) WHERE a.id = b.id")).reason)
    c may have another id

    Nor if an event could be alone with a NULL, which no `[id]` allows; nor if a value is converted to be
    compared, as a BIGINT beside a DOUBLE: 2^53 + 1 is then equal to 2^53, but the numbers are not the same.

    >>> print(name_partition_key(query("SEQ(A a, !(B b : b.id = a.id)) WITHIN 5")).reason)
    a may have no id

    Of a list that may be empty, a condition on each element may be about none.

    >>> print(name_partition_key(query("SEQ(B* b[], A a) WHERE b[i].id = a.id")).reason)
    a may have no id
    """
    roles = QueryRoles(query)
    refused: RefusalReason | None = None
    for name in _compared(query.pattern):
        named = any(same(name, known) for known in (*query.partition, *same_at(query.pattern)))
        if _is_rounded(name, roles):
            continue
        reason = None if named else _loose_end(query.pattern, name, RegionEqualities.around(roles))
        if reason is not None:
            refused = refused or RefusalReason(reason)
            continue
        pattern = without_implied(query.pattern, name)
        if not named:
            pattern = with_condition(pattern, SameAttributes((name,)))
        if pattern is not query.pattern:
            return replace(query, pattern=pattern)
    return refused


def _compared(pattern: p.Pattern) -> dict[str, None]:
    """The attributes that events are compared by."""
    names: dict[str, None] = {}
    for node in walk(pattern):
        match node:
            case Binary("=", left, right):
                match plain(left), plain(right):
                    case Attribute(one, name), Attribute(other, also) if one != other and same(name, also):
                        names[name] = None
    return names


def _is_rounded(name: str, roles: QueryRoles) -> bool:
    """Whether a comparison rounds the attribute: `[id]` requires the same value, whatever the type."""
    terms = (role.term(name) for role in roles.all)
    return any(term is not None and term.type == FLOAT for term in terms)


def _loose_end(part: p.Pattern, name: str, known: RegionEqualities) -> str | None:
    """Why the events of a match of `part` need not have the same value; no condition around it names them."""
    first = next(sure_roles(part, known.roles), None)
    if first is None and isinstance(part, p.Or):
        around = known.and_of(part)
        ends = (_loose_end(branch, name, around) for branch in part.parts)
        return next(filter(None, ends), None)
    seed = None if first is None else first.term(name)
    if first is None or seed is None:
        return f"no event is in every match, to compare the {bare(name)} of others with"
    terms = cover(part, (seed,), known, known.roles.query.strategy == SelectionStrategy.NEXT_MATCH)
    if isinstance(terms, LooseRole):
        return f"{terms.variable} may have another {bare(name)}"
    for role, term in terms.items():
        if not is_alike(term, seed):
            return f"{role.variable} has it as {term}"
    judged = (one for one in region_conjuncts(part) if _is_judged(one, part))
    if not any(_is_null_rejecting(condition, seed) for condition in judged):
        return f"{first.variable} may have no {bare(name)}"
    return None


def _is_judged(condition: Expr, part: p.Pattern) -> bool:
    """Whether a condition on elements of lists is about one at least: each list that it names by `b[i]` is
    so long."""
    lists = (spot.part for spot in spots(part) if isinstance(spot.part, p.Repeat))
    lengths = {one.variable: one.least for one in lists}
    for node in walk(condition):
        match node:
            case ListElement(Variable(variable), Index("CURRENT", offset)):
                if lengths.get(variable, 0) <= -offset:
                    return False
    return True


def _is_null_rejecting(condition: Expr, term: Expr) -> bool:
    match condition:
        case Binary(op, left, right) if op in COMPARISONS and op != "<=>":
            return term in (plain(left), plain(right))
        case IsNull(operand, negated=True):
            return operand == term
    return False
