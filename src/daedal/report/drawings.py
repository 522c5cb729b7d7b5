"""`Drawing`: boxes, dots and lines between them, and `Formulas`: typeset equations; each a figure that saves itself.

A drawing is SVG that scales as a whole, so that its texts stay in their boxes on every screen; formulas are MathML.
Both need no script. Where a file needs pixels or pages (.png, .pdf), matplotlib draws the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as escape_characters
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from daedal.report.layout import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, steady
from daedal.report.saving import check_path, write_whole

if TYPE_CHECKING:
    from daedal.report.static import StaticFigure

BoxKind = Literal["part", "input", "output", "disturbance", "equations"]
COLORS: dict[str, str] = {"part": BLUE, "input": GREEN, "output": ORANGE, "disturbance": PURPLE, "equations": SKY}
LEAST = 0.75  # of its size that a diagram shrinks to where there is no room for it
LETTER = 7.2  # pixels that a letter takes at the size of a box's text
SMALL = 5.8  # the same of the texts at lines
ROW = 18  # pixels of a line of text
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def escape(text: str) -> str:
    """A text in which nothing has a meaning."""
    return escape_characters(steady(text))


@final
@dataclass(frozen=True)
class Box:
    """A frame around lines of text, its centre at x and y; what it is stands in its border and its corners."""

    x: float
    y: float
    lines: tuple[str, ...]
    kind: BoxKind
    least: float = 0.0  # height

    @property
    def width(self) -> float:
        """Wide enough for the longest line."""
        return LETTER * max(map(len, self.lines), default=0) + 24

    @property
    def height(self) -> float:
        """High enough for all lines."""
        return max(ROW * len(self.lines) + 14, self.least)


@final
@dataclass(frozen=True)
class Wire:
    """A line through points, with an arrow at its end, and a short text near each end."""

    points: tuple[tuple[float, float], ...]
    arrow: bool = False
    first: str = ""
    last: str = ""


@final
@dataclass(frozen=True)
class Drawing:
    """A diagram with its title and what it says in one sentence."""

    title: str
    subtitle: str
    width: float
    height: float
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    dots: tuple[tuple[float, float], ...]
    alt: str

    def to_svg(self) -> str:
        """The diagram as one SVG element, as wide as there is room, and not wider than it is."""
        size = f"width:100%;min-width:{LEAST * self.width:g}px;max-width:{self.width:g}px;height:auto"
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{escape(self.alt)}" style="{size}" font-family="{escape(FONT)}" font-size="12">',
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
            f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>',
            *(_write_wire(wire) for wire in self.wires),
            *filter(None, map(_write_labels, self.wires)),
            *(f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="{INK}"/>' for x, y in self.dots),
            *(_write_box(box) for box in self.boxes),
            "</svg>",
        ]
        return "\n".join(lines)

    def to_html(self) -> str:
        """A page with the diagram."""
        return write_frame(
            self.title, self.subtitle, f'<div style="overflow-x:auto" tabindex="0">{self.to_svg()}</div>'
        )

    def save(self, path: str | Path) -> Path:
        """Write the diagram to a file: .svg, .html, .png or .pdf."""
        target = check_path(path)
        written = {".svg": self.to_svg, ".html": self.to_html}.get(target.suffix.lower())
        return write_whole(target, written().encode()) if written else self.to_matplotlib().save(target)

    def to_matplotlib(self) -> "StaticFigure":
        """The same as a matplotlib figure."""
        from daedal.report import static

        figure = static.make_figure(self.width / 80.0, self.height / 80.0 + 0.5, self.alt)
        figure.suptitle(static.plain(self.title), x=0.01, ha="left", fontsize=12)
        axes: Any = figure.add_subplot()
        axes.set(xlim=(0, self.width), ylim=(self.height, 0), aspect="equal")
        axes.set_axis_off()
        for wire in self.wires:
            x, y = zip(*wire.points, strict=True)
            axes.plot(x, y, color=INK, linewidth=1.0, zorder=1)
            if wire.arrow:
                arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.0}
                axes.annotate("", wire.points[-1], wire.points[-2], arrowprops=arrow, zorder=1)
            for text, x, y in _place_labels(wire):
                paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
                axes.text(x, y, static.plain(text), fontsize=6.5, color=GREY, ha="center", va="center", bbox=paper)
        axes.scatter([x for x, _ in self.dots], [y for _, y in self.dots], color=INK, s=16, zorder=2)
        for box in self.boxes:
            static.draw_box(axes, (box.x, box.y), (box.width, box.height), COLORS[box.kind], box.kind == "disturbance")
            text = static.plain("\n".join(box.lines))
            axes.text(box.x, box.y, text, ha="center", va="center", fontsize=8, zorder=4)
        return figure

    def _repr_html_(self) -> str:
        paper = "background:#fff;color:#333;padding:8px"  # in dark notebooks, too
        return f'<figure style="{paper}"><figcaption>{escape(self.title)}</figcaption>{self.to_svg()}</figure>'


def _place_labels(wire: Wire) -> list[tuple[str, float, float]]:
    """Texts on the line near both ends, with their middles: those of lines that meet a box do not meet each other."""
    placed = []
    for text, (x, y), (u, v) in ((wire.first, *wire.points[:2]), (wire.last, *wire.points[:-3:-1])):
        if text:
            across, reach = abs(u - x), 6.0 + SMALL * len(text) / 2.0
            share = min(reach / across if across > 1.0 else 12.0 / max(abs(v - y), 1.0), 0.5)
            placed.append((text, x + share * (u - x), y + share * (v - y)))
    return placed


def _write_wire(wire: Wire) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in wire.points)
    end = ' marker-end="url(#arrow)"' if wire.arrow else ""
    return f'<polyline points="{points}" fill="none" stroke="{INK}" stroke-width="1.2"{end}/>'


def _write_labels(wire: Wire) -> str:
    """Above all lines, in paper's colour around."""
    look = f'font-size="10" fill="{GREY}" stroke="#FFFFFF" stroke-width="4" paint-order="stroke" text-anchor="middle"'
    return "".join(
        f'<text x="{x:.1f}" y="{y + 3.5:.1f}" {look}>{escape(text)}</text>' for text, x, y in _place_labels(wire)
    )


def _write_box(box: Box) -> str:
    radius = {"part": 6, "equations": 2}.get(box.kind, box.height / 2)
    dash = ' stroke-dasharray="5 3"' if box.kind == "disturbance" else ""
    left, top = box.x - box.width / 2, box.y - box.height / 2
    frame = (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="{radius:g}" '
        f'fill="#FFFFFF" stroke="{COLORS[box.kind]}" stroke-width="2"{dash}/>'
    )
    rows, first = [], box.y - ROW * len(box.lines) / 2
    for k, line in enumerate(box.lines):
        weight = ' font-weight="600"' if k == 0 else ""
        at = f'x="{box.x:.1f}" y="{first + ROW * (k + 0.72):.1f}" text-anchor="middle"'
        rows.append(f'<text {at} fill="{INK}"{weight}>{escape(line)}</text>')
    return frame + "".join(rows)


@final
@dataclass(frozen=True)
class Formulas:
    """Typeset equations by name."""

    title: str
    subtitle: str
    names: tuple[str, ...]
    mathml: tuple[str, ...]
    latex: tuple[str, ...]
    alt: str

    def to_table(self) -> str:
        """A table of names and formulas, as part of a page."""
        rows = "".join(
            f"<tr><th scope='row'>{escape(name)}</th><td>{formula}</td></tr>"
            for name, formula in zip(self.names, self.mathml, strict=True)
        )
        return f'<table class="equations" aria-label="{escape(self.alt)}"><tbody>{rows}</tbody></table>'

    def to_html(self) -> str:
        """A page with the formulas."""
        names = "th{text-align:left;font-weight:400;color:#767676;padding-right:2em}"
        style = f"<style>{names}td math{{font-size:1.1em;display:inline math}}</style>"
        return write_frame(self.title, self.subtitle, style + self.to_table())

    def save(self, path: str | Path) -> Path:
        """Write the formulas to a file: .html, .svg, .png or .pdf."""
        target = check_path(path)
        if target.suffix.lower() == ".html":
            return write_whole(target, self.to_html().encode())
        return self.to_matplotlib().save(target)

    def to_matplotlib(self) -> "StaticFigure":
        """The same as a matplotlib figure."""
        from daedal.report import static

        figure = static.make_figure(static.WIDTH, 0.45 * len(self.names) + 0.7, self.alt)
        figure.suptitle(static.plain(self.title), x=0.01, ha="left", fontsize=12)
        axes: Any = figure.add_subplot()
        axes.set(xlim=(0, 1), ylim=(len(self.names) - 0.5, -0.5))
        axes.set_axis_off()
        for k, (name, formula) in enumerate(zip(self.names, self.latex, strict=True)):
            axes.text(0.0, k, static.plain(name), fontsize=9, color=GREY, va="center")
            axes.text(0.28, k, f"${formula}$", fontsize=12, va="center")
        return figure

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.title)}</p>{self.to_table()}"


def write_frame(title: str, subtitle: str, content: str) -> str:
    """A page around something that needs no script."""
    head = (
        f'<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>{escape(title)}</title>'
    )
    below = f'<p style="color:{GREY}">{escape(subtitle)}</p>\n' if subtitle else ""
    body = f'<body style="font-family:{escape(FONT)};color:{INK}">'
    heading = f'<h1 style="font-size:17px">{escape(title)}</h1>'
    top = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>'
    return f"{top}\n{body}\n{heading}\n{below}{content}\n</body>\n</html>\n"


def list_names(names: Sequence[str], most: int) -> tuple[str, ...]:
    """As many names as fit, and how many more there are."""
    return (*names[:most], *([f"and {len(names) - most} more"] if len(names) > most else []))
