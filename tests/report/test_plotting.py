"""Figures: their panels, what they refuse, and files that need nothing else."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import ReportError

x, y, u, k = dd.symbols("x y u k")


@pytest.fixture(scope="module")
def trajectory():
    model = dd.Model(
        name="lag",
        equations={"lag": der(x) == -x + u, "square": y == x**2},
        unknowns=[x, y],
        inputs=[u],
        outputs={"double": 2 * x},
        initial={x: 0.0},
    )
    return dd.simulate(model, [0.0, 1.0, 2.0], inputs={u: dd.Signal([-1.0, 0.5, 3.0], [1.0, 2.0, 2.0], "zoh")})


def panels(figure):
    return [axis.title.text for axis in figure.select_yaxes()]


def test_a_trajectory_shows_its_outputs_first(trajectory):
    figure = dd.plot(trajectory)
    assert panels(figure) == ["double", "x", "y", "u"]
    assert figure.layout.title.text == "trajectory of lag"
    assert {trace.name for trace in figure.data if trace.showlegend} == {"simulated", "input"}
    np.testing.assert_array_equal(figure.data[1].y, trajectory["x"])
    np.testing.assert_array_equal(figure.data[1].x, trajectory.times)


def test_a_held_input_is_drawn_as_steps_where_it_jumps(trajectory):
    drawn = dd.plot(trajectory, ["u"]).data[0]
    assert drawn.line.shape == "hv"
    assert 0.5 in drawn.x
    assert dd.plot(trajectory, ["u"]).layout.xaxis.range == (0.0, 2.0)


def test_chosen_names_and_symbols(trajectory):
    assert panels(dd.plot(trajectory, ["y", "u"])) == ["y", "u"]
    assert panels(dd.plot(trajectory, [x, y])) == ["x", "y"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["doubel"], "no signal 'doubel' to draw. Did you mean 'double'"),
        ([3], "no signal '3'"),
        ("double", r"A Trajectory has no picture 'double'. .* a list: plot\(result, \["),
        (x, "must be a list"),
        (3, "must be a list, got 3"),
        ([], "nothing to draw"),
    ],
)
def test_names_that_cannot_be_drawn(trajectory, names, message):
    with pytest.raises(ReportError, match=message):
        dd.plot(trajectory, names)


@pytest.mark.parametrize("thing", [None, 3, "fit"])
def test_what_is_no_result(thing):
    with pytest.raises(ReportError, match=r"plot draws a Trajectory, an Ensemble, .* found, got"):
        dd.plot(thing)
    with pytest.raises(ReportError, match=r"In a list, plot draws Trajectory, .*, got"):
        dd.plot([thing])


def test_many_signals_are_counted_not_drawn():
    xs = dd.symbols("x", 12)
    model = dd.Model(
        name="many",
        equations={f"rate {i}": der(each) == -each for i, each in enumerate(xs)},
        unknowns=list(xs),
        initial=dict.fromkeys(xs, 1.0),
    )
    trajectory = dd.simulate(model, [0.0, 1.0])
    figure = dd.plot(trajectory)
    assert len(figure.data) == 8
    assert "4 more signals not drawn" in figure.layout.title.subtitle.text
    assert len(dd.plot(trajectory, list(xs)).data) == 12


def test_a_stopped_run_says_so():
    growth = dd.Model(name="growth", equations={"g": der(x) == x**2}, unknowns=[x], initial={x: 1.0})
    assert "stopped at time 0.99999" in dd.plot(dd.simulate(growth, [0.0, 2.0])).layout.title.subtitle.text


def simulate_walk(count):
    noise = dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)
    model = dd.Model(name="walk", equations={"w": der(x) == u - x}, unknowns=[x], disturbances={u: noise})
    return dd.simulate(model, [0.0, 0.5, 1.0], realizations=count, rng=1)


def test_a_few_realizations_lie_together_as_separate_lines():
    trajectory = simulate_walk(3)
    figure = dd.plot(trajectory, ["x"])
    lines = np.reshape(figure.data[0].y, (3, 4))
    np.testing.assert_array_equal(lines[:, :3], trajectory["x"])
    assert np.isnan(lines[:, 3]).all()
    np.testing.assert_array_equal(np.reshape(figure.data[0].x, (3, 4))[:, :3], np.tile(trajectory.times, (3, 1)))
    assert figure.layout.title.text == "3 realizations of walk"


def test_many_realizations_are_quantiles():
    trajectory = simulate_walk(60)
    wide, narrow, median = dd.plot(trajectory, ["x"]).data
    assert [trace.name for trace in (wide, narrow)] == ["simulated, 5–95 %", "simulated, 25–75 %"]
    np.testing.assert_allclose(median.y, np.quantile(trajectory["x"], 0.5, axis=0))
    np.testing.assert_allclose(wide.y[:3], np.quantile(trajectory["x"], 0.95, axis=0))
    np.testing.assert_allclose(wide.y[:2:-1], np.quantile(trajectory["x"], 0.05, axis=0))
    np.testing.assert_allclose(narrow.y[:3], np.quantile(trajectory["x"], 0.75, axis=0))


def test_a_dataset_shows_samples_and_inputs():
    data = dd.Dataset(
        [0.0, 1.0, 2.0],
        inputs={"u": dd.Signal([0.0, 2.0], [1.0, 3.0]), "held": dd.Signal([0.0, 2.0], [1.0, 3.0], "zoh")},
        outputs={"y": [1.0, np.nan, 2.0], "slow": dd.Samples([0.5], [4.0])},
        name="step",
    )
    figure = dd.plot(data)
    assert panels(figure) == ["y", "slow", "u", "held"]
    assert [trace.mode for trace in figure.data] == ["markers", "markers", "lines", "lines"]
    assert [trace.line.shape for trace in figure.data] == [None, None, "linear", "hv"]
    assert figure.layout.title.text == "data step"
    np.testing.assert_array_equal(figure.data[1].x, [0.5])


@pytest.fixture(scope="module")
def noisy():
    noise = dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)
    equations = {"w": der(x) == k * u - x}
    outputs = {"x": x, "double": 2 * x}
    return dd.Model(
        name="walk", equations=equations, unknowns=[x], outputs=outputs, disturbances={u: noise}, parameters={k: 1.0}
    )


def test_an_ensemble_is_its_mean_in_a_band_of_one_deviation(noisy):
    found = dd.ensemble(noisy, [0.0, 0.5, 1.0], realizations=20, rng=1)
    figure = dd.plot(found)
    assert panels(figure) == ["x", "double"]
    assert figure.layout.title.text == "mean of 20 realizations of walk"
    band, mean = figure.data[2:]
    np.testing.assert_array_equal(mean.y, found.mean["double"])
    assert (band.fill, mean.fill) == ("toself", None)
    np.testing.assert_array_equal(band.x, [0.0, 0.5, 1.0, 1.0, 0.5, 0.0])
    deviation = np.sqrt(found.variance["double"])
    np.testing.assert_allclose(band.y[:3] - band.y[:2:-1], 2 * deviation)
    np.testing.assert_allclose(band.y[:3], found.mean["double"] + deviation)


def test_an_ensemble_of_several_values_is_one_line_each(noisy):
    found = dd.ensemble(noisy, [0.0, 0.5, 1.0], realizations=4, rng=1, values=[{k: 1.0}, {k: 2.0}, {k: 3.0}])
    figure = dd.plot(found, ["double"])
    assert [trace.fill for trace in figure.data] == [None] * 3
    np.testing.assert_array_equal([trace.y for trace in figure.data], found.mean["double"])


def test_results_in_a_list_share_panels_by_name(trajectory):
    data = dd.Dataset([0.0, 1.0, 4.0], outputs={"extra": [1.0, 1.0, 1.0], "y": [0.1, 0.2, 0.3]}, name="step")
    figure = dd.plot([trajectory, data])
    assert panels(figure) == ["y", "double", "x", "u", "extra"]  # what can be compared comes first
    line, markers = figure.data[:2]
    assert (line.mode, markers.mode) == ("lines", "markers")
    assert line.yaxis == markers.yaxis
    np.testing.assert_array_equal(line.y, trajectory["y"])
    np.testing.assert_array_equal(markers.y, [0.1, 0.2, 0.3])
    assert figure.layout.title.text == "trajectory of lag; data step"
    assert figure.layout.xaxis.range is None  # the data go on after the simulation
    assert len(dd.plot([trajectory, data], ["y"]).data) == 2
    assert dd.plot([trajectory, trajectory]).layout.xaxis.range == (0.0, 2.0)


def test_an_empty_list_of_results():
    with pytest.raises(ReportError, match="list of results to draw is empty"):
        dd.plot([])


def test_html_needs_nothing_else(trajectory, tmp_path):
    path = tmp_path / "lag.html"
    dd.plot(trajectory).write_html(path)
    text = path.read_text(encoding="utf-8")
    assert "trajectory of lag" in text
    assert "plotly.js (cartesian - minified) v4" in text
    assert '<script src="http' not in text
    assert "<link" not in text


def test_an_order_search_shows_its_candidates():
    times = np.arange(300) * 0.05
    push = dd.Signal(times, np.sign(np.sin(times)), "zoh")
    clean = dd.simulate(dd.TransferFunction([1.0], [1.0, 2.0]), times, inputs={"u": push})["y"]
    noisy = clean + 0.01 * np.random.default_rng(0).standard_normal(300)
    search = dd.select_order(dd.Dataset(times, inputs={"u": push}, outputs={"y": noisy}), orders=[1, 2])
    figure = dd.plot(search)
    assert [trace.name for trace in figure.data] == ["input order 0", "input order 1", "chosen"]
    assert list(figure.data[-1].x) == [search.order]
    assert min(min(trace.y) for trace in figure.data[:-1]) == 0.0


def test_order_searches_show_a_panel_for_each_output():
    times = np.arange(300) * 0.05
    push = dd.Signal(times, np.sign(np.sin(times)), "zoh")
    clean = dd.simulate(dd.TransferFunction([1.0], [1.0, 2.0]), times, inputs={"u": push})["y"]
    noise = 0.01 * np.random.default_rng(0).standard_normal((2, 300))
    data = dd.Dataset(times, inputs={"u": push}, outputs={"y": clean + noise[0], "z": 2.0 * clean + noise[1]})
    searches = dd.select_order(data, orders=[1], input_orders=[0], output=["y", "z"])
    figure = dd.plot(searches)
    assert [axis.title.text for axis in figure.select_yaxes()] == ["y: BIC above the lowest", "z: BIC above the lowest"]
    assert [list(trace.x) for trace in figure.data if trace.name == "chosen"] == [[1], [1]]
    assert "for each output" in figure.layout.title.text
    assert len(list(dd.plot(searches, ["z"]).select_yaxes())) == 1
    with pytest.raises(ReportError, match="no output 'x' to draw"):
        dd.plot(searches, ["x"])
