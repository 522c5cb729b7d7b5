"""Smooth functions of a step length at thousands of different lengths, by interpolation.

With irregular samples every interval has its own matrices e^{Ah}, Q_d(h), Γ_j(h): entire functions of h. They are made
at Chebyshev points of each octave h ≤ 2h₀ that holds many steps, and taken in between by the barycentric formula

    f(h) ≈ Σ_k w_k f(h_k)/(h − h_k) / Σ_k w_k/(h − h_k),

whose error falls faster than exponentially with the number of points (Trefethen 2013, chapters 5 and 8). Within an
octave entries that start as h⁵ change by a factor of 32 only, so that their relative accuracy is kept. Some steps of
each octave are computed directly too, and where they do not agree to rounding all of them are.

L. N. Trefethen, Approximation Theory and Approximation Practice, SIAM 2013.
"""

from collections.abc import Callable

import numpy as np

FEWEST, MOST = 16, 64  # points in an octave
AGREEMENT = 2e-13  # between interpolated and direct values, relative to the largest of their kind
CHECKED = 3  # steps of each octave that are computed directly too

Matrices = tuple[np.ndarray, ...]


def evaluate_at_steps(function: Callable[[np.ndarray], Matrices], steps: np.ndarray, speed: float) -> Matrices:
    """`function(steps)`, arrays with the steps along an axis counted from the end of the directions.

    The function returns pairs of arrays: values (step, …), then their derivatives (direction, step, …). `speed` is
    about the largest eigenvalue, which tells how many points an octave needs.

    Examples
    --------
    >>> steps = np.linspace(0.1, 0.3, 500)
    >>> values, slopes = evaluate_at_steps(lambda h: (np.exp(-h), -np.exp(-h)[None]), steps, 1.0)
    >>> bool(np.max(np.abs(values - np.exp(-steps))) < 1e-14)
    True
    """
    octave = np.floor(np.log2(steps)).astype(int) if steps.size else np.zeros(0, dtype=int)
    counts = np.bincount(octave - octave.min()) if steps.size else np.zeros(0, dtype=int)
    crowded = np.flatnonzero(counts >= 3 * FEWEST) + (octave.min() if steps.size else 0)
    groups = [np.flatnonzero(octave == number) for number in crowded]
    parts = [_evaluate_octave(function, steps[group], speed) for group in groups]
    if (few := np.flatnonzero(~np.isin(octave, crowded))).size:  # all of them at once
        groups, parts = [*groups, few], [*parts, function(steps[few])]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return function(steps)
    order = np.argsort(np.concatenate(groups), kind="stable")
    joined = []
    for kind in range(len(parts[0])):
        axis = kind % 2  # values first, then slopes behind the axis of directions
        joined.append(np.take(np.concatenate([part[kind] for part in parts], axis=axis), order, axis=axis))
    return tuple(joined)


def _evaluate_octave(function: Callable[[np.ndarray], Matrices], steps: np.ndarray, speed: float) -> Matrices:
    low, high = float(steps.min()), float(steps.max())
    count = FEWEST + int(np.ceil(min(speed * (high - low), 10.0 * MOST)))
    if count > MOST or steps.size < 3 * count or high - low < 1e-6 * high:
        return function(steps)
    angles = (2 * np.arange(count) + 1) * np.pi / (2 * count)
    nodes = 0.5 * (low + high) + 0.5 * (high - low) * np.cos(angles)
    weights = (-1.0) ** np.arange(count) * np.sin(angles)
    matrix = _make_barycentric(steps, nodes, weights)
    guesses = [_combine(matrix, values, axis=kind % 2) for kind, values in enumerate(function(nodes))]
    places = np.linspace(0, steps.size - 1, CHECKED).astype(int)
    for kind, (direct, guess) in enumerate(zip(function(steps[places]), guesses, strict=True)):
        taken = np.take(guess, places, axis=kind % 2)
        if np.max(np.abs(taken - direct), initial=0.0) > AGREEMENT * np.max(np.abs(direct), initial=0.0):
            return function(steps)
    return tuple(guesses)


def _make_barycentric(steps: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(step, node), rows that sum to one."""
    apart = steps[:, None] - nodes
    hit = apart == 0.0
    ratio = weights / np.where(hit, 1.0, apart)
    rows = ratio / ratio.sum(axis=1, keepdims=True)
    return np.where(hit.any(axis=1)[:, None], hit.astype(float), rows)


def _combine(matrix: np.ndarray, values: np.ndarray, axis: int) -> np.ndarray:
    """Values at the nodes as values at the steps, along an axis."""
    moved = np.moveaxis(values, axis, 0)
    flat = matrix @ moved.reshape(len(moved), int(np.prod(moved.shape[1:])))
    return np.moveaxis(flat.reshape(len(matrix), *moved.shape[1:]), 0, axis)
