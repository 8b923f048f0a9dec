"""docs/reference/functions.md lists the functions that the binder knows; `pytest --update` writes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from neelc.ir.expressions import LAMBDAS
from neelc.scalar.signatures import AGGREGATE_SIGNATURES, ROW_AGGREGATE_SIGNATURES, SCALAR_SIGNATURES

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "functions.md"

TEXT = """# Functions

With the arguments, types and results that Spark gives them, but NULL where Spark would fail
([why](../decisions/0007-null-on-error.md)). This page is written by `pytest --update` from
`compiler/scalar/signatures.py`.

## Scalar functions

{scalars}

Of an array and a lambda, in PATTERN and SELECT: {lambdas}. `exists(a.items, x -> x > 3)`,
`transform(a.items, (x, i) -> x + i)` and `aggregate(a.items, 0, (sum, x) -> sum + x)`; what `aggregate`
starts with has the type of its result.

The time of a run is `current_timestamp`, `now()`, `current_date`, `curdate()` or `localtimestamp`: one
value for all of it. `--now` gives it, or the argument `now`, so that a run can be repeated; else it is the
present. Queries over streams without end, and `neelc compile`, need it to be given. In Spark's SQL around
MATCH_RECOGNIZE, it is the engine's own.

## Aggregates

{aggregates}

Over the elements of a list, `sum(b[].price)`, in conditions and in RETURN; over all matches, `count(*)`,
in RETURN only. `first`, `last`, `max_by` and `min_by` need a list: matches have no order.
`max_by(b[].price, b[].time)` is the price of the element with the greatest time, the first of several;
`percentile(b[].price, 0.9)` lies between two elements where none is at that place.

In MATCH_RECOGNIZE, over the rows of a match in their order, there is also {of_rows}: the first value that is
not NULL.
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
