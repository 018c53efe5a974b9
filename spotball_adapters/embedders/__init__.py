"""Embedders turn texts into vectors: an interface, one module per API or library, and a cache of vectors."""
