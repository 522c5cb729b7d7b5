"""`record_fit`: a fit as plain numbers and words, for JSON.

The outermost names are those of the `Report` that MATLAB's System Identification Toolbox keeps with a model. With e the
prediction errors of the criterion (one step ahead for `Likelihood`, simulated otherwise), N samples of each of n_y
outputs and n_p estimated numbers,

    LossFcn = det(Σ e eᵀ / N),   FPE = LossFcn (1 + n_p/N) / (1 − n_p/N),   nAIC = log LossFcn + 2 n_p/N,

which need outputs that are sampled together and are null otherwise. AIC and BIC are those of the fit, null where it is
no likelihood, AICc = AIC + 2 n_p (n_p + 1)/(n − n_p − 1) with n all samples.

Reference: L. Ljung, System Identification: Theory for the User, 2nd ed., Prentice Hall (1999), sections 7.4 and 16.4.
"""

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np

from daedal.data import Dataset, find_uniform_step
from daedal.errors import RefusalError
from daedal.estimation import Fit, describe, describe_for_reading
from daedal.records import list_versions, make_plain
from daedal.validation import Comparison, compare


def record_fit(fit: Fit, own: Comparison | None = None) -> dict[str, Any]:
    """Everything a fit found and was made from, as JSON holds it: null for what is not known or not finite.

    Parameters
    ----------
    fit
        What `fit` returned.
    own
        Its comparison with its own data, where that is at hand.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, fit, symbols
    >>> x, k = symbols("x k")
    >>> decay = Model(
    ...     name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], outputs={"x": x}, parameters={k: 1.0},
    ...     initial={x: 1.0},
    ... )
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> sorted(record_fit(fit(decay, data, free=["k"])))[:4]
    ['DataUsed', 'Fit', 'Format', 'Making']
    """
    intervals = fit.conf_int()
    return make_plain(
        {
            "Format": "daedal-fit-1",
            "Model": {"name": fit.model.name, "text": fit.model.to_text()},
            "Status": str(fit.status),
            "Method": describe_for_reading(fit.criterion),
            "Fit": _measure(fit, own),
            "Parameters": {
                "ParVector": {name: one.value for name, one in fit.estimates.items()},
                "FreeParCovariance": {
                    "names": list(fit.estimates),
                    "data": fit.cov,
                    "monte_carlo": fit.monte_carlo_cov,
                },
                "Estimates": [
                    {
                        "name": one.name,
                        "value": one.value,
                        "std_error": one.std_error,
                        "monte_carlo_error": one.monte_carlo_error,
                        "interval95": list(intervals[one.name]),
                        "start": one.start,
                        "lower": one.lower,
                        "upper": one.upper,
                        "scale": one.scale,
                        "unit": one.unit,
                        "at_bound": one.at_bound,
                        "from_data": one.from_data,
                        "verdict": one.verdict,
                        "description": one.description,
                    }
                    for one in fit.estimates.values()
                ],
                "Fixed": fit.coordinates.list_fixed(),
            },
            "OptionsUsed": {
                "criterion": describe(fit.criterion),
                "solver": None if fit.solver is None else describe(fit.solver),
            },
            "RandState": str(fit.seed),
            "DataUsed": [describe_data(one) for one in fit.data],
            "Termination": {
                "WhyStop": fit.status.sentence,
                "Converged": fit.status.ok,
                "Interrupted": fit.status.interrupted,
                "FcnCount": fit.evaluations,
                "Starts": len(fit.attempts) or 1,
                "Minima": [{"value": one.value, "starts": one.count, "params": dict(one.params)} for one in fit.minima],
                "Criterion": fit.value,
            },
            "Making": None if fit.making is None else vars(fit.making),
            "Notes": list(fit.notes),
            "Versions": list_versions(),
        }
    )


def describe_data(data: Dataset) -> dict[str, Any]:
    """Name, signals and digest of an experiment."""
    step = find_uniform_step(data.sample_times) if data.sample_times.size > 1 else None
    return {
        "Name": data.name,
        "Length": int(data.sample_times.size),
        "Ts": step,
        "Start": float(data.sample_times[0]),
        "Origin": None if data.origin is None else data.origin.isoformat(),
        "InterSample": {name: one.intersample for name, one in data.inputs.items()},
        "Outputs": list(data.outputs),
        "Inputs": list(data.inputs),
        "Units": dict(data.units),
        "SHA256": digest_data(data),
    }


def digest_data(data: Dataset) -> str:
    """SHA-256 of all times and values as little-endian doubles, each after its kind, name and count in UTF-8.

    The same for the same numbers, whatever file they came from.
    """
    digest = sha256()
    for kind, table in (("input", data.inputs), ("output", data.outputs)):
        for name, signal in sorted(table.items()):
            digest.update(f"{kind}\0{name}\0{signal.times.size}\0".encode(errors="surrogatepass"))
            digest.update(np.ascontiguousarray(signal.times, dtype="<f8").tobytes())
            digest.update(np.ascontiguousarray(signal.values, dtype="<f8").tobytes())
    return digest.hexdigest()


def _measure(fit: Fit, own: Comparison | None) -> dict[str, Any]:
    """What the data of the fit are described to."""
    count, numbers = fit.samples, len(fit.estimates)
    corrected = None
    if fit.aic is not None and count > numbers + 1:
        corrected = fit.aic + 2.0 * numbers * (numbers + 1) / (count - numbers - 1)
    loss = {"MSE": None, "LossFcn": None, "FPE": None, "nAIC": None}
    with suppress(RefusalError):  # a model that cannot be simulated there has no errors
        loss |= _measure_errors(own if own is not None else compare(fit, fit.data), numbers)
    return {
        "FitPercent": dict(fit.fit_percent),
        **loss,
        "AIC": fit.aic,
        "AICc": corrected,
        "BIC": fit.bic,
        "LogLikelihood": fit.loglik,
    }


def _measure_errors(own: Comparison, numbers: int) -> Mapping[str, Any]:
    series = [one.ahead or one for one in own.series]
    errors = [np.where(one.scored, one.measured - one.predicted, np.nan) for one in series]
    squares: dict[str, list[np.ndarray]] = {}
    for one, error in zip(series, errors, strict=True):
        squares.setdefault(one.output, []).append(error[np.isfinite(error)] ** 2)
    told: dict[str, Any] = {"MSE": {name: float(np.mean(np.concatenate(parts))) for name, parts in squares.items()}}
    rows = _stack_errors(own, errors)
    if rows is None or rows.shape[1] <= numbers:
        return told
    N = rows.shape[1]
    loss = float(np.linalg.det(rows @ rows.T / N))
    if not loss > 0.0:
        return told
    share = numbers / N
    return told | {
        "LossFcn": loss,
        "FPE": loss * (1.0 + share) / (1.0 - share),
        "nAIC": float(np.log(loss)) + 2.0 * share,
    }


def _stack_errors(own: Comparison, errors: list[np.ndarray]) -> np.ndarray | None:
    """(output, sample) over all experiments, where the outputs of each are sampled together; None otherwise."""
    blocks = []
    for label in dict.fromkeys(one.experiment for one in own.series):
        mine = [k for k, one in enumerate(own.series) if one.experiment == label]
        times = [own.series[k].times for k in mine]
        if len(mine) != len(own.outputs) or not all(np.array_equal(times[0], other) for other in times):
            return None
        block = np.array([errors[k] for k in mine])
        blocks.append(block[:, np.isfinite(block).all(axis=0)])
    rows = np.concatenate(blocks, axis=1)
    return rows if rows.size else None
