"""Run human studies, in which people answer the benchmark's items in a browser."""
