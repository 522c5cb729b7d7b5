"""Small pictures that are part of the text: ranges of parameters in a table, and samples beside a simulation.

They are static SVG in the colours of the page, so they print as they are and need no script.
"""

from collections.abc import Sequence
from math import isfinite, log10

import numpy as np

from daedal.report.layout import NORMAL
from daedal.report.page.html import Html, join, tag
from daedal.report.picture import choose_points
from daedal.validation import Compared

WIDTH, HEIGHT = 140, 18  # of a range
PANEL, WIDE = (400, 190), (860, 220)  # width and height of a panel, and of one that stands alone
MARGIN = (52, 10, 26, 30)  # left, right, top, bottom
MOST_POINTS = 600  # of a curve in a panel


def draw_range(
    value: float, interval: tuple[float, float], bounds: tuple[float, float], start: float, *, log: bool, label: str
) -> Html:
    """Bounds as a line, the interval as a bar, the estimate as a stroke, the start as a ring."""
    scale = np.log if log else np.asarray
    known = [x for x in (value, start, *interval, *bounds) if isfinite(x) and (x > 0.0 or not log)]
    low, high = (float(scale(end)) for end in (min(known), max(known)))
    padding = 0.0 if all(isfinite(x) and (x > 0.0 or not log) for x in bounds) else 0.15 * (high - low or 1.0)
    low, high = low - padding, high + padding

    def place(x: float, otherwise: float) -> float:
        if not isfinite(x) or (log and x <= 0.0):
            return otherwise
        share = (float(scale(x)) - low) / (high - low or 1.0)
        return 4.0 + (WIDTH - 8.0) * min(max(share, 0.0), 1.0)

    left, right = place(interval[0], 4.0), place(interval[1], WIDTH - 4.0)
    middle, y = place(value, WIDTH / 2.0), HEIGHT / 2.0
    parts = [tag("line", x1="4", x2=str(WIDTH - 4), y1=f"{y:g}", y2=f"{y:g}", class_="soft-line", stroke_width="1.5")]
    for end, x in zip(bounds, (4.0, WIDTH - 4.0), strict=True):
        if isfinite(end):
            parts.append(_stroke(x, y - 4.0, y + 4.0, "soft-line", 1.5))
    if isfinite(interval[0]) and isfinite(interval[1]):
        width = max(right - left, 3.0)
        begin = min(max((left + right - width) / 2.0, 1.0), WIDTH - 1.0 - width)
        parts.append(
            tag(
                "rect", x=f"{begin:.1f}", y=f"{y - 3.5:g}", width=f"{width:.1f}", height="7", rx="1", class_="fill-mark"
            )
        )
    parts.append(tag("circle", cx=f"{place(start, 4.0):.1f}", cy=f"{y:g}", r="3", fill="none", class_="soft-line"))
    parts.append(_stroke(middle, 1.0, HEIGHT - 1.0, "ink", 2.0))
    return tag(
        "svg",
        *parts,
        class_="own",
        role="img",
        aria_label=label,
        width=str(WIDTH),
        height=str(HEIGHT),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
    )


def _stroke(x: float, top: float, bottom: float, kind: str, width: float) -> Html:
    return tag(
        "line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=f"{top:g}", y2=f"{bottom:g}", class_=kind, stroke_width=f"{width:g}"
    )


def draw_panel(
    one: Compared, unit: str, time_unit: str, title: str, label: str, *, size: tuple[int, int] = PANEL
) -> Html:
    """Samples as dots, the prediction as a line in its band of 95 %."""
    band = np.where(np.isfinite(one.band), NORMAL * np.nan_to_num(one.band), 0.0)
    times = one.times
    levels = np.concatenate([one.measured, one.predicted - band, one.predicted + band])
    known = levels[np.isfinite(levels)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    gap = 0.05 * (high - low) or 0.5 * abs(high) or 0.5
    to_x = _Axis(float(times[0]), float(times[-1]), MARGIN[0], size[0] - MARGIN[1])
    to_y = _Axis(low - gap, high + gap, size[1] - MARGIN[3], MARGIN[2])
    kept = np.union1d(*(choose_points(times, row, most=MOST_POINTS) for row in (one.measured, one.predicted)))
    x, upper, lower = to_x(times[kept]), to_y((one.predicted + band)[kept]), to_y((one.predicted - band)[kept])
    parts = [*_draw_axes(to_x, to_y, f"time [{time_unit}]" if time_unit else "time")]
    if band.any():
        parts.append(tag("path", d=f"{_trace(x, upper)}L{_trace(x[::-1], lower[::-1])[1:]}Z", class_="fill-band"))
    seen = np.isfinite(one.measured[kept])
    dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x[seen], to_y(one.measured[kept])[seen], strict=True))
    parts.append(tag("path", d=dots or "M0 0", class_="ink", stroke_width="2.6", stroke_linecap="round", fill="none"))
    parts.append(tag("path", d=_trace(x, to_y(one.predicted[kept])), class_="mark", stroke_width="1.6", fill="none"))
    heading = f"{title} [{unit}]" if unit else title
    parts.append(tag("text", heading, x="4", y="15", class_="title"))
    return tag("svg", *parts, class_="own", role="img", aria_label=label, viewBox=f"0 0 {size[0]} {size[1]}")


def draw_legend(entries: Sequence[tuple[str, str]]) -> Html:
    """Kinds of marks with their names: "dot", "line" or "band"."""
    marks = {
        "dot": tag("path", d="M6 6h0M20 6h0", class_="ink", stroke_width="4", stroke_linecap="round"),
        "line": tag("path", d="M1 6h24", class_="mark", stroke_width="2"),
        "band": tag("rect", x="1", y="1", width="24", height="10", class_="fill-band"),
    }
    items = [
        tag("span", tag("svg", marks[kind], viewBox="0 0 26 12", class_="own", aria_hidden="true"), name)
        for kind, name in entries
    ]
    return tag("div", *items, class_="legend")


class _Axis:
    """From numbers to pixels, with ticks at round numbers."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self.low, self.high, self.begin, self.end = low, high if high > low else low + 1.0, begin, end

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.begin + (np.asarray(x) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def ticks(self, count: int) -> list[float]:
        rough = (self.high - self.low) / count
        power = 10.0 ** np.floor(log10(rough))
        step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= rough)
        first = np.ceil(self.low / step - 1e-9)
        return [float(k * step) + 0.0 for k in np.arange(first, np.floor(self.high / step + 1e-9) + 1)]  # no −0


def _draw_axes(to_x: _Axis, to_y: _Axis, time: str) -> list[Html]:
    parts = []
    for tick in to_y.ticks(4):
        y = float(to_y(np.array(tick)))
        parts.append(tag("line", x1=f"{to_x.begin:g}", x2=f"{to_x.end:g}", y1=f"{y:.1f}", y2=f"{y:.1f}", class_="line"))
        parts.append(
            tag("text", f"{tick:.4g}".replace("-", "−"), x=f"{to_x.begin - 5:g}", y=f"{y + 4:.1f}", text_anchor="end")
        )
    for tick in to_x.ticks(max(5, round((to_x.end - to_x.begin) / 80.0))):
        x = float(to_x(np.array(tick)))
        parts.append(_stroke(x, to_y.begin, to_y.begin + 4, "soft-line", 1.0))
        if x < to_x.end - 70:  # there the name of the axis stands
            parts.append(
                tag(
                    "text",
                    f"{tick:.5g}".replace("-", "−"),
                    x=f"{x:.1f}",
                    y=f"{to_y.begin + 17:g}",
                    text_anchor="middle",
                )
            )
    parts.append(
        tag(
            "line",
            x1=f"{to_x.begin:g}",
            x2=f"{to_x.end:g}",
            y1=f"{to_y.begin:g}",
            y2=f"{to_y.begin:g}",
            class_="soft-line",
        )
    )
    parts.append(tag("text", time, x=f"{to_x.end:g}", y=f"{to_y.begin + 17:g}", text_anchor="end"))
    return parts


def _trace(x: np.ndarray, y: np.ndarray) -> str:
    known = np.isfinite(x) & np.isfinite(y)
    return join(f"{'L' if k else 'M'}{a:.1f} {b:.1f}" for k, (a, b) in enumerate(zip(x[known], y[known], strict=True)))
