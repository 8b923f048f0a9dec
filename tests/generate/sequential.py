"""Random clauses of MATCH_RECOGNIZE_SEQUENTIAL, and events with many ties and several symbols each."""

from __future__ import annotations

from random import Random

import in_sequential

SYMBOLS = "abcd"

ALONE = (
    "x = 1", "x <> 2", "x > 0", "s = 'p'", "y < 1", "x IN (0, 2)", "s IS NULL", "FALSE", "x > 0 AND s <> 'q'",
)  # fmt: skip
"""Conditions on one event. A symbol may have none: then every event emits it."""


SKIPS = (
    "AFTER MATCH SKIP PAST LAST EVENT", "AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT EVENT",
)  # fmt: skip

FOLLOWING = (None,) * 6 + (
    "DIRECTLY FOLLOWED BY", "EVENTUALLY FOLLOWED BY", "EVENTUALLY FOLLOWED BY", "FOLLOWED BY WITHIN 1",
    "FOLLOWED BY WITHIN 2 MILLISECONDS",
)  # fmt: skip


def clause(random: Random, variables: bool) -> str:
    """With `variables`, conditions name events before."""
    while True:
        text = _clause(random, variables)
        # A negated symbol that reads no event must stand between two that do: binding tells.
        if "!" not in text or "USING" not in text or in_sequential.clause(text)[0] is not None:
            return text


def _clause(random: Random, variables: bool) -> str:
    symbols = SYMBOLS[: random.randint(1, 4)]
    measures = [f"{one}.{random.choice('xys')} AS m{one}" for one in symbols if random.random() < 0.6]
    if random.random() < 0.2:
        measures.append("x AS mlast")
    if random.random() < 0.15:
        measures.append(f"{symbols[0]}.x + {symbols[-1]}.x AS msum")
    parts = [f"MEASURES {', '.join(measures)}"] if measures else []
    if random.random() < 0.5:
        parts.append("PARTITION BY k")
    within = random.choice((None, None, "WITHIN 2", "WITHIN 5 MILLISECONDS", "WITHIN 0", "WITHIN 3 EVENTS"))
    parts += [within] if within else []
    definitions = [
        f"{one} AS {text}" for one in symbols if (text := _condition(random, one, symbols, variables))
    ]
    following = random.choice(FOLLOWING)
    has_gaps = following is not None and not following.startswith("DIRECTLY")
    pattern = ""
    used: set[str] = set()
    while not used:
        pattern = _pattern(random, symbols, 2, has_gaps)
        used = set(pattern) & set(symbols)
    named = [one for one in definitions if one[0] in used]
    parts.append(f"PATTERN {pattern}")
    parts += [f"USING {following}"] if following else []
    parts += [random.choice(SKIPS)] if random.random() < 0.25 else []
    if named:
        parts.append(f"DEFINE {', '.join(named)}")
    text = " ".join(parts)
    return text if _is_sound(text, used, symbols) else _clause(random, variables)


def _is_sound(text: str, used: set[str], symbols: str) -> bool:
    """Only symbols of the pattern may be named, and only measures that are there."""
    words = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
    named = {word[0] for word in words if len(word) > 1 and word[0] in symbols and word[1] == "."}
    measures = text.partition("PATTERN ")[0].replace(",", " ").split()
    aliases = {word for index, word in enumerate(measures) if index and measures[index - 1] == "AS"}
    asked = {word for word in words if word.startswith("m") and word[1:] in (*symbols, "last", "sum")}
    return named <= used and asked <= aliases


def _condition(random: Random, own: str, symbols: str, variables: bool) -> str | None:
    alone = random.choice((None,) * 5 + ALONE)
    if not variables or random.random() < 0.3:
        return alone
    other = random.choice(symbols)
    before = random.choice((
        f"x >= {other}.x", f"s = {other}.s", f"x <> m{other}", f"y <= {other}.y", f"{own}.x + 1 > {other}.x",
        f"{other}.x IS NULL OR x > {other}.x", "mlast IS NULL OR x >= mlast", f"NOT s <=> {other}.s",
        "x >= PREV(1).x", "PREV(2).s = s OR PREV(1).x IS NULL", f"PREV(1).x = {other}.x", "PREV(3).x <> x",
    ))  # fmt: skip
    return before if alone is None else f"{alone} AND ({before})"


def _pattern(random: Random, symbols: str, depth: int, has_gaps: bool) -> str:
    """With `has_gaps`, a negated symbol alone reads no event: it stands between others."""
    terms = [_term(random, symbols, depth, has_gaps) for _ in range(random.choice((1, 2, 2, 3)))]
    if has_gaps:
        terms[1:] = [
            f"!{random.choice(symbols)} {one}" if random.random() < 0.3 else one for one in terms[1:]
        ]
    return " ".join(terms)


def _term(random: Random, symbols: str, depth: int, has_gaps: bool) -> str:
    if depth and random.random() < 0.3:
        separator = random.choice((" | ", " ; "))
        parts = [_pattern(random, symbols, depth - 1, has_gaps) for _ in range(random.randint(1, 2))]
        return f"({separator.join(parts)}){_quantifier(random)}"
    mark = "?" if random.random() < 0.06 else ""
    return f"{mark}{_reading(random, symbols, has_gaps)}{_quantifier(random)}"


def _reading(random: Random, symbols: str, has_gaps: bool) -> str:
    """What is read at an event: mostly a symbol."""
    kind = random.random()
    if kind < 0.1 and not has_gaps:
        return f"!{random.choice(symbols)}"
    if kind < 0.2 and len(symbols) > 1:
        chosen = random.sample(symbols, random.randint(2, min(3, len(symbols))))
        return f"({', '.join(random.choice(('', '', '!')) + one for one in chosen)})"
    return random.choice(symbols)


def _quantifier(random: Random) -> str:
    return random.choice(("",) * 8 + ("*", "*", "+", "+", "{2}", "?", "{1,2}", "{2,}"))


def events(random: Random, most: int) -> list[dict[str, object]]:
    """Few instants, so that many events are simultaneous, or none; some have no time."""
    instants, are_apart = random.randint(2, 5), random.random() < 0.25
    return [
        {
            "k": random.choice((1, 1, 1, 1, 2, None)),
            "ts": None
            if random.random() < 0.03
            else number
            if are_apart
            else random.randint(1, instants) + random.choice((0,) * 9 + (4,)),
            "x": random.choice((0, 1, 1, 2, None)),
            "y": random.choice((0.0, 0.5, 2.0, float("nan"), None)),
            "s": random.choice(("p", "p", "q", "é", None)),
        }
        for number in range(random.randint(most // 3, most))
    ]
