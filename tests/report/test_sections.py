"""What pages say beyond tables of a fit: derived quantities, spectra, the course of a search, files; never a NaN."""

import re
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
import reported
from daedal.report import draw, gather_evidence
from daedal.report.page import write_sentence
from daedal.report.picture import Band, Line, Points
from daedal.report.pictures import draw_against, draw_experiment
from daedal.report.sections.derived import list_quantities

STRANGE = re.compile(r"\b(?:nan|inf|NaN|Infinity|None)\b|np\.float64")


def read_words(path):
    """What a reader sees, without scripts and styles."""
    text = path.read_text(encoding="utf-8")
    bare = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL)
    return text, bare


def derive(fit, data=None):
    evidence = gather_evidence(fit, data, [], [], [])
    return {one.name: one for one in list_quantities(evidence)}


def test_a_pair_of_poles_has_frequency_and_damping_with_their_errors():
    """v' = k (u − x) − d v: ω = √k, ζ = d/(2√k), so that all errors follow from those of k and d."""
    fit = reported.make_fit()
    (k, d), C = fit.params.values(), fit.cov
    found = derive(fit)
    frequency, damping = found["natural frequency"], found["damping ratio"]
    assert frequency.value == pytest.approx(np.sqrt(k))
    assert frequency.error == pytest.approx(np.sqrt(C[0, 0]) / (2 * np.sqrt(k)), rel=1e-3)
    assert frequency.unit == "rad/s"
    assert damping.value == pytest.approx(d / (2 * np.sqrt(k)))
    slope = np.array([-d / (4 * k**1.5), 1 / (2 * np.sqrt(k))])
    assert damping.error == pytest.approx(np.sqrt(slope @ C @ slope), rel=1e-3)
    gain = found["static gain u → level"]
    assert (gain.value, gain.error, gain.unit) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-9), "m/V")


def test_a_lag_has_its_time_constant(lag_fit):
    found = derive(lag_fit)
    for name, parameter in (("time constant", "T"), ("static gain u → level", "k")):
        assert found[name].value == pytest.approx(lag_fit[parameter].value)
        assert found[name].error == pytest.approx(lag_fit[parameter].std_error, rel=1e-3)


def make_cone():
    h, q, c, area, tau = dd.symbols("h q c area tau")
    model = dd.Model(
        name="cone", equations={"level": area * dd.der(h) == q - c * np.sqrt(h)}, unknowns=[h], inputs=[q],
        outputs={"h": h}, parameters={c: 1.8, area: 1.3, tau: dd.Parameter(2 * area / c, unit="s")},
        guess={h: 1.0}, initial={h: 1.0}, measurement_noise={"h": 0.02}, units={"h": "m", "q": "m3/s", "time": "s"},
    )  # fmt: skip
    times = np.arange(200) * 0.1
    drive = dd.Signal(times, 2.0 + 0.5 * np.sign(np.sin(0.5 * times)), "zoh")
    data = dd.simulate(model, times, inputs={"q": drive}, measurement_noise=True, rng=1).to_dataset()
    return dd.fit(model, data, free=["c", "area"], criterion=dd.OutputError(), rng=1)


def test_a_nonlinear_model_is_linearised_at_the_steady_state_of_the_mean_input(tmp_path):
    """A ḣ = q − c √h rests at √h = q/c; there T = 2 A q/c² and the gain is 2 q/c²; τ = 2 A/c is a formula."""
    fit = make_cone()
    signal = fit.data[0].inputs["q"]
    q = float(np.mean(signal(np.linspace(0.0, 19.9, 4096))))
    c, area = fit.params["c"], fit.params["area"]
    found = derive(fit)
    assert found["time constant"].value == pytest.approx(2 * area * q / c**2, rel=1e-6)
    slope = 2 * q / c**2 * np.array([-2 * area / c, 1.0])
    assert found["time constant"].error == pytest.approx(np.sqrt(slope @ fit.cov @ slope), rel=1e-3)
    assert found["static gain q → h"].value == pytest.approx(2 * q / c**2, rel=1e-6)
    assert found["static gain q → h"].unit == "m/(m3/s)"
    slope = 2 / c * np.array([-area / c, 1.0])
    assert (found["tau"].value, found["tau"].unit) == (pytest.approx(2 * area / c), "s")
    assert found["tau"].error == pytest.approx(np.sqrt(slope @ fit.cov @ slope), rel=1e-4)
    _, said = read_words(dd.write_report(fit, tmp_path / "cone.html"))
    assert f"Linearised at the steady state with q = {q:.4g}" in said
    assert "samples before tell it nothing" in said


def make_white(count=4000, size=1.0):
    """Residuals of a fit whose residual is known: white noise of so many times the declared size."""
    found = dd.resid(reported.make_simulating_fit())
    values = size * np.random.default_rng(1).standard_normal(count)
    one = replace(found["level"], times={"tank": np.arange(count) * 0.1}, tested={"tank": values})
    return replace(found, outputs={"level": one})


def test_the_spectrum_of_white_noise_is_flat_and_as_large_as_it_is():
    for size in (1.0, 2.0):
        picture = draw(make_white(size=size), "spectrum")
        (line,) = [one for one in picture.panels[0].traces if isinstance(one, Line)]
        (band,) = [one for one in picture.panels[0].traces if isinstance(one, Band)]
        assert np.mean(line.y) == pytest.approx(size**2, rel=0.1)  # 41 pieces of 47 frequencies: to 2.4 %
        inside = np.mean((line.y > band.lower[0]) & (line.y < band.upper[0]))
        assert inside > 0.8 if size == 1.0 else inside < 0.05
    assert line.x[-1] < np.pi / 0.1


def test_the_spectrum_of_a_sine_has_its_peak_there():
    found = make_white()
    times = found["level"].times["tank"]
    sine = replace(found["level"], tested={"tank": np.sin(6.0 * times)})
    line = next(one for one in draw(replace(found, outputs={"level": sine}), "spectrum").panels[0].traces
                if isinstance(one, Line))  # fmt: skip
    assert line.x[np.argmax(line.y)] == pytest.approx(6.0, abs=line.x[0])


def test_a_residual_that_depends_on_something_is_told():
    found, u = make_white(2000), np.random.default_rng(2).uniform(-1.0, 1.0, 2000)
    times = found["level"].times["tank"]
    signals = {"u": {"tank": dd.Signal(times, u)}}
    assert "no mean of a part is far from zero" in draw_against(found, signals, None).alt
    bent = replace(found["level"], tested={"tank": found["level"].tested["tank"] + u**2 - 1 / 3})
    assert "level depends on u" in draw_against(replace(found, outputs={"level": bent}), signals, None).alt
    steps = {"u": {"tank": dd.Signal(times, np.sign(u))}}
    panel = draw_against(found, steps, None).panels[0]
    means = next(one for one in panel.traces if isinstance(one, Points) and one.name == "mean of a part")
    np.testing.assert_array_equal(means.x, [-1.0, 1.0])  # an input of two levels has two parts
    assert draw_against(found, {}, None) is None


def test_a_residual_that_remembers_itself_depends_on_nothing():
    """By chance one of 8 means is told in 0.4 % of all sets; errors of independent samples tell one in nearly all."""
    found, times, count = make_white(600), np.arange(600) * 0.1, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        u, noise = np.repeat(rng.uniform(-1.0, 1.0, 20), 30), rng.standard_normal(600)
        noise[0] /= np.sqrt(1 - 0.95**2)
        for k in range(1, 600):
            noise[k] += 0.95 * noise[k - 1]
        one = replace(found["level"], times={"tank": times}, tested={"tank": noise})
        picture = draw_against(
            replace(found, outputs={"level": one}), {"u": {"tank": dd.Signal(times, u, "zoh")}}, None
        )
        count += "level depends on u" in picture.alt
    assert count <= 1


def test_a_dependence_that_no_correlation_shows_is_told_as_such():
    found, u = make_white(2000), np.random.default_rng(2).uniform(-1.0, 1.0, 2000)
    times = found["level"].times["tank"]
    bent = replace(found["level"], tested={"tank": found["level"].tested["tank"] + u**2 - 1 / 3})
    passed = found["level"].inputs["u"]
    failed = replace(passed, correlation=passed.correlation + 2.0 * passed.band)
    assert passed.passed
    assert not failed.passed
    for test, said in ((passed, "level depends on u, though no correlation shows it: "), (failed, "depends on u: ")):
        one = replace(bent, inputs={"u": test})
        alt = draw_against(replace(found, outputs={"level": one}), {"u": {"tank": dd.Signal(times, u)}}, None).alt
        assert said in alt


@pytest.mark.parametrize("way", [{"local": ["x0"]}, {"fixed": [{"x0": 1.0}, {"x0": 30.0}]}])
def test_states_beside_residuals_are_those_of_their_experiment(way):
    x, k, x0 = dd.symbols("x k x0")
    model = dd.Model(name="decay", equations={"rate": dd.der(x) == -k * x}, unknowns=[x], outputs={"y": 2 * x},
                     parameters={k: dd.Parameter(1.0, lower=0.01, upper=50.0), x0: 1.0}, initial={x: x0})  # fmt: skip
    times = np.arange(60) * 0.1
    data = []
    for name, begin in (("a", 1.0), ("b", 30.0)):
        noise = 0.02 * np.random.default_rng(len(data)).standard_normal(60)
        data.append(dd.Dataset(times, outputs={"y": 2.0 * begin * np.exp(-1.5 * times) + noise}, name=name))
    found = dd.fit(model, data, free=["k"], criterion=dd.OutputError(), **way)
    beside = gather_evidence(found, None, [], [], []).beside["x"]
    assert [beside[name].values[0] for name in "ab"] == pytest.approx([1.0, 30.0], rel=0.05)
    unseen = gather_evidence(found, data[1], [], [], []).beside["x"]
    assert unseen["b"].values[0] == pytest.approx(30.0, rel=0.05)


def test_states_of_data_that_go_on_are_simulated_from_where_the_fit_begins():
    """x' = −x + w from 1 and from 30, where x(1.6) is e^−1.6 of that."""
    x, w, x0, k = dd.symbols("x w x0 k")
    model = dd.Model(name="decay", equations={"rate": dd.der(x) == -k * x + w}, unknowns=[x], outputs={"y": 2 * x},
                     parameters={k: dd.Parameter(1.1, lower=0.01, upper=50.0), x0: 1.0}, initial={x: x0},
                     disturbances={w: dd.FilteredNoise.low_pass(std=0.01, time_constant=0.5)},
                     measurement_noise={"y": 0.01})  # fmt: skip
    times, parts = np.arange(31) * 0.1, []
    for name, begin in (("a", 1.0), ("b", 30.0)):
        noise = 0.01 * np.random.default_rng(len(parts)).standard_normal(31)
        parts.append(dd.Dataset(times, outputs={"y": 2.0 * begin * np.exp(-times) + noise}, name=name).split(0.5))
    found = dd.fit(model, [one for one, _ in parts], free=["k"], local=["x0"], criterion=dd.Likelihood())
    beside = gather_evidence(found, [one for _, one in parts], [], [], []).beside["x"]
    ends = [float(beside[name](1.6)) / begin for name, begin in (("a", 1.0), ("b", 30.0))]
    assert ends == pytest.approx([np.exp(-1.6)] * 2, rel=0.1)


def test_the_course_is_that_of_the_search():
    fit = reported.make_fit()
    course = fit.course
    assert course.values.size == 1 + fit.attempts[0].evaluations  # its start first; looks for rivals are not on it
    assert course.values.min() == fit.value
    np.testing.assert_allclose(course.params[0], [one.start for one in fit.estimates.values()])
    best = int(np.argmin(course.values))
    np.testing.assert_allclose(course.params[best], list(fit.params.values()))
    several = reported.make_simulating_fit()  # two starts: the one that ended best
    started = [list(one.start.values()) for one in several.attempts]
    assert any(np.allclose(several.course.params[0], start) for start in started)
    assert several.course.values[several.course.stages == several.course.stages.max()].min() == several.value


def test_pictures_of_minima_and_realizations():
    fit = reported.make_simulating_fit()
    other = replace(fit.minima[0], value=fit.value + 0.1, params={"k": 3.0, "d": 0.2}, count=1)
    picture = draw(replace(fit, minima=(fit.minima[0], other)), "minima")
    assert [line.y.tolist() for line in picture.panels[0].traces] == [[0.0, 1.0], [1.0, 0.0]]
    assert "1 other minimum within the 95 % threshold" in picture.alt
    found = dd.fit(reported.make_model(), reported.make_data()[0], free=["k"], rng=1,
                   criterion=dd.SimulationPEM(realizations=10))  # fmt: skip
    line = draw(found, "realizations").panels[0].traces[0]
    share = 100.0 * found["k"].monte_carlo_error / found["k"].std_error
    np.testing.assert_allclose(line.y * np.sqrt(line.x / 10.0), share)


def test_the_error_of_particles_is_drawn_over_particles(tmp_path):
    x, w, k = dd.symbols("x w k")
    model = dd.Model(name="well", equations={"rate": dd.der(x) == x - k * x**3 + w}, unknowns=[x], outputs={"y": x},
                     parameters={k: dd.Parameter(1.0, lower=0.2, upper=5.0)}, initial={x: 0.5},
                     disturbances={w: dd.FilteredNoise.low_pass(std=0.5, time_constant=1.0)},
                     measurement_noise={"y": 0.2})  # fmt: skip
    run = dd.simulate(model, np.arange(20) * 0.2, measurement_noise=True, realizations=1, rng=3)
    criterion = dd.Likelihood(method="particle", particles=60)
    found = dd.fit(model, run.to_dataset(), free=["k"], criterion=criterion, rng=5)
    assert found.averaged == ("particles", 60)
    found.save(tmp_path / "well.nc")
    picture = draw(dd.load(tmp_path / "well.nc"), "realizations")
    assert "with 60 particles at most" in picture.alt
    line, share = picture.panels[0].traces[0], 100.0 * found["k"].monte_carlo_error / found["k"].std_error
    np.testing.assert_allclose(line.y * np.sqrt(line.x / 60.0), share)
    assert picture.panels[0].x.title == "particles"


def test_the_page_shows_inputs_and_both_bands():
    evidence = gather_evidence(reported.make_fit(), reported.make_data()[1], [], [], [])
    picture = draw(evidence.unseen)
    assert [panel.y.title for panel in picture.panels] == ["level [m]", "speed [m/s]", "u [V]"]
    total, open_ = (one for one in picture.panels[0].traces if isinstance(one, Band))
    assert np.all(total.upper - total.lower > open_.upper - open_.lower)
    drawn = picture.panels[2].traces[0]
    test = reported.make_data()[1]
    assert drawn.x[0] == test.times[0]
    assert drawn.x[-1] == test.times[-1]
    np.testing.assert_array_equal(drawn.y, test.inputs["u"](np.minimum(drawn.x, test.times[-1])))


def test_the_file_in_the_page_is_the_fit_and_the_script_makes_it_again(tmp_path):
    fit = reported.make_fit()
    text, _ = read_words(dd.write_report(fit, tmp_path / "page.html"))
    packed = re.search(r'href="data:application/x-netcdf;base64,([^"]*)"', text)[1]
    (tmp_path / "fit.nc").write_bytes(b64decode(packed))
    assert dict(dd.load(tmp_path / "fit.nc").params) == dict(fit.params)
    from daedal.report.sections.making import write_script

    names = {}
    exec(write_script(fit).replace('"fit.nc"', repr(str(tmp_path / "fit.nc"))).replace("print(fit)", ""), names)
    np.testing.assert_allclose(list(names["fit"].params.values()), list(fit.params.values()), rtol=1e-6)


def make_poor(kind):
    """Fits that went wrong."""
    fit, train = reported.make_fit(), reported.make_data()[0]
    x, a, b = dd.symbols("x a b")
    decay = {"name": "decay", "equations": {"e": dd.der(x) == -a * b * x}, "unknowns": [x], "outputs": {"x": x}}
    model = dd.Model(**decay, parameters={a: 1.0, b: 2.0}, initial={x: 1.0})
    times = np.arange(20) * 0.1
    if kind == "interrupted":
        return replace(fit, status=replace(fit.status, ok=False, interrupted=True), cov=np.full((2, 2), np.nan))
    if kind == "stopped":
        return replace(fit, status=replace(fit.status, ok=False, sentence="It stopped."))
    if kind == "at a bound":
        free = {"k": dd.Parameter(1.5, lower=1.0, upper=1.6), "d": dd.Parameter(0.8, lower=0.0, upper=5.0)}
        return dd.fit(reported.make_model(), train, free=free, criterion=dd.OutputError(), rng=1)
    if kind == "one sample":
        return dd.fit(model, dd.Dataset([0.5], outputs={"x": [0.4]}), free=["a"], criterion=dd.OutputError())
    free = ["a"] if kind == "exact" else ["a", "b"]
    data = dd.Dataset(times, outputs={"x": np.exp(-times)})
    return dd.fit(model, data, free=free, criterion=dd.OutputError())


@pytest.mark.parametrize("kind", ["interrupted", "stopped", "at a bound", "one sample", "exact", "undetermined"])
def test_a_poor_fit_has_a_page_without_numbers_that_are_none(kind, tmp_path):
    _, said = read_words(dd.write_report(make_poor(kind), tmp_path / "page.html"))
    assert not STRANGE.search(said), STRANGE.search(said)


def test_the_days_of_the_data_are_told_and_never_the_day_of_the_page(tmp_path):
    x, a = dd.symbols("x a")
    model = dd.Model(name="m", equations={"e": dd.der(x) == -a * x}, unknowns=[x], outputs={"x": x},
                     parameters={a: 0.1}, initial={x: 1.0})  # fmt: skip
    times = np.datetime64("2024-03-01T23:59:50") + np.arange(30) * np.timedelta64(1, "s")
    noise = 0.01 * np.random.default_rng(1).standard_normal(30)
    data = dd.Dataset(times, outputs={"x": np.exp(-0.1 * np.arange(30)) + noise})
    _, said = read_words(dd.write_report(dd.fit(model, data, free=["a"]), tmp_path / "page.html"))
    assert "measured 2024-03-01 to 2024-03-02" in said


def test_the_picture_of_an_experiment_has_its_own_fits():
    """Not the means of all, which would hide the one that is described badly."""
    train, test = reported.make_data()
    named = [
        dd.Dataset(one.times, one.inputs, one.outputs, t0=one.t0, name=name, units=one.units)
        for name, one in (("first", train), ("second", test))
    ]
    comparison = dd.compare(reported.make_simulating_fit(), named)
    for one in comparison.series:
        picture = draw_experiment(comparison, one.experiment, None)
        assert f"{one.output} {one.fit_percent:.1f} %" in picture.title
        assert f"'{one.experiment}'" in picture.subtitle
        assert len(picture.panels) == 3  # two outputs and what drove them
    only = draw_experiment(comparison, "second", ["speed"])
    assert "level" not in only.title


def test_notes_become_sentences():
    assert write_sentence("the band holds all") == "The band holds all."
    assert write_sentence("a: its upper bound is reached") == "a: its upper bound is reached."
    assert write_sentence("Why not?") == "Why not?"


def test_disturbances_are_told_in_words(tmp_path):
    page = read_words(dd.write_report(reported.make_result("study"), tmp_path / "study.html"))[1]
    assert "w: filtered noise, numerator [0.4], denominator [0.5, 1]" in page
    assert "FilteredNoise(" not in page
