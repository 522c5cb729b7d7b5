"""Aliases: equations that only give a name to a derivative (x' = v) or to another unknown (a = ±b).

Each eliminated unknown is ± a derivative of a remaining one. This keeps a given velocity and the derivative of its
position one and the same, and shortens systems made of connected components.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import casadi as ca

from daedal.analysis.equations import Equations
from daedal.symbolic import intern_symbol, jet, list_symbols, name_derivative


@dataclass(frozen=True)
class Alias:
    """An unknown that is sign · the order-th derivative of `root`."""

    root: str
    order: int
    sign: int


def eliminate_aliases(equations: Equations) -> tuple[Equations, dict[str, Alias]]:
    """The remaining equations in the remaining unknowns, and what every unknown is in terms of those."""
    aliases = {name: Alias(name, 0, 1) for name in equations.unknowns}
    candidates = _find_candidates(equations)
    kept = [i for i in range(len(equations.names)) if i not in candidates or not _join(aliases, *candidates[i])]
    residuals = substitute_aliases(equations.residuals[kept], aliases)
    names = tuple(equations.names[i] for i in kept)
    roots = tuple(name for name in equations.unknowns if aliases[name].root == name)
    least: dict[str, int] = {}
    for alias in aliases.values():
        least[alias.root] = max(alias.order, least.get(alias.root, 0))
    return replace(equations, names=names, residuals=residuals, unknowns=roots, least=least), aliases


def _find_candidates(equations: Equations) -> dict[int, tuple[str, str, int]]:
    """Equations ±(a ∓ b) = 0 between two unknowns or derivatives: (a, b, sign) with a = sign · b."""
    unknowns = set(equations.unknowns)
    candidates = {}
    for i, residual in enumerate(ca.vertsplit(equations.residuals)):
        if residual.op() == ca.OP_NEG:
            residual = residual.dep(0)
        if residual.op() not in (ca.OP_SUB, ca.OP_ADD) or residual.n_dep() != 2:
            continue
        (a, s), (b, r) = _read_signed(residual.dep(0)), _read_signed(residual.dep(1))
        if a and b and jet(a)[0] in unknowns and jet(b)[0] in unknowns and a != b:
            candidates[i] = (a, b, s * r * (1 if residual.op() == ca.OP_SUB else -1))
    return candidates


def _read_signed(sx: ca.SX) -> tuple[str, int]:
    """Name and sign of ±symbol; an empty name for anything else."""
    if sx.is_symbolic():
        return sx.name(), 1
    if sx.op() == ca.OP_NEG and sx.dep(0).is_symbolic():
        return sx.dep(0).name(), -1
    return "", 1


def _join(aliases: dict[str, Alias], a: str, b: str, sign: int) -> bool:
    """Record a = sign · b; False when that would need an integration (x' = y') or closes a circle."""
    (base_a, order_a), (base_b, order_b) = jet(a), jet(b)
    first, second = aliases[base_a], aliases[base_b]
    if first.root == second.root:
        return False
    left, right = first.order + order_a, second.order + order_b
    if left == 0:
        _redirect(aliases, first.root, Alias(second.root, right, sign * first.sign * second.sign))
    elif right == 0:
        _redirect(aliases, second.root, Alias(first.root, left, sign * first.sign * second.sign))
    else:
        return False
    return True


def _redirect(aliases: dict[str, Alias], root: str, target: Alias) -> None:
    for name, alias in aliases.items():
        if alias.root == root:
            aliases[name] = Alias(target.root, target.order + alias.order, target.sign * alias.sign)


def find_circle(equations: Equations, eliminated: set[str], name: str) -> list[str]:
    """The eliminated equations that together already say what equation `name` says: a shortest path between its two
    unknowns."""
    edges = {equations.names[i]: (jet(a)[0], jet(b)[0]) for i, (a, b, _) in _find_candidates(equations).items()}
    if name not in edges:
        return []
    start, end = edges[name]
    paths: dict[str, list[str]] = {start: []}
    waiting = [start]
    for here in waiting:
        for equation, ends in edges.items():
            if equation in eliminated and here in ends:
                there = ends[0] if here == ends[1] else ends[1]
                if there not in paths:
                    paths[there] = [*paths[here], equation]
                    waiting.append(there)
    return paths.get(end, [])


def make_namer(aliases: Mapping[str, Alias]) -> Callable[[str, int], str]:
    """What the user calls a derivative of a remaining unknown: der(vx) for der(der(x)) where vx is der(x).

    A name with the opposite sign (vx == -der(x)) is another quantity and is not used.
    """
    named: dict[str, dict[int, str]] = {}
    for name, alias in aliases.items():
        if alias.sign > 0:
            named.setdefault(alias.root, {}).setdefault(alias.order, name)

    def name_jet(root: str, order: int) -> str:
        nearest = max(k for k in named[root] if k <= order)
        return name_derivative(named[root][nearest], order - nearest)

    return name_jet


def substitute_aliases(sx: ca.SX, aliases: Mapping[str, Alias]) -> ca.SX:
    """Any expression of the model in terms of the remaining unknowns."""
    old, new = [], []
    for name in list_symbols(sx):
        base, order = jet(name)
        alias = aliases.get(base)
        if alias is not None and alias.root != base:
            old.append(intern_symbol(name).sx)
            new.append(alias.sign * intern_symbol(name_derivative(alias.root, alias.order + order)).sx)
    return ca.substitute(sx, ca.vertcat(*old), ca.vertcat(*new)) if old else sx
