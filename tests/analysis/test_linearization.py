"""`linearize` against closed forms, and against simulations of small deviations."""

import numpy as np
import pytest

import daedal as dd
from catalogue.drive import drive
from catalogue.small import model, pendulum
from daedal import delay, der
from daedal.errors import DaedalError, InitialValueError

x, y, z, h, u, w, i, v, c, k, T, phi = dd.symbols("x y z h u w i v c k T phi")


def tank(**more):
    """Two tanks in a row that drain by Torricelli's law."""
    arguments = {
        "inputs": [u],
        "parameters": {c: 2.0, k: dd.Parameter(1.0, lower=0.1)},
        "disturbances": {w: dd.FilteredNoise(numerator=[1.0], denominator=[1.0, 1.0])},
        "outputs": {"outflow": k * np.sqrt(y), "level": y},
        "measurement_noise": {"level": 0.1},
        "guess": {x: 1.0, y: 1.0},
    }
    equations = {
        "first": der(x) == u + w - c * np.sqrt(x),
        "second": der(y) == c * np.sqrt(x) - k * np.sqrt(y),
    }
    return dd.Model(name="tanks", equations=equations, unknowns=[x, y], **{**arguments, **more})


def test_tanks():
    q = 3.0
    linear = dd.linearize(tank(), at={"u": q})
    it = dd.descriptor(linear)
    levels = (q / 2.0) ** 2, (q / 1.0) ** 2
    slopes = 2.0 / 2 / np.sqrt(levels[0]), 1.0 / 2 / np.sqrt(levels[1])
    np.testing.assert_allclose(it.F[:2, :2], [[-slopes[0], 0.0], [slopes[0], -slopes[1]]], rtol=1e-12)
    np.testing.assert_allclose(it.E[:2, :2], np.eye(2))
    np.testing.assert_allclose(it.J[:2], [[1.0], [0.0]])
    # In absolute variables: at the input of the operating point levels and outflow are those of the operating point.
    rest = np.linalg.solve(-it.F, it.G @ [q] + it.f)
    np.testing.assert_allclose(it.H @ rest, [q, levels[1]], rtol=1e-12)
    assert it.outputs == ("outflow", "level")


def test_everything_but_the_equations_stays():
    before = tank(initial={x: 4.0, y: k}, history={x: 4.0}, defaults={u: 3.0})
    after = dd.linearize(before, at={u: 3.0})
    for part in (
        "name", "unknown_names", "input_names", "parameters", "disturbances", "measurement_noise", "initial", "guess",
        "history", "defaults",
    ):  # fmt: skip
        assert str(getattr(after, part)) == str(getattr(before, part))
    assert list(after.equations) == list(before.equations)
    assert list(after.outputs) == list(before.outputs)
    assert str(after.outputs["level"]) == "y"  # linear already, as typed


def test_parameters_stay_symbols():
    linear = dd.linearize(tank(), at={"u": 3.0})
    x0 = 2.25
    it = dd.descriptor(linear, {"c": 5.0})  # the same point, another parameter
    assert it.F[0, 0] == pytest.approx(-5.0 / 2 / np.sqrt(x0), rel=1e-12)
    assert it.f[0] == pytest.approx(-5.0 * np.sqrt(x0) / 2, rel=1e-12)


def test_values_move_the_operating_point_and_stay():
    linear = dd.linearize(tank(), at={"u": 3.0}, values={"c": 4.0})
    assert linear.parameters["c"].value == 4.0
    assert dd.descriptor(linear).F[0, 0] == pytest.approx(-4.0 / 2 / 0.75, rel=1e-12)


def test_a_point_that_is_no_steady_state():
    linear = dd.linearize(tank(outputs={}, measurement_noise={}), at={"u": 3.0, "x": 4.0, "y": 9.0})
    it = dd.descriptor(linear)
    rates = it.F @ [4.0, 9.0] + it.G @ [3.0] + it.f
    np.testing.assert_allclose(rates, [3.0 - 2.0 * 2.0, 2.0 * 2.0 - 3.0], rtol=1e-12)
    moving = dd.linearize(tank(), at={"u": 3.0, "der(x)": 1.0, "der(y)": 0.0})
    x0 = ((3.0 - 1.0) / 2.0) ** 2
    assert dd.descriptor(moving).F[0, 0] == pytest.approx(-1.0 / np.sqrt(x0), rel=1e-12)


def test_pendulum_at_rest_has_index_three_and_the_frequency_of_small_swings():
    length = 2.5
    linear = dd.linearize(pendulum(length, guess={y: -1.0, z: 1.0}))
    it = dd.descriptor(linear)
    assert (it.index, it.states) == (3, 2)
    np.testing.assert_allclose(np.sort(it.poles.imag), np.sqrt(9.81 / length) * np.array([-1, 1]), rtol=1e-9)
    np.testing.assert_allclose(it.poles.real, 0.0, atol=1e-9)
    assert dd.analyze(linear).index == 3
    upright = dd.descriptor(dd.linearize(pendulum(length, guess={y: 1.0, z: -1.0})))
    np.testing.assert_allclose(np.sort(upright.poles.real), np.sqrt(9.81 / length) * np.array([-1, 1]), rtol=1e-9)


def test_diode_behind_a_resistor():
    saturation, thermal, R, C = 1e-9, 0.025, 100.0, 1e-6
    circuit = model(
        {
            "loop": u == R * i + v,
            "node": i == saturation * (np.exp(v / thermal) - 1) + C * der(v),
        },
        [i, v],
        inputs=[u],
        outputs={"v": v, "i": i},
    )
    linear = dd.linearize(circuit, at={"u": 1.0})
    it = dd.descriptor(linear)
    # The operating point by bisection, and from it the conductance of the diode.
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if saturation * np.expm1(middle / thermal) < (1.0 - middle) / R else (low, middle)
    conductance = saturation / thermal * np.exp(low / thermal)
    assert it.poles[0] == pytest.approx(-(conductance + 1 / R) / C, rel=1e-9)
    s = 1e4j
    assert it.transfer(s)[0, 0] == pytest.approx(1 / (1 + R * (conductance + s * C)), rel=1e-9)


def test_small_deviations_agree_to_second_order():
    times = np.linspace(0.0, 2.0, 21)
    linear = dd.linearize(tank(), at={"u": 3.0})

    def difference(size):
        """Between the nonlinear and the linear model, when level and inflow start a little off the steady state."""
        found = []
        for it in (tank(), linear):
            start = it.with_initial({"x": 2.25 * (1 + size), "y": 9.0})
            inflow = dd.Signal(times, 3.0 + size * np.sin(times))
            found.append(
                dd.simulate(start, times, inputs={"u": inflow}, solver=dd.IDA(rtol=1e-11, atol=1e-12))["level"]
            )
        return np.abs(found[0] - found[1]).max()

    large, small = difference(2e-2), difference(1e-2)
    assert large > 1e-6
    assert large / small == pytest.approx(4.0, rel=0.05)


def test_linear_models_come_back_as_they_are():
    assert dd.linearize(drive()) == drive()
    assert dd.linearize(drive(), at={"rotor.w": 3.0}) == drive()


def test_what_the_equations_leave_open_stays_at_the_guess():
    rotor = model(
        [der(phi) == v, der(v) == u - v**3, y == phi * phi],
        [phi, v, y],
        inputs=[u],
        guess={phi: 0.7, v: 1.0},
    )
    it = dd.linearize(rotor, at={"u": 8.0, "der(phi)": 2.0})
    assert dd.descriptor(it).F[1, 1] == pytest.approx(-12.0, rel=1e-10)
    assert dd.descriptor(it).F[2, 0] == pytest.approx(2 * 0.7, rel=1e-12)


def test_drag_that_is_smooth_at_rest():
    it = dd.linearize(model([der(v) == u - k * v * np.abs(v) - v], [v], inputs=[u], parameters={k: 3.0}), at={"u": 0.0})
    np.testing.assert_allclose(dd.descriptor(it).F, [[-1.0]])


def test_derivatives_of_formulas_and_delays():
    it = model([der(x * x) == u - x, y == delay(x * x, T)], [x, y], inputs=[u], parameters={T: 1.0}, guess={x: 1.0})
    linear = dd.linearize(it, at={"u": 2.0})
    assert str(linear.equations["e0"]) == "4*der(x) == u - x"
    assert str(linear.equations["e1"]) == "y == delay(-4 + 4*x, T)"


def test_disturbances_are_zero_and_enter_linearly():
    it = dd.linearize(model([der(x) == -x + np.sin(w) + w * x], [x], disturbances={w: dd.WhiteNoise()}, guess={x: 5.0}))
    assert dd.descriptor(it).J[0, 0] == pytest.approx(1.0, abs=1e-12)  # x is zero at rest
    assert not dd.check_noise(it, variables=["der(x)"]).structural


COULOMB = model([der(v) == u - np.sign(v)], [v], inputs=[u])
WRONG = {
    "missing input": (lambda: dd.linearize(tank()), "needs the value of input 'u' at the operating point of model"),
    "unknown name": (lambda: dd.linearize(tank(), at={"xx": 1.0}), "has no variable 'xx'. Did you mean 'x'?"),
    "parameter": (lambda: dd.linearize(tank(), at={"c": 1.0}), "'c' is a parameter and has no place"),
    "disturbance": (lambda: dd.linearize(tank(), at={"w": 1.0}), "'w' is a disturbance and has no place"),
    "no number": (lambda: dd.linearize(tank(), at={"u": "1"}), "of 'u' must be a number, got '1'."),
    "not finite": (lambda: dd.linearize(tank(), at={"u": np.nan}), "of 'u' must be a number, got nan."),
    "no mapping": (lambda: dd.linearize(tank(), at=[1.0]), "must be a mapping name → number"),
    "no model": (lambda: dd.linearize("tank"), "linearize takes a Model, got str."),
    "infinite slope": (
        lambda: dd.linearize(tank(), at={"u": 0.0, "x": 0.0, "y": 1.0}),
        "The slopes of equation 'first' of model 'tanks' are not finite at the operating point (u = 0, w = 0, x = 0).",
    ),
    "jump": (lambda: dd.linearize(COULOMB, at={"u": 0.0, "v": 0.0}), "Equation 'e0' of model 'test' has a kink"),
    "kink": (
        lambda: dd.linearize(model([der(v) == -v, y == np.abs(v)], [v, y])),
        "Equation 'e1' of model 'test' has a kink or a jump at the operating point (v = 0)",
    ),
    "time": (lambda: dd.linearize(model([der(x) == -(x**3) + dd.time], [x])), "but equation 'e0' contains time."),
    "hold": (
        lambda: dd.linearize(model([der(x) == -dd.hold(x, 1)], [x])),
        "linearize needs slopes, but equation 'e0' contains hold(x, 1), which changes by jumps alone. Simulate the mo",
    ),
    "hysteresis inside a delay": (
        lambda: dd.linearize(model([der(x) == -x], [x], outputs={"y": delay(dd.hysteresis(x, 0, 1), 1)})),
        "linearize needs slopes, but output 'y' contains hysteresis(x, 0, 1), which changes by jumps alone. Simulate",
    ),
    "no slope at all": (
        lambda: dd.linearize(model([der(x) == -x, (y - x) ** 2 == 0], [x, y])),
        "equation 'e1' of model 'test' does not change with any unknown",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_bad_input(case):
    call, sentence = WRONG[case]
    with pytest.raises(DaedalError) as error:
        call()
    assert sentence in str(error.value)


def test_no_steady_state():
    with pytest.raises(InitialValueError) as error:
        dd.linearize(model({"growth": der(x) == 1 + x**2, "rest": der(y) == -y}, [x, y]))
    assert "No steady state of model 'test' was found: equation 'growth' cannot be fulfilled." in str(error.value)
    with pytest.raises(InitialValueError, match="equation 'second' cannot be fulfilled"):
        dd.linearize(tank(), at={"u": 3.0, "y": 5.0})
    with pytest.raises(InitialValueError, match="cannot be evaluated at the guess"):
        dd.linearize(tank(guess={x: -1.0, y: -1.0}), at={"u": 3.0})


def test_a_start_at_the_root_of_a_square_root_is_no_obstacle():
    assert dd.descriptor(dd.linearize(tank(guess={}), at={"u": 3.0})).F[0, 0] == pytest.approx(-1 / 1.5, rel=1e-12)
