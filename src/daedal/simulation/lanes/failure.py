"""A lane that could not be simulated."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Failure:
    """A lane that could not be simulated: from which time on, and why; `value` counts the sets of values."""

    lane: int
    time: float
    reason: str
    value: int = 0
