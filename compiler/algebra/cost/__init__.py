"""How many events the operators of a network hold, and the orders that this suggests.

Read `sizes.py` first.
"""

from __future__ import annotations
