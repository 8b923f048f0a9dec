"""Queries with closures inside of closures, of every kind, and streams.

for number in range(1000):
    text, head, tables = with_inner_closures(number)
"""

from __future__ import annotations

from random import Random

from generate.bodies import COMPARED, DrawnClosure, drawn_tables
from generate.following import LASTING, POINTS
from generate.rewritable import Sample
from neelc.errors import NeelError
from neelc.program import bind
from neelc.source import Source
from neelc.syntax import script

_TIMES = "+ + + * {2} {1,2} {0,1}".split()


def with_inner_closures(number: int) -> DrawnClosure:
    """The query with this number, the declaration of its stream, and some streams."""
    chance = Random(number)
    lasting = chance.random() < 0.2
    inner = _inner(chance)
    closure = f"{_body(chance, inner)}{chance.choice(_TIMES)} k[]"
    kind = chance.choice("AABD")
    forms = (
        closure,
        closure,
        f"SEQ({kind} a, {closure})",
        f"SEQ({kind} a, {closure}, D d)",
        f"SEQ({closure}, D d)",
        f"SEQ({closure}, !C z, D d)",
        f"AND({kind} a, {closure})",
        f"AND({closure}, {chance.choice('ABC')}+ l[])",
        f"OR(SEQ({kind} a, {closure}), C c2)",
        f"SEQ({kind} a, !({closure}), D d)",
        f"EXISTS e : SEQ({kind} a, {closure}, D e)",
    )
    pattern = chance.choice(forms)
    where = _conditions(chance, inner)
    text = pattern + (f" WHERE {' AND '.join(where)}" if where else "")
    text += f" WITHIN {chance.choice((3, 5, 8))}" + (" EVENTS" if chance.random() < 0.1 else "")
    return text, LASTING if lasting else POINTS, [drawn_tables(chance, lasting) for _ in range(4)]


def inner_closure_sample(number: int) -> Sample | None:
    """The same as a script; None if the query is none."""
    text, head, streams = with_inner_closures(number)
    try:
        source = Source(f"{head}PATTERN {text};")
        found = Sample(script(source), tuple(streams))
        bind(found.script, source)
    except NeelError:
        return None
    return found


def _inner(chance: Random) -> str:
    """A closure inside of the body of another: its list is b, of events, or of iterations with a q."""
    one, two, other = chance.choice("AB"), chance.choice("BC"), chance.choice("ABC")
    no = chance.choice((f"!{other} n", f"!({other} n : n.x {chance.choice(COMPARED)} 1)"))
    own = f" WHERE q.x {chance.choice(COMPARED)} {chance.choice(('1', 'p.x', '2'))}"
    own = own if chance.random() < 0.3 else ""
    times = chance.choice(_TIMES)
    return chance.choice(
        (
            f"{one}{times} b[]",
            f"{one}{times} b[]",
            f"{one}{times} b[]",
            f"SEQ({one} q, {two} r{own}){times} b[]",
            f"SEQ({one} q, {no}{own}){times} b[]",
            f"SEQ({no}, {one} q{own}){times} b[]",
            f"SEQ({one} q, {no}, {two} r{own}){times} b[]",
            f"AND({one} q, {two}? r{own}){times} b[]",
            f"OR({one} q, {two} r){times} b[]",
            f"OR(SEQ({one} q, {no}), {two} r){times} b[]",
            f"SEQ({one} q, {two}+ s[]){times} b[]",
            f"(EXISTS r : SEQ({one} q, {two} r{own})){times} b[]",
        )
    )


def _body(chance: Random, inner: str) -> str:
    """The body of the outer closure; its variables are p, b and t, and m, which it does not bind."""
    one, two, other = chance.choice("AB"), chance.choice("BC"), chance.choice("ABC")
    no = chance.choice((f"!{other} m", f"!({other} m : m.x {chance.choice(COMPARED)} p.x)"))
    where = [condition for condition in _inside(chance, inner) if chance.random() < 0.12]
    own = f" WHERE {' AND '.join(where)}" if where else ""
    within = " WITHIN 3" if chance.random() < 0.1 else ""
    maybe = chance.choice(("", "?"))
    bodies = (
        f"SEQ({one} p, {inner}{own})",
        f"SEQ({one} p, {inner}{own})",
        f"SEQ({inner}, {one} p{own})",
        f"SEQ({one} p, {inner}, {two}{maybe} t{own})",
        f"SEQ({one} p, {no}, {inner}{own})",
        f"SEQ({one} p, {inner}, {no}{own})",
        f"SEQ({one} p, {inner}, {no}, {two} t{own})",
        f"AND({one} p, {inner}{own})",
        f"AND({one} p, {inner}, {no}{own})",
        f"OR({one} p, {inner})",
        f"SEQ({one} p, OR({inner}, {two} t))",
        f"(EXISTS t : SEQ({one} p, {inner}, {two} t{own}))",
        f"SEQ({one} p, {inner}, {two}+ t[])",
    )
    return chance.choice(bodies) + within


def _inside(chance: Random, inner: str) -> tuple[str, ...]:
    """Conditions in the body of the outer closure."""
    compared, of = chance.choice(COMPARED), "" if "q" not in inner else ".q"
    return (
        f"b[i]{of}.x {compared} b[i-1]{of}.x",
        f"b[i]{of}.x {compared} p.x",
        f"b[1]{of}.x {compared} p.x",
        f"b[last]{of}.x {compared} {chance.choice(('p.x', '1', 'a.x'))}",
        f"b[i]{of}.x {compared} b[last]{of}.x",
        f"sum(b[]{of}.x) {compared} 3",
        f"b[i]{of}.x {compared} avg(b[..i-1]{of}.x)",
        f"b[i]{of}.x {compared} {chance.choice(('d.x', 'e.x', 'l[last].x'))}",
        "count(b[]) > 1",
        "[id]",
    )


def _conditions(chance: Random, inner: str) -> list[str]:
    compared, of = chance.choice(COMPARED), "" if "q" not in inner else ".q"
    other = chance.choice(
        ("k[1].p.x", "k[2].p.x", "k[last].p.x", f"k[1].b[1]{of}.x", f"k[last].b[last]{of}.x")
    )
    found = (
        f"k[i].p.x {compared} k[i-1].p.x",
        f"k[i].p.x {compared} {other}",
        f"k[i].b[1]{of}.x {compared} {other}",
        f"k[i].b[last]{of}.x {compared} k[i-1].b[1]{of}.x",
        f"k[i].b[2]{of}.x {compared} k[i-1].p.x",
        f"k[i].b[last]{of}.x {compared} k[i-2].b[last]{of}.x",
        f"k[2].b[last-1]{of}.x {compared} 1",
        f"k[last].b[i]{of}.x {compared} 1",
        f"k[1].b[i]{of}.x {compared} k[1].b[i-1]{of}.x",
        f"k[i].p.x {compared} d.x",
        f"k[i].b[1]{of}.x {compared} e.x",
        f"sum(k[i].b[]{of}.x) {compared} 2",
        f"sum(k[i].b[]{of}.x) {compared} sum(k[i-1].b[]{of}.x)",
        f"count(k[i].b[]) {compared} count(k[last].b[])",
        f"k[i].p.x {compared} sum(k[..i-1].b[]{of}.x)",
        f"k[i].b[1]{of}.x {compared} sum(k[..i-1].b[]{of}.x)",
        f"k[i].b[1]{of}.x {compared} k[i-1].p.x",
        f"max(k[].b[]{of}.x) {compared} 2",
        "count(k[].b[]) > 2",
        "count(k[]) > 1",
        "[id]",
    )
    return [one for one in found if chance.random() < 0.08]
