"""daedal: unknown parameters and states of physical models from data, when part of what drives them was never measured.

The names below are the public surface. They are loaded when they are first used, so that importing daedal stays quick.
"""

from pathlib import Path
from typing import Any

import lazy_loader

__version__ = "0.1.0"  # its only home: the build reads it here

_FOLDER = Path(__file__).parent
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    is_module = any((_FOLDER / f"{name}{end}").exists() for end in ("", ".py"))  # Python then looks for it itself
    if name in __all__ or name.startswith("_") or is_module:
        return _load(name)
    from daedal.errors import nearest

    raise AttributeError(f"daedal has no '{name}'. {nearest(name, __all__)}")
