"""A million events: `python generate.py DIRECTORY` writes hospital.parquet and trades.parquet there.

Instruments go round in a hospital: they come back, are washed, sharpened, disinfected and checked, and go
into the next operation. Now and then one goes into an operation without one of the steps. Shares of ten
companies are traded; prices wander. The same events on every machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

START = 1_709_251_200_000_000
"""The first of March 2024, in microseconds."""
MINUTE = 60_000_000
STEPS = ("Recycle", "Washing", "Sharpening", "Disinfection", "Checking", "Operating")
INSTRUMENTS = ("surgery", "surgery", "surgery", "dental", "laboratory")
TICKERS = ("AMAT", "CSCO", "DELL", "INTC", "IPIX", "MSFT", "ORCL", "QQQ", "RIMM", "YHOO")
SKIPPED = 0.005
"""The share of rounds in which one of the steps between washing and operating is left out."""


def hospital(events: int) -> pa.Table:
    """Rounds of six steps, some minutes apart; an instrument makes one round after the other."""
    random = np.random.default_rng(1)
    rounds = events // 6 + events // 500 + 1  # some more: not every round has six steps
    instruments = max(rounds // 50, 1)
    id = np.arange(rounds) % instruments
    begin = (
        START + (np.arange(rounds) // instruments) * 100 * MINUTE + random.integers(0, 40 * MINUTE, rounds)
    )
    steps = random.integers(2 * MINUTE, 10 * MINUTE, (rounds, 6))
    left_out = random.random(rounds) < SKIPPED
    keep = np.ones((rounds, 6), dtype=bool)
    keep[np.flatnonzero(left_out), random.integers(2, 5, left_out.sum())] = False
    kinds = np.broadcast_to(np.arange(6, dtype=np.int8), (rounds, 6))
    rows = [np.broadcast_to(id[:, None], (rounds, 6)), begin[:, None] + np.cumsum(steps, axis=1), kinds]
    id, times, kinds = (row[keep][:events] for row in rows)
    order = np.argsort(times, kind="stable")
    id, times, kinds = id[order], times[order], kinds[order]
    names = [f"{INSTRUMENTS[number % 5]}-{number}" for number in range(instruments)]
    types = [INSTRUMENTS[number % 5] for number in range(instruments)]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "activity": pa.DictionaryArray.from_arrays(kinds, list(STEPS)),
            "id": pa.array(names).take(pa.array(id)),
            "ins_type": pa.array(types).take(pa.array(id)),
        }
    )


def trades(events: int) -> pa.Table:
    """About 40 trades a second; the price of each share wanders by some cents from trade to trade."""
    random = np.random.default_rng(2)
    times = START + np.cumsum(random.integers(1_000, 50_000, events))
    kinds = random.integers(0, len(TICKERS), events).astype(np.int8)
    price = np.empty(events)
    for number in range(len(TICKERS)):
        mine = np.flatnonzero(kinds == number)
        price[mine] = 20 + 10 * number + np.cumsum(np.round(random.normal(0, 0.03, len(mine)), 2))
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "ticker": pa.DictionaryArray.from_arrays(kinds, list(TICKERS)),
            "price": pa.array(np.round(price, 2)),
            "volume": pa.array(random.integers(1, 1000, events).astype(np.int32)),
        }
    )


def main(directory: Path, events: int = 1_000_000) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, table in (("hospital", hospital(events * 6 // 10)), ("trades", trades(events * 4 // 10))):
        path = directory / f"{name}.parquet"
        pa.parquet.write_table(table, path, row_group_size=100_000)
        print(f"{path}: {table.num_rows:,} events")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
