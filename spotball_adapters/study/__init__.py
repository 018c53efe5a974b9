"""The human study: people answer the benchmark's items in a browser."""
