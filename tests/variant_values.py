"""Values of all types that a VARIANT can hold: as Spark SQL writes them, in Python, and their types."""

from __future__ import annotations

import datetime
from decimal import Decimal

from neelc.ir.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    DataType,
    Map,
    Struct,
    StructField,
)
from neelc.ir.types import Decimal as DecimalType

VALUES: list[tuple[str, object, DataType]] = [
    ("1.0E20D", 1e20, DOUBLE),
    ("1e-4D", 1e-4, DOUBLE),
    ("CAST('NaN' AS DOUBLE)", float("nan"), DOUBLE),
    ("CAST('-Infinity' AS DOUBLE)", float("-inf"), DOUBLE),
    ("-0.0D", -0.0, DOUBLE),
    ("CAST(0.1 AS FLOAT)", 0.10000000149011612, FLOAT),
    ("CAST(1.50 AS DECIMAL(5, 2))", Decimal("1.50"), DecimalType(5, 2)),
    ("CAST(0 AS DECIMAL(5, 2))", Decimal("0.00"), DecimalType(5, 2)),
    ("CAST(100 AS DECIMAL(10, 0))", Decimal("100"), DecimalType(10, 0)),
    ("'a\"b\\\\c\\n\\u001f\\u0001é/😀 x'", 'a"b\\c\n\x1f\x01é/😀 x', STRING),
    ("true", True, BOOLEAN),
    ("X'00FF'", b"\x00\xff", BINARY),
    ("DATE'2024-02-29'", datetime.date(2024, 2, 29), DATE),
    (
        "TIMESTAMP'2024-05-01 10:00:00.5Z'",
        datetime.datetime(2024, 5, 1, 10, 0, 0, 500000, datetime.UTC),
        TIMESTAMP,
    ),
    ("TIMESTAMP_NTZ'2024-05-01 10:00:00'", datetime.datetime(2024, 5, 1, 10), TIMESTAMP_NTZ),
    ("array(1L, NULL)", [1, None], Array(BIGINT)),
    ("map('b', 1L, 'a', NULL, 'B', 2L)", {"b": 1, "a": None, "B": 2}, Map(STRING, BIGINT)),
    (
        "named_struct('z', 1L, '😀', 2L, '\\uff5e', 3L)",
        {"z": 1, "😀": 2, "\uff5e": 3},
        Struct((StructField("z", BIGINT), StructField("`😀`", BIGINT), StructField("`\uff5e`", BIGINT))),
    ),
]
