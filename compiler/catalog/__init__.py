"""What a script can name and read: streams, types and concepts, relations, readers of data, statistics. Read
`catalog.py` first.
"""

from __future__ import annotations
