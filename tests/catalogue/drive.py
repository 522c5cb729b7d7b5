"""The drive of Gerdin et al. (2006): motor, gearbox, weak shaft, heavy disc, with an unknown load torque."""

from functools import cache

import daedal as dd
from daedal.library import electrical as el
from daedal.library import rotational as rot


@cache
def drive(load=None):
    """Index 2, four states, 59 variables; the load torque as declared, or one pole."""
    return dd.assemble(
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
        disturbances={"load.tau": load or dd.FilteredNoise(numerator=[0.3], denominator=[1.0, 2.0])},
    )
