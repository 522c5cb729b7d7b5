from .reproductions import PAPERS, reproduce
from .result_files import Result

__all__ = ["PAPERS", "Result", "reproduce"]
