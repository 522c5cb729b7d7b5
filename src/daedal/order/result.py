"""`OrderSearch`: every candidate that was tried, the one that was chosen, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from daedal.data import FrozenMapping
from daedal.errors import EstimationError, is_real, look_up, show
from daedal.estimation import Fit
from daedal.lti import TransferFunction
from daedal.simulation import Status
from daedal.tables import align_columns, format_error, format_number, make_frame, stack_frames, write_html

if TYPE_CHECKING:
    import pandas

FINISHED = Status(True, "All candidates were tried.")
NEARLY = 0.1  # exponent over the record up to which a pole to the right of zero passes for one at zero
LOOSE = 0.5  # standard error relative to the size of a coefficient from which it is hardly in the data


@final
@dataclass(frozen=True, eq=False)
class Candidate:
    """One order and what came of it.

    Attributes
    ----------
    transfer_function
        Monic; None where no coefficients were found.
    coefficients, std_errors
        Name → number.
    scales
        Name → size that its standard error is compared with.
    delay_errors
        Input → standard error of its delay, where delays were estimated.
    bic
        Schwarz's criterion: the smallest is the best.
    fit_percent, held_out
        100 (1 − |y − ŷ| / |y − mean y|) of the simulated output on all samples, and on the last ones by a model made
        from the others.
    growth
        Real part of the rightmost pole times the length of the record: what grows does so by e to this power.
    failure
        Why there is no transfer function, if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal import Dataset, select_order
    >>> times = np.arange(200) * 0.1
    >>> u = np.sign(np.sin(0.7 * times))
    >>> y = np.zeros(200)
    >>> for k in range(199):  # y' = −2 y + u, with u held
    ...     y[k + 1] = np.exp(-0.2) * y[k] + (1 - np.exp(-0.2)) / 2 * u[k]
    >>> noisy = y + 0.01 * np.random.default_rng(0).standard_normal(200)
    >>> data = Dataset(times, inputs={"u": u}, outputs={"y": noisy}, intersample="zoh")
    >>> chosen = select_order(data, orders=[1]).chosen
    >>> chosen.order, round(chosen.coefficients["a0"], 1)
    (1, 2.0)
    """

    order: int
    input_order: int
    transfer_function: TransferFunction | None
    coefficients: Mapping[str, float]
    std_errors: Mapping[str, float]
    scales: Mapping[str, float]
    bic: float
    fit_percent: float
    held_out: float
    growth: float
    delay_errors: Mapping[str, float] = field(default_factory=lambda: FrozenMapping({}))
    failure: str = ""

    @property
    def grows(self) -> bool:
        """Whether a pole to the right of zero shows within the record; one nearer to zero acts as an integrator."""
        return self.growth > NEARLY

    @property
    def stable(self) -> bool:
        """Whether all poles have negative real parts."""
        return self.transfer_function is not None and self.transfer_function.stable

    @property
    def loosest(self) -> float:
        """The largest standard error relative to the size of its coefficient."""
        return max((self._looseness(name) for name in self.coefficients), default=float("inf"))

    @property
    def not_in_the_data(self) -> tuple[str, ...]:
        """Coefficients that the samples hardly tell."""
        return tuple(name for name in self.coefficients if not self._looseness(name) <= LOOSE)

    def _looseness(self, name: str) -> float:
        scale = self.scales[name]
        return self.std_errors[name] / scale if scale > 0.0 else float("inf")

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> list[str]:
        """What it is, how well it does, and its coefficients."""
        title = f"order {self.order}, input order {self.input_order}"
        if self.transfer_function is None:
            return [title, f"  {self.failure}"]
        fits = f"fit {self.fit_percent:.1f} %, held out {self.held_out:.1f} %, BIC {self.bic:.1f}"
        rows = [
            [name, format_number(value, self.std_errors[name]), format_error(self.std_errors[name])]
            for name, value in self.coefficients.items()
        ]
        return [title, f"  {self.transfer_function}", f"  {fits}", *align_columns([["", "value", "std error"], *rows])]

    def _repr_html_(self) -> str:
        return write_html(self._list_lines())

    __repr__ = __str__


@final
@dataclass(frozen=True, eq=False)
class OrderSearch:
    """What `select_order` found; `transfer_function` and `fit` belong to the chosen candidate.

    `status` tells whether all candidates were tried.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal import Dataset, select_order
    >>> times = np.arange(200) * 0.1
    >>> u = np.sign(np.sin(0.7 * times))
    >>> y = np.zeros(200)
    >>> for k in range(199):  # y' = −2 y + u, with u held
    ...     y[k + 1] = np.exp(-0.2) * y[k] + (1 - np.exp(-0.2)) / 2 * u[k]
    >>> noisy = y + 0.01 * np.random.default_rng(0).standard_normal(200)
    >>> data = Dataset(times, inputs={"u": u}, outputs={"y": noisy}, intersample="zoh")
    >>> search = select_order(data, orders=[1, 2])
    >>> search.order, len(search.candidates)
    (1, 3)
    """

    method: str
    candidates: tuple[Candidate, ...]
    chosen: Candidate
    reason: str
    notes: tuple[str, ...]
    made_fit: Any  # a function that makes the Fit, which takes longer than the search
    status: Status = FINISHED

    @property
    def order(self) -> int:
        """How many poles."""
        return self.chosen.order

    @property
    def input_order(self) -> int:
        """The highest derivative of an input."""
        return self.chosen.input_order

    @property
    def transfer_function(self) -> TransferFunction:
        """The chosen one, monic."""
        function = self.chosen.transfer_function
        assert function is not None  # a candidate without one is never chosen
        return function

    @cached_property
    def fit(self) -> Fit:
        """The chosen model as an ordinary Fit, with standard errors that respect what is left in the residual."""
        fitted = self.made_fit()
        if fitted.status.interrupted:  # it would be kept
            raise KeyboardInterrupt("The fit of the chosen candidate was interrupted; ask for it again.")
        return fitted

    def __getitem__(self, key: Any) -> Candidate:
        """The candidate of (order, input_order)."""
        wanted = tuple(key) if isinstance(key, tuple) else (key, self.input_order)
        for candidate in self.candidates:
            if all(map(is_real, wanted)) and (candidate.order, candidate.input_order) == wanted:
                return candidate
        tried = ", ".join(f"({candidate.order}, {candidate.input_order})" for candidate in self.candidates)
        raise EstimationError(f"No candidate {show(wanted)} was tried.", f"Tried were {tried}.")

    def to_pandas(self) -> "pandas.DataFrame":
        """The candidates over `order` and `input_order`."""
        fields = ("bic", "fit_percent", "held_out", "stable", "growth", "loosest", "failure")
        frames = {}
        for order in dict.fromkeys(one.order for one in self.candidates):
            mine = [one for one in self.candidates if one.order == order]
            columns = {name: [getattr(one, name) for one in mine] for name in fields}
            columns["chosen"] = [one is self.chosen for one in mine]
            frames[order] = make_frame("input_order", [one.input_order for one in mine], columns)
        return stack_frames(["order"], frames)

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> list[str]:
        rows = [["", "order", "input order", "BIC", "fit", "held out", "loosest", "stable", ""]]
        rows += [self._row(candidate) for candidate in self.candidates]
        return [
            f"order search by {self.method}",
            *align_columns(rows),
            f"  {self.reason}",
            *([] if self.status.ok else [f"  {self.status}"]),
            *(f"  {note}" for note in self.notes),
        ]

    def _repr_html_(self) -> str:
        return write_html(self._list_lines())

    def _row(self, candidate: Candidate) -> list[str]:
        mark = "→" if candidate is self.chosen else ""
        orders = [mark, str(candidate.order), str(candidate.input_order)]
        if candidate.transfer_function is None:
            return [*orders, "—", "—", "—", "—", "—", candidate.failure]
        loosest = f"{100.0 * candidate.loosest:.2g} %" if candidate.loosest < 10.0 else "> 1000 %"
        held = f"{candidate.held_out:.1f} %" if np.isfinite(candidate.held_out) else "—"
        numbers = [f"{candidate.bic:.1f}", f"{candidate.fit_percent:.1f} %", held, loosest]
        stable = "yes" if candidate.stable else "no" if candidate.grows else "nearly"
        return [*orders, *numbers, stable, ""]

    __repr__ = __str__


@final
@dataclass(frozen=True, eq=False)
class OrderSearches:
    """What `select_order` found for several outputs; `searches["y"]` is the `OrderSearch` of one.

    Every output has poles of its own, so that the lowest BIC of all together is the sum of the lowest of each.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal import Dataset, select_order
    >>> times = np.arange(200) * 0.1
    >>> u = np.sign(np.sin(0.7 * times))
    >>> y = np.zeros(200)
    >>> for k in range(199):  # y' = −2 y + u, with u held
    ...     y[k + 1] = np.exp(-0.2) * y[k] + (1 - np.exp(-0.2)) / 2 * u[k]
    >>> noisy = y + 0.01 * np.random.default_rng(0).standard_normal(200)
    >>> data = Dataset(times, inputs={"u": u}, outputs={"y": noisy, "z": 2 * noisy}, intersample="zoh")
    >>> searches = select_order(data, orders=[1], output=["y", "z"])
    >>> searches["z"].order
    1
    """

    searches: Mapping[str, OrderSearch]

    @property
    def bic(self) -> float:
        """Schwarz's criterion of the chosen models together."""
        return sum(search.chosen.bic for search in self.searches.values())

    @property
    def status(self) -> Status:
        """Whether all candidates of all outputs were tried: that of the first output of which it is not so."""
        ends = [search.status for search in self.searches.values()]
        return next((status for status in ends if not status.ok), FINISHED)

    @property
    def transfer_functions(self) -> Mapping[str, TransferFunction]:
        """Output → the chosen one, monic."""
        return FrozenMapping({name: search.transfer_function for name, search in self.searches.items()})

    def __getitem__(self, output: Any) -> OrderSearch:
        return look_up(self.searches, output, EstimationError, "There was no search for an output")

    def __iter__(self) -> Iterator[str]:
        return iter(self.searches)

    def to_pandas(self) -> "pandas.DataFrame":
        """The candidates over `output`, `order` and `input_order`."""
        return stack_frames(["output"], {name: search.to_pandas() for name, search in self.searches.items()})

    def __str__(self) -> str:
        parts = [f"output '{name}': {search}" for name, search in self.searches.items()]
        return "\n".join([*parts, f"BIC of the chosen models together: {self.bic:.1f}"])

    def _repr_html_(self) -> str:
        lines = [line for name, one in self.searches.items() for line in (f"output '{name}':", *one._list_lines())]
        return write_html([*lines, f"BIC of the chosen models together: {self.bic:.1f}"])

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.searches)

    __repr__ = __str__


def name_values(names: list[str], values: np.ndarray) -> Mapping[str, float]:
    """Name → number."""
    return FrozenMapping(dict(zip(names, map(float, values), strict=True)))
