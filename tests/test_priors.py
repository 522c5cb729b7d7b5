"""Priors: densities as scipy has them, what they mean, how they are written, and what they refuse."""

import pickle
from math import inf

import numpy as np
import pytest
from scipy import stats

import daedal as dd
from daedal.errors import ModelError
from daedal.library import rotational as rot
from daedal.priors import list_entries, read_prior

x, k, m = dd.symbols("x k m")
PRIORS = {
    "normal": (dd.Normal(90.0, 20.0), stats.norm(90.0, 20.0)),
    "log-normal": (dd.LogNormal(5.0, 2.0), stats.lognorm(s=np.log(2.0), scale=5.0)),
    "uniform": (dd.Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
}


@pytest.mark.parametrize(("prior", "other"), PRIORS.values(), ids=PRIORS)
def test_densities_are_absolute(prior, other):
    for value in (-5.0, -1.0, 0.0, 0.3, 2.0, 3.0, 80.0, 300.0):
        assert prior.log_density(value) == pytest.approx(float(other.logpdf(value)), rel=1e-12)


@pytest.mark.parametrize(("prior", "other"), PRIORS.values(), ids=PRIORS)
def test_they_begin_and_end_where_their_density_does(prior, other):
    assert prior.support == other.support()


@pytest.mark.parametrize(("prior", "value"), [(dd.Normal(90.0, 20.0), 70.0), (dd.LogNormal(5.0, 2.0), 7.0)])
def test_the_slope_is_that_of_the_deviation(prior, value):
    step = 1e-5 * value
    slope = (prior.deviate(value + step)[0] - prior.deviate(value - step)[0]) / (2 * step)
    assert prior.deviate(value)[1] == pytest.approx(slope, rel=1e-8)
    assert prior.spread(value) == pytest.approx(1.0 / slope, rel=1e-8)


def test_one_deviation_holds_68_percent():
    prior, other = PRIORS["log-normal"]
    assert other.cdf(10.0) - other.cdf(2.5) == pytest.approx(0.6827, abs=1e-4)
    assert [prior.deviate(value)[0] for value in (2.5, 5.0, 10.0)] == pytest.approx([-1.0, 0.0, 1.0])
    assert dd.Uniform(-1.0, 3.0).spread(0.0) == pytest.approx(float(PRIORS["uniform"][1].std()))


@pytest.mark.parametrize("prior", [prior for prior, _ in PRIORS.values()], ids=PRIORS)
def test_they_are_values_that_are_written_and_read(prior):
    assert read_prior(list_entries(prior)) == prior
    parameter = dd.Parameter(1.0, unit="kg", prior=prior)
    assert pickle.loads(pickle.dumps(parameter)) == parameter
    assert parameter != dd.Parameter(1.0, unit="kg")
    assert parameter.with_value(2.0) == dd.Parameter(2.0, unit="kg", prior=prior)
    model = dd.Model(name="one", equations={"e": x == k}, unknowns=[x], outputs={"y": x}, parameters={k: parameter})
    assert dd.Model.from_text(model.to_text()) == model
    assert model.with_parameters({"k": 2.5}).parameters["k"].prior == prior


def test_they_go_with_parts_into_an_assembly():
    disc = rot.Inertia().with_parameters({"J": dd.Parameter(2.0, prior=dd.LogNormal(2.0, 1.2))})
    parts = {"disc": disc, "torque": rot.TorqueSource()}
    both = dd.assemble(name="rig", parts=parts, connections=[("disc.flange_a", "torque.flange")], inputs=["torque.tau"])
    assert both.parameters["disc.J"].prior == dd.LogNormal(2.0, 1.2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dd.Normal(1.0, 0.0), "std of a Normal prior must be positive, got 0"),
        (lambda: dd.Normal(1.0, -2.0), "std of a Normal prior must be positive, got -2"),
        (lambda: dd.Normal("1", 2.0), "mean of a Normal prior must be a number, got '1'"),
        (lambda: dd.Normal(np.nan, 2.0), "mean of a Normal prior must be a number, got nan"),
        (lambda: dd.Normal(10**400, 2.0), "mean of a Normal prior must be a number"),
        (lambda: dd.Normal(1.0, inf), "std of a Normal prior must be a number, got inf"),
        (lambda: dd.Normal(1.0, True), "std of a Normal prior must be a number, got True"),
        (lambda: dd.LogNormal(0.0, 2.0), "median of a LogNormal prior must be positive, got 0"),
        (lambda: dd.LogNormal(1.0, 1.0), "factor of a LogNormal prior must be larger than 1, got 1"),
        (lambda: dd.LogNormal(1.0, 0.5), "factor of a LogNormal prior must be larger than 1, got 0.5"),
        (lambda: dd.Uniform(2.0, 2.0), "must begin below its end, got 2 and 2"),
        (lambda: dd.Uniform(-inf, 2.0), "a of a Uniform prior must be a number, got -inf"),
        (lambda: dd.Parameter(1.0, prior=(1.0, 0.1)), r"Normal, LogNormal or Uniform one, got \(1.0, 0.1\)"),
        (lambda: dd.Parameter(1.0, prior=dd.Normal), "Normal, LogNormal or Uniform one, got Normal"),
        (
            lambda: dd.Parameter(1.0, lower=0.0, upper=5.0, prior=dd.Normal(6.0, 1.0)),
            r"Normal\(mean=6.0, std=1.0\) has its mean outside the bounds 0 … 5",
        ),
        (lambda: dd.Parameter(1.0, upper=5.0, prior=dd.LogNormal(6.0, 2.0)), "median outside the bounds -inf … 5"),
        (lambda: dd.Parameter(1.0, lower=-1.0, prior=dd.LogNormal(6.0, 2.0)), "positive quantity, but the lower bound"),
        (lambda: dd.Parameter(1.0, upper=-1.0, prior=dd.LogNormal(6.0, 2.0)), "outside the bounds -inf … -1"),
        (lambda: dd.Parameter(1.0, lower=0.5, prior=dd.Uniform(0.0, 2.0)), "reaches beyond the bounds 0.5 … inf"),
        (lambda: dd.Parameter(1.0, upper=5.0, prior=dd.Uniform(6.0, 7.0)), "reaches beyond the bounds -inf … 5"),
        (lambda: read_prior({"kind": "Cauchy"}), "must be a table with a kind"),
        (lambda: read_prior("Normal(1, 2)"), "must be a table with a kind"),
        (lambda: read_prior({"kind": "Normal", "mean": 1.0}), "Normal prior is not made of 'mean'"),
    ],
)
def test_what_contradicts_itself_is_refused(make, sentence):
    with pytest.raises(ModelError, match=sentence) as caught:
        make()
    assert caught.value.remedy


@pytest.mark.parametrize(("prior", "value"), [(dd.LogNormal(1.0, 2.0), -1.0), (dd.Uniform(0.0, 1.0), 1.5)])
def test_a_value_that_is_impossible_is_refused_by_name(prior, value):
    fields = {"name": "one", "equations": {"e": x == k}, "unknowns": [x], "outputs": {"y": x}}
    sentence = f"The value {value:g} of parameter 'k' is impossible by its prior"
    with pytest.raises(ModelError, match=sentence):
        dd.Model(**fields, parameters={k: dd.Parameter(value, prior=prior)})
    model = dd.Model(**fields, parameters={k: dd.Parameter(0.5, prior=prior)})
    with pytest.raises(ModelError, match=sentence):
        dd.simulate(model, [0.0, 1.0], values={"k": value})


def test_a_text_with_a_wrong_prior_says_where():
    text = 'name = "one"\nunknowns = ["x"]\n[equations]\ne = "x == k"\n[parameters]\nk = { value = 1.0, prior = 3.0 }\n'
    with pytest.raises(ModelError, match=r"at parameters: k: A prior must be a table with a kind, got 3\.0"):
        dd.Model.from_text(text)
