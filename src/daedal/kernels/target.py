"""The processor that code is compiled for: its name and features, and the vector width that suits it."""

from dataclasses import dataclass
from functools import cache
from typing import final

REGISTERS_512, REGISTERS_256, REGISTERS_128 = 8, 4, 2


@final
@dataclass(frozen=True)
class Target:
    """A triple, processor and feature list as LLVM names them, the doubles in one register, and fused multiply-add."""

    triple: str
    processor: str
    features: str
    register: int
    fused: bool


@cache
def find_host() -> Target:
    """The processor this process runs on."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    return Target(
        triple=llvm.get_process_triple(),
        processor=llvm.get_host_cpu_name(),
        features=features.flatten(),
        register=_count_lanes(features),
        fused=bool(features.get("fma")) or llvm.get_process_triple().startswith(("aarch64", "arm64")),
    )


def _count_lanes(features: dict[str, bool]) -> int:
    """Doubles in the widest vector register."""
    if features.get("avx512f"):
        return REGISTERS_512
    return REGISTERS_256 if features.get("avx") else REGISTERS_128
