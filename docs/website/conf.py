"""Settings of Sphinx. Warnings are errors (`make docs`): a link that leads nowhere is one."""

project = "transpile"
copyright = "the authors of transpile"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = []

myst_heading_anchors = 4  # with the names that a page's headings have elsewhere
myst_enable_extensions = ["colon_fence", "deflist"]
suppress_warnings = ["misc.highlighting_failure"]  # of parts of files, such as `x = ...;`

highlight_language = "none"  # of blocks that name none: pictures of characters, which must not wrap

html_theme = "furo"
html_title = "transpile"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
# A page that is opened from a file has the texts of no other page.
html_show_search_summary = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
python_maximum_signature_line_length = 80
toc_object_entries = False  # a page begins with its names; in the menu they would take minutes
