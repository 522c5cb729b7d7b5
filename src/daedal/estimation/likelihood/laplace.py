"""`Likelihood(method="laplace")`: the most probable path of a nonlinear model, and the curvature around it.

Value and exact gradient are those of `daedal.filtering.nonlinear.laplace`, the curvature is the information of the
innovations of the linearised model, so that the search is Fisher's scoring. The path of the best point so far is where
the next search for a path begins; the first begins at rest, or from several paths where that is no way in.

Steps are chosen at the start of the search, and once more at its end. There errors follow from the curvature of log L
itself, by differences of its gradient: innovations of a nonlinear model are not normal, and their information promises
too much where disturbances multiply states (of 150 bilinear records: standard deviation of the score 36.0, root of the
curvature 37.8, of the information 53.8).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from daedal.analysis import check_noise
from daedal.errors import EstimationError, RefusalError, quoted
from daedal.estimation.criteria import Capabilities, Evaluation, Forecast, Part, fail_at, refuse_singular
from daedal.estimation.likelihood.moments import recommend_moments
from daedal.estimation.likelihood.open_starts import describe_open
from daedal.estimation.likelihood.referee import list_sides
from daedal.estimation.problem import Problem, check_visible
from daedal.experiments import Experiment, Series, check_enough, match_experiments
from daedal.filtering import (
    ExtendedFilter,
    Information,
    InitialCondition,
    Laplace,
    LinedUp,
    NonlinearExperiment,
    Normals,
    Point,
    are_same,
    find_crossed,
    find_path,
    find_paths,
    find_units,
    leave_kinks,
    line_up,
    refuse_unsuitable,
    regrid,
    run_extended_filter,
    settle_steps,
    simulate_outputs,
)
from daedal.models import as_tuple

JUDGE_IT = "; nothing has judged it: method='auto' does"
FEW = 3  # different steps that are told
LANES = 200  # paths whose mean and scatter are what a simulation says
APART = 0.5  # standard errors to either side, at which gradients are compared
FLATTEST, STEEPEST = 1e-3, 4.0  # curvature by information, beyond which a path has jumped, or there is no maximum
ASTRAY = 2.0  # times 𝒥 of the best path, beyond which one that began there is not the only one to try


def make_laplace_objective(problem: Problem, condition: InitialCondition) -> "LaplaceObjective":
    """Check the problem, and line it up; formulas with kinks are left as they are typed."""
    problem = replace(problem, system=leave_kinks(problem.system))
    model, space = problem.system.model, problem.coordinates
    refuse_unsuitable(problem.system, "Likelihood(method='laplace')", recommend_moments(model))
    experiments = match_experiments(problem.system, problem.data, factors=problem.factors)
    everything = [" ".join(as_tuple(key)) for key in model.disturbances]
    check_visible(problem, everything, accuracies=True, criterion="Likelihood")
    check_enough(experiments, len(space.items))
    verdict = check_noise(model)
    if not verdict.well_posed:
        first = verdict.findings[0]
        raise EstimationError(f"The samples of model '{model.name}' have no likelihood: {first.sentence}", first.remedy)
    lined = [
        line_up(experiment, space.values(space.start, number), condition)
        for number, experiment in enumerate(experiments)
    ]
    return LaplaceObjective(problem, experiments, tuple(lined), condition)


@dataclass(eq=False)
class _Memory:
    """The best path so far of each experiment, and whether its starts ended alike."""

    value: float = np.inf
    normals: dict[int, Normals] = field(default_factory=dict)
    heights: dict[int, float] = field(default_factory=dict)  # 𝒥 of these
    divided: set[int] = field(default_factory=set)


def tell_grids(experiments: Sequence[NonlinearExperiment]) -> tuple[str, None]:
    """Method and steps in words; how much shorter ones would change is a matter of the likelihood, and not kept."""
    texts = list(dict.fromkeys(one.text for one in experiments))
    return "; ".join(texts[:FEW]) + (f" and {len(texts) - FEW} more" if len(texts) > FEW else ""), None


@dataclass(frozen=True, eq=False)
class LaplaceObjective:
    """−log L as a function of φ."""

    problem: Problem
    experiments: tuple[Experiment, ...]
    lined: tuple[LinedUp, ...]
    condition: InitialCondition
    memory: _Memory = field(default_factory=_Memory)
    alone: bool = False  # nothing judges it
    said: tuple[str, ...] = ()  # notes of whoever made it

    @property
    def capabilities(self) -> Capabilities:
        """It says what it approximates."""
        return Capabilities(
            notes=self.notes,
            remarks=self.list_remarks,
            choose_steps=self.choose_steps,
            predict=self.predict,
            conclude=self.conclude,
            foresee=self.foresee,
            steps=tell_grids([lined.experiment for lined in self.lined]),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is open at the start."""
        opened = [lined.opened for lined in self.lined]
        return (*self.said, *describe_open(opened, self.experiments, diffuse=self.condition.open == "diffuse"))

    def list_remarks(self, evaluation: Evaluation, /) -> tuple[str, ...]:
        """What was approximated, and where that is doubtful."""
        lined = self.lined[0]
        how = f"the likelihood is Laplace's approximation around the most probable path ({lined.method}, steps of "
        return (
            f"{how}{lined.longest:.3g}){JUDGE_IT * self.alone}",
            *self.list_doubts(),
            *(self.doubt_kinks(evaluation.point) if self.alone else ()),
        )

    def doubt_kinks(self, point: np.ndarray) -> list[str]:
        """Where a path crosses the kink of a formula it has no derivatives."""
        switching = self.problem.system.reduction.switching
        if switching is None or not switching.bent:
            return []
        crossed: dict[str, None] = {}
        for number, lined in enumerate(self.lined):
            paths = [self.find(point, number).path.normals]
            crossed |= dict.fromkeys(find_crossed(lined, self.problem.coordinates.values(point, number), paths))
        if not crossed:
            return []
        return [
            f"the most probable path crosses the kink of {quoted(crossed)}, where Laplace's approximation does not "
            "hold: compare Likelihood(method='moments')"
        ]

    def list_doubts(self) -> tuple[str, ...]:
        """That there are several paths, where there are."""
        if not self.memory.divided:
            return ()
        return (
            "several paths explain the data about as well: Laplace's approximation takes one of them, and may be "
            "biased; compare Likelihood(method='moments') or 'particle'",
        )

    def choose_steps(self, point: np.ndarray) -> "LaplaceObjective":
        """With steps that suit a point, and paths of its own: searches from several starts do not see each other's."""
        space, settled = self.problem.coordinates, self.lined
        with suppress(RefusalError):  # what cannot be evaluated there is said by the evaluation
            settled = tuple(settle_steps(lined, space.values(point, number)) for number, lined in enumerate(self.lined))
        return replace(self, lined=settled, memory=_Memory())

    def refine(self, evaluation: Evaluation, /) -> "LaplaceObjective | None":
        """With shorter steps, where those chosen at the start are too long at the minimum."""
        space = self.problem.coordinates
        values = [space.values(evaluation.point, number) for number in range(len(self.lined))]
        settled = tuple(
            settle_steps(lined, own, self.memory.normals.get(number))
            for number, (lined, own) in enumerate(zip(self.lined, values, strict=True))
        )
        if all(new is old for new, old in zip(settled, self.lined, strict=True)):
            return None
        known = {
            number: regrid(normals, self.lined[number].experiment.grid, settled[number].experiment.grid)
            for number, normals in self.memory.normals.items()
        }
        return replace(self, lined=settled, memory=replace(self.memory, value=np.inf, normals=known))

    def __call__(self, point: np.ndarray) -> Evaluation:
        size, space = point.size, self.problem.coordinates
        value, gradient, curvature = 0.0, np.zeros(size), np.zeros((size, size))
        parts: list[Part] = []
        found: dict[int, Normals] = {}
        heights: dict[int, float] = {}
        try:
            with refuse_singular():
                for number in range(len(self.lined)):
                    laplace = self.find(point, number)
                    information = Information(laplace)
                    own = space.convert_slopes(np.eye(len(space.parameters)), point, number)
                    value += laplace.value
                    gradient += own @ laplace.gradient
                    curvature += own @ information.matrix @ own.T
                    parts += self._parts(number, information, own)
                    found[number], heights[number] = laplace.path.normals, laplace.path.value
        except RefusalError as error:
            return fail_at(point, error.sentence)
        if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(curvature).all()):
            return fail_at(point, "The likelihood or its gradient is not finite there.")
        if value < self.memory.value:
            self.memory.value, self.memory.normals, self.memory.heights = value, found, heights
        return Evaluation(point, value, gradient, curvature, parts=tuple(parts), loglik=-value)

    def conclude(self, evaluation: Evaluation) -> Evaluation:
        """With the curvature of −ℓ in place of the information, in the directions that this determines."""
        bounds = self.problem.coordinates.bounds
        return replace(evaluation, curvature=measure_curvature(evaluation, self.measure_gradient, bounds))

    def measure_gradient(self, point: np.ndarray) -> np.ndarray:
        """Of −ℓ alone; not a number where there is none."""
        space, gradient = self.problem.coordinates, np.zeros(point.size)
        try:
            with refuse_singular():
                for number in range(len(self.lined)):
                    own = space.convert_slopes(np.eye(len(space.parameters)), point, number)
                    gradient += own @ self.find(point, number).gradient
        except RefusalError:
            return np.full(point.size, np.nan)
        return gradient

    def find(self, point: np.ndarray, number: int) -> Laplace:
        """The most probable path of one experiment: from the best before, or else from all starts.

        Where a path that began at the best one explains the data far worse, it may have gone astray on the way.
        """
        space = self.problem.coordinates
        values = space.values(point, number)
        at = Point(self.problem.system.model, values, space.parameters)
        discrete = self.lined[number].experiment.at(at)
        known, ends = self.memory.normals.get(number), []
        if known is not None:
            with suppress(EstimationError):  # from the beginning, then
                ends.append(find_path(discrete, known))
                expected = 0.5 * discrete.experiment.measurements.count
                if ends[0].path.value <= ASTRAY * max(self.memory.heights.get(number, np.inf), expected):
                    return Laplace(ends[0])
        try:
            ends = sorted([*ends, *find_paths(discrete)], key=lambda end: end.path.value)
        except EstimationError:
            if not ends:
                raise
        if not are_same(ends):
            self.memory.divided.add(number)
        return Laplace(ends[0])

    def predict(self, point: np.ndarray) -> tuple[Forecast, ...]:
        """One step ahead, and simulated from the start."""
        return self.foresee(point, ())

    def foresee(self, point: np.ndarray, steps: Sequence[int]) -> tuple[Forecast, ...]:
        """The same, and further steps ahead: by the extended filter, which has not seen what it predicts."""
        forecasts = []
        for number in range(len(self.lined)):
            try:
                forecasts += self._foresee(point, number, steps)
            except RefusalError as error:
                raise EstimationError(
                    f"The fit cannot predict these data: {error.sentence}", "Compare it with others."
                ) from None
        return tuple(forecasts)

    def _foresee(self, point: np.ndarray, number: int, steps: Sequence[int]) -> list[Forecast]:
        laplace = self.find(point, number)
        discrete, grid = laplace.path.discrete, laplace.path.discrete.experiment.grid
        extended = run_extended_filter(discrete, laplace.at)
        times = self.experiments[number].drive.times
        points = grid.find_points(times)
        near = extended.see(extended.predicted)
        drawn = simulate_outputs(discrete, points, LANES, laplace.at)
        further = _look_further(extended, points, steps)
        forecasts = []
        for series in self.experiments[number].series:
            mine, row = series.places, series.row
            forecasts.append(
                Forecast(
                    series,
                    near[0][points[mine], row],
                    self._normalize(number, series, extended),
                    near[1][points[mine], row],
                    simulated=(drawn[mine, row].mean(axis=1), drawn[mine, row].std(axis=1)),
                    further={count: (mean[mine, row], std[mine, row]) for count, (mean, std) in further.items()},
                )
            )
        return forecasts

    def _normalize(self, number: int, series: Series, extended: ExtendedFilter) -> np.ndarray:
        """Innovations of a series in units of their standard deviation, NaN where there is no sample."""
        measurements = self.lined[number].experiment.measurements
        mine = measurements.owners[measurements.rows] == series.row
        residual = np.full(series.times.size, np.nan)
        places = measurements.places[measurements.samples[mine], series.row]
        residual[places] = extended.e[mine] / np.sqrt(extended.S[mine])
        return residual

    def _parts(self, number: int, information: Information, own: np.ndarray) -> list[Part]:
        """Innovations in units of their standard deviation, output by output."""
        measurements = self.lined[number].experiment.measurements
        e, S = information.innovations
        deviation, owners = np.sqrt(S.value), measurements.owners[measurements.rows]
        parts = []
        for series in self.experiments[number].series:
            output = measurements.outputs.index(series.output)
            mine = owners == output
            places = measurements.places[measurements.samples[mine], output]
            residual, spread, predicted = np.full((3, series.times.size), np.nan)
            residual[places], spread[places] = e.value[mine] / deviation[mine], deviation[mine]
            predicted[places] = series.values[places] - e.value[mine]
            slopes = np.zeros((len(own), series.times.size))
            slopes[:, places] = -own @ e.slopes[:, mine] / deviation[mine]
            scored = replace(series, values=np.where(np.isfinite(residual), series.values, np.nan))
            parts.append(Part(scored, residual, slopes, np.zeros(len(own)), spread, predicted))
        return parts


def measure_curvature(
    evaluation: Evaluation, gradient: Callable[[np.ndarray], np.ndarray], bounds: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """By differences of a gradient, in the directions that the curvature of an evaluation determines; that, without."""
    point, information = evaluation.point, evaluation.curvature
    curvature = information.copy()
    for place, step in enumerate(np.diag(APART * list_sides(information))):
        ends = [np.clip(point + sign * step, *bounds) for sign in (1.0, -1.0)]
        apart = ends[0][place] - ends[1][place]
        if apart > 0.0:
            curvature[place] = (gradient(ends[0]) - gradient(ends[1])) / apart
    units = find_units(information)
    turned = units.T @ (0.5 * (curvature + curvature.T)) @ units
    if not np.isfinite(turned).all():
        return information
    shares, axes = np.linalg.eigh(turned)
    back = information @ units @ axes
    return (back * np.clip(shares, FLATTEST, STEEPEST)) @ back.T


def _look_further(
    extended: ExtendedFilter, points: np.ndarray, steps: Sequence[int]
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Mean and deviation of outputs at the grid points of samples, (point, output), so many samples ahead of each."""
    if not steps:
        return {}
    origins = [np.where(np.arange(points.size) >= count, np.roll(points, count), -1) for count in steps]
    ends = np.tile(points, len(steps))
    mean, deviation = (
        part.reshape(len(steps), points.size, -1)
        for part in extended.see(extended.look_ahead(np.concatenate(origins), ends), ends)
    )
    return {count: (mean[k], deviation[k]) for k, count in enumerate(steps)}
