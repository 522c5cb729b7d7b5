"""What a study cannot do is said before any work."""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from daedal.studies.kinds import bootstraps
from own_kinds import Jitter
from studying import make_data, make_fit, make_model


class Kindless:
    pass


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"kind": Jitter(0.1), "runs": 1}, "A study must have a whole number of runs from 2 on, got 1"),
        ({"kind": Jitter(0.1), "runs": 2.5}, "A study must have a whole number of runs"),
        ({"kind": Jitter(0.1)}, "A study of Jitter may have any number of runs. Write runs=200"),
        ({"kind": dd.Starts(5), "runs": 6}, "must here have a whole number of runs from 2 to 5, got 6"),
        ({"kind": dd.ParametricBootstrap, "runs": 4}, r"got ParametricBootstrap. Write ParametricBootstrap\(\)"),
        ({"kind": "bootstrap", "runs": 4}, "The kind of a study must be one such as"),
        ({"kind": Kindless(), "runs": 4}, "The kind of a study must be one such as"),
        ({"kind": dd.LeaveOut(1)}, "leaves out experiments, but the fit has 1 experiment"),
        ({"kind": dd.BlockBootstrap(length=2.0), "runs": 4}, "Blocks of 2 are too long for 'y'"),
        ({"kind": dd.Scan({"kk": [1.0, 2.0]})}, "has no parameter 'kk' to scan. Did you mean 'k'"),
        ({"kind": Jitter(0.1), "runs": 4, "workers": 0}, "workers must be a number of processes from 1 to 4096"),
        ({"kind": Jitter(0.1), "runs": 4, "workers": "two"}, "workers must be a number of processes"),
        (
            {"kind": Jitter(0.1), "runs": 4, "shard": (0, 4)},
            r"A shard must be \(k, n\) with k from 1 to n, got \(0, 4\)",
        ),
        ({"kind": Jitter(0.1), "runs": 4, "shard": "3/20"}, "A shard must be"),
        ({"kind": Jitter(0.1), "runs": 4, "shard": (1, 4)}, "A shard without a journal is lost"),
        ({"kind": Jitter(0.1), "runs": 4, "journal": 3}, "The journal must be a path, got 3"),
        ({"kind": Jitter(0.1), "runs": 4, "fresh": "yes"}, "fresh must be True or False"),
        ({"kind": Jitter(0.1), "runs": 4, "rng": -1}, "rng must be a seed"),
    ],
)
def test_a_study_that_cannot_be_is_refused(arguments, sentence):
    with pytest.raises(dd.DaedalError, match=sentence):
        dd.study(make_fit(), **arguments)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dd.BlockBootstrap(length=0.0), "The length of a block must be a positive time"),
        (lambda: dd.BlockBootstrap(length="5 s"), "The length of a block must be a positive time"),
        (lambda: dd.LeaveOut(0), "whole number from 1 on"),
        (lambda: dd.Starts(1), "whole number from 2 on"),
        (lambda: dd.Scan({}), "A scan must be a mapping"),
        (lambda: dd.Scan({"k": []}), "must be a list of numbers"),
        (lambda: dd.Scan({"k": [1.0, np.nan]}), "must be a list of numbers"),
        (lambda: dd.MonteCarlo(truth=3), "must be a Model"),
        (lambda: dd.merge([]), "merge takes a list of journals"),
        (lambda: dd.merge(["nowhere.study"]), "There is no journal 'nowhere.study'"),
        (lambda: dd.study(make_model(), Jitter(0.1), runs=3), "study takes a Fit first, got Model"),
    ],
)
def test_a_kind_that_cannot_be_is_refused(make, sentence):
    with pytest.raises(dd.DaedalError, match=sentence):
        make()


def test_a_criterion_that_holds_moments_of_its_data_judges_no_others():
    y = make_data()["y"]
    moments = dd.MeasurementMoments.independent(mean=y, variance=np.full(20, 0.0025), third_raw_moment=y**3)
    criterion = dd.MeanVariance(gamma=1.0, measurements=moments)
    fit = dd.fit(make_model(), make_data(), free=["a"], criterion=criterion, solver=dd.Lanes(step=0.15), rng=1)
    for kind in (dd.ParametricBootstrap(), dd.BlockBootstrap(length=0.5), dd.MonteCarlo(truth=make_model())):
        with pytest.raises(dd.DaedalError, match="MeanVariance holds moments of the data that it was made for"):
            dd.study(fit, kind, runs=2)
    assert dd.study(fit, dd.Scan({"k": [1.2, 1.3]})).converged.all()


def test_blocks_need_regular_samples():
    times = tuple(np.cumsum(np.linspace(0.05, 0.2, 25)))
    fit = dd.fit(
        make_model(), make_data(times=times), free=["a"], criterion=dd.OutputError(), solver=dd.Lanes(step=0.05), rng=1
    )
    with pytest.raises(dd.DaedalError, match="A block bootstrap needs regular samples, but those of 'y'"):
        dd.study(fit, dd.BlockBootstrap(length=0.5), runs=4)


def test_starts_need_bounds():
    loose = make_model().with_parameters({"a": dd.Parameter(1.5)})
    options = {"criterion": dd.OutputError(), "solver": dd.Lanes(step=0.15), "rng": 1}
    fit = dd.fit(loose, make_data(), free=["k", "a"], **options)
    with pytest.raises(dd.DaedalError, match="on one side there is none for 'a'"):
        dd.study(fit, dd.Starts(4))


def test_a_truth_needs_the_outputs_of_the_data():
    with pytest.raises(dd.DaedalError, match="have no output of model"):
        dd.study(make_fit(), dd.MonteCarlo(truth=make_model().with_outputs({"y": None})), runs=3)


def test_blocks_need_a_simulation(monkeypatch):
    fit = dd.fit(make_model(), make_data(), free=["k", "a"], criterion=dd.Likelihood(), rng=1)
    assert dd.BlockBootstrap(length=0.5).outline(fit).reading == "bootstrap"
    ahead = [replace(one, simulated=None) for one in bootstraps._predict(fit)]  # as a criterion of one's own may do
    monkeypatch.setattr(bootstraps, "_predict", lambda _: ahead)
    with pytest.raises(dd.DaedalError, match="predicts each sample from those before"):
        dd.study(fit, dd.BlockBootstrap(length=0.5), runs=3)


def test_blocks_of_what_a_disturbance_did_are_refused():
    """Their jumps moved a time constant by 13 standard errors: the filter takes them for the disturbance."""
    x, w, a = dd.symbols("x w a")
    model = dd.Model(
        name="heater",
        equations={"heat": a * dd.der(x) == 1.0 - x + w},
        unknowns=[x],
        outputs={"y": x},
        parameters={a: dd.Parameter(2.0, lower=0.01, upper=200.0, scale="log")},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.5, time_constant=2.0)},
        measurement_noise={"y": 0.02},
        initial={x: 0.0},
    )
    data = dd.simulate(model, np.arange(0.0, 20.0, 0.25), realizations=1, measurement_noise=True, rng=1).to_dataset()
    fit = dd.fit(model, data, free=["a"], criterion=dd.Likelihood(), rng=1)
    with pytest.raises(
        dd.DaedalError, match=r"Likelihood predicts each sample .* Use ParametricBootstrap\(\), or fit by"
    ):
        dd.study(fit, dd.BlockBootstrap(length=5.0), runs=3)
