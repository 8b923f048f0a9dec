"""`a.x IN (SELECT y FROM relation)` as relations: what a derived column is computed of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from neelc.engines.spark.relations import AggregateRows, BesideRow, Extend, Let, LookUp, SelectColumns
from neelc.engines.spark.scans import free, variable_name
from neelc.ir.program import MemberColumn, MembersColumn, Stream
from neelc.ir.types import STRING, TIMESTAMP, DataType
from neelc.scalar.spark.trees import identifier

HAS_ROWS, HAS_NULL, FOUND = "member rows", "member null", "member found"


def member_relations(column: MemberColumn, source: str, relation: str, taken: set[str]) -> list[Let]:
    """The relations up to a stream with what IN needs to know: whether there are rows, whether one of them is
    NULL, and whether the value is there."""
    of = identifier(column.of)
    about = free(variable_name(f"{column.relation.name}_about"), taken)
    counts = (("count(*) > 0", _own(HAS_ROWS, column)), (f"count(*) > count({of})", _own(HAS_NULL, column)))
    comment = f"Whether {column.relation.name} has rows, and whether one has no {column.of}."
    lets = [Let(about, AggregateRows(relation, (), counts), comment)]
    beside = free(f"{source}_beside", taken)
    lets.append(Let(beside, BesideRow(source, about)))
    if column.attribute:
        values = free(variable_name(f"{column.of}_of_{column.relation.name}"), taken)
        lets.append(Let(values, AggregateRows(relation, ((of, "key"),), (("count(*) > 0", "value"),))))
        found = free(f"{source}_found", taken)
        lets.append(Let(found, LookUp(beside, column.attribute, values, _own(FOUND, column))))
    return lets


def _own(what: str, column: MemberColumn) -> str:
    return f"{what} of {column.name}"


def member_text(column: MemberColumn) -> str:
    """IN, by what is known: TRUE if the value is there; FALSE if there are no rows; NULL if the value or one
    of those that it is compared with is."""
    rows, null, found = (identifier(_own(what, column)) for what in (HAS_ROWS, HAS_NULL, FOUND))
    if not column.attribute:
        return f"IF({rows}, NULL, FALSE)"
    unknown = f"{identifier(column.attribute)} IS NULL OR {null}"
    return f"CASE WHEN {found} THEN TRUE WHEN NOT {rows} THEN FALSE WHEN {unknown} THEN NULL ELSE FALSE END"


# Several values before IN: as each of them, and of those that they are compared with, may be NULL, rows are
# looked up by keys in which any of them is left out.
#
# A key has what is NULL in the row of the relation, what is NULL in the event, and the values that are
# neither. So for each set of NULLs that a row can have, an event has one key; with the key of rows without
# NULLs, and none in the event, the values are there; with any other they may be.

NullSet = tuple[bool, ...]


def _null_sets(column: MembersColumn) -> list[NullSet]:
    return list(product((False, True), repeat=len(column.of)))


def _marks(nulls: NullSet) -> str:
    return "".join("n" if one else "v" for one in nulls)


def _null_marks(values: Sequence[str]) -> str:
    return ", ".join(f"IF({value} IS NULL, 'n', 'v')" for value in values)


def _key_part(value: str, type: DataType) -> str:
    """A value as text that no other has, with its length before it. Instants that a clock shows in the same
    way differ."""
    text = f"CAST({f'unix_micros({value})' if type == TIMESTAMP else value} AS STRING)"
    return f"coalesce(concat(CAST(length({text}) AS STRING), ':', {text}), '')"


def _types_of(names: Sequence[str], stream: Stream) -> list[DataType]:
    types = {column.name: column.type for column in stream.columns}
    return [types.get(name, STRING) for name in names]


def members_relations(
    column: MembersColumn, source: str, relation: str, taken: set[str], stream: Stream
) -> list[Let]:
    """The relations up to a stream with what is found by each of its keys."""
    rows = _relation_keys(column)
    keys = free(variable_name(f"keys_of_{column.relation.name}"), taken)
    comment = f"Rows of {column.relation.name}, by what an event may have of them."
    lets = [Let(keys, SelectColumns(relation, ((f"explode(array({', '.join(rows)}))", "key"),)), comment)]
    values = free(variable_name(f"rows_of_{column.relation.name}"), taken)
    lets.append(Let(values, AggregateRows(keys, (("key", "key"),), (("count(*) > 0", "value"),))))
    own = [identifier(name) if name else "CAST(NULL AS STRING)" for name in column.attributes]
    parts = [_key_part(*pair) for pair in zip(own, _types_of(column.attributes, stream), strict=True)]
    items = tuple(
        (_event_key(nulls, own, parts), _members_name("key", column, nulls)) for nulls in _null_sets(column)
    )
    read = free(f"{source}_keys", taken)
    lets.append(Let(read, Extend(source, items)))
    for nulls in _null_sets(column):
        found = free(f"{source}_found", taken)
        key, name = _members_name("key", column, nulls), _members_name(FOUND, column, nulls)
        lets.append(Let(found, LookUp(lets[-1].name, key, values, name)))
    return lets


def _relation_keys(column: MembersColumn) -> list[str]:
    """The keys of a row: one for each set of NULLs that an event can have."""
    names = [identifier(name) for name in column.of]
    types = _types_of(column.of, column.relation)
    parts = [_key_part(name, type) for name, type in zip(names, types, strict=True)]
    return [
        f"concat({_null_marks(names)}, '{_marks(nulls)}', {_without(parts, nulls)})"
        for nulls in _null_sets(column)
    ]


def _event_key(nulls: NullSet, names: Sequence[str], parts: Sequence[str]) -> str:
    """The key of an event for rows in which these are NULL."""
    return f"concat('{_marks(nulls)}', {_null_marks(names)}, {_without(parts, nulls)})"


def _without(parts: Sequence[str], nulls: NullSet) -> str:
    """The parts of the values, each behind a mark; those that are NULL are empty."""
    shown = ("''" if is_null else part for part, is_null in zip(parts, nulls, strict=True))
    return ", '/', ".join(shown)


def _members_name(what: str, column: MembersColumn, nulls: NullSet) -> str:
    return f"{what} {_marks(nulls)} of {column.name}"


def members_text(column: MembersColumn) -> str:
    """IN of several values, by what is known: TRUE if a row has them all; NULL if NULLs hide whether one has
    them; else FALSE."""
    found = [
        f"coalesce({identifier(_members_name(FOUND, column, nulls))}, FALSE)" for nulls in _null_sets(column)
    ]
    present = [f"{identifier(name)} IS NOT NULL" if name else "FALSE" for name in column.attributes]
    return (
        f"CASE WHEN {' AND '.join((found[0], *present))} THEN TRUE WHEN {' OR '.join(found)} THEN NULL "
        "ELSE FALSE END"
    )
