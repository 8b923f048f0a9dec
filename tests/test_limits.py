"""Exceeding a named limit is an error, which reports the key, the window and the number reached.

Nothing is cut silently: whoever meets a limit gets an error, and no rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import comb
from pathlib import Path

import pytest
from command_line import Here
from generate.streams import Row
from in_bridge import Way, bridge_matches
from in_counting import counted_rows
from pattern_examples import query
from repository import ROOT

from neelc.api.errors import NeelRunError, explain_failure
from neelc.runtime import failures
from neelc.runtime.failures import KernelFailure
from neelc.runtime.kernels import pattern_kernel
from neelc.runtime.kernels import running as repeating
from neelc.runtime.kernels.runs import following

PLAIN = Way(1000, 100_000, None, None, 0)


def keys(lengths: dict[int, int]) -> dict[str, list[Row]]:
    """A key for each number: an A, so many B, a C; those of key k begin at 1000 k."""
    return {
        "S": [
            {"ts": 1000 * key + n, "kind": kind, "id": key, "user": "u", "x": 1.0, "n": 10**8}
            for key, length in lengths.items()
            for n, kind in enumerate("A" + "B" * length + "C")
        ]
    }


FEW_AND_MANY = keys({1: 2, 2: 12, 3: 1})
"""Of three keys the second has by far the most lists."""


def failure_of(text: str, tables: dict[str, list[Row]]) -> NeelRunError:
    """What the driver says of a failure on a worker."""
    parsed = query(text)
    with pytest.raises(KernelFailure) as caught:
        found = counted_rows(parsed, tables, PLAIN) if "count" in text else None
        if found is None:
            bridge_matches(parsed, tables, PLAIN)
    failure = explain_failure(RuntimeError(f"PythonException: Traceback\n{caught.value}\n\tat java.lang"))
    assert failure is not None
    return failure


@dataclass(frozen=True)
class Limit:
    """A query that meets a limit in the second key, whose window begins at 2000."""

    kind: str
    text: str
    limit: int
    least: int


CLOSURE = "SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 500"
LIMITS = (
    Limit("MAX_LISTS", CLOSURE, 100, 101),
    Limit("MAX_LISTS", f"{CLOSURE} USING SKIP TILL NEXT MATCH", 10, 11),
    Limit("MAX_MATCHES", CLOSURE, 100, 101),
)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: f"{limit.kind} {limit.text[-10:]}")
def test_an_enumeration_that_explodes(limit: Limit, monkeypatch: pytest.MonkeyPatch) -> None:
    match limit.kind, "NEXT" in limit.text:
        case "MAX_LISTS", False:
            monkeypatch.setattr(repeating, "MOST_LISTS", limit.limit)
        case "MAX_LISTS", True:
            monkeypatch.setattr(following, "MOST_TAKEN", limit.limit)
        case _:
            monkeypatch.setattr(pattern_kernel.kernel, "__defaults__", (100_000, limit.limit, None, False))
    failure = failure_of(limit.text, FEW_AND_MANY)
    assert (failure.kind, failure.limit) == (limit.kind, limit.limit)
    assert failure.number is not None and failure.number >= limit.least
    assert f"{failure.number}" in str(failure) and f"{limit.limit}" in str(failure)
    assert failure.part is not None and failure.part.startswith("A a, ")


def test_it_names_the_key_and_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeating, "MOST_LISTS", 100)
    failure = failure_of(CLOSURE, FEW_AND_MANY)
    assert failure.key == {"id": "2"}
    assert failure.window == "of 500 milliseconds from 2000 on"
    assert "  = key: id = 2\n  = window: of 500 milliseconds from 2000 on" in str(failure)
    assert failure.getMessageParameters()["window"] == failure.window


@pytest.mark.parametrize(("length", "shown"), [(127, str(2**127 + 3)), (200, "1.6e60")])
def test_a_count_that_is_too_large(length: int, shown: str) -> None:
    failure = failure_of(f"{CLOSURE} RETURN count(*)", keys({1: 2, 2: length, 3: 1}))
    assert (failure.kind, failure.key, failure.window) == (
        "COUNT_OVERFLOW", {"id": "2"}, "of 500 milliseconds from 2000 on",
    )  # fmt: skip
    assert failure.number == 3 + 2**length - 1 + 1, "of all keys together"
    assert failure.limit == 10**38 - 1 and f"{shown} matches are more than" in str(failure)


@pytest.mark.long
def test_a_count_that_is_too_large_for_a_bigint() -> None:
    """Without a list: no more matches than there are choices of so many events."""
    text = "SEQ(B a, B b, B c, B d, B e, B f, B g, B h) WHERE [id] WITHIN 5000 RETURN count(*)"
    failure = failure_of(text, keys({2: 2500}))
    assert failure.kind == "COUNT_OVERFLOW" and failure.limit == 2**63 - 1
    assert f"{comb(2500, 8)} matches are more than a BIGINT can count" in str(failure)


@pytest.mark.parametrize("item", ["sum(count(b[]))", "sum(sum(b[].n)), count(*)", "avg(count(b[]))"])
def test_a_sum_that_is_too_large(item: str) -> None:
    length = 2000 if "avg" in item else 200
    failure = failure_of(f"{CLOSURE} RETURN {item}".replace("500", "5000"), keys({2: length}))
    assert (failure.kind, failure.key) == ("SUM_OVERFLOW", {"id": "2"})
    assert failure.window == "of 5 seconds from 2000 on"


STATS = "EVENTS 1000000, RATE 1000 PER SECOND, TYPE A SHARE 0.1, TYPE B SHARE 0.8, TYPE C SHARE 0.1"
HEAD = f"CREATE STREAM S (ts BIGINT, kind STRING, x INT) TIMESTAMP BY ts TYPE BY kind WITH STATS ({STATS});"
EXPLODES = "PATTERN SEQ(A a, B+ b[], C c) WITHIN 1 SECOND RETURN"


def test_what_explodes_is_refused_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    neelc = Here(tmp_path, capsys)
    neelc.write("boom.neel", f"{HEAD}\n{EXPLODES} a.ts;")
    refused = neelc("compile", "boom.neel")
    assert refused.status == 1 and refused.out == ""
    assert re.search(r"error\[NEEL4002\]: about .*e\+\d+ rows are expected, more than 1e\+10", refused.err)
    explained = neelc("explain", "boom.neel").out
    assert re.search(r"match +about \S+e\d+ rows", explained) and "no machine gets" in explained
    assert "at worst n * 2^w, exponential" in explained
    # Where no list is put together, there is nothing to refuse.
    for item in ("count(*)", "COLLAPSED a.ts"):
        neelc.write("boom.neel", f"{HEAD}\n{EXPLODES} {item};")
        assert neelc("compile", "boom.neel").status == 0, item


def test_every_kind_has_its_place_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "failures.md").read_text()
    named = {value for name, value in vars(failures).items() if name.isupper() and value == name}
    assert named >= {"MAX_MATCHES", "MAX_LISTS", "COUNT_OVERFLOW", "SUM_OVERFLOW"}
    assert {name for name in named if f"| `{name}` |" not in page} == set()
