"""A client of `neelc lsp` for tests: a real process, spoken to as editors do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, Any

# So long a test waits for an answer; nothing should take it.
PATIENCE = 60


class Client:
    """One running server; `pending` are notifications that have not been read."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process = process
        self.input: IO[bytes] = process.stdin
        self.number = 0
        self.pending: list[dict[str, Any]] = []
        self.greeting: dict[str, Any] = {}
        self.incoming: Queue[dict[str, Any] | None] = Queue()
        Thread(target=self._listen, args=(process.stdout,), daemon=True).start()

    def _listen(self, output: IO[bytes]) -> None:
        while header := output.readline():
            length = int(header.partition(b":")[2]) if header.lower().startswith(b"content-length") else 0
            while header.strip():
                header = output.readline()
            self.incoming.put(json.loads(output.read(length)))
        self.incoming.put(None)

    def send(self, **message: Any) -> None:
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_raw(self, body: bytes) -> None:
        self.input.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.input.flush()

    def notify(self, method: str, **parameters: Any) -> None:
        self.send(method=method, params=parameters)

    def answer(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The whole answer to a request: with `result` or with `error`."""
        self.number += 1
        self.send(id=self.number, method=method, params=parameters)
        while (message := self.next()).get("id") != self.number:
            self.pending.append(message)
        return message

    def ask(self, method: str, **parameters: Any) -> Any:
        answered = self.answer(method, **parameters)
        assert "error" not in answered, answered
        return answered["result"]

    def next(self) -> dict[str, Any]:
        message = self.incoming.get(timeout=PATIENCE)
        assert message is not None, "the server has gone"
        return message

    def notification(self, method: str) -> dict[str, Any]:
        """The parameters of the next notification of that kind."""
        while True:
            for place, message in enumerate(self.pending):
                if message.get("method") == method:
                    found: dict[str, Any] = self.pending.pop(place)["params"]
                    return found
            self.pending.append(self.next())

    def end(self) -> int:
        """Shut the server down as the protocol says; gives its exit code."""
        self.ask("shutdown")
        self.send(method="exit")
        return self.process.wait(PATIENCE)


@contextmanager
def client(directory: Path, *arguments: str, capabilities: dict[str, Any] | None = None) -> Iterator[Client]:
    """A server that has been greeted."""
    command = [sys.executable, "-m", "neelc", "lsp", *arguments]
    with subprocess.Popen(
        command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            found = Client(process)
            parameters = {"processId": None, "rootUri": None, "capabilities": capabilities or {}}
            found.greeting = found.ask("initialize", **parameters)
            found.notify("initialized")
            yield found
        finally:
            process.kill()
