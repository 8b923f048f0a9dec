"""Plans of strategies: their shape is that of what is written, and what they cannot do they refuse."""

from __future__ import annotations

import pytest
from binding import match

from neelc.arguments import ExecutionStrategy, Options
from neelc.catalog.statistics.numbers import Statistics
from neelc.engines.spark.compiled import WrittenQuery, write_script
from neelc.engines.spark.relations import Extend, Join
from neelc.ir.program import NamedQuery, Program
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.relational_plan import MOST_CHAINED
from neelc.pattern.plan.strategies import StrategyPlan
from neelc.pipeline import PlannedQuery, compile_program, plan_queries

STREAM = "CREATE STREAM S (ts BIGINT, kind STRING, id INT, x INT) TIMESTAMP BY ts TYPE BY kind;"

PATTERNS = [
    "SEQ(A a, B b, C c) WHERE [id] WITHIN 9",
    "SEQ(A a, !B b, C c) WHERE b.x > a.x WITHIN 9",
    "SEQ(A a, !SEQ(B b, D d), C c) WHERE b.x = d.x WITHIN 9",
    "SEQ(A a, !OR(B b, SEQ(D d, E e)), C c) WHERE [id] WITHIN 9",
    "OR(SEQ(A a, B b), AND(C c, D d)) WITHIN 9",
    "SEQ(A a, B? b, EXISTS c : C c, D d) WITHIN 9",
    "AND(A a, A b, EXISTS c, d : SEQ(B c, C d)) WITHIN 9",
    "SEQ(A a, B b) WHERE a.id = b.id WITHIN 9 EVENTS",
    "SEQ(A a, !B b) WITHIN 9",
    "AND(EXISTS x : A x, A a, !B b) WITHIN 9",
    "SEQ(A a, B b, C c) WHERE [id] USING STRICT CONTIGUITY",
    "SEQ(A a, !N n, B b, !C c) WITHIN 9 USING STRICT CONTIGUITY",
    "OR(SEQ(A a, B b), SEQ(C c, D d, E e)) WITHIN 9 USING STRICT CONTIGUITY",
    "SEQ(A a, B b, C c) WHERE [id] AND a.x < c.x WITHIN 9 USING PARTITION CONTIGUITY",
]


def planned(text: str, strategy: str | None = None) -> PlannedQuery:
    named = NamedQuery(None, match(f"PATTERN {text}", STREAM))
    options = Options(ExecutionStrategy(strategy) if strategy else None)
    (found,) = plan_queries([(named, False)], options, Statistics())
    return found


def chain(length: int, strategy: str = "STRICT CONTIGUITY") -> str:
    return f"SEQ({', '.join(f'A a{n}' for n in range(length))}) WHERE [id] USING {strategy}"


@pytest.mark.parametrize("strategy", ["window", "join"])
@pytest.mark.parametrize("text", PATTERNS)
def test_the_shape_of_a_plan_is_that_of_what_is_written(text: str, strategy: str) -> None:
    found = planned(text, strategy)
    if isinstance(found.plan, UnsupportedQuery):
        return
    assert isinstance(found.plan, StrategyPlan)
    written = write_script([WrittenQuery(found.named, found.plan, as_stream=False)])
    relations = [let.relation for let in written.relations.lets]
    texts = [text for one in relations if isinstance(one, Extend) for text, _ in one.items]
    assert found.plan.shape.joins == sum(isinstance(one, Join) for one in relations)
    assert found.plan.shape.functions == sum(" OVER (" in text for text in texts)


@pytest.mark.parametrize("strategy", ["window", "join"])
def test_most_patterns_have_a_plan(strategy: str) -> None:
    plans = [planned(text, strategy).plan for text in PATTERNS]
    assert sum(isinstance(plan, StrategyPlan) for plan in plans) >= 5


@pytest.mark.parametrize("strategy", ["STRICT CONTIGUITY", "PARTITION CONTIGUITY"])
def test_a_long_chain_is_left_to_the_kernel(strategy: str) -> None:
    """Spark's optimiser has no stack for window functions over 120 events that follow one another."""
    short, long = (planned(chain(n, strategy)).plan for n in (MOST_CHAINED, MOST_CHAINED + 1))
    assert isinstance(short, StrategyPlan) and isinstance(long, StrategyPlan)
    assert (short.strategy, long.strategy) == ("window", "kernel")
    refused = planned(chain(MOST_CHAINED + 1, strategy), "window").plan
    assert isinstance(refused, UnsupportedQuery)
    assert refused.what == "window functions for a chain of more than 80 events"


def test_a_plan_can_be_read() -> None:
    found = planned("SEQ(A a, !B b, C c) WITHIN 9", "join").plan
    assert str(found).splitlines() == [
        "join: SEQ(A a, !B b, C c)",
        "steps",
        "  begin with a",
        "  join c",
        "  without !B b: join b",
    ]
    assert "chunks of time: 72" in str(planned("SEQ(A a, B b) WITHIN 9", "kernel").plan)


def test_only_the_chosen_plan_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices come from plans: no strategy but the chosen one reaches the writer."""
    written: list[str] = []
    for strategy in ("join", "window"):
        name = f"neelc.engines.spark.compiled.{strategy}_relations"
        monkeypatch.setattr(name, lambda *_, strategy=strategy: written.append(strategy))
    program = Program((), (NamedQuery(None, match("PATTERN SEQ(A a, !B b) WITHIN 9", STREAM)),))
    assert compile_program(program, options=Options(strategy=ExecutionStrategy.KERNEL)).strategies == (
        ("", "kernel"),
    )
    (found,) = plan_queries([(program.queries[0], False)], Options(), Statistics())
    assert isinstance(found.plan, StrategyPlan)
    assert [price.strategy for price in found.plan.prices] == ["kernel", "window", "join"]
    assert written == []
