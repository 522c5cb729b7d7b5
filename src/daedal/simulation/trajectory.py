"""`Trajectory`: what a simulation gives, every variable and output by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from daedal import data
from daedal.data import Signal, short
from daedal.errors import SimulationError, check_whole_number, counted, look_up
from daedal.simulation.solver import Status

if TYPE_CHECKING:
    from datetime import datetime

    import pandas
    import xarray

ROWS = 20  # variables shown when printed


@final
@dataclass(frozen=True, eq=False)
class Trajectory:
    """Values over time of every unknown, output and input of a model.

    Attributes
    ----------
    times
        (time,)
    values
        Name → (time,), or (realization, time); NaN from where a run stopped, if it did not reach the end.
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
    realizations, seed
        How many trajectories with random disturbances, and what they were drawn from; None without.
    units
        Name, or "time" → text, as the model or the data declare them.
    origin
        The date at time 0, where the data that it was simulated with tell it.

    Examples
    --------
    >>> from daedal import Model, der, simulate, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> run = simulate(decay, [0.0, 0.5, 1.0])
    >>> run["x"].round(4)
    array([1.    , 0.3679, 0.1353])
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
    realizations: int | None = None
    seed: int | None = None
    partial: bool = False  # whether only some variables were kept
    units: Mapping[str, str] = field(default_factory=dict)
    origin: "datetime | None" = None

    def __getitem__(self, name: str) -> np.ndarray:
        return look_up(self.values, name, SimulationError, f"The trajectory of '{self.model}' has nothing called")

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def to_dataset(self, realization: int | None = None) -> "data.Dataset":
        """The outputs as if they had been measured, with the inputs that drove them; of one of several realizations."""
        if not self.outputs and self.partial:
            raise SimulationError(
                f"No output of '{self.model}' was kept.", "Add the outputs to variables=[...] when simulating."
            )
        if not self.outputs:
            raise SimulationError(
                f"Model '{self.model}' has no outputs, so nothing of it is measured.",
                "Declare outputs={'name': expression}.",
            )
        chosen = self._check_realization(realization)
        measured = {name: self.values[name] for name in self.outputs}
        outputs = {name: values if values.ndim == 1 else values[chosen] for name, values in measured.items()}
        units = {name: unit for name, unit in self.units.items() if name in ("time", *outputs, *self.inputs)}
        return data.Dataset(
            self.times, self.inputs, outputs, t0=self.t0, name=self.model, units=units, origin=self.origin
        )

    def _check_realization(self, realization: int | None) -> int:
        count = self.realizations or 1
        if realization is None and count > 1:
            raise SimulationError(
                f"The trajectory of '{self.model}' has {count} realizations, a Dataset holds one.",
                "Choose one with to_dataset(realization=0).",
            )
        if realization is None:
            return 0
        sentence = f"The realization must be a whole number from 0 to {count - 1}"
        remedy = "They are counted from 0."
        return check_whole_number(realization, SimulationError, sentence, remedy, least=0, most=count - 1)

    def to_pandas(self) -> "pandas.DataFrame":
        """All values as a frame over `time`, of several realizations over `realization` and `time`."""
        from daedal.tables import make_frame, stack_frames

        index = data.index_times(self.times, self.origin)
        if self.realizations is None:
            return make_frame("time", index, self.values, self.units)
        frames = {
            k: make_frame("time", index, {name: v if v.ndim == 1 else v[k] for name, v in self.values.items()})
            for k in range(self.realizations)
        }
        return stack_frames(["realization"], frames, self.units)

    def to_xarray(self) -> "xarray.Dataset":
        """All values as an xarray.Dataset over `time`; dates are in UTC."""
        import xarray

        attributes = {"model": self.model, "solver": self.solver, "status": str(self.status), "notes": list(self.notes)}
        columns = {n: (("realization", "time")[2 - v.ndim :], v) for n, v in self.values.items()}
        grid = self.times if self.origin is None else data.make_dates(self.times, self.origin)
        table = xarray.Dataset(columns, coords={"time": grid}, attrs=attributes)
        for name in {*self.units} & {*map(str, table.variables)}:
            table[name].attrs["units"] = self.units[name]
        return table

    def __str__(self) -> str:
        from daedal.tables import add_unit

        clock = f" {self.units['time']}" if "time" in self.units else ""
        span = f"{counted(self.times.size, 'sample')} from {short(self.times[0])} to {short(self.times[-1])}{clock}"
        span += "" if self.origin is None else f", since {self.origin}"
        many = f"{counted(self.realizations, 'realization')} of " if self.realizations else ""
        lines = [f"trajectory of '{self.model}': {many}{span}, {self.solver}", f"  {self.status}"]
        lines += [f"  {note}" for note in self.notes]
        labels = {name: add_unit(name, self.units) for name in self.values}
        width = max(map(len, labels.values()), default=0)
        ends = ("mean first", "mean last") if self.realizations else ("first", "last")
        lines.append(f"  {'':<{width}} {ends[0]:>12} {ends[1]:>12} {'smallest':>12} {'largest':>12}")
        for name, values in list(self.values.items())[:ROWS]:
            lines.append(f"  {labels[name]:<{width}} " + " ".join(f"{value:>12.6g}" for value in _find_range(values)))
        if len(self.values) > ROWS:
            lines.append(f"  and {len(self.values) - ROWS} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from daedal.tables import add_unit, align_columns, write_html

        ends = ("mean first", "mean last") if self.realizations else ("first", "last")
        rows = [["", *ends, "smallest", "largest"]]
        for name, values in list(self.values.items())[:ROWS]:
            rows.append([add_unit(name, self.units), *(f"{value:.6g}" for value in _find_range(values))])
        printed = str(self).split("\n")
        said = printed[: 2 + len(self.notes)]
        more = printed[-1:] if len(self.values) > ROWS else []
        return write_html([*said, *align_columns(rows), *more])

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.values)

    __repr__ = __str__


def _find_range(values: np.ndarray) -> list[float]:
    """First and last value (their means over realizations), smallest and largest."""
    known = values[np.isfinite(values)]
    ends = [float(np.mean(values[..., place])) for place in (0, -1)]
    return [*ends, *((known.min(), known.max()) if known.size else (np.nan, np.nan))]
