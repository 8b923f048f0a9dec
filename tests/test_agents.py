"""Agents that users register: who may be one, and what it may give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import neelc
from neelc import syntax as parse
from neelc.cli import main
from neelc.program import bind
from neelc.runtime.reference import AgentFailure, run
from neelc.source import Source

NO_SPARK: Any = None

SCRIPT = Source("CREATE STREAM S (ts BIGINT, x INT) TIMESTAMP BY ts; SELECT x FROM f(S) AS g")
TABLES: dict[str, list[dict[str, object]]] = {"S": [{"ts": 1, "x": 7}, {"ts": 2, "x": None}]}


def answered(rows: Any, **settings: Any) -> list[tuple[object, ...]]:
    agent = neelc.agent(lambda frame: frame, columns="x INT", rows=rows, **settings)
    ((_, result),) = run(bind(parse.script(SCRIPT), SCRIPT, agents={"f": agent}), TABLES)
    return result.rows


def test_an_agent_gets_payloads_and_valid_times() -> None:
    assert answered(lambda rows: rows) == [(7, 1, 2), (None, 2, 3)]
    assert answered(lambda rows: [{"x": len(rows), "ts": 5, "te": None}]) == [(2, 5, None)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda rows: 1 / 0, "the agent f failed: ZeroDivisionError"),
        (lambda rows: None, "the agent f failed: TypeError"),
        (lambda rows: [{"x": 1, "ts": 1}], "which has no x, ts, te"),
        (lambda rows: [{"x": 1, "ts": 3, "te": 3}], "which is valid at no instant"),
        (lambda rows: [{"x": 1, "ts": None, "te": 3}], "which is valid at no instant"),
        (None, "it runs on Spark only"),
    ],
)
def test_an_agent_that_fails_is_told(rows: Any, message: str) -> None:
    with pytest.raises(AgentFailure, match=message):
        answered(rows)


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("f", "x", "columns are not a list"),
        ("f", "", "columns are not a list"),
        ("f", "x INT) TIMESTAMP BY (x", "columns are not a list"),
        ("f", "x INT, X STRING", "two columns have one name"),
        ("f", "x INT, te BIGINT", "te is added"),
        ("select", "x INT", "not a name that a query can call"),
        ("match", "x INT", "not a name that a query can call"),
    ],
)
def test_what_cannot_be_an_agent(name: str, columns: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        neelc.Session(NO_SPARK).register_agent(name, len, columns=columns)


def test_an_agent_says_its_columns() -> None:
    with pytest.raises(TypeError, match="declare the columns"):
        neelc.Session(NO_SPARK).register_agent("f", len)
    with pytest.raises(TypeError, match="columns is a text"):
        neelc.agent(len, columns=["x"])  # type: ignore[call-overload]


def test_the_command_line_reads_agents_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n1,7\n")
    (tmp_path / "agents.py").write_text(
        "def twice(rows): return [*rows, *rows]\nf = agent(len, columns='x INT', rows=twice)\n"
    )
    script = tmp_path / "q.neel"
    script.write_text(SCRIPT.text.replace("BY ts;", "BY ts FROM 's.csv';"))
    agents = ["--aggregates", str(tmp_path / "agents.py")]
    assert main(["run", str(script), "--engine", "reference", "--format", "csv", *agents]) == 0
    assert capsys.readouterr().out == "x,ts,te\n7,1,2\n7,1,2\n"
