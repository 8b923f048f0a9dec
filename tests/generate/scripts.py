"""Queries, statements and scripts as the parser makes them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from generate.expressions import UNITS, data_types, expressions, maybe, tuples_of
from generate.names import any_text, identifiers
from generate.statistics import statistics
from generate.syntax import (
    match_recognizes,
    match_sequentials,
    match_temporals,
    outputs,
    patterns,
    sort_items,
    windows,
)
from neelc.ir import script as s
from neelc.ir.expressions import Star
from neelc.ir.patterns import Window
from neelc.ir.row_patterns import Output

_names = tuples_of(identifiers, 0, 2)
_properties = st.builds(s.Property, identifiers, any_text)
_conditions = maybe(expressions(2))

timestamps = st.builds(s.Timestamp, identifiers, maybe(identifiers), maybe(st.sampled_from(UNITS)))
create_streams = st.builds(
    s.CreateStream,
    identifiers,
    tuples_of(st.builds(s.ColumnDefinition, identifiers, data_types())),
    maybe(timestamps),
    maybe(identifiers),
    maybe(identifiers),
    maybe(any_text),
    maybe(identifiers),
    tuples_of(_properties),
    tuples_of(statistics, 0, 3),
)
create_types = st.builds(s.CreateType, identifiers, tuples_of(identifiers, 1))

_confidences = st.builds(s.Confidence, st.sampled_from([">", ">="]), expressions(1))
_items = tuples_of(outputs, 1)
returns = st.one_of(
    st.builds(s.Return, _items),
    st.builds(s.Return, _items, st.just(True)),
    st.builds(s.Return, tuples_of(outputs), collapsed=st.just(True)),
)
pattern_queries: SearchStrategy[s.PatternQuery] = st.builds(
    s.PatternQuery,
    patterns(),
    _names,
    _conditions,
    _names,
    maybe(windows),
    maybe(st.sampled_from(s.SelectionStrategy)),
    maybe(_confidences),
    maybe(returns),
    st.booleans(),
)


def _stream_windows(counted: bool) -> SearchStrategy[s.StreamWindow]:
    sizes: SearchStrategy[Window] = windows.filter(lambda w: (w.unit == "EVENT") == counted)
    return st.builds(s.StreamWindow, sizes, maybe(sizes), _names)


_wanted = st.builds(
    s.MatchmakerAttribute,
    identifiers,
    data_types(),
    tuples_of(st.builds(s.Property, identifiers, st.sampled_from(["42", "1.5", "Celsius"]) | any_text)),
)


@cache
def selects(depth: int = 1) -> SearchStrategy[s.Select]:
    shared = {
        "alias": maybe(identifiers),
        "window": maybe(_stream_windows(True) | _stream_windows(False)),
        "matcher": st.one_of(
            st.none(), st.none(), st.none(), match_recognizes, match_sequentials(), match_temporals()
        ),
    }
    sources: list[SearchStrategy[s.FromItem]] = [
        st.builds(s.FromStream, name=identifiers, **shared),
        st.builds(s.FromMatchmaker, attributes=tuples_of(_wanted, 1), **shared),
    ]
    if depth > 0:
        sources.append(st.builds(s.FromQuery, query=selects(depth - 1) | pattern_queries, **shared))
    return st.builds(
        s.Select,
        tuples_of(outputs | st.just(Output(Star())), 1),
        tuples_of(st.builds(_with_matcher_alias, st.one_of(*sources), maybe(identifiers)), 1, 2),
        st.booleans(),
        _conditions,
        tuples_of(expressions(1), 0, 2),
        _conditions,
        tuples_of(sort_items, 0, 2),
        maybe(st.integers(0, 100)),
    )


def _with_matcher_alias(item: s.FromItem, alias: str | None) -> s.FromItem:
    return replace(item, matcher_alias=alias) if item.matcher else item


def queries() -> SearchStrategy[s.ScriptQuery]:
    return st.one_of(pattern_queries, selects())


def statements() -> SearchStrategy[s.Statement]:
    named = st.builds(s.CreateQuery, identifiers, queries())
    return st.one_of(create_streams, create_types, named, st.builds(s.RunQuery, queries()))


def scripts(most: int = 3) -> SearchStrategy[s.Script]:
    return st.builds(s.Script, tuples_of(statements(), 1, most))
