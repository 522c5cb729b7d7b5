"""Figures of plotly as pages of their own, which need no network."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from html import escape, unescape
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.report.bundle import read_script
from daedal.report.layout import GREY, INK

if TYPE_CHECKING:
    import plotly.graph_objects as go

STYLE = (
    f"body{{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;color:{INK};background:#fff}}"
    f"h1{{font-size:17px;margin:8px 14px 0}}p{{font-size:13px;margin:4px 14px;color:{GREY}}}"
    ".plot{overflow-x:auto}.plot>div{min-width:560px}"
)
CONFIG = {"displaylogo": False, "responsive": True, "showSendToCloud": False, "plotlyServerURL": ""}  # sends nothing
FINE = 1e-5  # of the range of some numbers: less cannot be seen
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?$")
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def write_page(figure: "go.Figure", alt: str = "") -> str:
    """A figure as one HTML file that needs no network; the same figure gives the same bytes.

    Title and subtitle stand above the figure, where a narrow screen can break their lines.
    """
    content = pack(json.loads(figure.to_json(engine="json")))  # type: ignore[arg-type]
    title = content["layout"].pop("title", {})
    heading = restore(title.get("text") or "figure")
    below = restore((title.get("subtitle") or {}).get("text") or "")
    margin = content["layout"].get("margin", {})
    content["layout"]["margin"] = {**margin, "t": 36 if content["layout"].get("annotations") else 14}
    if "height" in content["layout"]:
        content["layout"]["height"] -= max(margin.get("t", 100) - content["layout"]["margin"]["t"], 0)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(heading)}</title>\n<style>{STYLE}</style>\n"
        f"<script>{read_script()}</script>\n</head>\n<body>\n<main>\n<h1>{escape(heading)}</h1>\n<p>{escape(below)}</p>\n"
        f"{write_element(content, 'figure', alt or heading)}\n</main>\n</body>\n</html>\n"
    )


def write_element(content: Mapping[str, Any], name: str, alt: str) -> str:
    """The part of a page that shows a figure, given as plotly's JSON, where the page has the script."""
    layout = {key: value for key, value in content["layout"].items() if key != "meta"}
    call = f"Plotly.newPlot({write_json(name)}, {write_json(content['data'])}, {write_json(layout)}, "
    return (
        f'<div class="plot"><div id="{escape(name)}" role="img" aria-label="{escape(alt)}" '
        f'style="height:{layout.get("height", 450):g}px"></div></div>\n<script>{call}{write_json(CONFIG)});</script>'
    )


def pack(content: dict[str, Any]) -> dict[str, Any]:
    """The same figure in fewer bytes: single precision where that is finer than a pixel, dates as numbers."""
    layout = dict(content["layout"])
    traces = []
    for trace in content["data"]:
        packed = {key: _pack_numbers(value) for key, value in trace.items()}
        if isinstance(packed.get("marker"), dict):
            packed["marker"] = {key: _pack_numbers(value) for key, value in packed["marker"].items()}
        dates = packed.get("x")
        if isinstance(dates, list) and any(map(_is_date, dates)) and all(one is None or _is_date(one) for one in dates):
            instants = np.array(["NaT" if one is None else one for one in dates], dtype="datetime64[ns]")
            numbers = np.where(np.isnat(instants), np.nan, instants.astype("int64") / 1e6)  # milliseconds
            packed["x"] = _encode(numbers, "f8")
            axis = f"xaxis{packed.get('xaxis', 'x')[1:]}"
            layout[axis] = {**layout.get(axis, {}), "type": "date"}
        traces.append(packed)
    return {"data": traces, "layout": layout}


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and DATE.match(value) is not None


def _pack_numbers(value: Any) -> Any:
    """An array that plotly wrote as the bytes of doubles."""
    if not isinstance(value, dict) or value.get("dtype") != "f8":
        return value
    numbers = np.frombuffer(b64decode(value["bdata"]), dtype="<f8")
    known = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore"):
        lost = np.abs(known.astype("<f4") - known)
    if known.size and np.all(lost <= FINE * np.ptp(known)):
        return value | _encode(numbers, "f4")
    return value


def _encode(numbers: np.ndarray, kind: str) -> dict[str, str]:
    return {"dtype": kind, "bdata": b64encode(numbers.astype(f"<{kind}").tobytes()).decode()}


def write_json(value: Any) -> str:
    """JSON that stands safely in a script: whatever users called their signals."""
    text = json.dumps(value, separators=(",", ":"))
    return "".join(UNSAFE.get(letter, letter) for letter in text) if not UNSAFE.keys().isdisjoint(text) else text


def restore(text: str) -> str:
    """The text that `neutralize` was given, in one line."""
    return unescape(text.replace("<br>", " ")).replace("\u200b", "")
