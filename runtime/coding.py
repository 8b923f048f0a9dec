"""Columns that conditions compute with, as NumPy arrays.

Numbers and truth values are used unchanged. Conditions only compare strings, decimals and the like: these
become ranks, jointly for all columns that are compared with each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from neelc.runtime.failures import COLUMN, FailureDetails, KernelFailure
from neelc.runtime.kernels.events import NullableArray
from neelc.runtime.program import (
    PatternProgram,
    called_folds,
    columns_of_single_values,
    columns_of_value,
    conditions,
    folds,
)
from neelc.runtime.space_columns import geometry_column


def condition_columns(program: PatternProgram) -> frozenset[str]:
    """The names of the columns that conditions mention.

    >>> from neelc.runtime.program import Absent, Apply, ColumnValue, Take
    >>> same = Apply("=", (ColumnValue("a", "room"), ColumnValue("b", "ward")))
    >>> sorted(condition_columns(PatternProgram((Absent((Take("b", "B", where=(same,)),)),), (), ("B",))))
    ['room', 'ward']
    """
    compared = (column.name for value in conditions(program.steps) for column in columns_of_value(value))
    folded = (fold.column for fold in folds(program.steps) if fold.column and not fold.is_called)
    by = () if program.kept is None else program.kept.by
    return frozenset((*compared, *folded, *by))


def called_columns(program: PatternProgram) -> frozenset[str]:
    """The names of the columns whose values are needed as Python values, whatever their type: for
    functions of users, for what is computed one by one, and to distinguish matches with the same times."""
    chosen = program.furthest or program.kept
    compared = frozenset() if chosen is None else chosen.columns
    single = (one for value in conditions(program.steps) for one in columns_of_single_values(value))
    called = {fold.column for fold in called_folds(program.steps) if fold.column}
    return compared | called | {column.name for column in single}


def coded(columns: Mapping[str, pa.Array], codings: Sequence[Sequence[str]]) -> dict[str, NullableArray]:
    """All columns as values; those of one of the `codings` can be compared with each other.

    >>> rooms = {"a": pa.array(["x", None, "é"]), "b": pa.array(["é", "y", "x"]), "n": pa.array([7, 8, 9])}
    >>> {name: values.values.tolist() for name, values in coded(rooms, [("a", "b")]).items()}
    {'a': [0, 0, 2], 'b': [2, 1, 0], 'n': [7, 8, 9]}
    """
    columns = {name: _solid(column) for name, column in columns.items()}
    done: dict[str, NullableArray] = {}
    for group in codings:
        members = [name for name in group if name in columns]
        if members and not all(_is_plain(columns[name].type) for name in members):
            done.update(zip(members, ranks([columns[name] for name in members]), strict=True))
    return {name: done[name] if name in done else plain(name, column) for name, column in columns.items()}


def _solid(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_plain(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_boolean(type))


def plain(name: str, column: pa.Array) -> NullableArray:
    """A column of numbers or truth values, without a copy where that is possible; of texts, geometries."""
    if pa.types.is_null(column.type):
        return NullableArray(np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=np.bool_))
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return geometry_column(column)  # texts that are compared have codes
    if not _is_plain(column.type):
        raise KernelFailure(
            FailureDetails(COLUMN, f"a condition cannot use column {name} of type {column.type}")
        )
    if column.null_count == 0:
        return NullableArray(column.to_numpy(zero_copy_only=False), None)
    filled = column.fill_null(pa.scalar(0, pa.int8()).cast(column.type))
    return NullableArray(filled.to_numpy(zero_copy_only=False), _valid(column))


def _valid(column: pa.Array) -> np.typing.NDArray[np.bool_] | None:
    return column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None


def ranks(columns: Sequence[pa.Array]) -> list[NullableArray]:
    """Equal values get equal numbers, greater values greater ones, over all the columns together. Only the
    different values are sorted, not the rows."""
    columns = _alike(columns)
    try:
        encoded = pa.chunked_array(columns).dictionary_encode().combine_chunks()
        rank = _rank(encoded.dictionary)
    except pa.ArrowNotImplementedError:  # structs, arrays
        return _ranks_of_nested([column.to_pylist() for column in columns])
    indices = encoded.indices
    codes = rank[indices.fill_null(0)] if len(rank) else np.zeros(len(indices), dtype=np.int64)
    valid = np.asarray(indices.is_valid())
    ends = np.cumsum([len(column) for column in columns])
    return [
        NullableArray(
            codes[end - len(column) : end], valid[end - len(column) : end] if column.null_count else None
        )
        for column, end in zip(columns, ends, strict=True)
    ]


def _rank(dictionary: pa.Array) -> np.typing.NDArray[np.int64]:
    import pyarrow.compute as pc  # slow to load, and not every program compares columns

    # Arrow orders strings by the bytes of their UTF-8 form, as Spark does.
    order = pc.sort_indices(dictionary).to_numpy()
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _alike(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """The columns with one type: that of the first, or the wider one where they differ."""
    solid = [_solid(column) for column in columns]
    types = {c.type for c in solid}
    if len(types) == 1:
        return solid
    common = _common_decimal(types) or pa.large_binary()
    try:
        return [c.cast(common) for c in solid]
    except pa.ArrowException as error:
        listed = ", ".join(sorted(map(str, types)))
        raise KernelFailure(
            FailureDetails(COLUMN, f"a condition cannot compare columns of types {listed}")
        ) from error


def _common_decimal(types: set[pa.DataType]) -> pa.DataType | None:
    """A decimal type that holds all decimals and whole numbers of these types.

    >>> _common_decimal({pa.decimal128(10, 2), pa.decimal128(9, 4), pa.int32()})
    Decimal128Type(decimal128(23, 4))
    """
    if not all(pa.types.is_decimal(t) or pa.types.is_integer(t) for t in types):
        return None
    sizes = [(t.precision, t.scale) if pa.types.is_decimal(t) else (19, 0) for t in types]
    scale = max(scale for _, scale in sizes)
    precision = max(precision - scale for precision, scale in sizes) + scale
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(min(precision, 76), scale)


def _ranks_of_nested(columns: list[list[object]]) -> list[NullableArray]:
    keys = [[_sortable(value) for value in column] for column in columns]
    rank = {key: number for number, key in enumerate(sorted({key for column in keys for key in column}))}
    return [
        NullableArray(
            np.array([rank[key] for key in column], dtype=np.int64),
            np.array([value is not None for value in values], dtype=np.bool_),
        )
        for column, values in zip(keys, columns, strict=True)
    ]


def _sortable(value: object) -> tuple[object, ...]:
    """Spark's order of nested values: NULL first, NaN last, field by field."""
    match value:
        case None:
            return (0,)
        case float() if math.isnan(value):
            return (2,)
        case dict():
            return (1, tuple(_sortable(inner) for inner in value.values()))
        case list() | tuple():
            return (1, tuple(_sortable(inner) for inner in value))
        case str():
            return (1, value.encode())
        case Decimal() | _:
            return (1, value)
