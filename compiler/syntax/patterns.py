"""Parse tree to patterns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from neelc.errors import write
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir import patterns as p
from neelc.ir.expressions import Conjunction, Expr, Parameter
from neelc.source import Span
from neelc.syntax import expressions as literals
from neelc.syntax.expressions import expression, unit
from neelc.syntax.mistakes import fail, identifier, span_of

# MQOS says of a SEQ that it has negative parts.
_OPERATORS = {**p.OPERATORS, "SEQ_NEG": p.Seq}


def pattern_item(context: Any) -> p.Pattern:
    """A pattern with its own window, if it has one."""
    part = pattern_expression(context.patternExpression())
    if context.window() is None:
        return part
    return _with_window(part, context.window())


def _with_window(part: p.Pattern, context: Any) -> p.Pattern:
    """The window of `!q` is q's."""
    if isinstance(part, p.Not):
        return replace(part, part=_with_window(part.part, context))
    if part.within is not None:
        fail("NEEL1004", "this part has two windows", context, "keep the shorter one")
    return replace(part, within=window(context))


def pattern_expression(context: Any) -> p.Pattern:
    parts = tuple(_part(c) for c in context.patternPart())
    return parts[0] if len(parts) == 1 else p.Or(parts, span=span_of(context))


def _part(context: Any) -> p.Pattern:
    match context:
        case NeelParser.NegatedPartContext():
            return p.Not(_part(context.patternPart()), span=span_of(context))
        case NeelParser.ExistsPartContext():
            names = tuple(map(identifier, context.name()))
            return p.Exists(names, _part(context.patternPart()), span=span_of(context))
        case _:
            return _plain(context)


def _plain(context: Any) -> p.Pattern:
    """`Type var`, `Type+ var[]`, `SEQ(...)+ var[]`, `SEQ(...)`."""
    atom, quantifier, span = context.patternAtom(), context.quantifier(), span_of(context)
    variable = context.variable()
    name = identifier(variable.name()) if variable else None
    is_list = variable is not None and variable.LBRACKET() is not None
    is_event = isinstance(atom, NeelParser.EventAtomContext)
    once = p.Event(identifier(atom.name()), name, span=span) if is_event else _composite(atom)
    if quantifier is None or quantifier.QUESTION():
        if is_list:
            once_or_more = write(f"{name}", ", or repeat the type: +, * or {n,m}")
            fail("NEEL1007", f"`{name}[]` names a list, but nothing repeats here", variable, once_or_more)
        if name and not is_event:
            hint = "name the events inside it"
            fail("NEEL1007", "only a repeated group has a name of its own", variable, hint)
        return once if quantifier is None else p.Optional(once, span=span)
    if name and not is_list:
        fail("NEEL1007", f"`{name}` repeats, so it names a list", variable, write(f"{name}[]"))
    least, most = bounds(quantifier)
    body = p.Event(identifier(atom.name()), span=span_of(atom)) if is_event else once
    return p.Repeat(body, least, most, name, span=span)


def _refuse_text(item: Any) -> None:
    """`'New Device'+ d[]` reads like a sum, but is a type between the wrong quotes."""
    token = item.start
    if token.type == NeelParser.STRING and (item.stop is token or item.getText().endswith("]")):
        hint = f"a name stands between backticks: `{token.text[1:-1]}`"
        fail("NEEL1001", f"found {token.text}, a string, where a name is expected", token, hint)


def _composite(atom: Any) -> p.Pattern:
    if isinstance(atom, NeelParser.GroupAtomContext):
        inner = pattern_item(atom.patternItem())
        found = conditions(atom.conditionList()) if atom.conditionList() else ()
        return _restricted(inner, found)
    operator = _OPERATORS[atom.getChild(0).getText().upper()]
    parts: list[p.Pattern] = []
    qualifications: list[Expr] = []
    for item in atom.patternListItem():
        if item.patternItem() is None:
            _refuse_text(item)
            qualifications.append(expression(item.expression()))
        elif qualifications:
            fail("NEEL1001", "conditions stand after all parts of the pattern", item)
        else:
            parts.append(pattern_item(item.patternItem()))
    if not parts:
        fail(
            "NEEL1001", "this list holds conditions only", atom, "for example SEQ(A a, B b WHERE a.id = b.id)"
        )
    if atom.qualification():
        qualifications.extend(conditions(atom.qualification().conditionList()))
    return _restricted(operator(tuple(parts), span=span_of(atom)), tuple(qualifications))


def conditions(context: Any) -> tuple[Expr, ...]:
    return tuple(expression(x) for x in context.expression())


def _restricted(part: p.Pattern, found: tuple[Expr, ...]) -> p.Pattern:
    """`part` with more conditions: all of them must hold. Those of `!q` are q's."""
    if not found:
        return part
    if isinstance(part, p.Not):
        return replace(part, part=_restricted(part.part, found))
    every = found if part.where is None else (part.where, *found)
    where = every[0] if len(every) == 1 else Conjunction(every, span=_covering(every))
    return replace(part, where=where)


def _covering(found: tuple[Expr, ...]) -> Span | None:
    spans = [x.span for x in found if x.span is not None]
    return Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else None


def bounds(quantifier: Any) -> tuple[int, int | None]:
    """How often: `+` is (1, None), `{2,5}` is (2, 5)."""
    text = quantifier.getText()
    if text in ("+", "*", "?"):
        return (1 if text == "+" else 0), (1 if text == "?" else None)
    numbers = [literals.whole_number(n) for n in quantifier.NUMBER()]
    if not quantifier.COMMA():
        if not numbers:
            fail("NEEL1005", "these braces hold no number", quantifier, "for example {3}, {2,} or {2,5}")
        return numbers[0], numbers[0]
    before_comma = quantifier.getChild(1).getText() != ","
    least = numbers[0] if before_comma else 0
    most = numbers[-1] if len(numbers) == 2 or (numbers and not before_comma) else None
    return least, most


def window(context: Any) -> p.Window:
    """`10 SECONDS`, `100`, `50 EVENTS`, `:w`, `:n SECONDS`, `INTERVAL '10' SECOND`."""
    span = span_of(context)
    if context.interval():
        return p.Window(literals.interval(context.interval()), span=span)
    names = context.name()
    unit_name = names[-1] if len(names) > (1 if context.COLON() else 0) else None
    if context.COLON():
        count: Expr = Parameter(identifier(names[0]), span=span_of(context.COLON()) | span_of(names[0]))
    else:
        count = literals.number(context.NUMBER())
    return p.Window(count, unit(unit_name.getText(), unit_name, ("EVENT",)) if unit_name else None, span=span)
