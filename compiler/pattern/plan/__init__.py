"""From a chosen form to steps: what is read, what is searched, in which order. Read `match_to_plan.py` and
`plan.py` first.

`runs/` plans SKIP TILL NEXT MATCH and the contiguities, `counting/` aggregates that need no matches.
"""

from __future__ import annotations
