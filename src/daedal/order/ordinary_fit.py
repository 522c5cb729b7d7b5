"""The chosen coefficients as an ordinary `Fit`: the same minimum by the general simulation, with its standard errors.

Estimated delays are free parameters there too: held fixed they would make the other intervals too narrow. A noise model
becomes a filter of the same order, made anew from the residual. Its information criteria count the state at
the start as the search does, for as long as samples tell of it.
"""

from dataclasses import replace

import numpy as np

from daedal.data import Dataset
from daedal.estimation import Fit, OutputError, compute_information, fit
from daedal.lti import TransferFunction
from daedal.models import Model, Parameter
from daedal.order.output_error import Polished
from daedal.order.record import Record
from daedal.symbolic import delay, symbol

UNEQUAL = 1e-6  # relative differences of sample intervals that a filter does not suit
SHORTEST = 0.01  # of a delay and of a sample interval: a free delay stays positive


def fit_ordinarily(polished: Polished, record: Record, notes: tuple[str, ...] = ()) -> Fit:
    """Fit the model of a result to its record, from its own numbers on; it keeps the notes of its search.

    A state at the start is declared as zero and only begins elsewhere: one that cannot be told from zero is an answer.
    """
    shape, tf = polished.shape, polished.shape.transfer_function(polished.theta, polished.record)
    model = _remove_delay(tf).to_model("free" if shape.start else "zero", name=f"order {shape.order}")
    begin = {}
    if shape.start:
        starts = [name for name in model.parameters if name.startswith("x") and "_start" in name]
        begin = dict(zip(starts, _find_start_values(polished), strict=True))
    signals = polished.record.signals
    if polished.free_delays:
        model, signals = _free_delays(model, polished.record), record.signals
    inputs = dict(zip(record.inputs, signals, strict=True))
    samples = record.data.outputs[record.output]
    used = ("time", record.output, *inputs)
    data = Dataset(
        record.times,
        inputs=inputs,
        outputs={record.output: samples.values},
        t0=record.t0,
        name=record.data.name,
        units={name: unit for name, unit in record.data.units.items() if name in used},
    )
    criterion = _choose_criterion(polished)
    fitted = fit(model, data, free=list(model.parameters), criterion=criterion, starts=[begin] if begin else None)
    fitted = replace(fitted, notes=(*notes, *fitted.notes))
    if fitted.loglik is None or fitted.aic is None:
        return fitted
    numbers = 0.5 * fitted.aic + fitted.loglik
    information = compute_information(fitted.loglik, numbers - polished.forgotten, fitted.samples)
    return replace(fitted, aic=information.aic, bic=information.bic)


def _choose_criterion(polished: Polished) -> OutputError:
    """Whitened where there is a noise model, and equal intervals that its filter needs."""
    intervals = np.diff(polished.record.times)
    if polished.noise is None or np.ptp(intervals) > UNEQUAL * np.max(intervals):
        return OutputError()
    return OutputError(whiten=polished.noise.order or False)


def _free_delays(model: Model, late: Record) -> Model:
    """The model with a parameter for every delay but those of zero, where they were bounded."""
    equations, parameters = dict(model.equations), {}
    for name, value in zip(late.inputs, late.delays, strict=True):
        if value > 0.0:
            text = "delay" if len(late.inputs) == 1 else f"delay_{name}"
            while text in (*late.inputs, late.output):
                text += "_"
            # Without an upper bound no other starts are tried: the search has done that.
            parameters[symbol(text)] = Parameter(value, lower=SHORTEST * min(value, late.interval))
            key = f"response to {name}"
            equations[key] = equations[key].lhs == delay(symbol(name), symbol(text))
    return replace(model.with_parameters(parameters), equations=equations)


def _remove_delay(tf: TransferFunction) -> TransferFunction:
    return TransferFunction(dict(tf.numerator), tf.denominator, 0.0, output=tf.output)


def _find_start_values(polished: Polished) -> list[float]:
    """x(0), x'(0), … whose response b(d/dt) x is that of c(s)/a(s): b(s) x̂(s) = c(s) modulo a(s)."""
    a, b, c = polished.shape.split(polished.theta)
    n = polished.shape.order
    rising = np.append(a, 1.0)
    # An initial state x of a(d/dt) x = 0 has the transform Σ_k x⁽ᵏ⁾(0) q_k(s)/a(s), q_k(s) = Σ_{j > k} a_j s^{j−k−1}.
    matrix = np.zeros((n, n))
    for k in range(n):
        q = rising[k + 1 :]
        product = np.convolve(b[0], q)
        _, rest = np.polydiv(product[::-1], rising[::-1])
        column = rest[::-1]
        matrix[: column.size, k] = column[:n]
    start = np.linalg.lstsq(matrix, c, rcond=None)[0]
    return [float(value) for value in start]
