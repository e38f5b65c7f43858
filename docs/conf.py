"""The documentation site: `make docs` builds it from these pages and the docstrings."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs" / "_ext")]

from globalbandits import __version__  # noqa: E402

project = "globalbandits"
author = "globalbandits maintainers"
copyright = "globalbandits maintainers, MIT licence"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference", "notebooks"]
exclude_patterns = ["_ext", "_static", "images"]

myst_heading_anchors = 3
default_role = "py:obj"  # a link where the name is known, else code

autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 80
add_module_names = False

html_theme = "furo"
html_title = "globalbandits"
html_static_path = ["_static"]
html_extra_path = ["llms.txt"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_sphinx = False
html_copy_source = False
