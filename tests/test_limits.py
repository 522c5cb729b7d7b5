"""What is too large for the machine, or has no end, is refused with a sentence before any work."""

import numpy as np
import pytest

import daedal as dd
from daedal import der, memory
from daedal.errors import DaedalError

x, y, k, w = dd.symbols("x y k w")
TIMES = np.arange(41) * 0.1
BOUNDED = {"k": dd.Parameter(1.5, lower=0.1, upper=9.0)}


@pytest.fixture(autouse=True)
def _one_gibibyte(monkeypatch):
    """The same limits on every machine."""
    monkeypatch.setattr(memory, "find_available", lambda: float(1 << 30))


def make_lag(**changes):
    fields = {
        "name": "lag",
        "equations": {"lag": der(x) == -k * x + w},
        "unknowns": [x],
        "outputs": {"x": x},
        "parameters": {k: 2.0},
        "initial": {x: 1.0},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=0.1, time_constant=1.0)},
    }
    return dd.Model(**fields | changes)


DECAY = make_lag(equations={"lag": der(x) == -k * x}, disturbances={})


def make_data(samples=41, step=0.1):
    times = np.arange(samples) * step
    return dd.Dataset(times, outputs={"x": np.exp(-2.0 * times)})


def refuse(work, *words):
    with pytest.raises(DaedalError) as caught:
        work()
    told = str(caught.value)
    for word in words:
        assert word in told, told


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({"realizations": 10**6, "keep": 10**6}, "GiB"),
        ({"realizations": 10**12}, "TiB"),
        ({"realizations": 10**18}, "PiB"),
    ],
)
def test_an_ensemble(options, size):
    refuse(lambda: dd.ensemble(make_lag(), np.arange(1001) * 0.1, **options), "'lag' needs about", size, "realizations")


@pytest.mark.parametrize("solver", [None, dd.IDA()])
def test_a_simulation_by_any_solver(solver):
    work = lambda: dd.simulate(make_lag(), TIMES, realizations=10**7, solver=solver)  # noqa: E731
    refuse(work, "'lag' needs about", "GiB of memory, but only 1 GiB are left", "ensemble(...)")


def test_many_realizations_in_a_fit():
    criterion = dd.SimulationPEM(realizations=10**6)
    work = lambda: dd.fit(make_lag(), make_data(100_000), free=["k"], criterion=criterion)  # noqa: E731
    refuse(work, "'lag' needs about", "GiB", "fewer realizations", "resample")


def test_more_segments_than_samples():
    work = lambda: dd.fit(DECAY, make_data(), free=["k"], criterion=dd.OutputError(segments=1000))  # noqa: E731
    refuse(work, "data 'data' has 41 sample times, fewer than 1000 segments", "Lower segments")


@pytest.mark.parametrize("starts", [dd.LatinHypercube(10**9), dd.Grid({"k": 10**9})])
def test_more_starts_than_memory(starts):
    work = lambda: dd.fit(DECAY, make_data(), free=BOUNDED, starts=starts)  # noqa: E731
    refuse(work, "A list of 1e+09 starts needs about", "GiB", "fewer")


@pytest.mark.parametrize("step", [1e-15, 1e-9, 5e-324])
def test_resampling_to_a_tiny_step(step):
    refuse(lambda: make_data().resample(step), "needs about", "of memory", "longer step")


def test_the_covariance_of_many_samples():
    many = np.ones(100_000)
    moments = dd.MeasurementMoments.independent
    work = lambda: moments(mean=many, variance=many, third_raw_moment=4 * many)  # noqa: E731
    refuse(work, "The covariance of 100000 samples of each with each needs about", "GiB", "fewer samples")
    refuse(lambda: dd.MeasurementMoments.from_samples(np.ones((2, 50_000))), "needs about", "GiB")


def test_states_at_many_samples(monkeypatch):
    model = make_lag(measurement_noise={"x": 0.1})
    monkeypatch.setattr(memory, "find_available", lambda: 1e6)
    refuse(lambda: dd.estimate_states(model, make_data(20_000)), "The filter of 2 states over 4e+04 events", "MiB")


def test_profiles_of_very_many_points():
    fitted = dd.fit(DECAY, make_data(), free=["k"])
    refuse(lambda: dd.profile(fitted, points=10**9), "1000000000 points", "points=6")


def test_steps_without_end():
    long = np.linspace(0.0, 1e6, 11)
    refuse(lambda: dd.simulate(make_lag(), long, realizations=1, solver=dd.Lanes(step=1e-12)), "steps", "longer steps")


def test_samples_of_a_hold_without_end():
    held = make_lag(equations={"lag": der(x) == -k * dd.hold(x, every=1e-12)}, disturbances={})
    refuse(lambda: dd.simulate(held, [0.0, 1.0]), "sampled 1e+12 times", "less often")


def test_break_points_without_end():
    late = make_lag(equations={"lag": der(x) == -k * dd.delay(x, 1e-12)}, disturbances={}, history={x: 1.0}, initial={})
    refuse(lambda: dd.simulate(late, [0.0, 1e3]), "delay")


@pytest.mark.parametrize("number", [1e6, 2.5, "many", None, True, -1])
def test_whole_numbers_are_whole(number):
    refuse(lambda: dd.SimulationPEM(realizations=number), "whole number", "realizations=200")
