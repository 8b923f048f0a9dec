"""Case files: a stream, a query and what it must find, in one text. `file` describes the format."""

from __future__ import annotations

from neelc.tools.cases.file import Case, CaseError, load
from neelc.tools.cases.run import Outcome, run_case, update

__all__ = ["Case", "CaseError", "Outcome", "load", "run_case", "update"]
