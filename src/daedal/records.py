"""What records of results have in common: values as JSON holds them, and the versions of what computed."""

import platform
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import Any

PACKAGES = ("casadi", "llvmlite", "numpy", "scipy", "scikit-sundae")


def make_plain(value: Any) -> Any:
    """What JSON can hold: numbers that are not finite are null.

    Examples
    --------
    >>> make_plain({"values": (1.0, float("nan"))})
    {'values': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): make_plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return make_plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)


def list_versions() -> dict[str, str]:
    """Of what computed: package → version, and the kind of machine."""
    return dict(_find_versions())


@cache
def _find_versions() -> tuple[tuple[str, str], ...]:
    """Looked up once: every fit keeps them."""
    listed = {"daedal": sys.modules["daedal"].__version__, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            listed[package] = version(package)
        except PackageNotFoundError:
            listed[package] = "not installed"
    return (*listed.items(), ("machine", platform.machine()))
