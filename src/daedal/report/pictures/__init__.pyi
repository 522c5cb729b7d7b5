from .table import Drawn, NOT_DRAWN, PICTURES, find_pictures

__all__ = ["Drawn", "NOT_DRAWN", "PICTURES", "find_pictures"]
