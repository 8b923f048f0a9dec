"""Conditions: split into conjuncts, bound, and put where they belong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from neelc.bind.comparison import condition as as_condition
from neelc.bind.components import parts_of, paths, with_parts
from neelc.bind.expressions import bind_expression
from neelc.bind.findings import Findings
from neelc.bind.logic import conjoin, conjuncts
from neelc.bind.references import Use
from neelc.bind.same import bind_same
from neelc.bind.scopes import Path, is_below
from neelc.bind.visibility import Place, negations_at
from neelc.ir.expr import At, Each, EventRef, Expr, Same
from neelc.ir.node import walk
from neelc.ir.pattern import Exists, Pattern


@dataclass(frozen=True)
class Conjunct:
    """A bound conjunct and the part it belongs to."""

    path: Path
    condition: Expr


def bind_conditions(place: Place, where: Iterable[Expr | None]) -> Pattern:
    """The pattern with every condition bound, in the part it belongs to; `where` are those of the query."""
    found: list[Conjunct] = []
    for path, part in paths(place.scopes.pattern):
        given = (part.where, *where) if path == () else (part.where,)
        for condition in given:
            for conjunct in conjuncts(condition):
                bound = _bind_conjunct(conjunct, part, replace(place, at=path))
                if bound is not None:
                    found.append(bound)
    return _with_conditions(place.scopes.pattern, (), found, place)


def _with_conditions(node: Pattern, path: Path, found: list[Conjunct], place: Place) -> Pattern:
    parts = tuple(_with_conditions(part, (*path, i), found, place) for i, part in enumerate(parts_of(node)))
    where = conjoin(dict.fromkeys(c.condition for c in found if c.path == path))
    changed = replace(with_parts(node, parts), where=where)
    if isinstance(changed, Exists):
        dropped = tuple(v.name for v in place.scopes.variables if v.dropped == path)
        return replace(changed, variables=dropped)
    return changed


def _bind_conjunct(condition: Expr, part: Pattern, place: Place) -> Conjunct | None:
    if isinstance(condition, Same):
        same = bind_same(condition, part, place)
        return None if same is None else Conjunct(place.at, same)
    bound, kind, references = bind_expression(condition, place)
    if references.broken:
        return None
    path = _home(references.used, place)
    if path is None or not _has_one_index(bound, condition, place.findings):
        return None
    what = "WHERE" if place.at == () else "the condition of a part"
    return Conjunct(path, as_condition((bound, kind), what, place.findings.report, condition.span))


def _home(used: list[Use], place: Place) -> Path | None:
    """Where a conjunct belongs: the innermost negative part it names a variable of, else where it stands.

    NEEL+ forbids that a positive part speaks of a negative one's variables. A condition of the whole list
    may: it then is the negative part's, because only there do these variables mean anything.
    """
    around = negations_at(place)
    innermost: tuple[Path, ...] = around
    for use in used:
        negations = use.variable.negations
        if negations == around[: len(negations)]:
            continue
        beyond = next(path for path in negations if path not in around)
        if not is_below(beyond, place.at):
            _report_foreign(use, bool(around), place)
            return None
        longer, shorter = sorted((negations, innermost), key=len, reverse=True)
        if longer[: len(shorter)] != shorter:
            other = next(u for u in used if u.variable.negations == innermost)
            names = f"`{other.variable.name}` and `{use.variable.name}`"
            message = f"the condition names {names}, of two separate negative parts"
            hint = "each negative part is judged alone: give each a condition of its own"
            place.findings.report("NEEL3003", message, use.span, hint)
            return None
        innermost = longer
    return place.at if innermost == around else (*innermost[-1], 0)


def _report_foreign(use: Use, in_negative: bool, place: Place) -> None:
    name = use.variable.name
    if in_negative:
        message = f"`{name}` belongs to another negative part: each is judged alone"
        place.findings.report(
            "NEEL3003", message, use.span, "a negative part may name its own and positive variables"
        )
        return
    message = f"a positive part cannot speak of `{name}`, which belongs to a negative part"
    hint = f"put the condition into the negative part of `{name}`, or into WHERE"
    place.findings.report("NEEL3002", message, use.span, hint)


def _has_one_index(bound: Expr, condition: Expr, findings: Findings) -> bool:
    """Whether `i` runs over one list only."""
    lists: dict[EventRef, str] = {}
    for node in walk(bound):
        match node:
            case At(base, index) if index.anchor == "CURRENT":
                lists[base] = str(base)
            case Each(base, upper) if upper is not None and upper.anchor == "CURRENT":
                lists[base] = str(base)
    if len(lists) <= 1:
        return True
    names = " and ".join(f"`{text}`" for text in lists.values())
    message = f"`i` runs over {names}: in one condition it can run over one list only"
    findings.report(
        "NEEL3014", message, findings.at(condition), "use b[1], b[last] or an aggregate for the other"
    )
    return False
