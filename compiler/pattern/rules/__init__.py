"""The rewriting rules for PATTERN, one function in one file each. Read `batches.py` first: all rules, in
order, with the reason for the order.
"""

from __future__ import annotations
