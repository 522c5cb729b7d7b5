"""Tables in files that are no text: Parquet, what MATLAB writes, netCDF.

The packages that read them crash, hang or take all memory where bytes are damaged. So each file is read in a process of
its own, with limits on time and memory: this module run as a script, which hands back plain columns. It is run by its
path and imports nothing of daedal but the limits. Nothing in a file is executed: its columns are numbers, times and
texts, and only they come back.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

HDF5 = b"\x89HDF\r\n\x1a\n"  # what a .mat file from version 7.3 on holds after its header
SECONDS = 60  # of processor time, and as many more as the file has blocks of this size:
BLOCK = 2**24
PATIENCE = 6  # times as much by the clock on the wall, for machines that are busy
ROOM = 2**33  # bytes of memory that packages reserve, whether or not they use it
NUMBERS = "biufc"  # kinds of them: whole ones, true and false among them, real and complex ones
ENDINGS = (".parquet", ".mat", ".nc")
ENDLESS = "what reads it does not come to an end"
REASONS = {getattr(signal, "SIGXCPU", None): ENDLESS, signal.SIGSEGV: "what reads it crashes"}  # Windows knows one


class UnreadableError(Exception):
    """What the file is not, or why it cannot be read."""


class LackingError(ImportError):
    """A package that is not installed."""


def read_apart(path: Path, available: float) -> "pandas.DataFrame":
    """All columns, if so many bytes of memory hold them."""
    if not sys.executable or getattr(sys, "frozen", False):  # no Python can be started
        return read(path)
    processor = SECONDS + path.stat().st_size // BLOCK
    command = [sys.executable, "-P", __file__, str(path), str(int(ROOM + available)), str(processor)]
    paths = os.pathsep.join(one or os.curdir for one in sys.path)  # where this process has its packages from
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}  # threads would reserve memory
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE * processor, env=environment)
    except subprocess.TimeoutExpired:
        raise UnreadableError(ENDLESS) from None
    if done.returncode:
        raise UnreadableError(REASONS.get(-done.returncode, "what reads it ends in the midst of it"))
    told, _, packed = done.stdout.partition(b"\n")
    answer = json.loads(told)
    if "lacks" in answer:
        raise LackingError(answer["lacks"])
    if "memory" in answer:
        raise MemoryError(answer["memory"])
    if "error" in answer:
        raise UnreadableError(answer["error"])
    return pickle.loads(packed)


def read(path: Path) -> "pandas.DataFrame":
    """All columns, in this process."""
    try:
        return READERS[path.suffix.lower()](path)
    except ImportError as error:
        raise LackingError(str(error)) from error
    except MemoryError:
        raise
    except Exception as error:  # whatever the package that reads it raises
        raise UnreadableError(_tell(error)) from error


def _tell(error: Exception) -> str:
    return str(error).rstrip(". \n") or type(error).__name__


def _read_parquet(path: Path) -> "pandas.DataFrame":
    import pandas

    return pandas.read_parquet(path)


def _read_netcdf(path: Path) -> "pandas.DataFrame":
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf") as opened:
        flat = [name for name, one in opened.variables.items() if one.ndim == 1]
        return opened[flat].to_dataframe().reset_index()


def _read_matlab(path: Path) -> "pandas.DataFrame":
    """Vectors of one length; other variables are passed over."""
    import pandas

    arrays = _list_arrays(path)
    vectors = {name: one.ravel() for name, one in arrays.items() if one.size == max(one.shape, default=0) > 1}
    lengths = [one.size for one in vectors.values()]
    usual = max(set(lengths), key=lengths.count, default=0)
    return pandas.DataFrame({name: one for name, one in vectors.items() if one.size == usual})


def _list_arrays(path: Path) -> dict[str, np.ndarray]:
    if HDF5 in path.read_bytes()[:1024]:
        import h5py

        with h5py.File(path, "r") as file:
            content: dict[str, Any] = {
                name: np.asarray(one[()]) for name, one in file.items() if isinstance(one, h5py.Dataset)
            }
    else:
        from scipy.io import loadmat

        content = loadmat(path)
    return {name: one for name, one in content.items() if isinstance(one, np.ndarray) and one.dtype.kind in NUMBERS}


READERS: dict[str, Callable[[Path], "pandas.DataFrame"]] = dict(
    zip(ENDINGS, (_read_parquet, _read_matlab, _read_netcdf), strict=True)
)


def _answer() -> None:
    from daedal.limits import limit_resources

    path, memory, seconds = Path(sys.argv[1]), *map(int, sys.argv[2:4])
    limit_resources(memory, seconds)
    told, packed = {}, b""
    try:
        packed = pickle.dumps(read(path))
    except LackingError as error:
        told["lacks"] = str(error)
    except MemoryError as error:
        told["memory"] = str(error) or "of the process that reads it"
    except Exception as error:  # of reading, or of columns that cannot be handed back
        told["error"] = _tell(error)
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n" + packed)


if __name__ == "__main__":
    _answer()
