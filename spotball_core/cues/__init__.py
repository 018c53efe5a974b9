"""Analyze which cues guesses follow, with conditional logits, mixtures of baselines, and thresholds near players."""
