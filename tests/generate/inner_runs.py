"""Queries with closures inside of closures under the strategies other than SKIP TILL ANY MATCH; and streams.

for number in range(1000):
    text, head, tables = with_inner_runs(number)
"""

from __future__ import annotations

from functools import partial
from random import Random

from generate.bodies import COMPARED, DrawnClosure
from generate.following import LASTING, POINTS, STRATEGIES, random_tables
from generate.rewritable import Sample
from neelc.errors import NeelError
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script

_OUTER = "+ + + * {2} {1,2} {2,3}".split()
_INNER = "+ + + + * {2} {1,2} {2,3} {0,2}".split()


def with_inner_runs(number: int, strategies: tuple[str, ...] = STRATEGIES) -> DrawnClosure:
    """The query with this number, the declaration of its stream, and some streams."""
    chance = Random(f"inner {number}")
    lasting, strategy = chance.random() < 0.2, chance.choice(strategies)
    body, known = _body(chance)
    closure = f"{body}{chance.choice(_OUTER)} k[]"
    kind = chance.choice("AABD")
    forms = (
        closure,
        closure,
        f"SEQ({closure})",
        f"SEQ({kind} a, {closure})",
        f"SEQ({kind} a, {closure}, {chance.choice('BCD')} d)",
        f"SEQ({closure}, {chance.choice('BCD')} d)",
        f"SEQ({closure}, !C z, {chance.choice('BD')} d)",
        f"SEQ({closure}, {chance.choice('ABC')}+ l[])",
        f"SEQ({chance.choice('AB')}+ l[], {closure})",
        f"OR(SEQ({kind} a, {closure}), SEQ(C c2, B b2))",
    )
    pattern = chance.choice(forms)
    where = _conditions(chance, known)
    text = pattern + (f" WHERE {' AND '.join(where)}" if where else "")
    if strategy == "PARTITION CONTIGUITY":
        text += " PARTITION BY id"
    if "!" in text or chance.random() < 0.6:
        text += f" WITHIN {chance.choice((4, 6, 9, 14))}" + (" EVENTS" if chance.random() < 0.15 else "")
    streams = [random_tables(chance, lasting) for _ in range(4)]
    return f"{text} USING {strategy}", LASTING if lasting else POINTS, streams


def inner_run_sample(number: int, strategies: tuple[str, ...] = STRATEGIES) -> Sample | None:
    """The same as a script; None if the query is none."""
    text, head, streams = with_inner_runs(number, strategies)
    try:
        source = Source(f"{head}PATTERN {text};")
        found = Sample(script(source), tuple(streams))
        bind(found.script, source)
    except NeelError:
        return None
    return found


contiguous_inner_run_sample = partial(
    inner_run_sample, strategies=("STRICT CONTIGUITY", "PARTITION CONTIGUITY")
)


def _body(chance: Random) -> tuple[str, str]:
    """The body of the outer closure; its variables are p, the list b, and t, and m, which it does not bind.
    And which of them it has."""
    one, two, other = chance.choice("AB"), chance.choice("BC"), chance.choice("ABC")
    inner = f"{chance.choice('BBC')}{chance.choice(_INNER)} b[]"
    if chance.random() < 0.1:
        inner = f"({inner} WITHIN {chance.choice((1, 2, 3))})"
    no = chance.choice((f"!{other} m", f"!({other} m : m.x {chance.choice(COMPARED)} 1)"))
    where = [condition for condition in _inside(chance) if chance.random() < 0.1]
    own = f" WHERE {' AND '.join(where)}" if where else ""
    within = f" WITHIN {chance.choice((2, 3, 5))}" if chance.random() < 0.12 else ""
    maybe = chance.choice(("", "?"))
    bodies = (
        (f"SEQ({one} p, {inner}{own})", "pb"),
        (f"SEQ({one} p, {inner}{own})", "pb"),
        (f"SEQ({inner}, {one} p{own})", "pb"),
        (f"SEQ({one}? p, {inner}{own})", "pb"),
        (f"SEQ({one} p, {inner}, {two}{maybe} t{own})", "pbt"),
        (f"SEQ({one} p, {two}{maybe} t, {inner}{own})", "pbt"),
        (f"SEQ({one} p, {no}, {inner}{own})", "pb"),
        (f"SEQ({one} p, {inner}, {no}{own})", "pb"),
        (f"SEQ({one} p, {inner}, {no}, {two} t{own})", "pbt"),
        (f"SEQ({one} p, {inner}, {two}+ s[]{own})", "pb"),
    )
    text, known = chance.choice(bodies)
    return (f"({text}{within})" if within else text), known


def _inside(chance: Random) -> tuple[str, ...]:
    """Conditions in the body of the outer closure."""
    compared = chance.choice(COMPARED)
    return (
        f"b[i].x {compared} b[i-1].x",
        f"b[i].x {compared} b[i-2].x",
        f"b[i].x {compared} p.x",
        f"b[1].x {compared} p.x",
        f"b[2].x {compared} p.x",
        f"b[last].x {compared} {chance.choice(('p.x', '1', 'a.x'))}",
        f"b[last-1].x {compared} 1",
        f"b[i].x {compared} b[last].x",
        f"sum(b[].x) {compared} 3",
        f"b[i].x {compared} avg(b[..i-1].x)",
        f"b[i].x {compared} {chance.choice(('d.x', 'a.x', 'l[last].x', 'l[1].x'))}",
        "count(b[]) > 1",
        "[id]",
        "[id]",
    )


def _conditions(chance: Random, known: str) -> list[str]:
    compared = chance.choice(COMPARED)
    other = chance.choice(("k[1].p.x", "k[2].p.x", "k[last].p.x", "k[1].b[1].x", "k[last].b[last].x"))
    found = (
        f"k[i].p.x {compared} k[i-1].p.x",
        f"k[i].p.x {compared} k[i-2].p.x",
        f"k[i].p.x {compared} {other}",
        f"k[i].b[1].x {compared} {other}",
        f"k[i].b[last].x {compared} k[i-1].b[1].x",
        f"k[i].b[2].x {compared} k[i-1].p.x",
        f"k[2].b[last-1].x {compared} 1",
        f"k[2].b[2].x {compared} 1",
        f"k[i].p.x {compared} d.x",
        f"k[i].b[1].x {compared} a.x",
        f"k[last].b[last].x {compared} {chance.choice(('d.x', 'l[1].x'))}",
        f"l[i].x {compared} k[1].b[1].x",
        f"l[i].x {compared} k[last].p.x",
        f"sum(k[i].b[].x) {compared} 2",
        f"sum(k[i].b[].x) {compared} sum(k[i-1].b[].x)",
        f"sum(k[1].b[].x) {compared} 1",
        f"count(k[i].b[]) {compared} count(k[last].b[])",
        f"k[i].p.x {compared} sum(k[..i-1].b[].x)",
        f"k[i].b[1].x {compared} sum(k[..i-1].b[].x)",
        f"k[i].b[1].x {compared} k[i-1].p.x",
        f"max(k[].b[].x) {compared} 2",
        f"sum(k[].p.x) {compared} 2",
        "count(k[].b[]) > 2",
        "count(k[]) > 1",
        "[id]",
        "[id]",
        *((f"k[i].t.x {compared} k[i].p.x", f"k[i].t.x {compared} 1") if "t" in known else ()),
    )
    return [one for one in found if chance.random() < 0.06]
