"""The search for matches misses nothing: random patterns over random streams, and every binding tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

import pytest
from asking import ask, found, table
from hypothesis import assume, given
from hypothesis import strategies as st

from neelc.ir import patterns as p
from neelc.runtime.reference import satisfy
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.model import Binding, ReferenceEvent, binding_key
from neelc.runtime.reference.question import ReferenceQuery, Scope, question
from neelc.runtime.reference.worlds import matches_in

LONGEST = 2  # elements in a list


@st.composite
def streams(draw: st.DrawFn, points: bool = False) -> str:
    """Up to five events: few types, times, ids and values, so that ties and equal values are frequent."""
    tokens = []
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(1, 6))
        length = 0 if points else draw(st.sampled_from([0, 0, 0, 2]))
        id, value = draw(st.sampled_from(["1", "1", "2", "_"])), draw(st.integers(1, 3))
        tokens.append(f"{draw(st.sampled_from('AB'))}{start}..{start + length}:{id}={value}")
    return " ".join(tokens)


class Names:
    """Fresh variables, and those that a condition may name so far."""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"


def condition(draw: st.DrawFn, singles: Sequence[str], lists: Sequence[str]) -> str:
    choices = [
        "[id]",
        *(f"{a}.val < {b}.val" for a, b in permutations(singles, 2)),
        *(f"{a}.id = 1" for a in singles),
    ]
    choices += [f"{b}[i].val >= {b}[i-1].val" for b in lists] + [f"count({b}[]) <> 1" for b in lists]
    choices += [f"{b}[i].val > {a}.val" for a in singles for b in lists]
    return draw(st.sampled_from(choices))


def component(draw: st.DrawFn, names: Names, depth: int) -> tuple[str, list[str], list[str]]:
    """A positive part as text, with its single variables and its lists."""
    kinds = ["event", "event", "list", "optional"] + (
        ["SEQ", "SEQ", "AND", "OR", "EXISTS", "AND_NEG", "closure"] if depth else []
    )
    kind, type, name = draw(st.sampled_from(kinds)), draw(st.sampled_from("AB")), names.fresh()
    if kind == "event":
        return f"{type} {name}", [name], []
    if kind == "optional":
        return f"{type}? {name}", [name], []
    if kind == "list":
        return f"{type}{draw(st.sampled_from(['{1,2}', '{2}', '{0,1}']))} {name}[]", [], [name]
    if kind == "EXISTS":
        inner, singles, lists = operator(draw, names, depth - 1, "SEQ")
        dropped = next(iter(singles + lists), None)
        if dropped is None:
            return inner, singles, lists
        return (
            f"EXISTS {dropped} : {inner}",
            [n for n in singles if n != dropped],
            [n for n in lists if n != dropped],
        )
    if kind == "closure":
        first, second = names.fresh(), names.fresh()
        where = draw(st.sampled_from(["", f" WHERE {first}.val < {second}.val", " WHERE [id]"]))
        return f"SEQ(A {first}, {type} {second}{where}){{1,2}} {name}[]", [], []
    return operator(draw, names, depth - 1, kind)


def operator(draw: st.DrawFn, names: Names, depth: int, kind: str) -> tuple[str, list[str], list[str]]:
    found = [component(draw, names, depth) for _ in range(draw(st.integers(1 if kind == "SEQ" else 2, 2)))]
    singles, lists = [n for _, s, _ in found for n in s], [n for _, _, ls in found for n in ls]
    parts = [part for part, _, _ in found]
    if kind != "OR" and draw(st.booleans()):
        place = draw(st.integers(0, len(parts))) if kind != "AND_NEG" else 1
        parts.insert(place, negation(draw, names, depth, singles))
    where = f" WHERE {condition(draw, singles, lists)}" if draw(st.booleans()) else ""
    within = draw(st.sampled_from(["", "", " WITHIN 3", " WITHIN 3 EVENTS"]))
    return f"{kind}({', '.join(parts)}{where}){within}", singles, lists


def negation(draw: st.DrawFn, names: Names, depth: int, outside: list[str]) -> str:
    if depth and draw(st.booleans()):
        return "!" + operator(draw, names, depth - 1, draw(st.sampled_from(["SEQ", "AND"])))[0]
    name, mark = names.fresh(), draw(st.sampled_from(["!", "!", "!!"]))
    where = draw(st.sampled_from([f"{name}.val > 1", *(f"{name}.val > {other}.val" for other in outside)]))
    return f"{mark}({draw(st.sampled_from('AB'))} {name} : {where})"


@st.composite
def patterns(draw: st.DrawFn) -> str:
    names = Names()
    found, _, _ = operator(draw, names, 2, draw(st.sampled_from(["SEQ", "AND", "OR"])))
    assume(names.count <= 8)  # each variable multiplies what there is to try
    return found


def every_binding(query: ReferenceQuery, part: p.Pattern, given: Binding) -> Iterator[Binding]:
    """Every way to bind the variables of `part` that are not given, whether it makes sense or not."""
    match part:
        case p.Event(variable=str() as name):
            yield from ({name: given[name]} for _ in "x" if name in given)
            yield from ({name: event} for event in query.events if name not in given)
        case p.Event():
            yield from ({"": event} for event in query.events)
        case p.Repeat(variable=str() as name):
            if name in given:
                yield {name: given[name]}
                return
            elements = [list(every_binding(query, part.part, given))] * LONGEST
            for count in range(LONGEST + 1):
                for chosen in product(*elements[:count]):
                    yield {name: tuple(each.get("", each) for each in chosen)}
        case p.Seq() | p.And() | p.AndNeg():
            for several in product(*(list(every_binding(query, inner, given)) for inner in part.parts)):
                yield {name: value for each in several for name, value in each.items()}
        case p.Or():
            absent = dict.fromkeys(query.facts(part).variables)
            yield from (
                {**absent, **each} for inner in part.parts for each in every_binding(query, inner, given)
            )
        case p.Optional():
            yield dict.fromkeys(query.facts(part).variables)
            yield from every_binding(query, part.part, given)
        case p.Exists():
            dropped = set(part.variables)
            for each in every_binding(query, part.part, given):
                yield {name: value for name, value in each.items() if name not in dropped}
        case p.Not():
            yield {}


def offered(query: ReferenceQuery, part: p.Pattern, binding: Binding, scope: Scope) -> Iterator[Binding]:
    """In place of `candidates`."""
    for each in every_binding(query, part, binding):
        if all(binding.get(name, value) == value for name, value in each.items()):
            yield {**binding, **each}


def keys(bindings: Sequence[Binding]) -> set[object]:
    return {binding_key(binding) for binding in bindings}


@given(patterns(), streams(), st.sampled_from([None, 2, 4, "3 EVENTS"]))
def test_the_search_finds_what_trying_everything_finds(pattern: str, stream: str, within: Any) -> None:
    match = ask(pattern, within=within)
    query = question(match, read_events(match.streams[0], table(stream)))
    searched = keys(matches_in(query))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(satisfy, "candidates", offered)
        tried = keys(
            [each for each in every_binding(query, query.whole, {}) if satisfy.is_match(query, each)]
        )
    assert searched == tried


@given(patterns(), streams(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(pattern: str, stream: str, random: Any) -> None:
    tokens = stream.split()
    shuffled = random.sample(tokens, len(tokens))
    strip = str.maketrans("", "", "'")
    first, second = found(pattern, stream, within=3), found(pattern, " ".join(shuffled), within=3)
    assert sorted(m.translate(strip) for m in first) == sorted(m.translate(strip) for m in second)


@given(
    streams(points=True),
    st.sampled_from(["", " WHERE [id]", " WHERE b[i].val > a.val", " WHERE c.val > a.val"]),
)
def test_each_strategy_finds_some_of_what_the_next_one_finds(stream: str, where: str) -> None:
    pattern = f"SEQ(A a, B+ b[], A? c{where})"
    names = ("STRICT CONTIGUITY", "SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH")
    strict, following, every = (set(found(pattern, stream, using=name)) for name in names)
    assert strict <= following <= every


def test_every_binding_tries_everything() -> None:
    query = question(ask("SEQ(A a, OR(B b, C c))"), read_events(ask("A a").streams[0], table("A1 B2")))
    tried = [
        tuple(getattr(each[n], "row", None) for n in "abc") for each in every_binding(query, query.whole, {})
    ]
    assert len(tried) == 8 and (1, None, 0) in tried
    assert all(isinstance(event, ReferenceEvent) for event in query.events)
