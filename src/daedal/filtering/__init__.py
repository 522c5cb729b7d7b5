"""Kalman filter and smoother for linear models."""
