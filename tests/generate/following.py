"""Queries under strategies other than SKIP TILL ANY MATCH, with many conditions about lists; and streams.

for number in range(1000):
    text, head, tables = following(number)
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from generate.streams import Row

POINTS = "CREATE STREAM S (ts BIGINT, kind STRING, id INT, x INT, y DOUBLE) TIMESTAMP BY ts TYPE BY kind;\n"
LASTING = (
    "CREATE STREAM S (ts BIGINT, te BIGINT, kind STRING, id INT, x INT, y DOUBLE) "
    "TIMESTAMP BY ts END BY te TYPE BY kind;\n"
)
STRATEGIES = ("SKIP TILL NEXT MATCH", "SKIP TILL NEXT MATCH", "STRICT CONTIGUITY", "PARTITION CONTIGUITY")
_TIMES = "+ + + * * {2} {1,2} {0,2} {2,3} {1} ?".split()
_COMPARED = ("<", "<=", ">", ">=", "=", "<>", ">=", "<=")
_FUNCTIONS = ("sum", "min", "max", "avg", "count", "first", "last", "stddev")


@dataclass(frozen=True)
class Known:
    """A variable of the pattern; whether it is a list; the variables of an iteration."""

    name: str
    is_list: bool = False
    inner: tuple[str, ...] = ()


def following(number: int) -> tuple[str, str, list[dict[str, list[Row]]]]:
    """The query with this number, the declaration of its stream, and some streams."""
    chance = Random(number)
    lasting = chance.random() < 0.2
    text = query_text(chance, chance.choice(STRATEGIES))
    return text, LASTING if lasting else POINTS, [random_tables(chance, lasting) for _ in range(4)]


def query_text(chance: Random, strategy: str) -> str:
    """A query under a strategy, without the word PATTERN."""
    branches = [sequence(chance, f"{n}" if n else "") for n in range(chance.choice((1, 1, 1, 2)))]
    known = [one for _, names in branches for one in names]
    pattern = branches[0][0] if len(branches) == 1 else f"OR({', '.join(text for text, _ in branches)})"
    return with_clauses(chance, pattern, known, strategy)


def with_clauses(chance: Random, pattern: str, known: list[Known], strategy: str) -> str:
    """The pattern with conditions about its variables, a window, and the strategy."""
    where = [condition(chance, known) for _ in range(chance.choice((0, 1, 1, 2, 2, 3)))]
    if chance.random() < 0.3:
        where.append("[id]")
    text = pattern + (f" WHERE {' AND '.join(where)}" if where else "")
    if strategy == "PARTITION CONTIGUITY":
        text += " PARTITION BY id"
    needs = "!" in pattern
    if needs or chance.random() < 0.6:
        text += f" WITHIN {chance.choice((4, 6, 9, 14))}" + (" EVENTS" if chance.random() < 0.15 else "")
    return f"{text} USING {strategy}"


def sequence(chance: Random, suffix: str) -> tuple[str, list[Known]]:
    """A SEQ of single events, lists and negations; their names end in `suffix`."""
    texts: list[str] = []
    known: list[Known] = []
    for number in range(chance.choice((1, 2, 2, 3, 3, 4))):
        name = f"{'abcd'[number]}{suffix}"
        kind = chance.choice("ABBC")
        if chance.random() < 0.1:
            inner = (f"p{number}{suffix}", f"q{number}{suffix}")
            maybe = chance.choice(("", "", "?"))
            times = chance.choice(("+", "*", "{1,2}", "{2}"))
            own = (
                f" WHERE {inner[0]}.x {chance.choice(_COMPARED)} {inner[1]}.x"
                if chance.random() < 0.4
                else ""
            )
            body = f"SEQ({_body(chance, kind, inner, maybe)}{own})"
            body = f"({body} WITHIN 5)" if chance.random() < 0.2 else body
            texts.append(f"{body}{times} {name}[]")
            known.append(Known(name, True, inner))
        elif chance.random() < 0.5:
            times = chance.choice(_TIMES)
            known.append(Known(name, times != "?"))
            texts.append(_component(chance, f"{kind}{times} {name}{'' if times == '?' else '[]'}", known))
        else:
            known.append(Known(name))
            texts.append(_component(chance, f"{kind} {name}", known))
        if chance.random() < 0.12:
            negated = f"n{number}{suffix}"
            texts.append(f"!({chance.choice('ABC')} {negated} : {negated}.x <> {chance.choice((0, 1, 2))})")
    return f"SEQ({', '.join(texts)})", known


def _body(chance: Random, kind: str, inner: tuple[str, str], maybe: str) -> str:
    """Two events of an iteration, now and then in the other order, or with a negation beside them."""
    parts = [f"{kind} {inner[0]}", f"{chance.choice('ABC')}{maybe} {inner[1]}"]
    if chance.random() < 0.25:
        parts.reverse()
    if chance.random() < 0.2:
        parts.insert(chance.randint(0, 2), f"!({chance.choice('ABC')} m{inner[0]} : m{inner[0]}.x <> 1)")
    return ", ".join(parts)


def _component(chance: Random, text: str, known: list[Known]) -> str:
    """A component, now and then with a condition or a window of its own."""
    if chance.random() < 0.2:
        text = f"({text} : {condition(chance, known[-2:])})"
    elif chance.random() < 0.1 and "?" not in text:
        text = f"{text} WITHIN {chance.choice((2, 4))}"
    return text


def condition(chance: Random, known: list[Known]) -> str:
    """A condition about one or two of the variables, or about each element of a list."""
    one, other = chance.choice(known), chance.choice(known)
    compared = chance.choice(_COMPARED)
    if one.is_list and chance.random() < 0.6:
        return _about_elements(chance, one, other, compared)
    left, right = _value(chance, one), _value(chance, other)
    if chance.random() < 0.3:
        right = str(chance.choice((0, 1, 1, 2)))
    if chance.random() < 0.12:
        return f"({left} {compared} {right} OR {left} IS NULL)"
    return f"{left} {compared} {right}"


def _about_elements(chance: Random, one: Known, other: Known, compared: str) -> str:
    """A condition about each element of a list."""
    inner = f".{chance.choice(one.inner)}" if one.inner else ""
    name = one.name
    match chance.choice("before before two other first second running last constant".split()):
        case "two":
            return f"{name}[i]{inner}.x {compared} {name}[i-2]{inner}.x"
        case "second":
            return f"{name}[i]{inner}.x {compared} {name}[2]{inner}.x"
        case "before":
            return f"{name}[i]{inner}.x {compared} {name}[i-1]{inner}.x"
        case "other":
            right = _value(chance, other)
            return f"{name}[i]{inner}.x {compared} {right}"
        case "first":
            return f"{name}[i]{inner}.x {compared} {name}[1]{inner}.x"
        case "running":
            function = chance.choice(_FUNCTIONS)
            return f"{function}({name}[..i-1]{inner}.{chance.choice('xy')}) {compared} {name}[i]{inner}.x"
        case "last":
            return f"{name}[i]{inner}.x {compared} {name}[last]{inner}.x"
    return f"{name}[i]{inner}.x {compared} {chance.choice((0, 1, 2))}"


def _value(chance: Random, one: Known) -> str:
    if not one.is_list:
        return f"{one.name}.x"
    inner = f".{chance.choice(one.inner)}" if one.inner else ""
    if chance.random() < 0.3:
        return f"{chance.choice(_FUNCTIONS)}({one.name}[]{inner}.{chance.choice('xy')})"
    if chance.random() < 0.2:
        return f"count({one.name}[])"
    return f"{one.name}[{chance.choice(('1', 'last', '1', 'last', '2', 'last-1'))}]{inner}.x"


def random_tables(chance: Random, lasting: bool) -> dict[str, list[Row]]:
    """A stream that was made for no query."""
    rows: list[Row] = []
    time = 0
    ids = chance.choice(([1], [1], [1, 1, 2], [1, 2, None]))
    for _ in range(chance.randint(5, 14)):
        time += chance.choice((0, 1, 1, 1, 2))
        row: Row = {
            "ts": time,
            "kind": chance.choice("ABBBCCD"),
            "id": chance.choice(ids),
            "x": chance.choice((0, 1, 1, 2, 3, None)),
            "y": chance.choice((0.5, 1.0, -0.0, 2.25, None)),
        }
        rows.append({**row, "te": time + chance.choice((0, 0, 1, 3))} if lasting else row)
    return {"S": rows}
