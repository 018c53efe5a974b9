"""Cues: what in a scene may attract guesses, as a score for each cell."""
