"""What switches and held samples cannot do ends in one sentence with a remedy, in the user's names; never silently."""

import numpy as np
import pytest

import daedal as dd
from batteries.switching import make_model
from daedal import der
from daedal.errors import DaedalError

x, v, y, z, k, px, py, vx, vy, lam = dd.symbols("x v y z k px py vx vy lam")
TIMES = np.linspace(0.0, 6.0, 25)
SOLVERS = [dd.Lanes(), dd.IDA(rtol=1e-9, atol=1e-11)]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["lanes", "ida"])


def make_single(rate, start=1.0, **declared) -> dd.Model:
    return make_model("single", {"rate": der(x) == rate}, {x: start}, **declared)


def make_looking_back(rate) -> dd.Model:
    return make_single(rate, history={x: 1.0})


def make_hanging(length) -> dd.Model:
    """A mass on a rod whose length depends on where it is."""
    equations = {
        "a": der(px) == vx,
        "b": der(py) == vy,
        "c": der(vx) == lam * px,
        "d": der(vy) == lam * py - 9.81,
        "rod": px**2 + py**2 == length,
    }
    return make_model("rod", equations, {px: 0.5, vx: 0.0}, unknowns=[px, py, vx, vy, lam], guess={py: -1.0})


REFUSED = {
    "a function that is always zero": (
        lambda: make_single(np.sign((x + 1) ** 2 - x**2 - 2 * x - 1)),
        ("sign((x + 1)**2 - x**2 - 2*x - 1)", "'single'", "always on its border", "Leave the condition out"),
    ),
    "no time between samples": (lambda: make_single(-dd.hold(x, every=0.0)), ("positive", "every=0", "Give")),
    "a time below zero": (lambda: make_single(-dd.hold(x, every=-0.5)), ("positive", "every=-0.5", "Give")),
    "a time that is no number": (lambda: make_single(-dd.hold(x, every=np.nan)), ("positive", "every=nan", "Give")),
    "a parameter below zero between samples": (
        lambda: make_single(-dd.hold(x, every=k), parameters={k: -1.0}),
        ("hold(x, k)", "'single'", "every -1 s", "positive"),
    ),
    "a delay below zero": (lambda: make_single(-dd.hold(x, every=0.5, delay=-0.1)), ("delay=-0.1", "Give")),
    "a delay beyond the period": (lambda: make_single(-dd.hold(x, every=0.5, delay=0.6)), ("0.6", "every=0.5")),
    "a hold of itself": (
        lambda: make_model("loop", {"loop": y == dd.hold(y + 1, every=0.1)}, {}, unknowns=[y]),
        ("hold(y + 1, 0.1)", "'loop'", "decides itself", "state", "delay"),
    ),
    "a hold of itself through others": (
        lambda: make_model(
            "loop", {"v": der(v) == -z, "z": z == dd.hold(y, every=0.1), "y": y == z + v}, {v: 1.0}, unknowns=[v, y, z]
        ),
        ("hold(y, 0.1)", "decides itself", "state", "delay"),
    ),
    "a hold of the acceleration it causes": (
        lambda: make_model("loop", {"v": der(v) == -dd.hold(der(v) + v, every=0.1)}, {v: 1.0}),
        ("hold(der(v) + v, 0.1)", "decides itself", "state"),
    ),
    "no number at the start": (
        lambda: make_single(-np.where(np.sqrt(x - 0.5) < 0.3, 1, 2), start=0.2),
        ("sqrt(x - 0.5) < 0.3", "at the start", "not a finite number", "Start where"),
    ),
    "a complex condition": (lambda: make_single(np.where(1j * x < 0, 1, 2)), ("1j", "real and imaginary")),
    "a jump of what is delayed": (
        lambda: make_looking_back(-np.sign(dd.delay(x, 0.1))),
        ("'single'", "delay(x, 0.1)", "sign(delay(x, 0.1))", "tanh"),
    ),
    "a jump beside a delay": (
        lambda: make_looking_back(-dd.delay(x, 0.1) - np.sign(x)),
        ("'single'", "delay(x, 0.1)", "sign(x)", "tanh"),
    ),
    "samples beside a delay": (
        lambda: make_looking_back(-dd.delay(x, 0.1) - dd.hold(x, every=0.1)),
        ("'single'", "delay(x, 0.1)", "hold(x, 0.1)"),
    ),
    "a delayed jump": (
        lambda: make_looking_back(-dd.delay(np.sign(x), 0.1)),
        ("delay(sign(x), 0.1)", "jumps", "Delay what the condition compares"),
    ),
    "a jump in a constraint": (
        lambda: make_hanging(np.where(px < 0, 1.0, 1.1)),
        ("'rod'", "px < 0", "impacts are not simulated", "force"),
    ),
    "a kink in a constraint of index three": (
        lambda: make_hanging(1 + np.abs(px)),
        ("'rod'", "abs(px)", "impacts are not simulated", "force"),
    ),
    "rounding": (lambda: make_single(-np.floor(3 * x)), ("floor(3*x)", "'single'", "outputs may contain it")),
    "rounding to the nearest": (lambda: make_single(-np.round(3 * x)), ("floor(3*x + 0.5)", "outputs may")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_sentence_and_a_remedy(name):
    make, words = REFUSED[name]
    with pytest.raises(DaedalError) as caught:
        dd.simulate(make(), TIMES)
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert len(caught.value.remedy) > 5
    assert "\n" not in text


def make_twisting() -> dd.Model:
    """It changes sides ever faster, and comes to rest after infinitely many of them."""
    return make_model("twist", {"x": der(x) == v, "v": der(v) == -2 * np.sign(x) - np.sign(v)}, {x: 1.0, v: 0.0})


def test_infinitely_many_changes_are_refused_where_steps_are_chosen():
    with pytest.raises(DaedalError, match=r"'twist' .*'sign\((x|v)\)' changes sides more than 8 times .* hysteresis"):
        dd.simulate(make_twisting(), TIMES, solver=dd.Lanes(method="rk4"))


@pytest.mark.parametrize("solver", [dd.Lanes(step=0.05), dd.IDA()], ids=["lanes", "ida"])
def test_infinitely_many_changes_end_a_trajectory(solver):
    trajectory = dd.simulate(make_twisting(), TIMES, solver=solver)
    assert not trajectory.status.ok
    assert "more than 8 times" in trajectory.status.sentence
    assert "'sign(x)'" in trajectory.status.sentence or "'sign(v)'" in trajectory.status.sentence
    assert trajectory.status.remedy
    good = np.isfinite(trajectory["x"])
    assert good[TIMES < 4.0].all()
    assert not good[-1]
    # ends of swings shrink by a third each time
    np.testing.assert_allclose(trajectory["x"][TIMES < 0.8], (1 - 0.5 * TIMES**2)[TIMES < 0.8], atol=1e-6)


@pytest.mark.parametrize(
    ("solver", "words"),
    [(dd.Lanes(method="rk4", step=0.05), "not a finite number"), (dd.IDA(), "sqrt(x - 0.5) < 0.3")],
    ids=["lanes", "ida"],
)
def test_what_becomes_undefined_during_a_run_ends_it(solver, words):
    model = make_single(-np.where(np.sqrt(x - 0.5) < 0.3, 1, 2))
    trajectory = dd.simulate(model, TIMES, solver=solver)
    assert not trajectory.status.ok
    assert words in trajectory.status.sentence
    assert trajectory.status.remedy


@pytest.mark.parametrize("solver", [dd.Lanes(method="rk4", step=0.025), SOLVERS[1]], ids=["lanes", "ida"])
def test_one_condition_lets_go_of_another(solver):
    """x follows y by sliding until it reaches 0.5, where the other half of the condition holds it."""
    follows = np.where((y - x > 0) & (x < 0.5), 1.0, -0.6)
    model = make_model("corner", {"x": der(x) == -0.6 * x + follows, "y": der(y) == 1.0 - y}, {x: 0.0, y: 0.0})
    trajectory = dd.simulate(model, np.linspace(0.0, 2.0, 41), solver=solver)
    good = np.isfinite(trajectory["x"])
    assert good[trajectory.times < np.log(2.0)].all()
    assert good.all() or (not trajectory.status.ok and trajectory.status.remedy)
    np.testing.assert_allclose(trajectory["x"][good], np.minimum(1 - np.exp(-trajectory.times[good]), 0.5), atol=1e-7)


@each_solver
def test_a_start_on_a_border_that_may_be_left_on_either_side_is_noted(solver):
    trajectory = dd.simulate(make_single(np.sign(x), start=0.0), TIMES, solver=solver)
    np.testing.assert_allclose(trajectory["x"], TIMES, atol=1e-9)
    assert any("'sign(x)' starts on its border" in note and "either side" in note for note in trajectory.notes)


@pytest.mark.parametrize("solver", [dd.Lanes(), dd.Lanes(method="rk4", step=0.1)], ids=["chosen", "long"])
def test_a_border_that_is_only_just_reached(solver):
    """Thrown up to 5²/(2 · 10) = 1.25, with a border a hair below: what is given is as good as is said."""
    thrown = {"x": der(x) == v, "v": der(v) == -10.0, "y": der(y) == np.where(x > 1.25 - 1e-10, 1, 0)}
    model = make_model("thrown", thrown, {x: 0.0, v: 5.0, y: 0.0})
    trajectory = dd.simulate(model, np.linspace(0.0, 1.0, 11), solver=solver)
    (note,) = [note for note in trajectory.notes if note.startswith("estimated error")]
    stated, above = float(note.split(":")[1].split()[0]), trajectory["y"][-1]
    assert abs(above - 2 * np.sqrt(1e-10 / 5)) <= 3 * stated * above


def test_rounding_is_allowed_in_outputs_and_in_samples():
    model = make_single(-dd.hold(np.floor(8 * x) / 8, every=0.25), outputs={"n": np.floor(8 * x), "x": x})
    times = np.linspace(0.05, 3.05, 13)
    trajectory = dd.simulate(model, np.r_[0.0, times], solver=dd.Lanes(step=0.1))
    held, kept = 1.0, []
    for _ in times:
        kept.append(held - 0.05 * np.floor(8 * held) / 8)
        held -= 0.25 * np.floor(8 * held) / 8
    np.testing.assert_allclose(trajectory["x"][1:], kept, atol=1e-12)
    np.testing.assert_array_equal(trajectory["n"], np.floor(8 * trajectory["x"]))
