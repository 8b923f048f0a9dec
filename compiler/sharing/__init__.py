"""Many queries together: which expressions could share work, and what that would save. Read `sharing.py`
first.
"""

from __future__ import annotations
