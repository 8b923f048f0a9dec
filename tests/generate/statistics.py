"""Statistics as the parser makes them: any number, whether it can be or not."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from generate.expressions import UNITS, expressions, maybe
from generate.names import identifiers
from neelc.ir.script import Statistic

_numbers = st.decimals(-(10**9), 10**9, places=3) | st.integers(0, 10**6).map(Decimal)
_one = st.tuples(_numbers)
_types = maybe(identifiers)

statistics: SearchStrategy[Statistic] = st.one_of(
    st.builds(Statistic, st.sampled_from(["EVENTS", "SHARE"]), _one, _types),
    st.builds(Statistic, st.sampled_from(["RATE", "SPAN"]), _one, _types, unit=st.sampled_from(UNITS)),
    st.builds(Statistic, st.sampled_from(["DISTINCT", "NULLS", "MOST FREQUENT"]), _one, _types, identifiers),
    st.builds(Statistic, st.just("RANGE"), st.tuples(_numbers, _numbers), _types, identifiers),
    st.builds(Statistic, st.just("SELECTIVITY"), _one, _types, condition=expressions(1)),
)
