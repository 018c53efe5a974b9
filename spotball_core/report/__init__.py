"""Scores and guesses made readable: tables and figures."""
