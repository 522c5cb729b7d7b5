"""Estimation from data: criteria, minimizers, starts, uncertainty, `fit`."""

from daedal.estimation.cost import Cost, evaluate
from daedal.estimation.fitting import fit
from daedal.estimation.likelihood import Likelihood
from daedal.estimation.mean_variance import MeanVariance
from daedal.estimation.measurement_moments import MeasurementMoments
from daedal.estimation.output_error import OutputError
from daedal.estimation.result import Estimate, Fit
from daedal.estimation.simulation_pem import SimulationPEM
from daedal.estimation.starts import Grid, LatinHypercube
from daedal.estimation.storage import load

__all__ = [
    "Cost",
    "Estimate",
    "Fit",
    "Grid",
    "LatinHypercube",
    "Likelihood",
    "MeanVariance",
    "MeasurementMoments",
    "OutputError",
    "SimulationPEM",
    "evaluate",
    "fit",
    "load",
]
