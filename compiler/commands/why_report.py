"""`neelc why --report`: the events that were looked at, their matches, and what is told of each start."""

from __future__ import annotations

from pathlib import Path

from neelc.data.inputs import Inputs
from neelc.explain.report import written_queries
from neelc.reasons.model import Why
from neelc.reasons.reading import Asked
from neelc.reasons.whole import rows_looked_at
from neelc.report.drawing import Subject
from neelc.report.on_reference import reference_picture
from neelc.report.page import report_page
from neelc.runtime.reference import Tables


def why_page(asked: Asked, inputs: Inputs, tables: Tables, found: Why) -> str:
    """A page with a picture of the events that were looked at; notes tell of the starts."""
    text = written_queries(inputs.script, asked.program)[asked.place]
    file = Path(inputs.source.name).name
    subject = Subject(file, text.name, text.text, asked.match, ())
    program = asked.needed()
    rows = rows_looked_at(asked, tables)
    picture = reference_picture(subject, program, len(program.queries) - 1, rows, notes=found.notes)
    return report_page([picture])
