"""What a caller gives beside streams: values for a script's parameters, from the text of `--arg name=value`
and of case files, and aggregates of its own."""

from __future__ import annotations

import decimal
import re
import traceback
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, overload

from neelc.runtime.late_dataclass import dataclass

_MAX_DIGITS = 1000
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


def argument(text: str) -> tuple[str, object]:
    """The name and the value of `name=value`; `ValueError` if it is not of that form.

    >>> argument("n=10"), argument("share=0.5"), argument("w=10 SECONDS"), argument("id='10'")
    (('n', 10), ('share', Decimal('0.5')), ('w', '10 SECONDS'), ('id', '10'))
    """
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"\w+", name.strip()):
        raise ValueError(f"{text!r} is not of the form name=value")
    return name.strip(), argument_value(value.strip())


def argument_value(text: str) -> object:
    """A number, true, false, null or a string; quotes make a string of anything.

    >>> argument_value("1e3"), argument_value("TRUE"), argument_value("it's"), argument_value("'it''s'")
    (1000.0, True, "it's", "it's")
    """
    if re.fullmatch(r"[+-]?[0-9]+", text):
        if len(text) > _MAX_DIGITS:
            raise ValueError(f"a number of {len(text):,} digits; the longest has {_MAX_DIGITS:,}")
        return int(text)
    if re.fullmatch(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+)", text):
        return decimal.Decimal(text)
    if re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+", text):
        return float(text)
    if re.fullmatch(r"'([^']|'')*'", text):
        return text[1:-1].replace("''", "'")
    return _WORDS.get(text.lower(), text)


MOST_ROWS = 1e10


class ExecutionStrategy(StrEnum):
    """How the matches of a pattern are found."""

    KERNEL = "kernel"
    WINDOW = "window"
    JOIN = "join"
    COUNTING = "counting"


@dataclass(frozen=True)
class Options:
    """How queries are compiled. `strategy` None is the cheapest that can execute a query.

    Without `shortcuts`, no event is dropped because of values that others do not have. `chunks` says whether
    time is cut into chunks where there is a key; None: where statistics tell that few keys have most of the
    events.

    A result that is expected to have more than `most_rows` is refused, if that rests on statistics that
    somebody gave. One task may find `most_matches`, by default as many as the runtime allows.

    With `streaming`, the streams have no end: results are emitted as soon as they are sure. Events are then
    grouped into so many `buckets` by their key; None is `BUCKETS`.
    """

    strategy: ExecutionStrategy | None = None
    most_rows: float = MOST_ROWS
    most_matches: int | None = None
    shortcuts: bool = True
    chunks: bool | None = None
    streaming: bool = False
    buckets: int | None = None


BUCKETS = 16


Function = Callable[[list[object]], object]


AgentFunction = Callable[..., Any]


@dataclass(frozen=True)
class UserAgent:
    """A user-defined agent: a function from DataFrames to one, and the columns of that.

    `inputs` is the number of streams that it reads, None: any. `rows` is the same for the reference
    interpreter: a function from lists of dictionaries to one.
    """

    function: AgentFunction
    columns: str
    inputs: int | None = None
    rows: AgentFunction | None = None

    def __call__(self, *frames: Any) -> Any:
        """The function itself: one that is decorated can be called, and tested, as before."""
        return self.function(*frames)


@overload
def agent(
    function: AgentFunction, *, columns: str, inputs: int | None = None, rows: AgentFunction | None = None
) -> UserAgent: ...
@overload
def agent(
    *, columns: str, inputs: int | None = None, rows: AgentFunction | None = None
) -> Callable[[AgentFunction], UserAgent]: ...


def agent(
    function: AgentFunction | None = None,
    *,
    columns: str,
    inputs: int | None = None,
    rows: AgentFunction | None = None,
) -> UserAgent | Callable[[AgentFunction], UserAgent]:
    """An agent for the FROM of SELECT: a Python function from DataFrames to one. Also a decorator.

    Parameters
    ----------
    function : callable
        It is given a DataFrame for each input, with the columns of its payload and then `ts` and `te`: an
        event is valid from `ts` on, before `te`; without an end, `te` is NULL. It gives one with `columns`,
        `ts` and `te`.
    columns : str
        The columns that it makes, as in "id BIGINT, n INT".
    inputs : int, optional
        How many streams it reads. Default: any number.
    rows : callable, optional
        The same for lists of dictionaries, for the reference interpreter.

    Returns
    -------
    UserAgent
        For the `agents` of `neelc.sql`, or for `Session.register_agent`.

    Examples
    --------
    >>> @agent(columns="id BIGINT", inputs=2)
    ... def union(left, right):
    ...     return left.unionByName(right)
    >>> union.columns, union.inputs
    ('id BIGINT', 2)
    """
    if function is None:
        return lambda decorated: agent(decorated, columns=columns, inputs=inputs, rows=rows)
    if not callable(function) or not (rows is None or callable(rows)):
        raise TypeError(f"an agent is a function of DataFrames, not {function!r}")
    if not isinstance(columns, str):
        raise TypeError(f'columns is a text such as "id BIGINT, n INT", not {columns!r}')
    return UserAgent(function, columns, inputs, rows)


@dataclass(frozen=True)
class UserAggregate:
    """A Python function of the values of a list, and the Spark type of what it returns."""

    function: Function
    returns: str

    def __call__(self, values: list[object]) -> object:
        """The function itself: one that is decorated can be called, and tested, as before."""
        return self.function(values)


@overload
def aggregate(function: Function, *, returns: str) -> UserAggregate: ...
@overload
def aggregate(*, returns: str) -> Callable[[Function], UserAggregate]: ...


def aggregate(
    function: Function | None = None, *, returns: str
) -> UserAggregate | Callable[[Function], UserAggregate]:
    """An aggregate for queries: a Python function of the values of a list. Also a decorator.

    Parameters
    ----------
    function : callable
        It is given the values of a list, at least one, NULLs as None, and gives a value of the type or None.
        It must work for every list, and give the same value for the same list.
    returns : str
        The type of its values in Spark's SQL, such as "DOUBLE".

    Returns
    -------
    UserAggregate
        For the `aggregates` of `neelc.sql`, or for `Session.register_aggregate`.

    Examples
    --------
    >>> @aggregate(returns="DOUBLE")
    ... def spread(values):
    ...     return max(values) - min(values)
    >>> spread([2.0, 5.0]), spread.returns
    (3.0, 'DOUBLE')
    """
    if function is None:
        return lambda decorated: aggregate(decorated, returns=returns)
    if isinstance(function, UserAggregate):
        function = function.function
    if not callable(function):
        raise TypeError(f"an aggregate is a function of a list, not {function!r}")
    if not isinstance(returns, str):
        raise TypeError(f'returns is the text of a type, such as "DOUBLE", not {returns!r}')
    return UserAggregate(function, returns)


@dataclass(frozen=True)
class UserFunction(UserAggregate):
    """A scalar function: `function` takes an array for each of the types that it `takes`, and gives one."""

    name: str = ""
    takes: tuple[str, ...] = ()

    def __call__(self, *arrays: Any) -> Any:
        """The function itself."""
        return self.function(*arrays)


@overload
def function(
    name: str, *, returns: str, takes: Sequence[str] | str, python: Callable[..., Any]
) -> UserFunction: ...
@overload
def function(
    name: str, *, returns: str, takes: Sequence[str] | str
) -> Callable[[Callable[..., Any]], UserFunction]: ...


def function(
    name: str, *, returns: str, takes: Sequence[str] | str, python: Callable[..., Any] | None = None
) -> UserFunction | Callable[[Callable[..., Any]], UserFunction]:
    """A function for queries, computed for many rows at once. Also a decorator.

    Parameters
    ----------
    name : str
        What queries call it.
    returns : str
        The type of its values in Spark's SQL, such as "BOOLEAN".
    takes : str or list of str
        The types of its arguments, at least one.
    python : callable, optional
        It is given a NumPy array for each argument, all of one length, and gives an array of that length: of
        values of the type, or None. Numbers and truth values are arrays of these, all else of Python objects.
        A row in which an argument is NULL is not given to it: there, the result is NULL.

    Returns
    -------
    UserFunction
        For `Session.register_function`.

    Examples
    --------
    >>> import numpy
    >>> near = function("near", returns="BOOLEAN", takes=["INT", "INT"], python=lambda x, y: abs(x - y) < 2)
    >>> near(numpy.array([1, 5]), numpy.array([2, 2])).tolist()
    [True, False]
    """
    types = (takes,) if isinstance(takes, str) else tuple(takes)
    if python is None:
        return lambda decorated: function(name, returns=returns, takes=types, python=decorated)
    if not callable(python):
        raise TypeError(f"python is a function of arrays, not {python!r}")
    if not types or not all(isinstance(one, str) for one in (returns, *types)):
        raise TypeError(f'takes has texts of types, such as "DOUBLE", at least one, not {types!r}')
    return UserFunction(python, returns, name, types)


def defined_in(text: str, name: str) -> tuple[dict[str, UserAggregate], dict[str, UserAgent]]:
    """The aggregates and the agents that Python source defines."""
    namespace: dict[str, object] = {"__name__": "neelc_aggregates", "__file__": name}
    namespace |= {"aggregate": aggregate, "agent": agent, "function": function}
    exec(compile(text, name, "exec"), namespace)
    aggregates = {
        value.name if isinstance(value, UserFunction) else key: value
        for key, value in namespace.items()
        if isinstance(value, UserAggregate)
    }
    return aggregates, {key: value for key, value in namespace.items() if isinstance(value, UserAgent)}


def line_of_source(error: BaseException, name: str) -> int | None:
    """The line of the source called `name` at which an exception was raised, if it was raised there."""
    if isinstance(error, SyntaxError) and error.filename == name:
        return error.lineno
    frames = (frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name)
    return next((frame.lineno for frame in reversed(list(frames))), None)
