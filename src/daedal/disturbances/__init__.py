"""Noise declarations."""

from daedal.disturbances.noise import FilteredNoise, Noise, StateSpaceNoise, WhiteNoise

__all__ = ["FilteredNoise", "Noise", "StateSpaceNoise", "WhiteNoise"]
