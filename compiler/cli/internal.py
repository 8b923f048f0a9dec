"""The message for a bug in neelc itself."""

from __future__ import annotations

import os
import traceback


def internal_error(error: Exception) -> str:
    """The text of NEEL9001. With NEELC_DEBUG set, the whole trace stands before it."""
    trace = "".join(traceback.format_exception(error)) if os.environ.get("NEELC_DEBUG") else ""
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}".rstrip(": ").split("\n")[0]
    return (
        f"{trace}error[NEEL9001]: neelc failed where it should not: {what}\n"
        f" --> {os.path.basename(place.filename)}:{place.lineno}, in {place.name}\n"
        "  = hint: this is a bug in neelc, not in the query. Please report it, with the query if possible;\n"
        "          NEELC_DEBUG=1 shows the whole trace"
    )
