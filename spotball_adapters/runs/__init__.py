"""Runs: query a model about a dataset with retries and rate limits, and store every reply."""
