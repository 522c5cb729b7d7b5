"""Compiled loops around compiled steps: which lengths the steps of a single trajectory have."""
