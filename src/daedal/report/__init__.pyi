from .bundle import read_script
from .exploring import Explorer, explore
from .interactive import render
from .layout import BAND, make_panels
from .nouns import write_evidence, write_report
from .page import Evidence, gather_evidence, judge_fit, record_fit
from .pages import write_page
from .picture import Picture
from .plotting import draw, plot
from .saving import write_whole

__all__ = [
    "BAND", "Evidence", "Explorer", "Picture", "draw", "explore", "gather_evidence", "judge_fit", "make_panels", "plot",
    "read_script", "record_fit", "render", "write_evidence", "write_page", "write_report", "write_whole",
]
