"""Many short experiments whose starts are open: what a flat prior does to a gain is said, and a free start does not."""

import numpy as np
import pytest

import daedal as dd


def make_lag(name="lag"):
    """A state that starts anywhere, seen through a gain."""
    x, u, w, c = dd.symbols("x u w c")
    return dd.Model(
        name=name,
        equations={"rate": dd.der(x) == u + w - x},
        unknowns=[x],
        inputs=[u],
        outputs={"y": c * x},
        parameters={c: dd.Parameter(1.5, lower=0.01, upper=100.0, scale="log")},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.05, time_constant=1.0)},
        measurement_noise={"y": 0.6},
    )


def make_runs(count, samples):
    """Exact lags of gain one from starts of their own, with measurement noise."""
    rng, times = np.random.default_rng(1), np.arange(samples) * 0.2
    return [
        dd.Dataset(
            times,
            inputs={"u": np.ones(samples)},
            outputs={"y": 1.0 + (5.0 * rng.normal() - 1.0) * np.exp(-times) + 0.6 * rng.normal(size=samples)},
        )
        for _ in range(count)
    ]


def test_flat_priors_of_many_starts_are_told_and_free_starts_are_the_remedy():
    runs, said = make_runs(100, 10), "there are 100 open values at starts for 1000 samples"
    flat = dd.fit(make_lag(), runs, free=["c"])
    assert any(note.startswith(said) for note in flat.notes)
    free = dd.fit(make_lag(), runs, free=["c"], criterion=dd.Likelihood(initial="free"))
    assert not any(note.startswith(said) for note in free.notes)
    assert free["c"].value == pytest.approx(1.0, abs=3.0 * free["c"].std_error)


def test_one_long_record_needs_no_word():
    fitted = dd.fit(make_lag(), make_runs(1, 200), free=["c"])
    assert not any("open values" in note for note in fitted.notes)
