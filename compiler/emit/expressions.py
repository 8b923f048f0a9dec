"""Bound expressions as text of Spark SQL, with the values of the reference interpreter.

Whatever `spark.sql.ansi.enabled` is: nothing fails on data, where Spark would raise an error there is NULL.
Clocks are those of the session that runs the text: no value that depends on its time zone is written into it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from neelc.emit import syntax
from neelc.emit.arithmetic import arithmetic, least, negative, unary
from neelc.emit.casts import cast, widest
from neelc.emit.functions import function
from neelc.emit.grouped import grouped
from neelc.emit.implied import implied
from neelc.emit.literals import constant, field, identifier, interval, literal, spark_type
from neelc.emit.patterns import like
from neelc.emit.syntax import Sql, at, call, negation, raw, text, try_cast
from neelc.emit.written import INTEGERS, Written
from neelc.ir import expr as e
from neelc.ir.intervals import interval_value
from neelc.ir.names import bare
from neelc.ir.typeof import INTERVALS, type_of
from neelc.ir.types import BIGINT, VOID, DataType, Map

__all__ = ["Refs", "field", "identifier", "literal", "spark_type", "sql"]

# The text of what an expression refers to, an atom that a `.field` may follow; None: to be put together here.
Refs = Callable[[e.Expr], str | None]


def sql(expression: e.Expr, refs: Refs) -> str:
    """The text of a bound expression; `refs` is asked for each part of it before it is taken apart.

    >>> from neelc.ir.types import DOUBLE, INT
    >>> names = lambda node: f"r.{node.name}" if isinstance(node, e.Attribute) else None
    >>> price, count = (e.Attribute(e.Variable("a"), *of) for of in (("price", DOUBLE), ("n", INT)))
    >>> ten = e.Cast(e.Literal(10, INT), DOUBLE, implicit=True)
    >>> sql(e.Conjunction((e.Binary(">", price, ten), e.Negation(e.IsNull(count)))), names)
    'r.price > 10 AND NOT r.n IS NULL'

    What can fail is NULL where it does.

    >>> sql(e.Binary("+", count, e.Literal(1, INT)), names), sql(e.Binary("*", price, price), names)
    ('try_add(r.n, 1)', 'r.price * r.price')
    """
    return text(_Writer(refs).sql(expression))


@dataclass(frozen=True)
class _Writer:
    refs: Refs

    def operand(self, node: e.Expr) -> Written:
        """What the operators and functions need to know of a part."""
        match node:
            case e.Literal(value, type):
                return Written(self.sql(node), type, value)
            case e.Cast(e.Literal(int(value)), type, implicit=True) if _holds(type, value):
                return Written(self.sql(node), type, value)
            case e.Interval():
                return Written(self.sql(node), type_of(node), interval_value(node))
            case e.Unary("-" | "+" as op, (e.Literal() | e.Interval()) as inside):
                known = self.operand(inside).value
                return Written(self.sql(node), type_of(node), negative(known) if op == "-" else known)
        return Written(self.sql(node), type_of(node))

    def sql(self, node: e.Expr) -> Sql:
        known = self.refs(node)
        if known is not None:
            return raw(known)
        match node:
            case e.Literal(value, type):
                return constant(value, type)
            case e.Interval():
                return interval(interval_value(node))
            case e.Field(base, name):
                return raw(field(text(self.sql(base)), bare(name)))
            case e.Item(base, index):
                return self.item(base, index)
            case e.Unary(op, operand):
                return unary(op, self.operand(operand))
            case e.Binary(op, left, right) if op in e.COMPARISONS:
                left, right = implied((left, right))
                return syntax.binary(op, self.sql(left), self.sql(right))
            case e.Binary(op, left, right):
                one, other = map(self.operand, implied((left, right), op))
                return arithmetic(op, one, other, type_of(node))
            case e.Cast(operand, target, implicit=implicit):
                return cast(self.operand(operand), target, implicit)
            case e.Call(name, arguments, type=type):
                return function(name, tuple(map(self.operand, arguments)), type or VOID)
            case e.Aggregate(name, argument, distinct=distinct):
                return grouped(name, None if argument is None else self.operand(argument), distinct)
            case e.Extract(part, operand):
                return self.extract(part, operand)
            case e.Case(subject, whens, otherwise):
                return self.case(subject, whens, otherwise)
        return self.condition(node)

    def item(self, base: e.Expr, index: e.Expr) -> Sql:
        """An array's element, counted from 0, or a map's value."""
        if isinstance(type_of(base), Map):
            return exp.Bracket(this=self.sql(base), expressions=[self.sql(index)])
        place = self.sql(index)
        return call("get", self.sql(base), try_cast(place, "INT") if type_of(index) == BIGINT else place)

    def extract(self, part: str, operand: e.Expr) -> Sql:
        written = self.operand(operand)
        moment = written.sql
        if written.type in INTERVALS:
            moment = widest(written)
        return exp.Extract(this=raw(part), expression=moment)

    def case(self, subject: e.Expr | None, whens: tuple[e.When, ...], otherwise: e.Expr | None) -> Sql:
        branches = ((self.sql(when.condition), self.sql(when.result)) for when in whens)
        last = None if otherwise is None else self.sql(otherwise)
        return syntax.when(*branches, otherwise=last, subject=None if subject is None else self.sql(subject))

    def condition(self, node: e.Expr) -> Sql:
        match node:
            case e.Conjunction(operands):
                return syntax.junction(exp.And, [self.sql(operand) for operand in operands])
            case e.Disjunction(operands):
                return syntax.junction(exp.Or, [self.sql(operand) for operand in operands])
            case e.Negation(operand):
                return negation(self.sql(operand))
            case e.IsNull(operand, negated):
                return (syntax.is_not_null if negated else syntax.is_null)(self.sql(operand))
            case e.IsTruth(operand, value, negated):
                return _is(self.sql(operand), value, negated)
            case e.IsDistinct(left, right, negated):
                left, right = implied((left, right))
                return syntax.binary("<=>" if negated else "<!>", self.sql(left), self.sql(right))
            case e.Between(operand, low, high, negated):
                test = syntax.between(*map(self.sql, implied((operand, low, high))))
            case e.InList(operand, items, negated):
                sought, *among = map(self.sql, implied((operand, *items)))
                test = syntax.one_of(sought, among)
            case e.Like(operand, pattern, kind, escape, negated):
                test = like(self.operand(operand), self.operand(pattern), kind, escape)
            case _:
                raise AssertionError(f"{node} has no text: it requires one of the caller's")
        return negation(test) if negated else test


def _holds(type: DataType, value: int) -> bool:
    """Whether an integer constant stays what it is as a value of a type of numbers."""
    if isinstance(value, bool):
        return False
    return type not in INTEGERS or least(type) <= value < -least(type)


def _is(operand: Sql, value: bool | None, negated: bool) -> Sql:
    truth = exp.Null() if value is None else exp.Boolean(this=value)
    return exp.Is(this=at(operand, syntax.BIT_OR), expression=exp.Not(this=truth) if negated else truth)
