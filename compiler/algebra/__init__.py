"""SELECT, JEPC's event algebra: `bind/`, `rules/` (one file per rule), `cost/`, `plan/`.
MATCH_RECOGNIZE_SEQUENTIAL is a source of its FROM.
"""

from __future__ import annotations
