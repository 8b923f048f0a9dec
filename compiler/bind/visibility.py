"""From where a variable can be seen, and what to say where it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neelc.bind.event_types import KnownType
from neelc.bind.findings import Findings
from neelc.bind.functions import changing
from neelc.bind.scopes import EVENT, KLEENE, Declared, Path, Scopes, is_below, is_inside
from neelc.bind.suggest import did_you_mean
from neelc.ir.logical import Clock
from neelc.ir.names import bare, same, written
from neelc.source import Span


@dataclass(frozen=True)
class Place:
    """Where an expression stands: on which part of the pattern, or in RETURN. There may be more matches than
    a BIGINT can count if it is `wide`."""

    scopes: Scopes
    types: Mapping[str, KnownType | None]
    clock: Clock | None
    findings: Findings
    at: Path = ()
    in_return: bool = False
    wide: bool = False


def negations_at(place: Place) -> tuple[Path, ...]:
    """The negative parts around the place, outermost first."""
    around = {path for v in place.scopes.variables for path in v.negations if is_inside(place.at, path)}
    return tuple(sorted(around, key=len))


def visible(place: Place) -> list[Declared]:
    """The variables that can be named there, in the order of the text."""
    if place.in_return:
        return place.scopes.results()
    around = negations_at(place)
    seen = []
    for v in place.scopes.variables:
        beyond = v.negations[len(around) :]
        inner = v.negations[: len(around)] == around[: len(v.negations)]
        if inner and _refusal(v, place) is None and (not beyond or is_below(beyond[0], place.at)):
            seen.append(v)
    return seen


def lookup(name: str, span: Span, place: Place, alone: bool = False) -> Declared | None:
    """The variable `name`, or None after a report; `alone` if no attribute follows it."""
    meant = place.scopes.meant(name, place.at)
    if len(meant) > 1:
        message = f"`{name}` could be more than one component of the pattern"
        hint = f"name the one that is meant in the pattern: {name} {written(bare(name).lower() + '1')}"
        place.findings.report("NEEL2002", message, span, hint)
        return None
    if not meant:
        _report_unknown(name, span, place, alone)
        return None
    found = meant[0]
    refusal = _refusal(found, place)
    if refusal is not None:
        place.findings.report(refusal[0], refusal[1], span, refusal[2])
        return None
    return found


def _refusal(v: Declared, place: Place) -> tuple[str, str, str] | None:
    """Code, sentence and hint if closures, EXISTS or RETURN hide the variable from the place."""
    for path in v.closures:
        if not is_inside(place.at, path):
            return _hidden_in_closure(v, path, place)
    if v.kind == "closure" and is_inside(place.at, v.path):
        message = (
            f"`{v.name}` is the list of all iterations, and this condition is judged for each of them alone"
        )
        return "NEEL3010", message, f"put the condition after the closure: WHERE {v.name}[i-1]. ..."
    if v.negations and place.in_return:
        message = f"`{v.name}` belongs to a negative part: in a match there is no event for it"
        return "NEEL3030", message, "return variables of positive parts"
    if v.dropped is not None and not is_inside(place.at, v.dropped):
        message = f"`{v.name}` is not visible here: EXISTS drops it"
        hint = (
            "leave it out of EXISTS" if place.in_return else "put the condition inside the part of the EXISTS"
        )
        return "NEEL3009", message, hint
    return None


def _hidden_in_closure(v: Declared, path: Path, place: Place) -> tuple[str, str, str]:
    closures = [c for c in place.scopes.variables if c.path in v.closures]
    closure = next(c for c in closures if c.path == path)
    message = f"`{v.name}` is bound anew in each iteration of `{closure.name}`, and not visible outside it"
    if v.dropped is not None or v.negations != closure.negations:
        return "NEEL3010", message, "put the condition inside the closure"
    outer, *nested = [c.name for c in closures if not is_inside(place.at, c.path)]
    way = f"{outer}{'[]' if place.in_return else '[i]'}" + "".join(f".{name}[last]" for name in nested)
    return "NEEL3010", message, f"write {way}.{v.name}"


def _report_unknown(name: str, span: Span, place: Place, alone: bool) -> None:
    if bare(name).casefold() in ("i", "last"):
        hint: str | None = "as an index it stands in brackets only: b[i], b[last]"
    elif alone and changing(bare(name)):
        hint = changing(bare(name))
    else:
        hint = _owner_hint(name, place) or did_you_mean(
            name, [bare(v.name) for v in visible(place)], "variables in scope"
        )
        if alone and hint is not None and not hint.startswith(("did you mean", "`", "an attribute")):
            hint += f"; a string stands between quotes: '{bare(name)}'"
    place.findings.report("NEEL2001", f"unknown pattern variable `{name}`", span, hint)


def _owner_hint(name: str, place: Place) -> str | None:
    """`price` alone might be the price of some variable, and a type's name might stand for its variable."""
    for v in visible(place):
        if v.type is not None and same(name, v.type):
            return f"`{name}` is a type; its variable is {v.name}"
        known = place.types.get(v.type or "")
        if known is not None and known.attribute(name) is not None:
            index = {EVENT: "", KLEENE: "[]" if place.in_return else "[i]"}[v.kind]
            return f"an attribute is named with its variable: {v.name}{index}.{name}"
    return None
