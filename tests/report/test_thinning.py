"""Long traces are thinned: what can be seen of them stays."""

import numpy as np
import pytest

import daedal as dd
from daedal.report.picture import MOST_POINTS, Band, Line, Points, choose_points


def test_both_ends_and_both_extremes_stay():
    """One spike up and one down among 200 001 samples of a slow sine, whose places are known."""
    x = np.linspace(0.0, 100.0, 200_001)
    y = np.sin(x)
    y[123_457], y[77_777] = 5.0, -7.0
    places = choose_points(x, y)
    assert places.size <= MOST_POINTS
    assert {0, 200_000, 123_457, 77_777} <= set(places.tolist())
    assert np.all(np.diff(places) > 0)
    # Between the points kept the sine moves by less than a column is wide: 100/800 times its largest slope.
    away = (np.abs(x - x[123_457]) > 0.3) & (np.abs(x - x[77_777]) > 0.3)
    assert np.abs(np.interp(x, x[places], y[places]) - y)[away].max() < 0.13


def test_every_column_keeps_its_extremes():
    random = np.random.default_rng(0)
    x, y = np.sort(random.uniform(0.0, 1.0, 50_000)), random.standard_normal(50_000)
    kept = choose_points(x, y)
    columns = np.minimum(((x - x[0]) / (x[-1] - x[0]) * 800).astype(int), 799)
    for column in range(0, 800, 37):
        mine, left = y[columns == column], y[kept][columns[kept] == column]
        assert (mine.min(), mine.max()) == (left.min(), left.max())


def test_gaps_stay_gaps():
    x = np.arange(20_000.0)
    y = np.where((x > 5000) & (x < 5003), np.nan, 1.0)
    thinned, shown, size = Line("y", x, y, "#000000").thin()
    assert (shown, size) == (thinned.x.size, 20_000)
    assert np.isnan(thinned.y).any()


def test_dense_points_fill_what_they_filled():
    """A hundred thousand points of a sine cover the screen from −1 to 1 everywhere; their extremes alone do not."""
    x = np.arange(100_000) * 0.01
    y = np.sin(3.0 * x)
    line, shown, size = Points("y", x, y, "#000000").thin()
    assert isinstance(line, Line)
    assert (shown, size) == (line.x.size, 100_000)
    assert (line.y.min(), line.y.max()) == (y.min(), y.max())
    few, _, _ = Points("y", x[:6000], y[:6000], "#000000").thin()
    holes, _, _ = Points("y", x, np.where(np.arange(100_000) % 2 == 0, y, np.nan), "#000000").thin()
    assert isinstance(few, Points)
    assert isinstance(holes, Points), "no line joins single points between gaps"


def test_a_band_covers_what_it_covered():
    x = np.linspace(0.0, 1.0, 30_000)
    lower, upper = -np.abs(np.sin(900 * x)), np.abs(np.sin(700 * x))
    thinned, _, _ = Band("b", x, lower, upper, "#000000").thin()
    assert thinned.lower.min() == lower.min()
    assert thinned.upper.max() == upper.max()


def test_the_number_is_said_and_dates_are_thinned_too():
    times = np.arange(10_001) * 0.01
    data = dd.Dataset(times, outputs={"y": np.sin(times)})
    figure = dd.plot(data)
    assert figure.layout.title.subtitle.text.endswith(f"drawn: {figure.data[0].x.size:,} of 10 001".replace(",", " "))
    assert figure.data[0].x.size <= MOST_POINTS
    dates = np.datetime64("2024-01-01T00:00") + np.arange(10_001) * np.timedelta64(60, "s")
    assert dd.plot(dd.Dataset(dates, outputs={"y": np.sin(times)})).data[0].x.size <= MOST_POINTS


@pytest.mark.parametrize("count", [5, 30])
def test_many_realizations_of_many_samples_stay_small(count, tmp_path):
    x, u = dd.symbols("x u")
    noise = dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)
    model = dd.Model(name="walk", equations={"w": dd.der(x) == u - x}, unknowns=[x], disturbances={u: noise})
    run = dd.simulate(model, np.arange(2001) * 0.01, realizations=count, rng=1)
    page = dd.plot(run).save(tmp_path / "x.html")
    assert page.stat().st_size < 2_500_000
    assert all(trace.x.size <= 2 * MOST_POINTS + 2 for trace in dd.plot(run).data)
