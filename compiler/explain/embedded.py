"""Explanations inside of another page, as in a notebook, with a style that is theirs alone."""

from __future__ import annotations

from neelc.explain.tags import escape, tag

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
    """A text as it is: a plan is read by its columns, so lines are not wrapped.

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
