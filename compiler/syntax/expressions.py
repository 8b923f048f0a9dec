"""Parse tree to expressions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from neelc.errors import Hint
from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir import expressions as e
from neelc.ir import types
from neelc.ir.allen import ALLEN
from neelc.ir.expressions import Interval, IntervalPart, Literal
from neelc.ir.names import bare, written
from neelc.ir.node import Node, map_children
from neelc.ir.types import TIME_UNITS
from neelc.source import Span
from neelc.syntax.mistakes import fail, identifier, span_of

# Units of time and of windows.

# What people write for short; Spark does not read these either.
_SHORT = {
    "NS": "NANOSECOND",
    "US": "MICROSECOND",
    "MS": "MILLISECOND",
    "S": "SECOND",
    "H": "HOUR",
    "D": "DAY",
}


def unit(text: str, place: Any, also: tuple[str, ...] = ()) -> str:
    """The unit in singular and upper case: `seconds` is SECOND."""
    word = bare(text).upper()
    allowed = (*TIME_UNITS, *also)
    for candidate in (word, word.removesuffix("S")):
        if candidate in allowed:
            return candidate
    if word in _SHORT:
        fail("NEEL1005", f"`{text}` is not a unit", place, _word_meant(f"{_SHORT[word]}S"))
    close = difflib.get_close_matches(word, [*allowed, *(u + "S" for u in allowed)], 1)
    hint = _word_meant(close[0]) if close else "units: " + ", ".join(u + "S" for u in allowed)
    fail("NEEL1005", f"`{text}` is not a unit", place, hint)


def _word_meant(word: str) -> Hint:
    """The hint for a word that is nearly another one, or means the same elsewhere."""
    return Hint(f"did you mean {word}?", (word,))


# Numbers, strings, typed constants, intervals and data types.

_NUMBER = re.compile(r"([0-9.]+(?:E[+-]?[0-9]+)?)(L|S|Y|D|F|BD)?\Z", re.IGNORECASE)
_WHOLE = {"L": (types.BIGINT, 63), "S": (types.SMALLINT, 15), "Y": (types.TINYINT, 7)}
_TYPED = {
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_LTZ": types.TIMESTAMP,
    "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
}
# Types of other databases.
_MEANT = {"CHAR": "STRING", "DATETIME": "TIMESTAMP", "NUMBER": "DECIMAL(p, s)", "VARCHAR": "STRING"}


def number(token: Any) -> Literal:
    """A number as Spark reads it: `5` INT, `1.5` DECIMAL(2, 1), `1e3` DOUBLE, `0.9f` FLOAT, `5L` BIGINT."""
    span = span_of(token)
    matched = _NUMBER.match(token.getText())
    assert matched is not None
    digits, suffix = matched[1], (matched[2] or "").upper()
    whole = digits.isdigit()
    if suffix in _WHOLE:
        kind, bits = _WHOLE[suffix]
        if not whole or int(digits) >= 2**bits:
            hint = f"the suffix {suffix} makes a {kind.name}; without it, the number has a type that holds it"
            fail("NEEL1005", f"`{token.getText()}` is not a {kind.name}", span, hint)
        return Literal(int(digits), kind, span=span)
    if suffix in ("D", "F") or (not suffix and "e" in digits.lower()):
        value = float(digits)
        if value == float("inf"):
            fail("NEEL1005", f"`{token.getText()}` is too large for a DOUBLE", span)
        return Literal(value, types.FLOAT if suffix == "F" else types.DOUBLE, span=span)
    if whole and not suffix and int(digits) < 2**63:
        return Literal(int(digits), types.INT if int(digits) < 2**31 else types.BIGINT, span=span)
    return _decimal(digits, span, token)


def _decimal(digits: str, span: Any, token: Any) -> Literal:
    value = Decimal(digits)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent > 0:
        value, exponent = value.quantize(Decimal(1)), 0
    precision = max(len(value.as_tuple().digits), -exponent)
    if precision > 38:
        hint = "with an exponent it is a DOUBLE: 1e-42"
        fail("NEEL1005", f"`{token.getText()}` has more than the 38 digits of a DECIMAL", span, hint)
    return Literal(value, types.Decimal(precision, -exponent), span=span)


def whole_number(token: Any) -> int:
    """A number that must be a plain whole one: in `{2,3}`, LIMIT and DECIMAL(10, 2)."""
    text: str = token.getText()
    if not text.isdigit():
        fail("NEEL1005", f"`{text}` is not a whole number", token)
    return int(text)


def unquoted(text: str) -> str:
    """
    >>> unquoted("'it''s'"), unquoted('"so"')
    ("it's", 'so')
    """
    return text[1:-1].replace(text[0] * 2, text[0])


def inside_quotes(token: Any) -> Span:
    """The place of a string, without its quotes."""
    span = span_of(token)
    return Span(span.start + 1, span.end - 1)


def string(token: Any) -> Literal:
    return Literal(unquoted(token.getText()), types.STRING, span=span_of(token))


def binary(token: Any) -> Literal:
    digits = token.getText()[2:-1]
    return Literal(bytes.fromhex("0" * (len(digits) % 2) + digits), types.BINARY, span=span_of(token))


def typed_constant(name: str, text: Any, context: Any) -> Literal:
    """`DATE '2020-01-31'` and its kin."""
    kind = _TYPED.get(name.upper())
    if kind is None:
        fail(
            "NEEL1005",
            f"`{name}` does not begin a constant",
            context,
            "constants: DATE '2020-01-31', TIMESTAMP '2020-01-31 12:00:00', INTERVAL '5' MINUTE, X'1F'",
        )
    return Literal(unquoted(text.getText()), kind, span=span_of(context))


def interval(context: Any) -> Interval:
    """`INTERVAL '1' DAY 2 HOURS`, `INTERVAL '1 day 2 hours'`, `INTERVAL '1 10:00' DAY TO MINUTE`.

    A sign before the first quantity belongs to that one, as Spark has it.
    """
    parts: list[IntervalPart] = []
    sign = "-" if context.MINUS() else ""
    for part in context.intervalPart():
        quoted, names = part.STRING(), part.name()
        quantity = sign + (unquoted(quoted.getText()).strip() if quoted else part.NUMBER().getText())
        sign = ""
        if names:
            first, *second = (unit(n.getText(), n) for n in names)
            parts.append(IntervalPart(quantity, first, second[0] if second else None, span=span_of(part)))
        else:
            parts.extend(_words(quantity, part))
    return Interval(tuple(parts), span=span_of(context))


def _words(text: str, place: Any) -> list[IntervalPart]:
    words = text.split()
    if not words or len(words) % 2:
        fail("NEEL1005", f"`{text}` is not an interval", place, "for example INTERVAL '1 day 2 hours'")
    return [
        IntervalPart(q, unit(u, place), span=span_of(place))
        for q, u in zip(words[::2], words[1::2], strict=True)
    ]


def data_type(context: Any) -> types.DataType:
    """A type as Spark SQL writes it."""
    names = context.name() if isinstance(context.name(), list) else [context.name()]
    if context.getChild(0).getText().upper() == "INTERVAL":
        first = unit(names[0].getText(), names[0])
        return types.YEAR_INTERVAL if first in ("YEAR", "MONTH") else types.DAY_INTERVAL
    spelled = bare(names[0].getText()).upper()
    name = types.SYNONYMS.get(spelled, spelled)
    numbers = [whole_number(n) for n in context.NUMBER()]
    inner = context.typeArgument()
    if name == "DECIMAL" and not inner and len(numbers) <= 2:
        return _decimal_type(numbers, context)
    if name == "ARRAY" and len(inner) == 1 and not inner[0].name():
        return types.Array(data_type(inner[0].dataType()), span=span_of(context))
    if name == "MAP" and len(inner) == 2 and not any(i.name() for i in inner):
        return types.Map(
            data_type(inner[0].dataType()), data_type(inner[1].dataType()), span=span_of(context)
        )
    if name == "STRUCT" and inner and all(i.name() for i in inner):
        fields = (
            types.StructField(written(bare(i.name().getText())), data_type(i.dataType()), span=span_of(i))
            for i in inner
        )
        return types.Struct(tuple(fields), span=span_of(context))
    if name in ("CHAR", "VARCHAR") and len(numbers) == 1 and not inner:
        return types.STRING
    if name not in types.SIMPLE_TYPES or numbers or inner:
        fail("NEEL1005", f"`{context.getText()}` is not a type", context, _type_hint(name))
    return types.SIMPLE_TYPES[name]


def _type_hint(name: str) -> Hint | str:
    known = [n for n in types.SIMPLE_TYPES if " " not in n and n != "VOID"]
    close = difflib.get_close_matches(name, [*known, *types.SYNONYMS], 1, 0.75)
    meant = _MEANT.get(name) or (close[0] if close and close[0] != name else None)
    if meant is not None:
        return _word_meant(meant)
    return "types: " + ", ".join([*known, "DECIMAL(p, s)", "ARRAY<t>", "MAP<k, v>", "STRUCT<name: t>"])


def _decimal_type(numbers: list[int], context: Any) -> types.Decimal:
    precision, scale = (numbers + [10, 0][len(numbers) :])[:2]
    if not 1 <= precision <= 38 or scale > precision:
        hint = "a DECIMAL(p, s) has p digits, at most 38, s of them after the decimal point"
        fail("NEEL1005", f"`{context.getText()}` is not a type", context, hint)
    return types.Decimal(precision, scale, span=span_of(context))


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
    if predicate.nestedQuery():
        first, *others = expressions(predicate)
        query, negated = _nested(predicate.nestedQuery()), predicate.NOT() is not None
        return e.InQuery(first, query, negated, others=tuple(others), span=span_of(predicate))
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
            escape = unquoted(test.STRING().getText()) if test.ESCAPE() else None
            if escape is not None and len(escape) != 1:
                fail("NEEL1005", "ESCAPE takes one character", test.STRING())
            return e.Like(left, _arithmetic(test.arithmetic()), kind, escape, negated)


def _event_relation(left: e.Expr, tail: Any) -> e.Expr:
    """`h OVERLAPS p`, `h MET BY p`. The words are names everywhere else."""
    words = [child.getText() for child in tail.getChildren()][:-1]
    relation = " ".join(words).upper()
    if relation not in ALLEN:
        span = span_of(tail.getChild(0)) | span_of(tail.getChild(len(words) - 1))
        fail(
            "NEEL1001",
            f"found `{' '.join(words)}`, which is not a relation of events",
            span,
            _relation_meant(relation),
        )
    return e.AllenRelation(left, relation, _arithmetic(tail.arithmetic()))


def _relation_meant(words: str) -> Hint:
    """The nearest relation: `MET` is the beginning of one, and `OVERLAPS BY` has a word too many."""
    begins = [name for name in ALLEN if name.startswith(f"{words} ")]
    return _word_meant((begins or difflib.get_close_matches(words, ALLEN, 1, 0))[0])


_TAILS: dict[Any, Callable[[e.Expr, Any], e.Expr]] = {
    NeelParser.ComparisonContext: _comparison,
    NeelParser.IsTestContext: _is_test,
    NeelParser.RangePredicateContext: _range_test,
    NeelParser.EventRelationContext: _event_relation,
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
        name = identifier(step.name())
        return e.Name((*base.parts, name)) if isinstance(base, e.Name) else e.MemberAccess(base, name)
    if step.STAR():
        if not isinstance(base, e.Name) or len(base.parts) != 1:
            fail("NEEL1001", "only the name of a stream or variable can precede `.*`", step)
        return e.Star(base.parts[0])
    subscript = step.subscript()
    if subscript is None:
        return e.Slice(base)
    bounds = [expression(x) for x in subscript.expression()]
    if subscript.DOTDOT() is None:
        return e.Subscript(base, bounds[0])
    if len(bounds) == 2 and bounds[0] != e.Literal(1, types.INT):
        hint = Hint(f"write {base}[..{bounds[1]}]", (f"..{bounds[1]}",))
        fail("NEEL1001", "a range of elements begins at 1", subscript, hint)
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
        e.CaseBranch(*(expression(x) for x in w.expression()), span=span_of(w)) for w in context.whenThen()
    )
    return e.Case(operand, whens, found[0] if context.ELSE() else None, span=span_of(context))


def _cast(context: Any) -> e.Expr:
    kind = data_type(context.dataType())
    return e.Cast(
        expression(context.expression()), kind, context.TRY_CAST() is not None, span=span_of(context)
    )


def _same(context: Any) -> e.Expr:
    items = tuple(map(shared_attribute, context.sharedAttribute()))
    names = tuple(item for item in items if isinstance(item, str))
    if len(names) < len(items):
        return e.SameLevels(items, span=span_of(context))
    return e.SameAttributes(names, span=span_of(context))


def shared_attribute(context: Any) -> str | e.SharedLevel:
    """An attribute of all events, or a level of one."""
    name, *attribute = context.name()
    if not attribute:
        return identifier(name)
    if identifier(name).lower() != "level" or len(context.levelName()) > 2:
        message = "an attribute is expected here, or a level of one"
        fail("NEEL1001", message, context, "for example [id], or [level(street, Place.city)]")
    *of, target = (
        e.LevelName(*map(identifier, one.name()), span=span_of(one)) for one in context.levelName()
    )
    return e.SharedLevel(identifier(attribute[0]), target, of[0] if of else None, span=span_of(context))


def _running_final(context: Any) -> e.Expr:
    call = _call(identifier(context.name()), context.arguments(), context.name(), context.callTail())
    return e.RunningFinal("RUNNING" if context.RUNNING() else "FINAL", call, span=span_of(context))


def _named(context: Any) -> e.Expr:
    name = identifier(context.name())
    if context.arguments():
        return _call(name, context.arguments(), context, context.callTail())
    if context.STRING():
        return typed_constant(name, context.STRING(), context)
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
    return e.FilteredCall(call, expression(tail.expression()), span=span_of(begin) | span_of(tail))


def _called(name: str, arguments: Any, span: Span) -> e.Expr:
    if arguments.inOrder():
        hint = "leave it out: an aggregate takes its values in the order of the rows"
        fail("NEEL4051", f"ORDER BY inside `{name}` is not supported", arguments.inOrder(), hint)
    given = tuple(expression(x) for x in arguments.expression())
    if arguments.FROM():
        if bare(name).upper() != "EXTRACT" or len(given) != 2 or not isinstance(given[0], e.Name):
            fail("NEEL1001", "FROM is allowed only in EXTRACT(field FROM value)", arguments.FROM())
        if arguments.DISTINCT():
            fail("NEEL1001", "EXTRACT has no DISTINCT", arguments.DISTINCT(), "leave it out")
        return e.Extract(given[0].parts[0].upper(), given[1], span=span)
    if bare(name).lower() in e.WITH_UNITS and given and isinstance(given[0], e.Name):
        (word, *_), place = given[0].parts, given[0].span
        given = (e.Literal(bare(word).upper(), types.STRING, span=place), *given[1:])
    if arguments.STAR():
        given = (e.Star(span=span_of(arguments.STAR())),)
    return e.Call(name, given, arguments.DISTINCT() is not None, span=span)


def _lambda(context: Any) -> e.Expr:
    """A lambda; the names of its parameters are taken out of its body: whoever resolves names sees others."""
    parameters = tuple(identifier(name) for name in context.name())
    if twice := next((name for name in parameters if parameters.count(name) > 1), None):
        fail("NEEL1001", f"two parameters of a lambda are called `{twice}`", context)
    known = {bare(name).casefold(): name for name in parameters}

    def change(node: Node) -> Node:
        match node:
            case e.Name((first, *rest)) if bare(first).casefold() in known:
                found: e.Expr = e.LambdaParameter(bare(known[bare(first).casefold()]), span=node.span)
                for field in rest:
                    found = e.Field(found, field, types.VOID, span=node.span)
                return found
        node = map_children(node, change)
        match node:
            case e.Subscript(e.LambdaParameter() | e.Field() | e.ElementAccess() as base, index):
                return e.ElementAccess(base, index, types.VOID, span=node.span)
            case e.MemberAccess(e.LambdaParameter() | e.Field() | e.ElementAccess() as base, name):
                return e.Field(base, name, types.VOID, span=node.span)
        return node

    body = change(expression(context.expression()))
    assert isinstance(body, e.Expr)
    return e.Lambda(tuple(map(bare, parameters)), body, span=span_of(context))


_PRIMARIES: dict[Any, Callable[[Any], e.Expr]] = {
    NeelParser.NumberContext: lambda c: number(c.NUMBER()),
    NeelParser.StringContext: lambda c: string(c.STRING()),
    NeelParser.BinaryContext: lambda c: binary(c.BINARY()),
    NeelParser.ConstantContext: _constant,
    NeelParser.ParameterContext: lambda c: e.Parameter(identifier(c.name()), span=span_of(c)),
    NeelParser.IntervalLiteralContext: lambda c: interval(c.interval()),
    NeelParser.ExistsFunctionContext: lambda c: _called("exists", c.arguments(), span_of(c)),
    NeelParser.LambdaFunctionContext: _lambda,
    NeelParser.GroupContext: lambda c: replace(expression(c.expression()), span=span_of(c)),
    NeelParser.QueryValueContext: _query_value,
    NeelParser.SameAttributesContext: _same,
    NeelParser.CaseWhenContext: _case,
    NeelParser.CastContext: _cast,
    NeelParser.RunningFinalContext: _running_final,
    NeelParser.NamedContext: _named,
}
