from .removal import take_out_switches
from .switch import Known, Switch, Switching
from .table import Table

__all__ = ["Known", "Switch", "Switching", "Table", "take_out_switches"]
