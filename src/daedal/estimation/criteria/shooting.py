"""Multiple shooting: fits through models that amplify small errors.

A single simulation of x' = μ²x … over T multiplies an error of its start by e^{μT}; no digit may be left of it. Each
experiment is therefore cut into pieces with starts s of their own, tied together by the continuity c(φ, s) = 0 of the
states from the end of one piece to the start of the next. For a weight ρ, which grows from stage to stage,

    value(φ) = min_s ½ |z(φ, s)|² + ½ ρ² |c(φ, s)|²,

by Gauss–Newton steps in s. With the Jacobians stacked, A = (z_φ; ρ c_φ) and B = (z_s; ρ c_s), the gradient is Aᵀ(z; ρc)
(the envelope theorem) and the curvature is Aᵀ(I − BB⁺)A. The residuals then move φ by H⁻¹ Aᵀ(I − BB⁺) (z; ρc).

Reference: H. G. Bock, Recent advances in parameter identification techniques for ODE, in: Numerical Treatment of
Inverse Problems in Differential and Integral Equations, Birkhäuser (1983) 95–121.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from daedal.errors import EstimationError, RefusalError, counted
from daedal.estimation.criteria.criterion import Capabilities, Evaluation, Part, fail_at
from daedal.estimation.criteria.piece_starts import start_pieces
from daedal.estimation.criteria.simulations import tell_steps
from daedal.estimation.problem import Problem, Segments, Weighing, cut_segments
from daedal.experiments import (
    Accuracies,
    Experiment,
    check_accuracies,
    check_enough,
    guess_scales,
    match_experiments,
    refuse_relative,
)
from daedal.simulation import Lanes

WEIGHTS = (0.1, 10.0, 1e3, 1e5)  # ρ, stage by stage
INNER = 50  # Gauss–Newton evaluations of the starts at one φ


@dataclass(frozen=True, eq=False)
class _Joint:
    """Residuals with their derivatives by φ and by the starts s, continuity after the data."""

    residuals: np.ndarray
    by_point: np.ndarray
    by_nodes: np.ndarray
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class ShootingObjective:
    """Output error with pieces, as a function of φ alone."""

    problem: Problem
    experiments: tuple[Experiment, ...]
    cut: tuple[Segments, ...]
    weighing: Weighing
    nodes: tuple[np.ndarray, ...]  # (piece, state) of each experiment: where the search for the starts begins
    sizes: tuple[np.ndarray, ...]  # of the states, for the continuity
    stage: int = 0

    @property
    def capabilities(self) -> Capabilities:
        """Nothing is random, and the steps stay."""
        white = () if self.problem.system.model.disturbances else self.experiments
        steps = tell_steps([piece.predictor for one in self.cut for piece in one.pieces])
        return Capabilities(scales=self.weighing.accuracies.scales, finish=self.finish, steps=steps, white=white)

    def __call__(self, point: np.ndarray) -> Evaluation:
        try:
            joint, _, work = self._tie(point)
        except RefusalError as error:
            return fail_at(point, error.sentence)
        if joint is None or not np.isfinite(joint.residuals).all():
            return fail_at(point, "No starts of the segments were found that could be simulated there.")
        orthonormal, _ = np.linalg.qr(joint.by_nodes)
        kept = joint.by_point - orthonormal @ (orthonormal.T @ joint.by_point)
        value = 0.5 * float(joint.residuals @ joint.residuals)
        gradient, parts = joint.by_point.T @ joint.residuals, _follow_starts(joint.parts, kept)
        return Evaluation(point, value, gradient, kept.T @ kept, parts=parts, work=work)

    def _tie(self, point: np.ndarray) -> tuple[_Joint | None, tuple[np.ndarray, ...], int]:
        """The joint residuals at the starts that minimise them, these starts, and how many were tried."""
        from scipy.optimize import least_squares

        last: list[tuple[np.ndarray, _Joint]] = []

        def join(flat: np.ndarray) -> _Joint:
            if not last or not np.array_equal(last[0][0], flat):
                last[:] = [(flat.copy(), self._join(point, flat))]
            return last[0][1]

        def compare(flat: np.ndarray) -> np.ndarray:
            """Starts that cannot be simulated are not a number, which scipy steps back from."""
            try:
                return join(flat).residuals
            except RefusalError:
                return np.full(size, np.nan)

        flat = np.concatenate([nodes.ravel() for nodes in self.nodes])
        first = join(flat).residuals
        if not np.isfinite(first).all():
            return None, self.nodes, 1
        size = first.size
        with np.errstate(over="ignore", invalid="ignore"):  # far away squares overflow; scipy steps back from there
            solution = least_squares(
                compare,
                flat,
                jac=lambda s: join(s).by_nodes,  # pyright: ignore[reportArgumentType]
                x_scale="jac",
                max_nfev=INNER,
                ftol=1e-14,
                xtol=1e-12,
                gtol=1e-12,
            )
        return join(solution.x), tuple(self._split(solution.x)), int(solution.nfev)

    def _split(self, flat: np.ndarray) -> list[np.ndarray]:
        ends = np.cumsum([cut.nodes for cut in self.cut])
        return [
            part.reshape(-1, len(cut.states)) for part, cut in zip(np.split(flat, ends[:-1]), self.cut, strict=True)
        ]

    def _join(self, point: np.ndarray, flat: np.ndarray) -> _Joint:
        total = flat.size
        residuals, by_point, by_nodes, parts = [], [], [], []
        offset, weight = 0, WEIGHTS[self.stage]
        ties: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for number, nodes in enumerate(self._split(flat)):
            mean, slopes, continuity = self._simulate(number, point, nodes)
            own = slice(offset, offset + nodes.size)
            for part, node_slopes in self._parts(number, point, mean, slopes):
                known = np.isfinite(part.residual)
                residuals.append(part.residual[known])
                by_point.append(-part.slopes[:, known].T)
                block = np.zeros((int(known.sum()), total))
                block[:, own] = -node_slopes[:, known].T
                by_nodes.append(block)
                parts.append(part)
            gap, gap_by_point, gap_by_nodes = continuity
            block = np.zeros((gap.size, total))
            block[:, own] = gap_by_nodes
            scale = weight / np.tile(self.sizes[number], len(nodes))
            ties.append((gap * scale, gap_by_point * scale[:, None], block * scale[:, None]))
            offset += nodes.size
        residuals += [tie[0] for tie in ties]
        by_point += [tie[1] for tie in ties]
        by_nodes += [tie[2] for tie in ties]
        return _Joint(
            np.concatenate(residuals),
            np.concatenate(by_point),
            np.concatenate(by_nodes),
            tuple(parts),
        )

    def _simulate(
        self, number: int, point: np.ndarray, nodes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Predictions (output, time), their slopes by φ then nodes, and the gaps with their slopes."""
        coordinates, cut = self.problem.coordinates, self.cut[number]
        values = coordinates.values(point, number)
        size, free, count = point.size, len(coordinates.parameters), len(cut.states)
        mean = np.zeros((cut.outputs, self.experiments[number].drive.times.size))
        slopes = np.zeros((size + nodes.size, *mean.shape))
        gaps = np.zeros(nodes.shape)
        gap_slopes = np.zeros((size + nodes.size, *nodes.shape))
        for k, piece in enumerate(cut.pieces):
            names = piece.predictor.free[free:]
            start = {} if piece.first else dict(zip(names, map(float, nodes[k - 1]), strict=True))
            prediction = piece.predictor({**values, **start})
            by_coordinate = coordinates.convert_slopes(prediction.slopes[:free], point, number)
            mine = slice(size + (k - 1) * count, size + k * count)
            samples = slice(0, piece.places.size)
            mean[:, piece.places] = prediction.mean[: cut.outputs, samples]
            slopes[:size, :, piece.places] = by_coordinate[:, : cut.outputs, samples]
            if not piece.first:
                slopes[mine][:, :, piece.places] = prediction.slopes[free:, : cut.outputs, samples]
                gaps[k - 1] -= nodes[k - 1]
                gap_slopes[mine, k - 1] -= np.eye(count)
            if k < len(gaps):
                gaps[k] += prediction.mean[cut.outputs :, -1]
                gap_slopes[:size, k] += by_coordinate[:, cut.outputs :, -1]
                if not piece.first:
                    gap_slopes[mine, k] += prediction.slopes[free:, cut.outputs :, -1]
        flat = gap_slopes.reshape(size + nodes.size, -1).T
        return mean, slopes, (gaps.ravel(), flat[:, :size], flat[:, size:])

    def _parts(
        self, number: int, point: np.ndarray, mean: np.ndarray, slopes: np.ndarray
    ) -> Iterator[tuple[Part, np.ndarray]]:
        """Each series weighed, with its slopes by φ in the part and those by nodes beside it."""
        experiment = self.experiments[number]
        values = self.problem.coordinates.values(point, number)
        rows = []
        for series in experiment.series:
            scored = np.where(np.isfinite(series.values), 1.0, np.nan)
            residual = series.values - mean[series.row, series.places]
            rows.append(np.vstack([residual, slopes[:, series.row, series.places]]) * scored)
        means = [mean[series.row, series.places] for series in experiment.series]
        weighed = self.weighing.apply(experiment, values, rows, means)
        size = point.size
        for series, own in zip(experiment.series, weighed, strict=True):
            predicted = mean[series.row, series.places]
            deviation = self.weighing.accuracies.deviation(series, values, predicted)
            yield Part(series, own[0], own[1 : 1 + size], np.zeros(size), deviation, predicted), own[1 + size :]

    def refine(self, evaluation: Evaluation) -> "ShootingObjective | None":
        """A larger weight of the continuity, beginning with the starts found here."""
        if self.stage + 1 == len(WEIGHTS):
            return None
        _, nodes, _ = self._tie(evaluation.point)
        return replace(self, stage=self.stage + 1, nodes=nodes)

    def finish(self, _: Evaluation) -> "ShootingObjective":
        """The pieces tied as firmly as in the end."""
        return replace(self, stage=len(WEIGHTS) - 1)


def _follow_starts(parts: tuple[Part, ...], kept: np.ndarray) -> tuple[Part, ...]:
    """The slopes by φ that are left when the starts follow."""
    following, begin = [], 0
    for part in parts:
        known = np.isfinite(part.residual)
        slopes = np.full(part.slopes.shape, np.nan)
        slopes[:, known] = -kept[begin : begin + int(known.sum())].T
        begin += int(known.sum())
        following.append(replace(part, slopes=slopes))
    return tuple(following)


def make_shooting_objective(problem: Problem, transient: float, count: int) -> ShootingObjective:
    """Cut all experiments; the pieces start at the data."""
    system, space = problem.system, problem.coordinates
    experiments = match_experiments(system, problem.data, transient)
    check_enough(experiments, len(space.items))
    check_accuracies(system.model, experiments)
    accuracies = Accuracies(system.model, space.parameters, guess_scales(system.model, experiments))
    refuse_relative(system.model, "segments", "are tied together by residuals of one size")
    if accuracies.free:
        raise EstimationError(
            "Segments cannot be combined with a free measurement accuracy.", "Fix the accuracy, or use one segment."
        )
    solver = problem.solver or Lanes(tolerance=1e-8)
    cut, nodes = [], []
    for number, experiment in enumerate(experiments):
        samples = experiment.drive.times.size
        if count > samples + 1:  # as many as there are times, the start among them
            raise EstimationError(
                f"data '{problem.data[number].name}' has {counted(samples, 'sample time')}, fewer than "
                f"{count} segments.",
                "Lower segments: every piece needs samples of its own, and some tens of pieces are many.",
            )
        values = space.values(space.start, number)
        pieces = cut_segments(problem, experiment, values, count, solver)
        begin = np.array([_find_start(pieces, k) for k in range(len(pieces.states))])
        cut.append(pieces)
        nodes.append(start_pieces(experiment, pieces, accuracies, values, begin))
    weighing = Weighing(accuracies)
    ones = tuple(np.ones(len(pieces.states)) for pieces in cut)
    untied = ShootingObjective(problem, experiments, tuple(cut), weighing, tuple(nodes), ones)
    return replace(untied, sizes=_measure_states(untied, np.maximum(np.abs(np.concatenate(nodes, axis=None)), 1.0)))


def _measure_states(untied: ShootingObjective, otherwise: np.ndarray) -> tuple[np.ndarray, ...]:
    """The change of each state that moves the residuals by about one, whatever its unit.

    A state that no output shows is measured by its value at the start.
    """
    flat = np.concatenate([nodes.ravel() for nodes in untied.nodes])
    joint = untied._join(untied.problem.coordinates.start, flat)
    data = joint.residuals.size - flat.size  # what follows are the gaps
    effect = np.sqrt(np.nansum(joint.by_nodes[:data] ** 2, axis=0))
    usable = np.isfinite(effect) & (effect > 0.0)
    sizes = untied._split(np.where(usable, 1.0 / np.where(usable, effect, 1.0), otherwise))
    return tuple(np.exp(np.mean(np.log(own), axis=0)) for own in sizes)


def _find_start(pieces: Segments, state: int) -> float:
    run = pieces.pieces[0].predictor.run
    names = run.scenario.system.states
    return float(run.values[0].start.states[names.index(pieces.states[state])])
