"""Clocks of held values: when samples are taken, and when they arrive.

hold(e, every, delay) samples e at t₀ + k · every, and gives that sample from t₀ + k · every + delay on. Period and
delay may depend on parameters; instants then move with them, ∂t_k/∂θ = k ∂every/∂θ, and with the delay where they
arrive.
"""

from collections.abc import Mapping

import numpy as np

from daedal.errors import SimulationError
from daedal.models import evaluate_expressions
from daedal.simulation.forcing import Clock
from daedal.symbolic import Held, find_operator
from daedal.systems import System

MOST = 1e7  # instants in one run
SAME = 1e-6  # of a period: an instant closer than this to the end of a step is there


def read_clocks(system: System, numbers: Mapping[str, float], duration: float) -> tuple[Clock, ...]:
    """The clocks of all held values of a system, in their order, at given values of the parameters."""
    switching = system.reduction.switching
    clocks = []
    for name in switching.held if switching else ():
        meaning = find_operator(name)
        assert isinstance(meaning, Held)
        values = evaluate_expressions({"every": meaning.every, "delay": meaning.delay}, numbers)
        clock = Clock(values["every"], values["delay"])
        if not (0.0 < clock.every < np.inf and 0.0 <= clock.delay <= clock.every * (1 + 1e-9)):
            raise SimulationError(
                f"'{name}' of model '{system.model.name}' would be sampled every {clock.every:g} s and be "
                f"{clock.delay:g} s late.",
                "The period must be positive, the delay between zero and the period.",
            )
        if duration > MOST * clock.every:
            raise SimulationError(
                f"'{name}' of model '{system.model.name}' would be sampled {duration / clock.every:.2g} times.",
                "Simulate less time, or sample less often.",
            )
        clocks.append(clock)
    return tuple(clocks)


def mark_times(clocks: tuple[Clock, ...], start: float, times: np.ndarray) -> np.ndarray:
    """What happens at times, (time, column): whether anything does; then for each held value whether
    a sample is taken, whether one arrives, and the numbers of both."""
    parts: list[list[np.ndarray]] = [[], [], [], []]
    for clock in clocks:
        for place, late in enumerate((0.0, clock.delay)):
            number = np.round((times - start - late) / clock.every)
            away = np.abs(times - start - late - number * clock.every)
            happens = (away <= SAME * clock.every) & (number >= 0) & _find_nearest(number, away)
            parts[place].append(happens.astype(float))
            parts[2 + place].append(np.where(happens, number, 0.0))
    columns = np.stack([column for part in parts for column in part], axis=1)
    return np.concatenate([(columns[:, : 2 * len(clocks)].sum(axis=1) > 0).astype(float)[:, None], columns], axis=1)


def _find_nearest(numbers: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Of times with the same number the one that is least away: everything happens once."""
    order = np.lexsort((away, numbers))
    nearest = np.zeros(numbers.size, dtype=bool)
    nearest[order[np.append(True, np.diff(numbers[order]) != 0) if numbers.size else order]] = True
    return nearest
