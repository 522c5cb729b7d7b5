from .delays.adjoint import Adjoint
from .delays.history import pasts
from .delays.run import DelayRun
from .ensembles import Ensemble, ensemble
from .forcing import make_forcing
from .ida.solver import IDA
from .initial_notes import start_notes
from .lanes.failure import Failure
from .lanes.moments import collect_moments
from .lanes.solver import Lanes, prepare
from .prediction import Prediction, Predictor, predictor
from .progress import Progress
from .request import Request, check_request, make_request
from .trajectories import simulate
from .trajectory import Status, Trajectory

__all__ = [
    "IDA",
    "Adjoint",
    "DelayRun",
    "Ensemble",
    "Failure",
    "Lanes",
    "Prediction",
    "Predictor",
    "Progress",
    "Request",
    "Status",
    "Trajectory",
    "check_request",
    "collect_moments",
    "ensemble",
    "make_forcing",
    "make_request",
    "pasts",
    "predictor",
    "prepare",
    "simulate",
    "start_notes",
]
