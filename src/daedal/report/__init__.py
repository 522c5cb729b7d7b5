"""Pictures of results."""

from daedal.report.plotting import plot

__all__ = ["plot"]
