from .history import find_pasts
from .lags import look_back_from_start
from .run import prepare_delayed

__all__ = ["find_pasts", "look_back_from_start", "prepare_delayed"]
