"""`neelc.local` and `neelc run --engine local`: queries without Spark, over files and data in memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from repository import ROOT

import neelc
from neelc.engines.local.execution import LocalRun
from neelc.engines.local.tasks import KernelTask

TWICE = "PATTERN SEQ(Login l, !Logout o, Login m) WHERE [user] WITHIN 10 MINUTES RETURN m.user, l.ts, m.ts"
LOGINS = [
    {"ts": 1, "kind": "Login", "user": "ann"},
    {"ts": 2, "kind": "Login", "user": "ann"},
    {"ts": 1, "kind": "Login", "user": "bob"},
    {"ts": 3, "kind": "Logout", "user": "bob"},
    {"ts": 4, "kind": "Login", "user": "bob"},
]
HOSPITAL = ROOT / "docs" / "examples" / "hospital"


def found(data: Any, **settings: Any) -> list[tuple[object, ...]]:
    given = neelc.stream(data, type="kind", unit="s", **settings)
    return list(neelc.local().sql(TWICE, Events=given).rows())


# What streams are made of.


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows,
        pa.Table.from_pylist,
        lambda rows: pa.Table.from_pylist(rows).to_pandas(),
        lambda rows: (
            duckdb.sql("SELECT * FROM rows", rows=pa.Table.from_pylist(rows))
            if False
            else pa.Table.from_pylist(rows).to_reader()
        ),
    ],
    ids=["dicts", "arrow", "pandas", "reader"],
)
def test_data_in_memory(make: Any) -> None:
    assert found(make(LOGINS)) == [("ann", 1, 2)]


def test_a_relation_of_duckdb() -> None:
    table = pa.Table.from_pylist(LOGINS)
    connection = duckdb.connect()
    connection.register("logins", table)
    assert found(connection.sql("SELECT * FROM logins")) == [("ann", 1, 2)]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files(ending: str, tmp_path: Path) -> None:
    path, table = tmp_path / f"logins.{ending}", pa.Table.from_pylist(LOGINS)
    if ending == "csv":
        table.to_pandas().to_csv(path, index=False)
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in LOGINS))
    else:
        pa.parquet.write_table(table, path)
    assert found(str(path)) == [("ann", 1, 2)]


def test_the_time_of_the_run() -> None:
    data = neelc.stream(LOGINS, type="kind", unit="s")
    text = "PATTERN Logout l RETURN current_timestamp AS now, current_timestamp() = now() AS same"
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert list(neelc.local().sql(text, args={"now": noon}, Events=data).rows()) == [(noon, True)]
    before = datetime.now(UTC)
    ((now, same),) = cast(Any, neelc.local().sql(text, Events=data).rows())
    assert before <= now <= datetime.now(UTC) and same
    with pytest.raises(neelc.NeelError, match="which is not a time: 5"):
        neelc.local().sql(text, args={"now": 5}, Events=data)
    with pytest.raises(Exception, match="unknown argument `now`"):
        neelc.local().sql(TWICE, args={"now": noon}, Events=data)


def test_a_script_that_names_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HOSPITAL)
    rows = neelc.local().sql((HOSPITAL / "hospital.neel").read_text()).rows()
    assert sorted(str(id) for id, _ in rows) == ["clamp-3", "scissors-2"]


def test_what_is_no_stream() -> None:
    with pytest.raises(TypeError, match="a stream is"):
        neelc.local().sql(TWICE, Events=7)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(neelc.NeelError, match="no such file"):
        neelc.local().sql(TWICE, Events="nowhere/logins.csv").count()


# What results are.


def events(rows: int) -> pa.Table:
    start = datetime(2024, 3, 1, tzinfo=UTC)
    return pa.table(
        {
            "ts": [start + timedelta(seconds=n) for n in range(rows)],
            "kind": ["A" if n % 2 else "B" for n in range(rows)],
            "id": [n % 50 for n in range(rows)],
        }
    )


PAIRS = "PATTERN SEQ(A a, A b) WHERE [id] WITHIN 2 MINUTES RETURN a.id, b.ts, b.ts - a.ts AS gap"


def pairs(rows: int = 200, **settings: Any) -> neelc.LocalFrame:
    found: neelc.LocalFrame = neelc.local(**settings).sql(PAIRS, S=neelc.stream(events(rows), type="kind"))
    return found


def test_forms_of_a_result() -> None:
    frame = pairs()
    table = frame.arrow()
    assert frame.columns == table.column_names == ["a_id", "b_ts", "gap"]
    assert table.schema.types == [pa.int64(), pa.timestamp("us", "UTC"), pa.duration("us")]
    assert frame.count() == table.num_rows == len(frame.df()) == sum(batch.num_rows for batch in frame)
    assert frame.df()["gap"].iloc[0] == timedelta(seconds=50)
    assert frame.duckdb().aggregate("count(*)").fetchall() == [(frame.count(),)]
    assert next(iter(frame.rows()))[2] == timedelta(seconds=50)


def test_a_result_in_a_notebook_and_on_a_console(capsys: pytest.CaptureFixture[str]) -> None:
    frame = neelc.local().sql(TWICE, Events=neelc.stream(LOGINS, type="kind", unit="s"))
    frame.show()
    assert capsys.readouterr().out == "m_user  l_ts  m_ts\nann     1     2\n"
    assert "<td>ann</td>" in frame._repr_html_()
    assert repr(frame) == "<neelc.LocalFrame: m_user STRING, l_ts BIGINT, m_ts BIGINT>"


def test_some_rows_of_a_result_in_texts_of_spark() -> None:
    frame = pairs()
    some = frame.where("a_id % 10 = 1").selectExpr("a_id DIV 2 AS half", "b_ts").orderBy("half DESC", "b_ts")
    rows: list[Any] = some.collect()
    assert some.columns == ["half", "b_ts"] and len(rows) == some.count() == frame.count() // 5
    assert [half for half, _ in rows] == sorted((half for half, _ in rows), reverse=True)
    assert sorted(some.selectExpr("half").distinct().collect()) == [(0,), (5,), (10,), (15,), (20,)]
    assert some.limit(3).collect() == rows[:3]
    with pytest.raises(neelc.NeelQueryError, match=r"NEEL4150.*the function no_such_function"):
        frame.where("no_such_function(a_id)")


def test_texts_that_are_wrong_are_shown_with_their_place() -> None:
    frame = pairs()
    with pytest.raises(neelc.NeelQueryError) as raised:
        frame.where("a_id > 1 AND nothing > 1")
    assert str(raised.value).splitlines() == [
        "error[NEEL2003]: unknown column `nothing`",
        " --> where:1:14",
        "  |",
        "1 | a_id > 1 AND nothing > 1",
        "  |              ^^^^^^^",
        f"  = hint: columns: {', '.join(frame.columns)}",
    ]
    with pytest.raises(neelc.NeelQueryError, match=r"(?s)NEEL2003.*orderBy:1:1.*did you mean b_ts\?"):
        frame.orderBy("bts DESC")
    with pytest.raises(neelc.NeelQueryError, match=r"(?s)NEEL1001.*not a text of Spark's SQL.*where:1:1"):
        frame.where("a_id >")


def test_numbers_and_paths_that_are_wrong(tmp_path: Path) -> None:
    frame = pairs()
    for call, said in (
        (lambda: frame.limit(-1), "limit: a whole number of at least 0, not -1"),
        (lambda: frame.limit(cast(Any, "x")), "limit: a whole number of at least 0, not 'x'"),
        (lambda: frame.batches(0), "batches: a whole number of at least 1, not 0"),
        (lambda: frame.orderBy(), "orderBy: by which columns? There are a_id"),
        (lambda: frame.write(tmp_path / "none" / "x.parquet"), "cannot be written: No such file"),
        (lambda: frame.write(tmp_path / "none" / "x.csv"), "cannot be written: No such file"),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            call()


def test_a_result_is_a_stream_of_another_query() -> None:
    """Of each id, one pair ends at the second event, two at the third and two at the fourth."""
    found = neelc.stream(pairs(), timestamp="b_ts")
    again = neelc.local().sql("PATTERN SEQ(P a, P b) WHERE [a_id] WITHIN 1 MINUTE RETURN a.a_id", P=found)
    assert sorted(again.collect()) == [(id,) for id in range(1, 50, 2) for _ in range(1 * 2 + 2 * 2)]
    assert pa.table(pairs()) == pairs().arrow()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "arrow"])
def test_results_in_files(ending: str, tmp_path: Path) -> None:
    path, frame = tmp_path / f"pairs.{ending}", pairs()
    assert frame.write(path) == frame.count()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    if ending == "parquet":
        assert pa.parquet.read_table(path).num_rows == frame.count()
    elif ending == "arrow":
        assert pa.ipc.open_file(path).read_all() == frame.arrow()
    else:
        assert path.read_text().count("\n") == frame.count() + (ending == "csv")
    with pytest.raises(ValueError, match="exists already"):
        frame.write(path)
    assert frame.write(path, overwrite=True) == frame.count()


def test_nothing_runs_before_rows_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "logins.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LOGINS))
    frame = neelc.local().sql(TWICE, Events=neelc.stream(str(path), type="kind", unit="s"))
    path.write_text(path.read_text().replace("ann", "eva"))
    assert list(frame.rows()) == [("eva", 1, 2)]


# Languages, settings, several processes.


def test_match_recognize_and_sql_around_it() -> None:
    text = """WITH big AS (SELECT user, count(*) AS n FROM logins GROUP BY user)
    SELECT m.user, m.logins, big.n FROM logins MATCH_RECOGNIZE (
      PARTITION BY user ORDER BY ts MEASURES count(*) AS logins PATTERN (A+) DEFINE A AS kind = 'Login'
    ) AS m JOIN big ON m.user = big.user WHERE big.n > 2 ORDER BY m.logins DESC"""
    assert list(neelc.local().sql(text, logins=LOGINS).rows()) == [("bob", 1, 3), ("bob", 1, 3)]


def test_a_select() -> None:
    text = "SELECT user, count(*) AS n FROM Logins WINDOW(TIME 2 SECONDS) GROUP BY user"
    rows = neelc.local().sql(text, Logins=neelc.stream(LOGINS, type="kind", unit="s")).rows()
    assert ("ann", 2) in {row[:2] for row in rows}


def test_time_zones() -> None:
    text = "PATTERN Login l RETURN hour(l.ts) AS h"
    rows = [{"ts": datetime(2024, 7, 1, 12, tzinfo=UTC), "kind": "Login"}]
    zones = {"UTC": 12, "America/New_York": 8, "+02:00": 14, "-03:00": 9, "PST": 5}
    for zone, hour in zones.items():
        frame = neelc.local(timezone=zone).sql(text, S=neelc.stream(rows, type="kind"))
        assert list(frame.rows()) == [(hour,)]
    with pytest.raises(ValueError, match="timezone"):
        neelc.local(timezone="Mars/Olympus")
    with pytest.raises(ValueError, match="whole hours"):
        neelc.local(timezone="+05:30")


def test_times_are_written_by_the_clock_of_the_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"ts": datetime(2024, 7, 1, 12, tzinfo=UTC), "kind": "Login"}]
    session = neelc.local(timezone="America/New_York")
    frame = session.sql("PATTERN Login l RETURN l.ts AS ts", S=neelc.stream(rows, type="kind"))
    frame.show()
    frame.write(tmp_path / "x.csv")
    for text in (capsys.readouterr().out, frame._repr_html_(), (tmp_path / "x.csv").read_text()):
        assert "2024-07-01 08:00:00" in text


def test_rows_without_columns(tmp_path: Path) -> None:
    frame = neelc.local().sql(
        "SELECT * FROM logins MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))", logins=LOGINS[:2]
    )
    assert (frame.columns, frame.count(), list(frame.rows())) == ([], 2, [(), ()])
    assert frame.arrow().column_names == [] and frame.write(tmp_path / "x.parquet") == 2


def test_a_result_is_read_by_another_session() -> None:
    frame = pairs()
    found = neelc.local().sql(
        "PATTERN Pairs p RETURN p.gap AS gap", Pairs=neelc.stream(frame, timestamp="b_ts")
    )
    assert sorted(found.rows()) == sorted((row[2],) for row in frame.rows())
    assert pa.table(frame) == frame.arrow()


def test_a_function_of_a_user_that_fails() -> None:
    session = neelc.local()
    session.register_aggregate("inverse", lambda values: 1 // (len(values) - 1), returns="DOUBLE")
    text = "PATTERN SEQ(A+ a[], B b) RETURN inverse(a[].x) AS x"
    rows = [{"ts": 1, "kind": "A", "x": 0}, {"ts": 2, "kind": "B", "x": 1}]
    with pytest.raises(neelc.NeelRunError, match=r"NEEL5008.*by zero"):
        session.sql(text, S=neelc.stream(rows, type="kind")).count()


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b) WHERE boom(a.x) RETURN a.ts AS t",
        "SEQ(A a, B b) WHERE boom(a.x + b.x) RETURN a.ts AS t",
        "SEQ(A a, B b) RETURN boom(a.x) AS t",
        "A a WHERE boom(1) RETURN a.ts AS t",
    ],
)
def test_a_declared_function_that_fails(text: str) -> None:
    """When the rows are asked for, not before: nothing of users' is called to plan a query."""

    def boom(values: Any) -> Any:
        raise ValueError(f"too high: {len(values)}")

    session = neelc.local()
    session.register_function(neelc.function("boom", returns="BOOLEAN", takes=["DOUBLE"], python=boom))
    rows = [{"ts": 1, "kind": "A", "x": 0.0}, {"ts": 2, "kind": "B", "x": 1.0}]
    found = session.sql(f"PATTERN {text}", S=neelc.stream(rows, type="kind"))
    assert "boom" in session.explain(f"PATTERN {text}", S=neelc.stream(rows, type="kind"))
    message = r"NEEL5008\]: function `boom` raised ValueError: too high: \d+"
    with pytest.raises(neelc.NeelRunError, match=message):
        found.arrow()


def test_several_processes_find_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pa.parquet.write_table(events(2_000), path)
    one, two = (
        neelc.local(processes=count).sql(PAIRS, S=neelc.stream(str(path), type="kind")) for count in (1, 2)
    )
    monkeypatch.setattr("neelc.engines.local.tables.MANY_ROWS", 100)
    two = neelc.local(processes=2).sql(PAIRS, S=neelc.stream(str(path), type="kind"))
    assert sorted(one.rows()) == sorted(two.rows()) and one.count() > 1_000
    assert two.run.engine.pool is not None and one.run.engine.pool is None


def test_a_failure_in_another_process_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pa.parquet.write_table(events(2_000), path)
    monkeypatch.setattr("neelc.engines.local.tables.MANY_ROWS", 100)
    frame = neelc.local(processes=2).sql(
        "PATTERN SEQ(A a, A b) WHERE [id] WITHIN 1 HOUR",
        S=neelc.stream(str(path), type="kind"),
        most_matches=10,
    )
    with pytest.raises(neelc.NeelRunError, match="10") as failure:
        frame.count()
    assert failure.value.kind == "MAX_MATCHES"


def test_a_limit_of_matches_holds_where_window_functions_are_cheaper() -> None:
    text = "PATTERN SEQ(A a, A b) WHERE [id] USING PARTITION CONTIGUITY"
    session, given = neelc.local(), neelc.stream(events(2_000), type="kind")
    assert "window" in session.compile(text, S=given).plan and session.sql(text, S=given).count() > 10
    with pytest.raises(neelc.NeelRunError, match="more than 10 matches") as failure:
        session.sql(text, S=given, most_matches=10).count()
    assert failure.value.kind == "MAX_MATCHES"
    with pytest.raises(neelc.NeelQueryError, match="the strategy window does not limit matches"):
        session.sql(text, S=given, most_matches=10, strategy="window")


def test_explanations_are_about_this_engine() -> None:
    session, given = neelc.local(), neelc.stream(events(10), type="kind")
    for text in (session.explain(PAIRS, S=given), session.compile(PAIRS, S=given).explain()):
        assert "read S once, by DuckDB" in text and "\nLocal  kernel" in text
        assert "shuffle" not in text and "Spark" not in text
    frame = session.sql("PATTERN A a RETURN a.ts AS ts, a.id AS id, a.kind AS kind", S=given)
    assert "\nLocal  kernel" in session.explain(PAIRS, S=neelc.stream(frame, type="kind"))
    assert not frame.run.has_run
    declared = "CREATE STREAM T (ts BIGINT, id INT) TIMESTAMP BY ts UNIT SECONDS; PATTERN T t"
    assert "\nLocal  kernel" in session.explain(declared)
    text = session.rules({"one": PAIRS, "two": f"{PAIRS}"}, S=given).explain()
    assert "one sort, by DuckDB" in text and "each once, by DuckDB" in text and "Spark" not in text


def test_memory_is_a_size() -> None:
    assert pairs(memory="1GB", processes=1).count() > 0
    with pytest.raises(ValueError, match="memory: a size such as 4GB"):
        neelc.local(memory="much")


def test_what_runs_can_be_read() -> None:
    query = neelc.local().compile(PAIRS, S=neelc.stream(events(10), type="kind"))
    assert 'CREATE TEMP VIEW "result" AS' in query.source
    assert "what neelc's kernel finds" in query.source


def test_an_agent_of_spark_is_refused() -> None:
    session = neelc.local()
    session.register_agent("same", lambda frame: frame, columns="user STRING", inputs=1)
    with pytest.raises(neelc.NeelError, match="NEEL4150"):
        session.sql("SELECT * FROM same(Logins)", Logins=neelc.stream(LOGINS, type="kind", unit="s"))


def test_what_runs_is_printed() -> None:
    command = [sys.executable, "-m", "neelc", "compile", "hospital.neel", "--target", "duckdb"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HOSPITAL, timeout=180)
    assert done.returncode == 0 and 'CREATE TEMP VIEW "result" AS' in done.stdout
    refused = subprocess.run(
        [*command, "--streaming"], capture_output=True, text=True, cwd=HOSPITAL, timeout=60
    )
    assert refused.returncode == 2 and "compile --streaming: for --target pyspark" in refused.stderr


# The command line.


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "neelc", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=HOSPITAL, timeout=180)


def test_the_command_line() -> None:
    done = run("hospital.neel", "--engine", "local")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["r_id", "o_ts"] and "clamp-3" in done.stdout
    assert "2 matches in" in done.stderr and "(local engine: kernel)" in done.stderr


def test_the_same_text_as_the_reference() -> None:
    texts = {
        run("hospital.neel", "--engine", one, "--format", "csv").stdout for one in ("local", "reference")
    }
    assert len(texts) == 1 and texts != {""}


def test_files_of_a_run(tmp_path: Path) -> None:
    out = tmp_path / "alarms.parquet"
    assert run("hospital.neel", "--engine", "local", "--out", str(out)).returncode == 0
    assert pa.parquet.read_table(out).num_rows == 2


def test_bad_data_writes_nothing(tmp_path: Path) -> None:
    data = tmp_path / "bad.csv"
    text = (HOSPITAL / "hospital.csv").read_text().splitlines()
    data.write_text("\n".join([text[0], text[1].replace("2024", "soon"), *text[2:]]) + "\n")
    done = run(
        "hospital.neel", "--engine", "local", "--stream", f"Hospital={data}", "--out", str(tmp_path / "x.csv")
    )
    assert done.returncode == 3 and "NEEL5003" in done.stderr, done.stderr
    assert not (tmp_path / "x.csv").exists() and "Traceback" not in done.stderr


def test_explanations_count_what_is_in_memory() -> None:
    rows = [{"ts": one, "kind": "ab"[one % 2], "k": one % 5} for one in range(20)]
    query = "PATTERN SEQ(a x, b y) WHERE [k] WITHIN 10 SECONDS RETURN x.ts"
    with neelc.local() as session:
        for data in (rows, pa.Table.from_pylist(rows)):
            text = session.explain(query, Events=neelc.stream(data, type="kind", unit="s"))
            assert "rows     20, counted" in text and "1,000,000" not in text
            assert text.endswith("Engine local: 20 rows in memory. Kernels run in one process.\n")
        table = pa.table({"ts": list(range(30_000)), "k": [1] * 30_000})
        text = session.explain("PATTERN SEQ(A a, A b) WITHIN 10 SECONDS", A=neelc.stream(table, unit="s"))
        assert "rows     30,000, counted" in text


def test_chunks_of_time_are_spread_over_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key, the number of a chunk is one; matches at the ends of chunks are found once."""
    monkeypatch.setattr("neelc.engines.local.tables.MANY_ROWS", 1000)
    path = tmp_path / "events.parquet"
    kinds = ["abc"[one * one % 7 % 3] for one in range(3000)]
    pa.parquet.write_table(pa.table({"ts": list(range(3000)), "kind": kinds}), path)
    query = "PATTERN SEQ(a x, !c n, b y) WITHIN 7 SECONDS RETURN x.ts AS p, y.ts AS q"
    events = neelc.stream(str(path), type="kind", unit="s")
    spread: list[tuple[str, ...]] = []
    split = LocalRun._found_in_parts

    def watched(run: LocalRun, task: KernelTask) -> pa.Table:
        spread.append(task.run.keys)
        return split(run, task)

    monkeypatch.setattr(LocalRun, "_found_in_parts", watched)
    with neelc.local(processes=1) as one, neelc.local(processes=2) as two:
        expected = sorted(one.sql(query, Events=events).collect())
        assert spread == [] and len(expected) > 100
        assert sorted(two.sql(query, Events=events).collect()) == expected
        assert spread == [("chunk",)]
        assert "split over 2 processes" in two.explain(query, mode="all", Events=events)
