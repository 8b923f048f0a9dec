"""Partial matches of random queries: the prefixes, the reference, the kernel and the bridge agree."""

from __future__ import annotations

import pytest
from partial_fuzz import bound, differences

from neelc.pattern.analysis.keys import partition_keys
from neelc.pattern.plan.blocks import UnsupportedQuery
from neelc.pattern.plan.kernel_plan import kernel_plan


@pytest.mark.parametrize("part", range(4))
def test_all_ways_agree(part: int) -> None:
    assert [problem for seed in range(part, 20, 4) for problem in differences(seed)] == []


def test_a_condition_that_the_kernel_leaves_to_spark_is_refused() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE hour(timestamp_millis(a.ts + b.ts)) = 1 WITHIN 4 WITH PARTIAL MATCHES"
    match = bound(text)
    with pytest.raises(UnsupportedQuery, match="hour"):
        kernel_plan(match, partition_keys(match), "MILLISECOND")


def test_lints_speak_of_what_was_written() -> None:
    assert bound("PATTERN SEQ(A a, B b) WITH PARTIAL MATCHES").whole == bound("PATTERN SEQ(A a, B b)")
