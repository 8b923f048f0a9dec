"""The meaning of patterns: SEQ, AND, OR, EXISTS, windows and conditions, under SKIP TILL ANY MATCH."""

from __future__ import annotations

import pytest
from asking import ask, found, table

from neelc.runtime.reference import LimitReached, candidates, matches


class TestOrder:
    def test_each_part_ends_before_the_next_starts(self) -> None:
        assert found("SEQ(A a, B b)", "A1 B1 B2 A3") == ["A1 B2"]

    def test_simultaneous_events_are_alternatives(self) -> None:
        assert found("SEQ(A a, B b)", "A1 B2 B2") == ["A1 B2", "A1 B2'"]

    def test_input_order_does_not_matter(self) -> None:
        assert found("SEQ(A a, B b, C c)", "C5 B2 A1 B7") == ["A1 B2 C5"]

    def test_an_interval_ends_before_the_next_starts(self) -> None:
        assert found("SEQ(A a, B b)", "A1..4 B3 B4..9 B5") == ["A1..4 B5"]

    def test_and_in_any_order_and_overlapping(self) -> None:
        assert found("AND(A a, B b)", "B1 A3..9 B5") == ["A3..9 B1", "A3..9 B5"]

    def test_one_event_is_never_bound_twice(self) -> None:
        assert found("AND(A a, A b)", "A1 A2") == ["A1 A2", "A2 A1"]

    def test_nested_parts_keep_their_order_as_a_whole(self) -> None:
        assert found("SEQ(A a, AND(B b, C c), D d)", "A1 C2 B3 D3 D4") == ["A1 B3 C2 D4"]

    def test_rows_without_a_time_are_no_events(self) -> None:
        rows = [*table("A1 B2"), {**table("B3")[0], "ts": None}, {**table("B9")[0], "te": 4}]
        assert len(matches(ask("SEQ(A a, B b)"), {"S": rows})) == 1

    def test_a_stream_without_rows(self) -> None:
        assert found("SEQ(A a, B b)", "") == []


class TestWindow:
    def test_the_end_is_included(self) -> None:
        assert found("SEQ(A a, B b)", "A1 B11 B12", within=10) == ["A1 B11"]

    def test_it_is_measured_from_first_start_to_last_end(self) -> None:
        assert found("SEQ(A a, B b)", "A1..3 B4..11 B4..12", within=10) == ["A1..3 B4..11"]

    def test_and_has_no_first_part(self) -> None:
        assert found("AND(A a, B b)", "B1 A6 B11 B12", within=5) == ["A6 B1", "A6 B11"]

    def test_on_a_part_it_holds_for_its_own_events(self) -> None:
        assert found("SEQ(A a, SEQ(B b, C c) WITHIN 2)", "A1 B5 C7 C8") == ["A1 B5 C7"]

    def test_events_are_counted_whatever_their_type(self) -> None:
        assert found("SEQ(A a, B b)", "A1 X2 B3 X4 B5", within="3 EVENTS") == ["A1 B3"]

    def test_simultaneous_events_all_count(self) -> None:
        assert found("SEQ(A a, B b)", "A1 X1 B3", within="2 EVENTS") == []
        assert found("SEQ(A a, B b)", "A1 X1 B3", within="3 EVENTS") == ["A1 B3"]

    def test_events_are_counted_in_the_partition(self) -> None:
        stream = "A1:1 X2:2 B3:1 B4:2"
        assert found("SEQ(A a, B b)", stream, within="2 EVENTS") == []
        assert found("SEQ(A a, B b)", stream, within="2 EVENTS", partition=("id",)) == ["A1 B3"]

    def test_events_are_counted_on_a_part_too(self) -> None:
        assert found("SEQ(A a, SEQ(B b, C c) WITHIN 2 EVENTS)", "A1 B2 X3 B4 C5") == ["A1 B4 C5"]


class TestConditions:
    def test_unknown_is_not_true(self) -> None:
        assert found("(A a : a.id = 1)", "A1:1 A2:2 A3:_") == ["A1"]

    def test_a_condition_names_variables_before_and_after_it(self) -> None:
        assert found("SEQ((A a : a.val > c.val), B b, C c)", "A1=5 B2 C3=4 C4=6") == ["A1 B2 C3"]

    def test_a_condition_names_variables_of_nested_parts(self) -> None:
        assert found("SEQ((A a : a.val = c.val), AND(B b, C c))", "A1=4 B2 C3=4 C4=6") == ["A1 B2 C3"]

    def test_same_attribute_on_every_event(self) -> None:
        assert found("SEQ(A a, B b WHERE [id])", "A1:1 B2:2 B3:1 A4:_ B5:_") == ["A1 B3"]

    def test_null_is_not_even_the_same_as_itself(self) -> None:
        assert found("SEQ(A a WHERE [id])", "A1:_ A2:3") == ["A2"]

    def test_same_attribute_of_a_part_only(self) -> None:
        assert found("SEQ(A a, SEQ(B b, C c WHERE [id]))", "A1:1 B2:2 C3:1 C4:2") == ["A1 B2 C4"]

    def test_same_attribute_concerns_negative_parts_too(self) -> None:
        assert found("SEQ(A a, !B b, C c WHERE [id])", "A1:1 B2:2 C3:1") == ["A1 C3"]
        assert found("SEQ(A a, !B b, C c WHERE [id])", "A1:1 B2:1 C3:1") == []

    def test_same_attribute_of_the_negative_part_alone(self) -> None:
        pattern = "SEQ(A a, !SEQ(B b, D d WHERE [id]), C c)"
        assert found(pattern, "A1:1 B2:2 D3:3 C4:1") == ["A1 C4"]
        assert found(pattern, "A1:1 B2:2 D3:2 C4:1") == []


class TestOr:
    def test_the_other_branches_are_null(self) -> None:
        assert found("OR(A a, SEQ(B b, C c))", "A1 B2 C3") == ["- B2 C3", "A1 - -"]

    def test_a_branch_inside_a_sequence(self) -> None:
        assert found("SEQ(A a, OR(B b, C c), D d)", "A1 B2 D3 C4 D5") == [
            "A1 - C4 D5",
            "A1 B2 - D3",
            "A1 B2 - D5",
        ]

    def test_a_condition_of_a_branch_holds_only_if_it_is_taken(self) -> None:
        assert found("SEQ(A a, OR((B b : a.val > 5), C c))", "A1 B2 C3") == ["A1 - C3"]

    def test_a_condition_outside_on_a_null_variable_is_not_true(self) -> None:
        assert found("SEQ(A a, OR(B b, C c) WHERE b.val > a.val)", "A1 B2 C3") == ["A1 B2 -"]

    def test_a_list_of_a_branch_not_taken_has_no_elements(self) -> None:
        assert found("SEQ(A a, OR(B+ b[], C c) WHERE b[i].val > 9)", "A1 B2 C3") == ["A1 - C3"]

    def test_optional(self) -> None:
        assert found("SEQ(A a, B? b, C c)", "A1 B2 C3") == ["A1 - C3", "A1 B2 C3"]
        assert found("SEQ(A a, B? b, C c WHERE b IS NULL)", "A1 B2 C3") == ["A1 - C3"]

    def test_a_match_binds_an_event(self) -> None:
        assert found("SEQ(A? a, B* b[])", "C1") == []
        assert found("SEQ(A? a, B* b[])", "A1") == ["A1 []"]


class TestExists:
    def test_matches_are_projected_and_each_is_there_once(self) -> None:
        assert found("EXISTS b : SEQ(A a, B b)", "A1 B2 B3 A4") == ["A1"]

    def test_the_dropped_event_lies_in_the_scope(self) -> None:
        assert found("SEQ(A a, EXISTS b : B b, C c)", "A1 C2 B3 C4") == ["A1 C4"]
        assert found("EXISTS b : SEQ(A a, B b)", "A1 B12 A5", within=10) == ["A5"]

    def test_the_dropped_event_does_not_count_for_the_window(self) -> None:
        assert found("AND(A a, EXISTS x, y : SEQ(B x, C y))", "B1 A6 C11", within=5) == ["A6"]

    def test_the_dropped_event_takes_no_room(self) -> None:
        assert found("SEQ(A a, EXISTS b : B b, !X x, C c)", "A1 X2 B3 C4") == []

    def test_the_dropped_event_differs_from_the_match(self) -> None:
        assert found("AND(A a, EXISTS b : A b)", "A1", within=5) == []
        assert found("AND(A a, EXISTS b : A b)", "A1 A2", within=5) == ["A1", "A2"]

    def test_conditions_see_the_dropped_event(self) -> None:
        assert found("EXISTS b : SEQ(A a, B b WHERE b.val > a.val)", "A1=5 A2=1 B3=4") == ["A2"]

    def test_same_attribute_concerns_the_dropped_event(self) -> None:
        assert found("SEQ(A a, EXISTS b : B b, C c WHERE [id])", "A1:1 B2:2 C3:1") == []

    def test_several_are_independent_of_each_other(self) -> None:
        assert found("AND(A a, EXISTS x : B x, EXISTS y : B y)", "A1 B2", within=5) == ["A1"]

    def test_a_branch_of_or_may_drop_all_it_binds(self) -> None:
        assert found("SEQ(A a, OR(EXISTS b : B b, C c))", "A1 B2") == ["A1 -"]
        assert found("SEQ(A a, OR(EXISTS b : B b, C c))", "A1 C2") == ["A1 C2"]

    def test_double_negation_is_existence(self) -> None:
        assert found("SEQ(A a, !!B b, C c)", "A1 C2 B3 C4") == ["A1 C4"]


def test_too_many_candidates_fail_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MAX_CANDIDATES", 100)
    assert len(found("A+ a[]", "A1 A2 A3 A4")) == 15
    with pytest.raises(LimitReached, match="too many candidate matches: the limit MAX_CANDIDATES is 100"):
        found("A+ a[]", "A1 A2 A3 A4 A5 A6 A7")
