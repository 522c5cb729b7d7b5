"""What a test problem is: a model, an interval, and values known from elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import daedal as dd

Values = Mapping[str, float]


@dataclass(frozen=True)
class Problem:
    """A model with a solution that some other source knows.

    `model` and `inputs` are factories, so that importing the catalogue builds nothing. `reference` holds values at
    `end`, or maps times to values; it may name outputs as well as unknowns. `index` is the differentiation index (0 for
    an ordinary differential equation), and `initial` of the model holds `degrees_of_freedom` values. A problem without
    a solution has neither.
    """

    name: str
    model: Callable[[], dd.Model]
    end: float
    reference: Values | Mapping[float, Values]
    source: str
    index: int | None
    degrees_of_freedom: int | None
    inputs: Callable[[], Mapping[str, dd.Signal]] = dict
    start: float = 0.0

    @property
    def references(self) -> Mapping[float, Values]:
        """The reference as time → values, whichever way it was given."""
        if any(isinstance(key, str) for key in self.reference):
            return {self.end: self.reference}
        return self.reference


def constants(**values: float) -> tuple[SimpleNamespace, dict[dd.Expression, float]]:
    """Parameters by name: their symbols as attributes, and the mapping symbol → value that a model takes."""
    symbols = dd.symbols(" ".join(values))
    return SimpleNamespace(**dict(zip(values, symbols, strict=True))), dict(zip(symbols, values.values(), strict=True))


def table(names: str, numbers: str) -> dict[str, float]:
    """Reference values typed as a row: table("x y", "1.0 2.0") is {"x": 1.0, "y": 2.0}."""
    return dict(zip(names.split(), map(float, numbers.split()), strict=True))


def numbered(**rows: str) -> dict[str, float]:
    """Reference values of symbols that carry an index: numbered(x="1.0 2.0") is {"x[0]": 1.0, "x[1]": 2.0}."""
    return {f"{name}[{i}]": float(number) for name, row in rows.items() for i, number in enumerate(row.split())}
