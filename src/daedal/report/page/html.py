"""HTML in few words: `tag` builds an element, and every text that is not yet HTML is escaped on the way."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape as escape_characters
from typing import Any

from daedal.records import make_plain
from daedal.report.layout import steady

EMPTY = {"meta", "br", "hr", "img", "input"}
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


class Html(str):
    """Text that is HTML already."""


def escape(text: Any) -> Html:
    """Any object as HTML: HTML as it is, all else as text in which nothing has a meaning."""
    if isinstance(text, Html):
        return text
    return Html(escape_characters(UNPRINTABLE.sub("\ufffd", steady(str(text))), quote=True))


def join(parts: Iterable[Any], between: str = "") -> Html:
    """Parts one after the other."""
    return Html(escape(between).join(map(escape, parts)))


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; an underscore in an attribute is a hyphen, at its end nothing, and None leaves it out.

    Examples
    --------
    >>> print(tag("p", "a < b", class_="note", aria_label="less"))
    <p class="note" aria-label="less">a &lt; b</p>
    """
    written = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    opening = f"<{name}{''.join(written)}>"
    return Html(opening if name in EMPTY else f"{opening}{join(children)}</{name}>")


def make_table(heads: Sequence[Any], rows: Iterable[Sequence[Any]], *, texts: Iterable[int] = (0,), label: str) -> Html:
    """A table in a frame of its own that scrolls where it must; columns of numbers go to the right, `texts` do not."""
    left = set(texts)

    def align(k: int) -> str | None:
        return None if k in left else "number"

    head = tag("tr", *(tag("th", cell, scope="col", class_=align(k)) for k, cell in enumerate(heads)))
    lines = [
        tag(
            "tr",
            *(
                tag("th", cell, scope="row") if k == 0 else tag("td", cell, class_=align(k), data_label=heads[k])
                for k, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", *lines))
    return tag("div", table, class_="table", role="group", aria_label=label, tabindex="0")


def fold(summary: Any, *children: Any, opened: bool = False) -> Html:
    """Something that a reader opens."""
    return tag("details", tag("summary", summary), *children, open=opened)


def list_items(entries: Iterable[Any], class_: str | None = None) -> Html:
    """A list with dots, or nothing where there is nothing to list."""
    items = [tag("li", entry) for entry in entries]
    return tag("ul", *items, class_=class_) if items else Html("")


def link(anchor: str, text: Any) -> Html:
    """A link within the page."""
    return tag("a", text, href=f"#{anchor}")


def write_minus(text: str) -> str:
    """Numbers with the sign that is as long as a plus."""
    return text.replace("-", "−")


def embed_json(value: Any, **attributes: Any) -> Html:
    """Data inside a page: nothing in it can end the element that holds it."""
    text = json.dumps(make_plain(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return tag("script", Html(text), type="application/json", **attributes)


def digest_script(text: str) -> str:
    """What a content security policy calls a script that may run."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
