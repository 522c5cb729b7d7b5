"""Published experiments reproduced: `daedal reproduce NAME` runs `daedal.papers.NAME.reproduce`."""

PAPERS = ("descriptor", "order", "pendulum")

__all__ = ["PAPERS"]
