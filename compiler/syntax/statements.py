"""Parse tree to statements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from neelc.grammar.generated.NeelParser import NeelParser
from neelc.ir import script as s
from neelc.ir.names import Identifier, bare
from neelc.ir.script import Statistic
from neelc.syntax import expressions as literals
from neelc.syntax.expressions import expression, expressions, shared_attribute, unit
from neelc.syntax.mistakes import fail, given_twice, identifier, span_of
from neelc.syntax.patterns import (
    matcher,
    output,
    pattern_expression,
    sort_item,
    temporal_query,
    type_list,
    window,
)

# Parse tree to statistics: what stands in WITH STATS.


def statistic(context: Any) -> Statistic:
    kind = identifier(context.name()) if context.TYPE() else None
    return replace(_measure(context.measure()), type=kind, span=span_of(context))


def _measure(context: Any) -> Statistic:
    match context:
        case NeelParser.PlainMeasureContext():
            return Statistic("EVENTS" if context.EVENTS() else "SHARE", (_number(context.signedNumber()),))
        case NeelParser.RateMeasureContext():
            return _with_unit("RATE", context)
        case NeelParser.SpanMeasureContext():
            return _with_unit("SPAN", context)
        case NeelParser.ColumnMeasureContext():
            word = "DISTINCT" if context.DISTINCT() else "NULLS" if context.NULLS() else "MOST FREQUENT"
            return Statistic(word, (_number(context.signedNumber()),), column=identifier(context.name()))
        case NeelParser.RangeMeasureContext():
            numbers = tuple(map(_number, context.signedNumber()))
            return Statistic("RANGE", numbers, column=identifier(context.name()))
    condition = expression(context.expression())
    return Statistic("SELECTIVITY", (_number(context.signedNumber()),), condition=condition)


def _with_unit(word: str, context: Any) -> Statistic:
    name = context.name()
    return Statistic(word, (_number(context.signedNumber()),), unit=unit(name.getText(), name))


def _number(context: Any) -> Decimal:
    found = literals.number(context.NUMBER()).value
    # A float as the digits that a person would write for it: `2e6` is 2000000.0, and means 2000000.
    value = Decimal(str(found)).normalize() if isinstance(found, float) else Decimal(str(found))
    return -value if context.MINUS() else value


def _refuse_unread(clause: Any, what: str, hint: str | None = None) -> None:
    """What the grammar has and no stage after it reads yet."""
    if clause is not None:
        fail("NEEL4001", f"not supported yet: {what}", clause, hint)


def statement(context: Any) -> s.Statement:
    span = span_of(context)
    if context.createStream():
        return replace(new_stream(context.createStream()), span=span)
    if context.createType():
        name, *members = _names(context.createType())
        return s.CreateType(name, tuple(members), span=span)
    if context.createHierarchy():
        name, *levels, relation = _names(context.createHierarchy())
        return s.CreateHierarchy(name, tuple(levels), relation, span=span)
    if context.createFunction():
        declared = context.createFunction()
        *takes, returns = map(literals.data_type, declared.dataType())
        return s.CreateFunction(identifier(declared.name()), tuple(takes), returns, span=span)
    if context.createQuery():
        create = context.createQuery()
        name, times = identifier(create.name()), _row_times(create)
        return s.CreateQuery(name, query(create.query()), times, span=span)
    found = query(context.query())
    if context.name():
        return s.CreateQuery(identifier(context.name()), found, span=span)
    return s.RunQuery(found, span=span)


def query(context: Any) -> s.ScriptQuery:
    first, *others = context.queryTerm()
    found = _query_term(first)
    if others:
        _check_combined(found, first)
    for operator, term in zip(context.setOperator(), others, strict=True):
        right = _query_term(term)
        _check_combined(right, term)
        place = span_of(first) | span_of(term)
        found = s.CombinedSelect(
            found, _set_operator(operator), right, span=place, operator_keyword=span_of(operator)
        )
    return found


def _query_term(context: Any) -> s.ScriptQuery:
    if context.patternQuery():
        return _pattern_query(context.patternQuery())
    if context.temporalQuery():
        return temporal_query(context.temporalQuery())
    if context.rolledQuery():
        return _rolled_query(context.rolledQuery())
    return _select(context.select()) if context.select() else query(context.query())


def _set_operator(context: Any) -> s.SetOperator:
    if context.EXCEPT():
        hint = "EXCEPT shows each payload once at an instant"
        _refuse_unread(context if context.ALL() else None, "EXCEPT ALL", hint)
        return s.SetOperator.EXCEPT
    return s.SetOperator.UNION_ALL if context.ALL() else s.SetOperator.UNION


def _check_combined(side: s.ScriptQuery, context: Any) -> None:
    if not isinstance(side, s.Select | s.CombinedSelect):
        message = "UNION and EXCEPT combine SELECTs"
        fail("NEEL1001", message, context.start, "read it with one: SELECT * FROM (PATTERN ...) AS p")


def _names(context: Any) -> list[str]:
    return [identifier(n) for n in context.name()]


def _once(clauses: Iterable[Any]) -> dict[type[Any], Any]:
    """The clauses by kind; a kind that is given twice is an error."""
    found: dict[type[Any], Any] = {}
    for clause in clauses:
        if type(clause) in found:
            given_twice(clause)
        found[type(clause)] = clause
    return found


def _row_times(context: Any) -> s.RowTimes | None:
    found = _once(context.timeClause())
    if not found:
        return None
    end, type_by = _name(found, NeelParser.EndByContext), _name(found, NeelParser.TypeByContext)
    first, last = context.timeClause()[0], context.timeClause()[-1]
    return s.RowTimes(_timestamp(found), end, type_by, span=span_of(first) | span_of(last))


def _name(found: dict[type[Any], Any], kind: Any) -> str | None:
    """The name in a clause, if it is there."""
    return identifier(found[kind].name()) if kind in found else None


def new_stream(context: Any) -> s.CreateStream:
    found = _once((*context.timeClause(), *context.streamClause()))
    if context.RELATION():
        _refuse_times(found)

    path = found.get(NeelParser.FromPathContext)
    options = found.get(NeelParser.OptionListContext)
    statistics = found.get(NeelParser.WithStatisticsContext)
    watermark = found.get(NeelParser.WatermarkDelayContext)
    return s.CreateStream(
        identifier(context.name()),
        tuple(
            s.ColumnDefinition(identifier(c.name()), literals.data_type(c.dataType()), span=span_of(c))
            for c in context.columnDefinition()
        ),
        _timestamp(found),
        _name(found, NeelParser.EndByContext),
        _name(found, NeelParser.TypeByContext),
        literals.unquoted(path.STRING().getText()) if path else None,
        _name(found, NeelParser.FormatNameContext),
        tuple(
            s.Property(identifier(o.name()), literals.unquoted(o.STRING().getText()), span=span_of(o))
            for o in (options.property_() if options else ())
        ),
        tuple(map(statistic, statistics.statistic())) if statistics else (),
        is_relation=context.RELATION() is not None,
        watermark=window(watermark.window()) if watermark else None,
        path_span=literals.inside_quotes(path.STRING()) if path else None,
    )


def _refuse_times(found: dict[type[Any], Any]) -> None:
    for kind in (
        NeelParser.TimestampByContext,
        NeelParser.TimestampBetweenContext,
        NeelParser.UnitOfContext,
        NeelParser.EndByContext,
        NeelParser.TypeByContext,
        NeelParser.WatermarkDelayContext,
    ):
        if kind in found:
            message = "the rows of a relation are valid forever: it has no times and no types"
            fail("NEEL1001", message, found[kind], "leave it out, or declare a stream: CREATE STREAM")


def _timestamp(found: dict[type[Any], Any]) -> s.Timestamp | None:
    by, between = found.get(NeelParser.TimestampByContext), found.get(NeelParser.TimestampBetweenContext)
    unit_of = found.get(NeelParser.UnitOfContext)
    if by and between:
        given_twice(between)
    if not by and not between:
        if unit_of:
            message, hint = "UNIT requires TIMESTAMP BY", "add TIMESTAMP BY column"
            fail("NEEL1001", message, unit_of, hint)
        return None
    word = _unit(unit_of.name()) if unit_of else None
    keyword = span_of(unit_of.UNIT()) if unit_of else None
    if by:
        written = by.STRING()
        format = None if written is None else literals.unquoted(written.getText())
        start, *then_by = _names(by)
        place = span_of(by)
        return s.Timestamp(start, None, word, format, tuple(then_by), span=place, unit_keyword=keyword)
    assert between, "a timestamp"
    low, high, *shape = _names(between)
    return s.Timestamp(
        low,
        high,
        word,
        weight=shape[0] if between.WEIGHT() else None,
        distribution=shape[0] if between.DISTRIBUTION() else None,
        span=span_of(between),
        unit_keyword=keyword,
    )


def _unit(context: Any) -> Identifier:
    return Identifier(unit(context.getText(), context), span_of(context))


def _pattern_query(context: Any) -> s.PatternQuery:
    found = _once(context.patternClause())
    partial = found.get(NeelParser.WithPartialMatchesContext)
    complete = found.get(NeelParser.WhenCompleteContext)
    order, limit = found.get(NeelParser.OrderClauseContext), found.get(NeelParser.LimitClauseContext)
    streams, where, partition, within, using, confidence, returns = (
        found.get(kind)
        for kind in (
            NeelParser.FromStreamsContext,
            NeelParser.WhereClauseContext,
            NeelParser.PartitionNamesContext,
            NeelParser.WithinClauseContext,
            NeelParser.UsingStrategyContext,
            NeelParser.WithConfidenceContext,
            NeelParser.ReturnClauseContext,
        )
    )
    return s.PatternQuery(
        pattern_expression(context.patternExpression()),
        tuple(_names(streams)) if streams else (),
        expression(where.expression()) if where else None,
        tuple(map(shared_attribute, partition.sharedAttribute())) if partition else (),
        window(within.window()) if within else None,
        _strategy(using) if using else None,
        _confidence(confidence) if confidence else None,
        _returns(returns) if returns else None,
        partial is not None,
        _among(using) if using else (),
        _kept(found),
        complete is not None,
        tuple(map(sort_item, order.sortItem())) if order else (),
        literals.whole_number(limit.NUMBER()) if limit else None,
        expression(complete.expression()) if complete and complete.expression() else None,
        span=span_of(context),
        strategy_keyword=span_of(using.getChild(1)) if using else None,
        partial_keyword=span_of(partial.getChild(1)) if partial else None,
        complete_clause=span_of(complete) if complete else None,
        limit_clause=span_of(limit) if limit else None,
    )


_DIRECTIONS = {"ROLL": "UP", "DRILL": "DOWN"}


def _rolled_query(context: Any) -> s.RolledQuery:
    direction, name = _names(context)
    verb = "ROLL" if context.ROLL() else "DRILL"
    if bare(direction).upper() != _DIRECTIONS[verb]:
        words = f"{verb} {_DIRECTIONS[verb]}"
        fail("NEEL1001", f"`{verb} {direction}` is not an operation", context.name(0), f"write {words}")
    steps = tuple(_roll_step(one) for one in context.rollStep())
    return s.RolledQuery(name, steps, verb == "ROLL", span=span_of(context))


def _roll_step(context: Any) -> s.RollStep:
    source, *rest = _names(context)
    hierarchy = rest[0] if context.DOT() else None
    return s.RollStep(source, rest[-1], hierarchy, span=span_of(context))


def _strategy(context: Any) -> s.SelectionStrategy:
    first = ["PARTITION"] if context.PARTITION() else []
    words = " ".join([*first, *map(_word, _strategy_words(context))])
    if words not in [*s.SelectionStrategy]:
        hint = "strategies: " + ", ".join(s.SelectionStrategy)
        fail("NEEL1001", f"`{words}` is not a selection strategy", context, hint)
    return s.SelectionStrategy(words)


def _among(context: Any) -> tuple[str, ...]:
    """The types after AMONG, which only contiguity has."""
    types = type_list(context.typeList())
    if types and not _strategy(context).is_contiguous:
        message = "AMONG lists events that must not occur in between; it requires STRICT CONTIGUITY"
        fail("NEEL1001", message, context.AMONG(), "for example USING STRICT CONTIGUITY AMONG (A, B)")
    return types


# AFTER MATCH and ONE MATCH after a strategy: the grammar takes these words for more of its name, as any word
# may be one. Where they begin, the strategy ends.

_SKIP, _ONE = ["AFTER", "MATCH", "SKIP"], ["ONE", "MATCH", "PER"]


def _word(context: Any) -> str:
    return bare(identifier(context)).upper()


def _strategy_words(context: Any) -> list[Any]:
    """The words of a strategy."""
    words = context.name()
    begins = [at for at in range(1, len(words)) if list(map(_word, words[at : at + 3])) in (_SKIP, _ONE)]
    return list(words[: begins[0]] if begins else words)


def _swallowed(context: Any | None) -> dict[str, list[Any]]:
    """The clauses that follow the words of a strategy: by their first word, what comes after the third."""
    rest = [] if context is None else list(context.name())[len(_strategy_words(context)) :]
    found: dict[str, list[Any]] = {}
    while rest:
        first = list(map(_word, rest[:3]))
        is_named = first == _SKIP and _word(rest[3]) in ("PAST", "TO") if len(rest) > 3 else False
        is_long = is_named and len(rest) > 5 and _word(rest[4]) in ("FIRST", "LAST", "NEXT")
        length = 6 if is_long else 5 if is_named else 4
        if first not in (_SKIP, _ONE) or len(rest) < length:
            fail("NEEL1001", f"`{rest[0].getText()}` begins no clause", rest[0])
        if first[0] in found:
            given_twice(rest[0])
        found[first[0]], rest = rest[3:length], rest[length:]
    return found


def _kept(found: dict[type[Any], Any]) -> s.KeptMatches | None:
    """Which matches are kept, if a clause says so."""
    skip, one_per, suppress = (
        found.get(kind)
        for kind in (
            NeelParser.KeptAfterMatchContext,
            NeelParser.KeptOnePerContext,
            NeelParser.KeptApartContext,
        )
    )
    swallowed = _swallowed(found.get(NeelParser.UsingStrategyContext))
    for word, clause in (("AFTER", skip), ("ONE", one_per)):
        if word in swallowed and clause is not None:
            given_twice(clause)
    variables = one_per.name() if one_per else swallowed.get("ONE", [])
    place = list(skip.skipEvent().getChildren()) if skip else swallowed.get("AFTER", [])
    if not variables and not place and suppress is None:
        return None
    first = next(one for one in (one_per, skip, suppress, *variables, *place) if one is not None)
    return s.KeptMatches(
        tuple(map(identifier, variables)),
        _skip(place) if place else None,
        window(suppress.window()) if suppress else None,
        span=span_of(first),
    )


def _skip(words: list[Any]) -> s.MatchSkip:
    """Where AFTER MATCH SKIP leads: its words after the third."""
    *place, last = words
    name, span = identifier(last), span_of(words[0]) | span_of(last)
    said = " ".join(word.getText().upper() for word in place)
    for known in (s.SkipPlace.PAST_LAST, s.SkipPlace.NEXT):
        if known.removesuffix(" EVENT") == said:
            if bare(name).upper() not in ("EVENT", "EVENTS"):
                fail("NEEL1001", f"`{name}` stands where EVENT is expected", last, f"write {known}")
            return s.MatchSkip(known, span=span)
    if said not in ("TO", s.SkipPlace.FIRST, s.SkipPlace.LAST):
        fail("NEEL1001", f"SKIP {said} is no place", words[0], "places: " + ", ".join(s.SkipPlace))
    place_of = s.SkipPlace.FIRST if said == s.SkipPlace.FIRST else s.SkipPlace.LAST
    return s.MatchSkip(place_of, name, span=span)


def _confidence(context: Any) -> s.Confidence:
    return s.Confidence(
        ">=" if context.GE() else ">", expression(context.expression()), span=span_of(context)
    )


def _returns(context: Any) -> s.Return:
    items = tuple(output(i) for i in context.returnItem())
    if not items and not context.COLLAPSED():
        fail("NEEL1001", "RETURN is empty", context, "for example RETURN a.id, b.ts AS until")
    collapsed = context.COLLAPSED()
    return s.Return(
        items,
        context.DISTINCT() is not None,
        collapsed is not None,
        span=span_of(context),
        collapsed_keyword=span_of(collapsed) if collapsed else None,
    )


def _select(context: Any) -> s.Select:
    conditions = iter(context.expression())
    where = expression(next(conditions)) if context.WHERE() else None
    having = expression(next(conditions)) if context.HAVING() else None
    return s.Select(
        tuple(output(i) for i in context.selectItem()),
        tuple(_from_item(f) for f in context.fromItem()),
        context.DISTINCT() is not None,
        where,
        expressions(context.expressionList()) if context.GROUP() else (),
        having,
        tuple(sort_item(i) for i in context.sortItem()),
        literals.whole_number(context.NUMBER()) if context.LIMIT() else None,
        span=span_of(context),
        limit_keyword=span_of(context.LIMIT()) if context.LIMIT() else None,
    )


def _from_item(context: Any) -> s.FromItem:
    source, span = context.fromSource(), span_of(context)
    aliases = [identifier(a.name()) for a in context.alias()]
    match_at = context.matcher().start.start if context.matcher() else None
    named_after_match = match_at is not None and aliases and context.alias()[-1].start.start > match_at
    outer = aliases.pop() if named_after_match else None
    if len(aliases) > 1:
        message = f"`{aliases[1]}` is a second name for what is called `{aliases[0]}`"
        fail("NEEL1004", message, context.alias()[1], "keep one of them")
    shared: dict[str, Any] = {
        "alias": aliases[0] if aliases else None,
        "window": _stream_window(context.streamWindow()) if context.streamWindow() else None,
        "matcher": matcher(context.matcher()) if context.matcher() else None,
        "matcher_alias": outer,
        "span": span,
    }
    match source:
        case NeelParser.StreamNameContext():
            return s.FromStream(name=identifier(source.name()), **shared)
        case NeelParser.AgentCallContext():
            inputs = tuple(_from_item(i) for i in source.fromItem())
            return s.FromAgent(name=identifier(source.name()), inputs=inputs, **shared)
        case NeelParser.SubqueryContext():
            return s.FromQuery(query=query(source.query()), **shared)
        case _:
            return s.FromMatchmaker(
                attributes=tuple(_matchmaker_attribute(w) for w in source.wanted()), **shared
            )


def _matchmaker_attribute(context: Any) -> s.MatchmakerAttribute:
    properties = tuple(_matchmaker_property(p) for p in context.wantedProperty())
    kind = literals.data_type(context.dataType())
    return s.MatchmakerAttribute(identifier(context.name()), kind, properties, span=span_of(context))


def _matchmaker_property(context: Any) -> s.Property:
    value = context.getChild(3).getText()
    return s.Property(
        identifier(context.name(0)),
        literals.unquoted(value) if context.STRING() else value,
        span=span_of(context),
    )


def _stream_window(context: Any) -> s.StreamWindow:
    windows = [window(w) for w in context.window()]
    counted = context.COUNT() is not None
    for found, place in zip(windows, context.window(), strict=True):
        if (found.unit == "EVENT") != counted:
            fail("NEEL1005", "a COUNT window is measured in EVENTS, a TIME window in time", place)
    jump = windows[1] if len(windows) > 1 else None
    return s.StreamWindow(windows[0], jump, tuple(_names(context)), span=span_of(context))
