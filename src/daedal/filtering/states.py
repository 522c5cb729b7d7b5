"""`estimate_states`: what the samples say about any variable of a model, measured or not.

Filtered: from the samples up to that time; predicted: from those up to a horizon before it; smoothed: from all of them.
Mean and covariance of the state come from the filter and the smoother (`daedal.kernels.kalman`), variables are rows of
the standard form (Gerdin et al. 2006, theorem 5 and equation (19)), algebraic ones too. Open values at the start are
estimated from the same samples (`state_law` beside this file), and what is unknown of them is part of every standard
deviation; what depends on a direction of them that no sample shows has an infinite one. Models that are not linear
have estimates around their most probable path, or by the extended filter (`nonlinear`).

Reference: M. Gerdin, T. B. Schön, T. Glad, F. Gustafsson, L. Ljung, On parameter and state estimation for linear
differential-algebraic equations, 2006.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from daedal import filtering
from daedal.analysis import is_linear
from daedal.data import Dataset, FrozenMapping, frozen, index_times, short
from daedal.errors import EstimationError, counted, interruptible, look_up
from daedal.experiments import describe_absent, unite_units
from daedal.filtering.arguments import Estimated, check_arguments, choose_rows, choose_times, read_subject
from daedal.filtering.experiment import InitialCondition
from daedal.filtering.horizon import move_ahead
from daedal.filtering.parameter_point import Point
from daedal.filtering.readings import count_orders
from daedal.filtering.state_law import FilterPass, Law
from daedal.linear import one_thread
from daedal.memory import check_memory
from daedal.models import Model
from daedal.progress import announce
from daedal.systems import System
from daedal.tables import add_unit, align_columns, make_frame, stack_frames, write_html

if TYPE_CHECKING:
    from datetime import datetime

    import pandas

Kind = Literal["filtered", "smoothed", "predicted"]
PER_TIME = 350.0, 6e-6  # bytes and seconds for each time: at least
HIDDEN = 1e-9  # of what a hidden direction does to a variable, relative to what it does to the state: rounding


@final
@dataclass(frozen=True, eq=False)
class StateEstimate:
    """Mean and standard deviation of variables over time; `estimate["x"]` is the mean of one.

    Attributes
    ----------
    times
        When, (time,).
    mean, std
        Variable → (time,); an infinite standard deviation where the samples say nothing.
    kind, horizon
        From which samples: "smoothed" from all, "filtered" from those up to each time, "predicted" from those up to a
        horizon before it (None: up to the sample before).
    units
        Variable, or "time" → text, as the model or the data declare them.
    origin
        The date at time 0, where the data tell it.

    Examples
    --------
    >>> from daedal import Dataset, Model, WhiteNoise, der, estimate_states, symbols
    >>> x, w = symbols("x w")
    >>> walk = Model(
    ...     name="walk", equations={"walk": der(x) == w}, unknowns=[x], outputs={"x": x},
    ...     disturbances={w: WhiteNoise(intensity=1.0)}, measurement_noise={"x": 1.0},
    ... )
    >>> estimate = estimate_states(walk, Dataset([0.0, 1.0, 2.0], outputs={"x": [0.0, 1.0, 2.0]}))
    >>> estimate["x"].round(3), estimate.std["x"].round(3)
    (array([0.5, 1. , 1.5]), array([0.791, 0.707, 0.791]))
    """

    model: str
    kind: Kind
    horizon: float | None
    times: np.ndarray
    mean: Mapping[str, np.ndarray]
    std: Mapping[str, np.ndarray]
    notes: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    origin: "datetime | None" = None

    def __getitem__(self, name: str) -> np.ndarray:
        return look_up(self.mean, name, EstimationError, f"The states of '{self.model}' have nothing called")

    def __iter__(self) -> Iterator[str]:
        return iter(self.mean)

    @property
    def variables(self) -> tuple[str, ...]:
        """What was estimated."""
        return tuple(self.mean)

    def to_pandas(self) -> "pandas.DataFrame":
        """Mean and standard deviation over `variable` and `time`."""
        frames = {
            name: make_frame("time", index_times(self.times, self.origin), {"mean": mean, "std": self.std[name]})
            for name, mean in self.mean.items()
        }
        return stack_frames(["variable"], frames, self.units)

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> list[str]:
        ahead = f" {short(self.horizon)} ahead" if self.horizon else ""
        lines = [
            f"states of '{self.model}', {self.kind}{ahead}: {counted(self.times.size, 'time')} from "
            f"{short(float(self.times[0]))} to {short(float(self.times[-1]))}"
            f"{f' {clock}' if (clock := self.units.get('time')) else ''}"
            f"{'' if self.origin is None else f', since {self.origin}'}"
        ]
        rows = [["", "from", "to", "std median", "largest"]]
        for name, mean in self.mean.items():
            std = self.std[name]
            numbers = (mean.min(), mean.max(), np.median(std), std.max())
            rows.append([add_unit(name, self.units), *(f"{number:.5g}" for number in numbers)])
        return [*lines, *align_columns(rows), *(f"  {note}" for note in self.notes)]

    def _repr_html_(self) -> str:
        return write_html(self._list_lines())

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.mean)

    __repr__ = __str__


@interruptible
@one_thread
def estimate_states(
    model: Model | System | Estimated,
    data: Dataset,
    *,
    variables: Sequence[Any] | None = None,
    kind: Kind = "smoothed",
    horizon: float | None = None,
    times: Any = None,
) -> StateEstimate:
    """Estimate variables of a model from data: unknowns, algebraic ones too, outputs and disturbances, by name.

    Exact for linear models. For others "smoothed" is the most probable path, with the band of the model linearised
    around it; "filtered" and "predicted" come from the extended Kalman filter. Parameters count as known: what is
    uncertain of a fit is not part of the standard deviations.

    Parameters
    ----------
    model
        A Model or System, or a Fit, whose estimates are used.
    data
        A Dataset: one experiment.
    variables
        Names, or symbols; all unknowns by default.
    kind
        "smoothed" uses all samples, "filtered" those up to each time, "predicted" those before it.
    horizon
        With "predicted": how long before each time the last sample lies that is used, in the time unit of the data;
        by default the samples before that time.
    times
        When; by default at the samples.

    Examples
    --------
    >>> from daedal import Dataset, Model, WhiteNoise, der, symbols
    >>> x, v, w = symbols("x v w")
    >>> walk = Model(
    ...     name="walk", equations={"speed": der(x) == v, "push": der(v) == w}, unknowns=[x, v], outputs={"x": x},
    ...     disturbances={w: WhiteNoise(intensity=0.1)}, measurement_noise={"x": 0.1},
    ... )
    >>> data = Dataset([0.0, 1.0, 2.0, 3.0], outputs={"x": [0.0, 1.1, 1.9, 3.0]})
    >>> states = estimate_states(walk, data, variables=["v"])
    >>> states.mean["v"].round(1)
    array([1.1, 1. , 1. , 1.1])
    """
    system, values, condition = read_subject(model, data)
    check_arguments(data, kind, horizon)
    wanted, notes = choose_rows(system.model, variables)
    notes = (*notes, *describe_absent(system.model, [data]))
    queries = choose_times(data, times)
    _check_times(system, queries)
    if not is_linear(system.model, forced=True):
        return _estimate_nonlinear(system, data, values, condition, tuple(wanted), kind, horizon, queries, notes)
    point = Point(system.model, values, ())
    if kind == "predicted" and horizon:
        origins = np.maximum(queries - float(horizon), data.t0)
        sweep = FilterPass(system, data, point, condition, wanted, np.union1d(queries, origins), before=False)
        law = move_ahead(sweep, point, origins, queries, float(horizon))
        return _make_estimate(sweep, kind, float(horizon), queries, law, notes, data)
    sweep = FilterPass(system, data, point, condition, wanted, queries, before=kind == "predicted")
    law = sweep.smooth(queries) if kind == "smoothed" else sweep.filter(queries)
    return _make_estimate(sweep, kind, None, queries, law, notes, data)


def _check_times(system: System, queries: np.ndarray) -> None:
    """Refuse more times than can be held, and say it where there are so many that they take long."""
    size, seconds = PER_TIME
    subject = f"An estimate of the states of model '{system.model.name}' at {queries.size:.3g} times"
    check_memory(size * queries.size, subject, "Give fewer times.")
    work = f"Estimating states of model '{system.model.name}' at {queries.size:.3g} times"
    announce(work, seconds * queries.size, "to make it shorter, give fewer times")


def _estimate_nonlinear(
    system: System,
    data: Dataset,
    values: Mapping[str, float],
    condition: InitialCondition,
    variables: tuple[str, ...],
    kind: Kind,
    horizon: float | None,
    queries: np.ndarray,
    notes: tuple[str, ...],
) -> StateEstimate:
    """Around the most probable path, or by the extended filter."""
    ahead = None if horizon is None else float(horizon)
    states = filtering.estimate_nonlinear_states(system, data, values, condition, variables, kind, ahead, queries)
    return StateEstimate(
        model=system.model.name,
        kind=kind,
        horizon=ahead,
        times=frozen(queries.copy()),
        mean=FrozenMapping({name: frozen(states.mean[:, k].copy()) for k, name in enumerate(variables)}),
        std=FrozenMapping({name: frozen(states.std[:, k].copy()) for k, name in enumerate(variables)}),
        notes=(*notes, *states.notes),
        units=unite_units(system.model, [data]),
        origin=data.origin,
    )


def _make_estimate(
    sweep: FilterPass,
    kind: Kind,
    horizon: float | None,
    queries: np.ndarray,
    law: Law,
    notes: tuple[str, ...],
    data: Dataset,
) -> StateEstimate:
    """Rows of the wanted variables."""
    stochastic = sweep.experiment.stochastic
    rows = [stochastic.rows.index(row) for row in sweep.wanted.values()]
    orders = count_orders(stochastic, sweep.evolution, rows, sweep.signals)
    places = np.searchsorted(sweep.line.times, queries)
    forced = sweep.experiment.readings.compute_direct(sweep.evolution, rows, orders, places).value
    C = sweep.evolution.C.value[rows]
    mean = law.mean @ C.T + forced
    turned = np.einsum("vn,kni->kvi", C, law.opened)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = np.einsum("vn,knm,vm->kv", C, law.covariance, C)
    variance = variance + np.einsum("kvi,kij,kvj->kv", turned, law.inverse * np.ones((len(turned), 1, 1)), turned)
    std = np.where(_find_undetermined(C, law), np.inf, np.sqrt(np.maximum(variance, 0.0)))
    names = list(sweep.wanted)
    for k, name in enumerate(names):
        if np.isnan(mean[:, k]).any() or np.isnan(std[:, k]).any():
            raise EstimationError(
                f"What the samples say about '{name}' is beyond all numbers.",
                f"Check the sizes of the noises and of the measurement noise, or give '{name}' in a larger unit.",
            )
    opened = sweep.experiment.plan.open
    said = (f"at the start {', '.join(opened)} {'is' if len(opened) == 1 else 'are'} estimated too",)
    return StateEstimate(
        model=stochastic.model.name,
        kind=kind,
        horizon=horizon,
        times=frozen(queries.copy()),
        mean=FrozenMapping({name: frozen(mean[:, k].copy()) for k, name in enumerate(names)}),
        std=FrozenMapping({name: frozen(std[:, k].copy()) for k, name in enumerate(names)}),
        notes=(*notes, *sweep.experiment.readings.unseen, *(said if opened else ())),
        units=unite_units(stochastic.model, [data]),
        origin=data.origin,
    )


def _find_undetermined(C: np.ndarray, law: Law) -> np.ndarray:
    """Which rows move with a direction of the open values that no sample shows, by more than rounding, (time, row)."""
    if not law.hidden.any():
        return np.zeros((len(law.mean), len(C)), dtype=bool)
    X = law.opened @ law.hidden
    natural = np.linalg.norm(C, axis=1)[:, None] * np.linalg.norm(X, axis=1)[:, None]
    return (np.abs(C @ X) > HIDDEN * natural).any(axis=2)
