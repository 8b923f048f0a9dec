"""The statement around MATCH_RECOGNIZE is one query: Spark runs every other statement as it reads it."""

from __future__ import annotations

import pytest

from neelc.findings import Findings
from neelc.ir.script import HostSelect, RunQuery
from neelc.rows.bind.host_text import is_query
from neelc.scalar.duckdb.pieces import UnspelledOperation, WrongQuery
from neelc.scalar.duckdb.spelling import parsed
from neelc.scalar.spark.trees import read_statement
from neelc.source import Source
from neelc.syntax import read

CLAUSE = "t MATCH_RECOGNIZE (PATTERN (A))"

QUERIES = f"""
SELECT * FROM {CLAUSE}
FROM {CLAUSE} SELECT x
FROM {CLAUSE} SELECT x SELECT y
FROM {CLAUSE} |> WHERE x > 1 |> SELECT x
WITH c AS (SELECT * FROM {CLAUSE}) SELECT * FROM c
WITH c(a, b) AS (SELECT * FROM {CLAUSE}), d AS (SELECT 1) FROM c SELECT a
WITH c AS (SELECT * FROM {CLAUSE}) (SELECT * FROM c) UNION ALL VALUES 1
(SELECT * FROM {CLAUSE}) UNION (SELECT 1)
VALUES (1), ((SELECT max(x) FROM {CLAUSE}))
SELECT insert, merge, "DELETE", cache FROM {CLAUSE}
SELECT t.`insert`, t.create FROM {CLAUSE} -- INSERT INTO x
SELECT * FROM {CLAUSE} WHERE x = 'INSERT INTO y; DROP TABLE z'
SELECT /* FROM t INSERT INTO x */ * FROM {CLAUSE}
SELECT * FROM range(5), {CLAUSE}
SELECT * FROM {CLAUSE} LATERAL VIEW explode(xs) e AS x
SELECT x:y.z::INT FROM {CLAUSE}
SELECT * FROM f(TABLE(u)), {CLAUSE}
""".strip().split("\n")

OTHERS = f"""
FROM {CLAUSE} INSERT INTO zz SELECT *
FROM {CLAUSE} INSERT INTO zz SELECT * INSERT INTO yy SELECT x
FROM {CLAUSE} INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT *
FROM {CLAUSE} SELECT a:b INSERT INTO zz SELECT x
from {CLAUSE} /* c */ insert -- d
WITH c AS (SELECT 1) INSERT INTO zz SELECT * FROM {CLAUSE}
WITH c AS (SELECT 1) FROM {CLAUSE} INSERT INTO zz SELECT *
WITH c AS (SELECT 1) DELETE FROM zz WHERE x IN (SELECT x FROM {CLAUSE})
WITH c (SELECT 1) INSERT INTO zz SELECT 2 AS (a), * FROM {CLAUSE}
INSERT INTO zz SELECT * FROM {CLAUSE}
INSERT OVERWRITE DIRECTORY '/tmp/x' USING csv SELECT * FROM {CLAUSE}
CACHE TABLE zz AS SELECT * FROM {CLAUSE}
MERGE INTO zz USING (SELECT * FROM {CLAUSE}) s ON zz.x = s.x WHEN MATCHED THEN DELETE
UPDATE zz SET x = (SELECT max(x) FROM {CLAUSE})
DELETE FROM zz WHERE x IN (SELECT x FROM {CLAUSE})
SET VAR x = (SELECT max(x) FROM {CLAUSE})
EXPLAIN SELECT * FROM {CLAUSE}
DESCRIBE QUERY SELECT * FROM {CLAUSE}
EXECUTE IMMEDIATE 'INSERT INTO zz VALUES 1' USING (SELECT x FROM {CLAUSE})
BEGIN INSERT INTO zz SELECT * FROM {CLAUSE}
CALL f((SELECT x FROM {CLAUSE}))
SELECT * INTO zz FROM {CLAUSE}
SELECT * FROM (SELECT 1; DROP TABLE zz), {CLAUSE}
REFRESH TABLE zz, {CLAUSE}
""".strip().split("\n")


def is_accepted(text: str) -> bool:
    source = Source(text)
    (statement,) = read(source).statements
    assert isinstance(statement, RunQuery) and isinstance(statement.query, HostSelect)
    return is_query(statement.query, Findings(source))


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_is_accepted(text: str) -> None:
    assert is_accepted(text)


@pytest.mark.parametrize("text", OTHERS)
def test_another_statement_is_refused(text: str) -> None:
    assert not is_accepted(text)


def test_some_of_both_are_not_understood_by_sqlglot() -> None:
    """The strict scan is tested, too."""
    for texts in QUERIES, OTHERS:
        assert any(read_statement(text.replace(CLAUSE, "t")) is None for text in texts)


def test_what_sqlglot_says_of_a_statement_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert not is_accepted(OTHERS[5].replace("INSERT INTO zz", "EXPLAIN"))
    assert caplog.text == ""


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_of_spark_is_no_syntax_error_without_spark(text: str) -> None:
    """What sqlglot does not read may be right."""
    try:
        parsed(f"WITH t AS (SELECT 1)\n(\n{text.replace(CLAUSE, 'c')}\n)")
    except UnspelledOperation as refusal:
        assert not isinstance(refusal, WrongQuery)
