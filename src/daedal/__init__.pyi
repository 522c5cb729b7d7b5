from .analysis import Descriptor, Structure, WellPosedness, analyze, check_noise, descriptor, linearize
from .data import Dataset, Samples, Signal, read_csv
from .disturbances import FilteredNoise, StateSpaceNoise, WhiteNoise, sample_path
from .errors import DaedalError, DaedalWarning
from .estimation import (
    Cost, Estimate, Fit, Grid, LatinHypercube, Likelihood, MeanVariance, MeasurementMoments, OutputError, SimulationPEM,
    evaluate, fit,
)
from .filtering import StateEstimate, estimate_states
from .lti import TransferFunction, transfer_function
from .modelica import read_modelica
from .models import Model, Parameter, Port, assemble
from .order import Candidate, OrderSearch, OrderSearches, RefinedIV, SparseSplines, select_order
from .priors import LogNormal, Normal, Uniform
from .projects import Project, read_project
from .report import explore, plot, write_report
from .simulation import IDA, Ensemble, Lanes, Trajectory, ensemble, simulate
from .studies import (
    BlockBootstrap, LeaveOut, MonteCarlo, ParametricBootstrap, Scan, Starts, Study, load, merge, study,
)
from .symbolic import Equation, Expression, delay, der, hold, hysteresis, symbol, symbols, time, where
from .systems import System, build
from .validation import Comparison, Identifiability, Profile, Residuals, compare, identifiability, profile, resid

__version__: str

__all__ = [
    "BlockBootstrap", "Candidate", "Comparison", "Cost", "DaedalError", "DaedalWarning", "Dataset", "Descriptor",
    "Ensemble", "Equation", "Estimate", "Expression", "FilteredNoise", "Fit", "Grid", "IDA", "Identifiability", "Lanes",
    "LatinHypercube", "LeaveOut", "Likelihood", "LogNormal", "MeanVariance", "MeasurementMoments", "Model",
    "MonteCarlo", "Normal", "OrderSearch", "OrderSearches", "OutputError", "Parameter", "ParametricBootstrap", "Port",
    "Profile", "Project", "RefinedIV", "Residuals", "Samples", "Scan", "Signal", "SimulationPEM", "SparseSplines",
    "Starts", "StateEstimate", "StateSpaceNoise", "Structure", "Study", "System", "Trajectory", "TransferFunction",
    "Uniform", "WellPosedness", "WhiteNoise", "analyze", "assemble", "build", "check_noise", "compare", "delay", "der",
    "descriptor", "ensemble", "estimate_states", "evaluate", "explore", "fit", "hold", "hysteresis", "identifiability",
    "linearize", "load", "merge", "plot", "profile", "read_csv", "read_modelica", "read_project", "resid",
    "sample_path", "select_order", "simulate", "study", "symbol", "symbols", "time", "transfer_function", "where",
    "write_report",
]
