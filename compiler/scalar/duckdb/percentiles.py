"""Percentiles and modes, which the runtime computes of all values.

Spark's percentile_approx is not among them: which value it gives depends on how the rows are distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as Number

from neelc.ir.types import BIGINT, BINARY, BOOLEAN, DOUBLE, STRING, VOID, Array, Decimal, Map
from neelc.scalar.duckdb.aggregates import INTEGERS, PAIR, listed
from neelc.scalar.duckdb.casts import cast_to
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.pieces import (
    HERE,
    DuckText,
    NameScope,
    UnspelledOperation,
    WrongQuery,
    aggregate_of,
    text_literal,
)
from neelc.scalar.type_of import INTERVALS


def percentile(
    name: str,
    pieces: Sequence[DuckText],
    shares: Sequence[DuckText] | DuckText,
    scope: NameScope,
    distinct: str = "",
    descends: bool = False,
) -> DuckText:
    """percentile, percentile_cont and percentile_disc, of a value and, perhaps, how often it counts. Of
    several shares there is an array."""
    value, *frequency = pieces
    if value.type in INTERVALS:
        raise UnspelledOperation(f"{name} of {value.type}")
    if value.type == BOOLEAN:
        raise WrongQuery("NEEL2106", f"{name} takes numbers, not {value.type}")
    value = cast_to(value, DOUBLE, scope)
    several = not isinstance(shares, DuckText)
    found = tuple(share_of(name, one) for one in ([shares] if isinstance(shares, DuckText) else shares))
    type = Array(DOUBLE) if several else DOUBLE
    how = (found, several, name == "percentile_disc", descends)
    if not frequency:
        return evaluated("percentiles", [listed(value, distinct)], type, scope, *how).opened()
    if distinct:
        raise UnspelledOperation(f"{name} of DISTINCT values with a frequency")
    (count,) = frequency
    if count.type not in (*INTEGERS, VOID):
        raise WrongQuery("NEEL2106", f"the frequency of {name} is an integer, not {count.type}")
    number = cast_to(count, BIGINT, scope).text
    known = f"{value.text} IS NOT NULL AND {number} IS NOT NULL"
    pair = f"CASE WHEN {known} THEN struct_pack(value := {value.text}, by := CAST({number} AS DOUBLE)) END"
    counted = evaluated("percentiles", [listed(DuckText(pair, PAIR))], type, scope, *how)
    negative = f"bool_or({known} AND {number} < 0){HERE}"
    error = f"error({text_literal(f'{name}: a frequency is negative')})"
    whole = "DOUBLE[]" if several else "DOUBLE"
    return aggregate_of(f"CASE WHEN {negative} THEN CAST({error} AS {whole}) ELSE {counted.text} END", type)


def share_of(name: str, piece: DuckText) -> float:
    """The number that says which percentile."""
    value = piece.value
    if piece.type == VOID:
        raise WrongQuery("NEEL2106", f"the share of {name} must not be NULL")
    if isinstance(value, bool) or not isinstance(value, int | float | Number | str):
        raise UnspelledOperation(f"{name} with a share that is not written as a number")
    try:
        share = float(value)
    except ValueError as error:
        raise WrongQuery("NEEL2106", f"the share of {name} is a number, not `{value}`") from error
    if not 0 <= share <= 1:
        raise WrongQuery("NEEL2106", f"the share of {name} must be between 0 and 1, not {value}")
    return share


def mode(value: DuckText, scope: NameScope, is_ordered: bool, descends: bool = False) -> DuckText:
    """The most frequent value, and of several the least, or the greatest if the order descends."""
    if isinstance(value.type, Map):
        raise UnspelledOperation("mode of a map")
    return evaluated("mode", [listed(value)], value.type, scope, is_ordered, descends).opened()


def joined(pieces: Sequence[DuckText], distinct: str, order: str, scope: NameScope) -> DuckText:
    """listagg: texts one behind the other, in an order."""
    value, *mark = pieces
    if value.type == BINARY:
        raise UnspelledOperation("listagg of BINARY")
    if isinstance(value.type, Array | Map | Decimal) and distinct:
        raise UnspelledOperation(f"listagg of DISTINCT {value.type}")
    if mark and mark[0].type != VOID and not isinstance(mark[0].value, str):
        raise WrongQuery("NEEL2106", "the separator of listagg must be a literal string")
    between = mark[0].text if mark and mark[0].type == STRING else "''"
    text = cast_to(value, STRING, scope).text
    return aggregate_of(f"string_agg({distinct}{text}, {between}{order}){HERE}", STRING)
