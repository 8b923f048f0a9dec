"""Many rules on the command line: a directory, several files, or all queries of a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Done, Here, process

BANK = """CREATE STREAM Bank (ts BIGINT, kind STRING, account STRING, amount DOUBLE)
  TIMESTAMP BY ts UNIT SECONDS TYPE BY kind FROM '../bank.csv';
"""
FILES = {
    "bank.csv": "ts,kind,account,amount\n"
    "0,Login,a,\n60,Transfer,a,1500.0\n70,Transfer,a,10.0\n80,Transfer,b,7\n",
    "rules/bank.neel": BANK,
    "rules/burst.neel": """PATTERN SEQ(Transfer a, Transfer b) WHERE [account] WITHIN 5 MINUTES
  USING SKIP TILL NEXT MATCH RETURN a.account AS account, b.ts AS at;""",
    "rules/more/large.neel": """\
CREATE QUERY Large AS PATTERN Transfer t WHERE t.amount > 1000 RETURN t.amount;
CREATE QUERY Total AS PATTERN Transfer t RETURN count(*) AS n;""",
}
WRONG = "CREATE QUERY Wrong AS PATTERN Transfer t WHERE u.amount > 1;\nCREATE QUERY After AS PATTERN Wrong w;"
RUN = ("run", "--engine", "reference")
RunCommand = tuple[str, ...]
TABLE = """\
rule   key              match_start  match_end  columns
Large  null             60           60         {"t_amount":1500.0}
Total  null             null         null       {"n":3}
burst  {"account":"a"}  60           70         {"account":"a","at":70}
"""
COUNTS = "  burst  1\n  Large  1\n  Total  1\n"
ERRORS = """\
error[NEEL2001]: unknown pattern variable `u`
 --> rules/wrong.neel:1:48
  |
1 | CREATE QUERY Wrong AS PATTERN Transfer t WHERE u.amount > 1;
  |                                                ^
  = hint: variables in scope: t

error[NEEL2004]: rule `Wrong`, which this rule reads, is left out: it has errors
 --> rules/wrong.neel:2:31
  |
2 | CREATE QUERY After AS PATTERN Wrong w;
  |                               ^^^^^
"""


def write(directory: Path, **more: str) -> None:
    for name, text in {**FILES, **more}.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


@pytest.fixture
def rules(neelc: Here) -> Here:
    write(neelc.directory)
    return neelc


@pytest.fixture(params=["reference", "local"])
def run(request: pytest.FixtureRequest) -> RunCommand:
    """The command, on each engine that needs no JVM."""
    return ("run", "--engine", request.param)


def summary(done: Done) -> list[str]:
    """What follows the line with the time."""
    lines = done.err.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if "(reference engine)" in line or "(local engine: " in line)
    return [lines[at].partition(" in ")[0], "".join(lines[at + 1 :])]


def test_a_directory(rules: Here, run: RunCommand) -> None:
    done = rules(*run, "rules")
    assert (done.status, done.out, summary(done)) == (0, TABLE, ["3 rows of 3 rules", COUNTS])


def test_formats(rules: Here, run: RunCommand) -> None:
    """`key` and `columns` are objects in JSON, and JSON texts elsewhere."""
    lines = rules(*run, "rules", "--format", "json").out.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"rule": "Large", "key": None, "match_start": 60, "match_end": 60, "columns": {"t_amount": 1500.0}},
        {"rule": "Total", "key": None, "match_start": None, "match_end": None, "columns": {"n": 3}},
        {
            "rule": "burst",
            "key": {"account": "a"},
            "match_start": 60,
            "match_end": 70,
            "columns": {"account": "a", "at": 70},
        },
    ]
    done = rules(*run, "rules", "--out", "alarms.csv")
    assert (done.status, done.out) == (0, "")
    assert rules.read("alarms.csv") == (
        "rule,key,match_start,match_end,columns\n"
        'Large,,60,60,"{""t_amount"":1500.0}"\n'
        'Total,,,,"{""n"":3}"\n'
        'burst,"{""account"":""a""}",60,70,"{""account"":""a"",""at"":70}"\n'
    )


def test_several_files(rules: Here, run: RunCommand) -> None:
    done = rules(*run, "rules/burst.neel", "rules/bank.neel")
    assert (done.status, done.out.splitlines()[1:]) == (0, TABLE.splitlines()[3:])
    assert summary(done) == ["1 match of 1 rule", ""], "one rule needs no list"


def test_all_queries_of_a_script(rules: Here, run: RunCommand) -> None:
    rules.write(
        "all.neel", BANK.replace("../", "") + FILES["rules/more/large.neel"] + "PATTERN Login l RETURN l.ts"
    )
    assert rules(*run, "all.neel").out.splitlines()[0].split() == ["l_ts"]
    done = rules(*run, "all.neel", "--all")
    assert [line.split()[0] for line in done.out.splitlines()] == ["rule", "Large", "Total", "all"]
    done = rules(*run, "all.neel", "--query", "Large", "--query", "Total", "--format", "csv")
    assert done.status == 2 and "--all puts the rows of several into one table" in done.err


def test_some_of_the_rules(rules: Here, run: RunCommand) -> None:
    rules.write("rules/wrong.neel", WRONG)
    done = rules(*run, "rules", "--query", "large", "--query", "burst")
    assert (done.status, len(done.out.splitlines())) == (0, 3)
    assert "error" not in done.err, "other rules are not compiled"
    done = rules(*run, "rules", "--query", "calm")
    known = "burst, Large, Total, Wrong, After"
    assert done == Done(2, "", f"neelc: run --query: no rule calm; rules: {known}\n")


def test_rules_with_errors_are_left_out(rules: Here, run: RunCommand) -> None:
    rules.write("rules/wrong.neel", WRONG)
    done = rules(*run, "rules")
    assert (done.status, done.out) == (0, TABLE)
    assert done.err.startswith(ERRORS)
    assert summary(done)[1] == COUNTS + "2 of 5 rules are left out: Wrong, After\n"


def test_strict(rules: Here, run: RunCommand) -> None:
    assert rules(*run, "rules", "--strict").status == 0
    rules.write("rules/wrong.neel", WRONG)
    rules.write("rules/worse.neel", "PATTERN (")
    done = rules(*run, "rules", "--strict", "-o", "alarms.csv")
    assert (done.status, done.out) == (1, "")
    assert ERRORS in done.err and " --> rules/worse.neel:1:" in done.err
    assert not (rules.directory / "alarms.csv").exists()
    assert rules(*run, "rules/wrong.neel", "--strict") == Done(
        2, "", "neelc: run --strict: for rules; a script with an error never runs\n"
    )


def test_no_rule_is_left(rules: Here, run: RunCommand) -> None:
    rules.write("rules/wrong.neel", WRONG)
    done = rules(*run, "rules", "--query", "After")
    assert (done.status, done.out, done.err) == (1, "", ERRORS)
    done = rules(*run, "rules/bank.neel", "--all")
    assert done == Done(2, "", "neelc: run: no query in rules/bank.neel\n")


def test_many_rules_are_not_listed(rules: Here, run: RunCommand) -> None:
    for number in range(21):
        rules.write(f"rules/r{number}.neel", "PATTERN Login l")
    assert summary(rules(*run, "rules")) == ["24 rows of 24 rules", ""]


def test_rules_without_matches_are_listed(rules: Here, run: RunCommand) -> None:
    rules.write("rules/never.neel", "PATTERN Transfer t WHERE t.amount > 9999")
    assert "  never  0\n" in summary(rules(*run, "rules"))[1]


def test_warnings_name_their_file(rules: Here, run: RunCommand) -> None:
    rules.write("rules/wide.neel", "-- a rule\nPATTERN SEQ(Login a, Transfer b)")
    done = rules(*run, "rules")
    assert any(line.startswith("rules/wide.neel:2:9: warning[NEEL6003]") for line in done.err.splitlines())


def test_data_that_are_wrong_or_absent(rules: Here, run: RunCommand) -> None:
    rules.write("bank.csv", FILES["bank.csv"].replace("1500.0", "much"))
    done = rules(*run, "rules")
    assert (done.status, done.out) == (3, "") and "NEEL5003" in done.err and " --> bank.csv:3:" in done.err
    (rules.directory / "bank.csv").unlink()
    done = rules(*run, "rules")
    assert done.status == 3 and "error[NEEL5001]: no such file: bank.csv\n --> rules/bank.neel:2:" in done.err


def test_streams_of_the_call(rules: Here, run: RunCommand) -> None:
    rules.write("rules/bank.neel", BANK.replace(" FROM '../bank.csv'", ""))
    assert rules(*run, "rules").status == 3
    assert rules(*run, "rules", "--stream", "Bank=bank.csv").out == TABLE
    done = rules(*run, "rules", "--stream", "Bank=bank.csv", "--arg", "w=1")
    assert done.status == 2 and "the script has no parameter :w" in done.err


def test_rules_of_several_directories(rules: Here, run: RunCommand) -> None:
    """Each path is relative to its file: here both lead to the same data."""
    rules.write("rules/more/bank.neel", BANK.replace("../", "../../"))
    assert rules(*run, "rules").out == TABLE
    rules.write("rules/more/bank.neel", BANK)
    done = rules(*run, "rules")
    assert done.status == 1 and "`Bank` already names a stream\n --> rules/more/bank.neel:1:15" in done.err


def test_inputs_are_not_replaced(rules: Here, run: RunCommand) -> None:
    done = rules(*run, "rules", "-o", "rules/burst.neel", "--format", "csv", "--overwrite")
    assert done.status == 2 and "it is rules/burst.neel, the script" in done.err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--strategy", "join"), "run --strategy: "),
        (("--report", "page.html", "--report-key", "id"), "run --report-key: for one query, not for rules"),
    ],
)
def test_what_is_for_one_query(option: tuple[str, ...], message: str, rules: Here) -> None:
    done = rules("run", "rules", *option)
    assert (done.status, done.out) == (2, "") and message in done.err


def picture(page: str) -> dict[str, Any]:
    """What a page shows."""
    found: dict[str, Any] = json.loads(page.split('id="pictures">')[1].split("</script>")[0])[0]
    return found


def test_the_report_of_rules(rules: Here) -> None:
    """A lane for each rule, those without matches too; all engines say the same."""
    rules.write("rules/rare.neel", "PATTERN Transfer t WHERE t.amount > 1000000 RETURN t.amount;")
    pages = []
    for engine in ("reference", "local"):
        done = rules("run", "--engine", engine, "rules", "--report", f"{engine}.html")
        assert done.status == 0 and f"{engine}.html: written" in done.err
        pages.append((rules.directory / f"{engine}.html").read_text())
    assert pages[0] == pages[1]
    found = picture(pages[0])
    assert found["lanes"] == ["Large", "Total", "burst", "rare"]
    (panel,) = found["panels"]
    shown = [[found["lanes"][match[6]], *match[3][1:], *match[4:6]] for match in panel["matches"]]
    large, burst = '{"t_amount":1500.0}', '{"account":"a","at":70}'
    assert shown == [["burst", "a", burst, 0, 10], ["Large", "", large, 0, 0]]
    assert ">4 rules<" in pages[0] and ">2 matches.<" in pages[0]
    assert "Without times, and not drawn: the rows of Total." in pages[0]
    assert "2 with matches, 2 without" in pages[0]


def test_times_of_different_kinds(rules: Here, run: RunCommand) -> None:
    rules.write("log.csv", "ts,what\n2024-05-01 10:00:00,x\n")
    rules.write(
        "rules/log.neel", "CREATE STREAM Log (ts TIMESTAMP, what STRING) TIMESTAMP BY ts FROM '../log.csv'"
    )
    rules.write("rules/logged.neel", "PATTERN Log l FROM Log RETURN l.what")
    for name in ("burst", "more/large"):
        text = (
            FILES[f"rules/{name}.neel"]
            .replace(" WHERE", " FROM Bank WHERE")
            .replace(" RETURN count", " FROM Bank RETURN count")
        )
        rules.write(f"rules/{name}.neel", text)
    done = rules(*run, "rules")
    assert done.status == 2 and "some rules use numbers as times, others timestamps" in done.err
    assert rules(*run, "rules", "--query", "logged").out.splitlines()[1] == (
        'logged  null  2024-05-01 10:00:00  2024-05-01 10:00:00  {"l_what":"x"}'
    )


# Other commands.


def test_check(rules: Here) -> None:
    assert rules("check", "rules") == Done(0, "", "rules: fine: 3 queries\n")
    files = ("rules/bank.neel", "rules/burst.neel")
    assert rules("check", *files).status == 1, "each on its own"
    assert rules("check", "--all", *files).err == "rules/bank.neel, rules/burst.neel: fine: 1 query\n"
    rules.write("rules/wrong.neel", WRONG)
    assert rules("check", "rules") == Done(1, "", ERRORS)
    rules.write("rules/worse.neel", "PATTERN (")
    records = json.loads(rules("check", "rules", "--format", "json").out)
    assert [(one["file"], one["line"]) for one in records] == [
        ("rules/worse.neel", 1),
        ("rules/wrong.neel", 1),
        ("rules/wrong.neel", 2),
    ]


def test_explain(rules: Here) -> None:
    done = rules("explain", "rules")
    assert done.status == 0 and "burst" in done.out and "Total: it aggregates over all matches" in done.out
    rules.write("rules/wrong.neel", WRONG)
    done = rules("explain", "rules", "--format", "json")
    assert (done.status, done.err) == (0, ERRORS + "2 of 5 rules are left out: Wrong, After\n")
    record = json.loads(done.out)
    assert sorted(name for one in record["passes"] for name in one["rules"]) == ["Large", "burst"]
    assert record["alone"] == [{"rule": "Total", "why": "it aggregates over all matches"}]
    assert [one["code"] for one in record["errors"]] == ["NEEL2001", "NEEL2004"]
    assert rules("explain", "rules", "--strict") == Done(1, "", ERRORS)
    assert rules("explain", "rules", "--mode", "cost").status == 2
    assert rules("explain", "rules", "--format", "html").status == 2


def test_compile(rules: Here) -> None:
    done = rules("compile", "rules", "--query", "burst", "--query", "Large")
    assert done.status == 0 and done.out.startswith('"""2 rules\n')
    compile(done.out, "rules.py", "exec")
    assert rules("compile", "rules", "--emit", "sql").status == 2
    done = rules("compile", "rules", "--target", "duckdb")
    assert done.status == 0 and "what neelc's rules_kernel finds" in done.out
    assert rules("compile", "rules", "--target", "duckdb", "--streaming").status == 2
    rules.write("rules/wrong.neel", WRONG)
    done = rules("compile", "rules", "-o", "rules.py")
    assert (done.status, done.out) == (0, "") and "2 of 5 rules are left out" in done.err
    assert "def query(" in rules.read("rules.py")


STREAM = ("stream", "rules", "--stream", "Bank=incoming/,format=csv", "--once")


@pytest.fixture
def incoming(rules: Here) -> Here:
    write_incoming(rules.directory)
    return rules


def write_incoming(directory: Path) -> None:
    """The events come as files of a directory; the last one makes all matches sure."""
    (directory / "incoming").mkdir()
    (directory / "incoming" / "bank.csv").write_text(FILES["bank.csv"] + "9999,Login,z,\n")
    (directory / "rules" / "bank.neel").write_text(BANK.replace(" FROM '../bank.csv'", " WATERMARK 1 SECOND"))


def test_streams_are_refused_before_spark_starts(incoming: Here) -> None:
    unbounded = "error[NEEL4131]: this query would keep every event of the stream"
    done = incoming(*STREAM, "--strict")
    assert done.status == 1 and unbounded in done.err and " --> rules/more/large.neel:2:1\n" in done.err
    assert incoming(*STREAM, "--query", "Total").status == 1, "no rule is left"
    done = incoming("stream", "rules/burst.neel", *STREAM[2:], "--query", "a", "--query", "b")
    assert done == Done(2, "", "neelc: stream --query: one query of a script, here are 2; --all\n")
    incoming.write("rules/bank.neel", BANK.replace(" FROM '../bank.csv'", ""))
    done = incoming(*STREAM)
    assert done.status == 1 and "NEEL4140" in done.err and " --> rules/bank.neel:1:" in done.err


# Spark.

MIXED = """CREATE QUERY Typed AS PATTERN Transfer t RETURN t.amount / 3 AS third, t.amount * 1e9 AS big,
  CAST(t.amount AS DECIMAL(10, 2)) AS d, CAST(t.ts AS TIMESTAMP) AS at, t.kind || ' "x"' AS text, t AS event,
  CAST(CAST(t.ts AS TIMESTAMP) AS DATE) AS day, t.amount > 1000 AS large, NULLIF(t.amount, 10) AS n;
CREATE QUERY Rows AS SELECT m.* FROM Bank MATCH_RECOGNIZE (PARTITION BY account ORDER BY ts
  MEASURES COUNT(*) AS n PATTERN (T+) DEFINE T AS kind = 'Transfer') AS m;
CREATE QUERY Valid AS SELECT account, amount FROM Bank WHERE amount > 1000;"""


def test_the_local_engine_finds_the_same(rules: Here) -> None:
    write(rules.directory, **{"rules/mixed.neel": MIXED, "rules/wrong.neel": WRONG})
    expected, found = (
        rules("run", "rules", "--engine", engine, "--format", "json", "--stats-out", f"{engine}.json")
        for engine in ("reference", "local")
    )
    assert (found.status, found.out, summary(found)) == (0, expected.out, summary(expected))
    assert found.err.startswith(ERRORS) and '"rule": "Typed"' in found.out
    assert rules.read("local.json") == rules.read("reference.json")
    written = rules("run", "rules", "--engine", "local", "-o", "alarms.parquet")
    assert (written.status, summary(written)) == (0, summary(expected))
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(rules.directory / "alarms.parquet")
    texts = [json.loads(line) for line in found.out.splitlines()]
    assert table.num_rows == len(texts)
    assert sorted(map(str, map(json.loads, table.column("columns").to_pylist()))) == sorted(
        str(one["columns"]) for one in texts
    )


ODD = "CREATE QUERY Odd AS SELECT to_char(n, '9') AS x FROM (" + (
    "SELECT m.n FROM Bank MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (T+) "
    "DEFINE T AS kind = 'Transfer') AS m);"
)


def test_rules_that_the_local_engine_cannot_run_are_left_out(rules: Here) -> None:
    """A function of Spark's that neelc does not know."""
    rules.write("rules/odd.neel", ODD)
    done = rules("run", "--engine", "local", "rules")
    assert (done.status, done.out) == (0, TABLE), done.err
    assert "error[NEEL" in done.err and "rules/odd.neel:1:" in done.err
    assert summary(done)[1] == COUNTS + "1 of 4 rules is left out: Odd\n"
    assert rules("run", "--engine", "local", "rules", "--strict").status == 1


def test_spark_finds_the_same(tmp_path: Path) -> None:
    write(tmp_path, **{"rules/mixed.neel": MIXED, "rules/wrong.neel": WRONG})
    spark = ("--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=2")
    found = process("run", "rules", "--format", "json", *spark, directory=tmp_path)
    expected = process(*RUN, "rules", "--format", "json", directory=tmp_path)
    assert (found.status, found.out) == (0, expected.out), found.err
    assert {json.loads(line)["rule"] for line in found.out.splitlines()} >= {
        "Typed",
        "Rows",
        "Valid",
        "burst",
    }
    assert ERRORS in found.err and "2 of 8 rules are left out: Wrong, After" in found.err
    written = process("run", "rules", "-o", "alarms.parquet", *spark, directory=tmp_path)
    assert written.status == 0, written.err
    counts = expected.err.partition("(reference engine)\n")[2]
    assert written.err.endswith(counts) and "  Typed  3\n" in counts
    pq = pytest.importorskip("pyarrow.parquet")
    files = [pq.ParquetFile(path) for path in (tmp_path / "alarms.parquet").glob("*.parquet")]
    assert files[0].schema_arrow.names == ["rule", "key", "match_start", "match_end", "columns"]
    rows = [name for file in files for name in file.read(["rule"]).column("rule").to_pylist()]
    assert sorted(rows) == sorted(json.loads(line)["rule"] for line in found.out.splitlines())


def test_rules_over_a_stream(tmp_path: Path) -> None:
    write(tmp_path)
    expected = process(
        *RUN, "rules", "--query", "burst", "--query", "Large", "--format", "json", directory=tmp_path
    )
    write_incoming(tmp_path)
    found = process(*STREAM, "--master", "local[1]", directory=tmp_path)
    assert found.status == 0, found.err
    assert sorted(found.out.splitlines()) == sorted(expected.out.splitlines()) and found.out
    assert "1 of 3 rules is left out: Total\n" in found.err
