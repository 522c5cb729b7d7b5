"""Disturbances as filters driven by white noise, at given values of the parameters and with their derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.disturbances import (
    Noise,
    differentiate_realization,
    differentiate_stationary,
    list_parameters,
    realize,
    solve_stationary,
)
from daedal.errors import EstimationError, quoted
from daedal.filtering.parameter_point import DualFormulas, Point
from daedal.linear import Dual, lift, stack_diagonally
from daedal.models import Model, as_tuple


@final
@dataclass(frozen=True, eq=False)
class Shaping:
    """dz = A z dt + B dv, w = C z + direct v, E v vᵀ = intensity; `start` is the covariance of z at the start."""

    A: Dual
    B: Dual
    C: Dual
    direct: Dual
    start: Dual
    intensity: Dual


@dataclass(frozen=True, eq=False)
class ShapingFilters:
    """The disturbances of a model, in the order of their declaration."""

    model: Model

    def at(self, point: Point) -> Shaping:
        """All of them side by side."""
        parts = list(self.list_parts(point).values())
        count = len(point.names)
        joined = {
            name: stack_diagonally([getattr(part, name) for part in parts], count)
            for name in ("A", "B", "C", "direct", "start")
        }
        return Shaping(**joined, intensity=_join_intensities(parts, count))

    def list_parts(self, point: Point) -> dict[str | tuple[str, ...], Shaping]:
        """Each by itself, by its symbol or symbols."""
        return {
            key: _make_white(self.model, as_tuple(key), noise, self._intensities[key].at(point))
            if key in self._intensities
            else _make_shaped(noise, point)
            for key, noise in self.model.disturbances.items()
        }

    @cached_property
    def _intensities(self) -> dict[str | tuple[str, ...], DualFormulas]:
        return {
            key: DualFormulas(self.model, [noise.intensity])
            for key, noise in self.model.disturbances.items()
            if noise.intensity is not None
        }


def _make_white(model: Model, names: Sequence[str], noise: Noise, intensity: Dual) -> Shaping:
    count, q = len(intensity.slopes), float(intensity.value[0])
    if not 0.0 <= q < np.inf:
        raise EstimationError(
            f"The intensity of disturbance '{names[0]}' of model '{model.name}', {noise.intensity}, is {q:g} but must "
            "not be negative.",
            "Bound its parameters from below, or use scale='log'.",
        )
    nothing = lift(np.zeros((0, 0)), count)
    return Shaping(
        nothing,
        lift(np.zeros((0, 0)), count),
        lift(np.zeros((1, 0)), count),
        lift(np.eye(1), count),
        nothing,
        Dual(intensity.value.reshape(1, 1), intensity.slopes.reshape(count, 1, 1)),
    )


def _make_shaped(noise: Noise, point: Point) -> Shaping:
    space = realize(noise, point.numbers)
    names = list(point.numbers)
    slopes = {name: np.zeros((len(point.names), *getattr(space, name).shape)) for name in "ABC"}
    for parameter in list_parameters(noise):
        moved = differentiate_realization(noise, point.numbers, parameter)
        for direction, rate in enumerate(point.rates[names.index(parameter)]):
            for name in "ABC":
                slopes[name][direction] += rate * getattr(moved, name)
    if not all(np.isfinite(slope).all() for slope in slopes.values()):
        raise EstimationError(
            f"{noise!r} has coefficients whose derivatives are not finite at these values.",
            f"Bound {quoted(list_parameters(noise))} away from there.",
        )
    A, B, C = (Dual(getattr(space, name), slopes[name]) for name in "ABC")
    count, inputs = len(point.names), B.value.shape[1]
    start = lift(np.zeros(A.value.shape), count)
    if noise.initial == "stationary":
        spread = (B @ B.T).symmetric
        P = solve_stationary(noise, A.value, spread.value)
        moved = [
            differentiate_stationary(noise, A.value, P, dA, dQ) for dA, dQ in zip(A.slopes, spread.slopes, strict=True)
        ]
        start = Dual(P, np.array(moved).reshape(count, *P.shape))
    return Shaping(A, B, C, lift(np.zeros((C.value.shape[0], 0)), count), start, lift(np.eye(inputs), count))


def _join_intensities(parts: Sequence[Shaping], count: int) -> Dual:
    """Of the noise that acts directly first, then of what drives the filters: the order of the columns of V."""
    direct = [part.intensity for part in parts if part.direct.value.shape[1]]
    driving = [part.intensity for part in parts if not part.direct.value.shape[1]]
    return stack_diagonally([*direct, *driving], count)
