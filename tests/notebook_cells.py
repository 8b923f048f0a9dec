"""Cells of a notebook, in a shell of IPython."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT
from snippets import Block, blocks

PAGE = ROOT / "docs" / "how-to" / "notebooks.md"


def notebook_blocks(page: Path) -> list[Block]:
    """The blocks of a page that are cells."""
    return [block for block in blocks(page) if block.language == "python" or block.text.startswith("%")]


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
