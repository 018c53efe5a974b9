"""Analyze rationales: which categories the text that comes with an answer belongs to (Spot the Ball, section 5.2)."""
