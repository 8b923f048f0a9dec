"""Whatever names, texts and parameters hold, they stay names, texts and parameters in what is emitted."""

from __future__ import annotations

import ast
import dataclasses
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from injecting import BREAKING, METHODS, ODD, PLAIN, QUERIES, bound, calls, compiled, kinds, outline, texts

from neelc.arguments import ExecutionStrategy, Options
from neelc.engines.spark.relations import SelectColumns
from neelc.ir.names import quote
from neelc.pipeline import compile_program
from neelc.runtime import program as runtime_program

CHARACTERS = st.one_of(
    st.sampled_from("'\"`\\#$-/*;:(){}[]%\n\r\t .,AaZz09_"),
    st.characters(),
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
        name
        for name, value in vars(runtime_program).items()
        if isinstance(value, type) and dataclasses.is_dataclass(value)
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
    for odd in ODD if query == ("kernel", "keyed") else ODD[::4]:
        made = compiled(query, odd)
        assert outline(made.source) == plain_outline(query), repr(odd)
        # However long texts are broken into lines, what Spark gets is what was planned.
        given = texts(made.source)
        for let in made.relations.lets:
            if isinstance(let.relation, SelectColumns):
                assert all(any(text.startswith(item) for text in given) for item, _ in let.relation.items)


@pytest.mark.parametrize("query", [("join", "keyed"), ("join", "chosen"), ("window", "alone")], ids=" ".join)
def test_odd_names_in_sql(query: tuple[str, str]) -> None:
    for odd in ODD if query == ("join", "keyed") else ODD[1::4]:
        assert kinds(compiled(query, odd).sql()) == plain_sql(query), repr(odd)


@pytest.mark.parametrize(
    "word",
    "class None F spark streams kernel query result events matches DataFrame Program exec __import__ _ "
    "import pyspark DataFrame print SELECT ordered chunked match_start start roles".split(),
)
def test_words_of_the_source_as_names(word: str) -> None:
    name = quote(word)
    text = f"""
    CREATE STREAM {name} (ts BIGINT, {quote("the " + word)} INT, {name} INT) TIMESTAMP BY ts;
    PATTERN SEQ({name} {name}, {name} b) WHERE {name}.{name} = b.{name} WITHIN 5
    RETURN {name}.{name} AS {name}, b
    """
    program = bound(text, "")
    for strategy in ("kernel", "join"):
        source = compile_program(program, 0, Options(ExecutionStrategy(strategy))).source
        tree = ast.parse(source)
        nodes = list(ast.walk(tree))
        assigned = [
            node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        assert len(assigned) == len(set(assigned)), "a variable would be lost"
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        taken = {alias.asname or alias.name for node in imports for alias in node.names}
        assert not {"spark", "streams", "query", *taken} & set(assigned)


@settings(max_examples=40)
@given(NAMES, st.sampled_from(sorted(QUERIES)))
def test_any_names_change_nothing_but_texts(odd: str, query: tuple[str, str]) -> None:
    assert outline(compiled(query, odd).source) == plain_outline(query)
