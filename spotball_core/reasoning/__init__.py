"""Assign rationales, the texts that explain answers, to categories, and analyze them (Spot the Ball, section 5.2)."""
