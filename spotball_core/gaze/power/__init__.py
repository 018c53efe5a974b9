"""Simulate studies to plan how many photos and trials are needed."""
