"""Event patterns, row patterns and temporal patterns as the parser makes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generate.expressions import UNITS, expressions, intervals, maybe, mostly, numbers, parameters, tuples_of
from generate.names import identifiers
from neelc.ir import patterns as p
from neelc.ir import row_patterns as r
from neelc.ir import row_patterns as t
from neelc.ir.allen import ALLEN
from neelc.ir.expressions import Expr
from neelc.ir.script import FromStream

windows: SearchStrategy[p.Window] = st.one_of(
    st.builds(p.Window, numbers | parameters, maybe(st.sampled_from([*UNITS, "EVENT"]))),
    st.builds(p.Window, intervals),
)
_conditions = expressions(1)


@cache
def patterns(depth: int = 2) -> SearchStrategy[p.Pattern]:
    """Any pattern the grammar allows, negations and windows in odd places included."""
    where, within = maybe(_conditions), maybe(windows)
    extra = {"where": where, "within": within}
    plain = st.builds(p.Event, identifiers, maybe(identifiers))
    events = plain | st.builds(p.Event, identifiers, maybe(identifiers), **extra)
    if depth == 0:
        return events
    inner = st.deferred(lambda: patterns(depth - 1))
    unnamed = st.builds(p.Event, identifiers, where=where, within=within)
    lists = [st.builds(op, tuples_of(inner, 1), **extra) for op in (p.Seq, p.And, p.AndNeg, p.Or)]
    least, more = st.integers(0, 2), maybe(st.integers(0, 2))
    larger: SearchStrategy[p.Pattern] = st.one_of(
        *lists,
        st.builds(p.Not, inner),
        st.builds(p.Exists, tuples_of(identifiers, 1, 2), inner, **extra),
        st.builds(p.Optional, inner, **extra),
        st.builds(_repeat, unnamed | inner, least, more, maybe(identifiers), **extra),
    )
    return mostly(events, larger)


def _repeat(
    part: p.Pattern,
    least: int,
    more: int | None,
    variable: str | None,
    where: Expr | None,
    within: p.Window | None,
) -> p.Pattern:
    most = None if more is None else max(1, least + more)
    return p.Repeat(part, least, most, variable, where=where, within=within)


@cache
def row_patterns(
    names: SearchStrategy[str], depth: int = 3, is_sequential: bool = False
) -> SearchStrategy[r.RowPattern]:
    """With `is_sequential`, also those that only JEPC's patterns have."""
    variables = st.builds(r.RowVariable, names)
    atoms: SearchStrategy[r.RowPattern] = st.one_of(
        variables,
        variables,
        st.sampled_from([r.RowAnchor("^"), r.RowAnchor("$"), r.RowEmpty()]),
    )
    if is_sequential:
        negated = st.builds(r.RowNegation, variables)
        atoms |= negated | st.builds(r.RowConjunction, tuples_of(variables | negated, 2))
    if depth == 0:
        return atoms
    inner = st.deferred(lambda: row_patterns(names, depth - 1, is_sequential))
    repeats = st.builds(_repeat_rows, inner, st.integers(0, 2), maybe(st.integers(0, 2)), st.booleans())
    larger: SearchStrategy[r.RowPattern] = st.one_of(
        st.builds(r.RowSequence, tuples_of(inner, 2)),
        st.builds(r.RowAlternation, tuples_of(inner, 2)),
        repeats,
        st.builds(r.RowPermute, tuples_of(inner, 1)),
        st.builds(r.RowExclusion, inner),
    )
    return mostly(atoms, larger)


def _repeat_rows(part: r.RowPattern, least: int, more: int | None, reluctant: bool) -> r.RowPattern:
    return r.RowRepeat(part, least, None if more is None else max(1, least + more), reluctant)


# PERMUTE before a group would be the operator.
row_names = identifiers.filter(lambda name: name.upper() != "PERMUTE")
outputs = st.builds(r.Output, expressions(1), maybe(identifiers))
sort_items = st.builds(r.SortItem, expressions(1), st.booleans(), maybe(st.sampled_from(["FIRST", "LAST"])))
_skips = st.one_of(
    st.sampled_from([r.Skip("PAST LAST ROW"), r.Skip("TO NEXT ROW")]),
    st.builds(r.Skip, st.sampled_from(["TO", "TO FIRST", "TO LAST"]), identifiers),
)
_subsets = st.builds(r.Subset, identifiers, tuples_of(identifiers, 1))
_shared: dict[str, SearchStrategy[Any]] = {
    "partition_by": tuples_of(expressions(1), 0, 2),
    "measures": tuples_of(outputs, 0, 2),
    "within": maybe(windows),
}
match_recognizes: SearchStrategy[r.MatchRecognize] = st.builds(
    r.MatchRecognize,
    row_patterns(row_names),
    tuples_of(st.builds(r.Definition, identifiers, expressions(1)), 0, 2),
    order_by=tuples_of(sort_items, 0, 2),
    rows=maybe(st.sampled_from(r.ROWS_PER_MATCH)),
    skip=maybe(_skips),
    subsets=tuples_of(_subsets, 0, 2),
    **_shared,
)


_following = st.one_of(st.builds(r.Following, st.booleans()), st.builds(r.Following, st.just(True), windows))


@st.composite
def match_sequentials(draw: DrawFn) -> r.MatchSequential:
    """Every symbol of more than one letter is defined: the parser would take `ab` for `a b`."""
    names = draw(st.lists(row_names, min_size=1, max_size=3, unique_by=str.casefold))
    definitions = tuple(draw(st.builds(r.Definition, st.just(name), expressions(1))) for name in names)
    pattern = draw(row_patterns(st.sampled_from([*names, "A", "b"]), 2, is_sequential=True))
    following = draw(maybe(_following))
    streams = draw(tuples_of(st.builds(FromStream, maybe(identifiers), name=identifiers), 0, 2))
    shared = {key: draw(value) for key, value in _shared.items()}
    return r.MatchSequential(pattern, definitions, following=following, streams=streams, **shared)


@st.composite
def relations(draw: DrawFn, symbols: tuple[str, ...]) -> t.TemporalRelations:
    """Choices about the same two symbols, each of which starts and ends once."""
    pair = draw(st.permutations(symbols))[:2]
    choices: list[t.TemporalRelation | t.NamedRelation] = []
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 3)) == 0:
            choices.append(t.NamedRelation(pair[0], draw(st.sampled_from(list(ALLEN))), pair[1]))
            continue
        steps: list[tuple[str, ...]] = []
        for symbol in draw(st.permutations([*pair, *pair])):
            at_once = draw(st.booleans())
            if steps and at_once:
                steps[-1] += (symbol,)
            else:
                steps.append((symbol,))
        choices.append(t.TemporalRelation(tuple(map(t.Instants, steps))))
    return t.TemporalRelations(tuple(choices))


_lengths = st.builds(p.Window, numbers, st.sampled_from(UNITS)) | st.builds(p.Window, intervals)
_durations = st.one_of(
    st.builds(r.SymbolDuration, windows),
    st.builds(r.SymbolDuration, st.none(), windows),
    st.builds(r.SymbolDuration, _lengths, _lengths),
)


@st.composite
def match_temporals(draw: DrawFn) -> t.MatchTemporal:
    symbols = draw(st.sampled_from([("A", "B", "C"), ("S1", "S2", "S12"), ("up", "down", "flat")]))
    parts: SearchStrategy[t.TemporalPart] = st.one_of(
        relations(symbols),
        st.builds(t.AbsentSymbol, identifiers),
        st.builds(t.PresentSymbol, st.sampled_from(symbols)),
    )
    patterns = draw(tuples_of(st.builds(t.TemporalPattern, tuples_of(parts, 1)), 1, 2))
    defined = symbols if len(symbols[1]) > 2 or draw(st.booleans()) else ()
    definitions = tuple(
        draw(st.builds(r.Definition, st.just(name), expressions(1), maybe(_durations))) for name in defined
    )
    streams = draw(tuples_of(st.builds(FromStream, maybe(identifiers), name=identifiers), 0, 2))
    shared = {key: draw(value) for key, value in _shared.items()}
    return t.MatchTemporal(patterns, definitions, streams=streams, **shared)
