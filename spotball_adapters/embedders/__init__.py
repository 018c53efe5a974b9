"""Embedders: one small protocol, a module for each way to embed texts, and a cache of vectors."""
