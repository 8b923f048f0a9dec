"""Notebooks: cells of `%%neel` in a shell of IPython, and a whole notebook in a kernel of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT
from snippets import blocks

import neelc

pytest.importorskip("IPython", reason="notyet: notebooks require IPython")

PAGE = ROOT / "docs" / "how-to" / "notebooks.md"
NOTEBOOK = ROOT / "docs" / "examples" / "notebook" / "hospital.ipynb"

PAIRS = (
    "PATTERN SEQ(Ticks a, Ticks b) WHERE a.x > :least WITHIN 10 SECONDS RETURN a.ts AS a, b.ts AS b, a.note"
)


class Cells:
    """A shell, which tells of each cell whether it succeeded, its result, and what was shown on the way."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def __call__(self, cell: str, fails: bool = False) -> tuple[Any, str]:
        from IPython.utils.capture import capture_output

        with capture_output() as shown:
            done = self.shell.run_cell(cell)
        html = "".join(one.data.get("text/html", "") for one in shown.outputs)
        said = shown.stdout + shown.stderr + html
        assert done.success != fails, said
        return done.result, said


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cells]:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    settings = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    shell = InteractiveShell.instance(config=settings)
    shell.run_cell("%load_ext neelc")
    yield Cells(shell)
    InteractiveShell.clear_instance()


@pytest.fixture
def ticks(spark: Any) -> Iterator[None]:
    rows = [(1, 2.5, "a<b"), (2, None, "b"), (3, 1.0, "c")]
    spark.createDataFrame(rows, "ts BIGINT, x DOUBLE, note STRING").createOrReplaceTempView("Ticks")
    yield
    spark.catalog.dropTempView("Ticks")


def test_a_cell(spark: Any, ticks: None, cells: Cells) -> None:
    cells("least = 0.5")
    shown, _ = cells(f"%%neel -v Pairs -o pairs\n{PAIRS}")
    assert repr(shown) == "a  b  a_note\n1  2  a<b\n1  3  a<b\n(2 rows)"
    assert "<td>a&lt;b</td>" in shown._repr_html_()
    assert cells("pairs.columns")[0] == ["a", "b", "a_note"]
    assert spark.table("Pairs").count() == 2
    spark.catalog.dropTempView("Pairs")


def test_limits(ticks: None, cells: Cells) -> None:
    cells("least = 0.5")
    shown, _ = cells(f"%%neel -l 1\n{PAIRS}")
    assert repr(shown).splitlines()[1:] == ["1  2  a<b", "(the first 1 row; -l shows more)"]
    assert cells(f"%%neel -l 0 -o all\n{PAIRS}")[0] is None
    assert cells("all.columns")[0] == ["a", "b", "a_note"]


def test_a_line_and_a_session(spark: Any, cells: Cells) -> None:
    cells.shell.push({"neel": neelc.Session(spark), "other": neelc.Session(spark)})
    for name, value in (("neel", 1), ("other", 2)):
        frame = spark.createDataFrame([(value, "A")], "ts BIGINT, kind STRING")
        cells.shell.user_ns[name].register("Given", frame, type="kind")
    assert cells("%neel PATTERN A a WHERE a.kind = 'A' RETURN a.ts AS ts")[0].cells == (("1",),)
    assert cells("%%neel -s other\nPATTERN A a RETURN a.ts AS ts")[0].cells == (("2",),)


def test_an_untrusted_cell_reads_no_variables_and_no_views(spark: Any, ticks: None, cells: Cells) -> None:
    session = neelc.Session(spark, untrusted=True)
    cells.shell.push({"neel": session, "least": 0.5})
    _, said = cells(f"%%neel\n{PAIRS}", fails=True)
    assert "NEEL2005" in said or "NEEL2004" in said, "the view was not given"
    session.register("Ticks", spark.table("Ticks"))
    _, said = cells(f"%%neel\n{PAIRS}", fails=True)
    assert "NEEL2006" in said, "the variable is not read"
    shown, _ = cells(f"%%neel\n{PAIRS.replace(':least', '0.5')}")
    assert "(2 rows)" in repr(shown)


def test_explanations(ticks: None, cells: Cells) -> None:
    shown, warned = cells("%%neel --explain\nPATTERN SEQ(Ticks a, Ticks b) WITHIN 1 SECOND")
    assert "Plan" in repr(shown) and shown._repr_html_().startswith("<iframe sandbox=")
    assert repr(shown).count("NEEL6001") == 1 and warned.count("NEEL6001") == 1, "it stands in the text"
    shown, warned = cells("%%neel\nPATTERN SEQ(Ticks a, Ticks b) WITHIN 2 SECONDS")
    assert "warning[NEEL6001]</b>" in warned and warned.count("NEEL6001") == 1
    rows = "SELECT * FROM Ticks MATCH_RECOGNIZE (ORDER BY ts PATTERN (A))"
    shown, _ = cells(f"%%neel --explain\n{rows}")
    assert "MATCH_RECOGNIZE over Ticks" in repr(shown) and shown._repr_html_().startswith("<iframe sandbox=")


def test_an_error_is_shown_where_it_is(ticks: None, cells: Cells) -> None:
    _, said = cells("%%neel\nPATTERN SEQ(Ticks a, Ticks b)\nWHERE c.x < 1", fails=True)
    assert said.count("unknown pattern variable") == 2, "once as HTML, and in the line that ends the cell"
    assert "NeelQueryError: error[NEEL2001]" in said and "Traceback" not in said
    assert "WHERE c.x &lt; 1\n  | <b style=" in said
    code = "import neelc\nneelc.Session(neelc.api.notebook.active_session()).sql('PATTERN SEQ(Ticks a,')"
    _, said = cells(code, fails=True)
    assert said.startswith("line 2: neelc.Session(") and "error[NEEL1001]" in said
    assert "session.py" not in said and "Traceback" not in said


@pytest.mark.parametrize(
    "cell, sentence",
    [
        ("%%neel -l -1\nPATTERN A a", "-l -1: a number of rows, 0 or more"),
        ("%%neel -o 1x\nPATTERN A a", "-o 1x: no name of a variable"),
        ("%%neel -s nobody\nPATTERN A a", "-s nobody: no such variable"),
        ("%%neel -l many\nPATTERN A a", "invalid int value"),
    ],
)
def test_wrong_calls(cell: str, sentence: str, spark: Any, cells: Cells) -> None:
    _, said = cells(cell, fails=True)
    assert sentence in said and said.startswith("UsageError: ") and len(said.splitlines()) == 1


def test_no_session(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neelc.api.notebook.active_session", lambda: None)
    _, said = cells("%%neel\nPATTERN A a", fails=True)
    assert said.startswith("UsageError: no Spark session is active")


def test_queries_and_texts(spark: Any, ticks: None) -> None:
    query = neelc.Session(spark).compile("PATTERN SEQ(Ticks a, Ticks b) WHERE a.note < 'x' RETURN a.ts AS x")
    html = query._repr_html_()
    assert "a.note &lt; &#x27;x&#x27;" in html and "warning[NEEL6003]</b>" in html
    assert query.plan._repr_html_().startswith("<pre") and query.plan._repr_html_() in html
    assert "srcdoc=" in query.explain(format="html")._repr_html_()


def test_the_cells_of_the_page_run(spark: Any, cells: Cells) -> None:
    cells.shell.push({"spark": spark, "least": 1})
    told = [block for block in blocks(PAGE) if block.language == "python" or block.text.startswith("%")]
    assert len(told) == 6
    shown = [cells(block.text)[0] for block in told]
    assert tuple(sorted(shown[2].cells)) == (
        ("ann", "10.0", "12.0"),
        ("ann", "10.0", "15.0"),
        ("ann", "12.0", "15.0"),
    )
    assert shown[3].count == "the first 2 rows; -l shows more" and shown[5].cells == (("ann", "1", "2"),)
    for view in ("Payments", "More"):
        spark.catalog.dropTempView(view)


# As for the session of the tests: each plan runs once, so that compiling it takes longer than it saves.
DEFAULTS = """
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.codegen.wholeStage false
"""


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipykernel", reason="notyet: a kernel requires ipykernel")
    import nbformat
    from nbclient import NotebookClient

    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    shutil.copytree(NOTEBOOK.parent.parent / "hospital", tmp_path / "hospital")
    (tmp_path / "notebook").mkdir()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    place = {"metadata": {"path": str(tmp_path / "notebook")}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("<td>" in page and "3 rows" in page for page in pages)
    assert any(page.startswith("<iframe") for page in pages)
    assert any("error[NEEL2001]</b>" in page for page in pages)
    errors = [output for output in outputs if output["output_type"] == "error"]
    assert [(error["ename"], len(error["traceback"])) for error in errors] == [("NeelQueryError", 1)]


def test_the_notebook_keeps_no_outputs() -> None:
    import nbformat

    assert not any(cell.get("outputs") for cell in nbformat.read(NOTEBOOK, as_version=4).cells)
