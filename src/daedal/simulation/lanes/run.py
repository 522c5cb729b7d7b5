"""What a prepared simulation of many lanes offers, however it is done: the contract, and what its kinds share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from daedal.errors import SimulationError
from daedal.simulation import steps
from daedal.simulation.lanes.scenario import Scenario, Values
from daedal.simulation.steps import Method, Shape
from daedal.systems import System

ESCAPED = 1e100  # what is larger is on its way to infinity
MEANINGLESS = 0.5  # relative error of the steps above which a simulation has failed

Consume = Callable[[int, range, np.ndarray, np.ndarray], None]  # number of the values, lanes, samples, rows


@final
@dataclass(frozen=True)
class Failure:
    """A lane that could not be simulated: from which time on, and why; `value` counts the sets of values."""

    lane: int
    time: float
    reason: str
    value: int = 0


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C in a run, with the lanes that had failed until then; `consume` gets nothing any more."""

    def __init__(self, failures: list[Failure]) -> None:
        super().__init__()
        self.failures = failures


class StepWish(NamedTuple):
    """What is asked of the steps: method and length, None where they are to be chosen, and the tolerance."""

    method: Method | None
    step: float | None
    tolerance: float


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """Shape of the program, length that steps have at most, lengths of all of them, estimated error of the results.

    The error is the largest change by shorter steps, relative to the size of each variable.
    """

    shape: Shape
    step: float
    lengths: np.ndarray
    error: float


class Run(Protocol):
    """A prepared simulation of many lanes: steps chosen, code compiled, initial values found.

    Every set of values sees the same disturbance paths. Systems without delays and those with delays have one kind
    each; nothing but `daedal.simulation.ensemble_solver.prepare` needs to know which.

    Attributes
    ----------
    scenario
        What is simulated: system, inputs, disturbances, free directions.
    times
        (sample,)
    plan
        Method and steps, with their estimated error.
    values
        Sets of parameter values, each with its consistent start.
    warnings
        What a user should know: a coarse grid, inputs that are not known early enough.
    text
        Method and steps, for tables.
    """

    @property
    def scenario(self) -> Scenario: ...
    @property
    def times(self) -> np.ndarray: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def values(self) -> tuple[Values, ...]: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def text(self) -> str: ...

    def run(self, realizations: int, consume: Consume) -> list[Failure]:
        """Simulate all lanes for all values; `consume(value, lanes, samples, out)` may come from several threads.

        `out` is (sample, output, lane), the outputs being the wanted values, then their sensitivities direction by
        direction. Failed lanes are returned; what `consume` was given for them is not to be used. Ctrl-C ends it with
        `RunInterrupted`.
        """
        ...

    def at(self, values: Sequence[Mapping[Any, float] | None]) -> "Run":
        """The same steps and program at other parameter values."""
        ...

    def estimate_step_error(self, values: Values) -> float:
        """What halving the steps changes at these values, on a few lanes, relative to the largest values."""
        ...


def refuse_long_steps(plan: Plan) -> None:
    """Steps so long that the results mean nothing; where nothing was finite, failures say so themselves."""
    if MEANINGLESS <= plan.error < np.inf:
        raise SimulationError(*blame_long_steps(plan))


def blame_long_steps(plan: Plan) -> tuple[str, str]:
    """A sentence about steps that are too long, and the remedy."""
    return (
        f"The steps are too long: dividing them changes the results by {plan.error:.1g} of the largest values.",
        "Give Lanes a smaller step, or leave the step to it.",
    )


def describe_steps(plan: Plan, remark: str = "") -> str:
    """The method, and how many steps of which length, as a table names a solver."""
    lengths = plan.lengths
    if not lengths.size:
        return "Lanes"
    regular = np.ptp(lengths) <= 1e-6 * lengths.max()
    step = f"{lengths.max():.3g}" if regular else f"{lengths.min():.2g} … {lengths.max():.2g}"
    return f"Lanes({plan.shape.method}, {lengths.size} steps of {step}{remark})"


def find_failures(
    value: int, lanes: range, times: np.ndarray, out: np.ndarray, good: np.ndarray, system: System
) -> Iterator[Failure]:
    """The lanes that are not good (sample, lane) at all times, with the first time that is not, and why."""
    for lane in np.flatnonzero(~good.all(axis=0)).tolist():
        row = int(np.argmin(good[:, lane]))
        finite = np.all(np.abs(out[row, :, lane]) < ESCAPED)
        reason = "its equations could not be solved" if finite else "a value was not finite"
        if system.reduction.switching is not None:
            reason = steps.explain_failure(system, float(out[row, -1, lane])) or reason
        yield Failure(lanes[lane], float(times[row]), reason, value)
