"""Kleene closure under SKIP TILL ANY MATCH: lists of events and of iterations, and conditions on elements."""

from __future__ import annotations

from asking import found

RISING = "B1=0.1 B2=0.2 B3=0.15 B4=0.19 B5=0.25"  # SASE++'s example of non-decreasing values


class TestLists:
    def test_every_non_empty_sub_list(self) -> None:
        assert found("B+ b[]", "B1 B2 B3") == [
            "[B1 B2 B3]", "[B1 B2]", "[B1 B3]", "[B1]", "[B2 B3]", "[B2]", "[B3]"
        ]  # fmt: skip

    def test_strictly_increasing_in_time(self) -> None:
        assert found("B{2} b[]", "B1 B2 B2 B3") == ["[B1 B2']", "[B1 B2]", "[B1 B3]", "[B2 B3]", "[B2' B3]"]

    def test_each_ends_before_the_next_starts(self) -> None:
        assert found("B{2} b[]", "B1..3 B2 B3..4 B4") == ["[B1..3 B4]", "[B2 B3..4]", "[B2 B4]"]

    def test_inside_its_scope(self) -> None:
        assert found("SEQ(A a, B+ b[], C c)", "B1 A2 B2 B3 C4 B4") == ["A2 [B3] C4"]

    def test_none_at_all(self) -> None:
        assert found("SEQ(A a, B* b[], C c)", "A1 B2 C3") == ["A1 [B2] C3", "A1 [] C3"]

    def test_an_empty_list_takes_no_room(self) -> None:
        assert found("SEQ(A a, B* b[], !X x, C c)", "A1 X2 B3 C4") == ["A1 [B3] C4"]

    def test_bounds(self) -> None:
        stream = "B1 B2 B3"
        assert found("B{3} b[]", stream) == ["[B1 B2 B3]"]
        assert [len(found(pattern, stream)) for pattern in ("B{2} b[]", "B{1,2} b[]", "B{2,3} b[]")] == [
            3,
            6,
            4,
        ]

    def test_two_lists_share_no_event(self) -> None:
        assert found("AND(B+ b[], B c)", "B1 B2") == ["[B1] B2", "[B2] B1"]

    def test_the_window_holds_for_the_whole_list(self) -> None:
        assert found("B{2,3} b[]", "B1 B4 B7", within=3) == ["[B1 B4]", "[B4 B7]"]


class TestElements:
    def test_with_the_one_before(self) -> None:
        rising = found("(B+ b[] : b[i].val >= b[i-1].val)", RISING)
        assert "[B1 B2 B5]" in rising and "[B1 B3 B4 B5]" in rising
        assert "[B1 B2 B3]" not in rising
        assert [run for run in rising if run.count("B") == 1] == ["[B1]", "[B2]", "[B3]", "[B4]", "[B5]"]

    def test_with_two_before(self) -> None:
        # Holds for the first two elements by definition.
        assert found("(B{3} b[] : b[i].val > b[i-2].val)", "B1=5 B2=1 B3=4 B4=6") == [
            "[B1 B2 B4]", "[B1 B3 B4]", "[B2 B3 B4]"
        ]  # fmt: skip

    def test_with_all_before(self) -> None:
        pattern = "(B{3} b[] : b[i].val > sum(b[..i-1].val))"
        assert found(pattern, "B1=1 B2=2 B3=3 B4=4") == ["[B1 B2 B4]"]

    def test_first_and_last(self) -> None:
        pattern = "SEQ(A a, B+ b[] WHERE b[1].val > a.val AND b[last].val > b[1].val)"
        assert found(pattern, "A1=3 B2=2 B3=4 B4=1 B5=6") == ["A1 [B3 B4 B5]", "A1 [B3 B5]"]

    def test_out_of_the_list_is_null(self) -> None:
        assert found("(B+ b[] : b[2].val > 0)", "B1 B2") == ["[B1 B2]"]
        assert found("(B+ b[] : b[last-1].val > 0)", "B1 B2") == ["[B1 B2]"]

    def test_aggregates(self) -> None:
        assert found("SEQ(A a, B+ b[] WHERE count(b[]) = 2 AND sum(b[].val) > 5)", "A1 B2 B3 B4") == [
            "A1 [B2 B4]", "A1 [B3 B4]"
        ]  # fmt: skip

    def test_every_element_with_a_later_variable(self) -> None:
        assert found("SEQ(B+ b[], C c WHERE b[i].val < c.val)", "B1=1 B2=7 C3=5") == ["[B1] C3"]

    def test_an_empty_list_has_no_element_to_fail(self) -> None:
        assert found("SEQ(A a, B* b[] WHERE b[i].val > 9)", "A1 B2") == ["A1 []"]

    def test_same_attribute_in_the_list(self) -> None:
        assert found("SEQ(A a, B+ b[] WHERE [id])", "A1:1 B2:2 B3:1 B4:1") == [
            "A1 [B3 B4]", "A1 [B3]", "A1 [B4]"
        ]  # fmt: skip


class TestIterations:
    def test_one_after_the_other(self) -> None:
        once = ["[A1 B2]", "[A1 B3]", "[A1 B5]", "[A2 B3]", "[A2 B5]", "[A4 B5]"]
        twice = ["[A1 B2 A4 B5]", "[A1 B3 A4 B5]", "[A2 B3 A4 B5]"]
        assert found("SEQ(A a, B b)+ k[]", "A1 B2 A2 B3 A4 B5") == sorted([*once, *twice])

    def test_conditions_of_the_body_hold_for_each(self) -> None:
        pattern = "SEQ(A a, B b WHERE a.val < b.val){2} k[]"
        assert found(pattern, "A1=1 B2=2 A3=9 B4=4 B5=10") == ["[A1 B2 A3 B5]"]

    def test_conditions_of_the_body_name_variables_outside(self) -> None:
        pattern = "SEQ(X x, SEQ((A a : a.id = x.id), B b){2} k[])"
        assert found(pattern, "X0:7 A1:7 B2 A3:8 B4 A5:7 B6") == ["[A1 B2 A5 B6] X0", "[A1 B4 A5 B6] X0"]

    def test_same_attribute_in_each_or_in_all(self) -> None:
        stream = "A1:1 B2:1 A3:2 B4:2"
        assert found("SEQ(A a, B b WHERE [id]){2} k[]", stream) == ["[A1 B2 A3 B4]"]
        assert found("(SEQ(A a, B b){2} k[] : [id])", stream) == []

    def test_elements_from_outside(self) -> None:
        pattern = "(SEQ(A a, B b){2} k[] : k[i].a.val > k[i-1].b.val)"
        assert found(pattern, "A1=1 B2=5 A3=4 B4=9 A5=6 B6") == ["[A1 B2 A5 B6]"]
        assert found("(SEQ(A a, B b)+ k[] : sum(k[].b.val) > 8)", "A1 B2=5 A3 B4=4") == ["[A1 B2 A3 B4]"]

    def test_a_list_inside_an_iteration(self) -> None:
        pattern = "(SEQ(A a, B+ b[])+ k[] : count(k[1].b[]) = 2 AND k[i].b[last].val > 3)"
        assert found(pattern, "A1 B2 B3 B4 A5 B6") == [
            "[A1 [B2 B4] A5 [B6]]", "[A1 [B2 B4]]", "[A1 [B2 B6]]", "[A1 [B3 B4] A5 [B6]]", "[A1 [B3 B4]]",
            "[A1 [B3 B6]]", "[A1 [B4 B6]]",
        ]  # fmt: skip

    def test_alternatives_inside_an_iteration(self) -> None:
        assert found("OR(A a, B b){2} k[]", "A1 B2 A3") == ["[- B2 A3 -]", "[A1 - - B2]", "[A1 - A3 -]"]

    def test_a_window_on_each_iteration(self) -> None:
        assert found("(SEQ(A a, B b) WITHIN 1){2} k[]", "A1 B2 B3 A4 B5") == ["[A1 B2 A4 B5]"]

    def test_existence_inside_an_iteration(self) -> None:
        assert found("SEQ(A a, EXISTS x : X x, B b){2} k[]", "A1 X2 B3 A4 B5 X6 B7") == ["[A1 B3 A4 B7]"]
