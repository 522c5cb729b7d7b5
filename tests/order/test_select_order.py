"""The order search as users call it."""

import numpy as np
import pytest
from recorded import RINGING, driven, ringing, switching
from scipy.signal import lfilter

import daedal as dd
from sizes import choose

TIMES = np.arange(600) * 0.1
TIMES_OF_SINES = np.arange(1201) * 0.05


def white(count=600, deviation=0.05, seed=0):
    return deviation * np.random.default_rng(seed).standard_normal(count)


def system(numerator, denominator, kind="zoh", deviation=0.02, step=0.1, delay=0.0):
    times = np.arange(600) * step
    values = np.where(np.arange(600) < 20, 0.0, switching(600, 12, seed=1))
    tf = dd.TransferFunction(numerator, denominator, delay)
    clean = dd.simulate(tf, times, inputs={"u": dd.Signal(times, values, kind)})["y"]
    return driven(tf, times, {"u": dd.Signal(times, values, kind)}, white(deviation=deviation * np.std(clean)))


CASES = {
    "lag": ([3.0], [1.0, 0.5], range(1, 4), None),
    "rings": ([2.0], [1.0, 0.2, 4.0], range(1, 4), None),
    "zero": ([2.0, 1.0], [1.0, 1.4, 2.0], range(1, 4), None),
    "zero to the right": ([-2.0, 1.0], [1.0, 1.4, 2.0], range(1, 4), None),
    "direct term": ([0.5, 1.0], [1.0, 0.8], range(1, 3), range(3)),
    "integrator": ([1.0], [1.0, 1.0, 0.0], range(1, 4), [0]),
    "stiff": ([40.0], [1.0, 20.5, 10.0], range(1, 4), [0]),
    "third order": ([6.0], [1.0, 3.0, 5.0, 6.0], range(2, 5), [0]),
}


@pytest.mark.parametrize("kind", ["zoh", "foh"])
@pytest.mark.parametrize("name", CASES)
def test_orders_and_coefficients(name, kind):
    numerator, denominator, orders, input_orders = CASES[name]
    found = dd.select_order(system(numerator, denominator, kind), orders=orders, input_orders=input_orders)
    assert (found.order, found.input_order) == (len(denominator) - 1, len(numerator) - 1)
    truth = [*denominator[:0:-1], *numerator[::-1]]
    for value, name, error in zip(truth, found.chosen.coefficients, found.chosen.std_errors.values(), strict=True):
        assert abs(found.chosen.coefficients[name] - value) < 4.5 * error


@pytest.mark.parametrize("unit", [1e3, 3e-8])
def test_milliseconds_and_years(unit):
    """The same search in other units of time: the same coefficients, times powers of the unit."""
    plain, other = (
        system([2.0], [1.0, 0.4, 4.0]),
        system([2.0 / unit**2], [1.0, 0.4 / unit, 4.0 / unit**2], step=0.1 * unit),
    )
    one, two = (dd.select_order(each, orders=[1, 2, 3], input_orders=[0]) for each in (plain, other))
    assert one.order == two.order == 2
    powers = {"a0": unit**2, "a1": unit, "b0": unit**2}
    for name, power in powers.items():
        assert np.isclose(two.chosen.coefficients[name] * power, one.chosen.coefficients[name], rtol=1e-5)
        assert np.isclose(two.chosen.std_errors[name] * power, one.chosen.std_errors[name], rtol=1e-4)


def test_seconds_since_1970():
    plain = ringing()
    stamps = plain.sample_times + 1.75e9
    drive = dd.Signal(stamps, plain.inputs["u"].values, "zoh")
    shifted = dd.Dataset(stamps, inputs={"u": drive}, outputs={"y": plain["y"]})
    one, two = (dd.select_order(each, orders=[1, 2]) for each in (plain, shifted))
    assert one.order == two.order == 2
    assert np.isclose(two.chosen.coefficients["a0"], one.chosen.coefficients["a0"], rtol=1e-4)


def test_irregular_and_missing_samples_and_an_input_with_its_own_times():
    rng = np.random.default_rng(4)
    changes = np.append(0.0, np.sort(rng.uniform(0.0, 60.0, 80)))
    drive = dd.Signal(np.append(changes, 61.0), np.append(rng.normal(size=81), 0.0), "zoh")
    times = np.sort(rng.uniform(0.0, 60.0, 500))
    values = dd.simulate(RINGING, times, inputs={"u": drive}, t0=0.0)["y"] + 0.03 * rng.standard_normal(500)
    values[rng.random(500) < 0.2] = np.nan
    found = dd.select_order(dd.Dataset(times, inputs={"u": drive}, outputs={"y": values}, t0=0.0), orders=[1, 2, 3])
    assert (found.order, found.input_order) == (2, 0)
    for name, truth in (("a0", 2.0), ("a1", 1.4), ("b0", 2.0)):
        assert abs(found.chosen.coefficients[name] - truth) < 4 * found.chosen.std_errors[name]
    assert any("samples of 'y' missing" in note for note in found.notes)


def test_a_start_in_motion_is_taken_up_by_a_free_start_only():
    whole = ringing(600)
    _, late = whole.split(0.3)
    free, rest = (dd.select_order(late, orders=[2], input_orders=[0], initial=each) for each in ("free", "zero"))
    truth = np.array([2.0, 1.4, 2.0])
    errors = np.array(list(free.chosen.std_errors.values()))
    assert np.all(np.abs(list(free.chosen.coefficients.values()) - truth) < 4 * errors)
    assert rest.chosen.fit_percent < free.chosen.fit_percent


def test_two_inputs_of_which_one_does_nothing():
    rng = np.random.default_rng(6)
    drives = {name: dd.Signal(TIMES, switching(600, 9, seed), "zoh") for seed, name in enumerate(("heat", "sun"))}
    tf = dd.TransferFunction({"heat": [2.0], "sun": [0.5]}, [1.0, 1.4, 2.0], output="room")
    both = driven(tf, TIMES, drives, white())
    found = dd.select_order(both, orders=[1, 2, 3], input_orders=[0])
    assert found.order == 2
    assert abs(found.chosen.coefficients["b0_sun"] - 0.5) < 4 * found.chosen.std_errors["b0_sun"]
    assert found.notes == ()
    idle = dd.Dataset(
        TIMES, inputs={**drives, "moon": dd.Signal(TIMES, rng.normal(size=600))}, outputs={"room": both["room"]}
    )
    lazy = dd.select_order(idle, orders=[2], input_orders=[0])
    assert lazy.notes == ("no effect on 'room' is seen of 'moon': leave out what does nothing",)
    assert dd.select_order(idle, orders=[2], input_orders=[0], inputs=["heat", "sun"]).notes == ()


def test_an_estimated_delay_is_in_the_notes():
    data = system([2.0], [1.0, 1.4, 2.0], delay=0.53)
    found = dd.select_order(data, orders=[2], input_orders=[0], method=dd.RefinedIV("estimated", largest_delay=1.0))
    delay, error = found.transfer_function.delay["u"], found.chosen.delay_errors["u"]
    assert 0.0 < error < 0.02
    assert abs(delay - 0.53) < 4 * error
    assert found.notes == (f"estimated delay and its standard error: u {delay:.4g} ± {error:.2g}",)


def sines(kind_of_system, seed):
    times = TIMES_OF_SINES
    drive = dd.Signal(times, np.sin(np.outer(times, np.arange(1, 11) * 0.1) + np.arange(10)).sum(axis=1), "foh")
    clean = dd.simulate(kind_of_system, times, inputs={"u": drive})["y"]
    return driven(kind_of_system, times, {"u": drive}, white(1201, np.std(clean) / 8, seed))


def test_fast_poles_that_slow_inputs_do_not_show():
    """System 4 of the paper with inputs up to 1 rad/s: an honest answer is a lower order or wide intervals."""
    data = sines(dd.TransferFunction([1.0], [1.0, 10.0, 35.0, 50.0, 24.0]), seed=1)
    found = dd.select_order(data, orders=[3, 4], input_orders=[0])
    assert set(found[4, 0].not_in_the_data) == {"a0", "a1", "a2", "a3", "b0"}
    assert found.order == 3
    assert found.chosen.not_in_the_data == ()
    assert any("a still faster one would hardly be seen" in note for note in found.notes)
    alone = dd.select_order(data, orders=[4], input_orders=[0])
    assert "do not rely on these numbers or on the order" in alone.notes[0]


def test_a_pole_is_preferred_to_a_zero_that_looks_alike():
    """System 4 of the paper, noise that happens to favour three poles and a zero by less than what says anything."""
    tf, rng, times = (
        dd.TransferFunction([1.0], [1.0, 10.0, 35.0, 50.0, 24.0]),
        np.random.default_rng(49),
        TIMES_OF_SINES,
    )
    phases = rng.uniform(0.0, 2.0 * np.pi, 10)
    values = np.sin(np.outer(times, np.arange(1, 11) * 0.2 * np.pi) + phases).sum(axis=1)
    drive = dd.Signal(times, values, "foh")
    clean = dd.simulate(tf, times, inputs={"u": drive})["y"]
    noise = rng.standard_normal(times.size) * np.sqrt(np.mean(clean**2)) / rng.uniform(5.0, 10.0)
    found = dd.select_order(driven(tf, times, {"u": drive}, noise), orders=[3, 4], input_orders=[0, 1])
    assert 0.0 < found[4, 0].bic - found[3, 1].bic < 2.0
    assert (found.order, found.input_order) == (4, 0)
    assert "the lowest derivative of an input of those that BIC cannot tell from the best" in found.reason


def test_strong_slow_noise():
    """The minimum for white noise lies far away here: a noise model made there leads to one pole without a zero."""
    times, rng = np.arange(500) * 0.1, np.random.default_rng(10)
    noise = lfilter([1.0], np.poly([0.98, 0.9]), 0.05 * rng.standard_normal(500))
    tf, drive = dd.TransferFunction([2.0, 1.0], [1.0, 1.4, 2.0]), dd.Signal(times, switching(500, 12, seed=10), "zoh")
    data = driven(tf, times, {"u": drive}, noise)
    found = dd.select_order(data, orders=[1, 2], method=dd.RefinedIV(noise=True))
    assert (found.order, found.input_order) == (2, 1)
    for name, truth in {"a0": 2.0, "a1": 1.4, "b0": 1.0, "b1": 2.0}.items():
        assert abs(found.chosen.coefficients[name] - truth) < 4.0 * found.chosen.std_errors[name]


def test_a_coefficient_may_be_zero_without_being_loose():
    integrating = dd.select_order(system([1.0], [1.0, 1.0, 0.0]), orders=[2], input_orders=[0])
    assert integrating.chosen.not_in_the_data == ()


def test_data_without_noise_give_the_smallest_model():
    found = dd.select_order(ringing(200, 0.0), orders=[1, 2, 3], input_orders=[0, 1])
    assert (found.order, found.input_order) == (2, 0)
    assert np.allclose(found.transfer_function.denominator, [1.0, 1.4, 2.0], rtol=1e-6)


def test_the_table_and_the_candidates():
    found = dd.select_order(ringing(), orders=[1, 2], input_orders=[0, 1])
    assert [(each.order, each.input_order) for each in found.candidates] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert found[2, 0] is found.chosen
    assert found[1].order == 1
    text = str(found)
    assert "order search by RefinedIV()" in text
    assert sum("→" in line for line in text.splitlines()) == 1
    assert "chosen: order 2, input order 0: the lowest BIC" in found.reason
    assert found.chosen.bic == min(each.bic for each in found.candidates)
    assert found.chosen.held_out > 90.0
    with pytest.raises(dd.DaedalError, match=r"No candidate \(7, 0\) was tried"):
        found[7, 0]


def test_the_fit_is_the_same_estimate():
    found = dd.select_order(ringing(300), orders=[2], input_orders=[0])
    for name, value in found.chosen.coefficients.items():
        assert np.isclose(found.fit[name].value, value, rtol=1e-4)
        assert np.isclose(found.fit[name].std_error, found.chosen.std_errors[name], rtol=0.2)


def test_a_mean_far_from_zero_is_pointed_out():
    data = ringing()
    lifted = dd.Dataset(data.sample_times, inputs=dict(data.inputs), outputs={"y": data["y"] + 20.0})
    with pytest.raises(dd.DaedalError, match=r"only unstable models .* mean of 'y' away with data.detrend\(\)"):
        dd.select_order(lifted, orders=[2], input_orders=[0])
    found = dd.select_order(lifted, orders=[2], input_orders=[0], stable=False)
    assert any("data.detrend() takes the mean away" in note for note in found.notes)
    assert dd.select_order(lifted.detrend(["y"]), orders=[1, 2, 3], input_orders=[0]).order == 2


def unstable(count=300):
    """x'' + 0.5 x' − 0.06 x = u, with a pole at 0.1: what is recorded grows slowly."""
    times = np.arange(count) * 0.1
    tf = dd.TransferFunction([1.0], [1.0, 0.5, -0.06])
    return driven(tf, times, {"u": dd.Signal(times, switching(count, 12, seed=3), "zoh")}, white(count, 0.01))


def test_candidates_that_grow_are_chosen_only_where_they_are_asked_for():
    data = unstable()
    free = dd.select_order(data, orders=[1, 2], input_orders=[0], stable=False)
    assert free.order == 2
    assert free.chosen.grows
    assert not free.chosen.stable
    assert "the chosen model is not stable" in free.notes
    growth = np.max(np.roots([1.0, 0.5, -0.06])) * data.sample_times[-1]
    assert np.isclose(free.chosen.growth, growth, rtol=0.05)
    with pytest.raises(dd.DaedalError, match=r"only unstable models were found, .*stable=False"):
        dd.select_order(data, orders=[2], input_orders=[0])


def test_what_is_passed_over_is_said():
    """A stable system with a drift that a growing pole describes: by BIC alone the growing model would be chosen."""
    data = ringing(300, 0.02)
    drift = 0.01 * np.exp(2.5 * data.sample_times / data.sample_times[-1])
    drifting = dd.Dataset(data.sample_times, inputs=dict(data.inputs), outputs={"y": data["y"] + drift})
    best, steady = (dd.select_order(drifting, orders=[2, 3], stable=each) for each in (False, True))
    assert best.chosen.grows
    assert not steady.chosen.grows
    (said,) = [note for note in steady.notes if "not chosen" in note]
    assert f"({best.order}, {best.input_order})" in said
    assert "stable=False" in said
    assert steady.chosen.bic > best.chosen.bic


def test_several_outputs_have_orders_of_their_own():
    times = TIMES
    drive = dd.Signal(times, switching(600, 12, seed=1), "zoh")
    lag, rings = dd.TransferFunction([3.0], [1.0, 0.5]), RINGING
    outputs = {
        name: dd.simulate(tf, times, inputs={"u": drive})["y"] + white(seed=seed)
        for seed, (name, tf) in enumerate({"slow": lag, "quick": rings}.items())
    }
    data = dd.Dataset(times, inputs={"u": drive}, outputs=outputs)
    both = dd.select_order(data, orders=[1, 2], input_orders=[0], output=["slow", "quick"])
    assert {name: both[name].order for name in both} == {"slow": 1, "quick": 2}
    alone = dd.select_order(data, orders=[1, 2], input_orders=[0], output="quick")
    assert both["quick"].chosen.coefficients == alone.chosen.coefficients
    assert np.isclose(both.bic, both["slow"].chosen.bic + alone.chosen.bic)
    assert both.transfer_functions["quick"].output == "quick"
    assert both.status.ok
    assert "output 'slow': order search by" in str(both)
    with pytest.raises(dd.DaedalError, match="There was no search for an output 'quik'"):
        both["quik"]


def test_a_model_no_better_than_a_constant_is_called_that():
    rng = np.random.default_rng(0)
    data = dd.Dataset(
        TIMES, inputs={"u": dd.Signal(TIMES, switching(600), "zoh")}, outputs={"y": 5.0 + rng.standard_normal(600)}
    )
    found = dd.select_order(data, orders=[1], input_orders=[0], initial="zero", stable=False)
    assert found.chosen.fit_percent < 0.0
    assert any("no better than a constant" in note for note in found.notes)


@pytest.mark.slow
def test_right_orders_of_rao_garnier():
    tf = dd.TransferFunction([-6400.0, 1600.0], [1.0, 5.0, 408.0, 416.0, 1600.0])
    times = np.arange(1500) * 0.02
    drive = dd.Signal(times, switching(1500, 7), "zoh")
    clean = dd.simulate(tf, times, inputs={"u": drive})["y"]
    right = 0
    for seed in range(choose(3, 10)):
        data = driven(tf, times, {"u": drive}, white(1500, np.std(clean) / np.sqrt(10), seed))
        found = dd.select_order(data, orders=[3, 4, 5], input_orders=[0, 1, 2])
        right += (found.order, found.input_order) == (4, 1)
    assert right >= choose(3, 9)
