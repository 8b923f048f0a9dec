"""Worker processes of the local engine, which run tasks one after the other.

They are started when the first large task comes and stay for those after it. They are plain processes that
read tasks from a pipe: a user's script is not loaded again in them, as `multiprocessing` would.
"""

from __future__ import annotations

import atexit
import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

WORKER = "from neelc.engines.local.pool import serve; serve()"


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
        atexit.register(self.stop)

    def start(self) -> None:
        """Start the processes that do not run yet: they load their modules while others work."""
        while len(self._workers) < self.size:
            command = [sys.executable, "-c", WORKER]
            worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._workers.append(worker)

    def run(self, tasks: Sequence[Any]) -> list[Any]:
        """What each task gives, each in a process of its own; raises `LocalWorkerFailure` if one fails. If
        this is interrupted, the processes are ended."""
        self.start()
        assert len(tasks) <= self.size
        pairs = list(zip(self._workers, tasks, strict=False))
        try:
            with ThreadPoolExecutor(len(pairs)) as threads:
                answers = list(threads.map(lambda pair: _asked(*pair), pairs))
        except BaseException:
            self.stop()
            raise
        failures = [one.failure for one in answers if one.failure is not None]
        if failures:
            raise LocalWorkerFailure(failures[0])
        return [one.value for one in answers]

    def stop(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    pipe.close()
        self._workers.clear()


def _asked(worker: subprocess.Popen[bytes], task: Any) -> _Answer:
    assert worker.stdin is not None and worker.stdout is not None
    try:
        pickle.dump(task, worker.stdin)
        worker.stdin.flush()
        answer = pickle.load(worker.stdout)
    except (EOFError, OSError, pickle.UnpicklingError):
        code = worker.wait()
        reason = "there was not enough memory for it, or it was killed" if code < 0 else f"exit code {code}"
        return _Answer(
            failure=f"a worker process of the local engine ended in the middle of its work: {reason}"
        )
    assert isinstance(answer, _Answer)
    return answer


def serve() -> None:
    """The loop of a worker process: a task from the input, what it gives to the output."""
    import os
    import signal

    from neelc.engines.local.tasks import run_task

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started it ends it
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get among the answers
    while True:
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = _Answer(run_task(task))
        except Exception as error:
            answer = _Answer(failure=f"{type(error).__name__}: {error}")
        pickle.dump(answer, output)
        output.flush()
