"""Tests of `why`, for every engine: it reads the events of the key, and tells of them what the reference
interpreter tells."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from time_lines import Made
from whying import rows, whys

import neelc
from neelc.tools.why import explaining

QUERY = "SEQ(A a, !C c, B b) WHERE [id] AND b.x > 2 WITHIN 10 SECONDS"
STREAM = "A1@7 B5=3@7 A6@7 B20=3@7 A1@8 B2=1@8 A1@NULL"
COLUMNS = "ts BIGINT, kind STRING, id BIGINT, user STRING, x DOUBLE"


def stream(made: Made, text: str = STREAM) -> Any:
    return neelc.stream(made(rows(text), COLUMNS), timestamp="ts", type="kind", unit="s")


class WhyTests:
    """The tests; a subclass has the fixtures `session` and `made`."""

    def test_a_key_is_explained_as_by_the_reference(self, session: neelc.Session, made: Made) -> None:
        found = session.why(f"PATTERN {QUERY}", key=7, S=stream(made))
        assert found.text == whys(QUERY, STREAM, key=["7"]).text
        assert "would match WITHIN 14 SECONDS" in found.text

    def test_starts_between_two_times(self, session: neelc.Session, made: Made) -> None:
        session.register("S", stream(made).data, timestamp="ts", type="kind", unit="s")
        query = session.compile(f"PATTERN {QUERY}")
        found = query.why(key={"id": [7, 8]}, between=(2, 30))
        assert [one.start.time for one in found.explanations] == ["6"]
        with pytest.raises(ValueError, match=r"key: no event has id = 9; there are: 7, 8, NULL"):
            session.why(f"PATTERN {QUERY}", key=9)

    def test_times_of_days(self, session: neelc.Session, made: Made) -> None:
        times = [datetime.datetime(2024, 3, 1, 8, minute) for minute in (0, 5, 40)]
        events = [{"ts": time, "kind": kind} for time, kind in zip(times, "AAB", strict=True)]
        given = neelc.stream(made(events, "ts TIMESTAMP_NTZ, kind STRING"), type="kind")
        between = ("2024-03-01 08:00:00", "2024-03-01 08:04:59")
        found = session.why("PATTERN SEQ(A a, B b) WITHIN 30 MINUTES", between=between, S=given)
        assert [one.lines[-1] for one in found.explanations] == ["  would match WITHIN 40 MINUTES"]

    def test_a_number_has_several_texts(self, session: neelc.Session, made: Made) -> None:
        """1.0E10 and 10000000000.0 are one number: numbers are compared, not their texts."""
        given = stream(made, "A1=10000000000 B2=10000000000 A3=1 B4=0.00001 A5=0.00001")
        found = session.why("PATTERN SEQ(A a, B b) WHERE [x]", key=[1e10, 0.00001], S=given)
        assert [one.matches for one in found.explanations] == [True, False]
        with pytest.raises(ValueError, match=r"no event has x = seven; there are: 1\.0, 1\.0E-5, 1\.0E10"):
            session.why("PATTERN SEQ(A a, B b) WHERE [x]", key="seven", S=given)

    @pytest.mark.parametrize("name", ["unit price", "these", "a`{b}", "${c}"])
    def test_a_key_may_have_any_name_and_any_text(
        self, name: str, session: neelc.Session, made: Made
    ) -> None:
        texts = ["it's", 'a "b" \\', "{x} ${env:HOME}", "NULL", ""]
        events = [{"ts": at, name: text} for text in texts for at in (1, 2)]
        column = "`" + name.replace("`", "``") + "`"
        given = neelc.stream(made(events, f"ts BIGINT, {column} STRING"), unit="s")
        for text in texts:
            found = session.why(f"PATTERN SEQ(S a, S b) WHERE [{column}]", key={name: text}, S=given)
            assert [one.matches for one in found.explanations] == [True, False], text

    def test_too_many_events(
        self, session: neelc.Session, made: Made, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("neelc.api.why", "neelc.tools.why.explaining"):
            monkeypatch.setattr(f"{module}.MAX_EVENTS", 2)
        assert explaining.MAX_EVENTS == 2
        with pytest.raises(neelc.NeelError, match="NEEL5007"):
            session.why(f"PATTERN {QUERY}", key=7, S=stream(made))
        assert session.why(f"PATTERN {QUERY}", key=8, S=stream(made)).explanations

    def test_rows_of_match_recognize(self, session: neelc.Session, made: Made) -> None:
        """Of a key that is requested, or of all; and what is there where there is no such key."""
        prices = [5.0, 4.0, 6.0, 5.0, 7.0]
        ticks = made(
            [{"n": n, "sym": sym, "price": price} for sym in ("a", "b") for n, price in enumerate(prices)],
            "n BIGINT, sym STRING, price DOUBLE",
        )
        clause = (
            "PARTITION BY sym ORDER BY n PATTERN (s d u) "
            "DEFINE d AS price < PREV(price), u AS price > s.price"
        )
        text = f"SELECT * FROM T MATCH_RECOGNIZE ({clause})"
        found = session.why(text, key="b", between=(0, 2), T=ticks)
        assert [(dict(one.key), one.matches) for one in found.explanations] == [
            ({"sym": "'b'"}, True), ({"sym": "'b'"}, False), ({"sym": "'b'"}, False),
        ]  # fmt: skip
        assert len(session.why(text, T=ticks).explanations) == 10
        with pytest.raises(ValueError, match="no event has sym = c; there are: a, b"):
            session.why(text, key="c", T=ticks)
        with pytest.raises(neelc.NeelQueryError, match=r"NEEL4001.*does not run GROUP BY"):
            session.why(text.replace("*", "sym") + " GROUP BY sym", T=ticks)
