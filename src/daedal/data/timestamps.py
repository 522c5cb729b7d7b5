"""Timestamps: seconds since the first of them, and that first one as the origin.

Those with a zone or an offset are counted in UTC, so that daylight saving changes nothing; those without are taken as
they are. An origin is written as its ISO 8601 text, the name of its zone behind it:
2024-03-31T01:30:00+01:00[Europe/Berlin].
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from daedal.data.arrays import Array, find_first
from daedal.errors import DataError, show

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
LONGEST_SHIFT = 7.2e12  # nanoseconds by which clocks are put back, at most
WRITTEN = re.compile(r"([^\[\]]+)(?:\[([^\[\]]+)\])?")


def holds_timestamps(given: Any) -> bool:
    """Whether these are dates rather than numbers."""
    if isinstance(given, np.ndarray) and (given.dtype.kind != "O" or not given.ndim):
        return given.dtype.kind == "M"
    return isinstance(given, Iterable) and not isinstance(given, str) and isinstance(next(iter(given), None), datetime)


def count_seconds(given: Any) -> tuple[Array, datetime]:
    """Dates of numpy or Python as seconds since the first, and the first."""
    if isinstance(given, np.ndarray) and given.dtype.kind == "M":
        return count_from_first(given.astype("datetime64[ns]").ravel(), None)
    stamps = list(given)
    for k, stamp in enumerate(stamps):
        if not isinstance(stamp, datetime) or stamp != stamp:  # a time that is none differs from itself
            raise DataError(
                f"times[{k}] is {show(stamp)}, but others are dates.", "Give all as dates, or all as numbers."
            )
    zone = stamps[0].tzinfo
    if wrong := [k for k, stamp in enumerate(stamps) if (stamp.tzinfo is None) != (zone is None)]:
        raise DataError(
            f"times[{wrong[0]}] and times[0] are dates with and without a time zone.", "Give all of them a zone."
        )
    return count_from_first(np.array([1000 * count_microseconds(stamp) for stamp in stamps], "datetime64[ns]"), zone)


def count_microseconds(stamp: datetime) -> int:
    """Since 1970, in UTC where there is a zone."""
    plain = stamp if stamp.tzinfo is None else stamp.astimezone(UTC).replace(tzinfo=None)
    return (plain - EPOCH) // MICROSECOND


def count_from_first(stamps: NDArray[np.datetime64], zone: tzinfo | None) -> tuple[Array, datetime]:
    """The same for numbers of nanoseconds, in UTC where there is a zone."""
    if (wrong := find_first(np.isnat(stamps))) is not None:
        raise DataError(f"times[{wrong}] is no date (NaT).", "Remove or repair that sample.")
    nanoseconds = stamps.astype(np.int64)
    check_order(nanoseconds, zone, "times[{}]")
    if not nanoseconds.size:
        raise DataError("times are empty.", "Give at least one sample time.")
    first = int(nanoseconds[0]) // 1000
    return (nanoseconds - 1000 * first) / 1e9, make_origin(first, zone)


def check_order(nanoseconds: NDArray[np.int64], zone: tzinfo | None, place: str) -> None:
    """Refuse timestamps that run backwards; without a zone the end of daylight saving is a likely reason."""
    back = np.diff(nanoseconds)
    if (wrong := find_first(back < 0)) is None:
        return
    before, after = (make_origin(int(nanoseconds[k]) // 1000, zone) for k in (wrong, wrong + 1))
    sentence = f"timestamps must increase but {place.format(wrong + 1)} = {after} follows {before}"
    if zone is not None or -back[wrong] > LONGEST_SHIFT:
        raise DataError(f"{sentence}.", "Sort the samples by time.")
    raise DataError(
        f"{sentence}, as clocks do at the end of daylight saving.",
        "Give timestamps in UTC or with their zone: dates.dt.tz_localize('Europe/Berlin', ambiguous='infer') in "
        "pandas, then Dataset.from_pandas; if it is no change of the clock, sort the samples by time.",
    )


def make_origin(microseconds: int, zone: tzinfo | None) -> datetime:
    """The date so long after 1970, in its zone."""
    plain = EPOCH + microseconds * MICROSECOND
    if zone is None:
        return plain
    return plain.replace(tzinfo=UTC).astimezone(_name_zone(zone, plain))


def _name_zone(zone: tzinfo, when: datetime) -> tzinfo:
    """A zone by its name, or its offset where it has none."""
    try:
        return ZoneInfo(str(zone))
    except (ValueError, OSError, KeyError):
        return timezone(zone.utcoffset(when) or timedelta(0))


def check_origin(given: Any) -> datetime | None:
    """An origin as it was given: a date, its text, or None."""
    if isinstance(given, datetime) or given is None:
        return given if given is None or given.tzinfo is None else make_origin(count_microseconds(given), given.tzinfo)
    parts = WRITTEN.fullmatch(given) if isinstance(given, str) else None
    try:
        if parts is None:
            raise ValueError
        origin = datetime.fromisoformat(parts[1])
        return origin.astimezone(ZoneInfo(parts[2])) if parts[2] else origin
    except (ValueError, OSError, KeyError):
        raise DataError(
            f"origin must be a date but is {show(given)}.", "Write '2024-03-31T01:30:00+01:00', say, or a datetime."
        ) from None


def write_origin(origin: datetime) -> str:
    """As `check_origin` reads it."""
    zone = origin.tzinfo
    return origin.isoformat() + (f"[{zone.key}]" if isinstance(zone, ZoneInfo) else "")


def parse_timestamp(text: str) -> datetime | None:
    """A date and time of ISO 8601, or None."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def make_clock(times: Array, origin: datetime) -> NDArray[np.datetime64]:
    """Seconds since the origin as a clock there shows them that is never put forward or back, for axes of pictures."""
    return make_dates(times, origin.replace(tzinfo=None))


def describe_clock(origin: datetime) -> str:
    """How far that clock is ahead of UTC: UTC+02:00; nothing where there is no zone."""
    ahead = f"{origin:%z}"  # +0200
    return f"UTC{ahead[:3]}:{ahead[3:5]}" if ahead else ""


def make_dates(times: Array, origin: datetime) -> NDArray[np.datetime64]:
    """Seconds since the origin as dates, in UTC where it has a zone."""
    first = np.datetime64(count_microseconds(origin) * 1000, "ns")
    return first + np.round(times * 1e9).astype("timedelta64[ns]")
