"""Time in chunks, for pattern matchers without partitions: so that all cores find matches.

A match lasts no longer than its window. Each chunk also has the events of one window before it: all that a
match can have that ends in the chunk, and all that stands between. A match belongs to the chunk of its last
event; found in the next one, too, it is dropped there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from neelc.emit.algebra_stage import Emitting
from neelc.emit.literals import alias
from neelc.emit.relations import Extend, Where
from neelc.emit.times import floor_divided
from neelc.runtime.sequential.program import TIME, SequentialProgram, Taken

WINDOWS = 8
"""How many windows make a chunk: an eighth of the events is read twice."""

CHUNK, FOUND = "chunk", "found_in"
"""The column of an event's chunk, and that of a match."""

MOMENT = alias(TIME)
"""The column of an event's time, as text."""


@dataclass(frozen=True)
class Chunks:
    """Chunks of this width, for matches that reach so far."""

    width: int
    reach: int

    def events(self, emitting: Emitting, judged: str) -> str:
        """The relation of the events, each in its chunk and, if it is close enough to it, in the next."""
        first = floor_divided(MOMENT, self.width)
        last = floor_divided(f"({MOMENT} + {self.reach}L)", self.width)
        chunk = f"explode(sequence({first}, {last}))"
        comment = "No partitions: time is cut into chunks, each with the events of one window before it."
        return emitting.let("chunked", Extend(judged, ((chunk, CHUNK),)), comment)

    def program(self, program: SequentialProgram) -> SequentialProgram:
        """The program that takes chunks for partitions, and tells those of matches."""
        return replace(program, keys=(CHUNK,), outputs=(*program.outputs, Taken(FOUND, None, CHUNK)))

    def matches(self, emitting: Emitting, found: str) -> str:
        own = f"{floor_divided(MOMENT, self.width)} = {FOUND}"
        return emitting.let("own", Where(found, own), "A match belongs to the chunk of its last event.")


def chunks_of(program: SequentialProgram) -> Chunks | None:
    """How time is cut; None if there are partitions, or if nobody knows how long a match lasts."""
    if program.keys or program.reach is None:
        return None
    return Chunks(WINDOWS * max(1, program.reach), program.reach)
