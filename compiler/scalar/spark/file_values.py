"""Values of text files in Spark SQL, as the reference interpreter would read them."""

from __future__ import annotations

from collections.abc import Mapping

from neelc.ir.types import BOOLEAN, STRING, Array, DataType, Map, Struct
from neelc.scalar.spark.trees import identifier


def csv_options(path: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's CSV reader: there is a header, and quotes inside quotes are doubled.

    >>> csv_options("a.tsv", {"quote": "'"})
    {'header': 'true', 'escape': "'", 'sep': '\\t', 'quote': "'"}
    """
    known = {"header": "true", "escape": options.get("quote", '"')}
    if path.lower().endswith(".tsv"):
        known["sep"] = "\t"
    return known | {key: value.replace("\\t", "\t") for key, value in options.items()}


def value_of(column: str, type: DataType, stream: str) -> str:
    """Spark SQL for the value of a column of texts; what does not fit its type fails the run.

    >>> value_of("sym", STRING, "trades")
    'sym'
    """
    text = identifier(column)
    if type == STRING:
        return text
    complaint = _literal(f"` is not of type {type} (column `{column}` of stream `{stream}`)")
    refusal = f"raise_error(concat('NEEL5003: `', {text}, {complaint}))"
    return f"coalesce({_cast(text, type)}, IF({text} IS NULL, NULL, {refusal}))"


def by_format(column: str, pattern: str, stream: str) -> str:
    """Spark SQL for the TIMESTAMP that a text stands for by a pattern; a TIMESTAMP stays what it is."""
    text = identifier(column)
    wrong = _literal(f"` is not written as {pattern} (column `{column}` of stream `{stream}`)")
    refusal = f"raise_error(concat('NEEL5003: `', {text}, {wrong}))"
    read = f"CAST(try_to_timestamp({text}, {_literal(pattern)}) AS TIMESTAMP)"
    return f"coalesce({read}, IF({text} IS NULL, NULL, {refusal}))"


def _cast(text: str, type: DataType) -> str:
    if isinstance(type, Array | Map | Struct):
        return f"from_json({text}, {_literal(str(type))})"
    if type == BOOLEAN:  # Spark also takes yes, t and 1 for TRUE
        return f"CASE lower(trim({text})) WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
    return f"try_cast(trim({text}) AS {type})"


def _literal(text: str) -> str:
    r"""A string of Spark SQL. Quotes and backslashes are given by their codes: how they are escaped depends
    on spark.sql.parser.escapedStringLiterals. So are dollars: Spark replaces `${env:HOME}` before it reads.

    >>> print(_literal("it's"))
    concat('it', char(39), 's')
    """
    parts: list[str] = []
    plain = ""
    for character in text:
        if character in "'\\$":
            parts += [f"'{plain}'", f"char({ord(character)})"]
            plain = ""
        else:
            plain += character
    parts.append(f"'{plain}'")
    return f"concat({', '.join(parts)})" if len(parts) > 1 else parts[0]
