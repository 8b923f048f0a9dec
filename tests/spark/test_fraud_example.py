"""The fraud example: its events are what its generator makes, and its job finds what the reference finds."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from repository import ROOT

import neelc

FRAUD = ROOT / "docs" / "examples" / "fraud"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"fraud_{name}", FRAUD / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_events_are_what_the_generator_makes(tmp_path: Path) -> None:
    example("generate").main(str(tmp_path / "bank.csv"))
    assert (tmp_path / "bank.csv").read_text() == (FRAUD / "bank.csv").read_text()


def test_the_job(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Shipping would change the workers of all tests that come after.
    monkeypatch.setattr(neelc, "ship", lambda session: None)
    events, alarms = tmp_path / "bank.parquet", tmp_path / "alarms"
    example("generate").main(str(events), "120")
    example("job").main(str(events), str(alarms))
    assert capsys.readouterr().out.endswith("alarms: 3 alarms\n")
    found = {row.d_account for row in spark.read.parquet(str(alarms)).collect()}
    assert found == {"acc-0008", "acc-0108"}
