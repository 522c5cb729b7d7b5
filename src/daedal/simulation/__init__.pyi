from .delays import look_back_from_start, pasts, prepare_delayed
from .delays.adjoint import Adjoint
from .ensemble_solver import Lanes, prepare
from .ensembles import Ensemble, ensemble
from .forcing import make_forcing
from .ida.solver import IDA
from .lanes.moments import collect_moments
from .lanes.run import Failure, Run
from .measurement import with_measurement_noise
from .prediction import Prediction, Predictor, predictor
from .request import Request, check_request, make_request
from .solver import Solver, Status
from .trajectories import simulate
from .trajectory import Trajectory
from .transfer_response import simulate_transfer_function

__all__ = [
    "IDA",
    "Adjoint",
    "Ensemble",
    "Failure",
    "Lanes",
    "Prediction",
    "Predictor",
    "Request",
    "Run",
    "Solver",
    "Status",
    "Trajectory",
    "check_request",
    "collect_moments",
    "ensemble",
    "look_back_from_start",
    "make_forcing",
    "make_request",
    "pasts",
    "predictor",
    "prepare",
    "prepare_delayed",
    "simulate",
    "simulate_transfer_function",
    "with_measurement_noise",
]
