"""Case files: a stream, a query and what it must find, in one text. `file` describes the format."""

from neelc.cases.compare import Outcome
from neelc.cases.file import Case, load
from neelc.cases.problem import CaseError
from neelc.cases.run import run_case, update

__all__ = ["Case", "CaseError", "Outcome", "load", "run_case", "update"]
