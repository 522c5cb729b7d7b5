"""Functions of inputs and time in equations that are linear in everything else, as inputs of their own.

    k (u² + b) + c sin(time) x₀   →   k v₁ + k b + c x₀ v₂,   v₁ = u²,  v₂ = sin(time)

Coefficients are products of parameters, functions have none: what a parameter does inside a function of inputs or time
cannot be taken out of it, and is refused.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import casadi as ca

from daedal.symbolic import Expression, intern_symbol, list_symbols

TIME = "time"
MOST_TERMS = 200  # of a product of sums that is multiplied out


class MixedError(Exception):
    """A parameter inside a function of inputs or time."""


@dataclass
class ForcingTerms:
    """Takes functions of what is `known`, the inputs and time, out of expressions, and collects them by their text."""

    known: Collection[str]
    constants: Collection[str]
    is_linear: Callable[[ca.SX, list[str]], bool]
    functions: dict[str, ca.SX] = field(default_factory=dict)  # symbol in their place → function

    def separate(self, sx: ca.SX) -> ca.SX:
        """An expression with symbols in place of functions; as it is where there are none."""
        terms = [(sign, term, self._rewrite(term)) for sign, term in split_signed(sx)]
        if all(new is None for _, _, new in terms):
            return sx
        return sum((sign * (term if new is None else new) for sign, term, new in terms), ca.SX(0))

    def _rewrite(self, term: ca.SX) -> ca.SX | None:
        """A term that contains such functions and is linear in everything else; None for others."""
        moving = [name for name in list_symbols(term) if name not in self.constants]
        others = [name for name in moving if name not in self.known]
        if len(others) == len(moving) or (TIME not in moving and self.is_linear(term, moving)):
            return None
        if not others:
            return self._multiply_out(term)
        symbols = ca.vertcat(*(intern_symbol(name).sx for name in others))
        slopes, rest = ca.jacobian(term, symbols), ca.substitute(term, symbols, ca.SX.zeros(len(others), 1))
        if set(list_symbols(slopes)) & set(moving) or not self.is_linear(term - rest, others):
            return None
        return slopes @ symbols + self._multiply_out(ca.simplify(rest))

    def _multiply_out(self, sx: ca.SX) -> ca.SX:
        return sum((coefficient * self._place(function) for coefficient, function in self._distribute(sx)), ca.SX(0))

    def _place(self, function: ca.SX) -> ca.SX:
        """The symbol of a function; inputs and numbers stand for themselves."""
        if function.is_constant() or (function.is_symbolic() and function.name() != TIME):
            return function
        name = f"value of {Expression(function)}"
        self.functions.setdefault(name, function)
        return intern_symbol(name).sx

    def _distribute(self, sx: ca.SX) -> list[tuple[ca.SX, ca.SX]]:
        """Pairs of a coefficient without inputs or time, and a function without parameters, whose products add up."""
        names, one = set(list_symbols(sx)), ca.SX(1)
        if not names & set(self.known):
            return [(sx, one)]
        if not names - set(self.known):
            return [(one, sx)]
        operation = sx.op()
        if operation in (ca.OP_ADD, ca.OP_SUB):
            return [
                (sign * coefficient, function)
                for sign, term in split_signed(sx)
                for coefficient, function in self._distribute(term)
            ]
        if operation == ca.OP_NEG:
            return [(-coefficient, function) for coefficient, function in self._distribute(sx.dep(0))]
        if operation == ca.OP_TWICE:
            return [(2 * coefficient, function) for coefficient, function in self._distribute(sx.dep(0))]
        if operation in (ca.OP_MUL, ca.OP_SQ):
            first, second = self._distribute(sx.dep(0)), self._distribute(sx.dep(sx.n_dep() - 1))
            if len(first) * len(second) <= MOST_TERMS:
                return [(a * c, f * g) for a, f in first for c, g in second]
        if operation == ca.OP_DIV:
            above, below = self._distribute(sx.dep(0)), self._distribute(sx.dep(1))
            if len(below) == 1:
                return [(a / below[0][0], f / below[0][1]) for a, f in above]
        raise MixedError


def split_signed(sx: ca.SX) -> list[tuple[int, ca.SX]]:
    """The summands of an expression with their signs."""
    waiting, terms = [(1, sx)], []
    while waiting:  # a long sum is deeper than Python may recurse
        sign, part = waiting.pop()
        if part.op() == ca.OP_NEG:
            waiting.append((-sign, part.dep(0)))
        elif part.op() in (ca.OP_ADD, ca.OP_SUB):
            waiting += [(sign if part.op() == ca.OP_ADD else -sign, part.dep(1)), (sign, part.dep(0))]
        else:
            terms.append((sign, part))
    return terms
