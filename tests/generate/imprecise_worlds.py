"""Queries over imprecise times whose events have no one order, as text: one kind for each construct."""

from __future__ import annotations

from random import Random

from generate.imprecise import THRESHOLDS

SINGLE, LISTED = "{kind} {name}", "{kind}+ {name}[]"
KINDS = ("events", "or", "and", "exists", "collapsed", "parts")
SHAPED = "distributions"
"""A kind of its own: any query, over times that are not equally likely."""
HEAD = """CREATE STREAM S (
    lo BIGINT, hi BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE, n INT, w ARRAY<DOUBLE>, shape STRING
  ) TIMESTAMP BETWEEN lo AND hi {} UNIT MILLISECONDS TYPE BY kind;
"""
SHAPES = ("WEIGHT w", "WEIGHT w", "DISTRIBUTION TRIANGULAR", "DISTRIBUTION shape", "DISTRIBUTION uniform")


def query_text(chance: Random, kind: str | None = None) -> str:
    """`PATTERN` without the word, of one of the KINDS."""
    names = iter("abcdefgh")
    kind = kind or chance.choice(KINDS)
    window = (
        "WITHIN 2 EVENTS" if kind == "events" else chance.choice(("", "WITHIN 2", "WITHIN 4", "WITHIN 9"))
    )
    if kind == "events":
        window = f"WITHIN {chance.choice([1, 2, 3, 3, 4, 6])} EVENTS"
    pattern = PATTERNS[kind](chance, names, window)
    conditions = ["[id]"] if chance.random() < 0.2 else []
    if "A a," in pattern and "EXISTS" not in pattern and chance.random() < 0.2:
        conditions.append("a.x > 0")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    partition = " PARTITION BY id" if chance.random() < 0.15 else ""
    threshold = chance.choice(THRESHOLDS) if chance.random() < 0.5 else ""
    confidence = f" WITH CONFIDENCE {threshold}" if threshold else ""
    returned = f" RETURN COLLAPSED {_items(pattern)}" if kind == "collapsed" else ""
    return f"{pattern}{where}{partition} {window}{confidence}{returned}"


def shaped(chance: Random, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """The rows of a stream with weights, and with names of distributions; some of them make no sense."""
    return [{**row, "w": _weights(chance, row), "shape": chance.choice(NAMES)} for row in rows]


NAMES = ("TRIANGULAR", "triangular", "Uniform", "UNIFORM", None, "square")


def _weights(chance: Random, row: dict[str, object]) -> list[float | None] | None:
    lo, hi = row["lo"], row["hi"]
    count = max(hi - lo + 1, 1) if isinstance(lo, int) and isinstance(hi, int) else 2
    draw = chance.random()
    if draw < 0.1:
        return None
    if draw < 0.2:
        wrong: list[list[float | None]] = [[], [1.0] * (count + 1), [None] * count, [-1.0], [0.0] * count]
        return chance.choice(wrong)
    return [chance.choice([0.0, 1.0, 1.0, 2.0, 0.5, 7.0]) for _ in range(count)]


def _items(pattern: str) -> str:
    words = pattern.replace("(", " ").replace(")", " ").replace(",", " ").split()
    found = [word for word in words if word[0].islower()]
    items = [f"{name}.x AS {name[0]}" for name in found if name != "n" and name != "m"]
    return ", ".join([*items, "confidence"])


def _event(chance: Random, names: object, lists: float = 0.0, optional: float = 0.0) -> str:
    name = next(names)  # type: ignore[call-overload]
    kind, draw = chance.choice("AAABBC"), chance.random()
    if draw < lists:
        return chance.choice((LISTED, LISTED, "{kind}{{2}} {name}[]")).format(kind=kind, name=name)
    if draw < lists + optional:
        return f"{kind}? {name}"
    return SINGLE.format(kind=kind, name=name)


def _negated(chance: Random, name: str = "n") -> str:
    return f"!{chance.choice('NNNAB')} {name}"


def _events(chance: Random, names: object, window: str) -> str:
    if chance.random() < 0.3:
        return _and(chance, names, "")
    parts = [_event(chance, names, 0.25, 0.1) for _ in range(chance.choice([1, 2, 2, 3]))]
    if len(parts) > 1 and chance.random() < 0.4:
        parts.insert(chance.choice([0, 1, 1, 1, len(parts)]), _negated(chance))
    return f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]


def _or(chance: Random, names: object, window: str) -> str:
    """Branches of several kinds; two that may have no event find one match in two ways."""
    empty = chance.random() < 0.5
    one, other = (_event(chance, names, 0.1, 1.0 if empty else 0.0) for _ in range(2))
    if empty and chance.random() < 0.4:
        other = f"AND({other}, {_event(chance, names, 0.0, 1.0)})"
    if not empty:
        branches = ["AND({}, {})", "SEQ({}, !N n, {})", "AND_NEG({}, !A n, {})", "SEQ({}, {})"]
        other = chance.choice(branches).format(other, _event(chance, names))
    either = f"OR({one}, {other})"
    return f"SEQ({either}, {_event(chance, names)})" if chance.random() < 0.5 else f"AND({either}, C z)"


def _and(chance: Random, names: object, window: str) -> str:
    parts = [_event(chance, names, 0.15, 0.1) for _ in range(chance.choice([2, 2, 2, 3]))]
    if chance.random() < 0.4:
        parts[0] = f"SEQ({parts[0]}, {_event(chance, names)})"
    keyword = "AND"
    if chance.random() < 0.4 and (window or chance.random() < 0.5):
        keyword = "AND" if window and chance.random() < 0.6 else "AND_NEG"
        parts.insert(chance.randrange(1, len(parts)), _negated(chance))
    inner = f"{keyword}({', '.join(parts)})"
    if chance.random() < 0.7:
        return inner
    before = f"{_negated(chance, 'm')}, " if chance.random() < 0.3 else ""
    return f"SEQ({_event(chance, names)}, {before}{inner})"


def _exists(chance: Random, names: object, window: str) -> str:
    parts = [_event(chance, names, 0.1) for _ in range(chance.choice([2, 3, 3, 4]))]
    given = [part.split()[-1].removesuffix("[]") for part in parts]
    hidden = chance.sample(given, chance.choice([1, 1, 1, min(2, len(given) - 1)]))
    if chance.random() < 0.3:
        parts.insert(chance.randrange(1, len(parts)), _negated(chance))
    keyword = "SEQ" if chance.random() < 0.7 or (not window and any("!" in part for part in parts)) else "AND"
    return f"EXISTS {', '.join(hidden)} : {keyword}({', '.join(parts)})"


def _collapsed(chance: Random, names: object, window: str) -> str:
    parts = [_event(chance, names), _event(chance, names, 1.0), _event(chance, names, 0.2)]
    parts = parts[: chance.choice([2, 3, 3])]
    chance.shuffle(parts)
    if chance.random() < 0.3:
        parts.insert(1, _negated(chance))
    keyword = "SEQ" if chance.random() < 0.8 or (not window and any("!" in part for part in parts)) else "AND"
    return f"{keyword}({', '.join(parts)})"


def _parts(chance: Random, names: object, window: str) -> str:
    """A window on a part, a negated part, a closure of a part."""
    first, last = _event(chance, names), _event(chance, names)
    inner = f"SEQ({_event(chance, names)}, {_event(chance, names)})"
    middle = chance.choice(
        [
            f"({inner} WITHIN {chance.choice(['1', '2', '3', '2 EVENTS', '3 EVENTS'])})",
            f"!{inner}",
            "!B{2} y[]",
            f"{inner}+ k[]",
            "!AND(B x, N y)",
        ]
    )
    if middle.startswith("("):
        middle = middle[1:-1]
    return f"SEQ({first}, {middle}, {last})"


PATTERNS = {
    "events": _events,
    "or": _or,
    "and": _and,
    "exists": _exists,
    "collapsed": _collapsed,
    "parts": _parts,
}
