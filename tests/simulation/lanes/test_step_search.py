"""Method and steps are chosen so that the stated error is honest, and the notes say which."""

import re

import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal import der
from daedal.errors import SimulationError
from daedal.simulation.lanes import adaptive, noise, search
from daedal.simulation.lanes.pilot import compare

x, y, v, u, w, k = dd.symbols("x y v u w k")


def oscillator(frequency=2.0, grid=0.05, **changes):
    fields = {
        "name": "oscillator",
        "equations": {"speed": der(x) == v, "force": der(v) == -(frequency**2) * np.sin(x) - 0.1 * v + w},
        "unknowns": [x, v],
        "outputs": {"x": x, "v": v},
        "disturbances": {w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=grid)},
        "initial": {x: 1.0, v: 0.0},
    }
    return dd.Model(**fields | changes)


def real_error(model, times, found, step, method="rk4", **options):
    """Against a much finer run on the same paths, relative to the largest value of each output."""
    fine = dd.ensemble(model, times, realizations=1, rng=1, solver=dd.Lanes(method=method, step=step), **options)
    return max(np.abs(found.mean[n] - fine.mean[n]).max() / np.abs(fine.mean[n]).max() for n in found.mean)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("frequency", [1.0, 5.0, 30.0])
def test_the_chosen_step_meets_the_tolerance(frequency, tolerance):
    model, times = oscillator(frequency), np.arange(41) * 0.1
    found = dd.ensemble(model, times, realizations=1, rng=1, solver=dd.Lanes(tolerance=tolerance))
    real = real_error(model, times, found, 0.05 / 128)
    assert found.error <= tolerance
    assert real <= 10 * max(found.error, 1e-12)
    assert real <= 2 * tolerance


@pytest.mark.parametrize("method", ["rk4", "radau3", "radau5"])
@pytest.mark.parametrize("step", [0.1, 0.05, 0.025])
def test_the_error_of_a_given_step_is_honest(method, step):
    model, times = oscillator(3.0), np.arange(41) * 0.1
    found = dd.ensemble(model, times, realizations=1, rng=1, solver=dd.Lanes(method=method, step=step))
    real = real_error(model, times, found, 0.05 / 64)
    assert found.error / 10 <= real <= 10 * found.error


def test_the_error_is_honest_late_in_the_run_too():
    """An oscillator that becomes faster: the first samples do not speak for the last."""
    model = oscillator(equations={"speed": der(x) == v, "force": der(v) == -(1 + (dd.time / 4) ** 4) * x + 0.001 * w})
    times = np.arange(401) * 0.1
    found = dd.ensemble(model, times, realizations=1, rng=1)
    assert real_error(model, times, found, 0.05 / 512, method="radau5") <= 10 * found.error


def test_the_error_is_honest_where_jumps_lie_off_the_grid():
    model = oscillator(
        20.0,
        equations={"speed": der(x) == v, "force": der(v) == -400 * np.sin(x) + 20 * u + w},
        inputs=[u],
        disturbances={w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=0.05)},
    )
    drive = {"u": dd.Signal([0.0, 0.333, 1.777, 2.0], [1.0, -1.0, 2.0, 2.0], "zoh")}
    times = np.arange(21) * 0.1
    found = dd.ensemble(model, times, realizations=1, rng=1, inputs=drive)
    assert found.error > 0
    assert real_error(model, times, found, 0.05 / 64, inputs=drive) <= 10 * found.error


def test_the_error_is_honest_for_rough_disturbances():
    """First-order noise has kinks in every cell; the steps see its projection."""
    model = oscillator(3.0, disturbances={w: dd.FilteredNoise([1.0], [0.2, 1.0], grid=0.01)})
    times = np.arange(41) * 0.1
    found = dd.ensemble(model, times, realizations=1, rng=1)
    assert real_error(model, times, found, 0.01 / 16) <= 10 * found.error


def test_without_disturbances_steps_adapt():
    problem = catalogue.robertson()
    found = dd.simulate(problem.model(), [0.0, 40.0], solver=dd.Lanes())
    assert "radau5" in found.solver
    assert "…" in found.solver  # from short to long
    assert any("estimated error of the steps" in note for note in found.notes)


def test_a_calm_system_takes_runge_kutta_and_a_stiff_one_radau():
    times = np.arange(21) * 0.5
    assert "rk4" in dd.ensemble(oscillator(), times, realizations=2, rng=1).solver
    stiff = oscillator(
        equations={"speed": der(x) == v, "force": der(v) == -4 * x - 0.1 * v + w, "fast": der(y) == -1e5 * (y - x)},
        unknowns=[x, v, y],
        initial={x: 1.0, v: 0.0, y: 1.0},
        outputs={"x": x, "y": y},
    )
    found = dd.ensemble(stiff, times, realizations=2, rng=1)
    assert "radau5" in found.solver
    assert found.error <= 1e-6


def test_a_given_step_that_is_too_long_for_runge_kutta():
    """x' = −1e4 (x − cos t) at steps of 0.05 needs Radau."""
    model = dd.Model(
        name="stiff", equations={"rate": der(x) == -1e4 * (x - np.cos(dd.time))}, unknowns=[x], initial={x: 1.0}
    )
    found = dd.simulate(model, np.linspace(0, 1, 11), solver=dd.Lanes(step=0.05))
    np.testing.assert_allclose(found["x"], np.cos(found.times), atol=1e-3)


def test_given_steps_are_taken():
    times = np.arange(41) * 0.1
    for step, count in ((0.1, 40), (0.05, 80), (0.025, 160), (0.0125, 320)):
        found = dd.ensemble(oscillator(), times, realizations=1, rng=1, solver=dd.Lanes(step=step))
        assert f"{count} steps of {step:.3g}" in found.solver


def test_rounding_of_the_samples_makes_no_tiny_steps():
    """np.arange(n) · 0.1 and a grid that is chosen."""
    model = oscillator(disturbances={w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0])})
    for times in (np.arange(401) * 0.1, 1e5 + np.arange(401) * 0.1):
        found = dd.ensemble(model, times, realizations=1, rng=1, solver=dd.Lanes(method="rk4"))
        assert "…" not in found.solver, found.solver


def test_a_fast_start_with_a_disturbance():
    """x' = −50 (x⁵ − 1) + w from x = 3: very steep at first, calm afterwards."""
    model = dd.Model(
        name="steep",
        equations={"rate": der(x) == -k * (x**5 - 1) + w},
        unknowns=[x],
        outputs={"o": x},
        parameters={k: 50.0},
        disturbances={w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0])},
        initial={x: 3.0},
    )
    found = dd.ensemble(model, np.linspace(0, 1, 9), realizations=2, rng=1)
    assert not found.failures
    np.testing.assert_allclose(found.mean["o"][1:], 1.0, atol=0.01)


def test_difference():
    coarse = np.zeros((3, 2, 4))
    fine = coarse.copy()
    fine[:, 0], fine[:, 1] = 2.0, 1e-3

    def differ(coarse, fine, sizes=(1.0, 1.0)):
        return compare(coarse, fine, 2, False, lambda: np.array(sizes))

    assert differ(fine, fine) == 0.0
    assert differ(fine + 1e-4, fine) == pytest.approx(0.1)  # of the second variable, whose size is 1e-3
    assert differ(fine[:0], fine[:0]) == 0.0
    fine[:, 1] *= 1e-12
    assert differ(1.1 * fine, fine, (1.0, 1e-15)) == pytest.approx(0.1)  # a small unit
    assert differ(fine * [[1.0], [1.1]], fine) == 0.0  # round-off of what may become one


@pytest.mark.filterwarnings("ignore:The grid of .* is coarse")
def test_the_error_is_honest_for_samples_denser_than_the_steps():
    """x'' = −1e4 x: whatever the grid of a disturbance of no consequence, a hundred samples per second are too few."""
    model = oscillator(
        equations={"speed": der(x) == v, "force": der(v) == -1e4 * x + w},
        disturbances={w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=0.07)},
    )
    found = dd.ensemble(model, np.linspace(0, 1, 101), realizations=1, rng=1)
    # The push of the disturbance moves x by less than its size over 1e4.
    assert np.abs(found.mean["x"] - np.cos(100 * found.times)).max() < 1e-4
    assert found.error > 0


def test_an_output_with_a_second_derivative():
    model = dd.Model(
        name="lag",
        equations={"lag": der(x) == -k * x + w},
        unknowns=[x],
        outputs={"slope": der(x), "bend": der(der(x))},
        parameters={k: 1.0},
        disturbances={w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=0.05)},
        initial={x: 1.0},
    )
    found = dd.simulate(model, np.linspace(0, 1, 5), realizations=2, rng=1)
    assert found.status.ok
    assert np.isfinite(found["bend"]).all()


def test_a_small_variable_beside_a_large_one_keeps_its_digits():
    p, x, v = dd.symbols("p x v")  # a pressure in pascals beside a motion in centimetres
    model = dd.Model(
        name="units",
        equations={"p": der(p) == -(p - 1e10), "x": der(x) == v, "v": der(v) == -1600 * x},
        unknowns=[p, x, v],
        initial={p: 2e10, x: 0.01, v: 0.0},
    )
    times = np.linspace(0.0, 2.0, 9)
    np.testing.assert_allclose(dd.simulate(model, times)["x"], 0.01 * np.cos(40 * times), atol=1e-8)


def test_two_samples_close_together_do_not_set_the_steps():
    w, x = dd.symbols("w x")
    model = dd.Model(
        name="lag",
        equations={"rate": der(x) == -x + w},
        unknowns=[x],
        disturbances={w: dd.FilteredNoise.resonant(std=1.0, frequency=2.0, damping=0.5)},
        initial={x: 0.0},
    )
    run = dd.simulate(model, np.sort(np.r_[np.linspace(0, 2, 21), 1.000001]), realizations=2, rng=1)
    assert run.status.ok
    assert int(run.solver.split(",")[1].split()[0]) < 2000


def test_lanes_start_where_a_held_derivative_puts_them():
    w, x = dd.symbols("w x")
    model = dd.Model(
        name="rest",
        equations={"rate": der(x) == -x + w},
        unknowns=[x],
        outputs={"w": w},
        disturbances={w: dd.FilteredNoise.resonant(std=1.0, frequency=2.0, damping=0.5)},
        initial={dd.der(x): 0.0},
    )
    run = dd.simulate(model, np.linspace(0, 1, 5), realizations=3, rng=1)
    np.testing.assert_allclose(run["x"][:, 0], run["w"][:, 0], atol=1e-12)
    reference = dd.simulate(model, np.linspace(0, 1, 5), realizations=3, rng=1, solver=dd.IDA(1e-9, 1e-11))
    np.testing.assert_allclose(run["x"], reference["x"], atol=1e-5)


@pytest.mark.parametrize("times", [[1.0], [0.0, 1.0], np.linspace(0, 1, 3)])
def test_an_oscillation_between_few_samples_is_not_stepped_over(times):
    """Steps of a whole period see a cosine that is always one, and so do their halves."""
    (x,) = dd.symbols("x")
    model = dd.Model(
        name="hum", equations={"x": der(x) == np.cos(8 * np.pi * dd.time)}, unknowns=[x], initial={x: 0.0},
        outputs={"x": x},
    )  # fmt: skip
    assert dd.simulate(model, times)["x"][-1] == pytest.approx(0.0, abs=1e-7)


def cube_wave(cycles):
    """The lag of a cubed wave, and what it is after a second: sin³φ = (3 sin φ − sin 3φ)/4."""
    lag, angle = 0.5, 2 * np.pi * cycles
    cubed = dd.Model(
        name="cubed",
        equations={"lag": der(x) == -lag * x + np.sin(angle * dd.time + 1) ** 3},
        unknowns=[x],
        initial={x: 0.0},
    )
    waves = [(0.75 / (lag + 1j * angle), angle, 1.0), (-0.25 / (lag + 3j * angle), 3 * angle, 3.0)]
    return cubed, sum((c * (np.exp(1j * (w + p)) - np.exp(1j * p - lag))).imag for c, w, p in waves)


@pytest.mark.parametrize("cycles", [20.0, 287.3])
def test_steps_between_two_samples_are_as_exact_as_stated(cycles):
    """Of the larger number of waves, sixteen steps agree with eight by chance."""
    cubed, exact = cube_wave(cycles)
    run = dd.simulate(cubed, [0.0, 1.0], solver=dd.Lanes(tolerance=1e-8))
    stated = float(re.search("estimated error of the steps: ([^ ]+)", "".join(run.notes))[1])
    assert abs(run["x"][-1] - exact) <= 2 * stated * abs(exact)


def test_steps_that_all_go_over_an_oscillation_are_refused():
    with pytest.raises(SimulationError, match="No step was found"):
        dd.simulate(cube_wave(1000.0)[0], [0.0, 1.0], solver=dd.Lanes(tolerance=1e-8))


def test_a_meter_of_pulsating_power_tells_its_mean():
    (energy,) = dd.symbols("energy")
    power = 100.0 * (1 + np.cos(2 * np.pi * 120 * dd.time))
    model = dd.Model(
        name="meter", equations={"energy": der(energy) == power}, unknowns=[energy], initial={energy: 0.0},
        outputs={"energy": energy},
    )  # fmt: skip
    assert dd.simulate(model, np.arange(61.0))["energy"][-1] == pytest.approx(6000.0, rel=1e-6)


def test_sensitivities_at_rest_have_steps_of_their_own():
    """x stays zero whatever the steps; how it moves with its start does not."""
    x, v, k = dd.symbols("x v k")
    model = dd.Model(
        name="at rest", equations={"x": der(x) == v, "v": der(v) == -400.0 * x}, unknowns=[x, v],
        initial={x: k, v: 0.0}, parameters={k: 0.0}, outputs={"x": x},
    )  # fmt: skip
    times = np.linspace(0, 2, 9)
    found = dd.ensemble(model, times, realizations=1, sensitivities=["k"], rng=1)
    np.testing.assert_allclose(found.sensitivities["k"]["x"], np.cos(20 * times), atol=1e-5)


def count_trials(monkeypatch, model, times, solver, **inputs):
    """How many steps were tried one by one, and those that were taken; all others are forbidden."""
    tried, taken = [], []
    cross = adaptive.Crossing.cross

    def count(lane, stretches):
        crossings = cross(lane, stretches)
        tried.append(lane.trials)
        taken.extend(crossings or [])
        return crossings

    monkeypatch.setattr(search, "SEARCHES", (search.search_adaptively,))
    monkeypatch.setattr(adaptive.Crossing, "cross", count)
    found = dd.simulate(model, times, solver=solver, **inputs)
    return sum(tried), taken, found


def test_a_change_of_sign_makes_no_short_steps(monkeypatch):
    """x = cos t, v = −sin t: the steps are alike all along, whichever of the two is zero."""
    model = oscillator(equations={"speed": der(x) == v, "force": der(v) == -x}, disturbances={})
    tried, taken, found = count_trials(monkeypatch, model, np.linspace(0.0, 40.0, 3), dd.Lanes(method="rk4"))
    np.testing.assert_allclose(found["x"], np.cos(found.times), atol=1e-6)
    usual = np.concatenate(taken)[20:-2]  # after the first, which is a guess, and before the last, what is left
    assert usual.min() > 0.5 * np.median(usual)
    assert tried < 1.1 * sum(map(len, taken))


def test_steps_that_would_be_far_too_many_are_given_up_early(monkeypatch):
    """A lag of a tenth of a second over ten hours: explicit steps would be 130 000."""
    model = oscillator(
        equations={"lag": der(x) == 10.0 * (u - x)}, unknowns=[x], inputs=[u], outputs={"x": x},
        disturbances={}, initial={x: 0.0},
    )  # fmt: skip
    times = 900.0 * np.arange(41)
    push = dd.Signal(times, np.where(np.arange(41) % 3 == 1, 1.0, -1.0), intersample="zoh")
    tried, _, found = count_trials(monkeypatch, model, times, dd.Lanes(), inputs={"u": push})
    np.testing.assert_allclose(found["x"][1:], push(times[:-1]), atol=1e-6)
    assert tried < 1500


def test_pilots_draw_their_disturbances_as_one_block(monkeypatch):
    """Eight lanes for each of the steps that are tried, not eight times one."""
    drawn = []
    draw = noise.LanePaths._advance
    monkeypatch.setattr(
        noise.LanePaths, "_advance", lambda paths, *given: drawn.append(len(paths._paths)) or draw(paths, *given)
    )
    dd.simulate(oscillator(), np.arange(41) * 0.1, realizations=3, rng=1)
    assert set(drawn) == {8, 3}
    assert drawn.count(8) <= 1
