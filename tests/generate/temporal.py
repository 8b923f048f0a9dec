"""Random clauses of MATCH_RECOGNIZE_TEMPORAL, and events with ties, NULLs and runs."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import in_temporal

from neelc.ir.allen import ALLEN, TEXTS, WORDS

SYMBOLS = "ABCD"

ALONE = (
    "x = 1", "x <> 2", "x > 0", "s = 'p'", "y < 1", "x IN (0, 2)", "s IS NULL", "FALSE", "x > 0 AND s <> 'q'",
    "x >= 0", "TRUE", "x IS NOT NULL",
)  # fmt: skip
"""Conditions on one event."""


def clause(random: Random) -> tuple[str, Mapping[str, int] | None]:
    """A clause that the binder takes, and the streams of its symbols, if there are several."""
    while True:
        streams = None
        if random.random() < 0.25:
            streams = {name: random.randint(1, 2) for name in SYMBOLS}
        text = _clause(random)
        if in_temporal.clause(text, streams)[0] is not None:
            return text, streams


def _clause(random: Random) -> str:
    names = SYMBOLS[: random.choice((1, 2, 2, 3, 3, 3, 4))]
    lasting = {name for name in names if random.random() < 0.75}
    alternatives = [_alternative(random, names, lasting) for _ in range(random.choice((1, 1, 1, 2)))]
    used = [name for name in names if any(name in one for one in alternatives)]
    pattern = alternatives[0] if len(alternatives) == 1 else "; ".join(f"({one})" for one in alternatives)
    measures = [
        f"{_value(random, name, lasting)} AS m{number}"
        for number, name in enumerate(used)
        if random.random() < 0.6
    ]
    parts = [f"MEASURES {', '.join(measures)}"] if measures else []
    if random.random() < 0.5:
        parts.append("PARTITION BY k")
    within = random.choice((None, None, "WITHIN 2", "WITHIN 5 MILLISECONDS", "WITHIN 0", "WITHIN 9"))
    parts += [f"PATTERN {pattern}", *([within] if within else [])]
    definitions = [_definition(random, name, used, lasting, measures) for name in used]
    return " ".join([*parts, f"DEFINE {', '.join(definitions)}"])


def _alternative(random: Random, names: str, lasting: set[str]) -> str:
    parts = []
    pairs = [(one, other) for number, one in enumerate(names) for other in names[number + 1 :]]
    random.shuffle(pairs)
    for one, other in pairs[: random.randint(0, len(pairs))]:
        if random.random() < 0.5:
            one, other = other, one
        parts.append(_relation(random, one, other))
    parts += [name for name in names if random.random() < 0.15 or not any(name in part for part in parts)]
    if len(names) > 1 and random.random() < 0.3:
        parts = [part for part in parts if len(part) > 1] or [names[1]]
        parts.append(f"!{random.choice(names)}")
    return ", ".join(parts)


def _relation(random: Random, one: str, other: str) -> str:
    if random.random() < 0.2:
        return f"{one} {random.choice(list(ALLEN))} {other}"
    kind = random.random()
    words = random.sample(WORDS, random.choice((1, 2, 4, 8)))
    if kind < 0.3:
        # A beginning that decides.
        begun = random.choice(WORDS)[: random.randint(1, 2)]
        words = [word for word in WORDS if word[: len(begun)] == begun]
    elif kind < 0.5:
        words = random.sample(WORDS, 20)
    swap = str.maketrans("AB", one + other)
    texts = ";".join(TEXTS[word].translate(swap) for word in words)
    return f"({texts})"


def _value(random: Random, name: str, lasting: set[str]) -> str:
    column = random.choice("xys")
    if random.random() < 0.3:
        return random.choice((f"count({name}.{column})", f"max({name}.x)", f"collect_list({name}.x)"))
    if name in lasting or random.random() < 0.3:
        return f"{random.choice(('START', 'END'))}({name}).{column}"
    return f"{name}.{column}"


def _definition(random: Random, own: str, used: list[str], lasting: set[str], measures: list[str]) -> str:
    condition = random.choice(ALONE)
    if random.random() < 0.35 and len(used) > 1:
        other = random.choice([name for name in used if name != own])
        end = random.choice(("START", "START", "END"))
        condition += random.choice((" AND ", " AND ", " OR ")) + random.choice((
            f"x >= {end}({other}).x", f"s = {end}({other}).s", f"{end}({other}).x IS NULL OR x > 0",
            f"x <> {end}({other}).x + 1", f"coalesce({end}({other}).x, 1) <= x", f"s <=> {end}({other}).s",
            *(measure.split(" AS ")[1] + " = " + measure.split(" AS ")[1] for measure in measures),
        ))  # fmt: skip
    if random.random() < 0.15:
        before = random.choice(("x >= PREV(1).x", "PREV(2).s = s OR PREV(1).x IS NULL", "PREV(1).x <> x"))
        condition = f"({condition}) AND ({before})"
    if own not in lasting:
        return f"{own} AS {condition}"
    duration = random.choice(
        ("",) * 6 + ("AT LEAST 1", "AT LEAST 2", "AT MOST 2", "AT MOST 0", "BETWEEN 1 AND 3", "AT LEAST 0")
    )
    return f"{own} AS TEMP({condition})" + (f" DURATION {duration}" if duration else "")


def events(random: Random, most: int) -> list[dict[str, object]]:
    """Runs, since values stay; some instants have several events, some events no time."""
    rows: list[dict[str, object]] = []
    ties, stays = random.choice((0.0, 0.1, 0.4)), random.choice((0.2, 0.6))
    times = dict.fromkeys((1, 2, None), 0)
    values: dict[object, dict[str, object]] = {}
    for _ in range(random.randint(most // 3, most)):
        key = random.choice((1, 1, 1, 1, 2, None))
        if random.random() >= ties:
            times[key] += random.choice((1, 1, 1, 2, 5))
        if key not in values or random.random() >= stays:
            values[key] = {
                "x": random.choice((0, 1, 1, 2, None)),
                "y": random.choice((0.0, 0.5, 2.0, float("nan"), None)),
                "s": random.choice(("p", "p", "q", "é", None)),
            }
        ts = None if random.random() < 0.03 else times[key]
        rows.append({"k": key, "ts": ts, "n": random.randint(1, 2), **values[key]})
    random.shuffle(rows)
    return rows
