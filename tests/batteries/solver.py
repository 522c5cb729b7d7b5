"""What every solver of `simulate` has to do: checks that a test of each solver calls by name.

A solver is anything with the method of `daedal.simulation.Solver`. Models and truth are closed forms.
"""

from collections.abc import Callable

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import DaedalError
from daedal.simulation import Solver

x, u, w, k = dd.symbols("x u w k")
TIMES = np.arange(21) * 0.1
ACCURATE = 1e-5  # of the largest value: what every solver reaches with its usual options


def decay(**changes: object) -> dd.Model:
    """x' = −k x + w, so that x = e^(−k t) where w is zero."""
    fields: dict = {
        "name": "decay",
        "equations": {"rate": der(x) == -k * x + w},
        "unknowns": [x],
        "outputs": {"level": x},
        "parameters": {k: 2.0},
        "disturbances": {w: dd.FilteredNoise([1.0], [1.0, 0.8, 16.0])},
        "initial": {x: 1.0},
    }
    return dd.Model(**(fields | changes))


def rotation() -> dd.Model:
    """A point that a rod holds on the unit circle, of index three: (cos t, sin t) without forces but the rod's."""
    px, py, vx, vy, tension = dd.symbols("px py vx vy tension")
    return dd.Model(
        name="rotation",
        equations={
            "x": der(px) == vx,
            "y": der(py) == vy,
            "force x": der(vx) == -tension * px,
            "force y": der(vy) == -tension * py,
            "rod": px**2 + py**2 == 1.0,
        },
        unknowns=[px, py, vx, vy, tension],
        initial={py: 0.0, vy: 1.0},
        guess={px: 1.0},
    )


def escape() -> dd.Model:
    """x' = x² from 1, which ends at time 1."""
    return dd.Model(name="escape", equations={"growth": der(x) == x**2}, unknowns=[x], initial={x: 1.0})


def check_it_is_a_solver(solver: Solver) -> None:
    assert isinstance(solver, Solver)


def check_closed_form(solver: Solver) -> None:
    found = dd.simulate(decay(), TIMES, solver=solver)
    assert found.status.ok
    np.testing.assert_allclose(found["level"], np.exp(-2.0 * TIMES), rtol=0, atol=ACCURATE)


def check_values(solver: Solver) -> None:
    """Parameter values given with the call stand in place of the model's."""
    found = dd.simulate(decay(), TIMES, values={"k": 0.5}, solver=solver)
    assert found.parameters["k"] == 0.5
    np.testing.assert_allclose(found["x"], np.exp(-0.5 * TIMES), rtol=0, atol=ACCURATE)


def check_held_input(solver: Solver) -> None:
    """A held input that jumps between samples: x' = u."""
    model = dd.Model(name="tank", equations={"fill": der(x) == u}, unknowns=[x], inputs=[u], initial={x: 0.0})
    steps = dd.Signal([0.0, 0.55, 3.0], [1.0, -2.0, -2.0], "zoh")
    found = dd.simulate(model, TIMES, inputs={"u": steps}, solver=solver)
    truth = np.where(TIMES < 0.55, TIMES, 0.55 - 2.0 * (TIMES - 0.55))
    np.testing.assert_allclose(found["x"], truth, rtol=0, atol=ACCURATE)


def check_constraints(solver: Solver) -> None:
    found = dd.simulate(rotation(), TIMES, solver=solver)
    np.testing.assert_allclose(found["px"], np.cos(TIMES), rtol=0, atol=ACCURATE)
    np.testing.assert_allclose(found["tension"], 1.0, rtol=0, atol=1e2 * ACCURATE)
    np.testing.assert_allclose(found["px"] ** 2 + found["py"] ** 2, 1.0, rtol=0, atol=1e-9)


def check_start_before_the_first_time(solver: Solver) -> None:
    found = dd.simulate(decay(), TIMES[5:], t0=0.0, solver=solver)
    np.testing.assert_allclose(found["x"], np.exp(-2.0 * TIMES[5:]), rtol=0, atol=ACCURATE)


def check_the_start_alone(solver: Solver) -> None:
    assert dd.simulate(decay(), [0.0], solver=solver)["x"].tolist() == [1.0]


def check_variables(solver: Solver) -> None:
    assert list(dd.simulate(rotation(), TIMES, variables=["py", "vx"], solver=solver)) == ["py", "vx"]


def check_failure_is_a_status(solver: Solver) -> None:
    """A trajectory that ends is NaN from there on, and the status says when, with a remedy."""
    found = dd.simulate(escape(), TIMES, solver=solver)
    assert not found.status.ok
    assert "stopped" in found.status.sentence
    assert "time" in found.status.sentence
    assert found.status.remedy
    early, late = TIMES < 0.85, TIMES > 1.25
    np.testing.assert_allclose(found["x"][early], 1.0 / (1.0 - TIMES[early]), rtol=1e-2)
    assert np.isnan(found["x"][late]).all()
    gone = np.flatnonzero(np.isnan(found["x"]))
    assert np.isnan(found["x"][gone[0] :]).all()


def check_a_failure_leaves_other_realizations(solver: Solver) -> None:
    """Each realization ends by itself: x' = 4 x² − 4 x + w escapes from a little above one."""
    model = dd.Model(
        name="threshold",
        equations={"growth": der(x) == 4 * x**2 - 4 * x + w},
        unknowns=[x],
        disturbances={w: dd.FilteredNoise([8.0], [1.0, 0.8, 16.0])},
        initial={x: 1.0},
    )
    found = dd.simulate(model, TIMES, realizations=6, rng=3, solver=solver)
    ended = np.isnan(found["x"]).any(axis=1)
    assert 0 < ended.sum() < 6
    assert not found.status.ok
    assert f"{ended.sum()} of 6 realizations" in found.status.sentence


def check_seeds(solver: Solver) -> None:
    """The same seed gives the same paths, also where there are more of them; another seed gives others."""
    first, again, more, other = (
        dd.simulate(decay(), TIMES, realizations=count, rng=seed, solver=solver)["x"]
        for count, seed in ((2, 5), (2, 5), (3, 5), (2, 6))
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, more[:2], rtol=0, atol=1e2 * ACCURATE)  # steps may be chosen otherwise
    assert np.abs(first - other)[:, 5:].max() > 1e-3


def check_disturbed_path(solver: Solver, reference: Solver) -> None:
    """On the same paths two solvers agree."""
    one, two = (dd.simulate(decay(), TIMES, realizations=2, rng=5, solver=each)["x"] for each in (solver, reference))
    np.testing.assert_allclose(one, two, rtol=0, atol=1e2 * ACCURATE)


def check_bad_start(solver: Solver) -> None:
    """What is wrong with the model is said before work starts."""
    with pytest.raises(DaedalError, match="held at the start"):
        dd.simulate(decay(initial={x: 1.0, der(x): 5.0}), TIMES, solver=solver)


CHECKS: tuple[Callable[[Solver], None], ...] = (
    check_it_is_a_solver,
    check_closed_form,
    check_values,
    check_held_input,
    check_constraints,
    check_start_before_the_first_time,
    check_the_start_alone,
    check_variables,
    check_failure_is_a_status,
    check_a_failure_leaves_other_realizations,
    check_seeds,
    check_bad_start,
)
