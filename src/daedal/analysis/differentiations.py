"""How often a model differentiates its disturbances, from the structure of its equations alone.

Let m_j be the highest derivative of a disturbance w on which unknown j depends, negative where w was integrated. Each
equation i is solved for the highest derivative s_ij of the unknown j that the signature method matches with it, so

    m_j + s_ij = max( max_k (m_k + s_ik), order of w in equation i ),

the largest solution of which is a longest path from w: the matching has the largest sum of orders, so that no circle
has a positive weight. A variable x⁽ʳ⁾ depends on w up to its derivative m + r. With coefficients in general position
this is the true order (Murota 2000, section 6.2); where terms cancel it is too high. A delayed value depends on what it
delays, and may close a circle of positive weight: an equation of advanced type. Held and latched values are counted in
the same way.

J. D. Pryce, A simple structural analysis method for DAEs, BIT 41 (2001) 364–394. K. Murota, Matrices and Matroids for
Systems Analysis, Springer 2000.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedal.analysis.equations import Equations, find_incidence
from daedal.analysis.signature import find_transversal
from daedal.errors import StructureError
from daedal.symbolic import Delayed, Derivative, Held, Latched, find_operator, jet, list_symbols


@dataclass(frozen=True, eq=False)
class Differentiations:
    """The highest derivative of each disturbance on which each unknown depends, (unknown, disturbance), or −inf."""

    unknowns: tuple[str, ...]
    disturbances: tuple[str, ...]
    orders: np.ndarray

    def of_symbol(self, name: str) -> np.ndarray:
        """The same for a symbol, its derivative, a delayed value or the like, (disturbance,)."""
        meaning = find_operator(name)
        if meaning is not None and not isinstance(meaning, Derivative):
            return self.of_expression(ca.vertcat(*_list_parts(meaning)))
        base, order = jet(name)
        if base in self.unknowns:
            return self.orders[self.unknowns.index(base)] + order
        return np.where([base == other for other in self.disturbances], float(order), -np.inf)

    def of_expression(self, sx: ca.SX) -> np.ndarray:
        """The same for an expression whose derivatives are all of plain symbols."""
        orders = [self.of_symbol(name) for name in list_symbols(sx)]
        return np.max(orders, axis=0) if orders else np.full(len(self.disturbances), -np.inf)


def count_differentiations(model: str, equations: Equations, disturbances: Sequence[str]) -> Differentiations:
    """Longest paths from the disturbances to the unknowns of a model whose equations can be matched.

    Examples
    --------
    >>> from daedal import der, symbols
    >>> x, y, w = symbols("x y w")
    >>> chain = Equations(("a", "b"), ca.vertcat((y - der(x)).sx, (x - w).sx), ("x", "y"), frozenset())
    >>> count_differentiations("chain", chain, ["w"]).orders
    array([[0.],
           [1.]])
    """
    present = find_incidence(equations)
    match = find_transversal(present)
    assert match is not None, "whoever asks has found a matching"
    solved = np.zeros(len(match), dtype=int)  # the order s_ij that equation i is solved for
    own = present.columns == match[present.rows]
    solved[present.rows[own]] = present.orders[own]
    others = np.column_stack([present.rows, present.columns, present.orders])[~own]
    rows, columns, orders = np.vstack([others, _trace_delays(equations, equations.unknowns)]).T
    weights = (orders - solved[rows])[:, None]
    driven = find_incidence(replace(equations, unknowns=tuple(disturbances)))
    sources = np.column_stack([driven.rows, driven.columns, driven.orders])
    source_rows, source_columns, source_orders = np.vstack([sources, _trace_delays(equations, disturbances)]).T
    direct = np.full((len(match), len(disturbances)), -np.inf)
    np.maximum.at(direct, (match[source_rows], source_columns), source_orders - solved[source_rows])
    longest = direct
    for _ in range(len(match) + 1):
        further = direct.copy()
        np.maximum.at(further, match[rows], longest[columns] + weights)
        if np.array_equal(further, longest):
            return Differentiations(equations.unknowns, tuple(disturbances), longest)
        longest = further
    raise StructureError(
        f"Delays or holds in model '{model}' make its unknowns depend on ever higher derivatives of their own past.",
        "Write the equations so that no delayed or held value is differentiated more often than the present one.",
    )


def _trace_delays(equations: Equations, names: Sequence[str]) -> np.ndarray:
    """(equation, place in `names`, order) of what delayed values and the like are made of."""
    place = {name: j for j, name in enumerate(names)}
    entries = [
        (i, place[base], order)
        for i, row in enumerate(ca.vertsplit(equations.residuals))
        for operand in list_operands(row)
        for base, order in map(jet, list_symbols(operand))
        if base in place
    ]
    return np.array(entries, dtype=int).reshape(-1, 3)


def list_operands(sx: ca.SX) -> list[ca.SX]:
    """What the delayed, held and latched values of an expression are made of, and those in those."""
    meanings = [meaning for name in list_symbols(sx) if (meaning := find_operator(name)) is not None]
    direct = [part for meaning in meanings if not isinstance(meaning, Derivative) for part in _list_parts(meaning)]
    return direct + [inner for operand in direct for inner in list_operands(operand)]


def _list_parts(meaning: Delayed | Held | Latched) -> list[ca.SX]:
    """What an operator is applied to, and thresholds, which may move too; amounts of parameters add nothing."""
    return [meaning.operand.sx, *(amount.sx for amount in meaning.amounts)]
