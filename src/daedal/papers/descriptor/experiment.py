"""The motor of the paper's section 7, with a gearbox, a weak shaft and a heavy disc, connected from library parts.

The paper describes the process without its numbers; those here are ours. A voltage that jumps between ±6 V is known;
the speed of the rotor and the current are measured every 0.05 s for 40 s; the disc feels a load torque, the output of
0.3/(s + 2) driven by white noise, that nobody measures. Wanted are the stiffness c of the shaft and the inertia J of
the disc. Everything is at rest at the start, which all methods know.

The load torque of the data is linear between points 6.25 ms apart; the estimators take it as what it stands for, a
process in continuous time.
"""

from functools import cache

import numpy as np

from daedal.data import Signal
from daedal.disturbances import FilteredNoise
from daedal.library import electrical, rotational
from daedal.models import Model, Parameter, assemble
from daedal.papers.kept_pieces import refuse_interrupted
from daedal.simulation import Trajectory, simulate
from daedal.symbolic import symbols

SEED = 3
SAMPLES = 801
INTERVAL = 0.05  # seconds between samples
FINE = 0.00625  # seconds between points of the load torque of the data
TRUTH = {"shaft.c": 2.0, "disc.J": 0.05}
NOISE_TRUTH = {"load_gain": 0.3, "load_pole": 2.0, "speed_noise": 0.05, "current_noise": 0.02}
UNITS = {"shaft.c": "N m/rad", "disc.J": "kg m²"}
FREE = {
    "shaft.c": Parameter(1.0, lower=0.05, upper=50.0, scale="log"),
    "disc.J": Parameter(0.1, lower=0.001, upper=5.0, scale="log"),
}
NOISE_FREE = {
    "load_gain": Parameter(0.1, lower=0.001, upper=10.0, scale="log"),
    "load_pole": Parameter(1.0, lower=0.01, upper=100.0, scale="log"),
    "speed_noise": Parameter(0.1, lower=0.001, upper=1.0, scale="log"),
    "current_noise": Parameter(0.1, lower=0.001, upper=1.0, scale="log"),
}
LOAD = "load.flange.tau"  # the load torque as the disc feels it
STATES = ("disc.w", "shaft.tau", LOAD)


def make_drive(*, grid: float | None = None) -> Model:
    """The drive at the true values; `grid` is where the points of a simulated load torque are."""
    gain, pole, speed_noise, current_noise = noise = symbols(" ".join(NOISE_TRUTH))
    return assemble(
        name="drive",
        parts={
            "supply": electrical.VoltageSource(),
            "ground": electrical.Ground(),
            "winding": electrical.Resistor(R=1.2),
            "motor": electrical.RotationalEMF(k=0.05),
            "rotor": rotational.Inertia(J=1e-3),
            "gear": rotational.IdealGear(ratio=5.0),
            "shaft": rotational.SpringDamper(c=TRUTH["shaft.c"], d=0.01),
            "disc": rotational.Inertia(J=TRUTH["disc.J"]),
            "bearing": rotational.Damper(d=0.02),
            "frame": rotational.Fixed(),
            "load": rotational.TorqueSource(),
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
        parameters=dict(zip(noise, NOISE_TRUTH.values(), strict=True)),
        measurement_noise={"speed": speed_noise, "current": current_noise},
        disturbances={"load.tau": FilteredNoise(numerator=(gain,), denominator=(1.0, pole), grid=grid)},
        initial={"rotor.phi": 0.0, "rotor.w": 0.0, "shaft.phi_rel": 0.0, "disc.w": 0.0},
    )


@cache
def simulate_data_sets(data_sets: int) -> Trajectory:
    """Data sets, as realizations, with the truth about what is not measured."""
    times = np.arange(SAMPLES, dtype=np.float64) * INTERVAL
    volts = Signal(times, 6.0 * np.sign(np.sin(0.7 * times + 0.1)), intersample="zoh")
    data = simulate(
        make_drive(grid=FINE),
        times,
        inputs={"supply.v": volts},
        realizations=data_sets,
        measurement_noise=True,
        variables=["speed", "current", *STATES],
        rng=SEED,
    )
    return refuse_interrupted(data)
