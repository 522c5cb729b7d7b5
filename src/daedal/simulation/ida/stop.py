"""Why a run could not go on, in the user's names.

The solver gives up a little before the cause: near a dead point, where J = ∂top/∂T has lost most of what it
had at the sample before; or before an equation can no longer be evaluated, which continuing along the slope shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedal.data import short
from daedal.errors import quoted
from daedal.systems import System, describe_dead_point

BEYOND = 10.0 ** np.arange(-12, -2)  # of the time since the start: how far the solution is continued
POOR = 1e-4  # smallest singular value of J relative to the sample before

Point = list[Any]  # t, X, T, parameters, exogenous


@dataclass(frozen=True)
class Stop:
    """Where the solver gave up: the point and (X', T') there, the last good point before it, and its own reason."""

    system: System
    point: Point
    rates: np.ndarray
    before: Point
    start: float
    reason: str

    def explain(self) -> tuple[str, str]:
        """Sentence and remedy."""
        time = short(self.point[0])
        finite = all(np.isfinite(part).all() for part in (*self.point, self.rates))
        if cause := finite and (describe_dead_point(self.system, self.point) or self._find_dead_point_ahead()):
            return (
                f"The simulation stopped at time {time}, where {cause}.",
                "The model passes through a singular position; change the position, the parameters or the equations.",
            )
        if equations := finite and self._find_undefined_ahead():
            several = len(equations) > 1
            return (
                f"The simulation stopped at time {time}, beyond which equation{'s' * several} {quoted(equations)} "
                f"{'are' if several else 'is'} not defined.",
                "Look for roots and logarithms of what becomes negative, and for divisions by what becomes zero.",
            )
        reason = self.reason.rstrip(".")
        return (
            f"The simulation stopped at time {time} ({reason[0].lower()}{reason[1:]}); {self._describe_largest()}.",
            "Check the equations and values there (divisions, roots, growth), or loosen rtol and atol.",
        )

    def _look_ahead(self) -> Iterator[Point]:
        time, x, top, p, w = self.point
        for step in BEYOND * (time - self.start):
            yield [time + step, x + step * self.rates[: x.size], top + step * self.rates[x.size :], p, w]

    def _find_undefined_ahead(self) -> list[str]:
        for point in self._look_ahead():
            undefined = np.isnan(self.system.function("top")(*point).full().ravel())
            if undefined.any():
                return [name for name, bad in zip(self._equations, undefined, strict=True) if bad]
        return []

    def _find_dead_point_ahead(self) -> str:
        earlier, now = (self.system.function("top_jacobian")(*point).full() for point in (self.before, self.point))
        if not np.isfinite(earlier).all() or np.linalg.slogdet(earlier)[0] == 0:
            return ""
        # Measured by the earlier Jacobian, both null vectors are free of units.
        _, sizes, unknowns = np.linalg.svd(np.linalg.solve(earlier, now))
        equations = np.linalg.svd(np.linalg.solve(earlier.T, now.T))[2]
        if sizes[-1] > POOR * sizes[0]:
            return ""
        guilty = _find_largest_shares(equations[-1], self._equations)
        verb = "equations {} no longer determine" if len(guilty) > 1 else "equation {} no longer determines"
        return f"{verb.format(quoted(guilty))} {quoted(_find_largest_shares(unknowns[-1], self.system.tops))}"

    @property
    def _equations(self) -> tuple[str, ...]:
        return tuple(self.system.reduction.equations.names)

    def _describe_largest(self) -> str:
        names = (*self.system.states, *self.system.tops)
        values = np.r_[self.point[1], self.point[2]]
        if not np.isfinite(values).all():
            return f"'{names[int(np.flatnonzero(~np.isfinite(values))[0])]}' is not finite there"
        worst = int(np.argmax(np.abs(values)))
        return f"the largest value there is '{names[worst]}' = {values[worst]:.4g}"


def _find_largest_shares(vector: np.ndarray, names: tuple[str, ...]) -> list[str]:
    size = np.abs(vector)
    return [names[i] for i in np.argsort(-size, kind="stable") if size[i] > 0.1 * size.max()]
