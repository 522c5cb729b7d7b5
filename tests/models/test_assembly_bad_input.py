"""What `assemble` refuses: it speaks in the paths of parts, and says what to do."""

import pytest

import daedal as dd
from daedal.errors import ModelError
from daedal.library import electrical as el
from daedal.library import rotational as rot
from daedal.library import thermal as th
from daedal.library import translational as tra
from daedal.models import Model, make_port

PARTS = {"supply": el.VoltageSource(), "winding": el.Resistor(R=2.0), "ground": el.Ground(), "disc": rot.Inertia()}
LOOP = [("supply.p", "winding.p"), ("supply.n", "winding.n", "ground.p")]


def refused(**changes):
    """Sentence and remedy of a small circuit with something changed."""
    declared = {"name": "circuit", "parts": PARTS, "connections": LOOP, "inputs": ["supply.v"], **changes}
    with pytest.raises(ModelError) as caught:
        dd.assemble(**declared)
    return caught.value.sentence, caught.value.remedy


def connected(*paths):
    return refused(connections=[*LOOP, paths])


@pytest.mark.parametrize(
    ("parts", "sentence", "remedy"),
    [
        ([], "The parts of 'circuit' must be a mapping from names to models, got [].", "Write parts="),
        ({"a.b": el.Resistor()}, "The name of a part must be a word without dots, got 'a.b'.", "'shaft'"),
        ({"two words": el.Resistor()}, "The name of a part must be a word without dots, got 'two words'.", "'shaft'"),
        ({"r": el.Resistor}, "Part 'r' must be a Model, got the function Resistor.", "Call it: {'r': Resistor()}."),
        ({"r": 3.0}, "Part 'r' must be a Model, got 3.0.", "Write {'r': Resistor(R=1.0)}."),
    ],
)
def test_parts(parts, sentence, remedy):
    found = refused(parts=parts)
    assert found[0] == sentence
    assert remedy in found[1]


@pytest.mark.parametrize(
    ("paths", "sentence", "remedy"),
    [
        (("winding.p", "winding.p"), "'winding.p' is connected to itself.", "Name each port or signal once."),
        (
            ("winding.p", "disc.flange_a"),
            "'winding.p' is an electrical port and 'disc.flange_a' a rotational one: they cannot be connected.",
            "Put a component between them that belongs to both domains.",
        ),
        (("winding.q", "disc.flange_a"), "'circuit' has no port 'winding.q'.", "Did you mean 'winding.p'?"),
        (
            ("windnig.p", "supply.p"),
            "'circuit' has no part 'windnig' for the path 'windnig.p'.",
            "Did you mean 'winding'?",
        ),
        (
            ("winding", "supply.p"),
            "'winding' is a part of 'circuit' where a port belongs.",
            "It goes on to 'winding.p' and 'winding.n'.",
        ),
        (("winding.x", "disc.y"), "'circuit' has no port or signal 'winding.x'.", "Did you mean 'winding.v'?"),
        (("winding.p",), "A connection must be two or more paths, got ('winding.p',).", "('supply.p', 'winding.p')"),
        (("winding.p", 3), "A path must be a text, got 3.", "'motor.p'"),
        (
            ("winding.p", "supply.v"),
            "The connection ('winding.p', 'supply.v') joins the port 'winding.p' with the signal 'supply.v'.",
            "Connect ports with ports and signals with signals.",
        ),
        (
            ("winding.i", "disc.w"),
            "The signals 'winding.i' and 'disc.w' are connected, but each is already determined.",
            "Connect one of them to inputs of parts that nothing else drives.",
        ),
        (("disc.w", "supply.v"), "'supply.v' cannot be both an input and connected.", "Keep one of the two."),
    ],
)
def test_connections(paths, sentence, remedy):
    found = connected(*paths)
    assert found[0] == sentence
    assert remedy in found[1]


def test_connections_written_without_the_inner_tuple():
    assert refused(connections=("supply.p", "winding.p"))[0] == (
        "A connection must be two or more paths, got 'supply.p'."
    )
    assert refused(connections="supply.p")[0] == "The connections must be a list of tuples of paths, got 'supply.p'."


def test_two_signals_that_drive_one_input_are_found_across_connections():
    connections = [*LOOP, ("disc.w", "supply.v"), ("disc.phi", "supply.v")]
    assert refused(connections=connections, inputs=[])[0] == (
        "The signals 'disc.w' and 'disc.phi' are connected, but each is already determined."
    )


def test_ports_of_one_domain_with_different_variables():
    def vessel(count):
        port = make_port("water", tuple("hT"[:count]), tuple("qj"[:count]))
        zero = {f"flow {k}": port.flows[k] == 0.0 for k in range(count)}
        return Model(name="vessel", ports={"port": port}, unknowns=[], equations=zero)

    found = refused(parts={"a": vessel(1), "b": vessel(2)}, connections=[("a.port", "b.port")], inputs=[])
    assert found[0] == "'a.port' has 1 potential and 'b.port' 2: they cannot be connected."


@pytest.mark.parametrize(
    ("changes", "sentence", "remedy"),
    [
        (
            {"disturbances": {"supply.v": dd.FilteredNoise([1.0], [1.0, 1.0])}},
            "'supply.v' cannot be both an input and a disturbance.",
            "Keep one of the two.",
        ),
        (
            {"parameters": {"supply.v": 3.0}},
            "'supply.v' cannot be both an input and a number.",
            "Keep one of the two.",
        ),
        ({"inputs": ["supply.v", "supply.v"]}, "'supply.v' cannot be an input twice.", "Keep one of the two."),
        ({"inputs": "supply.v"}, "The inputs of 'circuit' must be a list of paths, got 'supply.v'.", "['supply.v']"),
        ({"inputs": ["suply.v"]}, "'circuit' has no part 'suply' for the path 'suply.v'.", "Did you mean 'supply'?"),
        ({"inputs": ["supply.u"]}, "'circuit' has no input 'supply.u'.", "Did you mean 'supply.v'?"),
        (
            {"inputs": ["supply.v", "winding.i"]},
            "'winding.i' cannot be an input: it is determined by its part.",
            "Only inputs of parts, such as those of sources, can be driven from outside.",
        ),
        (
            {"inputs": ["supply.v", "winding.R"]},
            "'winding.R' cannot be an input: it is a parameter.",
            "Give it a value under parameters, or leave it out.",
        ),
        (
            {"inputs": []},
            "Nothing drives 'supply.v' of 'circuit'.",
            "List it under inputs or disturbances, give it a number under parameters, or connect it: ('part.signal', "
            "'supply.v').",
        ),
        ({"disturbances": {"supply.v": 3.0}, "inputs": []}, "Disturbance 'supply.v' must be a noise", "FilteredNoise"),
        ({"disturbances": ["supply.v"]}, "The disturbances of an assembly must be a mapping", "disturbances="),
    ],
)
def test_what_drives_it(changes, sentence, remedy):
    found = refused(**changes)
    assert found[0].startswith(sentence)
    assert remedy in found[1]


@pytest.mark.parametrize(
    ("changes", "sentence", "remedy"),
    [
        (
            {"parameters": {"winding.R": 3.0, dd.symbol("winding.R"): 4.0}},
            "Under parameters, 'winding.R' is given twice.",
            "Keep one of the two.",
        ),
        ({"parameters": {"winding.r": 3.0}}, "'circuit' has no parameter 'winding.r'.", "Did you mean 'winding.R'?"),
        (
            {"parameters": {"R": 3.0}},
            "'circuit' has no parameter 'R'.",
            "A new one is given by its symbol: symbol('R').",
        ),
        (
            {"parameters": {"winding.i": 3.0}},
            "'winding.i' cannot be a parameter: it is determined by its part.",
            "Only parameters and inputs of parts can be given numbers.",
        ),
        ({"outputs": {"i": "winding.ii"}}, "'circuit' has no variable 'winding.ii'.", "Did you mean 'winding.i'?"),
        ({"outputs": {"i": "der(windin.i)"}}, "'circuit' has no part 'windin' for the path 'windin.i'.", "'winding'?"),
        ({"outputs": ["winding.i"]}, "The outputs of an assembly must be a mapping, got ['winding.i'].", "outputs="),
        (
            {"initial": {"disc.v": 0.0}},
            "The initial value of 'disc.v' belongs to no unknown.",
            "Did you mean 'disc.w'?",
        ),
        (
            {"initial": {"disc.w": 0.0, dd.symbol("disc.w"): 1.0}},
            "Under initial, 'disc.w' is given twice.",
            "Keep one of the two.",
        ),
        (
            {"measurement_noise": {"winding.i": 0.1}},
            "Measurement noise is given for 'winding.i', which is not an output.",
            "There are none.",
        ),
        ({"ports": {"p": "winding.q"}}, "'circuit' has no port 'winding.q'.", "Did you mean 'winding.p'?"),
        (
            {"ports": {"winding": "winding.p"}},
            "A port of 'circuit' must be called by a word, got 'winding', but a part is called so.",
            "Rename it.",
        ),
        ({"ports": {"a b": "winding.p"}}, "A port of 'circuit' must be called by a word, got 'a b'.", "Rename it."),
    ],
)
def test_what_is_declared_at_the_top(changes, sentence, remedy):
    found = refused(**changes)
    assert found[0].startswith(sentence)
    assert remedy in found[1]


def test_a_circuit_without_ground_says_so():
    found = refused(parts={"s": el.VoltageSource(), "r": el.Resistor(), "c": el.Capacitor()}, inputs=["s.v"],
                    connections=[("s.p", "r.p"), ("r.n", "c.p"), ("c.n", "s.n")])  # fmt: skip
    assert found == (
        "In 'circuit', nothing fixes the electrical potential of 's', 'r' and 'c'.",
        "Connect a part that does, such as a Ground, to one of their ports.",
    )


def test_a_ground_on_one_side_of_a_transformer_is_not_enough():
    parts = {"s": el.ConstantVoltage(), "t": el.IdealTransformer(), "r": el.Resistor(), "g": el.Ground()}
    connections = [("s.p", "t.p1"), ("s.n", "t.n1", "g.p"), ("t.p2", "r.p"), ("t.n2", "r.n")]
    found = refused(parts=parts, connections=connections, inputs=[])
    assert found[0] == "In 'circuit', nothing fixes the electrical potential of 't' and 'r'."


def test_a_circuit_without_ground_is_found_inside_assemblies():
    half = dd.assemble(
        name="half",
        parts={"r": el.Resistor(), "c": el.Capacitor()},
        connections=[("r.n", "c.p")],
        ports={"p": "r.p", "n": "c.n"},
    )
    found = refused(
        parts={"s": el.ConstantVoltage(), "half": half}, connections=[("s.p", "half.p"), ("s.n", "half.n")], inputs=[]
    )
    assert found[0] == "In 'circuit', nothing fixes the electrical potential of 's' and 'half'."


def test_a_part_that_was_forgotten_in_the_connections():
    found = refused(connections=[("supply.n", "ground.p")])
    assert found == (
        "In 'circuit', nothing fixes the electrical potential of 'winding' ('winding.p' and 'winding.n' are not "
        "connected).",
        "Connect a part that does, such as a Ground, to one of its ports.",
    )


def test_heat_that_nothing_stores_or_takes():
    parts = {"heater": th.FixedHeatFlow(), "wall": th.ThermalConductor()}
    found = refused(parts=parts, connections=[("heater.port", "wall.port_a")], inputs=[])
    assert found[0].startswith("In 'circuit', nothing fixes the thermal potential of 'heater' and 'wall'")
    assert "such as a FixedTemperature or a HeatCapacitor" in found[1]


def test_two_voltage_sources_in_parallel():
    parts = {**PARTS, "battery": el.ConstantVoltage(V=5.0)}
    found = refused(parts=parts, connections=[*LOOP, ("battery.p", "supply.p"), ("battery.n", "supply.n")])
    assert found == (
        "In 'circuit', the parts 'supply' and 'battery' fix the same potentials more than once, so the flow that goes "
        "around through them is not determined.",
        "Put a part between them that takes up the difference, such as a resistance, or remove one of 'supply' and "
        "'battery'.",
    )


def test_a_source_that_is_short_circuited():
    found = refused(connections=[("supply.p", "winding.p", "supply.n", "winding.n", "ground.p")])
    assert found[0] == (
        "In 'circuit', the connections of part 'supply' fix the same potentials more than once, so the flow that goes "
        "around through it is not determined."
    )


def test_two_grounds_at_one_point_and_a_rod_between_two_walls():
    found = refused(parts={**PARTS, "earth": el.Ground()}, connections=[*LOOP, ("earth.p", "ground.p")])
    assert "the parts 'ground' and 'earth' fix the same potentials" in found[0]
    walls = {"left": tra.Fixed(), "rod": tra.ForceSensor(), "right": tra.Fixed(s0=1.0)}
    connections = [("left.flange", "rod.flange_a"), ("rod.flange_b", "right.flange")]
    found = refused(parts=walls, connections=connections, inputs=[])
    assert "the parts 'left', 'rod' and 'right' fix the same potentials" in found[0]


def test_a_current_source_that_leads_nowhere():
    parts = {"source": el.ConstantCurrent(), "ground": el.Ground()}
    found = refused(parts=parts, connections=[("source.p", "ground.p")], inputs=[])
    assert found == (
        "In 'circuit', nothing determines 'source.n.v' and 'source.v': 'source.n' is not connected.",
        "Connect 'source.n' to a part that lets something flow.",
    )


def test_two_current_sources_in_series():
    parts = {"a": el.ConstantCurrent(), "b": el.ConstantCurrent(), "ground": el.Ground()}
    found = refused(parts=parts, connections=[("a.n", "b.p"), ("a.p", "b.n", "ground.p")], inputs=[])
    assert "nothing determines 'a.n.v', 'a.v', 'b.p.v' and 'b.v'" in found[0]
    assert found[1] == "Connect 'a.n' and 'b.p' to a part that lets something flow."


def test_what_only_looks_singular_is_left_alone():
    """Bodies coupled rigidly, a source across a capacitor, a current source into a coil: higher index, no mistake."""
    bodies = {"a": rot.Inertia(), "b": rot.Inertia(), "push": rot.TorqueSource()}
    connections = [("a.flange_b", "b.flange_a"), ("push.flange", "a.flange_a")]
    assert dd.analyze(dd.assemble(name="ok", parts=bodies, connections=connections, inputs=["push.tau"])).index == 3
    for first, second in ((el.ConstantVoltage(), el.Capacitor()), (el.ConstantCurrent(), el.Inductor())):
        parts = {"a": first, "b": second, "g": el.Ground()}
        dd.build(dd.assemble(name="ok", parts=parts, connections=[("a.p", "b.p", "g.p"), ("a.n", "b.n")]))


def test_open_assemblies_are_not_refused_but_their_closed_corners_are():
    declared = {
        "name": "open",
        "parts": {"r": el.Resistor(), "s": el.ConstantVoltage()},
        "connections": [("r.n", "s.p")],
    }
    assert list(dd.assemble(**declared, ports={"p": "r.p", "n": "s.n"}).ports) == ["p", "n"]
    with pytest.raises(ModelError, match="fix the same potentials"):
        dd.assemble(
            name="open",
            parts={"r": el.Resistor(), "s": el.ConstantVoltage(), "t": el.ConstantVoltage()},
            connections=[("r.n", "s.p", "t.p"), ("s.n", "t.n")],
            ports={"p": "r.p", "n": "s.n"},
        )
