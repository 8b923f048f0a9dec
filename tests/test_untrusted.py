"""Text that is not trusted: what it may not do, attack by attack, and what it may."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository import ROOT

import neelc
from neelc.cli import main
from neelc.errors import NeelError
from neelc.ir.node import walk
from neelc.ir.script import HostSelect
from neelc.pipeline import compile_program
from neelc.program import bind, examine
from neelc.rows.bind.untrusted import ALLOWED, refuse_files_and_agents
from neelc.source import Source
from neelc.syntax import read
from neelc.tools import cases
from neelc.tools.cases.file import parse

DECLARED = "CREATE STREAM t (ts BIGINT, x INT, xs ARRAY<INT>, user STRING) TIMESTAMP BY ts; "
CLAUSE = "t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A)) m"

# The code of the refusal, and the text.
ATTACKS = [
    # Programs, Java, and code that was registered in the session.
    ("NEEL4062", f"CREATE QUERY v AS PATTERN t a; SELECT * FROM {CLAUSE}, secret, v"),
    ("NEEL4062", f"SELECT * FROM {CLAUSE}, v; CREATE QUERY v AS PATTERN t a"),
    (
        "NEEL4062",
        f"CREATE QUERY v AS SELECT * FROM {CLAUSE}; CREATE QUERY w AS SELECT * FROM v, secret; PATTERN t a",
    ),
    ("NEEL4063", f"CREATE QUERY reflect AS PATTERN t a; SELECT reflect('a', 'b') FROM {CLAUSE}, reflect"),
    ("NEEL4064", f"SELECT TRANSFORM(x) USING 'cat /etc/passwd' AS (y) FROM {CLAUSE}"),
    ("NEEL4064", f"SELECT * FROM (SELECT TRANSFORM(x) USING 'sh' FROM t) s, {CLAUSE}"),
    ("NEEL4064", f"SELECT * FROM (MAP x USING 'sh' FROM t) s, {CLAUSE}"),
    ("NEEL4064", f"SELECT * FROM (REDUCE x USING 'sh' FROM t) s, {CLAUSE}"),
    ("NEEL4063", f"SELECT java_method('java.lang.System', 'exit', 1) FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT reflect('java.lang.System', 'getenv', 'HOME') FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT `reflect`('java.lang.System', 'getenv') FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT rEfLeCt /* c */ ('java.lang.System', 'getenv') FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT try_reflect('java.lang.System', 'getenv') FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT system.builtin.reflect('java.lang.System', 'getenv') FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT builtin.abs(x) FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT * FROM {CLAUSE} WHERE x IN (SELECT my_function(x) FROM t)"),
    ("NEEL4063", f"SELECT x AS y, reflect(a, b) FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT * FROM {CLAUSE} LATERAL VIEW my_generator(xs) g AS y"),
    ("NEEL4063", f"SELECT * FROM {CLAUSE}, LATERAL reflect('java.lang.System', 'getenv')"),
    ("NEEL4063", f"WITH reflect(a) AS (SELECT 1) SELECT 1, reflect('java.lang.System', 'f') FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT \"reflect\"('java.lang.System', 'getenv') FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT * FROM {CLAUSE} |> EXTEND reflect('a', 'b')"),
    # Files.
    ("NEEL4062", f"SELECT * FROM {CLAUSE}, text.`/etc/passwd`"),
    ("NEEL4062", "SELECT * FROM text.`/etc/passwd` MATCH_RECOGNIZE (ORDER BY value PATTERN (A))"),
    ("NEEL4062", f"SELECT * FROM {CLAUSE} JOIN csv.`/data` c ON c._c0 = m.x"),
    ("NEEL4062", f'SELECT * FROM {CLAUSE}, text."/etc/passwd"'),
    ("NEEL4062", f"SELECT (SELECT max(value) FROM text.`/etc/passwd`) FROM {CLAUSE}"),
    ("NEEL4062", f"SELECT * FROM {CLAUSE} WHERE EXISTS (FROM text.`/etc/passwd` SELECT *)"),
    ("NEEL4063", f"SELECT * FROM read_files('/etc'), {CLAUSE}"),
    ("NEEL4063", f"SELECT input_file_name() FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT _metadata.file_path FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT from_avro(x, 'd', map()) FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT http_get('http://example.com') FROM {CLAUSE}"),
    # Tables and views that were not given, and variables of the session.
    ("NEEL4062", f"SELECT * FROM secret, {CLAUSE}"),
    ("NEEL4062", "SELECT * FROM secret MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"),
    ("NEEL4062", "SELECT * FROM (SELECT * FROM secret) MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"),
    ("NEEL4062", f"SELECT a, secret FROM {CLAUSE}, secret"),
    ("NEEL4062", f"SELECT * FROM {CLAUSE} NATURAL JOIN `secret`"),
    ("NEEL4062", f"SELECT * FROM ({CLAUSE} CROSS JOIN (secret))"),
    ("NEEL4062", f"SELECT * FROM spark_catalog.default.t, {CLAUSE}"),
    ("NEEL4062", f"SELECT * FROM {CLAUSE} UNION ALL TABLE secret"),
    ("NEEL4062", f"WITH secret AS (SELECT * FROM secret) SELECT * FROM secret, {CLAUSE}"),
    ("NEEL4062", f"SELECT * FROM secret, (WITH secret AS (SELECT 1) SELECT * FROM secret) s, {CLAUSE}"),
    ("NEEL4062", f"WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, {CLAUSE}"),
    ("NEEL4062", f"SELECT 1, secret AS (y) FROM {CLAUSE}, secret"),
    ("NEEL4062", f"SELECT * FROM neelc_stand_in_0, {CLAUSE}"),
    ("NEEL4062", f"SELECT * FROM VALUES (1), (2) v, secret, {CLAUSE}"),
    ("NEEL4062", f"FROM {CLAUSE} |> JOIN secret ON true"),
    ("NEEL4063", f"SELECT * FROM IDENTIFIER('sec' || 'ret'), {CLAUSE}"),
    ("NEEL4063", f"SELECT current_user FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT current_user() FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT version(), spark_partition_id() FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT raise_error('x') FROM {CLAUSE}"),
    ("NEEL4063", f"SELECT * FROM range(1000000000000), {CLAUSE}"),
    # What one parser could take for something else than another.
    ("NEEL4064", f"SELECT '${{env:HOME}}' FROM {CLAUSE}"),
    ("NEEL4064", f"SELECT `${{spark.app.name}}` FROM {CLAUSE}"),
    ("NEEL4064", f"SELECT $ FROM {CLAUSE}"),
    ("NEEL4064", f"SELECT reflect\u200b('a', 'b') FROM {CLAUSE}"),
    ("NEEL4064", f"SELECT 1) UNION (SELECT * FROM {CLAUSE}"),
    ("NEEL4064", f"SELECT * FROM {CLAUSE} WHERE x = 'open"),
    ("NEEL4064", f"SELECT x:y.z FROM {CLAUSE}"),
    ("NEEL4060", f"FROM {CLAUSE} INSERT INTO zz SELECT *"),
    ("NEEL4060", f"SELECT * FROM (SELECT 1; DROP TABLE zz), {CLAUSE}"),
    # Our own statements.
    (
        "NEEL4061",
        f"CREATE STREAM p (value STRING) TIMESTAMP BY value FROM '/etc/passwd'; SELECT * FROM {CLAUSE}",
    ),
]

HARMLESS = [
    f"SELECT * FROM {CLAUSE}",
    f"SELECT m.x, abs(x) AS `reflect`, user, t.user FROM {CLAUSE}",
    f"SELECT * FROM {CLAUSE} JOIN T ON T.x = m.x LEFT ANTI JOIN t AS u USING (x)",
    f"WITH c AS (SELECT * FROM t), d(a, b, e, f) AS (SELECT * FROM c) SELECT d.a FROM d, {CLAUSE}",
    "WITH c AS (SELECT * FROM t) SELECT * FROM c MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))",
    f"SELECT x, row_number() OVER (PARTITION BY x ORDER BY ts) AS r FROM {CLAUSE}",
    f"SELECT extract(DAY FROM timestamp_seconds(ts)), trim(BOTH 'a' FROM user) FROM {CLAUSE}",
    f"SELECT * FROM {CLAUSE} WHERE x IS NOT DISTINCT FROM ts AND x IN (1, 2) OR NOT (x > 3)",
    f"SELECT count(*) FILTER (WHERE x > 1), CAST(x AS DECIMAL(10, 2)) FROM {CLAUSE} GROUP BY ALL",
    f"SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(p, q), {CLAUSE}",
    f"SELECT y FROM {CLAUSE} LATERAL VIEW explode(xs) e AS y",
    f"SELECT transform(xs, y -> y + 1), x::STRING /* reflect('a') */ FROM {CLAUSE} -- FROM secret",
    f"SELECT /*+ BROADCAST(secret) */ x FROM {CLAUSE} WHERE user = 'FROM secret'",
    f"CREATE QUERY v AS SELECT * FROM {CLAUSE}; SELECT count(*) FROM v",
    f"CREATE QUERY v AS PATTERN t a RETURN a.x AS x; SELECT v.x FROM v, {CLAUSE}",
    "CREATE QUERY v TIMESTAMP BY y AS SELECT y FROM t MATCH_RECOGNIZE (MEASURES ts AS y PATTERN (A));"
    "PATTERN v a",
    f"SELECT * FROM {CLAUSE} UNION ALL SELECT * FROM {CLAUSE} ORDER BY 1 LIMIT 3",
]


def error_codes(text: str) -> list[str]:
    """The codes of all that is wrong with a text, as `neelc check --untrusted` reports them."""
    source = Source(DECLARED + text)
    script = read(source)
    assert any(isinstance(node, HostSelect) for node in walk(script))
    try:
        refuse_files_and_agents(script, source)
    except NeelError as error:
        return [one.code for one in error.diagnostics]
    return [one.code for one in examine(script, source, untrusted=True).diagnostics]


@pytest.mark.parametrize(("code", "text"), ATTACKS)
def test_an_attack_is_refused(code: str, text: str) -> None:
    assert code in error_codes(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_query_is_not(text: str) -> None:
    assert [code for code in error_codes(text) if code != "NEEL2220"] == []  # columns that only Spark knows


def test_what_spark_is_given_has_no_comments() -> None:
    text = f"SELECT /*+ HINT */ 'a -- b' /* c */ AS y -- d\nFROM {CLAUSE}"
    script = Source(DECLARED + text)
    source = compile_program(bind(read(script), script, untrusted=True), 0).source
    given = source[source.index("spark.sql(") :]
    assert "'a -- b'" in given and "HINT" not in given and "/*" not in given and "-- d" not in given


@pytest.mark.parametrize(
    "name",
    "reflect java_method try_reflect input_file_name current_user user session_user version raise_error "
    "assert_true spark_partition_id from_avro to_avro from_protobuf range sequence uuid current_catalog "
    "current_database current_schema read_files sql_keywords input_file_block_start _metadata".split(),
)
def test_the_list_leaves_out(name: str) -> None:
    assert name not in ALLOWED


SCRIPT = f"{DECLARED} PATTERN t a"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.csv"
    path.write_text("ts,word\n1,hush\n")
    return path


@pytest.mark.parametrize("command", ["check", "compile", "explain", "run", "why"])
def test_a_script_may_not_name_a_file(
    command: str, secret: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.neel"
    script.write_text(f"CREATE STREAM s FROM '{secret}'; PATTERN s a")
    more = ["--engine", "reference"] if command in ("run", "why") else []
    assert main([command, str(script), *more]) == 0
    capsys.readouterr()
    assert main([command, str(script), "--untrusted", *more]) == 1
    out, err = capsys.readouterr()
    assert "NEEL4061" in err and "word" not in err + out


def test_a_script_may_read_what_it_is_given(
    secret: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.neel"
    script.write_text("PATTERN s a RETURN a.word")
    call = ["run", str(script), "--untrusted", "--engine", "reference", "--stream", f"s={secret}"]
    assert main(call) == 0
    assert "hush" in capsys.readouterr().out


def test_python_in_a_case_is_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = tmp_path / "ran"
    case = tmp_path / "x.case"
    text = (
        "events t\nts k\n1 A\n\naggregates\nopen({!r}, 'w').close()\n\nquery\nPATTERN A a\n\nmatches none\n"
    )
    case.write_text(text.format(str(mark)))
    assert main(["test", "--untrusted", str(case)]) == 1
    assert "Python, which is not run" in capsys.readouterr().out
    assert not mark.exists()
    with pytest.raises(cases.CaseError):
        parse(f"untrusted\n{case.read_text()}", case)
    main(["test", str(case)])
    assert mark.exists(), "the attack works where the case is trusted"


def test_the_page_names_every_function() -> None:
    page = (ROOT / "docs" / "how-to" / "run-queries-you-did-not-write.md").read_text()
    named = page[page.index("## Functions") :]
    assert [name for name in sorted(ALLOWED) if f"`{name}`" not in named] == []


MEASURED = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS a PATTERN (A))"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * FROM read_csv('{{secret}}') {MEASURED}",
        f"SELECT * FROM `{{secret}}` {MEASURED}",
        f"SELECT * FROM csv.`{{secret}}` {MEASURED}",
        f"SELECT (SELECT max(word) FROM '{{secret}}') AS word FROM t {MEASURED}",
        f"SELECT m.a, other.* FROM t {MEASURED} AS m, hidden AS other",  # a variable of Python, for DuckDB
        f"SELECT getenv('HOME') AS home FROM t {MEASURED}",
        "CREATE STREAM s FROM '{secret}'; PATTERN s a",
    ],
)
def test_text_of_a_local_session_reads_only_what_it_is_given(text: str, secret: Path) -> None:
    hidden = [{"word": "hush"}]
    session = neelc.local(untrusted=True)
    session.register("t", [{"ts": 1}], timestamp="ts")
    with pytest.raises(neelc.NeelQueryError, match=r"NEEL406[123]"):
        list(session.sql(text.format(secret=secret)).rows())
    assert hidden and list(session.sql(f"SELECT a FROM t {MEASURED}").rows()) == [(1,)]
