"""Compute cues: scores for each cell that describe what in a scene may attract guesses."""
