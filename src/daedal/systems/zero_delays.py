"""Delays of length zero: the delayed value is the value itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca

from daedal.models import Model, evaluate_expressions, evaluate_parameters
from daedal.symbolic import Equation, Expression, stack_symbols


def remove_zero_delays(model: Model, values: Mapping[Any, float] | None = None) -> Model:
    """The model with every delay that is zero at these values taken out; itself where there is none.

    Examples
    --------
    >>> from daedal import Model, delay, der, symbols
    >>> x, tau = symbols("x tau")
    >>> late = Model(name="late", equations={"rate": der(x) == -delay(x, tau)}, unknowns=[x], parameters={tau: 0.0})
    >>> remove_zero_delays(late).equations["rate"]
    der(x) == -x
    """
    delays = model.delayed
    lengths = {name: delayed.amount for name, delayed in delays.items()}
    amounts = evaluate_expressions(lengths, evaluate_parameters(model, values)) if delays else {}
    gone = [name for name, amount in amounts.items() if amount == 0.0]
    if not gone:
        return model
    old = stack_symbols(gone)
    new = ca.vertcat(*(delays[name].operand.sx for name in gone))

    def undelay(expression: Expression) -> Expression:
        return Expression(ca.substitute(expression.sx, old, new))

    equations = {name: Equation(undelay(e.lhs), undelay(e.rhs)) for name, e in model.equations.items()}
    outputs = {name: undelay(expression) for name, expression in model.outputs.items()}
    # A zero inside another zero delay comes out in the next round.
    return remove_zero_delays(replace(model, equations=equations, outputs=outputs), values)
