"""Assemblies against hand-reduced state spaces, and what an assembly of assemblies is."""

import pickle

import numpy as np
import pytest
from networks import drive, drive_matrices, house, house_matrices, ladder, ladder_matrices
from scipy.linalg import expm

import daedal as dd
from batteries.counting import count_calls
from daedal import der
from daedal.library import electrical as el
from daedal.library import rotational as rot
from daedal.models import Model, Port, make_port

TIMES = np.arange(401) * 0.025
VOLTS = 6.0 * np.sign(np.sin(0.7 * TIMES + 0.1))
STATES = ("rotor.phi", "rotor.w", "disc.phi", "disc.w")


def exact(A, B, held, linear, step):
    """x' = A x + B (held, linear) from rest: the first input is held over each step, the second goes linearly."""
    n = A.shape[0]
    chain = np.zeros((n + 3, n + 3))
    chain[:n, :n], chain[:n, n : n + 2], chain[n + 1, n + 2] = A, B, 1.0
    advance = expm(chain * step)
    x = np.zeros((held.size, n))
    for k in range(held.size - 1):
        slope = (linear[k + 1] - linear[k]) / step
        x[k + 1] = (advance @ np.concatenate([x[k], [held[k], linear[k], slope]]))[:n]
    return x


def error(found, expected):
    return np.max(np.abs(found - expected)) / np.max(np.abs(expected))


def test_the_drive_has_the_structure_of_its_physics():
    structure = dd.analyze(drive())
    assert 50 <= structure.equations <= 70
    assert (structure.index, structure.degrees_of_freedom) == (2, 4)


def test_the_drive_follows_its_hand_reduced_state_space():
    volts = dd.Signal(TIMES, VOLTS, intersample="zoh")
    found = dd.simulate(drive(), TIMES, inputs={"supply.v": volts}, solver=dd.IDA(rtol=1e-11, atol=1e-13))
    expected = exact(*drive_matrices(), VOLTS, 0 * TIMES, 0.025)
    assert max(error(found[name], expected[:, k]) for k, name in enumerate(STATES)) < 1e-8
    assert error(found["current"][1:-1], ((VOLTS - 0.05 * expected[:, 1]) / 1.2)[1:-1]) < 1e-8


def test_the_disturbed_drive_follows_its_hand_reduced_state_space():
    volts = dd.Signal(TIMES, VOLTS, intersample="zoh")
    found = dd.simulate(
        drive(), TIMES, inputs={"supply.v": volts}, realizations=2, rng=3, solver=dd.Lanes(tolerance=1e-9)
    )
    for k in range(2):
        load = -found["load.flange.tau"][k]
        assert np.std(load) > 0.05
        expected = exact(*drive_matrices(), VOLTS, load, 0.025)
        assert max(error(found[name][k], expected[:, j]) for j, name in enumerate(STATES)) < 1e-8


def calls_per_equation(make):
    """What assembling, analysing and building cost; an output of its own makes it a model that was never seen."""

    def work():
        model = make()
        model = model.with_outputs({"counted": model.unknowns[0]})
        dd.analyze(model)
        dd.build(model)

    return count_calls(work) / len(make().equations)


@pytest.fixture(scope="module")
def small_circuit():
    """Calls per equation of a small circuit, after imports and first use."""
    dd.build(ladder(1))
    return calls_per_equation(lambda: ladder(10))


@pytest.mark.parametrize(
    "make",
    [drive, lambda: ladder(40), lambda: ladder(40, True), lambda: house(30)],
    ids=["drive", "RC ladder", "RLC ladder", "house"],
)
def test_the_cost_of_a_model_grows_like_the_number_of_its_equations(make, small_circuit):
    """If it grew with the square, the ladders would have four times the cost per equation."""
    assert calls_per_equation(make) < 2.0 * small_circuit


@pytest.mark.parametrize("coils", [False, True], ids=["RC", "RLC"])
def test_a_ladder_of_fifty_stages(coils):
    system = dd.build(ladder(50, coils))
    times = np.linspace(0.0, 2.0, 5)
    names = [f"c{k}.v" for k in range(50)] + [f"l{k}.i" for k in range(50)] * coils
    found = dd.simulate(system, times, inputs={"source.v": 5.0}, solver=dd.IDA(rtol=1e-9, atol=1e-11))
    A, b = ladder_matrices(50, coils)
    settled = np.linalg.solve(A, -5.0 * b)
    expected = np.array([settled - expm(A * t) @ settled for t in times])
    np.testing.assert_allclose(np.column_stack([found[name] for name in names]), expected, atol=2e-8, rtol=0)
    stored = sum(found[f"{part}{k}.v"] * found[f"{part}{k}.i"] for k in range(50) for part in "cl"[: 1 + coils])
    lost = sum((1.0 + 0.1 * k) * found[f"r{k}.i"] ** 2 for k in range(50))
    np.testing.assert_allclose(stored + lost, -found["source.i"] * 5.0, atol=1e-6)


def test_a_house_of_thirty_rooms():
    system = dd.build(house(30))
    times = np.linspace(0.0, 40_000.0, 5)
    found = dd.simulate(system, times, inputs={"outside.T": 273.15}, solver=dd.IDA(rtol=1e-10, atol=1e-9))
    A, walls, heat = house_matrices(30)
    settled = np.linalg.solve(A, -(walls * 273.15 + heat))
    expected = np.array([settled + expm(A * t) @ (293.15 - settled) for t in times])
    rooms = np.column_stack([found[f"room{k}.T"] for k in range(30)])
    np.testing.assert_allclose(rooms, expected, atol=1e-5, rtol=0)
    flows = sum(found[f"room{k}.port.Q_flow"] for k in range(30))
    np.testing.assert_allclose(flows + found["outside.port.Q_flow"], np.sum(100.0 + 10.0 * np.arange(30)), atol=1e-6)


def low_pass(R=1.0, C=1.0):
    """A resistor along and a capacitor to ground; its input and output are ports."""
    return dd.assemble(
        name="low pass",
        parts={"r": el.Resistor(R=R), "c": el.Capacitor(C=C), "ground": el.Ground()},
        connections=[("r.n", "c.p"), ("c.n", "ground.p")],
        ports={"left": "r.p", "right": "c.p"},
    )


def twice():
    """Two of them in series, again with ports."""
    return dd.assemble(
        name="twice",
        parts={"a": low_pass(), "b": low_pass(R=2.0)},
        connections=[("a.right", "b.left")],
        ports={"left": "a.left", "right": "b.right"},
    )


def nested(**changes):
    return dd.assemble(
        **{
            "name": "nested",
            "parts": {"source": el.ConstantVoltage(V=1.0), "ground": el.Ground(), "filter": twice()},
            "connections": [("source.p", "filter.left"), ("source.n", "ground.p")],
            "outputs": {"out": "filter.right.v", "inside": "filter.a.c.v"},
            **changes,
        }
    )


def test_assemblies_nest_and_everything_has_a_path():
    model = nested(parameters={"filter.b.r.R": 3.0}, initial={"filter.a.c.v": 0.5})
    assert float(model.parameters["filter.b.r.R"].value) == 3.0
    assert model.parameters["filter.b.r.R"].unit == "Ohm"
    found = dd.simulate(model, np.linspace(0.0, 3.0, 7), solver=dd.IDA(rtol=1e-10, atol=1e-12))
    A = np.array([[-1 - 1 / 3, 1 / 3], [1 / 3, -1 / 3]])
    expected = [1.0 + expm(A * t) @ [-0.5, -1.0] for t in found.times]
    np.testing.assert_allclose(np.column_stack([found["inside"], found["out"]]), expected, atol=1e-8)


def test_an_assembly_reads_back_from_its_text_with_its_ports():
    model = twice()
    again = pickle.loads(pickle.dumps(model))
    assert again == model
    assert repr(again.ports) == repr(model.ports)
    assert nested(parts={"source": el.ConstantVoltage(V=1.0), "ground": el.Ground(), "filter": again}) == nested()


def test_connections_that_share_a_port_are_one_node():
    parts = {"s": el.ConstantVoltage(V=2.0), "a": el.Resistor(), "b": el.Resistor(), "g": el.Ground()}
    joined = [("s.p", "a.p", "b.p"), ("s.n", "a.n", "b.n", "g.p")]
    apart = [("s.p", "a.p"), ("b.p", "a.p"), ("s.n", "a.n"), ("b.n", "g.p"), ("g.p", "s.n")]
    for connections in (joined, apart):
        model = dd.assemble(name="node", parts=parts, connections=connections)
        assert float(dd.simulate(model, [0.0, 1.0])["s.i"][0]) == pytest.approx(-4.0)


def mixer(domain="warm water"):
    """A tank of one unit of water: two potentials (level, temperature) and two flows (water, heat)."""
    port = make_port(domain, ("h", "T"), ("q", "heat"))
    h, T = dd.symbols("h T")
    return Model(
        name="mixer",
        ports={"port": port},
        unknowns=[h, T],
        equations={
            "height": h == port.potentials[0],
            "temperature": port.potentials[1] == T,
            "water": der(h) == port.flows[0],
            "heat": 2.0 * der(T) == port.flows[1],
        },
        guess={h: 0.0, T: 0.0},
    )


def pipe():
    """Water and heat pass with the differences of their potentials."""
    ends = {label: make_port("warm water", ("h", "T"), ("q", "heat")) for label in ("a", "b")}
    a, b = ends.values()
    law = {f"law {k}": a.flows[k] == a.potentials[k] - b.potentials[k] for k in range(2)}
    return Model(
        name="pipe",
        ports=ends,
        unknowns=[],
        equations={**law, **{f"through {k}": a.flows[k] == -b.flows[k] for k in range(2)}},
    )


def test_ports_may_have_several_potentials():
    model = dd.assemble(
        name="bath",
        parts={"left": mixer(), "right": mixer(), "pipe": pipe()},
        connections=[("left.port", "pipe.a"), ("pipe.b", "right.port")],
        initial={"left.h": 1.0, "left.T": 4.0},
    )
    found = dd.simulate(model, np.linspace(0.0, 1.0, 5), solver=dd.IDA(rtol=1e-10, atol=1e-12))
    np.testing.assert_allclose(found["left.h"] - found["right.h"], np.exp(-2.0 * found.times), atol=1e-8)
    np.testing.assert_allclose(found["left.T"] - found["right.T"], 4.0 * np.exp(-found.times), atol=1e-8)
    assert Model.from_text(mixer().to_text()) == mixer()


def controller():
    """u = K (wanted − measured), as an output."""
    wanted, measured, error_, K = dd.symbols("wanted measured error K")
    return Model(
        name="controller",
        equations={"error": error_ == wanted - measured},
        unknowns=[error_],
        inputs=[wanted, measured],
        outputs={"u": K * error_},
        parameters={K: 3.0},
    )


def test_signals_close_a_loop():
    """J w' = K (wanted − w): from an output of a part, through an input, and back."""
    model = dd.assemble(
        name="loop",
        parts={"control": controller(), "push": rot.TorqueSource(), "body": rot.Inertia(J=2.0)},
        connections=[
            ("push.flange", "body.flange_a"),
            ("control.u", "push.tau"),
            ("body.w", "control.measured"),
        ],
        parameters={"control.wanted": 5.0},
    )
    found = dd.simulate(model, np.linspace(0.0, 2.0, 5), solver=dd.IDA(rtol=1e-10, atol=1e-12))
    np.testing.assert_allclose(found["body.w"], 5.0 * (1 - np.exp(-1.5 * found.times)), atol=1e-8)


def test_one_input_may_drive_several_parts():
    parts = {
        "one": rot.TorqueSource(),
        "two": rot.TorqueSource(),
        "a": rot.Inertia(J=1.0),
        "b": rot.Inertia(J=2.0),
    }
    model = dd.assemble(
        name="both",
        parts=parts,
        connections=[("one.flange", "a.flange_a"), ("two.flange", "b.flange_a"), ("one.tau", "two.tau")],
        inputs=["one.tau"],
    )
    found = dd.simulate(model, [0.0, 1.0], inputs={"one.tau": 4.0})
    assert (found["a.a"][0], found["b.a"][0]) == pytest.approx((4.0, 2.0))


def test_values_at_the_top_replace_those_of_the_parts():
    body = rot.Inertia().with_initial({"w": 1.0})
    model = dd.assemble(name="top", parts={"body": body}, initial={"body.w": 2.0, dd.symbol("body.phi"): 3.0})
    found = dd.simulate(model, [0.0, 1.0])
    np.testing.assert_allclose(found["body.phi"], [3.0, 5.0], atol=1e-9)


def test_a_part_brings_its_disturbance_and_its_history_along():
    x, w, k, gain = dd.symbols("x w k gain")
    part = Model(
        name="part",
        equations={"rate": der(x) == -k * x + w},
        unknowns=[x],
        parameters={k: 2 * gain, gain: 1.5},
        disturbances={w: dd.FilteredNoise([gain], [1.0, k])},
        initial={x: gain},
        history={x: gain * dd.time},
    )
    calmer = dd.FilteredNoise([0.1], [1.0, 1.0])
    model = dd.assemble(
        name="whole", parts={"a": part, "b": part}, parameters={"b.gain": 2.0}, disturbances={"b.w": calmer}
    )
    assert model.disturbances["b.w"] == calmer
    assert str(model.initial["b.x"]) == "b.gain"
    assert str(model.disturbances["a.w"].numerator[0]) == "a.gain"
    assert str(model.parameters["b.k"].value) == "2*b.gain"
    assert str(model.history["a.x"]) == "a.gain*time"


def test_held_and_latched_values_of_parts_get_their_paths():
    x, u, k, period = dd.symbols("x u k period")
    part = Model(
        name="part",
        equations={"rate": der(x) == -k * dd.hold(x - u, period, period / 2) + dd.hysteresis(x, u - k, k)},
        unknowns=[x],
        inputs=[u],
        parameters={k: 1.0, period: 0.1},
        outputs={"seen": dd.hold(dd.delay(x, period), 2 * period)},
    )
    model = dd.assemble(
        name="whole",
        parts={"a": part, "b": part},
        connections=[("a.x", "b.u")],
        inputs=["a.u"],
        outputs={"seen": "b.seen"},
    )
    moved = "hold(b.x - b.u, b.period, b.period/2)", "hysteresis(b.x, b.u - b.k, b.k)"
    assert all(term in str(model.equations["b.rate"]) for term in moved)
    assert str(model.outputs["seen"]) == "hold(delay(b.x, b.period), 2*b.period)"
    assert Model.from_text(model.to_text()) == model == pickle.loads(pickle.dumps(model))


def test_a_new_parameter_may_tie_parts_together():
    shared = dd.symbol("R0")
    model = dd.assemble(
        name="tied",
        parts={"s": el.ConstantVoltage(V=6.0), "a": el.Resistor(), "b": el.Resistor(), "g": el.Ground()},
        connections=[("s.p", "a.p"), ("a.n", "b.p"), ("b.n", "s.n", "g.p")],
        parameters={shared: 1.0, "a.R": shared, "b.R": 2 * shared},
    )
    assert float(dd.simulate(model, [0.0, 1.0])["a.v"][0]) == pytest.approx(2.0)


def test_an_unconnected_port_lets_nothing_flow():
    parts = {"s": el.ConstantVoltage(V=6.0), "r": el.Resistor(), "g": el.Ground()}
    model = dd.assemble(name="open", parts=parts, connections=[("s.p", "r.p"), ("s.n", "g.p")])
    found = dd.simulate(model, [0.0, 1.0])
    assert found["r.i"][0] == 0.0
    assert found["r.n.v"][0] == 6.0


def test_outputs_by_path_are_variables_derivatives_outputs_of_parts_and_expressions():
    model = dd.assemble(
        name="seen",
        parts={"control": controller(), "body": rot.Inertia()},
        connections=[("body.w", "control.measured")],
        parameters={"control.wanted": 5.0},
        outputs={
            "speed": "body.w",
            "rate": "der(body.w)",
            "effort": "control.u",
            "power": dd.symbol("body.w") * dd.symbol("control.error"),
        },
    )
    assert str(model["effort"]) == "control.K*control.error"
    assert str(model["rate"]) == "der(body.w)"
    assert str(model["power"]) == "body.w*control.error"


def test_a_port_may_be_made_of_symbols_the_model_already_has():
    level, inflow = dd.symbols("level inflow")
    model = Model(
        name="pond",
        equations={"balance": der(level) == inflow},
        unknowns=[level, inflow],
        ports={"shore": Port("water", level, inflow)},
    )
    assert model.unknown_names == ("level", "inflow")
