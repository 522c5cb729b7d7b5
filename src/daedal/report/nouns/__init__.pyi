from .writing import write_evidence, write_report

__all__ = [
    "write_evidence", "write_report",
]
