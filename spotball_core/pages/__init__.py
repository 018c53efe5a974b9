"""Build HTML pages: sections, tables and figures in one HTML file."""
