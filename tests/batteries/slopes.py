"""Outputs of a model and how they move with its parameters, by the lanes; and the same of a truth, by differences."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

import daedal as dd
from daedal.simulation import Lanes, Prediction, check_request, make_predictor


def predict(
    model: dd.Model,
    times: np.ndarray,
    free: Sequence[str],
    *,
    inputs: Mapping | None = None,
    solver: Lanes = Lanes(tolerance=1e-9),  # noqa: B008  a frozen value
) -> Prediction:
    """All outputs (output, time) at the model's own values, and their slopes (parameter, output, time)."""
    request = check_request("predict", model, times, inputs, None)
    return make_predictor(request, tuple(model.outputs), free, None, solver, None, 0, "a test")({})


def differentiate(truth: Callable[..., np.ndarray], point: Sequence[float], change: float) -> np.ndarray:
    """Slopes of a function of numbers by each of them, (number, …): central differences of fourth order."""
    slopes = []
    for place, value in enumerate(point):
        h = change * value
        near, far = ((_shift(truth, point, place, k * h) - _shift(truth, point, place, -k * h)) for k in (1, 2))
        slopes.append((8 * near - far) / (12 * h))
    return np.array(slopes)


def _shift(truth: Callable[..., np.ndarray], point: Sequence[float], place: int, by: float) -> np.ndarray:
    return truth(*(value + by * (i == place) for i, value in enumerate(point)))


def check_against(
    prediction: Prediction, truth: Callable[..., np.ndarray], point: Sequence[float], change: float = 1e-3
) -> None:
    """Values within 1e-8 of the largest of their output, slopes within 1e-6 of the largest of theirs."""
    assert measure_difference(prediction.mean, truth(*point)) < 1e-8
    assert measure_difference(prediction.slopes, differentiate(truth, point, change)) < 1e-6


def measure_difference(given: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, each row in units of its largest value."""
    assert given.shape == expected.shape
    largest = np.abs(expected).max(axis=-1, keepdims=True)
    return float((np.abs(given - expected) / np.where(largest > 1e-6, largest, 1.0)).max())
