"""A picture as a part of a page: its title is a caption, its numbers are packed, a reader's browser draws it.

Long series are 16 bits a number, 65535 levels between the least and the largest, finer than any screen; regular ones,
as times are, have two ends and a count; on logarithmic axes all digits stay. What several traces share stands once.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from daedal.report.drawings import Drawing
from daedal.report.interactive import BELOW as ROOM
from daedal.report.interactive import describe_figure
from daedal.report.page.html import Html, embed_json, tag
from daedal.report.picture import Picture
from daedal.report.plotting import draw

SHORT = 24  # numbers that are written as they are
LEVELS, GAP = 65534, 65535  # levels between the least and the largest number, and the one that is none
DIGITS, SHADES = 6, 3  # decimals of a range that are drawn: of places, and of colours
MOST_DECIMALS = 300  # more than a number may be rounded to
ROUNDING = 1e-12  # by which numbers may miss regular steps
TOP, TITLED = 14, 36  # pixels above the panels, and where these have titles
BELOW, UNLISTED = 96, 60  # pixels below them, with a legend and without
CLEAR = "rgba(0,0,0,0)"  # the page has a colour of its own


def embed(result: Any, names: Iterable[Any] | None = None, picture: str | None = None) -> Html:
    """What `plot` shows of a result; the arguments are those of `plot`."""
    drawn = draw(result, names, picture)
    return EMBEDDED[type(drawn)](drawn)


def embed_drawing(drawing: Drawing) -> Html:
    """A diagram, which needs no script."""
    caption = _write_caption(drawing.title, drawing.subtitle)
    frame = tag("div", Html(drawing.to_svg()), class_="scroll", tabindex="0", role="group", aria_label=drawing.title)
    return tag("figure", caption, frame, class_="diagram")


def _write_caption(title: str, subtitle: str) -> Html:
    below = tag("span", subtitle, class_="soft") if subtitle else ""
    return tag("figcaption", f"{title[:1].upper()}{title[1:]}", below)


def embed_picture(picture: Picture) -> Html:
    """The picture with title and subtitle above it, and what it says for those who cannot see it."""
    data, layout = describe_figure(picture)
    del layout["title"]
    top = TITLED if layout["annotations"] else TOP
    listed = any(trace.get("showlegend") for trace in data)
    below = layout["margin"]["b"] - ROOM + (BELOW if listed else UNLISTED)
    layout["height"] = int(layout["height"]) - layout["margin"]["t"] - layout["margin"]["b"] + top + below
    layout |= {"margin": {**layout["margin"], "t": top, "b": below}, "showlegend": listed}
    layout |= {"paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR}
    pool: dict[str, int] = {}
    packed = [_pack(_list_logarithmic(trace, layout, pool), pool) for trace in data]
    content = {"data": packed, "layout": _pack(layout, pool), "pool": list(pool)}
    caption = _write_caption(picture.title, picture.subtitle)
    plot = tag("div", class_="plot", role="group", aria_label=picture.alt, style=f"height:{layout['height']}px")
    return tag("figure", caption, plot, embed_json(content), class_="drawn")


def _list_logarithmic(trace: Mapping[str, Any], layout: Mapping[str, Any], pool: dict[str, int]) -> dict[str, Any]:
    """A trace whose numbers on logarithmic axes are lists: levels between the least and the largest would be coarse."""
    listed = dict(trace)
    for side in ("x", "y"):
        axis = layout.get(str(trace.get(f"{side}axis", side)).replace(side, f"{side}axis", 1), {})
        if side in trace and axis.get("type") == "log":
            numbers = np.asarray(trace[side], dtype=float).tolist()
            shown = [float(f"{one:.6g}") if np.isfinite(one) else None for one in numbers]
            text = json.dumps(shown, separators=(",", ":"))
            listed[side] = {"listed": pool.setdefault(text, len(pool))} if len(shown) > SHORT else shown
    return listed


def _pack(value: Any, pool: dict[str, int]) -> Any:
    if isinstance(value, dict):
        return {key: _pack(entry, pool) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_pack(entry, pool) for entry in value]
    if isinstance(value, np.ndarray):
        return _pack_array(value, pool)
    return value.item() if isinstance(value, np.generic) else value


def _pack_array(array: np.ndarray, pool: dict[str, int]) -> Any:
    """Numbers as page.js unpacks them; dates and texts, and what is short, as a list."""
    if array.dtype.kind == "M":
        return [None if np.isnat(one) else str(one) for one in array]
    if array.ndim > 1:
        return _shorten(array, SHADES).tolist()
    if array.dtype.kind not in "fiub" or array.size <= SHORT:
        return _shorten(array, DIGITS).tolist()
    numbers = array.astype(float)
    steps = np.diff(numbers)
    if np.ptp(steps) <= ROUNDING * np.max(np.abs(numbers)):
        return {"first": float(numbers[0]), "last": float(numbers[-1]), "count": int(numbers.size)}
    known = numbers[np.isfinite(numbers)]
    if not known.size:
        return [None] * numbers.size
    low, step = float(known.min()), float(np.ptp(known)) / LEVELS or 1.0
    levels = np.where(np.isfinite(numbers), np.round((np.nan_to_num(numbers) - low) / step), GAP).astype("<u2")
    place = pool.setdefault(b64encode(levels.tobytes()).decode(), len(pool))
    return {"levels": place, "low": low, "step": float(f"{step:.9g}")}


def _shorten(array: np.ndarray, digits: int) -> np.ndarray:
    """Numbers without digits that no screen shows: so many decimals of their range are left."""
    known = array[np.isfinite(array)] if array.dtype.kind == "f" else array[:0]
    span = float(np.ptp(known)) if known.size else 0.0
    decimals = digits - int(np.floor(np.log10(span))) if span > 0.0 else np.inf
    return np.round(array, int(decimals)) if abs(decimals) < MOST_DECIMALS else array


EMBEDDED: Mapping[type, Callable[[Any], Html]] = {Picture: embed_picture, Drawing: embed_drawing}
