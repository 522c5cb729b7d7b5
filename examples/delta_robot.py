"""A delta robot: three arms carry one platform, and twelve of its parameters come from one record.

Each arm turns about a horizontal axis on the base; from its elbow a rod of fixed length runs to the platform, which
cannot turn. Nothing is solved for by hand: the equations are Newton's for platform and arms, with the forces λ in the
rods as unknowns, and three equations say that the rods keep their length. That is a differential-algebraic system of
index 3. A hose that is dragged along pulls at the platform, with a force that nobody measures.

Each motor follows a reference angle by a controller whose gains are known; the angles of the arms are measured.

Run as: python examples/delta_robot.py
"""

import numpy as np

import daedal as dd
from daedal import der

ARM, ROD = 0.2, 0.45  # m: upper arm and rod
STIFFNESS, DAMPING, GRAVITY = 60.0, 1.5, 9.81  # N m/rad and N m s/rad of the controllers, m/s²

position, speed = dd.symbols("x y z"), dd.symbols("vx vy vz")
q, rate, force, wish = (dd.symbols(f"{name}1 {name}2 {name}3") for name in ("q", "rate", "lambda", "wish"))
inertia, friction, load = (dd.symbols(f"{name}1 {name}2 {name}3") for name in ("inertia", "friction", "load"))
mass, drag, radius, hose_x, hose_y = dd.symbols("mass drag radius hose_x hose_y")

equations = {f"to {axis}": der(p) == v for axis, p, v in zip("xyz", position, speed, strict=True)}
pull = [0.0, 0.0, 0.0]
for i in range(3):
    azimuth = 2 * np.pi * i / 3
    outward = np.array([np.cos(azimuth), np.sin(azimuth)])
    reach = radius + ARM * np.cos(q[i])
    elbow = [outward[0] * reach, outward[1] * reach, -ARM * np.sin(q[i])]
    turn = [-outward[0] * ARM * np.sin(q[i]), -outward[1] * ARM * np.sin(q[i]), -ARM * np.cos(q[i])]  # ∂elbow/∂q
    rod = [p - e for p, e in zip(position, elbow, strict=True)]
    pull = [total - force[i] * part for total, part in zip(pull, rod, strict=True)]
    motor = STIFFNESS * (wish[i] - q[i]) - DAMPING * rate[i]
    equations |= {
        f"arm {i + 1} turns": der(q[i]) == rate[i],
        f"arm {i + 1}": inertia[i] * der(rate[i])
        == motor
        - friction[i] * rate[i]
        + load[i] * np.cos(q[i])
        + force[i] * sum(a * b for a, b in zip(turn, rod, strict=True)),
        f"rod {i + 1}": sum(part**2 for part in rod) == ROD**2,
    }
others = [hose_x, hose_y, -mass * GRAVITY]
for axis, v, total, other in zip("xyz", speed, pull, others, strict=True):
    equations[f"platform {axis}"] = mass * der(v) == total - drag * v + other

TRUTH = {mass: 0.5, drag: 0.8, radius: 0.12}  # kg, N s/m, and in m by how much the base is wider than the platform
TRUTH |= dict(zip(inertia, (0.012, 0.013, 0.011), strict=True))
TRUTH |= dict(zip(friction, (0.08, 0.12, 0.1), strict=True))
TRUTH |= dict(zip(load, (0.35, 0.3, 0.4), strict=True))
START = {name: (1.05 if name is radius else 1.3) * value for name, value in TRUTH.items()}

robot = dd.Model(
    name="delta robot",
    equations=equations,
    unknowns=[*position, *speed, *q, *rate, *force],
    inputs=list(wish),
    outputs={f"angle {i + 1}": q[i] for i in range(3)},
    parameters={name: dd.Parameter(value, lower=0.0) for name, value in START.items()},
    disturbances={w: dd.FilteredNoise.resonant(std=0.4, frequency=6.0, damping=0.3) for w in (hose_x, hose_y)},
    measurement_noise={f"angle {i + 1}": 2e-4 for i in range(3)},
    initial={**dict.fromkeys(q, 0.3), **dict.fromkeys(rate, 0.0)},
    guess={position[2]: -0.4},
)
print(dd.analyze(robot))

times = np.arange(0.0, 6.0, 0.02)
rng = np.random.default_rng(4)
pitches = rng.uniform(1.0, 9.0, (3, 4))
references = {
    str(wish[i]): dd.Signal(times, 0.3 + 0.12 * np.sin(np.outer(times, pitches[i]) + i).sum(axis=1)) for i in range(3)
}
true_robot = robot.with_parameters(TRUTH)
run = dd.simulate(true_robot, times, inputs=references, realizations=1, measurement_noise=True, rng=5)
fit = dd.fit(
    robot, run.to_dataset(), free=[str(name) for name in TRUTH], criterion=dd.SimulationPEM(64, whiten=True), rng=1
)
print(fit)
distances = [(fit.estimates[str(name)].value - value) / fit.std_errors[str(name)] for name, value in TRUTH.items()]

dd.plot(fit, ["angle 1"]).save("delta_robot.svg")
print(
    f"Twelve parameters from {times[-1]:.0f} s of three angles: the mass to "
    f"{100 * fit.std_errors['mass'] / fit['mass'].value:.0f} %, "
    f"and the farthest from the truth is {np.abs(distances).max():.1f} standard errors away."
)
