"""`--stats FILE`, and all sources of statistics put together for a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from neelc.cost.statistics import Statistics
from neelc.cost.statistics_conditions import texts_of
from neelc.cost.statistics_file import statistics_in
from neelc.cost.statistics_known import Known, known
from neelc.data.inputs import Inputs
from neelc.data.parquet_statistics import metadata_of
from neelc.data.small_files import counted_in
from neelc.files import decode, read_bytes
from neelc.ir.logical import Program, Stream


def statistics_of(inputs: Inputs, program: Program, stats_file: str | None = None) -> Statistics:
    """What is known about the streams of a bound script: from the file, from the metadata of Parquet files.

    What WITH STATS says is in the streams already, and goes before all other. Raises `CallError` if the file
    cannot be read or says what cannot be.
    """
    streams = streams_of(program)
    from_file, notes = _from_file(stats_file, streams)
    metadata: list[Known] = []
    for stream in streams.values():
        found = metadata_of(inputs, stream)
        metadata += known(stream.name, found.said, "metadata")
        metadata += known(stream.name, counted_in(inputs, stream), "counted")
        notes = (*notes, *found.notes)
    statistics = Statistics((*from_file, *metadata), notes)
    return Statistics(statistics.known, (*notes, *_unused(statistics, program)))


def streams_of(program: Program) -> dict[str, Stream]:
    """The declared streams, and the named queries that serve as streams, by name."""
    used = (stream for query in program.queries for stream in query.query.streams)
    return {stream.name: stream for stream in (*program.streams, *used)}


def _from_file(name: str | None, streams: dict[str, Stream]) -> tuple[tuple[Known, ...], tuple[str, ...]]:
    if name is None:
        return (), ()
    return statistics_in(decode(read_bytes(Path(name), name), name), name, streams)


def _unused(statistics: Statistics, program: Program) -> Iterator[str]:
    """A selectivity that fits no condition is most likely misspelt."""
    used = {text for query in program.pattern_queries for text in texts_of(query.match.pattern)}
    for stream in streams_of(program).values():
        for one in statistics.knowledge.about(stream, "SELECTIVITY"):
            if one.subject not in used:
                yield f"{stream.name}: no condition reads `{one.subject}`, for which a selectivity is given"
