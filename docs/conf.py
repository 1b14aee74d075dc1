"""How Sphinx builds the site of these pages; `make docs` writes it to build/site."""

project = "ettlog"
author = project_copyright = "the ettlog authors"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "ettlog"
html_copy_source = False
html_show_sphinx = False
html_permalinks = True
nitpicky = True
