"""What is going on: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from neelc.runtime.late_dataclass import dataclass

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

# Seconds between two looks at what is going on.
ON_A_TERMINAL, ELSEWHERE = 0.25, 5.0

CLEARED = "\r\x1b[2K"
"""What empties the line of a terminal."""

# Fewer rows than these may be the header of a file.
FEW = 100


@dataclass(frozen=True)
class PhaseProgress:
    """How far something is: a `share` from 0 to 1, if that is known, and what else there is to say."""

    share: float | None
    words: tuple[str, ...] = ()


Look = Callable[[], PhaseProgress | None]
"""Asks how far something is; None if that is not known."""


class Progress:
    """Lines about a run, from another thread; `with` ends it and leaves the terminal as it was."""

    def __init__(self, out: TextIO) -> None:
        self.is_terminal = out.isatty()
        self._given = out
        self.out = _own(out)
        self.phase = "starting"
        self.start = self.begun = time.perf_counter()
        self._look: Look | None = None
        self._paused = False
        self._writing = threading.Lock()
        self._bar: Bar | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self, phase: str, look: Look | None = None) -> None:
        """What is done from now on, and how to see how far it is."""
        self.phase, self._look, self._paused = phase, look, False
        self.begun = time.perf_counter()

    def pause(self) -> None:
        """Say nothing until something new begins: the terminal is for the rows now."""
        self._paused = True
        self._remove_bar()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()
        self._remove_bar()
        if self.out is not self._given:
            self.out.close()

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
        with self._writing, suppress(OSError, ValueError):
            if self._paused:
                return
            if self.is_terminal:
                self._show_bar(state)
            else:
                write_line(self.out, line(self.phase, state, time.perf_counter() - self.start), False)

    def _show_bar(self, state: PhaseProgress | None) -> None:
        if self._bar is None:
            self._bar = _new_bar(self.out)
            self._bar.add_task("", total=None, words="")
            self._bar.start()
        share = None if state is None else state.share
        words = "" if state is None else ", ".join(state.words)
        (task,) = self._bar.tasks
        task.total = None if share is None else 1.0  # without a total, the bar runs to and fro
        description = self.phase + (":" if words else "")
        self._bar.update(task.id, description=description, words=words, completed=share or 0.0)

    def _remove_bar(self) -> None:
        with self._writing, suppress(OSError, ValueError):
            if self._bar is not None:
                self._bar.stop()
                self._bar = None


def _new_bar(out: TextIO) -> Bar:
    """A bar that leaves nothing behind. It is loaded when something takes so long that a bar is of use."""
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description} {task.fields[words]}", markup=False),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    return Bar(*columns, console=Console(file=out, force_terminal=True), transient=True)


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


def line(phase: str, state: PhaseProgress | None, seconds: float) -> str:
    """What is done, how far that is, and the seconds since the beginning.

    >>> line("starting Spark", None, 3.4)
    'starting Spark, 3 s'
    >>> line("finding matches", PhaseProgress(0.425, ("stage 2", "85/200 tasks")), 12.2)
    'finding matches: stage 2, 85/200 tasks, 42 %, 12 s'
    """
    words = [] if state is None else list(state.words)
    if state is not None and state.share is not None:
        words.append(f"{state.share:.0%}".replace("%", " %"))
    return f"{phase}{':' if words else ','} {', '.join([*words, f'{seconds:.0f} s'])}"


class Stages:
    """How far a classic session is. Spark Connect does not report it: only the time is shown then."""

    def __init__(self, spark: Any) -> None:
        self._context: Any = None
        with suppress(Exception):
            self._context = spark.sparkContext
        self._seen: dict[int, int] = {}
        self._read: dict[int, int] = {}
        self._written: dict[int, int] = {}
        self._begun = time.perf_counter()

    def __call__(self) -> PhaseProgress | None:
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
        words = [f"stage {self._seen[number]}", f"{info.numCompletedTasks}/{info.numTasks} tasks"]
        read, written = sum(self._read.values()), sum(self._written.values())
        words += rows_words(read, written, time.perf_counter() - self._begun)
        return PhaseProgress(info.numCompletedTasks / max(info.numTasks, 1), tuple(words))

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


def rows_words(read: int, written: int, seconds: float) -> list[str]:
    """
    >>> rows_words(1_200_000, 380, 8), rows_words(3, 0, 8)
    (['1,200,000 events read (150,000/s)', '380 matches'], [])
    """
    words = []
    if read >= FEW:
        rate = read / max(seconds, 1e-9)
        words.append(f"{read:,} events read" + (f" ({rate:,.0f}/s)" if rate >= 100 else ""))
    return [*words, f"{written:,} matches"] if written else words
