"""The frame of a page: one HTML file that works offline, with style, script and data in it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files

from neelc.explain.tags import escape, tag


def document(
    title: str, header: str, body: str, data: object, name: str, parts: Sequence[tuple[str, str]]
) -> str:
    """A page. `data` is put into it as JSON under the id `name`; `parts` are the files of its style and its
    script, each in a package, after those that all pages share."""
    shared = [("neelc.explain", "page.css"), ("neelc.explain", "base.js")]
    texts = {ending: _files([*shared, *parts], ending) for ending in (".css", ".js")}
    return _encodable(f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{texts[".css"]}</style>
</head>
<body>
{header}
<main>
{body}
</main>
<script type="application/json" id="{escape(name)}">{_json(data)}</script>
<script>
{texts[".js"]}</script>
</body>
</html>
""")


def _json(data: object) -> str:
    r"""JSON inside of a page. `</script>` in a string would end the script, so no `<` stands in it as such;
    half a pair of surrogates, which data may have, is no character that a file could hold.

    >>> _json(["<é", "\ud800"])
    '["\\u003cé","\\ud800"]'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _encodable(text: str) -> str:
    """The text with a question mark for whatever a file cannot hold."""
    return text.encode("utf-8", "replace").decode()


def page_header(title: str, *between: str) -> str:
    """The top of a page: its title, links, and the button that turns the lights on and off."""
    theme = tag("button", "Light / dark", type="button", class_="theme only-js")
    return tag("header", tag("h1", escape(title)), *between, theme, class_="top")


def _files(parts: Sequence[tuple[str, str]], ending: str) -> str:
    return "".join(
        files(package).joinpath(name).read_text("utf-8") for package, name in parts if name.endswith(ending)
    )
