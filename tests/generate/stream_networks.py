"""Scripts of PATTERN queries that read each other, for streams without end: each has a window of time."""

from __future__ import annotations

from random import Random

STREAM = (
    "CREATE STREAM S (t INT, kind STRING, id INT, x INT, y DOUBLE, s STRING)"
    " TIMESTAMP BY t UNIT SECONDS TYPE BY kind;\n"
    "CREATE STREAM L (since INT, until INT, id INT, x INT, y DOUBLE, s STRING)"
    " TIMESTAMP BY since UNIT SECONDS END BY until;\n"
)
IMPRECISE = (
    "CREATE STREAM I (lo INT, hi INT, sort STRING, id INT, x INT, y DOUBLE, s STRING)"
    " TIMESTAMP BETWEEN lo AND hi UNIT SECONDS TYPE BY sort;\n"
)
RARE = {
    "composites": (
        "CREATE QUERY N AS PATTERN SEQ(A a, SEQ(B b, C c)+ k[]) WITHIN 9 SECONDS"
        " RETURN a.x AS x, count(k[]) AS n, sum(k[].c.x + k[].b.id) AS total, k[last].b.s AS s,"
        " k[1].c AS first, k[].b.x AS xs, k[last-1].c.t AS before",
        "PATTERN SEQ(N p, D d) WHERE p.n < d.x OR p.first.x = d.x WITHIN 20 SECONDS"
        " RETURN p.x, p.n, p.total, p.s, p.first, p.xs, p.before, d.t",
    ),
    "whole matches": (
        "CREATE QUERY N AS PATTERN SEQ(A a, B+ b[], C? c) WITHIN 6 SECONDS",
        "PATTERN SEQ(N p, D d) WHERE p.a.x <= d.x AND size(p.b) < 3 WITHIN 12 SECONDS",
    ),
    "lists": (
        "CREATE QUERY N AS PATTERN SEQ(A a, B+ b[]) WITHIN 8 SECONDS"
        " RETURN a.id, avg(b[].y) AS y, b[2].x AS x, collect_list(b[].s) AS texts,"
        " collect_set(b[].s) AS several, count(DISTINCT b[].x) AS n,"
        " stddev(b[].x) AS wide, bool_or(b[].x > 2) AS large, first(b[].y) AS one",
        "PATTERN SEQ(N p, !C c, D d) WHERE p.n <> c.x WITHIN 14 SECONDS"
        " RETURN p.y, p.x, size(p.texts) AS texts, size(p.several) AS n, p.wide, p.large, p.one, p.te, d.t",
    ),
    "conditions on complete matches": (
        "CREATE QUERY N AS PATTERN SEQ(A a, B+ b[], C c) WITHIN 8 SECONDS"
        " WHERE concat(b[i].s, a.s) < 'w' AND concat(b[i].s, b[i-1].s) <> 'uv'"
        " AND length(concat(a.s, c.s)) = 2"
        " RETURN a.x AS x, count(b[]) AS n",
        "PATTERN SEQ(N p, N q) WITHIN 20 SECONDS RETURN p.x, q.n, p.te, q.te AS te",
    ),
    "partial matches": (
        "CREATE QUERY N AS PATTERN SEQ(A a, B b, C c) WITHIN 6 SECONDS WITH PARTIAL MATCHES"
        " RETURN a.x AS x, c.x AS y",
        "PATTERN SEQ(N p, D d) WHERE p.stopped <> 'complete' AND p.x < d.x WITHIN 9 SECONDS"
        " RETURN p.x, p.stopped, p.te, d.t",
    ),
    "collapsed lists": (
        "CREATE QUERY N AS PATTERN SEQ(A+ a[], B b, C+ c[]) WITHIN 5 SECONDS"
        " RETURN COLLAPSED count(a[]) AS n, b.x AS x, count(c[]) AS m",
        "PATTERN SEQ(N p, D d) WHERE p.n < d.x WITHIN 15 SECONDS RETURN p.n, p.x, p.m, p.ts, p.te, d.t",
    ),
    "one query twice": (
        "CREATE QUERY N AS PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 SECONDS RETURN a.id AS id, b.x AS x",
        "CREATE QUERY M AS PATTERN SEQ(N p, !C c) WHERE p.id = c.id AND c.x > 2 WITHIN 5 SECONDS"
        " RETURN p.id AS id, p.x AS x",
        "PATTERN AND(N p, M m, D d) WHERE [id] WITHIN 20 SECONDS RETURN p.id, p.x AS px, m.x, d.t",
    ),
    "STRICT CONTIGUITY": (
        "CREATE QUERY N AS PATTERN A a WITHIN 1 SECOND RETURN a.x AS x, a.s AS s, a.id AS id",
        "PATTERN SEQ(N p, B b) FROM N, S USING STRICT CONTIGUITY WITHIN 9 SECONDS RETURN p.x, b.x AS y",
    ),
    "shared names": (
        "CREATE QUERY N AS PATTERN (A a OR SEQ(B b, L l)) WITHIN 5 SECONDS"
        " RETURN a.x AS x, l.until - b.t AS n",
        "PATTERN AND(N p, C c) WITHIN 8 SECONDS RETURN p.x, p.n, c.t, match_start, match_end",
    ),
}
"""Scripts with what is drawn seldom or never."""

TYPES = ("A", "B", "C", "D", "L")
COLUMNS = ("id", "x", "y", "s", "n")
"""Those that every named query returns: `n` is a BIGINT."""

SHAPES = (
    "SEQ({0} a, {1} b)",
    "SEQ({0} a, {1} b)",
    "SEQ({0} a, {1} b, {2} c)",
    "SEQ({0} a, !{2} m, {1} b)",
    "SEQ({0} a, {1} b, !{2} m)",
    "SEQ(!{2} m, {0} a, {1} b)",
    "SEQ({0} a, {1}+ k[])",
    "SEQ({0} a, {1}+ k[], {2} b)",
    "SEQ({0} a, {1}? b)",
    "AND({0} a, {1} b)",
    "{0} a",
    "SEQ({0} a, ({1} b OR {2} c))",
)
STRATEGIES = ("",) * 8 + (" USING SKIP TILL NEXT MATCH",) * 2 + (" USING STRICT CONTIGUITY",)


def script(random: Random) -> str:
    """Two or three queries; the last has no name, and reads at least one of those before."""
    names: list[str] = []
    text, keyed = STREAM, random.random() < 0.4
    for number in range(random.choice((1, 1, 2))):
        name = f"N{number}"
        text += f"CREATE QUERY {name} AS {query(random, names, keyed)};\n"
        names.append(name)
    return f"{text}{query(random, names, keyed, must_read=True)};"


SELECTS = (
    "SELECT a.id AS id, a.x AS x, a.y AS y, a.s AS s, CAST(a.x AS BIGINT) AS n FROM {a} AS a{where}",
    "SELECT a.id AS id, a.x + 1 AS x, a.y AS y, upper(a.s) AS s, CAST(a.x AS BIGINT) AS n"
    " FROM {a} WINDOW(TIME {w} SECONDS) AS a{where}",
    "SELECT a.id AS id, a.x AS x, a.y AS y, a.s AS s, CAST(a.x AS BIGINT) AS n"
    " FROM {a} WINDOW(TIME {w} SECONDS JUMP {j} SECONDS) AS a{where}",
    "SELECT a.id AS id, max(a.x) AS x, min(a.y) AS y, max(a.s) AS s, count(*) AS n"
    " FROM {a} WINDOW(TIME {w} SECONDS) AS a{where} GROUP BY a.id",
    "SELECT a.id AS id, min(a.x) AS x, max(a.y) AS y, min(a.s) AS s, count(*) AS n"
    " FROM {a} WINDOW(COUNT {j} EVENTS PARTITION BY id) AS a{where} GROUP BY a.id",
    "SELECT a.id AS id, a.x AS x, b.y AS y, b.s AS s, CAST(b.x AS BIGINT) AS n"
    " FROM {a} WINDOW(TIME {w} SECONDS) AS a, {b} WINDOW(TIME {j} SECONDS) AS b WHERE a.id = b.id",
    "SELECT a.id AS id, b.x AS x, a.y AS y, a.s AS s, b.n AS n FROM {a} AS a,"
    " (SELECT c.id AS id, max(c.x) AS x, count(*) AS n FROM {b} WINDOW(TIME {w} SECONDS) AS c GROUP BY c.id)"
    " AS b WHERE a.id = b.id",
    "SELECT DISTINCT a.id AS id, a.x AS x, CAST(NULL AS DOUBLE) AS y, a.s AS s, CAST(1 AS BIGINT) AS n"
    " FROM {a} WINDOW(TIME {w} SECONDS) AS a{where}",
)


def select(random: Random, names: list[str], must_read: bool = False) -> str:
    """A SELECT over the streams and the queries `names`."""
    sources = ["S", "L", *names, *names, *names]
    first, second = (random.choice(names if must_read and names else sources) for _ in range(2))
    where = random.choice(("", "", " WHERE a.x > 1", " WHERE a.s <> 'v'", " WHERE a.y IS NOT NULL"))
    chosen = random.choice(SELECTS)
    return chosen.format(
        a=first, b=random.choice((second, "S")), w=random.randint(1, 5), j=random.randint(1, 3), where=where
    )


DEFINITIONS = ("B.x > PREV(B.x)", "B.kind <> A.kind", "B.x >= A.x", "B.s = 'u' OR B.y IS NULL")


def clause(random: Random) -> str:
    """A MATCH_RECOGNIZE over the stream S, and the times that it declares."""
    keys = random.choice(("PARTITION BY id ", "PARTITION BY id ", ""))
    own = "" if keys else ", LAST(A.id) AS id"
    skip = random.choice(("", "", "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO LAST B"))
    where = random.choice(("", "", " WHERE n > 1", " WHERE s <> 'v' AND x IS NOT NULL"))
    end, within = random.choice((" END BY until", "")), random.randint(2, 6)
    start = random.choice(("FIRST(A.t)", "LAST(t)", "FIRST(B.t)"))
    pattern = random.choice(("A B+", "A B", "A X* B", "A B{1,3} C"))
    third = ", C AS C.x < 3" if "C" in pattern else ""
    return (
        f"TIMESTAMP BY since UNIT SECONDS{end} AS SELECT id, x, y, s, n + 1 AS n, since, until, x + n AS more"
        f" FROM S MATCH_RECOGNIZE ({keys}ORDER BY t, kind, id, x, y, s"
        f" MEASURES {start} AS since, LAST(t) AS until, LAST(B.x) + 1 AS x, FIRST(A.y) AS y, max(B.s) AS s,"
        f" {random.choice(('count(*)', 'count(B.x)', 'CAST(sum(x) AS BIGINT)', 'MATCH_NUMBER()'))} AS n{own}"
        f" ONE ROW PER MATCH {skip} PATTERN ({pattern})"
        f" WITHIN {within} SECONDS DEFINE A AS A.kind IN ('A', 'C'), B AS {random.choice(DEFINITIONS)}"
        f"{third}){where}"
    )


def mixed_script(random: Random) -> str:
    """Two or three queries, PATTERN, SELECT and MATCH_RECOGNIZE; the last has no name, and reads one
    before."""
    names: list[str] = []
    text, keyed = STREAM, random.random() < 0.4
    kinds = [random.choice("PS") for _ in range(random.choice((2, 2, 3)))]
    if len(set(kinds)) == 1:
        kinds[0] = "P" if kinds[0] == "S" else "S"
    if random.random() < 0.4:
        kinds[0] = "R"
    for number, kind in enumerate(kinds):
        is_last = number == len(kinds) - 1
        body = (
            select(random, names, is_last) if kind == "S" else query(random, names, keyed, must_read=is_last)
        )
        body = clause(random) if kind == "R" else body if is_last else f"AS {body}"
        text += f"{body};\n" if is_last else f"CREATE QUERY N{number} {body};\n"
        names.append(f"N{number}")
    return text


# MATCH_RECOGNIZE of other queries; queries whose rows stand for several matches; imprecise times.


def row_script(random: Random) -> str:
    """Two or three queries, of which one is a MATCH_RECOGNIZE of another, or reads rows of several matches,
    or matches of imprecise times."""
    text, keyed = STREAM + IMPRECISE, random.random() < 0.4
    body, times = random.choice((_matches, _matches, _intervals, _rows, _distinct, _groups, _weighed))(
        random, keyed
    )
    text += f"CREATE QUERY N0 {body};\n"
    is_read_as_events = times != ("at",) and random.random() < 0.4
    if is_read_as_events:
        return f"{text}{_events_reader(random, keyed)};"
    if random.random() < 0.4:
        declared = f"TIMESTAMP BY since UNIT SECONDS{random.choice((' END BY until', ''))} "
        text += f"CREATE QUERY N1 {declared}AS {_clause_of(random, 'N0', times, True)};\n"
        if random.random() < 0.3:
            return f"{text}{_clause_of(random, 'N1', ('since', 'until'), random.random() < 0.7)};"
        return f"{text}{_events_reader(random, keyed, 'N1')};"
    return f"{text}{_clause_of(random, 'N0', times, random.random() < 0.5)};"


def _matches(random: Random, keyed: bool) -> tuple[str, tuple[str, ...]]:
    body = query(random, [], keyed)
    if random.random() < 0.3:
        return f"AS {body}, a.ts AS began", ("began",)
    return f"AS {body}, match_start, match_end", ("match_start", "match_end")


def _intervals(random: Random, keyed: bool) -> tuple[str, tuple[str, ...]]:
    return f"AS {select(random, [])}", ("ts", "te", "te")


def _rows(random: Random, keyed: bool) -> tuple[str, tuple[str, ...]]:
    return clause(random), ("since", "until")


ATTRIBUTES = "a.id AS id, a.x AS x, a.y AS y, {0}.s AS s"


DISTINCT = (
    "SEQ({0} a, {1} b)",
    "SEQ({0} a, {1} b, !{2} m)",
    "AND({0} a, {1} b)",
    "SEQ({0} a, {1}+ k[])",
    "SEQ({0} a, {1} b, {2} c)",
    "SEQ({0} a, {1}+ k[], !{2} m)",
    "{0} a",
)


def _distinct(random: Random, keyed: bool) -> tuple[str, tuple[str, ...]]:
    shape = random.choice(DISTINCT)
    pattern = shape.format(*(random.choice("ABCD") for _ in range(3)))
    time = random.choice(("a.ts AS at", "match_start", "match_end", "a.ts AS at, match_end"))
    where, last = conditions(random, pattern, keyed), random.choice("ab" if " b" in pattern else "a")
    where = "" if "concat" in where or "upper" in where else where
    body = f"PATTERN {pattern} FROM S{where} WITHIN {random.randint(2, 7)} SECONDS"
    names = tuple(one.split()[-1] for one in time.split(", "))
    return f"AS {body} RETURN DISTINCT {ATTRIBUTES.format(last)}, {time}", names * 2


def _groups(random: Random, keyed: bool) -> tuple[str, tuple[str, ...]]:
    pattern = random.choice(
        ("SEQ(A a, B b)", "SEQ(A a, B+ k[], C b)", "SEQ(A a, !C m, B b)", "SEQ(A a, B b, D d)")
    )
    where = random.choice((" WHERE [id]", "", " WHERE a.x <= b.x")) if not keyed else " WHERE [id]"
    several = "count(*) AS n, sum(b.x) AS total, avg(b.y) AS mean, max(b.x) AS most, count(b.y) + 1 AS more"
    return (
        f"AS PATTERN {pattern} FROM S{where} WITHIN {random.randint(2, 7)} SECONDS"
        f" RETURN {several}, {ATTRIBUTES.format('a')}, a.ts AS at"
    ), ("at",)


def _weighed(random: Random, keyed: bool) -> tuple[str, tuple[str, ...]]:
    pattern = random.choice(("SEQ(E a, F b)", "SEQ(E a, F b)", "SEQ(E a, !G m, F b)"))
    where = " WHERE [id]" if keyed or random.random() < 0.5 else ""
    least = random.choice(("", " WITH CONFIDENCE >= 0.4"))
    return (
        f"AS PATTERN {pattern} FROM I{where} WITHIN {random.randint(2, 5)} SECONDS{least}"
        f" RETURN a.id AS id, b.x AS x, round(confidence, 6) AS y, b.s AS s, match_end"
    ), ("match_end",)


def _events_reader(random: Random, keyed: bool, name: str = "N0") -> str:
    """A query that reads another one as a stream."""
    chance = random.random()
    if chance < 0.3:
        return select(random, [name], must_read=True)
    if chance < 0.5:
        where = " WHERE [id]" if keyed else ""
        return (
            f"PATTERN SEQ({name} a, B b) FROM {name}, S{where} WITHIN 9 SECONDS"
            " RETURN DISTINCT b.t AS at, a.id AS id"
        )
    return query(random, [name], keyed, must_read=True)


def _clause_of(random: Random, name: str, times: tuple[str, ...], is_plain: bool) -> str:
    """A MATCH_RECOGNIZE of a query in the order of one of the times of its rows."""
    time = random.choice(times)
    keys = random.choice(("PARTITION BY id ", "PARTITION BY id ", "PARTITION BY y ", ""))
    own = "" if "id" in keys else ", LAST(A.id) AS id"
    skip = random.choice(("", "", "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO LAST B"))
    pattern = random.choice(("A B+", "A B", "A X* B", "A B{1,3} C", "A B"))
    third = ", C AS C.x < 3" if "C" in pattern else ""
    within = f" WITHIN {random.randint(2, 6)} SECONDS" if is_plain or pattern != "A B" else ""
    where = random.choice(("", "", " WHERE n > 1", " WHERE s <> 'v' AND x IS NOT NULL"))
    first = random.choice(("A.x > 0", "A.s <> 'v'", "A.y IS NULL OR A.x = 3"))
    then = random.choice(
        ("B.x > PREV(B.x)", "B.x >= A.x", "B.s = 'u' OR B.y IS NULL", f"B.{time} > PREV(B.{time})")
    )
    shown = (
        "id, x, y, s, n, since, until"
        if is_plain or random.random() < 0.5
        else "n, since, upper(s) AS s, x + n AS x"
    )
    return (
        f"SELECT {shown} FROM {name} MATCH_RECOGNIZE ({keys}ORDER BY {time}, id, x, y, s"
        f" MEASURES FIRST(A.{time}) AS since, LAST({time}) AS until, LAST(B.x) + 1 AS x, max(B.s) AS s,"
        f" count(*) AS n{own}{'' if 'y' in keys else ', FIRST(A.y) AS y'}"
        f" {skip} PATTERN ({pattern}){within} DEFINE A AS {first}, B AS {then}{third}){where}"
    )


def rare_script(name: str) -> str:
    return f"{STREAM}{';'.join(RARE[name])};"


def query(random: Random, names: list[str], keyed: bool, must_read: bool = False) -> str:
    """A PATTERN over the streams and the queries `names`. If all are `keyed`, events of one key meet."""
    for _ in range(100):
        shape = random.choice(SHAPES)
        types = [random.choice((*TYPES, *names, *names)) for _ in range(3)]
        used = [types[place] for place in range(3) if f"{{{place}}}" in shape]
        if not must_read or set(used) & set(names):
            break
    else:
        shape, types = "{0} a", [names[-1]] * 3
        used = types[:1]
    pattern = shape.format(*types)
    strategy = random.choice(STRATEGIES) if pattern.startswith("SEQ(") and "OR" not in pattern else ""
    where = conditions(random, pattern, keyed)
    streams = ", ".join(dict.fromkeys(one if one in ("L", *names) else "S" for one in used))
    within = f" WITHIN {random.randint(2, 7) + random.choice((0, 5)) * len(names)} SECONDS"
    if not must_read and random.random() < 0.1:
        within = f" WITHIN {random.randint(2, 6)} EVENTS"
    return (
        f"PATTERN {pattern} FROM {streams}{where}{within}{strategy} RETURN {results(random, pattern, keyed)}"
    )


def conditions(random: Random, pattern: str, keyed: bool) -> str:
    tests = ["[id]"] if keyed else [random.choice(("[id]", "[s]"))] if random.random() < 0.1 else []
    for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
        name = random.choice([one for one in "abcm" if f" {one}" in pattern])
        tests.append(
            random.choice(
                (f"{name}.x > 1", f"{name}.y < 3.0", f"{name}.s <> 'v'", f"upper({name}.s) = 'U'",
                 f"{name}.x % 2 = 0 OR {name}.y IS NULL", f"length(concat({name}.s, '!')) = 2")
            )
        )  # fmt: skip
    if " b" in pattern and random.random() < 0.3:
        tests.append(
            random.choice(
                ("a.x <= b.x", "a.y < b.y", "a.s = b.s", "b.te - a.ts < 4", "concat(a.s, b.s) <> 'uv'",
                 "a.id = b.id", "a.x + b.x > 2")
            )
        )  # fmt: skip
    if "k[]" in pattern and random.random() < 0.3:
        tests.append(
            random.choice(("k[i].x >= k[i-1].x", "k[i].id = a.id", "sum(k[].x) < 9", "k[i].s < 'w'"))
        )
    return f" WHERE {' AND '.join(f'({one})' if ' OR ' in one else one for one in tests)}" if tests else ""


def results(random: Random, pattern: str, keyed: bool) -> str:
    """Of the five columns, each something of its type."""
    last = "b" if " b" in pattern else "a"
    choices = {
        "id": ["a.id"] if keyed else ["a.id", f"{last}.id", f"coalesce({last}.id, 0) + 1"],
        "x": [f"{last}.x", "a.x", f"a.x - {last}.x", "CASE WHEN a.x > 1 THEN 1 ELSE a.x END"],
        "y": [f"a.y + {last}.x", f"{last}.y", "a.y / 2"],
        "s": ["a.s", f"concat(a.s, {last}.s)", f"upper({last}.s)"],
        "n": ["CAST(a.ts AS BIGINT)", "CAST(match_end AS BIGINT)", f"CAST({last}.te - a.ts AS BIGINT)"],
    }
    if "k[]" in pattern:
        choices["n"] += ["count(k[])", "CAST(sum(k[].x) AS BIGINT)", "CAST(size(k[].s) AS BIGINT)"] * 2
        choices["x"] += ["max(k[].x)", "k[last].x", "k[2].x"] * 2
        choices["s"] += ["max(k[].s)", "first(k[].s)"] * 2
        choices["y"] += ["avg(k[].y + a.x)", "k[1].y"]
    return ", ".join(f"{random.choice(texts)} AS {name}" for name, texts in choices.items())


def tables(random: Random, size: int = 36, until: int = 24) -> dict[str, list[dict[str, object]]]:
    """Rows of both streams."""

    def row() -> dict[str, object]:
        return {
            "id": random.choice((1, 1, 1, 2, 2, None)),
            "x": random.choice((0, 1, 2, 3, 3, None)),
            "y": random.choice((0.0, -0.0, 1.5, 3.0, None)),
            "s": random.choice(("u", "u", "v", "w", None)),
        }

    points = [{"t": random.randint(0, until), "kind": random.choice("ABCD"), **row()} for _ in range(size)]
    lasting = [
        {"since": start, "until": start + random.choice((0, 1, 3)), **row()}
        for start in (random.randint(0, until) for _ in range(size // 3))
    ]
    imprecise = [
        {"lo": start, "hi": start + random.choice((0, 1, 2, 4)), "sort": random.choice("EEFFG"), **row()}
        for start in (random.randint(0, until) for _ in range(size // 4))
    ]
    return {"S": points, "L": lasting, "I": imprecise}
