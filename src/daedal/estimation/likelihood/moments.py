"""`Likelihood(method="moments")`: samples against the mean and the covariance of simulated lanes.

The quasi-likelihood, its gradient and what its errors are made of stand in `lane_moments`, beside this file. Nothing
but simulation is used, so that the model may be of any index and look back; lanes keep their random numbers while φ
moves, which makes the value smooth. The first two moments being those of the model, the estimate is consistent whatever
the law of the samples is, and sees what disturbances do to their scatter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from daedal.errors import EstimationError, RefusalError, counted, quoted
from daedal.estimation.criteria import (
    Capabilities,
    Evaluation,
    Forecast,
    Part,
    Simulations,
    fail_at,
    make_simulations,
)
from daedal.estimation.likelihood.lane_moments import (
    Block,
    Measured,
    Score,
    measure_lanes,
    plan_blocks,
    score_block,
    score_lanes,
    share_lanes,
    share_value,
)
from daedal.estimation.problem import Problem, check_visible
from daedal.experiments import (
    Accuracies,
    Experiment,
    check_accuracies,
    check_enough,
    find_correlated,
    find_declared_outputs,
    match_experiments,
    refuse_relative,
)
from daedal.memory import check_memory
from daedal.models import Model, as_tuple

if TYPE_CHECKING:
    from daedal.estimation.likelihood.likelihood import Likelihood

WINDOW, SHORTEST = 50, 5  # sample times that are scored together, and that are given before them: at most, at least
PER_SAMPLE = 10  # realizations for each sample of a block: the bias that is left is then 0.02 per sample at most
DRAWN = 500  # lanes that are taken as samples, for the covariance of the gradient
COPIES = 3  # of the lanes, in use at once
REPLANS = 3  # times that the steps of the simulation may be chosen anew


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of an experiment in the order of time, (sample,), and the blocks that they are scored in."""

    experiment: Experiment
    series: np.ndarray  # of each sample: the number of its series
    indices: np.ndarray  # its place in that series
    places: np.ndarray  # its place among the sample times of the experiment
    rows: np.ndarray  # the row of its output among those predicted
    y: np.ndarray
    blocks: tuple[Block, ...]

    def measure_noise(self, accuracies: Accuracies, values: dict[str, float], block: Block) -> Measured:
        """The samples of a block, with the covariance of their measurement noise."""
        mine = slice(block.first, block.last)
        series, indices, y = self.series[mine], self.indices[mine], self.y[mine]
        deviation, rates = np.zeros(y.size), np.zeros((len(accuracies.parameters), y.size))
        for number, one in enumerate(self.experiment.series):
            own = series == number
            found = np.broadcast_to(accuracies.deviation(one, values, one.values), one.times.shape)
            deviation[own] = found[indices[own]]
            rates[:, own] = accuracies.rates(one, values)[:, None]
        R, slopes = np.diag(deviation**2), np.zeros((len(rates), y.size, y.size))
        every = np.arange(y.size)
        slopes[:, every, every] = 2.0 * rates * deviation**2
        self._correlate(accuracies, R, mine)
        return Measured(y, R, slopes)

    def _correlate(self, accuracies: Accuracies, R: np.ndarray, mine: slice) -> None:
        """Put in what outputs with a common covariance have at the same times, of which all of them have as many."""
        together = np.equal.outer(self.indices[mine], self.indices[mine])
        listed = list(self.experiment.series)
        for group, covariance in find_correlated(accuracies.model, self.experiment):
            numbers = [listed.index(one) for one in group]
            for i, one in enumerate(numbers):
                for j, other in enumerate(numbers):
                    chosen = np.outer(self.series[mine] == one, self.series[mine] == other) & together
                    R[chosen] = covariance[i, j]


def line_up_samples(experiment: Experiment, window: int) -> Samples:
    """All samples of an experiment that count, by time and, at one time, by output."""
    known = [np.flatnonzero(np.isfinite(one.values)) for one in experiment.series]
    pairs = list(zip(experiment.series, known, strict=True))
    places = np.concatenate([one.places[own] for one, own in pairs])
    order = np.argsort(places, kind="stable")
    rows = np.concatenate([np.full(own.size, one.row) for one, own in pairs])[order]
    series = np.concatenate([np.full(own.size, number) for number, own in enumerate(known)])[order]
    y = np.concatenate([one.values[own] for one, own in pairs])[order]
    _, groups = np.unique(places[order], return_inverse=True)
    blocks = tuple(plan_blocks(groups, window))
    return Samples(experiment, series, np.concatenate(known)[order], places[order], rows, y, blocks)


@dataclass(frozen=True, eq=False)
class _Scored:
    """One experiment at a point: its lanes (1 + parameter, sample, lane), and the score of each block."""

    samples: Samples
    lanes: np.ndarray
    scores: tuple[Score, ...]
    measured: tuple[Measured, ...]


@dataclass(frozen=True, eq=False)
class MomentsObjective:
    """−log of the quasi-likelihood as a function of φ."""

    problem: Problem
    samples: tuple[Samples, ...]
    simulations: Simulations
    accuracies: Accuracies
    notes: tuple[str, ...]
    replans: int = 0

    @property
    def capabilities(self) -> Capabilities:
        """It simulates, and predicts from the samples before."""
        return Capabilities(
            notes=self.notes,
            simulates=True,
            averaged=self.simulations.averaged,
            steps=self.simulations.steps,
            step_error=self.simulations.estimate_step_error,
            choose_steps=self.choose_steps,
            forgive=self.forgive,
            scatter=self.scatter,
            predict=lambda point: self.foresee(point, ()),
            foresee=self.foresee,
        )

    def __call__(self, point: np.ndarray) -> Evaluation:
        size, space = point.size, self.problem.coordinates
        value, variance, gradient, parts = 0.0, 0.0, np.zeros(size), []
        curvature, noise, scores = np.zeros((3, size, size))
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                for number in range(len(self.samples)):
                    scored = self._score(number, point)
                    own = space.convert_slopes(np.eye(len(space.parameters)), point, number)
                    value += sum(score.value for score in scored.scores)
                    gradient += own @ np.sum([score.gradient for score in scored.scores], axis=0)
                    curvature += own @ np.sum([score.curvature for score in scored.scores], axis=0) @ own.T
                    added = own @ np.sum([score.noise for score in scored.scores], axis=0) @ own.T
                    noise += added
                    covariance, of_value = self._repeat(scored, number)
                    scores += own @ covariance @ own.T - added
                    variance += of_value
                    parts += _list_parts(scored, own)
        except RefusalError as error:
            return fail_at(point, error.sentence)
        except np.linalg.LinAlgError:
            return fail_at(point, "The covariance of the simulated outputs is not positive definite there.")
        if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(curvature).all()):
            return fail_at(point, "The likelihood or its gradient is not finite there.")
        said = {"noise": noise, "scores": _lift(scores), "monte_carlo_error": float(np.sqrt(variance))}
        return Evaluation(point, value, gradient, curvature, parts=tuple(parts), loglik=-value, **said)

    def _score(self, number: int, point: np.ndarray) -> _Scored:
        """Simulate the lanes of one experiment, and score its samples."""
        samples, values = self.samples[number], self.problem.coordinates.values(point, number)
        drawn = self.simulations.predictors[number].draw(values)
        lanes = drawn[:, samples.rows, samples.places]
        middle = lanes.shape[-1] // 2
        scores, measured = [], []
        for block in samples.blocks:
            own = lanes[:, block.first : block.last]
            halves = measure_lanes(own[..., :middle]), measure_lanes(own[..., middle:])
            measured.append(samples.measure_noise(self.accuracies, values, block))
            scores.append(score_block(block, halves, measured[-1]))
        return _Scored(samples, lanes, tuple(scores), tuple(measured))

    def _repeat(self, scored: _Scored, number: int) -> tuple[np.ndarray, float]:
        """Covariance of the gradient over samples as the model makes them, and variance of the value over lanes.

        The samples are some of the lanes, with measurement noise drawn for them.
        """
        count = scored.lanes.shape[-1]
        centred = scored.lanes[0] - scored.lanes[0].mean(axis=-1, keepdims=True)
        centred = centred[:, :: max(count // DRAWN, 1)]
        normal = np.random.default_rng([number, self.problem.seed % 2**32]).standard_normal(centred.shape)
        gradients, values = np.zeros((len(scored.lanes) - 1, centred.shape[1])), np.zeros(centred.shape[1])
        for score, measured in zip(scored.scores, scored.measured, strict=True):
            mine = slice(score.block.first, score.block.last)
            values += share_value(score, centred[mine])
            gradients += score_lanes(score, centred[mine] + np.linalg.cholesky(measured.R) @ normal[mine])
        return _compute_covariance(gradients), float(np.var(values)) / count

    def scatter(self, evaluation: Evaluation) -> np.ndarray:
        """Covariance of the gradient over the random numbers of the lanes."""
        size, space = evaluation.point.size, self.problem.coordinates
        total = np.zeros((size, size))
        for number in range(len(self.samples)):
            scored = self._score(number, evaluation.point)
            own = space.convert_slopes(np.eye(len(space.parameters)), evaluation.point, number)
            blocks = [(score, scored.lanes[:, score.block.first : score.block.last]) for score in scored.scores]
            shares = own @ np.sum([share_lanes(score, lanes) for score, lanes in blocks], axis=0)
            total += _compute_covariance(shares) / shares.shape[1]
        return total

    def foresee(self, point: np.ndarray, steps: Sequence[int]) -> tuple[Forecast, ...]:
        """One step and so many steps ahead from the samples before, and simulated from the start."""
        forecasts: list[Forecast] = []
        for number in range(len(self.samples)):
            scored = self._score(number, point)
            ahead = {count: _look_ahead(scored, count) for count in {1, *steps}}
            far = scored.lanes[0].mean(axis=-1), scored.lanes[0].std(axis=-1, ddof=1)
            residual = np.concatenate([score.z[score.block.window :] for score in scored.scores])
            count = scored.lanes.shape[-1]
            for own, series in enumerate(scored.samples.experiment.series):
                place = partial(_place, scored.samples, own)
                further = {k: (place(mean), place(spread)) for k, (mean, spread) in ahead.items()}
                simulated = place(far[0]), place(far[1])
                forecasts.append(
                    Forecast(series, further[1][0], place(residual), further[1][1], count, simulated, further)
                )
        return tuple(forecasts)

    def forgive(self, point: np.ndarray) -> "MomentsObjective":
        """Without the realizations that fail at this point; raises where too many do."""
        simulations, note = self.simulations.forgive(point)
        return replace(self, simulations=simulations, notes=(*self.notes, note)) if note else self

    def choose_steps(self, point: np.ndarray) -> "MomentsObjective":
        """With steps that suit this point; itself where the present ones do."""
        simulations = self.simulations.choose_steps(point)
        return self if simulations is self.simulations else replace(self, simulations=simulations)

    def refine(self, evaluation: Evaluation, /) -> "MomentsObjective | None":
        """Steps chosen at the minimum."""
        planned = self.choose_steps(evaluation.point) if self.replans < REPLANS else self
        return None if planned is self else replace(planned, replans=self.replans + 1)


def _compute_covariance(rows: np.ndarray) -> np.ndarray:
    """Of rows (row, lane), of which there may be none."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    return centred @ centred.T / (rows.shape[1] - 1)


def _lift(scores: np.ndarray) -> np.ndarray:
    """Without the negative directions that subtracting Monte-Carlo error may leave."""
    values, vectors = np.linalg.eigh(scores)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def _place(samples: Samples, number: int, values: np.ndarray) -> np.ndarray:
    """Values of all samples as those of one series, (time,); NaN where one is missing."""
    own = samples.series == number
    placed = np.full(samples.experiment.series[number].times.size, np.nan)
    placed[samples.indices[own]] = values[own]
    return placed


def _list_parts(scored: _Scored, own: np.ndarray) -> list[Part]:
    """Innovations in units of their standard deviation, output by output."""
    samples, windows = scored.samples, [score.block.window for score in scored.scores]
    pairs = list(zip(scored.scores, windows, strict=True))
    residual = np.concatenate([score.z[w:] for score, w in pairs])
    deviation = np.concatenate([np.diag(score.L)[w:] for score, w in pairs])
    slopes = own @ np.concatenate([score.slopes for score in scored.scores], axis=1)
    predicted = samples.y - residual * deviation
    parts = []
    for number, series in enumerate(samples.experiment.series):
        placed = [_place(samples, number, row) for row in (residual, deviation, predicted, *slopes)]
        moved = np.nan_to_num(np.array(placed[3:]).reshape(len(own), series.times.size))
        parts.append(Part(series, placed[0], moved, np.zeros(len(own)), placed[1], placed[2]))
    return parts


def _look_ahead(scored: _Scored, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each output without its measurement noise, given samples so many times before."""
    means, deviations = [], []
    _, times = np.unique(scored.samples.places, return_inverse=True)
    for score, measured in zip(scored.scores, scored.measured, strict=True):
        block = score.block
        own, w = times[block.first : block.last], block.window
        hidden = own[w:, None] - own < steps  # samples that are not yet known, (scored, sample of the block)
        rows = score.L[w:]
        means.append(measured.y[w:] - np.where(hidden, rows, 0.0) @ score.z)
        variance = np.sum(np.where(hidden, rows, 0.0) ** 2, axis=1) - np.diag(measured.R)[w:]
        deviations.append(np.sqrt(np.maximum(variance, 0.0)))
    return np.concatenate(means), np.concatenate(deviations)


def make_moments_objective(problem: Problem, chosen: "Likelihood", window: int | None = None) -> MomentsObjective:
    """Check the problem, and line it up; what cannot work is said before anything is simulated."""
    model, space = problem.system.model, problem.coordinates
    experiments = match_experiments(problem.system, problem.data)
    _check_start(chosen)
    if not model.disturbances:
        raise EstimationError(
            f"Model '{model.name}' declares no disturbances, so its outputs do not scatter.",
            "Use OutputError(), which is its likelihood, or declare disturbances={w: FilteredNoise(...)}.",
        )
    _check_declared(problem, experiments)
    check_accuracies(model, experiments)
    refuse_relative(model, "Likelihood(method='moments')", "adds measurement noise of a known size to the scatter")
    everything = [" ".join(as_tuple(key)) for key in model.disturbances]
    check_visible(problem, everything, accuracies=True, criterion="Likelihood")
    check_enough(experiments, len(space.items))
    window = choose_window(experiments, chosen.realizations) if window is None else window
    samples = tuple(line_up_samples(one, window) for one in experiments)
    _check_memory(problem, experiments, chosen.realizations)
    simulations = make_simulations(problem, experiments, chosen.realizations)
    accuracies = Accuracies(model, space.parameters)
    notes = ["log likelihood is a quasi-likelihood, of normal samples with the mean and covariance of the model"]
    if any(len(one.blocks) > 1 for one in samples):
        notes.append(f"each sample is judged given those of the {window} to {2 * window} sample times before it")
    return MomentsObjective(problem, samples, simulations, accuracies, (*notes, *simulations.notes))


def list_white(model: Model) -> list[str]:
    """Disturbances that cannot be simulated."""
    return [name for key, noise in model.disturbances.items() if noise.intensity is not None for name in as_tuple(key)]


def recommend_moments(model: Model) -> str:
    """What to do where no path can be followed."""
    if white := list_white(model):
        return (
            f"Declare {quoted(white)} as FilteredNoise.low_pass(std=..., time_constant=...) with a short time constant "
            "and use Likelihood(method='moments'), which simulates"
        )
    return "Use Likelihood(method='moments'), which simulates"


def choose_window(experiments: Sequence[Experiment], realizations: int) -> int:
    """Sample times in a window, as many as these realizations tell the covariance of."""
    outputs = max(len(one.series) for one in experiments)
    times = max(one.drive.times.size for one in experiments)
    window = min(WINDOW, realizations // (2 * PER_SAMPLE * outputs))
    needed = PER_SAMPLE * outputs * min(2 * SHORTEST, times)
    if realizations < needed:
        raise EstimationError(
            f"{realizations} realizations do not tell how samples scatter together: the covariance of "
            f"{counted(needed // PER_SAMPLE, 'sample')} takes {needed}.",
            f"Write Likelihood(method='moments', realizations={max(needed, 2000)}).",
        )
    return max(window, 1)


def _check_start(chosen: "Likelihood") -> None:
    """Lanes start where a simulation does."""
    if chosen.initial == "free":
        raise EstimationError(
            "Likelihood(method='moments') simulates from the start that the model declares, so initial='free' means "
            "nothing to it.",
            "Hold the value at a parameter, initial={x: x0} in the model, and free that.",
        )
    if chosen.initial_std:
        raise EstimationError(
            f"Likelihood(method='moments') starts all realizations alike, but initial_std lets "
            f"{quoted(chosen.initial_std)} scatter.",
            "Leave out initial_std.",
        )


def _check_declared(problem: Problem, experiments: Sequence[Experiment]) -> None:
    """Without measurement noise the covariance may be singular, and its share in the scatter is not guessed."""
    model = problem.system.model
    declared = find_declared_outputs(model, problem.data)
    silent = list(dict.fromkeys(name for one in experiments for name in one.outputs if name not in declared))
    if silent:
        raise EstimationError(
            f"Model '{model.name}' does not say how accurately {quoted(silent)} {'is' if len(silent) == 1 else 'are'} "
            "measured.",
            f"Declare measurement_noise={{'{silent[0]}': ...}}: a number, or a parameter to estimate.",
        )


def _check_memory(problem: Problem, experiments: Sequence[Experiment], realizations: int) -> None:
    rows = 1 + len(problem.coordinates.parameters)
    sizes = [len(one.outputs) * one.drive.times.size * rows * realizations * 8 for one in experiments]
    check_memory(
        COPIES * max(sizes),
        f"The covariance of the outputs of model '{problem.system.model.name}'",
        "Take fewer realizations, or fewer samples (data.resample(step)).",
    )
