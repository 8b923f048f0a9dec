"""HTML and SVG, put together from tags."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

__all__ = ["escape", "number", "tag"]

_EMPTY = ("input", "path", "rect")


def tag(name: str, *content: str, **attributes: str | float) -> str:
    """An element. `content` is HTML already; attributes are escaped, and `class_` means `class`.

    >>> tag("p", escape("a < b"), class_="why", data_tab="cost")
    '<p class="why" data-tab="cost">a &lt; b</p>'
    >>> tag("rect", x=1.25, y=2.0)
    '<rect x="1.2" y="2"/>'
    """
    pairs = (f' {_name(key)}="{_value(value)}"' for key, value in attributes.items())
    begin = f"<{name}{''.join(pairs)}"
    return f"{begin}/>" if name in _EMPTY else f"{begin}>{''.join(content)}</{name}>"


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else number(value)


def number(value: float) -> str:
    """A coordinate: nobody sees a tenth of a pixel.

    >>> number(3.14159), number(2.0)
    ('3.1', '2')
    """
    return f"{value:.1f}".removesuffix(".0")


# The frame of a page: one HTML file that works offline, with style, script and data in it.


def document(
    title: str,
    header: str,
    body: str,
    data: object,
    name: str,
    parts: Sequence[tuple[str, str]],
    refresh: int | None = None,
) -> str:
    """A page. `data` is put into it as JSON under the id `name`; `parts` are the files of its style and its
    script, each in a package, after those that all pages share. A browser reads the page again every
    `refresh` seconds."""
    shared = [("neelc.explain", "page.css"), ("neelc.explain", "base.js")]
    texts = {ending: _files([*shared, *parts], ending) for ending in (".css", ".js")}
    again = "" if refresh is None else f'\n<meta http-equiv="refresh" content="{refresh}">'
    return _encodable(f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">{again}
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


def query_title(name: str, file: str, is_one_of_many: bool = False) -> str:
    """The name of a query as a title; one without a name is called like its file.

    >>> query_title("Pairs", "a.neel"), query_title("query 1", "a.neel"), query_title("query 1", "<stdin>")
    ('Pairs', 'a', 'Query 1')
    >>> query_title("query 2", "a.neel", True)
    'a, query 2'
    """
    if not re.fullmatch(r"query \d+", name):
        return name
    stem, _, ending = file.rpartition(".")
    if ending != "neel":
        return name.capitalize()
    return f"{stem}, {name}" if is_one_of_many else stem


def page_header(title: str, *between: str) -> str:
    """The top of a page: its title, links, and the button that turns the lights on and off."""
    theme = tag("button", "Light / dark", type="button", class_="theme only-js")
    return tag("header", tag("h1", escape(title)), *between, theme, class_="top")


def _files(parts: Sequence[tuple[str, str]], ending: str) -> str:
    return "".join(
        files(package).joinpath(name).read_text("utf-8") for package, name in parts if name.endswith(ending)
    )


# Explanations inside of another page, as in a notebook, with a style that is theirs alone.

_FRAME = "width: 100%; height: 640px; border: 1px solid #8886; border-radius: 4px"
_PRE = "white-space: pre; overflow-x: auto; color: inherit; background: none; margin: 0.4em 0"


def is_page(text: str) -> bool:
    """Whether a text is a whole page of HTML."""
    return text.startswith("<!doctype html>")


def framed(page: str) -> str:
    """A whole page in a frame. Its script runs, but cannot reach the page around it.

    >>> framed("<p>a").partition("srcdoc")[2]
    '="&lt;p&gt;a"></iframe>'
    """
    return tag("iframe", sandbox="allow-scripts", style=_FRAME, srcdoc=page)


def preformatted(text: str) -> str:
    """A text unchanged: a plan is read by its columns, so lines are not wrapped.

    >>> preformatted("a < b").partition(">")[2]
    'a &lt; b</pre>'
    """
    return tag("pre", escape(text), style=_PRE)


def folded(title: str, content: str) -> str:
    """What is seen when somebody asks for it.

    >>> folded("plan", "<p>a</p>")
    '<details><summary>plan</summary><p>a</p></details>'
    """
    return tag("details", tag("summary", escape(title)), content)
