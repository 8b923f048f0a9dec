"""Aggregates of an aggregator as the kernel's, where it has them."""

from __future__ import annotations

from collections.abc import Mapping

from neelc.ir.algebra import Aggregator
from neelc.ir.expressions import Aggregate, Expr
from neelc.ir.node import walk
from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    Decimal,
)
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.runtime.kernels.snapshots.program import DISTINCT, LIST, SnapshotAggregate
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.type_of import type_of

NUMBERS = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)
ORDERED = (*NUMBERS, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ)

_NAMES = {"stddev": "stddev_samp", "mean": "avg", "variance": "var_samp"}
_KNOWN = ("count", "sum", "avg", "min", "max", "stddev_samp", "stddev_pop", "var_samp", "var_pop")


def folded_of(node: Aggregate, column: str | None, name: str) -> SnapshotAggregate:
    """The aggregate for the kernel; raises `UnsupportedQuery`.

    >>> from neelc.ir.expressions import Attribute, Variable
    >>> folded_of(Aggregate("stddev", Attribute(Variable("s"), "x", DOUBLE), DOUBLE), "value_1", "result_1")
    SnapshotAggregate(function='stddev_samp', column='value_1', name='result_1', decimal=None)
    """
    function = _NAMES.get(node.name.lower(), node.name.lower())
    if node.function is not None and not node.distinct and column is not None:
        return SnapshotAggregate(LIST, column, name)
    if node.distinct and function == "count":
        function = DISTINCT
    elif node.distinct or node.function is not None or function not in _KNOWN:
        raise UnsupportedQuery(f"`{node}` over snapshots", node.span)
    if node.argument is not None and not _fits(function, type_of(node.argument)):
        raise UnsupportedQuery(f"`{node}` over snapshots, of {type_of(node.argument)},", node.span)
    decimal = (node.type.precision, node.type.scale) if isinstance(node.type, Decimal) else None
    return SnapshotAggregate(function, column, name, decimal if function in ("sum", "avg") else None)


def _fits(function: str, type: DataType) -> bool:
    if function == "count":
        return True
    if function in ("min", "max", DISTINCT):
        return type in ORDERED or isinstance(type, Decimal)
    return type in NUMBERS or isinstance(type, Decimal)


def result_type(node: object) -> DataType:
    assert isinstance(node, Aggregate) and node.type is not None, "a bound aggregate has a type"
    return node.type


@dataclass(frozen=True)
class AggregatorPlan:
    """What the kernel computes of a group: the columns of the `arguments`, and the aggregates over them by
    their expressions."""

    arguments: Mapping[Expr, str]
    folded: Mapping[Expr, SnapshotAggregate]


def aggregator_plan(aggregator: Aggregator) -> AggregatorPlan:
    """The aggregates of an aggregator, each once; raises `UnsupportedQuery`."""
    arguments: dict[Expr, str] = {}
    folded: dict[Expr, SnapshotAggregate] = {}
    for output in aggregator.aggregates:
        for node in walk(output.expression):
            if isinstance(node, Aggregate) and node not in folded:
                column = None
                if node.argument is not None:
                    column = arguments.setdefault(node.argument, f"value_{len(arguments) + 1}")
                folded[node] = folded_of(node, column, f"result_{len(folded) + 1}")
    return AggregatorPlan(arguments, folded)
