"""What a word means where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from neelc.catalog.catalog import Catalog, CatalogEntry, KnownType, resolve_type
from neelc.findings import Findings
from neelc.ir.end_points import COMPARISONS, EndPoint
from neelc.ir.names import bare, find, written
from neelc.ir.program import Column
from neelc.ir.script import CreateStream
from neelc.rows.bind.expressions import FORMS
from neelc.runtime.late_dataclass import dataclass
from neelc.scalar.signatures import (
    AGGREGATE_SIGNATURES,
    KIND_WORDS,
    ROW_AGGREGATE_SIGNATURES,
    SCALAR_SIGNATURES,
)
from neelc.source import Source, Span
from neelc.syntax.following import Continuations, following
from neelc.syntax.parser import SOFT, WORD, Lexeme
from neelc.tools.editors.document import Document
from neelc.tools.editors.names import (
    AttributeOwner,
    DocumentCursor,
    attributes,
    chain_before,
    entry_columns,
    followed,
    known_by,
)

# What an editor shows of a thing, in Markdown.


def of_columns(columns: Sequence[Column]) -> str:
    """
    >>> from neelc.ir.types import INT
    >>> print(of_columns([Column("unit price", INT)]))
    ```neel
    `unit price` INT
    ```
    """
    lines = "\n".join(f"{written(column.name)} {column.type}" for column in columns)
    return f"```neel\n{lines}\n```" if columns else ""


def of_variable(known: AttributeOwner) -> str:
    """A variable, or a source of a SELECT."""
    inner = [f"`{one.name}`: {one.title}" for one in known.inner]
    return paragraphs(
        f"`{known.name}`: {known.title}", _listed([*known.scope, *inner]), of_columns(known.columns)
    )


def of_attribute(column: Column, owner: str) -> str:
    return f"`{owner}.{written(column.name)}`: {column.type}"


def of_function(name: str) -> str | None:
    """The form of a function and what it gives.

    >>> print(of_function("LPAD"))
    ```neel
    lpad(text, INT [, text]) -> text
    ```
    """
    key = name.lower()
    forms = [
        f"{signature.text} -> {_in_words(signature.result)}"
        for table in (SCALAR_SIGNATURES, AGGREGATE_SIGNATURES, ROW_AGGREGATE_SIGNATURES)
        if (signature := table.get(key)) is not None
    ]
    forms += [FORMS[key]] if key in FORMS else []
    return "```neel\n" + "\n".join(forms) + "\n```" if forms else None


def _in_words(result: str) -> str:
    """A result as people say it: most are numbers that depend on the arguments."""
    words = KIND_WORDS | dict.fromkeys(("average", "ceiling", "remainder", "rounded", "sum"), "number")
    return re.sub(r"[a-z_]+", lambda kind: words.get(kind[0], kind[0]), result)


def of_type(name: str, catalog: Catalog) -> str | None:
    """A type of a pattern: a stream, a query, a concept, or a value of type columns."""
    entry = catalog.entry(name)
    if entry is not None:
        return of_entry(entry)
    known = known_type(name, catalog)
    if known is None:
        return None
    concept = catalog.concept(name)
    if concept is not None:
        title = f"type `{concept.name}`: one of {', '.join(f'`{leaf}`' for leaf in catalog.flattened(name))}"
    else:
        title = f"type `{name}`: " + ", ".join(_where(entry, name) for entry in known.entries)
    return paragraphs(title, of_columns(attributes(known)))


def known_type(name: str, catalog: Catalog) -> KnownType | None:
    """The type, if the declared streams have it."""
    silent = Findings(Source(""))
    return resolve_type(name, catalog, list(catalog.entries.values()), False, Span(0, 0), silent)


def _where(entry: CatalogEntry, name: str) -> str:
    column = entry.stream.type_column if entry.stream is not None else None
    return f"events of `{entry.name}` where `{column}` is '{bare(name)}'"


def of_entry(entry: CatalogEntry) -> str:
    """A stream, a relation or a named query."""
    title = f"{entry.kind} `{entry.name}`"
    stream = entry.stream
    notes = []
    if stream is not None and stream.query is None:
        end = f" to `{stream.end}`" if stream.end else ""
        notes.append(f"time: `{stream.start}`{end}, {entry.clock}")
    if stream is not None and stream.type_column:
        notes.append(f"types of events: `{stream.type_column}`")
    if stream is not None and stream.path:
        notes.append(f"data: `{stream.path}`")
    return paragraphs(title, _listed(notes), of_columns(entry_columns(entry)))


def of_shared(name: str, several: Iterable[AttributeOwner]) -> str | None:
    """A column that is named without its owner: the types it has."""
    lines = [
        of_attribute(column, one.name)
        for one in several
        for column in one.columns
        if find(name, [written(column.name)])
    ]
    return _listed(lines) or None


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


# One line about each word of the language. A test compares the list with the grammar.

_LINES = """
AFTER       `AFTER MATCH SKIP PAST LAST EVENT`: from where on the next match that counts may start
ALL         `ALL ROWS PER MATCH`: a row for each row of a match; `SELECT ALL` keeps equal rows
AMONG       `STRICT AMONG (B, C) B b`: no event of these types lies between
AND         both conditions hold; `AND(A a, B b)`: all parts of the pattern, in any order
AND_NEG     `AND_NEG(A a, !C c, B b)`: a negative part looks between its positive neighbours only
ANY         `SEQ(A a, ANY B b)`: any later B, whatever lies between; `SKIP TILL ANY MATCH`
AS          gives a name to a column, a query or a source
ASC         the smallest first
BEFORE      `x BEFORE y`: x ends before y starts
BETWEEN     `x BETWEEN low AND high`, both included; `TIMESTAMP BETWEEN lo AND hi`: imprecise times
BY          `TIMESTAMP BY`, `TYPE BY`, `END BY`, `PARTITION BY`, `GROUP BY`, `ORDER BY`
CASE        `CASE WHEN condition THEN value ELSE value END`
CAST        `CAST(x AS type)`; NULL where the value does not fit
COLLAPSED   `RETURN COLLAPSED`: one row per choice of the single variables, with the longest lists
COMPLETE    `WHEN COMPLETE`: no matches that rest on an absence that the data end before
CONFIDENCE  `WITH CONFIDENCE >= 0.6`: the least probability of a match over imprecise times
CONTAINS    `x CONTAINS y`: y lies within x, and touches neither of its ends
COUNT       `WINDOW(COUNT 5 EVENTS)`: the last events; `count(b[])`, `count(*)`: how many
CREATE      declares a stream, a relation, a type or a query
DEFINE      `DEFINE A AS condition`: which rows a variable of a row pattern stands for
DESC        the largest first
DISTINCT    equal rows once; `IS DISTINCT FROM`: not equal, where NULL equals NULL
DISTRIBUTION  `TIMESTAMP BETWEEN lo AND hi DISTRIBUTION TRIANGULAR`: how likely imprecise times are, by a name
DIV         the whole part of a quotient
DO          `A AS TEMP(x > 1) DO v = START(s).x`: what a symbol of a temporal pattern gives
DRILL       `DRILL DOWN Coarse (Computer TO DELL)`: a PATTERN with finer types and attributes
DURATION    `A AS TEMP(x > 1) DURATION AT LEAST 5 SECONDS`: how long a symbol lasts
DURING      `x DURING y`: x lies within y, and touches neither of its ends
EACH        `B+ b[] EACH NEXT`: how one element of a list follows the one before; `EACH WITHIN 5 SECONDS`
ELSE        the value of CASE if no condition holds
EMPTY       `SHOW EMPTY MATCHES`, `OMIT EMPTY MATCHES`: rows for matches without rows, or none
END         `END BY te`: the column that holds the end of an event; the end of CASE
EQUALS      `x EQUALS y`: both start together and end together
ESCAPE      the character that takes the meaning from % and _ in LIKE
EVENTS      `WITHIN 50 EVENTS`: a window that counts events; in WITH STATS, how many there are
EXCEPT      `SELECT ... EXCEPT SELECT ...`: at every instant what the first has, and not the second
EXISTS      `EXISTS x : pattern`: the matches of the pattern with `x` dropped, each once
FALSE       the condition does not hold
FILTER      `sum(A.x) FILTER (WHERE A.y > 0)`, in MATCH_RECOGNIZE: only rows that meet a condition
FINAL       `FINAL LAST(A.x)`: of the complete match
FINISHED    `x FINISHED BY y`: both end together, and x starts first
FINISHES    `x FINISHES y`: both end together, and y starts first
FIRST       `first(b[].x)`; `NULLS FIRST`; `SKIP TO FIRST A`
FORMAT      the format of the file: csv, json or parquet; after TIMESTAMP BY, how times are written
FREQUENT    `MOST FREQUENT column share`, in WITH STATS: how much of a column its commonest value is
FROM        the streams of a query; in CREATE STREAM the path of the data
FUNCTION    `CREATE FUNCTION near(DOUBLE, DOUBLE) RETURNS BOOLEAN`: a function of the engine
GROUP       `GROUP BY`: an aggregate for each value
HAVING      a condition on the results of aggregates
HIERARCHY   `CREATE HIERARCHY Place (street, city) FROM Places`: columns of a relation as levels
ILIKE       as LIKE, whatever the case
IN          `x IN (1, 2)`: equal to one of them
INTERVAL    a length of time: `INTERVAL 5 MINUTES`
IS          `IS NULL`, `IS TRUE`, `IS DISTINCT FROM`
JUMP        `WINDOW(TIME 10 MINUTES JUMP 1 MINUTE)`: how far the window moves at a time
LAST        `b[last]`, `last(b[].x)`: the last element; `NULLS LAST`; `SKIP PAST LAST EVENT`
LIKE        `x LIKE 'a%'`: % is any text, _ any character
LIMIT       how many rows
MATCH       `ONE ROW PER MATCH`; `SKIP TILL ANY MATCH`; `ONE MATCH PER a`; `AFTER MATCH SKIP TO b`
MATCHES     `SHOW EMPTY MATCHES`, `WITH PARTIAL MATCHES`
MATCH_RECOGNIZE             SQL:2016's row patterns: a regular expression over the rows of a table
MATCH_RECOGNIZE_SEQUENTIAL  JEPC's sequential patterns: a regular expression over the events of a stream
MATCH_RECOGNIZE_TEMPORAL    JEPC's temporal patterns: relations between the times of situations
MEASURES    the columns that a match of a row pattern has
MEETS       `x MEETS y`: x ends when y starts, and neither is a point
MET         `x MET BY y`: x starts when y ends, and neither is a point
MOST        `MOST FREQUENT column share`, in WITH STATS
NEXT        `SEQ(A a, NEXT B b)`: no other such B lies between; `SKIP TILL NEXT MATCH`; `NEXT(x)`
NOT         the condition does not hold; before a part of a pattern the same as `!`: there is no match of it
NULL        no value; NULL equals nothing
NULLS       `NULLS FIRST`, `NULLS LAST`; in WITH STATS the share of NULLs
OMIT        `OMIT EMPTY MATCHES`: no rows for matches without rows
ONE         `ONE MATCH PER a, b`: of matches with the same events for these, the first; `ONE ROW PER MATCH`
OPTIONS     settings of the file's format: `OPTIONS (delimiter ';')`
OR          one of the conditions holds; `OR(A a, B b)`: one of the parts of the pattern
ORDER       `ORDER BY`: in which order rows come
OVER        window functions: for Spark, in the query around MATCH_RECOGNIZE
OVERLAPPED  `x OVERLAPPED BY y`: y starts first, and ends within x
OVERLAPS    `x OVERLAPS y`: x starts first, and ends within y
PARTIAL     `WITH PARTIAL MATCHES`: also how far each start came, and why it stopped
PARTITION   `PARTITION BY id`: only events with equal values belong together
PAST        `SKIP PAST LAST EVENT`, in MATCH_RECOGNIZE `ROW`: the next match begins after this one
PATTERN     a query for events: `PATTERN SEQ(A a, !B b, C c) WITHIN 1 HOUR`
PER         `ONE MATCH PER a`; `ONE ROW PER MATCH`; `RATE 10 PER SECOND`
PERMUTE     `PERMUTE(A, B)`: the parts in any order
QUERY       `CREATE QUERY name AS ...`: a query that later statements can read as a stream
RANGE       `RANGE column least TO greatest`, in WITH STATS
RATE        `RATE 10 PER SECOND`, in WITH STATS: how many events come
REGEXP      as RLIKE
RELATION    `CREATE RELATION`: rows without a time, valid forever
RETURN      the columns of a match: `RETURN a.id, count(b[]) AS n`
RETURNS     the type of a function: `CREATE FUNCTION f(INT) RETURNS INT`
RLIKE       `x RLIKE 'a.*'`: a part of the text fits the regular expression
ROLL        `ROLL UP Fine (DELL TO Computer, street TO Place.city)`: a PATTERN with coarser types and levels
ROW         `ONE ROW PER MATCH`; `SKIP TO NEXT ROW`
ROWS        `ALL ROWS PER MATCH`; `WITH UNMATCHED ROWS`
RUNNING     `RUNNING LAST(A.x)`: of the match up to this row
SELECT      a query of JEPC-QL over streams, or of Spark's SQL around MATCH_RECOGNIZE
SELECTIVITY `SELECTIVITY (condition) share`, in WITH STATS: how often a condition holds
SEQ         `SEQ(A a, B b)`: one after the other, each ending before the next one starts
SEQ_NEG     the same as SEQ
SHARE       `TYPE A SHARE 0.1`, in WITH STATS: how many of the events are of the type
SHOW        `SHOW EMPTY MATCHES`: a row for a match without rows
SKIP        `SKIP TILL NEXT MATCH`: a selection strategy; `AFTER MATCH SKIP`
SPAN        `SPAN 7 DAYS`, in WITH STATS: the time that the stream covers
STARTED     `x STARTED BY y`: both start together, and y ends first
STARTS      `x STARTS y`: both start together, and x ends first
STATS       `WITH STATS (EVENTS 1000000)`: what is known of a stream, for the choice of a plan
STREAM      `CREATE STREAM name (columns) TIMESTAMP BY ts`: events
STRICT      `SEQ(A a, STRICT B b)`: no event lies between; `USING STRICT CONTIGUITY`
SUBSET      `SUBSET U = (A, B)`: a name for several variables of a row pattern
SUPPRESS    `SUPPRESS 1 HOUR`: no match that ends so soon after the last one kept
THEN        the value of CASE if the condition holds
TIME        `WINDOW(TIME 10 MINUTES)`: events stay valid for that time
TIMESTAMP   `TIMESTAMP BY ts`: the column that holds the time of an event
TO          `RANGE x 1 TO 9`; `SKIP TO NEXT EVENT`, `SKIP TO LAST b`; `INTERVAL '1 10' DAY TO HOUR`
TRUE        the condition holds
TRY_CAST    as CAST
TYPE        `TYPE BY column`: the column that holds the types of events; `CREATE TYPE name AS (A, B)`: a union
UNION       `SELECT ... UNION ALL SELECT ...`: the events of both; without ALL, equal ones once
UNIT        the unit of timestamps that are integers: `UNIT MILLISECONDS`
UNKNOWN     `IS UNKNOWN`: neither TRUE nor FALSE
UNMATCHED   `WITH UNMATCHED ROWS`: a row for each row that no match has
UNTIL       `B+ b[] UNTIL (C c)`: no C from the part before the list up to its last element
USING       the selection strategy: `USING SKIP TILL NEXT MATCH`
WATERMARK   `WATERMARK 10 SECONDS`: how long a stream without end waits for events that come late
WEIGHT      `TIMESTAMP BETWEEN lo AND hi WEIGHT w`: how likely each imprecise time is, by an array
WHEN        a condition of CASE
WHERE       the condition for a match, or for the part it stands in; `[id]`: equal on all events
WINDOW      `WINDOW(TIME 10 MINUTES)`, `WINDOW(COUNT 5 EVENTS)`: how long events stay valid
WITH        `WITH CONFIDENCE >= 0.6`; `WITH STATS (...)`
WITHIN      the longest time from the start to the end of a match, or the most events: `WITHIN 10 SECONDS`
WITHOUT     `B+ b[] WITHOUT (C c)`: no C between the first and the last element of the list
"""

KEYWORD_HELP = {
    word: line.strip() for word, line in (row.split(None, 1) for row in _LINES.strip().splitlines())
}


def keyword_help(word: str) -> str | None:
    """
    >>> keyword_help("seq")
    '`SEQ(A a, B b)`: one after the other, each ending before the next one starts'
    """
    return KEYWORD_HELP.get(word.upper())


def relation_help(name: str) -> str:
    """
    >>> print(relation_help("OVERLAPS"))
    `x OVERLAPS y`: `x.ts < y.ts AND y.ts < x.te AND x.te < y.te`
    """
    meaning = " AND ".join(
        f"{_end_text(one.left)} {one.op} {_end_text(one.right)}" for one in COMPARISONS[name]
    )
    return f"`x {name} y`: `{meaning}`"


def _end_text(point: EndPoint) -> str:
    return f"{'x' if point.symbol == 'A' else 'y'}.{'te' if point.end else 'ts'}"


# Rules of the grammar that wait for the name of a type, a stream or a query.
_OF_TYPES = frozenset(
    ("patternAtom", "createType", "createStream", "createQuery", "statement", "fromSource", "patternClause")
)


@dataclass(frozen=True)
class Hover:
    """A text in Markdown about the word at `span`."""

    text: str
    span: Span


def hover(document: Document, cursor: int) -> Hover | None:
    """What is known about the word at the cursor.

    >>> print(hover(Document("PATTERN SEQ(A a, B b)"), 10).text)
    **SEQ**: `SEQ(A a, B b)`: one after the other, each ending before the next one starts
    """
    lexeme = document.lexeme_at(cursor)
    if lexeme is None or not (lexeme.is_name or lexeme.kind == WORD):
        return None
    spot = DocumentCursor(document, lexeme.end)
    text = _word(spot, lexeme)
    return None if text is None else Hover(text, lexeme.span)


def _word(spot: DocumentCursor, lexeme: Lexeme) -> str | None:
    if lexeme.kind == WORD:
        return _keyword(lexeme)
    at = next((i for i, one in enumerate(spot.statement) if one.start == lexeme.start), 0)
    if at > 0 and spot.statement[at - 1].says("."):
        chain = chain_before(spot.statement, at - 1)
        return _behind_dot(chain, lexeme, spot) if chain else None
    follows = spot.statement[at + 1].text if at + 1 < len(spot.statement) else ""
    waiting = following(spot.document.text[spot.start : lexeme.start])
    if lexeme.kind == SOFT and lexeme.text.upper() in waiting.words and not waiting.names:
        return _keyword(lexeme)
    return _name(spot, lexeme, follows, waiting) or (_keyword(lexeme) if lexeme.kind == SOFT else None)


def _name(spot: DocumentCursor, lexeme: Lexeme, follows: str, waiting: Continuations) -> str | None:
    """A name that stands alone, or before a dot or a parenthesis."""
    if follows == "(" and (described := of_function(lexeme.text)) is not None:
        return described
    declared = spot.document.declared_before(spot.end)
    # FROM waits for a stream, but PARTITION BY for an attribute: there no value of a type column is meant.
    is_type = waiting.names & _OF_TYPES - {"patternClause"} or declared.kind_of(lexeme.text) is not None
    if waiting.names & _OF_TYPES and is_type and follows not in (".", "["):
        described = of_type(lexeme.text, declared)
        if described is not None:
            return described
    found = known_by(lexeme.text, spot.names)
    if found is not None:
        return of_variable(found)
    return _declared_column(spot, lexeme) or of_shared(lexeme.text, spot.names)


def _declared_column(spot: DocumentCursor, lexeme: Lexeme) -> str | None:
    """A column in the statement that declares it."""
    for statement in spot.document.script.statements:
        if isinstance(statement, CreateStream) and statement.span and statement.span.start == spot.start:
            name = find(lexeme.text, [column.name for column in statement.columns])
            found = [Column(column.name, column.type) for column in statement.columns if column.name == name]
            return of_columns(found) or None
    return None


def _behind_dot(chain: list[str], lexeme: Lexeme, spot: DocumentCursor) -> str | None:
    match followed([*chain, lexeme.text], spot.names):
        case AttributeOwner() as variable:
            return of_variable(variable)
        case Column() as column:
            return of_attribute(column, ".".join(chain))
    return None


def _keyword(lexeme: Lexeme) -> str | None:
    help_line = keyword_help(lexeme.text)
    return None if help_line is None else f"**{lexeme.text.upper()}**: {help_line}"
