"""Which switching functions there are: each is met at a node of a formula, and equal ones are one."""

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import casadi as ca
import numpy as np

from daedal.errors import ModelError
from daedal.systems.switching.switch import Words

LOGICAL = {ca.OP_NOT, ca.OP_AND, ca.OP_OR}
COMPARING = {ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE}
KINKED = {ca.OP_FABS, ca.OP_FMIN, ca.OP_FMAX}
MANY = 16  # kinks of inputs, of which each has a signal of its own; where there are more they stay as typed
ALIKE = 1e-12  # relative difference below which two functions are the same at a point


@dataclass(frozen=True, eq=False)
class Function:
    """A switching function as it was first met: its text, and its numbers at some points."""

    text: str
    print: np.ndarray
    latched: bool


class Reader:
    """Formulas as a sequence of instructions, written again with modes in place of what jumps."""

    def __init__(self, residuals: ca.SX, observed: ca.SX, words: Words) -> None:
        self.words, self.residuals, self.observed = words, residuals, observed
        self.conditions = _find_conditions(residuals)
        self.crowded = count_known_kinks(residuals, words.inputs) > MANY
        self.fragile: frozenset[int] = frozenset()  # where what stands around a kink is not defined beyond it
        self.functions: list[Function] = []
        self.kinked: set[int] = set()  # those of abs, minimum and maximum
        self._numbers: dict[Any, tuple[int, int]] = {}  # of switching functions, with their orientation, by node
        self._prints: dict[str, np.ndarray] = {}
        self._ratios: list[tuple[float, int]] = []  # of the first two numbers of each print, rising

    def name_mode(self, number: int) -> str:
        return f"mode {number + 1}"

    def find_number(self, node: Any) -> int:
        """Of the switching function of a node, or of the next that is new."""
        return self._numbers[node][0] if node in self._numbers else len(self.functions)

    def number(self, node: Any, g: ca.SX, text: Callable[[], str], own: bool, new: bool) -> tuple[int, int] | None:
        """Which switching function a node has, and with which orientation; where it is `new`, it may be added."""
        if node not in self._numbers:
            signature = self._evaluate(g)
            number, orientation = len(self.functions), 1
            for other in () if own else self._list_alike(signature):
                ratio = _compare(signature, self.functions[other].print)
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
                self.functions.append(Function(text(), signature, own))
                insort(self._ratios, (_compute_ratio(signature), number))
            self._numbers[node] = (number, orientation)
        return self._numbers[node]

    def _list_alike(self, signature: np.ndarray) -> list[int]:
        """Functions that may be the same up to a factor, first ones first: few of very many."""
        ratio = _compute_ratio(signature)
        if ratio == -inf:
            return []
        reach = 4 * ALIKE * abs(ratio)
        first, last = bisect_left(self._ratios, (ratio - reach, -1)), bisect_left(self._ratios, (ratio + reach, inf))
        return sorted(number for _, number in self._ratios[first:last])

    def list_latched(self) -> frozenset[int]:
        """Functions with two borders."""
        return frozenset(number for number, function in enumerate(self.functions) if function.latched)

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


def count_known_kinks(formulas: ca.SX, inputs: frozenset[str]) -> int:
    """How many kinks are functions of time and inputs alone."""
    symbols = ca.symvar(formulas)
    if not symbols:
        return 0
    function = ca.Function("formulas", [ca.vertcat(*symbols)], [formulas])
    known: dict[int, bool | None] = {}  # None of a number
    count = 0
    for k in range(function.n_instructions()):
        code, sources = function.instruction_id(k), function.instruction_input(k)
        if code == ca.OP_OUTPUT:
            continue
        if code == ca.OP_INPUT:
            name = symbols[sources[1]].name()
            told: bool | None = name == "time" or name in inputs or name.startswith("stage ")
        else:
            parts = [part for source in sources if (part := known[source]) is not None] if code != ca.OP_CONST else []
            told = all(parts) if parts else None
            count += bool(told) and code in KINKED
        known |= dict.fromkeys(function.instruction_output(k), told)
    return count


def _find_conditions(residuals: ca.SX) -> dict[str, ca.SX]:
    """Unknowns that an equation defines as a condition: cold == (T < 20)."""
    conditions = {}
    for row in ca.vertsplit(residuals):
        if row.op() == ca.OP_SUB and row.n_dep() == 2:
            for name, meaning in ((row.dep(0), row.dep(1)), (row.dep(1), row.dep(0))):
                if name.is_symbolic() and not meaning.is_leaf() and meaning.op() in COMPARING | LOGICAL:
                    conditions[name.name()] = meaning
    return conditions


def _compute_ratio(signature: np.ndarray) -> float:
    """Of the first two numbers, which a factor does not change; -inf where there is none."""
    with np.errstate(all="ignore"):
        ratio = float(signature[1] / signature[0])
    return ratio if isfinite(ratio) else -inf


def _compare(one: np.ndarray, other: np.ndarray) -> float:
    """The factor between two switching functions, 0 where there is none."""
    with np.errstate(all="ignore"):
        ratios = one / other
    if not np.isfinite(ratios).all() or ratios[0] == 0.0:
        return 0.0
    return float(ratios[0]) if np.all(np.abs(ratios / ratios[0] - 1) < ALIKE) else 0.0
