"""What switches ask of the reduced system: functions of states where they can be, no impacts, no loops of samples."""

from dataclasses import replace

import casadi as ca
import numpy as np

from daedal.errors import ModelError
from daedal.symbolic import Held, find_operator, intern_symbol, list_symbols, stack_symbols
from daedal.systems.reduction import Reduction
from daedal.systems.regularity import find_rank

LOOP = 1e-9  # of its terms: an effect of a held value on its own sample below this is none


def trace_definitions(reduction: Reduction) -> Reduction:
    """The same, with switching functions in terms of states where equations define what they contain: r == u − v.

    A function of states can be followed while it slides, and is known without solving anything.
    """
    switching, equations = reduction.switching, reduction.equations
    assert switching is not None
    definitions = _find_definitions(reduction)
    if not definitions:
        return reduction
    inside = {name for switch in switching.switches for name in list_symbols(switch.function)}
    if not inside.intersection(definitions):
        return reduction
    old, new = stack_symbols(definitions), ca.vertcat(*definitions.values())

    def trace(function: ca.SX) -> ca.SX:
        for _ in equations.names:
            if not set(list_symbols(function)).intersection(definitions):
                break
            function = ca.substitute(function, old, new)
        return function

    switches = tuple(replace(switch, function=trace(switch.function)) for switch in switching.switches)
    tables = tuple(replace(table, argument=trace(table.argument)) for table in switching.tables)
    return replace(reduction, switching=replace(switching, switches=switches, tables=tables))


def _find_definitions(reduction: Reduction) -> dict[str, ca.SX]:
    """What is solved for and an equation gives outright, by states, inputs and other such, without a mode in it."""
    equations = reduction.equations
    tops = {reduction.name_jet(top) for top in reduction.tops}
    rows = [row for row in ca.vertsplit(reduction.top) if not set(list_symbols(row)).intersection(equations.modes)]
    definitions: dict[str, ca.SX] = {}
    while True:
        waiting = []
        for row in rows:
            open_names = [name for name in list_symbols(row) if name in tops and name not in definitions]
            if len(open_names) != 1:
                waiting += [row] * bool(open_names)
                continue
            unknown = intern_symbol(open_names[0]).sx
            factor = ca.jacobian(row, unknown)
            if set(list_symbols(factor)) <= equations.constants:
                definitions[open_names[0]] = -ca.substitute(row, unknown, 0) / factor
        if len(waiting) == len(rows):
            return definitions
        rows = waiting


def refuse_impacts(model: str, reduction: Reduction) -> None:
    """Equations that are differentiated must not jump, and if they are twice, not have a kink."""
    equations, switching = reduction.equations, reduction.switching
    assert switching is not None
    forbidden = {switch.mode: 0 if switch.jumps else 1 for switch in switching.switches}
    texts = {switch.mode: switch.text for switch in switching.switches}
    texts |= {known.name: known.text for known in switching.known}
    for table in switching.tables:
        forbidden[table.level], texts[table.level] = forbidden[table.modes[0]], texts[table.modes[0]]
    forbidden |= dict.fromkeys((*switching.held, *(known.name for known in switching.known)), 0)
    for i, order in enumerate(reduction.offsets.equations.tolist()):
        bent = {switching.bends[0].text: 0} if i in switching.bent_rows else {}
        for name in (*list_symbols(equations.residuals[i]), *bent):
            if order > {**forbidden, **bent}.get(name, order):
                typed = " and ".join(f"'{one}'" for one in equations.find_typed_names([i]))
                raise ModelError(
                    f"Equation {typed} of model '{model}' is differentiated, so that something would have to jump when "
                    f"'{texts.get(name, name)}' changes; impacts are not simulated.",
                    "Let a force, not a constraint, depend on it; or make the change smooth.",
                )


def refuse_loops(model: str, reduction: Reduction, points: list[list[np.ndarray]]) -> None:
    """Held values that arrive at once must not decide what is sampled at that instant, nor through one another."""
    switching = reduction.switching
    assert switching is not None
    prompt = [name for name in switching.held if _arrives_at_once(name)]
    rows = [list(switching.held).index(name) for name in prompt]
    columns = [reduction.exogenous.index(name) for name in prompt]
    function = ca.Function("loop", reduction.arguments, [reduction.J, *_differentiate_samples(reduction)])
    acts = np.zeros((len(prompt), len(prompt)), dtype=bool)
    for point in points:
        J, by_tops, by_held, tops = (part.full() for part in function(*point))
        if np.isfinite(J).all() and find_rank(J).rank == len(J):
            moved, direct = np.linalg.solve(J, tops[:, columns]), by_held[np.ix_(rows, columns)]
            size = np.abs(direct) + np.abs(by_tops[rows]) @ np.abs(moved)
            acts |= np.abs(direct - by_tops[rows] @ moved) > LOOP * size
    reach = acts
    for _ in prompt:
        reach = reach | ((reach.astype(int) @ acts.astype(int)) > 0)
    for k in np.flatnonzero(np.diag(reach)):
        raise ModelError(
            f"'{prompt[k]}' of model '{model}' is sampled from what it decides itself at the same instant.",
            "Let a state lie between the two, or give the hold a delay.",
        )


def _arrives_at_once(name: str) -> bool:
    meaning = find_operator(name)
    return isinstance(meaning, Held) and meaning.delay.sx.is_zero()


def _differentiate_samples(reduction: Reduction) -> list[ca.SX]:
    """Of samples by tops and exogenous values, and of top by the latter."""
    assert reduction.switching is not None
    samples = ca.vertcat(ca.SX(0, 1), *reduction.switching.held.values())
    w = reduction.arguments[-1]
    return [ca.jacobian(samples, reduction.T), ca.jacobian(samples, w), ca.jacobian(reduction.top, w)]
