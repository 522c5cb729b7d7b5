"""Pictures as plotly figures, and those as pages of their own."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, final

import numpy as np
import plotly.graph_objects as go

from daedal.errors import ReportError
from daedal.report.layout import GREY, INK, break_title, is_crowded, steady
from daedal.report.pages import write_page
from daedal.report.picture import Axis, Band, Bars, Cells, Line, Panel, Picture, Points, Rule, Trace, Zone
from daedal.report.saving import check_path, write_whole
from daedal.report.ticks import find_ends, list_ticks, write_tick

LEFT, RIGHT, BELOW = 80, 30, 110  # pixels around the panels; the legend stands below them
TITLE, SUBTITLE = 17, 13  # sizes of letters
POWERS = 6  # of ten that are written at a long logarithmic axis
ENLARGED = 1.25  # by which plotly draws powers of ten larger than other numbers
BETWEEN = 0.13  # share of the width between columns, where titles and numbers of axes stand
LINE = 100  # letters of a subtitle in a row
GRID = "#E5E5E5"
DIVERGING = [[0.0, "#B35806"], [0.25, "#FDB863"], [0.5, "#FFFFFF"], [0.75, "#92C5DE"], [1.0, "#0571B0"]]
RISING = [[0.0, "#FFFFFF"], [0.5, "#92C5DE"], [1.0, "#0571B0"]]


@final
class InteractiveFigure(go.Figure):
    """A plotly figure that knows what it shows: `alt` says it in a sentence, `save` writes it to a file."""

    _picture: Picture | None = None

    @property
    def alt(self) -> str:
        """What the figure says, in one sentence, for readers who cannot see it."""
        meta = self.to_dict()["layout"].get("meta") or {}
        return str(meta.get("alt", ""))

    def save(self, path: str | Path) -> Path:
        """Write the figure to a file: .html, which needs no network, or, without what moves, .svg, .png or .pdf."""
        target = check_path(path)
        if target.suffix.lower() == ".html":
            return write_whole(target, self.to_html().encode())
        from daedal.report import static

        return static.render(self._find_picture()).save(target)

    def _find_picture(self) -> Picture:
        """The description, as long as the figure still is what it describes."""
        if self._picture is None or render(self._picture).to_json() != self.to_json():
            raise ReportError(
                "The figure was changed after it was drawn, and only as .html is it saved with its changes.",
                "Save it as .html, or draw it again with backend='matplotlib' and change that.",
            )
        return self._picture

    def to_html(self, *args: Any, **options: Any) -> str:
        """A page that needs no network, with the small script; with arguments, as plotly does it."""
        return super().to_html(*args, **options) if args or options else write_page(self, self.alt)

    def write_html(self, file: Any, *args: Any, **options: Any) -> None:
        """Write that page to a path, or to an open file; with arguments, as plotly does it."""
        if args or options:
            super().write_html(file, *args, **options)
        elif hasattr(file, "write"):
            file.write(self.to_html())
        else:
            write_whole(Path(file), self.to_html().encode())


def neutralize(text: str) -> str:
    """A text as it is to be read: plotly takes tags, entities, %{...} and what is between dollars for instructions."""
    escaped = steady(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("$", "&#36;").replace("%{", "%\u200b{")


def render(picture: Picture) -> InteractiveFigure:
    """The picture as a plotly figure."""
    data, layout = describe_figure(picture)
    figure = InteractiveFigure(data=data, layout=layout)
    figure._picture = picture
    return figure


def describe_figure(picture: Picture) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Traces and layout as plotly.js reads them; arrays are still numpy's."""
    columns = max(len(row) for row in picture.rows)
    subtitle = wrap(picture.subtitle)
    titled = any(panel.title for panel in picture.panels)
    top = 55 + 18 * (subtitle.count("<br>") + 1) * bool(subtitle) + 24 * titled
    gap = 70 if not picture.linked else 22
    gap += 26 * titled
    room = measure_labels(picture, columns)
    area = max(picture.row_height * len(picture.rows), 240)
    height = area + gap * (len(picture.rows) - 1)
    layout: dict[str, Any] = {
        "title": {
            "text": neutralize(picture.title),
            "subtitle": {"text": subtitle, "font": {"size": SUBTITLE, "color": GREY}},
            "font": {"size": TITLE, "weight": 600},
            "x": 0.0,
            "xref": "container",
            "xanchor": "left",
            "pad": {"l": 14},
            "y": 1.0 - 24.0 / (height + top + BELOW + room),
            "yanchor": "top",
        },
        "font": {"color": INK},
        "meta": {"alt": picture.alt},
        "height": height + top + BELOW + room,
        "margin": {"l": LEFT, "r": RIGHT, "t": top, "b": BELOW + room},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0.0, "y": -(62.0 + room) / height, "yanchor": "top"},
        "paper_bgcolor": "#FFFFFF",
        "plot_bgcolor": "#FFFFFF",
        "template": {},
        "annotations": [],
        "shapes": [],
    }
    data: list[dict[str, Any]] = []
    listed: set[str] = set()
    number = 0
    share = gap / height
    tall = (1.0 - share * (len(picture.rows) - 1)) / len(picture.rows)
    for i, row in enumerate(picture.rows):
        upper = 1.0 - i * (tall + share)
        for j, panel in enumerate(row):
            if panel is None:
                continue
            number += 1
            wide = (1.0 - BETWEEN * (columns - 1)) / columns
            across = (j * (wide + BETWEEN), j * (wide + BETWEEN) + wide)
            place = _Place(number, across, (upper - tall, upper), area / len(picture.rows))
            last = not picture.linked or all(len(below) <= j or below[j] is None for below in picture.rows[i + 1 :])
            _add_panel(layout, data, panel, place, listed, _find_leader(picture, i, j), last)
    return data, layout


def measure_labels(picture: Picture, columns: int) -> int:
    """Pixels that labels of the lowest x axes need below them, where they stand upright for lack of width."""
    lowest = [panel for panel in picture.rows[-1] if panel is not None]
    upright = [panel.x.labels for panel in lowest if panel.x.labels and is_crowded(panel.x.labels, columns)]
    return max((min(int(6.5 * max(map(len, labels))), 200) for labels in upright), default=0)


def wrap(text: str) -> str:
    """A text in lines of a length that fits beside a title, escaped."""
    from textwrap import wrap as fold

    return "<br>".join(map(neutralize, fold(text, LINE)))


class _Place:
    """Where a panel stands: the number of its axes and the shares of the figure that it takes."""

    def __init__(self, number: int, across: tuple[float, float], upward: tuple[float, float], height: float) -> None:
        self.height = height  # in pixels
        self.suffix = "" if number == 1 else str(number)
        self.across, self.upward = across, upward
        self.axes = {"xaxis": f"x{self.suffix}", "yaxis": f"y{self.suffix}"}


def _find_leader(picture: Picture, row: int, column: int) -> str | None:
    """The x axis that this panel follows: that of the first panel of its column."""
    if not picture.linked:
        return None
    number = 0
    for i, panels in enumerate(picture.rows):
        for j, panel in enumerate(panels):
            number += panel is not None
            if panel is not None and j == column:
                return None if i == row else f"x{'' if number == 1 else number}"
    return None


def _add_panel(
    layout: dict[str, Any],
    data: list[dict[str, Any]],
    panel: Panel,
    place: _Place,
    listed: set[str],
    leader: str | None,
    last: bool,
) -> None:
    crowded = bool(panel.x.labels) and is_crowded(panel.x.labels or ())
    x, y = _describe_axis(panel.x, last, crowded), _describe_axis(panel.y, True)
    x["automargin"], y["automargin"] = "bottom", "left"
    for described, axis, side in ((x, panel.x, "x"), (y, panel.y, "y")):
        if axis.log and (ends := find_ends(panel, axis, side)) is not None:
            described |= describe_ticks(*ends)
    x |= {"domain": [place.across[0], min(place.across[1], 1.0)], "anchor": place.axes["yaxis"]} | (
        {"matches": leader} if leader else {}
    )
    y |= {"domain": [max(place.upward[0], 0.0), place.upward[1]], "anchor": place.axes["xaxis"]}
    y["title"]["text"] = "<br>".join(map(neutralize, break_title(panel.y.title, place.height)))
    layout[f"xaxis{place.suffix}"], layout[f"yaxis{place.suffix}"] = x, y
    if panel.title:
        layout["annotations"].append(
            {
                "text": neutralize(panel.title),
                "x": sum(place.across) / 2,
                "y": place.upward[1],
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 14},
            }
        )
    for trace in panel.traces:
        described = TRACES[type(trace)](trace)
        name = neutralize(trace.name)
        keyed = name not in listed and not isinstance(trace, Cells)  # cells have a scale of colours
        common = {"name": name, "legendgroup": name, "showlegend": keyed, **place.axes}
        listed.add(name)
        if isinstance(trace, (Rule, Zone)):
            layout["shapes"].append(described | {"xref": place.axes["xaxis"], "yref": f"{place.axes['yaxis']} domain"})
            if isinstance(trace, Rule) and not trace.vertical:
                layout["shapes"][-1] |= {"xref": f"{place.axes['xaxis']} domain", "yref": place.axes["yaxis"]}
            data.append(_describe_key(trace) | common)
        else:
            data.append(described | common)


def describe_ticks(low: float, high: float) -> dict[str, Any]:
    """Round numbers on a short logarithmic axis, powers of ten on a longer one, some of them at last."""
    if (round_numbers := list_ticks(low, high)) is not None:
        return {"tickvals": round_numbers, "ticktext": list(map(write_tick, round_numbers))}
    minor = {"ticks": "outside", "dtick": "D1", "ticklen": 3}
    step = int(np.ceil(np.log10(high / low) / POWERS))
    return {"dtick": step, "minor": minor, "tickfont": {"size": 12 / ENLARGED}}


def _describe_axis(axis: Axis, labelled: bool, upright: bool = False) -> dict[str, Any]:
    described: dict[str, Any] = {
        "title": {"text": neutralize(axis.title), "standoff": 8},
        "gridcolor": GRID,
        "zerolinecolor": "#AAAAAA",
        "linecolor": GREY,
        "showline": True,
        "ticks": "outside",
        "showticklabels": labelled,
        "exponentformat": "power",
        "minexponent": 4,
    }
    if not labelled:
        del described["title"]
    if axis.log:
        described |= {"type": "log", "dtick": None}
    if axis.range is not None:
        described["range"] = [np.log10(end) for end in axis.range] if axis.log else list(axis.range)
    if axis.labels is not None:
        described |= {"tickvals": list(range(len(axis.labels))), "ticktext": list(map(neutralize, axis.labels))}
        described |= {"showgrid": False, "zeroline": False}
        described |= {"tickangle": -90, "tickfont": {"size": choose_size(len(axis.labels))}} if upright else {}
        described["range"] = described.get("range") or [-0.5, len(axis.labels) - 0.5]
    if axis.whole:
        described |= {"tick0": 0, "dtick": 1}
    if axis.descending:
        described["range"] = described["range"][::-1] if "range" in described else None
        described |= {} if described["range"] else {"autorange": "reversed"}
    return described


def choose_size(count: int) -> int:
    """Of the letters of so many names that stand upright beside each other."""
    return max(7, min(12, 500 // count))


def _describe_line(trace: Line) -> dict[str, Any]:
    line = {"color": trace.color, "width": trace.width, "dash": trace.dash, "shape": "hv" if trace.steps else "linear"}
    mode = "lines" if trace.marker is None else "lines+markers"
    marker = {} if trace.marker is None else {"marker": {"color": trace.color, "symbol": trace.marker, "size": 6}}
    return {
        "type": "scatter", "x": trace.x, "y": trace.y, "mode": mode, "line": line, "opacity": trace.opacity, **marker
    }  # fmt: skip


def _describe_points(trace: Points) -> dict[str, Any]:
    opacity = trace.opacity if trace.pale is None else np.where(trace.pale, 0.3 * trace.opacity, trace.opacity)
    marker = {"color": trace.color, "symbol": trace.marker, "size": trace.size, "opacity": opacity}
    if trace.marker in ("x", "cross"):
        marker["symbol"] = f"{trace.marker}-thin"
        marker["line"] = {"color": trace.color, "width": 1.5}
    texts = {"text": list(map(neutralize, trace.texts))} if trace.texts else {}
    return {"type": "scatter", "x": trace.x, "y": trace.y, "mode": "markers", "marker": marker, **texts}


def _describe_band(trace: Band) -> dict[str, Any]:
    """Each piece without gaps as a ring of its own: NaN parts them."""
    x, y = trace_rings(trace)
    red, green, blue = (int(trace.color[k : k + 2], 16) for k in (1, 3, 5))
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "mode": "lines",
        "line": {"width": 0, "color": trace.color},
        "fill": "toself",
        "fillcolor": f"rgba({red}, {green}, {blue}, {trace.opacity:g})",
        "hoverinfo": "skip",
    }


def trace_rings(band: Band) -> tuple[np.ndarray, np.ndarray]:
    """There and back around every piece of a band that has no gap; NaN, or no time, between the pieces."""
    known = np.isfinite(band.lower) & np.isfinite(band.upper)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int))).reshape(-1, 2)
    nothing: Any = np.array(["NaT"], dtype=band.x.dtype) if band.x.dtype.kind == "M" else np.array([np.nan])
    x, y = [], []
    for first, last in ends:
        x += [band.x[first:last], band.x[first:last][::-1], nothing]
        y += [band.upper[first:last], band.lower[first:last][::-1], np.array([np.nan])]
    return (np.concatenate(x[:-1]), np.concatenate(y[:-1])) if x else (band.x[:0], band.lower[:0])


def _describe_bars(trace: Bars) -> dict[str, Any]:
    marker: dict[str, Any] = {"color": trace.color}
    if trace.hatched:
        marker["pattern"] = {"shape": "/", "fillmode": "overlay", "fgcolor": "#FFFFFF", "solidity": 0.3}
    return {"type": "bar", "x": trace.x, "y": trace.y, "marker": marker}


def _describe_cells(trace: Cells) -> dict[str, Any]:
    texts = [list(map(neutralize, row)) for row in trace.texts]
    return {
        "type": "heatmap",
        "z": trace.values,
        "zmin": trace.lowest,
        "zmax": trace.highest,
        "colorscale": DIVERGING if trace.lowest < 0.0 else RISING,
        "text": texts,
        "texttemplate": "%{text}",
        "hovertemplate": "%{text}<extra></extra>",
        "xgap": 1,
        "ygap": 1,
        "showscale": trace.scaled,
        "colorbar": {"title": {"text": neutralize(trace.name), "side": "right"}, "thickness": 14},
    }


def _describe_rule(trace: Rule) -> dict[str, Any]:
    line = {"color": trace.color, "dash": trace.dash, "width": 1.5}
    along = {"x0": trace.at, "x1": trace.at, "y0": 0, "y1": 1}
    return {
        "type": "line",
        "line": line,
        **(along if trace.vertical else {"y0": trace.at, "y1": trace.at, "x0": 0, "x1": 1}),
    }


def _describe_zone(trace: Zone) -> dict[str, Any]:
    shape = {"type": "rect", "x0": trace.start, "x1": trace.end, "y0": 0, "y1": 1}
    return shape | {"fillcolor": trace.color, "opacity": 0.15, "layer": "below", "line": {"width": 0}}


def _describe_key(trace: Rule | Zone) -> dict[str, Any]:
    """The entry in the legend of what is no curve."""
    if isinstance(trace, Zone):
        marker = {"color": trace.color, "opacity": 0.3, "symbol": "square", "size": 12}
        return {"type": "scatter", "x": [None], "y": [None], "mode": "markers", "marker": marker}
    line = {"color": trace.color, "dash": trace.dash, "width": 1.5}
    return {"type": "scatter", "x": [None], "y": [None], "mode": "lines", "line": line}


TRACES: Mapping[type[Trace], Callable[[Any], dict[str, Any]]] = {
    Line: _describe_line,
    Points: _describe_points,
    Band: _describe_band,
    Bars: _describe_bars,
    Cells: _describe_cells,
    Rule: _describe_rule,
    Zone: _describe_zone,
}
