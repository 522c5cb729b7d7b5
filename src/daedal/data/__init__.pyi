from .arrays import FrozenMapping, frozen, increasing, short
from .dataset import Dataset
from .reading import read_csv
from .samples import Samples
from .signal import Signal

__all__ = ["Dataset", "FrozenMapping", "Samples", "Signal", "frozen", "increasing", "read_csv", "short"]
