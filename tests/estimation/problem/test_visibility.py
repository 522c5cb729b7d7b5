"""What a criterion can see is found inside of derivatives, delays, held and latched values too."""

from types import SimpleNamespace

import pytest

import daedal as dd
from daedal import delay, der, hold, hysteresis
from daedal.errors import EstimationError
from daedal.estimation.problem.coordinates import make_coordinates
from daedal.estimation.problem.visibility import check_visible

x, u, w, k, T, d = dd.symbols("x u w k T d")


def problem(term, free):
    """A model with one free parameter, in as much of a problem as is asked."""
    model = dd.Model(
        name="loop",
        equations={"rate": der(x) == -x + term},
        unknowns=[x],
        inputs=[u],
        parameters={k: 1.0, T: 1.0, d: 0.5},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)},
        outputs={"x": x},
    )
    data = [dd.Dataset([0.0, 1.0], outputs={"x": [0.0, 1.0]})]
    space = make_coordinates(model, data, [free], None, None)
    return SimpleNamespace(system=SimpleNamespace(model=model), coordinates=space)


@pytest.mark.parametrize(
    ("term", "free"),
    [
        (hold(k * x, T, d), "k"),
        (hold(x, T, d), "T"),
        (hold(x, T, d), "d"),
        (hysteresis(x, k, 2), "k"),
        (hysteresis(x, 0, k), "k"),
        (delay(hold(k * x, T), d), "k"),
        (hold(delay(x, d), T), "d"),
        (delay(x, d), "d"),
        (der(k * x), "k"),
        (hold(k * x + w, T), "k"),
    ],
    ids=str,
)
def test_parameters_inside_of_operators_are_visible(term, free):
    check_visible(problem(term, free), [], accuracies=False, criterion="OutputError")


@pytest.mark.parametrize("term", [hold(k * w, T), hysteresis(k * w + x, 0, 1), delay(k * w, T), der(k * w)], ids=str)
def test_what_acts_through_an_unseen_disturbance_alone_is_not(term):
    with pytest.raises(EstimationError, match="OutputError ignores disturbances, and 'k' acts through 'w' alone"):
        check_visible(problem(term, "k"), [], accuracies=False, criterion="OutputError")
    check_visible(problem(term, "k"), ["w"], accuracies=False, criterion="SimulationPEM")
