"""Typeset expressions and equations: MathML for pages, LaTeX for papers (of the kind that matplotlib reads too).

Both are made by one walk over the operations of an expression, with brackets where `writing` has them; fractions,
powers and roots need fewer. What is used more than once and is long is written once and called e₁, e₂, …, as there.

Printers of libraries were tried: sympy's takes ten times as long, orders terms anew (k (u − x)/d moves behind sin²θ)
and knows neither der, delay, hold nor choices; latex2mathml makes MathML of twice the length from the LaTeX below, with
small fractions; ziamath draws outlines of letters, 19 kB for an equation of 570 bytes, which no one can select or hear.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Protocol, final

import casadi as ca

from daedal.errors import ExpressionError
from daedal.symbolic.expression import Equation, Expression
from daedal.symbolic.operators import Delayed, Derivative, Held, find_operator, jet
from daedal.symbolic.writing import (
    AND,
    ATOM,
    CALLS,
    CHOICE,
    COMPARISON,
    NEGATION,
    NOT,
    OR,
    POWER,
    PRODUCT,
    SUM,
    count_uses,
)

LARGE = 40  # operations from which on what is used twice is written once
DEEPEST = 25  # parts within parts, of what is not
SIGNS = {
    ca.OP_ADD: ("+", SUM),
    ca.OP_SUB: ("−", SUM),
    ca.OP_MUL: ("⋅", PRODUCT),
    ca.OP_LT: ("<", COMPARISON),
    ca.OP_LE: ("≤", COMPARISON),
    ca.OP_NE: ("≠", COMPARISON),
    ca.OP_AND: ("∧", AND),
    ca.OP_OR: ("∨", OR),
}
WORDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
GREEK: dict[str, str] = dict(zip(WORDS.split(), "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True))


def write_mathml(formula: Expression | Equation) -> str:
    """A MathML element that shows an expression or an equation.

    Examples
    --------
    >>> from daedal.symbolic import symbol
    >>> write_mathml(symbol("x") / 2)
    '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block"><mfrac><mi>x</mi><mn>2</mn></mfrac></math>'
    """
    inside = _typeset(formula, MathML())
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{inside}</math>'


def write_latex(formula: Expression | Equation) -> str:
    r"""An expression or an equation in LaTeX, without dollars.

    Examples
    --------
    >>> from daedal.symbolic import symbol
    >>> print(write_latex(symbol("omega_0") ** 2 / 2))
    \frac{{\omega_{\mathrm{0}}}^{2}}{2}
    """
    return _typeset(formula, Latex())


@final
@dataclass(frozen=True)
class _Node:
    """One operation, typeset; base and exponent of an integer power, as CasADi expands it."""

    text: str
    strength: int
    operation: int = -1
    operands: tuple["_Node", ...] = ()
    base: "_Node | None" = None
    exponent: int = 1
    size: int = 1
    depth: int = 0


class Notation(Protocol):
    """How a formula is written down; every part is a text that is typeset already."""

    def number(self, mantissa: str, exponent: str) -> str:
        """Digits, times a power of ten where there is one."""
        ...

    def name(self, parts: Sequence[tuple[str, str]]) -> str:
        """A path of names with subscripts."""
        ...

    def row(self, *parts: str) -> str:
        """Parts in a row."""
        ...

    def sign(self, text: str) -> str:
        """An operator."""
        ...

    def bracket(self, inside: str) -> str:
        """Something in brackets."""
        ...

    def fraction(self, above: str, below: str) -> str:
        """A fraction."""
        ...

    def power(self, base: str, exponent: str) -> str:
        """A power."""
        ...

    def root(self, inside: str) -> str:
        """A square root."""
        ...

    def absolute(self, inside: str) -> str:
        """An absolute value."""
        ...

    def call(self, function: str, arguments: Sequence[str]) -> str:
        """A function of arguments."""
        ...

    def dotted(self, inside: str, order: int) -> str:
        """A first or second derivative of a short name."""
        ...

    def at(self, inside: str, when: str) -> str:
        """A formula at another time."""
        ...

    def choice(self, condition: str, yes: str, no: str) -> str:
        """One of two."""
        ...

    def lines(self, lines: Sequence[str]) -> str:
        """Several formulas below each other."""
        ...


DOT = '<mo lspace="0em" rspace="0em">.</mo>'


@final
class MathML:
    """Presentation MathML."""

    def number(self, mantissa: str, exponent: str) -> str:
        power = f"<mo>×</mo><msup><mn>10</mn><mn>{exponent}</mn></msup>" if exponent else ""
        return f"<mrow><mn>{mantissa}</mn>{power}</mrow>" if power else f"<mn>{mantissa}</mn>"

    def name(self, parts: Sequence[tuple[str, str]]) -> str:
        texts = []
        for base, below in parts:
            letter = f"<mi>{escape(base)}</mi>"
            texts.append(f"<msub>{letter}<mi>{escape(below)}</mi></msub>" if below else letter)
        return texts[0] if len(texts) == 1 else f"<mrow>{DOT.join(texts)}</mrow>"

    def row(self, *parts: str) -> str:
        return f"<mrow>{''.join(parts)}</mrow>"

    def sign(self, text: str) -> str:
        return f"<mo>{escape(text)}</mo>"

    def bracket(self, inside: str) -> str:
        return f"<mrow><mo>(</mo>{inside}<mo>)</mo></mrow>"

    def fraction(self, above: str, below: str) -> str:
        return f"<mfrac>{above}{below}</mfrac>"

    def power(self, base: str, exponent: str) -> str:
        return f"<msup>{base}{exponent}</msup>"

    def root(self, inside: str) -> str:
        return f"<msqrt>{inside}</msqrt>"

    def absolute(self, inside: str) -> str:
        return f"<mrow><mo>|</mo>{inside}<mo>|</mo></mrow>"

    def call(self, function: str, arguments: Sequence[str]) -> str:
        return f"<mrow><mi>{function}</mi><mo>&#x2061;</mo>{self.bracket('<mo>,</mo>'.join(arguments))}</mrow>"

    def dotted(self, inside: str, order: int) -> str:
        return f'<mover accent="true">{inside}<mo>{"˙" if order == 1 else "¨"}</mo></mover>'

    def at(self, inside: str, when: str) -> str:
        return f"<mrow>{inside}{self.bracket(when)}</mrow>"

    def choice(self, condition: str, yes: str, no: str) -> str:
        rows = ((yes, f"<mrow><mtext>if&#xA0;</mtext>{condition}</mrow>"), (no, "<mtext>otherwise</mtext>"))
        table = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in rows)
        return f'<mrow><mo>{{</mo><mtable columnalign="left left">{table}</mtable></mrow>'

    def lines(self, lines: Sequence[str]) -> str:
        rows = "".join(f"<mtr><mtd>{line}</mtd></mtr>" for line in lines)
        return f'<mtable columnalign="left">{rows}</mtable>'


@final
class Latex:
    """LaTeX as matplotlib's mathtext understands it, too."""

    SIGNS = {  # noqa: RUF012
        "−": "-", "⋅": r"\cdot ", "≤": r"\leq ", "≠": r"\neq ", "∧": r"\wedge ", "∨": r"\vee ", "¬": r"\neg ",
    }  # fmt: skip
    LETTERS = {letter: f"\\{word} " for word, letter in GREEK.items()}  # noqa: RUF012

    def number(self, mantissa: str, exponent: str) -> str:
        return f"{mantissa} \\times 10^{{{exponent.replace('−', '-')}}}" if exponent else mantissa

    def name(self, parts: Sequence[tuple[str, str]]) -> str:
        texts = []
        for base, below in parts:
            plain = base if len(base) == 1 and base.isascii() else f"\\mathrm{{{self._escape(base)}}}"
            letter = self.LETTERS.get(base, plain).strip()
            texts.append(f"{letter}_{{\\mathrm{{{self._escape(below)}}}}}" if below else letter)
        return ".".join(texts)

    def _escape(self, text: str) -> str:
        return "".join(self.LETTERS.get(c, f"\\{c}" if c in "_%&#${}" else c) for c in text).replace(" ", r"\ ")

    def row(self, *parts: str) -> str:
        return " ".join(parts)

    def sign(self, text: str) -> str:
        return self.SIGNS.get(text, text)

    def bracket(self, inside: str) -> str:
        return rf"\left({inside}\right)"

    def fraction(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"

    def power(self, base: str, exponent: str) -> str:
        return f"{{{base}}}^{{{exponent}}}"

    def root(self, inside: str) -> str:
        return rf"\sqrt{{{inside}}}"

    def absolute(self, inside: str) -> str:
        return rf"\left|{inside}\right|"

    def call(self, function: str, arguments: Sequence[str]) -> str:
        listed = self.bracket(r",\ ".join(arguments))
        return rf"\mathrm{{{function}}}{listed}"

    def dotted(self, inside: str, order: int) -> str:
        return rf"\{'d' * order}ot{{{inside}}}"

    def at(self, inside: str, when: str) -> str:
        return f"{inside}{self.bracket(when)}"

    def choice(self, condition: str, yes: str, no: str) -> str:
        return self.call("where", (condition, yes, no))

    def lines(self, lines: Sequence[str]) -> str:
        return r";\quad ".join(lines)


def _typeset(formula: Expression | Equation, notation: Notation) -> str:
    statements: list[str] = []
    if isinstance(formula, Equation):
        sides = [_walk(side.sx, notation, statements).text for side in (formula.lhs, formula.rhs)]
        text = notation.row(sides[0], notation.sign("="), sides[1])
    else:
        text = _walk(formula.sx, notation, statements).text
    return notation.lines([*statements, text]) if statements else text


def _walk(sx: ca.SX, notation: Notation, statements: list[str]) -> _Node:
    """The last operation of an expression; long parts that are used twice become statements."""
    if sx.is_symbolic():
        return _typeset_symbol(sx.name(), notation, statements)
    symbols = ca.symvar(sx)
    function = ca.Function("typeset", [ca.vertcat(*symbols)], [sx])
    leaves = [_typeset_symbol(symbol.name(), notation, statements) for symbol in symbols]
    uses = count_uses(function)
    work: dict[int, _Node] = {}
    for k in range(function.n_instructions()):
        operation, inputs = function.instruction_id(k), function.instruction_input(k)
        if operation == ca.OP_OUTPUT:
            return work[inputs[0]]
        if operation == ca.OP_CONST:
            node = _typeset_number(float(function.instruction_constant(k)), notation)
        elif operation == ca.OP_INPUT:
            node = leaves[inputs[1]]
        else:
            operands = tuple(work[i] for i in inputs)
            node = _typeset_operation(operation, operands, notation)
            kept = operands if operation in CHOICE else ()
            chained = operation in SIGNS and operands[0].strength == node.strength  # a + b + c does not nest
            depth = max(operands[0].depth + (not chained), *(one.depth + 1 for one in operands[1:]), 0)
            size = 1 + sum(one.size for one in operands)
            node = replace(node, operation=operation, operands=kept, size=size, depth=depth)
        if node.size > (LARGE if uses[k] > 1 else 10 * LARGE) or node.depth > DEEPEST:
            name = notation.name([("e", str(len(statements) + 1))])
            statements.append(notation.row(name, notation.sign("="), node.text))
            node = _Node(name, ATOM, operation, node.operands)
        work[function.instruction_output(k)[0]] = node
    return _typeset_number(0.0, notation)  # a structural zero has no instructions


def _typeset_number(value: float, notation: Notation) -> _Node:
    if value != value or value in (float("inf"), float("-inf")):
        text = notation.name([("undefined" if value != value else "∞", "")])
        return _Node(text, ATOM) if not value < 0 else _Node(notation.row(notation.sign("−"), text), NEGATION)
    mantissa, _, exponent = f"{abs(value):.6g}".partition("e")
    power = "" if not exponent else f"−{int(exponent[1:])}" if exponent[0] == "-" else str(int(exponent))
    text = notation.number(mantissa, power)
    if value < 0:
        return _Node(notation.row(notation.sign("−"), text), NEGATION)
    return _Node(text, PRODUCT if power else ATOM)


def _split_name(name: str) -> list[tuple[str, str]]:
    """The parts of a path, each with what stands after its first underscore as a subscript; Greek letters by name."""
    parts = []
    for part in re.split(r"\.(?![^\[]*\])", name):
        base, _, below = part.partition("_")
        whole = (part, "") if not base or not below else (GREEK.get(base, base), GREEK.get(below, below))
        parts.append((GREEK.get(part, part), "") if "_" not in part else whole)
    return parts


def _typeset_symbol(name: str, notation: Notation, statements: list[str]) -> _Node:
    meaning = find_operator(name)
    if meaning is None:
        return _Node(notation.name(_split_name("t" if name == "time" else name)), ATOM)
    amounts = [_walk(amount.sx, notation, statements) for amount in meaning.amounts]
    if isinstance(meaning, Derivative):
        return _typeset_derivative(name, meaning, notation, statements)
    inner = _walk(meaning.operand.sx, notation, statements)
    if isinstance(meaning, Delayed):
        when = notation.row(notation.name([("t", "")]), notation.sign("−"), _wrap(amounts[0], PRODUCT, notation))
        plain = meaning.operand.is_symbol and find_operator(meaning.operand.sx.name()) is None
        return _Node(notation.at(inner.text if plain else notation.bracket(inner.text), when), ATOM)
    what = "hold" if isinstance(meaning, Held) else "hysteresis"
    silent = isinstance(meaning, Held) and meaning.delay.sx.is_zero()
    given = [inner.text, *(one.text for one in (amounts[:-1] if silent else amounts))]
    return _Node(notation.call(what, given), ATOM)


def _typeset_derivative(name: str, meaning: Derivative, notation: Notation, statements: list[str]) -> _Node:
    base, order = jet(name)
    if order and find_operator(base) is None and "." not in base and order <= 2:
        return _Node(notation.dotted(notation.name(_split_name(base)), order), ATOM)
    d, t = notation.name([("d", "")]), notation.name([("t", "")])
    if order and find_operator(base) is None:
        inner, count = _typeset_symbol(base, notation, statements), order
    else:
        inner, count = _walk(meaning.operand.sx, notation, statements), 1
    raised = str(count)
    above = d if count == 1 else notation.power(d, notation.number(raised, ""))
    below = notation.row(d, t if count == 1 else notation.power(t, notation.number(raised, "")))
    return _Node(notation.row(notation.fraction(above, below), _wrap(inner, ATOM, notation)), PRODUCT)


def _wrap(node: _Node, strength: int, notation: Notation) -> str:
    return node.text if node.strength >= strength else notation.bracket(node.text)


def _typeset_operation(operation: int, operands: tuple[_Node, ...], notation: Notation) -> _Node:
    first, second = operands[0], operands[-1]
    power = _typeset_integer_power(operation, operands, notation)
    if power is not None:
        return power
    if operation == ca.OP_ADD and _is_choice(first, second):
        parts = (first.operands[0].text, first.operands[1].text, second.operands[1].text)
        return _Node(notation.choice(*parts), OR)  # in brackets wherever it is a part
    if operation in SIGNS:
        text, strength = SIGNS[operation]
        left, right = _wrap(first, strength, notation), _wrap(second, strength + 1, notation)
        if second.strength == NEGATION and strength in (SUM, PRODUCT):  # two signs would meet
            right = notation.bracket(second.text)
        return _Node(notation.row(left, notation.sign(text), right), strength)
    if operation in (ca.OP_DIV, ca.OP_INV):
        above = notation.number("1", "") if operation == ca.OP_INV else first.text
        return _Node(notation.fraction(above, second.text), POWER)
    if operation in (ca.OP_POW, ca.OP_CONSTPOW):
        return _Node(notation.power(_wrap(first, ATOM, notation), second.text), POWER)
    if operation == ca.OP_NEG:
        return _Node(notation.row(notation.sign("−"), _wrap(first, PRODUCT, notation)), NEGATION)
    if operation == ca.OP_NOT:
        return _Node(notation.row(notation.sign("¬"), _wrap(first, ATOM, notation)), NOT)
    if operation == ca.OP_TWICE:
        text = notation.row(notation.number("2", ""), notation.sign("⋅"), _wrap(first, PRODUCT + 1, notation))
        return _Node(text, PRODUCT)
    if operation == ca.OP_IF_ELSE_ZERO:
        return _Node(notation.choice(first.text, second.text, notation.number("0", "")), OR)
    if operation == ca.OP_SQRT:
        return _Node(notation.root(first.text), ATOM)
    if operation == ca.OP_FABS:
        return _Node(notation.absolute(first.text), ATOM)
    if operation in CALLS:
        return _Node(notation.call(CALLS[operation], [one.text for one in operands]), ATOM)
    raise ExpressionError(
        f"The CasADi operation number {operation} has no typeset form.",
        "Write the expression with numpy functions; those listed in daedal.symbolic.functions can be used.",
    )


def _typeset_integer_power(operation: int, operands: tuple[_Node, ...], notation: Notation) -> _Node | None:
    """CasADi's expansion of an integer power, as in `writing`."""
    last = operands[-1]
    base = last.base or last
    if operation == ca.OP_SQ:
        exponent = 2 * last.exponent
    elif operation == ca.OP_MUL and last.base is operands[0] and last.exponent % 2 == 0:
        exponent = last.exponent + 1
    else:
        return None
    text = notation.power(_wrap(base, ATOM, notation), notation.number(str(exponent), ""))
    return _Node(text, POWER, base=base, exponent=exponent)


def _is_choice(first: _Node, second: _Node) -> bool:
    """CasADi's expansion of a choice: (c ? a : 0) + (not c ? b : 0)."""
    both = first.operation == second.operation == ca.OP_IF_ELSE_ZERO
    return both and second.operands[0].operation == ca.OP_NOT and second.operands[0].operands[0] is first.operands[0]
