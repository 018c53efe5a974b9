"""Numbers, p-values and tables as text."""
