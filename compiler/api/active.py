"""The Spark session that is there already."""

from __future__ import annotations

import sys

from neelc.api.streams import Frame


def active_session() -> Frame | None:
    """The active session, classic or Connect; None if nobody has started one. This starts none."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()
