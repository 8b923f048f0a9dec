"""What is shown while a run goes on."""

from __future__ import annotations

import io
import os
import pty
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from neelc.cli import progress
from neelc.cli.progress import PhaseProgress, Progress


def shown(look: progress.Look | None, seconds: float) -> str:
    """What a terminal gets in these seconds."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal, Progress(terminal) as running:
        running.begin("finding matches", look)
        time.sleep(seconds)
    with os.fdopen(ours, "rb", buffering=0) as end:
        return b"".join(_pieces(end)).decode()


def _pieces(end: io.FileIO) -> Iterator[bytes]:
    """A terminal hands out what was written in pieces, and may take a moment for the last one."""
    with suppress(OSError):  # its other end is closed: all has come
        while piece := end.read(65_536):
            yield piece


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ON_A_TERMINAL", 0.01)
    text = shown(lambda: PhaseProgress(0.42, ("stage 2",)), 0.6)
    assert "finding matches: stage 2" in text and "42%" in text and "━" in text
    assert text.rstrip().endswith("\x1b[2K"), "the line is empty at the end"


def test_a_share_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ON_A_TERMINAL", 0.01)

    def fail() -> PhaseProgress:
        raise RuntimeError("the session has just ended")

    for look in (None, fail, lambda: None):
        text = shown(look, 0.4)
        assert "finding matches" in text and "42%" not in text


def test_a_short_run_says_nothing() -> None:
    assert shown(lambda: PhaseProgress(0.5), 0.0) == ""


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ELSEWHERE", 0.05)
    out = io.StringIO()
    with Progress(out) as running:
        running.begin("finding matches", lambda: PhaseProgress(0.5))
        time.sleep(0.2)
        running.pause()
        before = out.getvalue()
        time.sleep(0.2)
    assert before.startswith("finding matches: 50 %, 0 s\n") and out.getvalue() == before
