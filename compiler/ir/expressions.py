"""Scalar expressions, all in one place.

Identifiers are strings in *source form* everywhere in the IR: `price`, or with the backticks they were
written with: `` `Price` ``. `neelc.ir.names` compares them and strips the quotes.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any

from neelc.ir.node import Node, children, map_children, remembered, walk
from neelc.ir.types import BIGINT, STRING, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Span

# Values, operators, calls: scalar expressions but for references.


@dataclass(frozen=True)
class Expr(Node):
    """A scalar expression."""


Value = None | bool | int | float | str | bytes | decimal.Decimal

Function = Callable[[list[object]], object]
"""What a user has registered as an aggregate. Two of them are equal if they are the same."""


@dataclass(frozen=True)
class Literal(Expr):
    """A constant. DATE and TIMESTAMP hold their text; the binder has checked it."""

    value: Value
    type: DataType


@dataclass(frozen=True)
class IntervalPart(Node):
    """`'5' MINUTE`, or `'1 10:00' DAY TO MINUTE` with `to`; units are singular and upper case."""

    quantity: str
    unit: str
    to: str | None = None


@dataclass(frozen=True)
class Interval(Expr):
    """`INTERVAL '1' DAY '2' HOUR`."""

    parts: tuple[IntervalPart, ...]


@dataclass(frozen=True)
class Parameter(Expr):
    """`:name`, given a value by the caller."""

    name: str


@dataclass(frozen=True)
class Star(Expr):
    """`*` or `qualifier.*`."""

    qualifier: str | None = None


@dataclass(frozen=True)
class Unary(Expr):
    """`-`, `+` or `~` before an operand."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """Arithmetic (`+ - * / % DIV`), bits (`& | ^`), `||`, comparison (`= <> < <= > >= <=>`)."""

    op: str
    left: Expr
    right: Expr


ARITHMETIC = ("+", "-", "*", "/", "%", "DIV")
BITWISE = ("&", "|", "^")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


@dataclass(frozen=True)
class Conjunction(Expr):
    """`a AND b AND ...`: two or more operands."""

    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Disjunction(Expr):
    """`a OR b OR ...`: two or more operands."""

    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class AllenRelation(Expr):
    """`h OVERLAPS p` as the parser leaves it: two events and one of the names of `neelc.ir.allen`."""

    left: Expr
    relation: str
    right: Expr


@dataclass(frozen=True)
class Negation(Expr):
    """`NOT a`, in three-valued logic."""

    operand: Expr


@dataclass(frozen=True)
class Between(Expr):
    """`operand [NOT] BETWEEN low AND high`."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True)
class InList(Expr):
    """`operand [NOT] IN (items)`."""

    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like(Expr):
    """`operand [NOT] LIKE | ILIKE | RLIKE pattern [ESCAPE escape]`."""

    operand: Expr
    pattern: Expr
    kind: str = "LIKE"
    escape: str | None = None
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Expr):
    """`operand IS [NOT] NULL`."""

    operand: Expr
    negated: bool = False


@dataclass(frozen=True)
class IsTruth(Expr):
    """`operand IS [NOT] TRUE | FALSE | UNKNOWN`; `value` None is UNKNOWN."""

    operand: Expr
    value: bool | None
    negated: bool = False


@dataclass(frozen=True)
class IsDistinct(Expr):
    """`left IS [NOT] DISTINCT FROM right`."""

    left: Expr
    right: Expr
    negated: bool = False


@dataclass(frozen=True)
class CaseBranch(Node):
    """One branch of a CASE."""

    condition: Expr
    result: Expr


@dataclass(frozen=True)
class Case(Expr):
    """`CASE [operand] WHEN ... THEN ... [ELSE ...] END`."""

    operand: Expr | None
    whens: tuple[CaseBranch, ...]
    otherwise: Expr | None = None


@dataclass(frozen=True)
class Cast(Expr):
    """`CAST(operand AS type)`; `safe` is TRY_CAST. `implicit` casts are the binder's and not printed."""

    operand: Expr
    type: DataType
    safe: bool = False
    implicit: bool = False


@dataclass(frozen=True)
class Extract(Expr):
    """`EXTRACT(field FROM operand)`; the field is upper case."""

    field: str
    operand: Expr


VectorFunction = Callable[..., Any]
"""A function of arrays, one for each argument, that gives an array of the same length."""


@dataclass(frozen=True)
class DeclaredFunction:
    """A function that a script or its caller declares. With `python`, it runs on every engine; without, where
    the engine has a function of this name."""

    name: str
    takes: tuple[DataType, ...]
    returns: DataType
    python: VectorFunction | None = field(default=None, repr=False)

    @property
    def spelled(self) -> str:
        """The name by which an engine calls it."""
        return self.name if self.python is None else f"neelc_function_{self.name.lower()}"

    @property
    def form(self) -> str:
        return f"{self.name}({', '.join(map(str, self.takes))})"


@dataclass(frozen=True)
class Call(Expr):
    """`name([DISTINCT] arguments)`. After binding the name is lower case and `type` is the result's.

    `function` is the one of an aggregate that a user has registered, whose `type` is known before binding;
    `declared` is a function that is in no table of neelc's."""

    name: str
    arguments: tuple[Expr, ...]
    distinct: bool = False
    type: DataType | None = None
    function: Function | None = field(default=None, repr=False)
    declared: DeclaredFunction | None = None


LAMBDAS = ("aggregate", "exists", "filter", "forall", "reduce", "transform")
"""Functions of an array and a lambda."""


@dataclass(frozen=True)
class LambdaParameter(Expr):
    """What a lambda has a name for; its type is known where the lambda is called."""

    name: str
    type: DataType | None = None


@dataclass(frozen=True)
class Lambda(Expr):
    """`x -> body` or `(x, i) -> body`: an argument of a function of arrays. In the body, its parameters are
    `LambdaParameter`s."""

    parameters: tuple[str, ...]
    body: Expr


@dataclass(frozen=True)
class FilteredCall(Expr):
    """`call FILTER (WHERE condition)`."""

    call: Expr
    condition: Expr


@dataclass(frozen=True)
class NestedQuery(Expr):
    """`(SELECT ...)`, or `EXISTS (SELECT ...)`: a query of Spark's inside an expression. `text` is what it
    has between its parentheses, and `place` where that stands."""

    text: str
    exists: bool = False
    place: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class InQuery(Expr):
    """`operand [NOT] IN (SELECT ...)`, `(operand, others ...) [NOT] IN (SELECT ...)`; after binding, `item`
    is what the operand is compared with, of each of the query's rows."""

    operand: Expr
    query: NestedQuery
    negated: bool = False
    item: Expr | None = None
    others: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class RunningFinal(Expr):
    """`RUNNING call` or `FINAL call` of MATCH_RECOGNIZE."""

    kind: str
    operand: Expr


@dataclass(frozen=True)
class SameAttributes(Expr):
    """`[id]`: these attributes are equal, and not NULL, on every event concerned."""

    attributes: tuple[str, ...]


@dataclass(frozen=True)
class LevelName(Node):
    """`Place.city`: a level of a hierarchy."""

    hierarchy: str
    level: str


@dataclass(frozen=True)
class SharedLevel(Node):
    """`level(street, Place.city)` in `[...]` and in PARTITION BY: of every event concerned. `of` is the level
    of the attribute, where its name is not that of the level: `level(home, Place.street, Place.city)`."""

    attribute: str
    target: LevelName
    of: LevelName | None = None


@dataclass(frozen=True)
class SameLevels(Expr):
    """`[id, level(street, Place.city)]` as the parser leaves it; the binder makes it `SameAttributes`."""

    items: tuple[str | SharedLevel, ...]


# References: what an expression says about events.
#
# They come in two forms. The parser writes `Name`, `MemberAccess`, `Subscript` and `Slice`: only how
# the text looked. The binder replaces them by `Attribute` and its kin over an `EventRef`, which say what is
# meant.

# References as the parser leaves them.


@dataclass(frozen=True)
class Name(Expr):
    """A dotted name: `price`, `a.price`, `a.position.x`."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class MemberAccess(Expr):
    """`base.name` where base is not itself a dotted name: `b[i].price`, `START(s).id`."""

    base: Expr
    name: str


@dataclass(frozen=True)
class Subscript(Expr):
    """`base[index]`: an element of a Kleene variable, or of an array or map."""

    base: Expr
    index: Expr


@dataclass(frozen=True)
class Slice(Expr):
    """`base[]` (no upper bound), `base[..i-1]` or `base[1..i-1]`."""

    base: Expr
    upper: Expr | None = None


# References as the binder leaves them.


@dataclass(frozen=True)
class Index(Node):
    """A place in the list of a Kleene variable.

    `anchor` is FIRST (`b[1]` is FIRST with offset 0), LAST (`b[last - 1]`: offset -1)
    or CURRENT (`b[i - 1]`: offset -1).
    """

    anchor: str
    offset: int = 0


@dataclass(frozen=True)
class EventRef(Node):
    """What an attribute is taken from: an event, or an iteration of a composite closure."""


@dataclass(frozen=True)
class Variable(EventRef):
    """A variable of the pattern."""

    name: str


@dataclass(frozen=True)
class ListElement(EventRef):
    """One element of a Kleene variable: `b[i-1]`."""

    base: EventRef
    index: Index


@dataclass(frozen=True)
class EveryElement(EventRef):
    """Every element of a Kleene variable, `b[]`, or those up to `upper`, `b[..i-1]`."""

    base: EventRef
    upper: Index | None = None


@dataclass(frozen=True)
class InnerVariable(EventRef):
    """A variable of a composite closure's body, seen from outside: `k[i].a` is Inner(At(k), a)."""

    base: EventRef
    name: str


@dataclass(frozen=True)
class RelatedEvents(Conjunction):
    """`left OVERLAPS right`, and the comparisons of their end points that it means: one or more."""

    left: EventRef
    relation: str
    right: EventRef


@dataclass(frozen=True)
class Attribute(Expr):
    """`event.name`. With `EveryElement` inside the reference it stands for many values: only in aggregates,
    or alone as an array."""

    event: EventRef
    name: str
    type: DataType


@dataclass(frozen=True)
class WholeEvent(Expr):
    """The event itself as a value: a struct of its attributes; `count(b[])` counts these."""

    event: EventRef
    type: DataType


@dataclass(frozen=True)
class Field(Expr):
    """A field of a struct value: `a.position.x` is Field(Attribute(a, position), x)."""

    base: Expr
    name: str
    type: DataType


@dataclass(frozen=True)
class ElementAccess(Expr):
    """An element of an array or map value, as Spark's `base[index]`."""

    base: Expr
    index: Expr
    type: DataType


@dataclass(frozen=True)
class MatchProperty(Expr):
    """`match_start`, `match_end` or `confidence` in RETURN."""

    name: str
    type: DataType


@dataclass(frozen=True)
class EventTime(Expr):
    """`a.ts` or `a.te` (`name`) where the stream has no attribute of that name: the event's valid time."""

    event: EventRef
    name: str
    type: DataType


@dataclass(frozen=True)
class Aggregate(Expr):
    """An aggregate.

    Over the elements of one match if its argument holds an `EveryElement`: `sum(b[].price)`; over all matches
    otherwise: `count(*)` (`argument` None) or `max(a.price)`, in RETURN only.

    One that a user has registered has its `function`: of all the values, NULLs as None, in the list's order.
    Nothing is known of it, but that it is one of its values alone.
    """

    name: str
    argument: Expr | None
    type: DataType
    distinct: bool = False
    function: Function | None = field(default=None, repr=False)


# What the expressions of a bound MATCH_RECOGNIZE say about rows.

ROW = "row"
"""The variable that stands for the row an argument is evaluated at: `Attribute(Variable(ROW), name)`."""

QUERY = "query"
"""The variable that stands for a row of a query inside the clause."""

WITH_UNITS = ("timestampadd", "timestampdiff")
"""Functions whose first argument is a unit, written as a word."""

BY_VALUE, BY_ORDER = "value", "by"
"""The argument of max_by and min_by is a struct: the value, and what it is chosen by."""


@dataclass(frozen=True)
class RowValue(Expr):
    """A value that rows of the match have; its `type` is known."""

    type: DataType


@dataclass(frozen=True)
class AtRow(RowValue):
    """`argument` at one row: the one at `place` (from 0) among those mapped to `variables`, counted from the
    FIRST or back from the LAST, and then `shift` rows on, inside or outside of the match; NULL where there is
    no such row. No `variables` are all. Unless `final`, the rows after the current one do not count."""

    argument: Expr
    variables: tuple[str, ...] = ()
    anchor: str = "LAST"
    place: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True)
class OverRows(RowValue):
    """An aggregate of `argument` over the rows that are mapped to `variables`, all if there are none;
    `argument=None` counts the rows. Unless `final`, the rows after the current one do not count."""

    name: str
    argument: Expr | None = None
    variables: tuple[str, ...] = ()
    final: bool = False
    distinct: bool = False


@dataclass(frozen=True)
class ConstantRowValue(RowValue):
    """A column that is the same at all rows, and is known even if the match has none: what a query inside the
    clause gives. For MEASURES: DEFINE is judged at a row."""

    argument: Expr


@dataclass(frozen=True)
class Classifier(RowValue):
    """In an argument: the variable that the row is mapped to, NULL outside of the match."""

    type: DataType = STRING


@dataclass(frozen=True)
class MatchNumber(RowValue):
    """The number of the match in its partition, from 1."""

    type: DataType = BIGINT


__all__ = [
    "ARITHMETIC",
    "Aggregate",
    "ListElement",
    "AtRow",
    "Attribute",
    "BITWISE",
    "Between",
    "Binary",
    "COMPARISONS",
    "Call",
    "Case",
    "Cast",
    "Classifier",
    "Conjunction",
    "Disjunction",
    "EveryElement",
    "EventRef",
    "AllenRelation",
    "EventTime",
    "Expr",
    "Extract",
    "FilteredCall",
    "ConstantRowValue",
    "Field",
    "InList",
    "InQuery",
    "Index",
    "InnerVariable",
    "Interval",
    "IntervalPart",
    "IsDistinct",
    "IsNull",
    "IsTruth",
    "Lambda",
    "LambdaParameter",
    "ElementAccess",
    "Like",
    "Literal",
    "MatchNumber",
    "MatchProperty",
    "MemberAccess",
    "Name",
    "Negation",
    "NestedQuery",
    "OverRows",
    "Parameter",
    "RelatedEvents",
    "RowValue",
    "RunningFinal",
    "SameAttributes",
    "Slice",
    "Star",
    "Subscript",
    "Unary",
    "Value",
    "Variable",
    "CaseBranch",
    "WholeEvent",
]


# Expressions that stand for many values, because a reference in them ranges over a list: `b[].price`.


def lists(node: Node) -> Iterator[EveryElement]:
    """The lists that `node` ranges over, outer ones first; those of an aggregate inside it are its own.

    >>> from neelc.ir.expressions import InnerVariable, Variable
    >>> from neelc.ir.types import INT
    >>> outer = EveryElement(Variable("k"))
    >>> found = lists(Attribute(EveryElement(InnerVariable(outer, "c")), "x", INT))
    >>> [each == outer for each in found]
    [True, False]
    """
    if not isinstance(node, Aggregate):
        for child in children(node):
            yield from lists(child)
    if isinstance(node, EveryElement):
        yield node


def is_many(node: Node) -> bool:
    """Whether `node` stands for many values."""
    return any(True for _ in lists(node))


def is_array_of_path(expression: Expr) -> bool:
    """Whether, outside aggregates, the expression is the array of what a path gives for each element."""
    match expression:
        case Attribute() | WholeEvent() | EventTime():
            return is_many(expression)
        case Field(base) | ElementAccess(base):
            return is_array_of_path(base)
    return False


def element(expression: Expr, each: EveryElement, position: int) -> Expr:
    """The expression with one element in place of a list.

    >>> from neelc.ir.expressions import Variable
    >>> from neelc.ir.types import INT
    >>> each = EveryElement(Variable("b"))
    >>> element(Attribute(each, "x", INT), each, 1).event == ListElement(Variable("b"), Index("FIRST", 1))
    True
    """

    def change(node: Node) -> Node:
        if isinstance(node, Aggregate):
            return node
        if node == each:
            return ListElement(each.base, Index("FIRST", position))
        return map_children(node, change)

    changed = change(expression)
    assert isinstance(changed, Expr)
    return changed


# Conditions as lists of conjuncts, and the variables they name.


def conjuncts(where: Expr | None) -> tuple[Expr, ...]:
    """The conjuncts of a condition, in order.

    >>> from neelc.syntax import expression
    >>> [str(conjunct) for conjunct in conjuncts(expression("a.x > 1 AND (b.x > 2 AND c.x > 3)"))]
    ['a.x > 1', 'b.x > 2', 'c.x > 3']
    """
    return tuple(_conjuncts(where))


def written_conjuncts(where: Expr | None) -> tuple[Expr, ...]:
    """The conjuncts of a bound condition as they were written: a relation of two events is one.

    >>> from neelc.ir.types import INT
    >>> a, b = Variable("a"), Variable("b")
    >>> before = Binary("<", EventTime(a, "te", INT), EventTime(b, "ts", INT))
    >>> where = Conjunction((RelatedEvents((before,), a, "BEFORE", b), Literal(True, INT)))
    >>> [str(conjunct) for conjunct in written_conjuncts(where)]
    ['a BEFORE b', 'TRUE']
    >>> [str(conjunct) for conjunct in conjuncts(where)]
    ['a.te < b.ts', 'TRUE']
    """
    if where is None:
        return ()
    if isinstance(where, Conjunction) and not isinstance(where, RelatedEvents):
        return tuple(each for operand in where.operands for each in written_conjuncts(operand))
    return (where,)


def _conjuncts(where: Expr | None) -> Iterator[Expr]:
    match where:
        case None:
            return
        case Conjunction(operands):
            for operand in operands:
                yield from _conjuncts(operand)
        case _:
            yield where


def conjoin(conditions: Iterable[Expr | None]) -> Expr | None:
    """All of these conditions as one, each conjunct once; None when there are none.

    >>> from neelc.syntax import expression
    >>> print(conjoin([expression("a.x > 1 AND b.x > 2"), None, expression("a.x > 1")]))
    a.x > 1 AND b.x > 2
    """
    found = tuple(dict.fromkeys(conjunct for where in conditions for conjunct in conjuncts(where)))
    return found[0] if len(found) == 1 else Conjunction(found) if found else None


def names_in(node: Node | None) -> frozenset[str]:
    """The variables an expression names."""
    return frozenset() if node is None else _names_in(node)


@remembered
def _names_in(node: Node) -> frozenset[str]:
    return frozenset(found.name for found in walk(node) if isinstance(found, Variable))


def has_same(where: Expr | None) -> bool:
    """Whether one of the conjuncts is an `[id]`: it speaks of all events of the part it stands at."""
    return any(isinstance(conjunct, SameAttributes) for conjunct in conjuncts(where))


# Conditions as lists of conjuncts.


def flat_conjuncts(condition: Expr | None) -> Iterator[Expr]:
    """What must hold for `condition` to hold, one by one.

    >>> from neelc.syntax import expression
    >>> [str(c) for c in conjuncts(expression("a.x = 1 AND (b.x = 2 AND c.x = 3) AND (d.x = 4 OR d.x = 5)"))]
    ['a.x = 1', 'b.x = 2', 'c.x = 3', 'd.x = 4 OR d.x = 5']
    """
    if isinstance(condition, Conjunction):
        for operand in condition.operands:
            yield from flat_conjuncts(operand)
    elif condition is not None:
        yield condition


def all_of(conditions: Iterable[Expr | None]) -> Expr | None:
    """One condition that holds when all of them do; None for none. The inverse of `conjuncts`."""
    return together(conjunct for condition in conditions for conjunct in flat_conjuncts(condition))


def together(conditions: Iterable[Expr]) -> Expr | None:
    """One condition of these conjuncts, none of which is taken apart."""
    every = tuple(conditions)
    if len(every) < 2:
        return every[0] if every else None
    spans = [conjunct.span for conjunct in every if conjunct.span is not None]
    span = spans[0] | spans[-1] if spans else None
    return Conjunction(every, span=span)
