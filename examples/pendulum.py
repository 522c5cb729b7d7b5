"""A pendulum in Cartesian coordinates, as it stands in a book: forces, and a rod of fixed length (an index-3 DAE).

It is pushed so hard that it swings over the top, where formulations that pick their states beforehand break down.
"""

import numpy as np

import daedal as dd
from daedal import der

x, y, vx, vy, tension = dd.symbols("x y vx vy tension")
m, g, L = dd.symbols("m g L")

pendulum = dd.Model(
    name="pendulum",
    equations={
        "kinematics x": der(x) == vx,
        "kinematics y": der(y) == vy,
        "force x": m * der(vx) == -tension * x,
        "force y": m * der(vy) == -tension * y - m * g,
        "rod": x**2 + y**2 == L**2,
    },
    unknowns=[x, y, vx, vy, tension],
    outputs={"angle": np.arctan2(x, -y), "energy": m * (vx**2 + vy**2) / 2 + m * g * y},
    parameters={m: dd.Parameter(0.3, unit="kg"), g: 9.81, L: dd.Parameter(1.0, unit="m")},
    initial={x: 0.0, vx: 6.5},
    guess={y: -L},  # hanging, not standing
)

print(dd.analyze(pendulum))  # index 3; the rod is differentiated twice; what may be given at the start

swing = dd.simulate(pendulum, np.linspace(0, 10, 1001))
print(swing)

rod = np.max(np.abs(swing["x"] ** 2 + swing["y"] ** 2 - 1.0))
energy = np.max(np.abs(swing["energy"] / swing["energy"][0] - 1.0))

dd.plot(swing, ["angle", "tension"]).save("pendulum.svg")
turns = np.sum(np.abs(np.diff(swing["angle"])) > np.pi)
print(
    f"It swings over the top {turns} times in 10 s; the rod keeps its length to {rod:.1e} m, the energy is kept to "
    f"{energy:.1e}."
)
