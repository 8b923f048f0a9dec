"""HTML and SVG, put together from tags."""

from __future__ import annotations

from html import escape

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
