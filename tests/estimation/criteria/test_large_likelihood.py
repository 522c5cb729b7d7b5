"""A model of more than 170 states, whose factorials are no floats any more: the likelihood is that of the part seen."""

import numpy as np
import pytest

import daedal as dd
from daedal import der

a = dd.symbol("a")
CHAIN = dd.symbols("x", 180)
w = dd.symbol("w")
TIMES = np.arange(6) * 0.3
DATA = dd.Dataset(TIMES, outputs={"y": np.cos(TIMES)})


def make_chain(length: int) -> dd.Model:
    """Lags one behind the other, of which the first is measured."""
    chain = CHAIN[:length]
    follow = {f"lag {i}": der(chain[i]) == chain[i - 1] - chain[i] for i in range(1, length)}
    return dd.Model(
        name="chain",
        equations={"first": der(chain[0]) == -a * chain[0] + w, **follow},
        unknowns=list(chain),
        outputs={"y": chain[0]},
        parameters={a: 0.8},
        disturbances={w: dd.WhiteNoise(intensity=0.5)},
        measurement_noise={"y": 0.1},
        initial=dict.fromkeys(chain, 1.0),
    )


@pytest.mark.slow
def test_more_than_170_states():
    small, large = (dd.evaluate(make_chain(n), DATA, free=["a"], criterion=dd.Likelihood()) for n in (1, 180))
    assert large.value == pytest.approx(small.value, rel=1e-9)
    np.testing.assert_allclose(large.gradient, small.gradient, rtol=1e-8)
