"""How Sphinx makes the site: from Markdown, with nothing that is loaded from elsewhere."""

from __future__ import annotations

from postri import __version__

project = "postri"
version = release = __version__
copyright = "the authors of postri"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}

# Quotes stay as they are written: many stand around code.
smartquotes = False
# Headings down to this level can be linked to, by the names that GitHub gives them.
myst_heading_anchors = 4

html_theme = "furo"
html_title = "postri"
html_static_path = ["static"]
html_css_files = ["site.css"]
# The text of a page is in the repository; its copy would be a third of the site.
html_copy_source = False
html_show_sourcelink = False
# Summaries of found pages are fetched, which a page that was opened from disk may not do.
html_show_search_summary = False
# There is no index of terms: the glossary and the reference are pages.
html_use_index = False
html_domain_indices = False
html_theme_options = {
    "navigation_with_keys": False,
    "light_css_variables": {"font-stack": "system-ui, sans-serif"},
    "dark_css_variables": {"font-stack": "system-ui, sans-serif"},
}
# Blocks without a language are shell sessions, grammars and formulas alike.
highlight_language = "text"
