"""What Spark's exceptions tell of files and workers, in a sentence that says what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST = 400
"""Characters of a sentence of Spark's: it may hold a whole record."""

_FILE = re.compile(r"Encountered error while reading file (?:file:(?://)?)?(.+?)\.(?=\s)")
_FIELD = re.compile(r"Cannot parse the value '(.*?)' of the field `(.*?)` as target spark data type (\w+)")
_MALFORMED = re.compile(r"\[MALFORMED_\w*RECORD")
_ABSENT = re.compile(r"No module named '(neelc|numpy|pyarrow|pandas)\b|\[PACKAGE_NOT_INSTALLED\] (\w+)")
_OTHER_PYTHON = re.compile(
    r"\[PYTHON_VERSION_MISMATCH\].*?different version: (\S+) than that in driver: (\S+?),"
)
_NO_PYTHON = re.compile(r'Cannot run program "(.*?)"(?=.*PythonWorkerFactory)', re.DOTALL)

_INSTALL = "install {} there, or name a Python that has it in PYSPARK_PYTHON before Spark starts"
_SHIP = "neelc.ship(spark), or neelc run --ship, puts it there for the session; or "
_SAYINGS = {
    "Python worker exited unexpectedly": (
        "a Python worker of Spark ended in the middle of its work: it was killed, or there was not enough "
        "memory for it; with fewer tasks at a time, as in local[1], there is more for each"
    ),
    "No space left on device": (
        "no space left on a disk: that of the output, or that of Spark's own files (spark.local.dir)"
    ),
}

_TYPES = {"LongType": "BIGINT", "IntegerType": "INT", "ShortType": "SMALLINT", "ByteType": "TINYINT"}


class Cause(NamedTuple):
    code: str
    message: str


def cause_of(text: str) -> Cause | None:
    """What the text of an exception tells of a file or of the workers; None if it is about neither."""
    if file := _FILE.search(text):
        return _unreadable(text, file[1])
    if absent := _ABSENT.search(text):
        return _absent((absent[1] or absent[2]).lower())
    if program := _NO_PYTHON.search(text):
        way_out = _INSTALL.format("neelc")
        return Cause("NEEL5101", f"the Python of Spark's workers, {program[1]}, cannot be started: {way_out}")
    if other := _OTHER_PYTHON.search(text):
        return Cause("NEEL5103", other_python(other[1], other[2]))
    return next((Cause("NEEL5101", said) for words, said in _SAYINGS.items() if words in text), None)


def _absent(package: str) -> Cause:
    """
    >>> _absent("numpy").message.partition(" there")[0]
    "the Python of Spark's workers has no numpy: install numpy"
    """
    way_out = (_SHIP if package == "neelc" else "") + _INSTALL.format(package)
    return Cause("NEEL5102", f"the Python of Spark's workers has no {package}: {way_out}")


def other_python(there: str, here: str) -> str:
    """Spark sends functions between equal versions of Python only."""
    way_out = f"name a Python {here} in PYSPARK_PYTHON before Spark starts, or come with a Python {there}"
    return f"Spark's workers have Python {there}, and here is {here}: {way_out}"


def _unreadable(text: str, file: str) -> Cause:
    r"""
    >>> begin = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///data/x.json.  \n"
    >>> value = "the value 'much' of the field `price` as target spark data type DoubleType"
    >>> _unreadable(f"{begin}Caused by: a.B: [C] Cannot parse {value} from", "/data/x.json").message
    '`much` is not of type DOUBLE (column `price` of /data/x.json)'
    >>> _unreadable(begin + "Caused by: a.B: page is bad", "/data/x.json").message
    '/data/x.json cannot be read: page is bad'
    """
    if field := _FIELD.search(text):
        value, column, type = field.groups()
        wanted = _TYPES.get(type, type.removesuffix("Type").upper())
        return Cause("NEEL5003", f"`{cut(value)}` is not of type {wanted} (column `{column}` of {file})")
    causes = [cut(plain(cause)) for cause in causes_in(text)]
    why = causes[-1] if causes else ""
    code = "NEEL5004" if _MALFORMED.search(text) else "NEEL5001"
    return Cause(code, why if file in why else f"{file} cannot be read{': ' if why else ''}{why}")


def causes_in(text: str) -> list[str]:
    """What the causes of one of Java's exceptions say, the first cause last."""
    return re.findall(r"^Caused by: [\w.$]+: (.*)$", text, re.MULTILINE)


def plain(text: str) -> str:
    """The sentence without the class and the state that Spark puts around it.

    >>> plain("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03")
    'Path does not exist: /x.'
    """
    said = re.sub(r" SQLSTATE: \w+", "", re.sub(r"^\[[A-Z_.0-9]+\] ", "", text.strip()))
    return re.sub(r"\bfile:(//)?(?=/)", "", said)


def cut(text: str) -> str:
    return text if len(text) <= MOST else text[:MOST] + " ..."


def shortened(text: str) -> str:
    r"""The line of Spark's exception that says what is wrong: the last one of a Python stack, the first cause
    of one of Java's, else the first line.

    >>> shortened("Traceback (most recent call last):\n  File 'x.py'\nKeyError: 'a'\n\n\tat org.apache.spark")
    "KeyError: 'a'"
    >>> shortened("An error occurred while calling o1.load.\n: a.B: it\n\tat C\nCaused by: d.E: why\n\tat F")
    'why'
    """
    causes = re.findall(r"^(?:Caused by)?: [\w.$]+: (.*)$", text, re.MULTILINE)
    if text.startswith("An error occurred while calling") and causes:
        text = causes[-1]
    stack = text.partition("Traceback (most recent call last):")[2].partition("\n\tat ")[0]
    lines = [line for line in (stack or text).splitlines() if line.strip()]
    flush = [line for line in lines if line[0] not in " \t"] or lines or ["unknown"]
    return cut(plain(flush[-1 if stack else 0]))
