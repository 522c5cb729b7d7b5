"""Kalman filter and smoother for linear models."""

from daedal.filtering.states import StateEstimate, estimate_states

__all__ = ["StateEstimate", "estimate_states"]
