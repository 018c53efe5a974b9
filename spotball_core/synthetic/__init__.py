"""Synthetic scenes and pictures, to try the software without data."""
