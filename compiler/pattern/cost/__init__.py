"""What a PATTERN query is expected to cost, and the choice between its forms. Read `choose.py` first.

May import rules and the statistics of the catalog; plans are priced from these estimates.
"""

from __future__ import annotations
