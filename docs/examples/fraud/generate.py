"""Events of a bank: `python generate.py OUT [ACCOUNTS]` writes them to OUT, as CSV or Parquet by its ending.

People pay, send money, and now and then register a new device, which they confirm by a code, unless they
forget. Some devices are not theirs: those are never confirmed, and soon money leaves the account. The same
events on every machine.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

COLUMNS = ("ts", "kind", "account", "amount")
START = datetime(2024, 3, 1, 8)
DAY = 12 * 60 * 60

Row = tuple[datetime, str, str, float | None]


def everyday(random: Random, account: str) -> Iterator[Row]:
    """Payments all day long, and a transfer now and then."""
    for _ in range(random.randint(2, 6)):
        yield at(random.randrange(DAY)), "Payment", account, round(random.lognormvariate(3, 1), 2)
    if random.random() < 0.5:
        yield at(random.randrange(DAY)), "Transfer", account, float(random.randint(50, 1500))


def new_device(random: Random, account: str) -> Iterator[Row]:
    """A device of one's own: it is confirmed, and then there may be something large to pay."""
    begin = random.randrange(DAY)
    yield at(begin), "NewDevice", account, None
    yield at(begin + random.randint(20, 300)), "Confirm", account, None
    if random.random() < 0.7:
        yield at(begin + random.randint(400, 1500)), "Transfer", account, float(random.randint(1000, 3000))


def careless(random: Random, account: str) -> Iterator[Row]:
    """A device of one's own that was never confirmed, and a small sum to send."""
    begin = random.randrange(DAY)
    yield at(begin), "NewDevice", account, None
    yield at(begin + random.randint(60, 1500)), "Transfer", account, float(random.randint(10, 90))


def thief(random: Random, account: str) -> Iterator[Row]:
    """A device of someone else: no confirmation, and several transfers in a hurry."""
    moment = random.randrange(DAY)
    yield at(moment), "NewDevice", account, None
    for _ in range(random.randint(2, 4)):
        moment += random.randint(30, 400)
        yield at(moment), "Transfer", account, float(random.randint(700, 1500))


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def events(accounts: int, seed: int = 7) -> list[Row]:
    """All events in order of time: one account in five has a new device, one in ten a careless owner, one in
    a hundred a thief."""
    random = Random(seed)
    rows: list[Row] = []
    for number in range(accounts):
        account = f"acc-{number:04}"
        rows += everyday(random, account)
        if number % 5 == 1:
            rows += new_device(random, account)
        if number % 10 == 4:
            rows += careless(random, account)
        if number % 100 == 8:
            rows += thief(random, account)
    return sorted(rows, key=lambda row: row[:3])


def write(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
        return
    import pyarrow as pa
    import pyarrow.parquet

    times, *others = (list(column) for column in zip(*rows, strict=True))
    columns = [pa.array(times, pa.timestamp("us", tz="UTC")), *others]
    pa.parquet.write_table(pa.table(columns, names=COLUMNS), path)


def main(out: str, accounts: str = "20") -> None:
    rows = events(int(accounts))
    write(rows, Path(out))
    print(f"{out}: {len(rows):,} events of {int(accounts):,} accounts")


if __name__ == "__main__":
    main(*sys.argv[1:])
