"""The descriptor paper: its examples exactly, its drive within statistical bands at small size."""

import csv
import re
import subprocess
import sys

import numpy as np
import pytest

from daedal.analysis import descriptor
from daedal.cli import main
from daedal.papers import count_pieces
from daedal.papers import descriptor as paper
from daedal.papers.descriptor.estimates import (
    LIKELIHOOD,
    METHODS,
    NOISE_TOO,
    OUTPUT_ERROR,
    Estimates,
    Size,
    estimate,
    find_truth,
)
from daedal.papers.descriptor.examples import CHAIN, judge_examples, make_equation_10
from daedal.papers.descriptor.experiment import (
    INTERVAL,
    LOAD,
    NOISE_TRUTH,
    SAMPLES,
    STATES,
    TRUTH,
    make_drive,
    simulate_data_sets,
)
from daedal.papers.descriptor.figures import draw_estimates, draw_torques, trace_ellipse
from daedal.papers.descriptor.states import (
    FILTERED,
    KINDS,
    SMOOTHED,
    WITH_ESTIMATES,
    StateErrors,
    compute_chi_square_band,
    find_state_errors,
)
from daedal.papers.descriptor.structure import analyze_drive, transfer_in_standard_form
from daedal.papers.descriptor.tables import (
    tabulate_estimates,
    tabulate_states,
    tabulate_summary,
    tabulate_transfer,
    write_estimates,
    write_examples,
    write_states,
    write_structure,
    write_verdicts,
)
from daedal.papers.result_files import Result

SIZE = Size(data_sets=12, noise_too=2)


@pytest.fixture(scope="module")
def judged():
    return judge_examples()


@pytest.fixture(scope="module")
def structure():
    return analyze_drive()


@pytest.fixture(scope="module")
def data():
    return simulate_data_sets(SIZE.data_sets)


@pytest.fixture(scope="module")
def found():
    return estimate(SIZE)


@pytest.fixture(scope="module")
def errors(data, found):
    return find_state_errors(data, found[LIKELIHOOD])


def test_equation_10_is_ill_posed_and_a_sensor_mends_it(judged):
    assert not judged.plain.well_posed
    assert judged.plain.index == 1
    assert [(each.disturbance, each.variable) for each in judged.plain.findings] == [("v1", "y")]
    assert judged.filtered.well_posed
    assert judged.integrated.well_posed
    assert [each.variable for each in judged.wanted.findings] == ["z2"]


def test_variances_behind_the_sensors_are_those_worked_out_by_hand(judged):
    assert judged.filtered_variance == pytest.approx(51.2254901961, abs=1e-10)
    assert judged.filtered_variance == pytest.approx(5225 / 102, rel=1e-12)
    # The mean over T of a path on a fine grid, sums in place of integrals.
    step, T = 1e-5, 0.01
    lag = np.exp(-2 * step * np.arange(round(T / step)))
    kernel = 1.0 + np.cumsum(lag) * step  # what a unit of noise, that long before the end, adds to the integral
    before = (np.sum(lag) * step) ** 2 / 4  # z₁ at the beginning has the variance 1/4
    assert judged.integrated_variance == pytest.approx((np.sum(kernel**2) * step + before) / T**2, rel=1e-3)


def test_the_chain_needs_three_two_and_one_pole(judged):
    assert judged.chain == CHAIN == {"z1": 3, "z2": 2, "z3": 1}


def test_equation_10_has_the_matrices_of_the_paper():
    matrices = descriptor(make_equation_10())
    np.testing.assert_array_equal(matrices.E, [[1, 0], [0, 0]])
    np.testing.assert_array_equal(matrices.F, [[-2, 0], [0, -1]])
    np.testing.assert_array_equal(matrices.J, [[1], [1]])
    np.testing.assert_array_equal(matrices.H, [[1, 1]])


def test_the_drive_is_of_index_two_with_four_states(structure):
    matrices = structure.matrices
    assert (len(matrices.equations), matrices.index, matrices.states) == (59, 2, 4)
    poles = sorted(matrices.poles, key=lambda pole: (pole.real, pole.imag))
    np.testing.assert_allclose(poles, _poles_by_hand(), atol=1e-9)
    assert structure.coloured.well_posed
    assert structure.white.well_posed
    assert [each.variable for each in structure.wanted.findings] == ["disc.a"]


def _poles_by_hand():
    """Rotor seen behind the gear, disc, and the twist between them; the absolute angle adds a zero."""
    ratio, c, d, bearing, J = 5.0, 2.0, 0.01, 0.02, 0.05
    rotor, brake = 1e-3 * ratio**2, 0.05**2 / 1.2 * ratio**2
    A = [[-(brake + d) / rotor, d / rotor, c / rotor], [d / J, -(bearing + d) / J, -c / J], [-1.0, 1.0, 0.0]]
    return sorted([*np.linalg.eigvals(np.array(A)), 0.0], key=lambda pole: (pole.real, pole.imag))


def test_the_standard_form_has_the_transfer_functions_of_the_equations(structure):
    assert len(structure.direct) == 8  # voltage and load torque; two measured and two other variables
    assert structure.largest_difference < 1e-10
    # At once: 1/R from voltage to current, and 1/J from load torque to the acceleration of the disc.
    fast = {pair: abs(values[-1]) for pair, values in structure.direct.items()}
    assert fast["supply.v", "current"] == pytest.approx(1 / 1.2, rel=1e-3)
    assert fast["load.tau", "disc acceleration"] == pytest.approx(1 / 0.05, rel=1e-3)


def test_the_transfer_of_a_standard_form_includes_derivatives():
    from daedal.models import Model

    chain = Model.from_descriptor(
        name="m", E=[[0.0, 1.0], [0.0, 0.0]], F=np.eye(2), G=[[0.0], [-1.0]], H=np.eye(2), variables=["x", "y"]
    )
    points = np.array([0.5j, 2j])
    found = transfer_in_standard_form(descriptor(chain), points)
    np.testing.assert_allclose(found[:, :, 0], np.stack([points, np.ones(2)], axis=1), atol=1e-14)


def test_data_sets_come_with_the_truth(data):
    assert data["speed"].shape == (SIZE.data_sets, SAMPLES)
    assert data.times[-1] == pytest.approx((SAMPLES - 1) * INTERVAL)
    assert np.std(data[LOAD][:, 200:]) == pytest.approx(0.15, rel=0.15)  # 0.3/√(2 · 2)
    assert not np.any(data["disc.w"][:, 0])
    assert make_drive().parameters["shaft.c"].value == TRUTH["shaft.c"]


def test_maximum_likelihood_is_right_and_knows_how_far(found):
    one = found[LIKELIHOOD]
    assert one.failures == 0
    for parameter, truth in TRUTH.items():
        summary = one.summary(parameter)
        assert abs(summary.mean - truth) < 4 * summary.reported / np.sqrt(SIZE.data_sets)
        assert 0.5 < summary.rmse / summary.reported < 1.6  # χ²(12) beyond 99.9 % to either side
        assert summary.coverage >= 9 / 12
    assert one.summary("shaft.c").reported == pytest.approx(0.0140, rel=0.1)
    assert one.summary("disc.J").reported == pytest.approx(0.00104, rel=0.1)


def test_ignoring_the_load_torque_costs_twice_the_error(found):
    for parameter in TRUTH:
        exact, blind = (found[method].summary(parameter) for method in (LIKELIHOOD, OUTPUT_ERROR))
        assert 1.2 < blind.rmse / exact.rmse < 4.5  # 2.4 and 2.0
        assert abs(blind.bias) < 4.5 * blind.standard_error


def test_the_noise_is_estimated_too(found):
    one = found[NOISE_TOO]
    assert one.parameters == (*TRUTH, *NOISE_TRUTH)
    off = (one.values - [find_truth(name) for name in one.parameters]) / one.std_errors
    assert np.abs(off).max() < 4.5
    assert one.failures == 0


def test_a_summary_adds_up():
    one = Estimates(
        parameters=("shaft.c",),
        values=np.array([[1.9], [2.2], [2.1]]),
        std_errors=np.array([[0.1], [0.2], [0.3]]),
        covered=np.array([[True], [True], [False]]),
        cov=np.ones((3, 1, 1)),
        failures=0,
    )
    summary = one.summary("shaft.c")
    assert summary.mean == pytest.approx(6.2 / 3)
    assert summary.bias == pytest.approx(0.2 / 3)
    assert summary.rmse == pytest.approx(np.sqrt(0.06 / 3))
    assert summary.reported == pytest.approx(0.2)
    assert summary.coverage == pytest.approx(2 / 3)


def test_standard_deviations_of_states_mean_what_they_say(errors):
    for kind in (FILTERED, SMOOTHED):
        for variable in STATES:
            one = errors[kind].calibration(variable)
            assert abs(one.mean - 1) < 5 * one.standard_error
            assert one.inside > 0.85  # 95 %, of times that depend on each other
            assert 0.92 < one.coverage < 0.975


def test_the_smoother_is_more_accurate_than_the_filter(errors):
    for variable in STATES:
        ahead, all_samples = (errors[kind].calibration(variable) for kind in (FILTERED, SMOOTHED))
        assert all_samples.deviation < 0.6 * ahead.deviation
        for kind, one in ((FILTERED, ahead), (SMOOTHED, all_samples)):
            spread = np.sqrt(np.mean(errors[kind].errors[variable] ** 2))
            assert spread == pytest.approx(one.deviation, rel=0.15)


def test_estimated_parameters_make_states_worse_than_promised(errors):
    known, estimated = (errors[kind].calibration("disc.w").mean for kind in (SMOOTHED, WITH_ESTIMATES))
    assert estimated > known + 0.1  # 1.5 instead of 1


def test_calibration_of_normal_numbers():
    draws = np.random.default_rng(4).standard_normal((50, 400))
    right = StateErrors(np.arange(400.0), {"x": 0.3 * draws}, {"x": np.full((50, 400), 0.3)})
    one = right.calibration("x")
    assert abs(one.mean - 1) < 4 * one.standard_error
    assert one.standard_error == pytest.approx(np.sqrt(2 / draws.size), rel=0.3)
    assert one.inside == pytest.approx(0.95, abs=0.04)
    assert one.coverage == pytest.approx(0.95, abs=0.01)
    lower, upper = compute_chi_square_band(200)
    assert (lower, upper) == pytest.approx((1 - 1.96 * 0.1, 1 + 1.96 * 0.1), abs=0.02)


def test_the_ellipse_holds_95_percent():
    covariance = np.array([[4.0, 1.0], [1.0, 0.5]])
    border = np.stack(trace_ellipse(np.array([1.0, 2.0]), covariance)) - [[1.0], [2.0]]
    distances = np.einsum("ik,ij,jk->k", border, np.linalg.inv(covariance), border)
    np.testing.assert_allclose(distances, 5.991, atol=1e-3)


def test_texts_hold_the_numbers_in_lines_that_fit(judged, structure, found, errors):
    texts = [write_examples(judged), write_structure(structure), write_estimates(found, SIZE), write_states(errors)]
    for text in texts:
        assert all(len(line) <= 120 for line in text.splitlines())
    assert "variance 51.2254901961, by hand 5225/102 = 51.2254901961" in texts[0]
    assert "59 equations from connected parts, index 2, 4 states" in texts[1]
    assert "-1.0586+10.874j" in texts[1]
    assert f"{found[LIKELIHOOD].summary('shaft.c').mean:.5f} ±" in texts[2]
    assert f"{errors[SMOOTHED].calibration('shaft.tau').mean:.3f} ±" in texts[3]
    verdicts = write_verdicts(judged, structure)
    assert verdicts.count("is well-posed") == 4
    assert verdicts.count("is not well-posed") == 3


def test_csv_files_hold_every_number(structure, found, errors):
    rows = list(csv.DictReader(tabulate_estimates(found).splitlines()))
    assert len(rows) == 2 * 12 * 2 + 2 * 6
    ours = [float(row["value"]) for row in rows if (row["method"], row["parameter"]) == ("likelihood", "disc.J")]
    np.testing.assert_allclose(ours, found[LIKELIHOOD].values[:, 1], rtol=1e-9)
    table = list(csv.DictReader(tabulate_summary(found).splitlines()))
    assert len(table) == sum(len(found[method].parameters) for method in METHODS)
    assert len(list(csv.DictReader(tabulate_states(errors).splitlines()))) == len(STATES) * len(KINDS)
    transfer = list(csv.DictReader(tabulate_transfer(structure).splitlines()))
    assert float(transfer[-1]["supply.v_to_current"]) == pytest.approx(1 / 1.2, rel=1e-3)


def test_figures_show_one_dot_per_data_set_and_the_truth_in_its_band(data, found, errors):
    scatter = draw_estimates(found, SIZE)
    dots = next(trace for trace in scatter.data if trace.name == LIKELIHOOD)
    np.testing.assert_array_equal(dots.x, found[LIKELIHOOD].values[:, 0])
    torques = draw_torques(data, errors)
    truth = [trace for trace in torques.data if trace.name == "truth"]
    band = [trace for trace in torques.data if trace.name == "band of 95 %"]
    assert len(truth) == len(band) == 2
    for line, around in zip(truth, band, strict=True):
        upper, lower = around.y[: len(line.y)], around.y[len(line.y) :][::-1]
        assert np.mean((line.y >= lower) & (line.y <= upper)) > 0.75


KILLED = """
import os, signal, sys
from daedal.cli import main
from daedal.papers import descriptor
from daedal.papers.descriptor.estimates import Size
from daedal.studies.journal import Journal
descriptor.FULL = Size(data_sets=2, noise_too=2)
written, write = [], Journal.write
def count(journal, rows):
    write(journal, rows)
    written.extend(rows)
    if len(written) >= 5:
        os.kill(os.getpid(), signal.SIGKILL)
Journal.write = count
main(["reproduce", "descriptor", "--full", "--out", sys.argv[1]])
"""


@pytest.mark.slow
def test_full_sizes_go_on_after_kill_9_and_make_the_same_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper, "FULL", Size(data_sets=2, noise_too=2))
    whole, other = tmp_path / "whole", tmp_path / "other"
    parts = list(paper.reproduce(whole, full=True))
    assert all(isinstance(part, Result) for part in parts)
    files = [path for part in parts for path in part.files]
    assert {path.name for path in whole.iterdir()} == {path.name for path in files}
    pages = [path.read_text(encoding="utf-8") for path in files if path.suffix == ".html"]
    assert len(pages) == 3
    for text in pages:
        assert "Plotly.newPlot" in text
        assert re.search(r"<script[^>]+src=|<link[^>]+href=", text) is None  # needs no network
    killed = subprocess.run([sys.executable, "-c", KILLED, str(other)], capture_output=True, text=True)
    assert killed.returncode == -9, killed.stderr
    assert count_pieces(other) == 5
    assert main(["reproduce", "descriptor", "--full", "--workers", "2", "--out", str(other)]) == 0
    printed = capsys.readouterr().out
    assert all(part.text in printed for part in parts)
    assert {path.name: path.read_bytes() for path in other.iterdir()} == {
        path.name: path.read_bytes() for path in whole.iterdir()
    }
