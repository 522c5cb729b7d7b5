"""What holds for every component: ports, units, text form, and a docstring that names each parameter."""

import inspect
import pickle
import re

import pytest

from daedal.library import blocks, electrical, fluid, rotational, thermal, translational
from daedal.models import Model, Parameter

COMPONENTS = [
    value
    for module in (blocks, electrical, rotational, translational, thermal, fluid)
    for name, value in vars(module).items()
    if inspect.isfunction(value) and name[0].isupper() and value.__module__ == module.__name__
]
PORTS = {
    "electrical": ("v", "i"),
    "rotational": ("phi", "tau"),
    "translational": ("s", "f"),
    "thermal": ("T", "Q_flow"),
    "fluid": ("p", "m_flow"),
}
WITHOUT_UNIT = {
    blocks.Limiter: {"uMax", "uMin"},
    blocks.Hysteresis: {"uLow", "uHigh", "yLow", "yHigh"},
    rotational.IdealGear: {"ratio"},
    electrical.IdealTransformer: {"n"},
    electrical.Diode: {"Maxexp"},
    electrical.OpAmp: {"Slope"},
    fluid.Orifice: {"zeta"},
}
named = pytest.mark.parametrize("component", COMPONENTS, ids=lambda c: f"{c.__module__.split('.')[-1]}.{c.__name__}")


@named
def test_ports_carry_the_variables_of_their_domain(component):
    for label, port in component().ports.items():
        expected = tuple(f"{label}.{variable}" for variable in PORTS[port.domain])
        assert (str(port.potential), str(port.flow)) == expected


@named
def test_every_parameter_has_a_default_a_unit_and_a_description(component):
    model = component()
    arguments = inspect.signature(component).parameters
    assert set(arguments) == set(model.parameters)
    described = re.findall(r"^(\w+(?:, \w+)*)$", inspect.cleandoc(component.__doc__), re.MULTILINE)
    documented = {word for line in described for word in line.split(", ")} - {"Parameters", "Examples"}
    assert documented == set(arguments)
    for name, parameter in model.parameters.items():
        assert bool(parameter.unit) == (name not in WITHOUT_UNIT.get(component, ()))


@named
def test_a_declared_parameter_is_kept_and_the_model_reads_back(component):
    bounded = Parameter(2.0, lower=1.0, upper=3.0, scale="log", unit="mine")
    model = component(**dict.fromkeys(inspect.signature(component).parameters, bounded))
    assert all(parameter == bounded for parameter in model.parameters.values())
    assert Model.from_text(model.to_text()) == model
    assert pickle.loads(pickle.dumps(model)) == model
