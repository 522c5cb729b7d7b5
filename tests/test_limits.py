"""What is too large for the machine, or has no end, is refused with a sentence before any work."""

import gzip
import itertools
import re
import tracemalloc

import numpy as np
import pytest

import daedal as dd
from batteries.fits import make_lag
from daedal import der, memory
from daedal.errors import DaedalError, OutOfMemoryError
from daedal.kernels import scan

x, y, k, w = dd.symbols("x y k w")
TIMES = np.arange(41) * 0.1
BOUNDED = {"k": dd.Parameter(1.5, lower=0.1, upper=9.0)}


@pytest.fixture(autouse=True)
def _one_gibibyte(monkeypatch):
    """The same limits on every machine."""
    monkeypatch.setattr(memory, "find_available", lambda: float(1 << 30))


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
        ({"realizations": 10**12}, "PiB"),
    ],
)
def test_an_ensemble(options, size):
    refuse(lambda: dd.ensemble(make_lag(), np.arange(1001) * 0.1, **options), "'lag' needs about", size, "realizations")


@pytest.mark.parametrize("solver", [None, dd.IDA()])
def test_a_simulation_by_any_solver(solver):
    work = lambda: dd.simulate(make_lag(), TIMES, realizations=10**7, solver=solver)  # noqa: E731
    refuse(work, "'lag' needs about", "GiB of memory, but only 1 GiB are left", "ensemble(...)")


MANY = np.arange(3_000_000) * 1e-6
LOW_PASS = dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: dd.simulate(DECAY, MANY), ("'lag' needs about 1.12 GiB", "fewer times")),
        (lambda: dd.simulate(DECAY, MANY, solver=dd.IDA()), ("'lag' needs about 1.12 GiB", "fewer times")),
        (lambda: dd.ensemble(make_lag(), MANY, realizations=2), ("'lag' needs about 1.12 GiB", "fewer times")),
        (
            lambda: dd.estimate_states(make_lag(), make_data(), times=MANY),
            ("'lag' at 3e+06 times needs about", "fewer"),
        ),
        (
            lambda: dd.sample_path(LOW_PASS, np.arange(13_000_000.0), rng=0),
            ("path of 1.3e+07 times", "one piece after"),
        ),
    ],
)
def test_more_times_than_there_is_room_for(work, words):
    refuse(work, *words)


class BegunError(Exception):
    """Work has begun."""


def test_many_times_are_said_to_take_long_before_they_do(monkeypatch, caplog):
    """Ten million times take 40 seconds at least."""
    monkeypatch.setattr(memory, "find_available", lambda: None)

    def begin(*_, **__):
        raise BegunError

    monkeypatch.setattr("daedal.simulation.trajectories._simulate_single", begin)
    monkeypatch.setattr("daedal.filtering.states.FilterPass", begin)
    many = np.arange(10_000_000) * 1e-7
    for work, told in (
        (lambda: dd.simulate(DECAY, many), "Simulating 'lag' at 1e+07 times will take about 40 seconds"),
        (lambda: dd.estimate_states(make_lag(), make_data(), times=many), "Estimating states of model 'lag' at 1e+07"),
    ):
        caplog.clear()
        with pytest.raises(BegunError):
            work()
        assert [record.getMessage().startswith(told) for record in caplog.records] == [True]


def test_code_that_is_too_large_to_compile(monkeypatch):
    """Said with operations and bytes, and not by steps that nobody finds."""
    monkeypatch.setattr(scan, "ROOMY", 10)
    monkeypatch.setattr(scan, "BYTES", 1e8)
    data = make_data()
    told = ("Compiling a step of", "operations needs about", "GiB of memory", "solver=IDA()")
    refuse(lambda: dd.evaluate(make_lag(), data, free=["k"], criterion=dd.OutputError()), *told)
    refuse(lambda: dd.simulate(make_lag(), TIMES, solver=dd.Lanes("rk4", step=0.1)), *told)
    assert dd.simulate(make_lag(), TIMES).solver.startswith("IDA")


def test_a_model_of_too_many_equations(monkeypatch):
    """Dense matrices of all of them are counted before any is made."""
    monkeypatch.setattr("daedal.systems.system.ROOMY", 10)
    monkeypatch.setattr(memory, "find_available", lambda: 1e3)
    monkeypatch.setattr(memory, "SMALL", 0)
    xs = [symbol for i in range(20) for symbol in dd.symbols(f"x{i}")]
    cells = dd.Model(
        name="cells",
        equations={f"cell {i}": der(x) == -k * x for i, x in enumerate(xs)},
        unknowns=xs,
        parameters={k: 1.0},
    )
    refuse(lambda: dd.build(cells), "Building model 'cells' of 20 equations, 2.1e+04 operations, needs about", "Divide")


def test_large_linear_models_are_said_to_take_long(monkeypatch, caplog):
    monkeypatch.setattr("daedal.filtering.evolution.SECONDS", 1.0)
    dd.evaluate(make_lag(measurement_noise={"x": 0.1}), make_data(), free=["k"], criterion=dd.Likelihood())
    told = "One evaluation of model 'lag' with 1 variable will take about"
    assert {record.getMessage()[: len(told)] for record in caplog.records} == {told}  # values, then slopes


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
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "find_available", lambda: 1e6)
    refuse(lambda: dd.estimate_states(model, make_data(20_000)), "the states of model 'lag' at 2e+04 times", "MiB")
    with pytest.raises(OutOfMemoryError) as refused:
        dd.evaluate(model, make_data(20_000), free=["k"], criterion=dd.Likelihood())
    # Each event: A P, half of A P Aᵀ, A x, P h, hᵀg, hᵀx, x + g e/s and half of P − g gᵀ/s, and twice that for a slope.
    counted = 2e4 * (1 + 2) * (2 * 2**3 + 2**2 * 3 + 2 * 2**2 + 2 * 2**2 + 2 * 2 + 2 * 2 + 2 * 2 + 3 * 3)
    told = re.match(
        "The filter of 2 states over 2e[+]04 events, up to (.*) operations, needs about", refused.value.sentence
    )
    assert told is not None
    assert float(told[1]) == pytest.approx(counted, rel=0.25)


def test_profiles_of_very_many_points():
    fitted = dd.fit(DECAY, make_data(), free=["k"])
    refuse(lambda: dd.profile(fitted, points=10**9), "1000000000 points", "points=6")


def test_steps_without_end():
    long = np.linspace(0.0, 1e6, 11)
    refuse(lambda: dd.simulate(make_lag(), long, realizations=1, solver=dd.Lanes(step=1e-12)), "steps", "longer steps")


def test_particles_with_steps_without_end():
    bent = make_lag(equations={"lag": der(x) == -k * x**3 + w}, measurement_noise={"x": 0.1})
    solver, criterion = dd.Lanes(step=1e-12), dd.Likelihood(method="particle")
    work = lambda: dd.evaluate(bent, make_data(), free=["k"], criterion=criterion, solver=solver)  # noqa: E731
    refuse(work, "The filter of model 'lag', in", "steps, needs about", "longer steps")


def test_samples_of_a_hold_without_end():
    held = make_lag(equations={"lag": der(x) == -k * dd.hold(x, every=1e-12)}, disturbances={})
    refuse(lambda: dd.simulate(held, [0.0, 1.0]), "sampled 1e+12 times", "less often")


def test_break_points_without_end():
    late = make_lag(equations={"lag": der(x) == -k * dd.delay(x, 1e-12)}, disturbances={}, history={x: 1.0}, initial={})
    refuse(lambda: dd.simulate(late, [0.0, 1e3]), "delay")


@pytest.mark.parametrize(("name", "least", "most"), [("long.csv", 34_000, 44_000), ("long.csv.gz", 16_000, 17_000)])
def test_a_file_of_which_the_numbers_do_not_fit(tmp_path, monkeypatch, name, least, most):
    """As soon as the rows so far tell how many there are; compressed, as soon as twice as many do not fit."""
    path = tmp_path / name
    text = "t,x,text\n" + "".join(f"{number:05d}.0,1.5,unused\n" for number in range(40_000))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    read = lambda: dd.read_csv(path, time="t", outputs=["x"])  # noqa: E731
    assert read().times.size == 40_000
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "find_available", lambda: 2e6)
    with pytest.raises(
        OutOfMemoryError, match=r"rows needs about .* MiB of memory, but only .* fewer columns"
    ) as caught:
        read()
    assert least <= float(str(caught.value).partition("read of about ")[2].partition(" rows")[0]) <= most


def test_a_file_is_not_kept_as_text(tmp_path):
    """Of a file of other columns only the chunk at hand takes memory: less than the file itself, not twenty times."""
    path = tmp_path / "wide.csv"
    labels = ",".join(f"c{number}" for number in range(30))
    rows = (f"{number},1.5" + ",123456789" * 30 for number in range(60_000))
    path.write_text("\n".join([f"t,x,{labels}", *rows]), encoding="utf-8")
    tracemalloc.start()
    dd.read_csv(path, time="t", outputs=["x"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size


def test_polynomials_of_which_no_digit_is_left():
    """Of noise with seventy poles from 0.1 to 10 a sample was 6e29."""
    poles = -np.linspace(0.1, 10.0, 70)
    refuse(lambda: dd.FilteredNoise([1.0], np.poly(poles)), "51 coefficients, for 50 poles", "StateSpaceNoise")
    refuse(lambda: dd.FilteredNoise([1.0], itertools.count(1.0)), "51 coefficients")
    refuse(lambda: dd.TransferFunction([1.0], np.ones(100_001)), "1000 coefficients, got 100001", "of their own")


@pytest.mark.parametrize("noun", [dd.Signal, dd.Samples])
def test_samples_that_have_no_square(noun):
    make = lambda values: noun([0.0, 1.0], values)  # noqa: E731
    refuse(lambda: make([1.0, -1e160]), "values may be up to 1e+150 but values[1] (time 1) is -1e+160", "larger unit")
    assert make([1e150, -1e150]).values[0] == 1e150


def test_a_search_may_meet_squares_that_are_no_numbers():
    """BoxBOD of NIST (StRD), whose first start sends a search far away; warnings are errors here. Values certified."""
    b1, b2 = dd.symbols("b1 b2")
    model = dd.Model(
        name="oxygen demand",
        equations={"demand": y == b1 * (1 - np.exp(-b2 * dd.time))},
        unknowns=[y],
        outputs={"y": y},
        parameters={b1: 1.0, b2: 1.0},
    )
    data = dd.Dataset([1, 2, 3, 5, 7, 10], outputs={"y": [109, 149, 149, 191, 213, 224]})
    fitted = dd.fit(model, data, free=["b1", "b2"], starts=[{"b1": 1.0, "b2": 1.0}])
    np.testing.assert_allclose(list(fitted.params.values()), [213.80940889, 0.54723748542], rtol=1e-6)


@pytest.mark.parametrize("number", [1e6, 2.5, "many", None, True, -1])
def test_whole_numbers_are_whole(number):
    refuse(lambda: dd.SimulationPEM(realizations=number), "whole number", "realizations=200")


@pytest.mark.parametrize("size", [1e140, 1e160, 1e200, 1e300])
@pytest.mark.parametrize(
    "make",
    [
        lambda size: dd.StateSpaceNoise([[-1.0]], [[size]], [[1.0]]),
        lambda size: dd.StateSpaceNoise([[-1.0]], [[1.0]], [[size]]),
        lambda size: dd.FilteredNoise.low_pass(std=size, time_constant=1.0),
        lambda size: dd.WhiteNoise(size),
    ],
)
def test_noise_whose_variances_are_no_numbers(make, size):
    """They were NaN without a word, or a warning of numpy."""
    model = dd.Model(
        name="walk",
        equations={"rate": dd.der(x) == -k * x + w},
        unknowns=[x],
        outputs={"y": x},
        parameters={k: 1.0},
        disturbances={w: make(size)},
        measurement_noise={"y": 0.1},
        initial={x: 1.0},
    )
    times = np.linspace(0.0, 2.0, 21)
    data = dd.Dataset(times, outputs={"y": np.exp(-times)})
    said = r"^finite$|whose squares are no numbers|variance of a predicted sample is not positive or not finite"
    for kind in ("smoothed", "filtered", "predicted"):
        assert re.search(said, estimate(model, data, kind))


def estimate(model, data, kind):
    """Whether numbers came of it, or the sentence."""
    try:
        states = dd.estimate_states(model, data, kind=kind)
    except DaedalError as error:
        return str(error)
    return "finite" if np.isfinite([states.mean["x"], states.std["x"]]).all() else "not finite"
