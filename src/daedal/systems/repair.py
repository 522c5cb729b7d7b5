"""When cancellation fools the structure: combine equations that depend on each other numerically.

If J = ∂top/∂T is singular at every point tried, some u ≠ 0 has uᵀJ = 0. Let l be the row of smallest c among those with
u_i ≠ 0, scaled to u_l = 1. Replacing

    f_l   by   Σ_i u_i f_i^(c_i − c_l)

removes the highest derivatives v_j^(d_j − c_l) from it: they cancel, and numbers are put in their place because the
expression still contains them. The structure is then analysed again. u is found as an expression of parameters and
states by elimination (`daedal.linear.factorize`), so that parameter values may change later.

Reference: G. Tan, N. S. Nedialkov, J. D. Pryce, Conversion methods for improving structural analysis of
differential-algebraic equation systems, BIT 57 (2017) 845–865 (the linear combination method).
"""

from dataclasses import replace

import casadi as ca
import numpy as np

from daedal.analysis import Equations
from daedal.errors import StructureError, quoted
from daedal.linear import factorize
from daedal.symbolic import intern_symbol, jet, list_symbols, name_derivative, stack_symbols
from daedal.systems.reduction import Reduction, differentiate_equations
from daedal.systems.regularity import Defect, choose_independent_columns

MATCHES = 1e-7  # relative agreement of an expression with and without the terms that should cancel
NOTHING = 1e-12  # relative size of what is left when two equations say the same thing


def combine(reduction: Reduction, defect: Defect, points: list[list[np.ndarray]], model: str) -> tuple[Equations, str]:
    """Equations with one of the dependent ones replaced, and a sentence about it."""
    c, d = reduction.offsets.equations, reduction.offsets.unknowns
    names = reduction.equations.find_typed_names(defect.rows)
    chosen = min(defect.rows, key=lambda i: (c[i], -i))
    others = [i for i in defect.rows if i != chosen]
    lift = np.where(np.isin(np.arange(c.size), defect.rows), c - c[chosen], 0)
    levels = differentiate_equations(reduction.equations, lift)
    factors = _solve_dependence(reduction, chosen, others, points[0])
    parts = [levels[chosen, 0], *(u * levels[i, int(lift[i])] for i, u in zip(others, factors, strict=True))]
    combined, size = sum(parts[1:], parts[0]), _estimate_size(parts)
    cancelling = {
        name_derivative(v, int(d[j] - c[chosen]))
        for j, v in enumerate(reduction.equations.unknowns)
        if d[j] >= c[chosen]
    }
    cancelling.update(_find_negligible(parts, reduction, points))
    lower = _remove_cancelling(combined, size, cancelling, reduction, points)
    if lower is None:
        raise StructureError(
            f"In model '{model}' terms cancel between {quoted(names)} in a way that hides their true structure.",
            "Combine them by hand so that the cancelling terms disappear.",
        )
    _refuse_dependent(lower, size, reduction, points, names, defect, model)
    residuals = ca.vertcat(*(lower if i == chosen else reduction.equations.residuals[i] for i in range(c.size)))
    replaced = reduction.equations.names[chosen]
    sentence = f"terms cancel between {quoted(names)}; '{replaced}' was replaced by a combination of them"
    used = reduction.equations.find_typed_orders({i: int(lift[i]) for i in defect.rows})
    origins = {**reduction.equations.origins, replaced: used}
    return replace(reduction.equations, residuals=residuals, origins=origins), sentence


def _solve_dependence(reduction: Reduction, chosen: int, others: list[int], point: list[np.ndarray]) -> list[ca.SX]:
    """u of the other rows for u = 1 of the chosen one: J[others, K]ᵀ u = −J[chosen, K]ᵀ, K as independent as can be."""
    if not others:
        return []
    numbers = reduction.top_jacobian(*point).full()[others]
    columns = choose_independent_columns(numbers)
    factors = factorize(reduction.J[others, columns].T, numbers[:, columns].T)
    return ca.vertsplit(factors.solve(-reduction.J[chosen, columns].T))


def _remove_cancelling(
    combined: ca.SX, size: ca.SX, names: set[str], reduction: Reduction, points: list[list[np.ndarray]]
) -> ca.SX | None:
    """The expression with numbers for the names that cancel; None when it does depend on them."""
    present = [intern_symbol(name).sx for name in list_symbols(combined) if name in names]
    for number in (0.0, 1.0):
        lower = (
            ca.substitute(combined, ca.vertcat(*present), ca.SX.ones(len(present)) * number) if present else combined
        )
        both = ca.Function("both", reduction.arguments, [combined, lower, size])
        values = [[float(entry) for entry in both(*point)] for point in points]
        if all(np.isfinite(row).all() for row in values):
            close = all(abs(a - b) <= MATCHES * magnitude for a, b, magnitude in values)
            return lower if close else None
    return None


def _find_negligible(parts: list[ca.SX], reduction: Reduction, points: list[list[np.ndarray]]) -> list[str]:
    """Unknowns on which a sum depends only by round-off, although its parts do: they cancel as well."""
    unknowns = set(reduction.equations.unknowns)
    names = [name for name in list_symbols(ca.vertcat(*parts)) if jet(name)[0] in unknowns]
    slopes = ca.densify(ca.jacobian(ca.vertcat(*parts), stack_symbols(names)))
    function = ca.Function("slopes", reduction.arguments, [slopes])
    values = np.array([function(*point).full() for point in points])
    size = np.abs(values).sum(axis=1)
    small = np.all(np.abs(values.sum(axis=1)) <= NOTHING * size, axis=0) & np.any(size > 0, axis=0)
    return [name for name, cancels in zip(names, small, strict=True) if cancels]


def _estimate_size(parts: list[ca.SX]) -> ca.SX:
    """A magnitude to judge the cancellation of a sum by: |f| and Σ |v ∂f/∂v| of each part before they are added."""
    size = ca.SX(0)
    for part in parts:
        leaves = ca.vertcat(*ca.symvar(part))
        size += ca.fabs(part) + ca.mtimes(ca.fabs(ca.jacobian(part, leaves)), ca.fabs(leaves))
    return size


def _refuse_dependent(
    lower: ca.SX,
    size: ca.SX,
    reduction: Reduction,
    points: list[list[np.ndarray]],
    names: list[str],
    defect: Defect,
    model: str,
) -> None:
    """Nothing left of the combination: the equations repeat or contradict each other."""
    unknowns = set(reduction.equations.unknowns)
    if any(jet(name)[0] in unknowns for name in list_symbols(lower)):
        return
    both = ca.Function("rest", reduction.arguments, [lower, size])
    rests = [[float(entry) for entry in both(*point)] for point in points]
    repeats = all(abs(rest) <= NOTHING * magnitude for rest, magnitude in rests)
    verdict = "say the same thing" if repeats else "contradict each other"
    raise StructureError(
        f"In model '{model}' the equations {quoted(names)} {verdict}, and {quoted(defect.columns)} "
        f"{'is' if len(defect.columns) == 1 else 'are'} not determined.",
        f"Replace one of {quoted(names)} by an equation that determines {quoted(defect.columns)}.",
    )
