"""Case files: a stream, a query and what it must find, in one text. `file` describes the format."""

from __future__ import annotations

from neelc.tools.cases.file import CaseError, CaseFile, load
from neelc.tools.cases.run import CaseOutcome, StreamOutcome, StreamTally, run_as_stream, run_case, update

__all__ = [
    "CaseFile",
    "CaseError",
    "CaseOutcome",
    "StreamOutcome",
    "StreamTally",
    "load",
    "run_as_stream",
    "run_case",
    "update",
]
