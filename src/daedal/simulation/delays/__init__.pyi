from .history import Past, delayed_input, pasts, started
from .lags import Lags, find_lags
from .run import DelayRun, prepare_delayed

__all__ = ["DelayRun", "Lags", "Past", "delayed_input", "find_lags", "pasts", "prepare_delayed", "started"]
