"""What a run notices about the events of streams: the types that they have, the first and the last time, and
how many are at the same time.

The kernels read only events that can take part in a match, so that these are queries of their own. Of many
rows the first are looked at: as a rule they have all types that patterns name, and no more is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import duckdb

from neelc.catalog.data_warnings import TypesSeen, seen_in
from neelc.engines.local.execution import LocalRun
from neelc.engines.local.program import KernelRun, StreamTable
from neelc.ir.names import find, written
from neelc.ir.program import Stream
from neelc.ir.types import BIGINT, INT, SMALLINT, TINYINT
from neelc.runtime.kernels.counting.chain import Chain, CountingProgram
from neelc.runtime.program import (
    CHUNK,
    Follow,
    ImpreciseProgram,
    IterationName,
    PatternProgram,
    takes,
)
from neelc.scalar.duckdb.pieces import quoted

FIRST = 100_000
"""How many rows of a large stream are looked at first."""


def types_seen(run: LocalRun, stream: Stream, used: Sequence[str]) -> TypesSeen | None:
    """Which of the types that patterns use the events of a stream have; None if the stream has no types, or
    none is used, or if they cannot be read: the run has said why, if it reads them."""
    column = None if stream.type_column is None else _column(run, stream, stream.type_column)
    if column is None or not used:
        return None
    name, table = _table(run, stream), run.tables[stream.name]
    with suppress(duckdb.Error):
        if table.size.is_large:
            found = _types(run, column, f"(SELECT {column} FROM {name} LIMIT {FIRST})", used)
            if not found.absent:
                return found
        return _types(run, column, name, used)
    return None


def _types(run: LocalRun, column: str, source: str, used: Sequence[str]) -> TypesSeen:
    rows = run.query(f"SELECT DISTINCT {column} FROM {source}").fetchall()
    return seen_in((str(value) for (value,) in rows if value is not None), not rows, used)


def times_seen(run: LocalRun, stream: Stream) -> tuple[int, int] | None:
    """The least and the greatest time of a stream whose times are integers, if it has events."""
    column = _column(run, stream, stream.start)
    kind = next((one.type for one in stream.columns if one.name == stream.start), None)
    if column is None or kind not in (TINYINT, SMALLINT, INT, BIGINT):
        return None
    ((least, greatest),) = run.query(
        f"SELECT min({column}), max({column}) FROM {_table(run, stream)}"
    ).fetchall()
    return None if least is None else (least, greatest)


# Events of the same time, where it matters that neither comes before the other.


def ties_seen(run: LocalRun, even_if_large: bool = False) -> int:
    """How many events have the time of another one of their key, so that a pattern that puts one behind the
    other has no match with both. Not where THEN BY orders them. All events are read once more: of large
    streams none, unless somebody asks for it."""
    if not even_if_large and any(table.size.is_large for table in run.tables.values()):
        return 0
    steps = (step for step in run.program.steps if isinstance(step, KernelRun))
    with suppress(duckdb.Error):
        return sum(_ties(run, step, step.program) for step in steps if may_tie(step.program))
    return 0


def may_tie(program: object) -> bool:
    """Whether matches of a program depend on the order of events, and nothing orders those of one time."""
    if not isinstance(program, PatternProgram) or isinstance(program, ImpreciseProgram) or program.order:
        return False
    if isinstance(program, CountingProgram):
        return any(chain.moves for chain in program.chains)
    bounds = [take.bounds for take in takes(program.steps)]
    return any(one.after or one.before or one.between for one in bounds) or _has_neighbours(program)


def _has_neighbours(program: PatternProgram) -> bool:
    """Whether events without a role lie between others. A window of EVENTS only counts them, in no order."""
    return any(isinstance(step, Follow) and step.contiguous for step in program.steps)


def repeated_roles(program: PatternProgram) -> int:
    """The bits of roles that several events of a match can play: those at one time exclude each other.

    >>> from neelc.runtime.program import Bounds, Take
    >>> steps = (Take("a", "A"), Take("b", "A", Bounds(after=("a",))), Take("c", "C", Bounds(after=("b",))))
    >>> repeated_roles(PatternProgram(steps, (), ("A", "C")))
    1
    """
    uses = [_roles_of(chain) for chain in program.chains] if isinstance(program, CountingProgram) else []
    bound = dict.fromkeys((take.role, take.variable) for take in takes(program.steps))
    lists = (role for role, variable in bound if isinstance(variable, IterationName))
    uses.append([*(role for role, _ in bound), *lists])
    repeated = {role for roles in uses for role in roles if roles.count(role) > 1}
    return sum(1 << bit for bit, role in enumerate(program.roles) if role in repeated)


def _roles_of(chain: Chain) -> list[str]:
    """The roles of the events of a chain, twice for those of a list."""
    states = chain.states
    lists = (states[m.target].role for m in chain.moves if states[m.source].stage == states[m.target].stage)
    return [*(state.role for state in states), *lists]


def _ties(run: LocalRun, step: KernelRun, program: PatternProgram) -> int:
    keys = [quoted(key) for key in program.keys if key != CHUNK]
    source = quoted(step.source)
    if program.chunk is not None:  # an event is in several chunks: it is looked at in its own
        width = program.chunk
        own = f"(start - ((start % {width}) + {width}) % {width}) // {width}"
        source = f"(SELECT * FROM {source} WHERE {CHUNK} = {own})"
    having = "count(*) > 1"
    if not _has_neighbours(program):
        source = f"(SELECT * FROM {source} WHERE roles <> 0)"
        several = f"bit_or(roles) & {repeated_roles(program)} <> 0 OR max(bit_count(roles)) > 1"
        having += f" AND (count(DISTINCT roles) > 1 OR {several})"
    groups = f"SELECT count(*) AS n FROM {source} GROUP BY {', '.join([*keys, 'start'])} HAVING {having}"
    ((found,),) = run.query(f"SELECT coalesce(sum(n), 0) FROM ({groups})").fetchall()
    return int(found)


def _table(run: LocalRun, stream: Stream) -> str:
    """The rows of a stream, as they are read."""
    steps = (step for step in run.program.steps if isinstance(step, StreamTable))
    return quoted(next(step.name for step in steps if step.stream == stream.name))


def _column(run: LocalRun, stream: Stream, name: str) -> str | None:
    if not any(isinstance(one, StreamTable) and one.stream == stream.name for one in run.program.steps):
        return None
    known = {written(one): one for one in run.tables[stream.name].types}
    found = find(written(name), known)
    return None if found is None else quoted(known[found])
