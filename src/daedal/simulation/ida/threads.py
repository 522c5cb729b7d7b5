"""One thread for the sparse factorisation: others, which OpenMP starts for it, would only wait for it, and busily.

With them a step of fifty unknowns took fifty times as long on a machine with other things to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def factorise_alone() -> Iterator[None]:
    """What this thread does meanwhile, OpenMP does not share."""
    with _load_controller().limit(limits=1):
        yield


@cache
def _load_controller() -> Any:
    import sksundae.ida  # noqa: F401  # its own library must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")
