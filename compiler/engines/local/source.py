"""A program of the local engine as text: what DuckDB and the kernels run, to read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from neelc.engines.local.program import KernelRun, LocalProgram, LocalStep, LocalView, StreamTable, UserCalls
from neelc.engines.runners import RUNNERS
from neelc.ir.types import DataType
from neelc.scalar.duckdb.pieces import duck_type, quoted

WIDTH = 110


def program_text(program: LocalProgram) -> str:
    """The steps of a program, as SQL of DuckDB with comments for what is none."""
    called = {call.name: call for call in program.calls}
    parts = [
        f"-- {name}({', '.join(map(_type, call.operands))}) is Spark's {call.operation}, by neelc's runtime."
        for name, call in called.items()
    ]
    parts += ["\n".join(_lines(step)) for step in program.steps]
    return "\n\n".join([*parts, f"SELECT * FROM {quoted(program.result)};"]) + "\n"


def _type(type: DataType) -> str:
    return duck_type(type)


def _lines(step: LocalStep) -> Iterator[str]:
    comment = " ".join(step.comment.split())
    yield from (f"-- {line}" for line in textwrap.wrap(comment, WIDTH - 3))
    match step:
        case StreamTable(name, stream):
            yield f"-- {quoted(name)}: the rows of the stream {stream}"
        case LocalView():
            yield f"{step.statement};"
        case KernelRun(name, program, source=source, order=order, keys=keys):
            _, function = RUNNERS[type(program)]
            together = f", those of equal {', '.join(keys)} together" if keys else ""
            yield f"-- {quoted(name)}: what neelc's {function} finds in these rows{together}:"
            yield f"--   SELECT * FROM {quoted(source)}{order}"
        case UserCalls(name, source, calls):
            functions = ", ".join(function for function, *_ in calls)
            yield f"-- {quoted(name)}: the rows of {quoted(source)}, with results of {functions}"
