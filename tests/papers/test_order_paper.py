"""The order paper: its tables within statistical bands at small size, its claims where they hold and where not."""

import csv
import re

import numpy as np
import pytest
from scipy.signal import lsim

from daedal.papers import order as paper
from daedal.papers.order import estimates
from daedal.papers.order.estimates import (
    REFINED,
    SPLINES,
    Printed,
    Searched,
    Size,
    estimate_system,
    join_searches,
    pursue,
    search_orders,
)
from daedal.papers.order.experiment import (
    FREQUENCIES,
    HERTZ,
    RADIAN,
    READINGS,
    SYSTEMS,
    make_monic,
    make_paper_coefficients,
    simulate_clean,
    simulate_noisy,
    thin,
)
from daedal.papers.order.figures import (
    compute_step_response,
    draw_frequency_responses,
    draw_step_responses,
    make_transfer_functions,
)
from daedal.papers.order.published import NOISELESS, NOISY, TABLE_8, TABLE_9, TABLE_10
from daedal.papers.order.tables import (
    is_hidden,
    tabulate_printed,
    tabulate_pursuits,
    tabulate_searches,
    write_printed,
    write_pursuits,
    write_searches,
)
from daedal.papers.result_files import Result

SIZE = Size(printed=3, too_many=1, refined=1, splines=1)
FIRST, SECOND, THIRD, FOURTH, WITH_SLOPE = SYSTEMS
TRUE = list(zip(THIRD.names, THIRD.theta, strict=True))


@pytest.fixture(scope="module")
def third():
    return estimate_system(THIRD, SIZE)


@pytest.fixture(scope="module")
def pursuits():
    return [pursue(FOURTH, reading) for reading in READINGS]


@pytest.fixture(scope="module")
def searches():
    return [search_orders(THIRD, RADIAN, method, range(1)) for method in (REFINED, SPLINES)]


@pytest.mark.parametrize("system", [SECOND, FOURTH], ids=lambda system: system.name)
def test_records_solve_their_equations(system):
    made = simulate_clean(system, RADIAN)
    u = np.sin(np.outer(made.times, FREQUENCIES)).sum(axis=1)
    expected = lsim(([*system.b[::-1], 1.0], system.a[::-1]), u, made.times)[1]
    np.testing.assert_allclose(made.y, expected, atol=2e-5 * np.abs(expected).max())


def test_hertz_are_faster_and_noise_has_its_ratio():
    assert simulate_clean(FIRST, HERTZ).y.std() < simulate_clean(FIRST, RADIAN).y.std()
    quiet, loud = simulate_clean(FIRST, RADIAN).y, simulate_noisy(FIRST, RADIAN, 3, ratio=8.0).y
    assert np.sqrt(np.mean(quiet**2) / np.mean((loud - quiet) ** 2)) == pytest.approx(8.0, rel=0.03)
    ratios = [np.std(quiet) / np.std(simulate_noisy(FIRST, RADIAN, number).y - quiet) for number in range(20)]
    assert 4.7 < min(ratios) < 6.5 < 8.5 < max(ratios) < 10.3


def test_a_data_set_is_the_same_however_many_there_are():
    np.testing.assert_array_equal(simulate_noisy(FIRST, HERTZ, 2).y, simulate_noisy(FIRST, HERTZ, 2).y)
    assert thin(simulate_noisy(FIRST, HERTZ, 2)).outputs["y"].values.size == 1001


def test_normalisations_go_back_and_forth():
    theta = WITH_SLOPE.theta
    np.testing.assert_allclose(make_monic(2.0 * theta, 4)[:4], theta[:4])
    np.testing.assert_allclose(make_paper_coefficients(make_monic(theta, 4), 4), theta)


def test_every_table_of_the_paper_has_its_numbers():
    for system in SYSTEMS:
        for assumed in system.columns:
            assert set(NOISELESS[system.name, assumed]) == set(system.names)
    assert {name for name, _ in NOISY} == {"system 1", "system 2", "system 3"}
    assert all(len(column) == 7 for table in (TABLE_8, TABLE_9, TABLE_10) for column in table.values())


def test_as_printed_it_is_at_least_as_good_as_the_paper(third):
    for one in third:
        assert one.supported == 1.0
        places = [one.place(name) for name in THIRD.names]
        np.testing.assert_allclose(one.quiet[places], THIRD.theta, rtol=1e-3)
        if one.reading == RADIAN:
            published = NOISY[THIRD.name, one.assumed]
            theirs = [np.hypot(published[n][0] - t, published[n][1]) / t for n, t in TRUE]
            assert np.linalg.norm(one.rmse() / THIRD.theta) < np.linalg.norm(theirs)


def test_with_too_many_terms_it_returns_what_one_types_in(third):
    orders = [order for one in third for chosen in one.orders.values() for order in chosen]
    assert len(orders) == 4  # one and two more, both readings; only the larger assumed order has room
    assert all(order > THIRD.order for order in orders)


def test_searches_find_the_order_and_the_optimum(searches):
    for one in searches:
        assert one.right == 1.0
        np.testing.assert_allclose(one.values, one.optimal, rtol=1e-3)


def test_slow_inputs_hide_the_fourth_derivative():
    one = search_orders(FOURTH, RADIAN, REFINED, range(1))
    assert is_hidden(FOURTH, RADIAN)
    assert not is_hidden(FOURTH, HERTZ)
    assert one.orders[0] < 4
    assert one.leading[0] > 0.2


def test_basis_pursuit_shrinks_what_the_paper_says_it_shrinks(pursuits):
    truth = np.array([0.0, 0.0, *FOURTH.a[::-1]])
    hertz = pursuits[1]
    for gamma in ("γ = 10", "γ = 5"):
        assert np.abs(hertz.quiet[gamma]).sum() < truth.sum()
    assert np.abs(hertz.quiet["γ = 5"]).sum() > np.abs(hertz.quiet["γ = 10"]).sum()
    for one in pursuits:
        np.testing.assert_allclose(one.quiet["proposed"], truth, atol=0.05)
        assert list(one.table_8) == list(TABLE_8)
        assert np.count_nonzero(one.table_8["guess"]) <= 5


def test_summaries_are_those_of_a_textbook():
    found = np.array([[2.0, 1.0, 0.0, 0.0], [2.2, 0.8, 0.0, 0.0], [2.0, 1.0, 0.1, 0.0], [2.0, 1.0, 0.0, 0.0]])
    one = Printed(FIRST, RADIAN, 3, found[0], found, {1: (), 2: ()})
    assert one.supported == 0.75
    np.testing.assert_allclose(one.rmse(), [0.1, 0.1])
    many = join_searches([_searched([1, 2], 0.2), _searched([1, 1], 0.0)])
    assert many.right == 0.75
    np.testing.assert_allclose(many.rmse(), 0.2 / np.sqrt(2))
    assert many.ratio() == pytest.approx(np.sqrt(2))


def _searched(orders, error):
    count = len(orders)
    found = np.tile(FIRST.theta, (count, 1))
    return Searched(FIRST, RADIAN, REFINED, np.array(orders), found + error, found + 0.1, np.zeros(count))


def test_texts_hold_the_numbers_in_lines_that_fit(third, pursuits, searches):
    texts = [write_printed(THIRD, third, SIZE), write_pursuits(pursuits), write_searches(searches, SIZE)]
    for text in texts:
        assert all(len(line) <= 120 for line in text.splitlines())
    column = third[0].values[:, 2]
    assert f"{column.mean():.4f} ± {column.std():.4f}" in texts[0]
    assert "0.85 ± 0.04" in texts[0]
    assert "is right in 0 of 4 data sets" in texts[0]
    assert f"{pursuits[1].quiet['γ = 5'][2]:.4f}" in texts[1]
    assert "100%" in texts[2]


def test_csv_files_hold_every_number(third, pursuits, searches):
    rows = list(csv.DictReader(tabulate_printed(third).splitlines()))
    assert len(rows) == sum((one.assumed + 1) * (1 + SIZE.printed) for one in third)
    ours = [float(row["value"]) for row in rows if (row["reading"], row["assumed_order"]) == ("hertz", "5")]
    np.testing.assert_allclose(ours, [*third[3].quiet, *third[3].values.ravel()], rtol=1e-9, atol=1e-12)
    assert len(list(csv.DictReader(tabulate_searches(searches).splitlines()))) == 2 * 3
    assert len(list(csv.DictReader(tabulate_pursuits(pursuits).splitlines()))) == 2 * 3 * 3 * 7


def test_figures_show_the_truth_and_every_method(pursuits):
    systems = make_transfer_functions(pursuits[1].quiet)
    assert systems["truth"].order == systems["proposed"].order == 4
    assert compute_step_response(systems["truth"], np.linspace(0.0, 12.0, 50))[-1] == pytest.approx(1 / 24, rel=1e-3)
    found = {reading.name: np.array(FOURTH.a[::-1]) for reading in READINGS}
    for figure, panels in (
        (draw_step_responses(pursuits), 2),
        (draw_frequency_responses(pursuits), 4),
        (draw_frequency_responses(pursuits, found), 4),
    ):
        assert sum(trace.name == "truth" for trace in figure.data) == panels
        assert sum(trace.name == "γ = 5" for trace in figure.data) == panels


def test_parts_come_with_their_files(tmp_path, monkeypatch, pursuits):
    monkeypatch.setattr(estimates, "pursue", lambda _, reading: pursuits[READINGS.index(reading)])
    monkeypatch.setattr(estimates, "estimate_as_printed", _print_nearly)
    monkeypatch.setattr(estimates, "search_orders", _search_nearly)
    parts = list(paper.reproduce(tmp_path, workers=1))
    assert all(isinstance(part, Result) for part in parts)
    files = [path for part in parts for path in part.files]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in files}
    assert {f"figure{k}.html" for k in (1, 2, 3)} < {path.name for path in files}
    pages = [path.read_text(encoding="utf-8") for path in files if path.suffix == ".html"]
    for text in pages:
        assert "Plotly.newPlot" in text
        assert re.search(r"<script[^>]+src=|<link[^>]+href=", text) is None  # needs no network


def _print_nearly(system, reading, assumed, _):
    """What the method would give, near to the truth."""
    theta = np.zeros(assumed + 1 + system.input_order)
    theta[: system.order + 1], theta[assumed + 1 :] = system.a, system.b
    return Printed(system, reading, assumed, theta, np.stack([theta, 1.01 * theta]), {1: (5,), 2: ()})


def _search_nearly(system, reading, method, numbers):
    count = len(numbers)
    found = np.tile(1.01 * system.theta, (count, 1))
    return Searched(system, reading, method, np.full(count, system.order), found, found, np.zeros(count))
