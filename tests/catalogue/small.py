"""Models of a few lines, for tests of one thing."""

import daedal as dd
from daedal import der


def model(equations, unknowns, **more):
    """A model called 'test'; equations in a list are called e0, e1, …"""
    if not isinstance(equations, dict):
        equations = {f"e{i}": e for i, e in enumerate(equations)}
    return dd.Model(name="test", equations=equations, unknowns=unknowns, **more)


def pendulum(length=6.25, **more):
    """A Cartesian pendulum of unit mass: equations fx, fy and rod in x, y and z, the tension by its length."""
    x, y, z, L = dd.symbols("x y z L")
    return model(
        {"fx": der(der(x)) == -z * x, "fy": der(der(y)) == -z * y - 9.81, "rod": x**2 + y**2 == L**2},
        [x, y, z],
        parameters={L: length},
        **more,
    )
