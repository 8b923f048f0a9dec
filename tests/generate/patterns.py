"""Pattern queries that mean something, over the small world of `streams`.

A query is made in three steps: a shape without names and conditions; then every event gets a name of its own;
then conditions are put where the language allows them, about variables that can be seen there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generate.conditions import Seen, conditions, number, seen_in, terms, together
from generate.expressions import mostly
from generate.streams import TYPES
from neelc.ir import patterns as p
from neelc.ir.expressions import Expr, SameAttributes
from neelc.ir.node import walk
from neelc.ir.row_patterns import Output
from neelc.ir.script import PatternQuery, Return, SelectionStrategy

_LIMITS: SearchStrategy[tuple[int, int | None]] = st.sampled_from(
    [(1, None), (0, None), (1, 2), (2, 2), (2, 3), (0, 2)]
)
_windows = st.builds(p.Window, st.integers(1, 8).map(number))
_counted = st.builds(p.Window, st.integers(1, 6).map(number), st.just("EVENT"))
_sub_windows = st.one_of(st.none(), st.none(), st.none(), _windows)
_events = st.builds(p.Event, st.sampled_from(TYPES))


def _repeated(parts: SearchStrategy[p.Pattern]) -> SearchStrategy[p.Pattern]:
    return st.builds(lambda part, limits: p.Repeat(part, *limits), parts, _LIMITS)


def _mixed(
    positive: Sequence[p.Pattern], negative: Sequence[tuple[int, p.Pattern]], inside: bool
) -> tuple[p.Pattern, ...]:
    """Negative parts put between the positive ones; with `inside`, never first or last."""
    parts: list[p.Pattern] = list(positive)
    for place, part in negative:
        low, high = (1, len(parts) - 1) if inside else (0, len(parts))
        parts.insert(low + place % (high - low + 1), p.Not(part))
    return tuple(parts)


def _parts(
    positive: SearchStrategy[p.Pattern],
    negative: SearchStrategy[p.Pattern],
    most: int = 3,
    inside: bool = False,
) -> SearchStrategy[tuple[p.Pattern, ...]]:
    negatives = st.lists(st.tuples(st.integers(0, 3), negative), max_size=1 if inside else most - 1)
    positives = st.lists(positive, min_size=2 if inside else 1, max_size=most)
    return st.builds(_mixed, positives, negatives, st.just(inside))


def _surely(parts: tuple[p.Pattern, ...], event: p.Event, within: p.Window | None) -> p.Pattern:
    """A SEQ that binds an event: every iteration of a closure must."""
    required = any(isinstance(part, p.Event) for part in parts)
    return p.Seq(parts if required else (*parts, event), within=within)


@cache
def shapes(depth: int = 2) -> SearchStrategy[p.Pattern]:
    """Positive patterns without names and conditions."""
    single = st.one_of(_events, _events, _repeated(_events), st.builds(p.Optional, _events))
    if depth == 0:
        return single
    inner = st.deferred(lambda: shapes(depth - 1))
    negative = st.one_of(inner, inner, inner, st.builds(p.Not, inner))
    nested = st.one_of(
        st.builds(p.Seq, _parts(inner, negative, depth + 1), within=_sub_windows),
        st.builds(p.Seq, _parts(inner, negative, depth + 1), within=_sub_windows),
        st.builds(p.And, _parts(inner, negative, depth + 1), within=_sub_windows),
        st.builds(p.AndNeg, _parts(inner, negative, depth + 1, inside=True)),
        st.builds(p.Or, st.lists(inner, min_size=2, max_size=2).map(tuple)),
        _repeated(st.builds(_surely, _parts(inner, negative, depth + 1), _events, _sub_windows)),
        st.builds(p.Optional, inner),
        st.builds(p.Exists, st.just(()), inner),
    )
    return mostly(single, nested)


def _flat_shapes() -> SearchStrategy[p.Pattern]:
    """What every selection strategy is defined for."""
    single = st.one_of(_events, _events, _repeated(_events), st.builds(p.Optional, _events))
    closures = _repeated(st.builds(p.Seq, st.lists(_events, min_size=1, max_size=2).map(tuple)))
    sequences = st.builds(p.Seq, _parts(st.one_of(single, single, single, closures), shapes(1)))
    either = st.builds(p.Or, st.lists(sequences, min_size=2, max_size=2).map(tuple))
    return st.one_of(single, sequences, sequences, sequences, either)


def named(shape: p.Pattern) -> p.Pattern:
    """Every event and every list gets a variable: `A a1`, `B+ b2[]`; EXISTS drops the first one it can.

    >>> print(named(p.Seq((p.Event("A"), p.Repeat(p.Event("B"), 1, None), p.Exists((), p.Event("A"))))))
    SEQ(A a1, B+ b2[], EXISTS a3 : A a3)

    Not the only one of the whole match, or of a negative part: something must be left to bind.

    >>> print(named(p.Exists((), p.Event("A"))))
    A a1
    """
    return _named(shape, count(1))


def _named(node: p.Pattern, numbers: Iterator[int], accompanied: bool = False) -> p.Pattern:
    """With `accompanied`, an event beside `node` is bound in any case."""
    match node:
        case p.Event(kind):
            return replace(node, variable=f"{kind.lower()}{next(numbers)}")
        case p.Repeat(p.Event(kind)):
            return replace(node, variable=f"{kind.lower()}{next(numbers)}")
        case p.Repeat(part):
            return replace(node, part=_named(part, numbers), variable=f"k{next(numbers)}")
        case p.Exists(_, part):
            inner = _named(part, numbers)
            variables = tuple(variable.name for variable in seen_in(inner))
            return (
                replace(node, part=inner, variables=variables[:1]) if variables[not accompanied :] else inner
            )
        case p.Not(part) | p.Optional(part):
            return replace(node, part=_named(part, numbers))
        case p.Or(parts):
            return replace(node, parts=tuple(_named(part, numbers) for part in parts))
        case p.Joint(parts):
            beside = any(isinstance(part, p.Event) for part in parts)
            return replace(node, parts=tuple(_named(part, numbers, beside) for part in parts))
    raise AssertionError(type(node).__name__)


@st.composite
def with_conditions(draw: DrawFn, node: p.Pattern, scope: tuple[Seen, ...]) -> p.Pattern:
    """`node` with conditions on it and inside it; they may name the variables in `scope`."""
    match node:
        case p.Event() | p.Repeat(p.Event()):
            own = [variable for variable in scope if variable.name == node.variable]
            found = [draw(conditions(first, scope)) for first in own if draw(st.integers(0, 2)) == 2]
            return replace(node, where=together(found))
        case p.Repeat(part, variable=name):
            outside = tuple(variable for variable in scope if variable.name != name)
            return replace(node, part=draw(with_conditions(part, outside + seen_in(part))))
        case p.Not(part) | p.Exists(_, part):
            hidden = tuple(variable for variable in seen_in(part) if variable not in scope)
            return replace(node, part=draw(with_conditions(part, scope + hidden)))
        case p.Optional(part):
            return replace(node, part=draw(with_conditions(part, scope)))
        case p.Listing(parts):
            where = (
                together(draw(_list_conditions(node, parts, scope))) if draw(st.integers(0, 2)) == 2 else None
            )
            return replace(
                node, parts=tuple(draw(with_conditions(part, scope)) for part in parts), where=where
            )
    raise AssertionError(type(node).__name__)


@st.composite
def _list_conditions(
    draw: DrawFn, node: p.Pattern, parts: tuple[p.Pattern, ...], scope: tuple[Seen, ...]
) -> list[Expr]:
    """Conjuncts of a list's qualification: about its variables, about one negative part, or `[id]`."""
    own = seen_in(node)
    negative = [part.part for part in parts if isinstance(part, p.Not) and not isinstance(part.part, p.Not)]
    kinds = ["same", *["own"] * (2 * bool(own)), *["negative"] * (2 * bool(negative))]
    found: list[Expr] = []
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2)):
        if kind == "same":
            found.append(SameAttributes(("id",)))
        elif kind == "own":
            found.append(draw(conditions(draw(st.sampled_from(own)), scope)))
        elif refused := seen_in(draw(st.sampled_from(negative))):
            found.append(draw(conditions(draw(st.sampled_from(refused)), scope)))
    return found


@st.composite
def queries(
    draw: DrawFn, depth: int = 2, strategies: Iterable[SelectionStrategy] = SelectionStrategy
) -> PatternQuery:
    """A pattern query over `streams.STREAM` that the binder accepts."""
    strategy = draw(st.sampled_from([None, *strategies]))
    any_match = strategy in (None, SelectionStrategy.ANY_MATCH)
    pattern = named(draw(shapes(depth) if any_match else _flat_shapes()))
    seen = seen_in(pattern)
    partition = ("id",) if strategy == SelectionStrategy.PARTITION or draw(st.integers(0, 4)) == 4 else ()
    where = [draw(conditions(first, seen)) for first in seen if draw(st.integers(0, 4)) == 4]
    where += [SameAttributes(("id",))] if draw(st.integers(0, 4)) == 4 else []
    within = draw(_windows | _counted if needs_window(pattern) else st.one_of(st.none(), _windows, _counted))
    return PatternQuery(
        draw(with_conditions(pattern, seen)),
        where=together(where),
        partition_by=partition,
        within=within,
        strategy=strategy,
        returns=draw(_returns(pattern, seen)),
    )


def needs_window(pattern: p.Pattern) -> bool:
    """Whether some negation may look further than the match: any but one between two single events of a SEQ.

    >>> a, b, c = map(p.Event, "ABC")
    >>> needs_window(p.Seq((a, p.Not(b), c))), needs_window(p.Seq((a, p.Not(b)))), needs_window(p.Seq((a, b)))
    (False, True, False)
    """
    match pattern:
        case p.Not():
            return True
        case p.Seq(parts):
            return any(_is_open(parts, place) for place in range(len(parts)))
    return any(isinstance(node, p.Not) for node in walk(pattern))


def _is_open(parts: tuple[p.Pattern, ...], place: int) -> bool:
    if not isinstance(parts[place], p.Not):
        return needs_window(parts[place])
    beside = (parts[place - 1 : place], parts[place + 1 : place + 2])
    return not all(neighbour and isinstance(neighbour[0], p.Event) for neighbour in beside)


@st.composite
def _returns(draw: DrawFn, pattern: p.Pattern, seen: tuple[Seen, ...]) -> Return | None:
    if not seen or draw(st.booleans()):
        return None
    lists = [variable for variable in seen if variable.is_list]
    if lists and not any(variable.inner for variable in lists) and draw(st.booleans()):
        return Return((), collapsed=True)
    chosen = draw(st.lists(st.sampled_from(seen), min_size=1, max_size=3))
    items = tuple(Output(draw(terms(variable)), f"r{place}") for place, variable in enumerate(chosen))
    return Return(items, distinct=draw(st.booleans()))
