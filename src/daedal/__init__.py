"""daedal: unknown parameters and states of physical models from data, when part of what drives them was never measured.

The names below are the public surface. They are loaded when they are first used, so that importing daedal stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daedal.analysis import (
        Descriptor,
        Structure,
        WellPosedness,
        analyze,
        check_noise,
        descriptor,
        linearize,
        transfer_function,
    )
    from daedal.data import Dataset, Samples, Signal, read_csv
    from daedal.disturbances import FilteredNoise, StateSpaceNoise, WhiteNoise, sample_path
    from daedal.errors import DaedalError
    from daedal.estimation import (
        Cost,
        Estimate,
        Fit,
        Grid,
        LatinHypercube,
        Likelihood,
        MeanVariance,
        MeasurementMoments,
        OutputError,
        SimulationPEM,
        evaluate,
        fit,
        load,
    )
    from daedal.filtering import StateEstimate, estimate_states
    from daedal.modelica import read_modelica
    from daedal.models import Model, Parameter, Port, TransferFunction, assemble
    from daedal.order import Candidate, OrderSearch, RefinedIV, SparseSplines, select_order
    from daedal.report import plot
    from daedal.simulation import IDA, Ensemble, Lanes, Trajectory, ensemble, simulate
    from daedal.symbolic import Equation, Expression, delay, der, symbol, symbols, time, where
    from daedal.systems import System, build
    from daedal.validation import (
        Comparison,
        Identifiability,
        Profile,
        Residuals,
        compare,
        identifiability,
        profile,
        resid,
    )

_HOMES = {
    "analysis": (
        "Descriptor",
        "Structure",
        "WellPosedness",
        "analyze",
        "check_noise",
        "descriptor",
        "linearize",
        "transfer_function",
    ),
    "data": ("Dataset", "Samples", "Signal", "read_csv"),
    "disturbances": ("FilteredNoise", "StateSpaceNoise", "WhiteNoise", "sample_path"),
    "errors": ("DaedalError",),
    "estimation": (
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
    ),
    "filtering": ("StateEstimate", "estimate_states"),
    "modelica": ("read_modelica",),
    "models": ("Model", "Parameter", "Port", "TransferFunction", "assemble"),
    "order": ("Candidate", "OrderSearch", "RefinedIV", "SparseSplines", "select_order"),
    "report": ("plot",),
    "simulation": ("IDA", "Ensemble", "Lanes", "Trajectory", "ensemble", "simulate"),
    "symbolic": ("Equation", "Expression", "delay", "der", "symbol", "symbols", "time", "where"),
    "systems": ("System", "build"),
    "validation": (
        "Comparison",
        "Identifiability",
        "Profile",
        "Residuals",
        "compare",
        "identifiability",
        "profile",
        "resid",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "IDA",
    "Candidate",
    "Comparison",
    "Cost",
    "DaedalError",
    "Dataset",
    "Descriptor",
    "Ensemble",
    "Equation",
    "Estimate",
    "Expression",
    "FilteredNoise",
    "Fit",
    "Grid",
    "Identifiability",
    "Lanes",
    "LatinHypercube",
    "Likelihood",
    "MeanVariance",
    "MeasurementMoments",
    "Model",
    "OrderSearch",
    "OutputError",
    "Parameter",
    "Port",
    "Profile",
    "RefinedIV",
    "Residuals",
    "Samples",
    "Signal",
    "SimulationPEM",
    "SparseSplines",
    "StateEstimate",
    "StateSpaceNoise",
    "Structure",
    "System",
    "Trajectory",
    "TransferFunction",
    "WellPosedness",
    "WhiteNoise",
    "analyze",
    "assemble",
    "build",
    "check_noise",
    "compare",
    "delay",
    "der",
    "descriptor",
    "ensemble",
    "estimate_states",
    "evaluate",
    "fit",
    "identifiability",
    "linearize",
    "load",
    "plot",
    "profile",
    "read_csv",
    "read_modelica",
    "resid",
    "sample_path",
    "select_order",
    "simulate",
    "symbol",
    "symbols",
    "time",
    "transfer_function",
    "where",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'daedal' has no attribute '{name}'")
    value = getattr(import_module(f"daedal.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
