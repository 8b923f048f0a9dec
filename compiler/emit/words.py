"""Words that are not written as names unless quoted."""

from __future__ import annotations

# Spark's reserved words (of which most are names as well where nothing enforces the standard), and words that
# begin a constant or a function without parentheses.
KEYWORDS = frozenset(
    """
    all and anti any as asc at authorization between both by call case cast check collate collation
    collations column constraint create cross current_database current_date current_path current_schema
    current_time current_timestamp current_user date default desc distinct div else end escape except
    execute exists extract false fetch filter for foreign from full function grant group grouping having
    identifier if ilike in inner intersect interval into is join lateral leading left like limit localtime
    minus named_struct natural not null offset on only or order outer over overlaps partition pivot
    position primary qualify recursive references regexp right rlike select semi session_user set some sql
    struct substr substring table tablesample then time timestamp timestamp_ltz timestamp_ntz timestampadd
    timestampdiff to trailing transform trim true try_cast union unique unknown unnest unpivot user using
    values when where window with within
    """.split()
)
