"""The example with a million events: its generator makes what its scripts ask for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet
import pytest
from binding import program
from repository import ROOT

from neelc import syntax as parse
from neelc.source import Source
from neelc.syntax.printer import format_script

MILLION = ROOT / "docs" / "examples" / "million"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_million", MILLION / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_makes_as_many_events_as_asked(generate: ModuleType, tmp_path: Path) -> None:
    generate.main(tmp_path, 10_000)
    sizes = {path.stem: pa.parquet.read_table(path).num_rows for path in tmp_path.iterdir()}
    assert sizes == {"hospital": 6000, "trades": 4000}


@pytest.mark.parametrize("name", ["hospital", "trades"])
def test_events_are_the_same_every_time(generate: ModuleType, name: str) -> None:
    make = getattr(generate, name)
    assert make(3000).equals(make(3000))


@pytest.mark.parametrize(("name", "table", "queries"), [("hospital", "hospital", 1), ("stocks", "trades", 2)])
def test_scripts_fit_the_events(generate: ModuleType, name: str, table: str, queries: int) -> None:
    text = (MILLION / f"{name}.neel").read_text()
    bound = program(text, head="")
    (stream,) = {stream.name: stream for query in bound.queries for stream in query.match.streams}.values()
    assert [column.name for column in stream.columns] == getattr(generate, table)(100).column_names
    assert len(bound.queries) == queries
    source = Source(text)
    assert parse.script(format_script(parse.script(source))) == parse.script(source)


def test_some_instruments_skip_a_step(generate: ModuleType) -> None:
    events = generate.hospital(60_000)["activity"].to_pylist()
    counts = {kind: events.count(kind) for kind in generate.STEPS}
    left_out = 3 * counts["Recycle"] - sum(
        counts[kind] for kind in ("Sharpening", "Disinfection", "Checking")
    )
    assert 20 < left_out < 90
