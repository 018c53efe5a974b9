"""Format numbers, p values and tables as text."""
