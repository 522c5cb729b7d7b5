"""Figures of a fit and of its validation: what their panels show, what they refuse, files that need nothing else."""

import subprocess
import sys

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import ReportError

x, u, k, x0 = dd.symbols("x u k x0")
TIMES = np.arange(81) * 0.05


@pytest.fixture(scope="module")
def fit():
    model = dd.Model(
        name="lag",
        equations={"lag": der(x) == -k * x + u},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x, "double": 2 * x},
        parameters={k: 1.0, x0: 0.2},
        initial={x: x0},
        measurement_noise={"x": 0.02},
    )
    signal = dd.Signal(TIMES, np.sin(3.0 * TIMES))
    exact = dd.simulate(model.with_parameters({k: 1.5}), TIMES, inputs={u: signal})
    random = np.random.default_rng(1)
    noisy = {name: exact[name] + 0.02 * random.standard_normal(TIMES.size) for name in ("x", "double")}
    data = dd.Dataset(TIMES, inputs={"u": signal}, outputs=noisy)
    return dd.fit(model, data, free=["k", "x0"], criterion=dd.OutputError(transient=0.5))


def panels(figure):
    return [axis.title.text for axis in figure.select_yaxes()]


def test_a_fit_shows_samples_prediction_and_residual(fit):
    figure = dd.plot(fit)
    assert panels(figure) == ["x", "residual", "double", "residual"]
    band, measured, predicted, residual = figure.data[:4]
    np.testing.assert_array_equal(measured.y, fit.data[0]["x"])
    found = dd.compare(fit, fit.data)["x"]
    np.testing.assert_array_equal(predicted.y, found.predicted)
    np.testing.assert_allclose(band.y[:81] - predicted.y, 1.96 * 0.02, rtol=1e-3)
    scored = TIMES >= 0.5 - 1e-12
    np.testing.assert_array_equal(residual.y[scored], (measured.y - predicted.y)[scored])
    assert np.isnan(residual.y[~scored]).all()
    assert figure.layout.title.text.startswith("fit of lag: x 9")
    assert figure.layout.title.text.endswith("(simulated, data of the fit)")
    assert figure.layout.xaxis.matches == "x2"


def test_titles_say_which_prediction_of_which_data_they_show():
    """A filter predicts its own data one step ahead far better than it simulates others: each says what it is."""
    walk, w = dd.symbols("walk w")
    model = dd.Model(
        name="walk", equations={"walk": der(walk) == w}, unknowns=[walk], outputs={"y": walk},
        disturbances={w: dd.WhiteNoise(intensity=k)}, parameters={k: dd.Parameter(1.0, lower=1e-3, upper=1e3)},
        measurement_noise={"y": 0.1},
    )  # fmt: skip
    paths = np.random.default_rng(1).standard_normal((2, 60)).cumsum(axis=1)
    mine, other = (
        dd.Dataset(np.arange(60.0), outputs={"y": path}, name=name) for path, name in zip(paths, "ab", strict=True)
    )
    found = dd.fit(model, mine, free=["k"], criterion=dd.Likelihood())
    title = dd.plot(found).layout.title.text
    assert title.endswith("(one step ahead, data of the fit)")
    assert f"y {found.fit_percent['y']:.1f} %" in title
    compared = dd.compare(found, other)
    title = dd.plot(compared).layout.title.text
    assert title.startswith("comparison of walk with held-out data 'b': simulated y ")
    assert f"y {compared.fit_percent['y']:.1f} %" in title


def test_outputs_can_be_chosen(fit):
    assert panels(dd.plot(fit, ["double"])) == ["double", "residual"]
    with pytest.raises(ReportError, match=r"no output 'doubel' to draw. Did you mean 'double'"):
        dd.plot(fit, ["doubel"])
    with pytest.raises(ReportError, match="must be a list"):
        dd.plot(fit, "x")


def test_a_comparison_shows_each_experiment(fit):
    night = dd.Dataset(TIMES, inputs=fit.data[0].inputs, outputs={"x": fit.data[0]["x"]}, name="night")
    day = dd.Dataset(TIMES, inputs=fit.data[0].inputs, outputs={"x": fit.data[0]["x"]}, name="day")
    figure = dd.plot(dd.compare(fit, [night, day]))
    assert panels(figure) == ["x, night", "x, day"]
    assert figure.layout.title.text.startswith("comparison of lag with held-out data 'night' and 'day': simulated x 9")
    assert [trace.name for trace in figure.data[:3]] == ["band of 95 %", "measured", "predicted"]
    assert min(figure.data[1].marker.opacity) < 1.0  # samples in the transient are pale
    many = [dd.Dataset(TIMES, inputs=fit.data[0].inputs, outputs={"x": night["x"]}, name=str(n)) for n in range(10)]
    figure = dd.plot(dd.compare(fit, many))
    assert len(panels(figure)) == 8
    assert "2 more outputs not drawn" in figure.layout.title.text


def test_residuals_show_correlations_with_their_bands(fit):
    found = dd.resid(fit)
    figure = dd.plot(found, ["x"])
    auto_band, auto, cross_band, cross = figure.data
    np.testing.assert_array_equal(auto.y, found["x"].whiteness.correlation)
    np.testing.assert_array_equal(cross.y, found["x"].inputs["u"].correlation)
    np.testing.assert_array_equal(cross_band.y[: cross.y.size], found["x"].inputs["u"].band)
    assert auto_band.fill == "toself"
    titles = [axis.title.text for axis in figure.select_xaxes()]
    assert titles[0].startswith("lag (autocorrelation, p = ")
    assert titles[1].startswith("lag (with u, p = ")


def test_a_profile_shows_threshold_and_ends(fit):
    found = dd.profile(fit, ["k"], points=3)
    curve, threshold, low, high = dd.plot(found).data
    np.testing.assert_array_equal(curve.y, found["k"].cost)
    assert set(threshold.y) == {found["k"].threshold}
    assert (low.x[0], high.x[0]) == found["k"].interval
    with pytest.raises(ReportError, match="no parameter 'x0' to draw"):
        dd.plot(found, ["x0"])


def test_identifiability_shows_the_worst_direction_first(fit):
    found = dd.identifiability(fit)
    singular, first, second = dd.plot(found).data
    np.testing.assert_array_equal(singular.y, found.singular_values)
    np.testing.assert_array_equal(first.y, list(found.directions[1].weights.values()))
    assert (first.name, second.name) == ("direction 2", "direction 1")
    assert list(dd.plot(found, ["k"]).data[1].x) == ["k"]


def test_html_needs_nothing_else(fit, tmp_path):
    for number, result in enumerate((fit, dd.resid(fit), dd.identifiability(fit))):
        path = tmp_path / f"{number}.html"
        dd.plot(result).write_html(path)
        text = path.read_text(encoding="utf-8")
        assert "plotly.js v" in text
        assert '<script src="http' not in text


def test_plotly_is_loaded_when_something_is_drawn():
    code = "import sys, daedal; daedal.plot, daedal.compare; print('plotly' in sys.modules, 'xarray' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "False False"
