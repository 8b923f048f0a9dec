"""The plan finder: the paper's plans, plans close to the best, and an end to the search."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from random import Random

import pytest
from generate.workloads import (
    MIXED,
    PAPER_GROUPS,
    best_plan,
    expression,
    groups_of,
    mixed_workloads,
    workload,
)
from pattern_examples import query
from repository import ROOT

from neelc.sharing.cost import CostModel
from neelc.sharing.expressions import expressions
from neelc.sharing.operators import Workload
from neelc.sharing.plan_finder import SearchLimits, cost_of, find_plan, graph, opportunities
from neelc.sharing.sharing import share_expressions

TEN = CostModel(lambda component: 10)
SECTION_V = (
    "SEQ(A, B, D) OR SEQ(A, B, !C, D) OR EXISTS C : SEQ(A, B, !E, C, D) OR SEQ(A, B, D, E, F)"
    " OR SEQ(A, B, D, E, G)"
)


def test_the_mixed_workload_is_the_seeds() -> None:
    text = (ROOT / "tests/seeds/neel.neel").read_text()
    (seed,) = [part for part in text.split(";") if "SEQ(MSFT" in part]
    written = "".join(seed.partition("PATTERN")[2].split())
    assert written == "".join(MIXED.split())


@pytest.mark.parametrize("size", [0.1, 1, 10, 100])
def test_the_mixed_workload_has_the_groups_of_the_paper(size: float) -> None:
    found = Workload(expressions(query(MIXED)), CostModel(lambda component: size))
    plan = find_plan(found)
    assert groups_of(found, plan) == PAPER_GROUPS
    operators = [found.price(group).operator for group in plan]
    assert operators == ["bit-marking", "suffix clustering", "bit-marking"]


def test_the_mixed_workload_has_these_groups_at_other_rates() -> None:
    for found in mixed_workloads(spread=100):
        assert groups_of(found, find_plan(found)) == PAPER_GROUPS


def test_the_choice_of_section_v_depends_on_the_rates() -> None:
    """E1 can go with E2 and E3, or with E4 and E5."""
    members = expressions(query(SECTION_V))
    many, few = Workload(members, TEN), Workload(members, CostModel(lambda component: 1))
    assert groups_of(many, find_plan(many)) == [["E1", "E2", "E3"], ["E4", "E5"]]
    assert groups_of(few, find_plan(few)) == [["E1", "E4", "E5"], ["E2", "E3"]]
    for found in (many, few):
        assert cost_of(found, find_plan(found)) == pytest.approx(cost_of(found, best_plan(found)))


@pytest.mark.parametrize("types", ["ABCDE", "ABC", "AB"])
def test_plans_are_close_to_the_best(types: str) -> None:
    optimal = 0
    for seed in range(100):
        chance = Random(seed)
        found = workload(chance, chance.randint(2, 8), types)
        ratio = cost_of(found, find_plan(found)) / cost_of(found, best_plan(found))
        assert ratio <= 1.05, seed
        optimal += ratio < 1 + 1e-9
    assert optimal >= 97


def test_trying_all_tries_all() -> None:
    """The recursion finds what a search through all assignments to groups finds."""
    for seed in range(5):
        found = workload(Random(seed), 5, "ABC")
        least = min(
            cost_of(found, [frozenset(n for n in range(5) if to[n] == group) for group in set(to)])
            for to in product(range(5), repeat=5)
        )
        assert cost_of(found, best_plan(found)) == pytest.approx(least)


def test_every_expression_is_in_one_group() -> None:
    found = workload(Random(3), 40)
    plan = find_plan(found)
    assert sorted(number for group in plan for number in group) == list(range(40))
    assert all(found.cost(group) <= found.cost_apart(group) * (1 + 1e-9) for group in plan)


def test_the_same_seed_gives_the_same_plan() -> None:
    plans = [find_plan(workload(Random(7), 30), seed=5) for _ in range(2)]
    assert plans[0] == plans[1]


def test_the_search_ends_when_the_effort_is_made() -> None:
    """Without any effort the start solution is left: the same positive parts together."""
    found = workload(Random(1), 30)
    start = find_plan(found, stop=SearchLimits(effort=0))
    assert cost_of(found, start) >= cost_of(found, find_plan(found))
    for group in start:
        assert len({found.positives[number] for number in group}) == 1


@pytest.mark.parametrize(
    "texts", [[f"A B !X{n} C" for n in range(120)], [f"A B C D X{n}" for n in range(120)]]
)
def test_many_that_share_one_thing_are_one_group(texts: list[str]) -> None:
    found = Workload([expression(text, number) for number, text in enumerate(texts)], TEN)
    assert len(find_plan(found)) == 1


def test_the_graph_of_the_mixed_workload() -> None:
    found = Workload(expressions(query(MIXED)), TEN)
    assert opportunities(found).islands == ((0, 1, 2), (3, 4), (5, 6))
    assert graph(found).edges[3, 4]["saving"] == pytest.approx(1550)


def test_networkx_is_loaded_only_for_the_graph() -> None:
    """`neelc explain` looks for a plan in each run: loading networkx takes longer than the search."""
    program = (
        "import sys; from generate.workloads import MIXED; from pattern_examples import query\n"
        "from neelc.sharing.cost import CostModel; from neelc.sharing.expressions import expressions\n"
        "from neelc.sharing.operators import Workload\n"
        "from neelc.sharing.plan_finder import find_plan, graph\n"
        "found = Workload(expressions(query(MIXED)), CostModel(lambda component: 10)); find_plan(found)\n"
        "print('networkx' in sys.modules); graph(found); print('networkx' in sys.modules)"
    )
    paths = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, capture_output=True, text=True, check=True, env=paths)
    assert done.stdout.split() == ["False", "True"]


def test_islands_are_the_connected_components() -> None:
    import networkx

    for seed in range(20):
        found = workload(Random(seed), 12)
        islands = sorted(tuple(sorted(one)) for one in networkx.connected_components(graph(found)))
        assert opportunities(found).islands == tuple(islands)


def test_the_page_about_sharing_shows_this_plan() -> None:
    page = (ROOT / "docs/explanation/sharing.md").read_text()
    found = share_expressions(expressions(query(MIXED)), TEN)
    assert f"```text\n{found}\n```" in page
    assert f"```text\n{found.groups[2].emap}\n```" in page
