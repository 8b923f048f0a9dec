"""The meaning of `!`: what a negative part looks at, and where."""

from __future__ import annotations

import pytest
from asking import found


class TestScopeInSeq:
    def test_open_on_both_sides(self) -> None:
        assert found("SEQ(A a, !B b, C c)", "A1 B1 C3 B3") == ["A1 C3"]
        assert found("SEQ(A a, !B b, C c)", "A1 B2 C3") == []

    def test_an_interval_must_lie_inside(self) -> None:
        assert found("SEQ(A a, !B b, C c)", "A1 B2..4 C4") == ["A1 C4"]
        assert found("SEQ(A a, !B b, C c)", "A1 B2..3 C4") == []

    def test_a_match_further_out_may_be_spoilt(self) -> None:
        assert found("SEQ(A a, !B b, C c)", "A1 C2 B3 C4") == ["A1 C2"]

    def test_leading_looks_back_as_far_as_the_window_of_the_match(self) -> None:
        # The scope begins at end - w = 12 - 10 = 2, included.
        assert found("SEQ(!B b, A a, C c)", "B1 A5 C12", within=10) == ["A5 C12"]
        assert found("SEQ(!B b, A a, C c)", "B2 A5 C12", within=10) == []

    def test_trailing_looks_ahead_as_far_as_the_window_of_the_match(self) -> None:
        # The scope ends at start + w = 5 + 10 = 15, included.
        assert found("SEQ(A a, C c, !B b)", "A5 C12 B16", within=10) == ["A5 C12"]
        assert found("SEQ(A a, C c, !B b)", "A5 C12 B15", within=10) == []

    def test_an_absent_neighbour_takes_no_room(self) -> None:
        pattern = "SEQ(A a, !B b, D? d, C c)"
        assert found(pattern, "A1 D2 B3 C4") == ["A1 C4 D2"]
        assert found(pattern, "A1 B2 D3 C4") == []

    def test_beside_an_absent_part_it_looks_on(self) -> None:
        assert found("SEQ(A a, D? d, !B b, C c)", "A1 B2 C4") == []

    def test_between_the_iterations_of_a_closure(self) -> None:
        pattern = "SEQ(!X x, A a, B b){2} k[]"
        assert found(pattern, "A1 B2 X3 A4 B5", within=10) == []
        assert found(pattern, "A1 X2 B3 A4 B5", within=10) == ["[A1 B3 A4 B5]"]

    def test_inside_the_iterations_of_a_closure(self) -> None:
        assert found("SEQ(A a, !X x, B b){2} k[]", "A1 B2 A3 X4 B5 A6 B7") == ["[A1 B2 A6 B7]"]


class TestScopeElsewhere:
    def test_in_and_it_is_the_whole_window(self) -> None:
        assert found("AND(A a, C c, !B b)", "A5 C8 B11", within=5) == ["A5 C8"]
        assert found("AND(A a, C c, !B b)", "A5 C8 B10", within=5) == []
        assert found("AND(A a, C c, !B b)", "B3 A5 C8", within=5) == []
        assert found("AND(A a, C c, !B b)", "B2 A5 C8", within=5) == ["A5 C8"]

    def test_alone_in_the_window(self) -> None:
        assert found("AND(A a, !A b)", "A1 A5 A20", within=10) == ["A20"]

    def test_in_and_inside_seq_it_is_the_room_of_the_and(self) -> None:
        pattern = "SEQ(A a, AND(B b, !X x), C c)"
        assert found(pattern, "X1 A2 B3 C4 X5") == ["A2 B3 C4"]
        assert found(pattern, "A2 B3 X4 C5") == []

    def test_a_window_on_the_part_cuts_the_scope(self) -> None:
        pattern = "SEQ(A a, AND(B b, !X x) WITHIN 2, C c)"
        assert found(pattern, "A1 B5 X8 C9") == ["A1 B5 C9"]
        assert found(pattern, "A1 B5 X7 C9") == []
        assert found(pattern, "A1 X3 B5 C9") == []
        assert found(pattern, "A4 X4 B5 C9") == ["A4 B5 C9"]

    def test_a_window_of_events_reaches_as_far_as_it_could_hold_one_more(self) -> None:
        pattern = "SEQ(A a, B b, !C c)"
        assert found(pattern, "A1 B2 X3 C4", within="3 EVENTS") == ["A1 B2"]
        assert found(pattern, "A1 B2 X3 C4", within="4 EVENTS") == []
        assert found("SEQ(!C c, A a, B b)", "C1 X2 A3 B4", within="3 EVENTS") == ["A3 B4"]
        assert found("SEQ(!C c, A a, B b)", "C1 X2 A3 B4", within="4 EVENTS") == []

    def test_in_a_window_of_events_simultaneous_ones_fit_together_or_not_at_all(self) -> None:
        assert found("SEQ(A a, B b, !C c)", "A1 B2 C3 X3", within="3 EVENTS") == ["A1 B2"]

    def test_and_neg_looks_between_whichever_comes_first(self) -> None:
        pattern = "AND_NEG(A a, !C c, B b)"
        assert found(pattern, "C1 A2 B3 C4") == ["A2 B3"]
        assert found(pattern, "B1 C2 A3") == []
        assert found(pattern, "A1 C2 B3") == []
        assert found(pattern, "A1..5 C2 B3") == ["A1..5 B3"]

    def test_and_neg_looks_between_its_own_neighbours(self) -> None:
        pattern = "AND_NEG(A a, !X x, B b, C c)"
        assert found(pattern, "A1 B2 X3 C4") == ["A1 B2 C4"]
        assert found(pattern, "C1 A2 X3 B4") == []

    def test_nothing_lies_beside_an_absent_neighbour(self) -> None:
        assert found("AND_NEG(A a, !X x, B? b)", "A1 X2 B3") == ["A1 -"]


class TestWhatIsAbsent:
    def test_conditions_of_the_negative_part(self) -> None:
        pattern = "SEQ(A a, !(B b : b.val > a.val AND b.val < c.val), C c)"
        assert found(pattern, "A1=1 B2=9 C3=5") == ["A1 C3"]
        assert found(pattern, "A1=1 B2=3 C3=5") == []

    def test_several_are_independent(self) -> None:
        pattern = "SEQ(A a, !B b, !C c, D d)"
        assert found(pattern, "A1 B2 D4") == []
        assert found(pattern, "A1 C2 D4") == []
        assert found(pattern, "A1 X2 D4") == ["A1 D4"]

    def test_several_have_the_same_scope(self) -> None:
        assert found("SEQ(A a, !B b, !C c, D d)", "A1 C2 B3 D4") == []

    def test_of_a_sequence_only_the_whole_counts(self) -> None:
        pattern = "SEQ(A a, !SEQ(B b, C c), D d)"
        assert found(pattern, "A1 B2 D4") == ["A1 D4"]
        assert found(pattern, "A1 C2 B3 D4") == ["A1 D4"]
        assert found(pattern, "A1 B2 C3 D4") == []

    def test_of_a_sequence_with_a_window(self) -> None:
        pattern = "SEQ(A a, !SEQ(B b, C c) WITHIN 2, D d)"
        assert found(pattern, "A1 B2 C5 D6") == ["A1 D6"]
        assert found(pattern, "A1 B2 C4 D6") == []

    def test_of_an_or_any_branch_counts(self) -> None:
        pattern = "SEQ(A a, !OR(B b, C c), D d)"
        assert [found(pattern, f"A1 {x}2 D4") for x in "BCX"] == [[], [], ["A1 D4"]]

    def test_nested_negation(self) -> None:
        # No B that is not followed by a C before D.
        pattern = "SEQ(A a, !SEQ(B b, !C c), D d)"
        assert found(pattern, "A1 B2 D4") == []
        assert found(pattern, "A1 B2 C3 D4") == ["A1 D4"]
        assert found(pattern, "A1 B2 C3 B4 D5") == []

    def test_nested_negation_sees_what_is_around_it(self) -> None:
        pattern = "SEQ(A a, !SEQ(B b, !(C c : c.val = b.val AND c.id = a.id)), D d)"
        assert found(pattern, "A1:1 B2=7 C3:1=7 D4") == ["A1 D4"]
        assert found(pattern, "A1:1 B2=7 C3:2=7 D4") == []

    def test_a_negative_binding_takes_no_event_of_the_match(self) -> None:
        assert found("SEQ(A a, !A b, C c)", "A1 A2 C3") == ["A2 C3"]
        assert found("AND(A a, A b, !A c)", "A1 A2", within=5) == ["A1 A2", "A2 A1"]

    def test_a_negative_binding_takes_no_event_twice(self) -> None:
        assert found("AND(A a, !AND(B b, B c))", "A1 B2", within=5) == ["A1"]
        assert found("AND(A a, !AND(B b, B c))", "A1 B2 B3", within=5) == []

    def test_of_a_closure(self) -> None:
        pattern = "SEQ(A a, !(B+ b[] : count(b[]) >= 2), C c)"
        assert found(pattern, "A1 B2 C4") == ["A1 C4"]
        assert found(pattern, "A1 B2 B3 C4") == []

    @pytest.mark.parametrize("part", ["B? b", "B* b[]", "EXISTS b : B b"])
    def test_what_is_absent_has_an_event(self, part: str) -> None:
        pattern = f"SEQ(A a, !({part}), C c)" if part.startswith("EXISTS") else f"SEQ(A a, !{part}, C c)"
        assert found(pattern, "A1 C4") == ["A1 C4"]
        assert found(pattern, "A1 B2 C4") == []

    def test_existence_inside_a_negation(self) -> None:
        pattern = "SEQ(A a, !SEQ(B b, !!C c), D d)"
        assert found(pattern, "A1 B2 D4") == ["A1 D4"]
        assert found(pattern, "A1 B2 C3 D4") == []

    def test_with_i_all_elements_are_meant(self) -> None:
        pattern = "SEQ(A+ a[], !(B b : b.val > a[i].val), C c)"
        assert "[A1 A2] C4" in found(pattern, "A1=1 A2=9 B3=5 C4")
        assert "[A1 A2] C4" not in found(pattern, "A1=1 A2=2 B3=5 C4")
