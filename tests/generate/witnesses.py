"""Streams in which a pattern is likely to be found: a witness of it, disturbed.

The positive parts of the pattern are written down in an order that satisfies it, and of the negative parts
something that looks like them; then a few events are added, lost or moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from generate.nested import MEMBERS, TYPES
from generate.streams import Row
from neelc.ir import patterns as p
from neelc.ir.node import walk

MOST = 10
"""Events of a stream; two less for each list, as it can be any part of them."""
Tables = dict[str, list[Row]]


def witness(chance: Random, node: p.Pattern) -> list[str]:
    """Types of events, in an order that may satisfy the pattern."""
    match node:
        case p.Event(kind):
            return [chance.choice(MEMBERS[kind]) if kind in MEMBERS else kind]
        case p.Not(part):
            return _disturbed(chance, witness(chance, part)) if chance.random() < 0.4 else []
        case p.Repeat(part, least, most):
            times = chance.randint(least, min(most or 2, max(least, 2)))
            return [kind for _ in range(times) for kind in witness(chance, part)]
        case p.Optional(part):
            return witness(chance, part) if chance.random() < 0.5 else []
        case p.Exists(_, part):
            return witness(chance, part)
        case p.Or(parts):
            return witness(chance, chance.choice(parts))
        case p.And(parts) | p.AndNeg(parts):
            mixed = chance.sample(parts, len(parts))
            return [kind for part in mixed for kind in witness(chance, part)]
        case p.Seq(parts):
            return [kind for part in parts for kind in witness(chance, part)]
    raise AssertionError(type(node).__name__)


def _disturbed(chance: Random, types: list[str]) -> list[str]:
    """The types with one of them doubled, lost, or moved, or none of these."""
    if not types:
        return types
    place, other = chance.randrange(len(types)), chance.randrange(len(types))
    rest = [*types[:place], *types[place + 1 :]]
    return chance.choice(
        [
            types,
            types,
            rest,
            [*types[:other], types[place], *types[other:]],
            [*rest[:other], types[place], *rest[other:]],
        ]
    )


def tables(chance: Random, pattern: p.Pattern, lasting: bool = False, imprecise: bool = False) -> Tables:
    """The rows of the streams S, and T for events of the type T."""
    types = _disturbed(chance, witness(chance, pattern))
    for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
        again = types and chance.random() < 0.7
        types.insert(chance.randint(0, len(types)), chance.choice(types if again else TYPES))
    lists = sum(isinstance(node, p.Repeat) for node in walk(pattern))
    rows = _rows(chance, types[: 6 if imprecise else max(6, MOST - 2 * lists)], lasting, imprecise)
    return {
        "S": [{**row, "kind": kind} for kind, row in rows if kind != "T"],
        "T": [row for kind, row in rows if kind == "T"],
    }


def _rows(chance: Random, types: Sequence[str], lasting: bool, imprecise: bool) -> list[tuple[str, Row]]:
    """Rows in order of time, now and then at the same time."""
    ids = _values(chance, chance.choice([[1], [1], [1, 1, 1, 2, None], [1, 2]]))
    values = _values(chance, chance.choice([[1, 1, 1, 1, 2, 0, None], [1, 1, 1, 2], [0, 1, 2, 3, None]]))
    steps = chance.choice([[1], [1, 1, 1, 2, 0], [1, 2, 3], [1, 0]])
    time = 0
    found: list[tuple[str, Row]] = []
    for place, kind in enumerate(types):
        row: Row = {"ts": time, "id": next(ids), "x": next(values)}
        length = 0
        if lasting or kind == "T":
            length = chance.choice([0, 0, 0, 1, 2, 4])
            row["te"] = time + length
        elif imprecise:
            row["te"] = time + (chance.choice([0, 0, 1]) if place < 4 else 0)
        found.append((kind, row))
        # Mostly after the end of the one before, so that sequences are found.
        time += chance.choice(steps) + (length if chance.random() < 0.6 else 0)
    return found


def _values(chance: Random, known: Sequence[int | None]) -> Iterator[int | None]:
    """Values that may stay the same for a while: then some neighbours agree and others do not."""
    stays = chance.choice([0.0, 0.5, 0.75])
    value = chance.choice(known)
    while True:
        yield value
        value = value if chance.random() < stays else chance.choice(known)
