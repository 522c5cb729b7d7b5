"""Studies: each kind against closed forms and fits by hand; the same numbers whoever makes them, in whatever order."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import daedal as dd
from daedal.disturbances import derive_seed
from daedal.estimation import Autoregression, pack_fit
from daedal.studies import Outline, Row, Run, driving, simulate_data
from daedal.studies.charter import prepare
from daedal.studies.fit_runs import charter_fits
from daedal.studies.studying import _Estimate
from own_kinds import Jitter, Reorder, Trouble
from studying import TIMES, TRUTH, a, make_data, make_fit, make_model


@pytest.fixture(scope="module")
def bootstrap() -> dd.Study:
    return dd.study(make_fit(), dd.ParametricBootstrap(), runs=42, rng=7)


def same(one: dd.Study, other: dd.Study) -> bool:
    """Bit for bit."""
    alike = one.to_pandas().equals(other.to_pandas())
    return alike and one.contents.values.tobytes() == other.contents.values.tobytes()


def test_the_spread_of_a_parametric_bootstrap_is_that_of_least_squares(bootstrap):
    fit = make_fit()
    shape = np.exp(-fit["k"].value * TIMES)
    J = np.stack([-fit["a"].value * TIMES * shape, shape], axis=1)
    exact = 0.05 * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))  # of least squares, the noise being 0.05
    ends, corrected = bootstrap.conf_int(), bootstrap.conf_int(method="bca")
    for name, error in zip(("k", "a"), exact, strict=True):
        assert 0.67 < bootstrap[name].std / error < 1.33  # 42 runs tell a standard deviation to 11 %; three times that
        assert abs(bootstrap[name].bias) < 4 * error / np.sqrt(42)
        for low, high in (ends[name], corrected[name]):
            assert low < fit[name].value < high
            assert 2.8 < (high - low) / error < 5.4


def test_the_step_of_a_run_is_its_estimate_to_first_order(bootstrap):
    step, change = bootstrap.steps["a"], bootstrap.estimates["a"] - make_fit()["a"].value
    assert np.corrcoef(step, change)[0, 1] > 0.99


def test_a_run_is_the_fit_that_one_would_make_by_hand(bootstrap):
    fit = make_fit()
    (data,) = simulate_data(fit.model, fit.data, [fit.params], derive_seed(7, "data of a study", 3), fit.scales)
    options = {"free": ["k", "a"], "criterion": fit.criterion, "solver": fit.solver}
    again = dd.fit(fit.model, data, starts=[fit.params], rng=derive_seed(7, "fit of a study", 3), **options)
    frame = bootstrap.to_pandas()
    assert frame.loc[3, "k"] == again["k"].value
    assert frame.loc[3, "std_error of a"] == again["a"].std_error
    assert frame.loc[3, "value"] == again.value


def test_numbers_do_not_depend_on_order_and_more_runs_go_on(tmp_path, bootstrap):
    journal = tmp_path / "a.study"
    kind = dd.ParametricBootstrap()
    make = prepare(charter_fits(make_fit(), pack_fit(make_fit()), kind, kind.outline(make_fit()), 7))
    backwards = [make(number).numbers for number in (4, 2, 0)]
    np.testing.assert_array_equal(backwards, bootstrap.contents.values[[4, 2, 0]])
    few = dd.study(make_fit(), dd.ParametricBootstrap(), runs=3, journal=journal, rng=7)
    assert few.status.ok
    more = dd.study(make_fit(), dd.ParametricBootstrap(), runs=5, journal=journal)  # the seed is that of the journal
    assert more.seed == 7
    assert more.to_pandas().equals(bootstrap.to_pandas().iloc[:5])
    assert same(dd.load(journal), more)
    again = dd.study(make_fit(), dd.ParametricBootstrap(), runs=3, journal=journal, rng=7)
    assert same(again, few)
    assert [path.name for path in tmp_path.iterdir()] == ["a.study"]


def test_a_study_prints_what_it_says(bootstrap):
    printed = str(bootstrap)
    assert printed.startswith("study of 'decay' by ParametricBootstrap(): 42 runs, seed 7\n  All 42 runs are there.")
    assert "95 % percentiles" in printed
    assert "95 % BCa" in printed
    assert "BCa counts its correction from 42 runs, which tell its ends to 0.39 sd: take 400" in printed
    assert list(bootstrap) == ["k", "a"]
    with pytest.raises(dd.DaedalError, match="The study has no estimate 'kk'"):
        bootstrap["kk"]
    assert list(bootstrap.timings().columns) == ["seconds", "host"]


def test_data_of_a_model_have_its_noise_and_what_was_missing():
    """Of 400 samples at each of ten times, each time with noise of its own size."""
    times, noise = np.repeat(TIMES[:10], 400), np.repeat(np.linspace(0.1, 1.0, 10), 400)
    samples = dd.Samples(times, np.where(np.arange(4000) == 4, np.nan, 1.0), noise)
    data = dd.Dataset(outputs={"y": samples})
    (drawn,) = simulate_data(make_model(), [data], [TRUTH], 1)
    assert np.flatnonzero(np.isnan(drawn["y"])).tolist() == [4]
    assert np.array_equal(drawn.outputs["y"].noise, noise)
    residual = (drawn["y"] - 2.0 * np.exp(-1.3 * times)).reshape(10, 400)
    np.testing.assert_allclose(np.nanstd(residual, axis=1), np.linspace(0.1, 1.0, 10), rtol=0.12)


def test_noise_that_the_model_does_not_declare_is_that_of_the_residuals():
    quiet = make_model().with_measurement_noise({"y": None})
    times = np.arange(4000) * 1e-3
    data = dd.Dataset(times, outputs={"y": np.zeros(4000)})
    (plain,) = simulate_data(quiet, [data], [TRUTH], 1, {"y": 0.3})
    residual = plain["y"] - 2.0 * np.exp(-1.3 * times)
    assert abs(residual.std() / 0.3 - 1.0) < 0.05
    colour = Autoregression(np.array([-0.8]), 0.36)  # of variance one
    (coloured,) = simulate_data(quiet, [data], [TRUTH], 1, {"y": 0.3}, {"y": colour})
    residual = coloured["y"] - 2.0 * np.exp(-1.3 * times)
    assert abs(residual.std() / 0.3 - 1.0) < 0.2
    assert abs(np.corrcoef(residual[1:], residual[:-1])[0, 1] - 0.8) < 0.05
    (clean,) = simulate_data(quiet, [data], [TRUTH], 1)
    np.testing.assert_allclose(clean["y"], 2.0 * np.exp(-1.3 * times), atol=1e-6)


def test_correlated_noise_is_drawn_with_its_covariance():
    model = make_model().with_outputs({"z": 2.0 * dd.symbol("x")})
    model = model.with_measurement_noise({"y": None, ("y", "z"): [[0.04, 0.03], [0.03, 0.09]]})
    data = dd.Dataset(np.arange(4000) * 1e-3, outputs={"y": np.zeros(4000), "z": np.zeros(4000)})
    (drawn,) = simulate_data(model, [data], [TRUTH], 1)
    clean = 2.0 * np.exp(-1.3 * data.times)
    np.testing.assert_allclose(
        np.cov(drawn["y"] - clean, drawn["z"] - 2 * clean), [[0.04, 0.03], [0.03, 0.09]], atol=0.006
    )


def test_blocks_of_residuals_are_laid_side_by_side():
    fit = make_fit()
    kind = dd.BlockBootstrap(length=0.6)  # 4 samples
    assert kind.outline(fit).reading == "bootstrap"
    clean = dd.simulate(fit.model, fit.data[0], solver=fit.solver)["y"]
    residual = fit.data[0]["y"] - clean
    centred = residual - residual.mean()
    seen = set()
    for number in range(6):
        drawn = kind.make_run(fit, number, 7).data[0]["y"] - clean
        for block in range(5):
            piece = drawn[4 * block : 4 * block + 4]
            matches = [s for s in range(20) if np.allclose(piece, centred[(s + np.arange(4)) % 20], atol=1e-9)]
            assert len(matches) == 1
            seen.update(matches)
    assert len(seen) > 10


def test_monte_carlo_tells_bias_and_coverage():
    truth = make_fit().model.with_parameters(TRUTH)
    study = dd.study(make_fit(), dd.MonteCarlo(truth=truth), runs=20, rng=3)
    for name, value in TRUTH.items():
        one = study[name]
        assert one.truth == value
        assert abs(one.bias) < 4 * one.std / np.sqrt(20)
        assert one.rmse == pytest.approx(np.hypot(one.bias, one.std * np.sqrt(19 / 20)))
        low, high = study.intervals[name]
        assert one.coverage == np.mean((low <= value) & (value <= high))
        assert one.coverage > 0.75  # of 20; fewer by chance once in 400
    assert "coverage of 95 %" in str(study)
    with pytest.raises(dd.DaedalError, match="not that of a bootstrap"):
        study.conf_int()


def test_what_a_fit_held_wrong_is_a_bias_from_the_truth():
    """Least squares with a wrong rate, in closed form: a estimates (wrong · right)/(wrong · wrong) times the truth."""
    options = {"free": ["a"], "criterion": dd.OutputError(), "solver": dd.Lanes(step=0.15), "rng": 1}
    fit = dd.fit(make_model(), make_data(), fixed={"k": 1.8}, **options)
    study = dd.study(fit, dd.MonteCarlo(truth=make_model().with_parameters(TRUTH)), runs=12, rng=3)
    wrong, right = np.exp(-1.8 * TIMES), np.exp(-1.3 * TIMES)
    exact = 2.0 * (wrong @ right) / (wrong @ wrong) - 2.0
    error = 0.05 / np.sqrt(wrong @ wrong)
    assert exact > 5 * error
    assert abs(study["a"].bias - exact) < 4 * error / np.sqrt(12)


def test_a_truth_has_what_differs_between_experiments():
    """Fixed at numbers or formulas of its own in each; a formula is that of the truth, not of the estimates."""
    b, c, d = dd.symbols("b c d")
    model = make_model().with_parameters({b: 7.0, c: 1.0, d: 5.0}).with_outputs({"y": dd.symbol("x") + b + c + d})
    data = [make_data(1, "one"), make_data(2, "two")]
    fixed = [{"k": 1.0, "b": 0.1, "c": a, "d": 0.0}, {"k": 1.0, "b": 0.2, "c": 2.0 * a, "d": 0.0}]
    fit = dd.fit(model, data, free=["a"], fixed=fixed, criterion=dd.OutputError(), solver=dd.Lanes(step=0.15), rng=1)
    truth = model.with_parameters({**TRUTH, "d": 3.0})
    values = dd.MonteCarlo(truth=truth)._list_values(fit)
    assert [dict(one) for one in values] == [
        {"b": 0.1, "c": pytest.approx(2.0)},
        {"b": 0.2, "c": pytest.approx(4.0)},
    ]


@pytest.fixture(scope="module")
def several() -> dd.Fit:
    """With k fixed the model is linear in a: the estimate is the mean of those of the experiments."""
    data = [make_data(seed, f"day {seed}") for seed in range(1, 6)]
    options = {"criterion": dd.OutputError(), "solver": dd.Lanes(step=0.15), "fixed": {"k": 1.3}}
    return dd.fit(make_model(), data, free=["a"], rng=1, **options)


def test_experiments_left_out_give_the_error_of_a_mean(several):
    study = dd.study(several, dd.LeaveOut(1), rng=1)
    shape = np.exp(-1.3 * TIMES)
    single = np.array([shape @ one["y"] / (shape @ shape) for one in several.data])
    assert study["a"].std == pytest.approx(single.std(ddof=1) / np.sqrt(5), rel=1e-4)  # steps of the solver
    assert abs(study["a"].bias) < 1e-6
    assert sorted(study.to_pandas()["left out"]) == [f"day {k}" for k in range(1, 6)]
    with pytest.raises(dd.DaedalError, match="is not that of a bootstrap, so it gives no interval"):
        study.conf_int()
    two = dd.LeaveOut(2)
    assert two.outline(several).runs == 10
    chosen = {two.make_run(several, number, 1).labels["left out"] for number in range(10)}
    assert len(chosen) == 10


def test_local_parameters_keep_their_experiments():
    data = [make_data(seed, "day") for seed in (1, 2, 3)]  # of one name: counted
    options = {"criterion": dd.OutputError(), "solver": dd.Lanes(step=0.15)}
    fit = dd.fit(make_model(), data, free=["k"], local=["a"], rng=1, **options)
    study = dd.study(fit, dd.LeaveOut(1), rng=1)
    frame = study.to_pandas()
    for row in frame.itertuples():
        left = row._2
        assert np.isnan(frame.loc[row.Index, f"a[{left}]"])
    assert study.converged.all()
    bootstrap = dd.study(fit, dd.ParametricBootstrap(), runs=2, rng=1)
    assert set(bootstrap) == {"k", "a[1]", "a[2]", "a[3]"}
    assert bootstrap.converged.all()


def test_data_of_a_run_stand_for_those_of_their_name():
    """Each with what was fixed there, in any order; names with brackets or that are numbers are no reason to err."""
    options = {"criterion": dd.OutputError(), "solver": dd.Lanes(step=0.15), "rng": 1}
    fixed = [{"k": 1.0}, {"k": 1.3}, {"k": 1.6}]
    for names in (["run[1]", "run[2]", "run[3]"], ["day", "day", "1"]):
        data = [make_data(seed, name) for seed, name in enumerate(names, start=1)]
        fit = dd.fit(make_model(), data, local=["a"], fixed=fixed, **options)
        kind = Reorder() if names[0] == "run[1]" else dd.Starts(2)
        study = dd.study(fit, kind, runs=2, rng=1)
        for name, found in study.estimates.items():
            np.testing.assert_allclose(found, fit[name].value, rtol=1e-4)
    strangers = dd.study(fit, Reorder(("x", "y", "z")), runs=2, rng=1)
    sentence = "The fit has no experiment 'x', 'y' and 'z' for data of a run to stand for. Name the data as those of"
    assert strangers.failures[0].startswith(sentence)


def test_starts_end_where_fits_from_them_end():
    study = dd.study(make_fit(), dd.Starts(4), rng=2)
    frame = study.to_pandas()
    start = {name: frame.loc[2, f"start of {name}"] for name in ("k", "a")}
    fit = make_fit()
    options = {"free": ["k", "a"], "criterion": fit.criterion, "solver": fit.solver, "rng": fit.seed}
    assert frame.loc[2, "k"] == dd.fit(fit.model, list(fit.data), starts=[start], **options)["k"].value
    assert np.ptp(study.values) < 1e-6
    assert frame["start of k"].between(0.1, 10.0).all()
    assert "starts" in str(study)


def test_a_scan_holds_a_parameter_and_fits_the_others():
    study = dd.study(make_fit(), dd.Scan({"k": [1.0, 1.3]}), rng=2)
    frame = study.to_pandas()
    shape = [np.exp(-rate * TIMES) for rate in (1.0, 1.3)]
    best = [one @ make_data()["y"] / (one @ one) for one in shape]  # linear in a
    np.testing.assert_allclose(frame["a"], best, rtol=1e-4)
    assert list(frame["k"]) == [1.0, 1.3]
    head, *rows = str(study).splitlines()[2:]
    assert head.split() == ["run", "k", "a", "criterion"]
    assert [row.split()[:3] for row in rows] == [["0", "1", f"{best[0]:.5g}"], ["1", "1.3", f"{best[1]:.5g}"]]
    with pytest.raises(dd.DaedalError, match="leaves nothing free"):
        dd.study(make_fit(), dd.Scan({"k": [1.0, 2.0], "a": [1.0]}))


def test_a_kind_of_ones_own_is_kept_by_its_fields(tmp_path):
    journal = tmp_path / "own.study"
    kind = Jitter(0.02, truth=make_model())
    study = dd.study(make_fit(), kind, runs=3, journal=journal, rng=1)
    assert set(study.to_pandas()["added"]) == {0.02}
    assert study.kind == "Jitter(size=0.02, truth='decay')"
    assert same(dd.load(journal), study)
    with pytest.raises(dd.DaedalError, match="'kind' differs"):
        dd.study(make_fit(), replace(kind, size=0.03), runs=3, journal=journal, rng=1)


def test_a_kind_may_stand_anywhere_as_long_as_this_process_makes_the_runs():
    @dataclass(frozen=True)
    class Same:
        shares: tuple[float, ...] = (0.1 + 0.2, 2.0)

        def outline(self, _: dd.Fit) -> Outline:
            return Outline(runs=2)

        def make_run(self, fit: dd.Fit, *_: int) -> Run:
            return Run(fit.data)

    study = dd.study(make_fit(), Same(), rng=1)
    np.testing.assert_allclose(study.estimates["k"], make_fit()["k"].value, rtol=1e-4)
    assert study.kind.endswith("Same(shares=[0.3, 2.0])")


def test_a_run_that_fails_is_a_row_with_its_sentence():
    study = dd.study(make_fit(), Trouble(2, "refuse"), runs=4, rng=1)
    assert dict(study.failures) == {2: "This run is refused. Leave it out."}
    assert study.converged.sum() == 3
    assert "1 run failed:\n    1 × (first run 2): This run is refused." in str(study)
    other = dd.study(make_fit(), Trouble(0, "raise"), runs=2, rng=1)
    assert other.failures[0] == "ZeroDivisionError: a mistake of the user's"
    assert np.isnan(other.to_pandas().loc[0, "k"])


@pytest.mark.parametrize("what", ["memory", "files"])
def test_a_run_that_the_machine_had_no_room_for_is_tried_again(tmp_path, what):
    kind = Trouble(1, what, str(tmp_path / "mark"))
    study = dd.study(make_fit(), kind, runs=2, journal=tmp_path / "a.study", rng=1)
    assert study.to_pandas()["status"].tolist() == ["converged", "died"]
    assert study.failures[1].startswith({"memory": "MemoryError. ", "files": "OSError: [Errno 24]"}[what])
    assert study.failures[1].endswith("The same call tries it again.")
    again = dd.study(make_fit(), kind, runs=2, journal=tmp_path / "a.study", rng=1)
    assert again.converged.all()


@pytest.mark.usefixtures("heard_interrupts")
def test_an_interrupt_returns_what_is_there_and_the_same_call_goes_on(tmp_path):
    journal, mark = tmp_path / "a.study", str(tmp_path / "mark")
    kind = Trouble(3, "interrupt", mark)
    study = dd.study(make_fit(), kind, journal=journal, rng=1)
    assert study.status.interrupted
    assert "3 of 8 runs are there. Make the same call to go on." in str(study)
    loaded = dd.load(journal)
    assert same(loaded, study)
    assert loaded.status.interrupted
    assert str(loaded.status) == "Not finished: 3 of 8 runs are there. Make the same call to go on."
    whole = dd.study(make_fit(), kind, journal=journal, rng=1)
    assert whole.status.ok
    assert same(whole, dd.study(make_fit(), kind, rng=1))


@pytest.mark.usefixtures("heard_interrupts")
def test_an_interrupt_before_anything_is_there(tmp_path):
    with pytest.raises(KeyboardInterrupt, match="study was interrupted before anything was finished"):
        dd.study(make_fit(), Trouble(0, "interrupt", str(tmp_path / "mark")), rng=1)


def test_shards_make_the_whole(tmp_path, bootstrap):
    for part in (1, 2, 3):
        study = dd.study(
            make_fit(), dd.ParametricBootstrap(), runs=6, journal=tmp_path / "a.study", rng=7, shard=(part, 3)
        )
        assert study.numbers.tolist() == [part - 1, part + 2]
        assert study.status.ok
    parts = sorted(tmp_path.glob("*.study"))
    assert [path.name for path in parts] == ["a.1of3.study", "a.2of3.study", "a.3of3.study"]
    half = dd.merge(parts[:2])
    assert not half.status.ok
    assert str(half.status) == "Not complete: 4 of 6 runs are there. Finish the shards and merge them again."
    whole = dd.merge(parts, journal=tmp_path / "whole.study")
    assert whole.to_pandas().equals(bootstrap.to_pandas().iloc[:6])
    assert whole.contents.values.tobytes() == bootstrap.contents.values[:6].tobytes()
    assert same(dd.load(tmp_path / "whole.study"), whole)
    more = dd.study(make_fit(), dd.ParametricBootstrap(), runs=7, journal=tmp_path / "whole.study", rng=7)
    assert more.to_pandas().equals(bootstrap.to_pandas().iloc[:7])
    dd.study(make_fit(), Jitter(0.1), runs=2, journal=tmp_path / "other.study", rng=7)
    with pytest.raises(dd.DaedalError, match="are of different studies: 'kind' differs"):
        dd.merge([parts[0], tmp_path / "other.study"])


def test_the_line_that_says_how_far_a_study_is(monkeypatch):
    clock = {"time": 0.0}
    monkeypatch.setattr(driving, "monotonic", lambda: clock["time"])
    tally = driving._Tally(500, 100, 4, _Estimate(make_fit()))
    assert str(tally) == "100/500"
    clock["time"] = 60.0
    numbers = [(0.0, 0.0, value, 0.0) for value in (1.0, 1.2, 9.0, 1.1)]
    status = ["converged", "converged", "failed", "converged"]
    rows = [Row(k, status[k], "", numbers[k], {}, 2.0) for k in range(4)]
    tally.count(rows[:2])
    tally.count(rows[2:])
    assert str(tally) == "104/500 · 1 failed · 2 s each · 4 workers · 99 minutes left · k 1.1 ± 0.1"


def test_runs_of_this_process_do_not_repeat_what_the_fit_said(caplog):
    short = make_fit().model.with_outputs({"other": dd.symbol("x")})  # not measured, which every fit would tell
    options = {"free": ["k", "a"], "criterion": dd.OutputError(), "solver": dd.Lanes(step=0.15), "rng": 1}
    fit = dd.fit(short, list(make_fit().data), **options)
    assert "other" in caplog.text
    caplog.clear()
    dd.study(fit, Jitter(0.01), runs=2, rng=1)
    assert caplog.text == ""


def test_pictures_of_studies(bootstrap):
    figure = dd.plot(bootstrap)
    names = [trace.name for trace in figure.data]
    assert names.count("runs") == 1
    assert {"95 % of the runs", "95 % by the fit", "share of runs"} <= set(names)
    waterfall = dd.plot(dd.study(make_fit(), dd.Starts(3), rng=2))
    assert len(waterfall.data[0].y) == 3
    assert list(waterfall.data[0].y) == [0.0, 0.0, 0.0]  # one minimum: rounding is no height
    assert dd.plot(dd.study(make_fit(), dd.Scan({"k": [1.0, 1.3]}), rng=2)).data


def test_a_sample_without_a_value_does_not_change_the_spread_of_blocks():
    """Its place is filled by samples of a block, which are no more accurate than their neighbours."""
    times, size = np.arange(60) * 0.05, 500.0
    y = 2e4 * np.exp(-1.3 * times) + size * np.random.default_rng(1).standard_normal(60)
    model = make_model().with_measurement_noise({"y": None}).with_parameters({"a": dd.Parameter(1.5e4)})
    options = {
        "free": ["a"],
        "fixed": {"k": 1.3},
        "criterion": dd.OutputError(),
        "solver": dd.Lanes(step=0.05),
        "rng": 1,
    }
    spread = []
    for missing in (False, True):
        lost = (np.arange(60) == 20) & missing
        samples = dd.Samples(times, np.where(lost, np.nan, y), np.where(lost, np.nan, size))
        fit = dd.fit(model, dd.Dataset(outputs={"y": samples}), **options)
        spread.append(dd.study(fit, dd.BlockBootstrap(length=0.1), runs=12, rng=1)["a"].std)
    assert 0.5 < spread[1] / spread[0] < 2.0  # 12 runs tell a standard deviation to 21 %
