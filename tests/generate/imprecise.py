"""Queries over imprecise times that can be weighed, as text, and small streams for them."""

from __future__ import annotations

import re
from random import Random

from generate.counted import Component, _condition

COMPONENTS = (
    "{kind} {name}", "{kind} {name}", "{kind} {name}", "{kind} {name}", "{kind}+ {name}[]",
    "{kind}* {name}[]", "{kind}? {name}", "{kind}{{2}} {name}[]", "{kind}{{1,2}} {name}[]",
    "{kind}{{0,2}} {name}[]",
)  # fmt: skip
WINDOWS = ("", "", "WITHIN 2", "WITHIN 4", "WITHIN 6", "WITHIN 6", "WITHIN 20")
THRESHOLDS = ("", "", "", "", ">= 0.25", "> 0.5", ">= 0.75", ">= 1", "> 0", "> 0.1")


def query_text(chance: Random) -> str:
    """`PATTERN` without the word."""
    components = [_component(chance, name) for name in "abcd"[: chance.choice([1, 2, 2, 3, 3, 4])]]
    window, parts = chance.choice(WINDOWS), [one.text for one in components]
    if len(parts) > 1 and chance.random() < 0.2:
        place = chance.randrange(len(parts) - 1)
        parts[place : place + 2] = [_either(chance, parts[place : place + 2])]
    conditions = [_condition(chance, components) for _ in range(chance.choice([0, 0, 0, 1, 2]))]
    for name in "yz"[: chance.choice([0, 0, 1, 1, 2])]:
        ends = 0 if window else 1
        places = range(ends, len(parts) + 1 - ends)
        if places:
            parts.insert(chance.choice(places), f"!{chance.choice('NNNAB')} {name}")
            if chance.random() < 0.4:
                other = chance.choice(components).reference(chance)
                conditions.append(f"{name}.x {chance.choice('<>')} {other}.x")
    if chance.random() < 0.3:
        conditions.append("[id]")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    threshold = chance.choice(THRESHOLDS)
    confidence = f" WITH CONFIDENCE {threshold}" if threshold else ""
    pattern = f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]
    partition = " PARTITION BY id" if chance.random() < 0.1 else ""
    return f"{pattern}{where}{partition} {window}{confidence}"


def _either(chance: Random, parts: list[str]) -> str:
    """One of two parts, or one of them in order and the other way round."""
    first, second = parts
    return f"OR({first}, {second})" if chance.random() < 0.5 else f"OR({first}, SEQ({second}, !N w, C v))"


def _component(chance: Random, name: str) -> Component:
    form = chance.choice(COMPONENTS)
    empty = any(mark in form for mark in ("?", "*", "{{0"))
    return Component(form.format(kind=chance.choice("AAABBC"), name=name), name, "[]" in form, empty)


def events(chance: Random, text: str, most_worlds: int, most: int = 8) -> list[dict[str, object]]:
    """A small stream for a query, in any order, with so many possible worlds and events at most. Most types
    come in the order of the text; some rows have no time, or the latest of their times is before the
    earliest."""
    wanted = re.findall(r"(?<!!)\b([ABC])(?=[ +*?{])", text)
    count = min(chance.choice([0, 3, 6, 6, 7, 7, 7, 8]), most)
    steps, time, worlds = chance.choice([[1], [0, 1], [0, 1, 2], [0, 1, 3]]), chance.choice([-2, 0]), 1
    rows: list[dict[str, object]] = []
    for number in range(count):
        time += chance.choice(steps)
        width = chance.choice([0, 0, 1, 1, 2, 3, 6])
        if worlds * (width + 1) > most_worlds:
            width = 0
        worlds *= width + 1
        kind = wanted[number * len(wanted) // count] if chance.random() < 0.6 else chance.choice("AABBCCN")
        rows.append(_row(chance, kind, time, time + width))
    if chance.random() < 0.2:
        rows.append(_row(chance, "A", time, chance.choice([None, time - 1])))
    if chance.random() < 0.1:
        rows.append(_row(chance, "B", None, time))
    chance.shuffle(rows)
    return rows


def _row(chance: Random, kind: str, lo: int | None, hi: int | None) -> dict[str, object]:
    return {
        "lo": lo,
        "hi": hi,
        "kind": kind,
        "id": chance.choice([1, 1, 1, 1, 2, None]),
        "user": chance.choice(["u", None, "v"]),
        "x": chance.choice([None, 0.5, 1.5, -2.0, 3.0]),
        "n": chance.choice([None, 1, 2, 3, -4]),
    }
