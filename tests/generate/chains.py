"""Queries whose lists have EACH NEXT or EACH STRICT, with conditions on elements further back than the one
before; and streams.

for number in range(1000):
    found = chain_sample(number)
"""

from __future__ import annotations

import re
from random import Random

from generate.bodies import COMPARED
from generate.following import LASTING, POINTS, random_tables
from generate.rewritable import Sample
from neelc.errors import NeelError
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script

COMPOSITES = (
    ("SEQ(B p, C? q)", ".p"),
    ("SEQ(B? p, C q)", ".p"),
    ("SEQ(B? p, C q)", ".q"),
    ("SEQ(B p, B q)", ".p"),
    ("OR(B p, C q)", ".p"),
    ("SEQ(B+ p[])", ".p[1]"),
)
"""Parts whose iterations a condition compares by one of their events."""


def chain_sample(number: int) -> Sample | None:
    """The query with this number, as a script with streams; None if it is none."""
    chance = Random(f"chains {number}")
    lasting = chance.random() < 0.2
    text, head = _query(chance), LASTING if lasting else POINTS
    try:
        source = Source(f"{head}PATTERN {text};")
        found = Sample(script(source), tuple(random_tables(chance, lasting) for _ in range(4)))
        bind(found.script, source)
    except NeelError:
        return None
    return found


def _query(chance: Random) -> str:
    kind, times = chance.choice("BBC"), chance.choice(("+", "+", "+", "*", "{2,3}", "{3}"))
    each = chance.choice(("EACH NEXT", "EACH NEXT", "EACH NEXT", "EACH NEXT EACH WITHIN 3", "EACH STRICT"))
    part, event = (kind, "") if chance.random() < 0.6 else chance.choice(COMPOSITES)
    each = each.partition(" EACH WITHIN")[0] if event else each  # which is defined for single events only
    closure = f"{part}{times} b[] {each}"
    forms = (
        f"SEQ({closure})",
        f"SEQ(A a, {closure})",
        f"SEQ(A a, {closure})",
        f"SEQ(A a, {closure}, {chance.choice('CD')} d)",
        f"SEQ(A a, {closure}, {chance.choice('CD')} d)",
        f"SEQ({closure}, D d)",
        f"AND(A a, SEQ({closure}))",
        f"OR(SEQ(A a, {closure}), C d)",
        f"SEQ(A a, NEXT {closure})",
        f"SEQ(A a, !SEQ({closure}, D e), C d)",
    )
    text = chance.choice(forms)
    back = f"b[i-{chance.choice('223')}].x"
    compared = chance.choice(COMPARED)
    where = [
        chance.choice(
            (
                f"b[i].x {compared} {back}",
                f"b[i].x {compared} {back}",
                f"b[i].x {compared} {back} + b[i-1].x",
                f"(b[i].x {compared} {back} OR b[i-1].x = 1)",
                f"b[i].x - {back} {compared} a.x",
            )
        )
    ]
    others = (
        f"b[i].x {chance.choice(COMPARED)} b[i-1].x",
        "b[i].x > 0",
        "[id]",
        "count(b[]) > 2",
        "b[1].x < 3",
    )
    where += [one for one in others if chance.random() < 0.15]
    of_event = re.sub(r"(b\[[^]]+\])\.x", rf"\1{event}.x", " AND ".join(where))
    text += f" WHERE {of_event}"
    return text + f" WITHIN {chance.choice((5, 8, 12))}" + (" EVENTS" if chance.random() < 0.1 else "")
