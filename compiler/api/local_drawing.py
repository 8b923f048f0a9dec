"""What the local engine finds for a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from neelc.api.local_frame import THESE, LocalFrame
from neelc.engines.local.execution import LocalEngine
from neelc.engines.local.functions import arrow_type, writer_of
from neelc.engines.local.tables import LocalTable
from neelc.ir.types import BOOLEAN, DataType
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.spark.trees import identifier

if TYPE_CHECKING:
    from neelc.api.timeline import DrawnScript
    from neelc.tools.report.picture import Lane

LANES = "lanes"


@dataclass(frozen=True)
class LocalDrawing:
    """The local engine finds what is drawn: a `DrawingEngine`."""

    engine: LocalEngine

    def found(self, script: DrawnScript, place: int, frames: Mapping[str, LocalFrame]) -> LocalFrame:
        from neelc.api.local import executed

        return executed(self.engine, script.compiled(place), frames, script.program, place, script.source)

    def first(self, frame: LocalFrame, time: str, most: int) -> tuple[Iterable[Sequence[Any]], int]:
        return frame.orderBy(time).limit(most).collect(), frame.count()

    def counts(self, frame: LocalFrame, names: Sequence[str]) -> LocalFrame:
        keys = [identifier(name) for name in names]
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        return frame.query(f"SELECT {', '.join([*keys, 'count(*) AS count'])} FROM {THESE}{grouped}")

    def among(self, frame: LocalFrame, names: Sequence[str], lanes: Sequence[Lane]) -> LocalFrame:
        text = f"SELECT {THESE}.* FROM {THESE} LEFT SEMI JOIN {LANES} ON {_same(names)}"
        return frame.query(text, lanes=self._lanes(frame, names, lanes))

    def first_among(self, frame: LocalFrame, names: Sequence[str], lanes: Sequence[Lane]) -> LocalFrame:
        keys = ", ".join(identifier(name, THESE) for name in names)
        joined = f"{THESE} LEFT JOIN {LANES} ON {_same(names)}"
        text = f"SELECT {THESE}.* FROM {joined} ORDER BY {LANES}.lane_is IS NULL, {keys}"
        return frame.query(text, lanes=self._lanes(frame, names, lanes))

    @contextmanager
    def kept(self, frame: LocalFrame) -> Iterator[LocalFrame]:
        yield LocalFrame.of_stream(self.engine, "kept", frame.table())

    def _lanes(self, frame: LocalFrame, names: Sequence[str], lanes: Sequence[Lane]) -> LocalFrame:
        types: dict[str, DataType] = {f"lane_{at}": frame.types[name] for at, name in enumerate(names)}
        columns = {}
        for at, (name, type) in enumerate(types.items()):
            write = writer_of(type)
            values = [None if lane[at] is None else write(lane[at]) for lane in lanes]
            columns[name] = pa.array(values, arrow_type(type))
        columns["lane_is"] = pa.array([True] * len(lanes), pa.bool_())
        return LocalFrame.of_stream(
            self.engine, LANES, LocalTable(pa.table(columns), {**types, "lane_is": BOOLEAN})
        )


def _same(names: Sequence[str]) -> str:
    pairs = (f"{identifier(name, THESE)} <=> {LANES}.lane_{at}" for at, name in enumerate(names))
    return " AND ".join(pairs)
