"""Which objective a model gets by the method of its likelihood, and what is refused."""

import numpy as np
import pytest

import daedal as dd
from sizes import choose

x, w, a = dd.symbols("x w a")
DATA = dd.Dataset(np.arange(20) * 0.5, outputs={"x": np.sin(np.arange(20))})


def model(power=1):
    return dd.Model(
        name="decay",
        equations={"rate": dd.der(x) == -a * x**power + w},
        unknowns=[x],
        outputs={"x": x},
        parameters={a: 1.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.5, time_constant=1.0)},
        measurement_noise={"x": 0.1},
        initial={x: 0.0},
    )


@pytest.mark.parametrize("method", ["auto", "laplace", "moments", "particle"])
def test_a_linear_model_has_the_exact_filter_whatever_the_method(method):
    exact = dd.evaluate(model(), DATA, free=["a"], criterion=dd.Likelihood())
    assert dd.evaluate(model(), DATA, free=["a"], criterion=dd.Likelihood(method=method)).value == exact.value


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("method", "exact", "The method of Likelihood must be 'auto', 'laplace', 'moments' or 'particle', got 'exact'"),
        ("method", None, "The method of Likelihood must be"),
        ("particles", 1, "The particles of Likelihood must be a whole number from 2 on, got 1"),
        ("particles", 2.5, "The particles of Likelihood must be a whole number from 2 on, got 2.5"),
        ("realizations", 3, "The realizations of Likelihood must be a whole number from 8 on, got 3"),
        ("realizations", True, "The realizations of Likelihood must be a whole number from 8 on, got True"),
    ],
)
def test_wrong_fields_are_told(field, value, sentence):
    with pytest.raises(dd.DaedalError, match=sentence):
        dd.Likelihood(**{field: value})


z = dd.symbol("z")
DECAY = dd.Model(
    name="decay",
    equations={"rate": dd.der(x) == -a * x - 0.2 * x**3 + z, "pushed": z == w + 0.1 * w**3},
    unknowns=[x, z],
    outputs={"x": x},
    parameters={a: dd.Parameter(1.0, lower=0.05, upper=20.0, scale="log")},
    disturbances={w: dd.FilteredNoise.low_pass(std=0.8, time_constant=1.0)},
    measurement_noise={"x": 0.1},
    initial={x: 1.0},
)


@pytest.mark.slow
@pytest.mark.parametrize("method", choose(["particle", "auto"], ["laplace", "moments", "particle", "auto"]))
def test_every_verb_takes_a_fit_by_any_method(method, tmp_path):
    data, other = (
        dd.simulate(
            DECAY, np.arange(1, 26) * 0.4, t0=0.0, realizations=1, measurement_noise=True, rng=seed
        ).to_dataset()
        for seed in (3, 4)
    )
    criterion = dd.Likelihood(method=method, particles=200, realizations=200)
    fit = dd.fit(DECAY, data, free=["a"], criterion=criterion, rng=0)
    profile = dd.profile(fit, points=2)
    low, high = profile["a"].interval
    assert low < fit["a"].value < high
    nouns = [fit, profile, dd.identifiability(fit), dd.resid(fit, other), dd.compare(fit, other, horizon=[1, 3])]
    for kind, horizon in (("smoothed", None), ("predicted", 0.8)):
        states = dd.estimate_states(fit, other, variables=["x", "z", "w", "der(x)"], kind=kind, horizon=horizon)
        assert all(np.isfinite(states.mean[name]).all() for name in states.variables)
        assert all((states.std[name] >= 0.0).all() for name in states.variables)
        nouns.append(states)
    for noun in nouns:
        assert dd.plot(noun).data
    fit.save(tmp_path / "fit.nc")
    assert str(dd.load(tmp_path / "fit.nc")) == str(fit)
