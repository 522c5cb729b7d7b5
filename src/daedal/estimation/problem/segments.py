"""Experiments cut into pieces whose starts are unknowns of their own: the simulations of multiple shooting.

The model of a piece holds, at its start, as many states as the model has freedom, at parameters called nodes; which
ones is told by the null space of the constraints at the start of the first piece. All pieces report these states, so
that the end of one can be compared with the start of the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from daedal.estimation.problem.problem import Problem
from daedal.experiments import Experiment
from daedal.models import Model, Parameter
from daedal.simulation import Lanes, Predictor, Request, make_forcing, make_predictor, make_request
from daedal.symbolic import read_expression, symbol
from daedal.systems import System, build, find_initial_values

NODE = "node_"  # of the names of parameters at which the states of a piece start
STATE = "state_"  # of the names of the outputs that report them
AT_EDGE = 1e-9  # of a piece: a sample that is nearer to its end lies there


@dataclass(frozen=True, eq=False)
class Segment:
    """One piece of an experiment: its simulation, and where its samples lie among those of the experiment."""

    predictor: Predictor
    begin: float
    places: np.ndarray  # of its samples among the experiment's; its prediction has one more, at its end
    first: bool


@dataclass(frozen=True, eq=False)
class Segments:
    """The pieces of one experiment, and the states that tie them together."""

    pieces: tuple[Segment, ...]
    states: tuple[str, ...]
    outputs: int

    @property
    def nodes(self) -> int:
        """How many unknown starts there are."""
        return (len(self.pieces) - 1) * len(self.states)


def cut_segments(
    problem: Problem, experiment: Experiment, values: Mapping[str, float], count: int, solver: Lanes
) -> Segments:
    """Cut an experiment into pieces of equal length in time."""
    asked = make_request(experiment.system, experiment.drive)
    start, end = asked.forcing.start, asked.forcing.end
    states, held = choose_free_states(problem.system, asked, values)
    whole = build(_report_states(problem.system.model, states))
    piece = build(make_piece_model(problem.system.model, states, held))
    edges = np.linspace(start, end, count + 1)
    owner = np.clip(np.searchsorted(edges, asked.times, side="left") - 1, 0, count - 1)
    outputs = (*experiment.outputs, *(STATE + str(k) for k in range(len(states))))
    pieces = []
    for number in range(count):
        first = number == 0
        system = whole if first else piece
        places = np.flatnonzero(owner == number)
        inside, edge = asked.times[places], edges[number + 1]
        near = max(AT_EDGE * (edge - edges[number]), 2.0 * float(np.spacing(abs(edge))))
        times = inside if inside.size and edge - inside[-1] <= near else np.append(inside, edge)
        request = Request(
            system, times, make_forcing(system, asked.forcing.signals, float(edges[number]), float(times[-1]))
        )
        free = problem.coordinates.parameters if first else (*problem.coordinates.parameters, *name_nodes(states))
        given = dict(values) if first else {**values, **dict(zip(name_nodes(states), held.values(), strict=True))}
        simulation = make_predictor(request, outputs, free, given, solver, None, 0, "fit")
        pieces.append(Segment(simulation, float(edges[number]), places, first))
    return Segments(tuple(pieces), states, len(experiment.outputs))


def name_nodes(states: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters at which these states start."""
    return tuple(NODE + str(k) for k in range(len(states)))


def choose_free_states(
    system: System, asked: Request, values: Mapping[str, float]
) -> tuple[tuple[str, ...], dict[str, float]]:
    """States that may be given freely, as many as the model has freedom, and the values of all of them at the start."""
    from scipy.linalg import null_space, qr

    begin = asked.forcing.start
    exogenous = asked.forcing.at(begin)
    start = find_initial_values(system, begin, values, exogenous)
    names = system.states
    if system.reduction.G.shape[0] == 0:
        chosen = np.arange(len(names))
    else:
        point = [begin, start.states, start.tops, system.parameter_vector(values), exogenous]
        space = null_space(system.function("constraints_jacobian")(*point).full())
        order = np.asarray(qr(space.T, mode="economic", pivoting=True)[-1])
        chosen = np.sort(order[: space.shape[1]])
    return tuple(names[k] for k in chosen), {names[k]: float(start.states[k]) for k in chosen}


def make_piece_model(model: Model, states: tuple[str, ...], held: Mapping[str, float]) -> Model:
    """The model that starts with these states at parameters."""
    reporting = _report_states(model, states)
    nodes = {symbol(name): Parameter(held[state]) for name, state in zip(name_nodes(states), states, strict=True)}
    released = dict.fromkeys(model.initial)
    guesses = {name: value for name, value in model.initial.items() if name not in states}
    extended = reporting.with_parameters(nodes).with_initial(released) if released else reporting.with_parameters(nodes)
    starts = {read_expression(state): node for state, node in zip(states, nodes, strict=True)}
    return extended.with_initial(starts).with_guess(guesses) if guesses else extended.with_initial(starts)


def _report_states(model: Model, states: tuple[str, ...]) -> Model:
    return model.with_outputs({STATE + str(k): read_expression(name) for k, name in enumerate(states)})
