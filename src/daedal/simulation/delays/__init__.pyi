from .history import pasts
from .lags import look_back_from_start
from .run import prepare_delayed

__all__ = ["look_back_from_start", "pasts", "prepare_delayed"]
