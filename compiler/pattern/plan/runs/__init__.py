"""Plans for SKIP TILL NEXT MATCH and the contiguities: runs that take one event after the other. Read
`plan.py` first.
"""

from __future__ import annotations
