from .filtered_signals import FilteredSignals, SignalFilter, make_signal_filter
from .forced_response import compute_forced_response, trace_forced_response
from .from_model import transfer_function
from .intervals import ROUNDING, Course, cut_polynomials, find_distinct
from .response import compute_response
from .step_interpolation import evaluate_at_steps
from .transfer_functions import TransferFunction

__all__ = [
    "Course", "FilteredSignals", "ROUNDING", "SignalFilter", "TransferFunction", "compute_forced_response",
    "compute_response", "cut_polynomials", "evaluate_at_steps", "find_distinct", "make_signal_filter",
    "trace_forced_response", "transfer_function",
]
