from .removal import take_out_switches
from .switch import Bend, Known, Switch, Switching
from .table import Table, split_line

__all__ = ["Bend", "Known", "Switch", "Switching", "Table", "split_line", "take_out_switches"]
