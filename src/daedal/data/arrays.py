"""Checked, read-only arrays and mappings: what nouns store."""

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from daedal.errors import DataError, OutOfMemoryError, show
from daedal.symbolic import Expression

JITTER = 1e-3  # of a sample interval: clocks that are off by less count as regular
LARGEST = 1e150  # value of a sample: squares of larger ones, and their sums, are no numbers
Array: TypeAlias = NDArray[np.float64]
Key = TypeVar("Key")
Value = TypeVar("Value")


class FrozenMapping(Mapping[Key, Value]):
    """A mapping that cannot be changed, compares by its items and can be pickled; a symbol stands for its name.

    Examples
    --------
    >>> FrozenMapping({"k": 8.0})
    {'k': 8.0}
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[Key, Value]) -> None:
        self._items: dict[Any, Value] = dict(items)

    def __getitem__(self, key: Any) -> Value:
        return self._items[str(key) if isinstance(key, Expression) else key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    # As those of Mapping, without a call for every item.
    def items(self) -> ItemsView[Key, Value]:
        return self._items.items()

    def values(self) -> ValuesView[Value]:
        return self._items.values()

    def __repr__(self) -> str:
        return repr(self._items)


def short(number: float) -> str:
    """A number for a sentence."""
    return f"{number:.10g}"


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Put the name of what was being read before the sentence of a failure."""
    try:
        yield
    except (DataError, OutOfMemoryError) as error:
        raise type(error)(f"{subject}: {error.sentence}", error.remedy) from None


def check_real(label: str, given: object) -> float:
    """One finite number."""
    number = _try_float(given)
    if number is None:
        raise DataError(f"{label} must be a number but is {show(given)}.", "Give one real number.")
    if not np.isfinite(number):
        raise DataError(f"{label} must be finite but is {number}.", "Give one real number.")
    return number


def _try_float(given: Any) -> float | None:
    """None where there is no such number, or where it would lose its imaginary part."""
    try:
        return None if np.iscomplexobj(given) else float(given)
    except Exception:  # whatever the method of a stranger raises
        return None


def check_positive(label: str, given: object) -> float:
    """One number above zero."""
    number = check_real(label, given)
    if number <= 0:
        raise DataError(f"{label} must be positive but is {short(number)}.", "Give a number above zero.")
    return number


def check_numbers(label: str, given: ArrayLike) -> Array:
    """A new float64 array of any shape; masked entries are NaN."""
    if isinstance(given, np.ma.MaskedArray) and given.dtype.kind in "biuf":
        given = np.ma.filled(given.astype(np.float64), np.nan)
    if isinstance(given, range):  # of numbers that are nowhere yet
        from daedal.memory import check_memory

        check_memory(2 * 8.0 * len(given), f"A range of {len(given):.3g} {label}", "Give fewer samples.")
    try:
        array = np.asarray(given)
    except ValueError:
        raise DataError(
            f"{label} must be an array but its rows differ in length.", "Give one number a sample."
        ) from None
    except Exception:  # whatever the method of a stranger raises
        raise DataError(
            f"{label} must be an array but is of type {type(given).__name__}.", "Give one number a sample."
        ) from None
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{label} must be real numbers but the type is {array.dtype}.",
            "Convert first: dates to seconds since a start, text to numbers, None to NaN.",
        )
    with np.errstate(over="ignore"):  # longer floats become infinite, as any number beyond 1.8e308
        return np.array(array, dtype=np.float64)


def check_column(label: str, given: ArrayLike) -> Array:
    """A read-only, one-dimensional copy."""
    array = check_numbers(label, given)
    if array.ndim != 1:
        raise DataError(
            f"{label} must be one-dimensional but the shape is {array.shape}.",
            "Give each signal its own name and array.",
        )
    return frozen(array)


def check_sizes(times: Array, values: Array) -> None:
    """Finite values can be squared."""
    if (wrong := find_first(np.abs(values) > LARGEST)) is not None:
        raise DataError(
            f"values may be up to {LARGEST:g} but values[{wrong}] (time {short(times[wrong])}) is {values[wrong]}.",
            "Give them in a larger unit.",
        )


def increasing(given: ArrayLike) -> Array:
    """Sample times: a read-only column that is finite and strictly increasing."""
    times = _check_times(given)
    if (wrong := find_first(np.diff(times) <= 0)) is not None:
        raise DataError(
            f"times must be strictly increasing but {_compare_neighbours(times, wrong)}.",
            "Sort the samples by time and remove repeated times.",
        )
    return times


def ascending(given: ArrayLike) -> Array:
    """As `increasing`, but times may be repeated: several samples at one time."""
    times = _check_times(given)
    if (wrong := find_first(np.diff(times) < 0)) is not None:
        raise DataError(f"times must increase but {_compare_neighbours(times, wrong)}.", "Sort the samples by time.")
    return times


def _check_times(given: ArrayLike) -> Array:
    times = check_column("times", given)
    if times.size == 0:
        raise DataError("times are empty.", "Give at least one sample time.")
    if (wrong := find_first(~np.isfinite(times))) is not None:
        raise DataError(f"times must be finite but times[{wrong}] is {times[wrong]}.", "Remove or repair that sample.")
    return times


def _compare_neighbours(times: Array, place: int) -> str:
    return f"times[{place + 1}] = {short(times[place + 1])} follows times[{place}] = {short(times[place])}"


def frozen(array: Array) -> Array:
    """The same array, from now on read-only."""
    array.flags.writeable = False
    return array


def find_first(wrong: NDArray[np.bool_]) -> int | None:
    """Position of the first True."""
    return int(np.argmax(wrong)) if wrong.any() else None


def find_uniform_step(times: Array) -> float | None:
    """The common distance of the times, or None when one differs from it by more than a thousandth: clocks jitter."""
    if times.size < 2:
        return None
    step = float(times[-1] - times[0]) / (times.size - 1)
    rounding = 4 * np.finfo(float).eps * float(np.abs(times).max())
    return step if np.abs(np.diff(times) - step).max() <= JITTER * step + rounding else None
