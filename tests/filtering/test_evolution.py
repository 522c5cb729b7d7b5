"""A model with its disturbances as a state space: transfer functions, derivatives, what is refused."""

import numpy as np
import pytest

import daedal as dd
from catalogue.drive import drive
from daedal import der
from daedal.filtering.evolution import make_stochastic_model
from daedal.filtering.parameter_point import DualFormulas, Point

x, v, z, u, w, w2, a, b, q = dd.symbols("x v z u w w2 a b q")


def model(**changes):
    fields = {
        "name": "tank",
        "equations": {"level": der(x) == -a * x + u + w, "outflow": v == b * x + w2},
        "unknowns": [x, v],
        "inputs": [u],
        "outputs": {"y": v + 3.0},
        "parameters": {a: 0.7, b: 1.9, q: 0.4},
        "disturbances": {
            w: dd.WhiteNoise(intensity=q),
            w2: dd.FilteredNoise(numerator=[b], denominator=[1.0, 2.0 * a, 3.0]),
        },
        "measurement_noise": {"y": 0.1},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def at(made: dd.Model, names=(), **values):
    stochastic = make_stochastic_model(made, "test", {})
    return stochastic.at(Point(made, values, names))


def transfer(evolution, s, row=0):
    """From the inputs (the constant last) to a row."""
    n = len(evolution.A.value)
    slow = evolution.C.value[row] @ np.linalg.solve(s * np.eye(n) - evolution.A.value, evolution.B.value)
    return slow + sum(s**k * D.value[row] for k, D in enumerate(evolution.D))


def spectrum(evolution, s, row=0):
    gain = np.linalg.solve(s * np.eye(len(evolution.A.value)) - evolution.A.value, np.eye(len(evolution.A.value)))
    left = evolution.C.value[row] @ gain
    return (left @ evolution.Q.value @ left.conj()).real


@pytest.mark.parametrize("s", [0.3j, 2.0j])
def test_transfer_function_and_spectrum_of_the_output(s):
    found = at(model())
    assert transfer(found, s) == pytest.approx([1.9 / (s + 0.7), 3.0], rel=1e-12)
    noise = abs(1.9 / (s + 0.7)) ** 2 * 0.4 + abs(1.9 / (s**2 + 1.4 * s + 3.0)) ** 2
    assert spectrum(found, s) == pytest.approx(noise, rel=1e-12)


def test_derivatives_of_spectrum_and_transfer_function():
    names = ("a", "b", "q")
    values = {"a": 0.7, "b": 1.9, "q": 0.4}
    made, s, h = model(), 0.8j, 1e-6
    found = at(made, names, **values)

    def beside(direction, t):
        moved = {
            name: type(getattr(found, name))(
                getattr(found, name).value + t * getattr(found, name).slopes[direction], np.zeros((0, 1))
            )
            for name in ("A", "B", "Q", "C")
        }
        D = tuple(type(each)(each.value + t * each.slopes[direction], np.zeros((0, 1))) for each in found.D)
        return type("Beside", (), moved | {"D": D})

    for direction, name in enumerate(names):
        exact = [at(made, (), **values | {name: values[name] + t}) for t in (h, -h)]
        along = [beside(direction, t) for t in (h, -h)]
        for quantity in (spectrum, lambda e, s: transfer(e, s)[0]):
            expected, got = ((quantity(p, s) - quantity(m, s)) / (2 * h) for p, m in (exact, along))
            assert got == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_starting_law_of_the_disturbance_is_its_stationary_one():
    found = at(model())
    w2_row = found.shaping.value  # of z = (p, p')
    assert w2_row.shape == (2, 3)
    assert found.shaping_covariance.value == pytest.approx(np.diag([1 / (4 * 0.7 * 3.0), 1 / (4 * 0.7)]), abs=1e-14)


def test_drive_of_index_two_has_its_poles():
    made = drive()
    A = at(made).A.value
    R, k, J, N, c, d, disc, bearing = 1.2, 0.05, 1e-3, 5.0, 2.0, 0.01, 0.05, 0.02
    # x = (rotor angle, rotor speed, disc angle, disc speed)
    shaft = np.array([-c / N, -d / N, c, d])
    hand = np.array([[0, 1, 0, 0], shaft / N / J, [0, 0, 0, 1], -shaft / disc])
    hand[1, 1] -= k**2 / R / J
    hand[3, 3] -= bearing / disc
    expected = np.sort_complex(np.append(np.linalg.eigvals(hand), -2.0))
    assert np.allclose(np.sort_complex(np.linalg.eigvals(A)), expected, rtol=1e-9, atol=1e-9)


def test_coefficients_that_are_not_finite_name_equation_and_parameter():
    made = model(equations={"level": der(x) == -np.sqrt(a) * x + u + w, "outflow": v == b * x + w2})
    with pytest.raises(dd.DaedalError, match=r"equation 'level' of model 'tank'.*a = -1") as caught:
        at(made, (), a=-1.0)
    assert "'a'" in caught.value.remedy
    with pytest.raises(dd.DaedalError, match=r"derivative.*a = 0"):
        at(made, ("a",), a=0.0)


def test_negative_intensity_names_the_disturbance():
    with pytest.raises(dd.DaedalError, match=r"'w' of model 'tank', q, is -1"):
        at(model(), (), q=-1.0)


def test_singular_at_some_values_names_equations_and_variables():
    made = model(
        equations={"level": der(x) == -a * x + u + w, "outflow": v + z == b * x + w2, "balance": 2 * v + b * z == x},
        unknowns=[x, v, z],
    )
    with pytest.raises(dd.DaedalError, match=r"'outflow' and 'balance'.*do not determine.*'v' and 'z'"):
        at(made, (), b=2.0)


def test_formulas_follow_parameters_that_are_formulas():
    made = model(parameters={a: 0.7, b: 2.0 * a, q: b**2})
    point = Point(made, {"a": 0.5}, ("a",))
    found = DualFormulas(made, [q, a * b, 7.0]).at(point)
    assert found.value == pytest.approx([1.0, 0.5, 7.0])
    assert found.slopes == pytest.approx(np.array([[8.0 * 0.5, 4.0 * 0.5, 0.0]]))


@pytest.mark.parametrize("tiny", [1e-9, 1e-12, 1e-17, 1e-25, 1e-40])
def test_a_tiny_share_of_what_follows_an_input_does_not_hide_it(tiny):
    """z follows u alone, and its rate moves x in a unit far from its own: z was zero from 1e-12 on."""
    x, z, u, w = dd.symbols("x z u w")
    model = dd.Model(
        name="share",
        equations={"lag": dd.der(x) + tiny * dd.der(z) == u - x + w, "follow": z == u},
        unknowns=[x, z],
        inputs=[u],
        outputs={"x": x, "z": z},
        disturbances={w: dd.WhiteNoise(intensity=0.01)},
        measurement_noise={"x": 0.01, "z": 0.01},
        initial={x: 0.0},
    )
    times = np.linspace(0.0, 4.0, 41)
    data = dd.Dataset(times, inputs={"u": np.sin(times)}, outputs={"x": 0.5 * times}, intersample="foh")
    states = dd.estimate_states(model, data)
    np.testing.assert_allclose(states["z"], np.sin(times), rtol=1e-9, atol=1e-12)
    through = dd.transfer_function(model, output="z").response(0.7j)
    assert through == pytest.approx(1.0, rel=1e-9)
