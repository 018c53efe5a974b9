"""Tests of the cue model."""
