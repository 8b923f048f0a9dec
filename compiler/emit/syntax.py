"""Pieces of Spark SQL as trees of sqlglot, put together with no more parentheses than they need."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

Sql = exp.Expression

# How tightly each form binds; an operand that binds less tightly than its place asks for gets parentheses.
ANY, OR, AND, NOT, PREDICATE, BIT_OR, BIT_XOR, BIT_AND, ADD, MULTIPLY, UNARY, ATOM = range(12)

_BINDING: dict[type[Sql], int] = {
    exp.Or: OR,
    exp.And: AND,
    exp.Not: NOT,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), PREDICATE),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between), PREDICATE),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.Escape), PREDICATE),
    exp.BitwiseOr: BIT_OR,
    exp.BitwiseXor: BIT_XOR,
    exp.BitwiseAnd: BIT_AND,
    **dict.fromkeys((exp.Add, exp.Sub, exp.DPipe), ADD),
    **dict.fromkeys((exp.Mul, exp.Div, exp.Mod, exp.IntDiv), MULTIPLY),
    **dict.fromkeys((exp.Neg, exp.BitwiseNot), UNARY),
}
OPERATORS: dict[str, type[Sql]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "/": exp.Div,
    "%": exp.Mod,
    "DIV": exp.IntDiv,
    "&": exp.BitwiseAnd,
    "|": exp.BitwiseOr,
    "^": exp.BitwiseXor,
    "||": exp.DPipe,
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "<=>": exp.NullSafeEQ,
    "<!>": exp.NullSafeNEQ,  # IS DISTINCT FROM
}


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# Control characters, odd separators and halves of surrogate pairs are better not in a text.
_ESCAPED = re.compile("[\\\\'\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def quoted(value: str) -> str:
    r"""A string literal.

    >>> print(quoted("it's \\d"), quoted("a\0"), quoted("${env:HOME}"))
    'it\'s \\d' 'a\u0000' '$\{env:HOME}'
    """
    escaped = _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", value)
    # `$\{` is read as `${`, but too late for the replacement of variables.
    return "'" + escaped.replace("${", "$\\{") + "'"


def string(value: str) -> Sql:
    """A string literal as a tree. sqlglot's own has NUL as `\\0`, before digits another character."""
    return raw(quoted(value))


def text(tree: Sql) -> str:
    """The text of a tree; names of functions stay as they are."""
    return str(tree.sql("spark", normalize_functions=False))


def at(tree: Sql, place: int) -> Sql:
    """The tree, in parentheses if it binds less tightly than `place`.

    >>> text(at(binary("+", raw("a"), raw("b")), MULTIPLY))
    '(a + b)'
    """
    return exp.Paren(this=tree) if _BINDING.get(type(tree), ATOM) < place else tree


def raw(words: str) -> Sql:
    """Words that stand in the text as they are: never a name or a constant of the user."""
    return exp.Var(this=words)


def call(name: str, *arguments: Sql) -> Sql:
    """`name(arguments)`."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def binary(op: str, left: Sql, right: Sql) -> Sql:
    """`left op right`.

    >>> text(binary("-", raw("a"), binary("-", raw("b"), raw("c"))))
    'a - (b - c)'
    """
    operator = OPERATORS[op]
    place = _BINDING[operator]
    # Comparisons do not associate; everything else does, to the left.
    return operator(this=at(left, place + (place == PREDICATE)), expression=at(right, place + 1))


def junction(word: type[Sql], operands: Sequence[Sql]) -> Sql:
    """Operands joined by AND or OR.

    >>> text(junction(exp.And, [raw("a"), junction(exp.Or, [raw("b"), raw("c")])]))
    'a AND (b OR c)'
    """
    first, *others = (at(operand, _BINDING[word] + 1) for operand in operands)
    for other in others:
        first = word(this=first, expression=other)
    return first


def negation(operand: Sql) -> Sql:
    return exp.Not(this=at(operand, NOT))


def is_null(operand: Sql) -> Sql:
    return exp.Is(this=at(operand, BIT_OR), expression=exp.Null())


def is_not_null(operand: Sql) -> Sql:
    return exp.Is(this=at(operand, BIT_OR), expression=exp.Not(this=exp.Null()))


def when(*branches: tuple[Sql, Sql], otherwise: Sql | None = None, subject: Sql | None = None) -> Sql:
    """`CASE [subject] WHEN ... THEN ... [ELSE ...] END`."""
    ifs = [exp.If(this=test, true=result) for test, result in branches]
    return exp.Case(this=subject, ifs=ifs, default=otherwise)


def cast(operand: Sql, type: str) -> Sql:
    """`CAST(operand AS type)`."""
    return call("CAST", exp.Alias(this=operand, alias=raw(type)))


def try_cast(operand: Sql, type: str) -> Sql:
    """`try_cast(operand AS type)`; sqlglot's own node of that name is written as CAST, which may fail."""
    return call("try_cast", exp.Alias(this=operand, alias=raw(type)))


def one_of(operand: Sql, items: Sequence[Sql]) -> Sql:
    """`operand IN (items)`."""
    return exp.In(this=at(operand, BIT_OR), expressions=list(items))


def between(operand: Sql, low: Sql, high: Sql) -> Sql:
    return exp.Between(this=at(operand, BIT_OR), low=at(low, BIT_OR), high=at(high, BIT_OR))


def rlike(operand: Sql, pattern: str) -> Sql:
    """`operand RLIKE pattern`, for a pattern of the compiler's own."""
    return exp.RegexpLike(this=at(operand, BIT_OR), expression=string(pattern))
