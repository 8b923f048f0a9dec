"""Many rules over one stream: the workloads of the papers, and those of people with hundreds of thresholds.

A workload has the texts of its rules by name, and the recipe of its events. Where a paper prints a workload
only as a picture, the docstring says what was taken from its text and what was chosen here; `PAPER` has what
each paper reports of it, with the sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from bench.data import BUILD, ROW_GROUP, START

# Events.


@dataclass(frozen=True)
class RuleEvents:
    """`events` events of the types `kinds`, `gap` microseconds apart, with ids from 0 to `keys` - 1. The
    other columns are whole numbers from the least to below the greatest, evenly spread or `normal`."""

    events: int
    kinds: tuple[str, ...] = ()
    keys: int = 1
    gap: int = 1000
    columns: tuple[tuple[str, int, int], ...] = ()
    normal: bool = False
    seed: int = 1

    @property
    def statement(self) -> str:
        """The stream `Events`, declared, with what its recipe says about it."""
        types = {"ts": "TIMESTAMP", "kind": "STRING", "id": "BIGINT"} | {
            name: "INT" for name, _, _ in self.columns
        }
        listed = ", ".join(f"{name} {type}" for name, type in types.items())
        sizes = {"id": self.keys} | {name: high - low for name, low, high in self.columns}
        facts = [f"RATE {1_000_000 / self.gap:g} PER SECOND", f"EVENTS {self.events}"]
        facts += [f"DISTINCT {name} {size}" for name, size in sizes.items() if size <= self.events]
        stats = f"WITH STATS ({', '.join(facts)})"
        return f"CREATE STREAM Events ({listed}) TIMESTAMP BY ts TYPE BY kind {stats};\n"

    @property
    def name(self) -> str:
        text = repr(asdict(self)) + Path(__file__).read_text()
        return f"{self.events}-events-for-rules-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def table(recipe: RuleEvents) -> pa.Table:
    """The whole stream; times rise strictly.

    >>> table(RuleEvents(3, ("A",), columns=(("x", 0, 10),))).column_names
    ['ts', 'kind', 'id', 'x']
    """
    random, size = np.random.default_rng(recipe.seed), recipe.events
    times = START + np.arange(size, dtype=np.int64) * recipe.gap
    kinds = random.integers(0, max(len(recipe.kinds), 1), size).astype(np.int8)
    columns: dict[str, pa.Array] = {
        "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
        "kind": pa.DictionaryArray.from_arrays(kinds, list(recipe.kinds) or ["A"]),
        "id": pa.array(random.integers(0, recipe.keys, size)),
    }
    for name, low, high in recipe.columns:
        columns[name] = pa.array(numbers(random, low, high, size, recipe.normal).astype(np.int32))
    return pa.table(columns)


def numbers(
    random: np.random.Generator, low: int, high: int, size: int, normal: bool
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Random whole numbers from `low` to below `high`: JEPC thesis, A.3.1, presets UNIFORM and NORMAL. Its
    standard deviation of one is read as a sixth of the range, which its figure A.3 shows from -3 to 3."""
    if not normal:
        return random.integers(low, high, size)
    drawn = random.normal((low + high) / 2, (high - low) / 6, size)
    return np.clip(drawn, low, high - 1).astype(np.int64)


def parquet(recipe: RuleEvents) -> Path:
    """The stream as a Parquet file, which is kept."""
    path = BUILD / "data" / f"{recipe.name}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.unfinished")
        pa.parquet.write_table(table(recipe), unfinished, row_group_size=ROW_GROUP)
        unfinished.rename(path)
    return path


# Rules.


@dataclass(frozen=True)
class RuleWorkload:
    """Rules by name, each the text of one query over the stream `Events`, and their events."""

    name: str
    texts: Mapping[str, str]
    events: RuleEvents


PAPER: Mapping[str, str] = {
    "mqos-1": "We observe that MQOS and E-cube generate results faster than Naive, because they avoid "
    "results re-computation by applying conditional computation. [...] Consequently, MQOS used 9 operators, "
    "[...] while Naive used 12 operators",
    "mqos-2": "We observe that MQOS and Middle-to-both-sides generate results faster than Naive, because "
    "they avoid result re-computation.",
    "mqos-3": "As expected, MQOS outperforms Naive.",
    "neel-mixed": "As expected, our proposed NEEL execution takes significantly less time as compared to the "
    "iterative nested execution as shown in Figure 27.",
    "matchers": "the maximum event throughput of the optimized query workload consisting of 50 active "
    "pattern matching EPAs was about 20 times higher than the maximum event throughput of the non-optimized "
    "query workload that also consisted of 50 active pattern matching EPAs.",
    "filters": "The BE+-tree clearly outperformed the BE-tree by many times.",
}
"""What the papers say of their gains, word for word. Only the one of `matchers` is a number: the others are
curves in pictures that the texts do not give."""

PAPER_FACTORS: Mapping[str, float] = {"matchers": 20.0, "mqos-1, operators": 12 / 9}
"""Those that are numbers."""

CONCEPTS = """CREATE TYPE Medicine AS (MDCO, TCM); CREATE TYPE Computer AS (DELL, INTC);
CREATE TYPE Finance AS (HTB, DBB); CREATE TYPE Metal AS (KME); CREATE TYPE Education AS (EDU, MBA);
"""
COMPANIES = ("MDCO", "TCM", "DELL", "INTC", "HTB", "DBB", "KME", "EDU", "MBA")

MQOS: Mapping[int, Mapping[str, str]] = {
    1: {
        "q1": "SEQ(HTB, EDU, MBA)",
        "q2": "SEQ_NEG(HTB, EDU, !INTC, MBA)",
        "q3": "SEQ(Medicine, DELL, KME)",
        "q4": "SEQ(Medicine, Computer, Metal)",
        "q5": "SEQ(HTB, EDU, Medicine, Computer)",
    },
    2: {
        "q6": "AND(SEQ(KME, MDCO), SEQ(DBB, DELL), SEQ(HTB, TCM))",
        "q7": "SEQ(KME, MDCO, DBB, DELL, HTB, TCM)",
        "q8": "SEQ_NEG(KME, MDCO, !INTC, DBB, DELL, HTB, TCM)",
    },
    3: {
        "q9": "AND(SEQ(MDCO, EDU), HTB)",
        "q10": "SEQ(MDCO, EDU, HTB)",
        "q11": "SEQ_NEG(MDCO, EDU, !KME, HTB)",
        "q12": "AND(SEQ(MDCO, EDU, HTB), INTC)",
        "q13": "SEQ(Finance, Metal, Education, Medicine)",
        "q14": "SEQ(Finance, Metal, AND(SEQ(MDCO, EDU), HTB))",
        "q15": "SEQ(Finance, Metal, Education, Medicine, Computer)",
        "q16": "SEQ_NEG(Finance, Metal, !INTC, Education, Medicine)",
    },
}


def mqos(number: int, events: int, window: float = 10.0, rate: float = 0.2) -> RuleWorkload:
    """Workload 1, 2 or 3 of MQOS (001_4daa3bdc1f8dc586.txt, figures 8, 11 and 12; 9 varies `window`, in
    seconds, and 10 `rate`, the events of each type in a second).

    Figure 1, with the queries, is a picture. The text prints q3, q4, q6 to q9, q13 and q14. Of q1, q2 and q5
    it says enough: SEQ(HTB, EDU) is a part of q1 without its MBA, "q2 can be performed by processing
    replicate results of q1" with the only SEQ_NEG, q5 joins SEQ(HTB, EDU) and SEQ(Medicine, Computer); so
    written, they take the 11 SEQ and the SEQ_NEG that it counts for Naive. The type that q2 negates, q10 to
    q12 beyond "adding predicate !" and "joining event type INTC", q15 and q16 are chosen here, and so is
    which company belongs to which concept, where the text is silent.

    The paper's window of 10 seconds at 1000 events a second of each type has 10,000 to the sixth matches of
    q7: the rate is lower here, until a match has two events of a type to choose from.
    """
    gap = round(1_000_000 / (rate * len(COMPANIES)))
    milliseconds = round(window * 1000)
    texts = {
        name: f"{CONCEPTS}PATTERN {pattern} WITHIN {milliseconds} MILLISECONDS"
        for name, pattern in MQOS[number].items()
    }
    return RuleWorkload(f"mqos-{number}", texts, RuleEvents(events, COMPANIES, gap=gap))


STOCKS = ("MSFT", "IPIX", "ORCL", "INTC", "QQQ", "RIMM", "DELL", "AMAT", "CSCO", "YHOO")


def neel_mixed(events: int = 10_000, in_window: float = 20.0) -> RuleWorkload:
    """NEEL's mixed workload, section VI-F (004_10777a4eb58414cd.txt, figures 19 and 27), each expression a
    rule: "The partition returned by the plan-Finder has three groups: {[E1, E2, E3], [E4, E5], [E6, E7]}".
    They are in `tests/generate/workloads.py` as one query.

    The paper has 10,000 trades and windows of 10 ms, and does not say how many of them are in one: here it is
    `in_window`. Its figure 27 compares the whole of NEEL with iterative nested execution, not shared with
    unshared execution: that comparison is ours.
    """
    patterns = {
        "E1": "SEQ(MSFT, !IPIX, ORCL, INTC)",
        "E2": "SEQ(MSFT, !QQQ, ORCL, INTC)",
        "E3": "SEQ(MSFT, !RIMM, ORCL, INTC)",
        "E4": "SEQ(RIMM, DELL, AMAT, MSFT, ORCL)",
        "E5": "SEQ(IPIX, DELL, AMAT, MSFT, ORCL)",
        "E6": "SEQ(CSCO, !RIMM, YHOO, QQQ)",
        "E7": "EXISTS RIMM : SEQ(CSCO, !IPIX, RIMM, YHOO, QQQ)",
    }
    texts = {name: f"PATTERN {pattern} WITHIN 10 MILLISECONDS" for name, pattern in patterns.items()}
    return RuleWorkload("neel-mixed", texts, RuleEvents(events, STOCKS, gap=round(10_000 / in_window)))


TYPES = tuple("ABCDEFGHIJKL")
SIZE = 1_000_000
"""Values of x, and of y."""


def _typed_events(events: int, keys: int, seconds: int, types: Sequence[str] = TYPES) -> RuleEvents:
    """Events of an id of which a window has, on average, one of each type."""
    gap = max(1, round(seconds * 1_000_000 / (len(types) * keys)))
    return RuleEvents(events, tuple(types), keys, gap, (("x", 0, SIZE), ("y", 0, SIZE)))


def _rule(pattern: str, conditions: list[str], seconds: int) -> str:
    """A rule that returns what an alarm says: whose it is, and when it began and went on."""
    where = " AND ".join(["[id]", *conditions])
    return f"PATTERN {pattern} WHERE {where} WITHIN {seconds} SECONDS RETURN a.id, a.ts AS began, b.ts AS on"


def with_whole_events(workload: RuleWorkload) -> RuleWorkload:
    """The same rules without RETURN: they return all columns of all their events."""
    texts = {name: text.partition(" RETURN ")[0] for name, text in workload.texts.items()}
    return replace(workload, name=f"{workload.name}, whole events", texts=texts)


def common_parts(
    events: int, count: int = 50, keys: int = 2000, seconds: int = 60, share: float = 0.05
) -> RuleWorkload:
    """Rules that all begin with SEQ(A, B), as analysts write them from one template: another tail, a negation
    in one of its gaps, a threshold. There are six types, of which a rule reads three or four; the A is one
    of a `share` of them, as only some events are worth an alarm. From no paper; sections IV-A and IV-B of
    NEEL are about such sets."""
    types = TYPES[:6]
    shapes = (
        "SEQ(A a, B b, {0} c)",
        "SEQ(A a, B b, !{1} n, {0} c)",
        "SEQ(A a, B b, {0} c, {1} d)",
        "SEQ(A a, !{1} n, B b, {0} c)",
        "SEQ(A a, B b, {0} c, !{1} n)",
    )
    tails = [(one, types[2 + (place + 1) % 4]) for place, one in enumerate(types[2:])]
    drawn = np.random.default_rng(3).integers(SIZE // 2, SIZE * 9 // 10, count)
    texts = {}
    for number, ((one, other), shape) in zip(range(count), cycle(product(tails, shapes)), strict=False):
        conditions = [["a.x < b.x"], [f"c.y < {drawn[number]}"], []][number % 3]
        if share < 1:
            conditions = [f"a.x < {round(SIZE * share)}", *conditions]
        texts[f"common_{number}"] = _rule(shape.format(one, other), conditions, seconds)
    return RuleWorkload("common parts", texts, _typed_events(events, keys, seconds, types))


def unrelated(events: int, count: int = 50, keys: int = 2000, seconds: int = 60) -> RuleWorkload:
    """Rules over the same types without a common part: no two of them have two types in a row in common, as
    far as there are pairs of types. From no paper: what sharing must not make slower."""
    random = np.random.default_rng(4)
    pairs = [(one, other) for one, other in product(TYPES, TYPES) if one != other]
    random.shuffle(pairs)
    texts = {}
    for number, (one, other) in enumerate(pairs[:count]):
        third = random.choice([each for each in TYPES if each not in (one, other)])
        low, high = int(random.integers(0, SIZE * 4 // 10)), int(random.integers(SIZE // 2, SIZE))
        shape = (
            f"SEQ({one} a, {other} b)",
            f"SEQ({one} a, !{third} n, {other} b)",
            f"AND({one} a, {other} b)",
        )
        conditions = [f"a.x > {low}", f"b.y < {high}"]
        texts[f"unrelated_{number}"] = _rule(shape[number % 3], conditions, seconds)
    return RuleWorkload("unrelated", texts, _typed_events(events, keys, seconds))


def thresholds(
    events: int, count: int = 1000, share: float = 0.01, keys: int = 2000, seconds: int = 60
) -> RuleWorkload:
    """Rules that differ in two numbers: each is met by about `share` of the events of A, and of those of B.
    From no paper: what monitoring has one of for each customer."""
    random = np.random.default_rng(5)
    shares = random.uniform(share / 2, share * 3 / 2, (count, 2))
    texts = {}
    for number, (of_a, of_b) in enumerate(shares):
        conditions = [f"a.x > {round(SIZE * (1 - of_a))}", f"b.y < {round(SIZE * of_b)}"]
        texts[f"threshold_{number}"] = _rule("SEQ(A a, B b)", conditions, seconds)
    return RuleWorkload("thresholds", texts, _typed_events(events, keys, seconds))


LEAST, GREATEST = -(2**31), 2**31


def filters(
    events: int, count: int = 50_000, attributes: int = 50, predicates: int = 2, normal: bool = True
) -> RuleWorkload:
    """Filters of single events: JEPC thesis, section 11.8.3, figures 11.34 and 11.38
    (002_00009e587d5a9eb5.txt): "randomly generated workloads that consisted of 50 attributes and 50k filter
    EPAs by default", with up to 200,000 of them; "attributes were selected randomly per filter condition";
    "an interval covered between 2 % and 25 % of the entire 32-bit integer domain"; attributes, sizes,
    positions and events are `normal` (11.34) or uniform (11.38).

    How many predicates a filter has is not said; the first experiments of the chapter have two. Every tenth
    has an equality beside them instead of an interval, over an attribute of 100 values, which the thesis
    does not have.
    """
    random = np.random.default_rng(6)
    width = GREATEST - LEAST
    texts = {}
    for number in range(count):
        chosen: dict[int, str] = {}
        while len(chosen) < predicates:
            place = int(numbers(random, 0, attributes, 1, normal)[0])
            size = int(numbers(random, round(width * 0.02), round(width * 0.25), 1, normal)[0])
            low = int(numbers(random, LEAST, GREATEST - size, 1, normal)[0])
            chosen.setdefault(place, f"a.a{place} BETWEEN {low} AND {low + size}")
        conditions = list(chosen.values())
        if number % 10 == 9:
            conditions[-1] = f"a.code = {int(random.integers(0, 100))}"
        texts[f"filter_{number}"] = f"PATTERN A a WHERE {' AND '.join(conditions)}"
    columns = (*((f"a{place}", LEAST, GREATEST) for place in range(attributes)), ("code", 0, 100))
    return RuleWorkload("filters", texts, RuleEvents(events, ("A",), columns=columns, normal=normal))


def matchers(count: int, events: int, pivots: int = 100, window: int = 100) -> RuleWorkload:
    """Pattern matchers with one symbol in common: JEPC thesis, 19.4.4, figure 19.13
    (002_00009e587d5a9eb5.txt). One event per time instant, six random numbers as payload, patterns abcde; the
    definition of c is the same in all and has a selectivity of 0.01, one of so many `pivots`; the others
    are random, with selectivities from 0.5 to 1, and refer to variables of symbols before them; within 100
    time instants.

    Of events whose numbers are drawn independently, all but one in 2 to the n meet `NOT (x > a.y AND ...)`
    with n comparisons: 0.5, 0.75 or 0.875 of them.
    """
    random = np.random.default_rng(7)
    texts = {}
    for number in range(count):
        first, last, own = (f"x{place}" for place in random.integers(1, 6, 3))
        definitions = [f"a AS {own} < {random.integers(500, 1000)}", "c AS x6 = 3"]
        for symbol, before in (("b", "a"), ("d", "ab"), ("e", "abd")):
            drawn = random.integers(1, 6, (random.integers(1, 4), 3))
            compared = [f"x{one} > {before[which % len(before)]}.x{other}" for one, which, other in drawn]
            definitions.append(f"{symbol} AS NOT ({' AND '.join(compared)})")
        texts[f"matcher_{number}"] = (
            "SELECT first, last FROM Events MATCH_RECOGNIZE_SEQUENTIAL (\n"
            f"  MEASURES a.{first} AS first, e.{last} AS last WITHIN {window} MILLISECONDS\n"
            f"  PATTERN abcde\n  DEFINE {', '.join(sorted(definitions))})"
        )
    payload = (*((f"x{place}", 0, 1000) for place in range(1, 6)), ("x6", 0, pivots))
    return RuleWorkload("matchers", texts, RuleEvents(events, ("A",), columns=payload))


def small() -> tuple[RuleWorkload, ...]:
    """Each workload with few rules and events, of which most rules have matches: for tests."""
    return (
        *(mqos(number, 400) for number in (1, 2, 3)),
        neel_mixed(600),
        common_parts(500, keys=8, share=0.5),
        unrelated(500, keys=8),
        thresholds(700, 60, share=0.5, keys=8),
        filters(300, 60),
        matchers(8, 400, pivots=4),
    )
