"""Queries with conditions on lists of texts, decimals and times, on values that depend on the time zone, and
with lambdas, where they must be judged at once; and streams.

for number in range(1000):
    found = value_list_sample(number)
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from random import Random

from generate.rewritable import Sample
from generate.streams import Row
from neelc.errors import NeelError
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script

HEAD = (
    "CREATE STREAM S (ts BIGINT, kind STRING, id INT, x INT, name STRING, at TIMESTAMP, cost DECIMAL(6,2)) "
    "TIMESTAMP BY ts TYPE BY kind;\n"
)
_COMPARED = ("<", "<=", ">", ">=", "=", "<>")
_STRATEGIES = ("SKIP TILL NEXT MATCH",) * 3 + ("PARTITION CONTIGUITY", "SKIP TILL ANY MATCH")
_EPOCH = datetime.datetime(2024, 3, 30, 22, tzinfo=datetime.UTC)


def value_list_sample(number: int) -> Sample | None:
    """The query with this number, as a script with streams; None if it is none."""
    chance = Random(f"value lists {number}")
    text = _query(chance)
    try:
        source = Source(f"{HEAD}PATTERN {text};")
        found = Sample(script(source), tuple({"S": _rows(chance)} for _ in range(4)))
        bind(found.script, source)
    except NeelError:
        return None
    return found


def _query(chance: Random) -> str:
    strategy = chance.choice(_STRATEGIES)
    times = chance.choice(("+", "+", "+", "*", "{1,2}", "{2}"))
    end = chance.choice("ACD")
    about = [_condition(chance) for _ in range(chance.choice((1, 1, 1, 2)))]
    where = " AND ".join(about)
    forms = [f"SEQ(A a, B{times} b[], {end} c) WHERE {where}"] * 3
    forms.append(f"SEQ(A a, B{times} b[]) WHERE {where}")
    forms.append(f"OR(SEQ(A a, B{times} b[], {end} c), SEQ(C p, D q)) WHERE {where}")
    if strategy == "SKIP TILL ANY MATCH":
        forms = [f"SEQ(A a, !SEQ(B{times} b[], D c WHERE {where}), C z)"]
    text = chance.choice(forms)
    if strategy == "PARTITION CONTIGUITY":
        text += " PARTITION BY id"
    if "!" in text or chance.random() < 0.5:
        text += f" WITHIN {chance.choice((5, 8, 12))}"
    kept = " AFTER MATCH SKIP PAST LAST EVENT" if chance.random() < 0.1 else ""
    return f"{text} USING {strategy}{kept}"


def _condition(chance: Random) -> str:
    compared, column = chance.choice(_COMPARED), chance.choice(("name", "at", "cost", "cost", "name"))
    chosen = chance.choice(("max", "min", "first", "last"))
    other = chance.choice((f"c.{column}", f"a.{column}", f"b[1].{column}", f"{chosen}(b[].{column})"))
    zoned = "date_format({}, 'dd HH')"
    return chance.choice(
        (
            f"{chosen}(b[].{column}) {compared} {other}",
            f"{chosen}(b[].{column}) {compared} {other}",
            f"b[i].{column} {compared} {chosen}(b[..i-1].{column})",
            f"coalesce({chosen}(b[].{column}), a.{column}) {compared} {other}",
            f"any_value(b[].{column}) {compared} {other}",
            f"sum(b[].cost) {compared} c.cost",
            f"avg(b[].cost) {compared} a.cost",
            f"sum(b[..i-1].cost) {compared} b[i].cost",
            f"size(collect_list(b[].{column})) {compared} {chance.choice('123')}",
            f"size(collect_set(b[].{column})) {compared} count(b[])",
            f"array_contains(collect_list(b[].{column}), {chance.choice((f'c.{column}', f'a.{column}'))})",
            f"concat_ws('-', collect_list(b[].name)) {compared} concat(a.name, '-', c.name)",
            f"count(b[].{column}) {compared} {chance.choice('012')}",
            f"count(DISTINCT b[].{column}) {compared} {chance.choice('12')}",
            f"max_by(b[].name, b[].x) {compared} {chance.choice(('c.name', 'a.name'))}",
            f"min_by(b[].cost, b[].at) {compared} c.cost",
            f"max(upper(b[].name)) {compared} upper(c.name)",
            f"max({zoned.format('b[].at')}) {compared} {zoned.format('c.at')}",
            f"concat({zoned.format('a.at')}, a.name) {compared} concat({zoned.format('c.at')}, c.name)",
            f"concat({zoned.format('b[i].at')}, b[i].name) {compared} concat({zoned.format('a.at')}, a.name)",
            f"greatest(a.at, c.at) {compared} TIMESTAMP '2024-03-31 01:30:00'",
            f"exists(array(a.x, c.x), v -> v {compared} 1)",
            f"forall(array(a.x, b[i].x), v -> v {compared} b[1].x)",
            f"exists(collect_list(b[].name), v -> v {compared} c.name)",
            f"size(filter(collect_list(b[].x), (v, i) -> v + i {compared} a.x)) > 0",
            f"aggregate(collect_list(b[].x), 0, (s, v) -> s + v) {compared} c.x",
            f"array_max(transform(collect_list(b[].x), v -> v * coalesce(a.x, 1))) {compared} c.x",
        )
    )


def _rows(chance: Random) -> list[Row]:
    rows: list[Row] = []
    time = 0
    for _ in range(chance.randint(5, 12)):
        time += chance.choice((0, 1, 1, 1, 2))
        rows.append(
            {
                "ts": time,
                "kind": chance.choice("AABBBBCCD"),
                "id": chance.choice((1, 1, 1, 2)),
                "x": chance.choice((0, 1, 2, None)),
                "name": chance.choice(("a", "b", "B", "é", "", None)),
                "at": chance.choice((None, *(_EPOCH + datetime.timedelta(hours=n) for n in range(6)))),
                "cost": chance.choice((None, Decimal("0.10"), Decimal("2.50"), Decimal("9999.99"))),
            }
        )
    return rows
