"""Timestamps in UTC, whatever the session's time zone is.

Spark reads and writes the clock of a TIMESTAMP in the time zone of the session, and so do its arithmetic
with days and its functions of fields. Here a TIMESTAMP becomes the TIMESTAMP_NTZ that a clock in UTC shows.
"""

from __future__ import annotations

from neelc.emit.syntax import Sql, binary, call, cast, raw

MICROSECOND = "INTERVAL '0.000001' SECOND"
# Of a TIMESTAMP that was made of one: the clock that it shows.
_CLOCK = "clock"
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def clock(instant: Sql) -> Sql:
    """The TIMESTAMP_NTZ of a TIMESTAMP, in UTC."""
    if _CLOCK in instant.meta:
        shown: Sql = instant.meta[_CLOCK]
        return shown
    return call("timestampadd", raw("MICROSECOND"), call("unix_micros", instant), raw(_EPOCH))


def instant(clock: Sql) -> Sql:
    """The TIMESTAMP of a TIMESTAMP_NTZ, in UTC."""
    found = call("timestamp_micros", _since_epoch(clock))
    found.meta[_CLOCK] = clock
    return found


def midnight(date: Sql) -> Sql:
    """The TIMESTAMP at which a DATE begins, in UTC."""
    found = call("timestamp_seconds", binary("*", call("unix_date", date), raw("86400L")))
    found.meta[_CLOCK] = cast(date, "TIMESTAMP_NTZ")
    return found


def microseconds(instant: Sql) -> Sql:
    """Microseconds since 1970 of a TIMESTAMP, as a BIGINT."""
    if _CLOCK in instant.meta:
        return _since_epoch(instant.meta[_CLOCK])
    return call("unix_micros", instant)


def _since_epoch(clock: Sql) -> Sql:
    return binary("DIV", binary("-", clock, raw(_EPOCH)), raw(MICROSECOND))
