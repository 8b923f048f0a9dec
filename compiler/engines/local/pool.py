"""Worker processes of the local engine, which run tasks one after the other.

They are started when the first large task comes and stay for those after it. They are plain processes that
read tasks from a pipe: a user's script is not loaded again in them, as `multiprocessing` would.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock, Thread
from typing import Any, BinaryIO

from neelc.engines.local.work import WorkState, together
from neelc.runtime.late_dataclass import dataclass

WORKER = "from neelc.engines.local.pool import serve; serve()"


REPORTED = 0.25
"""Seconds between two reports of how far a task is."""


class LocalWorkerFailure(RuntimeError):
    """What failed in a worker process, in the words of its exception."""


@dataclass(frozen=True)
class _Answer:
    value: Any = None
    failure: str | None = None


class WorkerPool:
    """So many processes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._workers: list[subprocess.Popen[bytes]] = []
        self._states: dict[int, WorkState] = {}
        self._scratch: str | None = None
        atexit.register(self.stop)

    def start(self) -> None:
        """Start the processes that do not run yet: they load their modules while others work."""
        if self._scratch is None:
            # For their files, too: they are killed, and leave them behind.
            self._scratch = tempfile.mkdtemp(prefix="neelc-")
        surroundings = {**os.environ, "TMPDIR": self._scratch}
        while len(self._workers) < self.size:
            command = [sys.executable, "-c", WORKER]
            pipe = subprocess.PIPE
            worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=surroundings)
            self._workers.append(worker)

    def run(self, tasks: Sequence[Any]) -> list[Any]:
        """What each task gives, each in a process of its own; raises `LocalWorkerFailure` if one fails. If
        this is interrupted, the processes are ended."""
        self.start()
        assert len(tasks) <= self.size
        numbers = range(len(tasks))
        self._states = dict.fromkeys(numbers, WorkState())
        threads = ThreadPoolExecutor(len(tasks))
        try:
            answers = list(threads.map(self._asked, numbers, tasks))
        except BaseException:
            self.stop()  # the threads wait for the processes
            raise
        finally:
            threads.shutdown()
        failures = [one.failure for one in answers if one.failure is not None]
        if failures:
            raise LocalWorkerFailure(failures[0])
        return [one.value for one in answers]

    def state(self) -> WorkState:
        """How far all tasks are."""
        return together(self._states.values())

    def _asked(self, number: int, task: Any) -> _Answer:
        """What one process answers."""
        worker = self._workers[number]
        assert worker.stdin is not None and worker.stdout is not None
        try:
            pickle.dump(task, worker.stdin)
            worker.stdin.flush()
            while isinstance(answer := pickle.load(worker.stdout), WorkState):
                self._states[number] = answer
        except (EOFError, OSError, pickle.UnpicklingError):
            code = worker.wait()
            killed = "there was not enough memory for it, or it was killed"
            reason = killed if code < 0 else f"exit code {code}"
            return _Answer(
                failure=f"a worker process of the local engine ended in the middle of its work: {reason}"
            )
        assert isinstance(answer, _Answer)
        self._states[number] = replace(self._states[number], share=1.0, is_searching=True)
        return answer

    def stop(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    pipe.close()
        self._workers.clear()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None


def serve() -> None:
    """The loop of a worker process: a task from the input, what it gives to the output."""
    from neelc.engines.local.no_pandas import hidden_pandas

    with hidden_pandas():  # to the end of the process
        from neelc.engines.local.tasks import run_task

        _serve(run_task)


def _serve(run_task: Callable[[Any, Callable[[Callable[[], WorkState]], None]], int]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started it ends it
    answers = _Answers(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # what a library prints must not get among the answers
    while True:
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = _Answer(run_task(task, answers.watch))
        except Exception as error:
            answer = _Answer(failure=f"{type(error).__name__}: {error}")
        answers.end(answer)


class _Answers:
    """What a process writes: now and then how far it is, from another thread, and at the end its answer."""

    def __init__(self, out: BinaryIO) -> None:
        self.out = out
        self._lock = Lock()
        self._state: Callable[[], WorkState] | None = None
        Thread(target=self._report, daemon=True).start()

    def watch(self, state: Callable[[], WorkState]) -> None:
        """From now on this tells how far the task is."""
        self._state = state

    def end(self, answer: _Answer) -> None:
        self._state = None
        self._write(answer)

    def _report(self) -> None:
        while True:
            time.sleep(REPORTED)
            state = self._state
            if state is not None:
                try:
                    self._write(state(), state)
                except OSError:  # whoever has asked is gone
                    os._exit(1)
                except Exception:  # the query may have just ended
                    continue

    def _write(self, answer: _Answer | WorkState, state: Callable[[], WorkState] | None = None) -> None:
        with self._lock:
            if state is self._state:  # else the answer has been written in the meantime
                pickle.dump(answer, self.out)
                self.out.flush()
