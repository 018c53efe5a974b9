"""Providers send requests to models: an interface, and one module per API, SDK or local library."""
