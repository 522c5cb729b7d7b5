"""`select_order`: how many derivatives a system has, and its coefficients, straight from data.

Every pair of orders (n, m) gets its best coefficients by output error. Schwarz's criterion, the BIC of a `Fit`, weighs
what more coefficients gain against what they cost; among candidates it cannot tell apart, the smallest is taken, and of
those with as many coefficients the one with the lowest derivative of an input. A fast pole and a fast zero to the right
look alike: that the pole is taken is a preference, not a finding. Not chosen, whatever their BIC, are candidates that
grow, unless they are asked for, and those whose simulation of held-out samples is far worse than that of others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal, Protocol, overload, runtime_checkable

import numpy as np

from daedal.data import Dataset, FrozenMapping
from daedal.errors import (
    MOST_ENTRIES,
    EstimationError,
    check_whole_number,
    counted,
    interruptible,
    is_list,
    is_one_of,
    list_entries,
    show,
)
from daedal.estimation import describe, measure_fit
from daedal.linear import one_thread
from daedal.order.choice import (
    Tried,
    choose_candidate,
    exclude_candidates,
    explain_choice,
    explain_failure,
    note_colour,
    note_excluded,
    note_limits,
)
from daedal.order.ordinary_fit import fit_ordinarily
from daedal.order.output_error import Polished, polish_again, polish_on
from daedal.order.record import Record, make_record
from daedal.order.refined_iv import RefinedIV
from daedal.order.response import Shape, compute_response
from daedal.order.result import FINISHED, Candidate, OrderSearch, OrderSearches, name_values
from daedal.progress import Progress
from daedal.simulation import Status

HELD_OUT = 0.3  # share of the samples, the last ones, that the held-out fit is computed on
MOST = 50  # poles or zeros: powers of s up to here differ by more digits than numbers have


@runtime_checkable
class OrderMethod(Protocol):
    """How the coefficients of one shape are found; results `known` for smaller ones may help.

    `narrow` gives the shapes of all that it tries, and what it has to say about them.
    """

    def narrow(self, shapes: Sequence[Shape], record: Record) -> tuple[list[Shape], list[str]]: ...

    def estimate(self, shape: Shape, record: Record, known: Sequence[Polished] = ()) -> Polished | None: ...


@overload
def select_order(
    data: Dataset,
    *,
    orders: Iterable[int] = ...,
    input_orders: Iterable[int] | None = ...,
    method: OrderMethod | None = ...,
    output: str | None = ...,
    inputs: Sequence[str] | None = ...,
    initial: Literal["free", "zero"] = ...,
    stable: bool = ...,
) -> OrderSearch: ...


@overload
def select_order(
    data: Dataset,
    *,
    orders: Iterable[int] = ...,
    input_orders: Iterable[int] | None = ...,
    method: OrderMethod | None = ...,
    output: Sequence[str],
    inputs: Sequence[str] | None = ...,
    initial: Literal["free", "zero"] = ...,
    stable: bool = ...,
) -> OrderSearches: ...


@interruptible
@one_thread
def select_order(
    data: Dataset,
    *,
    orders: Iterable[int] = range(1, 6),
    input_orders: Iterable[int] | None = None,
    method: OrderMethod | None = None,
    output: str | Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    initial: Literal["free", "zero"] = "free",
    stable: bool = True,
) -> OrderSearch | OrderSearches:
    """Find the order and coefficients of a linear system between inputs and an output.

    Parameters
    ----------
    data
        A Dataset; samples may be missing (NaN) or irregular.
    orders
        Numbers of poles to try.
    input_orders
        Highest derivatives of the inputs to try; by default all below the order.
    method
        `RefinedIV(...)` (default) or `SparseSplines(...)`.
    output, inputs
        Which of the data to use; by default the only output, and all inputs. A list of outputs gives each its own
        order, in `OrderSearches`.
    initial
        "free": the state at the start is estimated; "zero": it is at rest.
    stable
        Choose among candidates that do not grow over the record; False: among all.

    Examples
    --------
    >>> from daedal import Dataset
    >>> times = np.arange(400) * 0.1
    >>> u = np.sign(np.sin(0.7 * times))
    >>> y = np.zeros(400)
    >>> for k in range(399):  # y' = −2 y + u, with u held
    ...     y[k + 1] = np.exp(-0.2) * y[k] + (1 - np.exp(-0.2)) / 2 * u[k]
    >>> noisy = y + 0.01 * np.random.default_rng(0).standard_normal(400)
    >>> found = select_order(Dataset(times, inputs={"u": u}, outputs={"y": noisy}, intersample="zoh"))
    >>> found.order, found.input_order
    (1, 0)
    """
    chosen_method = RefinedIV() if method is None else method
    if isinstance(chosen_method, type) or not isinstance(chosen_method, OrderMethod):
        raise EstimationError(
            f"The method must be RefinedIV(...) or SparseSplines(...), got {show(chosen_method)}.",
            "Write method=RefinedIV().",
        )
    if not is_one_of(initial, ("free", "zero")):
        raise EstimationError(f"initial must be 'free' or 'zero', got {show(initial)}.", "Write initial='free'.")
    if not isinstance(stable, (bool, np.bool_)):
        raise EstimationError(f"stable must be True or False, got {show(stable)}.", "Write stable=False to allow any.")

    def search(name: Any) -> OrderSearch:
        record = make_record("select_order", data, name, inputs)
        shapes = _list_shapes(orders, input_orders, record, initial == "free")
        return _search(shapes, record, chosen_method, bool(stable))

    return search(output) if output is None or isinstance(output, str) else _search_each(search, output)


def _search_each(search: Callable[[Any], OrderSearch], outputs: Any) -> OrderSearches:
    """One output after the other; an interrupt ends it after the one that it came in."""
    entries = list_entries(outputs)
    if not entries:
        raise EstimationError(
            f"The output must be a name or a list of names, got {show(outputs)}.",
            "Write output='y' or output=['y1', 'y2'].",
        )
    searches: dict[str, OrderSearch] = {}
    for name in (show(one, str) for one in entries):
        if name in searches:
            raise EstimationError(f"The output '{name}' is named twice.", "Name each output once.")
        try:
            searches[name] = search(name)
        except KeyboardInterrupt:
            if not searches:
                raise
            last = next(reversed(searches))
            status = Status(
                False, f"Interrupted: '{name}' was not searched.", "Run it again to finish.", interrupted=True
            )
            searches[last] = replace(searches[last], status=status)
        if searches[next(reversed(searches))].status.interrupted:
            break
    return OrderSearches(FrozenMapping(searches))


def _search(listed: list[Shape], record: Record, method: OrderMethod, stable: bool) -> OrderSearch:
    shapes, said = _narrow(listed, record, method)
    tried = _try_candidates(shapes, record, method)
    status = FINISHED if len(tried) == len(shapes) else _describe_interrupt(len(tried), len(shapes))
    choice, excluded = exclude_candidates(tried, stable)
    best = choose_candidate(choice)
    if best is None:
        raise explain_failure(tried, record)
    try:
        candidate, polished = _finish(*best, record)
    except KeyboardInterrupt:
        if status.interrupted:  # it is the second
            raise
        (candidate, polished), status = best, _describe_interrupt(len(tried), len(shapes))
    candidates = [candidate if other is best[0] else other for other, _ in tried]
    allowed = [candidate, *(other for other, _ in choice if other is not best[0])]
    notes = (*said, *note_excluded(excluded, candidate), *note_limits(candidate, record), *note_colour(polished))
    return OrderSearch(
        method=describe(method),
        candidates=tuple(candidates),
        chosen=candidate,
        reason=explain_choice(candidate, allowed),
        notes=notes,
        made_fit=partial(fit_ordinarily, polished, record, notes),
        status=status,
    )


def _describe_interrupt(tried: int, wanted: int) -> Status:
    if tried < wanted:
        what = f"{tried} of {wanted} candidates were tried, and the choice is among them"
    else:
        what = "all candidates were tried, but the chosen one is not quite at its minimum"
    return Status(False, f"Interrupted: {what}.", "Run it again to finish.", interrupted=True)


def _list_shapes(orders: Any, input_orders: Any, record: Record, start: bool) -> list[Shape]:
    poles = _check_whole_numbers(orders, "orders", 1)
    zeros = None if input_orders is None else _check_whole_numbers(input_orders, "input_orders", 0)
    shapes = []
    for n in poles:
        tried = range(n) if zeros is None else [m for m in zeros if m <= n]
        shapes += [Shape(n, m, len(record.inputs), start) for m in tried]
    if zeros is not None and min(zeros) > max(poles):
        raise EstimationError(
            f"An input order of {min(zeros)} for {counted(max(poles), 'pole')} is improper.",
            "Give input orders up to the order.",
        )
    if not shapes:
        raise EstimationError("There is nothing to try.", "Give orders=range(1, 6).")
    if record.count < 2 * min(shape.size for shape in shapes):
        raise EstimationError(
            f"'{record.output}' has {counted(record.count, 'sample')}, fewer than twice the numbers to estimate for "
            "the smallest candidate.",
            "Give more data.",
        )
    return shapes


def _narrow(shapes: list[Shape], record: Record, method: OrderMethod) -> tuple[list[Shape], list[str]]:
    """The shapes that the samples suffice for and a method tries, and what is to be said about them."""
    enough = [shape for shape in shapes if record.count >= 2 * shape.size]
    said = []
    if len(enough) < len(shapes):
        left = counted(len(shapes) - len(enough), "candidate")
        said.append(f"{left} left out: {counted(record.count, 'sample')} do not suffice for so many coefficients")
    tried, notes = method.narrow(enough, record)
    return tried, [*said, *notes]


def _check_whole_numbers(given: Any, what: str, least: int) -> list[int]:
    if not is_list(given):
        raise EstimationError(f"{what} must be a list of whole numbers, got {show(given)}.", f"Write {what}=[1, 2, 3].")
    sentence, remedy = f"{what} must be whole numbers from {least} to {MOST}", f"Write {what}=[{least}, {least + 1}]."
    # One by one: a range may be longer than there is memory, but ends where a number is too large.
    listed = islice(given, MOST_ENTRIES)  # what repeats itself without end says nothing new
    numbers = {check_whole_number(one, EstimationError, sentence, remedy, least=least, most=MOST) for one in listed}
    if not numbers:
        raise EstimationError(f"The list of {what} is empty.", remedy)
    return sorted(numbers)


def _try_candidates(shapes: list[Shape], record: Record, method: OrderMethod) -> list[Tried]:
    """All candidates in rising order; each helps the one with a pole more. An interrupt ends the list, if it began."""
    candidates: list[Tried] = []
    known: dict[tuple[int, int], Polished] = {}
    ranked = sorted(shapes, key=lambda one: (one.order, one.input_order))
    done, work = 0.0, sum(map(_weigh, ranked))
    with Progress(f"order of '{record.output}':", remedy="try fewer or lower orders") as progress:
        try:
            for shape in ranked:
                progress.say(f"{counted(shape.order, 'pole')}, input order {shape.input_order}")
                near = [(shape.order - down, shape.input_order - left) for down in (0, 1) for left in (0, 1)]
                polished = method.estimate(shape, record, [known[place] for place in near if place in known])
                if polished is not None:
                    known[shape.order, shape.input_order] = polished
                candidates.append((_make_candidate(shape, polished, record), polished))
                done += _weigh(shape)
                progress.expect(done / work)
        except KeyboardInterrupt:
            if all(polished is None for _, polished in candidates):
                raise
    return candidates


def _weigh(shape: Shape) -> float:
    """About how the work of a candidate grows with its coefficients."""
    return float(shape.size) ** 1.5


def _finish(candidate: Candidate, polished: Polished, record: Record) -> tuple[Candidate, Polished]:
    """The chosen candidate with the exact minimum, which candidates that are only compared do not need."""
    if not polished.rough:
        return candidate, polished
    exact = polish_on(polished)
    return _make_candidate(exact.shape, exact, record, candidate.held_out), exact


def _make_candidate(
    shape: Shape, polished: Polished | None, record: Record, held_out: float | None = None
) -> Candidate:
    if polished is None:
        empty = name_values([], np.zeros(0))
        nan = float("nan")
        failure = "no coefficients with a bounded response were found"
        return Candidate(
            shape.order, shape.input_order, None, empty, empty, empty, np.inf, nan, nan, nan, failure=failure
        )
    names = polished.shape.names(record.inputs)[: polished.shape.coefficients]
    size = len(names)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(np.diag(polished.covariance))
    transfer_function = polished.shape.transfer_function(polished.theta, polished.record)
    return Candidate(
        order=polished.shape.order,
        input_order=polished.shape.input_order,
        transfer_function=transfer_function,
        coefficients=name_values(names, polished.theta[:size]),
        std_errors=name_values(names, errors[:size]),
        scales=name_values(names, _measure_scales(polished)),
        bic=polished.information,
        fit_percent=_measure_percent(record.y, polished.residual),
        held_out=_fit_held_out(polished) if held_out is None else held_out,
        growth=float(np.max(np.real(transfer_function.poles))) * record.span,
        delay_errors=name_values(list(record.inputs) if polished.free_delays else [], errors[polished.shape.size :]),
    )


def _measure_scales(polished: Polished) -> np.ndarray:
    """What errors are small against: the coefficient, or one between its neighbours, so that it may well be zero.

    Beyond the last power lies the slowest motion of the record: a smaller coefficient there is a pole or zero at zero.
    """
    a, b, _ = polished.shape.split(polished.theta)
    slowest = 2.0 * np.pi / polished.record.span
    sizes = []
    for rising in (np.append(a, 1.0), *b):
        size = np.abs(rising)
        if size.size > 1:
            size[0] = max(size[0], slowest * size[1])
        size[1:-1] = np.maximum(size[1:-1], np.sqrt(size[:-2] * size[2:]))
        sizes.append(size)
    return np.concatenate([sizes[0][:-1], *sizes[1:]])


def _measure_percent(y: np.ndarray, residual: np.ndarray) -> float:
    known = np.isfinite(y) & np.isfinite(residual)
    return measure_fit(y[known], (y - residual)[known])


def _fit_held_out(polished: Polished) -> float:
    """How well the last samples are simulated by a model from those before, which starts from what all gave."""
    whole = polished.record
    first = int((1.0 - HELD_OUT) * whole.times.size)
    early = whole.until(first)
    if early.count < 2 * polished.shape.size:
        return float("nan")
    refitted = polish_again(polished, early, evaluations=15)
    response = None if refitted is None else compute_response(refitted.shape, refitted.theta, refitted.record)
    if response is None:
        return float("nan")
    return _measure_percent(whole.y[first:], (whole.y - response.y)[first:])
