"""A measured positioning axis with dry friction (EMPS): friction by its sign, sticking included, on 24 841 samples.

Reference: A. Janot, M. Gautier, M. Brunot, Data set and reference models of EMPS, Workshop on Nonlinear System
Identification Benchmarks (2019), with the published values of the four parameters.
"""

import numpy as np
import pytest

import daedal as dd
from daedal import der

q, v, vir, reference, M, Fv, Fc, offset = dd.symbols("q v vir q_ref M Fv Fc offset")
PUBLISHED = {"M": 95.1089, "Fv": 203.5034, "Fc": 20.3935, "offset": -3.1648}
FRICTION = {"sign": Fc * np.sign(v), "tanh": Fc * np.tanh(v / 1e-3)}
GAIN = 35.1506  # N/V


def make_axis(name: str, voltage=vir) -> dd.Model:
    return dd.Model(
        name=name,
        equations={"speed": der(q) == v, "motion": M * der(v) == GAIN * voltage - Fv * v - FRICTION[name] - offset},
        unknowns=[q, v],
        inputs=[vir] if voltage is vir else [reference],
        outputs={"q_meas": q},
        parameters={
            M: dd.Parameter(90.0, lower=20.0, upper=300.0),
            Fv: dd.Parameter(150.0, lower=1.0, upper=800.0),
            Fc: dd.Parameter(15.0, lower=1.0, upper=80.0),
            offset: dd.Parameter(0.0, lower=-20.0, upper=20.0),
        },
        initial={q: 0.0, v: 0.0},
    )


def read(path, column="vir", intersample="zoh") -> dd.Dataset:
    return dd.read_csv(path, time="t", outputs=["q_meas"], inputs=[column], intersample=intersample)


def find_distance(model, data, numbers) -> float:
    """Root mean square of what a simulation leaves, in metres."""
    return float(np.sqrt(np.mean((dd.simulate(model, data, values=numbers)["q_meas"] - data["q_meas"]) ** 2)))


@pytest.fixture(scope="module")
def fits(measured) -> dict[str, dd.Fit]:
    data = read(measured("emps_est.csv.gz"))
    return {
        name: dd.fit(make_axis(name), data, free=list(PUBLISHED), criterion=dd.OutputError(), rng=1)
        for name in FRICTION
    }


@pytest.mark.xdist_group("fits")  # which one process makes
def test_friction_by_its_sign_is_within_two_standard_errors_of_smooth_friction(fits):
    for name in PUBLISHED:
        smooth = fits["tanh"][name]
        assert abs(fits["sign"][name].value - smooth.value) < 2 * smooth.std_error, name


def test_the_steps_are_those_of_the_lanes(measured):
    trajectory = dd.simulate(make_axis("sign"), read(measured("emps_est.csv.gz")), values=PUBLISHED)
    assert trajectory.solver.startswith("Lanes(")
    assert not any("by IDA" in note for note in trajectory.notes)


@pytest.mark.xdist_group("fits")
def test_pulses_not_seen_before_are_simulated_at_least_as_well_as_with_the_published_values(fits, measured):
    """The voltage contains the pulses; the axis is driven by nothing else for 25 seconds."""
    data, axis = read(measured("emps_val_pulses.csv.gz")), make_axis("sign")
    estimates = {name: fits["sign"][name].value for name in PUBLISHED}
    assert find_distance(axis, data, estimates) <= find_distance(axis, data, PUBLISHED)


def test_the_published_values_follow_the_reference_in_closed_loop(measured):
    """With its controller, which saturates at 10 V, the axis is followed to a few micrometres."""
    voltage = np.clip(243.45 * (160.18 * (reference - q) - v), -10.0, 10.0)
    data = read(measured("emps_est.csv.gz"), "q_ref", "foh")
    sharp, smooth = (find_distance(make_axis(name, voltage), data, PUBLISHED) for name in ("sign", "tanh"))
    assert sharp < smooth < 4e-6


def test_whitened_residuals_of_an_axis_that_lacks_something_mislead_nobody(measured):
    """Whitened, Fv is 38 and Fc 64 of the errors without a model error away from the published values; it is said."""
    data = read(measured("emps_est.csv.gz"))
    found = dd.fit(make_axis("tanh"), data, free=list(PUBLISHED), criterion=dd.OutputError(whiten=True), rng=1)
    assert "the model lacks something" in str(found)
    intervals = found.conf_int()
    for name in ("Fv", "Fc"):
        low, high = intervals[name]
        assert low < PUBLISHED[name] < high, name
    assert dd.OutputError().whiten is False
