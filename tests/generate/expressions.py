"""Data types, constants and scalar expressions as the parser makes them."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from generate.names import any_text, identifiers
from neelc.ir import expressions as e
from neelc.ir import types as t
from neelc.ir.allen import ALLEN

T = TypeVar("T")
UNITS = ["MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR"]


def tuples_of(items: SearchStrategy[T], least: int = 0, most: int = 3) -> SearchStrategy[tuple[T, ...]]:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


def maybe(items: SearchStrategy[T]) -> SearchStrategy[T | None]:
    return st.none() | items


def mostly(rare: SearchStrategy[T], usual: SearchStrategy[T]) -> SearchStrategy[T]:
    """One in four times `rare`, which is also what examples shrink to."""
    # flatmap keeps hypothesis from choosing among the branches of both as if they were one list.
    return st.integers(0, 3).flatmap(lambda chosen: usual if chosen else rare)


@cache
def data_types(depth: int = 1) -> SearchStrategy[t.DataType]:
    simple: SearchStrategy[t.DataType] = st.sampled_from(
        sorted(t.SIMPLE_TYPES.values(), key=lambda s: s.name)
    )
    decimals = st.integers(1, 38).flatmap(lambda p: st.builds(t.Decimal, st.just(p), st.integers(0, p)))
    if depth == 0:
        return simple | decimals
    inner = st.deferred(lambda: data_types(depth - 1))
    fields = st.builds(t.StructField, identifiers, inner)
    structs = st.builds(t.Struct, tuples_of(fields, 1))
    return st.one_of(simple, decimals, st.builds(t.Array, inner), st.builds(t.Map, inner, inner), structs)


def _decimal(digits: int, scale: int) -> e.Literal:
    value = decimal.Decimal(digits).scaleb(-scale)
    return e.Literal(value, t.Decimal(max(len(str(digits)), scale), scale))


def _of(type: t.DataType) -> Callable[[e.Value], e.Literal]:
    return lambda value: e.Literal(value, type)


numbers: SearchStrategy[e.Literal] = st.one_of(
    st.integers(0, 9).map(_of(t.INT)),
    st.integers(0, 2**31 - 1).map(_of(t.INT)),
    st.integers(0, 2**63 - 1).map(_of(t.BIGINT)),
    st.integers(0, 2**15 - 1).map(_of(t.SMALLINT)),
    st.integers(0, 2**7 - 1).map(_of(t.TINYINT)),
    st.builds(_decimal, st.integers(0, 10**12), st.integers(0, 15)),
    st.floats(0, allow_infinity=False, allow_nan=False).map(abs).map(_of(t.DOUBLE)),
    st.floats(0, allow_infinity=False, allow_nan=False, width=32).map(abs).map(_of(t.FLOAT)),
)
literals: SearchStrategy[e.Literal] = st.one_of(
    numbers,
    any_text.map(_of(t.STRING)),
    st.binary(max_size=4).map(_of(t.BINARY)),
    st.sampled_from([e.Literal(True, t.BOOLEAN), e.Literal(False, t.BOOLEAN), e.Literal(None, t.VOID)]),
    st.sampled_from([t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ]).map(lambda type: e.Literal("2020-01-31", type)),
)

intervals: SearchStrategy[e.Interval] = st.builds(
    e.Interval,
    tuples_of(
        st.builds(
            e.IntervalPart,
            st.sampled_from(["1", "-5", "2.5", "1 10:00"]),
            st.sampled_from(UNITS),
            maybe(st.sampled_from(UNITS)),
        ),
        1,
        2,
    ),
)
parameters = st.builds(e.Parameter, identifiers)
name_paths = st.builds(e.Name, tuples_of(identifiers, 1))
_queries = st.sampled_from(["SELECT max(x) FROM t", "WITH c AS (SELECT 1) SELECT * FROM c WHERE x = ')'"])
_same = st.builds(e.SameAttributes, tuples_of(identifiers, 1, 2))
_atoms = st.one_of(
    name_paths, name_paths, literals, intervals, parameters, _same, st.builds(e.Star, identifiers)
)


@cache
def expressions(depth: int = 3) -> SearchStrategy[e.Expr]:
    if depth == 0:
        return _atoms
    inner = st.deferred(lambda: expressions(depth - 1))
    larger = st.one_of(_operators(inner), _predicates(inner), _functions(inner), _references(inner))
    return mostly(_atoms, larger)


def _operators(inner: SearchStrategy[e.Expr]) -> SearchStrategy[e.Expr]:
    binary = st.sampled_from([*e.ARITHMETIC, *e.BITWISE, *e.COMPARISONS, "||"])
    return st.one_of(
        st.builds(e.Unary, st.sampled_from("-+~"), inner),
        st.builds(e.Binary, binary, inner, inner),
        st.builds(e.Conjunction, tuples_of(inner, 2)),
        st.builds(e.Disjunction, tuples_of(inner, 2)),
        st.builds(e.Negation, inner),
    )


def _predicates(inner: SearchStrategy[e.Expr]) -> SearchStrategy[e.Expr]:
    kinds = st.sampled_from(["LIKE", "ILIKE", "RLIKE"])
    escapes = maybe(st.sampled_from(["!", "'", "\\"]))
    return st.one_of(
        st.builds(e.Between, inner, inner, inner, st.booleans()),
        st.builds(e.InList, inner, tuples_of(inner, 1), st.booleans()),
        st.builds(e.Like, inner, inner, kinds, escapes, st.booleans()),
        st.builds(e.IsNull, inner, st.booleans()),
        st.builds(e.IsTruth, inner, maybe(st.booleans()), st.booleans()),
        st.builds(e.IsDistinct, inner, inner, st.booleans()),
        st.builds(e.AllenRelation, inner, st.sampled_from(list(ALLEN)), inner),
    )


def calls(inner: SearchStrategy[e.Expr]) -> SearchStrategy[e.Call]:
    return st.one_of(
        st.builds(e.Call, identifiers, tuples_of(inner)),
        st.builds(e.Call, identifiers, tuples_of(inner, 1), st.just(True)),
        st.builds(e.Call, identifiers, st.just((e.Star(),))),
    )


def _functions(inner: SearchStrategy[e.Expr]) -> SearchStrategy[e.Expr]:
    whens = tuples_of(st.builds(e.CaseBranch, inner, inner), 1, 2)
    return st.one_of(
        calls(inner),
        st.builds(e.RunningFinal, st.sampled_from(["RUNNING", "FINAL"]), calls(inner)),
        st.builds(e.FilteredCall, calls(inner), inner),
        st.builds(e.RunningFinal, st.just("FINAL"), st.builds(e.FilteredCall, calls(inner), inner)),
        st.builds(e.NestedQuery, _queries, st.booleans()),
        st.builds(e.InQuery, inner, st.builds(e.NestedQuery, _queries), st.booleans()),
        st.builds(e.Case, maybe(inner), whens, maybe(inner)),
        st.builds(e.Cast, inner, data_types(), st.booleans()),
        st.builds(e.Extract, st.sampled_from(["YEAR", "DAY", "SECOND"]), inner),
    )


def _references(inner: SearchStrategy[e.Expr]) -> SearchStrategy[e.Expr]:
    place = st.builds(e.Binary, st.sampled_from("+-"), st.builds(e.Name, st.just(("i",))), literals)
    return st.one_of(
        # On a name, a dot makes a longer name.
        st.builds(e.MemberAccess, inner.filter(lambda base: not isinstance(base, e.Name)), identifiers),
        st.builds(e.Subscript, inner, inner | place),
        st.builds(e.Slice, inner, maybe(inner | place)),
    )
