"""`transfer_function`: what a linear model does between its inputs and an output, as two polynomials.

From the standard form, with b_i and d_i the columns of one input (Kailath 1980, appendix A),

    H (sE − F)⁻¹ G_i = C (sI − A)⁻¹ b_i + d_i = (det(sI − A + b_i C) − (1 − d_i) det(sI − A)) / det(sI − A).

Poles that no input reaches or the output does not show cancel against zeros of all numerators.

T. Kailath, Linear Systems, Prentice-Hall 1980.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedal.analysis import ZERO, check_model, evaluate_descriptor, extract_linear_form, find_polynomial_part
from daedal.errors import ModelError, counted, interruptible, nearest, quoted, show
from daedal.linear import find_eigenvalues
from daedal.lti.transfer_functions import TransferFunction
from daedal.models import Model

CANCELS = 1e-6  # distance of a zero from a pole, relative to their size, that counts as the same
LOOKS = 0.7 + 0.3j, 1.1 - 1.3j  # s, in the mean of the poles: where a response is looked at
SLOW = 1e3  # times the slowest pole that is not zero: size of those that are smaller
NOTHING = 1e-10  # leading coefficient of a numerator, relative to the largest in natural units of time


@interruptible
def transfer_function(
    model: Model, *, output: Any = None, values: Mapping[Any, float] | None = None
) -> TransferFunction:
    """The transfer function of a linear model from its inputs to an output; constant terms are left out.

    Examples
    --------
    >>> from daedal import Model, der, symbols
    >>> x, v, u = symbols("x v u")
    >>> equations = {"speed": der(x) == v, "force": der(v) == u - 2.8 * v - x}
    >>> print(transfer_function(Model(name="m", equations=equations, unknowns=[x, v], inputs=[u], outputs={"y": x})))
    y = 1 / (s² + 2.8 s + 1) u
    """
    name = _choose_output(check_model("transfer_function", model), output)
    form = evaluate_descriptor(model, extract_linear_form(model, "transfer_function"), values)
    standard = form.standard_form()
    n = standard.evolving
    row = form.outputs.index(name)
    part = find_polynomial_part(form.G, form.H, standard)
    if np.any(part.orders[row] > 0):
        wrong = form.inputs[int(np.argmax(part.orders[row] > 0))]
        raise ModelError(
            f"Output '{name}' of model '{model.name}' follows the derivative of input '{wrong}': its transfer function "
            "is improper.",
            f"Filter the output first: model.with_presampling_filter({{'{name}': ...}}).",
        )
    A, B = standard.A, (standard.P @ form.G)[:n]
    C = (form.H @ standard.Q)[[row], :n]
    direct = np.zeros(B.shape[1])
    if len(part.sizes):
        direct = np.where(part.sizes[0, row] > ZERO, part.coefficients[0, row], 0.0)
    poles = find_eigenvalues(A)
    rate = float(np.exp(np.mean(np.log(np.abs(poles[poles != 0]))))) if np.any(poles != 0) else 1.0
    zeros, gains = _find_zeros(A / rate, B / rate, C, direct)
    poles, zeros = _cancel(poles / rate, zeros)
    numerators = {
        source: _scale(gain, roots, poles.size, rate)
        for source, gain, roots in zip(form.inputs, gains, zeros, strict=True)
    }
    denominator = np.real(np.poly(poles)) * rate ** np.arange(poles.size + 1.0) if poles.size else np.ones(1)
    return TransferFunction(numerators, denominator, output=name)


def _choose_output(model: Model, output: Any) -> str:
    if not model.inputs:
        raise ModelError(f"Model '{model.name}' has no inputs.", "Declare inputs=[u].")
    if output is None and len(model.outputs) != 1:
        raise ModelError(
            f"Model '{model.name}' has {counted(len(model.outputs), 'output')}: {quoted(model.outputs)}.",
            f"Choose one: output='{next(iter(model.outputs), 'y')}'.",
        )
    name = next(iter(model.outputs)) if output is None else show(output, str)
    if name not in model.outputs:
        raise ModelError(f"Model '{model.name}' has no output '{name}'.", nearest(name, model.outputs))
    return name


def _find_zeros(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, direct: np.ndarray
) -> tuple[list[np.ndarray], list[float]]:
    """Zeros of each numerator and its leading coefficient."""
    n = len(A)
    below = np.real(np.poly(find_eigenvalues(A))) if n else np.ones(1)
    zeros, gains = [], []
    for k, d in enumerate(direct):
        unit = _find_unit(A, B[:, k], C, d)
        beside = np.real(np.poly(find_eigenvalues(A - B[:, [k]] @ C / unit))) if n else np.ones(1)
        numerator = beside + (d / unit - 1.0) * below
        size = np.abs(beside) + np.abs(below)
        numerator = np.where(np.abs(numerator) <= NOTHING * size.max(), 0.0, numerator)
        filled = np.flatnonzero(numerator)
        zeros.append(np.roots(numerator[filled[0] :]) if filled.size else np.zeros(0))
        gains.append(unit * float(numerator[filled[0]]) if filled.size else 0.0)
    return zeros, gains


def _find_unit(A: np.ndarray, b: np.ndarray, C: np.ndarray, d: float) -> float:
    """How large the response is where s is about as large as the poles: a small one would be lost beside them."""
    sizes = [float(np.abs(C @ np.linalg.solve(s * np.eye(len(A)) - A, b) + d).max()) for s in LOOKS]
    return max(sizes) or 1.0


def _cancel(poles: np.ndarray, zeros: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Without the poles that every numerator cancels."""
    kept = []
    least = min(1.0, SLOW * float(np.min(np.abs(poles[poles != 0]), initial=np.inf)))
    for pole in poles:
        places = [place for roots in zeros if (place := _find_near(roots, pole, least)) is not None]
        if zeros and len(places) == len(zeros):
            zeros = [np.delete(roots, place) for roots, place in zip(zeros, places, strict=True)]
        else:
            kept.append(pole)
    return np.array(kept), zeros


def _find_near(zeros: np.ndarray, pole: complex, least: float) -> int | None:
    if not zeros.size:
        return None
    place = int(np.argmin(np.abs(zeros - pole)))
    return place if abs(zeros[place] - pole) <= CANCELS * max(least, abs(pole)) else None


def _scale(gain: float, zeros: np.ndarray, order: int, rate: float) -> np.ndarray:
    """A numerator in the unit of time of the model: s was divided by the rate in all of them."""
    polynomial = gain * np.real(np.poly(zeros)) if zeros.size else np.array([gain])
    powers = order - np.arange(polynomial.size - 1, -1, -1.0)
    return polynomial * rate**powers
