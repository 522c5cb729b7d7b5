"""What pictures have in common: how many panels, which of them, and their frame."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from daedal.errors import ReportError, list_entries, nearest, quoted, show

if TYPE_CHECKING:
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
