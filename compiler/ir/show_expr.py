"""The text of types and of scalar expressions, with no more parentheses than it needs to be read back.

>>> from neelc.ir.expr import Binary, Literal, Name
>>> from neelc.ir.types import INT
>>> a, one = Name(("a",)), Literal(1, INT)
>>> print(Binary("*", Binary("+", a, one), a), Binary("-", a, Binary("-", a, one)), sep=";  ")
(a + 1) * a;  a - (a - 1)
"""

from __future__ import annotations

from neelc.ir import expr as e
from neelc.ir import types as t
from neelc.ir.show_literal import quoted, show_literal
from neelc.ir.show_row_values import show_row_value

# How tightly each form binds; an operand that binds less tightly than its place asks for gets parentheses.
ANY, OR, AND, NOT, PREDICATE, BIT_OR, BIT_XOR, BIT_AND, ADD, MULTIPLY, UNARY, ATOM, POSTFIX = range(13)

_OPERATORS = {
    **dict.fromkeys(e.COMPARISONS, PREDICATE),
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    **dict.fromkeys(("+", "-", "||"), ADD),
    **dict.fromkeys(("*", "/", "%", "DIV"), MULTIPLY),
}
_BINDING: dict[type[e.Expr], int] = {
    e.Disjunction: OR,
    e.Conjunction: AND,
    e.Negation: NOT,
    **dict.fromkeys((e.Between, e.InList, e.InQuery, e.Like, e.IsNull, e.IsTruth, e.IsDistinct), PREDICATE),
    e.Unary: UNARY,
    # These stand on their own, but `5.x` or `INTERVAL '1' DAY[0]` would be read as something else.
    **dict.fromkeys((e.Literal, e.Interval, e.Case, e.RunningFinal, e.Filtered, e.NestedQuery), ATOM),
    **dict.fromkeys((e.Same, e.Star, e.Parameter), ATOM),
}


def binding(node: e.Expr) -> int:
    """How tightly the text of `node` holds together."""
    match node:
        case e.Binary(op):
            return _OPERATORS[op]
        case e.Cast(operand, implicit=True):
            return binding(operand)
        case e.Literal() if show_literal(node).startswith("-"):
            return UNARY  # only the binder makes these: in a text, -5 is the negation of 5
        case _:
            return _BINDING.get(type(node), POSTFIX)


def show_expr(node: e.Expr, place: int = ANY) -> str:
    """The text of `node`, in parentheses if it binds less tightly than `place`."""
    text = _show(node)
    return f"({text})" if binding(node) < place else text


def _show(node: e.Expr) -> str:
    match node:
        case e.Literal():
            return show_literal(node)
        case e.Interval(parts):
            return "INTERVAL " + " ".join(map(show_interval_part, parts))
        case e.Parameter(name):
            return f":{name}"
        case e.Star(qualifier):
            return f"{qualifier}.*" if qualifier else "*"
        case e.Same(attributes):
            return f"[{', '.join(attributes)}]"
        case e.Unary(op, operand):
            text = show_expr(operand, UNARY)
            # Two minus signs would begin a comment.
            return f"{op}({text})" if op == "-" and text.startswith("-") else op + text
        case e.Binary(op, left, right):
            return _binary(op, left, right)
        case e.Conjunction(operands):
            return " AND ".join(show_expr(o, NOT) for o in operands)
        case e.Disjunction(operands):
            return " OR ".join(show_expr(o, AND) for o in operands)
        case e.Negation(operand):
            return f"NOT {show_expr(operand, NOT)}"
        case e.Between() | e.InList() | e.InQuery() | e.Like() | e.IsNull() | e.IsTruth() | e.IsDistinct():
            return _predicate(node)
        case e.Case() | e.Cast() | e.Extract() | e.Call() | e.RunningFinal() | e.Filtered() | e.Aggregate():
            return _function(node)
        case e.NestedQuery(text, exists):
            return f"{'EXISTS ' if exists else ''}({text})"
        case _:
            return _reference(node)


def _binary(op: str, left: e.Expr, right: e.Expr) -> str:
    place = _OPERATORS[op]
    # Comparisons do not associate; everything else does, to the left.
    return f"{show_expr(left, place + (place == PREDICATE))} {op} {show_expr(right, place + 1)}"


def _predicate(node: e.Expr) -> str:
    match node:
        case e.Between(operand, low, high, negated):
            test = f"BETWEEN {show_expr(low, BIT_OR)} AND {show_expr(high, BIT_OR)}"
        case e.InList(operand, items, negated):
            test = f"IN ({', '.join(map(show_expr, items))})"
        case e.InQuery(operand, query, negated):
            test = f"IN ({query.text})"
        case e.Like(operand, pattern, kind, escape, negated):
            ending = "" if escape is None else f" ESCAPE {quoted(escape)}"
            test = f"{kind} {show_expr(pattern, BIT_OR)}{ending}"
        case e.IsNull(operand, negated):
            test = "NULL"
        case e.IsTruth(operand, value, negated):
            test = {True: "TRUE", False: "FALSE", None: "UNKNOWN"}[value]
        case e.IsDistinct(operand, right, negated):
            test = f"DISTINCT FROM {show_expr(right, BIT_OR)}"
        case _:
            raise AssertionError(f"{type(node).__name__} is not a predicate")
    verb = "IS " if isinstance(node, e.IsNull | e.IsTruth | e.IsDistinct) else ""
    return f"{show_expr(operand, BIT_OR)} {verb}{'NOT ' if negated else ''}{test}"


def _function(node: e.Expr) -> str:
    match node:
        case e.Case(subject, whens, otherwise):
            words = ["CASE", *([show_expr(subject)] if subject else []), *map(show_when, whens)]
            return " ".join([*words, *([f"ELSE {show_expr(otherwise)}"] if otherwise else []), "END"])
        case e.Cast(operand, implicit=True):
            return _show(operand)
        case e.Cast(operand, target, safe):
            return f"{'TRY_CAST' if safe else 'CAST'}({show_expr(operand)} AS {show_type(target)})"
        case e.Extract(field, operand):
            return f"EXTRACT({field} FROM {show_expr(operand)})"
        case e.Call(name, arguments, distinct):
            return f"{name}({'DISTINCT ' if distinct else ''}{', '.join(map(show_expr, arguments))})"
        case e.RunningFinal(kind, operand):
            return f"{kind} {_show(operand)}"
        case e.Filtered(call, condition):
            return f"{_show(call)} FILTER (WHERE {show_expr(condition)})"
        case e.Aggregate(name, argument, distinct=distinct):
            return f"{name}({'DISTINCT ' if distinct else ''}{show_expr(argument) if argument else '*'})"
        case _:
            raise AssertionError(f"{type(node).__name__} is not written like a function")


def _reference(node: e.Expr) -> str:
    match node:
        case e.Name(parts):
            return ".".join(parts)
        case e.Member(base, name) | e.Field(base, name):
            return f"{show_expr(base, POSTFIX)}.{name}"
        case e.Subscript(base, index) | e.Item(base, index):
            return f"{show_expr(base, POSTFIX)}[{_show_subscript(index)}]"
        case e.Slice(base, upper):
            return f"{show_expr(base, POSTFIX)}[{f'..{_show_subscript(upper)}' if upper else ''}]"
        case e.Attribute(event, name) | e.EventTime(event, name):
            return f"{show_event(event)}.{name}"
        case e.Whole(event):
            return show_event(event)
        case e.MatchProperty(name):
            return name
        case e.RowValue():
            return show_row_value(node)
        case _:
            raise AssertionError(f"{type(node).__name__} has no text")


def _show_subscript(index: e.Expr) -> str:
    """Places in a list are written tight, as the papers do: `b[i-1]`."""
    match index:
        case e.Binary("+" | "-" as op, e.Name((name,)), e.Literal() as offset) if binding(offset) == ATOM:
            return f"{name}{op}{show_expr(offset)}"
    return show_expr(index)


def show_event(ref: e.EventRef) -> str:
    """
    >>> print(e.Inner(e.At(e.Variable("k"), e.Index("CURRENT", -1)), "a"), e.Each(e.Variable("b")))
    k[i-1].a b[]
    """
    match ref:
        case e.Variable(name):
            return name
        case e.At(base, index):
            return f"{show_event(base)}[{show_index(index)}]"
        case e.Each(base, upper):
            return f"{show_event(base)}[{f'..{show_index(upper)}' if upper else ''}]"
        case e.Inner(base, name):
            return f"{show_event(base)}.{name}"
    raise AssertionError(f"{type(ref).__name__} has no text")


def show_index(index: e.Index) -> str:
    """
    >>> print(e.Index("FIRST"), e.Index("LAST", -1), e.Index("CURRENT"))
    1 last-1 i
    """
    if index.anchor == "FIRST":
        return str(index.offset + 1)
    return {"LAST": "last", "CURRENT": "i"}[index.anchor] + (f"{index.offset:+d}" if index.offset else "")


def show_when(when: e.When) -> str:
    return f"WHEN {show_expr(when.condition)} THEN {show_expr(when.result)}"


def show_interval_part(part: e.IntervalPart) -> str:
    return f"{quoted(part.quantity)} {part.unit}" + (f" TO {part.to}" if part.to else "")


def show_type(node: t.DataType | t.StructField) -> str:
    """
    >>> print(t.Map(t.STRING, t.Array(t.Decimal(5, 2))))
    MAP<STRING, ARRAY<DECIMAL(5, 2)>>
    """
    match node:
        case t.Simple(name):
            return name
        case t.Formatted():
            return "TIMESTAMP"
        case t.Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case t.Array(element):
            return f"ARRAY<{show_type(element)}>"
        case t.Map(key, value):
            return f"MAP<{show_type(key)}, {show_type(value)}>"
        case t.Struct(fields):
            return f"STRUCT<{', '.join(map(show_type, fields))}>"
        case t.StructField(name, inner):
            return f"{name}: {show_type(inner)}"
    raise AssertionError(f"{type(node).__name__} has no text")
