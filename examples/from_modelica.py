"""A drive that is written in Modelica: read, simulated, and changed like any other model.

The classes of examples/modelica/drive.mo are connected, extended and modified in Modelica; what arrives here is an
ordinary Model with Modelica's names.
"""

from pathlib import Path

import numpy as np

import daedal as dd

drive = dd.read_modelica(Path(__file__).parent / "modelica" / "drive.mo", model="Drives.Drive")
print(drive)
print(dd.analyze(drive))

times = np.linspace(0.0, 20.0, 401)
volts = dd.Signal(times, np.full(times.size, 6.0), intersample="zoh")
run = dd.simulate(drive, times, inputs={"u": volts})
print(run)

# At rest in the turning frame: u = R i + k w, and the bearing takes the torque k i behind the gear.
R, k, ratio, d = (float(drive.parameters[name].value) for name in ("winding.R", "motor.k", "gear.ratio", "bearing.d"))
final = 6.0 * ratio / (R * d / (ratio * k) + ratio * k)
print(f"the rotor turns with {run['speed'][-1]:.6f} rad/s, the balance of torques says {final:.6f}")

stiffer = drive.with_parameters({"shaft.c": 20.0})
other = dd.simulate(stiffer, times, inputs={"u": volts})
print(f"twist of the shaft at most {np.max(np.abs(run['shaft.phi_rel'])):.4f} rad, ", end="")
print(f"ten times as stiff {np.max(np.abs(other['shaft.phi_rel'])):.4f} rad")

turning = dd.Dataset(times, outputs={"twist": run["shaft.phi_rel"]}, name="c as in the file")
stiff = dd.Dataset(times, outputs={"twist": other["shaft.phi_rel"]}, name="ten times as stiff")
dd.plot([turning, stiff]).save("from_modelica.svg")
print(
    f"The rotor ends at {run['speed'][-1]:.4f} rad/s, {abs(run['speed'][-1] - final):.0e} from the balance of torques."
)
