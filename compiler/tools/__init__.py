"""What helps people with queries: lints, why, report, editors, case files. May import everything but the API
and the command line.
"""

from __future__ import annotations
