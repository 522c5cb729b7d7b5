"""Sphinx: `make docs` builds the site with warnings as errors, without a network, every block of code executed."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "tools"))

import daedal  # noqa: E402

project = "daedal"
author = "the developers of daedal"
release = version = daedal.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_pages", "mathml"]
exclude_patterns = ["tools"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
default_role = "code"
highlight_language = "text"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"daedal {version}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_search_summary = False  # summaries are fetched, which pages opened from a disk may not do
