"""Formulas written again, instruction by instruction, with modes in place of what jumps."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from daedal.errors import ModelError
from daedal.progress import watch
from daedal.symbolic import CHOOSING, Expression, Held, Latched, find_operator, intern_symbol, list_symbols
from daedal.systems.switching.reader import COMPARING, KINKED, LOGICAL, Reader
from daedal.systems.switching.switch import Bend, Known

_ROUNDING = {ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_FMOD: "fmod"}
REMEDY = "nest fewer functions that switch; tables of np.where are read at once"
LONGEST = 300  # nodes of a formula that is written out
FREE = {*_ROUNDING, ca.OP_EQ, ca.OP_NE}  # where nothing is integrated from it


@dataclass(eq=False)
class Written:
    """What one pass over the formulas gives."""

    residuals: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    observed: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    functions: dict[int, ca.SX] = field(default_factory=dict)
    known: list[Known] = field(default_factory=list)
    bends: dict[int, Bend] = field(default_factory=dict)  # by their arguments, which they keep alive
    held: dict[str, ca.SX] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Term:
    """A number inside a formula: with modes, as typed, and whether it is a truth value."""

    sx: ca.SX
    typed: ca.SX
    truth: bool = False


def write_formulas(reader: Reader, idle: frozenset[int], blended: frozenset[int] = frozenset()) -> Written:
    """The formulas with modes for all switching functions but the idle ones; `blended` may have any value."""
    writer = _Writer(reader, idle, blended)
    writer.result.residuals = _join_terms(writer.run("equations", reader.residuals, inside=True))
    writer.result.observed = _join_terms(writer.run("outputs", reader.observed))
    return writer.result


class _Writer:
    """One pass: every instruction again, on terms with modes and on terms as typed."""

    def __init__(self, reader: Reader, idle: frozenset[int], blended: frozenset[int]) -> None:
        self.reader, self.idle, self.words = reader, idle, reader.words
        self.result = Written()
        self._inside = False
        self._leaves: dict[str, Term] = {}
        self._known: dict[str, str] = {}
        self._blended = frozenset(reader.name_mode(number) for number in blended)

    def run(self, place: str, formulas: ca.SX, inside: bool = False) -> list[Term]:
        """The terms of a vector of formulas; switches that nothing else has are looked for `inside` of equations."""
        outer, self._inside = self._inside, inside
        symbols = ca.symvar(formulas)
        function = ca.Function("formulas", [ca.vertcat(*symbols)] if symbols else [], [formulas])
        rows, _ = function.sparsity_out(0).get_triplet()
        work: dict[int, Term] = {}
        zero = Term(ca.SX(0), ca.SX(0))
        terms = [zero] * formulas.shape[0]
        for k in watch(range(function.n_instructions()), f"reading the switches of '{self.words.model}':", REMEDY):
            code = function.instruction_id(k)
            sources, targets = function.instruction_input(k), function.instruction_output(k)
            if code == ca.OP_INPUT:
                work[targets[0]] = self._enter(symbols[sources[1]])
            elif code == ca.OP_OUTPUT:
                terms[rows[targets[1]]] = work[sources[0]]
            elif code == ca.OP_CONST:
                number = ca.SX(function.instruction_constant(k))
                work[targets[0]] = Term(number, number)
            else:
                work[targets[0]] = self._apply((place, k), code, [work[source] for source in sources])
        self._inside = outer
        return terms

    def _enter(self, leaf: ca.SX) -> Term:
        """A symbol; what is held or latched is entered once."""
        name = leaf.name()
        meaning = find_operator(name)
        if not isinstance(meaning, (Held, Latched)):
            return Term(leaf, leaf)
        if name not in self._leaves:
            (operand,) = self.run(name, self.words.read(meaning.operand), inside=isinstance(meaning, Latched))
            if isinstance(meaning, Held):
                self._leaves[name] = Term(leaf, leaf)
                self.result.held[name] = operand.sx
            else:
                self._leaves[name] = self._latch(name, meaning, operand)
        return self._leaves[name]

    def _latch(self, name: str, meaning: Latched, operand: Term) -> Term:
        low, high = self.words.read(meaning.low), self.words.read(meaning.high)
        own = intern_symbol(self.reader.name_mode(self.reader.find_number(name))).sx
        g = operand.sx - (low + high) / 2 + own * (high - low) / 2
        mode = self._choose(name, g, lambda: self._write(intern_symbol(name).sx), own=True)
        assert mode is not None, "what is latched jumps"
        return Term(mode, intern_symbol(name).sx)

    def _apply(self, node: Any, code: int, operands: list[Term]) -> Term:
        values, typed = [term.sx for term in operands], [term.typed for term in operands]
        make = ca.SX.binary if len(values) == 2 else ca.SX.unary
        plain = make(code, *typed)
        if code in LOGICAL:
            truths = [self._read_condition(term) for term in operands]
            return Term(self._join(code, [term.sx for term in truths]), plain, truth=True)
        if code not in CHOOSING or self._is_constant(*values) or (not self._inside and code in FREE):
            return Term(make(code, *values), plain, truth=code in COMPARING)
        return Term(self._replace(node, code, operands, make(code, *values), plain), plain, truth=code in COMPARING)

    def _replace(self, node: Any, code: int, operands: list[Term], unchanged: ca.SX, typed: ca.SX) -> ca.SX:
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
        known = self._is_known(g)
        if known and code in KINKED and self.reader.crowded:
            if self._inside and g.element_hash() not in self.result.bends:
                self.result.bends[g.element_hash()] = Bend(g, self._write(typed))
            return unchanged
        mode = self._choose(node, g, lambda: self._write(typed))
        if mode is None:
            return unchanged
        if code == ca.OP_SIGN:
            return mode
        if code in (ca.OP_LT, ca.OP_LE):
            return (1 + mode) / 2
        number = self.reader.find_number(node)
        self.reader.kinked.add(number)
        if number in self.reader.fragile:
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

    def _read_condition(self, term: Term) -> Term:
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
        return bool(self._blended) and not self._blended.isdisjoint(list_symbols(sx))

    def _write(self, typed: ca.SX) -> str:
        """A formula, of one that is very long its end: what nests a thousand times is written at every level."""
        if ca.n_nodes(typed) > LONGEST:
            parts = [typed.dep(k) for k in range(typed.n_dep())]
            blanks = [intern_symbol("...").sx if ca.n_nodes(part) > LONGEST // 2 else part for part in parts]
            typed = (ca.SX.binary if len(blanks) == 2 else ca.SX.unary)(typed.op(), *blanks)
        return str(Expression(self.words.rename(typed)))


def _join_terms(terms: list[Term]) -> ca.SX:
    return ca.vertcat(ca.SX(0, 1), *(term.sx for term in terms))
