"""Every solver meets the battery of `batteries.solver`."""

import numpy as np
import pytest

import daedal as dd
from batteries.solver import CHECKS, TIMES, check_disturbed_path, decay
from daedal.simulation import REACHED, Outcome
from daedal.systems import find_initial_values

SOLVERS = {"Lanes": dd.Lanes(), "Lanes with steps": dd.Lanes(step=0.0125), "IDA": dd.IDA()}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())
def test_every_solver(solver, check):
    check(solver)


def test_solvers_agree_on_the_same_paths():
    check_disturbed_path(dd.Lanes(tolerance=1e-8), dd.IDA())


class Euler:
    """A solver of one's own: one explicit step between two times, for a model that is one state and no disturbance."""

    def simulate(self, job):
        assert job.realizations is None
        system, times = job.asked.system, job.asked.times
        start = find_initial_values(system, times[0], job.values)
        rate, parameters = system.function("derivative"), system.parameter_vector(job.values)
        states = [start.states[0]]
        for time, length in zip(times, np.diff(times), strict=False):
            slope = rate(time, states[-1], -parameters * states[-1], parameters, [])
            states.append(states[-1] + length * float(slope))
        return Outcome(np.tile(states, (1, len(job.wanted), 1)), start, "Euler", REACHED)


def test_a_solver_of_ones_own():
    x, k = dd.symbols("x k")
    model = decay(disturbances={}, equations={"rate": dd.der(x) == -k * x})
    found = dd.simulate(model, TIMES, solver=Euler())
    assert found.solver == "Euler"
    np.testing.assert_allclose(found["level"], 0.8 ** np.arange(TIMES.size), rtol=1e-12)


@pytest.mark.parametrize("wrong", [dd.IDA, dd.Lanes, "IDA", 1e-8])
def test_what_is_no_solver(wrong):
    with pytest.raises(dd.DaedalError, match="must be a solver"):
        dd.simulate(decay(), TIMES, solver=wrong)
