"""Notebooks without Spark: cells of `%%neel` on the local engine, and a notebook in a kernel of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from notebook_cells import PAGE, Cells, cells, notebook_blocks
from repository import ROOT

import neelc
from neelc.api.local import LocalSession
from neelc.engines.local.execution import LocalEngine

pytest.importorskip("IPython", reason="notyet: notebooks require IPython")

__all__ = ["cells"]  # a fixture

NOTEBOOKS = ROOT / "docs" / "examples" / "notebook"
TICKS = pa.table({"ts": [1, 2, 3], "x": [2.5, None, 1.0], "note": ["a<b", "b", "c"]})
PAIRS = (
    "PATTERN SEQ(Ticks a, Ticks b) WHERE a.x > :least WITHIN 10 SECONDS RETURN a.ts AS a, b.ts AS b, a.note"
)
SHOWN = "a  b  a_note\n1  2  a<b\n1  3  a<b\n(2 rows)"


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("neelc.api.notebook.active_session", lambda: None)
    yield


def ticks(kind: str) -> Any:
    """The table of a library; what is not installed is skipped."""
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(TICKS.to_pydict())
    if kind == "polars":
        return pytest.importorskip("polars", reason="notyet: polars is not installed").from_arrow(TICKS)
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(TICKS)
    return {"arrow": TICKS, "dicts": TICKS.to_pylist(), "stream": neelc.stream(TICKS, unit="ms")}[kind]


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "duckdb", "dicts", "stream"])
def test_a_variable_is_a_stream(kind: str, cells: Cells) -> None:
    cells.shell.push({"Ticks": ticks(kind), "least": 0.5})
    shown, _ = cells(f"%%neel -o pairs\n{PAIRS}")
    assert repr(shown) == SHOWN and "<td>a&lt;b</td>" in shown._repr_html_()
    assert cells("pairs.columns")[0] == ["a", "b", "a_note"]
    assert isinstance(shown.frame, neelc.LocalFrame)


def test_a_result_is_a_stream_of_other_cells(cells: Cells) -> None:
    cells.shell.push({"Ticks": TICKS, "least": 0.5})
    cells(f"%%neel -o Pairs -l 0\n{PAIRS.replace('a.ts AS a', 'a.ts AS ts')}")
    shown, _ = cells("%%neel\nPATTERN SEQ(Pairs p, Pairs q) WITHIN 1 SECOND RETURN p.b AS one, q.b AS two")
    assert shown.count == "0 rows", "both are at 1"
    assert cells("%neel PATTERN Pairs p RETURN p.b AS b")[0].cells == (("2",), ("3",))


def test_limits(cells: Cells) -> None:
    cells.shell.push({"Ticks": TICKS, "least": 0.5})
    shown, _ = cells(f"%%neel -l 1\n{PAIRS}")
    assert repr(shown).splitlines()[1:] == ["1  2  a<b", "(the first 1 row; -l shows more)"]
    assert cells(f"%%neel -l 0 -o all\n{PAIRS}")[0] is None
    assert cells("all.count()")[0] == 2


def test_files(cells: Cells, tmp_path: Path) -> None:
    path = tmp_path / "ticks.csv"
    path.write_text("ts,x\n1,2\n5,3\n")
    script = f"CREATE STREAM T (ts INT, x INT) TIMESTAMP BY ts FROM '{path}';\nPATTERN T t RETURN t.x AS x"
    assert cells(f"%%neel\n{script}")[0].cells == (("2",), ("3",))


def test_sessions(cells: Cells) -> None:
    for name, ts in (("neel", 1), ("other", 2)):
        session = neelc.local()
        session.register("Given", [{"ts": ts, "kind": "A"}], type="kind")
        cells.shell.push({name: session})
    assert cells("%neel PATTERN A a RETURN a.ts AS ts")[0].cells == (("1",),)
    assert cells("%%neel -s other\nPATTERN A a RETURN a.ts AS ts")[0].cells == (("2",),)
    cells.shell.push({"More": [{"ts": 3}]})
    assert cells("%neel SELECT m.ts AS at FROM More AS m")[0].cells[0][0] == "3", "beside those of a session"


def test_what_a_session_has_comes_before_variables(cells: Cells) -> None:
    session = neelc.local()
    session.register("Ticks", [{"ts": 7}])
    cells.shell.push({"neel": session, "Ticks": [{"ts": 8}], "More": [{"ts": 9}]})
    assert cells("%neel PATTERN Ticks t RETURN t.ts AS ts")[0].cells == (("7",),)
    with pytest.raises(neelc.NeelQueryError):
        session.sql("PATTERN More m")


def test_an_untrusted_cell_reads_no_variables(cells: Cells) -> None:
    session = LocalSession(LocalEngine(), untrusted=True)
    cells.shell.push({"neel": session, "least": 0.5, "Ticks": TICKS})
    _, said = cells(f"%%neel\n{PAIRS}", fails=True)
    assert "NEEL2005" in said or "NEEL2004" in said, "the variable was not given"
    session.register("Ticks", TICKS)
    assert "NEEL2006" in cells(f"%%neel\n{PAIRS}", fails=True)[1], "the parameter is not read"
    assert repr(cells(f"%%neel\n{PAIRS.replace(':least', '0.5')}")[0]) == SHOWN


def test_times_are_shown_by_the_clock_of_the_session(cells: Cells) -> None:
    cells.shell.push({"neel": neelc.local(timezone="Europe/Berlin"), "E": [{"ts": 0}]})
    shown, _ = cells("%neel PATTERN E e RETURN TIMESTAMP '2024-05-01 10:00:00+00:00' AS at")
    assert shown.cells == (("2024-05-01 12:00:00",),)


def test_explanations_and_warnings(cells: Cells) -> None:
    cells.shell.push({"Ticks": TICKS})
    shown, warned = cells("%%neel --explain\nPATTERN SEQ(Ticks a, Ticks b) WITHIN 1 SECOND")
    assert "Plan" in repr(shown) and shown._repr_html_().startswith("<iframe sandbox=")
    assert repr(shown).count("NEEL6001") == 1 and warned.count("NEEL6001") == 1, "it stands in the text"
    _, warned = cells("%%neel\nPATTERN SEQ(Ticks a, Ticks b) WITHIN 2 SECONDS")
    assert "warning[NEEL6001]</b>" in warned and warned.count("NEEL6001") == 1


def test_errors_of_queries_and_runs(cells: Cells) -> None:
    cells.shell.push({"Ticks": TICKS})
    _, said = cells("%%neel\nPATTERN SEQ(Ticks a, Ticks b)\nWHERE c.x < 1", fails=True)
    assert said.count("unknown pattern variable") == 2, "once as HTML, and in the line that ends the cell"
    assert "NeelQueryError: error[NEEL2001]" in said and "Traceback" not in said
    rows = "MATCH_RECOGNIZE (ORDER BY ts AFTER MATCH SKIP TO LAST B PATTERN (A B?) DEFINE B AS FALSE)"
    _, said = cells(f"%%neel\nSELECT * FROM Ticks {rows}", fails=True)
    assert "NeelRunError: error[NEEL5009]" in said and "Traceback" not in said


def test_spark_sql_around_a_clause_reads_variables(cells: Cells) -> None:
    cells.shell.push({"Ticks": TICKS})
    rows = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.ts AS a, B.ts AS b PATTERN (A B) DEFINE B AS B.x < 2)"
    shown, _ = cells(f"%%neel\nSELECT a + 1 AS c, b FROM Ticks {rows}")
    assert shown.cells == (("3", "3"),)
    _, said = cells(f"%%neel\nSELECT * FROM Tocks {rows}", fails=True)
    assert "not supported by the local engine yet: the table Tocks, which is no stream" in said


@pytest.mark.parametrize(
    "cell, sentence",
    [
        ("%%neel -v Pairs\nPATTERN Ticks a", "-v Pairs: the local engine has no views; -o Pairs keeps"),
        ("%%neel\nPATTERN Odd a", "column `ts` is of type time64[us], which Spark does not have"),
        ("%%neel -s Ticks\nPATTERN Ticks a", "-s Ticks: no neelc.Session, but of type Table"),
    ],
)
def test_wrong_calls(cell: str, sentence: str, cells: Cells) -> None:
    odd = pa.table({"ts": pa.array([1], pa.time64("us"))})
    cells.shell.push({"Ticks": TICKS, "Odd": odd})
    _, said = cells(cell, fails=True)
    assert sentence in said and said.startswith("UsageError: ") and len(said.splitlines()) == 1


def test_variables_that_are_no_tables(cells: Cells) -> None:
    reader = TICKS.to_reader()
    values = {"Number": 7, "Texts": ["a"], "Empty": [], "Column": TICKS.column("x"), "Reader": reader}
    cells.shell.push(values)
    for name in values:
        assert "NEEL200" in cells(f"%%neel\nPATTERN {name} a", fails=True)[1], name


def test_the_cells_of_the_page_run(cells: Cells) -> None:
    end = PAGE.read_text().partition("## On Spark")[0].count("\n")
    told = [block for block in notebook_blocks(PAGE) if block.line < end]
    assert len(told) == 7
    shown = [cells(block.text)[0] for block in told]
    assert tuple(sorted(shown[2].cells)) == (
        ("ann", "10.0", "12.0"),
        ("ann", "10.0", "15.0"),
        ("ann", "12.0", "15.0"),
    )
    assert shown[4].count == "the first 2 rows; -l shows more" and shown[6].cells == (("ann", "1", "2"),)


def test_neither_java_nor_pyspark_is_needed(tmp_path: Path) -> None:
    script = tmp_path / "cells.py"
    script.write_text(
        "import sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('%load_ext neelc')\n"
        "shell.push({'E': [{'ts': 1}, {'ts': 2}]})\n"
        "done = shell.run_cell('%neel PATTERN SEQ(E a, E b) WITHIN 5 RETURN a.ts AS a, b.ts AS b')\n"
        "assert done.result.cells == (('1', '2'),), done\n"
        "assert 'pyspark' not in sys.modules and 'py4j' not in sys.modules\n"
    )
    environment = {"IPYTHONDIR": str(tmp_path), "PATH": "/nowhere"}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")))
def test_the_notebooks_show_what_their_cells_give(name: str, tmp_path: Path, update: bool) -> None:
    """Their outputs are committed, so that a page that shows notebooks shows them; `--update` renews them."""
    pytest.importorskip("ipykernel", reason="notyet: a kernel requires ipykernel")
    import nbformat
    from nbclient import NotebookClient

    for example in NOTEBOOKS.parent.iterdir():
        if example.name in ("hospital", "fraud"):
            shutil.copytree(example, tmp_path / example.name)
    (tmp_path / "notebook").mkdir()
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    place = {"metadata": {"path": str(tmp_path / "notebook")}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    if name == "hospital.ipynb":
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
        assert any("<td>" in page and "3 rows" in page for page in pages)
        assert any(page.startswith("<iframe") for page in pages)
        assert any("error[NEEL2001]</b>" in page for page in pages)
        errors = [output for output in outputs if output["output_type"] == "error"]
        assert [(error["ename"], len(error["traceback"])) for error in errors] == [("NeelQueryError", 1)]
    for cell in notebook.cells:
        keep(cell)
    made = nbformat.writes(notebook) + "\n"
    if update:
        (NOTEBOOKS / name).write_text(made)
    assert made == (NOTEBOOKS / name).read_text(), "its outputs are not what its cells give: pytest --update"


def keep(cell: Any) -> None:
    """Leave what is the same in every run, and what a viewer shows that runs no scripts: the page of an
    explanation is a frame with a script, and its text stands beside it."""
    cell.metadata.pop("execution", None)
    for output in cell.get("outputs", []):
        if output.get("data", {}).get("text/html", "").startswith("<iframe"):
            del output["data"]["text/html"]
