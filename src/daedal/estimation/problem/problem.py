"""A question put to data: the model, its data, and what is free."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from daedal.data import Dataset
from daedal.estimation.problem.coordinates import Coordinates
from daedal.simulation import Lanes
from daedal.systems import System


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """A model, its data, and what is free: everything a criterion needs."""

    system: System
    data: tuple[Dataset, ...]
    coordinates: Coordinates
    seed: int
    solver: Lanes | None
    purpose: str = "fit"  # what the random numbers are for
    elsewhere: bool = False  # whether the data may begin elsewhere than the model says
    factors: Mapping[str, str] = field(default_factory=dict)  # output → parameter that multiplies its given accuracy
