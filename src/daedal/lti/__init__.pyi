from .filtered_signals import FilteredSignals, SignalFilter, signal_filter
from .forced_response import compute_forced_response
from .intervals import ROUNDING, distinct, polynomials
from .response import compute_response
from .step_interpolation import at_many_steps
from .transfer_function import TransferFunction

__all__ = [
    "ROUNDING",
    "FilteredSignals",
    "SignalFilter",
    "TransferFunction",
    "at_many_steps",
    "compute_forced_response",
    "compute_response",
    "distinct",
    "polynomials",
    "signal_filter",
]
