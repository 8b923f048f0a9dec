"""What a query around MATCH_RECOGNIZE may call if its text is not trusted.

A list of what is allowed, not of what is forbidden: a session has functions that users registered, and
every version of Spark has new ones. A function is here if its value depends on its arguments, the rows of
its group or window, and the clock. Not here, among others: those that call Java (`reflect`,
`java_method`), read files (`from_avro` and `from_protobuf` read descriptors), tell of the machine, the
user or the files (`current_user`, `input_file_name`, `version`), or make rows of nothing (`range`,
`sequence`).
"""

from __future__ import annotations

from neelc.bind.signatures import AGGREGATE_SIGNATURES, SCALAR_SIGNATURES

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
ALLOWED = frozenset(
    {*SCALAR_SIGNATURES, *AGGREGATE_SIGNATURES, *(one for text in _MORE for one in text.split())}
)
"""The functions that may be called, in small letters: neelc's own, and these of Spark's."""

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
"""Names that are a column if there is one, and else tell of the session or of a file."""
