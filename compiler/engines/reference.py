"""Running a bound script on the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neelc.catalog.inputs import Inputs
from neelc.catalog.readers.table import Row
from neelc.errors import Diagnostic, NeelError
from neelc.ir.expressions import Call
from neelc.ir.node import walk
from neelc.ir.program import Program
from neelc.ir.script import CreateQuery, FromAgent, RunQuery
from neelc.runtime.reference import AgentFailure, LimitReached, Result, run
from neelc.runtime.user_functions import AggregateFailure
from neelc.source import Span

Tables = Mapping[str, Sequence[Row]]

ROWS = "the reference engine needs `rows`, a function from lists of dictionaries to one"
TOTAL = "it must have a value, or None, for every list of one or more values"


def execute(inputs: Inputs, program: Program, tables: Tables) -> list[tuple[str | None, Result]]:
    """The result of each query, in order; `NeelError` if one needs more than the interpreter is made for."""
    try:
        return run(program, tables)
    except LimitReached as limit:
        queries = [s for s in inputs.script.statements if isinstance(s, CreateQuery | RunQuery)]
        span = queries[limit.query or 0].span or Span(0, 1)
        hint = "a shorter window, more conditions or fewer events might help"
        raise NeelError([Diagnostic("NEEL5007", str(limit), span, hint)], inputs.source) from None
    except AgentFailure as failure:
        agents = (node for node in walk(inputs.script) if isinstance(node, FromAgent))
        called = (one.span for one in agents if one.name.lower() == failure.name.lower())
        span = next(called, None) or Span(0, 1)
        raise NeelError([Diagnostic("NEEL5010", str(failure), span, ROWS)], inputs.source) from None
    except AggregateFailure as failure:
        calls = (node for node in walk(inputs.script) if isinstance(node, Call))
        named = (call.span for call in calls if call.name.lower() == failure.name.lower())
        span = next(named, None) or Span(0, 1)
        raise NeelError([Diagnostic("NEEL5008", str(failure), span, TOTAL)], inputs.source) from None
