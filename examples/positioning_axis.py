"""A positioning axis with dry friction under a digital controller: what switches, sticks and is sampled, estimated.

`np.sign` is friction as in a book: the axis sticks until the force exceeds Fc. The controller samples every 2 ms, acts
1 ms late and saturates. Switches are located, sensitivities jump there, and the fit is that of any other model.

Run as: python examples/positioning_axis.py
"""

import numpy as np

import daedal as dd
from daedal import der
from daedal.library import translational as tr

q, v, force, reference = dd.symbols("q v force reference")
M, Fv, Fc, kp, kd = dd.symbols("M Fv Fc kp kd")
command = kp * (reference - q) - kd * v

axis = dd.Model(
    name="axis",
    equations={
        "speed": der(q) == v,
        "motion": M * der(v) == force - Fv * v - Fc * np.sign(v),
        "drive": force == np.clip(dd.hold(command, every=0.002, delay=0.001), -110.0, 110.0),
    },
    unknowns=[q, v, force],
    inputs=[reference],
    outputs={"position": q, "effort": force},
    parameters={
        M: dd.Parameter(80.0, lower=20.0, upper=300.0, unit="kg"),
        Fv: dd.Parameter(150.0, lower=1.0, upper=800.0, unit="N s/m"),
        Fc: dd.Parameter(15.0, lower=1.0, upper=80.0, unit="N"),
        kp: 5600.0,
        kd: 875.0,
    },
    measurement_noise={"position": 2e-5, "effort": 0.5},
    initial={q: 0.0, v: 0.0},
)
times = np.arange(801) * 0.005
moves = dd.Signal(times, 0.1 * np.sin(1.3 * times) + 0.04 * np.sin(4.1 * times), intersample="foh")
truth = axis.with_parameters({"M": 95.0, "Fv": 204.0, "Fc": 20.4})
run = dd.simulate(truth, times, inputs={"reference": moves}, measurement_noise=True, rng=2)
print(run)

fit = dd.fit(axis, run.to_dataset(), free=["M", "Fv", "Fc"], criterion=dd.OutputError())
print(fit)

# The same axis from parts: DryFriction sticks, too.
block = dd.assemble(
    name="block",
    parts={
        "push": tr.ForceSource(),
        "mass": tr.Mass(m=2.0),
        "floor": tr.DryFriction(F_Coulomb=3.0, F_prop=0.5),
        "ground": tr.Fixed(),
    },
    connections=[
        ("push.flange", "mass.flange_a"),
        ("mass.flange_b", "floor.flange_a"),
        ("floor.flange_b", "ground.flange"),
    ],
    inputs=["push.f"],
    outputs={"speed": "mass.v"},
)
ramp = dd.Signal([0.0, 4.0], [0.0, 4.0], intersample="foh")
moved = dd.simulate(block, np.linspace(0.0, 4.0, 401), inputs={"push.f": ramp})

dd.plot(run, ["position", "force"]).save("positioning_axis.svg")
F = fit["Fc"]
print(
    f"Dry friction is {F.value:.2f} ± {F.std_error:.2f} N (truth 20.4), found through a sampled controller; the block "
    f"breaks "
    f"away at {moved.times[np.argmax(moved['speed'] > 1e-9) - 1]:.2f} s, when the force reaches 3 N."
)
