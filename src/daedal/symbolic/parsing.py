"""Read expressions and equations back from their text form. Reading never executes code.

text        = side [ "==" side ]
side        = { "@1" "=" expression ";" } expression
expression  = or-terms of and-terms of comparisons of sums of products of powers, as in Python
operand     = number | name | name "(" expression { "," expression } ")" | "(" expression ")"
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from daedal.errors import ExpressionError, counted, nearest, show
from daedal.symbolic import functions
from daedal.symbolic.expression import NAME, Equation, Expression, apply_function, as_expression, where
from daedal.symbolic.operators import delay, der, hold, hysteresis
from daedal.symbolic.symbol_table import symbol, time

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SIGN = r"\*\*|[<>=!]=|[-+*/()<>,;=]"
DIGIT = re.compile(r"\.?\d")
TOKEN = re.compile(rf"\s*(?:{NUMBER}|{NAME.pattern}|@\d+|{SIGN})")
OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGNED, POWER = range(8)  # how strongly operators bind, loosest first
INFIX: dict[str, tuple[int, Callable[..., Any]]] = {
    "or": (OR, lambda a, b: a | b),
    "and": (AND, lambda a, b: a & b),
    "<": (COMPARISON, lambda a, b: a < b),
    "<=": (COMPARISON, lambda a, b: a <= b),
    ">": (COMPARISON, lambda a, b: a > b),
    ">=": (COMPARISON, lambda a, b: a >= b),
    "!=": (COMPARISON, lambda a, b: a != b),
    "+": (SUM, lambda a, b: a + b),
    "-": (SUM, lambda a, b: a - b),
    "*": (PRODUCT, lambda a, b: a * b),
    "/": (PRODUCT, lambda a, b: a / b),
    "**": (POWER, lambda a, b: a**b),
}
PREFIX: dict[str, tuple[int, Callable[..., Any]]] = {
    "not": (NOT, lambda a: ~a),
    "-": (SIGNED, lambda a: -a),
    "+": (SIGNED, lambda a: a),
}
DEEPEST = 10_000  # brackets within brackets
CALLS = {
    "der": ((1,), der),
    "delay": ((2,), delay),
    "hold": ((2, 3), hold),
    "hysteresis": ((3,), hysteresis),
    "where": ((3,), where),
    **{name: ((1,), partial(apply_function, name)) for name in functions.UNARY},
    **{name: ((2,), partial(apply_function, name)) for name in functions.BINARY},
}
CONSTANTS = {"inf": float("inf"), "nan": float("nan")}


def read_expression(text: str) -> Expression:
    """The expression written in `text`.

    Examples
    --------
    >>> read_expression("k*sin(x)**2")
    k*sin(x)**2
    """
    expression = _Reader(text).read()
    if isinstance(expression, Equation):
        raise ExpressionError(f"'{text}' is an equation where an expression belongs.", "Give one side of it.")
    return expression


def read_equation(text: str) -> Equation:
    """The equation written in `text` as lhs == rhs."""
    equation = _Reader(text).read()
    if isinstance(equation, Expression):
        raise ExpressionError(f"'{text}' is not an equation.", "Write it with '==' between its sides.")
    return equation


@dataclass
class _Bracket:
    """What was read since a bracket opened: operands and the operators that wait for their right side.

    `call` is the function whose arguments stand in it; `defined` is the name ("@1") of what is being read.
    """

    call: str = ""
    outer: dict[str, Expression] = field(default_factory=dict)
    arguments: list[Expression] = field(default_factory=list)
    defined: str = ""
    operands: list[Expression] = field(default_factory=list)
    operators: list[tuple[int, int, Callable[..., Any]]] = field(default_factory=list)  # strength, operands, function

    def expects_condition(self) -> bool:
        """Whether a `not` may follow."""
        return not self.operators or self.operators[-1][0] <= NOT

    def apply(self, strength: int = OR) -> None:
        """Apply the waiting operators that bind at least as strongly."""
        while self.operators and self.operators[-1][0] >= strength:
            _, count, function = self.operators.pop()
            operands = self.operands[-count:]
            self.operands[-count:] = [function(*operands)]


class _Reader:
    """Operator precedence over the tokens of one text, with a list of open brackets in place of recursion."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ExpressionError(
                f"A formula must be given as text, got {show(text)}.", 'Write it in quotes: "k*sin(x)".'
            )
        self.text = text
        self.names: dict[str, Expression] = {}
        self.tokens = self._split()
        self.position = 0

    def _split(self) -> list[str]:
        tokens, position, text = [], 0, self.text.rstrip()
        while position < len(text):
            match = TOKEN.match(text, position)
            if match is None:
                self.refuse(f"the character '{text[position:].lstrip()[0]}' is not understood")
            tokens.append(match.group().strip())
            position = match.end()
        return tokens

    @property
    def token(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def refuse(self, reason: str) -> NoReturn:
        raise ExpressionError(
            f"'{self.text}' cannot be read: {reason}.", "Write it as in Python, with numpy's function names."
        )

    def take(self, token: str = "") -> str:
        present = self.token
        if not present:
            self.refuse(f"it ends where {repr(token) if token else 'a number or a name'} is missing")
        if token and present != token:
            self.refuse(f"'{present}' stands where '{token}' belongs")
        self.position += 1
        return present

    def read(self) -> Expression | Equation:
        formula: Expression | Equation = self.read_side()
        if self.token == "==":
            self.take()
            formula = Equation(formula, self.read_side())
        if self.token:
            self.refuse(f"'{self.token}' was not expected")
        return formula

    def read_side(self) -> Expression:
        brackets = [_Bracket()]
        self.begin_side(brackets[0])
        while True:
            self.take_prefixes(brackets[-1])
            opened = self.take_operand(brackets[-1])
            if opened is not None:
                brackets.append(opened)
                if len(brackets) > DEEPEST:
                    self.refuse(f"its brackets nest more than {DEEPEST} deep")
                continue
            while not self.take_infix(brackets[-1]) and not self.go_on(brackets[-1]):
                if len(brackets) == 1:
                    return brackets[0].operands[0]
                formula = self.close(brackets.pop())
                brackets[-1].operands.append(formula)

    def begin_side(self, bracket: _Bracket) -> None:
        """See whether what follows is named."""
        named = self.token.startswith("@") and self.tokens[self.position + 1 : self.position + 2] == ["="]
        bracket.defined = self.take() if named else ""
        if named:
            self.take("=")

    def take_prefixes(self, bracket: _Bracket) -> None:
        while self.token in ("-", "+") or (self.token == "not" and bracket.expects_condition()):
            strength, function = PREFIX[self.take()]
            bracket.operators.append((strength, 1, function))

    def take_operand(self, bracket: _Bracket) -> _Bracket | None:
        """Read a number or a name, or open a bracket."""
        token = self.take()
        if token == "(":
            return _Bracket()
        if NAME.fullmatch(token) and self.token == "(":
            return self.open_call(token)
        bracket.operands.append(self.read_leaf(token))
        return None

    def open_call(self, name: str) -> _Bracket:
        if name not in CALLS:
            self.refuse(f"there is no function '{name}' ({nearest(name, CALLS).rstrip('.')})")
        self.take("(")
        bracket = _Bracket(name, dict(self.names))  # a formula inside der or the like names its parts for itself
        self.begin_side(bracket)
        return bracket

    def read_leaf(self, token: str) -> Expression:
        if DIGIT.match(token):
            return as_expression(float(token), "number")
        if token.startswith("@"):
            return self.names[token] if token in self.names else self.refuse(f"'{token}' is used before it is defined")
        if not NAME.fullmatch(token):
            self.refuse(f"'{token}' was not expected")
        if token in CONSTANTS:
            return as_expression(CONSTANTS[token], token)
        return time if token == "time" else symbol(token)

    def take_infix(self, bracket: _Bracket) -> bool:
        """Whether an operator follows, which needs another operand."""
        if self.token not in INFIX:
            return False
        strength, function = INFIX[self.take()]
        bracket.apply(strength + (strength == POWER))  # a**b**c is a**(b**c)
        bracket.operators.append((strength, 2, function))
        return True

    def go_on(self, bracket: _Bracket) -> bool:
        """Whether after this formula another follows in the same bracket."""
        bracket.apply()
        if bracket.defined:
            self.take(";")
            self.names[bracket.defined] = bracket.operands.pop()
            self.begin_side(bracket)
            return True
        if bracket.call and self.token == ",":
            self.take()
            bracket.arguments.append(bracket.operands.pop())
            self.begin_side(bracket)
            return True
        return False

    def close(self, bracket: _Bracket) -> Expression:
        (formula,) = bracket.operands
        self.take(")")
        if not bracket.call:
            return formula
        self.names = bracket.outer
        name, inputs = bracket.call, [*bracket.arguments, formula]
        counts, function = CALLS[name]
        if len(inputs) not in counts:
            fewer = "".join(f"{count} or " for count in counts[:-1])
            self.refuse(f"{name} takes {fewer}{counted(counts[-1], 'argument')}, got {len(inputs)}")
        return function(*inputs)
