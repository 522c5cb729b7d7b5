"""Figure 1 by `fit`: each data set on its own, as any measured one would be fitted, the wind ignored and not.

- `OutputError`: one simulation without wind;
- `SimulationPEM`: cost (3a) of the paper, the mean over M realizations, without its bias Var(ŷ)/M;
- `SimulationPEM(whiten=True)`: the same after filtering by an autoregression of its residual;
- `Likelihood(method="particle")`, which the paper does not have, for few samples: all of them, from the start at rest.
  `Likelihood()` would choose particles by itself, as the wind acts through its square, and say so for each data set.

Every fit starts away from the truth. Data sets do not share realizations: what these err by averages out over them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from daedal.data import Dataset
from daedal.estimation import Likelihood, OutputError, SimulationPEM, describe, fit
from daedal.models import Model, Parameter
from daedal.papers.kept_pieces import Take, make_anew, refuse_interrupted
from daedal.papers.pendulum import experiment
from daedal.papers.pendulum.estimates import Estimates, Size, measure_wind, simulate_data_sets, simulate_grid
from daedal.progress import Progress

START = 8.0
Choice = OutputError | SimulationPEM | Likelihood
Criteria = Mapping[str, Choice]  # by names for files


def fit_data_sets(reading: experiment.Reading, size: Size, take: Take = make_anew, *, short: bool = False) -> Estimates:
    """Fit every data set by every criterion; an interrupt keeps those that are finished, if there are two.

    `short` records have no samples to leave out, and few enough for a likelihood.
    """
    (samples,) = size.samples
    times, inputs = experiment.list_times(samples), {"u": experiment.make_push(reading, samples)}
    truth, grid = np.array([experiment.TRUTH]), experiment.GRID
    free = Parameter(START, lower=float(grid[0]), upper=float(grid[-1]))
    calm = simulate_grid(experiment.make_pendulum(reading, windy=False), reading.free, times, inputs, 1, truth)
    windy = simulate_grid(experiment.make_pendulum(reading), reading.free, times, inputs, size.realizations, truth)
    data_sets = [
        Dataset(times, inputs=inputs, outputs={"angle": angle}, t0=0.0)
        for angle in simulate_data_sets(reading, times, inputs, size.data_sets)
    ]
    criteria = _list_short(size) if short else _list_criteria(size)
    rows, interrupted = _fit_each(
        experiment.make_pendulum(reading).with_parameters({reading.free: free}),
        reading.free,
        data_sets,
        criteria,
        lambda number, make: take(f"{reading.name}_{samples}_{number}", make),
    )
    names = [describe(criterion) for criterion in criteria.values()]
    return Estimates(
        reading=reading,
        size=replace(size, data_sets=len(rows)),
        methods=dict(zip(names, criteria, strict=True)),
        values={(samples, name): column for name, column in zip(names, np.array(rows).T, strict=True)},
        wind=measure_wind(calm, windy, 0, 0 if short else experiment.TRANSIENT),
        interrupted=interrupted,
    )


def _list_criteria(size: Size) -> Criteria:
    """Those of the paper, after its transient."""
    transient, count = experiment.TRANSIENT * experiment.INTERVAL, size.realizations
    return {
        "output_error": OutputError(transient=transient),
        "simulation_pem": SimulationPEM(realizations=count, transient=transient, whiten=False),
        "simulation_pem_whitened": SimulationPEM(realizations=count, transient=transient, whiten=True),
    }


def _list_short(size: Size) -> Criteria:
    return {
        "output_error": OutputError(),
        "simulation_pem": SimulationPEM(realizations=size.realizations, whiten=False),
        "simulation_pem_whitened": SimulationPEM(realizations=size.realizations, whiten=True),
        "likelihood": Likelihood(method="particle"),
    }


def _fit_each(
    model: Model,
    free: str,
    data_sets: list[Dataset],
    criteria: Criteria,
    take: Callable[[int, Callable[[], list[float]]], list[float]],
) -> tuple[list[list[float]], bool]:
    """Estimates (data set, criterion) of the finished data sets, and whether it was interrupted."""
    rows: list[list[float]] = []
    try:
        with Progress("fitting: data set", end=len(data_sets)) as progress:
            for number, data in enumerate(data_sets):
                progress(number)
                make = partial(_fit_by_all, model, free, data, criteria, number)
                rows.append(take(number, make))
    except KeyboardInterrupt:
        if len(rows) < 2:
            raise
        return rows, True
    return rows, False


def _fit_by_all(model: Model, free: str, data: Dataset, criteria: Criteria, number: int) -> list[float]:
    return [_fit(model, free, data, criterion, number) for criterion in criteria.values()]


def _fit(model: Model, free: str, data: Dataset, criterion: Choice, number: int) -> float:
    fitted = fit(model, data, free=[free], criterion=criterion, solver=experiment.SOLVER, rng=number)
    return refuse_interrupted(fitted).params[free]
