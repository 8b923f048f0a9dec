"""Why a start event has a match, or has none.

Read `explaining.py` first. Everything is judged by the reference interpreter: `asking.py` asks it for the
matches of one start, `courses.py` cuts queries to their first steps, `requirements.py` and `relaxing.py` take
single requirements away, `smallest.py` looks for the fewest that must go, `hits.py` for the events that hit
a negation.
"""

from __future__ import annotations
