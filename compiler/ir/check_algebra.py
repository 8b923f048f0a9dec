"""The promises of a bound network, tested: what comes after the binder relies on them."""

from __future__ import annotations

from collections.abc import Iterator

from neelc.ir import algebra as a
from neelc.ir.algebra_events import has_own_events
from neelc.ir.expr import Aggregate, Attribute, Expr
from neelc.ir.node import walk
from neelc.ir.typeof import type_of
from neelc.ir.types import BOOLEAN, VOID


def check_algebra(query: a.Algebra) -> None:
    """Raise an `AssertionError` that names the broken promise, if one is broken.

    >>> from neelc.ir.logical import Clock, Column, Stream
    >>> from neelc.ir.types import BIGINT
    >>> clock = Clock(BIGINT, "SECOND")
    >>> source = a.Source("s", Stream("S", (Column("ts", BIGINT),), "ts"), clock=clock)
    >>> check_algebra(a.Algebra(a.Correlator((source, source)), clock))
    Traceback (most recent call last):
    AssertionError: variables of the inputs of a correlator differ: s
    """
    for node in walk(query.root):
        if isinstance(node, a.Operator):
            _check_operator(node)
    assert has_own_events(query.root), "the rows of a result are its events"
    names = [column.name.casefold() for column in query.columns]
    assert len(set(names)) == len(names), f"columns of a result differ: {names}"


def _check_operator(node: a.Operator) -> None:
    below = a.inputs_of(node)
    known = {attribute for one in below for attribute in one.payload}
    for expression in _expressions(node):
        for inner in walk(expression):
            if isinstance(inner, Attribute):
                assert inner in known, f"references are attributes of the input: {inner}"
                assert inner.type != VOID, f"every reference has a type: {inner}"
    match node:
        case a.Filter(_, condition) | a.Correlator(_, Expr() as condition):
            assert type_of(condition) == BOOLEAN, f"conditions are BOOLEAN: {condition}"
        case a.Aggregator(aggregates=aggregates):
            for one in aggregates:
                assert isinstance(one.expression, Aggregate), f"aggregates are single ones: {one}"
                is_known = one.expression.function is not None or one.expression.name in a.AGGREGATES
                assert is_known, f"no aggregate of snapshots: {one}"
        case a.TimeWindow() | a.CountWindow() | a.PatternMatcher():
            assert has_own_events(node.input), f"what asks for events stands above them: {node}"
    if isinstance(node, a.Correlator):
        _check_variables(node)
    else:
        assert not any(isinstance(one, a.Relation) for one in below), "a relation is an input of a correlator"


def _check_variables(node: a.Correlator) -> None:
    seen: set[str] = set()
    for input in node.inputs:
        here = {str(attribute.event) for attribute in input.payload}
        assert not here & seen, f"variables of the inputs of a correlator differ: {', '.join(here & seen)}"
        seen |= here


def _expressions(node: a.Operator) -> Iterator[Expr]:
    match node:
        case a.Filter(_, condition) | a.Correlator(_, Expr() as condition):
            yield condition
        case a.CountWindow(partition=partition):
            yield from partition
        case a.Aggregator(_, _, groups, aggregates):
            yield from (one.expression for one in (*groups, *aggregates))
        case a.Projection(_, _, outputs):
            for one in outputs:
                assert type_of(one.expression) == one.type, f"a column has the type of its expression: {one}"
                yield one.expression
