"""Numbers at logarithmic axes: the same whoever draws them."""

import numpy as np

from daedal.report.picture import Axis, Panel, Trace

SHORT = 0.7  # decades of an axis that has room for more numbers than 1, 2 and 5
DECADES = 2.5  # from so many on powers of ten suffice


def find_ends(panel: Panel, axis: Axis, side: str) -> tuple[float, float] | None:
    """The least and the largest number on a logarithmic axis."""
    if axis.range is not None:
        return axis.range
    ends = [(values.min(), values.max()) for trace in panel.traces for values in _list_positive(trace, side)]
    return (float(min(low for low, _ in ends)), float(max(high for _, high in ends))) if ends else None


def list_ticks(low: float, high: float) -> list[float] | None:
    """Round numbers on a short axis, and a little beyond it; None where powers of ten suffice."""
    decades = float(np.log10(high / low))
    if decades >= DECADES:
        return None
    steps = (1.0, 2.0, 5.0) if decades > SHORT else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    powers = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 1)
    return [float(f"{step * 10.0**power:.3g}") for power in powers for step in steps]


def write_tick(value: float) -> str:
    """As many digits as it has, with a proper minus."""
    return f"{value:.6g}".replace("-", "−")


def _list_positive(trace: Trace, side: str) -> list[np.ndarray]:
    named = [getattr(trace, name, None) for name in ((side,) if side == "x" else ("y", "lower", "upper"))]
    arrays = [np.asarray(one, dtype=float) for one in named if one is not None]
    return [known for one in arrays if (known := one[np.isfinite(one) & (one > 0.0)]).size]
