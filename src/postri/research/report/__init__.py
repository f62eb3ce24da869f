"""The report: tables, figures and findings from outcomes, as HTML and Markdown."""
