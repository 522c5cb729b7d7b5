"""Named arrays and texts as the bytes of a netCDF file, each with a digest; and back.

The attribute "sha256" of a variable covers its name, dimensions, type, shape and values, that of the file all names,
all digests and the labels: a number that changed and a variable that vanished are both noticed, whatever tool wrote the
file since.

HDF5 may hang or crash on damaged bytes. So a file whose bytes nothing vouches for is read in a process of its own, with
limits on time and memory: this module run as a script, which takes the bytes and hands back plain arrays. It is run by
its path and imports nothing of daedal but the limits.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

SECONDS = 20  # of processor time, and as many more as the file has blocks of this size:
BLOCK = 2**24
PATIENCE = 6  # times as much by the clock on the wall, for machines that are busy
ROOM = 2**31  # bytes of memory, and this many for each byte of the file:
SHARE = 8


class Variable(NamedTuple):
    """Numbers (float64) or texts (objects that are str) along dimensions."""

    dimensions: tuple[str, ...]
    values: np.ndarray


class Contents(NamedTuple):
    """What is in a file: labels, variables, and the digests that stand beside these."""

    labels: dict[str, Any]
    variables: dict[str, Variable]
    digests: dict[str, str]


class UnreadableError(Exception):
    """Bytes that are no netCDF file, or a damaged one."""


def write_netcdf(labels: Mapping[str, Any], variables: Mapping[str, Variable]) -> bytes:
    """The bytes of a file with digests."""
    import h5netcdf
    import h5py

    stream = io.BytesIO()
    digests = compute_digests(variables)
    with h5netcdf.File(stream, "w") as file:
        file.attrs.update({**labels, "sha256": combine_digests(labels, digests)})
        for name, (dimensions, values) in variables.items():
            for dimension, size in zip(dimensions, values.shape, strict=True):
                if dimension not in file.dimensions:
                    file.dimensions[dimension] = size
                if file.dimensions[dimension].size != size:
                    raise ValueError(f"'{name}' has the shape {values.shape}")
            kind = h5py.string_dtype() if values.dtype == object else "<f8"
            file.create_variable(name, dimensions, dtype=kind, data=values).attrs["sha256"] = digests[name]
    return stream.getvalue()


def read_netcdf(content: bytes) -> Contents:
    """What is in these bytes, which are not damaged."""
    import h5netcdf

    with h5netcdf.File(io.BytesIO(content), "r") as file:
        labels = {name: _read_label(value) for name, value in file.attrs.items()}
        variables = {
            name: Variable(variable.dimensions, _read_values(name, variable[...]))
            for name, variable in file.variables.items()
        }
        digests = {
            name: str(variable.attrs["sha256"])
            for name, variable in file.variables.items()
            if "sha256" in variable.attrs
        }
    return Contents(labels, variables, digests)


def _read_label(value: Any) -> Any:
    return value.item() if isinstance(value, (np.ndarray, np.generic)) and np.size(value) == 1 else str(value)


def _read_values(name: str, stored: Any) -> np.ndarray:
    values = np.asarray(stored)
    if values.dtype == object:
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in values.ravel().tolist()]
        return make_texts(texts, values.shape)
    if values.dtype != np.dtype("<f8"):
        raise ValueError(f"'{name}' has the type {values.dtype}")
    return values


def make_texts(texts: list[str], shape: tuple[int, ...]) -> np.ndarray:
    """An array of texts."""
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array.reshape(shape)


def compute_digests(variables: Mapping[str, Variable]) -> dict[str, str]:
    """Name → SHA-256, in hexadecimal digits, of everything about a variable."""
    return {name: _compute_digest(name, *variable) for name, variable in variables.items()}


def _compute_digest(name: str, dimensions: tuple[str, ...], values: np.ndarray) -> str:
    kind = "text" if values.dtype == object else "float64"
    head = json.dumps([name, list(dimensions), kind, list(values.shape)])
    body = json.dumps(values.ravel().tolist()).encode() if kind == "text" else values.astype("<f8").tobytes()
    return sha256(head.encode() + b"\n" + body).hexdigest()


def combine_digests(labels: Mapping[str, Any], digests: Mapping[str, str]) -> str:
    """The SHA-256 of labels, names and digests."""
    told = {name: value for name, value in labels.items() if name != "sha256"}
    return sha256(json.dumps([told, dict(digests)], sort_keys=True).encode()).hexdigest()


def read_apart(content: bytes) -> Contents:
    """What is in these bytes, which may be damaged."""
    processor = SECONDS + len(content) // BLOCK
    memory = ROOM + SHARE * len(content)
    command = [sys.executable, "-P", __file__, str(memory), str(processor)]
    paths = os.pathsep.join(filter(None, sys.path))  # where this process has its packages from
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}  # threads would reserve memory
    try:
        done = subprocess.run(
            command, input=content, capture_output=True, timeout=PATIENCE * processor, env=environment
        )
    except subprocess.TimeoutExpired:
        raise UnreadableError("HDF5 does not come to an end with it") from None
    if done.returncode:
        raise UnreadableError("HDF5 cannot read it")
    return _unpack(done.stdout)


def _pack(contents: Contents) -> bytes:
    """As arrays that need no pickle."""
    numbers = {name: v.values for name, v in contents.variables.items() if v.values.dtype != object}
    texts = {
        name: [v.values.ravel().tolist(), list(v.values.shape)]
        for name, v in contents.variables.items()
        if v.values.dtype == object
    }
    dimensions = {name: list(v.dimensions) for name, v in contents.variables.items()}
    told = json.dumps([contents.labels, contents.digests, dimensions, texts, list(numbers)])
    stream = io.BytesIO()
    np.savez(stream, np.frombuffer(told.encode(), dtype=np.uint8), *numbers.values())
    return stream.getvalue()


def _unpack(packed: bytes) -> Contents:
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        labels, digests, dimensions, texts, names = json.loads(arrays["arr_0"].tobytes())
        values = {name: arrays[f"arr_{number}"] for number, name in enumerate(names, start=1)}
    values |= {name: make_texts(entries, tuple(shape)) for name, (entries, shape) in texts.items()}
    variables = {name: Variable(tuple(along), values[name]) for name, along in dimensions.items()}
    return Contents(labels, variables, digests)


def _answer() -> None:
    from daedal.limits import limit_resources

    limit_resources(*map(int, sys.argv[1:3]))
    sys.stdout.buffer.write(_pack(read_netcdf(sys.stdin.buffer.read())))


if __name__ == "__main__":
    _answer()
