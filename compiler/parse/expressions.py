"""Parse tree to expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir import expr as e
from neelc.ir import types
from neelc.ir.names import bare
from neelc.parse import literals
from neelc.parse.problem import fail, span_of
from neelc.source import Span

# Longer chains than this make trees too deep to walk.
MAX_CHAIN = 150

# The higher, the tighter; all of them group to the left.
_PRECEDENCE = {"|": 1, "^": 2, "&": 3, "+": 4, "-": 4, "||": 4, "*": 5, "/": 5, "%": 5, "DIV": 5}
_SPELLING = {"==": "=", "!=": "<>"}


def expression(context: Any) -> e.Expr:
    operands = tuple(_conjunction(c) for c in context.conjunction())
    return operands[0] if len(operands) == 1 else e.Disjunction(operands, span=span_of(context))


def _conjunction(context: Any) -> e.Expr:
    operands = tuple(_negation(n) for n in context.negation())
    return operands[0] if len(operands) == 1 else e.Conjunction(operands, span=span_of(context))


def _negation(context: Any) -> e.Expr:
    if context.NOT():
        return e.Negation(_negation(context.negation()), span=span_of(context))
    predicate = context.predicate()
    left = _arithmetic(predicate.arithmetic())
    tail = predicate.predicateTail()
    if tail is None:
        return left
    return replace(_TAILS[type(tail)](left, tail), span=span_of(predicate))


def _comparison(left: e.Expr, tail: Any) -> e.Expr:
    op = tail.getChild(0).getText()
    return e.Binary(_SPELLING.get(op, op), left, _arithmetic(tail.arithmetic()))


def _is_test(left: e.Expr, tail: Any) -> e.Expr:
    negated = tail.NOT() is not None
    if tail.NULL():
        return e.IsNull(left, negated)
    if tail.DISTINCT():
        return e.IsDistinct(left, _arithmetic(tail.arithmetic()), negated)
    return e.IsTruth(left, True if tail.TRUE() else False if tail.FALSE() else None, negated)


def _range_test(left: e.Expr, tail: Any) -> e.Expr:
    negated, test = tail.NOT() is not None, tail.rangeTest()
    match test:
        case NeelParser.BetweenContext():
            low, high = test.arithmetic()
            return e.Between(left, _arithmetic(low), _arithmetic(high), negated)
        case NeelParser.InListContext():
            return e.InList(left, expressions(test.expressionList()), negated)
        case NeelParser.InQueryContext():
            return e.InQuery(left, _nested(test.nestedQuery()), negated)
        case _:
            kind = "LIKE" if test.LIKE() else "ILIKE" if test.ILIKE() else "RLIKE"
            escape = literals.unquoted(test.STRING().getText()) if test.ESCAPE() else None
            if escape is not None and len(escape) != 1:
                fail("NEEL1005", "ESCAPE takes one character", test.STRING())
            return e.Like(left, _arithmetic(test.arithmetic()), kind, escape, negated)


_TAILS: dict[Any, Callable[[e.Expr, Any], e.Expr]] = {
    NeelParser.ComparisonContext: _comparison,
    NeelParser.IsTestContext: _is_test,
    NeelParser.RangePredicateContext: _range_test,
}


def expressions(context: Any) -> tuple[e.Expr, ...]:
    return tuple(expression(x) for x in context.expression())


def _arithmetic(context: Any) -> e.Expr:
    """Operands and operators stand in a row; this groups them by precedence."""
    operators = [o.getText().upper() for o in context.operator()]
    if len(operators) > MAX_CHAIN:
        fail("NEEL1003", f"more than {MAX_CHAIN} operators in a row", context.operator(MAX_CHAIN))
    waiting: list[str] = []
    values: list[e.Expr] = []

    def reduce() -> None:
        right, left = values.pop(), values.pop()
        span = left.span | right.span if left.span and right.span else None
        values.append(e.Binary(waiting.pop(), left, right, span=span))

    for i, operand in enumerate(context.unary()):
        if i:
            while waiting and _PRECEDENCE[waiting[-1]] >= _PRECEDENCE[operators[i - 1]]:
                reduce()
            waiting.append(operators[i - 1])
        values.append(_unary(operand))
    while waiting:
        reduce()
    return values[0]


def _unary(context: Any) -> e.Expr:
    if context.postfix() is None:
        return e.Unary(context.getChild(0).getText(), _unary(context.unary()), span=span_of(context))
    result = _primary(context.postfix().primary())
    steps = context.postfix().step()
    if len(steps) > MAX_CHAIN:
        fail("NEEL1003", f"more than {MAX_CHAIN} steps in a row", steps[MAX_CHAIN])
    for step in steps:
        result = replace(_step(result, step), span=_joined(result, step))
    return result


def _joined(base: e.Expr, step: Any) -> Any:
    return span_of(step) | base.span if base.span else span_of(step)


def _step(base: e.Expr, step: Any) -> e.Expr:
    if step.name():
        name = step.name().getText()
        return e.Name((*base.parts, name)) if isinstance(base, e.Name) else e.Member(base, name)
    if step.STAR():
        if not isinstance(base, e.Name) or len(base.parts) != 1:
            fail("NEEL1001", "only the name of a stream or variable can stand before `.*`", step)
        return e.Star(base.parts[0])
    subscript = step.subscript()
    if subscript is None:
        return e.Slice(base)
    bounds = [expression(x) for x in subscript.expression()]
    if subscript.DOTDOT() is None:
        return e.Subscript(base, bounds[0])
    if len(bounds) == 2 and bounds[0] != e.Literal(1, types.INT):
        fail("NEEL1001", "a range of elements begins at 1", subscript, f"write {base}[..{bounds[1]}]")
    return e.Slice(base, bounds[-1])


def _primary(context: Any) -> e.Expr:
    return _PRIMARIES[type(context)](context)


def _constant(context: Any) -> e.Expr:
    if context.NULL():
        return e.Literal(None, types.VOID, span=span_of(context))
    return e.Literal(context.TRUE() is not None, types.BOOLEAN, span=span_of(context))


def _case(context: Any) -> e.Expr:
    found = [expression(x) for x in context.expression()]
    operand = found.pop(0) if context.getChild(1).__class__ is NeelParser.ExpressionContext else None
    whens = tuple(
        e.When(*(expression(x) for x in w.expression()), span=span_of(w)) for w in context.whenThen()
    )
    return e.Case(operand, whens, found[0] if context.ELSE() else None, span=span_of(context))


def _cast(context: Any) -> e.Expr:
    kind = literals.data_type(context.dataType())
    return e.Cast(
        expression(context.expression()), kind, context.TRY_CAST() is not None, span=span_of(context)
    )


def _same(context: Any) -> e.Expr:
    return e.Same(tuple(n.getText() for n in context.name()), span=span_of(context))


def _running_final(context: Any) -> e.Expr:
    call = _call(context.name().getText(), context.arguments(), context.name(), context.callTail())
    return e.RunningFinal("RUNNING" if context.RUNNING() else "FINAL", call, span=span_of(context))


def _named(context: Any) -> e.Expr:
    name = context.name().getText()
    if context.arguments():
        return _call(name, context.arguments(), context, context.callTail())
    if context.STRING():
        return literals.typed_constant(name, context.STRING(), context)
    return e.Name((name,), span=span_of(context))


def _nested(context: Any, exists: bool = False) -> e.NestedQuery:
    """A query that Spark reads: its text is kept as it is written."""
    inside = Span(context.start.stop + 1, context.stop.start)
    text = context.start.getInputStream().getText(inside.start, inside.end - 1)
    return e.NestedQuery(text.strip(), exists, inside, span=span_of(context))


def _query_value(context: Any) -> e.Expr:
    found = _nested(context.nestedQuery(), context.EXISTS() is not None)
    return replace(found, span=span_of(context))


def _call(name: str, arguments: Any, begin: Any, tail: Any) -> e.Expr:
    """A call that begins with its name, and what follows its arguments."""
    if tail.OVER():
        hint = "compute them in the query around MATCH_RECOGNIZE, or in a subquery that it reads"
        fail("NEEL4050", "window functions (OVER) are not supported here", tail.OVER(), hint)
    call = _called(name, arguments, span_of(begin) | span_of(arguments))
    if tail.FILTER() is None:
        return call
    return e.Filtered(call, expression(tail.expression()), span=span_of(begin) | span_of(tail))


def _called(name: str, arguments: Any, span: Span) -> e.Expr:
    if arguments.inOrder():
        hint = "leave it out: an aggregate takes its values in the order of the rows"
        fail("NEEL4051", f"ORDER BY inside `{name}` is not supported", arguments.inOrder(), hint)
    given = tuple(expression(x) for x in arguments.expression())
    if arguments.FROM():
        if bare(name).upper() != "EXTRACT" or len(given) != 2 or not isinstance(given[0], e.Name):
            fail("NEEL1001", "FROM stands only in EXTRACT(field FROM value)", arguments.FROM())
        if arguments.DISTINCT():
            fail("NEEL1001", "EXTRACT has no DISTINCT", arguments.DISTINCT(), "leave it out")
        return e.Extract(given[0].parts[0].upper(), given[1], span=span)
    if arguments.STAR():
        given = (e.Star(span=span_of(arguments.STAR())),)
    return e.Call(name, given, arguments.DISTINCT() is not None, span=span)


_PRIMARIES: dict[Any, Callable[[Any], e.Expr]] = {
    NeelParser.NumberContext: lambda c: literals.number(c.NUMBER()),
    NeelParser.StringContext: lambda c: literals.string(c.STRING()),
    NeelParser.BinaryContext: lambda c: literals.binary(c.BINARY()),
    NeelParser.ConstantContext: _constant,
    NeelParser.ParameterContext: lambda c: e.Parameter(c.name().getText(), span=span_of(c)),
    NeelParser.IntervalLiteralContext: lambda c: literals.interval(c.interval()),
    NeelParser.GroupContext: lambda c: replace(expression(c.expression()), span=span_of(c)),
    NeelParser.QueryValueContext: _query_value,
    NeelParser.SameAttributesContext: _same,
    NeelParser.CaseWhenContext: _case,
    NeelParser.CastContext: _cast,
    NeelParser.RunningFinalContext: _running_final,
    NeelParser.NamedContext: _named,
}
