"""Published experiments reproduced: `daedal reproduce NAME` runs `daedal.papers.NAME.reproduce`."""

PAPERS = ("descriptor", "order", "pendulum", "reactor")

__all__ = ["PAPERS"]
