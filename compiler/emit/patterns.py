"""LIKE, and functions of regular expressions: a pattern that means nothing gives NULL."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from neelc.emit.literals import constant
from neelc.emit.syntax import (
    BIT_OR,
    Sql,
    at,
    binary,
    call,
    cast,
    is_not_null,
    junction,
    raw,
    rlike,
    string,
    when,
)
from neelc.emit.written import Written
from neelc.ir.types import BOOLEAN

_LIKES: dict[str, type[Sql]] = {"LIKE": exp.Like, "ILIKE": exp.ILike}
# Regular expressions that Java surely takes: characters, simple classes and escapes, groups, quantifiers.
_CHARACTER = r"[\w\s.,:;<>=!@#%&~'\"/^$-]|\\[dDwWsSbB.\\/+*?|()\[\]{}^$-]"
_CLASS = r"\[\^?(?:[\w\s.,:;/]|\w-\w|\\[dDwWsS.\\-])+-?\]"
_COUNT = r"[*+?]|\{\d{1,3}(?:,\d{0,3})?\}"
_TAKEN = re.compile(rf"(?:(?:{_CHARACTER}|{_CLASS})(?:{_COUNT})?|\||\((?:\?:)?(?![?*+{{])|\)[*+?]?)*\Z")


def like(operand: Written, pattern: Written, kind: str, escape: str | None) -> Sql:
    """`operand LIKE | ILIKE | RLIKE pattern [ESCAPE escape]`."""
    if kind not in _LIKES:
        return _matches(operand, pattern)
    mark = escape or "\\"
    test: Sql = _LIKES[kind](this=at(operand.sql, BIT_OR), expression=at(pattern.sql, BIT_OR))
    if escape is not None:
        test = exp.Escape(this=test, expression=string(escape))
    well_formed = _well_formed(mark)
    if pattern.value is None:
        shown = call("lower", pattern.sql) if kind == "ILIKE" else pattern.sql
        return when((rlike(shown, well_formed), test))
    given = str(pattern.value).lower() if kind == "ILIKE" else str(pattern.value)
    return test if re.match(well_formed, given) else constant(None, BOOLEAN)


def _well_formed(mark: str) -> str:
    """The patterns of LIKE in which each mark stands before `_`, `%` or itself."""
    escape = re.escape(mark) if mark in "\\^]-[&" else mark
    return rf"(?s)\A(?:[^{escape}]|{re.escape(mark)}[_%{escape}])*\z".replace(r"\z", r"(?!.)")


def _matches(operand: Written, pattern: Written) -> Sql:
    if _is_taken(pattern):
        return exp.RegexpLike(this=at(operand.sql, BIT_OR), expression=at(pattern.sql, BIT_OR))
    # Not RLIKE: it compiles a constant pattern before any CASE can keep it from failing.
    found = binary(">", call("regexp_instr", operand.sql, pattern.sql), raw("0"))
    return when((_means_something(pattern), found))


def _is_taken(pattern: Written) -> bool:
    """Whether the pattern is written down and surely well formed."""
    value = pattern.value
    if not isinstance(value, str) or _TAKEN.match(value) is None:
        return False
    try:
        re.compile(value)
    except re.error:
        return False
    return True


def _means_something(pattern: Written) -> Sql:
    # try_to_binary is the one function that makes NULL of any failure inside its argument.
    return is_not_null(_attempt(cast(call("regexp_instr", string(""), pattern.sql), "STRING")))


def _attempt(sql: Sql) -> Sql:
    return call("try_to_binary", sql, string("utf-8"))


def regexp_replace(operand: Written, pattern: Written, by: Written, *start: Written) -> Sql:
    """`start` is where to begin; Spark takes it only as a constant."""
    if start and not isinstance(start[0].value, int):
        return _replaced_from(operand, pattern, by, start[0].sql)
    plain = call("regexp_replace", operand.sql, pattern.sql, by.sql, *(one.sql for one in start))
    positive = all(isinstance(one.value, int) and one.value > 0 for one in start)
    if positive and _is_taken(pattern) and isinstance(by.value, str) and not set(by.value) & set("$\\"):
        return plain
    return cast(_attempt(plain), "STRING")


def _replaced_from(operand: Written, pattern: Written, by: Written, start: Sql) -> Sql:
    rest = replace(operand, sql=call("substring", operand.sql, start), value=None)
    changed = call(
        "concat", call("left", operand.sql, binary("-", start, raw("1"))), regexp_replace(rest, pattern, by)
    )
    beyond = binary(">", start, call("greatest", call("length", operand.sql), raw("1")))
    known = [is_not_null(pattern.sql), is_not_null(by.sql)]
    return when((junction(exp.And, [beyond, *known]), operand.sql), (binary(">", start, raw("0")), changed))


def split(operand: Written, pattern: Written, *limit: Written) -> Sql:
    plain = call("split", operand.sql, pattern.sql, *(one.sql for one in limit))
    return plain if _is_taken(pattern) else when((_means_something(pattern), plain))
