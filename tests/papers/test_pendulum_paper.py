"""The pendulum paper: estimators on inner products against direct filtering, and the paper's claims at small size."""

import csv
import re

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

import daedal as dd
from daedal.errors import ReportError
from daedal.estimation import fit_autoregression
from daedal.papers import pendulum
from daedal.papers.pendulum import fits
from daedal.papers.pendulum.estimates import (
    METHODS,
    OUTPUT_ERROR,
    PROPOSED,
    PROPOSED_SMOOTH,
    WHITENED,
    Size,
    estimate,
    estimate_all,
)
from daedal.papers.pendulum.experiment import GRID, PRINTED, PROGRAM, SEED, SOLVER, TRUTH, list_times, make_push
from daedal.papers.pendulum.experiment import make_pendulum as pendulum_model
from daedal.papers.pendulum.figures import draw_estimates
from daedal.papers.pendulum.interpolated_cost import GridPredictor, InterpolatedCost, minimize_cost, search_grid
from daedal.papers.pendulum.smoothness import compute_costs, count_minima, measure_roughness
from daedal.papers.pendulum.tables import tabulate_estimates, tabulate_summary, write_estimates, write_smoothness
from daedal.papers.pendulum.whitened_cost import whiten_cost
from daedal.papers.result_files import Result, make_directory, write_csv, write_files
from daedal.simulation import simulate

ORDER = 6


def response(value, times):
    """A prediction that bends with the parameter."""
    return np.sin(times * (1 + 0.1 * value)) * np.exp(-0.02 * value * times) + 0.1 * value


def response_slope(value, times):
    step = 1e-5
    return (response(value + step, times) - response(value - step, times)) / (2 * step)


@pytest.fixture(scope="module")
def problem():
    """Three data sets with strongly correlated noise, and a predictor on a grid of 21 values."""
    times, grid = np.arange(400) * 0.1, np.linspace(1.0, 3.0, 21)
    noise = lfilter([0.05], [1.0, -1.6, 0.8], np.random.default_rng(3).standard_normal((3, 400)), axis=1)
    data = response(2.03, times) + noise
    means, slopes = (np.stack([f(value, times) for value in grid]) for f in (response, response_slope))
    return GridPredictor.of(grid, means, slopes), CubicHermiteSpline(grid, means, slopes, axis=0), data


def direct_minimum(cost, predictor):
    """The least cost over fine values, then Brent's method around the best: no inner products, no Gauss–Newton."""
    fine = np.linspace(predictor.grid[0], predictor.grid[-1], 401)
    best = fine[np.argmin([cost(value) for value in fine])]
    bounds = (max(fine[0], best - 0.01), min(fine[-1], best + 0.01))
    return minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x


def test_gauss_newton_on_inner_products_finds_the_minimum_of_the_sum_of_squares(problem):
    predictor, prediction, data = problem
    cost = InterpolatedCost.of(predictor, data)
    found = minimize_cost(cost, search_grid(cost))
    expected = [direct_minimum(lambda v, y=y: np.sum((y - prediction(v)) ** 2), predictor) for y in data]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(
        cost.at(found), [np.sum((y - prediction(v)) ** 2) for y, v in zip(data, found, strict=True)]
    )


def test_costs_on_the_grid_are_sums_of_squares(problem):
    predictor, prediction, data = problem
    expected = np.sum((data[:, None] - prediction(predictor.grid)[None]) ** 2, axis=2)
    np.testing.assert_allclose(InterpolatedCost.of(predictor, data).on_grid(), expected, rtol=1e-10)


def test_whitened_estimate_agrees_with_direct_filtering(problem):
    predictor, prediction, data = problem
    first = minimize_cost(plain := InterpolatedCost.of(predictor, data), search_grid(plain))
    whitened = whiten_cost(predictor, data, first, ORDER)
    found = minimize_cost(whitened, search_grid(whitened))
    for number, (y, estimate_) in enumerate(zip(data, first, strict=True)):
        model = fit_autoregression([y - prediction(estimate_)], ORDER).polynomial

        def filtered(value, y=y, model=model):
            return np.sum(lfilter(model, [1.0], y - prediction(value))[ORDER:] ** 2)

        assert found[number] == pytest.approx(direct_minimum(filtered, predictor), abs=1e-6)
        assert whitened.at(found)[number] == pytest.approx(filtered(found[number]), rel=1e-8)
        on_grid = [filtered(value) for value in predictor.grid]
        np.testing.assert_allclose(whitened.on_grid()[number], on_grid, rtol=1e-8)


def test_an_estimate_beyond_the_grid_ends_at_its_bound(problem):
    predictor, prediction, _ = problem
    steep = GridPredictor(predictor.grid[:11], predictor.rows[:22])  # up to 2.0, where the data ask for 2.4
    cost = InterpolatedCost.of(steep, prediction(2.4)[None])
    assert minimize_cost(cost, np.array([1.9]))[0] == steep.grid[-1]


@pytest.fixture(scope="module")
def program():
    return estimate(PROGRAM, Size(samples=(1000, 5000), data_sets=150, realizations=128))


def test_ignoring_the_wind_is_biased_and_averaging_over_it_is_not(program):
    blind, proposed = (program.summary(5000, method) for method in (OUTPUT_ERROR, PROPOSED))
    assert 6.6 < blind.mean < 7.6  # 7.33 with another input
    assert (blind.mean - TRUTH) / blind.standard_error > 8
    assert abs(proposed.mean - TRUTH) < 0.3  # 6.37
    assert 0.5 < proposed.rmse < 0.9  # 0.67 … 0.72


def test_whitening_halves_the_error(program):
    assert program.summary(5000, WHITENED).rmse < 0.4  # 0.33
    assert program.summary(1000, WHITENED).rmse < 0.7 * program.summary(1000, PROPOSED).rmse


def test_gauss_newton_agrees_with_the_grid(program):
    assert program.disagreement() < 0.51  # in grid steps; the cost is not quite symmetric around its minimum


def test_the_quick_figure_is_made_of_fits(monkeypatch):
    asked = []

    def watched(model, data, **options):
        asked.append(type(options["criterion"]))
        return dd.fit(model, data, **options)

    monkeypatch.setattr(fits, "fit", watched)
    fitted = fits.fit_data_sets(PROGRAM, Size(samples=(5000,), data_sets=4, realizations=32))
    assert asked == 4 * [dd.OutputError, dd.SimulationPEM, dd.SimulationPEM]
    blind, proposed, whitened = (fitted.summary(5000, method) for method in fitted.methods)
    assert blind.mean > 6.7  # with the wind ignored
    assert abs(proposed.mean - TRUTH) < 0.4
    assert abs(whitened.mean - TRUTH) < 0.2
    assert whitened.rmse < proposed.rmse < blind.rmse
    text = write_estimates(fitted)
    assert "SimulationPEM(realizations=32, transient=50.0, whiten=True)" in text
    assert "7.33 with the wind ignored and 6.37 with it" in text
    assert [trace.name for trace in draw_estimates(fitted).data[::2]] == list(fitted.methods)
    assert tabulate_estimates(fitted).startswith("samples,data_set,output_error,simulation_pem,simulation_pem_whitened")


def test_an_interrupt_keeps_the_data_sets_that_are_finished(monkeypatch, tmp_path):
    answers = iter(range(100))

    def interrupted(*_):
        number = next(answers)
        if number == 7:  # in the third data set
            raise KeyboardInterrupt
        return TRUTH + 0.1 * number

    monkeypatch.setattr(fits, "_fit", interrupted)
    monkeypatch.setattr(pendulum, "QUICK", {PROGRAM: Size(samples=(700,), data_sets=5, realizations=8)})
    results = pendulum.reproduce(tmp_path)
    next(results)
    assert "E = 2 data sets" in next(results).text
    with pytest.raises(KeyboardInterrupt):
        next(results)


def test_one_set_agrees_with_the_reference_solver():
    from daedal.simulation import IDA

    times, inputs = list_times(300), {"u": make_push(PROGRAM, 300)}
    calm = pendulum_model(PROGRAM, windy=False)
    ours = simulate(calm, times, inputs=inputs, t0=0.0, solver=SOLVER)["angle"]
    reference = simulate(calm, times, inputs=inputs, t0=0.0, solver=IDA(rtol=1e-10, atol=1e-12))["angle"]
    assert np.max(np.abs(ours - reference)) < 1e-4 * np.max(np.abs(reference))


def test_the_experiment_as_printed_has_no_bias():
    printed = estimate(PRINTED, Size(samples=(3000,), data_sets=40, realizations=16))
    for method in METHODS:
        assert abs(printed.summary(3000, method).mean - TRUTH) < 0.03
    text = write_estimates(printed)
    assert "The experiment as printed does not produce the paper's Figure 1" in text
    assert "7.20" not in text


def test_the_table_shows_the_reference_and_the_paper_beside_our_numbers(program):
    text = write_estimates(program)
    assert "7.33 / 1.41" in text
    assert f"{program.summary(5000, OUTPUT_ERROR).mean:.3f} ±" in text
    assert f"seed {SEED}" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_csv_files_hold_every_estimate(program):
    rows = list(csv.DictReader(tabulate_estimates(program).splitlines()))
    assert len(rows) == 2 * 150
    smooth = [float(row["proposed_gauss_newton"]) for row in rows if row["samples"] == "5000"]
    np.testing.assert_allclose(smooth, program.values[5000, PROPOSED_SMOOTH], rtol=1e-9)
    table = list(csv.DictReader(tabulate_summary(program).splitlines()))
    assert len(table) == 2 * len(METHODS)
    assert table[len(METHODS)]["reference_mean"] == "7.33"


def test_fixed_noise_makes_the_cost_smooth():
    both = compute_costs()
    assert len(both.fixed) == len(GRID) == 81
    assert measure_roughness(both.fixed) < 1e-14  # 1.3e-16
    assert measure_roughness(both.fresh) > 1e-10  # 2.7e-9
    assert count_minima(both.fixed) <= 1
    assert count_minima(both.fresh) >= 15  # 25
    assert "2.7e-9, 25" in write_smoothness(both)


def test_local_minima_are_counted_inside():
    assert count_minima(np.array([0.0, 1.0, 0.5, 2.0, 1.0, 3.0])) == 2
    assert measure_roughness(np.array([0.0, 1.0, 4.0, 9.0])) == pytest.approx(8.0)


def test_a_part_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "taken.csv").mkdir()
    with pytest.raises(ReportError, match=r"taken\.csv' cannot be written"):
        write_files(tmp_path, {"taken.csv": write_csv(["a"], [[1.5]])})
    assert [path.name for path in tmp_path.iterdir()] == ["taken.csv"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match="cannot be put into"):
        make_directory(tmp_path / "file")


def test_parts_come_with_their_files(tmp_path, monkeypatch):
    tiny = Size(samples=(700,), data_sets=2, realizations=8)
    monkeypatch.setattr(pendulum, "QUICK", {PROGRAM: tiny, PRINTED: tiny})
    parts = pendulum.reproduce(tmp_path)
    assert isinstance(next(parts), Result)
    files = next(parts).files
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {path.name for path in files}
    pages = [path.read_text(encoding="utf-8") for path in files if path.suffix == ".html"]
    assert len(pages) == 1
    assert "Plotly.newPlot" in pages[0]
    assert re.search(r"<script[^>]+src=|<link[^>]+href=", pages[0]) is None  # needs no network


def test_full_sizes_are_a_study_of_both_readings():
    """As lists in a journal, and back."""
    tiny = Size(samples=(600, 700), data_sets=2, realizations=8)
    both = estimate_all({PROGRAM: tiny, PRINTED: tiny})
    direct = estimate(PRINTED, tiny)
    assert both[PRINTED].wind == direct.wind
    assert both[PRINTED].values.keys() == direct.values.keys()
    for key, column in direct.values.items():
        np.testing.assert_array_equal(both[PRINTED].values[key], column)
