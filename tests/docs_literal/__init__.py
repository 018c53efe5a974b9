"""Tests that run the pages of the documentation as a reader would."""
