"""A motor turns a heavy disc through a gearbox and a weak shaft: a model from components, and a fit of the shaft.

Parts are connected at their ports; nobody writes an equation. Everything is addressed by its path: "shaft.c". A torque
that nobody measured pulls at the disc; what is said about it is its spectrum.

Run as: python examples/drive.py
"""

import numpy as np

import daedal as dd
from daedal.library import electrical as el
from daedal.library import rotational as rot

drive = dd.assemble(
    name="drive",
    parts={
        "supply": el.VoltageSource(),
        "ground": el.Ground(),
        "winding": el.Resistor(R=1.2),
        "motor": el.RotationalEMF(k=0.05),
        "rotor": rot.Inertia(J=1e-3),
        "gear": rot.IdealGear(ratio=5.0),
        "shaft": rot.SpringDamper(c=2.0, d=0.01),
        "disc": rot.Inertia(J=0.05),
        "bearing": rot.Damper(d=0.02),
        "frame": rot.Fixed(),
        "load": rot.TorqueSource(),
    },
    connections=[
        ("supply.p", "winding.p"),
        ("winding.n", "motor.p"),
        ("motor.n", "supply.n", "ground.p"),
        ("motor.flange", "rotor.flange_a"),
        ("rotor.flange_b", "gear.flange_a"),
        ("gear.flange_b", "shaft.flange_a"),
        ("shaft.flange_b", "disc.flange_a"),
        ("disc.flange_b", "bearing.flange_a", "load.flange"),
        ("bearing.flange_b", "frame.flange"),
    ],
    inputs=["supply.v"],
    outputs={"speed": "rotor.w", "current": "winding.i"},
    measurement_noise={"speed": 0.05, "current": 0.02},
    disturbances={"load.tau": dd.FilteredNoise(numerator=[0.3], denominator=[1.0, 2.0])},
)
print(dd.analyze(drive))

# Before anything is estimated: does what was declared make sense? A white torque would leave both sensors a finite
# variance, but not the acceleration of the disc; the verdict says why, and what to do.
white = drive.with_disturbances({"load.tau": dd.WhiteNoise()})
print(dd.check_noise(drive))
print(dd.check_noise(white, variables=["disc.a"]))

# An experiment: the voltage changes its sign now and then, something unmeasured pulls at the disc, sensors are noisy.
times = np.arange(801) * 0.05
volts = dd.Signal(times, 6.0 * np.sign(np.sin(0.7 * times + 0.1)), intersample="zoh")
data = dd.simulate(drive, times, inputs={"supply.v": volts}, realizations=1, measurement_noise=True, rng=3).to_dataset()

# Stiffness and inertia from a wrong start. The model is linear, so a fit that is told nothing takes the likelihood.
fit = dd.fit(
    drive,
    data,
    free={
        "shaft.c": dd.Parameter(1.0, lower=0.05, upper=50.0, scale="log"),
        "disc.J": dd.Parameter(0.1, lower=0.001, upper=5.0, scale="log"),
    },
)
print(fit)

# No sensor sits on the shaft; speed and current of the motor tell its torque, with a standard deviation.
states = dd.estimate_states(fit, data, variables=["shaft.tau", "disc.w"], kind="smoothed")
print(states)

# Power that goes in against what is lost or stored, from variables by their paths.
found = dd.simulate(fit.model, data)
entering = -found["supply.v"] * found["supply.i"]
heat = found["winding.v"] * found["winding.i"] + found["bearing.tau"] * found["bearing.w_rel"]
heat += 0.01 * found["shaft.w_rel"] ** 2
moving = 1e-3 * found["rotor.w"] * found["rotor.a"] + fit["disc.J"].value * found["disc.w"] * found["disc.a"]
twisting = fit["shaft.c"].value * found["shaft.phi_rel"] * found["shaft.w_rel"]
print(f"largest gap in the balance of power: {np.max(np.abs(entering - heat - moving - twisting)):.1e} W")

dd.plot(states).save("drive.svg")
c, J = fit["shaft.c"], fit["disc.J"]
print(
    f"The shaft has {c.value:.3f} ± {c.std_error:.3f} N m/rad (truth 2), the disc {J.value:.4f} ± {J.std_error:.4f} "
    f"kg m² "
    f"(truth 0.05), and the torque between them is known to {np.median(states.std['shaft.tau']):.4f} N m."
)
