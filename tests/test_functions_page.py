"""docs/reference/functions.md lists the functions that the binder knows; `pytest --update` writes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from like_spark import AGGREGATES, AGREED

from neelc.ir.expressions import LAMBDAS, Aggregate, Call
from neelc.ir.node import walk
from neelc.runtime.values.functions.space import SPATIAL
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, ROW_AGGREGATE_SIGNATURES, SCALAR_SIGNATURES
from neelc.syntax import expression

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "functions.md"

TEXT = """# Functions

These functions have the same arguments, types and results as in Spark, but return NULL where Spark would
fail ([why](../decisions/0007-null-on-error.md)). `pytest --update` writes this page from
`compiler/scalar/signatures.py`.

## Scalar functions

{scalars}

These functions take an array and a lambda, in PATTERN and SELECT: {lambdas}. Examples are
`exists(a.items, x -> x > 3)`, `transform(a.items, (x, i) -> x + i)` and
`aggregate(a.items, 0, (sum, x) -> sum + x)`; the start value of `aggregate` has the type of its result.

`current_timestamp`, `now()`, `current_date`, `curdate()` and `localtimestamp` return the time of the run,
one value for the whole run. Set it with `--now` or the argument `now`, to repeat a run; the default is the
current time. Queries over unbounded streams, and `neelc compile`, require it. In the Spark SQL around
MATCH_RECOGNIZE, these functions are the engine's own.

`from_json(a.doc, 'user STRING, items ARRAY<INT>')` parses a string by a schema: the columns of a struct, or
an array, a map or a struct of strings, booleans and numbers. A field that does not fit is NULL.
`variant_get(parse_json(a.doc), '$.items[0]', 'INT')` extracts one value, which may also be a DATE, and
`to_json` writes a struct, an array, a map or the result of `parse_json`. A VARIANT cannot be a column of a
stream or of a result, so that all engines have the same values. In the Spark SQL around MATCH_RECOGNIZE on
the local engine, use `try_parse_json` and `try_variant_get`.

## Aggregates

{aggregates}

Use them over the elements of a list, `sum(b[].price)`, in conditions and in RETURN, or over all matches,
`count(*)`, in RETURN only. `first`, `last`, `max_by` and `min_by` require a list, because matches have no
order. `max_by(b[].price, b[].time)` is the price of the element with the greatest time, the first of
several; `percentile(b[].price, 0.9)` is interpolated if no element is at that position.

MATCH_RECOGNIZE, whose aggregates cover the rows of a match in order, also has {of_rows}: the first value
that is not NULL.
"""


def page() -> str:
    def listed(names: Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in sorted(names))

    return TEXT.format(
        scalars=listed(SCALAR_SIGNATURES),
        lambdas=listed(LAMBDAS),
        aggregates=listed(AGGREGATE_SIGNATURES),
        of_rows=listed(ROW_AGGREGATE_SIGNATURES),
    )


def test_the_page_lists_every_function(update: bool) -> None:
    if update:
        PAGE.write_text(page())
    assert PAGE.read_text() == page(), "run pytest --update"


def test_every_function_is_compared_with_spark() -> None:
    """Each name stands in a line of tests/spark/expressions.txt on which Spark agrees, or is of geometries,
    for which Spark has no functions."""
    texts = [ours.replace("b[]", "a") for ours, _ in (*AGREED, *AGGREGATES)]
    called = {
        node.name.lower()
        for text in texts
        for node in walk(expression(text))
        if isinstance(node, Call | Aggregate)
    }
    listed = {*SCALAR_SIGNATURES, *LAMBDAS, *AGGREGATE_SIGNATURES}
    assert {name for name in listed - called if name not in SPATIAL} == set()
    assert len(called & listed) >= 320
