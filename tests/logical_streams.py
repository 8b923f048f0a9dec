"""Chapter 6 of the JEPC thesis, formula by formula: logical event streams, from instant to instant.

A logical stream maps every instant to a multiset of payloads. Nothing here knows of intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

Payload = tuple[object, ...]
Logical = Mapping[int, Counter[Payload]]

INSTANTS = range(-3, 30)


def of_events(events: Sequence[tuple[int, Payload]]) -> Logical:
    """Every event at its own instant."""
    return {t: Counter(payload for time, payload in events if time == t) for t in INSTANTS}


def time_window(stream: Logical, size: int, jump: int = 1) -> Logical:
    """At t, the payloads of the instants from t' - w + 1 to t', for the last multiple t' of the jump."""
    found = {}
    for t in INSTANTS:
        cut = t // jump * jump
        found[t] = sum((stream[u] for u in INSTANTS if cut - size + 1 <= u <= cut), Counter())
    return found


def count_window(stream: Logical, size: int, jump: int = 1) -> Logical:
    """With g(t) for the number of events up to t: at t, the payloads of the instants u that have events and
    g(t) - N + 1 <= g(u) <= g(t), where g(t) is cut to the last multiple of the jump."""
    count = {t: sum(stream[u].total() for u in INSTANTS if u <= t) for t in INSTANTS}
    found = {}
    for t in INSTANTS:
        shown = count[t] // jump * jump
        valid = (u for u in INSTANTS if u <= t and shown - size + 1 <= count[u] <= shown)
        found[t] = sum((stream[u] for u in valid), Counter())
    return found


def partitioned(
    stream: Logical, key: Callable[[Payload], object], window: Callable[[Logical], Logical]
) -> Logical:
    """The union of the windows over all partitions."""
    keys = {key(payload) for snapshot in stream.values() for payload in snapshot}
    found: dict[int, Counter[Payload]] = {t: Counter() for t in INSTANTS}
    for one in keys:
        part = {t: Counter({p: n for p, n in stream[t].items() if key(p) == one}) for t in INSTANTS}
        for t, snapshot in window(part).items():
            found[t] += snapshot
    return found


def filtered(stream: Logical, condition: Callable[[Payload], bool]) -> Logical:
    return {t: Counter({p: n for p, n in stream[t].items() if condition(p)}) for t in INSTANTS}


def correlated(left: Logical, right: Logical, condition: Callable[[Payload, Payload], bool]) -> Logical:
    """Payloads are combined, and their numbers multiplied."""
    found: dict[int, Counter[Payload]] = {t: Counter() for t in INSTANTS}
    for t in INSTANTS:
        for p, n in left[t].items():
            for q, m in right[t].items():
                if condition(p, q):
                    found[t][(*p, *q)] += n * m
    return found


def aggregated(
    stream: Logical, key: Callable[[Payload], Payload], aggregate: Callable[[list[Payload]], Payload]
) -> Logical:
    """One payload for each group that has an event: the key, and the aggregate of the group."""
    found: dict[int, Counter[Payload]] = {}
    for t in INSTANTS:
        groups: dict[Payload, list[Payload]] = {}
        for payload in stream[t].elements():
            groups.setdefault(key(payload), []).append(payload)
        found[t] = Counter((*group, *aggregate(events)) for group, events in groups.items())
    return found
