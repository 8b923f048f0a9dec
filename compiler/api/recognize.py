"""`neelc.match_recognize`: the clause as a function of a DataFrame."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import field

from neelc import syntax as parse
from neelc.api.errors import NeelQueryError, warn_of
from neelc.api.session import Session
from neelc.api.streams import Frame, StreamData, is_frame, names_of, no_frame
from neelc.arguments import Options
from neelc.errors import Diagnostic, NeelError
from neelc.ir.names import FREE_IN_ROWS, RESERVED, written
from neelc.ir.row_patterns import ROWS_PER_MATCH
from neelc.runtime.late_dataclass import dataclass
from neelc.source import Source, Span
from neelc.syntax.host import host_statements
from neelc.syntax.host_tokens import CLAUSE

Texts = str | Sequence[str]


def match_recognize(
    df: Frame,
    *,
    pattern: str,
    define: Mapping[str, str] | None = None,
    measures: Mapping[str, str] | None = None,
    partition_by: Texts = (),
    order_by: Texts = (),
    rows: str = "ONE ROW PER MATCH",
    after_match: str = "SKIP PAST LAST ROW",
    subset: Mapping[str, Sequence[str]] | None = None,
    within: str | int | datetime.timedelta | None = None,
    unit: str | None = None,
    args: Mapping[str, object] | None = None,
) -> Frame:
    """The matches of a row pattern in a DataFrame, as SQL:2016's MATCH_RECOGNIZE finds them.

    `define` has the condition of each variable, `measures` the expression of each new column. `rows` is ONE
    ROW PER MATCH or ALL ROWS PER MATCH, with its options; `unit` is that of integer times, for `within`;
    `args` are the values of parameters. Nothing is run.
    """
    if not is_frame(df):
        raise TypeError(f"df is {no_frame(df)}")
    clause = _Clause(tuple(df.columns))
    clause.names("PARTITION BY", "partition_by", partition_by)
    clause.names("ORDER BY", "order_by", order_by)
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
    return clause.run(df, unit, args or {})


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

    def names(self, word: str, argument: str, given: Texts) -> None:
        """A name of a column is that column, whatever it is made of; anything else is SQL."""
        texts = names_of(argument, given)
        for place, text in enumerate(texts):
            self.text += f"\n  {word} " if place == 0 else ", "
            plain = _text(argument, text)
            self._add(argument, written(plain) if plain in self.columns else plain)

    def pairs(self, word: str, argument: str, given: Mapping[str, str]) -> None:
        """`text AS name` in MEASURES, `name AS text` in DEFINE."""
        if not isinstance(given, Mapping):
            raise TypeError(f"{argument} maps names to texts, and is not a {type(given).__name__}")
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
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{argument} is a text, not {value!r}")
    return value.strip()


def _begins(text: object, word: str) -> bool:
    return isinstance(text, str) and text.split()[:1] != [] and text.split()[0].upper() == word
