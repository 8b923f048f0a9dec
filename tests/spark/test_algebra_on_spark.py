"""Networks of the event algebra on Spark: at every instant what the reference interpreter says."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from generate.networks import Network, networks
from on_spark import Asking, Question, ask

from neelc.runtime.reference import Result, run
from neelc.runtime.reference.snapshots import differences


def problem(network: Network, found: object) -> str | None:
    """What is wrong, if anything is."""
    if not isinstance(found, Result):
        return f"{network.text}\n{found}"
    expected = run(network.program, network.tables)[-1][1]
    for time, one, other in differences(expected.rows, found.rows):
        return f"{network.text}\n{network.tables}\nat {time}: {one} expected, {other} found"
    return None


@pytest.mark.parametrize("chunks", [False, True])
def test_random_networks(spark: Any, chunks: bool) -> None:
    some = list(networks(Random(f"spark {chunks}"), 5))
    questions = [Question(str(n), one.program, one.tables) for n, one in enumerate(some)]
    asking = Asking(partitions=2, seed=1, batch=3, chunks=chunks)
    problems = [problem(some[int(one.name)], result) for one, result in ask(spark, questions, asking, 5)]
    assert [one for one in problems if one] == []
