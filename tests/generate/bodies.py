"""Queries whose closures have bodies of every kind, or need only exist beside negations, under SKIP TILL ANY
MATCH; and streams.

for number in range(1000):
    text, head, tables = with_bodies(number)
    text, head, tables = beside_negations(number)
"""

from __future__ import annotations

from random import Random

from generate.following import LASTING, POINTS
from generate.streams import Row

_TIMES = "+ + * {2} {1,2} {0,1}".split()
COMPARED = ("<", "<=", ">", ">=", "<>")


DrawnClosure = tuple[str, str, list[dict[str, list[Row]]]]
"""A query, the declaration of its stream, and some streams."""


def with_bodies(number: int) -> DrawnClosure:
    """The query with this number, the declaration of its stream, and some streams."""
    chance = Random(number)
    lasting = chance.random() < 0.25
    closure = f"{_body(chance)}{chance.choice(_TIMES)} k[]"
    kind = chance.choice("AABD")
    forms = (
        closure,
        f"SEQ({kind} a, {closure})",
        f"SEQ({kind} a, {closure}, D d)",
        f"SEQ({closure}, D d)",
        f"AND({kind} a, {closure})",
        f"AND({closure}, {chance.choice('ABC')}+ l[])",
        f"OR(SEQ({kind} a, {closure}), C c2)",
        f"SEQ({kind} a, !({closure}), D d)",
        f"EXISTS e : SEQ({kind} a, {closure}, D e)",
    )
    pattern = chance.choice(forms)
    where = list(_conditions(chance, pattern))
    text = pattern + (f" WHERE {' AND '.join(where)}" if where else "")
    text += f" WITHIN {chance.choice((3, 5, 8))}" + (" EVENTS" if chance.random() < 0.1 else "")
    return text, LASTING if lasting else POINTS, [drawn_tables(chance, lasting) for _ in range(4)]


def beside_negations(number: int) -> DrawnClosure:
    """The same with a list that need only exist, beside negations that look at it."""
    chance = Random(number)
    lasting = chance.random() < 0.25
    closure = f"B{chance.choice(('+', '{1,3}'))} l[]"
    negated = ("!B m", "!B n", "!C o", "!AND(A p, !B q)", "SEQ(A r, !B s, C t)", "!A u")
    parts = [closure, *chance.sample(negated, chance.choice((1, 2)))]
    chance.shuffle(parts)
    part = f"{chance.choice(('SEQ', 'AND', 'AND', 'AND_NEG'))}({', '.join(parts)})"
    if chance.random() < 0.3:
        part = f"({part} WITHIN {chance.choice((2, 3, 4))})"
    forms = (f"AND(D d, !{part})", f"SEQ(D d, !{part}, D e)", f"EXISTS l : AND(D d, {part})")
    text = f"{chance.choice(forms)} WITHIN {chance.choice((6, 12, 20))}"
    text += " EVENTS" if chance.random() < 0.1 else ""
    return text, LASTING if lasting else POINTS, [drawn_tables(chance, lasting, "ABBBCD") for _ in range(4)]


def _body(chance: Random) -> str:
    """The body of a closure; its variables are p, q, and n, which it does not bind."""
    one, two, other = chance.choice("AB"), chance.choice("BC"), chance.choice("ABC")
    no = f"!({other} n : n.x {chance.choice(COMPARED)} {chance.choice(('p.x', '1', '2'))})"
    no = f"!{other} n" if chance.random() < 0.5 else no
    own = f" WHERE p.x {chance.choice(COMPARED)} {chance.choice(('1', 'a.x', '2'))}"
    own = own if chance.random() < 0.3 else ""
    within = " WITHIN 3" if chance.random() < 0.15 else ""
    maybe = chance.choice(("", "?"))
    bodies = (
        f"SEQ({one} p, {no}{own})",
        f"SEQ({no}, {one} p{own})",
        f"SEQ({one} p, {no}, {two}{maybe} q{own})",
        f"SEQ({one} p, {two}{maybe} q, {no}{own})",
        f"AND({one} p, {no}{own})",
        f"AND({one} p, {two} q, {no}{own})",
        f"AND_NEG({one} p, {no}, {two} q{own})",
        f"SEQ({one} p, !SEQ({other} n, {two} m), {two}{maybe} q{own})",
        f"(EXISTS q : SEQ({one} p, {two} q{own}))",
        f"(EXISTS q : AND({one} p, {two} q{own}))",
        f"SEQ({one} p, EXISTS q : AND({two} q, C r), {no})",
        f"OR(SEQ({one} p, {no}), {two} q)",
        f"SEQ(OR({one} p, {two} q), {no})",
        f"SEQ({one} p, {two} q{own})",
    )
    return chance.choice(bodies) + within


def _conditions(chance: Random, pattern: str) -> list[str]:
    compared, other = chance.choice(COMPARED), chance.choice(("1", "k[1].p.x", "k[2].p.x", "k[last].p.x"))
    found = (
        f"k[i].p.x {compared} k[i-1].p.x",
        f"k[i].p.x {compared} {other}",
        f"k[i].p.x {compared} d.x",
        f"k[i].p.x {compared} e.x",
        f"k[i].p.x {compared} sum(k[].p.x)",
        f"k[i].p.x {compared} l[last].x",
        "count(k[]) > 1",
        "[id]",
    )
    return [one for one in found if chance.random() < 0.12]


def drawn_tables(chance: Random, lasting: bool, kinds: str = "ABBCD") -> dict[str, list[Row]]:
    rows: list[Row] = []
    time = 0
    for _ in range(chance.randint(4, 8)):
        time += chance.choice((0, 1, 1, 2))
        row: Row = {
            "ts": time,
            "kind": chance.choice(kinds),
            "id": chance.choice((1, 1, 1, 2)),
            "x": chance.choice((0, 1, 2, 3, None)),
            "y": 1.0,
        }
        rows.append({**row, "te": time + chance.choice((0, 0, 1, 3))} if lasting else row)
    return {"S": rows}
