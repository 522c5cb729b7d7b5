"""Tables of many `where` or `maximum`: against closed forms, brute force and the same model without its table."""

import casadi as ca
import numpy as np
import pytest

import daedal as dd
from batteries.switching import find_slopes, make_model
from daedal import build, der
from daedal.systems.switching import table

x, y, u, k, r = dd.symbols("x y u k r")
TIMES = np.linspace(0.0, 8.0, 41)
SOLVERS = {"IDA": dd.IDA(rtol=1e-10, atol=1e-12), "Lanes": dd.Lanes(tolerance=1e-8)}
by_both = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)


def look_up(argument, borders, values):
    """The first value below the first border, and so on."""
    formula = values[-1]
    for border, value in zip(borders[::-1], values[-2::-1], strict=True):
        formula = np.where(argument < border, value, formula)
    return formula


def draw(entries, seed=0):
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(0.1, 9.0, entries - 1)), rng.uniform(0.5, 1.5, entries)


def climb(times, borders, values, begin=0.0):
    """x' = value at x, all positive: straight lines between the instants of the borders."""
    first = int(np.searchsorted(borders, begin, side="right"))
    places, rates = np.r_[begin, borders[first:]], values[first:]
    instants = np.r_[0.0, np.cumsum(np.diff(places) / rates[:-1])]
    line = np.searchsorted(instants, times, side="right") - 1
    return places[line] + rates[line] * (times - instants[line]), rates[line]


@by_both
def test_a_staircase_of_a_state(solver):
    borders, values = draw(200)
    model = make_model("stairs", {"rate": der(x) == k * look_up(x, borders, values)}, {x: 0.0}, parameters={k: 1.0})
    expected, _ = climb(TIMES, borders, values)
    np.testing.assert_allclose(dd.simulate(model, TIMES, solver=solver)["x"], expected, rtol=0, atol=1e-11)


def test_its_sensitivity():
    """x(t; k) is x(k t; 1), so that dx/dk is t x'."""
    borders, values = draw(50)
    model = make_model("stairs", {"rate": der(x) == k * look_up(x, borders, values)}, {x: 0.0}, parameters={k: 1.0})
    expected, rates = climb(TIMES, borders, values)
    got, slopes = find_slopes(model, TIMES, ["k"], dd.Lanes())
    np.testing.assert_allclose(got[0], expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(slopes[0, 0], TIMES * rates, rtol=0, atol=1e-10)


@by_both
def test_it_starts_on_a_border_and_goes_down(solver):
    borders, values = draw(30)
    model = make_model("down", {"rate": der(x) == -look_up(x, borders, values)}, {x: borders[20]})
    below, rates = -borders[20::-1], values[20::-1]
    expected, _ = climb(TIMES, below[1:], rates, begin=below[0])
    np.testing.assert_allclose(dd.simulate(model, TIMES, solver=solver)["x"], -expected, rtol=0, atol=1e-11)


@by_both
def test_it_stops_where_both_sides_drive_it_back(solver):
    borders = np.arange(1.0, 10.0)
    values = np.r_[np.full(6, 1.0), np.full(4, -2.0)]
    model = make_model("stuck", {"rate": der(x) == look_up(x, borders, values)}, {x: 0.0})
    run = dd.simulate(model, TIMES, solver=solver)
    np.testing.assert_allclose(run["x"], np.minimum(TIMES, 6.0), rtol=0, atol=1e-11)


@by_both
def test_lines_and_sums_of_kinks_are_one_table(solver):
    """A polygon typed as branches, and as a sum: each piece is an exponential."""
    borders, slopes = np.arange(1.0, 7.0), np.array([0.3, -0.2, 0.1, 0.25, -0.15, 0.2, 0.05])
    heights = 1.0 + np.r_[0.0, np.cumsum(slopes[:-1])]
    pieces = [height + slope * (x - begin) for begin, (height, slope) in enumerate(zip(heights, slopes, strict=True))]
    total = (
        1.0
        + slopes[0] * x
        + sum(change * np.maximum(x - border, 0) for border, change in zip(borders, np.diff(slopes), strict=True))
    )
    expected, begin, time = [], 0.0, 0.0
    for height, slope in zip(heights, slopes, strict=True):
        last = time + np.log(1 + slope / height) / slope
        inside = TIMES[(time <= TIMES) & (last > TIMES)]
        expected += (begin + height / slope * np.expm1(slope * (inside - time))).tolist()
        begin, time = begin + 1.0, last
    for rate in (look_up(x, borders, pieces), total):
        model = make_model("polygon", {"rate": der(x) == rate}, {x: 0.0})
        assert len(build(model).reduction.switching.switches) == 2
        got = dd.simulate(model, TIMES, solver=solver)["x"][: len(expected)]
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)


@by_both
def test_an_input_that_jumps_over_many_borders(solver):
    """x' = value at x + u; with u held, straight lines again."""
    borders, values = np.arange(1.0, 40.0), np.random.default_rng(2).uniform(0.5, 1.5, 40)
    model = make_model("jumps", {"rate": der(x) == look_up(x + u, borders, values)}, {x: 0.0}, inputs=[u])
    steps = np.array([0.0, 20.0, 3.0, 30.0, 30.0])
    data = dd.Dataset(np.arange(5.0), inputs={"u": steps}, intersample="zoh")
    place, expected = 0.0, [0.0]
    for level in steps[:-1]:
        moved, _ = climb(np.array([1.0]), borders, values, begin=place + level)
        place = float(moved[0]) - level
        expected.append(place)
    np.testing.assert_allclose(dd.simulate(model, data, solver=solver)["x"], expected, rtol=0, atol=1e-10)


@by_both
def test_entries_that_are_no_straight_lines(solver, monkeypatch):
    """The same model, as a table and with every switch for itself."""
    borders = np.array([0.5, 1.0, 1.6, 2.1])
    entries = [r * np.cos(x), 1 + y**2, r + 0.1 * np.exp(-x), 0.7 + y, 1.2]
    equations = {"rate": der(x) == look_up(x, borders, entries), "lag": der(y) == x - y}
    model = make_model("curves", equations, {x: 0.1, y: 0.0}, parameters={r: 1.1})
    run = dd.simulate(model, TIMES, solver=solver)["x"]
    monkeypatch.setattr(table, "LEAST", 100)
    alone = make_model("alone", equations, {x: 0.1, y: 0.0}, parameters={r: 1.1, k: 1.0})
    assert len(build(alone).reduction.switching.switches) == 4
    np.testing.assert_allclose(run, dd.simulate(alone, TIMES, solver=dd.IDA(rtol=1e-10, atol=1e-12))["x"], atol=1e-6)


def test_more_entries_are_not_more_work():
    """Neither the switches nor the operations of the equations grow."""
    counts = []
    for entries in (100, 200):
        borders, values = draw(entries)
        reduction = build(make_model("table", {"rate": der(x) == look_up(x, borders, values)}, {x: 0.0})).reduction
        counts.append((len(reduction.switching.switches), ca.n_nodes(reduction.top)))
    assert counts[0] == counts[1]


U = dd.Signal(np.linspace(0.0, 8.0, 9), [0.0, 2.5, -1.0, 0.7, 3.0, 3.0, -2.0, 1.0, 0.5])


def integrate(compute, cuts):
    """∫ compute(u) dt by Gauss between cuts, at TIMES."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    edges = np.unique(np.concatenate([TIMES, U.times, cuts]))
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    rates = compute(U(middles[:, None] + halves[:, None] * nodes))
    return np.r_[0.0, np.cumsum(halves * (rates @ weights))][np.searchsorted(edges, TIMES)]


def cross(polynomial, number):
    """When a polynomial of U is a number: of the straight lines between samples."""
    times = []
    for begin, end, low, high in zip(U.times[:-1], U.times[1:], U.values[:-1], U.values[1:], strict=True):
        for root in np.roots(polynomial - np.r_[np.zeros(polynomial.size - 1), number]):
            share = (root.real - low) / (high - low) if high != low else -1.0
            if abs(root.imag) < 1e-12 and 0.0 < share < 1.0:
                times.append(begin + share * (end - begin))
    return times


@by_both
def test_a_table_of_a_polynomial_of_an_input(solver):
    """A hundred numbers, of which one signal is made."""
    bend = np.array([1.0, -0.3, 0.2])
    borders, values = draw(100)
    rate = k * look_up(bend[0] * u**2 + bend[1] * u + bend[2], borders, values) + 0.1 * u
    model = make_model("table", {"rate": der(x) == rate}, {x: 0.0}, inputs=[u], parameters={k: 1.0})
    assert len(build(model).reduction.switching.known) == 1
    cuts = [time for border in borders for time in cross(bend, border)]
    assert len(cuts) > 300

    def compute(at):
        return values[np.searchsorted(borders, np.polyval(bend, at), side="right")] + 0.1 * at

    got = dd.simulate(model, TIMES, inputs={u: U}, solver=solver)["x"]
    np.testing.assert_allclose(got, integrate(compute, cuts), rtol=0, atol=1e-8)


def test_very_many_kinks_of_an_input():
    """The highest of sixty parabolas, each nested in the next; and a table of jumps beside them."""
    tops = np.random.default_rng(3).uniform(-2.0, 3.0, 60)
    highest = -((u - tops[0]) ** 2)
    for top in tops[1:]:
        highest = np.maximum(highest, -((u - top) ** 2))
    borders, values = draw(20)
    model = make_model(
        "kinks", {"rate": der(x) == 100 * highest + look_up(u, borders, values) - 0.0 * x}, {x: 0.0}, inputs=[u]
    )
    cuts = [time for border in borders for time in cross(np.array([1.0, 0.0]), border)]
    cuts += [
        time for place in (np.sort(tops)[1:] + np.sort(tops)[:-1]) / 2 for time in cross(np.array([1.0, 0.0]), place)
    ]

    def compute(at):
        parabola = -np.min((at[..., None] - tops) ** 2, axis=-1)
        return 100 * parabola + values[np.searchsorted(borders, at, side="right")]

    got = dd.simulate(model, TIMES, inputs={u: U}, solver=SOLVERS["Lanes"])["x"]
    np.testing.assert_allclose(got, integrate(compute, cuts), rtol=0, atol=1e-9)


def test_many_kinks_in_what_is_differentiated_are_refused():
    """As few are: a speed would have to jump."""
    road = sum((np.maximum(u - 0.1 * n, 0.0) for n in range(20)), 0.0 * u)
    equations = {"place": x == road, "speed": der(x) == y}
    model = make_model("road", equations, {}, unknowns=[x, y], inputs=[u])
    with pytest.raises(dd.DaedalError, match=r"'place' of model 'road' is differentiated.*impacts are not simulated"):
        build(model)
