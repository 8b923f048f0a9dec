"""Untrusted texts: they may read only what they were given.

Our own statements are safe but for what they name: files and agents. A query around MATCH_RECOGNIZE is
Spark's, which can read every file and table, start programs and call Java. It is checked twice, and both
checks must pass: by its tokens, where every name before a parenthesis is a call and every name behind FROM a
table, and by the tree that sqlglot reads. Comments never reach Spark, so that nothing can hide in what
one of the three takes for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from neelc.catalog.catalog import Catalog
from neelc.errors import Diagnostic, Hint, NeelError
from neelc.findings import Findings, closest
from neelc.ir.names import bare, written
from neelc.ir.node import walk
from neelc.ir.script import CreateStream, FromAgent, HostClause, HostSelect, Script
from neelc.rows.bind.host_text import STAND_IN, stand_in_text, tokens_of
from neelc.runtime.late_dataclass import dataclass
from neelc.runtime.values.functions.space import SPATIAL
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, SCALAR_SIGNATURES
from neelc.scalar.spark.trees import read_statement, same_name
from neelc.source import Source, Span
from neelc.syntax.host_tokens import CLAUSE, MARK, QUOTED, STRING, WORD, Token, end_of_group

# What a query around MATCH_RECOGNIZE may call if its text is not trusted.
#
# A list of what is allowed, not of what is forbidden: a session has functions that users registered, and
# every version of Spark has new ones. A function is here if its value depends on its arguments, the rows of
# its group or window, and the clock. Not here, among others: those that call Java (`reflect`,
# `java_method`), read files (`from_avro` and `from_protobuf` read descriptors), reveal the machine, the
# user or the files (`current_user`, `input_file_name`, `version`), or make rows of nothing (`range`,
# `sequence`).

WINDOWS = "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number"

AGGREGATES = """
any_value approx_count_distinct approx_percentile array_agg bit_and bit_or bit_xor corr covar_pop
covar_samp grouping grouping_id kurtosis listagg max_by median min_by mode percentile percentile_approx
percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy skewness std string_agg try_avg try_sum
"""

COLLECTIONS = """
aggregate array_append array_compact array_distinct array_except array_insert array_intersect array_join
array_max array_min array_position array_prepend array_remove array_size array_sort array_union
arrays_overlap arrays_zip exists explode explode_outer filter flatten forall get inline inline_outer map
map_concat map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values
map_zip_with posexplode posexplode_outer reduce slice sort_array stack transform transform_keys
transform_values try_element_at zip_with
"""

TEXTS = """
ascii base64 bit_length btrim char char_length character_length chr crc32 decode encode equal_null
find_in_set format_number format_string from_json get_json_object hash hex initcap json_array_length
json_object_keys levenshtein len like ilike md5 octet_length overlay parse_json printf regexp
regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_substr rlike sha sha1 sha2
soundex split_part str_to_map substring_index to_binary to_char to_json to_number to_varchar translate
try_parse_json try_to_number try_variant_get typeof unbase64 unhex variant_get xxhash64
"""

TIMES = """
add_months convert_timezone curdate current_date current_timestamp current_timezone date_format
date_from_unix_date date_part dateadd datepart dayname extract from_unixtime from_utc_timestamp last_day
localtimestamp make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz
make_timestamp_ntz make_ym_interval monthname months_between next_day now session_window timestamp_micros
timestampadd timestampdiff to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc
try_to_date try_to_timestamp unix_date weekday weekofyear window window_time
"""

NUMBERS = """
acosh asinh atanh bin bit_get bround cbrt conv cosh cot csc e expm1 factorial getbit hypot log1p negative
pi positive rint sec shiftrightunsigned sinh tanh try_add try_divide try_mod try_multiply try_subtract
width_bucket
"""

CASTS = """
bigint binary boolean cast date decimal double float int smallint string timestamp tinyint try_cast
nullifzero zeroifnull
"""

_MORE = (WINDOWS, AGGREGATES, COLLECTIONS, TEXTS, TIMES, NUMBERS, CASTS)
MAKE_ROWS = frozenset(("array_repeat", "sequence"))
"""Arrays of any length, of nothing: with explode, so many rows."""

ALLOWED = (
    frozenset({*SCALAR_SIGNATURES, *AGGREGATE_SIGNATURES, *(one for text in _MORE for one in text.split())})
    - MAKE_ROWS
    - {*SPATIAL}
)
"""The functions that may be called, in small letters: neelc's own, and these of Spark's. Those of
geometries are neelc's alone, and for PATTERN and SELECT."""

BEFORE_PARENTHESIS = frozenset(
    """ALL AND ANY AS BETWEEN BY CASE CHAR CHARACTER CUBE DEC DECIMAL DISTINCT DIV ELSE EXCEPT EXISTS
    FILTER FOR FROM FULL GROUP HAVING ILIKE IN INNER INTERSECT JOIN LATERAL LIKE LIMIT MINUS NOT
    NUMERIC OFFSET ON OR OVER PERCENT PIVOT QUALIFY REPEATABLE RLIKE ROLLUP SELECT SETS SOME TABLE
    TABLESAMPLE THEN TIMESTAMP UNION UNPIVOT USING VALUES VARCHAR WHEN WHERE""".split()
)
"""Words of Spark's grammar that stand before a parenthesis and call nothing."""

SESSION = frozenset(
    """_metadata current_catalog current_database current_path current_schema current_user session_user
    user""".split()
)
"""Names that are a column if there is one, and otherwise reveal something about the session or a file."""

MARKS = frozenset("()[]{}<>=!+-*/%&|^~,.:;?@")
EXPRESSIONS_WITH_FROM = ("EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY")
ENDS_OF_FROM = (
    *("WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW"),
    *("UNION", "EXCEPT", "MINUS", "INTERSECT", "SELECT", "QUALIFY"),
)
NO_RELATIONS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE")
UNTRUSTED = "which untrusted text may not do"


def refuse_files_and_agents(script: Script, source: Source) -> None:
    """Raises `NeelError` if a text names a file to read, or an agent."""
    found: list[Diagnostic] = []
    for statement in script.statements:
        if isinstance(statement, CreateStream) and statement.path is not None:
            message = f"stream `{statement.name}` names a file; untrusted text may only read what it is given"
            hint = "leave FROM out, and pass the data from outside"
            span = statement.path_span or statement.span or Span(0, 1)
            found.append(Diagnostic("NEEL4061", message, span, hint))
    for node in walk(script):
        if isinstance(node, FromAgent):
            message = f"`{node.name}` is an agent, which untrusted text may not call"
            found.append(Diagnostic("NEEL4064", message, node.span or Span(0, 1)))
    if found:
        raise NeelError(found, source)


def without_comments(source: Source, tokens: Sequence[Token]) -> Source:
    """The text with blanks between tokens, where a query of Spark's has comments, hints and unusual spaces.

    >>> from neelc.syntax.host_tokens import tokens
    >>> text = "SELECT /*+ x */ 1 --a\\nFROM t MATCH_RECOGNIZE (PATTERN (A /* our own */))"
    >>> without_comments(Source(text), list(tokens(text))).text
    'SELECT          1    \\nFROM t MATCH_RECOGNIZE (PATTERN (A /* our own */))'
    """
    text = source.text
    for left, right in pairwise(tokens):
        gap = re.sub(r"[^\r\n]", " ", text[left.end : right.start])
        text = text[: left.end] + gap + text[right.start :]
    return Source(text, source.name)


@dataclass(frozen=True)
class TrustCheck:
    """Checks a query. `text` is passed to Spark; the query may read the entries of the catalog."""

    text: str
    query: HostSelect
    catalog: Catalog
    findings: Findings

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tokens_of(self.query, self.text)

    @property
    def clauses(self) -> tuple[HostClause, ...]:
        return self.query.clauses

    @property
    def _given(self) -> list[str]:
        return list(self.catalog.entries)

    def is_harmless(self) -> bool:
        """Whether the query only reads what was given; reports if not."""
        before = len(self.findings.diagnostics)
        self._marks()
        self._calls()
        self._relations()
        if len(self.findings.diagnostics) == before:
            self._trees()
        return len(self.findings.diagnostics) == before

    def _marks(self) -> None:
        depth = 0
        for token, after in zip(self.tokens, (*self.tokens[1:], None), strict=True):
            depth += token.says("(") - token.says(")")
            is_open = token.kind in (STRING, QUOTED) and (len(token.text) < 2 or token.text[-1] not in "'\"`")
            if (token.kind == MARK and token.text not in MARKS) or is_open or depth < 0:
                self._refuse(token, f"`{token.text}` here cannot be analysed, {REQUIRED}")
            elif token.kind != CLAUSE and "${" in token.text:
                self._refuse(token, f"`${{...}}` reads a setting or the environment, {UNTRUSTED}")
            elif token.says("USING") and not (after is not None and after.says("(")):
                self._refuse(token, f"TRANSFORM ... USING starts a program, {UNTRUSTED}")

    def _calls(self) -> None:
        tables = (entry.table for entry in self.catalog.entries.values())
        columns = {column.name.casefold() for table in tables if table for column in table.columns}
        for place, token in enumerate(self.tokens):
            before = self.tokens[place - 1] if place else None
            is_part = before is not None and before.says(".")
            if place + 1 < len(self.tokens) and self.tokens[place + 1].says("("):
                if not self._may_stand_before_parenthesis(place, is_part):
                    self._call(token)
            elif token.is_name and not is_part:
                name = bare(token.text).casefold()
                if name in SESSION and name not in columns and not (before and before.says("AS")):
                    self._call(token)

    def _call(self, token: Token) -> None:
        name = bare(token.text)
        close = closest(name.lower(), sorted(ALLOWED))
        message = f"`{name}` is not among the functions that untrusted text may call"
        hint = None if close is None else Hint(f"did you mean `{close}`?", (written(close),))
        self.findings.report("NEEL4063", message, token.span, hint)

    def _may_stand_before_parenthesis(self, place: int, is_part: bool) -> bool:
        token = self.tokens[place]
        if token.kind == STRING:
            return False  # a name, where double quotes are for names
        if token.kind == WORD and token.text.upper() in BEFORE_PARENTHESIS:
            return True
        if not token.is_name:
            return True
        name = bare(token.text)
        return (not is_part and name.isascii() and name.lower() in ALLOWED) or self._is_alias(place)

    def _is_alias(self, place: int) -> bool:
        """Whether names of columns follow, as in `(...) AS t(x, y)` and `WITH t(x, y) AS (...)`."""
        end = end_of_group(self.tokens, place + 2)
        inside = self.tokens[place + 2 : end]
        before = self.tokens[place - 1] if place else None
        if before is None or not all(one.is_name or one.says(",") for one in inside):
            return False
        if before.says(")", "AS") or before.kind == CLAUSE:
            return True
        after = self.tokens[end + 1 : end + 3]
        defines = len(after) == 2 and after[0].says("AS") and after[1].says("(")
        return defines and before.says("WITH", "RECURSIVE", ",")

    def _relations(self) -> None:
        known = [*self._given, *_defined(self.tokens)]
        for place in _relation_places(self.tokens):
            token = self.tokens[place]
            after = self.tokens[place + 1] if place + 1 < len(self.tokens) else None
            if token.is_name and after is not None and after.says("("):
                continue  # a table function, which `_calls` has checked
            parts = _name_parts(self.tokens, place)
            is_known = len(parts) == 1 and any(same_name(bare(token.text), name) for name in known)
            if not token.is_name or not is_known:
                self._table(parts)

    def _table(self, parts: Sequence[Token]) -> None:
        name = ".".join(bare(one.text) for one in parts)
        given = ", ".join(self._given) or "none"
        message = f"`{name}` is not among the tables that were given"
        self.findings.report("NEEL4062", message, parts[0].span | parts[-1].span, f"given: {given}")

    def _trees(self) -> None:
        """What sqlglot makes of the query, and of what its clauses read."""
        place = self.findings.at(self.query)
        self._tree(stand_in_text(self.text, self.clauses, place), self._given, place)
        for clause in self.clauses:
            if clause.source is not None:
                source = f"SELECT * FROM {stand_in_text(self.text, self.clauses, clause.source)}"
                self._tree(source, [*self._given, *clause.defined], clause.source)

    def _tree(self, text: str, known: Sequence[str], span: Span) -> None:
        read = read_statement(text)
        if read is None or not read.is_query or read.does_more:
            self.findings.report("NEEL4064", f"this query cannot be analysed, {REQUIRED}", span, None)
            return
        for table in read.tables:
            is_known = len(table) == 1 and any(same_name(table[0], name) for name in known)
            if not is_known and not (len(table) == 1 and table[0].startswith(STAND_IN)):
                place = self._place_of(table[-1], span)
                message = f"`{'.'.join(table)}` is not among the tables that were given"
                self.findings.report("NEEL4062", message, place, f"given: {', '.join(self._given) or 'none'}")

    def _place_of(self, name: str, within: Span) -> Span:
        """Where a bare name stands first in a part of the query."""
        named = (one.span for one in self.tokens if one.is_name and same_name(bare(one.text), name))
        inside = (one for one in named if within.start <= one.start and one.end <= within.end)
        return next(inside, within)

    def _refuse(self, token: Token, message: str) -> None:
        self.findings.report("NEEL4064", message, token.span, None)


REQUIRED = "which untrusted text requires"


@dataclass
class _Level:
    """Between two parentheses: whether FROM has begun, and whether rows of VALUES follow."""

    function: str = ""
    in_from: bool = False
    in_values: bool = False


def _relation_places(tokens: Sequence[Token]) -> Iterator[int]:
    """The places where relations are named: behind FROM, JOIN and TABLE, and behind commas of FROM.

    >>> from neelc.syntax.host_tokens import tokens
    >>> text = "WITH c AS (TABLE t) SELECT extract(day FROM d), x FROM c, (a JOIN b ON p), LATERAL (SELECT 1)"
    >>> found = list(tokens(text))
    >>> [found[place].text for place in _relation_places(found)]
    ['t', 'c', 'a', 'b']
    """
    levels = [_Level()]
    expecting = False
    for place, token in enumerate(tokens):
        before, after = tokens[max(place - 1, 0)], tokens[min(place + 1, len(tokens) - 1)]
        if token.says("("):
            levels.append(_Level(before.text.upper()))
            continue  # a relation may be expected inside, too
        if expecting and not token.says("LATERAL"):
            expecting = False
            if (
                token.kind not in (MARK, CLAUSE)
                and not token.says(*NO_RELATIONS)
                and not token.text[0].isdigit()
            ):
                yield place
        level = levels[-1]
        if token.says(")"):
            levels = levels[:-1] or [_Level()]
        elif token.says("FROM"):
            expecting = level.in_from = not _is_in_expression(tokens, place, level)
        elif token.says("JOIN", "TABLE"):
            expecting = True
            level.in_from = level.in_from or token.says("JOIN")
        elif token.says("VALUES"):
            level.in_values = True
        elif token.says(",") and level.in_from:
            expecting = not (level.in_values and after.says("("))
        elif token.says(*ENDS_OF_FROM) or (token.says("LATERAL") and after.says("VIEW")):
            level.in_from = level.in_values = False


def _is_in_expression(tokens: Sequence[Token], place: int, level: _Level) -> bool:
    """Whether FROM stands in `extract(day FROM x)` or in `x IS DISTINCT FROM y`."""
    before = tokens[max(place - 2, 0) : place]
    is_compared = len(before) == 2 and before[1].says("DISTINCT") and before[0].says("IS", "NOT")
    return is_compared or level.function in EXPRESSIONS_WITH_FROM


def _name_parts(tokens: Sequence[Token], place: int) -> list[Token]:
    found = [tokens[place]]
    while place + 2 < len(tokens) and tokens[place + 1].says(".") and tokens[place + 2].kind != MARK:
        place += 2
        found.append(tokens[place])
    return found


def _defined(tokens: Sequence[Token]) -> Iterator[str]:
    """Names that a WITH may define. The tree decides which of them are visible to a table."""
    for place, token in enumerate(tokens[1:], 1):
        if token.is_name and tokens[place - 1].says("WITH", "RECURSIVE", ","):
            after = tokens[place + 1 : place + 2]
            end = end_of_group(tokens, place + 2) if after and after[0].says("(") else place
            following = tokens[end + 1 : end + 3]
            if len(following) == 2 and following[0].says("AS") and following[1].says("("):
                yield bare(token.text)
