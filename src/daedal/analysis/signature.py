"""Pryce's signature method: how often each equation must be differentiated.

Given the signature s_ij (highest derivative of unknown j in equation i), find a transversal of maximal Σ s_ij and the
smallest offsets c, d ≥ 0 with

    d_j − c_i ≥ s_ij everywhere,   d_j − c_i = s_ij on the transversal,

by iterating d_j = max_i (s_ij + c_i), c_i = d_j(i) − s_i,j(i) from c = 0. Equation i is differentiated c_i times; the
derivatives of unknown j below d_j are fixed by the past, the d_j-th is solved for. Then

    index = max c + (1 if some d_j = 0),   degrees of freedom = Σ d − Σ c.

Reference: J. D. Pryce, A simple structural analysis method for DAEs, BIT 41 (2001) 364–394.
"""

from dataclasses import dataclass

import numpy as np

from daedal.analysis.equations import Incidence


@dataclass(frozen=True)
class Offsets:
    """Differentiations c of the equations and orders d of the unknowns."""

    equations: np.ndarray
    unknowns: np.ndarray

    @property
    def degrees_of_freedom(self) -> int:
        """Σ d − Σ c."""
        return int(self.unknowns.sum() - self.equations.sum())


def find_offsets(incidence: Incidence) -> Offsets | None:
    """The smallest offsets; None when no transversal exists (structurally singular)."""
    match = find_transversal(incidence)
    if match is None:
        return None
    rows, columns, orders = incidence.rows, incidence.columns, incidence.orders
    matched = np.zeros(incidence.equations, dtype=int)
    on_match = columns == match[rows]
    matched[rows[on_match]] = orders[on_match]
    c = np.zeros(incidence.equations, dtype=int)
    while True:
        d = incidence.least.copy()
        np.maximum.at(d, columns, orders + c[rows])
        raised = d[match] - matched
        if np.array_equal(raised, c):
            return Offsets(c, d)
        c = raised


def find_transversal(incidence: Incidence) -> np.ndarray | None:
    """The unknown matched to each equation, with the largest sum of orders."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    if incidence.equations != incidence.unknowns or incidence.equations == 0:
        return None
    # A weight of zero would count as no entry; adding one to all weights changes every full matching alike.
    shape = (incidence.equations, incidence.unknowns)
    weights = csr_array((incidence.orders + 1.0, (incidence.rows, incidence.columns)), shape=shape)
    try:
        rows, columns = min_weight_full_bipartite_matching(weights, maximize=True)
    except ValueError:
        return None
    match = np.empty(incidence.equations, dtype=int)
    match[rows] = columns
    return match
