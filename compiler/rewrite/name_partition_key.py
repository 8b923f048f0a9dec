"""The rule `name_partition_key`."""

from __future__ import annotations

from dataclasses import replace

from neelc.ir import pattern as p
from neelc.ir.expr import COMPARISONS, Attribute, Binary, Expr, IsNull, Same
from neelc.ir.logical import Match
from neelc.ir.names import bare, same
from neelc.ir.node import walk
from neelc.ir.types import FLOAT
from neelc.rewrite.consequences import Known, same_at
from neelc.rewrite.coverage import Loose, cover, is_alike, sure_roles
from neelc.rewrite.implied import without_implied
from neelc.rewrite.judging import NEXT_MATCH
from neelc.rewrite.regions import region_conjuncts, with_condition
from neelc.rewrite.roles import Roles, plain
from neelc.rewrite.rule import Refused


def name_partition_key(query: Match) -> Match | Refused | None:
    """Equalities that give all events the same value of an attribute are an `[id]`.

    >>> from neelc.rewrite.examples import query
    >>> tools = "SEQ(R r, !(S s : s.id = r.id), C+ c[], O o)"
    >>> print(name_partition_key(query(f"{tools} WHERE r.id = o.id AND c[i].id = r.id")).pattern)
    SEQ(R r, !S s, C+ c[], O o WHERE [id])

    Proof. Let the equalities hold. Then each event of the match has the id of the first one, which is not
    NULL, as it is compared; and so has each event that a negation or an EXISTS finds. That is what `[id]`
    asks for. Conversely, an equality that is taken away compares events that are bound whenever it is judged,
    and `[id]` makes it TRUE. Others stay.

    Not if some event need not have the same value: an optional part, a branch or an element that nothing is
    said of; or if what is said of it also says that it is there.

    >>> print(name_partition_key(query("SEQ(A a, B? b, C c) WHERE a.id = c.id")).reason)
    b may have another id
    >>> print(name_partition_key(query("SEQ(A a, OR(B b, C c)) WHERE a.id = b.id")).reason)
    c may have another id

    Nor if an event could be alone with a NULL, which no `[id]` allows; nor if a value is converted to be
    compared, as a BIGINT beside a DOUBLE: 2^53 + 1 is then equal to 2^53, but the numbers are not the same.

    >>> print(name_partition_key(query("SEQ(A a, !(B b : b.id = a.id)) WITHIN 5")).reason)
    a may have no id
    """
    roles = Roles(query)
    refused: Refused | None = None
    for name in _compared(query.pattern):
        named = any(same(name, known) for known in (*query.partition, *same_at(query.pattern)))
        if _is_rounded(name, roles):
            continue
        reason = None if named else _loose_end(query.pattern, name, Known.around(roles))
        if reason is not None:
            refused = refused or Refused(reason)
            continue
        pattern = without_implied(query.pattern, name)
        if not named:
            pattern = with_condition(pattern, Same((name,)))
        if pattern is not query.pattern:
            return replace(query, pattern=pattern)
    return refused


def _compared(pattern: p.Pattern) -> dict[str, None]:
    """The attributes that events are compared by."""
    found: dict[str, None] = {}
    for node in walk(pattern):
        match node:
            case Binary("=", left, right):
                match plain(left), plain(right):
                    case Attribute(one, name), Attribute(other, also) if one != other and same(name, also):
                        found[name] = None
    return found


def _is_rounded(name: str, roles: Roles) -> bool:
    """Whether a comparison rounds the attribute: `[id]` asks for the same value, whatever the type."""
    terms = (role.term(name) for role in roles.all)
    return any(term is not None and term.type == FLOAT for term in terms)


def _loose_end(part: p.Pattern, name: str, known: Known) -> str | None:
    """Why the events of a match of `part` need not have the same value; nothing around it speaks of them."""
    first = next(sure_roles(part, known.roles), None)
    if first is None and isinstance(part, p.Or):
        around = known.and_of(part)
        ends = (_loose_end(branch, name, around) for branch in part.parts)
        return next(filter(None, ends), None)
    seed = None if first is None else first.term(name)
    if first is None or seed is None:
        return f"no event is in every match, to compare the {bare(name)} of others with"
    found = cover(part, (seed,), known, known.roles.query.strategy == NEXT_MATCH)
    if isinstance(found, Loose):
        return f"{found.variable} may have another {bare(name)}"
    for role, term in found.items():
        if not is_alike(term, seed):
            return f"{role.variable} has it as {term}"
    if not any(_is_null_rejecting(condition, seed) for condition in region_conjuncts(part)):
        return f"{first.variable} may have no {bare(name)}"
    return None


def _is_null_rejecting(condition: Expr, term: Expr) -> bool:
    match condition:
        case Binary(op, left, right) if op in COMPARISONS and op != "<=>":
            return term in (plain(left), plain(right))
        case IsNull(operand, negated=True):
            return operand == term
    return False
