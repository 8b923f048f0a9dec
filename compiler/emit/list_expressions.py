"""Expressions over a match: its events, the elements of its lists, and aggregates over those.

An expression of many values, `b[].price * b[].n`, is written once, for the element that a lambda has a name
for. A condition with `i` is judged at every place of the list that `i` runs over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from neelc.emit.expressions import Refs, sql
from neelc.emit.list_aggregates import Values, over_list
from neelc.emit.list_references import Current, Element, Layout
from neelc.emit.literals import field
from neelc.ir.conjuncts import conjuncts, names_in
from neelc.ir.expr import (
    Aggregate,
    At,
    Attribute,
    Each,
    EventRef,
    EventTime,
    Expr,
    Field,
    Index,
    IsNull,
    Whole,
)
from neelc.ir.many import is_array_of_path, is_many, lists
from neelc.ir.names import bare
from neelc.ir.node import Node, map_children, transform, walk
from neelc.ir.typeof import type_of
from neelc.plan.kernel_outputs import START
from neelc.plan.unsupported import Unsupported
from neelc.runtime.reference.conditions import condition

_TIMES = frozenset(("match_start", "match_end"))


def over_match(expression: Expr, layout: Layout, properties: Refs) -> str:
    """The text of a bound expression; `properties` is asked for what belongs to no event: the match's times.

    A condition with `i` is TRUE where it holds for every i, else FALSE or NULL.

    >>> from neelc.ir.expr import Binary, Variable
    >>> from neelc.ir.types import BIGINT, INT
    >>> layout = Layout("SECOND", str.lower, lambda reference, _: reference.name, lambda _, name: name)
    >>> b = Variable("b")
    >>> this, previous = (Attribute(At(b, Index("CURRENT", -k)), "x", INT) for k in (0, 1))
    >>> print(over_match(Binary(">", this, previous), layout, lambda _: None))
    forall(transform(b, (x, i) -> i < 1 OR x.x > get(b, i - 1).x), ok -> ok)
    >>> twice = Binary("+", Attribute(Each(b), "x", INT), Attribute(Each(b), "x", INT))
    >>> print(over_match(Aggregate("max", twice, INT), layout, lambda _: None))
    array_max(transform(b, x -> try_add(x.x, x.x)))
    """
    changed = transform(expression, _unseen)
    assert isinstance(changed, Expr)
    expression = changed
    columns = frozenset(layout.struct(name).casefold() for name in names_in(expression))
    writer = _Writer(layout, properties, columns | _TIMES)
    if not any(map(_is_current, walk(expression))):
        return writer.text(expression)
    texts = [writer.at_every_place(conjunct) for conjunct in conjuncts(expression)]
    return texts[0] if len(texts) == 1 else " AND ".join(f"({text})" for text in texts)


def elements_of(aggregate: Aggregate, layout: Layout, properties: Refs) -> str:
    """The text of the array that a user's function is given; NULL where there is no list."""
    argument = transform(aggregate.argument, _unseen) if aggregate.argument is not None else None
    assert isinstance(argument, Expr)
    columns = frozenset(layout.struct(name).casefold() for name in names_in(argument))
    return _Writer(layout, properties, columns | _TIMES).array(argument)


def registered_in(expression: Expr) -> list[Aggregate]:
    """The calls of users' functions in an expression, each as `over_match` asks for it: of whole lists, since
    a function cannot be called for each `i`."""
    found = (node for node in walk(transform(expression, _unseen)) if isinstance(node, Aggregate))
    called = [node for node in found if node.function is not None]
    return [node for node in called if not any(map(_is_current, walk(node)))]


@dataclass(frozen=True)
class _There(Expr):
    """An event of which nothing matters but whether it is there."""

    event: EventRef


def _unseen(node: Node) -> Node | None:
    match node:
        case IsNull(Whole(event), negated):
            return IsNull(_There(event), negated)
    return None


def _is_current(node: Node) -> bool:
    return isinstance(node, Index) and node.anchor == "CURRENT"


@dataclass(frozen=True)
class _Writer:
    """`taken` are the names of columns and of the parameters of lambdas around: a new one hides none."""

    layout: Layout
    properties: Refs
    taken: frozenset[str]
    current: Current | None = None

    def text(self, expression: Expr) -> str:
        return sql(expression, self.reference)

    def reference(self, node: Expr) -> str | None:
        if is_array_of_path(node):
            return self.array(node)
        match node:
            case Attribute() | EventTime():
                return self.layout.value(node, self.current)
            case _There(event):
                return self.layout.event(event, self.current)
            case Whole(event, type):
                return self.layout.whole(event, type, self.current)
            case Aggregate(function=function) if function is not None:
                found = self.properties(node)
                if found is None:
                    raise Unsupported(f"`{node}` in a condition that is judged on complete matches")
                return found
            case Aggregate(name, Expr() as argument, type, distinct) if is_many(argument):
                return over_list(name, self.values(name, argument, distinct), type, distinct)
        return self.properties(node)

    def array(self, expression: Expr) -> str:
        """What the expression is for each element of the list that it ranges over."""
        return self.fields(expression) or self.transformed(expression)

    def fields(self, path: Expr) -> str | None:
        """`b.price`: Spark's own word for a field of every struct of an array."""
        match path:
            case Field(base, name):
                structs = self.fields(base)
                return None if structs is None else field(structs, bare(name))
            case _There(event) if len(list(lists(path))) == 1:
                return self.layout.event(event, self.current)
            case Attribute() | EventTime():
                name = self.layout.field_name(path)
                is_plain = name != START and len(list(lists(path))) == 1
                return field(self.layout.event(path.event, self.current), name) if is_plain else None
        return None

    def transformed(self, expression: Expr) -> str:
        each = next(lists(expression))
        name = self.fresh("x")
        one = _of_element(expression, each, Element(each.base, name))
        if is_many(one):
            raise Unsupported("a closure inside a closure")
        inside = replace(self, taken=self.taken | {name})
        return f"transform({self.layout.event(each, self.current)}, {name} -> {inside.text(one)})"

    def values(self, name: str, argument: Expr, distinct: bool) -> Values:
        """The values of an aggregate's argument. To be counted, events need not be looked into."""
        each = next(lists(argument))
        type = type_of(argument, inside_aggregate=True)
        if name == "count" and isinstance(argument, Whole) and not distinct:
            argument = _There(argument.event)
        is_element = isinstance(argument, Whole | _There) and argument.event == each
        return Values(self.array(argument), type, not is_element, self.layout.may_be_null(each))

    def at_every_place(self, conjunct: Expr) -> str:
        """A condition for every i; where there is no list, there is none. For the first elements, one that
        looks back holds by definition."""
        known = condition(conjunct)
        if known.ranged is None:
            return self.text(conjunct)
        elements = self.layout.event(known.ranged)
        current = Current(known.ranged, self.fresh("x"), self.fresh("i"))
        inside = replace(self, taken=self.taken | {current.element, current.place}, current=current)
        body = inside.text(conjunct)
        if _needs_place(conjunct, current):
            body = f"{current.place} < {known.lag} OR {body}" if known.lag else body
            places = f"transform({elements}, ({current.element}, {current.place}) -> {body})"
            every = f"forall({places}, ok -> ok)"
        else:
            every = f"forall({elements}, {current.element} -> {body})"
        return f"{elements} IS NULL OR {every}" if self.layout.may_be_null(known.ranged) else every

    def fresh(self, wish: str) -> str:
        names = (wish, *(f"{wish}{number}" for number in range(2, len(self.taken) + 3)))
        return next(name for name in names if name not in self.taken)


def _of_element(expression: Expr, each: Each, element: Element) -> Expr:
    """The expression with one element in place of a list; aggregates inside it have lists of their own."""

    def change(node: Node) -> Node:
        if node == each:
            return element
        return node if isinstance(node, Aggregate) else map_children(node, change)

    found = change(expression)
    assert isinstance(found, Expr)
    return found


def _needs_place(conjunct: Expr, current: Current) -> bool:
    """Whether the condition speaks of more than the element at i."""
    this = At(current.base, Index("CURRENT"))
    return sum(map(_is_current, walk(conjunct))) > sum(node == this for node in walk(conjunct))
