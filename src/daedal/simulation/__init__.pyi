from .clocks import mark_times, read_clocks
from .delays import find_pasts, look_back_from_start, prepare_delayed
from .delays.adjoint import Adjoint
from .ensemble_solver import Lanes, prepare, try_lanes
from .ensembles import Ensemble, ensemble
from .features import find_features
from .forcing import Forcing, make_forcing, see_features
from .ida.solver import IDA
from .instants import find_bends, find_switch_times, track_stages
from .lanes.moments import collect_moments
from .lanes.run import Failure, Run
from .measurement import add_measurement_noise
from .prediction import Prediction, Predictor, make_predictor
from .request import Request, check_request, make_request
from .steps import (
    ACCEPTED, ALIGNED, NODES, UNFINISHED, Directions, Discretization, Method, Moving, Point, Schedule,
    find_disturbance_places, find_stops, make_regular_steps, tabulate_nodes,
)
from .solver import REACHED, Job, Outcome, Solver, Status
from .trajectories import simulate
from .trajectory import Trajectory
from .transfer_response import simulate_transfer_function

__all__ = [
    "ACCEPTED", "ALIGNED", "Adjoint", "Directions", "Discretization", "Ensemble", "Failure", "Forcing", "IDA", "Job",
    "Lanes", "Method", "Moving", "NODES", "Outcome", "Point", "Prediction", "Predictor", "REACHED", "Request", "Run",
    "Schedule", "Solver", "Status", "Trajectory", "UNFINISHED", "add_measurement_noise", "check_request",
    "collect_moments", "ensemble", "find_bends", "find_disturbance_places", "find_features", "find_pasts", "find_stops",
    "find_switch_times", "look_back_from_start", "make_forcing", "make_predictor", "make_regular_steps",
    "make_request", "mark_times", "prepare", "prepare_delayed", "read_clocks", "see_features", "simulate",
    "simulate_transfer_function", "tabulate_nodes", "track_stages", "try_lanes",
]
