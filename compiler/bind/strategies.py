"""Where the selection strategies are defined, and COLLAPSED results with them."""

from __future__ import annotations

from neelc.bind.findings import Findings
from neelc.bind.scopes import CLOSURE, Scopes
from neelc.ir.pattern import And, AndNeg, Event, Exists, Not, Optional, Or, Pattern, Repeat, Seq
from neelc.source import Span

ANY = "SKIP TILL ANY MATCH"

_WORDS: dict[type[Pattern], str] = {
    And: "AND",
    AndNeg: "AND_NEG",
    Exists: "EXISTS",
    Or: "an OR inside another operator",
    Seq: "a SEQ inside another operator",
    Repeat: "a closure inside a closure",
}


def check_strategy(strategy: str, pattern: Pattern, findings: Findings) -> None:
    """Report the first part that only SKIP TILL ANY MATCH is defined for."""
    if strategy == ANY:
        return
    odd = _odd_part(pattern)
    if odd is not None:
        findings.report(
            "NEEL3022",
            f"{strategy} is not defined for {_WORDS.get(type(odd), 'this part')}",
            findings.at(odd, pattern),
            f"it takes a SEQ of single events, repetitions and negations, or an OR of such; or use {ANY}",
        )


def _odd_part(pattern: Pattern) -> Pattern | None:
    """The first part that has no place in a SEQ of events, repetitions and negations, or an OR of such.

    >>> from neelc.parse import pattern
    >>> _odd_part(pattern("SEQ(A a, B+ b[], !AND(C c, D d), SEQ(E? e, F f)+ k[])")) is None
    True
    >>> print(_odd_part(pattern("SEQ(A a, AND(B b, C c))")))
    AND(B b, C c)
    """
    if isinstance(pattern, Or):
        return next(filter(None, map(_odd_part, pattern.parts)), None)
    return _odd_in_list(pattern) if isinstance(pattern, Seq) else _odd_component(pattern)


def _odd_in_list(pattern: Seq) -> Pattern | None:
    return next(filter(None, (_odd_component(p) for p in pattern.parts if not isinstance(p, Not))), None)


def _odd_component(node: Pattern) -> Pattern | None:
    match node:
        case Event() | Repeat(Event()):
            return None
        case Optional(part):
            return _odd_component(part)
        case Repeat(Seq(parts)):
            flat = (p for p in parts if not isinstance(p, Not))
            return next(filter(None, (_odd_in_closure(p) for p in flat)), None)
        case Repeat(part):
            return part
    return node


def _odd_in_closure(node: Pattern) -> Pattern | None:
    match node:
        case Event() | Repeat(Event()):
            return None
        case Optional(part):
            return _odd_in_closure(part)
    return node


def check_collapsed(scopes: Scopes, span: Span, findings: Findings) -> None:
    """RETURN COLLAPSED joins the lists of repeated events; lists of iterations cannot be joined."""
    results = scopes.results()
    closure = next((v for v in results if v.kind == CLOSURE), None)
    if closure is not None:
        message = f"COLLAPSED is not defined for `{closure.name}`, the closure of a composite"
        findings.report(
            "NEEL3025", message, span, "leave COLLAPSED out, or repeat single events only: B+ b[]"
        )
