"""Published experiments reproduced: `daedal reproduce NAME` runs `daedal.papers.NAME.reproduce`."""

PAPERS = ("pendulum",)

__all__ = ["PAPERS"]
