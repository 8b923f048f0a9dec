"""PATTERN: from the clause as it is written to the steps that find its matches.

`bind/` resolves names, `rules/` rewrites (one file per rule; read `rules/batches.py` first), `analysis/`
holds what rules and costs know about a pattern, `cost/` estimates and chooses, `plan/` makes steps.
"""

from __future__ import annotations
