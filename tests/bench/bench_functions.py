"""Functions of users in Python, in conditions, against the same functions in Spark SQL, as pandas UDFs.

On one event, the condition is the whole query. On two events, Spark SQL joins the events of a key and a range
of time and calls the function for each pair; neelc's kernel calls it for the pairs that it finds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.data import Recipe, parquet
from bench.row import Row
from bench.sides import agree, in_turn, slower
from bench.spark import execute, read, session

import neelc

KINDS = tuple("ABCDEFGH")
EVENTS = 2_000_000
KEYS = 20_000
GOAL = 1.0
SECONDS = 300
PATTERNS = {
    "on one event": "PATTERN A a WHERE likely(a.amount) RETURN a.id AS id, a.ts AS ts",
    "on two events": "PATTERN SEQ(A a, B b) WHERE [id] AND near(a.amount, b.amount) "
    f"WITHIN {SECONDS} SECONDS RETURN a.id AS id, a.ts AS first, b.ts AS last",
}
SQL = {
    "on one event": "SELECT id, ts FROM events WHERE kind = 'A' AND likely(amount)",
    "on two events": f"""SELECT a.id, a.ts AS first, b.ts AS last FROM events a JOIN events b
        ON b.id = a.id AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL {SECONDS} SECONDS
        WHERE a.kind = 'A' AND b.kind = 'B' AND near(a.amount, b.amount)""",
}


def likely(amount: Any) -> Any:
    return amount * 37 % 1000 < 500


def near(one: Any, other: Any) -> Any:
    return abs(one - other) <= 100


TAKES: dict[Callable[..., Any], tuple[str, ...]] = {likely: ("INT",), near: ("INT", "INT")}


def asking() -> Any:
    """A session of neelc whose Spark has the functions, too."""
    from pyspark.sql.pandas.functions import PandasUDFType, pandas_udf

    made: Any = pandas_udf
    for function in TAKES:
        # By its kind: it has no hints of pandas' types.
        session().udf.register(function.__name__, made(function, "boolean", PandasUDFType.SCALAR))
    found = neelc.Session(session())
    for function, takes in TAKES.items():
        declared = neelc.function(function.__name__, returns="BOOLEAN", takes=list(takes), python=function)
        found.register_function(declared)
    return found


def sides(name: str, session_of_neelc: Any, frame: Any) -> dict[str, Any]:
    """Both as DataFrames."""
    frame.createOrReplaceTempView("events")
    events = neelc.stream(frame, timestamp="ts", type="kind")
    return {
        "neelc": session_of_neelc.compile(PATTERNS[name], Events=events).to_df(),
        "Spark SQL": session().sql(SQL[name]),
    }


def rows(scale: float) -> list[Row]:
    keys = max(round(KEYS * scale), 1)
    frame = read(parquet(Recipe(round(EVENTS * scale), KINDS, keys, gap=10_000_000 // keys)))
    found, measured = asking(), []
    for name in PATTERNS:
        both = sides(name, found, frame)
        times = in_turn({side: partial(execute, one) for side, one in both.items()})
        measured.append(slower(f"a function {name}, against Spark SQL", times, GOAL))
        measured.append(agree(f"{name}: rows", {side: one.count() for side, one in both.items()}))
    return measured
