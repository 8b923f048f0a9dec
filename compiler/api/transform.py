"""`neelc.pattern`: a query as a function of a DataFrame, for `transform` and `pipe`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, overload

from neelc.api.session import Session
from neelc.api.streams import StreamData, is_frame, is_local, no_frame, stream
from neelc.runtime.late_dataclass import dataclass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from neelc.api.local_frame import LocalFrame


@dataclass(frozen=True, repr=False)
class Transformation:
    """A query that waits for its events: call it with a DataFrame. `neelc.pattern` makes it."""

    text: str
    args: Mapping[str, object] | None
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    streams: Mapping[str, object] = field(default_factory=dict)
    untrusted: bool = False

    @overload
    def __call__(self, events: DataFrame) -> DataFrame: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, events: object) -> LocalFrame: ...

    def __call__(self, events: Any) -> Any:
        """The matches in these events: a DataFrame of Spark for one of Spark, a `LocalFrame` for others."""
        if not is_frame(events) and not is_local(events):
            raise TypeError(f"a pattern is applied to {no_frame(events, ' or data of the local engine')}")
        data = stream(events, **self.settings)
        if is_frame(events):
            return self._found(Session(events.sparkSession, untrusted=self.untrusted), data)
        from neelc.api.local import session_over

        return self._found(*session_over(data, self.untrusted))

    def _found(self, session: Session, data: StreamData) -> object:
        streams: dict[str, Any] = {self.name: data, **self.streams}
        return session.sql(self.text, self.args, **streams)

    def __repr__(self) -> str:
        return f"<neelc.pattern: {' '.join(self.text.split())[:80]}>"


def pattern(
    text: str,
    /,
    args: Mapping[str, object] | None = None,
    *,
    name: str = "Events",
    timestamp: str | None = None,
    latest: str | None = None,
    end: str | None = None,
    type: str | None = None,
    unit: str | None = None,
    timestamp_format: str | None = None,
    watermark: str | None = None,
    then_by: str | Sequence[str] | None = None,
    untrusted: bool = False,
    **streams: object,
) -> Transformation:
    """A query as a function of a DataFrame: `df.transform(neelc.pattern("PATTERN ..."))`.

    The result takes a DataFrame of Spark, and then gives one; or whatever the local engine reads from memory
    (pandas, polars, Arrow, DuckDB, a `LocalFrame`), and then gives a `LocalFrame`. The methods for this are
    `DataFrame.transform` of Spark, `LocalFrame.transform`, and `pipe` of pandas and polars.

    Parameters
    ----------
    text : str
        A script; its last query is the result.
    args : dict, optional
        Values of the script's parameters, by their names.
    name : str, default "Events"
        What the query calls the DataFrame. Without `type`, it is also the type of all events.
    timestamp, latest, end, type, unit, timestamp_format, watermark, then_by : optional
        What the columns of the DataFrame mean, as in `neelc.stream`.
    untrusted : bool, default False
        Whether the text may read this DataFrame and `streams` only.
    **streams
        Further streams that the query reads, by their names.

    Returns
    -------
    Transformation
        A function of one DataFrame.

    Examples
    --------
    >>> trades = spark.createDataFrame(
    ...     [(1, "IBM", 10.0), (2, "IBM", 11.0)], "ts BIGINT, ticker STRING, price DOUBLE"
    ... )
    >>> rising = neelc.pattern(
    ...     "PATTERN SEQ(IBM a, IBM b) WHERE b.price > a.price WITHIN :w RETURN a.ts, b.ts",
    ...     {"w": "10 SECONDS"},
    ...     type="ticker",
    ...     unit="s",
    ... )
    >>> trades.transform(rising).show()
    +----+----+
    |a_ts|b_ts|
    +----+----+
    |   1|   2|
    +----+----+
    <BLANKLINE>

    The same function on a DataFrame of pandas, without Spark:

    >>> trades.toPandas().pipe(rising).collect()
    [(1, 2)]
    """
    if not isinstance(text, str):
        raise TypeError(f"a pattern is the text of a query, not {text!r}")
    settings = {
        "timestamp": timestamp,
        "latest": latest,
        "end": end,
        "type": type,
        "unit": unit,
        "timestamp_format": timestamp_format,
        "watermark": watermark,
        "then_by": then_by,
    }
    return Transformation(text, args, name, settings, streams, untrusted)
