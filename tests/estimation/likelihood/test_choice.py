"""The criterion of those who name none."""

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


@pytest.mark.parametrize(("tanks", "name"), [(2, "Likelihood"), (13, "SimulationPEM")])
def test_a_large_nonlinear_model_is_not_followed_unasked(tanks, name, monkeypatch):
    chosen = []

    def choose(problem):
        chosen.append(choice.choose_criterion(problem))
        raise dd.DaedalError("That is enough.", "Go on.")

    monkeypatch.setattr("daedal.estimation.arguments.choose_criterion", choose)
    times = np.arange(5.0)
    data = dd.Dataset(times, outputs={"last": np.zeros(5)})
    with pytest.raises(dd.DaedalError, match="enough"):
        dd.fit(make_chain(tanks), data, free=["k"])
    assert type(chosen[0][0]).__name__ == name
    assert f"{name} was chosen" in chosen[0][1]
