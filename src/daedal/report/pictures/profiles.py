"""Pictures of how far data determine the estimates: profiles, and the directions they leave open."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from daedal.errors import counted
from daedal.report.layout import BLUE, GREY, INK, VERMILLION, arrange, choose_names, write_cell, write_value
from daedal.report.picture import Axis, Bars, Cells, Line, Panel, Picture, Rule, Trace
from daedal.tables import add_unit
from daedal.validation import Identifiability, Profile, ProfileCurve

Names = Iterable[Any] | None
HIGHEST = 5.0  # thresholds above the minimum that are drawn of a profile


def draw_profile(profile: Profile, names: Names) -> Picture:
    """The criterion along each parameter with its threshold, the interval, and the parabola of the curvature."""
    shown = choose_names(names, profile.curves, "parameter")
    rows = [(_draw_curve(profile[name], add_unit(name, profile.units)),) for name in shown]
    level = f"{100 * profile.level:g} %"
    parts = [f"{name} {_write_interval(profile[name])}" for name in shown]
    title = f"profiles of {profile.model}, intervals of {level}"
    alt = f"The criterion along each parameter of {profile.model}; intervals of {level}: {', '.join(parts)}."
    told = [", ".join(parts), "" if profile.status.ok else profile.status.sentence]
    left_out = len(profile.curves) - len(shown) if names is None else 0
    return arrange(title, told, rows, alt, left_out=left_out, what="parameter", row_height=190)


def _write_interval(curve: ProfileCurve) -> str:
    ends = [
        f"{'open at ' if is_open else ''}{write_value(end)}" if np.isfinite(end) else "open"
        for end, is_open in zip(curve.interval, curve.open, strict=True)
    ]
    return f"{ends[0]} … {ends[1]}"


def _draw_curve(curve: ProfileCurve, label: str) -> Panel:
    traces: list[Trace] = [
        Line("criterion above its minimum", curve.values, curve.cost, BLUE, marker="circle"),
    ]
    half = 0.5 * (curve.wald[1] - curve.wald[0])
    if np.isfinite(half) and half > 0.0:
        near = np.linspace(curve.values[0], curve.values[-1], 81)
        parabola = curve.threshold * ((near - curve.estimate) / half) ** 2
        near = near[parabola <= 1.5 * max(curve.threshold, float(np.nanmax(curve.cost)))]
        parabola = curve.threshold * ((near - curve.estimate) / half) ** 2
        traces.append(Line("parabola of the curvature", near, parabola, GREY, "dot"))
    traces.append(Rule("threshold", curve.threshold, VERMILLION, vertical=False))
    for end, is_open in zip(curve.interval, curve.open, strict=True):
        if not is_open and np.isfinite(end):
            traces.append(Rule("end of the interval", end, INK, dash="dot"))
    traces.append(Rule("estimate", curve.estimate, GREY, dash="solid"))
    return Panel(tuple(traces), Axis(label), Axis("criterion above minimum", range=_choose_heights(curve)))


def _choose_heights(curve: ProfileCurve) -> tuple[float, float] | None:
    """Up to a few thresholds, where a curve that leaves them far behind would press all else into a line."""
    highest = float(np.nanmax(curve.cost))
    return (-0.3 * curve.threshold, HIGHEST * curve.threshold) if highest > HIGHEST * curve.threshold else None


def draw_identifiability(result: Identifiability, names: Names) -> Picture:
    """Singular values, and the components of each direction as cells, the least determined below."""
    components = {name: None for direction in result.directions for name in direction.weights}
    shown = list(components) if names is None else choose_names(names, components, "parameter")
    directions = result.directions
    values = np.array([[direction.weights[name] for name in shown] for direction in directions])
    texts = tuple(tuple(map(write_cell, row)) for row in values)
    numbers = tuple(f"{k + 1}: {direction.verdict}" for k, direction in enumerate(directions))
    ranks = np.arange(len(directions), dtype=float)
    determined = np.array([direction.verdict == "determined" for direction in directions])
    sizes = np.asarray(result.singular_values, dtype=float)
    bars = [Bars("determined", ranks[determined], sizes[determined], BLUE)] if determined.any() else []
    bars += (
        [Bars("not determined", ranks[~determined], sizes[~determined], VERMILLION, True)]
        if (~determined).any()
        else []
    )
    counts = tuple(str(k + 1) for k in range(len(directions)))
    upper = Panel(tuple(bars), Axis("direction", labels=counts), Axis("singular value", log=bool(np.any(sizes > 0.0))))
    cells = Cells("component", values, texts, -1.0, 1.0)
    lower = Panel((cells,), Axis("parameter", labels=tuple(shown)), Axis("direction", labels=numbers, descending=True))
    title = f"identifiability of {result.model}: condition number {write_value(result.condition, 3)}"
    worst = directions[-1]
    strongest = max(shown, key=lambda name: abs(worst.weights[name]))
    alt = (
        f"Of {counted(len(directions), 'direction')} of the parameters of {result.model}, {int(determined.sum())} are "
        f"determined; the least determined one points mostly along {strongest}."
    )
    height = max(150, 26 * len(directions) + 40)
    return arrange(title, [], [(upper,), (lower,)], alt, row_height=height)
