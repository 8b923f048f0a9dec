"""Names of columns that nobody has named: what Spark calls an expression.

Spark writes the expression again, after it has understood it: texts without quotes, columns without their
relations, functions with the arguments that they have by default. tests/host_columns.txt has what Spark
itself says.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from neelc.ir.types import DATE, DAY_INTERVAL, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, Array, DataType, Struct
from neelc.scalar.duckdb.pieces import DuckText, NameScope, UnspelledOperation
from neelc.scalar.duckdb.spelling import (
    CAST_CALLS,
    SUFFIXED,
    WRITTEN,
    Node,
    SparkCalls,
    UnsignedRightShift,
    adjacent_text,
    data_type,
    in_row,
    spell,
)
from neelc.scalar.type_of import INTERVALS


def column_name(node: Node, scope: NameScope) -> str:
    """The name of a column.

    >>> from neelc.ir.types import INT
    >>> from neelc.scalar.duckdb.spelling import parsed
    >>> scope = NameScope({"t": {"x": INT}}, strict=True)
    >>> [column_name(parsed(text), scope) for text in ("t.x = 1", "count(*)", "upper('a')", "round(x)")]
    ['(x = 1)', 'count(1)', 'upper(a)', 'round(x, 0)']
    """
    inner = node.unnest()
    if isinstance(inner, exp.Cast):
        target = inner.this.unnest()
        if isinstance(target, exp.Column):  # a cast of a column has its name
            return column_name(target, scope)
    if isinstance(inner, exp.Column):
        return str(inner.name)
    return _Namer(scope).name(inner)


UPPER = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh cot csc degrees e exp expm1 hypot log log10 log1p"
    " log2 pi power radians sec signum sin sinh sqrt tan tanh".split()
)
"""Functions that Spark writes in capitals."""

RENAMED = {"array_agg": "collect_list", "dateadd": "date_add", "regexp_like": "regexp_like"}

DEFAULTS: dict[str, dict[int, tuple[str, ...]]] = {
    "approx_percentile": {2: ("10000",)},
    "array_sort": {},
    "bround": {1: ("0",)},
    "from_unixtime": {1: ("yyyy-MM-dd HH:mm:ss",)},
    "lag": {1: ("1", "NULL"), 2: ("NULL",)},
    "lead": {1: ("1", "NULL"), 2: ("NULL",)},
    "listagg": {1: ("NULL",)},
    "locate": {2: ("1",)},
    "lpad": {2: (" ",)},
    "make_dt_interval": {
        0: ("0", "0", "0", "0.000000"),
        1: ("0", "0", "0.000000"),
        2: ("0", "0.000000"),
        3: ("0.000000",),
    },
    "make_ym_interval": {0: ("0", "0"), 1: ("0",)},
    "mask": {1: ("X", "x", "n", "NULL"), 2: ("x", "n", "NULL"), 3: ("n", "NULL"), 4: ("NULL",)},
    "months_between": {2: ("true",)},
    "overlay": {3: ("-1",)},
    "percentile": {2: ("1",)},
    "percentile_approx": {2: ("10000",)},
    "position": {2: ("1",)},
    "regexp_extract": {2: ("1",)},
    "regexp_extract_all": {2: ("1",)},
    "regexp_instr": {2: ("0",)},
    "regexp_replace": {3: ("1",)},
    "replace": {2: ("",)},
    "round": {1: ("0",)},
    "rpad": {2: (" ",)},
    "sort_array": {1: ("true",)},
    "split": {2: ("-1",)},
    "str_to_map": {1: (",", ":"), 2: (":",)},
    "substr": {2: ("2147483647",)},
    "substring": {2: ("2147483647",)},
    "to_unix_timestamp": {1: ("yyyy-MM-dd HH:mm:ss",)},
    "unix_timestamp": {1: ("yyyy-MM-dd HH:mm:ss",)},
}
"""Functions, and what Spark adds to so many arguments."""

INFIX: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    UnsignedRightShift: ">>>",
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "AND",
    exp.Or: "OR",
}

TRIMS = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}
UNORDERED = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
COUNTING = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
BY_VALUE = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
CAPITAL_RANKS = ("rank", "dense_rank", "percent_rank")


class _Namer:
    """What the names of an expression's parts depend on."""

    def __init__(self, scope: NameScope) -> None:
        self.scope = scope

    def names(self, nodes: Sequence[Node]) -> list[str]:
        return [self.name(one) for one in nodes]

    def piece(self, node: Node) -> DuckText | None:
        """What a part is for DuckDB, if it is anything."""
        try:
            return spell(node, self.scope)
        except UnspelledOperation:
            return None

    def type(self, node: Node) -> Any:
        piece = self.piece(node)
        return None if piece is None else piece.type

    def name(self, node: Node) -> str:
        """What Spark writes for a part of an expression."""
        node = node.unnest()
        known = INFIX.get(type(node))
        if known is not None:
            return (self._joined if known in ("AND", "OR") else self._infix)(known, node)
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Identifier():
                return "namedlambdavariable()"
            case exp.Literal():
                return _literal(str(node.this)) if not node.is_string else str(node.this)
            case exp.RawString():
                return str(node.this)
            case exp.Concat():
                return adjacent_text(node)
            case exp.Null():
                return "NULL"
            case exp.Boolean():
                return "true" if node.this else "false"
            case exp.HexString():
                digits = str(node.this).upper()
                return f"X'{'0' * (len(digits) % 2)}{digits}'"
            case exp.Interval():
                return self._interval(node)
            case exp.Cast():
                return self._cast(node)
            case exp.Neg():
                return self._negative(node)
            case exp.BitwiseNot():
                return f"~{self.name(node.this)}"
            case exp.Not():
                return f"(NOT {self.name(node.this)})"
            case exp.NEQ():
                return f"(NOT ({self.name(node.this)} = {self.name(node.expression)}))"
            case exp.NullSafeNEQ():
                return f"(NOT ({self.name(node.this)} <=> {self.name(node.expression)}))"
            case exp.DPipe():
                return self._concat(node)
            case exp.Is():
                return self._is(node)
            case exp.In():
                return self._in(node)
            case exp.Between():
                low, high = node.args["low"], node.args["high"]
                return f"between({', '.join(self.names([node.this, low, high]))})"
            case exp.Like() | exp.ILike() | exp.RegexpLike() | exp.Escape():
                return self._like(node)
        return self._name_of_call(node)

    def _name_of_call(self, node: Node) -> str:
        """What Spark writes for what is no operator and no value."""
        match node:
            case exp.Case():
                return self._case(node)
            case exp.If():
                return self._if([node.this, node.args["true"], node.args.get("false") or exp.Null()])
            case exp.Bracket():
                return self._element(node)
            case exp.Dot():
                return f"{self.name(node.this)}.{node.expression.name}"
            case exp.Extract():
                (field, *_) = node.meta.get(WRITTEN) or [str(node.this.name)]
                return f"extract({field} FROM {self.name(node.expression)})"
            case exp.StrPosition():
                place = node.args.get("position")
                parts = [node.args["substr"], node.this, *([] if place is None else [place])]
                is_locate = any(word.upper() == "IN" for word in node.meta.get(WRITTEN) or ())
                return self._call("locate" if is_locate else "position", parts)
            case exp.Lambda():
                variables = ", ".join("namedlambdavariable()" for _ in node.expressions)
                return f"lambdafunction({self.name(node.this)}, {variables})"
            case exp.Filter():
                return f"{self.name(node.this)} FILTER (WHERE {self.name(node.expression.this)})"
            case exp.IgnoreNulls():  # first_value and last_value become first and last
                found = self.name(node.this)
                return re.sub(r"^(first|last)_value\(", r"\1(", found)
            case exp.RespectNulls():
                return self.name(node.this)
            case exp.WithinGroup():
                return self._within(node)
            case exp.Window():
                return self._window(node)
        return self._name_of_query(node)

    def _name_of_query(self, node: Node) -> str:
        """What Spark writes for queries inside, and for what stands by itself."""
        match node:
            case exp.Exists():
                return "exists()"
            case exp.Subquery() | exp.Select() | exp.SetOperation():
                return "scalarsubquery()"
            case exp.Tuple():
                pairs = (
                    f"{self._title(one, place)}, {self.name(one)}"
                    for place, one in enumerate(node.expressions, 1)
                )
                return f"named_struct({', '.join(pairs)})"
            case exp.Alias():
                return f"{self.name(node.this)} AS {node.alias}"
            case exp.Placeholder() | exp.Parameter():
                return self._parameter(node)
            case exp.Any():
                return f"any({self.name(node.this)})"
            case exp.CurrentDate():
                return "current_date()"
            case exp.CurrentTimestamp():
                return "current_timestamp()"
            case exp.Localtimestamp():
                return "localtimestamp()"
            case exp.Anonymous():
                return self._call(node.name.lower(), list(node.expressions))
        return str(node.sql(dialect=SparkCalls))

    # Values.

    def _column(self, node: Node) -> str:
        """A column without its relation, and the fields of structs behind it."""
        first, *rest = [part.name for part in node.parts]
        if first in self.scope.variables:
            return ".".join(["namedlambdavariable()", *rest])
        if rest and self.scope.column(rest[0], first) is not None:
            return ".".join(rest)
        return ".".join([first, *rest])

    def _interval(self, node: Node) -> str:
        """Always with quotes, and with as many digits as each unit has."""
        text = str(node.sql(dialect=SparkCalls))
        found = re.fullmatch(r"INTERVAL '?([^']*?)'? ([A-Z]+?)S?(?: TO ([A-Z]+))?", text, re.IGNORECASE)
        if found is None:
            return text
        value, unit, to = found[1].strip(), found[2].upper(), (found[3] or "").upper()
        piece = self.piece(node)
        if piece is None or piece.value is None:
            return text
        return _interval_text(piece, _UNIT.get(unit, unit), _UNIT.get(to, to)) or f"INTERVAL '{value}' {unit}"

    def _cast(self, node: Node) -> str:
        target = node.args["to"]
        suffix = getattr(target.this, "value", "")
        if suffix in SUFFIXED:
            return str(node.this.this)
        if (
            suffix in ("BIGDECIMAL", "DECIMAL")
            and WRITTEN not in node.meta
            and isinstance(node.this, exp.Literal)
        ):
            return _literal(str(node.this.this))
        inner = node.this
        kind = data_type(target)
        if _is_written_type(node) and isinstance(inner, exp.Literal):
            words: dict[DataType, str] = {
                DATE: "DATE",
                TIMESTAMP: "TIMESTAMP",
                TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
            }
            word = words.get(kind)
            if word is not None:
                return f"{word} '{self._time(node, word, str(inner.this))}'"
        if isinstance(inner, exp.Literal) and not inner.is_string and _is_suffix(node):
            return _literal(str(inner.this), real=True)
        if isinstance(kind, Array | Struct):
            return self.name(inner)
        word = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        return f"{word}({self.name(inner)} AS {_type_text(target)})"

    def _time(self, node: Node, word: str, text: str) -> str:
        """A time as Spark writes it. What an instant with a zone is, only the session knows."""
        piece = self.piece(node)
        found = re.search(r"'([^']*)'", piece.text) if piece is not None and word == "DATE" else None
        if found is not None:
            return found[1]
        text = text.strip().replace("T", " ")
        return f"{text} 00:00:00" if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else text

    def _negative(self, node: Node) -> str:
        inner = node.this
        is_number = isinstance(inner, exp.Literal) and not inner.is_string
        is_number = is_number or (isinstance(inner, exp.Cast) and _is_suffix(inner))
        return f"-{self.name(inner)}" if is_number else f"(- {self.name(inner)})"

    # Operators.

    def _joined(self, word: str, node: Node) -> str:
        """AND and OR. Of a chain, Spark makes a tree whose halves are equally long."""
        operands, first = [], node
        while type(first) is type(node):
            operands.append(first.expression)
            first = first.this
        return self._halved(word, self.names([first, *reversed(operands)]))

    def _halved(self, word: str, names: list[str]) -> str:
        if len(names) == 1:
            return names[0]
        half = (len(names) + 1) // 2
        return f"({self._halved(word, names[:half])} {word} {self._halved(word, names[half:])})"

    def _infix(self, sign: str, node: Node) -> str:
        left, right = self.name(node.this), self.name(node.expression)
        if sign == "*" and self.type(node.expression) in INTERVALS:
            left, right = right, left
        if sign in ("+", "-"):
            one, other = self.type(node.this), self.type(node.expression)
            times = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
            if one in INTERVALS and other in times:
                left, right, one, other = right, left, other, one
            if other == DATE and one not in (*times, *INTERVALS) and sign == "+":
                left, right, one, other = right, left, other, one
            if one in times and other in INTERVALS:
                days = self.piece(node.expression if self.type(node.expression) in INTERVALS else node.this)
                if one == DATE and other == DAY_INTERVAL and days is not None and days.days:
                    count = f"extractansiintervaldays({right})"
                    return f"date_add({left}, {count if sign == '+' else f'(- {count})'})"
                return f"{left} {sign} {right}"
            if one in times and other == VOID and sign == "+":
                return f"{left} {sign} {right}"
            if one == DATE and other not in (*times, STRING, VOID):
                return f"{'date_add' if sign == '+' else 'date_sub'}({left}, {right})"
        return f"({left} {sign} {right})"

    def _concat(self, node: Node) -> str:
        return f"concat({', '.join(self.names([node.this, node.expression]))})"

    def _is(self, node: Node) -> str:
        operand, inner = self.name(node.this), node.expression
        negated = bool(node.args.get("negate"))
        if isinstance(inner, exp.Null):
            return f"({operand} IS {'NOT ' if negated else ''}NULL)"
        found = f"({operand} <=> {self.name(inner)})"
        return f"(NOT {found})" if negated else found

    def _in(self, node: Node) -> str:
        if node.args.get("query") is None:
            return f"({self.name(node.this)} IN ({', '.join(self.names(node.expressions))}))"
        given = in_row(node.this)
        if len(given) == 1:
            return f"({self.name(given[0])} IN (listquery()))"
        pairs = (f"'{self._field(one, place)}', {self.name(one)}" for place, one in enumerate(given))
        return f"(named_struct({', '.join(pairs)}) IN (listquery()))"

    def _field(self, node: Node, place: int) -> str:
        """What Spark calls a column that is compared with one of a query."""
        inner = node.unnest()
        is_named = isinstance(inner, exp.Column | exp.Literal | exp.Null)
        return (
            (str(inner.name) if isinstance(inner, exp.Column) else self.name(inner))
            if is_named
            else f"_{place}"
        )

    def _like(self, node: Node) -> str:
        mark = ""
        if isinstance(node, exp.Escape):
            mark, node = f" ESCAPE '{node.expression.name}'", node.this
        value, given = self.name(node.this), node.expression
        negated = bool(node.args.get("negate"))
        if isinstance(given, exp.Any | exp.All):
            word = "any" if isinstance(given, exp.Any) else "all"
            return f"{'not' if negated else ''}like{word}({value})"
        if isinstance(node, exp.RegexpLike):
            return f"RLIKE({value}, {self.name(given)})"
        found = f"ilike({value}, {self.name(given)})" if isinstance(node, exp.ILike) else ""
        found = found or f"{value} LIKE {self.name(given)}{mark}"
        return f"(NOT {found})" if negated else found

    def _case(self, node: Node) -> str:
        subject = None if node.this is None else self.name(node.this)
        text = "CASE"
        for one in node.args["ifs"]:
            test = self.name(one.this)
            test = test if subject is None else f"({subject} = {test})"
            text += f" WHEN {test} THEN {self.name(one.args['true'])}"
        last = node.args.get("default")
        return text + ("" if last is None else f" ELSE {self.name(last)}") + " END"

    def _if(self, nodes: Sequence[Node]) -> str:
        return f"(IF({', '.join(self.names(nodes))}))"

    def _element(self, node: Node) -> str:
        (key,) = node.expressions
        base = self.name(node.this)
        if isinstance(self.type(node.this), Struct):
            return f"{base}.{self.name(key)}"
        return f"{base}[{self.name(key)}]"

    # Functions.

    def _call(self, name: str, arguments: list[Node]) -> str:
        distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
        if distinct:
            arguments = list(arguments[0].expressions)
        if name in CAST_CALLS and len(arguments) == 1:  # a cast that is no CAST is not shown
            return self.name(arguments[0])
        if name in ("if", "iff"):
            return self._if(arguments)
        if name == "count" and (not arguments or isinstance(arguments[0], exp.Star)):
            return "count(1)"
        if name == "from_json" and str(arguments[-1].this).upper().startswith("MAP<"):
            return "entries"
        if name in ("first", "last", "first_value", "last_value", "any_value", "from_json"):
            arguments = arguments[:1]
        if name in ("dateadd", "date_add", "datediff", "date_diff") and len(arguments) == 3:
            name = "timestampadd" if name.endswith("add") else "timestampdiff"
        if name in ("timestampadd", "timestampdiff"):
            unit, *rest = arguments
            return f"{name}({unit.name}, {', '.join(self.names(rest))})"
        if name == "datepart":
            return f"datepart({arguments[0].name} FROM {self.name(arguments[1])})"
        if name == "struct":
            return f"struct({', '.join(self._in_struct(one) for one in arguments)})"
        if name == "mode" and len(arguments) == 2:
            (value, least) = self.names(arguments)
            return f"mode() WITHIN GROUP (ORDER BY {value} DESC)" if least == "true" else f"mode({value})"
        if name in ("isnull", "isnotnull") and len(arguments) == 1:
            return f"({self.name(arguments[0])} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
        if name in TRIMS and len(arguments) == 2:
            return f"TRIM({TRIMS[name]} {self.name(arguments[0])} FROM {self.name(arguments[1])})"
        if name == "convert_timezone" and len(arguments) == 2:
            return f"convert_timezone(current_timezone(), {', '.join(self.names(arguments))})"
        if name == "positive":
            return f"(+ {self.name(arguments[0])})"
        if name in ("rlike", "regexp", "regexp_like") and len(arguments) == 2:
            return f"{'RLIKE' if name == 'rlike' else name.upper()}({', '.join(self.names(arguments))})"
        if name in ("ceil", "floor") and len(arguments) == 1:
            return f"{name.upper()}({self.name(arguments[0])})"
        if name in ("reduce", "aggregate") and len(arguments) == 3:
            same = "lambdafunction(namedlambdavariable(), namedlambdavariable())"
            return f"{name}({', '.join([*self.names(arguments), same])})"
        if name == "log" and len(arguments) == 1:
            return f"LOG(E(), {self.name(arguments[0])})"
        if name == "array_sort" and len(arguments) == 1:
            return f"array_sort({self.name(arguments[0])}, {_SORTING})"
        if name == "try_variant_get":
            arguments = arguments[:2]  # the type is none of Spark's arguments
        shown = [*self.names(arguments), *DEFAULTS.get(name, {}).get(len(arguments), ())]
        called = name.upper() if name in UPPER else RENAMED.get(name, name)
        return f"{called}({'DISTINCT ' if distinct else ''}{', '.join(shown)})"

    def _in_struct(self, node: Node) -> str:
        return f"{self.name(node.this)} AS {node.alias}" if isinstance(node, exp.Alias) else self.name(node)

    def _title(self, node: Node, place: int) -> str:
        return str(node.name) if isinstance(node, exp.Column) else f"col{place}"

    def _within(self, node: Node) -> str:
        by = node.expression.expressions
        name = self.name(node.this)
        if node.this.name.lower() == "string_agg":
            name = "list" + name.removeprefix("string_")
        if node.this.name.lower() == "mode":  # it looks for the last of the order
            inner = "".join(self.name(one.this) + ("" if one.args.get("desc") else " DESC") for one in by)
            return f"mode() WITHIN GROUP (ORDER BY {inner})"
        if node.this.name.lower().startswith("percentile"):
            inner = "".join(self.name(one.this) + (" DESC" if one.args.get("desc") else "") for one in by)
            return f"{name} WITHIN GROUP (ORDER BY {inner})"
        return f"{name} WITHIN GROUP (ORDER BY {', '.join(map(self._ordered, by))})"

    def _parameter(self, node: Node) -> str:
        from neelc.scalar.duckdb.spelling import parsed

        given = self.scope.arguments.get(node.name)
        return str(node.sql(dialect=SparkCalls)) if given is None else self.name(parsed(given))

    # Windows.

    def _window(self, node: Node) -> str:
        base = self.scope.windows.get(node.alias.lower()) if node.alias else None
        inner = node.this.this if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls) else node.this
        called = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
        name = self.name(node.this)
        if called in CAPITAL_RANKS:  # their columns are those that the window is ordered by
            name = f"{called.upper()}()"
        elif called == "nth_value" and isinstance(node.this, exp.IgnoreNulls):
            name += " ignore nulls"
        sources = [one for one in (node, base) if one is not None]
        keys: list[Node] = next(
            (one.args["partition_by"] for one in sources if one.args.get("partition_by")), []
        )
        order = next((one.args["order"] for one in sources if one.args.get("order")), None)
        spec = next((one.args["spec"] for one in sources if one.args.get("spec")), None)
        parts = [f"PARTITION BY {', '.join(self.names(keys))}"] if keys else []
        if order is not None:
            parts.append(f"ORDER BY {', '.join(map(self._ordered, order.expressions))}")
        parts.append(self._frame(called, inner, spec, order is not None))
        return f"{name} OVER ({' '.join(parts)})"

    def _ordered(self, node: Node) -> str:
        descends = bool(node.args.get("desc"))
        first = node.args.get("nulls_first")
        first = not descends if first is None else bool(first)
        return f"{self.name(node.this)} {'DESC' if descends else 'ASC'} NULLS {'FIRST' if first else 'LAST'}"

    def _frame(self, called: str, inner: Node, spec: Node | None, ordered: bool) -> str:
        if called in ("lag", "lead"):
            by = self.name(inner.expressions[1]) if len(inner.expressions) > 1 else "1"
            by = by if called == "lead" else by[1:] if by.startswith("-") else f"-{by}"
            return f"ROWS BETWEEN {by} FOLLOWING AND {by} FOLLOWING"
        if called in (*CAPITAL_RANKS, "row_number", "ntile"):
            return COUNTING
        if called == "cume_dist":
            return BY_VALUE
        if spec is None:
            return BY_VALUE if ordered else UNORDERED
        sides = [self._bound(spec, "start"), self._bound(spec, "end") or "CURRENT ROW"]
        return f"{str(spec.args['kind']).upper()} BETWEEN {sides[0]} AND {sides[1]}"

    def _bound(self, spec: Node, side: str) -> str:
        value, direction = spec.args.get(side), spec.args.get(f"{side}_side")
        if value is None:
            return ""
        if not isinstance(value, str):
            found = self.name(value)
            return f"{found} {str(direction).upper()}"
        return " ".join(filter(None, (value.upper(), str(direction or "").upper())))


_UNIT = {"WEEK": "DAY", "MILLISECOND": "SECOND", "MICROSECOND": "SECOND"}
_SORTING = (
    "lambdafunction((IF(((namedlambdavariable() IS NULL) AND (namedlambdavariable() IS NULL)), 0, "
    "(IF((namedlambdavariable() IS NULL), 1, (IF((namedlambdavariable() IS NULL), -1, "
    "(IF((namedlambdavariable() < namedlambdavariable()), -1, (IF((namedlambdavariable() > "
    "namedlambdavariable()), 1, 0)))))))))), namedlambdavariable(), namedlambdavariable())"
)


def _is_written_type(node: Node) -> bool:
    """Whether a cast is DATE '2020-01-01': there, the type stands before the text."""
    return WRITTEN not in node.meta and isinstance(node.this, exp.Literal) and node.this.is_string


def _is_suffix(node: Node) -> bool:
    """Whether a cast is 5L or 1.5D."""
    is_number = isinstance(node.this, exp.Literal) and not node.this.is_string
    return WRITTEN not in node.meta and is_number


def _literal(text: str, real: bool = False) -> str:
    """A number as Java writes it."""
    if not real and "e" not in text.lower():
        plain = format(decimal.Decimal(text), "f")
        return plain
    value = float(text)
    return text if math.isinf(value) else java_real(value)  # too large: refused where it is spelled


def java_real(value: float) -> str:
    """
    >>> java_real(1000.0), java_real(1e308), java_real(1.5e-7), java_real(12345678.0)
    ('1000.0', '1.0E308', '1.5E-7', '1.2345678E7')
    """
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits = decimal.Decimal(repr(value)).normalize()
    sign, numbers, exponent = digits.as_tuple()
    shown = "".join(map(str, numbers))
    assert isinstance(exponent, int)
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}E{exponent + len(shown) - 1}"


def _type_text(node: Node) -> str:
    text = str(node.sql(dialect=SparkCalls)).upper()
    return text.replace(", ", ",") if "DECIMAL" in text else text


def _interval_text(piece: DuckText, unit: str, to: str) -> str | None:
    from neelc.runtime.values.times import Months

    last = to or unit
    if isinstance(piece.value, Months):
        years, months = divmod(abs(piece.value.count), 12)
        sign = "-" if piece.value.count < 0 else ""
        if unit == last == "MONTH":
            return f"INTERVAL '{piece.value.count}' MONTH"
        if unit == last == "YEAR":
            return f"INTERVAL '{sign}{years}' YEAR"
        return f"INTERVAL '{sign}{years}-{months}' YEAR TO MONTH"
    import datetime

    if not isinstance(piece.value, datetime.timedelta):
        return None
    micros = piece.value // datetime.timedelta(microseconds=1)
    sign, micros = ("-" if micros < 0 else ""), abs(micros)
    units = ["DAY", "HOUR", "MINUTE", "SECOND"]
    if unit not in units or last not in units:
        return None
    sizes = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
    text, between = "", {"DAY": "", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}
    for place in range(units.index(unit), units.index(last) + 1):
        name = units[place]
        count, micros = divmod(micros, sizes[name])
        own = str(count) if name == "DAY" else f"{count:02d}"
        text += (between[name] if text else "") + own
    if last == "SECOND" and micros:
        text += f".{micros:06d}".rstrip("0")
    return f"INTERVAL '{sign}{text}' {unit}" + (f" TO {last}" if last != unit else "")
