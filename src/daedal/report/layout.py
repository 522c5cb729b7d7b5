"""What pictures have in common: colours, which panels, the axis of time, and the words above them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timezone
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np

from daedal.data import describe_clock, make_clock
from daedal.errors import ReportError, list_entries, nearest, quoted, show
from daedal.report.picture import MOST_OF_ALL, MOST_POINTS, Band, Dash, Marker, Panel, Picture
from daedal.tables import add_unit

if TYPE_CHECKING:
    from datetime import datetime

    import plotly.graph_objects as go

PANELS = 8  # without a choice, as many as can be read on a screen
NORMAL = 1.959963984540054  # 97.5 % of a normal distribution lie below

# Okabe and Ito, Color Universal Design (2008), without its yellow, which is lost on white.
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")  # marks of direction
BROAD = "%&@$#MW"  # signs that take more room than other letters
INK, GREY = "#333333", "#767676"


class Style(NamedTuple):
    """What tells one series from another: never the colour alone."""

    color: str
    dash: Dash
    marker: Marker


STYLES = (
    Style(BLUE, "solid", "circle"),
    Style(VERMILLION, "dash", "square"),
    Style(GREEN, "dot", "diamond"),
    Style(PURPLE, "dashdot", "triangle-up"),
    Style(ORANGE, "longdash", "x"),
    Style(SKY, "longdashdot", "cross"),
)


def choose_style(number: int) -> Style:
    """The style of the series with this number, from 0 on."""
    return STYLES[number % len(STYLES)]


BAND = {"fill": "toself", "fillcolor": "rgba(128, 128, 128, 0.25)", "hoverinfo": "skip"}


def choose_names(names: Iterable[Any] | None, known: Mapping[str, Any], what: str = "signal") -> list[str]:
    """The names to draw, which must be among those known; without a choice the first ones."""
    if names is None:
        return list(known)[:PANELS]
    if (entries := list_entries(names)) is None:
        raise ReportError(f"The names to draw must be a list, got {show(names)}.", "Write plot(result, ['x', 'y']).")
    listed = [show(name, str) for name in entries]
    for name in listed:
        if name not in known:
            raise ReportError(f"There is no {what} '{name}' to draw.", nearest(name, known))
    if not listed:
        raise ReportError("There is nothing to draw.", f"Choose among {quoted(known)}.")
    return listed


class TimeAxis(NamedTuple):
    """Time as numbers, or, of results that all have an origin, as dates on the clock of the first of them."""

    clock: "datetime | None"

    def place(self, times: np.ndarray, origin: "datetime | None") -> np.ndarray:
        """Times of a result on this axis."""
        if self.clock is None or origin is None:
            return times
        return make_clock(times, origin if self.clock.tzinfo is None else origin.astimezone(self.clock.tzinfo))

    def name(self, units: Mapping[str, str]) -> str:
        """Its title, with the unit of numbers or how far a clock with a zone is ahead of UTC."""
        if self.clock is None:
            return add_unit("time", units)
        ahead = describe_clock(self.clock)
        return f"time ({ahead})" if ahead else "time"


def choose_time_axis(origins: "Sequence[datetime | None]") -> TimeAxis:
    """Dates where every result has them, all with a zone or all without."""
    known = [one for one in origins if one is not None]
    alike = len({one.tzinfo is None for one in known}) == 1
    if len(known) < len(origins) or not alike:
        return TimeAxis(None)
    zone = known[0].utcoffset()
    return TimeAxis(known[0] if zone is None else known[0].replace(tzinfo=timezone(zone)))


def make_panels(rows: int, columns: int = 1, *, titled: bool = False, **options: Any) -> "go.Figure":
    """An empty figure with so many panels; `titled` leaves room for a title below each."""
    from plotly.subplots import make_subplots

    spacing = 0.5 / max(rows, 2) if titled else 0.25 / max(rows, 5)
    return make_subplots(rows=rows, cols=columns, vertical_spacing=spacing, **options)


def arrange(
    title: str,
    told: Iterable[str],
    rows: Iterable[Sequence[Panel | None]],
    alt: str,
    *,
    linked: bool = False,
    left_out: int = 0,
    what: str = "signal",
    row_height: int = 150,
) -> Picture:
    """The picture of these panels: long traces thinned, and what is not drawn said below the title."""
    drawn, total, thinned = 0, 0, []
    rows = list(rows)
    curves = [trace for row in rows for panel in row if panel is not None for trace in panel.traces]
    most = min(MOST_POINTS, MOST_OF_ALL // max(sum((2 if isinstance(one, Band) else 1) for one in curves), 1))
    for row in rows:
        panels: list[Panel | None] = []
        for panel in row:
            traces = [] if panel is None else [trace.thin(most) for trace in panel.traces]
            for trace, shown, size in traces:
                if shown < size and size > total and not isinstance(trace, Band):  # that covers all of it
                    drawn, total = shown, size
            panels.append(panel and replace(panel, traces=tuple(trace for trace, _, _ in traces)))
        thinned.append(tuple(panels))
    notes = [one for one in told if one]
    if left_out:
        notes.append(f"{left_out} more {what}{'s' * (left_out != 1)} not drawn")
    if total:
        notes.append(f"drawn: {group_digits(drawn)} of {group_digits(total)}")
    return Picture(title, "; ".join(notes), tuple(thinned), alt, linked, row_height)


def group_digits(count: int) -> str:
    """4 000."""
    return f"{count:,}".replace(",", " ")


def write_value(value: float, digits: int = 4) -> str:
    """A number for a reader; a dash where there is none."""
    return f"{value:.{digits}g}" if np.isfinite(value) else "—"


def write_p(value: float) -> str:
    """As a sentence has it: p = 0.03, p < 0.0001."""
    return "p unknown" if not np.isfinite(value) else "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"


def write_cell(value: float) -> str:
    """A number in a matrix: two digits after the point, a proper minus, no sign before zero; empty where unknown."""
    return "" if np.isnan(value) else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def describe_range(name: str, values: np.ndarray, unit: str = "") -> str:
    """For those who cannot see it: speed from −1 to 2 m/s."""
    known = values[np.isfinite(values)]
    if not known.size:
        return f"{name} without values"
    return f"{name} from {write_value(float(known.min()))} to {write_value(float(known.max()))}{unit and f' {unit}'}"


def steady(text: str) -> str:
    """A text without marks that would turn the direction of all words behind it."""
    return TURNING.sub("", text)


def break_title(text: str, height: float) -> list[str]:
    """The title of a vertical axis of so many pixels in at most two lines; what is still too long is cut."""
    wide = any(east_asian_width(letter) in "WF" for letter in text)
    height -= 5 * sum(map(text.count, BROAD))
    letters = max(int(height / 6.5), 8)
    if wide or max(map(len, text.split()), default=0) > letters:  # cut within a word, whose letters may all be wide
        letters = max(int(height / (15.4 if wide else 7.7)), 8)
    return wrap(text, letters, max_lines=2, placeholder=" …", break_on_hyphens=False) if len(text) > letters else [text]


def is_crowded(labels: Sequence[str], columns: int = 1) -> bool:
    """Whether labels do not fit beside each other."""
    return (2 + max(map(len, labels))) * len(labels) > 110 // columns
