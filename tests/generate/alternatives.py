"""Random queries in disjunctive normal form whose branches are alike, and small streams for them."""

from __future__ import annotations

from itertools import count
from random import Random

from pattern_examples import LASTING, STREAM, query

from generate.witnesses import Tables
from neelc.errors import NeelError
from neelc.ir.program import Match


class Branch:
    """A branch while it is written: variables begin with `tag`."""

    def __init__(self, chance: Random, tag: str, types: str) -> None:
        self.chance, self.tag, self.types = chance, tag, types
        self.parts: list[str] = []
        self.kept: list[str] = []
        self.dropped: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"{self.tag}{self.count}"

    def gap(self, is_projected: bool) -> None:
        """Something that must or must not lie between two components."""
        name, other, kind = self.name(), self.name(), self.chance.choice(self.types)
        match self.chance.randrange(6):
            case 0 | 1:
                self.parts.append(f"!{kind} {name}")
            case 2 if self.kept:
                self.parts.append(f"!({kind} {name} : {name}.x > {self.chance.choice(self.kept)}.x)")
            case 3:
                self.parts.append(
                    f"EXISTS {name} : SEQ(!{self.chance.choice(self.types)} {other}, {kind} {name})"
                )
            case 4:
                self.parts.append(f"EXISTS {name} : SEQ({kind} {name}, !{kind} {other})")
            case 5 if is_projected:
                self.parts.append(f"{kind} {name}")
                self.dropped.append(name)

    def component(self) -> None:
        name, kind = self.name(), self.chance.choice(self.types)
        self.kept.append(name)
        self.parts.append(
            f"({kind} {name} : {name}.x > 0)" if self.chance.random() < 0.2 else f"{kind} {name}"
        )

    def conditions(self) -> list[str]:
        found = []
        if len(self.kept) > 1 and self.chance.random() < 0.4:
            one, other = self.chance.sample(self.kept, 2)
            found.append(f"{one}.x {self.chance.choice(['=', '<='])} {other}.x")
        if self.dropped and self.chance.random() < 0.4:
            found.append(f"{self.chance.choice(self.dropped)}.x = {self.chance.choice(self.kept)}.x")
        return found + (["[id]"] if self.chance.random() < 0.2 else [])


def branch(chance: Random, tag: str, types: str) -> str:
    """SEQ of one to three components, perhaps under EXISTS."""
    found, is_projected = Branch(chance, tag, types), chance.random() < 0.3
    length = chance.randint(1, 3)
    for place in range(length + 1):
        while chance.random() < (0.2 if place in (0, length) else 0.45):
            found.gap(is_projected)
        if place < length:
            found.component()
    conditions = found.conditions()
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    text = f"SEQ({', '.join(found.parts)}{where})"
    if found.dropped:
        return f"EXISTS {', '.join(found.dropped)} : {text}"
    return f"{text} WITHIN {chance.randint(2, 5)}" if chance.random() < 0.1 else text


def alternatives(chance: Random) -> str:
    """An OR of two to four branches."""
    types = "ABC"[: chance.choice([2, 3])]
    branches = ", ".join(branch(chance, tag, types) for tag in "pqrs"[: chance.randint(2, 4)])
    where = chance.choice(["", "", "", "WHERE [id]", "WHERE p1.x = p1.x"])
    return f"OR({branches}) {where} WITHIN {chance.choice(['4', '8', '5 EVENTS'])}"


def asked(number: int) -> tuple[Match, Random]:
    """The first query, from this number on, that the binder accepts, over points or events that last."""
    for seed in count(number * 1000):
        chance = Random(seed)
        try:
            return query(alternatives(chance), chance.choice([STREAM, STREAM, LASTING])), chance
        except NeelError:
            continue
    raise AssertionError("numbers do not end")


def tables(chance: Random) -> Tables:
    """A few events, some at the same time, for the streams of `pattern_examples.py`."""
    rows = []
    for _ in range(chance.randint(3, 8)):
        time = chance.randint(0, 7)
        row = {"ts": time, "te": time + chance.choice([0, 0, 1, 2]), "kind": chance.choice("ABC")}
        rows.append(
            row
            | {"id": chance.choice([1, 1, 2, None]), "user": "u", "x": float(chance.randint(0, 2)), "n": 1}
        )
    return {"S": rows}
