from .kept_pieces import count_pieces
from .reproductions import PAPERS, reproduce
from .result_files import Result

__all__ = ["PAPERS", "Result", "count_pieces", "reproduce"]
