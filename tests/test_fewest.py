"""The lower bound on the number of matches is never too high."""

from __future__ import annotations

from random import Random

import pytest
from generate.streams import Row
from in_bridge import Way, bridge_matches
from in_kernel import as_arrays, planned_for
from pattern_examples import query

from neelc.api.errors import explain_failure
from neelc.ir.program import Match
from neelc.pattern.plan.kernel_plan import KernelPlan
from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels import pattern_kernel
from neelc.runtime.kernels.events import KernelEvents
from neelc.runtime.kernels.fewest import chain_of, fewest_matches
from neelc.runtime.kernels.matching import length, matches
from neelc.runtime.reference import read
from neelc.tools.cases.streaming.pattern import key

TOLD = (
    "SEQ(A a, B b)",
    "SEQ(A a, A b, A c) WHERE [id]",
    "SEQ(A a, B b, C c) WHERE [id] AND a.x > 2 WITHIN 40",
    "SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 30",
    "SEQ(A a, B{2,3} b[], C c)",
    "SEQ(A a, B* b[], C c, A+ z[]) WITHIN 20",
    "SEQ(A a, SEQ(B b, C c) WITHIN 5, A d) WITHIN 50",
    "SEQ(A+ a[], B b) WITHIN 9",
    "A+ a[] WITHIN 9",
)
NOT_TOLD = (
    "SEQ(A a, B b) WHERE a.x < b.x",
    "SEQ(A a, !B b, C c)",
    "SEQ(A a, B? b, C c)",
    "SEQ(A a, OR(B b, C c))",
    "AND(A a, B b) WITHIN 9",
    "SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x",
    "SEQ(A a, B+ b[], C c) WHERE count(b[]) > 2",
    "EXISTS b : SEQ(A a, B b, C c, B d)",
    "SEQ(A a, B b) WITHIN 5 EVENTS",
    "SEQ(A a, B b) USING SKIP TILL NEXT MATCH",
    "SEQ(A a, B+ b[]) RETURN COLLAPSED a.x",
)
EXACT = ("SEQ(A a, B b)", "SEQ(A a, A b, A c) WHERE [id]", "SEQ(A a, B{2,3} b[], C c)")
"""Without a window nothing is missed, if lists are short."""


def rows(chance: Random) -> list[Row]:
    found: list[Row] = [
        {"ts": chance.randrange(60), "kind": chance.choice("ABC"), "id": chance.randrange(2), "user": "u",
         "x": float(chance.randrange(9)), "n": 1}
        for _ in range(chance.choice([1, 8, 25]))
    ]  # fmt: skip
    return sorted(found, key=lambda row: int(row["ts"]))  # type: ignore[call-overload]


def events_of(match: Match, planned: KernelPlan, chance: Random) -> KernelEvents:
    found = list(read(match, {"S": rows(chance)}, {}))
    keys = {event: repr(key(planned, match, event)) for event in found}
    ordered = sorted(found, key=lambda event: (keys[event], event.start))
    return as_arrays(planned, match, ordered, [keys[event] for event in ordered])


@pytest.mark.parametrize("text", TOLD)
def test_there_are_at_least_so_many(text: str) -> None:
    match = query(text)
    planned, chance, some = planned_for(match), Random(text), 0
    for _ in range(60):
        events = events_of(match, planned, chance)
        if not len(events.start):
            continue
        number = sum(length(piece) for piece in matches(planned.program, events))
        bound = fewest_matches(planned.program, events)
        assert bound is not None and bound.number <= number
        assert text not in EXACT or bound.number == number
        some += bound.number
    assert some, "it is no bound if it is always zero"


@pytest.mark.parametrize("text", NOT_TOLD)
def test_what_more_than_time_relates_is_not_counted(text: str) -> None:
    assert chain_of(planned_for(query(text)).program) is None


def test_a_number_that_is_too_large_for_numbers() -> None:
    match = query(f"SEQ({', '.join(f'A a{n}' for n in range(40))})")
    planned = planned_for(match)
    table = [{"ts": n, "kind": "A", "id": 1, "user": "u", "x": 1.0, "n": 1} for n in range(300)]
    found = list(read(match, {"S": table}, {}))
    bound = fewest_matches(planned.program, as_arrays(planned, match, found, [""] * 300))
    assert bound is not None and 2**40 < bound.number <= 2**62


@pytest.mark.long
def test_the_failure_comes_after_the_first_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 36 million matches; enumerated up to the limit, they would be 8 million."""
    match = query("SEQ(A a, B b, C c) WHERE [id] WITHIN 5000 RETURN a.x")
    table = [{"ts": n, "kind": "ABC"[n % 3], "id": 7, "user": "u", "x": 1.0, "n": 1} for n in range(1800)]
    monkeypatch.setattr(pattern_kernel.kernel, "__defaults__", (100_000, 8_000_000, None, False))
    with pytest.raises(KernelFailure) as caught:
        bridge_matches(match, {"S": table}, Way(1000, 100_000, None, None, 0))
    failure = explain_failure(RuntimeError(f"PythonException: Traceback\n{caught.value}\n\tat java.lang"))
    assert failure is not None and failure.kind == "MAX_MATCHES" and failure.key == {"id": "7"}
    assert failure.number == 600 * 601 * 602 // 6 and "(at least 36180200)" in str(failure)
    assert failure.window == "of 5 seconds from 0 on"
