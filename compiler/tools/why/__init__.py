"""Why a start event has a match, or has none.

Read `explaining.py` first. The reference interpreter decides everything: `questions.py` runs it for the
matches of one start, `courses.py` cuts queries to their first steps, `requirements.py` drops single
requirements, `reading.py` selects the events and looks for the smallest relaxation, `stopping.py` finds what
stopped a start, such as the events that hit a negation. `rows.py` does all this for MATCH_RECOGNIZE.
"""

from __future__ import annotations
