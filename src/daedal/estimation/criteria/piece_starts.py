"""Where the pieces of multiple shooting start: at the data, as far as these show the states.

Piece by piece the end of one predicts the start m of the next, which its own samples then correct,

    min_s  ½ Σ (y − ŷ(s))² / σ² + ½ Σ ((s_i − m_i) / d_i)²,

by Gauss–Newton steps: an iterated Kalman filter whose prior is wide, because the parameters are not known yet. d_i is
WIDE times what state i changes by over a piece. Measured states begin at the samples, others where the course of the
outputs puts them, and those that nothing shows where the piece before ends.

Reference: A. H. Jazwinski, Stochastic Processes and Filtering Theory (1970), section 8.3.
"""

from collections.abc import Mapping

import numpy as np

from daedal.errors import RefusalError
from daedal.estimation.problem import Segment, Segments
from daedal.experiments import Accuracies, Experiment
from daedal.simulation import Prediction

WIDE = 3.0
LEAST = 0.1  # of its value, by which a state may be off at least
TINY = 1e-12
EVALUATIONS = 20  # of one piece


def start_pieces(
    experiment: Experiment, cut: Segments, accuracies: Accuracies, values: Mapping[str, float], begin: np.ndarray
) -> np.ndarray:
    """The starts (piece − 1, state) of all pieces but the first, which begins with the model at `begin`."""
    nodes = np.tile(begin, (len(cut.pieces) - 1, 1))
    before, reached = begin, _find_end(cut, cut.pieces[0], values, None)
    for k, piece in enumerate(cut.pieces[1:]):
        candidates = [before, begin] if reached is None else [reached, before, begin]
        usable = (one for one in candidates if _predict(cut, piece, values, one) is not None)
        predicted = next(usable, begin)
        width = WIDE * np.maximum(np.abs(predicted - before), LEAST * np.abs(predicted) + TINY)
        nodes[k] = _correct(experiment, cut, piece, accuracies, values, predicted, width)
        before, reached = nodes[k], _find_end(cut, piece, values, nodes[k])
    return nodes


def _predict(cut: Segments, piece: Segment, values: Mapping[str, float], node: np.ndarray | None) -> Prediction | None:
    """None where the piece cannot be simulated."""
    names = piece.predictor.free[len(piece.predictor.free) - len(cut.states) :]
    start = {} if node is None else dict(zip(names, map(float, node), strict=True))
    try:
        prediction = piece.predictor({**values, **start})
    except RefusalError:
        return None
    return prediction if np.isfinite(prediction.mean).all() else None


def _find_end(cut: Segments, piece: Segment, values: Mapping[str, float], node: np.ndarray | None) -> np.ndarray | None:
    prediction = _predict(cut, piece, values, node)
    return None if prediction is None else prediction.mean[cut.outputs :, -1]


def _correct(
    experiment: Experiment,
    cut: Segments,
    piece: Segment,
    accuracies: Accuracies,
    values: Mapping[str, float],
    predicted: np.ndarray,
    width: np.ndarray,
) -> np.ndarray:
    """The start that the samples of a piece, and the prediction of it, make most probable."""
    from scipy.optimize import least_squares

    def compare(node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        prediction = _predict(cut, piece, values, node)
        rows = _weigh(experiment, piece, accuracies, values, prediction, node.size)
        return np.append(rows[:, 0], (node - predicted) / width), np.vstack([rows[:, 1:], np.diag(1.0 / width)])

    if not np.isfinite(compare(predicted)[0]).all():
        return predicted
    with np.errstate(over="ignore", invalid="ignore"):
        solution = least_squares(
            lambda node: compare(node)[0],
            predicted,
            jac=lambda node: compare(node)[1],  # pyright: ignore[reportArgumentType]
            x_scale=width,
            max_nfev=EVALUATIONS,
        )
    return solution.x


def _weigh(
    experiment: Experiment,
    piece: Segment,
    accuracies: Accuracies,
    values: Mapping[str, float],
    prediction: Prediction | None,
    states: int,
) -> np.ndarray:
    """Residuals of the samples in a piece with their slopes by its start, (sample, 1 + state)."""
    blocks = [np.zeros((0, 1 + states))]
    for series in experiment.series:
        mine = np.isin(series.places, piece.places) & np.isfinite(series.values)
        known = accuracies.deviation(series, values, series.values)  # which no prediction moves
        deviation = np.broadcast_to(known, series.values.shape)[mine, None]
        if prediction is None:
            blocks.append(np.full((deviation.size, 1 + states), np.nan))
            continue
        places = np.searchsorted(piece.places, series.places[mine])
        residual = series.values[mine] - prediction.mean[series.row, places]
        slopes = prediction.slopes[prediction.slopes.shape[0] - states :, series.row, places]
        blocks.append(np.column_stack([residual, -slopes.T]) / deviation)
    return np.concatenate(blocks)
