"""What a descriptor system differentiates: the polynomial part of its transfer function.

    H (sE − F)⁻¹ J = C (sI − A)⁻¹ B + Σ_j D_j sʲ,     D_j = −H Q₂ Nʲ P₂ J,   j < index

with P₂, Q₂ and N the part of the standard form that follows at once: D_j multiplies the j-th derivative of what drives
the system (Gerdin et al. 2006, (A.7) and (B.13)). Whether D_j vanishes is decided in natural units, relative to

    |h Q₂ Nʲ P₂ j| ≤ ‖h‖ ‖Q₂ Nʲ P₂‖ ‖j‖,

so that neither the units of variables, equations and time nor the size of the noise play a role. Of h and j only what
the other can reach counts: an equation that h does not see may have much larger units. A variable hears of the equation
that it is matched with, and of those of the variables in that one.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_bipartite_matching

from daedal.linear import StandardForm

ZERO = 1e-9  # relative: rounding reaches 1e-13, a coefficient of a real model is rarely below 1e-5


@final
@dataclass(frozen=True, eq=False)
class PolynomialPart:
    """D_j as (j, output, source), and how large each entry is relative to its natural size."""

    coefficients: np.ndarray
    sizes: np.ndarray

    @property
    def orders(self) -> np.ndarray:
        """The highest j with an entry that is not zero, (output, source); −1 where there is none."""
        count = len(self.sizes)
        held = np.where(self.sizes > ZERO, np.arange(count)[:, None, None], -1)
        return held.max(axis=0, initial=-1)


def find_polynomial_part(J: np.ndarray, H: np.ndarray, form: StandardForm) -> PolynomialPart:
    """The polynomial part of H (sE − F)⁻¹ J, from the standard form of the pencil.

    Examples
    --------
    >>> from daedal.linear import reduce_to_standard_form
    >>> E, F = np.array([[0.0, 1.0], [0.0, 0.0]]), np.eye(2)
    >>> form = reduce_to_standard_form(E, F)
    >>> find_polynomial_part(np.array([[0.0], [1.0]]), np.eye(2), form).orders
    array([[1],
           [0]])
    """
    rows, columns = form.units
    left, right = form.Q[:, form.evolving :], form.P[form.evolving :]
    around = _measure(H * columns, rows[:, None] * J, form.filled)
    coefficients, sizes = [], []
    for _ in range(form.index):
        inner = left @ right
        coefficients.append(-H @ inner @ J)
        natural = around * np.linalg.norm(inner / columns[:, None] / rows)
        sizes.append(np.divide(np.abs(coefficients[-1]), natural, out=np.zeros_like(natural), where=natural > 0.0))
        right = form.N @ right
    shape = (form.index, len(H), J.shape[1])
    return PolynomialPart(np.array(coefficients).reshape(shape), np.array(sizes).reshape(shape))


def _measure(H: np.ndarray, J: np.ndarray, filled: np.ndarray) -> np.ndarray:
    """‖h‖ ‖j‖ of each output and source, of the variables and equations by which the source reaches the output."""
    matched = maximum_bipartite_matching(csr_array(filled), perm_type="row")  # the equation of each variable
    heard = csr_array(filled[matched])  # variable → variables in its equation
    seen = _follow(H != 0.0, heard)  # (output, variable): those whose equations matter
    moved = _follow((J[matched] != 0.0).T, heard.T.tocsr())  # (source, variable): those that it moves
    outputs, sources = H**2 @ moved.T, seen @ J[matched] ** 2
    return np.sqrt(outputs * sources)


def _follow(begin: np.ndarray, graph: csr_array) -> np.ndarray:
    """What can be reached from each set of nodes, itself included."""
    reached = np.zeros_like(begin)
    for row, first in zip(reached, begin, strict=True):
        for node in np.flatnonzero(first):
            if not row[node]:
                row[breadth_first_order(graph, node, return_predecessors=False)] = True
    return reached
