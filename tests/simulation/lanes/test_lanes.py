"""The ensemble solver against published values, IDA, exact moments, and itself in other layouts."""

import _thread
import signal
import subprocess
import sys
import threading
from itertools import count

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

import catalogue
import daedal as dd
from daedal import der, errors, jobs
from daedal.models import evaluate_parameters
from daedal.simulation.lanes import lane_run
from daedal.simulation.lanes.noise import LanePaths, make_sources

x, y, v, u, w, w2, k, c, a, b = dd.symbols("x y v u w w2 k c a b")
TIGHT = dd.IDA(rtol=1e-10, atol=1e-12)


def resonant(**options):
    return dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], **options)


def duffing(**changes):
    fields = {
        "name": "duffing",
        "equations": {"speed": der(x) == v, "force": der(v) == -k * x - x**3 - 0.4 * v + u + w},
        "unknowns": [x, v],
        "inputs": [u],
        "outputs": {"o": x + 0.1 * v},
        "parameters": {k: 4.0},
        "disturbances": {w: resonant(grid=0.05)},
        "initial": {x: 0.3, v: 0.0},
    }
    return dd.Model(**fields | changes)


# Catalogue


@pytest.mark.parametrize(
    "problem", [catalogue.robertson(), catalogue.hires(), catalogue.akzo_nobel()], ids=lambda p: p.name
)
def test_five_digits_of_stiff_chemistry(problem):
    times = np.unique([problem.start, *problem.references])
    found = dd.simulate(problem.model(), times, solver=dd.Lanes())
    assert found.status.ok
    for time, values in problem.references.items():
        place = int(np.flatnonzero(times == time)[0])
        for name, value in values.items():
            assert found[name][place] == pytest.approx(value, rel=1e-5), (time, name)


@pytest.mark.parametrize(
    ("problem", "parameter", "factors"),
    [
        (catalogue.robertson(), "k2", (1.0, 0.3, 3.0)),
        (catalogue.akzo_nobel(), "klA", (1.0, 0.4, 2.0)),
    ],
    ids=lambda p: getattr(p, "name", ""),
)
def test_lanes_with_different_parameters_against_ida(problem, parameter, factors):
    """The steps are chosen at the first set of values, and the others follow them."""
    plain = problem.model()
    model = plain.with_outputs({f"o{i}": 1.0 * s for i, s in enumerate(plain.unknowns)})
    end = min(problem.references)
    number = plain.parameters[parameter].value
    sets = [{parameter: factor * number} for factor in factors]
    found = dd.ensemble(model, [0.0, end], realizations=1, values=sets)
    for row, values in enumerate(sets):
        reference = dd.simulate(model, [0.0, end], values=values, solver=dd.IDA(1e-10, 1e-16))
        for name in model.outputs:
            assert found.mean[name][row, 1] == pytest.approx(reference[name][1], rel=1e-5), (values, name)


@pytest.mark.parametrize(
    "name", ["pendulum", "car axis", "motor with gear", "slider crank", "gear petzold", "capacitor loop"]
)
def test_other_problems_of_the_catalogue(name):
    problem = next(p for p in catalogue.PROBLEMS if p.name == name)
    times = np.unique([problem.start, *problem.references])
    found = dd.simulate(problem.model(), times, inputs=problem.inputs(), solver=dd.Lanes())
    assert found.status.ok
    for time, values in problem.references.items():
        place = int(np.flatnonzero(times == time)[0])
        for variable, value in values.items():
            assert abs(found[variable][place] - value) < 2e-4 * (1 + abs(value)), (time, variable)


@pytest.mark.parametrize("solver", [dd.Lanes(), dd.Lanes(step=0.005), dd.Lanes(method="radau5", step=0.01)], ids=str)
def test_over_the_top_without_failure(solver):
    """The pivots chosen at the bottom must serve, or be chosen anew, all the way round."""
    found = dd.simulate(catalogue.over_the_top().model(), np.linspace(0, 20, 201), solver=solver)
    assert found.status.ok
    assert found["y"].max() > 0.99
    assert np.max(np.abs(found["x"] ** 2 + found["y"] ** 2 - 1)) < 1e-13
    assert np.max(np.abs(found["x"] * found["vx"] + found["y"] * found["vy"])) < 1e-11
    assert np.max(np.abs(found["energy"] / found["energy"][0] - 1)) < 1e-5


def test_many_pendulums_over_the_top():
    xx, yy, vx, vy, lam = dd.symbols("x y vx vy lam")
    model = dd.Model(
        name="pushed",
        equations={
            "kinematics x": der(xx) == vx,
            "kinematics y": der(yy) == vy,
            "force x": der(vx) == -lam * xx + 20 * w,
            "force y": der(vy) == -lam * yy - 9.81,
            "rod": xx**2 + yy**2 == 1,
        },
        unknowns=[xx, yy, vx, vy, lam],
        disturbances={w: resonant(grid=0.01)},
        initial={xx: 0.0, vx: 7.0},
        guess={yy: -1.0},
    )
    found = dd.simulate(model, np.linspace(0, 10, 101), realizations=100, rng=3)
    assert found.status.ok, found.status
    assert found["y"].max() > 0.99
    assert np.max(np.abs(found["x"] ** 2 + found["y"] ** 2 - 1)) < 1e-12


# Paths


def paths_of(model, grid, seed, count, points, numbers=None):
    """The disturbances of `simulate` as signals: the j-th of them for path m is paths[m][j]."""
    system = dd.build(model)
    rates = np.zeros((len(system.reduction.parameters), 0))
    rows = LanePaths(
        make_sources(system, evaluate_parameters(model, numbers), grid, rates, 1), seed, "simulate", range(count)
    ).draw_rows(0, points)
    times = np.arange(points) * grid
    return [[dd.Signal(times, rows[:, j, m]) for j in range(rows.shape[1])] for m in range(count)]


@pytest.mark.parametrize("kind", ["foh", "zoh"])
@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_against_ida_on_the_same_path(kind, method):
    """The disturbance of each lane, given to IDA as an input: a copy of the model in which w is one."""
    grid, times = 0.05, np.arange(21) * 0.2
    drive = dd.Signal(np.arange(21) * 0.2, np.random.default_rng(2).normal(size=21), kind)
    model = duffing()
    known = duffing(inputs=[u, w], disturbances={})
    found = dd.simulate(model, times, inputs={"u": drive}, realizations=3, rng=6, solver=dd.Lanes(method=method))
    for m, (path,) in enumerate(paths_of(model, grid, 6, 3, 81)):
        reference = dd.simulate(known, times, inputs={"u": drive, "w": path}, solver=TIGHT)
        assert np.abs(found["x"][m] - reference["x"]).max() < 2e-6
        assert np.abs(found["v"][m] - reference["v"]).max() < 1e-5


def test_against_ida_with_samples_and_jumps_off_the_grid():
    times = np.r_[0.0, np.sort(np.random.default_rng(1).uniform(0, 3.9, 15))]
    drive = dd.Signal([0.0, 0.333, 1.777, 4.0], [1.0, -1.0, 2.0, 0.0], "zoh")
    model, known = duffing(), duffing(inputs=[u, w], disturbances={})
    found = dd.simulate(model, times, inputs={"u": drive}, realizations=2, rng=6)
    for m, (path,) in enumerate(paths_of(model, 0.05, 6, 2, 81)):
        reference = dd.simulate(known, times, inputs={"u": drive, "w": path}, solver=TIGHT)
        assert np.abs(found["x"][m] - reference["x"]).max() < 2e-6


def test_ida_and_lanes_see_the_same_realizations():
    times = np.arange(11) * 0.2
    options = {"inputs": {"u": 0.3}, "realizations": 2, "rng": 6}
    found = dd.simulate(duffing(), times, **options)
    reference = dd.simulate(duffing(), times, solver=TIGHT, **options)
    np.testing.assert_allclose(found["x"], reference["x"], atol=2e-6)


@pytest.mark.filterwarnings("ignore:The grid of .* is coarse")
def test_hermite_cubics_between_grid_points_against_ida():
    model = duffing(disturbances={w: resonant(grid=0.1, between="hermite")})
    times = np.arange(11) * 0.2
    options = {"inputs": {"u": 0.3}, "realizations": 2, "rng": 6}
    found = dd.simulate(model, times, **options)
    reference = dd.simulate(model, times, solver=TIGHT, **options)
    np.testing.assert_allclose(found["x"], reference["x"], atol=2e-6)
    straight = dd.simulate(duffing(disturbances={w: resonant(grid=0.1)}), times, **options)
    assert np.abs(found["x"] - straight["x"]).max() > 1e-5  # cubics are not lines


def test_steps_over_many_cells_are_moment_matched():
    """A smooth disturbance on a fine grid, at steps of five cells."""
    times = np.arange(41) * 0.1
    model = duffing(disturbances={w: resonant(grid=0.01)})
    coarse = dd.simulate(model, times, inputs={"u": 0.0}, realizations=4, rng=2, solver=dd.Lanes(step=0.05))
    fine = dd.simulate(model, times, inputs={"u": 0.0}, realizations=4, rng=2, solver=dd.Lanes(step=0.0025))
    assert np.abs(coarse["x"] - fine["x"]).max() < 1e-6


STEP = dd.Lanes(step=0.05)


def small(realizations, solver=STEP, **options):
    times = np.arange(11) * 0.1
    return dd.simulate(duffing(), times, inputs={"u": 0.3}, realizations=realizations, rng=5, solver=solver, **options)


def test_a_path_is_the_same_for_any_number_of_realizations():
    one, ten, many = small(1), small(10), small(200)
    for name in ("x", "v", "o"):
        np.testing.assert_array_equal(one[name], many[name][:1])
        np.testing.assert_array_equal(ten[name], many[name][:10])
    assert np.unique(many["x"][:, -1]).size == 200


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_a_path_is_the_same_for_any_number_of_threads(threads, monkeypatch):
    many = small(200)
    monkeypatch.setattr(jobs, "count_workers", lambda: threads)
    np.testing.assert_array_equal(small(200)["x"], many["x"])


def test_the_disturbance_is_the_same_for_other_parameters():
    """The path does not depend on k: integrate it alone."""
    model = duffing(
        equations={"speed": der(x) == v, "force": der(v) == -k * x + u + w, "path": der(y) == w},
        unknowns=[x, v, y],
        initial={x: 0.3, v: 0.0, y: 0.0},
    )
    times = np.arange(11) * 0.1
    runs = [
        dd.simulate(model, times, inputs={"u": 0.3}, realizations=3, rng=5, values={"k": number}, solver=STEP)
        for number in (4.0, 9.0)
    ]
    np.testing.assert_array_equal(runs[0]["y"], runs[1]["y"])
    assert np.abs(runs[0]["x"] - runs[1]["x"]).max() > 1e-3


@pytest.mark.filterwarnings("ignore:The grid of .* is coarse")
def test_simulate_and_ensemble_do_not_share_paths():
    """Data from seed 5 and a predictor from seed 5: uncorrelated."""
    model = dd.Model(
        name="integral",
        equations={"path": der(x) == w},
        unknowns=[x],
        outputs={"o": x},
        disturbances={w: dd.FilteredNoise([1.0], [1.0, 5.0], grid=0.1)},
        initial={x: 0.0},
    )
    times = np.arange(2001) * 0.1
    data = dd.simulate(model, times, realizations=1, rng=5, solver=dd.Lanes(step=0.1))["x"][0]
    mean = dd.ensemble(model, times, realizations=1, rng=5, solver=dd.Lanes(step=0.1)).mean["o"]
    assert abs(np.corrcoef(np.diff(data), np.diff(mean))[0, 1]) < 0.1
    again = dd.simulate(model, times, realizations=1, rng=5, solver=dd.Lanes(step=0.1))["x"][0]
    np.testing.assert_array_equal(data, again)


def test_generators_advance_and_seeds_do_not():
    rng = np.random.default_rng(3)
    first, second = (
        dd.simulate(duffing(), [0.0, 1.0], inputs={"u": 0.0}, realizations=1, rng=rng, solver=STEP) for _ in range(2)
    )
    assert first.seed != second.seed
    assert first["x"][0, 1] != second["x"][0, 1]


# Statistics


def test_mean_and_covariance_of_a_linear_model():
    """x' = A x + B w + known, w stationary: (x, w) is linear, its moments follow from matrix exponentials."""
    model = dd.Model(
        name="linear",
        equations={"speed": der(x) == v, "force": der(v) == -9 * x - 0.8 * v + 3 * w + u},
        unknowns=[x, v],
        inputs=[u],
        disturbances={w: dd.FilteredNoise.resonant(std=1.0, frequency=4.0, damping=0.3, grid=0.02)},
        initial={x: 1.0, v: 0.0},
    )
    count, times = 6000, np.arange(11) * 0.2
    found = dd.simulate(model, times, inputs={"u": 2.0}, realizations=count, rng=8)
    omega, zeta = 4.0, 0.3
    noise = np.array([[0.0, 1.0], [-(omega**2), -2 * zeta * omega]])
    gain = np.array([[0.0], [2 * np.sqrt(zeta * omega**3)]])
    A = np.zeros((4, 4))
    A[:2, :2], A[1, 2], A[2:, 2:] = [[0, 1], [-9, -0.8]], 3.0, noise
    Q = np.zeros((4, 4))
    Q[2:, 2:] = gain @ gain.T
    P = np.zeros((4, 4))
    P[2:, 2:] = solve_continuous_lyapunov(noise, -gain @ gain.T)
    stationary = solve_continuous_lyapunov(A, -Q)
    rest = np.array([2.0 / 9, 0.0])
    for i, time in enumerate(times[1:], start=1):
        E = expm(A * time)
        covariance = (E @ (P - stationary) @ E.T + stationary)[:2, :2]
        mean = rest + expm(A[:2, :2] * time) @ (np.array([1.0, 0.0]) - rest)
        sample = np.stack([found["x"][:, i], found["v"][:, i]])
        deviations = np.sqrt(np.diag(covariance))
        assert np.all(np.abs(sample.mean(axis=1) - mean) < 4.5 * deviations / np.sqrt(count)), time
        error = (np.cov(sample) - covariance) / np.outer(deviations, deviations)
        assert np.abs(error).max() < 4.5 * np.sqrt(2 / count), time


# Shapes


def test_shapes():
    single = dd.simulate(duffing(), [0.0, 0.5], inputs={"u": 0.3})
    assert single["x"].shape == (2,)
    assert single.realizations is None
    assert single.seed is None
    one = small(1)
    assert one["x"].shape == (1, 11)
    assert one["u"].shape == (11,)
    assert one.realizations == 1
    assert one.to_dataset().outputs["o"].values.shape == (11,)
    many = small(5)
    np.testing.assert_array_equal(many.to_dataset(realization=3).outputs["o"].values, many["o"][3])
    with pytest.raises(dd.DaedalError, match=r"5 realizations.*to_dataset\(realization=0\)"):
        many.to_dataset()
    with pytest.raises(dd.DaedalError, match="whole number from 0 to 4, got 5"):
        many.to_dataset(realization=5)
    table = many.to_xarray()
    assert table["x"].dims == ("realization", "time")
    assert table["u"].dims == ("time",)
    assert small(1).to_xarray()["x"].dims == ("realization", "time")
    assert single.to_xarray()["x"].dims == ("time",)


def test_printing_says_what_was_done():
    text = str(small(5))
    for part in ("5 realizations of 11 samples", "Lanes(rk4, 20 steps of 0.05)", "estimated error of the steps"):
        assert part in text
    assert "disturbances are zero: w" in str(dd.simulate(duffing(), [0.0, 0.5], inputs={"u": 0.3}))


# Failures


def escaping(**changes):
    """x' = x² − 1 + w: lanes pushed above 1 run away in finite time, as one in six does."""
    fields = {
        "name": "escape",
        "equations": {"rate": der(x) == x**2 - 1 + w},
        "unknowns": [x],
        "outputs": {"o": x},
        "disturbances": {w: dd.FilteredNoise.resonant(std=1.0, frequency=2.0, damping=0.5, grid=0.0125)},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


ESCAPE_TIMES = np.linspace(0, 10, 101)
FIXED = dd.Lanes(step=0.0125)


@pytest.mark.parametrize("solver", [FIXED, dd.Lanes(method="rk4", step=0.0125), dd.Lanes()], ids=str)
def test_lanes_that_escape_are_flagged(solver):
    found = dd.simulate(escaping(), ESCAPE_TIMES, realizations=100, rng=1, solver=solver)
    lost = np.isnan(found["x"]).any(axis=1)
    assert 5 < lost.sum() < 40
    assert not found.status.ok
    assert f"{lost.sum()} of 100 realizations stopped, the first at time" in found.status.sentence
    assert "NaN from there on" in found.status.remedy
    for row in found["x"][lost]:
        first = int(np.argmax(np.isnan(row)))
        assert np.isnan(row[first:]).all()
        assert np.isfinite(row[:first]).all()
        assert row[first - 1] > 0.5  # on its way up
    assert np.abs(found["x"][~lost, :-1]).max() < 100  # at the last sample one may be on its way
    assert np.abs(found["x"][~lost]).max() < 1e100


def test_ensembles_leave_failed_lanes_out(monkeypatch):
    """The mean is that of the others, which a simulation of the same paths gives one by one."""
    model = escaping()
    found = dd.ensemble(model, ESCAPE_TIMES, realizations=100, rng=1, solver=FIXED)
    assert 5 < len(found.failures) < 40
    assert f"{len(found.failures)} failed and were left out" in str(found)
    for failure in found.failures:
        assert 0 < failure.time <= 10
        assert failure.reason
    left_out = {failure.lane for failure in found.failures}
    assert len(left_out) == len(found.failures)
    monkeypatch.setattr(sys.modules["daedal.simulation.trajectories"], "PURPOSE", "ensemble")  # the same paths
    alone = dd.simulate(model, ESCAPE_TIMES, realizations=100, rng=1, solver=FIXED)
    assert set(np.flatnonzero(np.isnan(alone["o"]).any(axis=1)).tolist()) == left_out
    kept = alone["o"][[m for m in range(100) if m not in left_out]]
    np.testing.assert_allclose(found.mean["o"], kept.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.variance["o"], kept.var(axis=0, ddof=1), rtol=1e-10, atol=1e-12)


def test_when_all_fail_there_is_no_mean():
    runaway = escaping(initial={x: 3.0})
    with pytest.raises(dd.DaedalError, match=r"All 20 realizations failed, the first at time .*Lanes\(step=") as error:
        dd.ensemble(runaway, ESCAPE_TIMES, realizations=20, rng=1, solver=FIXED)
    assert "not finite" in str(error.value)


def test_an_equation_that_is_undefined_from_some_time_on():
    model = dd.Model(
        name="root",
        equations={"rate": der(x) == -1.0 + 0 * w, "root": y == np.sqrt(x)},
        unknowns=[x, y],
        disturbances={w: resonant(grid=0.05)},
        initial={x: 0.52},
    )
    found = dd.simulate(model, np.arange(11) * 0.1, realizations=3, rng=1, solver=dd.Lanes(step=0.05))
    assert not found.status.ok
    assert np.isfinite(found["y"][:, :6]).all()
    assert np.isnan(found["y"][:, 6:]).all()


@pytest.mark.filterwarnings("ignore:The grid of .* is coarse")
def test_an_unfinished_newton_iteration_is_not_a_result():
    """Steps far too long for x' = −50 (x⁵ − 1) at x = 3: the truth falls monotonically to one."""
    model = dd.Model(
        name="steep",
        equations={"rate": der(x) == -k * (x**5 - 1) + w},
        unknowns=[x],
        parameters={k: 50.0},
        disturbances={w: resonant(grid=0.125)},
        initial={x: 3.0},
    )
    try:
        found = dd.simulate(
            model, np.arange(9) * 0.125, realizations=2, rng=1, solver=dd.Lanes(method="radau3", step=0.125)
        )
    except dd.DaedalError:
        return
    assert not found.status.ok or np.abs(found["x"][:, 1:] - 1).max() < 0.5


def test_an_interrupt_returns_what_was_computed(monkeypatch):
    """The threads that compute wait at their thirtieth report until they are told to stop, however late that is."""
    times = np.arange(5001) * 0.1
    numbers, stop, original = count(1), errors.Stop(), lane_run.find_failures

    def find_and_interrupt(value, lanes, times, out, good, system):
        number = next(numbers)
        if number == 30:
            _thread.interrupt_main()
        if number >= 30:
            assert stop._event.wait(timeout=300)
        return original(value, lanes, times, out, good, system)

    monkeypatch.setattr(lane_run, "find_failures", find_and_interrupt)
    monkeypatch.setattr(jobs, "Stop", lambda: stop)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for background jobs
    try:
        found = dd.simulate(
            duffing(), times, inputs={"u": 0.3}, realizations=640, rng=1, variables=["x"], solver=dd.Lanes(step=0.05)
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert not found.status.ok
    assert "interrupted" in found.status.sentence
    known = np.isfinite(found["x"])
    assert 0.001 < known.mean() < 0.9
    assert threading.active_count() < 20


# Where time starts, and jumps


@pytest.mark.parametrize("start", [0.0, -5.0, 1.7e9])
@pytest.mark.parametrize("solver", [None, dd.Lanes(), dd.Lanes(step=0.01), dd.Lanes(method="radau5")], ids=str)
def test_only_the_time_since_the_start_counts(start, solver):
    model = dd.Model(name="decay", equations={"rate": der(x) == -2 * x}, unknowns=[x], initial={x: 1.0})
    times = start + np.linspace(0, 2, 9)
    found = dd.simulate(model, times, solver=solver)
    np.testing.assert_allclose(found["x"], np.exp(-2 * (times - start)), atol=2e-6)


def test_seconds_since_1970_with_disturbances():
    runs = [
        dd.simulate(duffing(), start + np.arange(101) * 0.1, inputs={"u": 0.3}, realizations=3, rng=1)
        for start in (0.0, 1.7e9)
    ]
    np.testing.assert_allclose(runs[1]["x"], runs[0]["x"], atol=5e-6)


def test_start_before_the_first_time():
    late = dd.simulate(duffing(), [1.0, 2.0], inputs={"u": 0.3}, t0=0.0, realizations=2, rng=1, solver=STEP)
    whole = dd.simulate(duffing(), [0.0, 1.0, 2.0], inputs={"u": 0.3}, realizations=2, rng=1, solver=STEP)
    np.testing.assert_allclose(late["x"], whole["x"][:, 1:], rtol=1e-12)


@pytest.mark.parametrize("solver", [dd.Lanes(), dd.Lanes(step=0.1), dd.Lanes(method="radau5")], ids=str)
def test_values_at_jumps_are_those_of_the_trajectory(solver):
    """Samples and jumps one rounding apart: what is observed belongs to the input that is shown."""
    model = dd.Model(
        name="lag",
        equations={"lag": der(x) == -x + u},
        unknowns=[x],
        inputs=[u],
        outputs={"slope": der(x)},
        initial={x: 0.0},
    )
    jumps = np.arange(60) * 0.1
    drive = dd.Signal(jumps, np.random.default_rng(1).normal(size=60), "zoh")
    for times in (jumps, np.linspace(0, 5.9, 60)):
        found = dd.simulate(model, times, inputs={"u": drive}, solver=solver)
        np.testing.assert_allclose(found["slope"], -found["x"] + found["u"], atol=1e-12)


def test_samples_that_lie_close_together():
    model = dd.Model(name="decay", equations={"rate": der(x) == -2 * x}, unknowns=[x], initial={x: 1.0})
    times = np.array([0.0, 0.3, 0.3 + 1e-10, 1.0])
    for solver in (None, dd.Lanes(), dd.Lanes(step=0.1)):
        np.testing.assert_allclose(dd.simulate(model, times, solver=solver)["x"], np.exp(-2 * times), rtol=1e-4)


def test_a_single_time():
    found = dd.simulate(duffing(), [0.0], inputs={"u": 0.3}, realizations=4, rng=1)
    np.testing.assert_array_equal(found["x"], np.full((4, 1), 0.3))


def test_a_model_without_states():
    model = dd.Model(
        name="static",
        equations={"sum": x + y == u + w, "cube": x == y**3},
        unknowns=[x, y],
        inputs=[u],
        disturbances={w: resonant(grid=0.05)},
        guess={y: 1.0},
    )
    found = dd.simulate(model, np.arange(5) * 0.25, inputs={"u": 2.0}, realizations=3, rng=2)
    assert found.status.ok
    np.testing.assert_allclose(found["x"], found["y"] ** 3, rtol=1e-9)
    for m, (path,) in enumerate(paths_of(model, 0.05, 2, 3, 21)):
        np.testing.assert_allclose(found["x"][m] + found["y"][m], 2.0 + path(found.times), rtol=1e-9)


def test_a_model_at_rest_under_large_forces():
    """Terms of 1e6 that cancel leave nothing to divide by."""
    model = dd.Model(
        name="rest",
        equations={"speed": der(x) == v, "force": der(v) == 1e6 - k * x - v},
        unknowns=[x, v],
        parameters={k: 3e6},
        initial={x: 1 / 3, v: 0.0},
    )
    for method in ("radau5", "radau3"):
        found = dd.simulate(model, np.linspace(0, 1, 11), solver=dd.Lanes(method=method))
        assert found.status.ok
        np.testing.assert_allclose(found["x"], 1 / 3, rtol=1e-12)


def test_declaring_loads_neither_compiler_nor_scipy():
    code = (
        "import sys, daedal; daedal.Model, daedal.FilteredNoise, daedal.symbols;"
        "print([m for m in ('llvmlite', 'scipy', 'pandas', 'xarray') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_pivots_that_vanish_on_the_way():
    """a cos θ − b sin θ = 1, a sin θ + b cos θ = 0 while θ turns: no fixed pivot serves all the way round."""
    theta = dd.symbol("theta")
    model = dd.Model(
        name="turn",
        equations={
            "turn": der(theta) == 1 + w,
            "first": a * np.cos(theta) - b * np.sin(theta) == 1,
            "second": a * np.sin(theta) + b * np.cos(theta) == 0,
        },
        unknowns=[theta, a, b],
        disturbances={w: resonant(grid=0.05)},
        initial={theta: 0.0},
    )
    times = np.linspace(0, 20, 201)
    found = dd.simulate(model, times, realizations=130, rng=1, solver=STEP)
    assert found.status.ok
    np.testing.assert_allclose(found["a"], np.cos(found["theta"]), atol=1e-9)
    few = dd.simulate(model, times, realizations=3, rng=1, solver=STEP)
    np.testing.assert_allclose(few["a"], found["a"][:3], atol=1e-9)
    assert np.array_equal(few["theta"], found["theta"][:3])


def test_a_pivot_that_is_exactly_zero_on_the_way():
    theta = dd.symbol("theta")
    model = dd.Model(
        name="zero",
        equations={"turn": der(theta) == 1.0, "first": a * theta + b == 1, "second": a - b * theta == 0},
        unknowns=[theta, a, b],
        initial={theta: -1.0},
    )
    found = dd.simulate(model, np.linspace(0, 2, 21), solver=dd.Lanes(step=0.1))
    assert found.status.ok
    np.testing.assert_allclose(found["a"], found["theta"] / (1 + found["theta"] ** 2), atol=1e-9)
