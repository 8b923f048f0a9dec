"""`neelc.funnel`: the drop-off table of partial matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from neelc.api.streams import Frame, is_frame, names_of, no_frame
from neelc.ir.names import quote
from neelc.pattern.bind.partial import COMPLETE, CONDITION, NEGATION, NO_EVENT, REACHED, STEP, STOPPED, WINDOW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REASONS = (NO_EVENT, WINDOW, CONDITION, NEGATION)
COLUMNS = ("number", STEP, REACHED, "share", "dropped", *(reason.replace(" ", "_") for reason in REASONS))


def funnel(matches: DataFrame, *, by: str | Sequence[str] = (), steps: Sequence[str] = ()) -> DataFrame:
    """How many starts came how far: the drop-off table of a query WITH PARTIAL MATCHES.

    Parameters
    ----------
    matches : DataFrame
        The result of a query WITH PARTIAL MATCHES, with the columns `reached`, `step` and `stopped`.
    by : str or list of str, optional
        Columns to group by: each combination of their values has a table of its own.
    steps : list of str, optional
        The names of all steps. Without them the table ends with the last step that any start reached, and one
        at which none stopped has no name.

    Returns
    -------
    DataFrame
        A row for each step: its `number` and name, how many starts `reached` it, which `share` of all that
        is, how many were `dropped` there, and of these how many for each reason.

    Examples
    --------
    >>> visits = spark.createDataFrame(
    ...     [(1, "View", "ann"), (2, "Buy", "ann"), (3, "View", "bob")], "ts INT, kind STRING, user STRING"
    ... )
    >>> text = "PATTERN SEQ(View v, Buy b) WHERE [user] WITHIN 1 HOUR WITH PARTIAL MATCHES"
    >>> matches = neelc.sql(spark, text, Visits=neelc.stream(visits, type="kind", unit="s"))
    >>> neelc.funnel(matches).select("number", "reached", "share", "dropped").show()
    +------+-------+-----+-------+
    |number|reached|share|dropped|
    +------+-------+-----+-------+
    |     1|      2|  1.0|      1|
    |     2|      1|  0.5|      0|
    +------+-------+-----+-------+
    <BLANKLINE>
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if not is_frame(matches):
        raise TypeError(f"matches is {no_frame(matches)}")
    groups = names_of("by", by)
    _check(matches, groups)
    keys = [F.col(quote(name)) for name in groups]
    # Grouped twice: the rows are counted where they are, and only counts are multiplied by the steps.
    counts = matches.groupBy(*keys, REACHED, STEP, STOPPED).agg(F.count("*").alias("starts"))
    least = F.lit(len(steps))
    most = F.greatest(least, F.max(REACHED).over(Window.partitionBy(F.lit(1))))
    numbered = counts.withColumn("most", most).withColumn("number", F.explode(F.sequence(F.lit(1), "most")))
    stops = F.col(REACHED) == F.col("number")

    def starts(condition: Any) -> Any:
        return F.sum(F.when(condition, F.col("starts")).otherwise(0))

    table = numbered.groupBy(*keys, "number").agg(
        F.min(F.when(stops, F.col(STEP))).alias("stopped_at"),
        starts(F.col(REACHED) >= F.col("number")).alias("reached"),
        (starts(F.col(REACHED) >= F.col("number")) / F.sum("starts")).alias("share"),
        starts(stops & (F.col(STOPPED) != COMPLETE)).alias("dropped"),
        *(starts(stops & (F.col(STOPPED) == reason)).alias(reason.replace(" ", "_")) for reason in REASONS),
    )
    # A step is called the same in all groups.
    name = F.min("stopped_at").over(Window.partitionBy("number"))
    if steps:
        name = F.coalesce(F.try_element_at(F.array(*map(F.lit, steps)), F.col("number")), name)
    named = table.withColumn(STEP, name)
    return named.select(*keys, *COLUMNS).orderBy(*keys, "number")


def _check(matches: Frame, groups: Sequence[str]) -> None:
    missing = [name for name in (REACHED, STEP, STOPPED, *groups) if name not in matches.columns]
    if missing:
        which = "neelc.funnel takes the result of a query WITH PARTIAL MATCHES"
        raise ValueError(f"there is no column {', '.join(missing)}: {which}")
    taken = [name for name in groups if name.casefold() in (*COLUMNS, "starts", "most", "stopped_at")]
    if taken:
        raise ValueError(
            f"the table already has columns called {', '.join(taken)}: rename the columns in `by`"
        )
