"""The text form of an expression: Python syntax with numpy's function names, exact to the last bit when read back.

A subexpression that is used more than once and is long is written once and named (`@1 = ...; ...`), so that the text
stays proportional to the expression, not to its expanded tree.
"""

from dataclasses import dataclass, replace

import casadi as ca

from daedal.errors import ExpressionError

# Binding strengths, loosest first.
OR, AND, NOT, COMPARISON, SUM, PRODUCT, NEGATION, POWER, ATOM = range(9)

NAMED_FROM = 60  # characters: shorter shared subexpressions read better when repeated
DEEPEST = 25  # brackets within brackets: what lies deeper is named too, so that readers need not nest without end
LONGEST = 10_000  # characters: what is longer is named too, so that writing takes time in proportion to the text

INFIX = {
    ca.OP_ADD: ("+", SUM),
    ca.OP_SUB: ("-", SUM),
    ca.OP_MUL: ("*", PRODUCT),
    ca.OP_DIV: ("/", PRODUCT),
    ca.OP_LT: ("<", COMPARISON),
    ca.OP_LE: ("<=", COMPARISON),
    ca.OP_NE: ("!=", COMPARISON),
    ca.OP_AND: ("and", AND),
    ca.OP_OR: ("or", OR),
}

CALLS = {
    ca.OP_SIN: "sin",
    ca.OP_COS: "cos",
    ca.OP_TAN: "tan",
    ca.OP_ASIN: "arcsin",
    ca.OP_ACOS: "arccos",
    ca.OP_ATAN: "arctan",
    ca.OP_SINH: "sinh",
    ca.OP_COSH: "cosh",
    ca.OP_TANH: "tanh",
    ca.OP_ASINH: "arcsinh",
    ca.OP_ACOSH: "arccosh",
    ca.OP_ATANH: "arctanh",
    ca.OP_EXP: "exp",
    ca.OP_EXPM1: "expm1",
    ca.OP_LOG: "log",
    ca.OP_LOG1P: "log1p",
    ca.OP_SQRT: "sqrt",
    ca.OP_FABS: "abs",
    ca.OP_SIGN: "sign",
    ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil",
    ca.OP_ERF: "erf",
    ca.OP_ATAN2: "arctan2",
    ca.OP_HYPOT: "hypot",
    ca.OP_FMAX: "maximum",
    ca.OP_FMIN: "minimum",
    ca.OP_FMOD: "fmod",
    ca.OP_COPYSIGN: "copysign",
}


CHOICE = (ca.OP_IF_ELSE_ZERO, ca.OP_NOT)


@dataclass(frozen=True)
class _Node:
    """One operation of the expression with its written form."""

    operation: int
    operands: tuple["_Node", ...]  # of the parts of a choice only
    text: str
    strength: int
    base: "_Node | None" = None  # an integer power b**n as CasADi expands it: n by repeated squaring of b
    exponent: int = 1
    depth: int = 0

    def wrap(self, strength: int) -> str:
        """The text, in parentheses where it binds more loosely than `strength`."""
        return self.text if self.strength >= strength else f"({self.text})"


def write_number(value: float) -> str:
    """A number as it is typed: integers without a point, everything else with all its digits."""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def write_expression(sx: ca.SX) -> str:
    """The text of a scalar expression."""
    if sx.is_symbolic():
        return sx.name()
    symbols = ca.symvar(sx)
    function = ca.Function("written", [ca.vertcat(*symbols)], [sx])
    names = [symbol.name() for symbol in symbols]
    uses = count_uses(function)
    work: dict[int, _Node] = {}
    statements: list[str] = []
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        inputs = function.instruction_input(k)
        if operation == ca.OP_OUTPUT:
            return "; ".join([*statements, work[inputs[0]].text])
        if operation == ca.OP_CONST:
            node = _write_constant(float(function.instruction_constant(k)))
        elif operation == ca.OP_INPUT:
            node = _Node(operation, (), names[inputs[1]], ATOM)
        else:
            operands = tuple(work[i] for i in inputs)
            node = _write_operation(operation, operands)
            kept = operands if operation in CHOICE else ()  # all would hold the texts of all parts in memory
            node = replace(node, depth=_measure_depth(node, operands), operands=kept)
        if len(node.text) > (NAMED_FROM if uses[k] > 1 else LONGEST) or node.depth > DEEPEST:
            name = f"@{len(statements) + 1}"
            statements.append(f"{name} = {node.text}")
            node = _Node(operation, node.operands, name, ATOM)
        work[function.instruction_output(k)[0]] = node
    return write_number(0.0)  # a structural zero has no instructions


def count_uses(function: ca.Function) -> list[int]:
    """How often the result of each instruction is used; the work vector is recycled, so follow who wrote last."""
    uses = [0] * function.n_instructions()
    writer: dict[int, int] = {}
    for k in range(function.n_instructions()):
        operation = function.instruction_id(k)
        if operation not in (ca.OP_CONST, ca.OP_INPUT):
            for i in function.instruction_input(k):
                uses[writer[i]] += 1
        if operation != ca.OP_OUTPUT:
            writer[function.instruction_output(k)[0]] = k
    return uses


def _measure_depth(node: _Node, operands: tuple[_Node, ...]) -> int:
    """How deeply the text nests, at most; a chain such as a + b + c does not."""
    chained = node.operation in INFIX and operands[0].strength == node.strength
    return max(operands[0].depth + (not chained), *(operand.depth + 1 for operand in operands[1:]), 0)


def _write_constant(value: float) -> _Node:
    return _Node(ca.OP_CONST, (), write_number(value), NEGATION if value < 0 else ATOM)


def _write_operation(operation: int, operands: tuple[_Node, ...]) -> _Node:
    """Write one operation; the second operand of an infix is bracketed at equal strength, which keeps the tree."""
    first = operands[0]
    second = operands[-1]
    power = _write_integer_power(operation, operands)
    if power is not None:
        return power
    if operation in INFIX:
        if operation == ca.OP_ADD and _is_choice(first, second):
            condition, yes, no = first.operands[0], first.operands[1], second.operands[1]
            return _Node(operation, operands, f"where({condition.text}, {yes.text}, {no.text})", ATOM)
        sign, strength = INFIX[operation]
        space = "" if strength == PRODUCT else " "
        return _Node(
            operation, operands, f"{first.wrap(strength)}{space}{sign}{space}{second.wrap(strength + 1)}", strength
        )
    if operation in (ca.OP_POW, ca.OP_CONSTPOW):
        return _Node(operation, operands, f"{first.wrap(ATOM)}**{second.wrap(NEGATION)}", POWER)
    if operation == ca.OP_NEG:
        return _Node(operation, operands, f"-{first.wrap(NEGATION)}", NEGATION)
    if operation == ca.OP_NOT:
        return _Node(operation, operands, f"not {first.wrap(NOT)}", NOT)
    if operation == ca.OP_TWICE:
        return _Node(operation, operands, f"2*{first.wrap(NEGATION)}", PRODUCT)
    if operation == ca.OP_INV:
        return _Node(operation, operands, f"1/{first.wrap(NEGATION)}", PRODUCT)
    if operation == ca.OP_IF_ELSE_ZERO:
        return _Node(operation, operands, f"where({first.text}, {second.text}, 0)", ATOM)
    if operation in CALLS:
        return _Node(operation, operands, f"{CALLS[operation]}({', '.join(o.text for o in operands)})", ATOM)
    raise ExpressionError(
        f"The CasADi operation number {operation} has no text form.",
        "Write the expression with numpy functions; those listed in daedal.symbolic.functions can be used.",
    )


def _write_integer_power(operation: int, operands: tuple[_Node, ...]) -> _Node | None:
    """Recognise CasADi's expansion b**2n = (b**n)**2, b**(2n+1) = b*b**2n, which reads back as itself."""
    last = operands[-1]
    base = last.base or last
    if operation == ca.OP_SQ:
        exponent = 2 * last.exponent
    elif operation == ca.OP_MUL and last.base is operands[0] and last.exponent % 2 == 0:
        exponent = last.exponent + 1
    else:
        return None
    return _Node(operation, operands, f"{base.wrap(ATOM)}**{exponent}", POWER, base, exponent)


def _is_choice(first: _Node, second: _Node) -> bool:
    """CasADi's expansion of a choice: (c ? a : 0) + (not c ? b : 0)."""
    both = first.operation == second.operation == ca.OP_IF_ELSE_ZERO
    return both and second.operands[0].operation == ca.OP_NOT and second.operands[0].operands[0] is first.operands[0]
