"""Assemblies made in a loop, with the matrices of the same physics written by hand."""

import numpy as np

import daedal as dd
from daedal.library import electrical as el
from daedal.library import rotational as rot
from daedal.library import thermal as th


def drive(**changes) -> dd.Model:
    """Motor, gearbox, weak shaft, heavy disc."""
    declared = {
        "name": "drive",
        "parts": {
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
        "connections": [
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
        "inputs": ["supply.v"],
        "outputs": {"speed": "rotor.w", "current": "winding.i"},
        "measurement_noise": {"speed": 0.05, "current": 0.02},
        "disturbances": {"load.tau": dd.FilteredNoise(numerator=[0.3], denominator=[1.0, 2.0], grid=0.025)},
    }
    return dd.assemble(**{**declared, **changes})


def drive_matrices() -> tuple[np.ndarray, np.ndarray]:
    """x' = A x + B (v, load) for x = (rotor.phi, rotor.w, disc.phi, disc.w)."""
    R, k, J, N, c, d, disc, bearing = 1.2, 0.05, 1e-3, 5.0, 2.0, 0.01, 0.05, 0.02
    shaft = np.array([-c / N, -d / N, c, d])  # its torque
    A = np.array([[0, 1, 0, 0], shaft / N / J, [0, 0, 0, 1], -shaft / disc])
    A[1, 1] -= k**2 / R / J
    A[3, 3] -= bearing / disc
    return A, np.array([[0, 0], [k / R / J, 0], [0, 0], [0, 1 / disc]])


def ladder(stages: int, coils: bool = False) -> dd.Model:
    """A source, then in each stage a resistor (and a coil) along and a capacitor across."""
    parts = {"source": el.VoltageSource(), "ground": el.Ground()}
    connections, node = [], "source.p"
    for k in range(stages):
        parts |= {f"r{k}": el.Resistor(R=1.0 + 0.1 * k), f"c{k}": el.Capacitor(C=0.02 + 0.001 * k)}
        along = [f"r{k}"]
        if coils:
            parts[f"l{k}"] = el.Inductor(L=0.05)
            along.append(f"l{k}")
        for part in along:
            connections.append((node, f"{part}.p"))
            node = f"{part}.n"
        connections.append((node, f"c{k}.p"))
    connections.append(("source.n", "ground.p", *(f"c{k}.n" for k in range(stages))))
    return dd.assemble(name="ladder", parts=parts, connections=connections, inputs=["source.v"])


def ladder_matrices(stages: int, coils: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """x' = A x + b v for the voltages of the capacitors (then the currents of the coils)."""
    R = np.diag(1.0 + 0.1 * np.arange(stages))
    C = np.diag(0.02 + 0.001 * np.arange(stages))
    fall = np.eye(stages, k=-1) - np.eye(stages)  # voltage along stage k = fall v + source; current into c is −fallᵀ i
    first = np.eye(stages)[0]
    if not coils:
        A = -np.linalg.solve(C, fall.T) @ np.linalg.solve(R, fall)
        return A, -np.linalg.solve(C, fall.T) @ np.linalg.solve(R, first)
    zero = np.zeros((stages, stages))
    A = np.block([[zero, -np.linalg.solve(C, fall.T)], [fall / 0.05, -R / 0.05]])
    return A, np.concatenate([0 * first, first / 0.05])


def doors(rooms: int) -> list[tuple[int, int]]:
    """A house with six rooms on each floor."""
    return [(k, m) for k in range(rooms) for m in (k + 1, k + 6) if m < rooms and (m == k + 6 or m % 6)]


def house(rooms: int) -> dd.Model:
    """Heated rooms with walls to the outside and doors between them."""
    parts = {"outside": th.PrescribedTemperature()}
    connections = []
    for k in range(rooms):
        parts |= {
            f"room{k}": th.HeatCapacitor(C=1e5 + 1e4 * k),
            f"wall{k}": th.ThermalConductor(G=20.0),
            f"heater{k}": th.FixedHeatFlow(Q_flow=100.0 + 10.0 * k),
        }
        connections += [(f"room{k}.port", f"wall{k}.port_a", f"heater{k}.port"), (f"wall{k}.port_b", "outside.port")]
    for k, m in doors(rooms):
        parts[f"door{k}_{m}"] = th.ThermalConductor(G=50.0)
        connections += [(f"room{k}.port", f"door{k}_{m}.port_a"), (f"door{k}_{m}.port_b", f"room{m}.port")]
    return dd.assemble(name="house", parts=parts, connections=connections, inputs=["outside.T"])


def house_matrices(rooms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """C T' = K T + heat + walls T_outside: (C⁻¹ K, C⁻¹ walls, C⁻¹ heat)."""
    K = -20.0 * np.eye(rooms)
    for k, m in doors(rooms):
        K[[k, m], [k, m]] -= 50.0
        K[[k, m], [m, k]] += 50.0
    C = 1e5 + 1e4 * np.arange(rooms)
    return K / C[:, None], 20.0 / C, (100.0 + 10.0 * np.arange(rooms)) / C
