"""Whatever names, texts and parameters hold, they stay names, texts and parameters in what is emitted."""

from __future__ import annotations

import ast
import dataclasses
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from injecting import BREAKING, METHODS, ODD, PLAIN, QUERIES, calls, compiled, kinds, outline

from neelc.runtime import program

# No halves of surrogate pairs, which are in no text file.
CHARACTERS = st.one_of(
    st.sampled_from("'\"`\\#$-/*;:(){}[]%\n\r\t .,AaZz09_"),
    st.characters(exclude_categories=["Cs"]),
)
NAMES = st.one_of(
    st.text(CHARACTERS, min_size=1, max_size=12),
    st.lists(st.sampled_from(ODD), min_size=1, max_size=3).map("".join),
)


@cache
def plain_outline(query: tuple[str, str]) -> str:
    return outline(compiled(query, PLAIN).source)


@cache
def plain_sql(query: tuple[str, str]) -> tuple[str, ...]:
    return kinds(compiled(query, PLAIN).sql())


@pytest.mark.parametrize("query", QUERIES, ids=" ".join)
def test_only_what_is_emitted_is_called(query: tuple[str, str]) -> None:
    of_programs = {
        name for name, value in vars(program).items() if isinstance(value, type) and dataclasses.is_dataclass(value)
    }
    known = {"kernel", "float"} | of_programs | {f".{name}" for name in METHODS}
    source = compiled(query, BREAKING).source
    assert set(calls(source)) <= known
    imported = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {ast.unparse(node).split()[1].split(".")[0] for node in imported} <= {
        "__future__",
        "collections",
        "pyspark",
        "neelc",
    }


@pytest.mark.parametrize("query", QUERIES, ids=" ".join)
def test_odd_names_change_nothing_but_texts(query: tuple[str, str]) -> None:
    for odd in ODD:
        assert outline(compiled(query, odd).source) == plain_outline(query), repr(odd)


@pytest.mark.parametrize("query", [query for query in QUERIES if query[0] != "kernel" and query[0] != "nested"], ids=" ".join)
def test_odd_names_in_sql(query: tuple[str, str]) -> None:
    for odd in ODD:
        assert kinds(compiled(query, odd).sql()) == plain_sql(query), repr(odd)


@settings(max_examples=40)
@given(NAMES, st.sampled_from(sorted(QUERIES)))
def test_any_names_change_nothing_but_texts(odd: str, query: tuple[str, str]) -> None:
    assert outline(compiled(query, odd).source) == plain_outline(query)
