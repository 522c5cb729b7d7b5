"""Kinds of studies of one's own, in a module that other processes can import."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import daedal as dd
from daedal.disturbances import derive_seed
from daedal.studies import Outline, Run


@dataclass(frozen=True)
class Jitter:
    """The data of the fit with noise of a size added: 20 lines, and all that a kind needs."""

    size: float
    truth: dd.Model | None = None

    def outline(self, _: dd.Fit) -> Outline:
        return Outline(reading="bootstrap")

    def make_run(self, fit: dd.Fit, number: int, seed: int) -> Run:
        (data,) = fit.data
        rng = np.random.default_rng(derive_seed(seed, "jitter", number))
        noisy = data["y"] + self.size * rng.standard_normal(data["y"].size)
        return Run([dd.Dataset(data.times, outputs={"y": noisy}, name=data.name)], labels={"added": self.size})


@dataclass(frozen=True)
class Reorder:
    """The data of the fit from last to first, called by other names if told."""

    names: tuple[str, ...] = ()

    def outline(self, _: dd.Fit) -> Outline:
        return Outline(reading="bootstrap")

    def make_run(self, fit: dd.Fit, *_: int) -> Run:
        data = fit.data[::-1]
        return Run(
            [replace(one, name=name) for one, name in zip(data, self.names, strict=True)] if self.names else data
        )


@dataclass(frozen=True)
class Trouble:
    """Like it, but some run does something else, once or always, to the process that makes it or to its parent."""

    number: int
    what: str  # die, interrupt, interrupt parent, refuse, memory, files, raise
    mark: str = ""  # of what happened already

    def outline(self, _: dd.Fit) -> Outline:
        return Outline(runs=8)

    def make_run(self, fit: dd.Fit, number: int, seed: int) -> Run:
        if number == self.number and not (self.mark and Path(self.mark).exists()):
            if self.mark:
                Path(self.mark).touch()
            if self.what == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.what == "interrupt":
                os.kill(os.getpid(), signal.SIGINT)
            if self.what == "interrupt parent":
                os.kill(os.getppid(), signal.SIGINT)
            if self.what == "refuse":
                raise dd.DaedalError("This run is refused.", "Leave it out.")
            if self.what == "memory":
                raise MemoryError
            if self.what == "files":
                raise OSError(24, "Too many open files")
            raise ZeroDivisionError("a mistake of the user's")
        return Jitter(0.01).make_run(fit, number, seed)
