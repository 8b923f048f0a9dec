"""Texts as bytes and bytes as texts, and what is computed of bytes: encodings and digests."""

from __future__ import annotations

import base64
import hashlib
import re
import string
import zlib
from collections.abc import Callable
from urllib.parse import quote_plus, unquote_to_bytes

Function = Callable[..., object]

_CODECS = {
    "iso-8859-1": "latin-1",
    "us-ascii": "ascii",
    "utf-8": "utf-8",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
}


def encode(text: str, charset: str) -> bytes:
    """The bytes of a text. UTF-16 begins with a mark of its order, UTF-32 has none: so has Java.

    >>> encode("a", "utf-16"), encode("a", "UTF-32")
    (b'\\xfe\\xff\\x00a', b'\\x00\\x00\\x00a')
    """
    match charset.lower():
        case "utf-16":
            return b"\xfe\xff" + text.encode("utf-16-be") if text else b""
        case "utf-32":
            return text.encode("utf-32-be")
    return text.encode(_CODECS[charset.lower()])


def decode(data: bytes, charset: str) -> str:
    """The text of bytes; those of UTF-16 and UTF-32 are in the order that a mark says, else the first is the
    highest."""
    match charset.lower():
        case "utf-16":
            is_marked = data[:2] in (b"\xfe\xff", b"\xff\xfe")
            return data.decode("utf-16") if is_marked else data.decode("utf-16-be")
        case "utf-32":
            is_marked = data[:4] in (b"\0\0\xfe\xff", b"\xff\xfe\0\0")
            return data.decode("utf-32") if is_marked else data.decode("utf-32-be")
    return data.decode(_CODECS[charset.lower()])


def hexadecimal(value: int | str | bytes) -> str:
    """
    >>> hexadecimal(-1), hexadecimal("Spark"), hexadecimal(b"\\0")
    ('FFFFFFFFFFFFFFFF', '537061726B', '00')
    """
    match value:
        case int():
            return format(value % 2**64, "X")
        case str():
            return value.encode().hex().upper()
    return value.hex().upper()


_HEX = re.compile(r"[0-9A-Fa-f]*\Z")


def from_hexadecimal(text: str) -> bytes | None:
    """An odd number of digits begins with a 0."""
    if _HEX.match(text) is None:
        return None
    return bytes.fromhex("0" * (len(text) % 2) + text)


def to_base64(data: bytes) -> str:
    """In lines of 76 characters, as Java's encoder for mails has them."""
    text = base64.b64encode(data).decode()
    return "\r\n".join(text[start : start + 76] for start in range(0, len(text), 76))


_BASE64 = {
    digit: place
    for place, digit in enumerate(
        string.ascii_letters[26:] + string.ascii_letters[:26] + string.digits + "+/"
    )
}


def from_base64(text: str) -> bytes:
    """As Java's decoder for mails: other characters are skipped, and padding may be missing.

    >>> from_base64("YW Jj"), from_base64("YQ"), from_base64("YQ==")
    (b'abc', b'a', b'a')
    """
    digits: list[int] = []
    characters = iter(text)
    for one in characters:
        if one == "=":
            pending = len(digits) % 4
            if pending == 0 or (pending == 2 and next(characters, "") != "="):
                raise ValueError(text)
            break
        if one in _BASE64:
            digits.append(_BASE64[one])
    if len(digits) % 4 == 1 or any(one in _BASE64 for one in characters):
        raise ValueError(text)
    whole = "".join(format(digit, "06b") for digit in digits)
    return bytes(int(whole[start : start + 8], 2) for start in range(0, len(whole) - 7, 8))


def to_binary(text: str, encoding: str = "hex") -> bytes:
    """to_binary and try_to_binary."""
    if encoding.lower() != "hex":
        return text.encode()
    found = from_hexadecimal(text)
    if found is None:
        raise ValueError(text)
    return found


_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def url_encode(text: str) -> str:
    """
    >>> url_encode("a b~*ä")
    'a+b%7E*%C3%A4'
    """
    return quote_plus(text, safe="*").replace("~", "%7E")


def url_decode(text: str) -> str:
    """Fails where a percent sign has no two digits behind it."""
    if _PERCENT.search(text):
        raise ValueError(text)
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


_SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def sha2(data: bytes, bits: int) -> str | None:
    """NULL for a length that there is not."""
    return hashlib.new(_SHA2[bits], data).hexdigest() if bits in _SHA2 else None


def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


ENCODINGS: dict[str, Function] = {
    "base64": to_base64,
    "crc32": zlib.crc32,
    "decode": decode,
    "encode": encode,
    "hex": hexadecimal,
    "md5": lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(),
    "sha": _sha1,
    "sha1": _sha1,
    "sha2": sha2,
    "to_binary": to_binary,
    "try_to_binary": to_binary,
    "try_url_decode": url_decode,
    "unbase64": from_base64,
    "unhex": from_hexadecimal,
    "url_decode": url_decode,
    "url_encode": url_encode,
}
