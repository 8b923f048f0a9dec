"""The Python blocks of a page run, one after the other, and print what the page shows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT
from snippets import like, pages_with, snippets


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples, copied: what programs write is gone afterwards."""
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


STREAMS = ("watermarks-and-late-events.md", "test-a-streaming-query.md")
"""Pages whose queries run over streams: test_streaming_pages.py executes them."""
PAGES = [page for page in pages_with("python") if page.name not in STREAMS]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_snippets(page: Path, spark: Any, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, Any] = {"spark": spark, "__name__": "__page__"}
    for block in (block for block in snippets("python") if block.page == page):
        exec(compile(block.text, block.place, "exec"), known)
        printed = capsys.readouterr().out
        if block.output is not None:
            assert like(block.output).fullmatch(printed.strip()), f"{block.place}\n{printed}"
    for view in spark.sql("SHOW VIEWS").collect():
        spark.catalog.dropTempView(view.viewName)
