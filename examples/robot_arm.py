"""A flexible robot arm: modes that hardly decay, from torque and acceleration, against discrete-time models.

Neither sampling time nor units are told, so time is counted in samples. Both signals are measured, and taken for
straight lines between samples. The first half of the record is used to estimate, the second half to judge: what is
compared is simulation, from rest at the first sample of all, not prediction from past outputs.

Data: B. De Moor (ed.), DaISy: Database for the Identification of Systems, ESAT/STADIUS, KU Leuven, Belgium.

Run as: python examples/robot_arm.py path/to/daisy_robot_arm.csv
"""

import sys

import numpy as np
from scipy.signal import lfilter

import daedal as dd

if len(sys.argv) != 2:
    sys.exit("Give the data file: python examples/robot_arm.py path/to/daisy_robot_arm.csv")

whole = dd.read_csv(sys.argv[1], step=1.0, inputs={"torque": "u_torque"}, outputs={"acceleration": "y_acceleration"})
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
print(f"simulated second half, {n} poles: {own:.1f} %; the best of all ARX models with {n} poles: {best:.1f} %")
