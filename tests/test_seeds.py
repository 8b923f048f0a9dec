"""Every query of the papers parses, as written there or with the difference noted in a comment."""

from __future__ import annotations

from pathlib import Path

import pytest

from neelc import syntax as parse
from neelc.ir.script import CreateQuery, RunQuery
from neelc.source import Source
from neelc.syntax.printer import format_script

SEEDS = Path(__file__).parent / "seeds"


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.neel")), ids=lambda p: p.stem)
def test_queries_of_the_papers_parse_and_survive_formatting(path: Path) -> None:
    script = parse.script(Source(path.read_text(), path.name))
    assert sum(isinstance(s, CreateQuery | RunQuery) for s in script.statements) >= 9
    assert parse.script(format_script(script)) == script
