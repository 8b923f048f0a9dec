"""Of what no picture can be drawn, and why."""

from __future__ import annotations

ROWS_WITHOUT_A_TIME = "a picture of MATCH_RECOGNIZE, whose rows have no time that is known"
