"""Rules for networks of the event algebra: the laws of the thesis' 19.2.2, one in each file. Read
`optimise.py` first.
"""

from __future__ import annotations
