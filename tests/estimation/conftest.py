"""What several tests of estimation look at."""

import numpy as np
import pytest

import daedal as dd
from batteries.fits import LINE, TIMES, b, decay, k, line, noisy, x


@pytest.fixture(scope="session")
def regression():
    return dd.fit(line(), LINE, free=["b", "c"])


@pytest.fixture
def two():
    model = decay(outputs={"level": x, "other": b * x}, parameters={k: 1.3, b: 2.0})
    data = dd.Dataset(TIMES, outputs={"level": noisy(np.exp(-TIMES)), "other": noisy(2 * np.exp(-TIMES), 0.05)})
    return model, data
