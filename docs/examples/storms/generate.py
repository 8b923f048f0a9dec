"""Writes storms.csv: four snow storms over the east of Germany, a position every 15 minutes."""

from __future__ import annotations

import csv
import math
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2026, 1, 10, 6)
STEP = timedelta(minutes=15)
# From where, to where, the speed in km/h at each step; all pass Berlin first, but the third.
STORMS = {
    1: ((12.9, 53.3), (13.9, 50.4), [95] * 16),
    2: ((12.8, 53.2), (13.9, 50.5), [90] * 9 + [70] * 7),  # weak when it comes to Dresden
    3: ((11.2, 52.6), (13.8, 50.9), [105] * 14),  # passes south of Berlin
    4: ((13.0, 53.2), (13.9, 50.4), [85] * 36),  # on a detour: too late
}
RADIUS = 0.3


def polygon(x: float, y: float) -> str:
    turns = [2 * math.pi * corner / 8 for corner in range(8)] + [0.0]
    corners = (f"{x + 1.6 * RADIUS * math.cos(a):.3f} {y + RADIUS * math.sin(a):.3f}" for a in turns)
    return f"POLYGON (({', '.join(corners)}))"


def rows() -> list[tuple[str, int, int, str]]:
    found = []
    for storm, ((x, y), (end_x, end_y), speeds) in STORMS.items():
        for step, speed in enumerate(speeds):
            part = step / (len(speeds) - 1)
            place = polygon(x + (end_x - x) * part, y + (end_y - y) * part)
            found.append((f"{START + step * STEP:%Y-%m-%d %H:%M:%S}", storm, speed, place))
    return sorted(found)


if __name__ == "__main__":
    with (Path(__file__).parent / "storms.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ts", "id", "speed", "polygon"])
        writer.writerows(rows())
