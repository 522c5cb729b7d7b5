"""The script that draws figures in a browser: plotly.js with cartesian axes alone, 1.5 MB instead of 4.8 MB.

`plotly-cartesian.min.js` is the file of that name in version 4.1.1 of the npm package plotly.js-cartesian-dist-min; it
reads what plotly 6 and 7 for Python write, is under the licence beside it, and is not changed here. A page holds it
once and asks no network for anything.
"""

from functools import cache
from importlib.resources import files

NAME = "plotly-cartesian.min.js"
VERSION = "4.1.1"


@cache
def read_script() -> str:
    """The text of the script, for one `<script>` element of a page."""
    return files("daedal.report").joinpath(NAME).read_text(encoding="utf-8")
