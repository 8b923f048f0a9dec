"""What is wrong with a case file itself, not with what it tests."""

from __future__ import annotations

from pathlib import Path


class CaseError(Exception):
    """A malformed case file: `file:line: sentence`."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
