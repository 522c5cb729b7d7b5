"""The criterion of those who name none."""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.estimation.likelihood import choice


def make_chain(tanks):
    levels, w = [symbol for i in range(tanks) for symbol in dd.symbols(f"x{i}")], dd.symbols("w")[0]
    (k,) = dd.symbols("k")
    return dd.Model(
        name="tanks",
        equations={f"tank {i}": der(x) == (levels[i - 1] if i else 1 + w) - k * x - x**3 for i, x in enumerate(levels)},
        unknowns=levels,
        outputs={"last": levels[-1]},
        parameters={k: 1.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.3, time_constant=0.5)},
        measurement_noise={"last": 0.01},
        initial=dict.fromkeys(levels, 0.0),
    )


def choose(model, monkeypatch):
    """The criterion that `fit` takes by itself, and the reason."""
    chosen = []

    def take(problem):
        chosen.append(choice.choose_criterion(problem))
        raise dd.DaedalError("That is enough.", "Go on.")

    monkeypatch.setattr("daedal.estimation.arguments.choose_criterion", take)
    with pytest.raises(dd.DaedalError, match="enough"):
        dd.fit(model, dd.Dataset(np.arange(5.0), outputs={"last": np.zeros(5)}), free=["k"])
    criterion, reason = chosen[0]
    return type(criterion).__name__, reason


@pytest.mark.parametrize(("tanks", "name"), [(2, "Likelihood"), (13, "SimulationPEM")])
def test_a_large_nonlinear_model_is_not_followed_unasked(tanks, name, monkeypatch):
    criterion, reason = choose(make_chain(tanks), monkeypatch)
    assert criterion == name
    assert f"{name} was chosen" in reason
    assert ("; with 13 states, and 13 unknowns to solve for" in reason) == (tanks == 13)
    assert reason.endswith("takes minutes to compile: criterion=Likelihood() asks for it") == (tanks == 13)


def test_a_likelihood_is_said_to_be_passed_over_only_where_it_was_possible(monkeypatch):
    silent = replace(make_chain(13), measurement_noise={})
    criterion, reason = choose(silent, monkeypatch)
    assert criterion == "SimulationPEM"
    assert "compile" not in reason
