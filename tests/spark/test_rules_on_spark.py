"""Many rules as one table: `neelc.rules`, `Session.sql_all`, and one rule's own columns."""

from __future__ import annotations

import datetime
import json
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rule_examples import BURST, EVENTS, KEYS, LARGE, RULES, TABLE
from variant_values import VALUES

import neelc
from neelc.api.errors import NeelQueryError
from neelc.api.timeline import SparkDrawing
from neelc.cli.report import RulesReport
from neelc.cli.run_rules import with_json
from neelc.scalar.variants import variant_json


@pytest.fixture(scope="module")
def bank(spark: Any) -> Any:
    frame = spark.createDataFrame(
        EVENTS, "ts BIGINT, kind STRING, account STRING, device BIGINT, amount DOUBLE"
    )
    return neelc.stream(frame, timestamp="ts", type="kind", unit="s")


@pytest.fixture(scope="module")
def all_rules(spark: Any, bank: Any) -> Any:
    with neelc.rules(spark, RULES, Bank=bank) as found:
        yield found


def rows_of(frame: Any) -> Counter[str]:
    return Counter(map(repr, frame.collect()))


def texts(frame: Any) -> list[tuple[object, ...]]:
    found = frame.selectExpr("rule", "to_json(key)", "match_start", "match_end", "to_json(columns)")
    return sorted((tuple(row) for row in found.collect()), key=repr)


def test_the_table_of_all_rules(all_rules: Any) -> None:
    assert all_rules.names == tuple(RULES)
    assert all_rules.df.schema.simpleString() == (
        "struct<rule:string,key:variant,match_start:bigint,match_end:bigint,columns:variant>"
    )
    assert texts(all_rules.df) == TABLE


@pytest.mark.parametrize("name", RULES)
def test_one_rule_has_its_own_columns(name: str, all_rules: Any, spark: Any, bank: Any) -> None:
    alone = neelc.sql(spark, RULES[name], Bank=bank)
    found = all_rules[name.upper()]
    assert found.schema.simpleString() == alone.schema.simpleString()
    assert rows_of(found) == rows_of(alone) and found.count()


def test_the_table_is_written_and_read(all_rules: Any, spark: Any, tmp_path: Path) -> None:
    all_rules.df.write.parquet(str(tmp_path / "alarms"))
    assert texts(spark.read.parquet(str(tmp_path / "alarms"))) == texts(all_rules.df)


def test_the_report_of_rules(spark: Any, all_rules: Any) -> None:
    """What `neelc run rules/ --report` writes."""
    program = all_rules.bound.program
    places = tuple(place for place, one in enumerate(program.queries) if one.name in all_rules.names)
    bound: Any = SimpleNamespace(program=program, places=places, names=all_rules.names)
    report = RulesReport(Path("page.html"), "rules/", bound, lambda *_: with_json(all_rules.df))
    page = report.page(SparkDrawing(spark), {})
    data = json.loads(page.split('id="pictures">')[1].split("</script>")[0])[0]
    (panel,) = data["panels"]
    shown = [(*match[3][:2], *match[4:6], match[3][2]) for match in panel["matches"]]
    expected = [
        (rule, "" if key is None else str(*json.loads(str(key)).values()), start, end, columns)
        for rule, key, start, end, columns in TABLE
        if start is not None
    ]
    assert sorted(shown) == sorted(expected)
    assert data["lanes"] == sorted(all_rules.names)
    assert "the rows of count, whos, rows." in page


def test_a_rule_that_is_not_there(all_rules: Any) -> None:
    with pytest.raises(KeyError, match="no rule calm; rules: burst, large"):
        all_rules["calm"]


TYPED = """PATTERN SEQ(Events+ b[], Events c) WHERE c.n = 2 WITHIN 1 HOUR RETURN c AS whole, b[] AS events,
  b[].d AS ds, c.n, c.s, c.d, c.f, c.b, c.y, c.ts, c.tn, c.da, c.st, c.arr, c.m, c.x, c.odd,
  c.ts - b[1].ts AS took, CAST(NULL AS INT) AS nothing, count(b[]) AS `how many`"""


def test_all_types_come_back(spark: Any) -> None:
    values = """n, 'it''s "1"' AS s, CAST(1.50 AS DECIMAL(12, 2)) AS d, CAST(0.1 AS FLOAT) AS f, n = 1 AS b,
      CAST(n AS TINYINT) AS y, timestamp_seconds(n + 0.5) AS ts,
      TIMESTAMP_NTZ'2024-05-01 10:00:00.123456' AS tn, DATE'2024-02-29' AS da,
      named_struct('Z', n, 'a', array(1.5D, NULL)) AS st, array(n, NULL) AS arr,
      map('k', n) AS m, X'00FF' AS x, map(n, 'one') AS odd"""
    frame = spark.sql(f"SELECT {values} FROM VALUES (1), (2) AS t(n)")
    stream = neelc.stream(frame, timestamp="ts")
    # Without another one it would share nothing, and run alone.
    rules = {
        "typed": TYPED,
        "other": "PATTERN SEQ(Events a, Events b) WITHIN 1 HOUR RETURN a.n, b.ts - a.ts AS took",
    }
    with neelc.rules(spark, rules, Events=stream) as found:
        for name, text in rules.items():
            alone = neelc.sql(spark, text, Events=stream)
            assert found[name].schema.simpleString() == alone.schema.simpleString()
            assert rows_of(found[name]) == rows_of(alone) and alone.count()


def test_intervals_come_back_from_the_table(spark: Any, bank: Any) -> None:
    took = """PATTERN SEQ(Transfer a, Transfer b) WHERE [account] WITHIN 1 HOUR
      RETURN INTERVAL '1' DAY * b.amount AS i"""
    with neelc.rules(spark, {"took": took, "burst": BURST}, Bank=bank) as found:
        assert "took" in found.compiled.sets[0].names, "it is read from the rows of all rules"
        (row,) = found["took"].collect()
        assert row.i == datetime.timedelta(days=10)


def test_the_reference_spells_values_as_spark(spark: Any) -> None:
    fields = ", ".join(f"to_json(to_variant_object(array({text})))" for text, *_ in VALUES)
    found = spark.sql(f"SELECT {fields}").collect()[0]
    assert list(found) == [f"[{variant_json(value, kind)}]" for _, value, kind in VALUES]


def test_a_session_has_rules(spark: Any, bank: Any) -> None:
    session = neelc.Session(spark)
    session.register("Bank", bank.data, timestamp="ts", type="kind", unit="s")
    with pytest.raises(ValueError, match="no rules: pass some"):
        session.sql_all()
    session.register_rules({"burst": "PATTERN Nothing n", "large": LARGE})
    session.register_rules({"burst": BURST})
    assert [row[0] for row in texts(session.sql_all())] == ["burst", "large"]
    assert [row[0] for row in texts(session.sql_all(f"CREATE QUERY Only AS {LARGE}"))] == ["Only"]


def test_files_are_rules_of_a_session(spark: Any, bank: Any, tmp_path: Path) -> None:
    (tmp_path / "large.neel").write_text(LARGE)
    session = neelc.Session(spark)
    session.register_rules(tmp_path)
    assert [row[0] for row in texts(session.sql_all(Bank=bank))] == ["large"]
    (tmp_path / "large.neel").write_text(LARGE.replace("1000", "9000"))
    session.register_rules(tmp_path)
    assert texts(session.sql_all(Bank=bank)) == []


def test_rules_that_read_rules(spark: Any, bank: Any) -> None:
    script = f"""CREATE QUERY Burst AS {BURST};
      CREATE QUERY After AS PATTERN SEQ(Burst x, Transfer t) WITHIN 1 HOUR
        RETURN x.account AS one, t.account AS other"""
    with neelc.rules(spark, script, Bank=bank) as found:
        assert texts(found.df) == [
            ("After", None, 60, 80, '{"one":"a","other":"b"}'),
            ("Burst", KEYS["burst"], 60, 70, '{"account":"a","at":70}'),
        ]


WIDE = "PATTERN SEQ(Login l, Transfer+ t[]) WHERE [account] AND spread(t[].amount) > 5 WITHIN 1 HOUR RETURN "


def test_aggregates_of_users(spark: Any, bank: Any) -> None:
    def spread(values: Any) -> Any:  # in here, so that workers need not import this module
        known = [value for value in values if value is not None]
        return max(known) - min(known) if known else None

    rules = {"wide": WIDE + "l.ts", "spread": WIDE + "spread(t[].amount) AS spread", "burst": BURST}
    aggregates = {"spread": neelc.aggregate(spread, returns="DOUBLE")}
    found = neelc.rules(spark, rules, aggregates=aggregates, Bank=bank)
    assert [(row[0], row[-1]) for row in texts(found.df)] == [
        ("burst", '{"account":"a","at":70}'),
        ("spread", '{"spread":1490.0}'),
        ("wide", '{"l_ts":0}'),
    ]


WRONG = {"burst": BURST, "bad": "PATTERN Transfer t WHERE u.x > 1", "worse": "PATTERN SEQ("}


def test_rules_with_errors_are_left_out(spark: Any, bank: Any) -> None:
    found = neelc.rules(spark, WRONG, Bank=bank)
    assert found.names == ("burst",) and len(found) == 1
    assert [error.source.name for error in found.errors] == ["bad", "worse"]
    assert "unknown pattern variable `u`\n --> bad:1:26\n" in str(found.errors[0])
    assert [row[0] for row in texts(found.df)] == ["burst"]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert neelc.Session(spark).sql_all(WRONG, Bank=bank).count() == 1
    assert len([one for one in seen if issubclass(one.category, neelc.NeelWarning)]) == 2


def test_strict_reports_the_errors_of_all_rules(spark: Any, bank: Any) -> None:
    with pytest.raises(NeelQueryError) as raised:
        neelc.rules(spark, WRONG, strict=True, Bank=bank)
    assert " --> bad:1:26\n" in str(raised.value) and " --> worse:1:" in str(raised.value)
    del WRONG["burst"]
    with pytest.raises(NeelQueryError, match="bad:1:26"):
        neelc.rules(spark, WRONG, Bank=bank)


UNSUPPORTED = """PATTERN SEQ(Transfer a, SEQ(Login b, !Transfer x)+ k[]) WITHIN 1 HOUR WHEN COMPLETE
RETURN a.account AS account"""


def test_rules_that_spark_cannot_run_are_left_out(spark: Any, bank: Any) -> None:
    script = f"""CREATE QUERY Nested AS {UNSUPPORTED};
      CREATE QUERY Reader AS PATTERN SEQ(Nested n, Transfer t) WITHIN 1 HOUR; CREATE QUERY Burst AS {BURST}"""
    found = neelc.rules(spark, script, Bank=bank)
    assert found.names == ("Burst",)
    assert [error.getCondition() for error in found.errors] == ["NEEL4001", "NEEL4001"]
    assert "not supported yet: what it reads, `Nested`" in str(found.errors[1])
    with pytest.raises(NeelQueryError, match="NEEL4001"):
        neelc.rules(spark, script, strict=True, Bank=bank)
    with pytest.raises(NeelQueryError, match="NEEL4001"):
        neelc.rules(spark, {"nested": UNSUPPORTED}, Bank=bank)


def test_what_is_given_must_be_used(spark: Any, bank: Any) -> None:
    with pytest.raises(ValueError, match="unknown stream `Banc`: did you mean `Bank`"):
        neelc.rules(spark, {"large": LARGE.replace("WHERE", "FROM Bank WHERE")}, Bank=bank, Banc=bank)
    with pytest.raises(ValueError, match="unknown argument `w`: the query has no parameters"):
        neelc.rules(spark, {"burst": BURST}, args={"w": 1}, Bank=bank)
    # Only a rule with an error reads it.
    reads = "PATTERN Other o FROM Other WHERE x.y = 1"
    found = neelc.rules(spark, {"burst": BURST, "other": reads}, Bank=bank, Other=bank)
    assert found.names == ("burst",)


DECLARED = """CREATE STREAM Bank (ts BIGINT, kind STRING, account STRING, amount DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY kind;"""


def test_paths_are_relative_to_their_file(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "bank.csv").write_text("ts,kind,account,amount\n1,Transfer,a,2000\n")
    declared = DECLARED.replace(";", " FROM '../bank.csv';")
    (tmp_path / "rules" / "large.neel").write_text(declared + LARGE)
    found = neelc.rules(spark, tmp_path / "rules")
    assert texts(found.df) == [("large", None, 1, 1, '{"t_amount":2000.0,"who":"a"}')]


def test_no_rule(spark: Any, tmp_path: Path) -> None:
    for nothing, message in (({}, "there is no rule"), ("", "no query"), (tmp_path, r"no \*.neel files")):
        with pytest.raises(ValueError, match=message):
            neelc.rules(spark, nothing)
    with pytest.raises(ValueError, match=r"rules/none\.neel: no such file"):
        neelc.rules(spark, "rules/none.neel")
    with pytest.raises(TypeError, match="a dictionary of names and texts"):
        neelc.rules(spark, {"burst": 1})  # type: ignore[dict-item]


def test_rows_are_kept_until_the_end(spark: Any, bank: Any) -> None:
    with neelc.rules(spark, {"burst": BURST, "large": LARGE}, Bank=bank) as found:
        assert not found.df.is_cached
        assert found["burst"].count() == 1 and found.df.is_cached
    assert not found.df.is_cached


def test_without_sharing(spark: Any, bank: Any) -> None:
    together = texts(neelc.rules(spark, RULES, Bank=bank).df)
    assert texts(neelc.rules(spark, RULES, share=False, Bank=bank).df) == together


# Rules of a finer key in the pass of a coarser one.


def test_a_rule_with_one_more_key_shows_its_own_key(spark: Any, bank: Any) -> None:
    text = "PATTERN SEQ(Login l, Transfer t) WHERE [{}] WITHIN 1 HOUR RETURN t.amount"
    rules = {"accounts": text.format("account"), "devices": text.format("account, device")}
    found = neelc.rules(spark, rules, Bank=bank)
    assert len(found.compiled.sets) == 1
    assert "joins    devices with [account, device], partitioned by [account]" in found.explain()
    assert texts(found.df) == [
        ("accounts", '{"account":"a"}', 0, 60, '{"t_amount":1500.0}'),
        ("accounts", '{"account":"a"}', 0, 70, '{"t_amount":10.0}'),
        ("devices", '{"account":"a","device":7}', 0, 60, '{"t_amount":1500.0}'),
    ]


PLACES = """CREATE RELATION Places (street STRING, city STRING);
CREATE STREAM Reports (ts BIGINT, kind STRING, street STRING) TIMESTAMP BY ts UNIT SECONDS TYPE BY kind;
CREATE HIERARCHY Place (street, city) FROM Places;"""


def test_streets_run_in_the_pass_of_their_cities(spark: Any) -> None:
    """Nobody knows where Gasse is, nor the one without a name: that is no city."""
    reports = [(1, "A", "Rue"), (2, "A", "Quai"), (3, "A", "Gasse"), (4, "A", None)]
    reports += [(5, "B", "Rue"), (6, "B", "Gasse"), (7, "B", None)]
    text = "PATTERN SEQ(A a, B b) WHERE [{}] WITHIN 9 SECONDS RETURN b.street"
    rules = {
        "places": PLACES,
        "cities": text.format("level(street, Place.city)"),
        "streets": text.format("street"),
    }
    found = neelc.rules(
        spark,
        rules,
        Reports=spark.createDataFrame(reports, "ts BIGINT, kind STRING, street STRING"),
        Places=spark.createDataFrame(
            [("Rue", "Paris"), ("Quai", "Paris"), ("Via", None)], "street STRING, city STRING"
        ),
    )
    assert len(found.compiled.sets) == 1
    city = '{"city of street in Place":"Paris"}'
    assert texts(found.df) == [
        ("cities", city, 1, 5, '{"b_street":"Rue"}'),
        ("cities", city, 2, 5, '{"b_street":"Rue"}'),
        ("streets", '{"street":"Gasse"}', 3, 6, '{"b_street":"Gasse"}'),
        ("streets", '{"street":"Rue"}', 1, 5, '{"b_street":"Rue"}'),
    ]


def test_random_rules(spark: Any) -> None:
    """Each has the rows that the reference finds for it alone: more in `make fuzz`."""
    from rules_spark_fuzz import check_batch, checked  # workers import this module, and have no such one

    seen = Counter[str]()
    numbers = (6003, 6004, 6007, 6008, 6010, 6011, 6026)
    assert [wrong for number in numbers for wrong in checked(check_batch, spark, number, seen)] == []
    assert seen["rules with matches"] > 20 and seen["rules in trees"] > 10, seen
    assert seen["rules alone"] and seen["conditions on complete matches"], seen
