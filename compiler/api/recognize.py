"""`neelc.match_recognize`: the clause as a function of a DataFrame."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from neelc import syntax as parse
from neelc.api.errors import NeelQueryError, warn_of
from neelc.api.session import Session
from neelc.api.streams import Frame, StreamData, is_frame, no_frame
from neelc.arguments import Options
from neelc.errors import Diagnostic, NeelError
from neelc.ir.names import FREE_IN_ROWS, RESERVED, quote, written
from neelc.ir.row_patterns import ROWS_PER_MATCH
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span
from neelc.syntax.host import host_statements
from neelc.syntax.host_tokens import CLAUSE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Columns: TypeAlias = "str | Column | Sequence[str | Column]"


def match_recognize(
    df: DataFrame,
    *,
    pattern: str,
    define: Mapping[str, str] | None = None,
    measures: Mapping[str, str] | None = None,
    partition_by: Columns = (),
    order_by: Columns = (),
    rows: str = "ONE ROW PER MATCH",
    after_match: str = "SKIP PAST LAST ROW",
    subset: Mapping[str, Sequence[str]] | None = None,
    within: str | int | datetime.timedelta | None = None,
    unit: str | None = None,
    args: Mapping[str, object] | None = None,
) -> DataFrame:
    """The matches of a row pattern in a DataFrame, as MATCH_RECOGNIZE of SQL:2016 finds them. Nothing runs
    before an action of Spark's does.

    Parameters
    ----------
    df : DataFrame
        The rows, of a classic session or of Spark Connect.
    pattern : str
        The row pattern, such as "A B+ C?".
    define : dict, optional
        The conditions of variables, in SQL: ``{"B": "B.price > PREV(B.price)"}``.
    measures : dict, optional
        The expressions of new columns, in SQL: ``{"highest": "MAX(B.price)"}``.
    partition_by : str, Column or list of these, optional
        Matches are found in the rows that agree in these. A text is the name of a column, or an expression in
        SQL. A Column may be computed: it is in the result under its name.
    order_by : str, Column or list of these, optional
        The order of the rows: "ts", "ts DESC", `F.col("ts")`, `F.col("ts").desc()`.
    rows : str, default "ONE ROW PER MATCH"
        Or "ALL ROWS PER MATCH", with its options.
    after_match : str, default "SKIP PAST LAST ROW"
        Where the search goes on after a match.
    subset : dict, optional
        Names for several variables: ``{"S": ["A", "B"]}``.
    within : str, int or timedelta, optional
        The longest time from the first row of a match to its last one.
    unit : str, optional
        The unit of integer times, for `within`.
    args : dict, optional
        Values of parameters in the texts, by their names.

    Returns
    -------
    DataFrame
        The columns that SQL:2016 gives to such a query.

    Raises
    ------
    NeelQueryError
        A text is wrong. The error names the argument: ``define['B']:1:1``.

    Examples
    --------
    >>> from pyspark.sql import functions as F
    >>> prices = spark.createDataFrame(
    ...     [(1, "IBM", 3.0), (2, "IBM", 2.0), (3, "IBM", 4.0)], "ts INT, ticker STRING, price DOUBLE"
    ... )
    >>> neelc.match_recognize(
    ...     prices,
    ...     partition_by=F.col("ticker"),
    ...     order_by=F.col("ts"),
    ...     pattern="DOWN UP",
    ...     define={"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"},
    ...     measures={"lowest": "DOWN.price"},
    ... ).show()
    +------+------+
    |ticker|lowest|
    +------+------+
    |   IBM|   2.0|
    +------+------+
    <BLANKLINE>
    """
    if not is_frame(df):
        raise TypeError(f"df is {no_frame(df)}")
    rows_of_frame, partitions = _named(df, "partition_by", partition_by)
    rows_of_frame, orders = _named(rows_of_frame, "order_by", order_by)
    clause = _Clause(tuple(rows_of_frame.columns))
    clause.names("PARTITION BY", "partition_by", partitions)
    clause.names("ORDER BY", "order_by", orders)
    clause.pairs("MEASURES", "measures", measures or {})
    clause.plain("", "rows", _rows(rows))
    skip = (
        after_match if _begins(after_match, "AFTER") else f"AFTER MATCH {_text('after_match', after_match)}"
    )
    clause.plain("", "after_match", skip)
    clause.plain("PATTERN (", "pattern", _pattern(pattern), ")")
    clause.within(within)
    clause.subsets(subset or {})
    clause.pairs("DEFINE", "define", define or {})
    found: DataFrame = clause.run(rows_of_frame, unit, args or {})
    return found.drop(*_added(df, rows_of_frame, partitions))


def _named(df: Frame, argument: str, given: Any) -> tuple[Frame, list[str]]:
    """The texts of an argument that takes Columns, too, and the DataFrame with those that are computed."""
    several = given if not _is_column(given) and not isinstance(given, str) else [given]
    if not isinstance(several, Iterable):
        raise TypeError(_no_columns(argument, given))
    texts = []
    for one in several:
        if _is_column(one):
            df, text = _computed(df, argument, one)
            texts.append(text)
        elif isinstance(one, str):
            texts.append(one)
        else:
            raise TypeError(_no_columns(argument, one))
    return df, texts


def _is_column(value: object) -> bool:
    # PySpark's class, that of Spark Connect, and whatever inherits from them; PySpark may not be loaded.
    return any(
        one.__name__ == "Column" and one.__module__.startswith("pyspark.") for one in type(value).__mro__
    )


_SORTED = re.compile(r"Column<'(.*) (ASC|DESC) NULLS (FIRST|LAST)'>", re.DOTALL)


def _computed(df: Frame, argument: str, column: Any) -> tuple[Frame, str]:
    """The SQL for a Column: the name that it has in a DataFrame with it."""
    if found := _SORTED.fullmatch(repr(column)):
        name, direction, nulls = found.groups()
        if argument == "order_by" and name in df.columns:
            return df, f"{quote(name)} {direction} NULLS {nulls}"
        what = "only of a column of the DataFrame" if argument == "order_by" else "only in order_by"
        raise TypeError(f"{argument}: asc() and desc() {what}, not {column!r}: add it with withColumn first")
    (name,) = df.select(column).columns
    is_plain = name in df.columns and repr(column) == f"Column<'{name}'>"
    return df if is_plain else df.withColumn(name, column), name


def _no_columns(argument: str, given: object) -> str:
    return f"{argument} has names of columns, as texts, or Columns, not {given!r}"


def _added(df: Frame, extended: Frame, partitions: Sequence[str]) -> list[str]:
    """The columns that were computed for the order of rows alone."""
    return [name for name in extended.columns if name not in df.columns and name not in partitions]


@dataclass
class _Clause:
    """Puts the text of the clause together, and knows which part of it is which argument's."""

    columns: tuple[str, ...]
    text: str = "SELECT * FROM rows MATCH_RECOGNIZE ("
    parts: list[tuple[Span, str]] = field(default_factory=list)

    def plain(self, before: str, argument: str, text: str, after: str = "") -> None:
        self.text += f"\n  {before}"
        self._add(argument, _text(argument, text))
        self.text += after

    def names(self, word: str, argument: str, texts: Sequence[str]) -> None:
        """A name of a column is that column, whatever it is made of; anything else is SQL."""
        for place, text in enumerate(texts):
            self.text += f"\n  {word} " if place == 0 else ", "
            plain = _text(argument, text)
            self._add(argument, written(plain) if plain in self.columns else plain)

    def pairs(self, word: str, argument: str, given: Mapping[str, str]) -> None:
        """`text AS name` in MEASURES, `name AS text` in DEFINE."""
        if not isinstance(given, Mapping):
            raise TypeError(f"{argument} must map names to strings, and is a {type(given).__name__}")
        for place, (name, text) in enumerate(given.items()):
            self.text += f"\n  {word} " if place == 0 else ",\n    "
            known = name if name.startswith("`") else written(_text(argument, name), RESERVED - FREE_IN_ROWS)
            self.text += f"{known} AS " if word == "DEFINE" else ""
            self._add(f"{argument}[{name!r}]", _expression(f"{argument}[{name!r}]", text))
            self.text += f" AS {known}" if word == "MEASURES" else ""

    def within(self, given: str | int | datetime.timedelta | None) -> None:
        if isinstance(given, datetime.timedelta):
            given = f"INTERVAL '{given / datetime.timedelta(seconds=1):f}' SECOND"
        if given is not None:
            self.plain("WITHIN ", "within", str(given))

    def subsets(self, given: Mapping[str, Sequence[str]]) -> None:
        if not isinstance(given, Mapping) or any(isinstance(members, str) for members in given.values()):
            raise TypeError("subset maps names to lists of variables: {'S': ['A', 'B']}")
        for place, (name, members) in enumerate(given.items()):
            self.text += "\n  SUBSET " if place == 0 else ", "
            self._add(f"subset[{name!r}]", f"{name} = ({', '.join(members)})")

    def _add(self, argument: str, text: str) -> None:
        self.parts.append((Span(len(self.text), len(self.text) + len(text)), argument))
        self.text += text

    def run(self, df: Frame, unit: str | None, args: Mapping[str, object]) -> Frame:
        source = Source(f"{self.text}\n)", "match_recognize")
        self._check_end(source)
        try:
            session = Session(df.sparkSession)
            query = session._compiled(source, args, Options(), {"rows": StreamData(df, unit=unit)})
            frame = query.to_df()
        except NeelQueryError as error:
            raise self._explained(error, source) from error.__cause__
        warn_of(query.warnings, source)
        return frame

    def _check_end(self, source: Source) -> None:
        """Raises `NeelQueryError` if an argument closes the clause: what follows would be SQL of its own."""
        statements = host_statements(source.text)
        tokens = statements[0].tokens
        end = tokens[min(4, len(tokens) - 1)].end
        if len(statements) == 1 and len(tokens) == 5 and tokens[4].kind == CLAUSE and end == len(source.text):
            return
        message = "this ends the clause; an argument can only be part of it"
        error = NeelQueryError([Diagnostic("NEEL1001", message, Span(end - 1, end))], source)
        raise self._explained(error, source)

    def _explained(self, error: NeelError, source: Source) -> NeelQueryError:
        """The error in the text of the argument that it is about, if it is about one."""
        owners = {self._owner(one.span) for one in error.diagnostics}
        if len(owners) != 1 or None in owners:
            return NeelQueryError(error.diagnostics, source)
        (owner,) = owners
        assert owner is not None
        span, argument = owner
        own = Source(source.text[span.start : span.end], argument)
        moved = [
            Diagnostic(
                one.code,
                one.message,
                Span(one.span.start - span.start, one.span.end - span.start),
                one.hint,
            )
            for one in error.diagnostics
        ]
        return NeelQueryError(moved, own)

    def _owner(self, span: Span) -> tuple[Span, str] | None:
        inside = (part for part in self.parts if part[0].start <= span.start and span.end <= part[0].end)
        return next(inside, None)


def _expression(argument: str, value: object) -> str:
    """The text of an expression; raises `NeelQueryError` if it is none."""
    text = _text(argument, value)
    try:
        parse.expression(text)
    except NeelError as error:
        raise NeelQueryError(error.diagnostics, Source(text, argument)) from None
    return text


def _pattern(value: object) -> str:
    """The text of a pattern; raises `NeelQueryError` if it is none."""
    text, before = _text("pattern", value), "MATCH_RECOGNIZE (PATTERN ("
    source = Source(f"{before}{text}))")
    try:
        parsed = parse.row_match(source, Span(0, len(source.text)))
    except NeelError as error:
        moved = [_moved(one, len(before), len(text)) for one in error.diagnostics]
        raise NeelQueryError(moved, Source(text, "pattern")) from None
    if parsed.definitions or parsed.partition_by or parsed.measures:
        found = Diagnostic("NEEL1001", "this is more than a pattern", Span(0, len(text)))
        raise NeelQueryError([found], Source(text, "pattern"))
    return text


def _moved(one: Diagnostic, by: int, end: int) -> Diagnostic:
    start = min(max(one.span.start - by, 0), end)
    return Diagnostic(one.code, one.message, Span(start, max(start + 1, one.span.end - by)), one.hint)


def _rows(value: object) -> str:
    text = " ".join(_text("rows", value).upper().split())
    if text not in ROWS_PER_MATCH:
        raise ValueError(f"rows is not {value!r} but one of: {'; '.join(ROWS_PER_MATCH)}")
    return text


def _text(argument: str, value: object) -> str:
    if _is_column(value):
        raise TypeError(
            f"{argument} is a text of SQL, not a Column: it may name variables and earlier rows, as in "
            f'"B.price > PREV(B.price)", for which a Column has no words'
        )
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{argument} must be a string, not {value!r}")
    return value.strip()


def _begins(text: object, word: str) -> bool:
    return isinstance(text, str) and text.split()[:1] != [] and text.split()[0].upper() == word
