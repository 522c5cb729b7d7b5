"""Figures of a fit and of its validation: what their panels show, what they refuse, files that need nothing else."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import ReportError
from daedal.report import draw

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
    assert figure.layout.title.subtitle.text == "by OutputError(transient=0.5); simulated, data of the fit 'data'"
    assert figure.layout.xaxis2.matches == "x"


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
    title = dd.plot(found).layout.title
    assert title.subtitle.text == "by Likelihood(); one step ahead, data of the fit 'a'"
    assert f"y {found.fit_percent['y']:.1f} %" in title.text
    compared = dd.compare(found, other)
    title = dd.plot(compared).layout.title
    assert "held-out data 'b'" in title.subtitle.text
    assert title.text == f"comparison of walk: simulated y {compared.fit_percent['y']:.1f} %"


def test_outputs_can_be_chosen(fit):
    assert panels(dd.plot(fit, ["double"])) == ["double", "residual"]
    with pytest.raises(ReportError, match=r"no output 'doubel' to draw. Did you mean 'double'"):
        dd.plot(fit, ["doubel"])
    with pytest.raises(ReportError, match=r"A Fit has no picture 'x'. Its pictures are .* a list: plot\(result"):
        dd.plot(fit, "x")
    with pytest.raises(ReportError, match=r"no picture 'corelations'. Did you mean 'correlations'"):
        dd.plot(fit, "corelations")


def test_a_comparison_shows_each_experiment(fit):
    night = dd.Dataset(TIMES, inputs=fit.data[0].inputs, outputs={"x": fit.data[0]["x"]}, name="night")
    day = dd.Dataset(TIMES, inputs=fit.data[0].inputs, outputs={"x": fit.data[0]["x"]}, name="day")
    figure = dd.plot(dd.compare(fit, [night, day]))
    assert panels(figure) == ["x, night", "u, night", "x, day", "u, day"]
    assert figure.layout.title.text.startswith("comparison of lag: simulated x 9")
    assert "held-out data 'night' and 'day'" in figure.layout.title.subtitle.text
    names = [trace.name for trace in figure.data[:3]]
    assert names == ["95 % band, simulated", "measured", "simulated"]
    assert figure.layout.xaxis2.matches is None  # other times
    assert min(figure.data[1].marker.opacity) < 1.0  # samples in the transient are pale
    many = [dd.Dataset(TIMES, inputs=fit.data[0].inputs, outputs={"x": night["x"]}, name=str(n)) for n in range(10)]
    figure = dd.plot(dd.compare(fit, many))
    assert len(panels(figure)) == 8
    assert "2 more outputs not drawn" in figure.layout.title.subtitle.text


def test_residuals_show_correlations_with_their_bands(fit):
    found = dd.resid(fit)
    figure = dd.plot(found, ["x"])
    white, cross = found["x"].whiteness, found["x"].inputs["u"]
    for axis, test in (("x", white), ("x2", cross)):
        bars = [trace for trace in figure.data if trace.type == "bar" and trace.xaxis == axis]
        (band,) = [trace for trace in figure.data if trace.type == "scatter" and trace.xaxis == axis]
        drawn = dict(zip(np.concatenate([b.x for b in bars]), np.concatenate([b.y for b in bars]), strict=True))
        assert [drawn[lag] for lag in test.lags] == list(test.correlation)
        inner = slice(1, test.lags.size + 1)  # between ends that lie beyond the bars
        np.testing.assert_array_equal(band.x[inner], test.lags)
        np.testing.assert_array_equal(band.y[inner], test.band)
        outside = [bar for bar in bars if bar.name == "outside"]
        assert bool(outside) == (not test.passed)
        assert all(bar.marker.pattern.shape for bar in outside)  # not by colour alone
        assert all(bar.marker.pattern.fillmode == "overlay" for bar in outside)  # or there would be white on white
    assert [note.text.split(", p")[0] for note in figure.layout.annotations] == ["x: autocorrelation", "x: with u"]
    innovations = dd.plot(found, "innovations")
    np.testing.assert_array_equal(innovations.data[0].y, found["x"].tested["data"])


def test_a_profile_shows_threshold_ends_and_parabola(fit):
    found = dd.profile(fit, ["k"], points=3)
    figure = dd.plot(found)
    curve, parabola = figure.data[:2]
    np.testing.assert_array_equal(curve.y, found["k"].cost)
    half = (found["k"].wald[1] - found["k"].wald[0]) / 2
    at_end = np.interp(found["k"].estimate + half, parabola.x, parabola.y)
    assert at_end == pytest.approx(found["k"].threshold, rel=1e-2)
    lines = {shape.y0: shape for shape in figure.layout.shapes if shape.y0 == shape.y1}
    assert list(lines) == [found["k"].threshold]
    ends = [shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1]
    assert set(found["k"].interval) <= set(ends)
    assert {"threshold", "end of the interval", "estimate"} <= {trace.name for trace in figure.data}
    with pytest.raises(ReportError, match="no parameter 'x0' to draw"):
        dd.plot(found, ["x0"])


def test_identifiability_shows_singular_values_and_components(fit):
    found = dd.identifiability(fit)
    figure = dd.plot(found)
    *bars, cells = figure.data
    np.testing.assert_array_equal(np.sort(np.concatenate([b.y for b in bars])), np.sort(found.singular_values))
    np.testing.assert_array_equal(cells.z[1], list(found.directions[1].weights.values()))
    assert cells.text[1][0] == f"{cells.z[1][0]:.2f}"
    assert dd.plot(found, ["k"]).layout.xaxis2.ticktext == ("k",)


def test_correlations_are_written_in_their_cells(fit):
    figure = dd.plot(fit, "correlations")
    (cells,) = figure.data
    np.testing.assert_allclose(cells.z, fit.correlation)
    assert cells.text[0][1] == f"{fit.correlation[0, 1]:.2f}"
    assert figure.layout.xaxis.ticktext == ("k", "x0")
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first row on top


def test_starts_are_a_waterfall_and_estimates_have_intervals(fit):
    figure = dd.plot(fit, "starts")
    values = sorted(one.value for one in fit.attempts)
    np.testing.assert_allclose(figure.data[0].y, np.array(values) - values[0])
    drawn = dd.plot(fit, "estimates").data[0]
    low, high = fit.conf_int()["k"]
    np.testing.assert_allclose(drawn.x[:2], [100 * (low / fit["k"].value - 1), 100 * (high / fit["k"].value - 1)])


def test_html_needs_nothing_else(fit, tmp_path):
    for number, result in enumerate((fit, dd.resid(fit), dd.identifiability(fit))):
        path = tmp_path / f"{number}.html"
        dd.plot(result).write_html(path)
        text = path.read_text(encoding="utf-8")
        assert "plotly.js (cartesian - minified) v4" in text
        assert '<script src="http' not in text


def test_plotly_is_loaded_when_something_is_drawn():
    code = "import sys, daedal; daedal.plot, daedal.compare; print('plotly' in sys.modules, 'xarray' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "False False"


def test_short_logarithmic_axes_have_round_numbers_in_both_backends(results):
    for name, kind in (("Residuals", "spectrum"), ("Fit", "bode")):
        figure = dd.plot(results[name], kind, backend="matplotlib")
        figure.canvas.draw()
        labels = [one.get_text() for axes in figure.axes for one in axes.get_xticklabels() if one.get_text()]
        assert labels
        assert not [label for label in labels if "10^" in label or "mathdefault" in label]
        drawn = dd.plot(results[name], kind).layout.xaxis.ticktext
        assert set(labels) <= set(drawn)


def test_a_profile_shows_where_it_crosses_the_threshold_however_steep_it_is(results):
    profile = results["Profile"]
    curve = profile["k"]
    steep = replace(curve, cost=np.where(curve.cost > curve.threshold, 1e4, curve.cost))
    high = draw(replace(profile, curves={"k": steep})).panels[0].y.range
    assert high[1] < 10 * curve.threshold
    assert draw(profile).panels[0].y.range is None or curve.cost.max() > 5 * curve.threshold
