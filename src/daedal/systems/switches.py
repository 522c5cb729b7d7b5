"""Switches: where the equations of a model change their form, taken out before the index is reduced.

Every node of a formula that jumps or has a kink belongs to a switching function g, and to a mode m = ±1, the side of
g = 0 on which a trajectory is:

    sign(e)                     g = e           m
    e₁ < e₂, e₁ ≤ e₂            g = e₂ − e₁     (1 + m)/2; conditions are joined by products, branches selected
    abs(e)                      g = e           m e
    maximum, minimum(a, b)      g = a − b       (a + b ± m (a − b))/2
    copysign(a, b)              a and b         m_a a m_b
    hysteresis(e, low, high)    g = e − (low + high)/2 + m (high − low)/2, which contains its own mode

Equal functions (up to a factor) share one mode. With modes held the equations are smooth, so that modes are constants
for the reduction of the index; the solvers locate where g crosses zero and change them. A function of time, inputs and
numbers alone is `known`: its mode is an input, and its changes are jumps of that input.

Not every such node needs this. Where the equations and their slopes are continuous across g = 0 (|v| v), or the slopes
are infinite there (sign(p) sqrt(abs(p))), the node stays as it was typed; conditions on parameters alone do too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from daedal.analysis import Alias, Equations, make_namer, substitute_aliases
from daedal.errors import ModelError
from daedal.models import Model, evaluate_parameters
from daedal.symbolic import (
    Delayed,
    Derivative,
    Expression,
    Held,
    Latched,
    expand,
    find_operator,
    intern_symbol,
    jet,
    list_symbols,
    stack_symbols,
)
from daedal.systems.reduction import Reduction
from daedal.systems.system import CHOOSING

_LOGICAL = {ca.OP_NOT, ca.OP_AND, ca.OP_OR}
_COMPARING = {ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE}
_ROUNDING = {ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_FMOD: "fmod"}
FREE = {*_ROUNDING, ca.OP_EQ, ca.OP_NE}  # where nothing is integrated from it
ALIKE = 1e-12  # relative difference below which two functions are the same at a point
LOOP = 1e-9  # of its terms: an effect of a held value on its own sample below this is none
BEYOND = (1e-3, 0.1, 1.0)  # distances from g = 0 to which a side may be followed beyond its border
NEAR = (1e-3, 1e-6, 1e-9)  # distances from g = 0, of its size, at which jumps are looked for
LASTING = 0.05  # of the difference at the first distance: what a jump still has at the last one


@dataclass(frozen=True, eq=False)
class Switch:
    """One switching function: the symbol of its mode, the text it was typed as, and what happens on g = 0.

    Attributes
    ----------
    mode
        The symbol of the side, +1 where the function is positive.
    text
        A formula as the user wrote it.
    function
        g, in terms of what the equations contain.
    jumps
        Whether equations jump there, or only their slopes.
    latched
        Whether it has two borders, one to each side.
    """

    mode: str
    text: str
    function: ca.SX
    jumps: bool
    latched: bool


@dataclass(frozen=True, eq=False)
class Known:
    """A number that is constant between known instants: the side of a switching function, or a rounded value.

    `value` is what was typed, in terms of time, inputs and earlier ones of these; `argument` crosses zero (or a whole
    number, where `rounds`) where it changes.
    """

    name: str
    value: ca.SX
    argument: ca.SX
    rounds: bool
    text: str


@dataclass(frozen=True, eq=False)
class Switching:
    """Equations with modes in them, and what the modes belong to."""

    residuals: ca.SX
    observed: ca.SX
    switches: tuple[Switch, ...]
    known: tuple[Known, ...]
    held: Mapping[str, ca.SX]  # what is sampled, by the symbol hold(...) that stands for it
    bent: bool  # whether kinks were left where they are
    blend: Callable[[Sequence[int]], tuple[ca.SX, ca.SX]] = field(repr=False)  # the same for modes of any value

    @property
    def formulas(self) -> list[ca.SX]:
        """What switches and held samples follow from."""
        return [switch.function for switch in self.switches] + list(self.held.values())

    def restore(self, sx: ca.SX) -> ca.SX:
        """Formulas with every mode as the sign of its function, and held values as what is held."""
        meanings = {switch.mode: ca.sign(switch.function) for switch in self.switches}
        meanings |= dict(self.held)
        old, new = stack_symbols(meanings), ca.vertcat(*meanings.values())
        for _ in meanings:
            if not set(list_symbols(sx)).intersection(meanings):
                break
            sx = ca.substitute(sx, old, new)
        return sx

    @property
    def located(self) -> tuple[str, ...]:
        """The symbols that every trajectory has for itself: sides that are not known before, and held samples."""
        return (*(switch.mode for switch in self.switches), *self.held)

    @property
    def modes(self) -> tuple[str, ...]:
        """All symbols that are constant between two instants."""
        names = [switch.mode for switch in self.switches] + [known.name for known in self.known]
        return (*names, *self.held)


@dataclass(frozen=True)
class Words:
    """How a model names its symbols, for classes of switches and for sentences."""

    model: str
    constants: frozenset[str]
    inputs: frozenset[str]
    rename: Callable[[ca.SX], ca.SX]  # into the user's own names
    read: Callable[[Expression], ca.SX]  # what stands inside hold and hysteresis, without aliases


def take_out_switches(
    model: Model, equations: Equations, aliases: Mapping[str, Alias], observed: Mapping[str, ca.SX]
) -> Switching:
    """The switches of a model whose aliases are eliminated."""
    name_jet = make_namer(aliases)

    def rename(sx: ca.SX) -> ca.SX:
        jets = {name: jet(name) for name in list_symbols(sx)}
        old = [name for name, (base, _) in jets.items() if base in equations.unknowns]
        return (
            ca.substitute(sx, stack_symbols(old), stack_symbols(name_jet(*jets[name]) for name in old)) if old else sx
        )

    inputs = frozenset(model.input_names)

    def read(typed: Expression) -> ca.SX:
        return substitute_aliases(expand(typed.sx, equations.constants), aliases)

    words = Words(model.name, equations.constants, inputs, rename, read)
    numbers = evaluate_parameters(model)
    _refuse_delayed_jumps(equations.residuals, words, numbers)
    _refuse_differentiated_jumps(model, words, numbers)
    return find_switches(equations.residuals, ca.vertcat(*observed.values()), words, numbers, bool(model.delayed))


def _refuse_delayed_jumps(residuals: ca.SX, words: Words, values: Mapping[str, float]) -> None:
    """What is delayed must not jump: its jumps would have to be located once more, later."""
    for name in list_symbols(residuals):
        meaning = find_operator(name)
        if not isinstance(meaning, Delayed):
            continue
        inside = find_switches(meaning.operand.sx, ca.SX(0, 1), words, values)
        if inside.held or inside.known or any(switch.jumps for switch in inside.switches):
            raise ModelError(
                f"'{name}' of model '{words.model}' delays something that jumps.",
                "Delay what the condition compares: where(delay(x, tau) > 0, ...).",
            )


def _refuse_differentiated_jumps(model: Model, words: Words, values: Mapping[str, float]) -> None:
    """What jumps has no derivative."""
    for name, equation in model.equations.items():
        for leaf in list_symbols(ca.vertcat(equation.lhs.sx, equation.rhs.sx)):
            meaning = find_operator(leaf)
            if not isinstance(meaning, Derivative) or meaning.operand.is_symbol:
                continue
            inside = find_switches(expand(meaning.operand.sx, words.constants), ca.SX(0, 1), words, values)
            if inside.held or inside.known or any(switch.jumps for switch in inside.switches):
                raise ModelError(
                    f"Equation '{name}' of model '{model.name}' contains '{leaf}', the derivative of something that "
                    "jumps.",
                    "Differentiate something continuous.",
                )


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
    switches = []
    for switch in switching.switches:
        function = switch.function
        for _ in equations.names:
            if not set(list_symbols(function)).intersection(definitions):
                break
            function = ca.substitute(function, old, new)
        switches.append(replace(switch, function=function))
    return replace(reduction, switching=replace(switching, switches=tuple(switches)))


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
    forbidden |= dict.fromkeys((*switching.held, *(known.name for known in switching.known)), 0)
    for i, order in enumerate(reduction.offsets.equations.tolist()):
        for name in list_symbols(equations.residuals[i]):
            if order > forbidden.get(name, order):
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
        if np.isfinite(J).all() and np.linalg.matrix_rank(J) == len(J):
            through = by_tops[rows] @ np.linalg.solve(J, tops[:, columns])
            size = np.abs(by_held[np.ix_(rows, columns)]) + np.abs(by_tops[rows]).sum(axis=1, keepdims=True) * np.abs(
                tops[:, columns]
            ).max(axis=0, initial=0.0)
            acts |= np.abs(by_held[np.ix_(rows, columns)] - through) > LOOP * size
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


def find_switches(
    residuals: ca.SX, observed: ca.SX, words: Words, values: Mapping[str, float], jumps_only: bool = False
) -> Switching:
    """Take the switches out of residuals; formulas that are observed share their modes, and keep what is their own.

    `jumps_only`: kinks stay as they are typed.
    """
    reader = _Reader(residuals, observed, words)
    everything = reader.write(frozenset())
    blended = reader.write(frozenset(), frozenset(range(len(reader.functions))))
    verdicts = [_classify(reader, blended, number, values) for number in range(len(reader.functions))]
    wanted = ("jump",) if jumps_only else ("jump", "kink")
    idle = frozenset(
        number
        for number, function in enumerate(reader.functions)
        if not function.latched and verdicts[number] not in wanted
    )
    located = frozenset(range(len(reader.functions))).difference(idle)
    reader.fragile = frozenset(number for number in located if _is_fragile(reader, everything, number, values))
    written = reader.write(idle) if idle or reader.fragile else everything
    switches = tuple(
        Switch(
            reader.name_mode(number),
            reader.functions[number].text,
            function,
            verdicts[number] == "jump",
            reader.functions[number].latched,
        )
        for number, function in written.functions.items()
    )
    numbers = list(written.functions)

    def blend(places: Sequence[int]) -> tuple[ca.SX, ca.SX]:
        blended = reader.write(idle, frozenset(numbers[place] for place in places))
        return blended.residuals, blended.observed

    return Switching(
        residuals=written.residuals,
        observed=written.observed,
        switches=switches,
        known=tuple(written.known),
        held=written.held,
        bent=jumps_only and any(verdicts[number] == "kink" for number in idle),
        blend=blend,
    )


@dataclass(frozen=True, eq=False)
class _Function:
    """A switching function as it was first met: its text, and its numbers at some points."""

    text: str
    print: np.ndarray
    latched: bool


@dataclass(eq=False)
class _Written:
    """What one pass over the formulas gives."""

    residuals: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    observed: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    functions: dict[int, ca.SX] = field(default_factory=dict)
    known: list[Known] = field(default_factory=list)
    held: dict[str, ca.SX] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Term:
    """A number inside a formula: with modes, as typed, and whether it is a truth value."""

    sx: ca.SX
    typed: ca.SX
    truth: bool = False


class _Reader:
    """Formulas as a sequence of instructions, written again with modes in place of what jumps."""

    def __init__(self, residuals: ca.SX, observed: ca.SX, words: Words) -> None:
        self.words, self.residuals, self.observed = words, residuals, observed
        self.conditions = _find_conditions(residuals)
        self.fragile: frozenset[int] = frozenset()  # where what stands around a kink is not defined beyond it
        self.functions: list[_Function] = []
        self._numbers: dict[Any, tuple[int, int]] = {}  # of switching functions, with their orientation, by node
        self._prints: dict[str, np.ndarray] = {}

    def name_mode(self, number: int) -> str:
        return f"mode {number + 1}"

    def write(self, idle: frozenset[int], blended: frozenset[int] = frozenset()) -> _Written:
        """The formulas with modes for all switching functions but the idle ones; `blended` may have any value."""
        writer = _Writer(self, idle, blended)
        writer.result.residuals = _join_terms(writer.run("equations", self.residuals, inside=True))
        writer.result.observed = _join_terms(writer.run("outputs", self.observed))
        return writer.result

    def find_number(self, node: Any) -> int:
        """Of the switching function of a node, or of the next that is new."""
        return self._numbers[node][0] if node in self._numbers else len(self.functions)

    def number(self, node: Any, g: ca.SX, text: Callable[[], str], own: bool, new: bool) -> tuple[int, int] | None:
        """Which switching function a node has, and with which orientation; where it is `new`, it may be added."""
        if node not in self._numbers:
            signature = self._evaluate(g)
            number, orientation = len(self.functions), 1
            for other, known in enumerate(() if own else self.functions):
                ratio = _compare(signature, known.print)
                if ratio:
                    number, orientation = other, int(np.sign(ratio))
                    break
            if number == len(self.functions):
                if not new:
                    return None
                if np.all(np.abs(signature) < ALIKE * self._evaluate(_measure_terms(g))):
                    raise ModelError(
                        f"The switch '{text()}' of model '{self.words.model}' is always on its border: what decides it "
                        "is zero whatever happens.",
                        "Leave the condition out, or correct it.",
                    )
                self.functions.append(_Function(text(), signature, own))
            self._numbers[node] = (number, orientation)
        return self._numbers[node]

    def _evaluate(self, g: ca.SX) -> np.ndarray:
        """Numbers of g at random points, the same for a symbol wherever it occurs."""
        symbols = ca.symvar(g)
        for leaf in symbols:
            if leaf.name() not in self._prints:
                rng = np.random.default_rng([7, *leaf.name().encode()])
                self._prints[leaf.name()] = rng.uniform(0.4, 1.6, 5)
        at = np.array([self._prints[leaf.name()] for leaf in symbols]).reshape(len(symbols), 5)
        return ca.Function("g", [ca.vertcat(*symbols)], [g]).map(5)(at).full().ravel()


def _measure_terms(g: ca.SX) -> ca.SX:
    """The sum of the sizes of the terms that a formula is a sum of, however many."""
    sizes: dict[int, ca.SX] = {}
    waiting = [g]
    while waiting:
        node = waiting[-1]
        parts = [node.dep(k) for k in range(node.n_dep())] if node.op() in (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG) else []
        missing = [part for part in parts if part.element_hash() not in sizes]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        known = [sizes[part.element_hash()] for part in parts]
        sizes[node.element_hash()] = known[0] + known[1] if len(known) == 2 else known[0] if known else ca.fabs(node)
    return sizes[g.element_hash()]


def _find_conditions(residuals: ca.SX) -> dict[str, ca.SX]:
    """Unknowns that an equation defines as a condition: cold == (T < 20)."""
    conditions = {}
    for row in ca.vertsplit(residuals):
        if row.op() == ca.OP_SUB and row.n_dep() == 2:
            for name, meaning in ((row.dep(0), row.dep(1)), (row.dep(1), row.dep(0))):
                if name.is_symbolic() and not meaning.is_leaf() and meaning.op() in _COMPARING | _LOGICAL:
                    conditions[name.name()] = meaning
    return conditions


def _compare(one: np.ndarray, other: np.ndarray) -> float:
    """The factor between two switching functions, 0 where there is none."""
    with np.errstate(all="ignore"):
        ratios = one / other
    if not np.isfinite(ratios).all() or ratios[0] == 0.0:
        return 0.0
    return float(ratios[0]) if np.all(np.abs(ratios / ratios[0] - 1) < ALIKE) else 0.0


class _Writer:
    """One pass: every instruction again, on terms with modes and on terms as typed."""

    def __init__(self, reader: _Reader, idle: frozenset[int], blended: frozenset[int]) -> None:
        self.reader, self.idle, self.blended, self.words = reader, idle, blended, reader.words
        self.result = _Written()
        self._inside = False
        self._leaves: dict[str, _Term] = {}
        self._known: dict[str, str] = {}

    def run(self, place: str, formulas: ca.SX, inside: bool = False) -> list[_Term]:
        """The terms of a vector of formulas; switches that nothing else has are looked for `inside` of equations."""
        outer, self._inside = self._inside, inside
        symbols = ca.symvar(formulas)
        function = ca.Function("formulas", [ca.vertcat(*symbols)] if symbols else [], [formulas])
        rows, _ = function.sparsity_out(0).get_triplet()
        work: dict[int, _Term] = {}
        zero = _Term(ca.SX(0), ca.SX(0))
        terms = [zero] * formulas.shape[0]
        for k in range(function.n_instructions()):
            code = function.instruction_id(k)
            sources, targets = function.instruction_input(k), function.instruction_output(k)
            if code == ca.OP_INPUT:
                work[targets[0]] = self._enter(symbols[sources[1]])
            elif code == ca.OP_OUTPUT:
                terms[rows[targets[1]]] = work[sources[0]]
            elif code == ca.OP_CONST:
                number = ca.SX(function.instruction_constant(k))
                work[targets[0]] = _Term(number, number)
            else:
                work[targets[0]] = self._apply((place, k), code, [work[source] for source in sources])
        self._inside = outer
        return terms

    def _enter(self, leaf: ca.SX) -> _Term:
        """A symbol; what is held or latched is entered once."""
        name = leaf.name()
        meaning = find_operator(name)
        if not isinstance(meaning, (Held, Latched)):
            return _Term(leaf, leaf)
        if name not in self._leaves:
            (operand,) = self.run(name, self.words.read(meaning.operand), inside=isinstance(meaning, Latched))
            if isinstance(meaning, Held):
                self._leaves[name] = _Term(leaf, leaf)
                self.result.held[name] = operand.sx
            else:
                self._leaves[name] = self._latch(name, meaning, operand)
        return self._leaves[name]

    def _latch(self, name: str, meaning: Latched, operand: _Term) -> _Term:
        low, high = self.words.read(meaning.low), self.words.read(meaning.high)
        own = intern_symbol(self.reader.name_mode(self.reader.find_number(name))).sx
        g = operand.sx - (low + high) / 2 + own * (high - low) / 2
        mode = self._choose(name, g, lambda: self._write(intern_symbol(name).sx), own=True)
        assert mode is not None, "what is latched jumps"
        return _Term(mode, intern_symbol(name).sx)

    def _apply(self, node: Any, code: int, operands: list[_Term]) -> _Term:
        values, typed = [term.sx for term in operands], [term.typed for term in operands]
        make = ca.SX.binary if len(values) == 2 else ca.SX.unary
        plain = make(code, *typed)
        if code in _LOGICAL:
            truths = [self._read_condition(term) for term in operands]
            return _Term(self._join(code, [term.sx for term in truths]), plain, truth=True)
        if code not in CHOOSING or self._is_constant(*values) or (not self._inside and code in FREE):
            return _Term(make(code, *values), plain, truth=code in _COMPARING)
        return _Term(self._replace(node, code, operands, make(code, *values), plain), plain, truth=code in _COMPARING)

    def _replace(self, node: Any, code: int, operands: list[_Term], unchanged: ca.SX, typed: ca.SX) -> ca.SX:
        """A node with its mode."""
        values = [term.sx for term in operands]
        if code == ca.OP_IF_ELSE_ZERO:
            condition = self._read_condition(operands[0]).sx
            return condition * values[1] if self._is_blended(condition) else ca.SX.binary(code, condition, values[1])
        if code in _ROUNDING:
            return self._round(code, values, unchanged, typed)
        if code in (ca.OP_EQ, ca.OP_NE):
            raise ModelError(
                f"Model '{self.words.model}' asks whether '{self._write(typed)}' while it runs, which holds for no "
                "length of time.",
                "Compare with < or >.",
            )
        if code == ca.OP_COPYSIGN:
            magnitude = self._choose((node, 0), values[0], lambda: f"abs({self._write(operands[0].typed)})")
            side = self._choose((node, 1), values[1], lambda: f"sign({self._write(operands[1].typed)})")
            if side is None:
                return unchanged
            return (ca.fabs(values[0]) if magnitude is None else magnitude * values[0]) * side
        g = {ca.OP_LT: lambda: values[1] - values[0], ca.OP_LE: lambda: values[1] - values[0]}.get(
            code, lambda: values[0] - values[1] if len(values) == 2 else values[0]
        )()
        if code in (ca.OP_LT, ca.OP_LE) and self._is_known(g):  # an input may stay on the border: true or false there
            return (
                (1 + self._know(2 * unchanged - 1, g, lambda: self._write(typed), rounds=False)) / 2
                if self._inside
                else unchanged
            )
        mode = self._choose(node, g, lambda: self._write(typed))
        if mode is None:
            return unchanged
        if code == ca.OP_SIGN:
            return mode
        if code in (ca.OP_LT, ca.OP_LE):
            return (1 + mode) / 2
        if self.reader.find_number(node) in self.reader.fragile:
            return unchanged
        if code == ca.OP_FABS:
            return mode * values[0]
        total, gap = values[0] + values[1], values[0] - values[1]
        return (total + (mode if code == ca.OP_FMAX else -mode) * gap) / 2

    def _choose(self, node: Any, g: ca.SX, text: Callable[[], str], own: bool = False) -> ca.SX | None:
        """The mode of a node, oriented; None where the node stays as it is."""
        if self._is_constant(g):
            return None
        if not own and self._is_known(g):
            return self._know(ca.sign(g), g, text, rounds=False) if self._inside else None
        numbered = self.reader.number(node, g, text, own, self._inside or own)
        if numbered is None or numbered[0] in self.idle:
            return None
        number, orientation = numbered
        self.result.functions.setdefault(number, orientation * g)
        return orientation * intern_symbol(self.reader.name_mode(number)).sx

    def _round(self, code: int, values: list[ca.SX], unchanged: ca.SX, typed: ca.SX) -> ca.SX:
        if not all(self._is_known(value) or value.is_constant() for value in values):
            raise ModelError(
                f"The equations of model '{self.words.model}' contain '{self._write(typed)}', which jumps without end "
                "and has no slope to estimate from.",
                "Leave the rounding out of the equations; outputs may contain it.",
            )
        if code == ca.OP_FMOD:
            ratio = values[0] / values[1]
            whole = self._know(
                ca.sign(ratio) * ca.floor(ca.fabs(ratio)), ratio, lambda: self._write(typed), rounds=True
            )
            return values[0] - values[1] * whole
        return self._know(unchanged, values[0], lambda: self._write(typed), rounds=True)

    def _know(self, value: ca.SX, argument: ca.SX, text: Callable[[], str], rounds: bool) -> ca.SX:
        """A number that follows from time and inputs alone."""
        key = value.serialize()  # every digit of its numbers
        if key not in self._known:
            self._known[key] = f"stage {len(self._known) + 1}"
            self.result.known.append(Known(self._known[key], value, argument, rounds, text()))
        return intern_symbol(self._known[key]).sx

    def _join(self, code: int, values: list[ca.SX]) -> ca.SX:
        """not, and, or of truth values that are 0 or 1."""
        if code == ca.OP_NOT:
            return 1 - values[0]
        product = values[0] * values[1]
        return product if code == ca.OP_AND else values[0] + values[1] - product

    def _read_condition(self, term: _Term) -> _Term:
        """What a condition says; an unknown that an equation defines by a condition stands for that one."""
        if term.sx.is_symbolic() and term.sx.name() in self.reader.conditions:
            name = term.sx.name()
            if name not in self._leaves:
                (self._leaves[name],) = self.run(name, self.reader.conditions[name], inside=True)
            return self._leaves[name]
        if self._inside and not (term.truth or self._is_constant(term.sx)):
            raise ModelError(
                f"'{self._write(term.typed)}' in model '{self.words.model}' is used as a condition but compares "
                "nothing.",
                "Write a comparison such as x > 0.",
            )
        return term

    def _is_constant(self, *formulas: ca.SX) -> bool:
        """Whether formulas contain numbers and parameters alone."""
        return all(set(list_symbols(sx)) <= self.words.constants for sx in formulas)

    def _is_known(self, sx: ca.SX) -> bool:
        """Whether a formula follows from time, inputs and numbers alone."""
        inside = set(list_symbols(sx))
        return bool(inside) and inside <= {"time", *self.words.inputs, *self._known.values()}

    def _is_blended(self, sx: ca.SX) -> bool:
        modes = {self.reader.name_mode(number) for number in self.blended}
        return bool(modes) and not modes.isdisjoint(list_symbols(sx))

    def _write(self, typed: ca.SX) -> str:
        return str(Expression(self.words.rename(typed)))


def _join_terms(terms: list[_Term]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(term.sx for term in terms))


def _is_fragile(reader: _Reader, written: _Written, number: int, values: Mapping[str, float]) -> bool:
    """Whether the equations of one side are not defined a little beyond the border: log(abs(x) + 0.1)."""
    if number not in written.functions:
        return False
    sides = _look_at(reader, written, number, [ca.densify(written.residuals)])
    rng = np.random.default_rng(5)
    for _ in range(4):
        reached = _reach_border(sides, _draw(sides.symbols, values, rng))
        if reached is None:
            continue
        border, direction = reached
        for side in (1.0, -1.0):
            own, beyond = (
                [
                    np.isfinite(sides.rows(border + way * distance * direction, side).nonzeros()).all()
                    for distance in BEYOND
                ]
                for way in (side, -side)
            )
            if any(here and not there for here, there in zip(own, beyond, strict=True)):
                return True
    return False


def _get_mode(reader: _Reader, number: int) -> ca.SX:
    return intern_symbol(reader.name_mode(number)).sx


@dataclass(frozen=True, eq=False)
class _Sides:
    """Formulas on either side of g = 0, and g with its gradient, as functions of symbols and of the mode."""

    rows: ca.Function
    border: ca.Function
    symbols: list[str]
    moving: list[int]  # the symbols that g contains


def _look_at(reader: _Reader, written: _Written, number: int, rows: list[ca.SX]) -> _Sides:
    g, mode = written.functions[number], reader.name_mode(number)
    symbols = [name for name in list_symbols(ca.vertcat(written.residuals, g)) if name != mode]
    others = [name for name in list_symbols(g) if name != mode]
    arguments = [stack_symbols(symbols), _get_mode(reader, number)]
    border = ca.Function("border", arguments, [g, ca.gradient(g, stack_symbols(others))])
    places = {name: place for place, name in enumerate(symbols)}
    return _Sides(ca.Function("rows", arguments, rows), border, symbols, [places[name] for name in others])


def _make_effect(reader: _Reader, written: _Written, number: int) -> _Sides:
    """∂f/∂m and its slopes."""
    effect = ca.jacobian(written.residuals, _get_mode(reader, number))
    names = list_symbols(ca.vertcat(written.residuals, written.functions[number]))
    unmoved = {reader.name_mode(number), *reader.words.constants}
    moving = stack_symbols(name for name in names if name not in unmoved)
    return _look_at(reader, written, number, [effect, ca.jacobian(effect, moving)])


def _classify(reader: _Reader, written: _Written, number: int, values: Mapping[str, float]) -> str:
    """What happens on g = 0: "jump", "kink", or nothing that has to be located ("")."""
    if number not in written.functions:
        return "" if number < len(reader.functions) else "jump"
    sides = _make_effect(reader, written, number)
    symbols, rng = sides.symbols, np.random.default_rng(3)
    points = [_draw(symbols, values, rng) for _ in range(6)]
    if places := [place for place, name in enumerate(symbols) if name.startswith("mode ")]:
        for modes in (1.0, -1.0, *rng.choice([-1.0, 1.0], (4, len(places)))):  # what decides may need all the others
            points.append(_draw(symbols, values, rng))
            points[-1][places] = modes
    verdicts = [_look_across(sides, point) for point in points]
    for verdict in ("jump", "kink"):
        if verdict in verdicts:
            return verdict
    return "jump" if set(verdicts) <= {None, "nothing"} else ""  # rather located in vain than not


def _draw(symbols: list[str], values: Mapping[str, float], rng: np.random.Generator) -> np.ndarray:
    """Numbers for symbols: parameters near their values, modes on either side, anything else around one."""
    point = rng.uniform(0.3, 1.7, len(symbols)) * rng.choice([1.0, 1.0, -1.0], len(symbols))
    for place, name in enumerate(symbols):
        if name.startswith("mode "):
            point[place] = np.sign(point[place])
        elif values.get(name):
            point[place] = values[name] * rng.uniform(0.8, 1.2)
    return point


def _look_across(effect: _Sides, point: np.ndarray) -> str | None:
    """What the mode does on g = 0 near a point: "jump", "kink", "" or "nothing"; None where that is undefined.

    The rows of `effect` are that of the mode on the residuals, ∂f/∂m, and its slopes. The effect of a jump lasts as
    g → 0, that of a kink falls in proportion to g, with a slope that lasts.
    """
    reached = _reach_border(effect, point)
    if reached is None:
        return None
    border, direction = reached
    gradient = direction / float(direction @ direction)
    step = direction * (float(np.abs(gradient) @ np.abs(border)) or 1.0)  # g changes by the size of its terms
    jumps, kinks = [], []
    for distance in NEAR:
        sides = [effect.rows(border + side * distance * step, side) for side in (1.0, -1.0)]
        effects, slopes = ([_find_largest(side[k]) for side in sides] for k in (0, 1))
        if not np.isfinite(effects).any():
            return None
        jumps.append(max(size for size in effects if np.isfinite(size)))
        kinks.append(max(slopes))
    if jumps[-1] > LASTING * jumps[0]:
        return "jump"
    if not np.isfinite(kinks).all() or kinks[-1] > 10 * kinks[0]:  # infinite on the border
        return ""
    if kinks[-1] > LASTING * kinks[0]:
        return "kink"
    return "nothing" if max(jumps) == 0.0 == max(kinks) else ""


def _find_largest(numbers: ca.DM) -> float:
    return float(np.abs(numbers.nonzeros()).max(initial=0.0))


def _reach_border(sides: _Sides, point: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """A point on g = 0 and the direction in which g rises there by one; by Newton steps along its gradient."""
    for _ in range(50):
        g, gradient = (part.full().ravel() for part in sides.border(point, 1.0))
        square = float(gradient @ gradient)
        if not (np.isfinite(g).all() and np.isfinite(square) and square > 0):
            return None
        direction = np.zeros(point.size)
        direction[sides.moving] = gradient / square
        if abs(g[0]) <= 1e-13 * np.abs(gradient * point[sides.moving]).sum():
            return point, direction
        point = point - g[0] * direction
    return None
