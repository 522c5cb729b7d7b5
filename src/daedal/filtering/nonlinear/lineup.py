"""Nonlinear models lined up with their data: what is open at the start, and how long the steps may be.

Steps begin at the sample interval, or shorter where the fastest disturbance asks for it, and are halved until −log L no
longer changes by more than a hundredth. Runge–Kutta of order six comes first; where it fails, the system is stiff, and
Radau IIA takes over.

Formulas with a kink, as maximum and abs, have a derivative everywhere but on one border, g = 0. A path that stays on
one side of every border is that of smooth equations: the formulas are left as they are typed, and afterwards it is
looked at whether g changes its sign along the path.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

import casadi as ca
import numpy as np

from daedal.errors import EstimationError, RefusalError, quoted
from daedal.experiments import Experiment
from daedal.filtering.experiment import InitialCondition
from daedal.filtering.nonlinear.discrete_model import NonlinearExperiment, make_nonlinear_experiment
from daedal.filtering.nonlinear.laplace import Laplace
from daedal.filtering.nonlinear.path import Linearized, Normals, find_path, rest, simulate_path
from daedal.filtering.nonlinear.path_starts import draw_paths, find_paths, follow_samples, regrid
from daedal.filtering.nonlinear.start import Spread
from daedal.filtering.parameter_point import Point
from daedal.models import as_tuple
from daedal.simulation import Method, find_disturbance_places
from daedal.symbolic import Expression, list_symbols
from daedal.systems import System, build, find_initial_values, keep_kinks

METHODS: tuple[Method, ...] = ("rk6", "radau5")
RESOLVED = 2.0  # rad: the fastest pole of a disturbance times a step
CLOSE_ENOUGH = 0.01  # change of −log L by halving the steps
HALVINGS = 6  # of the first steps
MOST_STEPS = 200_000
BORDER = "border of a kink"  # what a switching function is called among the outputs
WIDE = 1e4  # standard deviations, as the data tell them, of what stands for a flat prior


@final
@dataclass(frozen=True, eq=False)
class LinedUp:
    """An experiment with steps that suit it, and how to make others."""

    source: Experiment
    experiment: NonlinearExperiment
    method: Method
    longest: float
    spread: Spread
    opened: tuple[str, ...]

    def halve(self, values: Mapping[str, float]) -> "LinedUp":
        """With steps of half the length."""
        longest = 0.5 * self.longest
        finer = make_nonlinear_experiment(self.source, values, self.method, longest, self.spread)
        return replace(self, experiment=finer, longest=longest)


def leave_kinks(system: System) -> System:
    """The system with its kinks as they are typed; itself where there are none, or where something jumps too."""
    switching = system.reduction.switching
    if switching is None or not switching.located or switching.held or switching.tables:
        return system
    return system if any(switch.jumps for switch in switching.switches) else keep_kinks(system)


def list_borders_met(experiment: Experiment, values: Mapping[str, float], condition: InitialCondition) -> list[str]:
    """Formulas whose kinks are crossed by paths that follow the samples or that the model makes, as they were typed.

    Where the start is open, what the model makes begins anywhere, and says nothing.
    """
    switching = experiment.system.reduction.switching
    if switching is None or not switching.bent:
        return []
    for method in METHODS:
        with suppress(RefusalError, np.linalg.LinAlgError):
            lined = _begin(experiment, values, condition, method)
            discrete = lined.experiment.at(Point(lined.experiment.system.model, values, ()))
            drawn = [] if lined.opened else [rest(discrete), *draw_paths(discrete)]
            return find_crossed(lined, values, [*follow_samples(discrete), *drawn])
    return []


def find_crossed(lined: LinedUp, values: Mapping[str, float], paths: Sequence[Normals]) -> list[str]:
    """Formulas whose kinks some of these paths cross, as they were typed."""
    model = lined.experiment.system.model
    switching = build(model).reduction.switching
    if switching is None or not switching.located:
        return []
    borders = {f"{BORDER}[{number}]": Expression(one) for number, one in enumerate(switching.borders)}
    names, watched = list(borders), keep_kinks(build(replace(model, outputs={**model.outputs, **borders})))
    experiment = make_nonlinear_experiment(
        replace(lined.source, system=watched), values, lined.method, lined.longest, lined.spread, wanted=names
    )
    discrete, places = (
        experiment.at(Point(watched.model, values, ())),
        list(map(experiment.program.outputs.index, names)),
    )
    crossed = np.zeros(len(names), dtype=bool)
    for normals in paths:
        path = simulate_path(discrete, normals)
        if path is None:
            return [switch.text for switch in switching.switches]
        seen = path.outputs[:, places]
        crossed |= (seen.min(axis=0) < 0.0) & (seen.max(axis=0) > 0.0)
    return [switch.text for switch, yes in zip(switching.switches, crossed, strict=True) if np.any(yes)]


def refuse_unsuitable(system: System, purpose: str, instead: str) -> None:
    """What has no path with derivatives: delays, equations that switch, white noise times a state.

    `instead` is what to do about it.
    """
    model, reduction = system.model, system.reduction
    if reduction.delays or model.delayed:
        raise EstimationError(
            f"{purpose} follows a path from instant to instant, but model '{model.name}' contains delays.",
            f"{instead}, or write the delay as a chain of lags.",
        )
    if reduction.switching is not None and reduction.switching.located:
        texts = [switch.text for switch in reduction.switching.switches] or list(reduction.switching.held)
        raise EstimationError(
            f"{purpose} needs derivatives along the path, but {quoted(texts)} in {_find_switching(system)} of model "
            f"'{model.name}' {'switches' if len(texts) == 1 else 'switch'}.",
            f"{instead}, or write a smooth function such as tanh(x/width).",
        )
    _refuse_multiplied_white_noise(system)


def _find_switching(system: System) -> str:
    """Which equations and outputs contain what switches, in words."""
    reduction = system.reduction
    assert reduction.switching is not None
    modes = set(reduction.switching.located)
    rows = enumerate(ca.vertsplit(reduction.equations.residuals))
    equations = reduction.equations.find_typed_names(i for i, row in rows if modes.intersection(list_symbols(row)))
    outputs = [name for name in system.model.outputs if modes.intersection(list_symbols(reduction.observed[name]))]
    words = [
        f"{kind}{'s' * (len(names) > 1)} {quoted(names)}"
        for kind, names in (("equation", equations), ("output", outputs))
        if names
    ]
    return " and ".join(words) or "a condition"


def _refuse_multiplied_white_noise(system: System) -> None:
    """White noise whose coefficient depends on the state has two meanings, Itô's and Stratonovich's."""
    model, r = system.model, system.reduction
    white = [name for key, noise in model.disturbances.items() if noise.intensity is not None for name in as_tuple(key)]
    places = [r.exogenous.index(name) for name in white if name in r.exogenous]
    moving = [k for k, (_, order) in enumerate(r.tops) if order > 0]
    if not places or not moving:
        return
    w = r.arguments[-1]
    slopes = ca.jacobian(r.top, ca.vertcat(*(w[i] for i in places)))
    varying = ca.vertcat(r.X, r.T, *(w[i] for i in find_disturbance_places(system)))
    if ca.depends_on(ca.solve(r.J, slopes)[moving, :], varying):
        rows = [i for i in range(slopes.shape[0]) if ca.depends_on(slopes[i, :], varying)]
        rows = rows or [i for i in range(slopes.shape[0]) if slopes[i, :].nnz()]
        names = r.equations.find_typed_names(rows)
        raise EstimationError(
            f"White noise {quoted(white)} of model '{model.name}' enters equation{'s' * (len(names) > 1)} "
            f"{quoted(names)} with a factor that depends on the state or on noise, which has more than one meaning, "
            "or none.",
            "Declare FilteredNoise.low_pass(std=..., time_constant=...) with a short time constant, which has one.",
        )


def line_up(experiment: Experiment, values: Mapping[str, float], condition: InitialCondition) -> LinedUp:
    """Choose what is open at the start, method and steps, at these values of the parameters."""
    reason: RefusalError | None = None
    for method in METHODS:
        try:
            settled = settle_steps(_begin(experiment, values, condition, method), values)
        except (RefusalError, np.linalg.LinAlgError) as error:
            if not isinstance(error, RefusalError):
                continue
            reason = reason or error
            continue
        return settled
    raise reason or EstimationError(
        f"Model '{experiment.system.model.name}' cannot be followed through the data '{experiment.data.name}'.",
        "Start from other values of the parameters.",
    )


def _begin(experiment: Experiment, values: Mapping[str, float], condition: InitialCondition, method: Method) -> LinedUp:
    """With the first steps."""
    system = _release(experiment.system) if condition.released else experiment.system
    source = replace(experiment, system=system)
    longest = _find_first_step(source, Point(system.model, values, ()), _find_interval(source), values, method)
    spread, opened = _open_start(source, values, condition, method, longest)
    first = make_nonlinear_experiment(source, values, method, longest, spread)
    return LinedUp(source, first, method, longest, spread, opened)


def settle_steps(lined: LinedUp, values: Mapping[str, float], known: Normals | None = None) -> LinedUp:
    """With steps as short as it needs for −log L not to change at these values; raises where none are short enough.

    What suits already is returned itself. `known` is a path to begin with; finer steps go on from that of coarser ones.
    """
    coarse = _evaluate(lined, values, known)
    for _ in range(HALVINGS):
        finer = lined.halve(values)
        start = None if coarse is None else regrid(coarse.path.normals, lined.experiment.grid, finer.experiment.grid)
        fine = _evaluate(finer, values, start)
        if coarse is not None and fine is not None and abs(coarse.value - fine.value) <= CLOSE_ENOUGH:
            return lined
        if coarse is None and fine is None and _has_kinks(finer) and _is_simulated(finer, values):
            break  # what hides the path is not the length of the steps
        lined, coarse = finer, fine
    if coarse is None:
        raise EstimationError(
            f"Model '{lined.experiment.system.model.name}' cannot be followed through the data "
            f"'{lined.experiment.name}': no path explains them.",
            "Start from other values of the parameters, or use Likelihood(method='moments'), which needs no path.",
        )
    raise EstimationError(
        f"The likelihood of model '{lined.experiment.system.model.name}' still changes with the steps at "
        f"{lined.longest:.3g}.",
        "Start from other values of the parameters, or use Likelihood(method='moments').",
    )


def _evaluate(lined: LinedUp, values: Mapping[str, float], known: Normals | None) -> Laplace | None:
    """At the path that is found from a known one, or from all starts; None where there is none."""
    discrete = lined.experiment.at(Point(lined.experiment.system.model, values, ()))
    try:
        if known is not None:
            return Laplace(find_path(discrete, known))
        return Laplace(find_paths(discrete)[0])
    except EstimationError:
        return None


def _has_kinks(lined: LinedUp) -> bool:
    """Whether formulas were left with the kinks that they have; those of outputs are not located."""
    return lined.experiment.system.reduction.switching is not None


def _is_simulated(lined: LinedUp, values: Mapping[str, float]) -> bool:
    """Whether there is a path at rest, near the data or not."""
    discrete = lined.experiment.at(Point(lined.experiment.system.model, values, ()))
    return simulate_path(discrete, rest(discrete)) is not None


def _release(system: System) -> System:
    """Nothing held at the start: what was held is a guess."""
    model, switching = system.model, system.reduction.switching
    released = build(replace(model, initial={}, guess={**model.guess, **model.initial}))
    return keep_kinks(released) if switching is not None and switching.bent else released


def _find_interval(experiment: Experiment) -> float:
    """The time between two samples, a typical one."""
    times = np.unique(np.concatenate([[experiment.drive.start], experiment.drive.times]))
    return float(np.median(np.diff(times))) if times.size > 1 else 1.0


def _find_first_step(
    experiment: Experiment, point: Point, interval: float, values: Mapping[str, float], method: Method
) -> float:
    whole = make_nonlinear_experiment(experiment, values, method, interval)
    pole = whole.noise.find_fastest_pole(point)
    halvings = max(0, int(np.ceil(np.log2(max(interval * pole / RESOLVED, 1e-9)))))
    if 2.0**halvings * whole.grid.steps > MOST_STEPS:
        raise EstimationError(
            f"The fastest disturbance of model '{experiment.system.model.name}' has a pole at {pole:.3g} rad/s: to "
            f"resolve it over the data '{experiment.data.name}' takes more than {MOST_STEPS} steps.",
            "Give its time constant a larger lower bound, or declare WhiteNoise, which has none.",
        )
    return interval / 2.0**halvings


def _open_start(
    experiment: Experiment, values: Mapping[str, float], condition: InitialCondition, method: Method, longest: float
) -> tuple[Spread, tuple[str, ...]]:
    """Deviations of what is held, and what stands for a flat prior of what is open."""
    system, start = experiment.system, experiment.drive.start
    deviations: dict[int, float] = {}
    condition.list_deviations(system.model)  # refuses those of values that are not held
    for name, deviation in (condition.std or {}).items():
        place = system.reduction.find_place(name)
        if place is not None and deviation > 0.0 and not condition.released:
            deviations[place[0]] = deviation
    plain = make_nonlinear_experiment(experiment, values, method, longest, Spread(deviations))
    nominal = find_initial_values(system, start, Point(system.model, values, ()).numbers, plain.start.known)
    if (condition.open == "guess" and not condition.released) or not nominal.open:
        return Spread(deviations), ()
    names = (*system.states, *system.tops)
    opened = {names.index(name): name for name in nominal.open}
    unit = Spread({**deviations, **dict.fromkeys(opened, 1.0)}, tuple(opened))
    told = _find_told(make_nonlinear_experiment(experiment, values, method, longest, unit), values)
    wide = {place: WIDE / np.sqrt(told[place]) for place in opened if told[place] > 0.0}
    seen = tuple(opened[place] for place in wide)
    return Spread({**deviations, **wide}, tuple(wide), condition.open == "free" or condition.released), seen


def _find_told(experiment: NonlinearExperiment, values: Mapping[str, float]) -> dict[int, float]:
    """Place → what the samples tell about the value at the start, at rest: 1/variance, the others being known."""
    discrete = experiment.at(Point(experiment.system.model, values, ()))
    path = simulate_path(discrete, rest(discrete))
    if path is None:
        raise EstimationError(
            f"Model '{experiment.system.model.name}' cannot be followed through the data '{experiment.name}'.",
            "Start from other values of the parameters.",
        )
    linear = Linearized(path)
    spread = experiment.start.spread
    alone = path.beginning.by_normals * np.array(
        [True] * discrete.noise.start.value.shape[0] + [place not in spread.flat for place in spread.deviations]
    )
    M = linear.filter(rest(discrete), path.residuals, alone).M[0]
    told = np.einsum("ni,nm,mi->i", path.beginning.by_normals, M, path.beginning.by_normals)
    first = discrete.noise.start.value.shape[0]
    return {place: float(told[first + k]) for k, place in enumerate(spread.deviations)}
