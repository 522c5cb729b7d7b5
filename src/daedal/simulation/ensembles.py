"""`ensemble`: mean and variance of a model's outputs over random disturbances, without keeping the trajectories.

Many sets of parameter values may be simulated on the same paths, and sensitivities of the mean with respect to free
parameters come with it (common random numbers make both smooth in the parameters).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal import data
from daedal.data import FrozenMapping, frozen, short
from daedal.disturbances import make_seed
from daedal.errors import SimulationError, check_whole_number, interruptible, list_entries, nearest, show
from daedal.models import as_name
from daedal.simulation.ensemble_solver import Lanes, prepare
from daedal.simulation.lanes import UNIT, Cut, Failure, Moments, Run, collect_moments, refuse_long_steps
from daedal.simulation.request import check_memory, check_realizations, check_request, check_times, check_values
from daedal.simulation.solver import REACHED, Status
from daedal.symbolic import Expression

if TYPE_CHECKING:
    from datetime import datetime

    import pandas


@final
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Moments of the outputs over realizations; arrays are (time,), or (values, time) for several sets of values.

    Attributes
    ----------
    mean, variance
        Output → moment over the realizations that did not fail.
    sensitivities
        Parameter → output → derivative of the mean.
    trajectories
        Output → the realizations kept, (realization, time), or (values, realization, time).
    error
        Estimated error of the steps, relative to the largest value of each output.
    realizations
        How many the moments are of.
    failures
        Realizations that were left out, with time and reason.
    status
        How it ended; interrupted, it has the realizations that were finished, and the others are NaN among those kept;
        if none was, all that were begun, up to the time that all of them reached, and NaN from there on.
    units
        Output, or "time" → text, as the model or the data declare them.
    origin
        The date at time 0, where the data that drive it tell it.

    Examples
    --------
    >>> from daedal import FilteredNoise, Model, der, ensemble, symbols
    >>> x, w = symbols("x w")
    >>> noise = FilteredNoise.low_pass(std=1.0, time_constant=0.5)
    >>> lag = Model(
    ...     name="lag", equations={"lag": der(x) == w - x}, unknowns=[x], outputs={"x": x}, disturbances={w: noise}
    ... )
    >>> many = ensemble(lag, [0.0, 1.0, 2.0], realizations=200, rng=1)
    >>> many.mean["x"].shape, bool(many.variance["x"][-1] > 0.1)
    ((3,), True)
    """

    model: str
    solver: str
    times: np.ndarray
    mean: Mapping[str, np.ndarray]
    variance: Mapping[str, np.ndarray]
    sensitivities: Mapping[str, Mapping[str, np.ndarray]]
    trajectories: Mapping[str, np.ndarray]
    realizations: int
    error: float
    failures: tuple[Failure, ...]
    seed: int
    notes: tuple[str, ...]
    status: Status = REACHED
    units: Mapping[str, str] = field(default_factory=dict)
    origin: "datetime | None" = None

    def to_pandas(self) -> "pandas.DataFrame":
        """Moments and derivatives of the mean over `output` and `time`; of several sets of values over `values` too."""
        from daedal.tables import make_frame, stack_frames

        def tabulate(output: str, place: Any) -> "pandas.DataFrame":
            slopes = {f"mean by {name}": rows[output][place] for name, rows in self.sensitivities.items()}
            moments = {"mean": self.mean[output][place], "variance": self.variance[output][place]}
            return make_frame("time", data.index_times(self.times, self.origin), moments | slopes)

        several = next(iter(self.mean.values())).ndim > 1
        if not several:
            return stack_frames(["output"], {name: tabulate(name, ...) for name in self.mean}, self.units)
        frames = {(k, name): tabulate(name, k) for name, rows in self.mean.items() for k in range(len(rows))}
        return stack_frames(["values", "output"], frames, self.units)

    def __str__(self) -> str:
        from daedal.tables import add_unit

        lines = [
            f"ensemble of '{self.model}': {self.realizations} realizations of {self.times.size} samples, {self.solver}",
            f"  estimated error of the steps: {self.error:.0e} of the largest values; seed {self.seed}",
        ]
        lines += [f"  {self.status}"] * (not self.status.ok) + [f"  {note}" for note in self.notes]
        if self.failures:
            first = min(self.failures, key=lambda failure: failure.time)
            lines.append(
                f"  {len(self.failures)} failed and were left out, the first at {first.time:g}: {first.reason}"
            )
        for name, mean in self.mean.items():
            deviation = np.sqrt(np.mean(self.variance[name]))
            range_of = f"mean from {mean.min():.6g} to {mean.max():.6g}"
            lines.append(f"  {add_unit(name, self.units)}: {range_of}, standard deviation {deviation:.4g}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    __repr__ = __str__


@interruptible
def ensemble(
    model: Any,
    times: Any,
    *,
    realizations: int,
    inputs: Mapping[Any, Any] | None = None,
    values: Mapping[Any, float] | Sequence[Mapping[Any, float]] | None = None,
    sensitivities: Sequence[Any] = (),
    keep: int = 0,
    rng: int | np.random.Generator | None = None,
    solver: Lanes | None = None,
    t0: float | None = None,
) -> Ensemble:
    """Mean and variance of the outputs over random disturbances.

    Parameters
    ----------
    model, times, inputs, t0
        As for `simulate`.
    realizations
        How many paths.
    values
        Parameter → number; or a list of such mappings, all simulated on the same paths.
    sensitivities
        Parameters with respect to which the mean is differentiated.
    keep
        How many realizations, the first ones, to keep whole.
    rng
        Seed or Generator; path m depends on nothing but the seed, this verb and m.
    solver
        `Lanes(...)`.

    Examples
    --------
    >>> from daedal import FilteredNoise, Model, der, symbols
    >>> x, w = symbols("x w")
    >>> noise = FilteredNoise.low_pass(std=1.0, time_constant=0.5)
    >>> square = Model(
    ...     name="sq", equations={"lag": der(x) == w**2 - x}, unknowns=[x], outputs={"x": x}, disturbances={w: noise}
    ... )
    >>> bool(ensemble(square, [0.0, 5.0], realizations=400, rng=1).mean["x"][-1] > 0.8)  # squares do not average out
    True
    """
    if not (solver is None or isinstance(solver, Lanes)):
        raise SimulationError(
            f"The solver of an ensemble must be Lanes, got {show(solver)}.", "Write solver=Lanes(step=0.01)."
        )
    asked = check_request("ensemble", model, times, inputs, t0)
    count = check_realizations(realizations)
    outputs = tuple(asked.system.model.outputs)
    if not outputs:
        raise SimulationError(
            f"Model '{asked.system.model.name}' has no outputs.", "Declare outputs={'name': expression}."
        )
    if isinstance(sensitivities, (str, Expression)):
        raise SimulationError(
            f"The sensitivities must be a list of parameters, got {show(sensitivities)}.", "Write ['k']."
        )
    several = isinstance(values, Sequence) and not isinstance(values, (str, Mapping))
    sets = [check_values(one) for one in values] if several and values is not None else [check_values(values)]
    if not sets:
        raise SimulationError("The list of values of an ensemble is empty.", "Give at least one mapping.")
    if (entries := list_entries(sensitivities)) is None:
        raise SimulationError(
            f"The sensitivities must be a list of parameters, got {show(sensitivities)}.", "Write sensitivities=['k']."
        )
    free = tuple(_check_parameter(asked.system.model, name) for name in entries)
    kept, rows = _check_keep(keep, count), len(outputs) * (1 + len(free))
    numbers = (2 * -(-count // UNIT) * (rows + 1) + 2 * kept * len(outputs)) * len(sets) * asked.times.size
    check_times(asked.system, asked.times)
    check_memory(asked.system, 8 * numbers, "Take fewer realizations, values or samples, or keep fewer realizations.")
    seed = make_seed(np.random.default_rng() if rng is None else rng)
    run = prepare(
        asked.system,
        asked.times,
        asked.forcing,
        solver or Lanes(),
        values=sets,
        wanted=outputs,
        free=free,
        seed=seed,
        purpose="ensemble",
        noisy=True,
    )
    refuse_long_steps(run.plan)
    moments = collect_moments(run, count, kept, partly=True)
    found = _make_ensemble(run, outputs, free, several, moments, count, asked.notes)
    return replace(found, units=asked.units, origin=asked.origin)


def _check_parameter(model: Any, name: Any) -> str:
    key = as_name(name)
    if key not in model.parameters:
        raise SimulationError(f"Model '{model.name}' has no parameter '{key}'.", nearest(str(key), model.parameters))
    return key


def _check_keep(keep: Any, realizations: int) -> int:
    sentence = f"The realizations to keep must be a whole number from 0 to {realizations}"
    return check_whole_number(keep, SimulationError, sentence, "Write keep=10.", least=0, most=realizations)


def _describe_interrupt(times: np.ndarray, cut: Cut, finished: int, wanted: int) -> Status:
    if cut.samples == times.size:
        sentence = f"The ensemble was interrupted: {finished} of {wanted} realizations were finished."
        return Status(
            False, sentence, "Moments are those of the finished ones; run it again for all.", interrupted=True
        )
    last = short(float(times[cut.samples - 1]))
    sentence = f"The ensemble was interrupted after time {last}: {finished} of {wanted} realizations came that far."
    return Status(False, sentence, "The rest is NaN; run it again for all.", interrupted=True)


def _make_ensemble(
    run: Run,
    outputs: tuple[str, ...],
    free: tuple[str, ...],
    several: bool,
    moments: Moments,
    realizations: int,
    notes: tuple[str, ...],
) -> Ensemble:
    def name_rows(table: np.ndarray, first: int) -> FrozenMapping:
        rows = {name: table[:, first + i] if several else table[0, first + i] for i, name in enumerate(outputs)}
        return FrozenMapping({name: frozen(np.ascontiguousarray(row)) for name, row in rows.items()})

    finished, status = realizations, REACHED
    if moments.cut is not None:
        finished -= sum(map(len, moments.cut.missing))
        status = _describe_interrupt(run.times, moments.cut, finished, realizations)
    slopes = {name: name_rows(moments.mean, (k + 1) * len(outputs)) for k, name in enumerate(free)}
    return Ensemble(
        model=run.scenario.system.model.name,
        solver=run.text,
        times=run.times,
        mean=name_rows(moments.mean, 0),
        variance=name_rows(moments.variance, 0),
        sensitivities=FrozenMapping(slopes),
        trajectories=name_rows(moments.kept, 0),
        realizations=finished,
        error=run.plan.error,
        failures=moments.failures,
        seed=run.scenario.seed,
        notes=(*notes, *run.warnings),
        status=status,
    )
