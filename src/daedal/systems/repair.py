"""When cancellation fools the structure: find dependent equations numerically, combine them symbolically.

If J = ∂top/∂T is singular at every point tried, some u ≠ 0 has uᵀJ = 0. Let l be the row of smallest c among those with
u_i ≠ 0, scaled to u_l = 1. Replacing

    f_l   by   Σ_i u_i f_i^(c_i − c_l)

removes the highest derivatives v_j^(d_j − c_l) from it: they cancel, and numbers are put in their place because the
expression still contains them. The structure is then analysed again. u is found as an expression of parameters and
states by elimination with numerically chosen pivots, so that parameter values may change later.

Reference: G. Tan, N. S. Nedialkov, J. D. Pryce, Conversion methods for improving structural analysis of
differential-algebraic equation systems, BIT 57 (2017) 845–865 (the linear combination method).
"""

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedal.analysis import Equations
from daedal.errors import StructureError, quoted
from daedal.symbolic import derivative_name, interned, jet, symbols_in
from daedal.systems.reduction import Reduction, differentiated
from daedal.systems.regularity import echelon, independent_columns, participants, rank_of

MATCHES = 1e-7  # relative agreement of an expression with and without the terms that should cancel


@dataclass(frozen=True)
class Defect:
    """Rows of J that depend on each other at every point tried, and the columns that stay undetermined."""

    rows: tuple[int, ...]
    columns: tuple[str, ...]


def find_defect(reduction: Reduction, points: list[list[np.ndarray]]) -> Defect | None:
    """A smallest set of dependent rows of J, or None when J is regular somewhere."""
    function = ca.Function("top_jacobian", reduction.arguments, [reduction.J])
    defect = None
    for point in points:
        rank = rank_of(function(*point).full())
        if rank.left.shape[1] == 0:
            return None
        if defect is None:
            vectors = echelon(rank.left)
            sparsest = vectors[:, np.argmin(np.count_nonzero(vectors, axis=0))]
            rows = tuple(int(i) for i in np.flatnonzero(sparsest))
            columns = participants(np.max(np.abs(rank.right), axis=1), reduction.top_names)
            defect = Defect(rows, tuple(columns))
    return defect


def combine(
    reduction: Reduction, defect: Defect, points: list[list[np.ndarray]], model: str
) -> tuple[Equations, str, int]:
    """Equations with one of the dependent ones replaced, a sentence about it, and the differentiations it took."""
    c, d = reduction.offsets.equations, reduction.offsets.unknowns
    names = [reduction.equations.names[i] for i in defect.rows]
    chosen = min(defect.rows, key=lambda i: (c[i], -i))
    others = [i for i in defect.rows if i != chosen]
    lift = np.where(np.isin(np.arange(c.size), defect.rows), c - c[chosen], 0)
    levels = differentiated(reduction.equations, lift)
    factors = _dependence(reduction, chosen, others, points[0])
    combined = levels[chosen, 0]
    for i, factor in zip(others, factors, strict=True):
        combined += factor * levels[i, int(lift[i])]
    cancelling = [
        derivative_name(v, int(d[j] - c[chosen]))
        for j, v in enumerate(reduction.equations.unknowns)
        if d[j] >= c[chosen]
    ]
    lower = _without(combined, cancelling, reduction, points)
    if lower is None:
        raise StructureError(
            f"In model '{model}' terms cancel between {quoted(names)} in a way that hides their true structure.",
            "Combine them by hand so that the cancelling terms disappear.",
        )
    _refuse_dependent(lower, reduction, points, names, defect, model)
    residuals = ca.vertcat(*(lower if i == chosen else reduction.equations.residuals[i] for i in range(c.size)))
    replaced = reduction.equations.names[chosen]
    sentence = f"terms cancel between {quoted(names)}; '{replaced}' was replaced by a combination of them"
    return replace(reduction.equations, residuals=residuals), sentence, int(lift.max())


def _dependence(reduction: Reduction, chosen: int, others: list[int], point: list[np.ndarray]) -> list[ca.SX]:
    """u of the other rows for u = 1 of the chosen one: solve J[others, K]ᵀ u = −J[chosen, K]ᵀ by elimination."""
    numeric = ca.Function("top_jacobian", reduction.arguments, [reduction.J])(*point).full()
    columns = independent_columns(numeric[others])
    rows = [[reduction.J[i, j] for i in others] + [-reduction.J[chosen, j]] for j in columns]
    value = ca.Function("entry", reduction.arguments, [ca.vertcat(*(ca.horzcat(*row) for row in rows))])
    numbers = value(*point).full()
    for k in range(len(others)):
        best = k + int(np.argmax(np.abs(numbers[k:, k])))
        rows[k], rows[best] = rows[best], rows[k]
        numbers[[k, best]] = numbers[[best, k]]
        for i in range(len(others)):
            if i != k and numbers[i, k] != 0.0:
                factor, ratio = rows[i][k] / rows[k][k], numbers[i, k] / numbers[k, k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
                numbers[i] -= ratio * numbers[k]
    return [rows[k][-1] / rows[k][k] for k in range(len(others))]


def _without(combined: ca.SX, names: list[str], reduction: Reduction, points: list[list[np.ndarray]]) -> ca.SX | None:
    """The expression with numbers for the names that cancel; None when it does depend on them."""
    present = [interned(name).sx for name in names if name in set(symbols_in(combined))]
    for number in (0.0, 1.0):
        lower = (
            ca.substitute(combined, ca.vertcat(*present), ca.SX.ones(len(present)) * number) if present else combined
        )
        both = ca.Function("both", reduction.arguments, [combined, lower, _size(combined)])
        values = [[float(entry) for entry in both(*point)] for point in points]
        if all(np.isfinite(row).all() for row in values):
            close = all(abs(a - b) <= MATCHES * max(size, abs(a)) for a, b, size in values)
            return lower if close else None
    return None


def _size(sx: ca.SX) -> ca.SX:
    """A magnitude to judge cancellation by: Σ |∂f/∂v| over everything f contains, plus |f|."""
    leaves = ca.vertcat(*ca.symvar(sx))
    return ca.fabs(sx) + ca.sum2(ca.fabs(ca.jacobian(sx, leaves)))


def _refuse_dependent(
    lower: ca.SX, reduction: Reduction, points: list[list[np.ndarray]], names: list[str], defect: Defect, model: str
) -> None:
    """Nothing left of the combination: the equations repeat or contradict each other."""
    unknowns = set(reduction.equations.unknowns)
    if any(jet(name)[0] in unknowns for name in symbols_in(lower)):
        return
    function = ca.Function("rest", reduction.arguments, [lower])
    repeats = all(abs(float(function(*point))) < MATCHES for point in points)
    verdict = "say the same thing" if repeats else "contradict each other"
    raise StructureError(
        f"In model '{model}' the equations {quoted(names)} {verdict}, and {quoted(defect.columns)} "
        f"{'is' if len(defect.columns) == 1 else 'are'} not determined.",
        f"Replace one of {quoted(names)} by an equation that determines {quoted(defect.columns)}.",
    )
