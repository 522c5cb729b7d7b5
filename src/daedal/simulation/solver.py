"""What a solver is: the contract of `simulate(..., solver=)`, and what a solver gives back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from daedal.data import short
from daedal.simulation.request import Request
from daedal.systems import InitialValues


@final
@dataclass(frozen=True)
class Status:
    """How work ended: `ok`, a sentence, and what to do when it is not; whether Ctrl-C ended it."""

    ok: bool
    sentence: str
    remedy: str = ""
    interrupted: bool = False

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".strip()


REACHED = Status(True, "The simulation reached its end.")


def describe_interrupt(times: np.ndarray, kept: np.ndarray) -> Status:
    """Up to where values (realization, variable, time) came."""
    remedy, known = "What was computed until then is kept, the rest is NaN.", np.any(~np.isnan(kept), axis=1)
    if len(kept) == 1:
        last = short(float(times[known[0]][-1]))
        return Status(False, f"The simulation was interrupted after time {last}.", remedy, interrupted=True)
    done = f"{int(np.sum(known[:, -1]))} of {len(kept)} realizations were finished"
    return Status(False, f"The simulation was interrupted: {done}.", remedy, interrupted=True)


@final
@dataclass(frozen=True, eq=False)
class Job:
    """What a solver is to do: which variables to keep of which request, at which parameter values.

    `realizations` is None where disturbances are zero; otherwise paths are drawn from seed and purpose.
    """

    asked: Request
    values: Mapping[Any, float] | None
    wanted: tuple[str, ...]
    realizations: int | None = None
    seed: int = 0
    purpose: str = ""


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """What a solver gives back.

    Attributes
    ----------
    values
        (realization, variable, time), one realization where disturbances are zero; NaN from where one stopped.
    start
        Initial values, with disturbances at zero.
    text
        The solver and its steps, for tables.
    status
        How it ended; a failure is said here, not raised.
    notes
        What a user should know.
    """

    values: np.ndarray
    start: InitialValues
    text: str
    status: Status
    notes: tuple[str, ...] = ()


@runtime_checkable
class Solver(Protocol):
    """Advances a system from consistent initial values through all times asked for.

    `Lanes` and `IDA` are two; a test battery says what every one of them has to do.
    """

    def simulate(self, job: Job) -> Outcome:
        """The wanted variables of one trajectory, or of all realizations.

        The same seed and purpose give the same paths, and realization m the same path however many there are. A
        trajectory that cannot go on is NaN from there on, with the reason in the status. A model that the solver
        cannot take is refused with a SimulationError before work starts.
        """
        ...
