"""What pictures have in common: how many panels, which of them, and their frame."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timezone
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daedal.data import describe_clock, make_clock
from daedal.errors import ReportError, list_entries, nearest, quoted, show
from daedal.tables import add_unit

if TYPE_CHECKING:
    from datetime import datetime

    import plotly.graph_objects as go

PANELS = 8  # without a choice, as many as can be read on a screen
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


def frame(figure: "go.Figure", title: str, rows: int, left_out: int = 0, what: str = "signal") -> "go.Figure":
    """The figure with its title and a height that gives every row room."""
    more = f" ({left_out} more {what}s not drawn)" if left_out else ""
    height = max(420, 140 + 150 * rows)
    return figure.update_layout(title=title + more, showlegend=False, height=height, template="plotly_white")
