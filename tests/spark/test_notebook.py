"""Notebooks on Spark: cells of `%%neel` in a shell of IPython."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from notebook_cells import PAGE, Cells, cells, notebook_blocks

import neelc

pytest.importorskip("IPython", reason="notyet: notebooks require IPython")

__all__ = ["cells"]  # a fixture


PAIRS = (
    "PATTERN SEQ(Ticks a, Ticks b) WHERE a.x > :least WITHIN 10 SECONDS RETURN a.ts AS a, b.ts AS b, a.note"
)


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


def test_queries_and_texts(spark: Any, ticks: None) -> None:
    query = neelc.Session(spark).compile("PATTERN SEQ(Ticks a, Ticks b) WHERE a.note < 'x' RETURN a.ts AS x")
    html = query._repr_html_()
    assert "a.note &lt; &#x27;x&#x27;" in html and "warning[NEEL6003]</b>" in html
    assert query.plan._repr_html_().startswith("<pre") and query.plan._repr_html_() in html
    assert "srcdoc=" in query.explain(format="html")._repr_html_()


def test_the_cells_of_the_page_run(spark: Any, cells: Cells) -> None:
    cells.shell.push({"spark": spark, "neelc": neelc})
    first = PAGE.read_text().partition("## On Spark")[0].count("\n")
    made, shown = (cells(block.text)[0] for block in notebook_blocks(PAGE) if block.line > first)
    assert made is None and shown.count == "the first 2 rows; -l shows more"
    assert spark.table("Raised").count() == 3
    for view in ("Payments", "Raised"):
        spark.catalog.dropTempView(view)
