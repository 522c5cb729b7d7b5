"""What comes of the data sets: the paper's method, too many terms, searches, and basis pursuit.

- as printed: `SparseSplines(terms=…)` with the true number of terms, all samples, each order that the tables assume;
- too many terms: the same with one and two terms more;
- searches: `select_order` with refined instrumental variables and with splines, from every tenth sample, with the input
  order known as in the paper; beside them output error that starts from the truth;
- basis pursuit on the derivatives of the fitted splines, at the samples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from daedal.linear import one_thread
from daedal.order import (
    PRINTED_KNOTS,
    OrderSearch,
    Record,
    RefinedIV,
    Shape,
    SparseSplines,
    SplineEquation,
    find_nearest_solution,
    keep_largest,
    make_record,
    make_spline_equation,
    polish,
    pursue_basis,
    select_order,
    solve_on_support,
    sparsify_equation,
)
from daedal.papers.kept_pieces import MakeAll, make_all_anew, refuse_interrupted
from daedal.papers.order.experiment import (
    READINGS,
    SYSTEMS,
    THINNED,
    Reading,
    System,
    make_monic,
    make_paper_coefficients,
    simulate_clean,
    simulate_noisy,
    thin,
)

# Without noise there is nothing that few knots would smooth. Four poles start with a fast transient, which splines of
# a low degree follow only with more of them.
QUIET_KNOTS, MORE_KNOTS = 250, 500
PURSUED_ORDER, PURSUED_RATIO = 6, 8.0  # of Tables 8 to 10
GAMMAS = (10.0, 5.0)
REFINED, SPLINES = "RefinedIV()", "SparseSplines()"
METHODS = {REFINED: RefinedIV(), SPLINES: SparseSplines()}
AT_ONCE = 5  # searches that one process makes before it reports


@final
@dataclass(frozen=True)
class Size:
    """Data sets for the method as printed, with too many terms, and for searches by either method."""

    printed: int
    too_many: int
    refined: int
    splines: int

    def __str__(self) -> str:
        return f"{self.printed} data sets; {self.refined} searches by {REFINED}, {self.splines} by {SPLINES}"


@final
@dataclass(frozen=True, eq=False)
class Printed:
    """The paper's method for one system, reading and assumed order.

    Attributes
    ----------
    quiet
        θ without noise, (a_0 … a_n, b_1 … b_m) with n the assumed order.
    values
        θ of each data set, (data set, coefficient).
    orders
        Terms too many → the order of each data set.
    """

    system: System
    reading: Reading
    assumed: int
    quiet: np.ndarray
    values: np.ndarray
    orders: Mapping[int, tuple[int, ...]]

    def place(self, name: str) -> int:
        """Where a coefficient stands in θ."""
        return int(name[1:]) + (self.assumed if name[0] == "b" else 0)

    @property
    def supported(self) -> float:
        """Share of the data sets in which exactly the true coefficients differ from zero."""
        true = np.zeros(self.values.shape[1], dtype=bool)
        true[[self.place(name) for name in self.system.names]] = True
        return float(np.mean(np.all((self.values != 0.0) == true, axis=1)))

    def rmse(self) -> np.ndarray:
        """Root mean square error of each true coefficient."""
        values = self.values[:, [self.place(name) for name in self.system.names]]
        return np.sqrt(np.mean((values - self.system.theta) ** 2, axis=0))


@final
@dataclass(frozen=True, eq=False)
class Searched:
    """Searches by one method, and output error from the truth on the same data.

    Attributes
    ----------
    orders
        The order that was chosen, (data set,).
    values, optimal
        θ of the candidate with the true orders, and of output error from the truth, (data set, coefficient).
    leading
        Standard error of the coefficient of the highest derivative, relative to it, in the candidate with the true
        orders, (data set,).
    """

    system: System
    reading: Reading
    method: str
    orders: np.ndarray
    values: np.ndarray
    optimal: np.ndarray
    leading: np.ndarray

    @property
    def right(self) -> float:
        """Share of the searches that chose the true order."""
        return float(np.mean(self.orders == self.system.order))

    def rmse(self) -> np.ndarray:
        """Root mean square error of each coefficient."""
        return np.sqrt(np.mean((self.values - self.system.theta) ** 2, axis=0))

    def ratio(self) -> float:
        """The largest ratio of the root mean square errors of search and optimum."""
        optimum = np.sqrt(np.mean((self.optimal - self.system.theta) ** 2, axis=0))
        return float(np.max(self.rmse() / optimum))


@final
@dataclass(frozen=True, eq=False)
class Pursued:
    """Tables 8 to 10 for one reading: coefficients a_6 … a_0, by what they are."""

    reading: Reading
    table_8: Mapping[str, np.ndarray]
    quiet: Mapping[str, np.ndarray]
    noisy: Mapping[str, np.ndarray]


def estimate_system(system: System, size: Size, make_all: MakeAll = make_all_anew) -> list[Printed]:
    """The paper's method for all orders that the tables assume, in both readings."""
    place, name = SYSTEMS.index(system), f"printed_{SYSTEMS.index(system)}"
    cases = [(reading, assumed) for assumed in system.columns for reading in READINGS]
    tasks = [[place, READINGS.index(reading), assumed, size.printed, size.too_many] for reading, assumed in cases]
    lists = make_all(name, f"{__name__}:list_printed", tasks)
    return [
        Printed(
            system,
            reading,
            assumed,
            np.array(one["quiet"]),
            np.array(one["values"]),
            {more: tuple(orders) for more, orders in one["orders"]},
        )
        for one, (reading, assumed) in zip(lists, cases, strict=True)
    ]


def list_printed(system: int, reading: int, assumed: int, printed: int, too_many: int) -> dict[str, Any]:
    """What `estimate_as_printed` gives, as lists."""
    size = Size(printed=printed, too_many=too_many, refined=0, splines=0)
    one = estimate_as_printed(SYSTEMS[system], READINGS[reading], assumed, size)
    orders = [[more, list(chosen)] for more, chosen in one.orders.items()]
    return {"quiet": one.quiet.tolist(), "values": one.values.tolist(), "orders": orders}


def search_all(size: Size, make_all: MakeAll = make_all_anew) -> list[Searched]:
    """All searches, in portions that processes can share."""
    counts = dict(zip(METHODS, (size.refined, size.splines), strict=True))
    cases = [(system, reading, method) for system in SYSTEMS for reading in READINGS for method in METHODS]
    portions = [
        (case, first, min(first + AT_ONCE, counts[case[2]]))
        for case in cases
        for first in range(0, counts[case[2]], AT_ONCE)
    ]
    tasks = [[SYSTEMS.index(s), READINGS.index(r), method, *ends] for (s, r, method), *ends in portions]
    lists = make_all("searches", f"{__name__}:list_searched", tasks)
    searches = [
        Searched(*case, *(np.array(one[name]) for name in ("orders", "values", "optimal", "leading")))
        for one, (case, *_) in zip(lists, portions, strict=True)
    ]
    return [
        join_searches([one for one, (mine, *_) in zip(searches, portions, strict=True) if mine is case])
        for case in cases
    ]


def pursue_all(make_all: MakeAll = make_all_anew) -> list[Pursued]:
    """Tables 8 to 10 in both readings."""
    lists = make_all("pursuits", f"{__name__}:list_pursued", [[k] for k in range(len(READINGS))])
    tables = ("table_8", "quiet", "noisy")
    return [
        Pursued(reading, *({name: np.array(row) for name, row in one[table].items()} for table in tables))
        for one, reading in zip(lists, READINGS, strict=True)
    ]


def list_pursued(reading: int) -> dict[str, Any]:
    """What `pursue` gives, as lists."""
    one = pursue(SYSTEMS[3], READINGS[reading])
    return {
        table: {name: row.tolist() for name, row in getattr(one, table).items()}
        for table in ("table_8", "quiet", "noisy")
    }


@one_thread
def estimate_as_printed(system: System, reading: Reading, assumed: int, size: Size) -> Printed:
    """The paper's method with the true number of terms, and with more of them."""
    terms = system.theta.size
    quiet = simulate_clean(system, reading)
    equations = [make_spline_equation(quiet, assumed, system.input_order, knots) for knots in PRINTED_KNOTS]
    values, orders = [], {1: [], 2: []}
    for number in range(size.printed):
        data = simulate_noisy(system, reading, number)
        values.append(find_nearest_solution(equations, True, data, terms).theta)
        for more, chosen in orders.items():
            if number < size.too_many and assumed >= system.order + more:
                theta = find_nearest_solution(equations, True, data, terms + more).theta
                chosen.append(int(np.max(np.flatnonzero(theta[: assumed + 1]), initial=0)))
    return Printed(
        system,
        reading,
        assumed,
        _solve_without_noise(quiet, assumed, system)[1],
        np.stack(values),
        {more: tuple(chosen) for more, chosen in orders.items()},
    )


@one_thread
def search_orders(system: System, reading: Reading, method: str, numbers: range) -> Searched:
    """Searches over all orders of the tables, from every tenth sample."""
    orders, values, optimal, leading = [], [], [], []
    truth = make_monic(system.theta, system.order)
    for number in numbers:
        data = thin(simulate_noisy(system, reading, number))
        search = _search(data, system, METHODS[method])
        if search.order != system.order:  # candidates that are not chosen are compared, not finished
            true = select_order(data, orders=[system.order], input_orders=[system.input_order], method=METHODS[method])
            candidate = refuse_interrupted(true).chosen
        else:
            candidate = search.chosen
        orders.append(search.order)
        values.append(make_paper_coefficients(np.array(list(candidate.coefficients.values())), system.order))
        # In the paper's normalisation a_n = 1/b_0.
        leading.append(candidate.std_errors["b0"] / abs(candidate.coefficients["b0"]))
        shape = Shape(system.order, system.input_order, 1, start=True)
        begin = np.concatenate([truth, np.zeros(system.order)])
        best = polish(shape, begin, make_record("reproduce", data, None, None))
        assert best is not None  # the truth has a response
        optimal.append(make_paper_coefficients(best.theta[: shape.coefficients], system.order))
    arrays = [np.array(column) for column in (orders, values, optimal, leading)]
    return Searched(system, reading, method, *arrays)


def _search(data: Any, system: System, method: Any) -> OrderSearch:
    tried = range(1, max(5, *system.columns) + 1)
    return refuse_interrupted(select_order(data, orders=tried, input_orders=[system.input_order], method=method))


def list_searched(system: int, reading: int, method: str, first: int, end: int) -> dict[str, Any]:
    """What `search_orders` gives, as lists."""
    one = search_orders(SYSTEMS[system], READINGS[reading], method, range(first, end))
    return {name: getattr(one, name).tolist() for name in ("orders", "values", "optimal", "leading")}


def join_searches(parts: Sequence[Searched]) -> Searched:
    """Searches of several data sets as one."""
    first = parts[0]
    arrays = [
        np.concatenate([getattr(part, name) for part in parts]) for name in ("orders", "values", "optimal", "leading")
    ]
    return Searched(first.system, first.reading, first.method, *arrays)


@one_thread
def pursue(system: System, reading: Reading) -> Pursued:
    """Tables 8 to 10, from one data set with a ratio of 8 and from the same without noise."""
    quiet, data = simulate_clean(system, reading), simulate_noisy(system, reading, 0, PURSUED_RATIO)
    terms = system.theta.size
    dense, exact = _solve_without_noise(quiet, PURSUED_ORDER, system)
    equations = [make_spline_equation(quiet, PURSUED_ORDER, 0, knots) for knots in PRINTED_KNOTS]
    solutions = [find_nearest_solution([equation], True, data, terms) for equation in equations]
    best = int(np.argmin([one.squares for one in solutions]))
    chosen, solution = equations[best], solutions[best].theta
    columns = chosen.columns(chosen.fit(chosen.reduce(data.y)))
    least = solve_on_support(columns, chosen.target, np.ones(columns.shape[1], dtype=bool))
    guess = keep_largest(least, PURSUED_ORDER, terms)
    return Pursued(
        reading,
        {"dense": least[::-1], "guess": guess[::-1], "solution": solution[::-1]},
        {"proposed": exact[::-1], **_pursue_each(dense, quiet.y[::THINNED], quiet)},
        {"proposed": solution[::-1], **_pursue_each(chosen, data.y, quiet)},
    )


def _solve_without_noise(quiet: Record, assumed: int, system: System) -> tuple[SplineEquation, np.ndarray]:
    """Splines with many knots, and θ; exact samples are no better for being many, so that every tenth does."""
    few = make_record("reproduce", thin(quiet), None, None)
    knots = MORE_KNOTS if system.order == 4 and assumed < PURSUED_ORDER else QUIET_KNOTS
    equation = make_spline_equation(few, assumed, system.input_order, knots)
    return equation, sparsify_equation(equation, few.y, system.theta.size)


def _pursue_each(equation: SplineEquation, y: np.ndarray, whole: Record) -> dict[str, np.ndarray]:
    """Basis pursuit with both γ: derivatives of splines fitted to y must explain the input at all samples."""
    splines = equation.fit(equation.reduce(y))
    A = np.stack([equation.basis.values(whole.times, k) @ splines for k in range(equation.order + 1)], axis=1)
    b = whole.inputs_now[0]
    least = float(np.linalg.norm(A @ solve_on_support(A, b, np.ones(A.shape[1], dtype=bool)) - b))
    return {f"γ = {gamma:g}": pursue_basis(A, b, least + gamma)[::-1] for gamma in GAMMAS}
