from .removal import take_out_switches
from .switch import Known, Switch, Switching

__all__ = ["Known", "Switch", "Switching", "take_out_switches"]
