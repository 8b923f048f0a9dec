"""Imprecise timestamps: confidence as the probability of possible worlds. `B2..5` is at 2, 3, 4 or 5 here."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from asking import ask, found, labels, table, text

from neelc.runtime.reference import LimitReached, worlds
from neelc.runtime.reference.events import read_events
from neelc.runtime.reference.worlds import find_matches


def confidences(pattern: str, stream: str, **options: Any) -> dict[str, Fraction]:
    """The matches as text, with their confidence."""
    match = ask(pattern, imprecise=True, **options)
    matches = find_matches(match, read_events(match.streams[0], table(stream)))
    return {text(match.binding, labels(stream)): match.confidence for match in matches}


def test_order() -> None:
    # A before B: (1,2) (1,3) (2,3), not (2,2).
    assert confidences("SEQ(A a, B b)", "A1..2 B2..3") == {"A1..2 B2..3": Fraction(3, 4)}


def test_either_order() -> None:
    assert confidences("AND(A a, B b)", "A1..2 B2..3") == {"A1..2 B2..3": 1}


def test_window() -> None:
    # B up to 11: 7 of 10 instants.
    assert confidences("SEQ(A a, B b)", "A1 B5..14", within=10) == {"A1 B5..14": Fraction(7, 10)}


def test_negation() -> None:
    # B at 4 spoils the match; at 5, 6 and 7 it does not.
    assert confidences("SEQ(A a, !B b, C c)", "A1 B4..7 C5") == {"A1 C5": Fraction(3, 4)}


def test_negation_by_several() -> None:
    stream = "A1 B4..7 B4..5 C5"
    assert confidences("SEQ(A a, !B b, C c)", stream) == {"A1 C5": Fraction(3, 4) * Fraction(1, 2)}


def test_existence() -> None:
    assert confidences("SEQ(A a, EXISTS b : B b, C c)", "A1 B4..7 B4..5 C5") == {"A1 C5": 1 - Fraction(3, 8)}


def test_impossible_matches_are_none() -> None:
    assert confidences("SEQ(A a, B b)", "A5..6 B1..5") == {}


def test_lists() -> None:
    assert confidences("B+ b[]", "B1..2 B2..3") == {
        "[B1..2]": 1,
        "[B2..3]": 1,
        "[B1..2 B2..3]": Fraction(3, 4),
    }


def test_skip_till_next_match() -> None:
    # The first B at 2 ties with the second one; at 3 it is skipped.
    stream = "A1 B2..3 B2"
    assert confidences("SEQ(A a, B b)", stream, using="SKIP TILL NEXT MATCH") == {
        "A1 B2..3": Fraction(1, 2),
        "A1 B2": 1,
    }


def test_contiguity_looks_at_all_types() -> None:
    # X lies between only at 2.
    assert confidences("SEQ(A a, B b)", "A1 X2..4 B3", using="STRICT CONTIGUITY") == {"A1 B3": Fraction(2, 3)}


def test_counted_windows_look_at_all_types() -> None:
    assert confidences("SEQ(A a, B b)", "A1 X2..4 B3", within="2 EVENTS") == {"A1 B3": Fraction(1, 3)}


def test_collapsed_lists() -> None:
    # Those at 2 come after A; both at 2 are never in one list, but both are in the union.
    assert confidences("SEQ(A a, B+ b[])", "A1 B1..2 B1..2", collapsed=True) == {
        "A1 [B1..2 B1..2']": Fraction(1, 4),
        "A1 [B1..2]": Fraction(1, 4),
        "A1 [B1..2']": Fraction(1, 4),
    }


def test_the_threshold_prunes() -> None:
    stream = "A1..2 B2..3 B9"
    assert found("SEQ(A a, B b)", stream, imprecise=True, confidence=0.75) == ["A1..2 B2..3", "A1..2 B9"]
    assert found("SEQ(A a, B b)", stream, imprecise=True, confidence=0.76) == ["A1..2 B9"]


def test_a_threshold_is_the_number_that_is_written() -> None:
    # 7/10 is less than the double next to 0.7.
    assert found("SEQ(A a, B b)", "A1 B5..14", imprecise=True, within=10, confidence=0.7) == ["A1 B5..14"]


def test_precise_times_are_certain() -> None:
    assert confidences("SEQ(A a, B b)", "A1 B2") == {"A1 B2": 1}


class TestLimit:
    def test_too_many_worlds_fail_loudly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worlds, "MAX_WORLDS", 10)
        with pytest.raises(
            LimitReached, match=r"3 events .* have 12 possible worlds: the limit MAX_WORLDS is 10"
        ):
            confidences("SEQ(A a, B b)", "A1..2 B2..3 B5..7")

    def test_events_far_apart_need_no_common_worlds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worlds, "MAX_WORLDS", 10)
        stream = "A1..2 B2..3 A21..22 B22..23"
        assert list(confidences("SEQ(A a, B b)", stream, within=17).values()) == [Fraction(3, 4)] * 2
        with pytest.raises(LimitReached):
            confidences("SEQ(A a, B b)", stream, within=18)

    def test_events_of_other_types_do_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worlds, "MAX_WORLDS", 10)
        assert confidences("SEQ(A a, B b)", "A1..2 B2..3 X1..9") == {"A1..2 B2..3": Fraction(3, 4)}
