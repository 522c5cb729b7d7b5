"""Dulmage–Mendelsohn: which equations are too many, and which unknowns are left over.

From a maximum matching of equations and unknowns, everything reachable by alternating paths from an unmatched equation
is over-determined (more equations than unknowns), everything reachable from an unmatched unknown is under-determined.
"""

from dataclasses import dataclass

import numpy as np

from daedal.analysis.aliases import find_circle
from daedal.analysis.equations import Equations, Incidence
from daedal.errors import StructureError, counted, quoted


@dataclass(frozen=True)
class Imbalance:
    """The over- and under-determined parts, as positions."""

    over_equations: list[int]
    over_unknowns: list[int]
    under_equations: list[int]
    under_unknowns: list[int]


def dulmage_mendelsohn(incidence: Incidence) -> Imbalance:
    """The coarse decomposition; both parts are empty when equations and unknowns can be matched."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    shape = (incidence.equations, incidence.unknowns)
    pattern = csr_array((np.ones(incidence.rows.size), (incidence.rows, incidence.columns)), shape=shape)
    unknown_of = maximum_bipartite_matching(pattern, perm_type="column")
    equation_of = np.full(incidence.unknowns, -1)
    matched = np.flatnonzero(unknown_of >= 0)
    equation_of[unknown_of[matched]] = matched
    over = _find_reachable(np.flatnonzero(unknown_of < 0), pattern, equation_of)
    under = _find_reachable(np.flatnonzero(equation_of < 0), csr_array(pattern.T), unknown_of)
    return Imbalance(over[0], over[1], under[1], under[0])


def _find_reachable(start: np.ndarray, pattern, partner: np.ndarray) -> tuple[list[int], list[int]]:
    """Rows and columns reached from rows `start` along: any edge row → column, matched edge column → row."""
    rows, columns = set(start.tolist()), set()
    waiting = list(rows)
    while waiting:
        row = waiting.pop()
        for column in pattern.indices[pattern.indptr[row] : pattern.indptr[row + 1]].tolist():
            if column not in columns:
                columns.add(column)
                following = int(partner[column])
                if following >= 0 and following not in rows:
                    rows.add(following)
                    waiting.append(following)
    return sorted(rows), sorted(columns)


def explain_singularity(
    model: str, incidence: Incidence, equations: tuple[str, ...], unknowns: tuple[str, ...]
) -> StructureError:
    """The sentence for a model whose equations cannot determine its unknowns."""
    parts = dulmage_mendelsohn(incidence)
    over = [equations[i] for i in parts.over_equations]
    inside = [unknowns[j] for j in parts.over_unknowns]
    under = [unknowns[j] for j in parts.under_unknowns]
    around = [equations[i] for i in parts.under_equations]
    sentences, remedies = [], []
    if over:
        content = f"only {counted(len(inside), 'unknown')} ({quoted(inside)})" if inside else "no unknown"
        sentences.append(f"the {counted(len(over), 'equation')} {quoted(over)} contain{_end_verb(over)} {content}")
        surplus = f"{len(over) - len(inside)} of {quoted(over)}" if inside else quoted(over)
        remedies.append(f"Remove {surplus}, or free something in {'it' if len(over) == 1 else 'them'}.")
    if under:
        place = f"only in {quoted(around)}" if around else "in no equation"
        sentences.append(f"the unknown{'s' * (len(under) != 1)} {quoted(under)} occur{_end_verb(under)} {place}")
        missing = len(under) - len(around)
        remedies.append(f"Add {counted(missing, 'equation')} that contain{'s' * (missing == 1)} {quoted(under)}.")
    counts = f"{counted(len(equations), 'equation')} for {counted(len(unknowns), 'unknown')}: "
    balance = counts if len(equations) != len(unknowns) else ""
    return StructureError(f"Model '{model}' cannot be solved, {balance}{'; '.join(sentences)}.", " ".join(remedies))


def explain_repetition(model: str, typed: Equations, reduced: Equations, inner: Incidence) -> StructureError:
    """The sentence for equations that only name each other in a circle: a == b, b == a."""
    empty = sorted(set(range(inner.equations)) - set(inner.rows.tolist()))
    eliminated = set(typed.names) - set(reduced.names)
    for name in (reduced.names[i] for i in empty):
        names = sorted([*find_circle(typed, eliminated, name), name], key=typed.names.index)
        under = [reduced.unknowns[j] for j in dulmage_mendelsohn(inner).under_unknowns]
        if len(names) > 1:
            return StructureError(
                f"Model '{model}' cannot be solved, the equations {quoted(names)} say the same thing, and "
                f"{quoted(under)} {'is' if len(under) == 1 else 'are'} not determined.",
                f"Replace one of {quoted(names)} by an equation that determines {quoted(under)}.",
            )
    return explain_singularity(model, inner, reduced.names, reduced.unknowns)


def _end_verb(subjects: list[str]) -> str:
    """The ending of the verb."""
    return "s" if len(subjects) == 1 else ""
