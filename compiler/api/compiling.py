"""One query of a bound script, compiled; with an error of the query's if Spark cannot run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neelc.cost.statistics import Statistics
from neelc.errors import Diagnostic, NeelError
from neelc.ir.logical import Program
from neelc.source import Source, Span

if TYPE_CHECKING:
    from neelc.emit.compiled import Compiled


def compiled_query(
    program: Program,
    place: int,
    source: Source,
    strategy: str | None = None,
    statistics: Statistics | None = None,
    way_out: str | None = None,
) -> Compiled:
    """The query at a place of the script; `way_out` is the hint where Spark cannot run it yet."""
    from neelc.emit.compiled import Options, compile_script
    from neelc.plan.unsupported import Unsupported

    try:
        return compile_script(program, [place], Options(strategy=strategy), statistics or Statistics())
    except Unsupported as error:
        pattern = program.queries[place].match.pattern
        message = f"not supported on Spark yet: {error.what}"
        hint = "leave --strategy out: another one might be able to" if strategy else way_out
        raise NeelError(
            [Diagnostic("NEEL4001", message, error.span or pattern.span or Span(0, 1), hint)], source
        ) from None
