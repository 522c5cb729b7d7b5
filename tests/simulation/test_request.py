"""What simulate and ensemble refuse, each with a sentence that says what to do."""

import numpy as np
import pytest

import daedal as dd
from daedal import der, memory
from daedal.errors import DaedalError, ModelError, OutOfMemoryError, SimulationError

x, y, u, w, k, a = dd.symbols("x y u w k a")
TIMES = np.arange(11) * 0.1
NOISE = dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=0.02)


def lag(**changes):
    fields = {
        "name": "lag",
        "equations": {"lag": der(x) == -k * x + u + w},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"o": 2 * x},
        "parameters": {k: 2.0},
        "disturbances": {w: NOISE},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def run(model=None, times=TIMES, verb=dd.simulate, **options):
    return verb(model or lag(), times, **{"inputs": {"u": 0.5}, "realizations": 3, "rng": 1} | options)


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
@pytest.mark.parametrize("realizations", [0, -1, 2.0, 2.5, "3", True, np.nan])
def test_realizations_are_a_whole_number_from_one_on(verb, realizations):
    with pytest.raises(SimulationError, match=r"realizations must be a whole number from 1 on, got .*realizations=100"):
        run(verb=verb, realizations=realizations)


def test_numpy_integers_count():
    assert run(realizations=np.int64(2))["x"].shape == (2, 11)


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_parameters_are_finite(verb, number):
    with pytest.raises(DaedalError, match=r"'k'.*must be finite"):
        run(verb=verb, values={"k": number})


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
def test_a_parameter_that_does_not_exist(verb):
    with pytest.raises(DaedalError, match=r"'lag' has no parameter 'kk'.*k"):
        run(verb=verb, values={"kk": 1.0})


def test_values_are_mappings():
    with pytest.raises(SimulationError, match=r"values of a simulation must be a mapping, got float"):
        run(values=3.0)
    with pytest.raises(DaedalError, match="must be a mapping, got float"):
        run(verb=dd.ensemble, values=[{"k": 1.0}, 3.0])
    with pytest.raises(SimulationError, match="list of values of an ensemble is empty"):
        run(verb=dd.ensemble, values=[])


def test_unknown_sensitivities():
    with pytest.raises(SimulationError, match=r"'lag' has no parameter 'q'"):
        run(verb=dd.ensemble, sensitivities=["q"])
    with pytest.raises(DaedalError, match="'x'"):
        run(verb=dd.ensemble, sensitivities=[x])


def test_sensitivities_given_as_one_name():
    """A text is not a list of letters."""
    model = lag(equations={"lag": der(x) == -a * k * x + u + w}, parameters={k: 2.0, a: 1.0})
    with pytest.raises(SimulationError, match="sensitivities"):
        run(model, verb=dd.ensemble, sensitivities="ka")


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
def test_a_step_that_does_not_fit_the_grid(verb):
    with pytest.raises(SimulationError, match=r"step 0\.03 neither divides the grid 0\.02 .* nor is a multiple of it"):
        run(verb=verb, solver=dd.Lanes(step=0.03))
    with pytest.raises(SimulationError, match=r"step 0\.015 neither .*Choose for example 0\.02"):
        run(verb=verb, solver=dd.Lanes(step=0.015))


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
def test_a_grid_that_is_too_coarse_is_noted_with_numbers(verb):
    coarse = lag(disturbances={w: dd.FilteredNoise([1.0], [0.01, 1.0], grid=0.1)})
    with pytest.warns(dd.DaedalWarning, match="grid of 0.1 s is coarse") as raised:
        notes = " ".join(run(coarse, verb=verb).notes)
    assert {warning.filename for warning in raised} == {__file__}
    assert "grid of 0.1 s is coarse" in notes
    assert "100 rad/s" in notes
    assert "0.0005 s or less" in notes
    assert "coarse" not in " ".join(run(verb=verb).notes)


def test_too_much_memory_is_refused_before_anything_is_done():
    with pytest.raises(OutOfMemoryError, match=r"'lag' needs about 4\.37 TiB of memory, but .*variables=\[.*ensemble"):
        run(times=np.arange(10_001) * 0.1, realizations=10**7 * 3 // 2)


def test_fewer_variables_need_less_memory():
    with pytest.raises(OutOfMemoryError, match=r"needs about 2\.18 TiB"):
        run(times=np.arange(10_001) * 0.1, realizations=10**7 * 3 // 2, variables=["x"])


def test_too_much_memory_for_an_ensemble(monkeypatch):
    """Moments of many values at many times are refused as well, before the work."""
    monkeypatch.setattr(memory, "find_available", lambda: 20e6)
    with pytest.raises(OutOfMemoryError, match=r"needs about \d+(\.\d)? MiB of memory, but only 19\.1 MiB are left"):
        run(verb=dd.ensemble, times=np.arange(20_001) * 0.1, values=[{"k": 1.0 + 0.01 * i} for i in range(50)])


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
def test_white_noise_is_refused_with_the_remedy(verb):
    with pytest.raises(DaedalError, match=r"'w' is WhiteNoise.*FilteredNoise\.low_pass.*declared, but not simulated"):
        run(lag(disturbances={w: dd.WhiteNoise(1.0)}), verb=verb)


def test_white_noise_at_zero_is_fine():
    found = dd.simulate(lag(disturbances={w: dd.WhiteNoise(1.0)}), TIMES, inputs={"u": 0.5})
    np.testing.assert_allclose(found["x"], 0.25 * (1 - np.exp(-2 * TIMES)), atol=1e-6)


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
def test_a_disturbance_without_the_derivatives_that_are_needed(verb):
    rough = dd.Model(
        name="rough",
        equations={"rod": x == w, "force": der(x) + y == 0},
        unknowns=[x, y],
        outputs={"y": y},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5)},
    )
    with pytest.raises(ModelError, match=r"'w' in equation 'rod' is differentiated once.*pole"):
        verb(rough, TIMES, realizations=2)


def test_an_unstable_disturbance_at_these_values():
    model = lag(parameters={k: 2.0, a: 1.0}, disturbances={w: dd.FilteredNoise([1.0], [1.0, a])})
    with pytest.raises(DaedalError, match="not stable"):
        run(model, values={"a": -1.0})


def test_solvers():
    with pytest.raises(SimulationError, match=r"solver of an ensemble must be Lanes"):
        run(verb=dd.ensemble, solver=dd.IDA())
    with pytest.raises(SimulationError, match="must be a solver, got Lanes"):
        run(solver=dd.Lanes)
    with pytest.raises(SimulationError, match="must be a solver, got 'rk4'"):
        run(solver="rk4")


@pytest.mark.parametrize("step", [0.0, -0.1, np.nan, np.inf, "0.1"])
def test_the_step_of_lanes(step):
    with pytest.raises(SimulationError, match="step of Lanes must be positive, got"):
        dd.Lanes(step=step)


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-6, np.nan, "1e-6", None])
def test_the_tolerance_of_lanes(tolerance):
    with pytest.raises(SimulationError, match="tolerance of Lanes must lie between 0 and 1, got"):
        dd.Lanes(tolerance=tolerance)


@pytest.mark.parametrize("method", ["rk5", "", None, 4])
def test_the_method_of_lanes(method):
    with pytest.raises(
        SimulationError, match="method of Lanes must be 'auto', 'rk4', 'rk6', 'radau3' or 'radau5', got"
    ):
        dd.Lanes(method=method)


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
def test_exchanged_arguments(verb):
    with pytest.raises(SimulationError, match=r"takes the model first.*Exchange"):
        verb(TIMES, lag(), realizations=3)
    with pytest.raises(SimulationError, match="takes a Model or a System, got int"):
        verb(3, TIMES, realizations=3)


def test_variables_to_keep():
    with pytest.raises(SimulationError, match=r"must be a list of names, got 'x'"):
        run(variables="x")
    with pytest.raises(SimulationError, match=r"has no variable 'q' to keep. Known are 'x' and 'o'"):
        run(variables=["q"])
    kept = run(variables=["o"])
    assert list(kept) == ["o", "u"]
    assert kept["o"].shape == (3, 11)
    np.testing.assert_allclose(kept["o"], run()["o"], rtol=1e-4)
    assert list(run(variables=[x, "o"])) == ["x", "o", "u"]


def test_a_dataset_in_place_of_times():
    drive = dd.Signal(TIMES, np.sin(TIMES))
    data = dd.Dataset(
        TIMES, inputs={"u": drive, "pump": dd.Signal(TIMES, TIMES)}, outputs={"o": np.zeros(11)}, t0=-0.0, name="d"
    )
    with_data = dd.simulate(lag(), data, realizations=3, rng=1)
    plain = run(inputs={"u": drive})
    np.testing.assert_array_equal(with_data["x"], plain["x"])
    assert list(with_data.inputs) == ["u"]
    both = dd.simulate(lag(), data, inputs={"u": 0.5}, realizations=3, rng=1)
    np.testing.assert_array_equal(both["x"], run()["x"])
    found = dd.ensemble(lag(), data, realizations=3, rng=1)
    assert found.times.size == 11


def test_an_input_that_the_model_does_not_have():
    with pytest.raises(SimulationError, match="'lag' has no input 'pump'"):
        run(inputs={"u": 1.0, "pump": 2.0})
    with pytest.raises(SimulationError, match="needs the input 'u'"):
        run(inputs=None)


def test_an_ensemble_needs_outputs():
    with pytest.raises(SimulationError, match="'lag' has no outputs"):
        run(lag(outputs={}), verb=dd.ensemble)


@pytest.mark.parametrize("verb", [dd.simulate, dd.ensemble])
@pytest.mark.parametrize("times", [[], [0.0, np.nan], [1.0, 0.5], "0 1", 3.0])
def test_times(verb, times):
    with pytest.raises(SimulationError, match="times"):
        run(verb=verb, times=times)


def test_start_after_the_first_time():
    with pytest.raises(SimulationError, match=r"t0 = 0\.5 lies after the first time"):
        run(t0=0.5)
