"""SKIP TILL NEXT MATCH, STRICT CONTIGUITY and PARTITION CONTIGUITY."""

from __future__ import annotations

import pytest
from asking import found
from test_reference_closure import RISING

NEXT, STRICT, PARTITION = "SKIP TILL NEXT MATCH", "STRICT CONTIGUITY", "PARTITION CONTIGUITY"


class TestSkipTillNextMatch:
    def test_the_next_event_that_qualifies_is_taken(self) -> None:
        assert found("SEQ(A a, B b)", "A1 X2 B3 B4", using=NEXT) == ["A1 B3"]

    def test_every_first_event_starts_a_run(self) -> None:
        assert found("SEQ(A a, B b)", "A1 A2 B3", using=NEXT) == ["A1 B3", "A2 B3"]

    def test_what_does_not_qualify_is_skipped(self) -> None:
        assert found("SEQ(A a, B b WHERE a.val < b.val)", "A1=5 B2=3 B3=7 B4=8", using=NEXT) == ["A1 B3"]
        assert found("SEQ(A a, B b WHERE [id])", "A1:1 B2:2 B3:1", using=NEXT) == ["A1 B3"]

    def test_simultaneous_events_each_make_a_run(self) -> None:
        assert found("SEQ(A a, B b, C c)", "A1 B2 B2 C3 C4", using=NEXT) == ["A1 B2 C3", "A1 B2' C3"]

    def test_an_event_at_the_same_time_does_not_come_next(self) -> None:
        assert found("SEQ(A a, B b)", "A1 B1 B2", using=NEXT) == ["A1 B2"]

    def test_a_condition_is_judged_as_soon_as_it_can_be(self) -> None:
        # B2 qualifies with what is bound so far and must be taken; C3 then fails, C4 does not.
        pattern = "SEQ(A a, B b, C c WHERE b.val < c.val)"
        assert found(pattern, "A1 B2=5 B3=1 C4=3 C5=9", using=NEXT) == ["A1 B2 C5"]

    def test_a_wrong_turn_is_not_taken_back(self) -> None:
        pattern = "SEQ(A a, B b, C c WHERE b.val < c.val)"
        assert found(pattern, "A1 B2=5 B3=1 C4=3", using=NEXT) == []

    def test_the_window_closes_the_run(self) -> None:
        assert found("SEQ(A a, B b)", "A1 B7 A5 B8", using=NEXT, within=5) == ["A5 B7"]
        assert found("SEQ(A a, B b)", "A1 X2 X3 B4", using=NEXT, within="3 EVENTS") == []

    def test_negations_filter_complete_matches(self) -> None:
        # The run takes C3; that match is rejected, and C4 is not tried instead.
        assert found("SEQ(A a, !B b, C c)", "A1 B2 C3 C4", using=NEXT) == []
        assert found("SEQ(A a, C c, !B b)", "A1 C2 B4", using=NEXT, within=2) == ["A1 C2"]

    def test_or_of_sequences(self) -> None:
        assert found("OR(SEQ(A a, B b), SEQ(A c, C d))", "A1 C2 B3", using=NEXT) == ["- - A1 C2", "A1 B3 - -"]

    def test_a_single_component(self) -> None:
        assert found("(A a : a.val > 1)", "A1 A2", using=NEXT) == ["A2"]

    def test_an_interval_must_have_ended(self) -> None:
        assert found("SEQ(A a, B b)", "A1..4 B3 B5..9 B6", using=NEXT) == ["A1..4 B5..9"]


class TestClosureTillNextMatch:
    def test_the_run_splits_when_both_qualify(self) -> None:
        # B3 is one more b, or the single c.
        assert found("SEQ(A a, B+ b[], B c)", "A1 B2 B3 B4", using=NEXT) == ["A1 [B2 B3] B4", "A1 [B2] B3"]

    def test_the_longest_run_and_what_may_follow(self) -> None:
        assert found("SEQ(A a, B+ b[], C c)", "A1 B2 B3 C4 B5 C6", using=NEXT) == ["A1 [B2 B3] C4"]

    def test_every_prefix_of_a_trailing_closure_is_a_match(self) -> None:
        assert found("SEQ(A a, B+ b[])", "A1 B2 X3 B4 B5", using=NEXT) == [
            "A1 [B2 B4 B5]", "A1 [B2 B4]", "A1 [B2]"
        ]  # fmt: skip
        assert found("SEQ(A a, B{2,3} b[])", "A1 B2 B3 B4 B5", using=NEXT) == ["A1 [B2 B3 B4]", "A1 [B2 B3]"]

    def test_non_decreasing_values(self) -> None:
        rising = found("(B+ b[] : b[i].val >= b[i-1].val)", RISING, using=NEXT)
        assert [run for run in rising if run.startswith("[B1")] == ["[B1 B2 B5]", "[B1 B2]", "[B1]"]
        assert max(rising, key=len) in ("[B1 B2 B5]", "[B3 B4 B5]")

    def test_what_needs_the_whole_list_is_judged_when_it_closes(self) -> None:
        pattern = "SEQ(A a, B+ b[], C c WHERE count(b[]) >= 2)"
        # C3 does not qualify yet: the list would close with one element.
        assert found(pattern, "A1 B2 C3 B4 C5", using=NEXT) == ["A1 [B2 B4] C5"]
        assert found("SEQ(A a, B+ b[] WHERE b[last].val > 3)", "A1 B2 B3 B4", using=NEXT) == ["A1 [B2 B3 B4]"]

    def test_all_elements_with_a_later_variable(self) -> None:
        pattern = "SEQ(B{2} b[], C c WHERE b[i].val < c.val)"
        assert found(pattern, "B1=1 B2=4 C3=3 C4=5", using=NEXT) == ["[B1 B2] C4"]

    def test_optional_components_may_be_skipped(self) -> None:
        assert found("SEQ(A a, B? b, C c)", "A1 B2 C3", using=NEXT) == ["A1 B2 C3"]
        assert found("SEQ(A a, B? b, C c)", "A1 C3", using=NEXT) == ["A1 - C3"]
        assert found("SEQ(A a, B? b, C c)", "A1 B2 C2 C3", using=NEXT) == ["A1 - C2", "A1 B2 C3"]

    def test_a_trailing_optional_component(self) -> None:
        assert found("SEQ(A a, B? b)", "A1 B2", using=NEXT) == ["A1 -", "A1 B2"]

    def test_a_leading_optional_component(self) -> None:
        assert found("SEQ(A? a, B b)", "A1 B2", using=NEXT) == ["- B2", "A1 B2"]

    def test_a_skipped_component_is_decided(self) -> None:
        pattern = "SEQ(A a, B? b, C c WHERE b.val > 1)"
        assert found(pattern, "A1 C2 B3 C4", using=NEXT) == ["A1 B3 C4"]

    def test_none_at_all(self) -> None:
        assert found("SEQ(A a, B* b[], C c)", "A1 C2", using=NEXT) == ["A1 [] C2"]

    def test_a_closure_of_sequences(self) -> None:
        pattern = "SEQ(SEQ(A a, B b)+ k[], C c)"
        assert found(pattern, "A1 B2 X3 A4 B5 C6", using=NEXT) == ["C6 [A1 B2 A4 B5]", "C6 [A4 B5]"]

    def test_conditions_of_iterations(self) -> None:
        pattern = "SEQ(SEQ(A a, B b WHERE a.val < b.val)+ k[], C c WHERE k[i].a.val > k[i-1].a.val)"
        # B2 fails in its iteration. After B3 comes A5, which does not rise and is skipped: conditions on
        # k[i].a are checked when that event is taken, not when the iteration is over.
        assert found(pattern, "A1=3 B2=1 B3=4 A5=2 B6=9 A7=8 B8=9 C9", using=NEXT) == [
            "C9 [A1 B3 A7 B8]", "C9 [A5 B6 A7 B8]", "C9 [A7 B8]"
        ]  # fmt: skip

    def test_a_condition_of_an_iteration_may_wait_for_a_later_variable(self) -> None:
        pattern = "SEQ(SEQ((A a : a.val < c.val), B b)+ k[], C c)"
        assert found(pattern, "A1=1 B2 A3=5 B4 C5=3 C6=7", using=NEXT) == ["C6 [A1 B2 A3 B4]", "C6 [A3 B4]"]

    def test_an_iteration_that_ends_in_a_list(self) -> None:
        pattern = "SEQ(SEQ(A a, B+ b[])+ k[], C c)"
        assert found(pattern, "A1 B2 B3 A4 B5 C6", using=NEXT) == ["C6 [A1 [B2 B3] A4 [B5]]", "C6 [A4 [B5]]"]


class TestContiguity:
    def test_consecutive_in_the_stream(self) -> None:
        assert found("SEQ(A a, B b)", "A1 B2 A3 X4 B5", using=STRICT) == ["A1 B2"]

    def test_simultaneous_events_are_alternatives(self) -> None:
        assert found("SEQ(A a, B b)", "A1 X2 B2 B3", using=STRICT) == ["A1 B2"]
        assert found("SEQ(A a, B b)", "A1 B2 B2", using=STRICT) == ["A1 B2", "A1 B2'"]
        assert found("SEQ(A a, B b)", "A1 X1 B2", using=STRICT) == ["A1 B2"]

    def test_an_interval_that_overlaps_is_not_between(self) -> None:
        assert found("SEQ(A a, B b)", "A1 X2..4 B4", using=STRICT) == ["A1 B4"]
        assert found("SEQ(A a, B b)", "A1 X2..3 B4", using=STRICT) == []

    def test_an_event_that_does_not_qualify_breaks_the_run(self) -> None:
        assert found("SEQ(A a, B b WHERE a.val < b.val)", "A1=5 B2=3 B3=7", using=STRICT) == []

    def test_closures(self) -> None:
        assert found("SEQ(A a, B+ b[], C c)", "A1 B2 B3 C4 A5 B6 X7 C8", using=STRICT) == ["A1 [B2 B3] C4"]
        assert found("(B+ b[] : b[i].val >= b[i-1].val)", RISING, using=STRICT) == [
            "[B1 B2]", "[B1]", "[B2]", "[B3 B4 B5]", "[B3 B4]", "[B3]", "[B4 B5]", "[B4]", "[B5]"
        ]  # fmt: skip

    def test_within_the_partition(self) -> None:
        stream = "A1:1 X2:2 B3:1 A4:1 X5:1 B6:1"
        assert found("SEQ(A a, B b)", stream, using=STRICT, partition=("id",)) == []
        assert found("SEQ(A a, B b)", stream, using=PARTITION, partition=("id",)) == ["A1 B3"]

    def test_events_without_a_partition_match_nothing(self) -> None:
        assert found("SEQ(A a, B b)", "A1:_ B2:_", using=PARTITION, partition=("id",)) == []

    def test_negations_filter_complete_matches(self) -> None:
        assert found("SEQ(A a, B b, !C c)", "A1 B2 C3", using=STRICT, within=5) == []
        assert found("SEQ(A a, B b, !C c)", "A1 B2 C9", using=STRICT, within=5) == ["A1 B2"]

    def test_or_and_optional(self) -> None:
        assert found("OR(SEQ(A a, B b), SEQ(A c, C d))", "A1 C2 B3", using=STRICT) == ["- - A1 C2"]
        assert found("SEQ(A a, B? b, C c)", "A1 C2 A3 B4 C5 A6 X7 C8", using=STRICT) == [
            "A1 - C2",
            "A3 B4 C5",
        ]


@pytest.mark.parametrize("using", [NEXT, STRICT, PARTITION])
def test_the_order_of_rows_does_not_matter(using: str) -> None:
    pattern, stream = "SEQ(A a, B+ b[], C? c)", ["A1", "B2", "B3", "C3", "B4", "C5"]
    assert found(pattern, " ".join(stream), using=using) == found(
        pattern, " ".join(reversed(stream)), using=using
    )
