"""`Trajectory`: what a simulation gives, every variable and output by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from daedal.data import Dataset, Signal
from daedal.errors import SimulationError, nearest

if TYPE_CHECKING:
    import xarray

ROWS = 20  # variables shown when printed


@final
@dataclass(frozen=True)
class Status:
    """How a run ended: `ok`, a sentence, and what to do when it is not."""

    ok: bool
    sentence: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".strip()


@final
@dataclass(frozen=True, eq=False)
class Trajectory:
    """Values over time of every unknown, output and input of a model.

    Attributes
    ----------
    times
        (time,)
    values
        Name → (time,); NaN from where the run stopped, if it did not reach the end.
    outputs
        Names of the model's outputs.
    inputs
        The signals that drove the run.
    parameters
        Name → the number used.
    status
        How the run ended.
    notes
        What was assumed: disturbances at zero, open initial values, repairs of the structure.
    """

    model: str
    solver: str
    t0: float
    times: np.ndarray
    values: Mapping[str, np.ndarray]
    outputs: tuple[str, ...]
    inputs: Mapping[str, Signal]
    parameters: Mapping[str, float]
    status: Status
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> np.ndarray:
        key = str(name)
        if key not in self.values:
            raise SimulationError(
                f"The trajectory of '{self.model}' has nothing called '{key}'.", nearest(key, self.values)
            )
        return self.values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def to_dataset(self) -> Dataset:
        """The outputs as if they had been measured, with the inputs that drove them."""
        if not self.outputs:
            raise SimulationError(
                f"Model '{self.model}' has no outputs, so nothing of it is measured.",
                "Declare outputs={'name': expression}.",
            )
        return Dataset(
            self.times,
            inputs=self.inputs,
            outputs={n: self.values[n] for n in self.outputs},
            t0=self.t0,
            name=self.model,
        )

    def to_xarray(self) -> "xarray.Dataset":
        """All values as an xarray.Dataset over `time`."""
        import xarray

        attributes = {"model": self.model, "solver": self.solver, "status": str(self.status), "notes": list(self.notes)}
        return xarray.Dataset(
            {n: ("time", v) for n, v in self.values.items()}, coords={"time": self.times}, attrs=attributes
        )

    def __str__(self) -> str:
        span = f"{self.times.size} samples from {self.times[0]:g} to {self.times[-1]:g}"
        lines = [f"trajectory of '{self.model}': {span}, {self.solver}", f"  {self.status}"]
        lines += [f"  {note}" for note in self.notes]
        width = max(len(name) for name in self.values)
        lines.append(f"  {'':<{width}} {'first':>12} {'last':>12} {'smallest':>12} {'largest':>12}")
        for name, values in list(self.values.items())[:ROWS]:
            lines.append(f"  {name:<{width}} " + " ".join(f"{value:>12.6g}" for value in _range(values)))
        if len(self.values) > ROWS:
            lines.append(f"  and {len(self.values) - ROWS} more")
        return "\n".join(lines)

    __repr__ = __str__


def _range(values: np.ndarray) -> list[float]:
    known = values[np.isfinite(values)]
    return [values[0], values[-1], *((known.min(), known.max()) if known.size else (np.nan, np.nan))]
