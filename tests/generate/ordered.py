"""Samples in which THEN BY orders events of the same time: many are at one, and most have another number."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from generate.rewritable import Sample
from generate.streams import Row
from generate.witnesses import Tables
from neelc.errors import NeelError
from neelc.ir.script import ColumnDefinition, CreateStream, Statement
from neelc.ir.types import INT

SHARE = 0.2
"""Of all samples."""


def with_order(found: Sample, number: int, share: float = SHARE) -> Sample:
    """The sample with that number or, now and then, one like it whose streams have THEN BY. Not where times
    are imprecise: nothing orders these."""
    chance = Random(f"THEN BY {number}")
    if chance.random() >= share:
        return found
    columns = chance.choice([("n",), ("n",), ("n", "id"), ("x", "n")])
    statements = tuple(_ordered(one, columns) for one in found.script.statements)
    script = replace(found.script, statements=statements)
    made = replace(found, script=script, tables=tuple(_in_ties(chance, one) for one in found.tables))
    try:
        return made if made.match else found
    except NeelError:
        return found


def _ordered(statement: Statement, columns: tuple[str, ...]) -> Statement:
    if not isinstance(statement, CreateStream) or statement.timestamp is None:
        return statement
    timestamp = replace(statement.timestamp, then_by=columns)
    own = (*statement.columns, ColumnDefinition("n", INT))
    return replace(statement, columns=own, timestamp=timestamp)


def _in_ties(chance: Random, tables: Tables) -> Tables:
    """The rows at fewer times, numbered mostly in the order that they had; some have no number."""
    rows = sorted(((row["ts"], name, at) for name in tables for at, row in enumerate(tables[name])), key=repr)
    rows.sort(key=lambda row: int(str(row[0])))
    if chance.random() < 0.2:
        chance.shuffle(rows)
    tick, steps, number = chance.choice([2, 3, 20]), chance.choice([[1], [1, 1, 0], [1, 0]]), 0
    found: Tables = {name: [dict(row) for row in own] for name, own in tables.items()}
    for _, name, at in rows:
        found[name][at] = _tied(found[name][at], tick, None if chance.random() < 0.05 else number)
        number += chance.choice(steps)
    return found


def _tied(row: Row, tick: int, number: int | None) -> Row:
    times: Row = {name: int(str(row[name])) // tick for name in ("ts", "te") if name in row}
    return {**row, **times, "n": number}
