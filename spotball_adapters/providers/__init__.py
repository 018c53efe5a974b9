"""Providers: one small protocol, and a module for each way to reach a model."""
