"""How large a rewrite may make a query. A rule that would go beyond refuses, and says so."""

from __future__ import annotations

MAX_BRANCHES = 256
"""How many branches an OR may have that rules make: by distribution, push-down or expansion."""
