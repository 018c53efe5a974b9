"""Write score reports as HTML pages with tables and figures."""
