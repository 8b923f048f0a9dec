"""What `neelc compile` prints, as text: tests/compiled/*.txt, a script and its source by some strategies.

`pytest --update` writes them. That the sources find the right matches is tested on Spark.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from bench.baselines import plan_late, plan_nested
from repository import ROOT

from neelc.arguments import ExecutionStrategy, Options
from neelc.engines.spark.compiled import CompiledScript
from neelc.pattern.plan.blocks import TooManyRows, UnboundedState, UncountedMatches, UnsupportedQuery
from neelc.pipeline import Planner, compile_program, parse
from neelc.program import bind
from neelc.source import Source

GOLDEN = sorted((ROOT / "tests" / "compiled").glob("*.txt"))
STREAM = "CREATE STREAM S (ts BIGINT, kind STRING, id INT, x INT, note STRING) TIMESTAMP BY ts TYPE BY kind"


def compiled(text: str, options: Options | None = None, planner: Planner | None = None) -> CompiledScript:
    source = Source(text)
    program = bind(parse(source), source)
    return compile_program(program, -1, options, planner=planner)


def pattern(
    text: str, options: Options | None = None, stats: str = "", planner: Planner | None = None
) -> CompiledScript:
    return compiled(f"{STREAM} {stats};\nPATTERN {text};", options, planner)


def _planned(text: str, name: str) -> CompiledScript:
    """A script under a strategy, or under the baseline of the benchmarks."""
    if name == "streaming":
        return compiled(text, Options(streaming=True))
    if name == "nested":
        return compiled(text, planner=plan_nested)
    return compiled(text, Options(ExecutionStrategy(name)))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_sources(path: Path, update: bool) -> None:
    text, *sections = path.read_text().split("\n==== ")
    names = [section.split("\n", 1)[0] for section in sections]
    found = [f"{name}\n{_planned(text, name).source}" for name in names]
    if update:
        path.write_text("\n==== ".join([text, *found]))
    else:
        assert found == sections, "pytest --update writes what is compiled now"


def test_there_are_sources() -> None:
    assert len(GOLDEN) >= 5


def test_state_without_a_bound_is_refused() -> None:
    with pytest.raises(UnboundedState, match="keep every event of the stream") as refused:
        pattern("SEQ(A a, B b) WHERE [id]", Options(streaming=True))
    assert refused.value.code == "NEEL4131" and "WITHIN 1 HOUR" in str(refused.value.hint)


@pytest.mark.parametrize("strategy", ["kernel", "join"])
def test_a_source_is_one_function(strategy: str) -> None:
    tree = ast.parse(
        pattern("SEQ(A a, !B b, C c) WHERE [id] WITHIN 9", Options(ExecutionStrategy(strategy))).source
    )
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert [function.name for function in functions] == ["query"]
    assert [argument.arg for argument in functions[0].args.args] == ["spark", "streams"]


def test_joins_need_neither_compiler_nor_runtime() -> None:
    assert (
        "neelc.runtime"
        not in pattern("SEQ(A a, B b) WHERE [id]", Options(strategy=ExecutionStrategy.JOIN)).source
    )
    assert (
        "import neelc"
        not in pattern("SEQ(A a, B b) WHERE [id]", Options(strategy=ExecutionStrategy.JOIN)).source
    )


def test_no_cross_join() -> None:
    with pytest.raises(UnsupportedQuery, match="nothing but time"):
        pattern("SEQ(A a, B b)", Options(strategy=ExecutionStrategy.JOIN))
    assert (
        "cross"
        not in pattern("SEQ(A a, B b) WITHIN 9", Options(strategy=ExecutionStrategy.JOIN)).source.lower()
    )


def test_sql_is_for_relational_plans() -> None:
    assert (
        pattern("SEQ(A a, B b) WITHIN 9", Options(strategy=ExecutionStrategy.JOIN)).sql().startswith("WITH ")
    )
    with pytest.raises(UnsupportedQuery, match="kernel"):
        pattern("SEQ(A a, B b) WITHIN 9", Options(strategy=ExecutionStrategy.KERNEL)).sql()


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("SEQ(A a, B b) WHERE [id] WITHIN 9", "kernel"),
        ("SEQ(A a, !(B b : concat(b.note, a.note) LIKE 'x%'), C c) WITHIN 9", "kernel"),
        ("SEQ(A a, B b) WHERE [id] USING PARTITION CONTIGUITY", "window"),
    ],
)
def test_the_strategy_that_can_do_it_is_taken(text: str, strategy: str) -> None:
    assert [taken for _, taken in pattern(text).strategies] == [strategy]


def test_time_is_cut_into_chunks_where_there_is_no_key() -> None:
    assert "explode(sequence(" in pattern("SEQ(A a, B b) WITHIN 9").source
    assert "explode(sequence(" not in pattern("SEQ(A a, B b) WHERE [id] WITHIN 9").source


def test_time_is_cut_into_chunks_where_one_key_has_most_events() -> None:
    skewed = pattern("SEQ(A a, B b) WHERE [id] WITHIN 9", stats="WITH STATS (MOST FREQUENT id 0.5)")
    assert 'repartition("id", "chunk")' in skewed.source
    assert "chunk" not in pattern("SEQ(A a, B b) WHERE [id] WITHIN 9", Options(chunks=False)).source


def test_a_result_that_is_too_large_is_refused() -> None:
    stats = "WITH STATS (EVENTS 1000000000, RATE 1000 PER SECOND)"
    with pytest.raises(TooManyRows, match="rows are expected, more than 1e"):
        pattern("SEQ(A a, B b, C c)", stats=stats)
    assert pattern("SEQ(A a, B b, C c)", Options(most_rows=1e40), stats=stats).source
    assert pattern("SEQ(A a, B b, C c)").source  # guessed statistics refuse nothing


def test_limits_stand_in_the_source() -> None:
    assert "most_matches=7)" in pattern("SEQ(A a, B b) WITHIN 9", Options(most_matches=7)).source


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("SEQ(A a, B b) WHERE [id] WITHIN 9", ExecutionStrategy.JOIN),
        ("SEQ(A a, B b) WHERE [id] USING PARTITION CONTIGUITY", ExecutionStrategy.WINDOW),
    ],
)
def test_a_limit_of_matches_is_the_kernels(text: str, strategy: ExecutionStrategy) -> None:
    assert pattern(text, Options(strategy)).strategies == (("", strategy),)
    assert pattern(text, Options(most_matches=7)).strategies == (("", ExecutionStrategy.KERNEL),)
    with pytest.raises(UncountedMatches, match=f"the strategy {strategy} does not limit matches$"):
        pattern(text, Options(strategy, most_matches=7))


def test_what_branches_share_is_taken_once() -> None:
    source = pattern("OR(SEQ(A a, B b, C c), SEQ(A x, B y, D d)) WITHIN 9").source
    assert source.count('Take("a", "A"') == 1 and source.count('Rename("a", "x"') == 1
    assert 'Take("x"' not in source


def test_shortcuts_look_up_values() -> None:
    stats = "WITH STATS (EVENTS 1000000, DISTINCT x 100000, TYPE C DISTINCT x 10)"
    text = "SEQ(A a, AND(B b, C c WHERE c.x = a.x), D d) WITHIN 1 MINUTE RETURN a.x"
    assert "looked_up" in pattern(text, stats=stats).source
    assert "looked_up" not in pattern(text, Options(shortcuts=False), stats=stats).source


def test_without_push_in_conditions_are_judged_last() -> None:
    early = pattern("SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 9").source
    late = pattern("SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 9", planner=plan_late).source
    assert "FilterStep(" not in early and "FilterStep(" in late


def test_a_negation_between_neighbours_needs_no_join() -> None:
    text = "OR(SEQ(C c, !A a, B b), SEQ(A d, B e)) WHERE [id] USING PARTITION CONTIGUITY"
    assert ".join(" not in pattern(text, Options(strategy=ExecutionStrategy.WINDOW)).source
    leading = "OR(SEQ(!A a, C c, B b), SEQ(A d, B e)) WHERE [id] WITHIN 9 USING PARTITION CONTIGUITY"
    assert "Follow(" in pattern(leading).source
    with pytest.raises(UnsupportedQuery, match="under contiguity"):
        pattern(leading, Options(strategy=ExecutionStrategy.WINDOW))
