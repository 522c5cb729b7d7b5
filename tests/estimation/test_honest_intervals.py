"""Numbers that must not look surer than they are: bounds, rival minima, model errors, disturbances, bad fits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

import daedal as dd
from batteries.fits import SINE, TIMES, decay, levels, line, noisy, sine
from daedal import der
from daedal.estimation import list_rivals
from daedal.estimation.accumulation import list_accumulated
from daedal.report.page.evidence import gather_evidence
from daedal.report.page.rules import FIT_RULES, judge

x, v, u, w, a, b, c, k, m = dd.symbols("x v u w a b c k m")
CLOCK = np.arange(300) * 0.1
PUSH = dd.Signal(CLOCK, np.repeat(np.random.default_rng(3).choice([-1.0, 1.0], 20), 15), "zoh")


def beam() -> dd.Model:
    """A spring that may stiffen, never soften."""
    return dd.Model(
        name="beam",
        equations={"speed": der(x) == v, "force": der(v) == -a * x - b * v - c * x**3 + u},
        unknowns=[x, v],
        inputs=[u],
        outputs={"y": x},
        parameters={a: 4.0, b: 0.4, c: dd.Parameter(0.06, lower=0.0)},
        initial={x: 0.0, v: 0.0},
    )


@pytest.fixture(scope="module")
def stiffening() -> dd.Fit:
    """The estimate of c ends at its bound, 0; the truth is 0.05."""
    clean = dd.simulate(beam(), CLOCK, inputs={"u": PUSH}, values={"c": 0.05})["y"]
    for seed in range(20):
        data = dd.Dataset(CLOCK, inputs={"u": PUSH}, outputs={"y": noisy(clean, 0.1, seed)})
        found = dd.fit(beam(), data, free=["a", "b", "c"])
        if found["c"].at_bound:
            return found
    raise AssertionError("none ended at the bound")


def test_intervals_next_to_a_parameter_at_its_bound_are_those_of_profiles(stiffening):
    followed, intervals = dd.profile(stiffening, ["a", "c"], points=3).intervals, stiffening.conf_int()
    for name in ("a", "c"):
        width = followed[name][1] - followed[name][0]
        np.testing.assert_allclose(intervals[name], followed[name], atol=0.05 * width)
    conditional = 2.0 * 1.97 * stiffening["a"].std_error
    assert intervals["a"][1] - intervals["a"][0] > 1.3 * conditional
    assert intervals["c"][0] == 0.0
    assert intervals["c"][0] < 0.05 < intervals["c"][1]


def test_the_table_says_what_errors_are_conditional_on(stiffening):
    assert "standard errors hold if c is at its bound" in str(stiffening)
    assert "AT BOUND" in str(stiffening)
    assert dd.identifiability(stiffening)["c"] == "at its bound, 0: widen it if it is not a physical limit"


def test_intervals_are_cut_at_bounds():
    model = decay(dd.Parameter(1.2, lower=0.995, upper=5.0))
    found = dd.fit(model, levels(noisy(np.exp(-TIMES), 0.05)), free=["k"])
    assert not found["k"].at_bound
    assert found.conf_int()["k"][0] == 0.995
    assert found.conf_int()["k"][1] < 5.0


def test_another_minimum_that_the_data_allow_is_inside():
    """Of sin² ωt, sampled eight times in 2π, ω and 4 − ω are the same."""
    times = np.arange(8) * (2.0 * np.pi / 8.0)
    model = replace(sine(1.2), outputs={"y": x**2})
    data = dd.Dataset(times, outputs={"y": noisy(np.sin(1.5 * times) ** 2, 0.02, 1)})
    found = dd.fit(model, data, free=["omega"], starts=[{"omega": 1.45}, {"omega": 2.55}, {"omega": 6.5}])
    near = [one for one in found.minima if one.value - found.value < 1e-3 * abs(found.value) + 1e-6]
    assert len(near) > 1
    low, high = found.conf_int()["omega"]
    for one in near:
        assert low <= one.params["omega"] <= high


def test_rival_minima_do_not_depend_on_the_accuracy_that_was_declared():
    """Residuals are five times as large as declared, so the criterion of a rival may be 25 times as far above."""
    times = np.arange(8) * (2.0 * np.pi / 8.0) + [0.0, 0.05, -0.04, 0.03, 0.05, -0.05, 0.02, 0.04]
    data = dd.Dataset(times, outputs={"y": noisy(np.sin(1.5 * times) ** 2, 0.1, 2)})
    for declared in (0.1, 0.02):
        model = replace(sine(1.2), outputs={"y": x**2}, measurement_noise={"y": declared})
        found = dd.fit(model, data, free=["omega"], starts=[{"omega": 1.45}, {"omega": 2.55}, {"omega": 6.5}])
        (rival,) = list_rivals(found)
        assert rival.params["omega"] == pytest.approx(2.51, abs=0.01)
        assert rival.value - found.value == pytest.approx(2.97 * (0.1 / declared) ** 2, rel=1e-3)
        low, high = found.conf_int()["omega"]
        assert low < 1.5 < rival.params["omega"] < high
        said = judge(FIT_RULES, gather_evidence(found, None, (), (), ()))
        assert any("1 other minimum" in one.sentence for one in said.findings)


def lag(**changes) -> dd.Model:
    fields = {
        "name": "lag",
        "equations": {"rate": a * der(x) == -x + u},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"y": x},
        "parameters": {a: 1.0},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def follow(order: int, noise: float = 0.002, seed: int = 0) -> dd.Dataset:
    """Lags in a row, of one second together."""
    y = PUSH(CLOCK)
    pole = np.exp(-0.1 * order)
    for _ in range(order):
        y = lfilter([0.0, 1.0 - pole], [1.0, -pole], y)
    return dd.Dataset(CLOCK, inputs={"u": PUSH}, outputs={"y": noisy(y, noise, seed)})


@pytest.mark.parametrize("whiten", [False, True])
def test_a_model_that_lacks_something_is_said_and_its_errors_are_widened(whiten):
    """Three lags estimated as one; by a right model nothing is said."""
    wrong = dd.fit(lag(), follow(3), free=["a"], criterion=dd.OutputError(whiten=whiten))
    assert "depends on 'u': the model lacks something" in str(wrong)
    assert "intervals are widened" in str(wrong)
    right = dd.fit(lag(), follow(1), free=["a"], criterion=dd.OutputError(whiten=whiten))
    assert "lacks" not in str(right)
    plain = [dd.fit(lag(), follow(3), free=["a"], criterion=dd.OutputError(whiten=one))["a"].value for one in (0, True)]
    assert wrong["a"].std_error > 0.5 * abs(plain[0] - plain[1])


def test_a_right_model_is_hardly_ever_suspected():
    said = [str(dd.fit(lag(), follow(1, 0.05, seed), free=["a"])) for seed in range(20)]
    assert not any("lacks" in one for one in said)


def test_resid_does_not_respect_what_depends_on_inputs():
    text = str(dd.resid(dd.fit(lag(), follow(3), free=["a"])))
    assert "depends on 'u'" in text
    assert "respect" not in text


def test_a_likelihood_of_wrong_dynamics_is_said():
    noisy_lag = lag(
        equations={"rate": a * der(x) == -x + u + w},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.02, time_constant=0.5)},
        measurement_noise={"y": 0.01},
    )
    wrong = dd.fit(noisy_lag, follow(3), free=["a"])
    assert "the model lacks something" in str(wrong)
    assert "errors cover that in part only" in str(wrong)
    data = dd.simulate(noisy_lag, CLOCK, inputs={"u": PUSH}, realizations=1, measurement_noise=True, rng=1).to_dataset()
    assert "errors cover" not in str(dd.fit(noisy_lag, data, free=["a"]))


def test_ignoring_a_disturbance_that_is_added_up_makes_the_interval_void():
    """A ball on a beam: its place is the second integral of what pushes it."""
    ball = dd.Model(
        name="ball",
        equations={"speed": der(x) == v, "push": der(v) == k * u + w},
        unknowns=[x, v],
        inputs=[u],
        outputs={"y": x},
        parameters={k: 4.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.3, time_constant=1.0)},
        measurement_noise={"y": 0.01},
        initial={x: 0.0, v: 0.0},
    )
    data = dd.simulate(ball, CLOCK, inputs={"u": PUSH}, realizations=1, measurement_noise=True, rng=1).to_dataset()
    assert "intervals are void" in str(dd.fit(ball, data, free=["k"], criterion=dd.OutputError()))
    assert "void" not in str(dd.fit(ball, data, free=["k"], criterion=dd.Likelihood()))


def sum_up(equations: list, outputs: dict, unknowns: list) -> dd.Model:
    return dd.Model(
        name="sum",
        equations={f"equation {k}": one for k, one in enumerate(equations)},
        unknowns=unknowns,
        inputs=[u],
        outputs=outputs,
        parameters={k: 4.0, m: 0.0, b: 0.0, c: 0.5},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.3, time_constant=1.0)},
        measurement_noise=dict.fromkeys(outputs, 0.01),
        initial={x: m, v: b},
    )


def test_the_interval_is_void_though_free_starts_hide_most_of_the_way():
    """A line taken out of a residual shortens its memory: in 7 of these 8 records below a tenth of them."""
    ball = sum_up([der(x) == v, der(v) == k * u + w], {"y": x}, [x, v])
    for count in (200, 800):
        times = np.arange(count) * 0.1
        for seed in range(4):
            push = np.repeat(np.random.default_rng(seed).choice([-1.0, 1.0], count // 10), 10)
            data = dd.simulate(
                ball,
                times,
                inputs={"u": dd.Signal(times, push, "zoh")},
                realizations=1,
                measurement_noise=True,
                rng=seed,
            ).to_dataset()
            assert "intervals are void" in str(dd.fit(ball, data, free=["k", "m", "b"], criterion=dd.OutputError()))


@pytest.mark.parametrize(
    ("equations", "outputs", "added_up"),
    [
        ([der(x) == v, der(v) == k * u + w], {"place": x, "speed": v}, ["place", "speed"]),
        ([der(x) == v, der(v) == k * u - c * v + w], {"place": x, "speed": v}, ["place"]),
        ([der(x) == v, der(v) == k * u - c * np.sign(v) - np.abs(v) * v + w], {"place": x, "speed": v}, ["place"]),
        ([der(x) == k * u, der(v) == w - v], {"y": x + v, "z": x}, []),  # a sum, but of the input
        ([der(x) == c * (v - x) + w, der(v) == c * (x - v)], {"mean": x + v, "flow": x - v}, ["mean"]),
        ([der(x) == c * (v - x) + w - 0.01 * x, der(v) == c * (x - v)], {"mean": x + v, "flow": x - v}, []),
        ([der(der(x)) == 1e9 * (k * u + w - c * der(x)), v == 1e-6 * x], {"place": v}, ["place"]),
    ],
    ids=["twice", "once", "friction", "input", "common", "leak", "units"],
)
def test_which_outputs_add_up_disturbances(equations, outputs, added_up):
    assert list_accumulated(sum_up(equations, outputs, [x, v])) == added_up


def test_a_poor_fit_is_not_determined_without_a_word():
    """A frequency in the wrong minimum, noise-free."""
    found = dd.fit(sine(5.6), SINE, free=["omega"], starts=[{"omega": 5.6}])
    (percent,) = found.fit_percent.values()
    assert percent < 50.0
    assert "poor fit" in str(found) or "no better than a constant" in str(found)
    assert "poor fit" in str(dd.identifiability(found))


def test_lorenz_in_a_wrong_minimum_is_not_determined_without_a_word():
    """Without noise, from r = 25 where the truth is 28; the fit ends at 24.98 with an error of 0.002."""
    y, z, r = dd.symbols("y z r")
    lorenz = dd.Model(
        name="lorenz",
        equations={"x": der(x) == 10 * (y - x), "y": der(y) == x * (r - z) - y, "z": der(z) == x * y - 8 / 3 * z},
        unknowns=[x, y, z],
        outputs={"x": x},
        parameters={r: 28.0},
        initial={x: 1.0, y: 1.0, z: 1.0},
    )
    exact = dd.simulate(lorenz, np.linspace(0.0, 10.0, 251)).to_dataset()
    found = dd.fit(lorenz, exact, free=["r"], criterion=dd.OutputError(), starts=[{"r": 25.0}])
    assert abs(found["r"].value - 28.0) > 1.0
    assert found.fit_percent["x"] < 50.0
    assert "poor fit" in str(found) or "no better than a constant" in str(found)
    assert "poor fit" in str(dd.identifiability(found))


def test_exact_data_that_are_whitened_have_no_likelihood():
    for whiten in (False, True):
        found = dd.fit(
            line(0.1, 0.1), dd.Dataset(TIMES, outputs={"y": 0.5 * TIMES + 2.0}), free=["b", "c"],
            criterion=dd.OutputError(whiten=whiten),
        )  # fmt: skip
        assert found.loglik is None
        assert found.aic is None


def test_the_table_has_relative_errors_and_tight_correlations():
    data = dd.Dataset(TIMES + 100.0, outputs={"y": noisy(0.5 * TIMES + 2.0, 0.1)}, t0=100.0)
    model = line(outputs={"y": b * 0 + x + c}, equations={"rate": der(x) == b}, initial={x: 100.0 * b})
    found = dd.fit(model, data, free=["b", "c"])
    assert found.correlation[0, 1] < -0.99
    assert f"correlated: b and c −{abs(found.correlation[0, 1]):.3f}" in str(found)
    (row,) = [one for one in str(found).splitlines() if one.startswith("  b ")]
    assert f"  {100.0 * found['b'].std_error / found['b'].value:.2g}  " in row
    assert "correlated" not in str(dd.fit(line(), data, free=["b"]))


def test_what_bounds_leave_of_a_wide_interval_keeps_its_digits():
    """Where nothing but its bounds is known of a parameter, the table shows these."""
    model = decay(parameters={k: 2.0, b: dd.Parameter(-8.25, lower=-9.0, upper=5.0)}, outputs={"level": x + 1e-9 * b})
    found = dd.fit(model, levels(noisy(np.exp(-TIMES))), free=["k", "b"])
    assert found["b"].verdict in ("not determined", "at its bound")
    assert found.conf_int()["b"] == (-9.0, 5.0)
    (row,) = [one for one in str(found).splitlines() if one.startswith("  b ")]
    assert "-9.0 … 5.0" in row
    assert not row.split()[1].startswith("0")


def house() -> dd.Model:
    """Room, envelope and heater of a building, as the measured one that a heater of no capacity fits best."""
    Ti, Te, Th, Ta, Ph, wi, we = dd.symbols("Ti Te Th Ta Ph wi we")
    Ce, Ch, Rea, Rih = dd.symbols("Ce Ch Rea Rih")
    wide = {name: dd.Parameter(value, lower=value / 50, upper=50 * value, scale="log") for name, value in
            ((Ce, 5.0), (Rea, 2.0), (Rih, 0.3))}  # fmt: skip
    return dd.Model(
        name="house",
        equations={
            "room": der(Ti) == (Te - Ti) / 0.5 + (Th - Ti) / Rih + wi,
            "envelope": Ce * der(Te) == (Ti - Te) / 0.5 + (Ta - Te) / Rea + we,
            "heater": Ch * der(Th) == (Ti - Th) / Rih + Ph,
        },
        unknowns=[Ti, Te, Th],
        inputs=[Ta, Ph],
        outputs={"indoor": Ti},
        parameters={**wide, Ch: dd.Parameter(0.2, lower=0.1, upper=10.0, scale="log")},
        disturbances={
            wi: dd.FilteredNoise.low_pass(std=0.3, time_constant=1.0),
            we: dd.FilteredNoise.low_pass(std=0.5, time_constant=3.0),
        },
        measurement_noise={"indoor": 0.05},
        initial={Ti: 20.0, Te: 18.0, Th: 20.0},
    )


def test_a_building_whose_heater_is_at_its_bound_does_not_look_surer_than_it_is():
    """What goes with the heater's capacity is loose: profiles end at 0.006 and 0.453, 0.1 and 0.175, 6.53 and 7.98."""
    hours = np.arange(120) * 0.5
    heating = np.repeat(np.random.default_rng(4).uniform(0, 12, 16), 8)[:120]
    inputs = {
        "Ta": dd.Signal(hours, 8.0 + 4.0 * np.sin(hours * 2.0 * np.pi / 24.0), "zoh"),
        "Ph": dd.Signal(hours, heating, "zoh"),
    }
    truth = house().with_parameters({"Ce": 7.0, "Ch": 0.1})
    data = dd.simulate(truth, hours, inputs=inputs, realizations=1, measurement_noise=True, rng=2).to_dataset()
    found = dd.fit(house(), data, free=["Ce", "Ch", "Rea", "Rih"])
    intervals = found.conf_int()
    assert found["Ch"].at_bound
    assert "standard errors hold if Ch is at its bound" in str(found)
    np.testing.assert_allclose(intervals["Ce"], (6.53, 7.98), rtol=5e-3)
    assert intervals["Ch"][0] == 0.1
    assert 0.15 < intervals["Ch"][1] < 0.3
    beside = found["Rih"]
    assert beside.verdict == "loosely determined"
    assert intervals["Rih"][0] < 0.5 * beside.value * np.exp(-1.98 * beside.std_error / beside.value)
