"""Numbers about streams, each with its origin: declared, from a file, from Parquet footers, assumed. Read
`numbers.py` first.
"""

from __future__ import annotations
