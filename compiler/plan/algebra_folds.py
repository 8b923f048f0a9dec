"""Aggregates of an aggregator as the kernel's, where it has them."""

from __future__ import annotations

from neelc.ir.expr import Aggregate
from neelc.ir.typeof import type_of
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
)  # fmt: skip
from neelc.plan.unsupported import Unsupported
from neelc.runtime.algebra.program import DISTINCT, LIST, Folded

NUMBERS = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)
ORDERED = (*NUMBERS, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ)

_NAMES = {"stddev": "stddev_samp", "mean": "avg", "variance": "var_samp"}
_KNOWN = ("count", "sum", "avg", "min", "max", "stddev_samp", "stddev_pop", "var_samp", "var_pop")


def folded_of(node: Aggregate, column: str | None, name: str) -> Folded:
    """The aggregate for the kernel; raises `Unsupported`.

    >>> from neelc.ir.expr import Attribute, Variable
    >>> folded_of(Aggregate("stddev", Attribute(Variable("s"), "x", DOUBLE), DOUBLE), "value_1", "result_1")
    Folded(function='stddev_samp', column='value_1', name='result_1', decimal=None)
    """
    function = _NAMES.get(node.name.lower(), node.name.lower())
    if node.function is not None and not node.distinct and column is not None:
        return Folded(LIST, column, name)
    if node.distinct and function == "count":
        function = DISTINCT
    elif node.distinct or node.function is not None or function not in _KNOWN:
        raise Unsupported(f"`{node}` over snapshots", node.span)
    if node.argument is not None and not _fits(function, type_of(node.argument)):
        raise Unsupported(f"`{node}` over snapshots, of {type_of(node.argument)},", node.span)
    decimal = (node.type.precision, node.type.scale) if isinstance(node.type, Decimal) else None
    return Folded(function, column, name, decimal if function in ("sum", "avg") else None)


def _fits(function: str, type: DataType) -> bool:
    if function == "count":
        return True
    if function in ("min", "max", DISTINCT):
        return type in ORDERED or isinstance(type, Decimal)
    return type in NUMBERS or isinstance(type, Decimal)


def result_type(node: object) -> DataType:
    assert isinstance(node, Aggregate) and node.type is not None, "a bound aggregate has a type"
    return node.type
