from .description import draw_compared
from .evidence import Evidence, gather_evidence
from .record import record_fit
from .rules import judge_fit
from .writing import write_evidence, write_report

__all__ = [
    "Evidence", "draw_compared", "gather_evidence", "judge_fit", "record_fit", "write_evidence", "write_report",
]
