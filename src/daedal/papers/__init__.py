"""Published experiments reproduced: `daedal reproduce NAME` runs `daedal.papers.NAME.reproduce`."""

PAPERS = ("descriptor", "pendulum")

__all__ = ["PAPERS"]
