"""Event streams to measure on: random, the same on every machine, kept in build/bench/data.

A stream is said by its recipe. Times rise strictly, so that no two events are simultaneous; types, keys and
amounts are drawn independently and evenly.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build" / "bench"

START = 1_700_000_000_000_000
"""The time of the first event, in microseconds."""
BLOCK = 1_000_000
"""Events made at once: memory stays small, and a short stream is the beginning of a long one."""
ROW_GROUP = 250_000
"""Rows of a part of a Parquet file: small enough for all cores to read one file."""


@dataclass(frozen=True)
class Recipe:
    """`events` events of the types `kinds`, ids from 0 to `keys` - 1, `gap` microseconds apart on average.

    An amount is a whole number from 0 to 999; `domains` gives the number of amounts of single types.
    """

    events: int
    kinds: tuple[str, ...]
    keys: int = 1
    gap: int = 1000
    domains: tuple[tuple[str, int], ...] = ()
    seed: int = 1

    @property
    def name(self) -> str:
        """A file name: the same for the same recipe, made by the same code."""
        text = repr(asdict(self)) + Path(__file__).read_text()
        return f"{self.events}-events-{self.keys}-keys-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def schema() -> pa.Schema:
    return pa.schema(
        [
            ("ts", pa.timestamp("us", tz="UTC")),
            ("kind", pa.dictionary(pa.int8(), pa.string())),
            ("id", pa.int64()),
            ("amount", pa.int32()),
        ]
    )


def blocks(recipe: Recipe) -> list[Callable[[], pa.Table]]:
    """The stream in pieces, in order, each made when it is asked for."""
    return [partial(_block, recipe, begin) for begin in range(0, recipe.events, BLOCK)]


def table(recipe: Recipe) -> pa.Table:
    """The whole stream.

    >>> small = table(Recipe(events=4, kinds=("A", "B"), keys=2))
    >>> small.num_rows, small.column_names
    (4, ['ts', 'kind', 'id', 'amount'])
    """
    return pa.concat_tables([block() for block in blocks(recipe)])


def _block(recipe: Recipe, begin: int) -> pa.Table:
    random = np.random.default_rng([recipe.seed, begin // BLOCK])
    size = min(BLOCK, recipe.events - begin)
    # Each event somewhere in the first half of its own stretch of time: whatever the block, times rise.
    offset = random.integers(0, max(recipe.gap // 2, 1), BLOCK)[:size]
    times = START + (begin + np.arange(size, dtype=np.int64)) * recipe.gap + offset
    kinds = random.integers(0, len(recipe.kinds), BLOCK)[:size].astype(np.int8)
    ids = random.integers(0, recipe.keys, BLOCK)[:size]
    domains = dict(recipe.domains)
    sizes = np.array([domains.get(kind, 1000) for kind in recipe.kinds])
    amounts = (random.random(BLOCK)[:size] * sizes[kinds]).astype(np.int32)
    columns = [
        pa.array(times, pa.timestamp("us", tz="UTC")),
        pa.DictionaryArray.from_arrays(kinds, list(recipe.kinds)),
        pa.array(ids, pa.int64()),
        pa.array(amounts),
    ]
    return pa.table(columns, schema=schema())


def parquet(recipe: Recipe) -> Path:
    """The stream as a Parquet file: `ts TIMESTAMP, kind STRING, id BIGINT, amount INT`."""
    return _kept(recipe, "parquet", _write_parquet)


def parts(recipe: Recipe, files: int) -> Path:
    """The stream as a directory of Parquet files, `part-0.parquet` and so on, one for each micro-batch."""
    return _kept(recipe, f"{files}.parts", partial(_write_parts, files))


def csv(recipe: Recipe, files: int = 4) -> Path:
    """The stream as CSV files without a header: `ts` in milliseconds, `kind`, `id`, `amount`.

    Several files, because not every engine reads one file with several cores.
    """
    if recipe.gap < 2000:
        raise ValueError("events less than 2 ms apart would become simultaneous")
    return _kept(recipe, f"{files}.csv", partial(_write_csv, files))


def _kept(recipe: Recipe, ending: str, write: Callable[[Recipe, Path], None]) -> Path:
    path = BUILD / "data" / f"{recipe.name}.{ending}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.unfinished")
        write(recipe, unfinished)
        unfinished.rename(path)
    return path


def _write_parquet(recipe: Recipe, path: Path) -> None:
    with pa.parquet.ParquetWriter(path, schema()) as writer:
        for block in blocks(recipe):
            writer.write_table(block(), row_group_size=ROW_GROUP)


def _write_parts(files: int, recipe: Recipe, path: Path) -> None:
    events = table(recipe).cast(plain_schema())
    path.mkdir(exist_ok=True)
    size = -(-recipe.events // files)
    for number in range(files):
        part = path / f"part-{number}.parquet"
        pa.parquet.write_table(events.slice(number * size, size), part)
        os.utime(part, (number, number))  # a stream reads the oldest file first


def plain_schema() -> pa.Schema:
    """A stream's reader takes texts for texts only."""
    return pa.schema(
        [pa.field(one.name, pa.string() if one.name == "kind" else one.type) for one in schema()]
    )


def _write_csv(files: int, recipe: Recipe, path: Path) -> None:
    events = table(recipe)
    milliseconds = np.asarray(events["ts"].cast(pa.int64())) // 1000
    kinds = events["kind"].cast(pa.string())
    plain = pa.table({"ts": milliseconds, "kind": kinds, "id": events["id"], "amount": events["amount"]})
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    path.mkdir(exist_ok=True)
    size = -(-recipe.events // files)
    for number in range(files):
        pa.csv.write_csv(plain.slice(number * size, size), path / f"part-{number}.csv", options)
