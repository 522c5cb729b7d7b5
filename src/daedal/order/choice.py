"""Which candidate of an order search is chosen, why, and what is to be said about it."""

import numpy as np

from daedal.errors import EstimationError, counted, quoted
from daedal.estimation import whiteness
from daedal.order.ordinary_fit import UNEQUAL
from daedal.order.output_error import Polished
from daedal.order.record import Record
from daedal.order.result import Candidate

COLOURED = 1e-3  # probability below which what is left is called autocorrelated
MOST_LAGS = 25  # looked at for that
TIED = 2.0  # difference of BIC that says nothing
SLOWLY = 0.2  # of the highest frequency that samples show: inputs below it may leave fast poles in the dark
FAR_WORSE, SLIGHT = 2.0, 5.0  # factor and percent by which a held-out error counts as far larger than the smallest
FAR = 3.0  # mean of the output in standard deviations that calls for detrending
GROWING = "which are not stable; stable=False allows them"
FAILING = "which simulate the held-out samples far worse than others"
Tried = tuple[Candidate, Polished | None]


def exclude_candidates(tried: list[Tried], stable: bool) -> tuple[list[Tried], dict[str, list[Candidate]]]:
    """The candidates to choose from, and reason → those that are not."""
    usable = [pair for pair in tried if pair[1] is not None]
    growing = [one for one, _ in usable if stable and one.grows]
    steady = [pair for pair in usable if pair[0] not in growing]
    nearest = min((100.0 - one.held_out for one, _ in steady if np.isfinite(one.held_out)), default=np.inf)
    # Where the output is nearly explained, a small difference is a large factor.
    failing = [one for one, _ in steady if 100.0 - one.held_out > FAR_WORSE * nearest + SLIGHT]
    return [pair for pair in steady if pair[0] not in failing], {GROWING: growing, FAILING: failing}


def note_excluded(excluded: dict[str, list[Candidate]], chosen: Candidate) -> list[str]:
    """Those that would have been chosen by their BIC."""
    better = {why: [one for one in ones if one.bic <= chosen.bic + TIED] for why, ones in excluded.items()}
    return [f"not chosen in spite of their BIC: {_list_orders(ones)}, {why}" for why, ones in better.items() if ones]


def _list_orders(candidates: list[Candidate], most: int = 6) -> str:
    listed = [f"({one.order}, {one.input_order})" for one in candidates]
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def explain_failure(tried: list[Tried], record: Record) -> EstimationError:
    if all(polished is None for _, polished in tried):
        return EstimationError(
            f"No candidate describes '{record.output}': {tried[0][0].failure}", "Look at the data with plot(data)."
        )
    grown = [one for one, polished in tried if polished is not None]
    remedy = f"Take the mean of '{record.output}' away with data.detrend()" if _lies_far(record) else "Try other orders"
    return EstimationError(
        f"Of '{record.output}' only unstable models were found, (order, input order) = {_list_orders(grown)}.",
        f"{remedy}, or allow them with stable=False.",
    )


def _lies_far(record: Record) -> bool:
    """Whether the output stays far from zero, as a slow pole would from its start on."""
    y = record.y[record.known]
    return min(abs(float(y.mean())), abs(float(y[0]))) > FAR * float(y.std())


def choose_candidate(tried: list[Tried]) -> tuple[Candidate, Polished] | None:
    """The smallest candidate among those that BIC cannot tell from the best; of these the one with fewest zeros."""
    usable = [(candidate, polished) for candidate, polished in tried if polished is not None]
    if not usable:
        return None
    lowest = min(candidate.bic for candidate, _ in usable)
    tied = [pair for pair in usable if pair[0].bic <= lowest + TIED]
    return min(tied, key=lambda pair: (len(pair[0].coefficients), pair[0].input_order, pair[0].bic))


def explain_choice(chosen: Candidate, candidates: list[Candidate]) -> str:
    others = [candidate for candidate in candidates if candidate is not chosen and np.isfinite(candidate.bic)]
    said = f"chosen: order {chosen.order}, input order {chosen.input_order}"
    if not others:
        return f"{said}, the only candidate"
    lower = min((candidate for candidate in others), key=lambda candidate: candidate.bic)
    ahead = lower.bic - chosen.bic
    if ahead < 0.0:
        same = len(lower.coefficients) == len(chosen.coefficients)
        least = "the lowest derivative of an input" if same else "the smallest"
        return f"{said}: {least} of those that BIC cannot tell from the best ({-ahead:.1f} above it)"
    return f"{said}: the lowest BIC, {ahead:.1f} below the next (order {lower.order}, input order {lower.input_order})"


def note_limits(chosen: Candidate, record: Record) -> list[str]:
    notes = []
    without = [name for name in record.inputs if len(record.inputs) > 1 and _is_unseen(chosen, name)]
    if without:
        notes.append(f"no effect on '{record.output}' is seen of {quoted(without)}: leave out what does nothing")
    endings = tuple(f"_{name}" for name in without)
    loose = [name for name in chosen.not_in_the_data if not (endings and name.endswith(endings))]
    if loose:
        notes.append(
            f"hardly in the data: {', '.join(loose)}; the inputs do not excite what would show them, so do not rely on "
            "these numbers or on the order"
        )
    if _lies_far(record):
        notes.append(
            f"'{record.output}' lies far from zero, which costs a slow pole; data.detrend() takes the mean away"
        )
    poles = chosen.transfer_function.poles if chosen.transfer_function is not None else np.zeros(1)
    fastest = float(np.max(np.abs(poles)))
    if record.excited < min(fastest, SLOWLY * np.pi / record.interval):
        notes.append(
            f"the inputs excite up to about {record.excited:.2g} radians per unit of time, and the fastest pole is at "
            f"{fastest:.2g}: a still faster one would hardly be seen"
        )
    late_inputs = [
        n
        for n, d, s in zip(record.inputs, _list_delays(chosen), record.signals, strict=True)
        if d > 0.0 and s.values[0]
    ]
    if late_inputs:
        notes.append(
            f"before the record {quoted(late_inputs)} is taken to be what it is at its beginning; where it was zero, "
            "begin its samples earlier"
        )
    if chosen.delay_errors and chosen.transfer_function is not None:
        late = chosen.transfer_function.delay
        said = [f"{name} {late[name]:.4g} ± {error:.2g}" for name, error in chosen.delay_errors.items()]
        notes.append(f"estimated delay and its standard error: {', '.join(said)}")
    if not chosen.stable:
        slow = "has a pole to the right of zero, so slow that it acts as an integrator over the record"
        notes.append(f"the chosen model {'is not stable' if chosen.grows else slow}")
    if chosen.fit_percent <= 0.0:
        notes.append(
            f"the chosen model is no better than a constant (fit {chosen.fit_percent:.0f} %): do not use it; try other "
            "orders, or look at the data with plot(data)"
        )
    missing = int((~record.known).sum())
    if missing:
        notes.append(f"{counted(missing, 'sample')} of '{record.output}' missing")
    return notes


def note_colour(polished: Polished) -> list[str]:
    """A residual that remembers: then intervals for white noise are too narrow, and more poles may only describe it."""
    intervals = np.diff(polished.record.times)
    if polished.noise is not None or np.ptp(intervals) > UNEQUAL * np.max(intervals):
        return []
    lags = min(MOST_LAGS, polished.residual.size // 10)
    if lags < 1 or not whiteness([polished.residual], lags).p_value < COLOURED:
        return []
    return [
        "what is left is autocorrelated: intervals are too narrow, and poles may belong to the noise; compare with "
        "RefinedIV(noise=True)"
    ]


def _list_delays(chosen: Candidate) -> list[float]:
    """Of all inputs."""
    tf = chosen.transfer_function
    return [] if tf is None else [tf.delay[name] for name in tf.inputs]


def _is_unseen(chosen: Candidate, name: str) -> bool:
    """Whether no coefficient of an input differs from zero by two standard errors."""
    own = [key for key in chosen.coefficients if key.startswith("b") and key.endswith(f"_{name}")]
    return all(not abs(chosen.coefficients[key]) > 2.0 * chosen.std_errors[key] for key in own)
