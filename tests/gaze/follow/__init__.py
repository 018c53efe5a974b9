"""Test continuous gaze benchmarks."""
