"""A voltage source across a capacitor: the current contains the derivative of the voltage (index 2).

Whether that derivative exists is a property of the input, so daedal asks what the input does between its samples.
"""

import numpy as np

import daedal as dd
from daedal import der

source, v, current, through, charge = dd.symbols("source v i i_R i_C")
R, C = dd.symbols("R C")

circuit = dd.Model(
    name="circuit",
    equations={
        "parallel": v == source,
        "capacitor": charge == C * der(v),
        "resistor": v == R * through,
        "node": current == charge + through,
    },
    unknowns=[v, current, through, charge],
    inputs=[source],
    outputs={"current": current},
    parameters={R: dd.Parameter(100.0, unit="ohm"), C: dd.Parameter(1e-3, unit="F")},
)

print(dd.analyze(circuit))

times = np.linspace(0.0, 1.0, 201)
samples = 5.0 * np.sin(2 * np.pi * times)

try:
    dd.simulate(circuit, times, inputs={"source": dd.Signal(times, samples, intersample="zoh")})
except dd.DaedalError as refused:
    print(f"refused: {refused}")

run = dd.simulate(circuit, times, inputs={"source": dd.Signal(times, samples, intersample="spline")})
exact = 1e-3 * 10 * np.pi * np.cos(2 * np.pi * times) + samples / 100.0
print(run)

dd.plot(run, ["source", "current", "i_C"]).save("circuit.svg")
error = np.max(np.abs(run["current"] - exact))
print(
    f"The current, {np.max(run['current']):.4f} A at most, contains the derivative of the voltage: off by {error:.1e} "
    f"A."
)
