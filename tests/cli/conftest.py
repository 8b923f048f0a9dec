from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Here


@pytest.fixture
def neelc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.chdir(tmp_path)
    return Here(tmp_path, capsys)
