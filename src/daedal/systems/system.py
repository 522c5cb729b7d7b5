"""`build`: from a Model to a System, the explicit middle object that every engine runs.

Parameters stay symbols in it; a Model with other values shares all that was derived from its equations.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, final

import casadi as ca
import numpy as np

from daedal import systems
from daedal.analysis import (
    Equations,
    Structure,
    analyze,
    check_model,
    eliminate_aliases,
    find_incidence,
    list_choices,
    make_structure,
    require_offsets,
    substitute_aliases,
)
from daedal.errors import ModelError, StructureError, counted, interruptible, is_one_of, quoted, show
from daedal.memory import check_memory
from daedal.models import Model, evaluate_expressions, evaluate_parameters
from daedal.progress import announce
from daedal.symbolic import (
    CHOOSING,
    BufferedFunction,
    Delayed,
    Derivative,
    Held,
    Latched,
    expand,
    find_operator,
    intern_symbol,
    jet,
    list_symbols,
    stack_symbols,
    write_jacobian,
)
from daedal.systems.reduction import DeclaredStart, Reduction, prolong
from daedal.systems.regularity import find_defect, find_rank, find_reach, list_participants, scatter

if TYPE_CHECKING:
    from daedal.systems.switching import Switching

HIGHEST_DELAYED = 6  # derivative of a delayed unknown beyond which a model is called advanced
EXACT = 0.02  # of a value: what counts of one that is exact but for its last digit, where others are off by hundreds
USUAL = 10  # powers of two between which sizes count as one, when points are drawn at which equations are looked at
REMEMBERED = 64  # reductions kept, most recently used last
ROOMY = 1000  # equations for which there is room on every machine
MATRICES = 9.0  # dense ones of all equations and unknowns that are held at a time
FACTORISATIONS = 4.0  # of such matrices
SECONDS = 5e-11  # that an operation of them takes, about
DIVIDE, SHORTEN = "Divide the model, or describe it with fewer cells.", "a model of fewer cells takes less"

_lock = Lock()
_reductions: OrderedDict[str, tuple[Structure, Reduction]] = OrderedDict()


@final
@dataclass(frozen=True, eq=False)
class System:
    """The index-reduced form of a model: X' = S(X, T), top(X, T, t) = 0, constraints G(X, t) = 0.

    Attributes
    ----------
    model
        The model it was built from, which also gives the values of the parameters.
    structure
        As by `analyze`, with any repairs that cancellation made necessary.
    reduction
        The CasADi expressions.

    Examples
    --------
    >>> from daedal import Model, build, der, symbols
    >>> x, v = symbols("x v")
    >>> equations = {"speed": der(x) == v, "fall": der(v) == -9.81}
    >>> system = build(Model(name="fall", equations=equations, unknowns=[x, v]))
    >>> system.states, system.tops, system.linear
    (('x', 'v'), ('der(v)',), True)
    """

    model: Model
    structure: Structure
    reduction: Reduction

    @property
    def states(self) -> tuple[str, ...]:
        """Names of X: what the past determines. More than the degrees of freedom where constraints tie them."""
        return self.reduction.state_names

    @property
    def tops(self) -> tuple[str, ...]:
        """Names of T: what is solved for at each instant."""
        return self.reduction.top_names

    @cached_property
    def held(self) -> DeclaredStart:
        """What the model holds at the start."""
        return DeclaredStart.of(self.reduction, self.model.initial)

    @cached_property
    def guessed(self) -> DeclaredStart:
        """What the model guesses of the start."""
        return DeclaredStart.of(self.reduction, self.model.guess)

    @property
    def linear(self) -> bool:
        """Whether the equations are linear in unknowns, inputs and disturbances (with constant coefficients)."""
        equations = self.reduction.equations
        if equations.modes:
            return False
        changing = [name for name in list_symbols(equations.residuals) if name not in equations.constants]
        moving = stack_symbols(name for name in changing if name != "time")
        return not ca.depends_on(ca.jacobian(equations.residuals, moving), stack_symbols(changing))

    def function(self, name: str) -> ca.Function:
        """A `casadi.Function` of (t, X, T, parameters, exogenous); see `SYSTEM_FUNCTIONS` for the names."""
        return _compile(self.reduction, name)

    def matrix(self, name: str, *arguments: Any) -> np.ndarray:
        """The value of that function, without the cost of CasADi's conversions."""
        return _evaluate(self.reduction, name, *arguments)

    def parameter_vector(self, values: Mapping[Any, float] | None = None) -> np.ndarray:
        """The parameters in the order of the functions' fourth argument; `values` override the model's."""
        numbers = evaluate_parameters(self.model, values)
        return np.array([numbers[name] for name in self.reduction.parameters])

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the model: CasADi's expressions cannot be pickled.
        return build, (self.model,)

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.states), 'state')}, {len(self.tops)} solved for"
        return f"System('{self.model.name}': {sizes}, index {self.structure.index})"


SYSTEM_FUNCTIONS = {
    "constraints": lambda r: r.G,
    "constraints_jacobian": lambda r: r.A,
    "directions": lambda r: r.B,
    "top": lambda r: r.top,
    "top_jacobian": lambda r: r.J,
    "derivative": lambda r: r.shift,
    "consistency": lambda r: ca.vertcat(r.G, r.top),
    "consistency_jacobian": lambda r: write_jacobian(ca.vertcat(r.G, r.top), ca.vertcat(r.X, r.T)),
    "consistency_linearized": lambda r: ca.horzcat(
        SYSTEM_FUNCTIONS["consistency"](r),
        _estimate_sizes(SYSTEM_FUNCTIONS["consistency"](r)),
        SYSTEM_FUNCTIONS["consistency_jacobian"](r),
    ),
    "consistency_gradient": lambda r: write_jacobian(ca.vertcat(r.G, r.top), ca.vertcat(*r.arguments[1:])),
    "observed": lambda r: ca.vertcat(*r.observed.values()),
    "observed_sizes": lambda r: _estimate_sizes(SYSTEM_FUNCTIONS["observed"](r)),
    "switches": lambda r: ca.vertcat(ca.SX(0, 1), *(s.function for s in (r.switching.switches if r.switching else ()))),
    "switch_sizes": lambda r: (
        _estimate_sizes(SYSTEM_FUNCTIONS["switches"](r), [r.arguments[0], r.arguments[3]]) + 1e-300
    ),
    "switch_rates": lambda r: _differentiate_along(r, SYSTEM_FUNCTIONS["switches"](r)),
    "table_arguments": lambda r: ca.vertcat(
        ca.SX(0, 1), *(table.argument for table in (r.switching.tables if r.switching else ()))
    ),
    "samples": lambda r: ca.vertcat(ca.SX(0, 1), *(r.switching.held.values() if r.switching else ())),
}


def _compile(reduction: Reduction, name: str) -> ca.Function:
    """One of these functions, made once."""
    if not is_one_of(name, SYSTEM_FUNCTIONS):
        raise ModelError(f"A system has no function '{show(name, str)}'.", f"Known are {quoted(SYSTEM_FUNCTIONS)}.")
    if name not in reduction.compiled:
        reduction.compiled[name] = ca.Function(name, reduction.arguments, [SYSTEM_FUNCTIONS[name](reduction)])
    return reduction.compiled[name]


def _evaluate(reduction: Reduction, name: str, *arguments: Any) -> np.ndarray:
    """The value of one as a dense matrix: CasADi's own conversion makes lists of all zeros."""
    key = f"{name} in fixed memory"
    if key not in reduction.compiled:
        reduction.compiled[key] = BufferedFunction(_compile(reduction, name))
    return reduction.compiled[key].matrix(*arguments)


def _estimate_sizes(functions: ca.SX, exact: Sequence[ca.SX] = ()) -> ca.SX:
    """What functions are sums of, to first order; of what is exact but for its last digit only a part."""
    symbols, known = ca.symvar(functions), {leaf.name() for part in exact for leaf in ca.symvar(part)}
    if not symbols:
        return ca.fabs(functions)
    weights = ca.DM([EXACT if symbol.name() in known else 1.0 for symbol in symbols])
    stacked = ca.vertcat(*symbols)
    return ca.mtimes(ca.fabs(write_jacobian(functions, stacked)), weights * ca.fabs(stacked)) + ca.fabs(functions)


def _differentiate_along(r: Reduction, functions: ca.SX) -> ca.SX:
    """Time derivatives while tops and inputs stand still."""
    return ca.jtimes(functions, ca.vertcat(r.arguments[0], r.X), ca.vertcat(1, r.shift))


@interruptible
def build(model: Model) -> System:
    """Reduce the index of a model and check its structure numerically; remembered by structure, not by values.

    Examples
    --------
    >>> from daedal import Model, der, symbols
    >>> x, y = symbols("x y")
    >>> equations = {"motion": der(x) == -y, "path": x**2 + y**2 == 1}
    >>> build(Model(name="circle", equations=equations, unknowns=[x, y], guess={y: 1.0}))
    System('circle': 1 state, 1 solved for, index 1)
    """
    structure, reduction = _recall(check_model("build", model))
    system = System(model, replace(structure, model=model.name), reduction)
    _check_values(system)
    return system


def keep_kinks(system: System) -> System:
    """The same with kinks, as of abs and maximum, left where they are typed; only jumps are taken out."""
    structure, reduction = _recall(system.model, jumps_only=True)
    return System(system.model, replace(structure, model=system.model.name), reduction)


def _recall(model: Model, jumps_only: bool = False) -> tuple[Structure, Reduction]:
    """The reduction of this structure, made once; several threads may ask."""
    key = f"{jumps_only} {_write_key(model)}"
    with _lock:
        if key not in _reductions:
            _reductions[key] = _reduce(model, jumps_only or bool(model.delayed))
            while len(_reductions) > REMEMBERED:
                _reductions.popitem(last=False)
        _reductions.move_to_end(key)
        return _reductions[key]


def _write_key(model: Model) -> str:
    parts = [*model.names.items(), *model.equations.items(), *model.outputs.items()]
    return "\n".join(f"{name}: {value}" for name, value in parts)


def _reduce(model: Model, jumps_only: bool) -> tuple[Structure, Reduction]:
    """Signature method, then the numerical check, with a repair for each cancellation it finds."""
    typed = Equations.of(model)
    equations, aliases = eliminate_aliases(typed)
    _check_room(model, len(equations.names))
    structure = analyze(model)
    outputs = {name: expand(value.sx, typed.constants) for name, value in model.outputs.items()}
    wanted = {name: intern_symbol(name).sx for name in model.unknown_names} | outputs
    observed = {name: substitute_aliases(sx, aliases) for name, sx in wanted.items()}
    switching = None
    if _changes_form(ca.vertcat(equations.residuals, *observed.values())) or _differentiates_jumps(model):
        switching = systems.take_out_switches(model, equations, aliases, observed, jumps_only)
        names = frozenset(switching.modes)
        constants, modes = equations.constants | names, switching.modes
        equations = replace(equations, residuals=switching.residuals, constants=constants, modes=modes)
        observed = dict(zip(observed, ca.vertsplit(switching.observed), strict=True))
    equations = replace(equations, least=_find_least_orders(equations, observed, switching))
    repairs: tuple[str, ...] = ()
    while True:
        offsets = require_offsets(model.name, equations)
        reduction = prolong(equations, offsets, aliases, observed, repairs, switching)
        if further := _find_delayed_further(model, reduction):
            equations = replace(equations, least={**equations.least, **further})
            continue
        points = sample_points(model, reduction, vary_parameters=True)
        defect = find_defect(reduction, points) if points else None
        if defect is None:
            break
        from daedal.systems.repair import combine  # seldom needed

        equations, sentence = combine(reduction, defect, points, model.name)
        repairs = (*repairs, sentence)
    if repairs:
        choices = list_choices(equations, find_incidence(equations), offsets, aliases)
        repaired = make_structure(model.name, equations, offsets, choices, repairs)
        structure = replace(repaired, equations=structure.equations)
    if switching is not None:
        systems.refuse_impacts(model.name, reduction)
        if switching.held:
            systems.refuse_loops(model.name, reduction, points)
        reduction = systems.trace_definitions(reduction)
    return structure, reduction


def _check_room(model: Model, equations: int) -> None:
    """Refuse what is too large for dense matrices, and tell what takes long: ranks are judged by factors of them."""
    if equations > ROOMY:
        operations = FACTORISATIONS * 2.0 / 3.0 * equations**3
        subject = f"Building model '{model.name}' of {equations} equations, {operations:.1e} operations,"
        check_memory(MATRICES * 8.0 * equations**2, subject, DIVIDE)
        announce(f"Building model '{model.name}' of {equations} equations", operations * SECONDS, SHORTEN)


def _differentiates_jumps(model: Model) -> bool:
    """Whether a formula that is differentiated may jump: its derivative alone would not show it."""
    typed = ca.vertcat(ca.SX(0, 1), *(side.sx for e in model.equations.values() for side in (e.lhs, e.rhs)))
    meanings = [find_operator(leaf.name()) for leaf in ca.symvar(typed)]
    operands = [meaning.operand for meaning in meanings if isinstance(meaning, Derivative)]
    return any(_changes_form(operand.sx) for operand in operands if not operand.is_symbol)


def _changes_form(sx: ca.SX) -> bool:
    """Whether formulas contain anything that jumps, has a kink, or is held."""
    symbols = ca.symvar(sx)
    meanings = [find_operator(leaf.name()) for leaf in symbols]
    if any(isinstance(meaning, (Held, Latched)) for meaning in meanings):
        return True
    if any(isinstance(meaning, Delayed) and _changes_form(meaning.operand.sx) for meaning in meanings):
        return True
    function = ca.Function("formulas", [ca.vertcat(*symbols)], [sx])
    return any(function.instruction_id(k) in CHOOSING for k in range(function.n_instructions()))


def _find_delayed_further(model: Model, reduction: Reduction) -> dict[str, int]:
    """Unknowns whose delayed derivative is higher than the highest that is solved for: they must be solved for too.

    Where that makes an equation ask for a still higher one, the present depends on the future.
    """
    highest = dict(zip(reduction.equations.unknowns, reduction.offsets.unknowns.tolist(), strict=True))
    wanted: dict[str, int] = {}
    for name, delayed in reduction.delays.items():
        for base, order in (jet(symbol) for symbol in list_symbols(delayed.operand)):
            if base in highest and order > highest[base]:
                if order > HIGHEST_DELAYED:
                    raise ModelError(
                        f"Model '{model.name}' is of advanced type: '{name}' needs ever higher derivatives of "
                        f"'{base}'.",
                        "Delay something smoother, or add the dynamics that are missing.",
                    )
                wanted[base] = max(order, wanted.get(base, 0))
    return wanted


def _find_least_orders(
    equations: Equations, observed: Mapping[str, ca.SX], switching: "Switching | None"
) -> dict[str, int]:
    least = dict(equations.least)
    switched = switching.formulas if switching else []
    for name in list_symbols(ca.vertcat(*observed.values(), *switched)):
        base, order = jet(name)
        if base in equations.unknowns:
            least[base] = max(order, least.get(base, 0))
    return least


def evaluate_start(model: Model, values: Mapping[str, float]) -> dict[str, float]:
    """Guesses and held values as numbers, by the names the user gave them."""
    return evaluate_expressions({**model.guess, **model.initial}, values)


def sample_points(model: Model, reduction: Reduction, vary_parameters: bool, count: int = 3) -> list[list[np.ndarray]]:
    """Arguments of the system's functions at a few random points near the guess where J is finite."""
    rng = np.random.default_rng(0)
    numbers = evaluate_parameters(model)
    near = evaluate_start(model, numbers)
    centre = {}
    for name, number in near.items():
        base, order = jet(name)
        alias = reduction.aliases[base]
        centre[alias.root, alias.order + order] = alias.sign * number
    unknowns = reduction.equations.unknowns
    x, top = ([centre.get((unknowns[j], k), 0.0) for j, k in jets] for jets in (reduction.states, reduction.tops))
    p = np.array([numbers[name] for name in reduction.parameters])
    still = [0.0] * len(reduction.exogenous)
    reach = np.split(_find_unusual_reach(reduction, [0.0, x, top, p, still]), [len(x)])
    points: list[list[np.ndarray]] = []
    for attempt in range(12 * count):
        size = 0.3 * 0.5 ** (attempt // 4)
        one_sided = attempt % 2 == 1  # keeps square roots and logarithms of small positive guesses in their domain

        def draw_near(centre, reach: Any = 1.0, size=size, one_sided=one_sided):
            noise = rng.uniform(-1.0, 1.0, (2, len(centre)))
            away = size * reach * (np.abs(noise[1]) if one_sided else noise[1])
            return np.asarray(centre) * (1 + size * noise[0]) + away

        varied = p * (1 + 0.1 * rng.uniform(-1.0, 1.0, p.size)) + 0.01 * rng.uniform(0.1, 1.0, p.size) * (p == 0)
        point = [
            draw_near([0.0]),
            draw_near(x, reach[0]),
            draw_near(top, reach[1]),
            varied if vary_parameters else p,
            draw_near(still),
        ]
        if modes := len(reduction.equations.modes):
            point[-1][-modes:] = np.sign(point[-1][-modes:])
        if np.isfinite(_evaluate(reduction, "top_jacobian", *point)).all():
            points.append(point)
        if len(points) == count:
            break
    return points


def _find_unusual_reach(reduction: Reduction, point: Sequence[Any]) -> np.ndarray:
    """How large X and T are near a point where that is far from one, in any direction; one elsewhere."""
    table = _evaluate(reduction, "consistency_linearized", *point)
    if not np.isfinite(table).all():
        return np.ones(len(point[1]) + len(point[2]))
    reach = find_reach(table[:, 2:], table[:, 1], np.concatenate(point[1:3]))
    return np.where(np.abs(np.log2(reach)) > USUAL, reach, 1.0)


def _check_values(system: System) -> None:
    """The structure holds for parameters in general; refuse values for which it does not (a mass of zero)."""
    points = sample_points(system.model, system.reduction, vary_parameters=False)
    defect = find_defect(system.reduction, points) if points else None
    if defect is not None:
        numbers = evaluate_parameters(system.model)
        involved = list_symbols(system.reduction.J[list(defect.rows), :])
        zero = [name for name in numbers if name in involved and numbers[name] == 0.0]
        names = system.reduction.equations.find_typed_names(defect.rows)
        cause = f"With {' = '.join(zero)} = 0" if zero else "With the given parameter values"
        raise StructureError(
            f"{cause} the equation{'s' * (len(names) > 1)} {quoted(names)} of model '{system.model.name}' no longer "
            f"determine{'s' * (len(names) == 1)} {quoted(defect.columns)}.",
            "Remove the terms that vanish from the equations, or give other values.",
        )


def describe_dead_point(system: System, point: Sequence[Any]) -> str:
    """What is singular at this point, in the user's names; empty when the system is regular there."""

    def evaluate(arguments: Sequence[Any]) -> np.ndarray:
        return system.matrix("top_jacobian", *arguments)

    jacobian = evaluate(point)
    if not np.isfinite(jacobian).all():
        return ""
    rank = find_rank(jacobian, lambda: [evaluate(near) for near in scatter(point)])
    if rank.left.shape[1] == 0:
        return ""
    equations = list_participants(np.max(np.abs(rank.left), axis=1), system.reduction.equations.names)
    unknowns = list_participants(np.max(np.abs(rank.right), axis=1), system.tops)
    several = len(equations) > 1
    return (
        f"the equation{'s' * several} {quoted(equations)} no longer determine{'s' * (not several)} {quoted(unknowns)}"
    )
