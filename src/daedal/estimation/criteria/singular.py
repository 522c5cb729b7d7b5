"""Matrices that are singular at a point: a failure there in words, as any other."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from daedal.errors import EstimationError


@contextmanager
def refuse_singular() -> Iterator[None]:
    """What overflows on the way does so without a word: what comes of it is not finite, and is looked at."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except np.linalg.LinAlgError:
        raise EstimationError(
            "The matrices of the model are singular there.", "Start elsewhere, or bound the parameters more closely."
        ) from None
