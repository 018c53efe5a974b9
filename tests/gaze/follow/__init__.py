"""Tests of continuous gaze benchmarks."""
