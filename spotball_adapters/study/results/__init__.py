"""Export a study's answers, and compute exclusions, attrition and bonuses."""
