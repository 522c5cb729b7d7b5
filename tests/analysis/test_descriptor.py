"""`descriptor`: matrices, poles and transfer functions against closed forms and python-control."""

import sys

import numpy as np
import pytest

import daedal as dd
from catalogue.drive import drive
from catalogue.small import model
from daedal import delay, der
from daedal.errors import DaedalError, ModelError, StructureError

x, y, z, v, u, w, k, m, d = dd.symbols("x y z v u w k m d")


def oscillator(**more):
    """A mass on a spring with force and position; the force of the spring is a variable of its own."""
    return model(
        {"motion": m * der(der(x)) == y + u + w, "spring": y == -k * x - d * der(x)},
        [x, y],
        inputs=[u],
        parameters={m: 2.0, k: 8.0, d: 0.8},
        disturbances={w: dd.WhiteNoise(intensity=1.0)},
        outputs={"position": x, "spring force": y, "acceleration": der(der(x))},
        **more,
    )


def test_matrices_and_names():
    it = dd.descriptor(oscillator().with_outputs({"acceleration": None}))
    assert (it.model, it.variables, it.inputs, it.disturbances) == ("test", ("x", "der(x)", "y"), ("u",), ("w",))
    assert it.equations == ("motion", "spring", "derivative of 'x'")
    assert it.outputs == ("position", "spring force")
    np.testing.assert_array_equal(it.E, [[0, 2, 0], [0, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(it.F, [[0, 0, 1], [-8, -0.8, -1], [0, 1, 0]])
    np.testing.assert_array_equal(it.G, [[1], [0], [0]])
    np.testing.assert_array_equal(it.J, it.G)
    np.testing.assert_array_equal(it.H, [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(it.f, np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        it.E[0, 0] = 1.0


def test_poles_and_transfer_are_those_of_an_oscillator():
    it = dd.descriptor(oscillator(), {"m": 4.0})
    assert (it.index, it.states) == (1, 2)
    expected = np.roots([4.0, 0.8, 8.0])
    np.testing.assert_allclose(np.sort_complex(it.poles), np.sort_complex(expected), rtol=1e-13)
    s = np.array([[0.3 + 1.0j, 2.0j], [0.0, -5.0]])
    plant = 1 / (4 * s**2 + 0.8 * s + 8)
    expected = np.stack([plant, -(8 + 0.8 * s) * plant, s**2 * plant], axis=-1)[..., None]
    np.testing.assert_allclose(it.transfer(s), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(it.transfer(2.0j), expected[0, 1], rtol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_standard_form_has_the_same_transfer(seed):
    generator = np.random.default_rng(seed)
    n, singular = 6, 2
    E = generator.normal(size=(n, n - singular)) @ generator.normal(size=(n - singular, n))
    F, G, H = (generator.normal(size=shape) for shape in ((n, n), (n, 2), (3, n)))
    it = dd.descriptor(dd.Model.from_descriptor(name="m", E=E, F=F, G=G, H=H))
    assert (it.index, it.states) == (1, n - singular)
    s = 1j * np.logspace(-2, 2, 7)
    direct = np.array([H @ np.linalg.inv(point * E - F) @ G for point in s])
    np.testing.assert_allclose(it.transfer(s), direct, rtol=1e-9, atol=1e-12)
    space = it.to_control()
    np.testing.assert_allclose([space(point) for point in s], direct, rtol=1e-9, atol=1e-11)


def test_the_drive():
    it = dd.descriptor(drive())
    assert (it.index, it.states, len(it.variables)) == (2, 4, 59)
    assert it.index == dd.analyze(drive()).index
    # By hand: the torque balance of the rotor, with the shaft and the disc behind the gear.
    R, emf, rotor, ratio, c, damping, disc, bearing = 1.2, 0.05, 1e-3, 5.0, 2.0, 0.01, 0.05, 0.02
    s = 1j * np.logspace(-2, 3, 40)
    shaft = c + damping * s
    load = s * (disc * s + bearing) * shaft / (disc * s**2 + bearing * s + shaft)  # torque by angle behind the shaft
    speed = (emf / R) / (rotor * s + emf**2 / R + load / s / ratio**2)
    np.testing.assert_allclose(np.abs(it.transfer(s)[:, 0, 0]), np.abs(speed), rtol=1e-11)
    space = it.to_control()
    assert (space.input_labels, space.output_labels) == (["supply_v"], ["speed", "current"])
    np.testing.assert_allclose(np.array([space(point) for point in s]), it.transfer(s), rtol=1e-10, atol=1e-13)


def test_index_is_that_of_the_equations_not_of_their_outputs():
    ordinary = model([der(x) == -x + u], [x], inputs=[u], outputs={"y": x + u, "rate": der(x)})
    assert (dd.descriptor(ordinary).index, dd.descriptor(ordinary).states) == (0, 1)
    chain = model([x == der(y), y == der(z), z == u], [x, y, z], inputs=[u], outputs={"x": x})
    assert (dd.descriptor(chain).index, dd.descriptor(chain).states) == (3, 0)
    assert dd.descriptor(chain).transfer(2j)[0, 0] == pytest.approx((2j) ** 2)
    assert len(dd.descriptor(chain).poles) == 0


def test_to_control_without_states_and_with_a_direct_path():
    gain = model([x == 3 * u], [x], inputs=[u], outputs={"x": x})
    space = dd.descriptor(gain).to_control()
    assert (space.nstates, space.D.tolist()) == (0, [[3.0]])
    space = dd.descriptor(model([der(x) == -x + u], [x], inputs=[u], outputs={"y": x + 2 * u})).to_control()
    assert complex(space(1j)) == pytest.approx(2 + 1 / (1 + 1j))


def test_input_derivatives_have_no_state_space():
    chain = model([x == der(y), y == u], [x, y], inputs=[u], outputs={"fine": y, "rate": x})
    with pytest.raises(ModelError) as error:
        dd.descriptor(chain).to_control()
    assert "Output 'rate' of model 'test' follows the derivative of input 'u' (differentiated once)" in str(error.value)
    assert "with_presampling_filter({'rate': ...})" in error.value.remedy
    filtered = chain.with_presampling_filter({"rate": 0.5})
    assert complex(dd.descriptor(filtered).to_control()(1j)[1, 0]) == pytest.approx(1j / (1 + 0.5j))


def test_python_control_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(DaedalError, match=r"to_control needs the package 'control'.*pip install control"):
        dd.descriptor(oscillator().with_outputs({"acceleration": None})).to_control()


def test_constant_terms():
    it = dd.descriptor(model([der(x) == -x + k - 1], [x], parameters={k: 3.0}))
    np.testing.assert_array_equal(it.f, [2.0])
    assert "f = [2.]" in str(it)


def test_it_prints():
    text = str(dd.descriptor(oscillator().with_outputs({"acceleration": None})))
    assert text.startswith("descriptor form of 'test': 3 equations, index 1, 2 states\n  variables: x, der(x), y\n")
    assert "poles: -0.2" in text
    assert "H = [[1. 0. 0.]" in text
    assert len(str(dd.descriptor(drive())).splitlines()) == 6


def test_a_singular_pencil_names_what_depends_on_each_other():
    # Structurally fine; with k = 2 the two laws are one.
    it = model(
        {"lag": der(x) == -x, "law": y + 2 * z == x, "copy": k * y + 4 * z == 2 * x},
        [x, y, z],
        parameters={k: 3.0},
    )
    dd.descriptor(it)
    with pytest.raises(StructureError) as error:
        dd.descriptor(it, {"k": 2.0})
    assert "the equations 'law' and 'copy' depend on each other, and 'y' and 'z' are not determined" in str(error.value)
    assert "'lag'" not in str(error.value)


WRONG = {
    "nonlinear": (lambda: dd.descriptor(model([der(x) == -(x**3)], [x])), "needs a linear model, but equation 'e0'"),
    "too few equations": (lambda: dd.descriptor(model([der(x) == -y], [x, y])), "1 equation for 2 unknowns"),
    "delay": (
        lambda: dd.descriptor(model([der(x) == -x], [x], outputs={"y": delay(x, 1)})),
        "contain delay(x, 1), and delays have no descriptor form",
    ),
    "hold": (
        lambda: dd.descriptor(model([der(x) == -dd.hold(x, 1)], [x])),
        "needs a linear model, but equation 'e0' contains hold(x, 1), which changes by jumps alone. Simulate the",
    ),
    "hysteresis": (
        lambda: dd.transfer_function(model([der(x) == u - x], [x], inputs=[u], outputs={"y": dd.hysteresis(x, 0, 1)})),
        "needs a linear model, but output 'y' contains hysteresis(x, 0, 1), which changes by jumps alone. Simulate",
    ),
    "no model": (lambda: dd.descriptor(3.0), "descriptor takes a Model, got float."),
    "unknown value": (lambda: dd.descriptor(oscillator(), {"mm": 3.0}), "has no parameter 'mm'. Did you mean 'm'?"),
    "a pole": (
        lambda: dd.descriptor(model([der(x) == u], [x], inputs=[u], outputs={"x": x})).transfer([1.0, 0.0]),
        "has no value at s = 0",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input(case):
    call, sentence = WRONG[case]
    with pytest.raises(DaedalError) as error:
        call()
    assert sentence in str(error.value)


@pytest.mark.parametrize("where", ["rate", "flow", "slope of temperature", "slope of flow"])
@pytest.mark.parametrize("size", [1.0, 1e-13])
def test_a_sum_that_cancels_changes_nothing(where, size):
    """Three bodies in a row that exchange heat, 1 / (s³ + 5 s² + 6 s + 1), and 0.1 + 0.2 − 0.3 times something."""
    T, q = ([dd.symbol(f"{letter}{i}") for i in range(3)] for letter in "Tq")
    a, b, c, u, w = dd.symbols("a b c u w")
    nothing = (a + b - c) * size
    equations = {}
    for i in range(3):
        added = dict.fromkeys(("rate", "flow", "slope of temperature", "slope of flow"), 0) | {where: nothing}
        balance = q[i] - (q[i + 1] if i < 2 else 0) + added["rate"] * T[2 * i % 3]
        further = added["slope of temperature"] * der(T[(i + 2) % 3]) + added["slope of flow"] * der(q[(i + 1) % 3])
        equations[f"body {i}"] = der(T[i]) == balance
        difference = (T[i - 1] if i else u + w) - T[i]
        equations[f"flow {i}"] = q[i] == difference + added["flow"] * T[(i + 2) % 3] + further
    bodies = dd.Model(
        name="bodies",
        equations=equations,
        unknowns=[*T, *q],
        inputs=[u],
        disturbances={w: dd.FilteredNoise([0.5], [1.0, 1.0])},
        outputs={"y": T[2]},
        parameters={a: 0.1, b: 0.2, c: 0.3},
        initial=dict.fromkeys(T, 0.0),
    )
    assert (dd.descriptor(bodies).states, dd.descriptor(bodies).index) == (3, 1)
    transfer = dd.transfer_function(bodies)
    np.testing.assert_allclose(transfer.denominator, [1.0, 5.0, 6.0, 1.0], rtol=1e-12)
    s = np.array([0.1, 1j, 3.0 + 2j])
    np.testing.assert_allclose(transfer.response(s), 1.0 / (s**3 + 5.0 * s**2 + 6.0 * s + 1.0), rtol=1e-12)


@pytest.mark.parametrize("fast", [1e6, 1e12, 1e15])
def test_poles_and_zeros_far_apart(fast):
    """x' = −x + y, y'/r = −y + 2u + 0.1x and o = x + y/2, whose response is solved for at each s."""
    x, y, u = dd.symbols("x y u")
    equations = {"slow": der(x) == -x + y, "fast": der(y) / fast == -y + 2 * u + 0.1 * x}
    stiff = dd.Model(name="stiff", equations=equations, unknowns=[x, y], inputs=[u], outputs={"o": x + y / 2})
    np.testing.assert_allclose(dd.descriptor(stiff).poles[0], -0.9 + 0.09 / fast, rtol=1e-9)
    points = np.array([0.01j, 1j, 100j, fast * 1j])
    truth = (points + 3.0) / ((points + 1.0) * (points / fast + 1.0) - 0.1)
    np.testing.assert_allclose(dd.transfer_function(stiff).response(points), truth, rtol=1e-9)


@pytest.mark.parametrize(
    ("tiny", "told"),
    [(0.0, ""), (1e-15, ""), (1e-18, "taken as it is"), (1e-25, "counts as zero"), (1e-60, "counts as zero")],
)
@pytest.mark.parametrize("integrates", [False, True])
def test_a_time_constant_that_may_be_rounding_is_told(tiny, told, integrates):
    """Beside a lag, and where wanted beside an integrator, which has no time constant."""
    x, y, z, u = dd.symbols("x y z u")
    equations = {"lag": dd.der(x) == -2 * x + y, "fast": tiny * dd.der(y) == 3 * u - y, "sum": dd.der(z) == x}
    kept = dict(list(equations.items())[: 2 + integrates])
    model = dd.Model(name="lag", equations=kept, unknowns=[x, y, z][: 2 + integrates], inputs=[u], outputs={"x": x})
    if not told:
        assert dd.descriptor(model).poles.size == 1 + (tiny > 0.0) + integrates
        return
    with pytest.warns(dd.DaedalWarning, match=rf"about .*e-.., is shorter than others by .*e\+.* {told}"):
        poles = dd.descriptor(model).poles
    assert poles.size == 1 + integrates + (told == "taken as it is")
