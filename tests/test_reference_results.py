"""RETURN: rows, DISTINCT, COLLAPSED, aggregates over matches; and queries that read other queries."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest
from asking import COLUMNS, STREAM, ask, found, table

from neelc.ir.program import Column, EventType, Match, Member, NamedQuery, Program, Stream
from neelc.ir.types import BIGINT, DOUBLE, STRING, TIMESTAMP
from neelc.runtime.reference import LimitReached, Tables, candidates, matches, run
from neelc.runtime.reference.model import ReferenceEvent


def rows(match: Match, stream: str) -> list[tuple[object, ...]]:
    ((name, result),) = run(Program(match.streams, (NamedQuery(None, match),)), {"S": table(stream)})
    assert name is None
    return sorted(result.rows, key=repr)


class TestRows:
    def test_one_row_for_each_match(self) -> None:
        match = ask("SEQ(A a, B b)", returns="a.val; b.val; a.id")
        assert rows(match, "A1 B2 B3") == [(1.0, 2.0, 1), (1.0, 3.0, 1)]

    def test_columns(self) -> None:
        match = ask("A a", returns="a.val")
        ((_, result),) = run(Program((STREAM,), (NamedQuery("Q", match),)), {"S": []})
        assert result.columns == (Column("a.val", DOUBLE),) and result.rows == []

    def test_rows_may_be_equal(self) -> None:
        match = ask("SEQ(A a, B b)", returns="a.val")
        assert rows(match, "A1 B2 B3") == [(1.0,), (1.0,)]
        assert rows(replace(match, distinct=True), "A1 B2 B3") == [(1.0,)]

    def test_a_variable_that_is_absent_is_null(self) -> None:
        assert rows(ask("SEQ(A a, B? b)", returns="b.val"), "A1") == [(None,)]

    def test_properties_of_the_match(self) -> None:
        match = ask("AND(A a, B b)", returns="match_start; match_end; confidence")
        assert rows(match, "A3..9 B5") == [(3, 9, 1.0)]

    def test_what_exists_drops_is_no_part_of_the_match(self) -> None:
        match = ask("EXISTS b : SEQ(A a, B b)", returns="match_start; match_end")
        assert rows(match, "A1 B5") == [(1, 1)]

    def test_an_imprecise_match_reaches_from_the_earliest_to_the_latest_time(self) -> None:
        match = ask("SEQ(A a, B b)", imprecise=True, returns="match_start; match_end; confidence")
        assert rows(match, "A1..2 B2..3") == [(1, 3, 0.75)]

    def test_lists(self) -> None:
        match = ask("B{2} b[]", returns="b[].val; b[1].val; b[last].val; sum(b[].val); count(b[])")
        assert rows(match, "B1 B2") == [([1.0, 2.0], 1.0, 2.0, 3.0, 2)]


class TestCollapsed:
    def test_one_row_for_each_choice_of_single_variables(self) -> None:
        stream = "A1 B2 B3 C4 A5 B6 C7"
        assert found("SEQ(A a, B+ b[], C c)", stream, collapsed=True) == [
            "A1 [B2 B3 B6] C7", "A1 [B2 B3] C4", "A5 [B6] C7"
        ]  # fmt: skip

    def test_the_union_of_lists_that_are_never_one(self) -> None:
        pattern = "SEQ(A a, (B+ b[] : b[i].val > b[i-1].val))"
        assert found(pattern, "A1 B2=5 B3=1 B3=2", collapsed=True) == ["A1 [B2 B3 B3']"]

    def test_branches_stay_apart(self) -> None:
        assert found("OR(B+ b[], C+ c[])", "B1 C2 B3", collapsed=True) == ["- [C2]", "[B1 B3] -"]


class TestAggregates:
    def test_over_all_matches(self) -> None:
        match = ask("SEQ(A a, B b)", returns="count(*); max(b.val)", aggregated=True)
        assert rows(match, "A1 B2 B3") == [(2, 3.0)]

    def test_one_row_even_without_a_match(self) -> None:
        match = ask("SEQ(A a, B b)", returns="count(*); max(b.val)", aggregated=True)
        assert rows(match, "A1") == [(0, None)]

    def test_grouped_by_the_other_items(self) -> None:
        match = ask("SEQ(A a, B b)", returns="a.val; count(*)", aggregated=True)
        assert rows(match, "A1 A2 B2 B3") == [(1.0, 2), (2.0, 1)]
        assert rows(match, "A1") == []

    def test_beside_aggregates_over_elements(self) -> None:
        match = ask("SEQ(A a, B{2} b[])", returns="sum(b[].val); count(*)", aggregated=True)
        assert rows(match, "A1 A1 B2 B3") == [(5.0, 2)]


class TestPrograms:
    PAIRS = ask("SEQ(A a, B b)", returns="a.id AS id; b.val AS val")
    OUTPUTS = (Column("id", BIGINT), Column("val", DOUBLE))
    QUERY = Stream("Pairs", OUTPUTS, "match_start", "match_end", query="Pairs", unit="SECOND")

    def over(self, pattern: str, returns: str = "") -> Match:
        types = {
            "Pairs": EventType("Pairs", (Member("Pairs"),), self.OUTPUTS),
            "C": EventType("C", (Member("S", "C"),), COLUMNS),
        }
        return replace(
            ask(pattern, returns=returns), streams=(self.QUERY, STREAM), types=tuple(types.values())
        )

    def test_a_query_is_a_stream_for_later_ones(self) -> None:
        second = self.over("SEQ(Pairs p, C c)", returns="p.val; c.val; match_start; match_end")
        program = Program((STREAM,), (NamedQuery("Pairs", self.PAIRS), NamedQuery(None, second)))
        results = run(program, {"S": table("A1 C2 B3 C4")})
        assert [name for name, _ in results] == ["Pairs", None]
        # The pair lasts from 1 to 3: the C at 2 does not come after it.
        assert [result.rows for _, result in results] == [[(1, 3.0)], [(3.0, 4.0, 1, 4)]]

    def test_rows_that_are_one_last_as_long_as_all_of_them(self) -> None:
        first = replace(ask("SEQ(A a, B b)", returns="a.id AS id"), distinct=True)
        query = replace(self.QUERY, columns=self.OUTPUTS[:1])
        second = replace(self.over("Pairs p", returns="match_start; match_end"), streams=(query,))
        program = Program((STREAM,), (NamedQuery("Pairs", first), NamedQuery(None, second)))
        assert run(program, {"S": table("A1 B2 A5 B6")})[1][1].rows == [(1, 6)]

    def test_unnamed_queries_stay_apart(self) -> None:
        program = Program(
            (STREAM,), tuple(NamedQuery(None, ask(f"{type} x", returns="x.val")) for type in "AB")
        )
        assert [result.rows for _, result in run(program, {"S": table("A1 B2")})] == [[(1.0,)], [(2.0,)]]

    def test_a_limit_names_the_query_that_reaches_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(candidates, "MAX_CANDIDATES", 10)
        queries = (NamedQuery(None, ask("A a")), NamedQuery(None, ask("A+ a[]")))
        with pytest.raises(LimitReached) as caught:
            run(Program((STREAM,), queries), {"S": table("A1 A2 A3 A4")})
        assert caught.value.query == 1

    def test_a_stream_without_rows_given_is_an_error(self) -> None:
        with pytest.raises(KeyError, match="no rows are given for stream S; given: T"):
            run(Program((STREAM,), (NamedQuery(None, ask("A a")),)), {"T": []})


class TestStreams:
    def test_several_streams_and_a_concept(self) -> None:
        columns = (Column("at", TIMESTAMP), Column("kind", STRING))
        shop = Stream("Shop", columns, "at", type_column="kind")
        door = Stream("Door", (Column("ms", BIGINT),), "ms", unit="MILLISECOND")
        types = (
            EventType("Sale", (Member("Shop", "pc"), Member("Shop", "`Mac`")), columns),
            EventType("Door", (Member("Door"),), (Column("ms", BIGINT),)),
        )
        match = replace(ask("SEQ(Sale s, Door d)", within="1 SECOND"), streams=(shop, door), types=types)
        start = datetime.datetime(1970, 1, 1, 0, 0, 10, tzinfo=datetime.UTC)
        tables: Tables = {
            "Shop": [{"at": start, "kind": kind} for kind in ("PC", "Mac", "mac", None)],
            "Door": [{"ms": 10_000}, {"ms": 11_000}, {"ms": 11_001}],
        }
        found = [(event(each["s"]).row, event(each["d"]).row) for each in matches(match, tables)]
        assert sorted(found) == [(0, 1), (1, 1)]


def event(value: object) -> ReferenceEvent:
    assert isinstance(value, ReferenceEvent)
    return value
