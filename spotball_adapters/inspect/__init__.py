"""Spot the Ball as a task of Inspect AI, and its logs as responses."""
