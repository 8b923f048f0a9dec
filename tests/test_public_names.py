"""What `import neelc` offers has docstrings, types and examples: all of it, so that a new name takes part."""

from __future__ import annotations

import doctest
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, assert_type

import pytest

import neelc
from neelc.errors import Diagnostic
from neelc.source import Span

if TYPE_CHECKING:
    pass

NAMES = [name for name in neelc.__all__ if name != "__version__"]
CLASSES = [name for name in NAMES if inspect.isclass(getattr(neelc, name))]
FUNCTIONS = [name for name in NAMES if name not in CLASSES]
RETURNS_ANY = {"replay": "a DataFrame for a DataFrame, a stream with settings for one of these"}


def public_members() -> Iterator[str]:
    """Methods and properties of the public classes which are written in neelc."""
    for name in CLASSES:
        for member, value in inspect.getmembers_static(getattr(neelc, name)):
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                code = value.fget if isinstance(value, property) else value
                if (getattr(code, "__module__", None) or "").startswith("neelc."):
                    yield f"{name}.{member}"


def member_of(path: str) -> Callable[..., Any]:
    """The function behind a public method or property."""
    name, member = path.split(".")
    value: Any = inspect.getattr_static(getattr(neelc, name), member)
    function: Any = value.fget if isinstance(value, property) else value
    found: Callable[..., Any] = function
    return found


def untyped(function: Callable[..., Any]) -> list[str]:
    """The parameters without a type, and what the result is called if it has none."""
    signature = inspect.signature(function)
    missing = [
        name
        for name, one in signature.parameters.items()
        if name != "self" and one.annotation is inspect.Parameter.empty
    ]
    return [*missing, *(["return"] if signature.return_annotation is inspect.Signature.empty else [])]


def parameters_section(text: str) -> str:
    found = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


# Names.


def test_only_public_names_are_listed() -> None:
    neelc.local()  # which loads much of the compiler
    assert dir(neelc) == sorted(neelc.__all__)
    assert all(hasattr(neelc, name) for name in neelc.__all__)


def test_pattern_is_a_function_beside_the_package_of_that_name() -> None:
    from neelc.pattern.bind import query

    assert query.__name__ == "neelc.pattern.bind.query" and inspect.isfunction(neelc.pattern)


# Docstrings.


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_an_example(name: str) -> None:
    """They run in tests/test_docs.py, and those that ask Spark in tests/spark/test_docstrings_on_spark.py."""
    text = inspect.getdoc(getattr(neelc, name)) or ""
    assert "Examples\n--------" in text and doctest.DocTestParser().get_examples(text), f"neelc.{name}"
    assert re.match(r"[A-Z].*\.$", text.partition("\n\n")[0].replace("\n", " ")), "a sentence comes first"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described(name: str) -> None:
    function = getattr(neelc, name)
    text = inspect.getdoc(function) or ""
    described = parameters_section(text)
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^(.*, )?\**{parameter}\b.*$", described, re.MULTILINE), f"{name}: {parameter}"
    assert not inspect.signature(function).parameters or described
    assert "\nReturns\n-------\n" in text


@pytest.mark.parametrize("path", [*public_members()])
def test_every_method_has_a_docstring_and_types(path: str) -> None:
    function = member_of(path)
    assert inspect.getdoc(function), path
    assert untyped(function) == []


# Patterns as functions of DataFrames.

TWICE = (
    "PATTERN SEQ(Events a, Events b WHERE b.ts > a.ts + :n) WHERE [user] WITHIN 1 HOUR RETURN a.user, b.ts"
)
LOGINS = {"ts": [1, 5, 2], "user": ["ann", "ann", "bob"]}


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_pattern_on_other_dataframes(package: str) -> None:
    frame = pytest.importorskip(package).DataFrame(LOGINS)
    found = frame.pipe(neelc.pattern(TWICE, {"n": 3}))
    assert isinstance(found, neelc.LocalFrame) and found.collect() == [("ann", 5)]
    assert found.transform(neelc.pattern("PATTERN Events e WHERE e.b_ts > 4", timestamp="b_ts")).count() == 1
    with pytest.warns(neelc.NeelWarning) as warned:
        frame.pipe(neelc.pattern(f"PATTERN SEQ(Events {package}, Events b)"))
    assert {one.filename for one in warned} == {__file__}


def test_a_pattern_with_another_stream_and_name() -> None:
    text = "PATTERN SEQ(Login a, Logout b) WHERE [user] WITHIN 1 HOUR RETURN b.ts"
    found = neelc.pattern(text, name="Login", unit="s", Logout=[{"ts": 9, "user": "ann"}])
    assert repr(found) == f"<neelc.pattern: {text}>"
    assert found([{"ts": 1, "user": "ann"}]).collect() == []  # in milliseconds, it is hours away
    timed = neelc.pattern(text, name="Login", Logout=[{"ts": 9, "user": "ann"}])
    assert timed([{"ts": 1, "user": "ann"}]).collect() == [(9,)]


@pytest.mark.parametrize("wrong", [7, "events.parquet", None])
def test_a_pattern_takes_dataframes(wrong: object) -> None:
    with pytest.raises(TypeError, match="a pattern is applied to a DataFrame of Spark or data of the local"):
        neelc.pattern(TWICE)(wrong)


# Types.


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_types(name: str) -> None:
    function = getattr(neelc, name)
    assert untyped(function) == []
    returned = str(inspect.signature(function).return_annotation)
    assert (returned in ("Any", "object", "Frame")) == (name in RETURNS_ANY)


def checked_by_mypy(spark: Any) -> None:
    """`make check` fails if these types are others. Nobody calls this."""
    from pyspark.sql import DataFrame

    assert_type(neelc.sql(spark, ""), DataFrame)
    assert_type(neelc.Session(spark).sql(""), DataFrame)
    assert_type(neelc.Session(spark).compile("").to_df(), DataFrame)
    assert_type(neelc.rules(spark, "").df, DataFrame)
    assert_type(neelc.match_recognize(spark.table(""), pattern="A"), DataFrame)
    assert_type(neelc.sql(spark, "").transform(neelc.pattern("")), DataFrame)
    assert_type(neelc.local().sql(""), neelc.LocalFrame)
    assert_type(neelc.local().compile("").to_df(), neelc.LocalFrame)
    assert_type(neelc.local().rules("").df, neelc.LocalFrame)


# Errors.

WRONG = """PATTERN SEQ(Login a, Login b)
WHERE c.ts > 1 AND d.ts > 2"""


def wrong_query() -> neelc.NeelQueryError:
    with pytest.raises(neelc.NeelQueryError) as raised:
        neelc.local().sql(WRONG, Login=[{"ts": 1}])
    return raised.value


def test_errors_carry_diagnostics() -> None:
    first, second = wrong_query().diagnostics
    assert (first.code, first.message) == ("NEEL2001", "unknown pattern variable `c`")
    assert (first.line, first.column, first.hint) == (2, 7, "variables in scope: a, b")
    assert (second.line, second.column, second.severity) == (2, 20, "error")


def test_errors_tell_their_places() -> None:
    places = wrong_query().getQueryContext()
    assert [one.fragment() for one in places] == ["c", "d"]
    assert [WRONG[one.startIndex() : one.stopIndex() + 1] for one in places] == ["c", "d"]
    assert places[1].summary().startswith("error[NEEL2001]: unknown pattern variable `d`")
    assert (places[0].contextType().name, places[0].objectType(), places[0].callSite()) == ("SQL", "", "")


def test_a_failed_run_has_no_place() -> None:
    error = neelc.NeelRunError("too little memory", part="A+ a[]")
    assert error.getQueryContext() == [] and error.diagnostics[0].line is None
    assert (error.getCondition(), error.getSqlState()) == ("NEEL5101", "22000")


def test_errors_and_warnings_can_be_sent_to_other_processes() -> None:
    for error in (wrong_query(), neelc.NeelRunError("too little memory", key={"user": "ann"})):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error)
        assert copy.diagnostics == error.diagnostics and copy.source == error.source
    warning = neelc.NeelWarning(Diagnostic("NEEL6003", "no window", Span(8, 9)), wrong_query().source)
    sent = pickle.loads(pickle.dumps(warning))
    assert str(sent) == str(warning) and sent.diagnostic.column == 9


def test_warnings_are_those_of_python() -> None:
    with pytest.warns(neelc.NeelWarning, match="NEEL6003") as found:
        neelc.local().sql("PATTERN SEQ(Login a, Login b)", Login=[{"ts": 1}])
    assert {str(one.filename) for one in found} == {__file__}
    assert issubclass(neelc.NeelWarning, UserWarning)


KINSHIP = """
import sys, neelc

def wrong():
    neelc.local().sql("PATTERN SEQ(Login a, Login b) WHERE c.ts > 1", Login=[{"ts": 1}])

try:
    wrong()
except neelc.NeelError as error:
    early = error
assert not any(name.split(".")[0] == "pyspark" for name in sys.modules), "the local path loads no PySpark"

from pyspark.errors import PySparkException, QueryContext, QueryContextType

try:
    wrong()
except PySparkException as error:
    late = error
assert type(early) is type(late) is neelc.NeelQueryError
assert isinstance(early, PySparkException) and issubclass(neelc.NeelRunError, PySparkException)
assert late.getCondition() == "NEEL2001" and late.getSqlState() == "42000" and str(late) == late.getMessage()
assert late.getBreakingChangeInfo() is None
(place,) = late.getQueryContext()
assert isinstance(place, QueryContext) and place.contextType() is QueryContextType.SQL
try:
    raise neelc.NeelRunError("too little memory")
except PySparkException as error:
    assert error.getMessageParameters() == {"message": "too little memory"}
print("kin")
"""


@pytest.mark.parametrize("first", ["", "import pyspark.errors; "], ids=["neelc first", "pyspark first"])
def test_errors_are_kin_to_those_of_pyspark(first: str) -> None:
    """In a process of its own: here, other tests have loaded PySpark."""
    program = KINSHIP.replace("assert not any", "assert True or any") if first else KINSHIP
    done = subprocess.run([sys.executable, "-c", first + program], capture_output=True, text=True)
    assert done.stdout.strip() == "kin", done.stderr
