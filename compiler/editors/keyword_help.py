"""One line about each word of the language. A test compares the list with the grammar."""

from __future__ import annotations

_LINES = """
AFTER       `AFTER MATCH SKIP ...`: where the search for the next match of a row pattern begins
ALL         `ALL ROWS PER MATCH`: a row for each row of a match; `SELECT ALL` keeps equal rows
AND         both conditions hold; `AND(A a, B b)`: all parts of the pattern, in any order
AND_NEG     `AND_NEG(A a, !C c, B b)`: a negative part looks between its positive neighbours only
AS          gives a name to a column, a query or a source
ASC         the smallest first
BETWEEN     `x BETWEEN low AND high`, both included; `TIMESTAMP BETWEEN lo AND hi`: imprecise times
BY          `TIMESTAMP BY`, `TYPE BY`, `END BY`, `PARTITION BY`, `GROUP BY`, `ORDER BY`
CASE        `CASE WHEN condition THEN value ELSE value END`
CAST        `CAST(x AS type)`; NULL where the value does not fit
COLLAPSED   `RETURN COLLAPSED`: one row per choice of the single variables, with the longest lists
CONFIDENCE  `WITH CONFIDENCE >= 0.6`: the least probability of a match over imprecise times
COUNT       `WINDOW(COUNT 5 EVENTS)`: the last events; `count(b[])`, `count(*)`: how many
CREATE      declares a stream, a relation, a type or a query
DEFINE      `DEFINE A AS condition`: which rows a variable of a row pattern stands for
DESC        the largest first
DISTINCT    equal rows once; `IS DISTINCT FROM`: not equal, where NULL equals NULL
DIV         the whole part of a quotient
ELSE        the value of CASE if no condition holds
EMPTY       `SHOW EMPTY MATCHES`, `OMIT EMPTY MATCHES`: rows for matches without rows, or none
END         `END BY te`: the column that holds the end of an event; the end of CASE
ESCAPE      the character that takes the meaning from % and _ in LIKE
EVENTS      `WITHIN 50 EVENTS`: a window that counts events; in WITH STATS, how many there are
EXISTS      `EXISTS x : pattern`: the matches of the pattern with `x` dropped, each once
FALSE       the condition does not hold
FILTER      `sum(A.x) FILTER (WHERE A.y > 0)`, in MATCH_RECOGNIZE: only rows that meet a condition
FINAL       `FINAL LAST(A.x)`: of the complete match
FIRST       `first(b[].x)`; `NULLS FIRST`; `SKIP TO FIRST A`
FORMAT      the format of the file: csv, json or parquet; after TIMESTAMP BY, how times are written
FREQUENT    `MOST FREQUENT column share`, in WITH STATS: how much of a column its commonest value is
FROM        the streams of a query; in CREATE STREAM the path of the data
GROUP       `GROUP BY`: an aggregate for each value
HAVING      a condition on the results of aggregates
ILIKE       as LIKE, whatever the case
IN          `x IN (1, 2)`: equal to one of them
INTERVAL    a length of time: `INTERVAL 5 MINUTES`
IS          `IS NULL`, `IS TRUE`, `IS DISTINCT FROM`
JUMP        `WINDOW(TIME 10 MINUTES JUMP 1 MINUTE)`: how far the window moves at a time
LAST        `b[last]`, `last(b[].x)`: the last element; `NULLS LAST`; `SKIP PAST LAST ROW`
LIKE        `x LIKE 'a%'`: % is any text, _ any character
LIMIT       how many rows
MATCH       `ONE ROW PER MATCH`; `SKIP TILL ANY MATCH`
MATCHES     `SHOW EMPTY MATCHES`, `WITH PARTIAL MATCHES`
MATCH_RECOGNIZE             SQL:2016's row patterns: a regular expression over the rows of a table
MATCH_RECOGNIZE_SEQUENTIAL  JEPC's sequential patterns: a regular expression over the events of a stream
MATCH_RECOGNIZE_TEMPORAL    JEPC's temporal patterns: relations between the times of situations
MEASURES    the columns that a match of a row pattern has
MOST        `MOST FREQUENT column share`, in WITH STATS
NEXT        `SKIP TILL NEXT MATCH`; `SKIP TO NEXT ROW`; `NEXT(x)`: of the row after
NOT         the condition does not hold; before a part of a pattern the same as `!`: there is no match of it
NULL        no value; NULL equals nothing
NULLS       `NULLS FIRST`, `NULLS LAST`; in WITH STATS the share of NULLs
OMIT        `OMIT EMPTY MATCHES`: no rows for matches without rows
ONE         `ONE ROW PER MATCH`
OPTIONS     settings of the file's format: `OPTIONS (delimiter ';')`
OR          one of the conditions holds; `OR(A a, B b)`: one of the parts of the pattern
ORDER       `ORDER BY`: in which order rows come
OVER        window functions: for Spark, in the query around MATCH_RECOGNIZE
PARTIAL     `WITH PARTIAL MATCHES`: also how far each start came, and why it stopped
PARTITION   `PARTITION BY id`: only events with equal values belong together
PAST        `SKIP PAST LAST ROW`: the next match begins after this one
PATTERN     a query for events: `PATTERN SEQ(A a, !B b, C c) WITHIN 1 HOUR`
PER         `ONE ROW PER MATCH`; `RATE 10 PER SECOND`
PERMUTE     `PERMUTE(A, B)`: the parts in any order
QUERY       `CREATE QUERY name AS ...`: a query that later statements can read as a stream
RANGE       `RANGE column least TO greatest`, in WITH STATS
RATE        `RATE 10 PER SECOND`, in WITH STATS: how many events come
REGEXP      as RLIKE
RELATION    `CREATE RELATION`: rows without a time, valid forever
RETURN      the columns of a match: `RETURN a.id, count(b[]) AS n`
RLIKE       `x RLIKE 'a.*'`: a part of the text fits the regular expression
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
STATS       `WITH STATS (EVENTS 1000000)`: what is known of a stream, for the choice of a plan
STREAM      `CREATE STREAM name (columns) TIMESTAMP BY ts`: events
SUBSET      `SUBSET U = (A, B)`: a name for several variables of a row pattern
THEN        the value of CASE if the condition holds
TIME        `WINDOW(TIME 10 MINUTES)`: events stay valid for that time
TIMESTAMP   `TIMESTAMP BY ts`: the column that holds the time of an event
TO          `RANGE x 1 TO 9`; `SKIP TO NEXT ROW`; `INTERVAL '1 10' DAY TO HOUR`
TRUE        the condition holds
TRY_CAST    as CAST
TYPE        `TYPE BY column`: the column that holds the types of events; `CREATE TYPE name AS (A, B)`: a union
UNIT        the unit of timestamps that are integers: `UNIT MILLISECONDS`
UNKNOWN     `IS UNKNOWN`: neither TRUE nor FALSE
UNMATCHED   `WITH UNMATCHED ROWS`: a row for each row that no match has
USING       the selection strategy: `USING SKIP TILL NEXT MATCH`
WHEN        a condition of CASE
WHERE       the condition for a match, or for the part it stands in; `[id]`: equal on all events
WINDOW      `WINDOW(TIME 10 MINUTES)`, `WINDOW(COUNT 5 EVENTS)`: how long events stay valid
WITH        `WITH CONFIDENCE >= 0.6`; `WITH STATS (...)`
WITHIN      the longest time from the start to the end of a match, or the most events: `WITHIN 10 SECONDS`
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
