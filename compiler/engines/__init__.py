"""What turns a plan into something that runs: `spark/`, `host/` (queries of Spark's around MATCH_RECOGNIZE),
and the reference interpreter.
"""

from __future__ import annotations
