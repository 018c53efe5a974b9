"""Analyze which cues guesses follow: conditional logits, a mixture of heuristics, and player thresholds."""
