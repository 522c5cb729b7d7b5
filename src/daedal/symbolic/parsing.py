"""Read expressions and equations back from their text form. Reading never executes code.

text        = side [ "==" side ]
side        = { "@1" "=" expression ";" } expression
expression  = or-terms of and-terms of comparisons of sums of products of powers, as in Python
operand     = number | name | name "(" expression { "," expression } ")" | "(" expression ")"
"""

import re
from functools import partial
from typing import NoReturn

from daedal.errors import ExpressionError, counted, nearest
from daedal.symbolic import functions
from daedal.symbolic.expression import NAME, Equation, Expression, apply_function, as_expression, where
from daedal.symbolic.operators import delay, der, hold, hysteresis
from daedal.symbolic.symbol_table import symbol, time

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
SIGN = r"\*\*|[<>=!]=|[-+*/()<>,;=]"
DIGIT = re.compile(r"\.?\d")
TOKEN = re.compile(rf"\s*(?:{NUMBER}|{NAME.pattern}|@\d+|{SIGN})")
INFIX = (
    {"or": lambda a, b: a | b},
    {"and": lambda a, b: a & b},
    {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "!=": lambda a, b: a != b,
    },
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: a / b},
)
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


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise ExpressionError(f"A formula must be given as text, got {text!r}.", 'Write it in quotes: "k*sin(x)".')
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
        try:
            formula: Expression | Equation = self.read_side()
            if self.token == "==":
                self.take()
                formula = Equation(formula, self.read_side())
        except RecursionError:
            self.refuse("its brackets nest too deeply")
        if self.token:
            self.refuse(f"'{self.token}' was not expected")
        return formula

    def read_side(self) -> Expression:
        while self.token.startswith("@") and self.tokens[self.position + 1 : self.position + 2] == ["="]:
            name = self.take()
            self.take("=")
            self.names[name] = self.read_infix(0)
            self.take(";")
        return self.read_infix(0)

    def read_infix(self, level: int) -> Expression:
        if level == len(INFIX):
            return self.read_signed()
        if INFIX[level].keys() & {"<"} and self.token == "not":
            self.take()
            return ~self.read_infix(level)
        left = self.read_infix(level + 1)
        while self.token in INFIX[level]:
            left = INFIX[level][self.take()](left, self.read_infix(level + 1))
        return left

    def read_signed(self) -> Expression:
        if self.token in ("-", "+"):
            return -self.read_signed() if self.take() == "-" else self.read_signed()
        base = self.read_operand()
        if self.token == "**":
            self.take()
            return base ** self.read_signed()
        return base

    def read_operand(self) -> Expression:
        token = self.take()
        if token == "(":
            inner = self.read_infix(0)
            self.take(")")
            return inner
        if DIGIT.match(token):
            return as_expression(float(token), "number")
        if token.startswith("@"):
            return self.names[token] if token in self.names else self.refuse(f"'{token}' is used before it is defined")
        if not NAME.fullmatch(token):
            self.refuse(f"'{token}' was not expected")
        if self.token == "(":
            return self.read_call(token)
        if token in CONSTANTS:
            return as_expression(CONSTANTS[token], token)
        return time if token == "time" else symbol(token)

    def read_call(self, name: str) -> Expression:
        if name not in CALLS:
            self.refuse(f"there is no function '{name}' ({nearest(name, CALLS).rstrip('.')})")
        counts, function = CALLS[name]
        self.take("(")
        outer = dict(self.names)  # a formula inside der, delay or the like names its parts for itself
        inputs = [self.read_side()]
        while self.token == ",":
            self.take()
            inputs.append(self.read_side())
        self.take(")")
        self.names = outer
        if len(inputs) not in counts:
            fewer = "".join(f"{count} or " for count in counts[:-1])
            self.refuse(f"{name} takes {fewer}{counted(counts[-1], 'argument')}, got {len(inputs)}")
        return function(*inputs)
