"""One thread for matrix products: those of models are too small to share, and threads that wait for each other cost
more than the work, many times more on a machine with other things to do."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function with the linear algebra of numpy and scipy on one thread while it runs."""

    @wraps(function)
    def run(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with _load_controller().limit(limits=1, user_api="blas"):
            return function(*arguments, **named)

    return run


@cache
def _load_controller() -> Any:
    import scipy.linalg  # noqa: F401  # its own library must be there to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
