"""`Picture`: what a figure shows, described once for everything that can draw it.

A picture is rows of panels, a panel is traces between two axes. Nothing here knows plotly or matplotlib; texts are as
the user wrote them, and whoever draws them escapes them.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, final

import numpy as np

MOST_POINTS = 4000  # of one trace: more cannot be told apart on a screen
MOST_OF_ALL = 60_000  # points of a picture, so that a page stays below 2.5 MB
MOST_OF_BAND = 1000  # of the two curves around one, which are smooth
DENSE = 4  # times as many points as are drawn that look like a filled band
PER_COLUMN = 5  # points that stand for all others in one column of pixels

Dash = Literal["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]
Marker = Literal["circle", "square", "diamond", "triangle-up", "x", "cross", "circle-open", "diamond-open"]


def choose_points(x: np.ndarray, *curves: np.ndarray, most: int = MOST_POINTS) -> np.ndarray:
    """Places of at most so many points that look the same: of each column of pixels both ends and both extremes.

    With four points of each column, lines through them fill the same pixels as lines through all (M4: U. Jugel et al.,
    VLDB 2014); the fifth is the first that is missing, so that gaps stay. Extremes are the highest of the first curve
    and the lowest of the last. x must not decrease.
    """
    if x.size <= most:
        return np.arange(x.size)
    position = x.astype("int64").astype(float) if x.dtype.kind == "M" else x.astype(float)
    edges = np.linspace(position[0], position[-1], max(most // PER_COLUMN, 1) + 1)[1:-1]
    borders = np.unique(np.concatenate([[0], np.searchsorted(position, edges), [x.size]]))
    starts, ends = borders[:-1], borders[1:]
    upper, lower = curves[0], curves[-1]
    chosen = [starts, ends - 1]
    for first, last in zip(starts, ends, strict=True):
        high, low = upper[first:last], lower[first:last]
        missing = np.isnan(high) | np.isnan(low)
        if missing.any():
            chosen.append(np.array([first + np.argmax(missing)]))
        if not missing.all():
            known = np.flatnonzero(~missing)
            chosen.append(first + known[[np.argmax(high[known]), np.argmin(low[known])]])
    return np.unique(np.concatenate(chosen))


class Trace(Protocol):
    """Something in a panel, with a name in the legend."""

    @property
    def name(self) -> str:
        """What it is called in the legend."""
        ...

    def thin(self, most: int = MOST_POINTS) -> tuple["Trace", int, int]:
        """The trace with at most so many points, how many those are, and how many there were."""
        ...


@final
@dataclass(frozen=True, eq=False)
class Line:
    """Points joined by straight lines, or by steps that hold each value; NaN interrupts it."""

    name: str
    x: np.ndarray
    y: np.ndarray
    color: str
    dash: Dash = "solid"
    width: float = 1.5
    steps: bool = False
    marker: Marker | None = None
    opacity: float = 1.0
    joined: int = 1  # lines one after the other, each with a NaN at its end

    def thin(self, most: int = MOST_POINTS) -> tuple[Trace, int, int]:
        """Each of the joined lines on its own."""
        if self.x.size <= most:
            return self, self.x.size, self.x.size
        x, y = self.x.reshape(self.joined, -1), self.y.reshape(self.joined, -1)
        size = x.shape[1]
        kept = [
            k * size + choose_points(x[k], y[k], most=max(most // self.joined, PER_COLUMN)) for k in range(self.joined)
        ]
        places = np.concatenate(kept)
        return replace(self, x=self.x[places], y=self.y[places]), places.size, self.x.size


@final
@dataclass(frozen=True, eq=False)
class Points:
    """Single points; `pale` says which do not count, `texts` what the pointer reads."""

    name: str
    x: np.ndarray
    y: np.ndarray
    color: str
    marker: Marker = "circle"
    size: float = 4.0
    opacity: float = 1.0
    pale: np.ndarray | None = None
    texts: tuple[str, ...] = ()

    def thin(self, most: int = MOST_POINTS) -> tuple[Trace, int, int]:
        """Those that look the same in the order of x; where they have none, every so many-th.

        Far more points than columns of pixels fill these from the lowest to the highest, as a line through them does,
        and its ends and extremes alone would not.
        """
        ordered = self.x.size < 2 or bool(np.all(self.x[1:] >= self.x[:-1]))
        evenly = np.unique(np.linspace(0, self.x.size - 1, min(most, self.x.size)).astype(int))
        places = choose_points(self.x, self.y, most=most) if ordered else evenly
        if places.size == self.x.size:
            return self, self.x.size, self.x.size
        filled = ordered and self.pale is None and not self.texts and bool(np.isfinite(self.y).all())
        if filled and self.x.size > DENSE * most:
            line = Line(self.name, self.x[places], self.y[places], self.color, width=1.0, opacity=self.opacity)
            return line, places.size, self.x.size
        pale = None if self.pale is None else self.pale[places]
        texts = tuple(self.texts[k] for k in places) if self.texts else ()
        thinned = replace(self, x=self.x[places], y=self.y[places], pale=pale, texts=texts)
        return thinned, places.size, self.x.size


@final
@dataclass(frozen=True, eq=False)
class Band:
    """What lies between two curves; NaN in either interrupts it."""

    name: str
    x: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    color: str
    opacity: float = 0.25

    def thin(self, most: int = MOST_POINTS) -> tuple[Trace, int, int]:
        """The band that covers all of it."""
        places = choose_points(self.x, self.upper, self.lower, most=min(most, MOST_OF_BAND))
        thinned = replace(self, x=self.x[places], lower=self.lower[places], upper=self.upper[places])
        return thinned, places.size, self.x.size


@final
@dataclass(frozen=True, eq=False)
class Bars:
    """Bars from zero; those with a hatch differ by more than their colour."""

    name: str
    x: np.ndarray
    y: np.ndarray
    color: str
    hatched: bool = False

    def thin(self, most: int = MOST_POINTS) -> tuple[Trace, int, int]:  # noqa: ARG002
        """All of them."""
        return self, self.x.size, self.x.size


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """A matrix as coloured cells with its values written in them, the first row on top; NaN is an empty cell.

    Columns and rows stand at 0, 1, 2, …; values go from `lowest` to `highest`, which is what the scale of colours, dark
    at both ends and bright in the middle, or from bright to dark where `lowest` is zero, belongs to.
    """

    name: str
    values: np.ndarray
    texts: tuple[tuple[str, ...], ...]
    lowest: float
    highest: float
    scaled: bool = True  # whether the scale of colours is shown beside it

    def thin(self, most: int = MOST_POINTS) -> tuple[Trace, int, int]:  # noqa: ARG002
        """All of them."""
        return self, self.values.size, self.values.size


@final
@dataclass(frozen=True, eq=False)
class Rule:
    """A straight line through the whole panel at one x, or one y."""

    name: str
    at: float
    color: str
    vertical: bool = True
    dash: Dash = "dash"

    def thin(self, most: int = MOST_POINTS) -> tuple[Trace, int, int]:  # noqa: ARG002
        """The line itself."""
        return self, 1, 1


@final
@dataclass(frozen=True, eq=False)
class Zone:
    """Everything between two x."""

    name: str
    start: float
    end: float
    color: str

    def thin(self, most: int = MOST_POINTS) -> tuple[Trace, int, int]:  # noqa: ARG002
        """The zone itself."""
        return self, 1, 1


@final
@dataclass(frozen=True, eq=False)
class Axis:
    """Title with unit; `labels` stand at 0, 1, 2, … in place of numbers; `whole` numbers have ticks alone."""

    title: str = ""
    log: bool = False
    range: tuple[Any, Any] | None = None
    labels: tuple[str, ...] | None = None
    descending: bool = False
    whole: bool = False


@final
@dataclass(frozen=True, eq=False)
class Panel:
    """Traces between two axes."""

    traces: tuple[Trace, ...]
    x: Axis
    y: Axis
    title: str = ""


@final
@dataclass(frozen=True, eq=False)
class Picture:
    """Panels below a title, and what a reader who cannot see them is told.

    Attributes
    ----------
    title, subtitle
        What is shown; of which data, by which criterion, and what was left out.
    rows
        Rows of panels, None where there is none.
    alt
        One sentence with what the picture says.
    linked
        Whether the panels of a column have one x axis, so that all zoom with one.
    row_height
        Pixels of a row.
    """

    title: str
    subtitle: str
    rows: tuple[tuple[Panel | None, ...], ...]
    alt: str
    linked: bool = False
    row_height: int = 150

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, row by row."""
        return tuple(panel for row in self.rows for panel in row if panel is not None)
