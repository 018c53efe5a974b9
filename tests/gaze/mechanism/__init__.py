"""Test the cue model."""
