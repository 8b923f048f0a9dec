"""Many rules as one table on the local engine: `neelc.local().rules`, `sql_all`, one rule's own columns."""

from __future__ import annotations

import datetime
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from fuzz_runner import checked
from rule_examples import BURST, EVENTS, LARGE, RULES, TABLE
from rules_local_fuzz import check_set
from variant_values import VALUES

import neelc
from neelc.api.errors import NeelQueryError
from neelc.api.local_rules import LocalRules
from neelc.engines.local.functions import arrow_type, writer_of
from neelc.ir.types import BIGINT, DOUBLE, STRING, Array, Map

COLUMNS = {"ts": BIGINT, "kind": STRING, "account": STRING, "device": BIGINT, "amount": DOUBLE}
ROWS = pa.table(
    {
        name: pa.array([row[place] for row in EVENTS], arrow_type(kind))
        for place, (name, kind) in enumerate(COLUMNS.items())
    }
)
BANK = neelc.stream(ROWS, timestamp="ts", type="kind", unit="s")


def rules(given: Any, **more: Any) -> LocalRules:
    return neelc.local().rules(given, **{"Bank": BANK, **more})


def texts(frame: neelc.LocalFrame) -> list[tuple[object, ...]]:
    return sorted(frame.with_json().rows(), key=repr)


def bag(frame: neelc.LocalFrame) -> Counter[str]:
    return Counter(map(repr, frame.rows()))


def test_the_table_of_all_rules() -> None:
    found = rules(RULES)
    assert found.names == tuple(found) == tuple(RULES) and len(found) == len(RULES)
    assert texts(found.df) == TABLE and found.errors == ()
    assert "7 rules\n3 of them in 3 passes" in found.explain()
    assert 'CREATE TEMP VIEW "result" AS' in found.source and "neelc's rules_kernel finds" in found.source


def test_forms_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = rules({"burst": BURST}).df
    burst = ("burst", {"account": "a"}, 60, 70, {"account": "a", "at": 70})
    assert list(frame.rows()) == [burst]
    assert frame.arrow().column("key").to_pylist() == ['{"account":"a"}'], "JSON, in Arrow"
    assert frame.df()["columns"].tolist() == ['{"account":"a","at":70}']
    assert frame.duckdb().project("columns->>'at'").fetchall() == [("70",)]
    frame.show()
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "burst",
        '{"account":"a"}',
        "60",
        "70",
        '{"account":"a","at":70}',
    ]
    assert "{&quot;account&quot;:&quot;a&quot;}" in frame._repr_html_()
    for name in ("alarms.parquet", "alarms.csv", "alarms.json", "alarms.arrow"):
        assert frame.write(tmp_path / name) == 1
    assert pa.parquet.read_table(tmp_path / "alarms.parquet").equals(frame.arrow())
    assert '"columns": {"account":"a","at":70}' in (tmp_path / "alarms.json").read_text()


@pytest.mark.parametrize("name", RULES)
def test_one_rule_has_its_own_columns(name: str) -> None:
    alone, found = neelc.local().sql(RULES[name], Bank=BANK), rules(RULES)[name.upper()]
    assert found.types == alone.types
    assert bag(found) == bag(alone) and found.count()


def test_a_rule_that_is_not_there() -> None:
    with pytest.raises(KeyError, match="no rule calm; rules: burst, large"):
        rules(RULES)["calm"]


def test_all_types_come_back() -> None:
    kinds = {f"v{place}": kind for place, (*_, kind) in enumerate(VALUES)}
    kinds |= {"odd": Map(BIGINT, STRING), "many": Array(BIGINT)}
    values = [*(value for _, value, _ in VALUES), {1: "one"}, [1, None]]
    stream = pa.table(
        {
            "ts": pa.array([1, 2], pa.timestamp("us", "UTC")),
            **{
                name: pa.array([writer_of(kind)(value), None], arrow_type(kind))
                for (name, kind), value in zip(kinds.items(), values, strict=True)
            },
        }
    )
    columns = ", ".join(f"a.{name}, b.{name} AS b_{name}" for name in kinds)
    texts = {
        "typed": f"""PATTERN SEQ(Events a, Events b) WITHIN 1 HOUR
          RETURN a AS whole, {columns}, b.ts - a.ts AS took, CAST(NULL AS INT) AS nothing""",
        "other": "PATTERN SEQ(Events a, Events b) WITHIN 1 HOUR RETURN a.ts, b.ts - a.ts AS took",
    }
    session = neelc.local()
    with session.rules(texts, Events=stream) as found:
        assert len(found.compiled.sets) == 1, "both are read from the rows of the set"
        for name, text in texts.items():
            alone = session.sql(text, Events=stream)
            assert found[name].types == alone.types
            assert bag(found[name]) == bag(alone) and alone.count() == 1


def test_the_branches_of_a_rule_are_put_together() -> None:
    either = """PATTERN OR(SEQ(Login a, Transfer{1,2} b[]), SEQ(Transfer c, Transfer d)) WITHIN 1 HOUR
      RETURN a, b[] AS bs, b[].ts AS times, size(b[].ts) AS n, c.ts AS c, d.ts AS d"""
    with rules({"either": either, "burst": BURST}) as found:
        assert "either" in found.compiled.together
        alone = neelc.local().sql(either, Bank=BANK)
        assert found["either"].types == alone.types
        assert bag(found["either"]) == bag(alone) and alone.count() > 5


def test_branches_of_a_rule_in_two_passes_are_put_together() -> None:
    """One branch has a key, the other none."""
    either = """PATTERN OR(SEQ(Login a, Transfer b WHERE [account]), SEQ(Transfer c, Transfer d))
      WITHIN 1 HOUR RETURN a.ts AS a, b.ts AS b, c.ts AS c, d.ts AS d"""
    with rules({"either": either, "burst": BURST}) as found:
        assert sum("either" in one.names for one in found.compiled.sets) == 2
        alone = neelc.local().sql(either, Bank=BANK)
        assert bag(found["either"]) == bag(alone) and alone.count() == 5


def test_matches_of_two_keys_are_two_for_joins() -> None:
    """Also where their events agree in all that the query reads."""
    text = """PATTERN AND(OR(A a, A c) WITHIN 5 MILLISECONDS, B b) WHERE concat(a.s, b.s) LIKE '%1%1'
      PARTITION BY id WITHIN 12 MILLISECONDS RETURN a.s AS x, c.s AS y"""
    pairs = [(ts, kind, id) for ts, kind in ((1, "A"), (2, "B")) for id in (1, 2)]
    events = [{"ts": ts, "kind": kind, "id": id, "s": "1"} for ts, kind, id in pairs]
    stream = neelc.stream(events, type="kind", unit="ms")
    assert list(neelc.local().sql(text, strategy="join", S=stream).rows()) == [("1", None), ("1", None)]


def test_a_session_has_rules(tmp_path: Path) -> None:
    session = neelc.local()
    session.register("Bank", ROWS, timestamp="ts", type="kind", unit="s")
    with pytest.raises(ValueError, match="no rules: pass some"):
        session.sql_all()
    session.register_rules({"burst": "PATTERN Nothing n", "large": LARGE})
    session.register_rules({"burst": BURST})
    assert [row[0] for row in texts(session.sql_all())] == ["burst", "large"]
    assert [row[0] for row in texts(session.sql_all(f"CREATE QUERY Only AS {LARGE}"))] == ["Only"]
    (tmp_path / "large.neel").write_text(LARGE)
    assert [row[0] for row in texts(session.sql_all(tmp_path))] == ["large"]


def test_rules_that_read_rules() -> None:
    script = f"""CREATE QUERY Burst AS {BURST};
      CREATE QUERY After AS PATTERN SEQ(Burst x, Transfer t) WITHIN 1 HOUR
        RETURN x.account AS one, t.account AS other"""
    assert texts(rules(script).df) == [
        ("After", None, 60, 80, '{"one":"a","other":"b"}'),
        ("Burst", '{"account":"a"}', 60, 70, '{"account":"a","at":70}'),
    ]


MATCHER = """SELECT who, first FROM Bank MATCH_RECOGNIZE_SEQUENTIAL (MEASURES b.account AS who, a.ts AS first
  WITHIN 100 SECONDS PARTITION BY account PATTERN ab DEFINE a AS kind = 'Login', b AS amount > 1000)"""


def test_equal_matchers_have_a_row_for_each_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"one": MATCHER, "other": MATCHER, "large": MATCHER.replace("1000", "1")}
    monkeypatch.setattr("neelc.api.local.counted_rows", lambda *_: ())  # of few events, sharing costs more
    found, alone = rules(given), rules(given, share=False)
    assert len(found.compiled.matchers) == 1 and not alone.compiled.matchers
    assert texts(found.df) == texts(alone.df)
    assert Counter(row[0] for row in texts(found.df)).keys() == given.keys()


WIDE = "PATTERN SEQ(Login l, Transfer+ t[]) WHERE [account] AND spread(t[].amount) > 5 WITHIN 1 HOUR RETURN "


def spread(values: Any) -> Any:
    known = [value for value in values if value is not None]
    return max(known) - min(known) if known else None


def test_aggregates_of_users() -> None:
    session = neelc.local()
    session.register_aggregate("spread", spread, returns="DOUBLE")
    given = {"wide": WIDE + "l.ts", "spread": WIDE + "spread(t[].amount) AS spread", "burst": BURST}
    found = session.rules(given, Bank=BANK)
    assert [(row[0], row[-1]) for row in texts(found.df)] == [
        ("burst", '{"account":"a","at":70}'),
        ("spread", '{"spread":1490.0}'),
        ("wide", '{"l_ts":0}'),
    ]


WRONG = {"burst": BURST, "bad": "PATTERN Transfer t WHERE u.x > 1", "worse": "PATTERN SEQ("}


def test_rules_with_errors_are_left_out() -> None:
    found = rules(WRONG)
    assert found.names == ("burst",) and len(found) == 1
    assert [error.source.name for error in found.errors] == ["bad", "worse"]
    assert [row[0] for row in texts(found.df)] == ["burst"]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert neelc.local().sql_all(WRONG, Bank=BANK).count() == 1
    assert len([one for one in seen if issubclass(one.category, neelc.NeelWarning)]) == 2
    with pytest.raises(NeelQueryError, match="bad:1:26"):
        rules(WRONG, strict=True)


ODD = "CREATE QUERY Odd AS SELECT * FROM same(Bank);"
AGENTS = f"""{ODD} CREATE QUERY After AS SELECT * FROM Odd WINDOW(TIME 9 SECONDS) WHERE account = 'a';
  CREATE QUERY Burst AS {BURST};"""


def test_rules_that_the_engine_cannot_run_are_left_out() -> None:
    """An agent is a function of Spark's DataFrames."""
    session = neelc.local()
    session.register_agent("same", lambda frame: frame, columns="account STRING", inputs=1)
    found = session.rules(AGENTS, Bank=BANK)
    assert found.names == ("Burst",) and [row[0] for row in texts(found.df)] == ["Burst"]
    assert [error.getCondition() for error in found.errors] == ["NEEL4150", "NEEL4150"]
    assert "not supported by the local engine yet: the agent same" in str(found.errors[0])
    for given, strict in ((AGENTS, True), (ODD, False)):
        with pytest.raises(NeelQueryError, match="NEEL4150"):
            session.rules(given, strict=strict, Bank=BANK)


def test_rows_are_kept_until_the_end() -> None:
    with rules({"burst": BURST, "large": LARGE}) as found:
        first = found.df
        assert found["burst"].run is found["large"].run is first.run, "matches are found once"
        assert found["burst"].count() == 1 and first.run.has_run
    assert found.df.run is not first.run and not found.df.run.has_run


def test_without_sharing() -> None:
    assert texts(rules(RULES, share=False).df) == TABLE


PLACES = """CREATE RELATION Places (street STRING, city STRING);
CREATE STREAM Reports (ts BIGINT, kind STRING, street STRING) TIMESTAMP BY ts UNIT SECONDS TYPE BY kind;
CREATE HIERARCHY Place (street, city) FROM Places;"""


def test_streets_run_in_the_pass_of_their_cities() -> None:
    reports = [(1, "A", "Rue"), (2, "A", "Quai"), (3, "A", "Gasse"), (4, "A", None)]
    reports += [(5, "B", "Rue"), (6, "B", "Gasse"), (7, "B", None)]
    places = [("Rue", "Paris"), ("Quai", "Paris"), ("Via", None)]
    text = "PATTERN SEQ(A a, B b) WHERE [{}] WITHIN 9 SECONDS RETURN b.street"
    given = {
        "places": PLACES,
        "cities": text.format("level(street, Place.city)"),
        "streets": text.format("street"),
    }
    found = neelc.local().rules(
        given,
        Reports=[dict(zip(("ts", "kind", "street"), row, strict=True)) for row in reports],
        Places=[dict(zip(("street", "city"), row, strict=True)) for row in places],
    )
    assert len(found.compiled.sets) == 1
    city = '{"city of street in Place":"Paris"}'
    assert texts(found.df) == [
        ("cities", city, 1, 5, '{"b_street":"Rue"}'),
        ("cities", city, 2, 5, '{"b_street":"Rue"}'),
        ("streets", '{"street":"Gasse"}', 3, 6, '{"b_street":"Gasse"}'),
        ("streets", '{"street":"Rue"}', 1, 5, '{"b_street":"Rue"}'),
    ]


def test_several_processes_find_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, start = tmp_path / "events.parquet", datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
    events = {
        "ts": [start + datetime.timedelta(seconds=n) for n in range(2_000)],
        "kind": ["ABC"[n % 3] for n in range(2_000)],
        "id": [n % 50 for n in range(2_000)],
    }
    pa.parquet.write_table(pa.table(events), path)
    text = "PATTERN SEQ(A a, {} b) WHERE [id] WITHIN 5 MINUTES RETURN a.id, b.ts, b.ts - a.ts AS gap"
    given, stream = (
        {name: text.format(name) for name in "ABC"},
        neelc.stream(str(path), type="kind"),
    )
    one = neelc.local(processes=1).rules(given, S=stream)
    expected, own = texts(one.df), bag(one["B"])
    monkeypatch.setattr("neelc.engines.local.tables.MANY_ROWS", 100)
    two = neelc.local(processes=2).rules(given, S=stream)
    assert texts(two.df) == expected and len(expected) > 3_000
    assert bag(two["B"]) == own and two.df.run.engine.pool is not None


@pytest.mark.long
def test_random_rules() -> None:
    """Each has the rows that the reference finds for it alone: more in `make fuzz`."""
    found = checked(check_set, 6_000_002, 8)
    assert found.broken == []
    assert found.seen["rules with matches"] > 10 and found.seen["rules in trees"] > 5, found.seen
    assert found.seen["rules with their own columns"] > 8, found.seen
