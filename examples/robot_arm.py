"""A flexible robot arm: modes that hardly decay, from torque and acceleration, against discrete-time models.

Neither sampling time nor units are told, so time is counted in samples. Both signals are measured, and taken for
straight lines between samples. The first half of the record is used to estimate, the second half to judge: what is
compared is simulation, from rest at the first sample of all, not prediction from past outputs.

Data: B. De Moor (ed.), DaISy: Database for the Identification of Systems, ESAT/STADIUS, KU Leuven, Belgium.

Run as: python examples/robot_arm.py [path/to/daisy_robot_arm.csv], with columns u_torque and y_acceleration; without it
data are simulated.
"""

import sys

import numpy as np
from scipy.signal import lfilter

import daedal as dd


def stand_in():
    """An arm with three modes, swept twice by a sine; the noise is 1 % of its acceleration."""
    print("No file was given, so these data are simulated: modes at 1.67, 0.796 and 0.366 rad per sample.")
    times = np.arange(1024.0)
    modes = [
        np.polynomial.Polynomial([w**2, 2 * z * w, 1.0]) for w, z in ((1.67, 0.023), (0.796, 0.0047), (0.366, 0.006))
    ]
    denominator = np.prod(modes).coef[::-1]
    arm = dd.TransferFunction(
        [-0.51, -0.004, -0.67, -0.003, -0.027], denominator, input="torque", output="acceleration"
    )
    swept = times % 512
    inputs = {"torque": dd.Signal(times, np.sin(0.2 * swept + 1.1 * swept**2 / 512))}
    clean = dd.simulate(arm, times, inputs=inputs)["acceleration"]
    noise = 0.01 * clean.std() * np.random.default_rng(1).standard_normal(times.size)
    return dd.Dataset(times, inputs=inputs, outputs={"acceleration": clean + noise})


columns = {"inputs": {"torque": "u_torque"}, "outputs": {"acceleration": "y_acceleration"}}
try:
    whole = dd.read_csv(sys.argv[1], step=1.0, **columns) if len(sys.argv) > 1 else stand_in()
except dd.DaedalError as refused:
    sys.exit(str(refused))
whole = whole.detrend()
first, second = whole.split(0.5)
measured, half = whole["acceleration"], len(first["acceleration"])


def held_out_fit(simulated):
    """Of the second half, in percent."""
    y = measured[half:]
    return 100 * (1 - np.linalg.norm(y - simulated[half:]) / np.linalg.norm(y - y.mean()))


search = dd.select_order(first, orders=range(2, 7))
print(search)
print(search.transfer_function)
for pole in search.transfer_function.poles[search.transfer_function.poles.imag > 0]:
    print(f"mode at {abs(pole):.3f} rad per sample, damping {-pole.real / abs(pole):.4f}")


def arx(order, delay, terms):
    """y_k + a₁ y_{k−1} + … = b₀ u_{k−delay} + … by least squares on the first half, then simulated."""
    u, y = whole["torque"], measured
    rows = range(max(order, delay + terms - 1), half)
    past = [[*(-y[k - j] for j in range(1, order + 1)), *(u[k - delay - j] for j in range(terms))] for k in rows]
    found = np.linalg.lstsq(np.array(past), y[list(rows)], rcond=None)[0]
    denominator = np.append(1.0, found[:order])
    if np.any(np.abs(np.roots(denominator)) > 1.0):
        return np.zeros(y.size)  # it would grow beyond bounds
    return lfilter(np.append(np.zeros(delay), found[order:]), denominator, u)


# Of all ARX models with as many poles, the one that turns out best on the second half: a choice made with hindsight.
n = search.order
best = max(held_out_fit(arx(n, delay, terms)) for delay in range(4) for terms in range(1, n + 2))
own = held_out_fit(dd.simulate(search.transfer_function, whole)["acceleration"])

dd.plot(search).save("robot_arm.svg")
print(f"Simulated second half, {n} poles: {own:.1f} %; the best of all ARX models with {n} poles: {best:.1f} %.")
