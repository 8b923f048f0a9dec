"""What is going on: one line that changes on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TextIO

# Seconds between two looks at what is going on.
ON_A_TERMINAL, ELSEWHERE = 0.25, 5.0

CLEARED = "\r\x1b[2K"
"""What empties the line of a terminal."""

# Fewer rows than these may be the header of a file.
FEW = 100


@dataclass(frozen=True)
class StageProgress:
    """How far Spark is: the stage that runs, its tasks, and the rows read and written in all stages."""

    stage: int
    done: int
    tasks: int
    read: int = 0
    written: int = 0


class Progress:
    """Lines about a run, from another thread; `with` ends it and leaves the terminal as it was."""

    def __init__(self, out: TextIO) -> None:
        self.is_terminal = out.isatty()
        self.out = _own(out)
        self.phase = "starting"
        self.start = self.begun = time.perf_counter()
        self._look: Callable[[], StageProgress | None] | None = None
        self._paused = False
        self._writing = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self, phase: str, look: Callable[[], StageProgress | None] | None = None) -> None:
        """What is done from now on, and how to see how far it is."""
        self.phase, self._look, self._paused = phase, look, False
        self.begun = time.perf_counter()
        if self.is_terminal:
            self._show()

    def pause(self) -> None:
        """Say nothing until something new begins: the terminal is for the rows now."""
        self._paused = True
        if self.is_terminal:
            clear_line(self.out)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()
        if self.is_terminal:
            clear_line(self.out)

    def _run(self) -> None:
        while not self._end.wait(ON_A_TERMINAL if self.is_terminal else ELSEWHERE):
            if not self._paused:
                self._show()

    def _show(self) -> None:
        look = self._look
        state = None
        if look is not None:
            with suppress(Exception):  # the session may be about to end: this is only a line on a terminal
                state = look()
        now = time.perf_counter()
        text = line(self.phase, state, now - self.start, now - self.begun)
        with self._writing, suppress(OSError, ValueError):
            write_line(self.out, text, self.is_terminal)


def write_line(out: TextIO, text: str, is_terminal: bool) -> None:
    """Write a line over the one before, on a terminal; below it, elsewhere."""
    if is_terminal:
        out.write(f"{CLEARED}{text[: shutil.get_terminal_size().columns - 1]}")
    else:
        out.write(f"{text}\n")
    out.flush()


def clear_line(out: TextIO) -> None:
    """Leave the line of a terminal empty."""
    out.write(CLEARED)
    out.flush()


def _own(out: TextIO) -> TextIO:
    """The same file, for this alone: while Java is started, standard error is turned away from its noise."""
    try:
        return os.fdopen(os.dup(out.fileno()), "w", encoding=out.encoding, errors="replace")
    except (OSError, ValueError):  # a stand-in of Python's, no file
        return out


def line(phase: str, state: StageProgress | None, seconds: float, in_phase: float) -> str:
    """What is done, how far that is, and the seconds since the beginning.

    >>> line("starting Spark", None, 3.4, 3.4)
    'starting Spark, 3 s'
    >>> print(line("finding matches", StageProgress(2, 45, 200, read=1_200_000, written=380), 12.2, 8))
    finding matches: stage 2, 45/200 tasks, 1,200,000 events read (150,000/s), 380 matches, 12 s
    """
    words: list[str] = []
    if state is not None:
        words += [f"stage {state.stage}", f"{state.done}/{state.tasks} tasks"]
        if state.read >= FEW:
            rate = state.read / max(in_phase, 1e-9)
            words.append(f"{state.read:,} events read" + (f" ({rate:,.0f}/s)" if rate >= 100 else ""))
        if state.written:
            words.append(f"{state.written:,} matches")
    words.append(f"{seconds:.0f} s")
    return f"{phase}{':' if state else ','} {', '.join(words)}"


class Stages:
    """How far a classic session is. Spark Connect does not report it: only the time is shown then."""

    def __init__(self, spark: Any) -> None:
        self._context: Any = None
        with suppress(Exception):
            self._context = spark.sparkContext
        self._seen: dict[int, int] = {}
        self._read: dict[int, int] = {}
        self._written: dict[int, int] = {}

    def __call__(self) -> StageProgress | None:
        if self._context is None:
            return None
        tracker = self._context.statusTracker()
        running = list(self._running(tracker))
        if not running:
            return None
        for number, _ in running:
            self._seen.setdefault(number, len(self._seen) + 1)
        for number in self._seen:
            self._count(number)
        number, info = running[-1]
        return StageProgress(
            self._seen[number],
            info.numCompletedTasks,
            info.numTasks,
            sum(self._read.values()),
            sum(self._written.values()),
        )

    def _running(self, tracker: Any) -> Iterator[tuple[int, Any]]:
        for number in sorted(tracker.getActiveStageIds()):
            info = tracker.getStageInfo(number)
            if info is not None:
                yield number, info

    def _count(self, number: int) -> None:
        """Rows that a stage has read and written. Spark has no public way to ask: they may stay unknown."""
        with suppress(Exception):
            data = self._context._jsc.sc().statusStore().lastStageAttempt(number)
            self._read[number] = int(data.inputRecords())
            self._written[number] = int(data.outputRecords())
