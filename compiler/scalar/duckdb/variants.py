"""VARIANTs in DuckDB: JSON texts, as Spark's to_json writes them.

DuckDB has a VARIANT of its own, but Arrow, pandas and most readers of files have none. The texts are written
by DuckDB, and by the runtime where their form is out of the ordinary.
"""

from __future__ import annotations

from collections.abc import Sequence

from neelc.ir.names import bare
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
    VARIANT,
    VOID,
    Array,
    Decimal,
    Struct,
)
from neelc.scalar.duckdb.casts import cast_to
from neelc.scalar.duckdb.evaluated import evaluated
from neelc.scalar.duckdb.pieces import DuckText, NameScope, field_of, text_literal, unused
from neelc.scalar.duckdb.times import clock_of
from neelc.scalar.variants import is_storable, json_string, order_of_name

JSON_OF = "to_json of a VARIANT"
"""The runtime's operation."""

MINUTE = 60_000_000


def variant_object(named: Sequence[tuple[str, DuckText]], scope: NameScope) -> DuckText:
    """Named values as a VARIANT. What it cannot hold is a text.

    >>> columns = [("b", DuckText("x", STRING)), ("a", DuckText("y", INT))]
    >>> print(variant_object(columns, NameScope({})).text)
    ('{"a":' || coalesce(CAST(y AS VARCHAR), 'null') || ',"b":' || coalesce(CAST(to_json(x) AS VARCHAR), 'null') || '}')
    """  # fmt: skip # noqa: E501
    stored = [(name, one if is_storable(one.type) else cast_to(one, STRING, scope)) for name, one in named]
    return DuckText(_object(stored, scope), VARIANT)


def _object(named: Sequence[tuple[str, DuckText]], scope: NameScope) -> str:
    parts, before = [], "{"
    for name, piece in sorted(named, key=lambda one: order_of_name(one[0])):
        parts += [text_literal(f"{before}{json_string(name)}:"), _json_or_null(piece, scope)]
        before = ","
    end = "}" if named else "{}"
    return f"({' || '.join([*parts, text_literal(end)])})"


def _json_or_null(piece: DuckText, scope: NameScope) -> str:
    return "'null'" if piece.type == VOID else f"coalesce({_json(piece, scope)}, 'null')"


def _json(piece: DuckText, scope: NameScope) -> str:
    """The text of a value; NULL if there is none."""
    native = _native(piece, scope) if piece.is_short else None
    return evaluated(JSON_OF, [piece], STRING, scope).text if native is None else native


def _native(piece: DuckText, scope: NameScope) -> str | None:
    value = piece.text
    match piece.type:
        case Array(element):
            name = unused("e", value)
            items = f"list_transform({value}, lambda {name}: {_json_or_null(DuckText(name, element), scope)})"
            return f"('[' || array_to_string({items}, ',') || ']')"
        case Struct(fields):
            own = [(bare(one.name), field_of(piece, one)) for one in fields]
            return f"CASE WHEN {value} IS NOT NULL THEN {_object(own, scope)} END"
        case Decimal(scale=scale):
            text = cast_to(piece, STRING, scope).text
            return f"rtrim(rtrim({text}, '0'), '.')" if scale else text
    if piece.type in (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT):
        return cast_to(piece, STRING, scope).text
    if piece.type in (FLOAT, DOUBLE):
        text = cast_to(piece, STRING, scope).text
        return f"CASE WHEN isfinite({value}) THEN {text} ELSE {_within_quotes(text)} END"
    if piece.type == STRING:
        return f"CAST(to_json({value}) AS VARCHAR)"
    if piece.type in (DATE, TIMESTAMP_NTZ):
        return _within_quotes(cast_to(piece, STRING, scope).text)
    if piece.type == BINARY:
        return _within_quotes(f"base64({value})")
    return _instant(piece, scope) if piece.type == TIMESTAMP else None


def _within_quotes(text: str) -> str:
    return f"""('"' || {text} || '"')"""


def _instant(piece: DuckText, scope: NameScope) -> str:
    """What the clock of the session shows, and how far it is ahead of UTC: in whole minutes, for Spark."""
    ahead = f"(epoch_us({clock_of(piece.text, scope)}) - epoch_us({piece.text}))"
    sign = f"CASE WHEN {ahead} < 0 THEN '-' ELSE '+' END"
    hours, minutes = f"abs({ahead}) // {60 * MINUTE}", f"abs({ahead}) // {MINUTE} % 60"
    text = cast_to(piece, STRING, scope).text
    plain = _within_quotes(f"{text} || {sign} || printf('%02d:%02d', {hours}, {minutes})")
    slow = evaluated(JSON_OF, [piece], STRING, scope).text
    return f"CASE WHEN {ahead} % {MINUTE} = 0 THEN {plain} ELSE {slow} END"
