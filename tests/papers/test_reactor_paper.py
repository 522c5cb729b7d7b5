"""The delay paper: laws, exact moments against draws, the sweep at small size, and what is printed."""

import csv
import re

import numpy as np
import pytest

from daedal.cli import main
from daedal.papers import PAPERS, reactor
from daedal.papers.reactor.estimates import (
    Size,
    assess_accuracy,
    assess_designs,
    draw_errors,
    make_objective,
    sweep_weights,
    weigh,
)
from daedal.papers.reactor.experiment import (
    EPSILON,
    compute_beta_moment,
    compute_gamma_moment,
    compute_moments,
    draw_realizations,
    draw_samples,
)
from daedal.papers.reactor.tables import TABLE_1, TABLE_2, write_accuracy, write_designs

TINY = Size(weights=11, realizations=20_000, data_sets=1)


@pytest.fixture(scope="module")
def made():
    return sweep_weights(TINY)


def test_the_laws_have_the_moments_that_the_paper_prints():
    mean = np.array([2.0, 3.0])
    np.testing.assert_allclose(compute_gamma_moment(mean, 2) - mean**2, mean**2 / 10)
    np.testing.assert_allclose(compute_gamma_moment(mean, 3), 33 / 25 * mean**3)
    assert compute_beta_moment(1) == pytest.approx(0.0, abs=1e-15)
    assert compute_beta_moment(2) == pytest.approx(5 / 196)
    assert compute_beta_moment(3) == pytest.approx(5 / 2058)


def test_draws_have_the_moments_of_the_law():
    mean = draw_samples()
    y = draw_realizations(mean, 50_000, np.random.default_rng(1))
    law = compute_moments(mean)
    spread = np.sqrt(np.diag(law.covariance) / 50_000)
    assert np.all(np.abs(y.mean(axis=0) - mean) < 5 * spread)
    np.testing.assert_allclose(np.cov(y.T), law.covariance, atol=0.15)


def test_the_sweep_ends_in_the_known_minima(made):
    """Found by another program from the same samples."""
    np.testing.assert_allclose(made.estimates[-1], [1.76561, -1.73471, -2.29216], atol=2e-5)
    np.testing.assert_allclose(made.estimates[made.at(0.9)], [1.71699, -1.56972, -2.08570], atol=2e-5)
    np.testing.assert_allclose(made.estimates[0], [1.69920, -1.47907, -1.97504], atol=2e-5)
    np.testing.assert_allclose(made.expectation[[0, 9, 10]], [54.268, 53.136, 52.280], atol=1e-3)
    np.testing.assert_allclose(made.variance[[0, 9, 10]], [374.53, 378.50, 410.13], atol=1e-2)


def test_mean_and_variance_are_traded(made):
    assert np.all(np.diff(made.expectation) < 0)
    assert np.all(np.diff(made.variance) > 0)
    # The paper's table does the same.
    means, variances = np.array([TABLE_2[gamma] for gamma in sorted(TABLE_2)]).T
    assert np.all(np.diff(means) < 0)
    assert np.all(np.diff(variances) > 0)
    ours, theirs = made.estimates[:, 0], np.array([TABLE_1[gamma][0] for gamma in sorted(TABLE_1)])
    assert np.all(np.diff(ours) > 0)
    assert np.all(np.diff(theirs) > 0)


def test_there_are_several_minima_in_the_delay(made):
    delays = [delay for delay, _ in made.minima]
    assert len(delays) >= 2
    assert delays[0] == pytest.approx(1.7656, abs=1e-3)


def test_draws_agree_with_the_exact_moments(made):
    found = draw_errors(made, TINY.realizations)
    assert np.all(np.abs(found.mean - made.expectation) < 5 * found.mean_error)
    assert np.all(np.abs(found.variance - made.variance) < 5 * found.variance_error)


def test_another_law_has_the_moments_that_follow_from_its_mean(made):
    found = draw_errors(made, TINY.realizations, misspecified=True)
    law = compute_moments(made.mean + EPSILON)
    expectation, variance = law.error(made.predictions[-1])
    assert abs(found.mean[-1] - expectation) < 5 * found.mean_error[-1]
    assert abs(found.variance[-1] - variance) < 5 * found.variance_error[-1]
    assert np.argmax(found.variance) == found.variance.size - 1


def test_weights_share_one_simulation():
    mean = draw_samples()
    law = compute_moments(mean)
    made = make_objective(mean, law)
    point = np.array([1.8, -1.8, -2.3])
    whole, none, half = (weigh(made, gamma)(point).value for gamma in (1.0, 0.0, 0.5))
    assert half == pytest.approx(0.5 * (whole + none))
    assert weigh(made, 0.5).predictor is made.predictor


def test_late_samples_say_little_about_the_delay():
    found = {one.name: one for one in assess_designs()}
    paper, late, twice = (
        found[name] for name in ("every 0.5 to 10 (paper)", "every 0.25 from 5.25", "every 0.25 to 10")
    )
    assert late.by_equal[0] > 3 * paper.by_equal[0]
    assert np.all(twice.by_equal < paper.by_equal)
    assert "known best from" in write_designs(list(found.values()))


def test_gamma_below_one_moves_the_parameters():
    found = assess_accuracy(TINY)
    np.testing.assert_allclose(found.estimates[0.9][0], [1.71699, -1.56972, -2.08570], atol=2e-5)
    assert found.rmse(0.9)[1] > found.rmse(1.0)[1]
    assert re.search(r"RMSE of the parameters at gamma = 0\.9 is \d", write_accuracy(found))


def test_the_command_writes_tables_and_figures(monkeypatch, tmp_path, capsys):
    assert "reactor" in PAPERS
    monkeypatch.setattr(reactor, "QUICK", TINY)
    assert main(["reproduce", "reactor", "--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for words in ("Table 1", "Table 2", "Figure 4", "open question", "Not in the paper"):
        assert words in printed
    names = {path.name for path in tmp_path.iterdir()}
    figures = {f"figure{number}.html" for number in (1, 2, 3, 4)}
    assert names == {"sweep.csv", "sample_times.csv", "parameters.csv"} | figures
    with (tmp_path / "sweep.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11
    assert float(rows[-1]["tau"]) == pytest.approx(1.76561, abs=2e-5)
