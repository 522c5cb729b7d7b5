"""`profile`: intervals from how the criterion grows when one parameter is moved and all others follow.

With v(c) the minimum of the criterion over the other parameters when φ_j = c, the interval at the level of the quantile
q ends where

    v(c) − v(φ̂_j) = ½ q² λ_j,   λ_j = cov_jj / (H⁻¹)_jj.

λ_j is how much the variance of the estimate (sandwich and Monte-Carlo error) exceeds that of white residuals of unit
size, so that for a quadratic criterion the interval is that of `Fit.conf_int`. For others it need not be symmetric, and
an end that the criterion never reaches within the bounds is open.

Reference: D. M. Bates, D. G. Watts, Nonlinear Regression Analysis and Its Applications, Wiley (1988), section 6.1.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal.data import FrozenMapping, frozen
from daedal.errors import EstimationError, as_float, check_whole_number, interruptible, is_real, look_up, quoted, show
from daedal.estimation import Coordinate, Fit
from daedal.jobs import run_jobs
from daedal.linear import one_thread
from daedal.progress import Progress
from daedal.simulation import Status
from daedal.tables import add_unit, align_columns, make_frame, stack_frames, write_html
from daedal.validation.arguments import check_fit, check_names
from daedal.validation.tracing import Ground, Trace, prepare_ground, trace

if TYPE_CHECKING:
    import pandas

MOST_POINTS = 10_000
FINISHED = Status(True, "All intervals were followed to their ends.")
SIDES = ("lower", "upper")
ROUNDING = 1e-12  # of the values looked at: what is left of a zero
BETTER = 1e-3  # decrease of the criterion, in units of λ, that counts as another minimum


@final
@dataclass(frozen=True, eq=False)
class ProfileCurve:
    """The criterion along one parameter, all others following.

    Attributes
    ----------
    values
        Of the parameter, increasing, (value,).
    cost
        The criterion there minus its minimum, (value,).
    params
        Name → value of every parameter along the way, (value,).
    interval, open
        Where the cost reaches the threshold; an end that is open is the bound, or infinite without one.
    wald
        The interval of `Fit.conf_int`, from the curvature alone.
    """

    name: str
    estimate: float
    values: np.ndarray
    cost: np.ndarray
    params: Mapping[str, np.ndarray]
    threshold: float
    interval: tuple[float, float]
    open: tuple[bool, bool]
    wald: tuple[float, float]


@final
@dataclass(frozen=True, eq=False)
class Profile:
    """Profiles of parameters; `profile["k"]` is one, `profile.intervals["k"]` its interval.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, profile, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> found = profile(fit(decay, data, free=["k"]))
    >>> [round(end, 2) for end in found.intervals["k"]]
    [0.96, 1.03]
    """

    model: str
    level: float
    curves: Mapping[str, ProfileCurve]
    status: Status
    notes: tuple[str, ...]
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether it was not interrupted."""
        return self.status.ok

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Name → interval."""
        return FrozenMapping({name: curve.interval for name, curve in self.curves.items()})

    def __getitem__(self, name: Any) -> ProfileCurve:
        return look_up(self.curves, name, EstimationError, "The profile has no parameter")

    def to_pandas(self) -> "pandas.DataFrame":
        """The criterion above its minimum, and all parameters, over `profiled` and the `number` of the point."""
        frames = {
            name: make_frame("number", range(curve.cost.size), {"cost": curve.cost, **curve.params})
            for name, curve in self.curves.items()
        }
        return stack_frames(["profiled"], frames, self.units)

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> list[str]:
        percent = f"{100 * self.level:g} %"
        rows = [["", "estimate", f"{percent} from the profile", "from the curvature", ""]]
        for name, curve in self.curves.items():
            sides = [side for side, is_open in zip(("below", "above"), curve.open, strict=True) if is_open]
            remark = f"OPEN {' AND '.join(sides)}" if sides else ""
            rows.append(
                [
                    add_unit(name, self.units),
                    _format_estimate(curve),
                    _format_interval(curve.interval),
                    _format_interval(curve.wald),
                    remark,
                ]
            )
        said = [*([] if self.status.ok else [str(self.status)]), *self.notes]
        return [f"profiles of '{self.model}'", *align_columns(rows), *(f"  {line}" for line in said)]

    def _repr_html_(self) -> str:
        return write_html(self._list_lines())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.curves)

    __repr__ = __str__


def _format_estimate(curve: ProfileCurve) -> str:
    """Zero where it is at a bound of zero, but for rounding."""
    at_zero = 0.0 in curve.interval and abs(curve.estimate) < ROUNDING * np.ptp(curve.values)
    return f"{0.0 if at_zero else curve.estimate:.6g}"


def _format_interval(ends: tuple[float, float]) -> str:
    return " … ".join(f"{end:.5g}" for end in ends) if not np.isnan(ends).any() else "—"


@interruptible
@one_thread
def profile(fit: Fit, names: Iterable[Any] | None = None, *, level: float = 0.95, points: int = 6) -> Profile:
    """Confidence intervals that follow the criterion instead of its curvature at the estimate.

    Parameters
    ----------
    fit
        What `fit` returned.
    names
        Estimates to profile; all of them by default.
    level
        Probability that an interval covers the truth.
    points
        Values on each side from the estimate to the end of the interval, about.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, k = symbols("x k")
    >>> decay = Model(
    ...     name="decay", unknowns=[x], equations={"rate": der(x) == -k * x}, initial={x: 1.0}, outputs={"x": x},
    ...     parameters={k: 2.0},
    ... )
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> low, high = profile(fit(decay, data, free=["k"])).intervals["k"]
    >>> round(low, 2), round(high, 2)
    (0.96, 1.03)
    """
    check_fit("profile", fit)
    chosen = check_names("profile", names, fit.estimates)
    if not is_real(level) or not 0.0 < as_float(level) < 1.0:
        raise EstimationError(f"The level must lie between 0 and 1, got {show(level)}.", "Write level=0.95.")
    sentence = "The points must be a whole number from 2 on"
    points = check_whole_number(points, EstimationError, sentence, "Write points=6.", least=2)
    if points > MOST_POINTS:
        raise EstimationError(f"{points} points on each side are too many: each is a search.", "Write points=6.")
    level = float(level)
    with Progress(f"profiling '{fit.model.name}':", remedy="profile fewer names, or lower points") as progress:
        progress.stage(f"profile of {', '.join(chosen[:8])}")
        shared = prepare_ground(fit, level, progress)
        sides = _trace_sides(shared, chosen, points)
    curves = {name: _make_curve(shared, name, *pair) for name, pair in sides.items()}
    cut = [name for name, pair in sides.items() if any(side.interrupted for side in pair)]
    if not curves:
        raise KeyboardInterrupt
    missing = [name for name in chosen if name not in curves]
    status = _describe_interrupt(cut, missing) if cut or missing else FINISHED
    units = FrozenMapping({name: fit[name].unit for name in curves if fit[name].unit})
    return Profile(fit.model.name, level, FrozenMapping(curves), status, tuple(_list_notes(shared, curves)), units)


def _describe_interrupt(cut: list[str], missing: list[str]) -> Status:
    """What has only some of its points, and what has none."""
    within = f" within {quoted(cut)}, whose interval is open where its end was not reached" if cut else ""
    before = f"{' and' * bool(cut)} before {quoted(missing)}" if missing else ""
    return Status(False, f"The profile was interrupted{within}{before}.", "Run it again to finish.", interrupted=True)


def _list_notes(shared: Ground, curves: Mapping[str, ProfileCurve]) -> list[str]:
    fit = shared.fit
    notes = [note for note in shared.objective.capabilities.notes if note not in fit.notes]
    lower = [name for name, curve in curves.items() if curve.cost.min() < -BETTER * curve.threshold]
    if lower:
        best = min((curves[name] for name in lower), key=lambda curve: curve.cost.min())
        place = int(np.argmin(best.cost))
        start = ", ".join(f"'{key}': {column[place]:.6g}" for key, column in best.params.items())
        notes.append(f"the profile of {quoted(lower)} goes below the minimum: fit again with starts=[{{{start}}}]")
    for curve in curves.values():
        notes += _describe_ends(curve)
    if not fit.status.ok:
        notes.append("the fit did not end at a minimum, so these are no intervals yet")
    return notes


def _describe_ends(curve: ProfileCurve) -> list[str]:
    """Why an end is open, and values beyond an end that are as good as those inside."""
    notes = []
    for side, toward, is_open, end, last in zip(
        SIDES, ("down", "up"), curve.open, curve.interval, curve.values[[0, -1]], strict=True
    ):
        if is_open and np.isclose(end, last, rtol=1e-6, atol=0.0):
            notes.append(f"{curve.name}: its {side} bound, {end:.5g}, is reached before the threshold")
        elif is_open:
            notes.append(f"{curve.name}: the threshold is not reached {toward} to {last:.5g}")
    low, high = curve.interval
    beyond = curve.values[(curve.cost < curve.threshold) & ((curve.values < low) | (curve.values > high))]
    if beyond.size:
        shown = ", ".join(f"{value:.5g}" for value in beyond)
        notes.append(f"{curve.name}: below the threshold again at {shown}, outside the interval")
    return notes


def _trace_sides(shared: Ground, names: Sequence[str], points: int) -> dict[str, tuple[Trace, Trace]]:
    """Below and above the estimate of each name, in threads; an interrupt keeps what has at least one value."""
    sides = list(product(names, (-1.0, 1.0)))
    traces = dict.fromkeys(sides, Trace((), None, interrupted=True))

    def follow(side: tuple[str, float]) -> None:
        traces[side] = trace(shared, shared.fit.coordinates.names.index(side[0]), side[1], points)
        if traces[side].interrupted:  # so are the others
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):  # each trace says whether it was interrupted
        run_jobs([partial(follow, side) for side in sides], lambda done: shared.progress.expect(done / len(sides)))
    pairs = {name: (traces[name, -1.0], traces[name, 1.0]) for name in names}
    return {name: pair for name, pair in pairs.items() if any(side.passed or not side.interrupted for side in pair)}


def _make_curve(shared: Ground, name: str, below: Trace, above: Trace) -> ProfileCurve:
    fit = shared.fit
    space = fit.coordinates
    place = space.names.index(name)
    rows = [*below.passed[::-1], shared.minimum, *above.passed]
    theta = np.array([space.natural(row.point) for row in rows])
    item = space.items[place]
    ends = [_convert_end(item, side.end, bound) for side, bound in ((below, item.lower), (above, item.upper))]
    return ProfileCurve(
        name=name,
        estimate=fit.estimates[name].value,
        values=frozen(theta[:, place].copy()),
        cost=frozen(np.array([row.value for row in rows]) - shared.minimum.value),
        params=FrozenMapping({key: frozen(theta[:, k].copy()) for k, key in enumerate(space.names)}),
        threshold=0.5 * float(shared.quantiles[place]) ** 2 * float(shared.factors[place]),
        interval=(ends[0], ends[1]),
        open=(below.end is None, above.end is None),
        wald=fit.conf_int(shared.level)[name],
    )


def _convert_end(item: Coordinate, end: float | None, bound: float) -> float:
    """An end of φ as the parameter itself; the bound where it is open."""
    if end is None:
        return bound
    return float(np.exp(end)) if item.logarithmic else end
