"""Pictures as matplotlib figures, for papers: the same panels, traces and words, without what moves."""

from collections.abc import Callable, Mapping
from html import escape
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal.errors import RefusalError
from daedal.report.layout import GREY, INK, break_title, is_crowded
from daedal.report.picture import Axis, Band, Bars, Cells, Line, Panel, Picture, Points, Rule, Trace, Zone
from daedal.report.saving import check_path, write_whole
from daedal.report.ticks import find_ends, list_ticks, write_tick

try:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyBboxPatch, Patch
    from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullFormatter
except ImportError:

    class MissingPackageError(RefusalError, ImportError):
        """An optional package that is needed and not there."""

    raise MissingPackageError(
        "Figures for papers, and files other than .html, need the package 'matplotlib', which is not installed.",
        "Install it: pip install 'daedal[matplotlib]'.",
    ) from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, INCH = 8.0, 100.0  # of a figure in inches, and pixels of a screen in one
SYMBOLS = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "x", "cross": "+", "circle-open": "o",
    "diamond-open": "D",
}  # fmt: skip
DASHES: dict[str, Any] = {
    "solid": "-", "dash": "--", "dot": ":", "dashdot": "-.", "longdash": (0, (8, 3)), "longdashdot": (0, (8, 3, 1, 3)),
}  # fmt: skip
DIVERGING = LinearSegmentedColormap.from_list("diverging", ["#B35806", "#FDB863", "#FFFFFF", "#92C5DE", "#0571B0"])
RISING = LinearSegmentedColormap.from_list("rising", ["#FFFFFF", "#92C5DE", "#0571B0"])
# The same figure gives the same bytes: no date, and names in an SVG that are counted from the same start.
QUIET: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "daedal"},
    "pdf": {"CreationDate": None, "Creator": "daedal", "Producer": None},
    "png": {"Software": None},
}
SETTINGS: Any = {"svg.hashsalt": "daedal", "svg.fonttype": "none", "font.size": 9.0}


@final
class StaticFigure(Figure):
    """A matplotlib figure that knows what it shows: `alt` says it in a sentence, `save` writes it to a file."""

    alt: str = ""

    def save(self, path: str | Path) -> Path:
        """Write the figure to a file: .svg, .png, .pdf, or .html, a page with the figure as it is here."""
        target = check_path(path)
        kind = target.suffix.lower()[1:]
        if kind != "html":
            return write_whole(target, self._write(kind))
        drawing = self._write("svg").decode()
        drawing = drawing[drawing.index("<svg") :].replace(
            "<svg ", f'<svg role="img" aria-label="{escape(self.alt)}" ', 1
        )
        page = f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>figure</title>\n{drawing}</html>\n'
        return write_whole(target, page.encode())

    def _write(self, kind: str) -> bytes:
        content = BytesIO()
        with rc_context(SETTINGS):
            self.savefig(content, format=kind, metadata=QUIET[kind], dpi=200)
        return content.getvalue()


def make_figure(width: float, height: float, alt: str) -> StaticFigure:
    """An empty figure of so many inches."""
    with rc_context(SETTINGS):
        figure = StaticFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.alt = alt
    return figure


def render(picture: Picture) -> StaticFigure:
    """The picture as a matplotlib figure."""
    columns = max(len(row) for row in picture.rows)
    subtitle = wrap(plain(picture.subtitle), 105)
    height = max(picture.row_height * len(picture.rows), 240) / INCH * 0.9 + 1.2 + 0.14 * len(subtitle)
    figure = make_figure(max(WIDTH, 2.6 * columns), height, picture.alt)
    heading = "\n".join(wrap(plain(picture.title), 75))
    with rc_context(SETTINGS):
        figure.suptitle(heading, x=0.01, ha="left", fontsize=12, color=INK)
        keys: dict[str, Any] = {}
        shared: dict[int, Axes] = {}
        for i, row in enumerate(picture.rows):
            for j, panel in enumerate(row):
                if panel is None:
                    continue
                leader = shared.get(j) if picture.linked else None
                axes = figure.add_subplot(len(picture.rows), columns, i * columns + j + 1, sharex=leader)
                shared[j] = axes
                last = not picture.linked or all(len(below) <= j or below[j] is None for below in picture.rows[i + 1 :])
                _draw_panel(axes, panel, keys, last, max(picture.row_height, 240 / len(picture.rows)))
        if subtitle:
            first = figure.axes[0]
            room = "\n " if first.get_title() else ""  # the title of the panel stands there
            first.set_title("\n".join(subtitle) + room, loc="left", fontsize=8, color=GREY)
        if keys:
            figure.legend(list(keys.values()), list(keys), loc="outside lower left", ncols=4, frameon=False, fontsize=8)
    return figure


def draw_box(
    axes: Any, center: tuple[float, float], size: tuple[float, float], color: str, dashed: bool = False
) -> None:
    """A frame with round corners."""
    corner = (center[0] - size[0] / 2, center[1] - size[1] / 2)
    shape = "round,pad=0,rounding_size=5"
    style = {"facecolor": "white", "edgecolor": color, "linewidth": 1.5, "linestyle": "--" if dashed else "-"}
    axes.add_patch(FancyBboxPatch(corner, *size, boxstyle=shape, zorder=3, **style))


def plain(text: str) -> str:
    """A text as it is to be read: matplotlib takes what is between dollars for a formula."""
    return text.replace("$", r"\$")


def _draw_panel(axes: "Axes", panel: Panel, keys: dict[str, Any], last: bool, height: float) -> None:
    for trace in panel.traces:
        key = TRACES[type(trace)](axes, trace)
        if key is not None:
            # A label that begins with an underscore would be left out of the legend.
            keys.setdefault(plain(f"\u200b{trace.name}" if trace.name.startswith("_") else trace.name), key)
    for side, axis in (("x", panel.x), ("y", panel.y)):
        _set_axis(axes, side, axis)
        if axis.log and (ends := find_ends(panel, axis, side)) is not None:
            _set_ticks(axes, side, *ends)
    axes.set_ylabel("\n".join(map(plain, break_title(panel.y.title, height))))
    if not last:
        axes.tick_params(labelbottom=False)
        axes.set_xlabel("")
    if panel.title:
        axes.set_title(plain(panel.title), fontsize=9)
    is_matrix = any(isinstance(trace, Cells) for trace in panel.traces)
    if not is_matrix:
        axes.grid(visible=True, color="#E5E5E5", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(is_matrix)


def _set_axis(axes: "Axes", which: str, axis: Axis) -> None:
    one = getattr(axes, f"{which}axis")
    one.set_label_text(plain(axis.title), fontsize=9)
    set_limits = getattr(axes, f"set_{which}lim")
    if axis.log:
        getattr(axes, f"set_{which}scale")("log")
    if axis.labels is not None:
        one.set_ticks(range(len(axis.labels)), [plain(label) for label in axis.labels])
        if len(axis.labels) > 25:
            one.set_tick_params(labelsize=6)
        if which == "x" and is_crowded(axis.labels):
            one.set_tick_params(labelrotation=90)
        set_limits(-0.5, len(axis.labels) - 0.5)
    if axis.range is not None:
        set_limits(*axis.range)
    if axis.whole:
        one.set_major_locator(MaxNLocator(integer=True))
    if axis.descending:
        one.set_inverted(True)


def _set_ticks(axes: "Axes", side: str, low: float, high: float) -> None:
    """Round numbers on a short logarithmic axis, which matplotlib would write as powers."""
    if (numbers := list_ticks(low, high)) is None:
        return
    one, limits = getattr(axes, f"{side}axis"), getattr(axes, f"get_{side}lim")()
    inside = [number for number in numbers if min(limits) <= number <= max(limits)]
    one.set_major_locator(FixedLocator(inside))
    one.set_major_formatter(FixedFormatter(list(map(write_tick, inside))))
    one.set_minor_formatter(NullFormatter())


def _draw_line(axes: "Axes", trace: Line) -> Any:
    options = {"color": trace.color, "linestyle": DASHES[trace.dash], "linewidth": trace.width * 0.8}
    options["marker"] = SYMBOLS[trace.marker] if trace.marker else None
    style = "steps-post" if trace.steps else "default"
    (line,) = axes.plot(trace.x, trace.y, drawstyle=style, markersize=4, alpha=trace.opacity, **options)
    return line


def _draw_points(axes: "Axes", trace: Points) -> Any:
    face = "none" if trace.marker.endswith("-open") else trace.color
    pale = np.zeros(trace.x.size, dtype=bool) if trace.pale is None else trace.pale
    options: dict[str, Any] = {"s": (0.65 * trace.size) ** 2, "marker": SYMBOLS[trace.marker], "linewidths": 0.8}
    colors: dict[str, Any] = (
        {"color": trace.color} if trace.marker in ("x", "cross") else {"edgecolors": trace.color, "facecolors": face}
    )
    for chosen, share in ((~pale, 1.0), (pale, 0.3)):
        if chosen.any():
            axes.scatter(trace.x[chosen], trace.y[chosen], alpha=share * trace.opacity, **options, **colors)
    return Line2D(
        [], [], linestyle="", marker=SYMBOLS[trace.marker], color=trace.color, markerfacecolor=face, markersize=5
    )


def _draw_band(axes: "Axes", trace: Band) -> Any:
    axes.fill_between(trace.x, trace.lower, trace.upper, color=trace.color, alpha=trace.opacity, linewidth=0)
    return Patch(color=trace.color, alpha=trace.opacity)


def _draw_bars(axes: "Axes", trace: Bars) -> Any:
    gaps = np.diff(np.sort(trace.x.astype(float)))
    width = 0.8 * float(gaps.min()) if gaps.size else 0.8
    hatch: dict[str, Any] = {"hatch": "///", "edgecolor": "white"} if trace.hatched else {}
    axes.bar(trace.x, trace.y, width=width, color=trace.color, linewidth=0, **hatch)
    return Patch(facecolor=trace.color, linewidth=0, **hatch)


def _draw_cells(axes: "Axes", trace: Cells) -> None:
    colors = DIVERGING if trace.lowest < 0.0 else RISING
    shown = axes.imshow(
        trace.values, cmap=colors, vmin=trace.lowest, vmax=trace.highest, aspect="auto", interpolation="nearest"
    )
    strongest = max(abs(trace.lowest), abs(trace.highest))
    for (i, j), value in np.ndenumerate(trace.values):
        if trace.texts[i][j]:
            color = "white" if np.isfinite(value) and abs(value) > 0.75 * strongest else INK
            axes.text(j, i, plain(trace.texts[i][j]), ha="center", va="center", fontsize=7, color=color)
    if trace.scaled:
        axes.figure.colorbar(shown, ax=axes, label=plain(trace.name), fraction=0.04)


def _draw_rule(axes: "Axes", trace: Rule) -> Any:
    draw = axes.axvline if trace.vertical else axes.axhline
    return draw(trace.at, color=trace.color, linestyle=DASHES[trace.dash], linewidth=1.2)


def _draw_zone(axes: "Axes", trace: Zone) -> Any:
    axes.axvspan(trace.start, trace.end, color=trace.color, alpha=0.15, linewidth=0)
    return Patch(color=trace.color, alpha=0.3)


TRACES: Mapping[type[Trace], Callable[["Axes", Any], Any]] = {
    Line: _draw_line,
    Points: _draw_points,
    Band: _draw_band,
    Bars: _draw_bars,
    Cells: _draw_cells,
    Rule: _draw_rule,
    Zone: _draw_zone,
}
