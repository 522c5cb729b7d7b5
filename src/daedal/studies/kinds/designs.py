"""Studies of designs and models: from a known truth, with experiments left out, from many starts, over values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, islice
from math import comb, prod
from typing import Any, final

import numpy as np

from daedal.data import Dataset, FrozenMapping
from daedal.disturbances import derive_seed
from daedal.errors import StudyError, as_float, check_whole_number, counted, is_real, list_entries, nearest, show
from daedal.estimation import Fit, LatinHypercube, label_experiments, list_starts
from daedal.models import Model, as_name, evaluate_parameters
from daedal.studies.kinds.kind import Outline, Run, check_other_data
from daedal.studies.kinds.replicas import simulate_data

MOST_SUBSETS = 1_000_000


@final
@dataclass(frozen=True)
class MonteCarlo:
    """Data from a known truth, with the times, inputs and missing samples of the data of the fit.

    The searches begin where that of the fit began. The study tells bias, root mean square error, and how often the
    intervals of 95 % hold the truth, of those estimates that are parameters of the truth.

    Parameters
    ----------
    truth
        A Model with the outputs of the data; it need not be that of the fit. Parameters with a value of their own in
        each experiment have those of the fit; what it held at one value in all of them is that of the truth.

    Examples
    --------
    >>> from daedal import Model, der, symbols
    >>> x, k = symbols("x k")
    >>> rate = {"rate": der(x) == -k * x}
    >>> decay = Model(name="decay", equations=rate, unknowns=[x], parameters={k: 2.0}, initial={x: 1.0})
    >>> MonteCarlo(truth=decay.with_parameters({"k": 1.5}))
    MonteCarlo(truth=Model('decay': 1 equation, unknown 'x'))
    """

    truth: Model

    def __post_init__(self) -> None:
        if not isinstance(self.truth, Model):
            raise StudyError(
                f"The truth of MonteCarlo must be a Model, got {show(self.truth)}.",
                "Write MonteCarlo(truth=fit.model.with_parameters({'k': 1.0})).",
            )

    def outline(self, fit: Fit) -> Outline:
        """Any number of runs, with the truth of the parameters that both models have."""
        check_other_data(fit)
        simulate_data(self.truth, fit.data, self._list_values(fit), 0)  # says what cannot be
        numbers = evaluate_parameters(self.truth)
        shared = {item.name: numbers.get(item.parameter) for item in fit.coordinates.items if item.experiment is None}
        local = {
            item.name: fit.params[item.name]
            for item in fit.coordinates.items
            if item.experiment is not None and item.parameter in self.truth.parameters
        }
        known = {name: float(value) for name, value in shared.items() if value is not None}
        return Outline(reading="truth", truth=FrozenMapping({**known, **local}))

    def make_run(self, fit: Fit, number: int, seed: int) -> Run:
        """Data of the truth, and the starts of the fit."""
        own = derive_seed(seed, "data of a study", number)
        start = {name: one.start for name, one in fit.estimates.items()}
        return Run(simulate_data(self.truth, fit.data, self._list_values(fit), own), start=start)

    def _list_values(self, fit: Fit) -> list[Mapping[str, float]]:
        """In each experiment, what the fit has for it alone, formulas of it at the truth; all else is the truth."""
        space, numbers = fit.coordinates, evaluate_parameters(self.truth)
        local = {item.parameter for item in space.items if item.experiment is not None}
        theta = [
            fit.params[item.name] if item.parameter in local else numbers.get(item.parameter, fit.params[item.name])
            for item in space.items
        ]
        every = [space.values(space.internal(theta), k) for k in range(len(fit.data))]
        own = local | {name for one in every for name in one if len({other.get(name) for other in every}) > 1}
        return [{name: value for name, value in one.items() if name in own} for one in every]


@final
@dataclass(frozen=True)
class LeaveOut:
    """Fits without `count` of the experiments, every choice of them once; their spread is the jackknife's.

    With n experiments and d left out, the standard error is √((n − d)/d) times the root mean square of the spread
    (Shao and Wu 1989). Where there are more choices than runs, these are drawn at random.

    J. Shao, C. F. J. Wu, A general theory for jackknife variance estimation, Ann. Statist. 17 (1989) 1176–1197.

    Examples
    --------
    >>> LeaveOut(1)
    LeaveOut(count=1)
    """

    count: int = 1

    def __post_init__(self) -> None:
        sentence = "The number of experiments to leave out must be a whole number from 1 on"
        check_whole_number(self.count, StudyError, sentence, "Write LeaveOut(1).", least=1)

    def outline(self, fit: Fit) -> Outline:
        """As many runs as there are choices."""
        size = len(fit.data)
        if self.count >= size or size < 3:
            raise StudyError(
                f"LeaveOut({self.count}) leaves out experiments, but the fit has {counted(size, 'experiment')}: "
                f"{'two or more' if size < 3 else 'one or more'} must be left.",
                "Give fit(...) a list of Datasets, or use BlockBootstrap(length=...).",
            )
        check_other_data(fit)
        total = comb(size, self.count)
        if total > MOST_SUBSETS:
            raise StudyError(
                f"There are {total} choices of {self.count} of {size} experiments, more than {MOST_SUBSETS}.",
                "Leave out fewer.",
            )
        return Outline(runs=total, reading="jackknife", factor=(size - self.count) / self.count)

    def make_run(self, fit: Fit, number: int, seed: int) -> Run:
        """All experiments but those of one choice, called as they were."""
        size = len(fit.data)
        place = int(_shuffle(comb(size, self.count), seed)[number])
        without = next(islice(combinations(range(size), self.count), place, None))
        labels = label_experiments(fit.data)
        named: list[Dataset] = [replace(one, name=label) for one, label in zip(fit.data, labels, strict=True)]
        left = ", ".join(labels[k] for k in without)
        return Run([one for k, one in enumerate(named) if k not in without], seed=fit.seed, labels={"left out": left})


@lru_cache(maxsize=4)
def _shuffle(total: int, seed: int) -> np.ndarray:
    return np.random.default_rng(derive_seed(seed, "order of a study", 0)).permutation(total)


@final
@dataclass(frozen=True)
class Starts:
    """The same data from `count` starts, spread evenly between the bounds: which minima are there?

    Examples
    --------
    >>> Starts(100)
    Starts(count=100)
    """

    count: int

    def __post_init__(self) -> None:
        sentence = "The number of starts must be a whole number from 2 on"
        check_whole_number(self.count, StudyError, sentence, "Write Starts(100).", least=2, most=1_000_000)

    def outline(self, fit: Fit) -> Outline:
        """As many runs as starts; every free parameter must have bounds."""
        _spread(fit, self.count, 0)
        return Outline(runs=self.count, reading="starts")

    def make_run(self, fit: Fit, number: int, seed: int) -> Run:
        """The data of the fit from one of the starts, with its random numbers."""
        space = fit.coordinates
        theta = space.natural(_spread(fit, self.count, seed)[number])
        start = dict(zip(space.names, theta.tolist(), strict=True))
        return Run(fit.data, start=start, seed=fit.seed, labels={f"start of {name}": v for name, v in start.items()})


@lru_cache(maxsize=1)
def _spread(fit: Fit, count: int, seed: int) -> list[np.ndarray]:
    return list_starts(LatinHypercube(count), fit.coordinates, derive_seed(seed, "starts of a study", 0))[1:]


@final
@dataclass(frozen=True)
class Scan:
    """The same data with parameters held at values, every combination of them; the other free ones are estimated.

    Examples
    --------
    >>> Scan({"k": [1.0, 2.0, 3.0]})
    Scan(values={'k': (1.0, 2.0, 3.0)})
    """

    values: Mapping[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping) or not self.values:
            raise StudyError(
                f"A scan must be a mapping from parameter to values, got {show(self.values)}.",
                "Write Scan({'k': [1.0, 2.0, 3.0]}).",
            )
        named = {as_name(key): _check_values(as_name(key), given) for key, given in self.values.items()}
        object.__setattr__(self, "values", FrozenMapping(named))

    def outline(self, fit: Fit) -> Outline:
        """As many runs as combinations; something must stay free."""
        for name in self.values:
            if name not in fit.model.parameters:
                raise StudyError(
                    f"Model '{fit.model.name}' has no parameter '{name}' to scan.", nearest(name, fit.model.parameters)
                )
        local = {item.parameter for item in fit.coordinates.items if item.experiment is not None}
        if both := sorted(local & set(self.values)):
            raise StudyError(
                f"'{both[0]}' has a value of its own in each experiment, so it cannot be scanned.",
                "Scan a parameter that all experiments share.",
            )
        if not set(fit.coordinates.free) - set(self.values):
            raise StudyError(
                "The scan leaves nothing free to estimate.", "Scan fewer parameters, or use evaluate(...)."
            )
        return Outline(runs=prod(map(len, self.values.values())), reading="table")

    def make_run(self, fit: Fit, number: int, _: int) -> Run:
        """One combination, the last parameter moving fastest."""
        sizes = [len(values) for values in self.values.values()]
        places = np.unravel_index(number, sizes)
        held = {name: values[int(k)] for (name, values), k in zip(self.values.items(), places, strict=True)}
        return Run(fit.data, fixed=held, seed=fit.seed, labels=held)


def _check_values(name: str, given: Any) -> tuple[float, ...]:
    entries = list_entries(given)
    if not entries or not all(
        is_real(one) and not isinstance(one, bool) and np.isfinite(as_float(one)) for one in entries
    ):
        raise StudyError(
            f"The values of '{name}' in a scan must be a list of numbers, got {show(given)}.",
            f"Write Scan({{'{name}': [1.0, 2.0]}}).",
        )
    return tuple(float(one) for one in entries)
