"""Nodes of the methods, and Radau IIA collocation for a reduced system.

Because X' is a shift, v_j^(k)' = v_j^(k+1), the values of X at a collocation node follow from the stage values of
T_j = v_j^(d_j) alone:

    v_j^(k)(t + c_i h) = Σ_{q < d_j − k} (c_i h)^q / q! · v_j^(k+q)(t) + h^(d_j − k) Σ_l (𝒜^(d_j − k))_il T_jl,

𝒜 being the matrix of the method, so that only the stage values of T are unknown.

Reference: E. Hairer, G. Wanner, Solving ODEs II (1996), IV.5 and IV.8.
"""

from math import factorial, sqrt
from typing import Literal

import casadi as ca
import numpy as np

from daedal.simulation.steps.tableau import RUNGE_KUTTA
from daedal.systems import Reduction

Method = Literal["rk4", "rk6", "radau3", "radau5"]

NODES: dict[Method, np.ndarray] = {
    "rk4": np.array(RUNGE_KUTTA["rk4"].nodes),
    "rk6": np.array(RUNGE_KUTTA["rk6"].nodes),
    "radau3": np.array([1 / 3, 1.0]),
    "radau5": np.array([(4 - sqrt(6)) / 10, (4 + sqrt(6)) / 10, 1.0]),
}
ORDER: dict[Method, int] = {"rk4": 4, "rk6": 6, "radau3": 3, "radau5": 5}
FACTORISATIONS = 2  # of the stage equations in a step: at the first guess, and once nearer to the solution
NEWTON = 4  # simplified iterations with each


def compute_radau_matrix(method: Method) -> np.ndarray:
    """𝒜 of Radau IIA: collocation at its nodes, ∫₀^{c_i} ℓ_j."""
    c = NODES[method]
    powers = np.vander(c, increasing=True)
    integrals = np.stack([c ** (k + 1) / (k + 1) for k in range(c.size)], axis=1)
    return integrals @ np.linalg.inv(powers)


def collocate(reduction: Reduction, method: Method, x: ca.SX, stages: list[ca.SX], h: ca.SX, node: int) -> ca.SX:
    """X at a node: the Taylor part of the known derivatives, and integrals of the stage values of T."""
    c = NODES[method][node]
    place = {v: i for i, v in enumerate(reduction.states)}
    depths = _find_depths(reduction)
    rows = []
    for (j, k), depth in zip(reduction.states, depths, strict=True):
        value = x[place[j, k]]
        for q in range(1, depth):
            value = value + (c * h) ** q / factorial(q) * x[place[j, k + q]]
        weights = np.linalg.matrix_power(compute_radau_matrix(method), depth)[node]
        rows.append(value + h**depth * sum(float(a) * stage[j] for a, stage in zip(weights, stages, strict=True)))
    return ca.vertcat(*rows) if rows else ca.SX(0, 1)


def compute_stage_weights(reduction: Reduction, method: Method, h: ca.SX, node: int) -> list[ca.SX]:
    """∂X/∂T_l at a node, for each stage l, as sparse (state, top) matrices."""
    rows = list(range(len(reduction.states)))
    columns, depths = [j for j, _ in reduction.states], _find_depths(reduction)
    weights = []
    for stage in range(NODES[method].size):
        powers = [np.linalg.matrix_power(compute_radau_matrix(method), depth)[node, stage] for depth in depths]
        entries = [float(a) * h**depth for a, depth in zip(powers, depths, strict=True)]
        shape = (len(rows), len(reduction.tops))
        weights.append(ca.SX.triplet(rows, columns, ca.vertcat(*entries), *shape) if rows else ca.SX(*shape))
    return weights


def _find_depths(reduction: Reduction) -> list[int]:
    """How many integrations separate each state from its T."""
    return [int(reduction.offsets.unknowns[j]) - k for j, k in reduction.states]
