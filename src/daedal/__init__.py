"""daedal."""
